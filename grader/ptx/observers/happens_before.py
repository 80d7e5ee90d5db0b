"""Order that fences and strong accesses make between threads: the happens-before graph of a launch.

A strong write (atomic, volatile, relaxed, release) publishes what its thread had done: up to itself where it is a
release, else up to the last fence that the thread had executed, or knew of through a barrier.  A strong read learns
what the value that it reads has published: from the last store to that place on, through every atomic in between (PTX
ISA, memory consistency model: release and acquire patterns, observation order).  It learns so without an acquire or a
fence of its own, as the programming guide's single-pass reduction expects; where nobody looks at what an atomic
returns, it learns nothing.  A fence or a release of scope `.cta` counts within its block.

The graph's nodes are fences, strong accesses and barriers, of one set of lanes each.  Nothing is noted before the
first fence or release of a launch.  A question is answered by walking back from a thread's last node; only accesses
that the vector clocks (`VectorClock`) leave unordered are ever asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np

from grader.ptx.observers.shadow import AccessEpoch
from grader.ptx.observers.vector_clocks import VectorClock
from grader.ptx.values.lanes import Array, Lanes, Layout

NONE = -1
KEPT_ENTRIES = 4_000_000
"""Lanes of nodes that are kept; what is beyond is judged by blocks (see `HappensBefore.ordered`)."""
MAX_STEPS = 150_000
"""Nodes that are walked through, and walks that are asked, in one launch: some 20 µs each."""
MAX_WALKS = 4096
"""Walks that are kept, to go on where they stopped."""
COUNTED_BLOCKS = 8192
COUNTERS = 64
"""Blocks of a grid, and places in memory, for which the progress of whole blocks is kept."""


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


@dataclass(slots=True)
class _BlockBatch:
    """Of each lane of the batch that runs: its last node, and the fence that it last executed or knows of.

    learned: (3, lanes) up to which node it can know of anybody else, of its own warp, else of its block, else at all.
    start: the node at which the record starts.  together: the last barrier of its whole block, or the start.
    certain: up to which node it knows of everybody, as behind a barrier of the whole grid.
    offered: (2, lanes) `together` and `certain` as they were at its last fence.
    """

    layout: Layout
    first_thread: int
    last: Array
    fenced: Array
    learned: Array
    together: Array
    certain: Array
    offered: Array
    start: Node | None = None
    arrived: dict[int, Array] = field(default_factory=dict)

    def share(self, ids: Array, groups: Array, number: int, levels: int) -> None:
        """Lanes have met at a node: those of a group, (n,) ascending numbers, know of others what any of them knew.

        levels: how many kinds of others (see `learned`) have met there, who are known up to the node.
        """
        starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        sizes = np.diff(np.append(starts, len(ids)))
        for level in range(levels, 3):
            self.learned[level, ids] = np.repeat(np.maximum.reduceat(self.learned[level, ids], starts), sizes)
        self.learned[:levels, ids] = number
        self.certain[ids] = np.repeat(np.maximum.reduceat(self.certain[ids], starts), sizes)


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


_Key = tuple[int, int]


class HappensBefore:
    """The graph, and what it is asked."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.active = False
        """Whether anybody has fenced or released in this launch."""
        self.now = 0
        """The moment, as the number of nodes so far: an access noted now came after all of them."""
        self._batch: _BlockBatch | None = None
        self._started = False
        self._shared_writers: dict[tuple[int, int], Array] = {}
        self._writers: dict[tuple[int, int], Array] = {}
        self._entries = 0
        self._full = False
        self._steps = 0
        self._walks: dict[_Key, _Walk] = {}
        self._released: dict[int, int] = {}
        self._acquired: dict[int, int] = {}
        self._blocks = 0
        self._counters: dict[tuple[int, int, int], _Counter] = {}

    # -- noting --------------------------------------------------------------------------------------------------------

    def begin(self, layout: Layout, first_thread: int, blocks: int) -> None:
        """Another batch of a grid of so many blocks runs: its shared memory is its own."""
        size = layout.blocks * layout.padded
        last, fenced, learned, together, certain, offered = (
            np.full(shape, NONE, np.int32) for shape in (size, size, (3, size), size, size, (2, size))
        )
        self._batch = _BlockBatch(layout, first_thread, last, fenced, learned, together, certain, offered)
        self._started = False
        self._shared_writers = {}
        self._blocks = blocks

    def _start(self, clock: VectorClock) -> None:
        """Note where the batch's threads stand, if that has not been done."""
        batch = self._batch
        assert batch is not None
        self.active = True
        if not self._started:
            self._started = True
            node = batch.start = self._add("start", batch.layout.root, clock=clock)
            batch.last[:] = node.number
            if batch.layout.blocks == self._blocks and clock.known is None:
                batch.together[:] = node.number

    def _add(self, kind: str, lanes: Lanes, before: Array | int = NONE, **more: object) -> Node:
        batch = self._batch
        assert batch is not None
        node = Node(self.now, kind, lanes, batch.first_thread, batch.layout.padded, before, **more)  # type: ignore[arg-type]
        self.now += 1
        if not self._full:
            parts = (before, node.units, node.fences)
            self._entries += 16 + sum(len(part) for part in parts if isinstance(part, np.ndarray))
            self._full = self._entries > KEPT_ENTRIES
            self.nodes.append(node)
        return node

    def fence(self, lanes: Lanes, clock: VectorClock, in_block_only: bool) -> None:
        """Some lanes execute a fence."""
        self._start(clock)
        batch = self._batch
        assert batch is not None
        node = self._add("fence", lanes, _same(batch.last[lanes.ids]), in_block_only=in_block_only)
        batch.last[lanes.ids] = batch.fenced[lanes.ids] = node.number
        if not in_block_only:
            batch.offered[0, lanes.ids] = batch.together[lanes.ids]
            batch.offered[1, lanes.ids] = batch.certain[lanes.ids]

    def access(self, access: StrongAccess, clock: VectorClock, settle: Callable[[], None]) -> None:
        """Some lanes make a strong access; `settle` is called before it becomes part of the graph, if it does."""
        batch = self._batch
        assert batch is not None
        releases, lanes, units, writes = access.releases, access.lanes, access.units, access.writes
        tables = self._shared_writers if access.shared else self._writers
        table = tables.get(access.memory)
        if not releases and table is None and not (self._started and writes is not None):
            return
        ids = lanes.ids
        earlier = None if table is None else table[units]
        found = earlier is not None and bool((earlier != NONE).any())
        fenced = batch.fenced[ids]
        publishes = writes is not None and (releases or bool((writes & (fenced != NONE)).any()))
        if not (publishes or (found and (access.learns or access.overwrites))):
            return
        if not self._started:
            settle()
            self._start(clock)
        before = _same(batch.last[ids])
        if found and (writes is None or not publishes) and self._nothing_new(before, access, earlier):
            return
        settle()
        if table is None:
            table = tables[access.memory] = np.full(access.unit_count, NONE, np.int32)
        if earlier is None:
            earlier = table[units]
        node = self._add("access", lanes, before, fences=_same(fenced), access=access, units=units, earlier=earlier)
        batch.last[ids] = node.number
        if access.learns:
            batch.learned[:, ids] = node.number
        if writes is not None:
            table[units[writes]] = node.number
        if self._blocks <= COUNTED_BLOCKS and not access.shared:
            self._count(batch, access)
        for block in np.unique((ids + batch.first_thread) // batch.layout.padded).tolist():
            if access.learns:
                self._acquired[block] = node.number
            if publishes:
                self._released[block] = node.number

    def _count(self, batch: _BlockBatch, access: StrongAccess) -> None:
        """What a strong access of global memory tells of the progress of whole blocks, and learns of it."""
        units = access.units
        distinct = np.unique(units)
        if len(distinct) > COUNTERS:
            return
        ids, writes = access.lanes.ids, access.writes
        for unit in distinct.tolist():
            key = (*access.memory, unit)
            there = units == unit
            counter = self._counters.get(key)
            known = NONE if counter is None or access.overwrites else counter.known
            if writes is not None and not access.in_block_only:
                lanes = ids[there & writes]
                own = (batch.together[lanes], batch.certain[lanes]) if access.releases else batch.offered[:, lanes]
                if access.overwrites:
                    lanes, counter = lanes[-1:], None
                    own = (own[0][-1:], own[1][-1:])
                if len(lanes) and max(own[0].max(), own[1].max()) != NONE:
                    if counter is None:
                        if len(self._counters) >= COUNTERS:
                            self._counters.clear()
                        counter = self._counters[key] = _Counter(np.full(self._blocks, NONE, np.int32))
                    np.maximum.at(counter.blocks, (lanes + batch.first_thread) // batch.layout.padded, own[0])
                    counter.certain = max(counter.certain, int(own[1].max()))
                elif access.overwrites:
                    self._counters.pop(key, None)
            if access.learns and known != NONE:
                batch.certain[ids[there]] = np.maximum(batch.certain[ids[there]], known)

    def _nothing_new(self, before: Array | int, access: StrongAccess, earlier: Array | None) -> bool:
        """Whether an access that publishes nothing finds what the same lanes found when they looked last: a poll."""
        if self._full or not isinstance(before, int) or before == NONE:
            return False
        node, lanes = self.nodes[before], access.lanes
        if (
            node.access is None
            or node.units is None
            or node.lanes.n != lanes.n
            or not np.array_equal(node.lanes.ids, lanes.ids)
            or not np.array_equal(node.units, access.units)
        ):
            return False
        assert earlier is not None and node.earlier is not None
        if access.writes is None:
            return node.access.writes is None and np.array_equal(node.earlier, earlier)
        # Atomics only: whoever reads what they wrote learns what they had read.
        return not access.overwrites and not node.access.overwrites and bool(np.all(earlier == node.number))

    def barrier(self, blocks: Array | None) -> None:
        """All threads of some blocks have met: (blocks,) bool, None for all of them."""
        batch = self._batch
        if batch is None or not self._started:
            return
        root = batch.layout.root
        lanes = root if blocks is None else root.select(np.flatnonzero(blocks[root.blocks]))
        self._join("block", lanes, batch.layout.padded)
        batch.together[lanes.ids] = self.now - 1

    def warp_sync(self, lanes: Lanes) -> None:
        """Some lanes have met, warp by warp."""
        if self._batch is not None and self._started:
            self._join("warp", lanes, 32)

    def arrival(self, barrier: int, lanes: Lanes) -> None:
        """Some lanes have come to a barrier for which they do not wait."""
        batch = self._batch
        if batch is None or not self._started:
            return
        node = self._add("arrival", lanes, _same(batch.last[lanes.ids]))
        arrived = batch.arrived.setdefault(barrier, np.full(len(batch.last), NONE, np.int32))
        arrived[lanes.ids] = node.number
        batch.last[lanes.ids] = node.number

    def complete(self, barrier: int, parties: list[tuple[Lanes, bool]]) -> None:
        """Some threads of a block have met: sets of lanes, and whether each waited for the others."""
        batch = self._batch
        if batch is None or not self._started:
            return
        everybody = Lanes(batch.layout, np.sort(np.concatenate([lanes.ids for lanes, _ in parties])))
        waited = np.concatenate([lanes.ids for lanes, waits in parties if waits] or [np.zeros(0, np.int64)])
        before = batch.last[everybody.ids]
        arrived = batch.arrived.get(barrier)
        if arrived is not None:
            there = arrived[everybody.ids]
            before = np.where(there == NONE, before, there)
            arrived[everybody.ids] = NONE
        fences = batch.fenced[everybody.ids]
        node = self._add("some", everybody, before, fences=fences, waited=np.isin(everybody.ids, waited))
        batch.last[waited] = node.number
        batch.learned[2, waited] = batch.learned[2, everybody.ids].max()
        batch.learned[:2, waited] = node.number
        batch.certain[waited] = batch.certain[everybody.ids].max()
        if (fences != NONE).any():
            batch.fenced[waited] = node.number

    def _join(self, kind: str, lanes: Lanes, size: int) -> None:
        batch = self._batch
        assert batch is not None
        before, fences = _same(batch.last[lanes.ids]), _same(batch.fenced[lanes.ids])
        known = isinstance(fences, int) and (fences == NONE or self._full or self.nodes[fences].kind == kind)
        node = self._add(kind, lanes, before, fences=NONE if known else fences)
        batch.last[lanes.ids] = node.number
        groups = lanes.ids // size
        batch.share(lanes.ids, groups, node.number, 1 if kind == "warp" else 2)
        if not known:
            fenced = np.zeros(int(groups[-1]) + 1, np.bool_)
            fenced[groups[batch.fenced[lanes.ids] != NONE]] = True
            batch.fenced[lanes.ids[fenced[groups]]] = node.number

    def publishes(self, lanes: Lanes) -> bool:
        """Whether a strong store of these lanes would tell others of a fence, for all of them."""
        batch = self._batch
        return batch is not None and self._started and bool((batch.fenced[lanes.ids] != NONE).all())

    def has_writers(self, access: StrongAccess) -> bool:
        """Whether what some lanes access was strongly written before by somebody who is part of the graph."""
        table = (self._shared_writers if access.shared else self._writers).get(access.memory)
        return table is not None and bool((table[access.units] != NONE).all())

    # -- asking --------------------------------------------------------------------------------------------------------

    def ordered(self, past: AccessEpoch, moments: Array, events: Sequence[object], lanes: Array) -> Array:
        """(n,) bool: which accesses made before are ordered before what some lanes of the batch do now.

        moments: when each access was made (see `now`).  events: all accesses by number.  lanes: (n,) the lane that each
        is compared with.

        Where the graph grew too large it tells only whether the one's block has published something since, and the
        other's has learnt something after that.
        """
        result = np.zeros(len(moments), np.bool_)
        batch = self._batch
        if batch is None or not self._started:
            return result
        padded = batch.layout.padded
        last = batch.last[lanes]
        threads = lanes + batch.first_thread
        near = np.where(past.thread >> 5 == threads >> 5, 0, np.where(past.thread // padded == threads // padded, 1, 2))
        # Nobody knows of what was done after the last time that anything was heard of those who did it.
        likely = moments <= batch.learned[near, lanes]
        result = self._certainly(batch, past, moments, lanes)
        likely &= ~result
        for number in np.unique(last[likely]).tolist():
            here = np.flatnonzero(likely & (last == number))
            if self._full or self._steps > MAX_STEPS:
                result[here] = self._roughly(past[here], moments[here], lanes[here] + batch.first_thread, padded)
                continue
            node = self.nodes[number]
            keys = _keys(node, lanes[here])
            for key in np.unique(keys).tolist():
                chosen = here[keys == key]
                walk = self._walks.get((number, key))
                if walk is None:
                    if len(self._walks) >= MAX_WALKS:
                        self._walks.clear()
                    walk = self._walks[number, key] = _Walk(self.nodes, number, int(lanes[chosen[0]]))
                found, steps = walk.finds(past[chosen], moments[chosen], events)
                self._steps += steps + 1
                result[chosen] = found
        return result

    @staticmethod
    def _certainly(batch: _BlockBatch, past: AccessEpoch, moments: Array, lanes: Array) -> Array:
        """(n,) bool: which accesses were made before a barrier of the whole grid."""
        certain, start = batch.certain[lanes], batch.start
        assert start is not None and start.clock is not None
        result: Array = moments <= certain
        first = result & (certain == start.number)
        if first.any():
            # What was done before the record starts is known as far as a barrier of its block came after it.
            warps = (past.thread - batch.first_thread) >> 5
            result &= ~first | (past.epoch < start.clock.epochs[np.clip(warps, 0, len(start.clock.epochs) - 1)])
        return result

    def _roughly(self, past: AccessEpoch, moments: Array, threads: Array, padded: int) -> Array:
        released = np.array([self._released.get(block, NONE) for block in (past.thread // padded).tolist()])
        acquired = np.array([self._acquired.get(block, NONE) for block in (threads // padded).tolist()])
        result: Array = (moments <= released) & (released <= acquired)
        return result


def _same(numbers: Array) -> Array | int:
    first = int(numbers[0])
    return first if (numbers == first).all() else numbers


def _key(node: Node, lane: int) -> int:
    """Lanes of one barrier know the same: the number that they share at a node."""
    if node.kind == "block":
        return lane // node.padded
    if node.kind in ("warp", "start"):
        return lane >> 5
    return NONE if node.kind == "some" else lane


def _keys(node: Node, lanes: Array) -> Array:
    """The same for many lanes."""
    if node.kind == "block":
        return lanes // node.padded
    if node.kind in ("warp", "start"):
        return lanes >> 5
    return np.full(len(lanes), NONE) if node.kind == "some" else lanes


class _Walk:
    """What happened before a node, for one of its lanes: found out step by step, the latest first.

    threads, warps, blocks: the moment up to which everything that they did is known.  events: strong accesses that
    were read from; writes: by access and unit, how many of their lanes.  starts: by block, where the record starts; the
    vector clocks tell the rest.
    """

    def __init__(self, nodes: list[Node], number: int, lane: int) -> None:
        self._nodes = nodes
        self._seen: set[tuple[str, int, int, int]] = set()
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
        found = np.zeros(len(moments), np.bool_)
        blocks = past.thread // self._padded
        steps, portion, ended = 0, 4, False
        while True:
            for block in np.unique(blocks[~found]).tolist():
                found |= (blocks == block) & (moments <= self._blocks.get(block, NONE))
            for position in np.flatnonzero(~found).tolist():
                one = past[position : position + 1]
                event = events[int(np.broadcast_to(one.event, 1)[0])]
                found[position] = self._knows(
                    int(one.thread[0]), int(one.epoch[0]), int(one.segment[0]), int(moments[position]), event
                )
            if found.all():
                return found, steps
            # What is older than an access says nothing about it.
            oldest = int(moments[~found].min())
            for _ in range(portion):
                if not self._queue or -self._queue[0][0] < oldest:
                    break
                steps += 1
                number, what, lane, limit = heappop(self._queue)
                self._step(what, -number, lane, limit)
            else:
                portion *= 2
                continue
            if ended:
                return found, steps
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
            if moment <= node.number and own >> 5 == warp and segment != clock.segments[warp]:
                return True
        return False

    def _push(self, what: str, number: int, lane: int, limit: int = NONE) -> None:
        """Have looked at: what a lane knew at a node ("known"), or what fences it knew of ("fences").

        Or all that was written up to a node, and then read by others ("chain"): there `lane` is the unit of memory.
        limit: the block of who reads what was published, which scopes of fences and releases are held against.
        """
        if number != NONE:
            key = lane if what == "chain" else _key(self._nodes[number], lane)
            item = (what, number, key, limit)
            if item not in self._seen:
                self._seen.add(item)
                heappush(self._queue, (-number, what, lane, limit))

    def _step(self, what: str, number: int, lane: int, limit: int) -> None:
        node = self._nodes[number]
        if what == "known":
            self._known(node, lane)
        elif what == "fences":
            self._fences(node, lane, limit)
        else:
            self._chain(node, lane, limit, node.lanes.n)

    def _known(self, node: Node, lane: int) -> None:
        thread, number = lane + node.first_thread, node.number
        if node.kind == "start":
            self._starts.setdefault(thread // node.padded, []).append((node, lane >> 5))
        elif node.kind in _BARRIERS:
            low, high = _members(node, lane)
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
            self._push("known", int(_of(node.before, position)), lane)
            if node.access is not None and node.access.learns and node.units is not None:
                self._chain(node, int(node.units[position]), thread // node.padded, position)

    def _push_all(self, what: str, node: Node, numbers: Array | int, low: int, high: int, limit: int) -> None:
        """Each member's node of `numbers`."""
        ids = node.lanes.ids
        if isinstance(numbers, int):
            kind = self._nodes[numbers].kind if numbers != NONE else "block"
            if kind in ("block", "some"):
                self._push(what, numbers, int(ids[low]), limit)
                return
            lanes = np.unique(ids[low:high] >> 5) << 5 if kind in ("warp", "start") else ids[low:high]
            for lane in lanes.tolist():
                self._push(what, numbers, lane, limit)
            return
        for number, lane in zip(numbers[low:high].tolist(), ids[low:high].tolist(), strict=True):
            self._push(what, number, lane, limit)

    def _fences(self, node: Node, lane: int, limit: int) -> None:
        if node.kind == "fence":
            if not node.in_block_only or (lane + node.first_thread) // node.padded == limit:
                self._push("known", node.number, lane)
        else:
            self._push_all("fences", node, node.fences, *_members(node, lane), limit)

    def _chain(self, node: Node, unit: int, reader_block: int, end: int) -> None:
        """The writes to a unit by the lanes of an access before position `end`, and those that they followed."""
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
                same = same[_of(node.fences, same) != NONE]
            for position in same[::-1].tolist():
                lane = int(node.lanes.ids[position])
                if access.in_block_only and (lane + first) // padded != reader_block:
                    continue
                if access.releases:
                    self._push("known", node.number, lane)
                else:
                    self._push("fences", int(_of(node.fences, position)), lane, reader_block)
            if access.overwrites and len(there):
                return
        if len(there):
            self._push("chain", int(node.earlier[there[0]]), unit, reader_block)


_BARRIERS = frozenset({"block", "warp", "some"})


def _members(node: Node, lane: int) -> tuple[int, int]:
    """Positions of the lanes that met with one at a barrier."""
    ids = node.lanes.ids
    if node.kind == "some":
        return 0, len(ids)
    size = node.padded if node.kind == "block" else 32
    low, high = np.searchsorted(ids, [lane // size * size, lane // size * size + size]).tolist()
    return low, high


def _of(numbers: Array | int, positions: Array | int) -> Any:
    """The node at some positions, where it may be the same for all."""
    if isinstance(numbers, int):
        return np.full(len(positions), numbers) if isinstance(positions, np.ndarray) else numbers
    return numbers[positions]


def _raise(known: dict[Any, int], key: Any, number: int) -> None:
    if known.get(key, NONE) < number:
        known[key] = number
