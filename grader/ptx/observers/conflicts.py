"""The rules of races: which accesses of one place are in conflict, and which the kernel has ordered."""

from __future__ import annotations

import numpy as np

from grader.ptx.memory.access import Access
from grader.ptx.observers.happens_before import HappensBefore
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.observers.order_graph import StrongAccess
from grader.ptx.observers.race_reports import report_conflicts
from grader.ptx.observers.shadow import OTHER_BLOCKS, AccessEpoch, BarrierOrder, Shadow
from grader.ptx.observers.vector_clocks import VectorClock
from grader.ptx.values.lanes import Array

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
        found = False
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
                    found = True
            if detail == "write_write":
                overwritten = counted
        if kind == "store" and self._graph.active and not found:
            # Whoever comes after this store comes after them, or conflicts with it.
            shadow.forget_readers(units)
        if not event.compared:
            shadow.record(units, stamp, order, kind, event.spec.in_block_only)
        if kind in ("store", "signal"):
            # Lanes of this very access that write one place: the last one stays, the others lose.
            bad = (shadow.writer.thread[units] != thread) & ~overwritten
            if np.count_nonzero(bad):
                found = True
                report_conflicts(self._hazards, shadow, event, bad, shadow.writer.at(units), "write_write", per_lane)
        elif kind == "atomic" and shadow.block_atomics is not None and event.spec.in_block_only:
            latest = shadow.block_atomics.tracks[0]
            bad = latest.thread[units] // padded != thread // padded
            if np.count_nonzero(bad):
                found = True
                report_conflicts(self._hazards, shadow, event, bad, latest.at(units), "scope", per_lane)
        return found

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
