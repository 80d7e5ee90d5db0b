"""The time of a submission's kernel on a device that is not there: how long each unit is busy, how long a warp waits,
the two together, and the record of it that stands in a result.

A wave is the blocks that are resident at once.  A unit's bound is the work of a multiprocessor's blocks over the unit's
rate; the latency bound is one warp's path with all units idle.  Neither is the time by itself, nor is their sum: queues
make latency grow with load (Volkov, Understanding Latency Hiding on GPUs, 2016), which the norm of order `overlap` over
all bounds stands for, as hybrid models do between a sum (1) and a maximum (∞).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp, prod

import numpy as np
from msgspec import structs

from grader.devices import MAX_GRID
from grader.lab.records import Sizes
from grader.launching.backend import BufferArgument, ScalarArgument
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore
from grader.measured import LineTime, PredictedTime, Ratio
from grader.message import Message, msg
from grader.ptx import parse
from grader.ptx.dataflow import data_decide
from grader.ptx.frontend.nodes import Module
from grader.timing.instructions import Processor, resident_blocks
from grader.timing.profile import Profile, Work, further_blocks, profile, sampled_blocks
from grader.timing.trace import Argument, BlockTrace, follow


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What no data sheet says: fitted by `benchmarks/prediction.py` to launches timed on an H200.

    overlap: order of the norm.  alone: how far it falls to a sum where a block is alone.  l2, stores: how
    much longer the L2 cache is busy than its rate says with sectors that are read, with the lines of stores.  memory:
    the same of a warp's waits for global memory, which grow with load.  slowest: how much later than the mean a block's
    slowest warp ends, in waits for memory and deviations.  hot_cycles: of an atomic at an address that another lane of
    its warp goes to.  line_cycles: of a warp's atomics at a line that all blocks go to.  atomic_cycles: of a line that
    atomics of a warp go to, for all multiprocessors together.
    """

    overlap: float = 4.0
    alone: float = 0.9
    l2: float = 1.0
    stores: float = 1.2
    memory: float = 1.2
    slowest: float = 0.4
    hot_cycles: float = 1.3
    line_cycles: float = 5.0
    atomic_cycles: float = 0.015


FITTED = Coefficients(
    overlap=4.46,
    alone=0.9,
    l2=0.806,
    stores=1.064,
    memory=1.2,
    slowest=0.4,
    hot_cycles=3.56,
    line_cycles=3.7,
    atomic_cycles=0.0061,
)
"""To 636 launches on an H200 (`benchmarks/prediction.md`)."""
SPREAD = {
    "atomics": 1.59,
    "latency": 0.41,
    "issue": 0.3,
    "arithmetic": 0.3,
    "shared": 0.34,
    "barriers": 0.34,
    "dram": 0.38,
    "launch": 0.38,
    "l2": 0.32,
    "l1": 0.17,
    "block_starts": 0.05,
    "tail": 0.05,
}
"""Of the interval, either way, the logarithm of its factor where all time goes to one unit: atomics are known badly,
what is waited for less well than what is counted."""
UNCHECKED = 2.0
"""How many times as wide, in the logarithm, intervals are on a device that nothing was compared with."""

RATIO_SPREAD = 1.7
"""Factor of the interval of how many times as fast one kernel is as another at the same size, either way: 85 % of the
pairs of launches of a lab lie within on an H200, families held back."""

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
"""Of the time: what costs less is no cause, for nobody is told "1.0 times as fast"."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One launch on one device.

    time_us: expected, caches empty before.  shares: of the time, by what bounds it (`UNITS`).
    limiter: the largest of them.  interval_us: within which 85 % of launches lie.
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
    """The time of a launch, and what it goes to."""
    time_us, shares = time_of(asked, processor, fitted)
    spread = exp(spread_of(shares) * (1.0 if processor.is_checked else UNCHECKED))
    limiter = max(shares, key=shares.__getitem__)
    without = {
        cause: time_of(changed, processor, fitted)[0]
        for cause, changed in (
            ("bank_conflicts", replace(asked, shared=asked.shared_ideal, path=asked.path_unconflicted or asked.path)),
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


def ratio_interval(ratio: float, processor: Processor) -> tuple[float, float]:
    """(low, high) of how many times as fast one kernel is as another on this device, where `ratio` is predicted."""
    spread = RATIO_SPREAD if processor.is_checked else RATIO_SPREAD**UNCHECKED
    return ratio / spread, ratio * spread


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
    spent = dict.fromkeys(UNITS, 0.0)
    for times, blocks in ((full, wave), (1 if rest else 0, rest)):
        if not times:
            continue
        bounds = _bounds(asked, processor, fitted, blocks)
        # What a block's warps do at once, starting and waiting together, only other blocks fill the pauses of.
        order = 1 + (fitted.overlap - 1) * (1 - fitted.alone / ceil(blocks / multiprocessors) ** 0.5)
        powers = sum(value**order for value in bounds.values())
        total = powers ** (1 / order)
        cycles += times * total
        # Blocks of a full wave would have done as much in their part of its time.
        tail = max(0.0, total - whole_wave * blocks / wave) if whole_wave else 0.0
        whole_wave = whole_wave or total
        spent["tail"] += tail
        for unit, value in bounds.items():
            spent[unit] += (times * total - tail) * value**order / powers
    time_us = processor.launch_us + cycles / processor.clock_ghz / 1000
    shares = {unit: value / processor.clock_ghz / 1000 / time_us for unit, value in spent.items()}
    served = asked.shared + asked.tags
    shares["l1"] = shares["shared"] * (asked.tags / served if served else 0.0)
    shares["shared"] -= shares["l1"]
    shares["launch"] = processor.launch_us / time_us
    return time_us, shares


LARGEST = (0.0, 0.56, 1.03, 1.42, 1.77, 2.07)
"""Mean of the largest of 1, 2, 4 … 32 normal deviates."""


def _bounds(asked: Profile, processor: Processor, fitted: Coefficients, blocks: int) -> dict[str, float]:
    """Cycles that each unit is busy with `blocks` blocks, on the multiprocessor that has most of them.

    "shared" is with "l1" here: shared memory and the L1 cache are one unit.
    """
    each = ceil(blocks / processor.multiprocessors)
    # Of blocks that are all there at once the one with most work ends last.
    longest = asked.most_work if blocks == asked.blocks else asked.mean_work
    rates = processor.rates
    hertz = processor.clock_ghz * 1e9
    share = blocks / asked.blocks
    pipe = _busiest_pipe(asked, processor)
    waits = max(0.0, asked.path - asked.path_inside)
    return {
        "issue": each * asked.mean_work * asked.issued / rates["issue"],
        "arithmetic": each * asked.mean_work * asked.by_pipe[pipe] / rates[pipe],
        "shared": each * asked.mean_work * (asked.shared + asked.tags),
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
        "latency": longest * (asked.path_inside + fitted.memory * waits)
        # A block's place is taken by the next when its slowest warp has ended.
        + fitted.slowest * min(waits, processor.latency["dram"]) * LARGEST[min(5, (asked.warps - 1).bit_length())],
    }


MOST_STEPS = 40_000
"""PTX instructions of the block that is followed to its end, where nothing else is asked for."""
MOST_BYTES = 2 << 30
"""Of a launch's arrays: they take room only where they are touched, but count as a whole against what a grading may
hold."""
FEW_STEPS = 4_000
"""The same of the blocks beside it, which tell what is shared."""


@dataclass(frozen=True, slots=True)
class FollowedLaunch:
    """All that a launch's prediction follows from, as data that another process can be sent.

    arguments: of each the bytes of an array, or the type and the bytes of a number.  resident: blocks at once on a
    multiprocessor.  cache_bytes: of L1.  most_steps: PTX instructions of the block that is followed to its end.
    """

    ptx: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[tuple[int, str, bytes], ...]
    resident: int
    cache_bytes: int
    processor: Processor
    most_steps: int


def predict_kernel(
    kernel: BoundKernel,
    sizes: Sizes,
    processor: Processor,
    stores: tuple[ProgramStore, ProgramStore],
    most_steps: int = MOST_STEPS,
) -> Prediction | Message:
    """The time of one launch at some sizes, or why there is none; see `followed`."""
    launch = followed(kernel, sizes, processor, stores, most_steps)
    if isinstance(launch, Message):
        return launch
    return predict_launch(launch) or not_followed(launch)


def not_followed(launch: FollowedLaunch) -> Message:
    """Why there is no prediction of what could not be followed to its end."""
    return msg("predict.not_followed", most=launch.most_steps)


def followed(
    kernel: BoundKernel,
    sizes: Sizes,
    processor: Processor,
    stores: tuple[ProgramStore, ProgramStore],
    most_steps: int = MOST_STEPS,
) -> FollowedLaunch | Message:
    """A launch that can be followed, or why it cannot.

    most_steps: PTX instructions of the block that is followed to its end.  stores: compile to PTX, which is executed,
    and to the device's machine code, which says how many registers it takes.
    Arrays hold zeros, so there is none where values decide what is executed.
    """
    if not kernel.sizes.fits(sizes):
        return msg("predict.sizes")
    loaded = kernel.load(stores[0], sizes)
    if loaded.entry is None:
        return msg("predict.not_compiled", error=loaded.built.error)
    ptx = loaded.built.result.ptx
    why_not = why_unpredictable(_parsed(ptx), loaded.entry)
    if why_not is not None:
        return why_not
    machine = kernel.load(stores[1], sizes)
    if machine.entry is None:
        return msg("predict.not_compiled", error=machine.built.error)
    request = kernel.launch_without_data(loaded, sizes)
    takes = machine.built.result.resources[machine.entry]
    shared = request.shared_bytes + takes.shared_bytes
    for axis, blocks, most in zip("xyz", request.grid, MAX_GRID, strict=True):
        if blocks > most:
            return msg("predict.grid_limit", axis=axis, blocks=blocks, most=most)
    resident = resident_blocks(processor, prod(request.block), takes.registers, shared)
    if not resident:
        return msg("predict.does_not_fit", device=processor.name)
    for a in request.arguments:
        if isinstance(a, ScalarArgument) and isinstance(a.value, int) and a.converted() != a.value:
            return msg("predict.cut_off", value=a.value)
    arguments = tuple(
        ((prod(a.shape) + a.start) * np.dtype(a.dtype).itemsize, "", b"")
        if isinstance(a, BufferArgument)
        else (0, (number := a.converted()).dtype.str, number.tobytes())
        for a in request.arguments
    )
    if sum(size_bytes for size_bytes, _dtype, _number in arguments) > MOST_BYTES:
        return msg("predict.too_large", most=MOST_BYTES >> 30)
    return FollowedLaunch(
        ptx,
        request.entry,
        request.grid,
        request.block,
        request.shared_bytes,
        arguments,
        resident,
        processor.cache_bytes(resident, shared),
        processor,
        most_steps,
    )


def predict_launch(launch: FollowedLaunch) -> Prediction | None:
    """The time of a launch; None where it could not be followed to its end."""
    processor = launch.processor

    def traced(blocks: Sequence[tuple[int, int]]) -> list[BlockTrace]:
        return follow(
            _parsed(launch.ptx),
            launch.entry,
            launch.grid,
            launch.block,
            launch.shared_bytes,
            [
                Argument(number=np.frombuffer(number, dtype)[0]) if dtype else Argument(size_bytes=size_bytes)
                for size_bytes, dtype, number in launch.arguments
            ],
            blocks,
        )

    asked = profiled(traced, launch.grid, launch.resident, launch.cache_bytes, processor, launch.most_steps)
    return predict(asked, processor, FITTED) if asked is not None else None


def profiled(
    follow_blocks: Callable[[Sequence[tuple[int, int]]], list[BlockTrace]],
    grid: tuple[int, int, int],
    resident: int,
    cache_bytes: int,
    processor: Processor,
    most_steps: int,
) -> Profile | None:
    """What a launch asks for; None where it could not be followed to its end.

    follow_blocks: returns traces of blocks, each a number and the most instructions of it.
    """
    together, neighbours = sampled_blocks(grid, resident, processor)
    numbers = [*together, *(number for number in neighbours if number >= 0)]
    traces = follow_blocks([(numbers[0], most_steps), *((number, FEW_STEPS) for number in numbers[1:])])
    if len(traces) < len(numbers) or not traces[0].complete:
        return None
    rest = traces[len(together) :]
    beside = [rest.pop(0) if number >= 0 else None for number in neighbours]
    further = follow_blocks([(number, most_steps) for number in further_blocks(traces, grid)])
    spread = [trace for trace in further if trace.complete]
    return profile(traces[: len(together)], beside, grid, resident, cache_bytes, processor, spread)


@lru_cache(maxsize=8)
def _parsed(ptx: str) -> Module:
    """Return a parsed program; the points of a sweep over sizes share one."""
    return parse(ptx)


def why_unpredictable(module: Module, entry: str) -> Message | None:
    """Why what the blocks do on arrays of zeros tells no time; None: it does."""
    functions = [f for name, f in module.functions.items() if name == entry or not f.is_entry]
    if any(data_decide(function) for function in functions):
        return msg("predict.data_decide")
    if any(variable.space == "local" for function in functions for variable in function.variables):
        return msg("predict.local_memory")
    return None


MOST_LINES = 12
LEAST_SHARE = 0.005
"""Of the time that a line takes, to be told."""


def record_of(prediction: Prediction, sizes: Sizes, processor: Processor) -> PredictedTime:
    """A prediction as a record, without ratios."""
    shares = {number: sum(taken.values()) for number, taken in prediction.by_line.items() if number}
    lines = sorted((n for n, share in shares.items() if share >= LEAST_SHARE), key=lambda n: (-shares[n], n))
    low, high = prediction.interval_us
    return PredictedTime(
        device=processor.name,
        size=dict(sizes),
        predicted_us=figures(prediction.time_us),
        predicted_low_us=figures(low),
        predicted_high_us=figures(high),
        is_checked=processor.is_checked,
        shares={unit: round(share, 4) for unit, share in prediction.shares.items() if share >= LEAST_SHARE},
        limiter=prediction.limiter,
        predicted_without_us={cause: figures(less_us) for cause, less_us in prediction.without_us.items()},
        by_line=[
            LineTime(
                line=number,
                share=round(shares[number], 4),
                predicted_us=figures(shares[number] * prediction.time_us),
                shares={
                    unit: round(share, 4) for unit, share in prediction.by_line[number].items() if share >= LEAST_SHARE
                },
            )
            for number in lines[:MOST_LINES]
        ],
    )


def with_ratios(
    predicted: Mapping[str, PredictedTime],
    baseline: str,
    measures: Mapping[str, tuple[str, PredictedTime]],
    processor: Processor,
) -> dict[str, PredictedTime]:
    """The same with how many times as fast each is as the variant `baseline`, and as what it is measured by.

    measures: of a variant the one whose reference kernel its check measures by, and the time of that.
    """
    nothing = "", None

    def over(slower: PredictedTime | None, own: PredictedTime) -> Ratio | None:
        return ratio_of(slower, own, processor) if slower is not None else None

    return {
        name: structs.replace(
            own,
            predicted_over_baseline=over(predicted.get(baseline), own) if name != baseline else None,
            predicted_speedup=over(measures.get(name, nothing)[1], own),
            against=measures.get(name, nothing)[0],
        )
        for name, own in predicted.items()
    }


def ratio_of(slower: PredictedTime, own: PredictedTime, processor: Processor) -> Ratio:
    """How many times as fast one kernel is as another at the same size."""
    ratio = slower.predicted_us / own.predicted_us
    low, high = ratio_interval(ratio, processor)
    return Ratio(value=round(ratio, 3), low=round(low, 3), high=round(high, 3))


def figures(value: float) -> float:
    """Three significant digits: more are not known."""
    return float(f"{value:.3g}")
