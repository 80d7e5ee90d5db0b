"""The heap of device code: `malloc`, `free`, `new` and `delete` in a kernel.

All allocations lie in one array, so that threads which each follow pointers of their own are one access; which bytes of
it belong to whom is looked up for every address.  Neighbours lie apart, and what was freed is not handed out again
before everything else has been, so that slips are told by name.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

import numpy as np

from grader.ptx.memory import NOWHERE, Device, MemoryArray, Owner
from grader.ptx.values import Array

ROOM = 2
"""How many times as large the arena is as what live allocations may take: it holds what lies between them, too."""
FIRST_BYTES = 1 << 20
"""Bytes of the heap in use at first; it doubles when full, since whoever watches it pays by its size."""
ALIGNMENT = 16
"""Alignment of allocations in bytes, as the CUDA C++ programming guide promises."""
MAX_GAP = 4096


@dataclass(slots=True)
class _Block:
    """One allocation; `line` of the source asked for it."""

    start: int
    size: int
    line: int
    live: bool = True

    @property
    def room(self) -> int:
        return max(-(-self.size // ALIGNMENT), 1) * ALIGNMENT

    @property
    def end(self) -> int:
        """Where the next allocation may begin: far enough for a slip not to reach it."""
        gap = min(self.room, MAX_GAP) if self.room > 64 else ALIGNMENT
        return self.start + self.room + gap

    @property
    def name(self) -> str:
        return f"malloc@{self.line}" if self.line else "malloc"


class Heap:
    """Allocations of one device's kernels; they live until they are freed or the device is gone.

    limit: bytes of what lives at a time.
    """

    def __init__(self, device: Device, limit: int) -> None:
        self._limit = limit
        self._poison = device.poison
        self._arena = max(ROOM * self._limit, FIRST_BYTES)
        self.array: MemoryArray = device.reserve("heap", self._arena).memory
        self.array.valid = np.zeros(len(self.array.data), np.uint8)
        self.array.data[:FIRST_BYTES] = self._poison
        self.array.parts = self
        self.array.size = FIRST_BYTES
        self._blocks: dict[int, _Block] = {}
        self._starts: list[int] = []
        self._extents = [(ALIGNMENT, FIRST_BYTES)]
        self._used = 0
        self._table: tuple[Array, Array, Array] | None = None

    def allocate(self, size: int, line: int) -> tuple[int, int] | None:
        """(address, bytes of the arena that are handed out) of a new allocation; None when the heap is exhausted."""
        block = _Block(0, size, line)
        if size > self._limit or self._used + block.room > self._limit:
            return None
        start = self._take(block)
        while start is None:
            if not self._recycle() and not self._grow():
                return None
            start = self._take(block)
        block.start = start
        self._blocks[start] = block
        insort(self._starts, start)
        self._used += block.room
        self._table = None
        if self.array.valid is not None:
            self.array.valid[start : start + block.room] = 0
        return self.array.base + start, block.room

    def free(self, address: int) -> str:
        """Give an allocation back: "" when that went well, else "freed" or "not_allocated"."""
        block = self._blocks.get(address - self.array.base)
        if block is None:
            return "not_allocated"
        if not block.live:
            return "freed"
        block.live = False
        self._used -= block.room
        self._table = None
        return ""

    def _take(self, block: _Block) -> int | None:
        for number, (low, high) in enumerate(self._extents):
            if low + block.room <= high:
                self._extents[number] = (low + block.end, high)
                if low + block.end + ALIGNMENT > high:
                    del self._extents[number]
                return low
        return None

    def _grow(self) -> bool:
        size = self.array.size
        larger = min(2 * size, self._arena)
        if larger == size:
            return False
        if self._extents and self._extents[-1][1] == size:
            self._extents[-1] = (self._extents[-1][0], larger)
        else:
            ends = [self._blocks[start].end for start in self._starts[-1:]]
            self._extents.append((max([size, *ends]), larger))
        self.array.data[size:larger] = self._poison
        self.array.size = larger
        return True

    def _recycle(self) -> bool:
        """Make the room of freed allocations available again; False when there is none."""
        live = {start: block for start, block in self._blocks.items() if block.live}
        if len(live) == len(self._blocks):
            return False
        self._blocks, self._starts, self._table = live, sorted(live), None
        ends = [ALIGNMENT, *(live[start].end for start in self._starts)]
        self._extents = [
            (low, high) for low, high in zip(ends, [*self._starts, self.array.size], strict=True) if low < high
        ]
        return True

    # -- what an address is ------------------------------------------------------------

    def owner(self, offset: int) -> Owner:
        """The allocation that a byte of the arena belongs to, or lies next to."""
        if not self._starts:
            return NOWHERE
        starts, rooms, _ = self._tables()
        block = self._blocks[int(starts[int(self._nearest(np.array([offset]), starts, rooms)[0])])]
        return Owner(block.name, block.start, block.size)

    def judge(self, offsets: Array, width: int) -> Array | None:
        """(n,) what is wrong with accesses at byte offsets of the arena: "", "before", "after" or "freed".

        None where nothing is.
        """
        if not self._starts:
            return np.full(len(offsets), "unmapped", object)
        starts, sizes, live = self._tables()
        nearest = self._nearest(offsets, starts, sizes)
        inside = offsets - starts[nearest]
        if live[nearest].all() and (inside >= 0).all() and (inside + width <= sizes[nearest]).all():
            return None
        verdict = np.full(len(offsets), "", object)
        verdict[inside + width > sizes[nearest]] = "after"
        verdict[inside < 0] = "before"
        verdict[~live[nearest] & (inside >= 0) & (inside + width <= sizes[nearest])] = "freed"
        return verdict

    def _nearest(self, offsets: Array, starts: Array, sizes: Array) -> Array:
        """(n,) the allocation at or before each offset, the next one where that is nearer."""
        before = np.maximum(np.searchsorted(starts, offsets, "right") - 1, 0)
        after = np.minimum(before + 1, len(starts) - 1)
        past = offsets - (starts[before] + sizes[before])
        nearest: Array = np.where((past >= 0) & (after != before) & (starts[after] - offsets < past), after, before)
        return nearest

    def _tables(self) -> tuple[Array, Array, Array]:
        if self._table is None:
            blocks = [self._blocks[start] for start in self._starts]
            self._table = (
                np.array(self._starts, np.int64),
                np.array([block.size for block in blocks], np.int64),
                np.array([block.live for block in blocks], np.bool_),
            )
        return self._table


def heap_of(device: Device) -> Heap:
    """The heap of a device, made when a kernel first asks for it."""
    if device.heap is None:
        device.heap = Heap(device, device.heap_bytes)
    heap: Heap = device.heap
    return heap
