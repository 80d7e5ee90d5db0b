"""Why a file has no kernel that could be a variant's, where that is another thing than a missing name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from grader.submission.files.source import SourceText
from grader.submission.lexical import without_comments

# What is not closed goes on to the end of the line: nothing is looked for from its every character again.
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"?')
_GLOBAL = re.compile(r"\b__global__\b")
_DECLARED = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b(\w+)\s*\([^;{}]{0,2000}\)\s*;")
_DEFINED = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b(\w+)\s*\([^;{}]{0,2000}\)\s*\{")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b")


def why_absent(
    sources: Sequence[SourceText], missing_headers: Sequence[tuple[str, str, int]], found: Collection[str]
) -> tuple[str, Mapping[str, object]] | None:
    """The reason as the id of a message, with its data; None where the names are all that is wrong.

    found: names of the kernels that were found.
    """
    header = next(iter(missing_headers), None)
    for source in sources:
        plain = _blanked(source.text)
        defined = {match[1] for match in _DEFINED.finditer(plain)}
        for match in _DECLARED.finditer(plain):
            if match[1] not in {*defined, *found}:
                where = {"file": source.file, "line": _line(plain, match.start()), "kernel": match[1]}
                return ("declared_elsewhere", {**where, "header": header[1]}) if header else ("declared", where)
    if found:
        return None
    for source in sources:
        plain = _blanked(source.text)
        cut = _cut_macro(plain)
        if cut and _GLOBAL.search(plain):
            return "cut_macro", {"file": source.file, "line": cut}
    if header is not None:
        return "missing_header", {"file": header[0], "line": header[2], "header": header[1]}
    for source in sources:
        commented = _GLOBAL.search(source.text)
        if commented is not None:
            kind = "inactive" if _GLOBAL.search(_blanked(source.text)) else "commented"
            return kind, {"file": source.file, "line": _line(source.text, commented.start())}
    return "no_global", {}


def _blanked(text: str) -> str:
    """`text` without comments and strings, lines kept."""
    return _STRING.sub(lambda match: re.sub(r'[^"]', " ", match[0]), without_comments(text))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _cut_macro(text: str) -> int:
    """The line of a macro that ends before its braces are closed, for want of a backslash; 0 where there is none."""
    depth, inside = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if not inside and _DEFINE.match(line):
            inside, depth = True, 0
        if inside:
            depth += line.count("{") - line.count("}")
            if not line.rstrip().endswith("\\"):
                if depth > 0:
                    return number
                inside = False
    return 0
