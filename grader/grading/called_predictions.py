"""Predicted times of a function or a program, which makes its launches itself: it is called once more at the largest
size that is timed (the one that is observed where none is), no kernel runs, and the launches that it makes are
predicted and added up.

What memory is filled and copied on the device counts as much as its bytes take; copies to and from the host do not, as
in measured times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from grader.compiler.result import symbol_in
from grader.grading.predictions import predict_launches
from grader.lab.records import Lab, Sizes
from grader.launching.backend import ARCHITECTURE
from grader.measured import PredictedTime
from grader.message import Message, msg
from grader.programs.records import MAX_LAUNCHES, CallLaunch, DeviceCall
from grader.programs.runtime.arguments import number_layout
from grader.running.evidence import Evidence
from grader.running.function_runs import LIMITS, Called
from grader.submission.kernels.records import SeenArgument, SeenLaunch
from grader.timing.instructions import Processor
from grader.timing.model import Prediction
from grader.timing.prediction import (
    FollowedLaunch,
    LaunchShape,
    followed_launch,
    not_followed,
    record_of,
    summed,
)

TRACING = msgspec.structs.replace(LIMITS, executes=False, counts_work=True, host_bytes=1 << 30, device_bytes=4 << 30)
"""Limits of a call whose launches are recorded and not made."""
MOST_DIFFERENT = 200
"""Launches that differ are predicted one by one: no more than these."""
ADDRESS_BYTES = 8
_ENTRY = re.compile(r"\.entry (\w+)\(")


@dataclass(frozen=True, slots=True)
class _Traced:
    """What a call asks the device for; seen: its launches.  moved: fills and copies on the device."""

    seen: Sequence[SeenLaunch]
    moved: Sequence[DeviceCall]


def predict_called(
    lab: Lab, called: Called | None, by_variant: Mapping[str, Evidence], processor: Processor, processes: int
) -> dict[str, PredictedTime | Message]:
    """Predicted times by variant, or why there is none; {} where the results are wrong.

    Raises InternalError: no program can be run here.
    """
    runs = next(iter(by_variant.values())).runs
    if called is None or not runs or not all(run.is_right for run in runs):
        return {}
    sizes = lab.timing.sizes[-1] if lab.timing is not None else lab.cases["emulator"].observe
    own = _time_of(called, sizes, processor, processes)
    if isinstance(own, Message):
        return dict.fromkeys(by_variant, own)
    # Lines are of the one file that a result's listing of a variant is of.
    file = next(iter(by_variant.values())).bound.kernel.file
    own = replace(own, by_line=own.by_line if [parsed.file for parsed in called.files] == [file] else {})
    return dict.fromkeys(by_variant, record_of(own, sizes, processor))


def _time_of(called: Called, sizes: Sizes, processor: Processor, processes: int) -> Prediction | Message:
    """The time of all that a program asks the device for at some sizes, or why there is none."""
    observed = called.runs.lab.cases["emulator"].observe
    first = _traced(called, observed)
    if isinstance(first, Message):
        return first
    made = called.runs.observed
    if made is None or [_place(one) for one in made.calls[0].launches] != [_place(one) for one in first.seen]:
        # Without results its host code goes another way.
        return msg("predict.host_decides")
    traced = first if sizes == observed else _traced(called, sizes)
    if isinstance(traced, Message):
        return traced
    alike: dict[tuple[object, ...], list[SeenLaunch]] = {}
    for seen in traced.seen:
        alike.setdefault((*_place(seen), seen.shared_bytes, *map(_argument, seen.arguments)), []).append(seen)
    if len(alike) > MOST_DIFFERENT:
        return msg("predict.many_launches", most=MOST_DIFFERENT)
    launches: list[FollowedLaunch] = []
    for first_seen, *_others in alike.values():
        launch = _followed(called, first_seen, processor)
        if isinstance(launch, Message):
            return launch
        launches.append(launch)
    parts = [(_moved(call, processor), 1) for call in traced.moved]
    for launch, same, time in zip(launches, alike.values(), predict_launches(launches, processes), strict=True):
        if time is None:
            return not_followed(launch)
        parts.append((time, len(same)))
    return summed(parts) if parts else msg("predict.no_launch")


def _traced(called: Called, sizes: Sizes) -> _Traced | Message:
    start, limits = called.runs.begun(called.runs.timed(sizes), TRACING)
    observation = called.compiled.run(start, limits)
    refused = [f for f in observation.findings if f.kind == "launch_refused"] if observation is not None else []
    if refused:
        return msg("predict.refused", line=refused[0].line)
    if observation is None or observation.cause is not None or not all(c.has_returned for c in observation.calls):
        return msg("predict.not_traced")
    asked = [call for seen in observation.calls for call in seen.asked]
    if any(call.is_of_library for call in asked):
        return msg("predict.library")
    if len(observation.launches) >= MAX_LAUNCHES:
        return msg("predict.too_many_launches", most=MAX_LAUNCHES)
    return _Traced(observation.launches, [call for call in asked if call.kind in ("fill", "copy")])


def _place(launch: CallLaunch | SeenLaunch) -> tuple[object, ...]:
    return launch.symbol, tuple(launch.grid), tuple(launch.block)


def _followed(called: Called, seen: SeenLaunch, processor: Processor) -> FollowedLaunch | Message:
    compiled, machine = (called.built(a, seen.display) for a in (ARCHITECTURE, processor.architecture))
    symbol = symbol_in(_ENTRY.findall(compiled.ptx), seen.kernel, seen.symbol)
    takes = machine.resources.get(symbol_in(machine.resources, seen.kernel, seen.symbol) or "")
    if symbol is None or takes is None:
        return msg("predict.not_compiled", error=seen.kernel)
    arguments = tuple(_argument(argument) for argument in seen.arguments)
    if None in arguments:
        return msg("predict.struct", kernel=seen.kernel)
    shape = LaunchShape(seen.grid, seen.block, seen.shared_bytes, takes.registers, takes.shared_bytes)
    given = tuple(argument for argument in arguments if argument is not None)
    return followed_launch(compiled.ptx, symbol, shape, given, processor)


def _argument(argument: SeenArgument) -> tuple[int, str, bytes] | None:
    """The argument as of `FollowedLaunch`; None for a struct that holds pointers, or of which nothing is known."""
    if argument.buffer:
        return argument.buffer_bytes - argument.offset_bytes, "", b""
    if argument.is_pointer:
        return 0, "<u8", bytes(ADDRESS_BYTES)
    if argument.raw and not argument.inside:
        return 0, f"|V{len(argument.raw)}", argument.raw
    if argument.value is None:
        return None
    layout = number_layout(argument.type_text)
    return (0, np.dtype(layout.format).str, layout.pack(argument.value)) if layout is not None else None


def _moved(call: DeviceCall, processor: Processor) -> Prediction:
    """A fill, or a copy, which reads as much as it writes."""
    moved_us = call.size * (2 if call.kind == "copy" else 1) / processor.dram_bytes_per_second * 1e6
    time_us = processor.launch_us + moved_us
    shares = {"launch": processor.launch_us / time_us, "dram": moved_us / time_us}
    return Prediction(time_us, (time_us, time_us), shares, max(shares, key=shares.__getitem__), {}, {})
