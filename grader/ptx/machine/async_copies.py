"""Copies into shared memory that a thread has begun (`cp.async`), and that arrive when it waits for them.

A device may write what is copied at any moment from the copy's beginning until the thread has waited.  Here it is
written when the thread waits, as late as may be, so that whoever does not wait finds what was there before.  Observers
are told of the write at its beginning as well, and whoever touches its place in between is in a race with it, whatever
barriers there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.ptx.machine import load_store
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.groups import Group
from grader.ptx.memory.access import Access, AccessSpec
from grader.ptx.memory.address_resolution import ResolvedAddress
from grader.ptx.values.kinds import Value, select
from grader.ptx.values.lanes import Array, Lanes

UNIT = 4
"""Bytes: the least that is copied."""
Parts = list[tuple[Array | None, ResolvedAddress]]


@dataclass(slots=True)
class _Copy:
    """One copy of some lanes.

    number: (n,) of the lane's group of copies that it is in.  parts: where it goes.  values: what arrives there.
    """

    spec: AccessSpec
    lanes: Lanes
    number: Array
    address: Value
    parts: Parts
    values: list[Value]


def copies_of(batch: BlockBatch) -> AsyncCopies:
    """What the lanes of a batch have under way."""
    found: AsyncCopies | None = batch.extensions.get("copies")
    if found is None:
        found = batch.extensions["copies"] = AsyncCopies(batch)
    return found


class AsyncCopies:
    """What the lanes of a batch have under way."""

    def __init__(self, batch: BlockBatch) -> None:
        self._batch = batch
        self._copies: list[_Copy] = []
        self._closed = np.zeros(batch.layout.blocks * batch.layout.padded, np.int64)
        """(lanes,) how many groups of copies each has closed."""
        self._copier: Array | None = None
        """(units of shared memory,) 1 + the lane whose copy is on its way there, 0 for none."""
        if not batch.watchers.nobody:
            batch.watchers.access.append(self._look)

    def begin(self, group: Group, spec: AccessSpec, address: Value, values: list[Value]) -> None:
        """Lanes begin a copy to shared memory; faults are told now."""
        parts = load_store.split_by_allocation(group, spec, address, 0)
        load_store.announce(self._batch, spec, parts, values)
        self._mark(parts, spec.width, is_coming=True)
        number = self._closed[group.lanes.ids]
        self._copies.append(_Copy(spec, group.lanes, number, address, parts, values))

    def close(self, lanes: Lanes) -> None:
        """What lanes have begun since the last time is one group."""
        self._closed[lanes.ids] += 1

    def wait(self, group: Group, newest: int) -> None:
        """Lanes wait for all groups but their `newest` ones: what is in the others arrives, in order."""
        left: list[_Copy] = []
        waits = np.zeros(len(self._closed), np.bool_)
        waits[group.lanes.ids] = True
        for copy in self._copies:
            arrives = waits[copy.lanes.ids] & (copy.number < self._closed[copy.lanes.ids] - newest)
            if arrives.all():
                self._arrive(copy)
            elif arrives.any():
                self._arrive(self._part(group, copy, arrives))
                left.append(self._part(group, copy, ~arrives))
            else:
                left.append(copy)
        self._copies = left

    def _arrive(self, copy: _Copy) -> None:
        self._mark(copy.parts, copy.spec.width, is_coming=False)
        load_store.put(self._batch, copy.spec, copy.parts, copy.values)

    def _mark(self, parts: Parts, width: int, *, is_coming: bool) -> None:
        """Note that copies of `width` bytes a lane are on their way to some places, or are no longer."""
        for _positions, resolved in parts:
            units = _units(resolved, width)
            if self._copier is None:
                self._copier = np.zeros(len(resolved.array.data) // UNIT + 1, np.int32)
            self._copier[units] = resolved.lanes.ids[:, None] + 1 if is_coming else 0

    def _look(self, event: Access) -> None:
        """An access of what is on its way is in a race with the copy."""
        resolved = event.address
        if not self._copies or self._copier is None or resolved.array.space != "shared":
            return
        copiers = self._copier[_units(resolved, event.width)].max(axis=1)
        positions = np.flatnonzero(copiers)
        if not len(positions):
            return
        first = int(positions[0])
        lane, copier = int(resolved.lanes.ids[first]), int(copiers[first]) - 1
        copy = next(copy for copy in self._copies if copier in copy.lanes.ids)
        offset = int(resolved.offsets()[first])
        owner = resolved.array.owner(offset)
        self._batch.hazards.add(
            self._batch.geometry,
            "race",
            "read_write" if event.op == "load" else "write_write",
            event.instruction,
            lane,
            len(positions),
            op=event.op,
            space="shared",
            array=owner.name,
            offset=offset - owner.start,
            width=event.width,
            array_bytes=owner.size,
            within_warp=lane >> 5 == copier >> 5,
            other=copy.spec.instruction,
            other_op="store",
            other_thread=self._batch.geometry.coordinates(copier),
        )

    def _part(self, group: Group, copy: _Copy, chosen: Array) -> _Copy:
        """Some of a copy's lanes."""
        lanes = copy.lanes.select(np.flatnonzero(chosen))
        address = select(copy.address, lanes)
        inside = np.zeros(copy.lanes.n, np.bool_)
        for positions, _resolved in copy.parts:
            inside[slice(None) if positions is None else positions] = True
        if not inside[chosen].all():
            # Lanes at fault have been told of, and write nothing.
            return self._part(group, copy, chosen & inside)
        parts = load_store.split_by_allocation(group.part(lanes), copy.spec, address, 0) if lanes.n else []
        return _Copy(copy.spec, lanes, copy.number[chosen], address, parts, [select(v, lanes) for v in copy.values])


def _units(resolved: ResolvedAddress, width: int) -> Array:
    """(n, k) the units of shared memory that each lane's access of some bytes touches."""
    places = resolved.offsets() + resolved.array.storage
    rows = resolved.array.row_starts(resolved.lanes, 1)
    if rows is not None:
        places = places + rows
    units: Array = places[:, None] // UNIT + np.arange(-(-width // UNIT))
    return units
