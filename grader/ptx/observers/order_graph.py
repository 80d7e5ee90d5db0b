"""The happens-before graph: strong accesses, fences and barriers, each of one set of lanes, and how it is searched.

A walk goes back from a node to what happened before it.  Behind a barrier of the whole grid no search is needed: what
every block has published in one place is known to whoever reads that place, up to the moment at which the least of them
did.  This is a lower bound: what is not known by it may be known all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from grader.ptx.access import Access
from grader.ptx.observers.shadow import AccessEpoch, VectorClock
from grader.ptx.values import Array, Lanes, Layout

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class StrongAccess:
    """An atomic, volatile, relaxed, acquire or release access of some lanes.

    event: what the race detector knows it by.  memory: the array, and the bytes of an access.  units: (n,) which
    element of that width each lane touches; unit_count: how many there are.  writes: (n,) which lanes change it, None
    for loads.  learns: somebody looks at what was read.  overwrites: what stood there is not read.
    """

    event: object
    memory: tuple[int, int]
    units: Array
    unit_count: int
    lanes: Lanes
    shared: bool
    learns: bool
    writes: Array | None
    overwrites: bool
    releases: bool
    in_block_only: bool

    @classmethod
    def of(cls, event: Access) -> StrongAccess:
        """Return an access in the form that the graph records."""
        resolved, spec, width = event.address, event.spec, event.width
        array, lanes = resolved.array, resolved.lanes
        shared = array.space == "shared"
        offsets = resolved.offsets()
        rows = array.row_starts(lanes, 1)
        if rows is not None:
            offsets = offsets + rows + array.storage
        writes: Array | None = None
        if event.op != "load":
            writes = np.ones(lanes.n, np.bool_) if event.changed is None else event.changed
            writes = None if not writes.any() else np.broadcast_to(writes, (lanes.n,))
        return cls(
            event,
            (0 if shared else id(array), width),
            offsets // width,
            len(array.data) // width + 1,
            lanes,
            shared,
            event.op != "store" and spec.looked_at,
            writes,
            event.op == "store",
            spec.releases,
            spec.in_block_only,
        )


@dataclass(slots=True, eq=False)
class Node:
    """One fence, strong access, barrier, or the start of a batch's record, for one set of lanes.

    kind: "fence", "access", "block" (barrier of whole blocks), "warp" (`__syncwarp()`), "some" (barrier of some
    threads), "start".  first_thread, padded: the number of lane l's thread in the grid is first_thread + l, of a block
    it is a multiple of padded.  before: the node before this one for each lane, an int where it is the same for all.
    fences: what `_BlockBatch.fenced` was.  waited: (n,) for "some", who waited for the others.  Of accesses: whether
    lanes learn; (n,) which of them write; the unit of memory that each touches and the access that wrote there earlier.
    """

    number: int
    kind: str
    lanes: Lanes
    first_thread: int
    padded: int
    before: Array | int
    fences: Array | int = NONE
    waited: Array | None = None
    access: StrongAccess | None = None
    units: Array | None = None
    earlier: Array | None = None
    in_block_only: bool = False
    clock: VectorClock | None = None


def same(numbers: Array) -> Array | int:
    """Return the numbers, as one int where they are all equal."""
    first = int(numbers[0])
    return first if (numbers == first).all() else numbers


def key_of(node: Node, lanes: Any) -> Any:
    """Return the number that a lane, or each of (n,) lanes, shares at a node: lanes of one barrier know the same."""
    if node.kind == "block":
        return lanes // node.padded
    if node.kind in ("warp", "start"):
        return lanes >> 5
    return NONE if node.kind == "some" else lanes


def members(node: Node, lane: int) -> tuple[int, int]:
    """Positions of the lanes that met with one at a barrier."""
    ids = node.lanes.ids
    if node.kind == "some":
        return 0, len(ids)
    size = node.padded if node.kind == "block" else 32
    low, high = np.searchsorted(ids, [lane // size * size, lane // size * size + size]).tolist()
    return low, high


def at(numbers: Array | int, positions: Array | int) -> Any:
    """The node at some positions, where it may be the same for all."""
    if isinstance(numbers, int):
        return np.full(len(positions), numbers) if isinstance(positions, np.ndarray) else numbers
    return numbers[positions]


_BARRIERS = frozenset({"block", "warp", "some"})


class Walk:
    """What happened before a node, for one of its lanes: found out step by step, the latest first.

    threads, warps, blocks: the moment up to which everything that they did is known.  events: strong accesses that
    were read from; writes: by access and unit, how many of their lanes.  starts: by block, where the record starts; the
    vector clocks tell the rest.
    """

    def __init__(self, nodes: list[Node], number: int, lane: int) -> None:
        self._nodes = nodes
        self._visited: set[tuple[str, int, int, int]] = set()
        self._queue: list[tuple[int, str, int, int]] = []
        self._threads: dict[int, int] = {}
        self._warps: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._starts: dict[int, list[tuple[Node, int]]] = {}
        self._events: dict[int, Node] = {}
        self._writes: dict[tuple[int, int], int] = {}
        self._padded = nodes[number].padded
        self._push("known", number, lane)

    def finds(self, past: AccessEpoch, moments: Array, events: Sequence[object]) -> tuple[Array, int]:
        """(n,) bool: which accesses, of all `events`, are among it; and how many nodes had to be looked at."""
        reached = np.zeros(len(moments), np.bool_)
        blocks = past.thread // self._padded
        steps, portion, ended = 0, 4, False
        while True:
            for block in np.unique(blocks[~reached]).tolist():
                reached |= (blocks == block) & (moments <= self._blocks.get(block, NONE))
            for position in np.flatnonzero(~reached).tolist():
                one = past[position : position + 1]
                event = events[int(np.broadcast_to(one.event, 1)[0])]
                reached[position] = self._knows(
                    int(one.thread[0]), int(one.epoch[0]), int(one.segment[0]), int(moments[position]), event
                )
            if reached.all():
                return reached, steps
            # What is older than an access says nothing about it.
            oldest = int(moments[~reached].min())
            for _ in range(portion):
                if not self._queue or -self._queue[0][0] < oldest:
                    break
                steps += 1
                number, kind, lane, limit = heappop(self._queue)
                self._step(kind, -number, lane, limit)
            else:
                portion *= 2
                continue
            if ended:
                return reached, steps
            ended = True

    def _knows(self, thread: int, epoch: int, segment: int, moment: int, event: object) -> bool:
        padded = self._padded
        if moment <= self._threads.get(thread, NONE) or moment <= self._warps.get(thread >> 5, NONE):
            return True
        written = self._events.get(id(event))
        if written is not None and written.units is not None:
            position = int(np.searchsorted(written.lanes.ids, thread - written.first_thread))
            if position < self._writes.get((written.number, int(written.units[position])), NONE):
                return True
        for node, warp in self._starts.get(thread // padded, ()):
            clock, own = node.clock, thread - node.first_thread
            assert clock is not None
            if moment <= node.number and clock.is_over(warp, own % padded >> 5, epoch):
                return True
            if moment <= node.number and own >> 5 == warp and segment < clock.segments_of(np.array([own]))[0]:
                return True
        return False

    def _push(self, kind: str, number: int, lane: int, limit: int = NONE) -> None:
        """Have looked at: what a lane knew at a node ("known"), or what fences it knew of ("fences").

        Or all that was written up to a node, and then read by others ("chain"): there `lane` is the unit of memory.
        limit: the block of who reads what was published, which scopes of fences and releases are held against.
        """
        if number != NONE:
            key = lane if kind == "chain" else key_of(self._nodes[number], lane)
            item = (kind, number, key, limit)
            if item not in self._visited:
                self._visited.add(item)
                heappush(self._queue, (-number, kind, lane, limit))

    def _step(self, kind: str, number: int, lane: int, limit: int) -> None:
        node = self._nodes[number]
        if kind == "known":
            self._visit(node, lane)
        elif kind == "fences":
            self._fences(node, lane, limit)
        else:
            self._chain(node, lane, limit, node.lanes.n)

    def _visit(self, node: Node, lane: int) -> None:
        thread, number = lane + node.first_thread, node.number
        if node.kind == "start":
            self._starts.setdefault(thread // node.padded, []).append((node, lane >> 5))
        elif node.kind in _BARRIERS:
            low, high = members(node, lane)
            if node.kind == "block":
                _raise(self._blocks, thread // node.padded, number)
            elif node.kind == "warp" and high - low == 32:
                _raise(self._warps, thread >> 5, number)
            else:
                for position in range(low, high):
                    if node.waited is None or node.waited[position]:
                        _raise(self._threads, int(node.lanes.ids[position]) + node.first_thread, number)
            self._push_all("known", node, node.before, low, high, NONE)
        else:
            _raise(self._threads, thread, number)
            position = int(np.searchsorted(node.lanes.ids, lane))
            self._push("known", int(at(node.before, position)), lane)
            if node.access is not None and node.access.learns and node.units is not None:
                self._chain(node, int(node.units[position]), thread // node.padded, position)

    def _push_all(self, kind: str, node: Node, numbers: Array | int, low: int, high: int, limit: int) -> None:
        ids = node.lanes.ids
        if isinstance(numbers, int):
            there = self._nodes[numbers].kind if numbers != NONE else "block"
            if there in ("block", "some"):
                self._push(kind, numbers, int(ids[low]), limit)
                return
            lanes = np.unique(ids[low:high] >> 5) << 5 if there in ("warp", "start") else ids[low:high]
            for lane in lanes.tolist():
                self._push(kind, numbers, lane, limit)
            return
        for number, lane in zip(numbers[low:high].tolist(), ids[low:high].tolist(), strict=True):
            self._push(kind, number, lane, limit)

    def _fences(self, node: Node, lane: int, limit: int) -> None:
        if node.kind == "fence":
            if not node.in_block_only or (lane + node.first_thread) // node.padded == limit:
                self._push("known", node.number, lane)
        else:
            self._push_all("fences", node, node.fences, *members(node, lane), limit)

    def _chain(self, node: Node, unit: int, reader_block: int, end: int) -> None:
        """Follow the writes to a unit by an access's lanes before position `end`, and the writes before these."""
        access = node.access
        assert access is not None and node.units is not None and node.earlier is not None
        there = np.flatnonzero(node.units == unit)
        if access.writes is not None:
            same = there[(there < end) & access.writes[there]]
            if access.overwrites:
                same = same[-1:]
            self._events[id(access.event)] = node
            _raise(self._writes, (node.number, unit), end)
            first, padded = node.first_thread, node.padded
            if not access.releases:
                same = same[at(node.fences, same) != NONE]
            for position in same[::-1].tolist():
                lane = int(node.lanes.ids[position])
                if access.in_block_only and (lane + first) // padded != reader_block:
                    continue
                if access.releases:
                    self._push("known", node.number, lane)
                else:
                    self._push("fences", int(at(node.fences, position)), lane, reader_block)
            if access.overwrites and len(there):
                return
        if len(there):
            self._push("chain", int(node.earlier[there[0]]), unit, reader_block)


def _raise(latest: dict[Any, int], key: Any, number: int) -> None:
    if latest.get(key, NONE) < number:
        latest[key] = number


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
    def everybody(self) -> int:
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
        size = layout.blocks * layout.padded
        self._layout, self._first_thread, self._blocks = layout, first_thread, blocks
        self._start: Node | None = None
        self._together = np.full(size, NONE, np.int32)
        self._certain = np.full(size, NONE, np.int32)
        self._offered = np.full((2, size), NONE, np.int32)

    def start(self, node: Node) -> None:
        self._start = node
        assert node.clock is not None
        if self._layout.blocks == self._blocks and node.clock.epochs_over is None:
            self._together[:] = node.number

    def fence(self, ids: Array) -> None:
        self._offered[0, ids] = self._together[ids]
        self._offered[1, ids] = self._certain[ids]

    def barrier(self, ids: Array, number: int) -> None:
        self._together[ids] = number

    def share(self, ids: Array, starts: Array, sizes: Array) -> None:
        """Let lanes of each group, which begin at `starts`, know what any of them knew."""
        self._certain[ids] = np.repeat(np.maximum.reduceat(self._certain[ids], starts), sizes)

    def meet(self, came: Array, waited: Array) -> None:
        """Let lanes that waited know what any of those that came knew."""
        self._certain[waited] = self._certain[came].max()

    def access(self, access: StrongAccess) -> None:
        """Note what a strong access of global memory tells of the progress of whole blocks, and learns of it."""
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
            certain = NONE if counter is None or access.overwrites else counter.everybody
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
            if access.learns and certain != NONE:
                self._certain[ids[there]] = np.maximum(self._certain[ids[there]], certain)

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
