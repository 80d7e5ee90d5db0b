"""The progress of whole blocks, and who knows of it: order behind a barrier of the whole grid, found without a search.

What every block of the grid has published in one place is known to whoever reads that place, up to the moment at which
the least of them did.  This is a lower bound: who is not known here may be known all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.ptx.observers.order_graph import NONE, Node, StrongAccess
from grader.ptx.observers.shadow import AccessEpoch
from grader.ptx.values.lanes import Array, Layout

MAX_BLOCKS = 8192
MAX_COUNTERS = 64
"""Blocks of a grid, and places in memory, of which the progress is kept."""


@dataclass(slots=True, eq=False)
class _Counter:
    """A place in memory that blocks tell each other of their progress by: a barrier of the whole grid.

    blocks: (blocks,) up to which node all that each block did is known to whoever reads the place.  certain: up to
    which node all that anybody did is known to them, as far as those knew who wrote there.
    """

    blocks: Array
    certain: int = NONE

    @property
    def known(self) -> int:
        """Up to which node whoever reads the place knows of everybody."""
        return max(self.certain, int(self.blocks.min()))


class Progress:
    """What the lanes of the batch that runs know of all blocks of the grid.

    together: (lanes,) the last barrier of a lane's whole block, or the start of the record.  certain: (lanes,) up to
    which node it knows of everybody.  offered: (2, lanes) `together` and `certain` as they were at its last fence.
    """

    def __init__(self) -> None:
        self._counters: dict[tuple[int, int, int], _Counter] = {}

    def begin(self, layout: Layout, first_thread: int, blocks: int) -> None:
        """Another batch of a grid of so many blocks runs."""
        size = layout.blocks * layout.padded
        self._layout, self._first_thread, self._blocks = layout, first_thread, blocks
        self._start: Node | None = None
        self._together = np.full(size, NONE, np.int32)
        self._certain = np.full(size, NONE, np.int32)
        self._offered = np.full((2, size), NONE, np.int32)

    def start(self, node: Node) -> None:
        """The record starts."""
        self._start = node
        assert node.clock is not None
        if self._layout.blocks == self._blocks and node.clock.known is None:
            self._together[:] = node.number

    def fence(self, ids: Array) -> None:
        """Lanes execute a fence that counts for everybody."""
        self._offered[0, ids] = self._together[ids]
        self._offered[1, ids] = self._certain[ids]

    def barrier(self, ids: Array, number: int) -> None:
        """Whole blocks have met at a node."""
        self._together[ids] = number

    def share(self, ids: Array, starts: Array, sizes: Array) -> None:
        """Lanes have met: those of a group, which begin at `starts` among them, know what any of them knew."""
        self._certain[ids] = np.repeat(np.maximum.reduceat(self._certain[ids], starts), sizes)

    def meet(self, came: Array, waited: Array) -> None:
        """Lanes have met, and those who waited know what any of them knew."""
        self._certain[waited] = self._certain[came].max()

    def access(self, access: StrongAccess) -> None:
        """What a strong access of global memory tells of the progress of whole blocks, and learns of it."""
        if self._blocks > MAX_BLOCKS or access.shared:
            return
        units = access.units
        distinct = np.unique(units)
        if len(distinct) > MAX_COUNTERS:
            return
        ids, writes = access.lanes.ids, access.writes
        for unit in distinct.tolist():
            key = (*access.memory, unit)
            there = units == unit
            counter = self._counters.get(key)
            known = NONE if counter is None or access.overwrites else counter.known
            if writes is not None and not access.in_block_only:
                lanes = ids[there & writes]
                own = (self._together[lanes], self._certain[lanes]) if access.releases else self._offered[:, lanes]
                if access.overwrites:
                    lanes, counter = lanes[-1:], None
                    own = (own[0][-1:], own[1][-1:])
                if len(lanes) and max(own[0].max(), own[1].max()) != NONE:
                    if counter is None:
                        if len(self._counters) >= MAX_COUNTERS:
                            self._counters.clear()
                        counter = self._counters[key] = _Counter(np.full(self._blocks, NONE, np.int32))
                    np.maximum.at(counter.blocks, (lanes + self._first_thread) // self._layout.padded, own[0])
                    counter.certain = max(counter.certain, int(own[1].max()))
                elif access.overwrites:
                    self._counters.pop(key, None)
            if access.learns and known != NONE:
                self._certain[ids[there]] = np.maximum(self._certain[ids[there]], known)

    def knows(self, past: AccessEpoch, moments: Array, lanes: Array) -> Array:
        """(n,) bool: which accesses were made before a barrier of the whole grid."""
        certain, start = self._certain[lanes], self._start
        assert start is not None and start.clock is not None
        result: Array = moments <= certain
        first = result & (certain == start.number)
        if first.any():
            # What was done before the record starts is known as far as a barrier of its block came after it.
            warps = (past.thread - self._first_thread) >> 5
            result &= ~first | (past.epoch < start.clock.epochs[np.clip(warps, 0, len(start.clock.epochs) - 1)])
        return result
