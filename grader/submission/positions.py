"""Places in a parsed file, counted in characters of its text."""

from __future__ import annotations

import re

from grader.submission.edits import Edit
from grader.submission.tree import ParsedFile


def blank(parsed: ParsedFile, start: int, end: int) -> Edit:
    """The edit that makes the bytes from `start` to `end` spaces."""
    first, last = characters(parsed, start, end)
    return Edit(first, last, re.sub(r"[^\n]", " ", parsed.source.text[first:last]))


def characters(parsed: ParsedFile, start: int, end: int) -> tuple[int, int]:
    """Positions in bytes as positions in characters, which device code and the student's text have in common."""
    before = len(parsed.data[:start].decode("utf-8", errors="replace"))
    return before, before + len(parsed.data[start:end].decode("utf-8", errors="replace"))
