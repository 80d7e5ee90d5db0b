"""Follows one warp through its memory requests at some source lines, for readers to follow it as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.ptx.access import Access, ResolvedAddress
from grader.ptx.affine import Geometry
from grader.ptx.observers import traffic
from grader.ptx.observers.interface import Enough, Observer, Scene
from grader.ptx.observers.traffic import addresses_of
from grader.ptx.records import LaneAccess, Site, WarpRequest, WarpSteps
from grader.ptx.values import WARP_SIZE, Array, Lanes

MOST_REQUESTS = 8
"""Requests of the warp that are shown, at most."""
MOST_EVENTS = 64
MOST_LANES = 1 << 20
"""Instructions of a site, and lanes of them, among which the warp is looked for."""


@dataclass(slots=True)
class _Event:
    """One instruction of a site as a set of lanes carries it out."""

    lanes: Lanes
    addresses: Array
    parts: Sequence[ResolvedAddress]


@dataclass(slots=True)
class _Record:
    """What was seen of a site, in the first blocks that came there.

    counts: requests of each warp of these blocks.
    """

    geometry: Geometry
    counts: Array
    element_bytes: int
    events: list[_Event] = field(default_factory=list)
    lanes: int = 0


class WarpFollower(Observer):
    """For each site, the requests of the warp that makes the worst one; if several are as bad, of the first of them.

    The warp is looked for among the blocks that are the first to come there, in their first instructions.  Raises
    `Enough` when these blocks have ended for all sites: what the launch does further is of no interest.
    """

    def __init__(self, sites: Sequence[Site]) -> None:
        self._wanted = {(s.line, s.space, s.op, s.width_bytes): s for s in sites}
        self._records: dict[Site, _Record] = {}
        self._steps: dict[Site, WarpSteps] = {}

    def begin(self, scene: Scene) -> None:
        """Blocks are about to run."""

    def access(self, event: Access) -> None:
        parts = event.together
        if event.address is not parts[0] or not event.spec.is_counted:
            return
        space = "shared" if event.address.array.space == "shared" else "global"
        site = self._wanted.get((event.instruction.location.line, space, event.op, event.width))
        if site is None or site in self._steps:
            return
        lanes = parts[0].lanes if len(parts) == 1 else event.geometry.union([part.lanes for part in parts])
        record = self._records.get(site)
        if record is None:
            warps = event.geometry.layout.root.ids[-1] // WARP_SIZE + 1
            record = self._records[site] = _Record(event.geometry, np.zeros(warps, np.int64), event.spec.element_bytes)
        record.counts[np.unique(lanes.ids // WARP_SIZE)] += 1
        if len(record.events) < MOST_EVENTS and record.lanes + lanes.n <= MOST_LANES:
            record.events.append(_Event(lanes, addresses_of(parts, lanes), parts))
            record.lanes += lanes.n

    def end(self) -> None:
        """The blocks have ended: tell what was seen of them.

        Raises Enough when all sites were seen.
        """
        self._settle(is_over=True)
        if len(self._steps) == len(self._wanted):
            raise Enough

    def steps(self) -> tuple[WarpSteps, ...]:
        """Return the steps at each site, in the order of the sites."""
        self._settle(is_over=False)
        return tuple(self._steps[site] for site in self._wanted.values() if site in self._steps)

    def _settle(self, is_over: bool) -> None:
        for site, record in self._records.items():
            if record.events:
                self._steps[site] = _steps(site, record, is_over)
        self._records.clear()


def _steps(site: Site, record: _Record, is_over: bool) -> WarpSteps:
    """Choose the warp with the worst of the kept requests, and return its requests around that one."""
    candidates: list[tuple[float, int, int]] = []
    for number, event in enumerate(record.events):
        cost, ideal, _at_once = _costs(site, event)
        worst = int(np.argmax(cost / np.maximum(ideal, 1)))
        warp = int(event.lanes.ids[event.lanes.warp_rows == worst][0]) // WARP_SIZE
        candidates.append((float(cost[worst] / max(ideal[worst], 1)), number, warp))
    _ratio, number, warp = max(candidates, key=lambda item: (item[0], -item[1]))
    its_own = [(n, event) for n, event in enumerate(record.events) if (event.lanes.ids // WARP_SIZE == warp).any()]
    place = [n for n, _event in its_own].index(number)
    first = max(0, place + 1 - MOST_REQUESTS)
    block, _thread = record.geometry.coordinates(warp * WARP_SIZE)
    return WarpSteps(
        site,
        block,
        warp % (record.geometry.layout.padded // WARP_SIZE),
        record.element_bytes,
        tuple(_request(site, event, warp) for _n, event in its_own[first : first + MOST_REQUESTS]),
        first + 1,
        int(record.counts[warp]) if is_over else None,
    )


def _costs(site: Site, event: _Event) -> tuple[Array, Array, Array]:
    """(n_warps,) cost, the least cost, and lanes served at once, of each warp's request."""
    active = event.lanes.active_table()
    offsets = event.lanes.to_warps(event.addresses, 0)
    if site.space == "shared":
        wavefronts, ideal = traffic.shared_wavefronts(offsets, active, site.width_bytes, site.op)
        return wavefronts, ideal, traffic.lanes_at_once(offsets, active, site.width_bytes, site.op)
    sectors = traffic.global_sectors(offsets, active)
    ideal = -(-traffic.unique_bytes(offsets, active, site.width_bytes) // traffic.SECTOR_BYTES)
    return sectors, ideal, np.full(len(sectors), WARP_SIZE)


def _request(site: Site, event: _Event, warp: int) -> WarpRequest:
    positions = np.flatnonzero(event.lanes.ids // WARP_SIZE == warp)
    row = int(event.lanes.warp_rows[positions[0]])
    cost, ideal, at_once = (int(values[row]) for values in _costs(site, event))
    lanes: list[LaneAccess] = []
    for part in event.parts:
        array = part.array
        where = array.storage if site.space == "shared" else array.base
        inside = part.lanes.ids // WARP_SIZE == warp
        for lane, offset in zip(part.lanes.ids[inside].tolist(), part.offsets()[inside].tolist(), strict=True):
            owner = array.owner(offset)
            start = where + owner.start
            start = start if site.space == "shared" else start % traffic.SECTOR_BYTES
            lanes.append(LaneAccess(lane % WARP_SIZE, owner.name, start, offset - owner.start))
    return WarpRequest(cost, ideal, at_once, tuple(sorted(lanes, key=lambda access: access.lane)))
