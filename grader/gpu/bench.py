"""What is timed and how it is asked for: the lab's own kernels, the work of a lab at a size; kernels side by side, in
rounds, on drawn data.

The work says which files a time hangs on, what a speed-up is measured against and what the CPU takes: a submission's
kernels next to the lab's reference kernels.  Kernels that fail are left out of the rounds.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from grader.errors import FileError
from grader.gpu.messages import HostCopiesDone, Prepared, Ready, RoundDone, WarmedUp
from grader.gpu.session import GpuFault, TimedKernel
from grader.lab import formula
from grader.lab.checks import SpeedupSettings
from grader.lab.records import Lab, ReferenceKernel, Sizes, Variant
from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument, waits_for_grid
from grader.launching.kernel import grid_of, placeholder, shape_at
from grader.launching.programs import Built, ProgramStore
from grader.measured import Estimate
from grader.submission.records import LaunchPlan
from grader.timing import HostTimes, Measurement, Problem, SizeTimes, sampling
from grader.timing.sampling import Question, Sample, Samples, sample
from grader.timing.summary import Work, reference, size_key, student


@dataclass(frozen=True, slots=True)
class CompiledReference:
    """Machine code of a variant's reference kernel, ready for all sizes that it was compiled for."""

    variant: Variant
    built: Built


def compile_references(
    programs: ProgramStore, variants: Iterable[Variant], sizes: Iterable[Sizes]
) -> dict[str, CompiledReference]:
    """The reference kernels by variant, compiled for all of these sizes.  Raises FileError: one does not compile."""
    wanted = list(sizes)
    references = {}
    for variant in variants:
        kernel = variant.reference
        expressions = list(dict.fromkeys(kernel.expression(s) for s in wanted)) or [kernel.kernel]
        built = programs.get_text({kernel.file.name: kernel.file.read_text("utf-8")}, expressions)
        result = built.result
        if not result.ok:
            error = next((d for d in result.diagnostics if d.severity == "error"), None)
            raise FileError(
                error.message if error else f"does not compile: {result.reason}",
                kernel.file,
                error.line if error else None,
            )
        references[variant.name] = CompiledReference(variant, built)
    return references


def reference_request(lab: Lab, compiled: CompiledReference, sizes: Sizes) -> LaunchRequest:
    """The launch of a reference kernel at some sizes, on arrays of the lab's own types."""
    variant, kernel = compiled.variant, compiled.variant.reference
    entry = compiled.built.result.entries[kernel.expression(sizes)]
    return LaunchRequest(
        entry=entry,
        grid=grid_of(_plan(lab, variant, kernel), sizes),
        block=kernel.block,
        shared_bytes=kernel.shared_bytes_at(sizes),
        arguments=[_argument(lab, role, sizes) for role in kernel.arguments],
        cooperative=waits_for_grid(compiled.built.code, entry),
    )


def _plan(lab: Lab, variant: Variant, kernel: ReferenceKernel) -> LaunchPlan:
    covers = (kernel.covers or lab.launch_of(variant).covers)[: len(kernel.tile)]
    return LaunchPlan(kernel.block, kernel.tile, covers, exact=False)


def _argument(lab: Lab, role: str, sizes: Sizes) -> BufferArgument | ScalarArgument:
    parameter = lab.parameter(role)
    if parameter.is_size:
        return ScalarArgument(sizes[role], parameter.dtype)
    shape = shape_at(lab, role, sizes)
    is_output = parameter.is_output
    initial = None if is_output else placeholder(shape, parameter.dtype)
    return BufferArgument(role, shape, parameter.dtype, initial, is_output)


def baseline_of(lab: Lab, variant: str) -> tuple[str, float | None]:
    """The variant whose reference `variant` is measured by, and the speed-up that earns all points (None: unmarked)."""
    settings = next(v for v in lab.variants if v.name == variant).settings_of(SpeedupSettings)
    if settings is None:
        return variant, None
    return (settings.against or variant, settings.thresholds[0])


def questions_of(lab: Lab, variant: str) -> list[tuple[str, float]]:
    """What the marks for a variant's speed hang on: the name under which what it is compared with is timed, and each
    speed-up at which something changes."""
    settings = next(v for v in lab.variants if v.name == variant).settings_of(SpeedupSettings)
    if settings is None:
        return []
    baseline = student(lab.variants[0].name) if settings.own else reference(settings.against)
    return [(baseline, threshold) for threshold in settings.thresholds]


def lab_files(lab: Lab) -> dict[str, bytes]:
    """Every file that decides what is measured, by name."""
    paths = [lab.path, lab.oracle, *(v.reference.file for v in lab.variants)]
    return {path.name: path.read_bytes() for path in paths}


def work_at(lab: Lab, sizes: Sizes) -> Work:
    """What has to be done at a size: by the lab's formulas, else every array moved once."""
    rule = lab.timing
    moved = sum(
        float(np.prod(shape_at(lab, p.name, sizes))) * np.dtype(p.dtype).itemsize for p in lab.parameters if p.is_array
    )
    if rule is not None and rule.traffic:
        moved = float(formula.evaluate(rule.traffic, sizes))
    operations = float(formula.evaluate(rule.flops, sizes)) if rule is not None and rule.flops else None
    return Work(moved, operations)


def metric_of(lab: Lab, metric: str, sizes: Sizes, time: Estimate) -> Estimate:
    """A sweep's metric from a time in µs: a rate in 10⁹ a second falls as the time grows."""
    if metric == "time":
        return time
    work = work_at(lab, sizes)
    amount = (work.operations or 0.0) if metric == "gflop_per_s" else work.traffic_bytes
    low, high = time.high or time.value, time.low or time.value
    return Estimate(value=amount / time.value / 1000, low=amount / low / 1000, high=amount / high / 1000)


Array = npt.NDArray[np.generic]
T = TypeVar("T")


class Bench(Protocol):
    """What times kernels: `grader.gpu.session.GpuSession`, or a simulated device."""

    device: Ready

    def warm_up(self, busy_ms: float) -> WarmedUp: ...

    def prepare(
        self,
        kernels: Sequence[TimedKernel],
        pools: Mapping[str, Array],
        l2: str,
        clock_share: float,
        max_batch: int,
        tolerance: tuple[float, float],
    ) -> Prepared: ...

    def round(self, names: Sequence[str], key: int) -> RoundDone: ...

    def host_copies(
        self, module: str, request: LaunchRequest, modes: Sequence[str], repeats: int
    ) -> HostCopiesDone: ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """How kernels are timed: values for their inputs by "name:dtype", a "cold" or "warm" L2 cache, the tolerance."""

    pools: Mapping[str, Array]
    l2: str
    tolerance: tuple[float, float]


def side_by_side(
    bench: Bench,
    names: Sequence[str],
    kernels: Callable[[Sequence[str]], Sequence[TimedKernel]],
    conditions: Conditions,
    measure: Callable[[Sequence[TimedKernel], Prepared], T],
    failures: dict[str, str],
) -> T | None:
    """What `measure` gives for prepared kernels, tried again without each that fails; None when all of them do.

    names: kernels of the submission; why one fails is noted in `failures`.
    kernels: everything that is prepared together where the names given are what is left.
    Raises GpuFault: the device failed, or a kernel that is not the submission's.
    """
    left = list(names)
    while left:
        wanted = kernels(left)
        try:
            prepared = bench.prepare(
                wanted, conditions.pools, conditions.l2, sampling.CLOCK_SHARE, sampling.MAX_BATCH, conditions.tolerance
            )
            return measure(wanted, prepared)
        except GpuFault as fault:
            if not fault.is_submissions or fault.kernel not in left:
                raise
            failures[fault.kernel] = fault.reason
            left.remove(fault.kernel)
    return None


def sample_rounds(
    bench: Bench, names: Sequence[str], questions: Sequence[Question], rounds: sampling.Plan
) -> tuple[Samples, float]:
    """Rounds of kernels that were prepared before; and the SM clock, MHz, median over the rounds."""
    clocks: list[float] = []

    def measure(order: list[str]) -> Sample:
        done = bench.round(order, secrets.randbits(63))
        clocks.append(done.sm_mhz)
        throttled = sampling.is_throttled(done.sm_mhz, done.reasons, bench.device.max_sm_mhz)
        return Sample(done.times_us, throttled, tuple(done.problems))

    samples = sample(measure, names, questions, rounds)
    return samples, float(np.median(clocks)) if clocks else 0.0


def tolerance_between(lab: Lab, sizes: Sizes) -> tuple[float, float]:
    """The tolerance between two kernels, each of which may be off by the lab's."""
    dtype = next(p.dtype for p in lab.parameters if p.is_output)
    tolerance = lab.tolerance.at(sizes, dtype)
    return 2 * tolerance.absolute, 2 * tolerance.relative


MAX_POOL = 1 << 16


def pool_of(values: Array) -> Array:
    """The first values of an array: the largest power of two of them, at most `MAX_POOL`."""
    flat = values.reshape(-1)
    count = min(MAX_POOL, 1 << (flat.size.bit_length() - 1))
    return np.ascontiguousarray(flat[:count])


def with_data(request: LaunchRequest, inputs: Mapping[str, Array]) -> LaunchRequest:
    """A launch with its inputs' values in place of placeholders."""
    arguments = [
        replace(a, initial=inputs[a.name]) if isinstance(a, BufferArgument) and a.name in inputs else a
        for a in request.arguments
    ]
    return replace(request, arguments=arguments)


HOST_REPEATS = 5


@dataclass(frozen=True, slots=True)
class KernelAtSize:
    """A student's kernel at one size.  comparable: its arrays have the types of the lab's, as its reference's have."""

    variant: str
    sizes: Sizes
    module: str
    request: LaunchRequest
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class SpeedOrder:
    """What is to be timed.

    candidates: students' kernels, each at each of its sizes.
    references: launches of the reference kernels by variant, made for a size (None where one cannot be run there),
      with the module they are in.
    baselines: the variant whose reference each variant's speed-up is measured by, and the speed-up asked for, None when
      nothing is marked.
    pools: values to fill inputs with, by "name:dtype".
    """

    lab: Lab
    candidates: Sequence[KernelAtSize]
    references: Mapping[str, Callable[[Sizes], tuple[str, LaunchRequest] | None]]
    baselines: Mapping[str, tuple[str, float | None]]
    pools: Mapping[str, Array]
    nvrtc: str
    host_memory: Mapping[str, KernelAtSize] = field(default_factory=dict)
    """By variant, for labs that compare kinds of host memory; its arrays have their data."""


def host_candidates(
    lab: Lab, candidates: Sequence[KernelAtSize], values: Mapping[str, Array]
) -> dict[str, KernelAtSize]:
    """Return each variant's kernel at the largest timed size, for labs that compare host memory."""
    if lab.timing is None or not lab.timing.host_memory:
        return {}
    largest: dict[str, KernelAtSize] = {}
    for candidate in candidates:
        other = largest.get(candidate.variant)
        if other is None or np.prod(size_key(candidate.sizes)) > np.prod(size_key(other.sizes)):
            largest[candidate.variant] = candidate
    return {name: replace(c, request=with_data(c.request, _inputs_for(c, values))) for name, c in largest.items()}


def _inputs_for(candidate: KernelAtSize, values: Mapping[str, Array]) -> dict[str, Array]:
    return {
        a.name: np.resize(values[f"{a.name}:{a.dtype}"], a.shape)
        for a in candidate.request.arguments
        if isinstance(a, BufferArgument) and not a.is_output
    }


def measure_speed(bench: Bench, order: SpeedOrder) -> Measurement:
    """Time everything in an order, smallest size first.

    A kernel that fails or gives a wrong result takes no further part; what happened to it stands in the measurement.
    Raises GpuFault: the device itself is not usable.
    """
    rule = order.lab.timing
    assert rule is not None
    warm = bench.warm_up(sampling.WARM_UP_MS)
    sizes = {size_key(c.sizes): c.sizes for c in order.candidates}
    rows: list[SizeTimes] = []
    failures: dict[str, str] = {}
    for key in sorted(sizes, key=lambda k: (prod(k), k)):
        here = [c for c in order.candidates if size_key(c.sizes) == key and student(c.variant) not in failures]
        largest = {c.variant for c in here if not any(_is_larger(o, c) for o in order.candidates)}
        row = _size(bench, order, here, largest, failures)
        if row is not None:
            rows.append(row)
            failures |= {wrong.name: wrong.kind for wrong in row.wrong}
    host_rows, host_size = _host_memory(bench, order, failures)
    return Measurement(
        device=bench.device.name,
        driver=bench.device.driver,
        nvrtc=order.nvrtc,
        l2=rule.l2,
        copy_gb_s=warm.copy_gb_s,
        fp32_gflop_s=warm.fp32_gflop_s,
        sizes=rows,
        failure=failures,
        host_memory=host_rows,
        host_memory_size=dict(host_size),
    )


def _is_larger(one: KernelAtSize, other: KernelAtSize) -> bool:
    return one.variant == other.variant and prod(size_key(one.sizes)) > prod(size_key(other.sizes))


def _size(
    bench: Bench, order: SpeedOrder, here: list[KernelAtSize], largest: set[str], failures: dict[str, str]
) -> SizeTimes | None:
    """Time all kernels at one size; those that fail are noted in `failures` and left out of another try."""
    if not here:
        return None
    sizes = here[0].sizes
    by_name = {student(candidate.variant): candidate for candidate in here}
    l2 = order.lab.timing.l2 if order.lab.timing else "cold"

    def kernels(names: Sequence[str]) -> list[TimedKernel]:
        return _kernels(order, [by_name[name] for name in names])

    def measure(prepared_kernels: Sequence[TimedKernel], prepared: Prepared) -> SizeTimes:
        return _row(sizes, prepared, *_sample(bench, order, prepared_kernels, prepared, largest))

    conditions = Conditions(order.pools, l2, tolerance_between(order.lab, sizes))
    return side_by_side(bench, list(by_name), kernels, conditions, measure, failures)


def _kernels(order: SpeedOrder, here: list[KernelAtSize]) -> list[TimedKernel]:
    """Return the students' kernels and the references they are compared with or checked by."""
    kernels: dict[str, TimedKernel] = {}
    for candidate in here:
        wanted = [candidate.variant, *(name for name, _full in [order.baselines.get(candidate.variant, ("", None))])]
        for variant in dict.fromkeys(wanted):
            launch = order.references[variant](candidate.sizes) if variant in order.references else None
            if launch is not None:
                kernels.setdefault(reference(variant), TimedKernel(reference(variant), *launch))
        own = reference(candidate.variant)
        checked_by = own if candidate.comparable and own in kernels else ""
        kernels[student(candidate.variant)] = TimedKernel(
            student(candidate.variant), candidate.module, candidate.request, checked_by
        )
    return list(kernels.values())


def _sample(
    bench: Bench, order: SpeedOrder, kernels: Sequence[TimedKernel], prepared: Prepared, largest: set[str]
) -> tuple[Samples, list[Problem], float]:
    """Sample rounds of all kernels whose first results were right; return the median SM clock, MHz, too."""
    wrong = {problem.name: problem for problem in prepared.problems}
    names = [k.name for k in kernels if k.name not in wrong]
    questions = [
        Question(student(variant), baseline, threshold)
        for variant in order.baselines
        for baseline, threshold in questions_of(order.lab, variant)
        if variant in largest and {student(variant), baseline} <= set(names)
    ]
    round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
    # What no mark depends on is timed until it can be shown.
    plan = sampling.plan_for(2 * round_us) if questions else sampling.series_plan(2 * round_us, sampling.BUDGET_US)
    samples, sm_mhz = sample_rounds(bench, names, questions, plan)
    wrong |= {problem.name: problem for problem in samples.problems}
    return samples, list(wrong.values()), sm_mhz


def _row(size: Sizes, prepared: Prepared, samples: Samples, wrong: list[Problem], sm_mhz: float) -> SizeTimes:
    return SizeTimes(
        size=dict(size),
        times_us=samples.times_us,
        batch=prepared.batch,
        empty_us=prepared.empty_us,
        rounds=samples.rounds,
        dropped=samples.dropped,
        valid=samples.valid,
        sm_mhz=sm_mhz,
        wrong=wrong,
        undecided=[question.name for question in samples.undecided],
    )


def _host_memory(bench: Bench, order: SpeedOrder, failures: dict[str, str]) -> tuple[dict[str, list[HostTimes]], Sizes]:
    """Return rows by variant, and the size they are of."""
    rule = order.lab.timing
    rows: dict[str, list[HostTimes]] = {}
    size: Sizes = {}
    for variant, candidate in order.host_memory.items():
        if rule is None or student(variant) in failures:
            continue
        try:
            done = bench.host_copies(candidate.module, candidate.request, rule.host_memory, HOST_REPEATS)
        except GpuFault as fault:
            failures[student(variant)] = fault.reason
            continue
        size = candidate.sizes
        rows[variant] = done.rows
    return rows, size
