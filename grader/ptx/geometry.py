"""Where the threads of some blocks stand in their grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grader.ptx.records import Index3
from grader.ptx.values import KEPT_BYTES, WARP_SIZE, Array, Lanes, Layout, Value, remember

MAX_UNIONS = 256
"""Unions of lane sets that are remembered."""
KEPT_SHAPES = 32
"""Shapes of parts of grids kept, at most."""


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which blocks, and the warps of a block, have their turns; CUDA promises none.

    number: 0: as they are counted; 1: the last comes first; from 2 on blocks are shuffled, by each number in its own
    way, and warps in the order of 1.  A block's last warp, where it is not full, stays the last.
    """

    number: int = 0

    def blocks(self, turns: Array, count: int) -> Array:
        """(n,) int64: which of `count` blocks has the n-th of these turns."""
        if not self.number:
            return turns
        if self.number == 1:
            return count - 1 - turns
        multiplier, start = self._steps(count)
        result: Array = (turns * multiplier + start) % count
        return result

    def turn_of_block(self, block: int, count: int) -> int:
        if self.number <= 1:
            return int(self.blocks(np.array([block]), count)[0])
        multiplier, start = self._steps(count)
        return (block - start) * pow(multiplier, -1, count) % count

    def _steps(self, count: int) -> tuple[int, int]:
        """Return (multiplier, start) of a walk round all of `count` blocks."""
        multiplier = max(1, int(count * _GOLDEN) + self.number - 2)
        while math.gcd(multiplier, count) > 1:
            multiplier += 1
        return multiplier, count // 2

    def threads(self, turns: Array, threads: int) -> Array:
        """(n,) int64: which of a block's threads stands at each of these places; this is its own inverse."""
        if not self.number:
            return turns
        full = threads // WARP_SIZE * WARP_SIZE
        result: Array = np.where(turns < full, full - WARP_SIZE - (turns & -WARP_SIZE) + turns % WARP_SIZE, turns)
        return result


IN_ORDER = Order()
_GOLDEN = 0.618033988749895


class Geometry:
    """The part of a grid that some blocks are which run side by side.

    layout: numbers their threads.  first_block: the turn of the first of them.  grid: blocks in x, y, z.
    order: which blocks of the grid have these turns.
    registers: values of special registers that follow from all that.  is_shared: the layout, and what follows from it
    alone, goes on to other parts of grids.
    """

    __slots__ = ("_unions", "first_block", "grid", "is_shared", "layout", "order", "registers")

    def __init__(
        self, layout: Layout, first_block: int, grid: Index3, order: Order = IN_ORDER, is_shared: bool = False
    ) -> None:
        self.layout = layout
        self.first_block = first_block
        self.grid = grid
        self.order = order
        self.is_shared = is_shared
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
        """Turn of a block of the grid → (x, y, z)."""
        x, y, z = self.grid
        number = int(self.order.blocks(np.array([number]), x * y * z)[0])
        return number % x, number // x % y, number // (x * y)

    def thread_index(self, thread: int) -> Index3:
        """Place of a thread within the block → (x, y, z)."""
        x, y, _ = self.layout.block
        thread = int(self.order.threads(np.array([thread]), self.layout.threads)[0])
        return thread % x, thread // x % y, thread // (x * y)

    def lane(self, block: Index3, thread: Index3) -> int:
        """The lane of a (block, thread) of this part of the grid."""
        (x, y, z), (across, down, _) = block, self.grid
        number = self.order.turn_of_block(x + across * (y + down * z), math.prod(self.grid)) - self.first_block
        (x, y, z), (across, down, _) = thread, self.layout.block
        place = self.order.threads(np.array([x + across * (y + down * z)]), self.layout.threads)
        return number * self.layout.padded + int(place[0])

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
        union = self._unions.get(key)
        if union is None:
            if len(self._unions) >= MAX_UNIONS:
                self._unions.clear()
            union = self._unions[key] = Lanes(self.layout, ids)
        return union

    def forget(self) -> None:
        """Release the memory of a launch that is over; the shape is kept for the next one."""
        self._unions.clear()
        layout = self.layout
        if not layout.keeps or layout.kept_bytes > KEPT_BYTES:
            layout.forget()
        else:
            layout.forget_launch()
            if self.is_shared:
                self.registers = {name: at for name, at in self.registers.items() if not name.startswith("ctaid.")}
            known_by = _known_by(layout.block, layout.blocks, self.first_block, self.grid, self.order, self.is_shared)
            _kept[known_by] = self
        while len(_kept) > KEPT_SHAPES or sum(kept.layout.kept_bytes for kept in _kept.values()) > KEPT_BYTES:
            _kept.pop(next(iter(_kept))).layout.forget()


_Key = tuple[Index3, int, int, Index3, Order]
_kept: dict[_Key, Geometry] = {}
"""Geometries that no launch uses, the most recently used last."""


def geometry_of(
    block: Index3, blocks: int, first_block: int, grid: Index3, order: Order = IN_ORDER, shares: bool = False
) -> Geometry:
    """So many blocks of a grid from the first on; nobody else has it until it is told to forget.

    What an earlier launch of the same shape has found out of where threads stand, and of what follows from that alone,
    comes with it: most of what small launches cost.  Of grids that do not run side by side as a whole only what follows
    from where threads stand in their blocks is kept, for other parts of any grid, and that where it `shares`: who
    watches takes the threads of one layout for those of one part.
    """
    whole = blocks == math.prod(grid)
    is_shared = shares and not whole
    kept = _kept.pop(_known_by(block, blocks, first_block, grid, order, is_shared), None)
    if kept is None:
        return Geometry(Layout(block, blocks, whole or is_shared), first_block, grid, order, is_shared)
    kept.first_block, kept.grid = first_block, grid
    return kept


def _known_by(block: Index3, blocks: int, first_block: int, grid: Index3, order: Order, is_shared: bool) -> _Key:
    return (block, blocks, -1, (0, 0, 0), order) if is_shared else (block, blocks, first_block, grid, order)
