"""Data that go through memory a few lanes at a time.

A request of one lane has no conflict and touches one sector: by its own measure it is ideal.  Held against what whole
warps need it is not, for a request costs the same whether one lane takes part or all 32.  So it is counted how much
goes through requests in which so few lanes take part that their bytes fit into one sector (8 lanes of 4 bytes).  In
honest kernels these are borders, halos, tails and the last steps of a reduction, a small part of an array; where they
move half an array or more, blocks are too small or lanes take turns.  Blocks of 4 × 4 threads have 16 lanes at a time.
A kernel that goes through an array many times, as a scan does, adds up its halos: they are most of an array then, and
still a small part of its requests.
Of a block of 100 threads the last warp has 4, whatever the kernel does: its share of the accesses is nobody's fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from grader.checks.base import Verdict, failed
from grader.device_limits import WARP_LANES
from grader.message import msg
from grader.result import Counters
from grader.running.evidence import Evidence

PART = 0.5
"""Of the largest array: as much of it as may not go through requests of a few lanes."""
OF_REQUESTS = 0.25
"""Of all requests of the kind: fewer are no way of moving data."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """Memory used a few lanes at a time.

    line: where most of these requests come from.  requests: how many they are, with `lanes` thread accesses in all.
    """

    line: int
    requests: int
    lanes: int

    @property
    def needed(self) -> int:
        """Requests that whole warps would need for as much."""
        return -(-self.lanes // WARP_LANES)


def crawl(evidence: Evidence, counters: Counters, space: str) -> Crawl | None:
    """Of a space the loads, the stores or the atomic operations that move `PART` of an array a few lanes at a time."""
    array_bytes = max(evidence.array_bytes.values(), default=0)
    for op in ("load", "store", "atomic"):
        rows = [c for c in counters.by_line if c.space == space and c.op == op]
        requests = sum(c.requests for c in rows)
        tail = _tail(evidence)
        rows = [c for c in rows if c.few_lanes > tail * c.lanes]
        if sum(c.few_requests for c in rows) < OF_REQUESTS * requests:
            continue
        if array_bytes and sum((c.few_lanes - tail * c.lanes) * c.width_bytes for c in rows) >= PART * array_bytes:
            worst = max(rows, key=lambda c: (c.few_requests, -c.line))
            return Crawl(worst.line, sum(c.few_requests for c in rows), sum(c.few_lanes for c in rows))
    return None


def _tail(evidence: Evidence) -> float:
    """The share of a block's threads that are in its last warp, where that is not full and not the only one."""
    threads = prod(evidence.interpretation.launch.block) if evidence.interpretation is not None else WARP_LANES
    return threads % WARP_LANES / threads if threads > WARP_LANES else 0.0


def verdict(evidence: Evidence, found: Crawl) -> Verdict:
    """The fault in words."""
    interpretation = evidence.interpretation
    x, y, z = interpretation.launch.block if interpretation is not None else (WARP_LANES, 1, 1)
    message = msg("few_lanes.found", line=found.line, requests=found.requests, needed=found.needed)
    hint = msg("few_lanes.hint_block", x=x, y=y * z) if x * y * z < WARP_LANES // 2 else msg("few_lanes.hint_turns")
    data = {"requests": found.requests, "needed_requests": found.needed}
    return failed(message, hint, found.line, data=data)
