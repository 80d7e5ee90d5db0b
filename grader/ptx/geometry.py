"""Where the threads of some blocks stand in their grid."""

from __future__ import annotations

import math

import numpy as np

from grader.ptx.records import Index3
from grader.ptx.values import KEPT_BYTES, Lanes, Layout, Value, remember

MAX_UNIONS = 256
"""Unions of lane sets that are remembered."""
KEPT_SHAPES = 32
"""Of parts of grids, at most."""


class Geometry:
    """The part of a grid that some blocks are which run side by side.

    layout: numbers their threads.  first_block: number of the first of them in the grid.  grid: blocks in x, y, z.
    registers: values of special registers that follow from all that.
    """

    __slots__ = ("_unions", "first_block", "grid", "layout", "registers")

    def __init__(self, layout: Layout, first_block: int, grid: Index3) -> None:
        self.layout = layout
        self.first_block = first_block
        self.grid = grid
        self.registers: dict[str, Value] = {}
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
        if not all(part.lasting for part in parts):
            return self._union(parts)
        memo, known_by = self.layout.root.memo, ("union", *sorted(id(part) for part in parts))
        kept = memo.get(known_by)
        if kept is None:
            kept = remember(memo, known_by, (self._union(parts).keep(), list(parts)))
        return kept[0]

    def _union(self, parts: list[Lanes]) -> Lanes:
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
        layout = self.layout
        if not layout.keeps or layout.kept_bytes > KEPT_BYTES:
            layout.forget()
        else:
            layout.forget_launch()
            _kept[layout.block, layout.blocks, self.first_block, self.grid] = self
        while len(_kept) > KEPT_SHAPES or sum(known.layout.kept_bytes for known in _kept.values()) > KEPT_BYTES:
            _kept.pop(next(iter(_kept))).layout.forget()


_kept: dict[tuple[Index3, int, int, Index3], Geometry] = {}
"""Those that no launch uses, the last one used last."""


def geometry_of(block: Index3, blocks: int, first_block: int, grid: Index3) -> Geometry:
    """So many blocks of a grid from the first on; nobody else has it until it is told to forget.

    What an earlier launch of the same shape has found out of where threads stand, and of what follows from that alone,
    comes with it: most of what small launches cost.  Of grids that do not run side by side as a whole nothing is kept.
    """
    found = _kept.pop((block, blocks, first_block, grid), None)
    whole = blocks == math.prod(grid)
    return Geometry(Layout(block, blocks, whole), first_block, grid) if found is None else found
