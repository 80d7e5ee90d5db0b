"""Rows of bytes that one copy moves or one fill sets, counted before they are made a list."""

from __future__ import annotations

from dataclasses import dataclass

from grader.programs.runtime.state import CudaError, State

MAX_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Rows:
    """`depth` slices of `height` rows of `width` bytes.

    to, source: how far apart on either side rows are, and slices.
    """

    width: int
    height: int = 1
    depth: int = 1
    to: tuple[int, int] = (0, 0)
    source: tuple[int, int] = (0, 0)

    @property
    def total(self) -> int:
        """All bytes."""
        return self.width * self.height * self.depth

    def end(self, apart: tuple[int, int]) -> int:
        """Where the last of them ends, from where the first begins."""
        return apart[0] * (self.height - 1) + apart[1] * (self.depth - 1) + self.width

    def listed(self) -> list[tuple[int, int, int]]:
        """(offset in to, offset in source, bytes) of each; for a copy that is known to keep to its memory."""
        (to_row, to_slice), (from_row, from_slice) = self.to, self.source
        return [
            (z * to_slice + y * to_row, z * from_slice + y * from_row, self.width)
            for z in range(self.depth)
            for y in range(self.height)
        ]


def checked(state: State, rows: Rows) -> Rows:
    """The same, as many as a copy may have.  Raises CudaError."""
    if min(rows.width, rows.height, rows.depth, *rows.to, *rows.source) < 0 or rows.height * rows.depth > MAX_ROWS:
        raise CudaError(1)
    state.meter.charge(rows=rows.height * rows.depth if rows.width else 0)
    return rows
