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

import numpy as np

from grader.ptx.observers.order_graph import NONE, Node, Progress, StrongAccess, Walk, key_of, same
from grader.ptx.observers.shadow import AccessEpoch, VectorClock
from grader.ptx.values import Array, Lanes, Layout

KEPT_ENTRIES = 4_000_000
"""Lanes of nodes that are kept; what is beyond is judged by blocks (see `HappensBefore.ordered`)."""
MAX_STEPS = 150_000
"""Nodes that are walked through, and walks that are asked, in one launch: some 20 µs each."""
MAX_WALKS = 4096
"""Walks that are kept, to go on where they stopped."""


@dataclass(slots=True)
class _BlockBatch:
    """The last node of each lane of the running batch, and the fence that it last executed or knows of.

    learned: (3, lanes) up to which node it can know of anybody else, of its own warp, else of its block, else at all.
    arrived: by barrier, the node at which it came there without waiting.
    """

    layout: Layout
    first_thread: int
    last: Array
    fenced: Array
    learned: Array
    arrived: dict[int, Array] = field(default_factory=dict)

    def share(self, ids: Array, starts: Array, sizes: Array, number: int, levels: int) -> None:
        """Lanes have met at a node: those of a group, which begin at `starts`, know of others what any of them knew.

        levels: how many kinds of others (see `learned`) have met there, who are known up to the node.
        """
        for level in range(levels, 3):
            self.learned[level, ids] = np.repeat(np.maximum.reduceat(self.learned[level, ids], starts), sizes)
        self.learned[:levels, ids] = number


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
        self._scene: tuple[Layout, int, int] | None = None
        self._started = False
        self._shared_writers: dict[tuple[int, int], Array] = {}
        self._writers: dict[tuple[int, int], Array] = {}
        self._entries = 0
        self._full = False
        self._steps = 0
        self._walks: dict[_Key, Walk] = {}
        self._released: dict[int, int] = {}
        self._acquired: dict[int, int] = {}
        self._progress = Progress()

    # -- noting --------------------------------------------------------------------------------------------------------

    def begin(self, layout: Layout, first_thread: int, blocks: int) -> None:
        """Begin another batch of a grid of `blocks` blocks: its shared memory is its own."""
        # Most launches never come to need more.
        self._scene, self._batch = (layout, first_thread, blocks), None
        self._started = False
        self._shared_writers = {}

    def _here(self) -> _BlockBatch:
        if self._batch is None:
            assert self._scene is not None
            layout, first_thread, _blocks = self._scene
            size = layout.blocks * layout.padded
            last, fenced, learned = (np.full(shape, NONE, np.int32) for shape in (size, size, (3, size)))
            self._batch = _BlockBatch(layout, first_thread, last, fenced, learned)
            self._progress.begin(*self._scene)
        return self._batch

    def _start(self, clock: VectorClock) -> None:
        batch = self._here()
        self.active = True
        if not self._started:
            self._started = True
            node = self._add("start", batch.layout.root, clock=clock)
            batch.last[:] = node.number
            self._progress.start(node)

    def _add(self, kind: str, lanes: Lanes, before: Array | int = NONE, **more: object) -> Node:
        """Add a node; `more`: fields of `Node` that its kind has."""
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
        self._start(clock)
        batch = self._here()
        node = self._add("fence", lanes, same(batch.last[lanes.ids]), in_block_only=in_block_only)
        batch.last[lanes.ids] = batch.fenced[lanes.ids] = node.number
        if not in_block_only:
            self._progress.fence(lanes.ids)

    def access(self, access: StrongAccess, clock: VectorClock, settle: Callable[[], None]) -> None:
        """Add a strong access; `settle` is called before it becomes part of the graph, if it does."""
        releases, lanes, units, writes = access.releases, access.lanes, access.units, access.writes
        tables = self._shared_writers if access.shared else self._writers
        table = tables.get(access.memory)
        if not releases and table is None and not (self._started and writes is not None):
            return
        batch = self._here()
        ids = lanes.ids
        earlier = None if table is None else table[units]
        has_earlier = earlier is not None and bool((earlier != NONE).any())
        fenced = batch.fenced[ids]
        publishes = writes is not None and (releases or bool((writes & (fenced != NONE)).any()))
        if not (publishes or (has_earlier and (access.learns or access.overwrites))):
            return
        if not self._started:
            settle()
            self._start(clock)
        before = same(batch.last[ids])
        if has_earlier and (writes is None or not publishes) and self._nothing_new(before, access, earlier):
            return
        settle()
        if table is None:
            table = tables[access.memory] = np.full(access.unit_count, NONE, np.int32)
        if earlier is None:
            earlier = table[units]
        node = self._add("access", lanes, before, fences=same(fenced), access=access, units=units, earlier=earlier)
        batch.last[ids] = node.number
        if access.learns:
            batch.learned[:, ids] = node.number
        if writes is not None:
            table[units[writes]] = node.number
        self._progress.access(access)
        for block in np.unique((ids + batch.first_thread) // batch.layout.padded).tolist():
            if access.learns:
                self._acquired[block] = node.number
            if publishes:
                self._released[block] = node.number

    def _nothing_new(self, before: Array | int, access: StrongAccess, earlier: Array | None) -> bool:
        """Whether an access that publishes nothing reads what the same lanes read last: a poll."""
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
        """Join all threads of some blocks: (blocks,) bool, None for all of them."""
        batch = self._batch
        if batch is None or not self._started:
            return
        root = batch.layout.root
        lanes = root if blocks is None else root.select(np.flatnonzero(blocks[root.blocks]))
        self._join("block", lanes, batch.layout.padded)
        self._progress.barrier(lanes.ids, self.now - 1)

    def warp_sync(self, lanes: Lanes) -> None:
        if self._batch is not None and self._started:
            self._join("warp", lanes, 32)

    def arrival(self, barrier: int, lanes: Lanes) -> None:
        """Note lanes that have come to a barrier for which they do not wait."""
        batch = self._batch
        if batch is None or not self._started:
            return
        node = self._add("arrival", lanes, same(batch.last[lanes.ids]))
        arrived = batch.arrived.setdefault(barrier, np.full(len(batch.last), NONE, np.int32))
        arrived[lanes.ids] = node.number
        batch.last[lanes.ids] = node.number

    def complete(self, barrier: int, parties: list[tuple[Lanes, bool]]) -> None:
        """Join some threads of a block: sets of lanes, and whether each waited for the others."""
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
        self._progress.meet(everybody.ids, waited)
        if (fences != NONE).any():
            batch.fenced[waited] = node.number

    def _join(self, kind: str, lanes: Lanes, size: int) -> None:
        batch = self._batch
        assert batch is not None
        before, fences = same(batch.last[lanes.ids]), same(batch.fenced[lanes.ids])
        is_certain = isinstance(fences, int) and (fences == NONE or self._full or self.nodes[fences].kind == kind)
        node = self._add(kind, lanes, before, fences=NONE if is_certain else fences)
        batch.last[lanes.ids] = node.number
        groups = lanes.ids // size
        starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        sizes = np.diff(np.append(starts, lanes.n))
        batch.share(lanes.ids, starts, sizes, node.number, 1 if kind == "warp" else 2)
        self._progress.share(lanes.ids, starts, sizes)
        if not is_certain:
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
        result = self._progress.knows(past, moments, lanes)
        likely &= ~result
        for number in np.unique(last[likely]).tolist():
            here = np.flatnonzero(likely & (last == number))
            if self._full or self._steps > MAX_STEPS:
                result[here] = self._roughly(past[here], moments[here], lanes[here] + batch.first_thread, padded)
                continue
            node = self.nodes[number]
            keys = np.broadcast_to(key_of(node, lanes[here]), len(here))
            for key in np.unique(keys).tolist():
                chosen = here[keys == key]
                walk = self._walks.get((number, key))
                if walk is None:
                    if len(self._walks) >= MAX_WALKS:
                        self._walks.clear()
                    walk = self._walks[number, key] = Walk(self.nodes, number, int(lanes[chosen[0]]))
                are_ordered, steps = walk.finds(past[chosen], moments[chosen], events)
                self._steps += steps + 1
                result[chosen] = are_ordered
        return result

    def _roughly(self, past: AccessEpoch, moments: Array, threads: Array, padded: int) -> Array:
        released = np.array([self._released.get(block, NONE) for block in (past.thread // padded).tolist()])
        acquired = np.array([self._acquired.get(block, NONE) for block in (threads // padded).tolist()])
        result: Array = (moments <= released) & (released <= acquired)
        return result
