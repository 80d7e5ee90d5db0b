"""From what a launch asks for to its time: how long each unit is busy, how long a warp waits, and the two together.

A wave is the blocks that are resident at once.  A unit's bound is the work of a multiprocessor's blocks over the unit's
rate; the latency bound is one warp's path with all units idle.  Neither is the time by itself, nor is their sum: queues
make latency grow with load (Volkov, Understanding Latency Hiding on GPUs, 2016), which the norm of order `overlap`
over all bounds stands for, as hybrid models do between a sum (1) and a maximum (∞).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from grader.prediction.device import Processor
from grader.prediction.profile import Profile


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What no data sheet says: fitted by `benchmarks/prediction.py` to launches timed on an H200.

    overlap: order of the norm.  alone: how far a block with barriers that is alone falls to a sum.  issue, pipes,
    lsu, l2, stores, dram: how much longer a unit is busy than its rate says. path, path_memory: the same of a warp's
    own instructions and of its waits for global memory. hot_cycles: of an atomic at an address that another lane of
    its warp goes to.  line_cycles: of a warp's atomics at a line that all blocks go to.  atomic_cycles: of a line
    that atomics of a warp go to, for all multiprocessors together.  kept: share of the L2 cache in which written
    bytes stay to the end.
    """

    overlap: float = 2.0
    alone: float = 1.0
    issue: float = 1.0
    pipes: float = 1.0
    lsu: float = 1.0
    l2: float = 1.0
    stores: float = 1.0
    dram: float = 1.0
    path: float = 1.0
    path_memory: float = 1.0
    hot_cycles: float = 1.3
    line_cycles: float = 5.0
    atomic_cycles: float = 0.015
    kept: float = 0.5


FITTED = Coefficients(
    overlap=3.45,
    alone=0.898,
    issue=1.122,
    pipes=0.835,
    lsu=1.0,
    l2=0.835,
    stores=2.43,
    dram=1.0,
    path=2.15,
    path_memory=0.835,
    hot_cycles=3.56,
    line_cycles=2.65,
    kept=0.894,
)
"""To 488 launches on an H200."""
SPREAD = 1.5
"""Factor of the interval, either way: 85 % of the launches of families held back lie within."""
SPREAD_UNCHECKED = 2.25
"""The same on a device that nothing was compared with: twice as wide in its logarithm."""

UNITS = ("issue", "arithmetic", "load_store", "l2", "dram", "atomics", "barriers", "block_starts", "latency")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One launch on one device.

    time_us: expected, caches empty before.  shares: of the time, by what bounds it (`UNITS` and "launch").
    limiter: the largest of them.  interval_us: within which 85 % of launches lie.
    without_conflicts_us: were there no bank conflicts.
    """

    time_us: float
    interval_us: tuple[float, float]
    shares: Mapping[str, float]
    limiter: str
    without_conflicts_us: float


def predict(asked: Profile, processor: Processor, fitted: Coefficients) -> Prediction:
    """The time of a launch, and what it goes to."""
    time_us, shares = _time(asked, processor, fitted)
    spread = SPREAD if processor.measured else SPREAD_UNCHECKED
    ideal_us, _shares = _time(replace(asked, shared=asked.shared_ideal), processor, fitted)
    limiter = max(shares, key=shares.__getitem__)
    return Prediction(time_us, (time_us / spread, time_us * spread), shares, limiter, ideal_us)


def _time(asked: Profile, processor: Processor, fitted: Coefficients) -> tuple[float, dict[str, float]]:
    """µs, and the share of each bound."""
    multiprocessors = processor.multiprocessors
    resident = max(1, min(asked.resident, ceil(asked.blocks / multiprocessors)))
    full, rest = divmod(asked.blocks, multiprocessors * resident)
    cycles = 0.0
    spent = dict.fromkeys(UNITS, 0.0)
    for times, blocks in ((full, multiprocessors * resident), (1 if rest else 0, rest)):
        if not times:
            continue
        bounds = _bounds(asked, processor, fitted, blocks)
        order = fitted.overlap
        if asked.barriers:
            # A barrier ends what overlaps within a block; only other blocks fill its pauses.
            order = 1 + (order - 1) * (1 - fitted.alone / ceil(blocks / multiprocessors))
        whole = sum(value**order for value in bounds.values())
        total = whole ** (1 / order)
        cycles += times * total
        for unit, value in bounds.items():
            spent[unit] += times * total * value**order / whole
    time_us = processor.launch_us + cycles / processor.clock_ghz / 1000
    shares = {unit: value / processor.clock_ghz / 1000 / time_us for unit, value in spent.items()}
    shares["launch"] = processor.launch_us / time_us
    return time_us, shares


def _bounds(asked: Profile, processor: Processor, fitted: Coefficients, blocks: int) -> dict[str, float]:
    """Cycles that each unit is busy with `blocks` blocks, on the multiprocessor that has most of them."""
    each = ceil(blocks / processor.multiprocessors)
    rates = processor.rates
    hertz = processor.clock_ghz * 1e9
    written = max(0.0, asked.written_bytes - fitted.kept * processor.l2_bytes)
    share = blocks / asked.blocks
    pipes = max(asked.by_pipe[pipe] / rates[pipe] for pipe in asked.by_pipe)
    return {
        "issue": fitted.issue * each * asked.issued / rates["issue"],
        "arithmetic": fitted.pipes * each * pipes,
        "load_store": fitted.lsu * each * (asked.shared + asked.tags),
        "l2": blocks
        * (fitted.l2 * asked.l2_sectors + fitted.stores * asked.stored_sectors)
        * 32
        / processor.l2_bytes_per_second
        * hertz,
        "dram": fitted.dram * share * (asked.read_bytes + written) / processor.dram_bytes_per_second * hertz,
        "atomics": blocks
        * max(
            fitted.atomic_cycles * asked.atomic_requests,
            fitted.line_cycles * asked.hot_requests + fitted.hot_cycles * asked.hot_lanes,
        ),
        "barriers": each * asked.barriers / rates["barrier"],
        "block_starts": each * processor.block_cycles,
        "latency": fitted.path * asked.path_inside + fitted.path_memory * (asked.path - asked.path_inside),
    }
