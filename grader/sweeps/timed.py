"""Runs a lab's sweeps on the GPU: each point timed in rounds, its results checked on the device by the lab's kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from grader.backends.base import BufferArgument, LaunchOutcome, LaunchRequest
from grader.gpu.host.session import FAULTS, GpuFault, TimedKernel
from grader.gpu.host.shared_buffer import nbytes_of
from grader.gpu.measurement.bench import Bench, Conditions, sample_rounds, side_by_side, tolerance_between, with_data
from grader.gpu.measurement.work import work_at
from grader.gpu.messages import Prepared
from grader.i18n import say
from grader.lab.records import Lab, Sizes, Sweep
from grader.oracle.expected import Array
from grader.result import Estimate, SweepPoint, SweepRecord
from grader.running.cases import dtypes_of
from grader.sweeps.counted import ended, for_each_mode, record_of
from grader.sweeps.plan import Owner, Place, Ready, Subject, places, ready, replace_point, unfit, without_data
from grader.timing import plan
from grader.timing.sampling import Samples
from grader.words import said

if TYPE_CHECKING:
    from grader.compiler.process import CompileResult

BUDGET_US = 250_000.0
"""For the rounds of the points of one kernel at one size."""

HOST_REPEATS = 3

COPIES_OF_ARRAYS = 2
"""Of a launch's arrays on the device: one to work on, one for what is expected."""

MEMORY_SHARE = 0.9
"""Of the device's memory, what is taken at most: the rest is the context's, the driver's and other programs'."""

GIB = 1 << 30
OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"

CompileFor = Callable[[Owner, Mapping[str, str], Sequence[str]], "CompileResult"]
"""Compiles sources for the device, of a submission or of the lab."""

Add = Callable[[str, bytes], None]
"""Makes machine code known to the bench under a name."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A point with its machine code at hand; comparable: its arrays have the types of the lab's."""

    point: Ready
    module: str
    launch: LaunchRequest
    comparable: bool

    @property
    def name(self) -> str:
        """What the point is called while it is timed."""
        place = self.point.place
        return f"{self.point.subject.of}:{self.point.subject.variant}@{place.x},{place.line}"


class GpuSweeps:
    """Runs sweeps on a GPU.

    bench: what times kernels.  add: makes code known to it.  compile_for: compiles for the device.
    pools: values to fill inputs with, by "name:dtype".
    """

    def __init__(self, lab: Lab, bench: Bench, add: Add, compile_for: CompileFor, pools: Mapping[str, Array]) -> None:
        self._lab = lab
        self._bench = bench
        self._add = add
        self._compile = compile_for
        self._pools = pools
        self._results: dict[str, CompileResult] = {}
        self._references: dict[str, Subject] = {}

    def run(self, subjects: Sequence[Subject], left_out: Mapping[str, str]) -> list[SweepRecord]:
        """All of the lab's sweeps for some kernels; `left_out`: variants that are not swept, and why.

        Raises
        ------
        GpuFault : the device itself is not usable.
        """
        self._references = {s.variant: s for s in subjects if s.of == "reference"}
        self._bench.warm_up(plan.WARM_UP_MS)
        return [self._sweep(sweep, subjects, left_out) for sweep in self._lab.sweeps]

    def _sweep(self, sweep: Sweep, subjects: Sequence[Subject], left_out: Mapping[str, str]) -> SweepRecord:
        points: list[SweepPoint] = []
        for subject in subjects:
            if subject.variant not in sweep.variants:
                continue
            loaded: list[Loaded] = []
            for place in places(sweep, "gpu"):
                prepared = ready(self._lab, sweep, subject, place)
                if isinstance(prepared, Ready):
                    prepared = self._too_large(prepared) or prepared
                found = self._load(prepared) if isinstance(prepared, Ready) else prepared
                if isinstance(found, Loaded):
                    loaded.append(found)
                else:
                    points += for_each_mode(sweep, found)
            if sweep.host_memory:
                points += [row for one in loaded for row in self._host_copies(sweep, one)]
            else:
                by_size: dict[tuple[int, ...], list[Loaded]] = {}
                for one in loaded:
                    by_size.setdefault(tuple(one.point.place.sizes.values()), []).append(one)
                points += [point for group in by_size.values() for point in self._timed(sweep, group)]
        order: dict[tuple[int | str | None, int], int] = {
            (place.line, place.x): i for i, place in enumerate(places(sweep, "gpu"))
        }
        rank = {(s.variant, s.of): i for i, s in enumerate(subjects)}
        points.sort(key=lambda p: (rank[p.variant, p.of], order.get((p.line, p.x), 0)))
        return record_of(sweep, "gpu", points, left_out)

    def _too_large(self, point: Ready) -> SweepPoint | None:
        """The point that says so where the device has not the memory for its arrays; None where it has."""
        launch = without_data(self._lab, point)
        arrays = sum(nbytes_of(a) for a in launch.arguments if isinstance(a, BufferArgument))
        needed, most = arrays * COPIES_OF_ARRAYS, int(self._bench.device.memory_bytes * MEMORY_SHARE)
        if needed <= most:
            return None
        reason = say(
            "{needed:.1f} GiB of the GPU's memory are needed, {most:.1f} GiB can be had",
            needed=needed / GIB,
            most=most / GIB,
        )
        return replace_point(unfit(point.subject, point.place, "impossible", reason), point.block)

    def _load(self, point: Ready) -> Loaded | SweepPoint:
        """Compile a point's program; the point that says so where it does not compile."""
        lab, binding = self._lab, point.binding
        dtypes = dtypes_of(lab, binding, point.candidate)
        launch = without_data(lab, point)
        expression = launch.expression or binding.expression
        sources = point.submission.program(launch.file, dict(launch.constants))
        text = repr((point.subject.of, expression, sorted(sources.items())))
        module = f"sweep:{hashlib.sha256(text.encode()).hexdigest()}"
        if module not in self._results:
            result = self._compile(point.subject.of, sources, [expression])
            self._results[module] = result
            if expression in result.entries:
                self._add(module, result.cubin)
        result = self._results[module]
        if expression not in result.entries:
            error = next((d.message for d in result.diagnostics if d.severity == "error"), result.reason)
            reason = say("it does not compile: {error}", error=said(error))
            return replace_point(unfit(point.subject, point.place, "impossible", reason), point.block)
        plain = LaunchRequest(
            result.entries[expression], launch.grid, launch.block, launch.shared_bytes, launch.arguments
        )
        comparable = all(dtype == lab.parameter(name).dtype for name, dtype in dtypes.items())
        return Loaded(point, module, plain, comparable)

    def _timed(self, sweep: Sweep, group: Sequence[Loaded]) -> list[SweepPoint]:
        """Points of one kernel at one size, timed side by side."""
        loaded = {one.name: one for one in group}
        failures: dict[str, str] = {}
        check = self._check(group[0])

        def kernels(names: Sequence[str]) -> list[TimedKernel]:
            here = [loaded[name] for name in names]
            timed = [
                TimedKernel(o.name, o.module, o.launch, check.name if check and o.comparable else "") for o in here
            ]
            return [*timed, *([check] if check else [])]

        def measure(timed: Sequence[TimedKernel], prepared: Prepared) -> list[SweepPoint]:
            wrong = {problem.name for problem in prepared.problems}
            here = [loaded[kernel.name] for kernel in timed if kernel.name in loaded]
            names = [o.name for o in here if o.name not in wrong]
            round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
            found, _mhz = sample_rounds(self._bench, names, [], plan.plan_for(2 * round_us, BUDGET_US))
            wrong |= {problem.name for problem in found.problems}
            return [self._point(sweep, one, found, one.name in wrong) for one in here]

        l2 = self._lab.timing.l2 if self._lab.timing else "cold"
        conditions = Conditions(self._pools, l2, tolerance_between(self._lab, group[0].point.place.sizes))
        try:
            points = side_by_side(self._bench, list(loaded), kernels, conditions, measure, failures) or []
        except GpuFault as fault:
            if fault.reason != OUT_OF_MEMORY or fault.is_submissions:
                raise
            reason = say("so much of the GPU's memory is not free")
            points = [
                replace_point(unfit(o.point.subject, o.point.place, "impossible", reason), o.point.block)
                for name, o in loaded.items()
                if name not in failures
            ]
        return [*(_failed(loaded[name].point, reason) for name, reason in failures.items()), *points]

    def _check(self, one: Loaded) -> TimedKernel | None:
        """The lab's kernel of the variant as it stands, which tells what has to come out; None where it cannot run."""
        subject = self._references.get(one.point.subject.variant)
        if subject is None:
            return None
        place = Place(0, None, one.point.place.sizes)
        plain = Ready(
            subject,
            place,
            subject.program.submission,
            subject.binding,
            subject.candidate,
            subject.candidate.launch.block,
        )
        kernel = next(v.reference for v in self._lab.variants if v.name == subject.variant)
        loaded = self._load(plain) if kernel.fits(place.sizes) else None
        return TimedKernel("check", loaded.module, loaded.launch) if isinstance(loaded, Loaded) else None

    def _point(self, sweep: Sweep, one: Loaded, found: Samples, is_wrong: bool) -> SweepPoint:
        point = one.point
        if is_wrong:
            reason = say("the result is wrong there: the kernel is made for other values")
            return replace_point(unfit(point.subject, point.place, "wrong", reason), point.block)
        interval = found.median(one.name)
        if interval is None or not found.valid:
            reason = say("the GPU ran below its usual clock")
            return replace_point(unfit(point.subject, point.place, "failed", reason), point.block)
        time = Estimate(value=interval.median, low=interval.low, high=interval.high)
        values = {metric: _value(self._lab, metric, point.place.sizes, time) for metric in sweep.metrics["gpu"]}
        return structs.replace(_ok(point), values=values)

    def _host_copies(self, sweep: Sweep, one: Loaded) -> list[SweepPoint]:
        """A point for each kind of host memory; kinds that the device lacks are impossible."""
        inputs = {
            a.name: np.resize(self._pools[f"{a.name}:{a.dtype}"], a.shape)
            for a in one.launch.arguments
            if isinstance(a, BufferArgument) and not a.is_output
        }
        try:
            done = self._bench.host_copies(one.module, with_data(one.launch, inputs), sweep.host_memory, HOST_REPEATS)
        except GpuFault as fault:
            if not fault.is_submissions:
                raise
            return for_each_mode(sweep, _failed(one.point, fault.reason))
        totals = {row.mode: row.total_us for row in done.rows}
        lacking = unfit(one.point.subject, one.point.place, "impossible", say("the device has no such memory"))
        return [
            structs.replace(_ok(one.point), line=mode, values={"total_time": Estimate(value=totals[mode])})
            if mode in totals
            else structs.replace(lacking, line=mode)
            for mode in sweep.host_memory
        ]


def _ok(point: Ready) -> SweepPoint:
    subject, place = point.subject, point.place
    return SweepPoint(
        variant=subject.variant, of=subject.of, x=place.x, line=place.line, size=dict(place.sizes), block=point.block
    )


def _value(lab: Lab, metric: str, sizes: Sizes, time: Estimate) -> Estimate:
    """A metric from a time in µs: a rate in 10⁹ a second falls as the time grows."""
    if metric == "time":
        return time
    work = work_at(lab, sizes)
    amount = (work.operations or 0.0) if metric == "gflop_per_s" else work.traffic_bytes
    low, high = time.high or time.value, time.low or time.value
    return Estimate(value=amount / time.value / 1000, low=amount / low / 1000, high=amount / high / 1000)


def _failed(point: Ready, reason: str) -> SweepPoint:
    """A point whose kernel failed, or whose launch the device refused."""
    if reason in FAULTS.values():
        made = unfit(point.subject, point.place, "failed", ended(LaunchOutcome("fault", reason=reason)))
    else:
        text = say("the device refuses the launch ({reason})", reason=reason)
        made = unfit(point.subject, point.place, "impossible", text)
    return replace_point(made, point.block)
