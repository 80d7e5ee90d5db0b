"""A function or a program that has been graded, called at other sizes: its sweeps, timed on a GPU or counted on the
emulator, and its predicted times.

All variants of such a lab are one program of the student's, so each point of a sweep serves every variant.  For
predicted times it is called once more at the largest size that is timed (the one that is observed where none is), no
kernel runs, and the launches that it makes are predicted and added up.  What memory is filled and copied on the device
counts as much as its bytes take; copies to and from the host do not, as in measured times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from msgspec import structs

from grader.compiler.result import symbol_in
from grader.gpu.bench import lab_files, metric_of
from grader.gpu.functions import FunctionGpu, Untimed, series_at
from grader.grading.counted_sweeps import KeptPoints, ended, record_of
from grader.grading.functions import reference_program, runs_of
from grader.grading.predictions import predict_launches
from grader.grading.sweep_plan import Owner, Place, places
from grader.grading.sweeps import find, keep
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes, Sweep
from grader.launching.backend import ARCHITECTURE, TAKES_LONG
from grader.launching.trial import Run
from grader.measured import Estimate, PredictedTime, SweepPoint, SweepRecord
from grader.message import Message, msg
from grader.programs.execution import CompiledProgram, Setting
from grader.programs.records import MAX_LAUNCHES, CallLaunch, DeviceCall, Observation
from grader.programs.runtime.arguments import number_layout
from grader.programs.sources import Program
from grader.running.calls import together
from grader.running.evidence import Evidence, elements_of
from grader.running.function_runs import LIMITS, Called, FunctionRuns
from grader.submission.kernels.records import SeenArgument, SeenLaunch
from grader.submission.records import Missing
from grader.timing import lock
from grader.timing.instructions import Processor
from grader.timing.model import Prediction
from grader.timing.prediction import (
    FollowedLaunch,
    LaunchShape,
    followed_launch,
    summed,
)
from grader.timing.prediction import record_of as record_of_prediction
from grader.timing.sampling import Samples
from grader.timing.summary import folder, key_of, reference, student

_KEPT: dict[str, KeptPoints] = {}
"""Counts of the labs' own solutions, which are the same for every student that this process grades."""


@dataclass(frozen=True, slots=True)
class _Swept:
    """A program that is swept for some variants, compiled already where it was run before."""

    of: Owner
    program: Program
    variants: tuple[str, ...]
    compiled: CompiledProgram | None = None

    def names(self, sweep: Sweep) -> list[str]:
        """The variants that a sweep asks for."""
        return [name for name in self.variants if name in sweep.variants]


def sweep_called(
    lab: Lab,
    called: Called | None,
    by_variant: Mapping[str, Evidence],
    digest: Mapping[str, str],
    gpu: FunctionGpu | None,
) -> list[SweepRecord]:
    """All of the lab's sweeps: timed where the submission was timed, else counted.

    called: how the student's is run; None where it was not.
    digest: all of the submission's text, by name.

    Raises FileError: the oracle cannot say what has to come out, or the lab's own files are wrong.
    Raises InternalError: no program can be run here.
    """
    reason = _unswept(called, by_variant)
    left_out = {} if reason is None else dict.fromkeys(by_variant, reason)
    own = (
        [_Swept("submission", called.program, tuple(by_variant), called.compiled)]
        if called is not None and reason is None
        else []
    )
    solutions: dict[str, list[str]] = {}
    for variant in lab.variants:
        solutions.setdefault(str(variant.reference.file), []).append(variant.name)
    targets = own + [
        _Swept("reference", reference_program(lab, names[0]), tuple(names)) for names in solutions.values()
    ]
    if own and called is not None and gpu is not None and gpu.card is not None:
        with suppress(Untimed, lock.Busy):
            return _timed_sweeps(_steady(lab, called.runs.drawn_lab.seed), targets, digest, gpu)
    kept = _KEPT.setdefault(key_of({}, "called", lab_files(lab), "", "", ""), {})
    runs = _steady(lab, lab.seed)
    return [record_of(sweep, "emulator", _counted_points(runs, sweep, targets, kept), left_out) for sweep in lab.sweeps]


def _steady(lab: Lab, drawn_seed: int) -> FunctionRuns:
    """Return runs of the lab in which only the sizes change from point to point: scalars keep their first values."""
    parameters = tuple(replace(p, values=p.values[:1]) for p in lab.parameters)
    one, drawn = replace(lab, parameters=parameters), replace(lab, parameters=parameters, seed=drawn_seed)
    return runs_of(one, Oracle(one), drawn, Oracle(drawn))


def _unswept(called: Called | None, by_variant: Mapping[str, Evidence]) -> Message | None:
    first = next(iter(by_variant.values()))
    if isinstance(first.binding, Missing):
        return msg("sweeps.no_kernel")
    if called is None or not first.runs:
        return msg("sweeps.not_run")
    return None if all(run.is_right for run in first.runs) else msg("sweeps.results_wrong")


# -- counted ----------------------------------------------------------------------------------


def _counted_points(runs: FunctionRuns, sweep: Sweep, targets: list[_Swept], kept: KeptPoints) -> list[SweepPoint]:
    """Return every point of a sweep on the emulator; points of the lab's own programs are kept in `kept`."""
    points: list[SweepPoint] = []
    for target in targets:
        names = target.names(sweep)
        if not names:
            continue
        line = kept.get((sweep.id, names[0])) if target.of == "reference" else None
        line = line if line is not None else _counted_line(runs, sweep, target)
        if target.of == "reference":
            kept[sweep.id, names[0]] = line
        points += [structs.replace(point, variant=name) for name in names for point in line]
    return points


def _counted_line(runs: FunctionRuns, sweep: Sweep, target: _Swept) -> list[SweepPoint]:
    """Return the points of one program, under the name of its first variant."""
    points: list[SweepPoint] = []
    hopeless: Message | None = None
    with nullcontext(target.compiled) if target.compiled else closing(CompiledProgram(target.program)) as compiled:
        for place in places(sweep, "emulator"):
            point = _point(target, place)
            if hopeless is not None:
                points.append(_without(point, "failed", hopeless))
                continue
            case = runs.once(place.sizes)
            observation = compiled.run(*runs.begun(case, LIMITS))
            run = runs.judged(case, observation) if observation is not None else None
            if observation is None or run is None:
                points.append(_without(point, "failed", msg("sweeps.not_run")))
                continue
            if run.outcome.reason in TAKES_LONG:
                # Each of the larger ones would take as long.
                hopeless = ended(run.outcome)
            points.append(_judged(point, run) or _counted(runs.lab, sweep, point, observation))
    return points


def _counted(lab: Lab, sweep: Sweep, point: SweepPoint, observation: Observation) -> SweepPoint:
    """Return a point with its counts for each element of the largest array, as the check `work` takes them."""
    launches = [launch for call in observation.calls for launch in call.launches]
    counters = together(launches, "")
    totals = {
        "sectors": counters.total("sectors", "global"),
        "wavefronts": counters.total("wavefronts", "shared"),
        "instructions": sum(launch.thread_instructions for launch in launches if not launch.is_of_library),
    }
    elements = elements_of(lab, point.size)
    return structs.replace(
        point,
        values={name: Estimate(value=round(totals[name] / elements, 6)) for name in sweep.metrics["emulator"]},
        conflict_ways=max((c.ways for c in counters.by_line if c.space == "shared" and c.requests), default=None),
    )


# -- timed ------------------------------------------------------------------------------------


def _timed_sweeps(
    runs: FunctionRuns, targets: list[_Swept], digest: Mapping[str, str], gpu: FunctionGpu
) -> list[SweepRecord]:
    """All sweeps on the GPU; kept, and found again for the same work on the same device.

    Raises Untimed: there are no times, or none that are the device's.
    Raises Busy: somebody else had the device all the time.
    """
    lab, card = runs.lab, gpu.card
    assert card is not None
    key = key_of(digest, f"called {runs.drawn_lab.seed}", lab_files(lab), "", card.name, card.driver)
    file = folder() / f"{key}.sweeps.json"
    stored = None if gpu.remeasure else find(file, {})
    if stored is not None:
        return stored
    with ExitStack() as stack:
        compiled_programs = {
            _name(target): stack.enter_context(closing(CompiledProgram(target.program, Setting(on_gpu=True))))
            for target in targets
        }
        stack.enter_context(lock.exclusive(card.uuid))
        records = []
        for sweep in lab.sweeps:
            asked = [target for target in targets if target.names(sweep)]
            beside = {_name(target): compiled_programs[_name(target)] for target in asked}
            points = [(place, series_at(runs, beside, place.sizes)) for place in places(sweep, "gpu")]
            rows = [
                _timed_point(lab, sweep, target, name, place, outcome)
                for target in asked
                for name in target.names(sweep)
                for place, outcome in points
            ]
            records.append(record_of(sweep, "gpu", rows, {}))
    keep(file, records)
    return records


def _name(target: _Swept) -> str:
    return (student if target.of == "submission" else reference)(target.variants[0])


def _timed_point(
    lab: Lab, sweep: Sweep, target: _Swept, variant: str, place: Place, outcome: Samples | Run
) -> SweepPoint:
    point = structs.replace(_point(target, place), variant=variant)
    if not isinstance(outcome, Samples):
        # It is the student's that went wrong; the lab's was not timed beside it.
        wrong = _judged(point, outcome) if target.of == "submission" else None
        return wrong or _without(point, "failed", msg("sweeps.not_run"))
    interval = outcome.median(_name(target))
    if interval is None or not outcome.valid:
        return _without(point, "failed", msg("sweeps.throttled"))
    time = Estimate(value=interval.median, low=interval.low, high=interval.high)
    values = {metric: metric_of(lab, metric, place.sizes, time) for metric in sweep.metrics["gpu"]}
    return structs.replace(point, values=values)


# -- points -----------------------------------------------------------------------------------


def _point(target: _Swept, place: Place) -> SweepPoint:
    return SweepPoint(variant=target.variants[0], of=target.of, x=place.x, line=place.line, size=dict(place.sizes))


def _without(point: SweepPoint, status: str, reason: Message) -> SweepPoint:
    return structs.replace(point, status=status, reason_said=reason)


def _judged(point: SweepPoint, run: Run) -> SweepPoint | None:
    """Return the point without values where the run was wrong or did not end, None where it is right."""
    if run.outcome.status != "ok":
        return _without(point, "failed", ended(run.outcome))
    return None if run.is_right else _without(point, "wrong", msg("sweeps.wrong"))


TRACING = msgspec.structs.replace(LIMITS, executes=False, counts_work=True, host_bytes=1 << 30, device_bytes=4 << 30)
"""Limits of a call whose launches are recorded and not made."""
MOST_DIFFERENT = 200
"""Launches that differ are predicted one by one: no more than these."""
ADDRESS_BYTES = 8
_ENTRY = re.compile(r"\.entry (\w+)\(")


@dataclass(frozen=True, slots=True)
class _Traced:
    """What a call asks the device for; launches: what it launches.  moved: fills and copies on the device."""

    launches: Sequence[SeenLaunch]
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
    return dict.fromkeys(by_variant, record_of_prediction(own, sizes, processor))


def _time_of(called: Called, sizes: Sizes, processor: Processor, processes: int) -> Prediction | Message:
    """The time of all that a program asks the device for at some sizes, or why there is none."""
    observed = called.runs.lab.cases["emulator"].observe
    first = _traced(called, observed)
    if isinstance(first, Message):
        return first
    graded = called.runs.observed
    if graded is None or [_place(one) for one in graded.calls[0].launches] != [_place(one) for one in first.launches]:
        # Without results its host code goes another way.
        return msg("predict.host_decides")
    traced = first if sizes == observed else _traced(called, sizes)
    if isinstance(traced, Message):
        return traced
    alike: dict[tuple[object, ...], list[SeenLaunch]] = {}
    for launch in traced.launches:
        alike.setdefault((*_place(launch), launch.shared_bytes, *map(_argument, launch.arguments)), []).append(launch)
    if len(alike) > MOST_DIFFERENT:
        return msg("predict.many_launches", most=MOST_DIFFERENT)
    launches: list[FollowedLaunch] = []
    for first_alike, *_others in alike.values():
        followed = _followed(called, first_alike, processor)
        if isinstance(followed, Message):
            return followed
        launches.append(followed)
    parts = [(_moved(call, processor), 1) for call in traced.moved]
    for same, time in zip(alike.values(), predict_launches(launches, processes), strict=True):
        if isinstance(time, Message):
            return time
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
    asked = [call for run in observation.calls for call in run.asked]
    if any(call.is_of_library for call in asked):
        return msg("predict.library")
    if len(observation.launches) >= MAX_LAUNCHES:
        return msg("predict.too_many_launches", most=MAX_LAUNCHES)
    return _Traced(observation.launches, [call for call in asked if call.kind in ("fill", "copy")])


def _place(launch: CallLaunch | SeenLaunch) -> tuple[object, ...]:
    return launch.symbol, tuple(launch.grid), tuple(launch.block)


def _followed(called: Called, launch: SeenLaunch, processor: Processor) -> FollowedLaunch | Message:
    compiled, machine = (called.built(a, launch.display) for a in (ARCHITECTURE, processor.architecture))
    symbol = symbol_in(_ENTRY.findall(compiled.ptx), launch.kernel, launch.symbol)
    takes = machine.resources.get(symbol_in(machine.resources, launch.kernel, launch.symbol) or "")
    if symbol is None or takes is None:
        return msg("predict.not_compiled", error=launch.kernel)
    arguments = tuple(_argument(argument) for argument in launch.arguments)
    if None in arguments:
        return msg("predict.struct", kernel=launch.kernel)
    shape = LaunchShape(launch.grid, launch.block, launch.shared_bytes, takes.registers, takes.shared_bytes)
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
