"""Conflicts of accesses as hazards: who is named first, and what is said of the values."""

from __future__ import annotations

import numpy as np

from grader.ptx.memory.access import Access
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.observers.shadow import AccessEpoch, Shadow
from grader.ptx.values.kinds import UNSIGNED, Value, as_array
from grader.ptx.values.lanes import Array


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
            event.instruction,
            int(ids[first]),
            _distinct(ids[positions]),
            op=event.op,
            space=array.space,
            array=owner.name,
            offset=offset - owner.start,
            width=event.width,
            array_bytes=owner.size,
            within_warp=within,
            other=other.instruction,
            other_op=other.op,
            other_thread=geometry.coordinates(int(other_thread[first]) - start),
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
