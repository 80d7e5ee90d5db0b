"""Who touched a piece of memory last: the memory of the race detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.ptx.values import Array

if TYPE_CHECKING:
    from grader.ptx.access import Access

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who makes an access and when, element by element: all (n,) int32.

    thread: number of the thread in the grid (block·padded + lane).  epoch: barriers its block has passed.
    segment: __syncwarp() calls its warp has passed.  event: number of the access in the detector's list.
    """

    thread: Array
    epoch: Array
    segment: Array
    event: int


class Track:
    """The latest access to each unit of memory by one kind of accessor."""

    __slots__ = ("epoch", "event", "segment", "thread")

    def __init__(self, units: int) -> None:
        self.thread = np.full(units, NOBODY, np.int32)
        self.epoch = np.zeros(units, np.int32)
        self.segment = np.zeros(units, np.int32)
        self.event = np.zeros(units, np.int32)

    def put(self, units: Array, stamp: Stamp, mask: Array | None = None) -> None:
        """Record an access; where several lanes touch one unit the last one is remembered."""
        if mask is not None:
            units = units[mask]
            stamp = Stamp(stamp.thread[mask], stamp.epoch[mask], stamp.segment[mask], stamp.event)
        self.thread[units] = stamp.thread
        self.epoch[units] = stamp.epoch
        self.segment[units] = stamp.segment
        self.event[units] = stamp.event

    def unordered(self, units: Array, stamp: Stamp, padded: int) -> Array:
        """(n,) bool: the recorded access is another thread's and nothing orders it before this one.

        Threads of a block are ordered by its barriers, lanes of a warp also by __syncwarp(), and threads of
        different blocks by nothing within a launch (CUDA C++ programming guide, memory consistency model).
        """
        other = self.thread[units]
        candidates = (other != NOBODY) & (other != stamp.thread)
        if not candidates.any():
            return candidates
        same_block = other // padded == stamp.thread // padded
        candidates &= ~same_block | (self.epoch[units] == stamp.epoch)
        same_warp = other // 32 == stamp.thread // 32
        candidates &= ~same_warp | (self.segment[units] == stamp.segment)
        return candidates

    def widen(self, factor: int) -> None:
        """Make each unit into `factor` smaller ones with the same history."""
        for name in self.__slots__:
            setattr(self, name, np.repeat(getattr(self, name), factor))


class Shadow:
    """History of an array: its last writer, and two of its readers (two tell "another thread" for every writer).

    unit: bytes per entry, 4 until something narrower comes along.
    """

    __slots__ = ("events", "readers", "size", "unit", "writer")

    def __init__(self, size: int) -> None:
        self.events: list[Access] = []
        """The accesses recorded, by number."""
        self.size = size
        self.unit = 4
        self.writer = Track(-(-size // 4))
        self.readers: tuple[Track, Track] | None = None

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
        self.writer.widen(factor)
        for track in self.readers or ():
            track.widen(factor)

    def read(self, units: Array, stamp: Stamp) -> None:
        """Record a read."""
        if self.readers is None:
            count = len(self.writer.thread)
            self.readers = (Track(count), Track(count))
        first, second = self.readers
        # Keep the first reader of an epoch and let a different one into the second place.
        known = first.thread[units]
        keep = (known != NOBODY) & (known != stamp.thread) & (first.epoch[units] == stamp.epoch)
        if keep.any():
            second.put(units, stamp, keep)
            first.put(units, stamp, ~keep)
        else:
            first.put(units, stamp)
        lost = first.thread[units] != stamp.thread
        if lost.any():
            second.put(units, stamp, lost)
