"""The time of a launch from what it asks of a device: how long each unit is busy, how long a warp waits, and the two
together.

A wave is the blocks that are resident at once.  A unit's bound is the work of a multiprocessor's blocks over the unit's
rate; the latency bound is one warp's path with all units idle.  Neither is the time by itself, nor is their sum: queues
make latency grow with load (Volkov, Understanding Latency Hiding on GPUs, 2016), which the norm of order `overlap` over
all bounds stands for, as hybrid models do between a sum (1) and a maximum (∞).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, exp

from grader.timing.instructions import Processor
from grader.timing.profile import Profile, Work


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What no data sheet says: fitted by `benchmarks/prediction.py` to launches timed on an H200.

    overlap: order of the norm.  alone: how far it falls to a sum where a block is alone.  l2, stores: how
    much longer the L2 cache is busy than its rate says with sectors that are read, with the lines of stores.  memory:
    the same of a warp's waits for global memory, which grow with load.  slowest: how much later than the mean a block's
    slowest warp ends, in waits for memory and deviations.  in_order: order of the norm of bank conflicts with the rest.
    hot_cycles: of an atomic at an address that another lane of
    its warp goes to.  line_cycles: of a warp's atomics at a line that all blocks go to.  atomic_cycles: of a line that
    atomics of a warp go to, for all multiprocessors together.
    """

    overlap: float = 4.0
    alone: float = 0.9
    l2: float = 0.8
    stores: float = 0.965
    memory: float = 1.2
    slowest: float = 0.4
    in_order: float = 1.2
    hot_cycles: float = 3.5
    line_cycles: float = 3.5
    atomic_cycles: float = 0.015


FITTED = Coefficients(
    overlap=4.0,
    alone=0.844,
    l2=0.8,
    stores=0.965,
    memory=1.2,
    slowest=0.4,
    in_order=1.2,
    hot_cycles=3.5,
    line_cycles=3.5,
    atomic_cycles=0.0061,
)
"""To 636 launches on an H200 (`benchmarks/prediction.md`)."""
SPREAD = {
    "atomics": 0.49,
    "latency": 0.24,
    "issue": 0.32,
    "arithmetic": 0.32,
    "shared": 0.12,
    "barriers": 0.12,
    "dram": 0.23,
    "launch": 0.23,
    "l2": 0.31,
    "l1": 0.11,
    "block_starts": 0.05,
    "tail": 0.05,
}
"""The logarithm of the interval's factor, either way, where all time goes to one unit: atomics are known badly,
what is waited for less well than what is counted."""
UNCHECKED = 2.0
"""How many times as wide, in the logarithm, intervals are on a device that nothing was compared with."""

ONE_PROGRAM = (0.15, 0.6)
TWO_PROGRAMS = (0.26, 0.4)
"""For a ratio of two times at one size: the logarithm of the interval's factor, either way, where both times go to
the same units, and how much of `SPREAD` comes on top for what one spends on a unit and the other does not: what is
wrong with a unit is wrong with both.  Of two kernels of one program, and of two programs; 88 and 84 % of the ratios lie
within on an H200, labs held back.
"""

UNITS = (
    "issue",
    "arithmetic",
    "shared",
    "l1",
    "l2",
    "dram",
    "atomics",
    "barriers",
    "block_starts",
    "latency",
    "tail",
    "launch",
)
"""What time goes to, as it is shown.  tail: multiprocessors that stand idle while the last blocks end."""
CAUSES = ("bank_conflicts", "uncoalesced", "same_address")
"""What costs time and need not be there."""
LEAST_GAIN = 0.05
"""As a share of the time: what costs less is no cause, for nobody is told "1.0 times as fast"."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One launch on one device.

    time_us: expected, caches empty before.  shares: of the time, by what bounds it (`UNITS`).
    limiter: the largest of them.  interval_us: within which 80 % of launches lie.
    without_us: were it not for one of `CAUSES`, of those that the launch has.
    by_line: of the shares what a source line takes, 0 for what is of none; the launch, the starts of blocks and the
    tail are of none.
    """

    time_us: float
    interval_us: tuple[float, float]
    shares: Mapping[str, float]
    limiter: str
    without_us: Mapping[str, float]
    by_line: Mapping[int, Mapping[str, float]]


def predict(asked: Profile, processor: Processor, fitted: Coefficients = FITTED) -> Prediction:
    """The predicted time of a launch, and what it is spent on."""
    time_us, shares = time_of(asked, processor, fitted)
    spread = exp(spread_of(shares) * (1.0 if processor.is_checked else UNCHECKED))
    limiter = max(shares, key=shares.__getitem__)
    without = {
        cause: time_of(changed, processor, fitted)[0]
        for cause, changed in (
            ("bank_conflicts", replace(asked, shared=asked.shared_ideal)),
            (
                "uncoalesced",
                replace(asked, tags=asked.tags_dense, l2_sectors=asked.l2_dense, stored_sectors=asked.stored_dense),
            ),
            ("same_address", replace(asked, hot_lanes=0.0)),
        )
    }
    without = {cause: less_us for cause, less_us in without.items() if less_us < (1 - LEAST_GAIN) * time_us}
    return Prediction(
        time_us,
        (time_us / spread, time_us * spread),
        shares,
        limiter,
        without,
        {number: taken for number, work in asked.lines.items() if (taken := _taken(work, asked, processor, shares))},
    )


def spread_of(shares: Mapping[str, float]) -> float:
    """The logarithm of an interval's factor on a device whose times were compared, by what the time goes to."""
    return sum(share * SPREAD[unit] for unit, share in shares.items()) / sum(shares.values())


def ratio_spread(first: Mapping[str, float], second: Mapping[str, float], of: tuple[float, float]) -> float:
    """The logarithm of the factor of a ratio's interval on a device whose times were compared, by the shares of both
    times; of: `ONE_PROGRAM` or `TWO_PROGRAMS`."""
    least, more = of
    return least + more * sum(abs(first.get(unit, 0.0) - second.get(unit, 0.0)) * SPREAD[unit] for unit in UNITS)


def _taken(work: Work, asked: Profile, processor: Processor, shares: Mapping[str, float]) -> dict[str, float]:
    """Return, for each share of the time, what one line takes of it."""
    pipe = _busiest_pipe(asked, processor)
    moved = asked.l2_sectors + asked.stored_sectors
    parts = {
        "issue": (work.issued, asked.issued),
        "arithmetic": (work.by_pipe[pipe], asked.by_pipe[pipe]),
        "shared": (work.shared, asked.shared),
        "l1": (work.tags, asked.tags),
        "l2": (work.l2_sectors + work.stored_sectors, moved),
        "dram": (work.l2_sectors + work.stored_sectors, moved),
        "atomics": (work.atomic_requests, asked.atomic_requests),
        "barriers": (work.barriers, asked.barriers),
        "latency": (work.path, asked.path),
    }
    taken = {unit: shares[unit] * part / whole for unit, (part, whole) in parts.items() if whole}
    return {unit: share for unit, share in taken.items() if share > 0}


def _busiest_pipe(asked: Profile, processor: Processor) -> str:
    return max(asked.by_pipe, key=lambda pipe: asked.by_pipe[pipe] / processor.rates[pipe])


def time_of(asked: Profile, processor: Processor, fitted: Coefficients) -> tuple[float, dict[str, float]]:
    """Return µs, and the share of each of `UNITS`."""
    multiprocessors = processor.multiprocessors
    resident = max(1, min(asked.resident, ceil(asked.blocks / multiprocessors)))
    wave = multiprocessors * resident
    full, rest = divmod(asked.blocks, wave)
    cycles = whole_wave = 0.0
    spent = dict.fromkeys((*UNITS, "conflicts"), 0.0)
    for times, blocks in ((full, wave), (1 if rest else 0, rest)):
        if not times:
            continue
        bounds = _bounds(asked, processor, fitted, blocks)
        # What a block's warps do at once, starting and waiting together, only other blocks fill the pauses of.
        together = ceil(blocks / multiprocessors) * _groups(asked)
        order = 1 + (fitted.overlap - 1) * (1 - fitted.alone / together**0.5)
        powers = sum(value**order for value in bounds.values())
        smooth = powers ** (1 / order)
        conflicts = ceil(blocks / multiprocessors) * asked.mean_work * max(0.0, asked.shared - asked.shared_ideal)
        both = smooth**fitted.in_order + conflicts**fitted.in_order
        total = both ** (1 / fitted.in_order)
        cycles += times * total
        # Blocks of a full wave would have done as much in their part of its time.
        tail = max(0.0, total - whole_wave * blocks / wave) if whole_wave else 0.0
        whole_wave = whole_wave or total
        spent["tail"] += tail
        of_conflicts = (times * total - tail) * conflicts**fitted.in_order / both
        spent["conflicts"] += of_conflicts
        for unit, value in bounds.items():
            spent[unit] += (times * total - tail - of_conflicts) * value**order / powers
    time_us = processor.launch_us + cycles / processor.clock_ghz / 1000
    shares = {unit: value / processor.clock_ghz / 1000 / time_us for unit, value in spent.items()}
    served = asked.shared_ideal + asked.tags
    shares["l1"] = shares["shared"] * (asked.tags / served if served else 0.0)
    shares["shared"] += shares.pop("conflicts") - shares["l1"]
    shares["launch"] = processor.launch_us / time_us
    return time_us, shares


SELDOM, GROUP_WARPS = 100, 8
"""Instructions of a warp for each barrier, from which on the warps of a block go apart between them; so many warps
overlap as little with one another as those of a usual block do."""


def _groups(asked: Profile) -> float:
    """Groups of a block's warps that fill each other's pauses: one, where barriers keep all of them together."""
    is_apart = SELDOM * asked.barriers < asked.issued
    return max(1.0, asked.warps / GROUP_WARPS) if is_apart else 1.0


LARGEST = (0.0, 0.56, 1.03, 1.42, 1.77, 2.07)
"""Mean of the largest of 1, 2, 4 … 32 normal deviates."""


def _bounds(asked: Profile, processor: Processor, fitted: Coefficients, blocks: int) -> dict[str, float]:
    """Cycles that each unit is busy with `blocks` blocks, on the multiprocessor that has most of them.

    "shared" is with "l1" here, and without bank conflicts: shared memory and the L1 cache are one unit.
    """
    each = ceil(blocks / processor.multiprocessors)
    # If all blocks are there at once, the one with most work ends last.
    longest = asked.most_work if blocks == asked.blocks else asked.mean_work
    rates = processor.rates
    hertz = processor.clock_ghz * 1e9
    share = blocks / asked.blocks
    pipe = _busiest_pipe(asked, processor)
    conflicts = asked.path - asked.path_unconflicted
    waits = max(0.0, asked.path - asked.path_inside)
    return {
        "issue": each * asked.mean_work * asked.issued / rates["issue"],
        "arithmetic": each * asked.mean_work * asked.by_pipe[pipe] / rates[pipe],
        "shared": each * asked.mean_work * (asked.shared_ideal + asked.tags),
        "l2": blocks
        * asked.mean_work
        * (fitted.l2 * asked.l2_sectors + fitted.stores * asked.stored_sectors)
        * 32
        / processor.l2_bytes_per_second
        * hertz,
        "dram": share * (asked.read_bytes + asked.written_bytes) / processor.dram_bytes_per_second * hertz,
        "atomics": blocks
        * max(
            fitted.atomic_cycles * asked.atomic_requests,
            fitted.line_cycles * asked.hot_requests + fitted.hot_cycles * asked.hot_lanes,
        ),
        "barriers": each * asked.barriers / rates["barrier"],
        "block_starts": each * processor.block_cycles,
        "latency": longest * (asked.path_inside - conflicts + fitted.memory * waits)
        # A block's place is taken by the next when its slowest warp has ended.
        + fitted.slowest * min(waits, processor.latency["dram"]) * LARGEST[min(5, (asked.warps - 1).bit_length())],
    }
