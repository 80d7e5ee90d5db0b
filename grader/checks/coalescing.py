"""`coalescing`: a warp's accesses to global memory fall into as few 32-byte sectors as their bytes need."""

from __future__ import annotations

from dataclasses import replace

from grader.checks import base
from grader.checks.base import Verdict, failed, not_measured, passed
from grader.devices import SECTOR_BYTES, WARP_LANES
from grader.lab.checks import CoalescingSettings
from grader.measured import Counters, LineCounters
from grader.message import Message, joined, msg
from grader.running.evidence import Evidence

TOLERANCE = 1e-9
"""Ratios are quotients of integers; this only absorbs the rounding of the quotient."""

SIDES = {"load": ("load",), "store": ("store", "atomic")}
"""What is held against what is asked of loads, and of stores: an atomic operation stores as well."""


def judge(evidence: Evidence, settings: CoalescingSettings) -> Verdict:
    """Compare sectors per request with the ideal, side by side; name the worst line."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", msg("checks.not_counted")))
    slow = base.few_lanes(evidence, counters, "global")
    if slow is not None:
        return base.verdict(evidence, slow)
    loads, stores = ratio(counters, "load"), max(ratio(counters, "store"), _main_stores(evidence, counters))
    reached = settings.judged(loads, stores)
    data = {
        "load_ratio": round(loads, 4),
        "store_ratio": round(stores, 4),
        "load_sectors_per_request": counters.global_load_sectors_per_request,
        "store_sectors_per_request": counters.global_store_sectors_per_request,
    }
    figures = msg(
        "checks.coalescing.figures",
        loads=_figure(counters, "load"),
        stores=_figure(counters, "store"),
    )
    if reached <= settings.max_ratio + TOLERANCE:
        if settings.sides == "both":
            return passed(msg("checks.coalescing.passed", figures=figures), data=data)
        return passed(msg("checks.coalescing.passed_one", figures=figures), data=data)
    credit = max((p.share for p in settings.partial if reached <= p.ratio + TOLERANCE), default=0.0)
    # Where one side is enough, it is mended on the side that is better.
    is_of_loads = settings.sides == "loads" or loads <= stores
    kinds = ("load", "store") if settings.sides == "both" else ("load",) if is_of_loads else ("store",)
    worst = max((c for kind in kinds for c in _rows(counters, kind) if c.ideal), key=lambda c: c.sectors / c.ideal)
    message = msg("checks.coalescing.failed", figures=figures, line=worst.line)
    hint = _narrow(evidence, worst) or joined(_hint(worst), _way_out(evidence, settings, loads, stores))
    return replace(failed(message, hint, worst.line, credit, data=data), file=worst.file)


def ratio(counters: Counters, side: str) -> float:
    """Sectors over the fewest possible, over all lines; 1 where there is no such access."""
    rows = _rows(counters, side)
    ideal = sum(c.ideal for c in rows)
    return sum(c.sectors for c in rows) / ideal if ideal else 1.0


def _rows(counters: Counters, side: str) -> list[LineCounters]:
    return [c for c in counters.by_line if c.space == "global" and c.op in SIDES[side]]


def _main_stores(evidence: Evidence, counters: Counters) -> float:
    """The ratio that the lines which store half of an output reach at best: other stores do not make up for them."""
    outputs = [evidence.array_bytes.get(p.name, 0) for p in evidence.lab.parameters if p.is_output]
    rows = sorted((c for c in _rows(counters, "store") if c.ideal), key=lambda c: c.ideal / c.sectors)
    stored = 0
    for c in rows:
        stored += c.lanes * c.width_bytes
        if 2 * stored >= max(outputs, default=0):
            return c.sectors / c.ideal
    return 1.0


def _figure(counters: Counters, side: str) -> Message:
    rows = _rows(counters, side)
    requests = sum(c.requests for c in rows)
    if not requests:
        return msg("checks.coalescing.no_access")
    sectors, ideal = (
        round(sum(values) / requests, 4) for values in zip(*((c.sectors, c.ideal) for c in rows), strict=True)
    )
    if abs(sectors - ideal) < TOLERANCE:
        return msg("checks.coalescing.ideal_figure", sectors=sectors)
    return msg("checks.coalescing.figure", sectors=sectors, ideal=ideal)


def _hint(worst: LineCounters) -> Message:
    sectors, ideal = _per_request(worst)
    return msg("checks.coalescing.hint", sectors=sectors, ideal=ideal)


def _narrow(evidence: Evidence, worst: LineCounters) -> Message | None:
    """The hint for a block so narrow that a warp takes pieces of several rows, its lanes side by side; else None."""
    width, height, _depth = evidence.interpretation.launch.block if evidence.interpretation else (WARP_LANES, 1, 1)
    if width >= WARP_LANES or height < 2:
        return None
    rows = min(-(-WARP_LANES // width), height)
    # A piece touches a sector for every 32 of its bytes, and one more where it begins within one.
    most = rows * (width * worst.width_bytes / SECTOR_BYTES + 1)
    sectors, ideal = _per_request(worst)
    if sectors > most or most >= min(WARP_LANES, width * height):
        return None
    return msg("checks.coalescing.hint_narrow", sectors=sectors, ideal=ideal, width=width, rows=rows)


def _per_request(row: LineCounters) -> tuple[float, float]:
    """Sectors that a request takes, and the fewest that would hold its bytes."""
    return round(row.sectors / row.requests, 4), round(row.ideal / row.requests, 4)


def _way_out(evidence: Evidence, settings: CoalescingSettings, loads: float, stores: float) -> Message | None:
    """What such kernels do about it: a transposition through a tile, a vector whose threads take several elements."""
    axes = len(set(evidence.lab.launch.covers))
    if axes > 1 and settings.sides == "both":
        return msg("checks.coalescing.hint_tile")
    if len(evidence.lab.launch.covers) == 1 and min(loads, stores) > settings.max_ratio + TOLERANCE:
        return msg("checks.coalescing.hint_step")
    return None
