"""In which branch of a program a barrier stands."""

from __future__ import annotations

from pathlib import Path

from grader.errors import UsageError
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import descendants
from grader.submission.files.source import SourceText

BARRIERS = ("__syncthreads", "__barrier_sync", "sync", "barrier")


def branch_around(file: str, text: str, line: int) -> int | None:
    """The line of the innermost `if` that a barrier in `line` stands in; None where it stands in none.

    None as well of a text that cannot be read, or a line without a call that looks like a barrier.
    """
    try:
        parsed = parse(SourceText(Path(file), text, "utf-8"))
    except UsageError:
        return None
    for node in descendants(parsed.root):
        if node.type != "call_expression" or node.start_point.row + 1 != line:
            continue
        called = node.child_by_field_name("function")
        if called is None or not any(word in parsed.text(called) for word in BARRIERS):
            continue
        outer = node.parent
        while outer is not None and outer.type != "function_definition":
            if outer.type == "if_statement":
                return int(outer.start_point.row) + 1
            outer = outer.parent
    return None
