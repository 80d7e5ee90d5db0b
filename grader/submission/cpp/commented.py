"""Launches that stand in comments: of several versions a student launches one at a time, and hands in the last.

Of a kernel that is launched nowhere else, such a launch says how it is meant to be launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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
