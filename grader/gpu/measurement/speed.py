"""Times a submission's kernels on the GPU next to the lab's reference kernels: which, at which sizes, on what data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from grader.backends.base import LaunchRequest
from grader.gpu.host.session import GpuFault, TimedKernel
from grader.gpu.measurement.bench import Array, Bench, Conditions, sample_rounds, side_by_side, tolerance_between
from grader.gpu.messages import Prepared
from grader.lab.records import Lab, Sizes
from grader.timing import sampling
from grader.timing.records import HostTimes, Measurement, Problem, SizeTimes
from grader.timing.sampling import Question, Samples
from grader.timing.summary import reference, size_key, student

HOST_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
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
    candidates: Sequence[Candidate]
    references: Mapping[str, Callable[[Sizes], tuple[str, LaunchRequest] | None]]
    baselines: Mapping[str, tuple[str, float | None]]
    pools: Mapping[str, Array]
    nvrtc: str
    host_memory: Mapping[str, Candidate] = field(default_factory=dict)
    """By variant, for labs that compare kinds of host memory; its arrays have their data."""


def measure_speed(bench: Bench, order: SpeedOrder) -> Measurement:
    """Time everything in an order, smallest size first.

    A kernel that fails or gives a wrong result takes no further part; what happened to it stands in the measurement.

    Raises
    ------
    GpuFault : the device itself is not usable.
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


def _is_larger(one: Candidate, other: Candidate) -> bool:
    return one.variant == other.variant and prod(size_key(one.sizes)) > prod(size_key(other.sizes))


def _size(
    bench: Bench, order: SpeedOrder, here: list[Candidate], largest: set[str], failures: dict[str, str]
) -> SizeTimes | None:
    """All kernels at one size; kernels that fail are noted in `failures` and left out of another try."""
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


def _kernels(order: SpeedOrder, here: list[Candidate]) -> list[TimedKernel]:
    """Students' kernels and the references that they are compared with or checked by."""
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
    """Rounds of all kernels whose first results were right; the SM clock, MHz, median over the rounds."""
    wrong = {problem.name: problem for problem in prepared.problems}
    names = [k.name for k in kernels if k.name not in wrong]
    questions = [
        Question(student(variant), reference(baseline), full)
        for variant, (baseline, full) in order.baselines.items()
        if variant in largest and full is not None and {student(variant), reference(baseline)} <= set(names)
    ]
    round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
    found, sm_mhz = sample_rounds(bench, names, questions, sampling.plan_for(2 * round_us))
    wrong |= {problem.name: problem for problem in found.problems}
    return found, list(wrong.values()), sm_mhz


def _row(size: Sizes, prepared: Prepared, found: Samples, wrong: list[Problem], sm_mhz: float) -> SizeTimes:
    return SizeTimes(
        size=dict(size),
        times_us=found.times_us,
        batch=prepared.batch,
        empty_us=prepared.empty_us,
        rounds=found.rounds,
        dropped=found.dropped,
        valid=found.valid,
        sm_mhz=sm_mhz,
        wrong=wrong,
        undecided=[question.name for question in found.undecided],
    )


def _host_memory(bench: Bench, order: SpeedOrder, failures: dict[str, str]) -> tuple[dict[str, list[HostTimes]], Sizes]:
    """Rows by variant, and the size they are of."""
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
