"""Who touched a piece of memory last: the memory of the race detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.ptx.observers.clocks import Clock
from grader.ptx.values import Array

if TYPE_CHECKING:
    from grader.ptx.access import Access

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who makes an access and when, element by element.

    thread: (n,) int32 number of the thread in the grid (block·padded + lane).  epoch, segment: (n,) int32, those of
    its warp (see `Clock`).  event: number of the access in the detector's list, one or (n,).
    """

    thread: Array
    epoch: Array
    segment: Array
    event: Array

    def __getitem__(self, chosen: Array | slice) -> Stamp:
        """Some of the elements."""
        return Stamp(self.thread[chosen], self.epoch[chosen], self.segment[chosen], self.event[chosen])


@dataclass(frozen=True, slots=True)
class Order:
    """What orders past accesses before one that is made now.

    clock: of the chunk at this moment.  first_thread: number of the chunk's first thread.  padded: threads a block.
    """

    clock: Clock
    first_thread: int
    padded: int

    def distance(self, past: Stamp, now: Stamp) -> Array:
        """(n,) int8: 0 where nothing was, where the thread is the same, or where something orders the two accesses.

        Otherwise 1 for lanes of one warp, 2 for warps of one block, 3 for different blocks.  Threads of a block are
        ordered by its barriers, lanes of a warp also by __syncwarp(), and threads of different blocks by nothing
        within a launch (CUDA C++ programming guide, memory consistency model).
        """
        there = (past.thread != NOBODY) & (past.thread != now.thread)
        if not there.any():
            return np.zeros(len(there), np.int8)
        same_block = past.thread // self.padded == now.thread // self.padded
        same_warp = past.thread >> 5 == now.thread >> 5
        if self.clock.known is None:
            over = past.epoch < now.epoch
        else:
            over = self.clock.known[(now.thread - self.first_thread) >> 5, past.thread % self.padded >> 5] >= past.epoch
        over |= same_warp & (past.segment != now.segment)
        result: Array = np.where(same_block, np.int8(2), np.int8(3)) - same_warp
        result *= there & ~(same_block & over)
        return result


class Track:
    """One access to each unit of memory."""

    __slots__ = ("epoch", "event", "segment", "thread")

    def __init__(self, units: int) -> None:
        self.thread = np.full(units, NOBODY, np.int32)
        self.epoch = np.zeros(units, np.int32)
        self.segment = np.zeros(units, np.int32)
        self.event = np.zeros(units, np.int32)

    def put(self, units: Array, stamp: Stamp) -> None:
        """Record an access; where several lanes touch one unit the last one is remembered."""
        self.thread[units] = stamp.thread
        self.epoch[units] = stamp.epoch
        self.segment[units] = stamp.segment
        self.event[units] = stamp.event

    def at(self, units: Array) -> Stamp:
        """The accesses recorded for some units."""
        return Stamp(self.thread[units], self.epoch[units], self.segment[units], self.event[units])

    def widen(self, factor: int) -> None:
        """Make each unit into `factor` smaller ones with the same history."""
        for name in self.__slots__:
            setattr(self, name, np.repeat(getattr(self, name), factor))


class Crowd:
    """Two of the many who touched each unit of memory, where they may do so unordered (readers; atomics).

    Two are enough: the latest, and of the others one as far from it as there is any that nothing orders before it
    (another block, else another warp, else another lane).  Who conflicts with anybody conflicts with one of these.
    """

    __slots__ = ("tracks",)

    def __init__(self, units: int) -> None:
        self.tracks = (Track(units), Track(units))

    def put(self, units: Array, stamp: Stamp, order: Order) -> None:
        """Record an access of some lanes."""
        latest, other = self.tracks
        before = latest.at(units)
        latest.put(units, stamp)
        winner = latest.at(units)
        displaced = (before.thread != winner.thread) & (before.thread != NOBODY)
        beaten = winner.thread != stamp.thread
        if displaced.any():
            distance = order.distance(before, winner)
            better = displaced & (distance >= order.distance(other.at(units), winner))
            other.put(units[better], before[better])
        if beaten.any():
            # Lanes of this very access that touch one unit: the lowest is as far from the highest as any.
            units, lost, winner = units[beaten], stamp[beaten], winner[beaten]
            better = order.distance(lost, winner) >= order.distance(other.at(units), winner)
            other.put(units[better][::-1], lost[better][::-1])


class Shadow:
    """History of an array: who wrote it last, and two each of those who read it and who changed it atomically.

    unit: bytes per entry, 4 until something narrower comes along.
    """

    __slots__ = ("_count", "atomics", "events", "readers", "unit", "writer")

    def __init__(self, size: int) -> None:
        self.events: list[Access] = []
        """The accesses recorded, by number."""
        self.unit = 4
        self._count = -(-size // 4)
        self.writer = Track(self._count)
        self.readers: Crowd | None = None
        self.atomics: Crowd | None = None

    def units(self, offsets: Array, width: int) -> tuple[Array, int]:
        """(units touched, units per lane) for accesses of `width` bytes at byte offsets; lanes' units lie together."""
        if width < self.unit:
            self._split()
        per_lane = width // self.unit
        first = offsets // self.unit
        if per_lane == 1:
            return first, 1
        return (first[:, None] + np.arange(per_lane)).reshape(-1), per_lane

    def _split(self) -> None:
        factor, self.unit = self.unit, 1
        self._count *= factor
        crowds = [crowd for crowd in (self.readers, self.atomics) if crowd is not None]
        for track in (self.writer, *(track for crowd in crowds for track in crowd.tracks)):
            track.widen(factor)

    def record(self, units: Array, stamp: Stamp, order: Order, op: str) -> None:
        """Note an access that was made: a "load", "store" or "atomic"."""
        if op == "store":
            self.writer.put(units, stamp)
        elif op == "load":
            self.readers = self.readers or Crowd(self._count)
            self.readers.put(units, stamp, order)
        else:
            self.atomics = self.atomics or Crowd(self._count)
            self.atomics.put(units, stamp, order)

    def opponents(self, op: str, compared: bool) -> list[tuple[str, list[Track]]]:
        """Accesses that conflict with one of kind `op`: what to call the conflict, and where they are recorded.

        Reads do not conflict with reads, nor atomics with atomics, nor `compared` reads with atomics.
        """
        writers = [self.writer]
        if self.atomics is not None and op != "atomic" and not compared:
            writers += self.atomics.tracks
        found = [("read_write" if op == "load" else "write_write", writers)]
        if self.readers is not None and op != "load":
            found.append(("read_write", list(self.readers.tracks)))
        return found
