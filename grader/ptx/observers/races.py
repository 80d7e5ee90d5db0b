"""Finds races: two threads access one place, at least one of them writes, and nothing puts the accesses in order.

A place is the 32-bit word, or the byte where anything narrower was accessed.  What orders two accesses: a barrier of
the block that lies between them, or one for some of its threads, from barrier to barrier (vector clocks by warp,
`shadow.py`); within a warp `__syncwarp()` and its like; between blocks only what the kernel publishes and reads by
strong accesses and fences (`happens_before.py`).  Two atomics do not race, nor do volatile reads of global memory,
which are taken for polling.  Stores of equal values are told, but cost nothing.  docs/emulator.md has all rules.

Shared memory is examined once per interval between barriers, and no interval again whose accesses were harmless before.
Generated code has a stricter detector of its own (`native/runtime.wat`): what it suspects is run again under this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.ptx.access import Access
from grader.ptx.memory import MemoryArray
from grader.ptx.observers.happens_before import HappensBefore
from grader.ptx.observers.interface import (
    BarrierCompletion,
    BlamedOperation,
    HazardLog,
    Observer,
    OtherOperation,
    RepeatedAccesses,
    Scene,
)
from grader.ptx.observers.order_graph import StrongAccess
from grader.ptx.observers.shadow import OTHER_BLOCKS, AccessEpoch, BarrierOrder, Shadow, VectorClock
from grader.ptx.values import Array, Lanes, remember


def report_conflicts(
    hazards: HazardLog, shadow: Shadow, event: Access, bad: Array, past: AccessEpoch, detail: str, per_lane: int
) -> None:
    """Tell of the conflicts of an access with past ones.

    bad: (n,) which elements of it are in conflict, `per_lane` of them each lane's.  past: with whom.  detail: the kind
    of conflict.  Lanes of one warp among each other are told apart from all others.
    """
    other_thread, other_event = past.thread, np.asarray(past.event)
    geometry, array = event.geometry, event.address.array
    start = geometry.first_thread
    ids = np.repeat(event.address.lanes.ids, per_lane) if per_lane > 1 else event.address.lanes.ids
    same_warp = (other_thread - start) // 32 == ids // 32
    for within in (False, True):
        positions = np.flatnonzero(bad & (same_warp == within))
        if not len(positions):
            continue
        first = int(positions[0])
        offset = int(event.address.offsets()[first // per_lane])
        owner = array.owner(offset)
        kind = detail
        if detail == "write_write" and shadow.held_the_same(
            event, positions // per_lane, other_event[positions], other_thread[positions]
        ):
            kind = "write_write_same_value"
        other = shadow.events[int(other_event[first])]
        if kind == "read_write" and event.op == "load" and other.spec.of_copy == "arrived":
            kind = "late_copy"
        hazards.add(
            geometry,
            "race",
            kind,
            BlamedOperation(event.instruction, int(ids[first]), event.op, array.space, owner, offset, event.width),
            _distinct(ids[positions]),
            OtherOperation(other.instruction, other.op, int(other_thread[first]) - start, within),
        )


def _distinct(ids: Array) -> int:
    """Count distinct numbers among lane numbers, which ascend."""
    return 1 + int(np.count_nonzero(ids[1:] != ids[:-1]))


STRONG = frozenset({"atomic", "peek", "signal"})
"""Kinds of accesses that threads may make to one place at a time."""


class Conflicts:
    """Compares accesses with those made before, whose order is a graph's and the vector clocks', and reports."""

    def __init__(self, graph: HappensBefore) -> None:
        self._graph = graph

    def begin(self, hazards: HazardLog) -> None:
        """Watch some blocks, and tell of their conflicts."""
        self._hazards = hazards

    def check(self, shadow: Shadow, event: Access, clock: VectorClock, moment: int, kind: str = "") -> bool:
        """Compare an access of some moment with the history, report conflicts, and record it; True for any.

        kind: what it was then, where that may have changed.
        """
        geometry, lanes = event.geometry, event.address.lanes
        first_thread, padded = geometry.first_thread, geometry.layout.padded
        kind = kind or self._kind(event)
        units, per_lane, stamp = shadow.stamp(event, clock)
        stamp = replace(stamp, event=shadow.note(event, moment, kind))
        thread = stamp.thread
        order = BarrierOrder(clock, first_thread, padded)
        has_conflict = False
        overwritten = np.zeros(len(units), np.bool_)
        for detail, tracks in shadow.conflicting(kind, event.compared, event.spec.in_block_only):
            counted = np.zeros(len(units), np.bool_)
            nearest = OTHER_BLOCKS if detail == "scope" else 1
            for track in tracks:
                if not track.conflicts_with(units, stamp):
                    continue
                past = track.at(units)
                bad = (order.distance(past, stamp) >= nearest) & ~counted
                if (self._graph.active or kind in STRONG) and np.count_nonzero(bad):
                    self._excuse(shadow, bad, past, lanes.ids, per_lane, kind)
                if np.count_nonzero(bad):
                    counted |= bad
                    report_conflicts(self._hazards, shadow, event, bad, past, detail, per_lane)
                    has_conflict = True
            if detail == "write_write":
                overwritten = counted
        if kind == "store" and self._graph.active and not has_conflict:
            # Whoever comes after this store comes after them, or conflicts with it.
            shadow.forget_readers(units)
        if not event.compared:
            shadow.record(units, stamp, order, kind, event.spec.in_block_only)
        if kind in ("store", "signal"):
            # Lanes of this very access that write one place: the last one stays, the others lose.
            bad = (shadow.writer.thread(units) != thread) & ~overwritten
            if np.count_nonzero(bad):
                has_conflict = True
                report_conflicts(self._hazards, shadow, event, bad, shadow.writer.at(units), "write_write", per_lane)
        elif kind == "atomic" and event.spec.in_block_only and shadow.tracks("block atomic"):
            latest = shadow.tracks("block atomic")[0]
            bad = latest.thread(units) // padded != thread // padded
            if np.count_nonzero(bad):
                has_conflict = True
                report_conflicts(self._hazards, shadow, event, bad, latest.at(units), "scope", per_lane)
        return has_conflict

    def are_possible(self, shadow: Shadow, event: Access, clock: VectorClock) -> bool:
        """Whether a weak access may conflict with the history; nothing is recorded."""
        shadow.cover(event.address.array.size)
        units, _, stamp = shadow.stamp(event, clock)
        order = BarrierOrder(clock, event.geometry.first_thread, event.geometry.layout.padded)
        return any(
            track.conflicts_with(units, stamp) and bool((order.distance(track.at(units), stamp) >= 1).any())
            for _, tracks in shadow.conflicting(event.op, event.compared, event.spec.in_block_only)
            for track in tracks
        )

    def _kind(self, event: Access) -> str:
        spec = event.spec
        if event.op == "load":
            polls = spec.polls and event.address.array.space == "shared"
            return "peek" if polls or spec.order in ("relaxed", "acquire") else "load"
        if event.op == "store" and self._graph.active and self.signals(event):
            return "signal"
        return "atomic" if spec.strong and spec.order != "volatile" else "store"

    def signals(self, event: Access) -> bool:
        """Whether a store behind a fence tells others of it: a volatile one, or one to where atomics have been."""
        if event.spec.order not in ("weak", "volatile") or not self._graph.publishes(event.address.lanes):
            return False
        return event.spec.order == "volatile" or self._graph.has_writers(StrongAccess.of(event))

    def _excuse(self, shadow: Shadow, bad: Array, past: AccessEpoch, ids: Array, per_lane: int, kind: str) -> None:
        """Remove from the conflicting accesses, (n,) bool, those that the kernel has ordered by hand."""
        if kind in STRONG:
            # Copied: the flags may not grow while an array looks at them.
            bad &= np.frombuffer(bytes(shadow.signals), np.uint8)[past.event] == 0
        positions = np.flatnonzero(bad)
        if not len(positions):
            return
        chosen = past[positions]
        numbers, which = np.unique(chosen.event, return_inverse=True)
        moments = np.array([shadow.moments[number] for number in numbers.tolist()], np.int64)[which]
        fine = self._graph.ordered(chosen, moments, shadow.events, ids[positions // per_lane])
        bad[positions[fine]] = False


INTERVAL_LANES = 4_000_000
"""Lane accesses kept before an interval is examined early."""
EVENT_LANES = 64
"""Of 8 bytes each: what an access of few lanes takes that is kept, in a loop of one thread most of all."""
MEMO_BYTES = 64 * 1024 * 1024
"""Address vectors kept alive so that their identity can stand for their contents."""
KEPT_STORES = 32
"""Stores to an array that nobody else has accessed."""
BYTES_A_LANE = 16
"""Bytes that an interval keeps for each lane of an access, roughly."""


@dataclass
class _Stores:
    """Stores to an array that nobody else has accessed, apart from each other.

    spans: byte offsets between which each goes.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    events: list[tuple[Access, VectorClock, int]] = field(default_factory=list)


class Races(Observer):
    """The race detector: attach it to a launch, read `LaunchReport.hazards`."""

    def __init__(self) -> None:
        self._interval: list[tuple[tuple[Any, ...], Access, VectorClock]] = []
        self._keys: set[tuple[Any, ...]] = set()
        self._interval_lanes = 0
        self._harmless: set[tuple[tuple[Any, ...], ...]] = set()
        self._kept: dict[int, Any] = {}
        self._kept_bytes = 0
        self._global: dict[int, Shadow] = {}
        self._reads: dict[int, list[tuple[Access | RepeatedAccesses, VectorClock, int]]] = {}
        self._read_bytes: dict[int, int] = {}
        self._stores: dict[int, _Stores] = {}
        self._graph = HappensBefore()
        self._conflicts = Conflicts(self._graph)

    # -- what is told --------------------------------------------------------------------

    def begin(self, scene: Scene) -> None:
        """Start with new blocks: shared memory starts afresh, global memory keeps its history."""
        geometry = scene.geometry
        self._layout = geometry.layout
        self._conflicts.begin(scene.hazards)
        self._clock = VectorClock.start(geometry.layout)
        self._graph.begin(geometry.layout, geometry.first_thread, math.prod(geometry.grid))
        self._arrived: dict[int, Array] = {}
        self._shared: Shadow | None = None
        self._clean_start = True
        self._interval, self._keys, self._interval_lanes = [], set(), 0
        # What was found harmless is known by the identity of objects of the last batch.
        self._harmless, self._kept, self._kept_bytes = set(), {}, 0

    def access(self, event: Access) -> None:
        space, spec = event.address.array.space, event.spec
        if space == "shared":
            self._shared_access(event)
        elif space == "global":
            self._global_access(event)
        if (self._graph.active or spec.releases) and (
            spec.strong or (event.op == "store" and self._conflicts.signals(event))
        ):
            self._graph.access(StrongAccess.of(event), self._clock, self._settle)

    def may_repeat(self, accesses: RepeatedAccesses) -> bool:
        """Whether what is stored conflicts with nothing, and each thread stores to its place again and again."""
        stored = accesses.stored_arrays()
        if stored and self._graph.active:
            return False
        for event, step in zip(accesses.first, accesses.steps, strict=True):
            array = event.address.array
            if id(array) not in stored:
                continue
            shadow = self._global.get(id(array))
            if shadow is None and (id(array) in self._stores or id(array) in self._reads):
                shadow = self._start(array)
            if step or (shadow is not None and self._conflicts.are_possible(shadow, event, self._clock)):
                return False
        return True

    def repeated(self, accesses: RepeatedAccesses) -> None:
        """Take note of the accesses of a loop.

        Who stores to a place of its own is afterwards who has stored there last, however often.
        """
        stored = accesses.stored_arrays()
        arrays = {id(event.address.array): event.address.array for event in accesses.first}
        for event in accesses.first:
            if id(event.address.array) in stored:
                self.access(event)
                arrays.pop(id(event.address.array), None)
        apart = [accesses.of_array(array) for array in arrays.values()]
        if any(key in self._global or key in self._stores for key in arrays):
            for event in accesses.one_by_one():
                if id(event.address.array) in arrays:
                    self._global_access(event)
            return
        for array, loads in zip(arrays.values(), apart, strict=True):
            self._note_read(array, loads)

    def _settle(self) -> None:
        """Examine the accesses that wait for it before the graph grows."""
        if self._interval:
            self._examine(whole=False)
        self._clean_start = False

    def fence(self, lanes: Lanes, in_block_only: bool) -> None:
        self._settle()
        self._graph.fence(lanes, self._clock, in_block_only)

    def barrier(self, released: Array | None, completion: BarrierCompletion | None) -> None:
        whole = released is None and completion is None
        if self._interval:
            self._examine(whole)
        self._clean_start = whole
        if completion is None:
            self._graph.barrier(released)
        else:
            self._graph.complete(completion.barrier, completion.parties)
        if completion is None:
            self._clock = self._clock.after_barrier(released, self._layout)
        else:
            arrived = self._arrived.get(completion.barrier)
            self._clock = self._clock.after_completion(completion.parties, arrived, self._layout)
            if arrived is not None:
                for lanes, _ in completion.parties:
                    arrived[lanes.ids >> 5] = -1

    def arrival(self, barrier: int, lanes: Lanes) -> None:
        arrived = self._arrived.setdefault(barrier, np.full(len(self._clock.epochs), -1, np.int32))
        warps = np.unique(lanes.ids >> 5)
        arrived[warps] = self._clock.epochs[warps]
        self._clock = self._clock.after_arrival(lanes, self._layout)
        if self._graph.active:
            self._settle()
            self._graph.arrival(barrier, lanes)
        self._clean_start = False

    def warp_sync(self, lanes: Lanes, masks: Array | None) -> None:
        if self._graph.active:
            self._settle()
            for mask in () if masks is None else np.unique(masks):
                self._graph.warp_sync(lanes.select(np.flatnonzero(masks == mask)))
            if masks is None:
                self._graph.warp_sync(lanes)
        self._clock = self._clock.after_warp_sync(lanes, masks)

    def renewed(self, array: MemoryArray, start: int, size: int) -> None:
        """Forget the history of bytes that are handed out anew."""
        if id(array) in self._reads or id(array) in self._stores:
            self._start(array)
        shadow = self._global.get(id(array))
        if shadow is not None:
            shadow.forget_units(start, size)

    def end(self) -> None:
        if self._interval:
            self._examine(whole=True)
        self._shared = None

    # -- shared memory -----------------------------------------------------------------

    def _shared_access(self, event: Access) -> None:
        resolved = event.address
        key = (
            id(event.instruction),
            id(resolved.vec),
            resolved.shift,
            resolved.array.storage,
            id(resolved.lanes),
            id(self._clock),
        )
        if key in self._keys:
            return
        self._keys.add(key)
        self._interval.append((key, event, self._clock))
        self._interval_lanes += max(resolved.lanes.n, EVENT_LANES)
        heard = self._clock.heard
        if heard is not None and (len(self._interval) < 2 or self._interval[-2][2] is not self._clock):
            self._interval_lanes += heard.nbytes // BYTES_A_LANE
        if self._interval_lanes > INTERVAL_LANES:
            self._examine(whole=False)
            self._clean_start = False

    def _examine(self, whole: bool) -> None:
        """Check the interval's accesses against the shadow memory, unless an equal interval was found harmless."""
        interval, self._interval, self._keys, self._interval_lanes = self._interval, [], set(), 0
        # Clocks are numbered within the interval, so that the same interval of a later iteration looks the same.
        numbers: dict[int, int] = {}
        signature = tuple((*key[:5], numbers.setdefault(key[5], len(numbers))) for key, *_ in interval)
        # Who met whom in a warp does not stand in the signature.
        comparable = whole and self._clean_start and self._clock.heard is None
        if comparable and signature in self._harmless:
            return
        if not any(event.op != "load" for _, event, _ in interval):
            has_conflict = False
            if not comparable:
                self._replay(interval)
        else:
            has_conflict = self._replay(interval)
        if comparable and not has_conflict and self._keep(interval):
            self._harmless.add(signature)

    def _replay(self, interval: list[tuple[tuple[Any, ...], Access, VectorClock]]) -> bool:
        if self._shared is None:
            self._shared = Shadow(len(interval[0][1].address.array.data))
        if self._clean_start:
            self._shared.clear()
        has_conflict = False
        for _, event, clock in interval:
            has_conflict |= self._conflicts.check(self._shared, event, clock, self._graph.now)
        return has_conflict

    def _keep(self, interval: list[tuple[tuple[Any, ...], Access, VectorClock]]) -> bool:
        """Keep the objects alive whose identities are in the signature; False when that takes too much memory."""
        for _, event, _ in interval:
            for thing in (event.address.vec, event.address.lanes):
                if thing is not None and id(thing) not in self._kept:
                    self._kept[id(thing)] = thing
                    self._kept_bytes += 8 * event.address.lanes.n
        return self._kept_bytes < MEMO_BYTES

    # -- global memory -----------------------------------------------------------------

    def _global_access(self, event: Access) -> None:
        array = event.address.array
        shadow = self._global.get(id(array))
        if event.op == "load":
            if event.spec.order == "volatile":
                return
            if shadow is None and id(array) not in self._stores:
                self._note_read(array, event)
                return
        if shadow is None:
            if self._is_apart(array, event):
                return
            shadow = self._start(array)
        shadow.cover(array.size)
        # The same again, and nobody else in between: a loop that tries for a lock.
        resolved = event.address
        key = (event.instruction, resolved.vec, resolved.shift, resolved.lanes, self._clock)
        if event.op == "atomic" and shadow.last == key:
            return
        has_conflict = self._conflicts.check(shadow, event, self._clock, self._graph.now)
        shadow.last = None if has_conflict else key

    def _note_read(self, array: MemoryArray, event: Access | RepeatedAccesses) -> None:
        """Keep a read until the array is written: most arrays never are."""
        reads = self._reads.setdefault(id(array), [])
        address = event.address
        vec = address.vec
        lanes = address.lanes.n if vec is not None and not (reads and reads[-1][0].address.vec is vec) else 0
        if address.lanes.n < EVENT_LANES:
            lanes = EVENT_LANES
        self._read_bytes[id(array)] = self._read_bytes.get(id(array), 0) + 8 * lanes
        if not (reads and reads[-1][1] is self._clock):
            self._read_bytes[id(array)] = self._read_bytes.get(id(array), 0) + self._clock.size_bytes
        reads.append((event, self._clock, self._graph.now))
        if self._read_bytes.get(id(array), 0) > MEMO_BYTES // 2:
            self._start(array)

    def _is_apart(self, array: MemoryArray, event: Access) -> bool:
        """Whether a store goes where nobody has been, each lane to a place of its own; it is kept then.

        Most arrays that are written are written once.
        """
        if event.op != "store" or event.spec.strong or self._graph.active or id(array) in self._reads:
            return False
        span = _span_of_distinct(event)
        if span is None:
            return False
        stores = self._stores.setdefault(id(array), _Stores())
        if any(span[0] < high and low < span[1] for low, high in stores.spans) or len(stores.spans) >= KEPT_STORES:
            return False
        stores.spans.append(span)
        stores.events.append((event, self._clock, self._graph.now))
        return True

    def _start(self, array: MemoryArray) -> Shadow:
        shadow = self._global[id(array)] = Shadow(array.size)
        stores = self._stores.pop(id(array), None)
        for event, clock, moment in stores.events if stores else ():
            self._conflicts.check(shadow, event, clock, moment, "store")
        for read, clock, moment in self._reads.pop(id(array), []):
            for event in read.one_by_one() if isinstance(read, RepeatedAccesses) else (read,):
                self._conflicts.check(shadow, event, clock, moment)
        return shadow


def _span_of_distinct(event: Access) -> tuple[int, int] | None:
    """The byte offsets between which an access goes; None where lanes share a place."""
    address = event.address
    vec = address.vec
    if vec is None:
        return (address.shift, address.shift + event.width) if address.lanes.n == 1 else None
    apart = vec.memo.get("apart")
    if apart is None:
        # Aligned accesses of one width share a place only where they begin at the same one.
        offsets = vec.array
        apart = bool((offsets[1:] > offsets[:-1]).all())
        if not apart and vec.lasting:
            offsets = np.sort(offsets)
            apart = bool((offsets[1:] != offsets[:-1]).all())
        remember(vec.memo, "apart", apart)
    low, high = vec.signed_bounds()
    return (low + address.shift, high + address.shift + event.width) if apart else None
