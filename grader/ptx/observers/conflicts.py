"""The rules of races: which accesses of one place are in conflict, which are ordered, what is told of them."""

from __future__ import annotations

import numpy as np

from grader.ptx.access import Access
from grader.ptx.observers.happens_before import HappensBefore
from grader.ptx.observers.interface import HazardLog, Offence, Opponent
from grader.ptx.observers.order_graph import StrongAccess
from grader.ptx.observers.shadow import OTHER_BLOCKS, AccessEpoch, BarrierOrder, Shadow, VectorClock
from grader.ptx.values import UNSIGNED, Array, Value, as_array


def report_conflicts(
    hazards: HazardLog,
    shadow: Shadow,
    event: Access,
    bad: Array,
    past: AccessEpoch,
    detail: str,
    per_lane: int,
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
        if detail == "write_write" and _same_values(
            event, positions // per_lane, shadow.events, other_event[positions], other_thread[positions]
        ):
            kind = "write_write_same_value"
        other = shadow.events[int(other_event[first])]
        if kind == "read_write" and event.op == "load" and other.spec.of_copy == "arrived":
            kind = "late_copy"
        hazards.add(
            geometry,
            "race",
            kind,
            Offence(event.instruction, int(ids[first]), event.op, array.space, owner, offset, event.width),
            _distinct(ids[positions]),
            Opponent(other.instruction, other.op, int(other_thread[first]) - start),
            within,
        )


def _distinct(ids: Array) -> int:
    """How many different numbers are among these, which ascend as lanes do."""
    return 1 + int(np.count_nonzero(ids[1:] != ids[:-1]))


def _same_values(event: Access, positions: Array, events: list[Access], numbers: Array, threads: Array) -> bool:
    """Whether each lane of `event` at `positions` stores just what its opponent stored."""
    first = int(numbers[0])
    # Nearly always one event; sorting a million numbers to find that out would take most of an observed launch.
    for number in [first] if (numbers == first).all() else np.unique(numbers).tolist():
        other = events[number]
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


def _bits(value: Value, event: Access) -> Array:
    assert event.stored is not None
    size = event.width // len(event.stored)
    return np.broadcast_to(as_array(value, UNSIGNED[size]), (event.address.lanes.n,))


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
        resolved, geometry = event.address, event.geometry
        lanes, padded = resolved.lanes, geometry.layout.padded
        offsets = resolved.offsets()
        rows = resolved.array.row_starts(lanes, 1)
        if rows is not None:
            offsets = offsets + rows + resolved.array.storage
        units, per_lane = shadow.units(offsets, event.width)
        first_thread = geometry.first_thread
        thread = (lanes.ids + first_thread).astype(np.int32)
        warps = lanes.ids >> 5
        epoch, segment = clock.epochs[warps], clock.segments_of(lanes.ids)
        if per_lane > 1:
            thread, epoch, segment = (np.repeat(a, per_lane) for a in (thread, epoch, segment))
        kind = kind or self._kind(event)
        stamp = AccessEpoch(thread, epoch, segment, shadow.note(event, moment, kind))
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
        elif kind == "atomic" and shadow.block_atomics is not None and event.spec.in_block_only:
            latest = shadow.block_atomics.tracks[0]
            bad = latest.thread(units) // padded != thread // padded
            if np.count_nonzero(bad):
                has_conflict = True
                report_conflicts(self._hazards, shadow, event, bad, latest.at(units), "scope", per_lane)
        return has_conflict

    def _kind(self, event: Access) -> str:
        """What an access is to others of the same place (see `Shadow`)."""
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
        """Take out of the accesses that are in conflict, (n,) bool, those that the kernel has ordered by hand."""
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
