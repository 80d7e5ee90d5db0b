"""Copies into shared memory that a thread has begun (`cp.async`), and that arrive when it waits for them.

A device may write what is copied at any moment from the copy's beginning until the thread has waited.  Here it is
written when the thread waits, as late as may be, so that whoever does not wait finds what was there before.  Observers
are told of the write at its beginning as well, and whoever touches its place in between is in a race with it, whatever
barriers there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.ptx.access import Access, AccessSpec, ResolvedAddress
from grader.ptx.machine import load_store
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.machine.load_store import mark_written
from grader.ptx.observers.interface import Offence, Opponent
from grader.ptx.values import Array, Lanes, Value, select

UNIT = 4
"""Bytes: the least that is copied."""
Parts = list[tuple[Array | None, ResolvedAddress]]


@dataclass(slots=True)
class _Copy:
    """One copy of some lanes, who began it as `group`.

    serial: how many were begun before it.  number: (n,) of the lane's group of copies that it is in.  parts: where it
    goes.  values: what arrives there.
    """

    serial: int
    group: Group
    spec: AccessSpec
    lanes: Lanes
    number: Array
    address: Value
    parts: Parts
    values: list[Value]


@dataclass(slots=True)
class _Promise:
    """Lanes that arrive at a barrier when their copies before `serial` have come; places: (n,) their barriers."""

    serial: int
    lanes: Lanes
    places: Array
    arrive: Callable[[Lanes], None]


def copies_of(batch: BlockBatch) -> AsyncCopies:
    """What the lanes of a batch have under way."""
    copies: AsyncCopies | None = batch.extensions.get("copies")
    if copies is None:
        copies = batch.extensions["copies"] = AsyncCopies(batch)
    return copies


class AsyncCopies:
    """What the lanes of a batch have under way."""

    def __init__(self, batch: BlockBatch) -> None:
        self._batch = batch
        self._copies: list[_Copy] = []
        self._closed = np.zeros(batch.layout.blocks * batch.layout.padded, np.int64)
        """(lanes,) how many groups of copies each has closed."""
        self._copier: Array | None = None
        """(units of shared memory, 2): 1 + the lane whose copy is on its way there, 0 for none; which copy that is."""
        self._begun = 0
        self._promises: list[_Promise] = []
        if not batch.watchers.nobody:
            batch.watchers.access.append(self._look)

    def begin(self, group: Group, begun: AccessSpec, arrived: AccessSpec, address: Value, values: list[Value]) -> None:
        """Lanes begin a copy to shared memory; faults are told now."""
        parts = load_store.split_by_allocation(group, begun, address, 0)
        load_store.announce(self._batch, begun, parts, values)
        for _positions, resolved in parts:
            # Who reads too early is told so, and not that nobody ever wrote there.
            mark_written(self._batch, resolved, begun)
        number = self._closed[group.lanes.ids]
        copy = _Copy(self._begun, group.part(group.lanes), arrived, group.lanes, number, address, parts, values)
        self._begun += 1
        self._mark(copy, is_coming=True)
        self._copies.append(copy)

    def close(self, lanes: Lanes) -> None:
        """What lanes have begun since the last time is one group."""
        self._closed[lanes.ids] += 1

    def wait(self, group: Group, newest: int) -> None:
        """Lanes wait for all groups but their `newest` ones: what is in the others arrives, in order."""
        waits = np.zeros(len(self._closed), np.bool_)
        waits[group.lanes.ids] = True
        self._let_arrive(lambda copy: waits[copy.lanes.ids] & (copy.number < self._closed[copy.lanes.ids] - newest))

    @property
    def are_promised(self) -> bool:
        """Whether anybody has promised to arrive when copies have come."""
        return bool(self._promises)

    def promise(self, group: Group, places: Array, arrive: Callable[[Lanes], None]) -> None:
        """Lanes are to arrive at their barriers, by `arrive`, when what they have begun so far has come."""
        self._promises.append(_Promise(self._begun, group.lanes, places, arrive))

    def keep_promises(self, places: Array) -> None:
        """Somebody looks at these barriers: those who promised to arrive there do, and their copies with them."""
        left: list[_Promise] = []
        for promise in self._promises:
            due = np.isin(promise.places, places)
            if due.any():
                self._keep(promise, promise.lanes.select(np.flatnonzero(due)))
            if not due.all():
                rest = promise.lanes.select(np.flatnonzero(~due))
                left.append(_Promise(promise.serial, rest, promise.places[~due], promise.arrive))
        self._promises = left

    def _keep(self, promise: _Promise, lanes: Lanes) -> None:
        arriving = np.zeros(len(self._closed), np.bool_)
        arriving[lanes.ids] = True
        nobody = np.zeros(len(self._closed), np.bool_)
        self._let_arrive(lambda copy: (arriving if copy.serial < promise.serial else nobody)[copy.lanes.ids])
        promise.arrive(lanes)

    def _let_arrive(self, chosen: Callable[[_Copy], Array]) -> None:
        """What is chosen of the lanes of copies arrives, in order."""
        left: list[_Copy] = []
        for copy in self._copies:
            arrives = chosen(copy)
            if arrives.all():
                self._arrive(copy)
            elif arrives.any():
                self._arrive(self._part(copy, arrives))
                left.append(self._part(copy, ~arrives))
            else:
                left.append(copy)
        self._copies = left

    def _arrive(self, copy: _Copy) -> None:
        self._mark(copy, is_coming=False)
        load_store.put(self._batch, copy.spec, copy.parts, copy.values)

    def _mark(self, copy: _Copy, *, is_coming: bool) -> None:
        """Note that a copy is on its way to some places, or is no longer."""
        for _positions, resolved in copy.parts:
            units = _units(resolved, copy.spec.width)
            if self._copier is None:
                self._copier = np.zeros((len(resolved.array.data) // UNIT + 1, 2), np.int64)
            self._copier[units, 0] = resolved.lanes.ids[:, None] + 1 if is_coming else 0
            self._copier[units, 1] = copy.serial

    def _look(self, event: Access) -> None:
        """An access of what is on its way is in a race with the copy."""
        resolved = event.address
        if not self._copies or self._copier is None or resolved.array.space != "shared":
            return
        copies = self._copier[_units(resolved, event.width)]
        positions, units = np.nonzero(copies[:, :, 0])
        if not len(positions):
            return
        first = int(positions[0])
        lane = int(resolved.lanes.ids[first])
        copier, serial = (int(number) for number in copies[first, units[0]])
        copier -= 1
        copy = next(copy for copy in self._copies if copy.serial == serial)
        count = len(np.unique(positions))
        offset = int(resolved.offsets()[first])
        owner = resolved.array.owner(offset)
        self._batch.hazards.add(
            self._batch.geometry,
            "race",
            "unfinished_copy",
            Offence(event.instruction, lane, event.op, "shared", owner, offset, event.width),
            count,
            Opponent(copy.spec.instruction, "store", copier, within_warp=lane >> 5 == copier >> 5),
        )

    def _part(self, copy: _Copy, chosen: Array) -> _Copy:
        """Some of a copy's lanes."""
        lanes = copy.lanes.select(np.flatnonzero(chosen))
        address = select(copy.address, lanes)
        inside = np.zeros(copy.lanes.n, np.bool_)
        for positions, _resolved in copy.parts:
            inside[slice(None) if positions is None else positions] = True
        if not inside[chosen].all():
            # Lanes at fault have been told of, and write nothing.
            return self._part(copy, chosen & inside)
        group = copy.group.part(lanes)
        parts = load_store.split_by_allocation(group, copy.spec, address, 0) if lanes.n else []
        return _Copy(
            copy.serial,
            group,
            copy.spec,
            lanes,
            copy.number[chosen],
            address,
            parts,
            [select(v, lanes) for v in copy.values],
        )


def places_of(group: Group, spec: AccessSpec, address: Value) -> Array:
    """(n,) where the lanes of an access go in shared memory, each block's apart; -1 for those at fault."""
    places = np.full(group.lanes.n, -1, np.int64)
    for positions, resolved in load_store.split_by_allocation(group, spec, address, 0):
        places[slice(None) if positions is None else positions] = _starts(resolved)
    return places


def _starts(resolved: ResolvedAddress) -> Array:
    rows = resolved.array.row_starts(resolved.lanes, 1)
    places = resolved.offsets() + resolved.array.storage
    return places if rows is None else places + rows


def _units(resolved: ResolvedAddress, width: int) -> Array:
    """(n, k) the units of shared memory that each lane's access of some bytes touches."""
    units: Array = _starts(resolved)[:, None] // UNIT + np.arange(-(-width // UNIT))
    return units
