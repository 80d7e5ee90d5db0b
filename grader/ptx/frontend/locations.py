"""Which source line an instruction belongs to: `.file` and `.loc` with inlining.

`.file` directives stand at the end of NVRTC's output, so they are collected before anything else is read.
A `.loc … inlined_at f l c` names the call site by the coordinates of an earlier `.loc` of the same function,
which may have been inlined itself: the chain is walked by looking those coordinates up.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from grader.ptx.frontend.lexer import STRING, unquote
from grader.ptx.frontend.nodes import SourceLocation

FILE = re.compile(rf"\.file\s+(\d{{1,9}})\s+({STRING})(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?", re.ASCII)
LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?",
    re.ASCII,
)

_HEADER_SUFFIXES = frozenset({".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".def", ""})

_Point = tuple[int, int, int]


def find_files(text: str) -> dict[int, str]:
    """The `.file` table: path by number."""
    return {int(number): unquote(path) for number, path in FILE.findall(text)}


def student_file(files: dict[int, str]) -> int:
    """Number of the student's file: the lowest one that is no header, or the lowest of all; 0 for an empty table."""
    numbers = sorted(files)
    for number in numbers:
        if PurePosixPath(files[number].replace("\\", "/")).suffix.lower() not in _HEADER_SUFFIXES:
            return number
    return numbers[0] if numbers else 0


def inline_assembly_line(text: str, ptx_line: int) -> int | None:
    """The source line of the inline assembly that a line of PTX text belongs to; None where it is the compiler's own.

    NVRTC marks what it copies; the number is 0 where there is no line information.
    """
    before = text.split("\n")[:ptx_line]
    for number in range(len(before) - 1, -1, -1):
        mark = before[number].strip()
        if mark == "// end inline asm" and number < ptx_line - 1:
            return None
        if mark == "// begin inline asm":
            found = [match for line in before[:number] if (match := LOC.match(line))]
            return int(found[-1][2]) if found else 0
    return None


class LocationTracker:
    """Follows the `.loc` directives of one function at a time."""

    def __init__(self, files: dict[int, str]) -> None:
        self._files = files
        self._student = student_file(files)
        self._unknown = SourceLocation(files.get(self._student, ""), 0)
        self.begin_function()

    def begin_function(self) -> None:
        """Forget the lines and call sites of the previous function."""
        self.current = self._unknown
        self.first: SourceLocation | None = None
        self._known: SourceLocation | None = None
        self._own = 0
        self._call_sites: dict[_Point, _Point | None] = {}

    def advance(self, loc: re.Match[str]) -> None:
        """Take a `.loc` directive (a match of `LOC`); `current` is then the location of what follows."""
        file, line, column, *site = loc.groups()
        point = (int(file), int(line), int(column))
        call_site = (int(site[0]), int(site[1]), int(site[2])) if site[0] is not None else None
        self._call_sites[point] = call_site
        if call_site is None and not self._own:
            # A kernel may stand in a header: its own lines are those of that file.
            self._own = point[0]
        self.current = self._resolve(point, call_site)
        if self.first is None:
            self.first = self.current

    def _resolve(self, point: _Point, call_site: _Point | None) -> SourceLocation:
        innermost: SourceLocation | None = None
        seen = {point}
        step: _Point | None = point
        while step is not None:
            file, line, _ = step
            # Line 0: the compiler merged or hoisted the instruction, and what encloses it is the best there is.
            if line and file == (self._own or self._student):
                self._known = SourceLocation(self._files.get(file, ""), line)
                return self._known
            if line and innermost is None:
                innermost = SourceLocation(self._files.get(file, ""), line)
            step = call_site if step is point else self._call_sites.get(step)
            if step in seen:
                break
            if step is not None:
                seen.add(step)
        if innermost is not None:
            self._known = innermost
        return self._known or self._unknown
