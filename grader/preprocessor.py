"""What comments and literals of C++ are, and where a preprocessor's directives may stand, found without parsing.

Directives are for those who must miss none: whatever looks like one counts, in a comment or in a raw string too, for a
lexer that is fooled by one would let a real directive pass.  Each text is gone through once, however it is made.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

# With `re.DOTALL`, in verbose expressions or others.  What is not closed is taken as well, and each character is looked
# at once: nothing is looked for again from every quotation mark in what does not end.
COMMENT = r"(?://(?:\\\n|[^\n])*+|/\*.*?(?:\*/|\Z))"
STRING = r'(?:"(?:\\.|[^"\\\n])*+"?)'
LITERAL = rf"(?:{STRING}|'(?:\\.|[^'\\\n])*+'?)"

_HASH = re.compile(r"#|%:|\?\?=")
_BLANKS = re.compile(r"(?:[ \t\v\f\r]|(?:\\|\?\?/)[ \t\v\f]*+\n)*+")
# The same with line ends, for texts whose joined lines were joined.
_BLANK_LINES = re.compile(r"\s*+")
_SPLICE = r"(?:(?:\\|\?\?/)[ \t\v\f]*+\n)*+"
_LINE = re.compile(rf"(?:{_SPLICE.join('line')}{_SPLICE}(?![\w$])|\d)(?:(?:\\|\?\?/)[ \t\v\f]*+\n|[^\n])*+")
_NOT_LINE_END = re.compile(r"[^\n]")


class Gaps:
    """Blanks and comments in a text, and where they end."""

    def __init__(self, text: str, with_line_ends: bool = False) -> None:
        """with_line_ends: a line's end is a blank like any other."""
        self._text = text
        self._blanks = _BLANK_LINES if with_line_ends else _BLANKS
        self._closing = [match.start() for match in re.finditer(r"\*/", text)]
        self._known: dict[int, int] = {}

    def end(self, place: int) -> int:
        """Where the blanks and closed comments end that begin at `place`."""
        passed = []
        while place not in self._known:
            passed.append(place)
            match = self._blanks.match(self._text, place)
            place = match.end() if match is not None else place
            closing = bisect_left(self._closing, place + 2)
            if not self._text.startswith("/*", place) or closing == len(self._closing):
                break
            place = self._closing[closing] + 2
        else:
            place = self._known[place]
        # Those that begin within each other end alike.
        self._known |= dict.fromkeys(passed, place)
        return place


def hashes(text: str, gaps: Gaps) -> Iterator[tuple[int, int]]:
    """Each "#", and where the directive's name would stand after it; digraphs and trigraphs too."""
    for match in _HASH.finditer(text):
        yield match.start(), gaps.end(match.end())


_NAMES = re.compile(rf"{COMMENT}|{LITERAL}|[\w$]+", re.DOTALL)


def without_dollars(text: str) -> str:
    """Return a text with "_" for each "$" of its names, which compilers of host code allow and NVRTC does not, as long.

    It stays as it is where that would make one name of two.
    """
    if "$" not in text:
        return text
    names = {name for name in _NAMES.findall(text) if name[:1] not in "/\"'"}
    meant = {name: name.replace("$", "_") for name in names if "$" in name}
    if len({*meant.values()} - names) < len(meant):
        return text
    return _NAMES.sub(lambda match: meant.get(match[0], match[0]), text)


def without_line_directives(text: str) -> str:
    """`text` with blanks in place of `#line 5 "a.cu"`, `# 5` and the like; every line keeps its number.

    Such a directive says that the next line is another one, of another file, and a compiler believes it: in errors, and
    in the line table that counters and hazards are placed by.
    """
    pieces: list[str] = []
    done = 0
    gaps = Gaps(text)
    for start, name in hashes(text, gaps):
        if start < done or not _begins_line(text, start):
            continue
        directive = _LINE.match(text, name)
        if directive is not None:
            pieces += [text[done:start], _NOT_LINE_END.sub(" ", text[start : directive.end()])]
            done = directive.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def _begins_line(text: str, place: int) -> bool:
    """Whether only blanks, comments and joined lines stand before `place` in its line."""
    while place > 0 and (text[place - 1] in " \t\v\f\r" or text.endswith("\\\n", 0, place)):
        place -= 2 if text[place - 1] == "\n" else 1
    return place <= 0 or text[place - 1] == "\n" or text.endswith("*/", 0, place)
