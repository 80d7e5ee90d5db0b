"""Where the threads of some blocks stand in their grid."""

from __future__ import annotations

import numpy as np

from grader.ptx.records import Index3
from grader.ptx.values.lanes import Lanes, Layout

MAX_UNIONS = 256
"""Unions of lane sets that are remembered."""


class Geometry:
    """The part of a grid that some blocks are which run side by side.

    layout: numbers their threads.  first_block: number of the first of them in the grid.  grid: blocks in x, y, z.
    """

    __slots__ = ("_unions", "first_block", "grid", "layout")

    def __init__(self, layout: Layout, first_block: int, grid: Index3) -> None:
        self.layout = layout
        self.first_block = first_block
        self.grid = grid
        self._unions: dict[bytes, Lanes] = {}

    @property
    def first_thread(self) -> int:
        """The number of the first lane's thread in the grid, whole warps counted."""
        return self.first_block * self.layout.padded

    def coordinates(self, lane: int) -> tuple[Index3, Index3]:
        """(block, thread) of a lane, each (x, y, z)."""
        number, thread = divmod(int(lane), self.layout.padded)
        return self.block_index(self.first_block + number), self.thread_index(thread)

    def block_index(self, number: int) -> Index3:
        """Block number within the grid → (x, y, z)."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def thread_index(self, thread: int) -> Index3:
        """Thread number within the block → (x, y, z)."""
        x, y, _ = self.layout.block
        return thread % x, thread // x % y, thread // (x * y)

    def lane(self, block: Index3, thread: Index3) -> int:
        """The lane of a (block, thread) of this part of the grid."""
        (x, y, z), (across, down, _) = block, self.grid
        number = x + across * (y + down * z) - self.first_block
        (x, y, z), (across, down, _) = thread, self.layout.block
        return number * self.layout.padded + x + across * (y + down * z)

    def union(self, parts: list[Lanes]) -> Lanes:
        """The union of disjoint sets; equal unions are the same object, so that memos survive."""
        total = sum(part.n for part in parts)
        if total == self.layout.root.n:
            return self.layout.root
        ids = np.concatenate([part.ids for part in parts])
        ids.sort()
        key = ids.tobytes()
        found = self._unions.get(key)
        if found is None:
            if len(self._unions) >= MAX_UNIONS:
                self._unions.clear()
            found = self._unions[key] = Lanes(self.layout, ids)
        return found

    def forget(self) -> None:
        """No thread runs any more."""
        self._unions.clear()
        self.layout.forget()
