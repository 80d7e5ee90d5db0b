"""The time of a submission's kernel on a device that is not there: a launch followed, what it asks for, and the record
of its time that stands in a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import exp, prod

import numpy as np
from msgspec import structs

from grader.devices import MAX_GRID
from grader.lab.records import Sizes
from grader.launching.backend import BufferArgument, ScalarArgument
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore
from grader.measured import LineTime, PredictedTime, Ratio
from grader.message import Message, msg
from grader.ptx.dataflow import data_decide
from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.timing.instructions import Processor, resident_blocks
from grader.timing.model import FITTED, ONE_PROGRAM, TWO_PROGRAMS, UNCHECKED, Prediction, predict, ratio_spread
from grader.timing.profile import Profile, profile
from grader.timing.trace import Argument, BlockTrace, follow, further_blocks, sampled_blocks

MOST_STEPS = 40_000
"""PTX instructions of the block that is followed to its end, where nothing else is asked for."""
MOST_BYTES = 2 << 30
"""The most bytes of a launch's arrays: they take room only where they are touched, but count as a whole against what a
grading may hold."""
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


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A launch's size, and what it takes of a multiprocessor.

    dynamic_bytes, static_bytes: of shared memory, as the launch asks for and as the kernel has it.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_bytes: int
    registers: int
    static_bytes: int


def predict_kernel(
    kernel: BoundKernel,
    sizes: Sizes,
    processor: Processor,
    stores: tuple[ProgramStore, ProgramStore],
) -> Prediction | Message:
    """The time of one launch at some sizes, or why there is none; see `followed`."""
    launch = followed(kernel, sizes, processor, stores)
    if isinstance(launch, Message):
        return launch
    return predict_launch(launch)


def followed(
    kernel: BoundKernel,
    sizes: Sizes,
    processor: Processor,
    stores: tuple[ProgramStore, ProgramStore],
    most_steps: int = MOST_STEPS,
) -> FollowedLaunch | Message:
    """A launch that is to be followed, or why it cannot be.

    most_steps: PTX instructions of the block that is followed to its end.  stores: compile to PTX, which is executed,
    and to the device's machine code, which says how many registers it takes.
    Arrays hold zeros: where values decide what is executed it is not followed.
    """
    if not kernel.sizes.fits(sizes):
        return msg("predict.sizes")
    loaded = kernel.load(stores[0], sizes)
    if loaded.entry is None:
        return msg("predict.not_compiled", error=loaded.built.error)
    ptx = loaded.built.result.ptx
    machine = kernel.load(stores[1], sizes)
    if machine.entry is None:
        return _refused(ptx, loaded.entry, msg("predict.not_compiled", error=machine.built.error))
    request = kernel.launch_without_data(loaded, sizes)
    for a in request.arguments:
        if isinstance(a, ScalarArgument) and isinstance(a.value, int) and a.converted() != a.value:
            return _refused(ptx, loaded.entry, msg("predict.cut_off", value=a.value))
    arguments = tuple(
        ((prod(a.shape) + a.start) * np.dtype(a.dtype).itemsize, "", b"")
        if isinstance(a, BufferArgument)
        else (0, (number := a.converted()).dtype.str, number.tobytes())
        for a in request.arguments
    )
    takes = machine.built.result.resources[machine.entry]
    shape = LaunchShape(request.grid, request.block, request.shared_bytes, takes.registers, takes.shared_bytes)
    return followed_launch(ptx, request.entry, shape, arguments, processor, most_steps)


def followed_launch(
    ptx: str,
    entry: str,
    shape: LaunchShape,
    arguments: tuple[tuple[int, str, bytes], ...],
    processor: Processor,
    most_steps: int = MOST_STEPS,
) -> FollowedLaunch | Message:
    """The same of a launch whose program is compiled."""
    for axis, blocks, most in zip("xyz", shape.grid, MAX_GRID, strict=True):
        if blocks > most:
            return _refused(ptx, entry, msg("predict.grid_limit", axis=axis, blocks=blocks, most=most))
    shared = shape.dynamic_bytes + shape.static_bytes
    resident = resident_blocks(processor, prod(shape.block), shape.registers, shared)
    if not resident:
        return _refused(ptx, entry, msg("predict.does_not_fit", device=processor.name))
    if sum(size_bytes for size_bytes, _dtype, _number in arguments) > MOST_BYTES:
        return _refused(ptx, entry, msg("predict.too_large", most=MOST_BYTES >> 30))
    cache_bytes = processor.cache_bytes(resident, shared)
    return FollowedLaunch(
        ptx,
        entry,
        shape.grid,
        shape.block,
        shape.dynamic_bytes,
        arguments,
        resident,
        cache_bytes,
        processor,
        most_steps,
    )


def _refused(ptx: str, entry: str, reason: Message) -> Message:
    """Return why a launch is not followed: for a reason, unless the kernel itself gives one."""
    return why_unpredictable(_parsed(ptx), entry) or reason


def predict_launch(launch: FollowedLaunch) -> Prediction | Message:
    """The time of a launch, or why it could not be followed to its end."""
    # A program is parsed here and not before: many launches are followed in processes beside one another.
    why_not = why_unpredictable(_parsed(launch.ptx), launch.entry)
    if why_not is not None:
        return why_not
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
    if asked is None:
        return msg("predict.not_followed", most=launch.most_steps)
    return predict(asked, processor, FITTED)


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
"""The least share of the time that a line must take to be told."""


def summed(parts: Sequence[tuple[Prediction, int]]) -> Prediction:
    """Launches one after another as one; parts: of each its prediction, and how many times it is made.

    What is wrong with one is wrong with the others: the interval is from the sum of the least to that of the most.
    """
    time_us = sum(times * one.time_us for one, times in parts)

    def share_of(shares: Callable[[Prediction], Mapping[str, float]]) -> dict[str, float]:
        units = dict.fromkeys(unit for one, _times in parts for unit in shares(one))
        return {u: sum(n * one.time_us * shares(one).get(u, 0.0) for one, n in parts) / time_us for u in units}

    shares = share_of(lambda one: one.shares)
    lines = dict.fromkeys(number for one, _times in parts for number in one.by_line)
    causes = dict.fromkeys(cause for one, _times in parts for cause in one.without_us)
    low_us, high_us = (sum(times * one.interval_us[side] for one, times in parts) for side in (0, 1))
    return Prediction(
        time_us,
        (low_us, high_us),
        shares,
        max(shares, key=shares.__getitem__),
        {cause: sum(n * one.without_us.get(cause, one.time_us) for one, n in parts) for cause in causes},
        {line: share_of(partial(_of_line, line)) for line in lines},
    )


def _of_line(line: int, one: Prediction) -> Mapping[str, float]:
    return one.by_line.get(line, {})


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

    def over(slower: PredictedTime | None, own: PredictedTime, of: tuple[float, float]) -> Ratio | None:
        return ratio_of(slower, own, processor, of) if slower is not None else None

    return {
        name: structs.replace(
            own,
            predicted_over_baseline=over(predicted.get(baseline), own, ONE_PROGRAM) if name != baseline else None,
            predicted_speedup=over(measures.get(name, nothing)[1], own, TWO_PROGRAMS),
            against=measures.get(name, nothing)[0],
        )
        for name, own in predicted.items()
    }


def ratio_of(
    slower: PredictedTime, own: PredictedTime, processor: Processor, of: tuple[float, float] = ONE_PROGRAM
) -> Ratio:
    """How many times as fast one kernel is as another at the same size; of: as of `ratio_spread`."""
    ratio = slower.predicted_us / own.predicted_us
    factor = exp(ratio_spread(slower.shares, own.shares, of) * (1.0 if processor.is_checked else UNCHECKED))
    return Ratio(value=round(ratio, 3), low=round(ratio / factor, 3), high=round(ratio * factor, 3))


def figures(value: float) -> float:
    """Three significant digits: more are not known."""
    return float(f"{value:.3g}")
