"""Counters of a launch as they stand in a result: totals, ratios and the table by line."""

from __future__ import annotations

from grader.lab.records import Sizes
from grader.ptx.records import Counters as Raw
from grader.ptx.records import LineCounter
from grader.result import Counters, LineCounters

WAVEFRONT_BYTES = 128
"""32 banks of 4 bytes: what shared memory can deliver in one wavefront."""


def counters_of(raw: Raw, sizes: Sizes, thread_instructions: int | None) -> Counters:
    """`raw`, counted at `sizes`, as a record of the result.

    shared_efficiency_pct = 100 · distinct bytes / (128 · wavefronts): nvprof's `shared_efficiency`, Nsight Compute's
    smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct.
    """
    wavefronts = raw.total("wavefronts", "shared")
    ideal = raw.total("ideal", "shared")
    shared = [c for c in raw.by_line if c.space == "shared"]
    return Counters(
        size=dict(sizes),
        shared_requests=raw.total("requests", "shared"),
        shared_wavefronts=wavefronts,
        shared_ideal=ideal,
        shared_excess=wavefronts - ideal,
        worst_conflict_ways=max((c.ways for c in shared), default=1),
        shared_efficiency_pct=round(100 * raw.total("unique_bytes", "shared") / (WAVEFRONT_BYTES * wavefronts), 2)
        if wavefronts
        else None,
        global_load_requests=raw.total("requests", "global", "load"),
        global_load_sectors_per_request=_per_request(raw, "sectors", "load"),
        global_load_ideal_per_request=_per_request(raw, "ideal", "load"),
        global_store_requests=raw.total("requests", "global", "store"),
        global_store_sectors_per_request=_per_request(raw, "sectors", "store"),
        global_store_ideal_per_request=_per_request(raw, "ideal", "store"),
        by_line=[_line(c) for c in raw.by_line],
        thread_instructions=thread_instructions,
        sampled_blocks=raw.sampled_blocks,
        total_blocks=raw.total_blocks,
    )


def _per_request(raw: Raw, field: str, op: str) -> float | None:
    requests = raw.total("requests", "global", op)
    return round(raw.total(field, "global", op) / requests, 4) if requests else None


def _line(c: LineCounter) -> LineCounters:
    return LineCounters(
        line=c.line,
        space=c.space,  # type: ignore[arg-type]  # the emulator's names are the contract's
        op=c.op,  # type: ignore[arg-type]  # likewise
        requests=c.requests,
        width_bytes=c.width_bytes,
        wavefronts=c.wavefronts,
        sectors=c.sectors,
        ideal=c.ideal,
        ways=c.ways,
        unique_bytes=c.unique_bytes,
        lanes=c.lanes,
        few_requests=c.few_requests,
        few_lanes=c.few_lanes,
        lane_words=[None if word < 0 else word for word in c.worst_words],
    )
