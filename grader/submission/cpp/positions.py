"""Places in a parsed file, counted in characters of its text."""

from __future__ import annotations

import re
from bisect import bisect_left

from grader.submission.cpp.edits import Edit
from grader.submission.cpp.tree import ParsedFile, remembered

# Every byte of a character in UTF-8 but the first.
_FOLLOWING = re.compile(rb"[\x80-\xbf]")


def blank(parsed: ParsedFile, start: int, end: int) -> Edit:
    """The edit that makes the bytes from `start` to `end` spaces."""
    first, last = characters(parsed, start, end)
    return Edit(first, last, re.sub(r"[^\n]", " ", parsed.source.text[first:last]))


def characters(parsed: ParsedFile, start: int, end: int) -> tuple[int, int]:
    """Positions in bytes as positions in characters, which device code and the student's text have in common."""
    return _character(parsed, start), _character(parsed, end)


def _character(parsed: ParsedFile, place: int) -> int:
    """How many characters stand before the byte at `place`."""
    following = remembered(parsed, "following bytes", lambda: [m.start() for m in _FOLLOWING.finditer(parsed.data)])
    return place - bisect_left(following, place)
