"""The memory of the race detector: who touched a place last, and what barriers have put in order since.

Barriers and `__syncwarp()` order the accesses of a batch's threads, warp by warp (vector clocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.ptx.access import Access
from grader.ptx.values import UNSIGNED, WARP_SIZE, Array, Lanes, Layout, Value, as_array


@dataclass(frozen=True, slots=True, eq=False)
class VectorClock:
    """How far the warps of a batch have come, from one synchronisation to the next.  Never changed once made.

    epochs: (warps,) int32, the barriers that each warp has passed or has arrived at.
    segments: (warps,) int32, its `__syncwarp()` calls; (lanes,) those of each lane where `heard` is there.
    heard: (lanes, 32) int32, the last segment of each lane of its warp that is over for this lane.  None as long as all
    lanes of a warp that had not returned met at each of its calls: every earlier segment is over then.
    epochs_over: (warps, warps of a block) int32, the last epoch of each warp of its block that is over for this warp.
    None while all barriers were for whole blocks: every earlier epoch is over then.
    """

    epochs: Array
    segments: Array
    epochs_over: Array | None = None
    heard: Array | None = None

    @classmethod
    def start(cls, layout: Layout) -> VectorClock:
        """Return the clock of a batch that has not run yet."""
        warps = layout.blocks * layout.padded // 32
        return cls(np.zeros(warps, np.int32), np.zeros(warps, np.int32))

    @property
    def size_bytes(self) -> int:
        tables = (self.epochs, self.segments, self.epochs_over, self.heard)
        return sum(table.nbytes for table in tables if table is not None)

    def segments_of(self, ids: Array) -> Array:
        """(n,) the segment in which each lane is."""
        return self.segments[ids >> 5 if self.heard is None else ids]

    def is_over(self, warp: int, other: int, epoch: int) -> bool:
        """Whether an epoch of warp `other` of its block is over for a warp."""
        return (
            epoch < int(self.epochs[warp]) if self.epochs_over is None else int(self.epochs_over[warp, other]) >= epoch
        )

    def after_warp_sync(self, lanes: Lanes, masks: Array | None = None) -> VectorClock:
        """Lanes have met, those of a warp that name the same ones: (n,) uint32.

        None: all of their warps that have not returned, each warp by itself.
        """
        warps = np.unique(lanes.ids >> 5)
        if self.heard is None and masks is None:
            segments = self.segments.copy()
            segments[warps] += 1
            return replace(self, segments=segments)
        if self.heard is None:
            segments = np.repeat(self.segments, WARP_SIZE)
            heard = np.repeat(segments[:, None] - np.int32(1), WARP_SIZE, axis=1)
        else:
            segments, heard = self.segments.copy(), self.heard.copy()
        if masks is None:
            last = segments.reshape(-1, WARP_SIZE)[warps].max(axis=1, keepdims=True)
            segments.reshape(-1, WARP_SIZE)[warps] = last + 1
            heard.reshape(-1, WARP_SIZE, WARP_SIZE)[warps] = last[:, :, None]
            return replace(self, segments=segments, heard=heard)
        teams = (lanes.ids >> 5) << 32 | masks
        order = np.argsort(teams, kind="stable")
        ids, teams = lanes.ids[order], teams[order]
        starts = np.flatnonzero(np.concatenate([[True], teams[1:] != teams[:-1]]))
        team = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))
        together = np.maximum.reduceat(heard[ids], starts, axis=0)
        together[team, ids & 31] = np.maximum(together[team, ids & 31], segments[ids])
        heard[ids] = together[team]
        segments[ids] += 1
        return replace(self, segments=segments, heard=heard)

    def after_barrier(self, blocks: Array | None, layout: Layout) -> VectorClock:
        """Join all threads of some blocks: (blocks,) bool, None for all of them."""
        warps = slice(None) if blocks is None else np.repeat(blocks, layout.padded // 32)
        epochs = self.epochs.copy()
        epochs[warps] += 1
        if blocks is None and self.heard is not None:
            # What was done before is over for everybody.
            return VectorClock(epochs, np.zeros_like(epochs), self.epochs_over).with_epochs_over(self.epochs, layout)
        if self.epochs_over is None:
            return replace(self, epochs=epochs)
        epochs_over = self.epochs_over.copy()
        epochs_over[warps] = _by_warp(self.epochs, layout)[warps]
        return replace(self, epochs=epochs, epochs_over=epochs_over)

    def with_epochs_over(self, epochs: Array, layout: Layout) -> VectorClock:
        """Return the same clock with every warp knowing these epochs of its block to be over."""
        return self if self.epochs_over is None else replace(self, epochs_over=_by_warp(epochs, layout))

    def after_arrival(self, lanes: Lanes, layout: Layout) -> VectorClock:
        """Return the clock after warps have come to a barrier without waiting: what they do next is not before it."""
        epochs = self.epochs.copy()
        epochs[np.unique(lanes.ids >> 5)] += 1
        return replace(self, epochs=epochs, epochs_over=self._over_by_warp(layout))

    def _over_by_warp(self, layout: Layout) -> Array:
        return _by_warp(self.epochs, layout) - np.int32(1) if self.epochs_over is None else self.epochs_over.copy()

    def after_completion(
        self, parties: Sequence[tuple[Lanes, bool]], arrived: Array | None, layout: Layout
    ) -> VectorClock:
        """Some threads of a block have met at a barrier for just so many: (lanes, whether they waited for the others).

        Who waited knows what all knew who came; who only arrived learns nothing.  arrived: (warps,) the epochs in
        which those who did not wait came.
        """
        per_block = layout.padded // 32
        epochs_over = self._over_by_warp(layout)
        came = np.unique(np.concatenate([lanes.ids >> 5 for lanes, _ in parties]))
        waited = np.unique(np.concatenate([lanes.ids[: lanes.n if waits else 0] >> 5 for lanes, waits in parties]))
        together = np.full((layout.blocks, per_block), -1, np.int32)
        np.maximum.at(together, came // per_block, epochs_over[came])
        over = self.epochs if arrived is None else np.where(arrived < 0, self.epochs, arrived)
        together[came // per_block, came % per_block] = over[came]
        epochs_over[waited] = np.maximum(epochs_over[waited], together[waited // per_block])
        epochs = self.epochs.copy()
        epochs[came] += 1
        return replace(self, epochs=epochs, epochs_over=epochs_over)


def _by_warp(epochs: Array, layout: Layout) -> Array:
    """(warps, warps of a block): the epochs of the warps of each warp's own block."""
    per_block = layout.padded // 32
    return np.repeat(epochs.reshape(layout.blocks, per_block), per_block, axis=0)


NOBODY = -1
OTHER_BLOCKS = 3
"""The distance of two blocks (see `BarrierOrder.distance`)."""
KEPT_LANES = 2_000_000
"""Accesses (of single threads) noted before those are forgotten that nobody needs any more."""
UNITS_PER_KEPT_LANE = 8


@dataclass(frozen=True, slots=True)
class AccessEpoch:
    """Who makes an access and when, element by element.

    thread: (n,) int32 number of the thread in the grid (block·padded + lane).  epoch, segment: (n,) int32, those of
    its warp or its own (see `VectorClock`).  event: number of the access in the detector's list, one or (n,).
    """

    thread: Array
    epoch: Array
    segment: Array
    event: Array | int

    def __getitem__(self, chosen: Array | slice) -> AccessEpoch:
        event = self.event if isinstance(self.event, int) else self.event[chosen]
        return AccessEpoch(self.thread[chosen], self.epoch[chosen], self.segment[chosen], event)


@dataclass(frozen=True, slots=True)
class BarrierOrder:
    """What orders past accesses before one that is made now.

    clock: of the batch at this moment.  first_thread: number of the batch's first thread.  padded: threads a block.
    """

    clock: VectorClock
    first_thread: int
    padded: int

    def distance(self, past: AccessEpoch, now: AccessEpoch) -> Array:
        """(n,) int8: 0 where nothing was, where the thread is the same, or where something orders the two accesses.

        Otherwise 1 for lanes of one warp, 2 for warps of one block, 3 for different blocks.  Threads of a block are
        ordered by its barriers, lanes of a warp also by __syncwarp(), and threads of different blocks by nothing
        within a launch (CUDA C++ programming guide, memory consistency model).
        """
        there = (past.thread != NOBODY) & (past.thread != now.thread)
        if not np.count_nonzero(there):
            return np.zeros(len(there), np.int8)
        same_block = past.thread // self.padded == now.thread // self.padded
        same_warp = past.thread >> 5 == now.thread >> 5
        if self.clock.epochs_over is None:
            over = past.epoch < now.epoch
        else:
            over = (
                self.clock.epochs_over[(now.thread - self.first_thread) >> 5, past.thread % self.padded >> 5]
                >= past.epoch
            )
        if self.clock.heard is None:
            over |= same_warp & (past.segment != now.segment)
        else:
            over |= same_warp & (self.clock.heard[now.thread - self.first_thread, past.thread & 31] >= past.segment)
        result: Array = np.where(same_block, np.int8(2), np.int8(3)) - same_warp
        result *= there & ~(same_block & over)
        return result


class LastAccess:
    """One access to each unit of memory.

    Kept is the complement of the thread, as nobody's is 0: memory that nobody touches is none that the system gives.
    """

    __slots__ = ("_complement", "epoch", "event", "segment")

    def __init__(self, units: int) -> None:
        self._complement = np.zeros(units, np.int32)
        self.epoch = np.zeros(units, np.int32)
        self.segment = np.zeros(units, np.int32)
        self.event = np.zeros(units, np.int32)

    def put(self, units: Array, stamp: AccessEpoch) -> None:
        """Record an access; where several lanes touch one unit the last one is remembered."""
        self._complement[units] = ~stamp.thread
        self.epoch[units] = stamp.epoch
        self.segment[units] = stamp.segment
        self.event[units] = stamp.event

    def thread(self, units: Array) -> Array:
        """(n,) who accessed some units, `NOBODY` where there is none."""
        threads: Array = ~self._complement[units]
        return threads

    def forget(self, units: Array | slice) -> None:
        self._complement[units] = ~NOBODY

    def at(self, units: Array) -> AccessEpoch:
        """The accesses recorded for some units."""
        return AccessEpoch(self.thread(units), self.epoch[units], self.segment[units], self.event[units])

    def conflicts_with(self, units: Array, now: AccessEpoch) -> bool:
        """Whether a thread other than its own is recorded where a lane's access goes."""
        other = self.thread(units)
        return bool(np.count_nonzero((other != now.thread) & (other != NOBODY)))

    def extend(self, units: int) -> None:
        fresh = LastAccess(units)
        for name in self.__slots__:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(fresh, name)]))

    def widen(self, factor: int) -> None:
        """Make each unit into `factor` smaller ones with the same history."""
        for name in self.__slots__:
            setattr(self, name, np.repeat(getattr(self, name), factor))


class AccessSet:
    """Two of the many who touched each unit of memory, where they may do so unordered (readers; atomics).

    Two are enough: the latest, and of the others one as far from it as there is any that nothing orders before it
    (another block, else another warp, else another lane).  Who conflicts with anybody conflicts with one of these.
    """

    __slots__ = ("tracks",)

    def __init__(self, units: int) -> None:
        self.tracks = (LastAccess(units), LastAccess(units))

    def put(self, units: Array, stamp: AccessEpoch, order: BarrierOrder) -> None:
        latest, other = self.tracks
        before = latest.thread(units)
        displaced = before != stamp.thread
        displaced &= before != NOBODY
        past = latest.at(units) if np.count_nonzero(displaced) else None
        latest.put(units, stamp)
        winner = latest.thread(units)
        overwritten = winner != stamp.thread
        if past is not None:
            now = latest.at(units)
            better = order.distance(past, now) >= order.distance(other.at(units), now)
            better &= past.thread != winner
            better &= displaced
            other.put(units[better], past[better])
        if np.count_nonzero(overwritten):
            # Lanes of this very access that touch one unit: the lowest is as far from the highest as any.
            units, lost = units[overwritten], stamp[overwritten]
            now = latest.at(units)
            better = order.distance(lost, now) >= order.distance(other.at(units), now)
            other.put(units[better][::-1], lost[better][::-1])


class Shadow:
    """History of an array: who wrote it last, and two each of those who read it and who changed it atomically.

    Accesses are of these kinds (see `conflicting`): "load" and "store"; "atomic", also a relaxed or release
    store; "peek", a relaxed or acquire load or one that polls; "signal", a volatile store that publishes something, or
    a plain one that does where atomics have been.  Atomics and peeks of scope `.cta` are recorded among the others and
    by themselves: they are atomic to their own block only.
    unit: bytes per entry, 4 until something narrower comes along.
    """

    def __init__(self, size: int) -> None:
        self.events: list[Access] = []
        """The accesses recorded, by number."""
        self.moments: list[int] = []
        """When each was made (see `HappensBefore.now`)."""
        self.signals = bytearray()
        """For each, whether it is a signal."""
        self.last: tuple[object, ...] | None = None
        """What the last access, which was in no conflict, is known by."""
        self._room = KEPT_LANES
        self.unit = 4
        self._count = -(-size // 4)
        self.writer = LastAccess(self._count)
        self._sets: dict[str, AccessSet] = {}
        """Who loaded, peeked, or changed it atomically, by that kind; "block atomic", "block peek": of scope `.cta`."""

    def tracks(self, *kinds: str) -> list[LastAccess]:
        """Return what is recorded of accesses of these kinds."""
        return [track for kind in kinds if kind in self._sets for track in self._sets[kind].tracks]

    def _all_tracks(self) -> list[LastAccess]:
        return [self.writer, *self.tracks(*self._sets)]

    def units(self, offsets: Array, width: int) -> tuple[Array, int]:
        """(units touched, units per lane) for accesses of `width` bytes at byte offsets; lanes' units lie together."""
        if width < self.unit:
            self._split()
        per_lane = width // self.unit
        first = offsets // self.unit
        if per_lane == 1:
            return first, 1
        return (first[:, None] + np.arange(per_lane)).reshape(-1), per_lane

    def stamp(self, event: Access, clock: VectorClock) -> tuple[Array, int, AccessEpoch]:
        """Units that an access touches, how many each lane does, and who makes it when (not yet its number)."""
        resolved = event.address
        lanes, offsets = resolved.lanes, resolved.offsets()
        rows = resolved.array.row_starts(lanes, 1)
        if rows is not None:
            offsets = offsets + rows + resolved.array.storage
        units, per_lane = self.units(offsets, event.width)
        thread = (lanes.ids + event.geometry.first_thread).astype(np.int32)
        epoch, segment = clock.epochs[lanes.ids >> 5], clock.segments_of(lanes.ids)
        if per_lane > 1:
            thread, epoch, segment = (np.repeat(a, per_lane) for a in (thread, epoch, segment))
        return units, per_lane, AccessEpoch(thread, epoch, segment, 0)

    def held_the_same(self, event: Access, positions: Array, numbers: Array, threads: Array) -> bool:
        """Whether each lane of `event` at `positions` stores just what the other stored, in the access numbered."""
        first = int(numbers[0])
        # Nearly always one event; sorting a million numbers to find that out would take most of an observed launch.
        for number in [first] if (numbers == first).all() else np.unique(numbers).tolist():
            other = self.events[number]
            mine, theirs = event.stored, other.stored
            if not mine or not theirs or len(mine) != len(theirs) or event.width != other.width:
                return False
            chosen = numbers == number
            lanes = other.address.lanes
            where = np.searchsorted(lanes.ids, threads[chosen] - other.geometry.first_thread)
            for own, foreign in zip(mine, theirs, strict=True):
                left = _bits(own, event)[positions[chosen]]
                if (left != _bits(foreign, other)[where]).any():
                    return False
        return True

    def cover(self, size: int) -> None:
        """Extend the history of an array that has grown."""
        more = -(-size // self.unit) - self._count
        if more > 0:
            self._count += more
            for track in self._all_tracks():
                track.extend(more)

    def _split(self) -> None:
        factor, self.unit = self.unit, 1
        self._count *= factor
        for track in self._all_tracks():
            track.widen(factor)

    def clear(self) -> None:
        """Drop the accesses: all of them are long in order."""
        self.events.clear()
        self.moments.clear()
        self.signals.clear()

    def note(self, event: Access, moment: int, kind: str) -> int:
        """The number of an access that is about to be recorded."""
        self._room -= event.address.lanes.n + 64
        if self._room < 0:
            self._forget()
        self.events.append(event)
        self.moments.append(moment)
        self.signals.append(kind == "signal")
        return len(self.events) - 1

    def _forget(self) -> None:
        """Drop accesses that later ones have replaced everywhere, and renumber the rest."""
        tracks = self._all_tracks()
        count = len(self.events)
        # Numbers past the end are left from before `events` was cleared; those accesses are long in order.
        is_used = np.zeros(count + 1, np.bool_)
        for track in tracks:
            is_used[np.minimum(track.event, count)] = True
        used = np.flatnonzero(is_used[:count])
        anew = np.append(np.cumsum(is_used[:count]) - 1, len(used)).astype(np.int32)
        for track in tracks:
            track.event = anew[np.minimum(track.event, count)]
        self.events = [self.events[number] for number in used.tolist()]
        self.moments = [self.moments[number] for number in used.tolist()]
        self.signals = bytearray(self.signals[number] for number in used.tolist())
        # To look through the history of a large array takes long; it must be little beside what is recorded meanwhile.
        kept = sum(event.address.lanes.n + 64 for event in self.events)
        self._room = max(KEPT_LANES, kept, self._count // UNITS_PER_KEPT_LANE)

    def record(self, units: Array, stamp: AccessEpoch, order: BarrierOrder, kind: str, in_block_only: bool) -> None:
        if kind in ("store", "signal"):
            self.writer.put(units, stamp)
            return
        for name in (kind, f"block {kind}") if in_block_only and kind != "load" else (kind,):
            if name not in self._sets:
                self._sets[name] = AccessSet(self._count)
            self._sets[name].put(units, stamp, order)

    def forget_readers(self, units: Array) -> None:
        """Forget accesses to some units: all are in order with the one that is about to be recorded."""
        for track in self.tracks(*self._sets):
            track.forget(units)

    def forget_units(self, start: int, size: int) -> None:
        """Forget the history of some bytes."""
        units = slice(start // self.unit, -(-(start + size) // self.unit))
        for track in self._all_tracks():
            track.forget(units)

    def conflicting(self, kind: str, compared: bool, in_block_only: bool) -> list[tuple[str, list[LastAccess]]]:
        """Accesses that conflict with one of a kind: what to call the conflict, and where they are recorded.

        Reads do not conflict with reads, nor `compared` reads with atomics, nor atomics, peeks and signals with each
        other, except for those of different blocks ("scope") where one is `in_block_only`.  (Signals are recorded with
        the stores: they are told from them by their number.)
        """
        writers = [self.writer]
        if kind in ("load", "store") and not compared:
            writers += self.tracks("atomic")
        by_detail = [("read_write" if kind in ("load", "peek") else "write_write", writers)]
        if kind in ("store", "signal", "atomic"):
            readers = self.tracks("load", "peek") if kind == "store" else self.tracks("load")
            if readers:
                by_detail.append(("read_write", readers))
        if kind in ("atomic", "peek"):
            scope = "" if in_block_only else "block "
            kinds = (f"{scope}atomic", f"{scope}peek") if kind == "atomic" else (f"{scope}atomic",)
            strong = self.tracks(*kinds)
            if strong:
                by_detail.append(("scope", strong))
        return by_detail


def _bits(value: Value, event: Access) -> Array:
    assert event.stored is not None
    size = event.width // len(event.stored)
    return np.broadcast_to(as_array(value, UNSIGNED[size]), (event.address.lanes.n,))
