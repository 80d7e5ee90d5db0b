"""Counted work of a launch: totals, and the memory requests of each source line."""

from __future__ import annotations

from typing import Literal

from grader.result.record import Record


class WarpArray(Record, frozen=True):
    """An array that a warp accesses, as the student calls it ("" where that is not known).

    start: where it begins, in bytes: in the block's shared memory, or after the start of a sector of global memory.
    shape: its sizes, slowest axis first, in elements of `element_bytes`; [] where they are not known.
    """

    name: str
    element_bytes: int
    start: int = 0
    shape: list[int] = []


class WarpRequest(Record, frozen=True):
    """One request of the warp.

    cost: its wavefronts (shared memory) or sectors (global memory).  ideal: the fewest that its bytes need.
    at_once: how many neighbouring lanes shared memory serves together: 32, or 16 or 8 where they want 8 or 16 bytes.
    runs: (array, lane, lanes, element, step): of so many lanes from `lane` on the first accesses that element of that
    array, each next one the element `step` further on.  Lanes in no run take no part.
    """

    cost: int
    ideal: int
    runs: list[tuple[int, int, int, int, int]]
    at_once: int = 32


class WarpSteps(Record, frozen=True):
    """What one warp does at a source line, request by request: the first warp that makes the worst request there.

    warp: its number in `block`.  first: number, from 1, of the first of `requests` (at most 8) among the `total` that
    the warp makes there; total is null where it was not watched to its end.
    """

    block: tuple[int, int, int]
    warp: int
    arrays: list[WarpArray]
    requests: list[WarpRequest]
    first: int = 1
    total: int | None = None


class LineCounters(Record, frozen=True):
    """Memory requests of one source line: a request is one instruction of one warp.

    wavefronts, ways: shared memory only (ways: the worst request's wavefronts over the least it could take).
    sectors: global memory only, 32 bytes each.  ideal: the fewest wavefronts or sectors these bytes need.
    lanes: thread accesses, summed over requests.
    few_requests, few_lanes: requests in which so few lanes took part that their bytes fit into one sector of 32 (8
    lanes of 4 bytes), and the lanes of these.
    lane_words: the 32-bit word of shared memory that each of the 32 lanes addresses in the worst request,
    null for a lane that takes no part, [] where not recorded; bank = word mod 32.
    steps: a warp's requests, lane by lane, where these accesses cost points; else null.
    """

    line: int
    space: Literal["shared", "global", "local"]
    op: Literal["load", "store", "atomic"]
    requests: int
    width_bytes: int = 4
    wavefronts: int = 0
    sectors: int = 0
    ideal: int = 0
    ways: int = 1
    unique_bytes: int = 0
    lanes: int = 0
    lane_words: list[int | None] = []
    few_requests: int = 0
    few_lanes: int = 0
    steps: WarpSteps | None = None


class Counters(Record, frozen=True):
    """Totals over one launch at `size`, counted on addresses alone (no arbitration noise).

    shared_excess = shared_wavefronts − shared_ideal.
    shared_efficiency_pct = 100 · distinct bytes / (128 · wavefronts), nvprof's `shared_efficiency`;
    null when shared memory is not used.  The per-request figures are null where there is no such request.
    sampled_blocks < total_blocks: only that many blocks were watched.
    """

    size: dict[str, int]
    shared_requests: int
    shared_wavefronts: int
    shared_ideal: int
    shared_excess: int
    worst_conflict_ways: int
    shared_efficiency_pct: float | None
    global_load_requests: int
    global_load_sectors_per_request: float | None
    global_load_ideal_per_request: float | None
    global_store_requests: int
    global_store_sectors_per_request: float | None
    global_store_ideal_per_request: float | None
    by_line: list[LineCounters]
    thread_instructions: int | None = None
    sampled_blocks: int = 0
    total_blocks: int = 0
