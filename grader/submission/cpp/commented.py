"""Which of a program's alternatives a place stands in: launches in comments, barriers in a branch.

Of several versions a student launches one at a time, and hands in the last: of a kernel that is launched nowhere else,
a launch in a comment says how it is meant to be launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import UsageError
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile, descendants
from grader.submission.files.source import SourceText
from grader.submission.lexical import blanked, without_comments

_MAY_HOLD_ONE = re.compile(r"(?://[^\n]*|/\*(?:[^*]|\*(?!/)){0,4000}?)<<[ \t]*<")
_STATEMENT = re.compile(
    r"(?<![\w.>])(?P<kernel>[A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,200}>\s*)?"
    r"<<[ \t]*<(?:(?!>>[ \t]*>|[;{}]).){1,400}?>>[ \t]*>\s*\([^;{}]{0,400}\)\s*;",
    re.DOTALL,
)


def with_launches_of_comments(
    sources: Sequence[SourceText],
) -> tuple[list[SourceText], tuple[tuple[str, str, int], ...]]:
    """The files with the first launch that stands in a comment, for each kernel that is launched nowhere; and these
    launches, as file, kernel and line.

    Every line keeps its number, every character its column.
    """
    if not any(_MAY_HOLD_ONE.search(source.text) for source in sources):
        return list(sources), ()
    files = [parse(source) for source in sources]
    live = "\n".join(without_comments(source.text) for source in sources)
    kernels = {kernel.name for parsed in files for kernel in parsed.kernels}
    # Its name once where it is defined: what is named again may be launched by another name.
    wanted = {name for name in kernels if len(re.findall(rf"\b{re.escape(name)}\b", live)) == 1}
    found: list[tuple[str, str, int]] = []
    changed = []
    for source, parsed in zip(sources, files, strict=True):
        # Where macros stand for kernels, another text was read than was written.
        text = _uncommented(parsed, wanted, found) if parsed.source.text == source.text else source.text
        changed.append(replace(source, text=text, written=source.text) if text != source.text else source)
    return changed, tuple(found)


def _uncommented(parsed: ParsedFile, wanted: set[str], found: list[tuple[str, str, int]]) -> str:
    """A file's text with such launches; `wanted` loses and `found` gains what is there."""
    edits: list[tuple[int, int, str]] = []
    for item in parsed.items:
        if item.kind != "function" or item.is_device or not item.active:
            continue
        for node in descendants(item.node):
            if node.type != "comment":
                continue
            text = parsed.text(node)
            # Between the signs of the comment nothing is a part of it.
            inner = f"  {text[2:-2]}  " if text.startswith("/*") else f"  {text[2:]}"
            made = blanked(inner)
            for match in _STATEMENT.finditer(inner):
                if match["kernel"] in wanted:
                    wanted.remove(match["kernel"])
                    line = node.start_point.row + 1 + inner.count("\n", 0, match.start())
                    found.append((parsed.file, match["kernel"], line))
                    made = made[: match.start()] + match[0] + made[match.end() :]
            if made.strip():
                edits.append((node.start_byte, node.end_byte, made))
    if not edits:
        return parsed.source.text
    data = parsed.data
    for start, end, made in reversed(edits):
        data = data[:start] + made.encode() + data[end:]
    return data.decode("utf-8", errors="replace")


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
