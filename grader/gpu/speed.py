"""Times a submission's kernels on the GPU next to the lab's reference kernels: which, at which sizes, on what data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from grader.backends.base import BufferArgument, LaunchRequest
from grader.backends.gpu import GpuFault, TimedKernel
from grader.backends.gpu_messages import HostCopiesDone, KernelFacts, Prepared, Ready, RoundDone, Warm
from grader.lab.records import Lab, Sizes
from grader.timing import clock, plan
from grader.timing.records import CpuTime, Facts, HostRow, Measurement, SizeTimes, Wrong
from grader.timing.sampling import Fault, Question, Sample, Samples, sample
from grader.timing.summary import reference, size_key, student

Array = npt.NDArray[np.generic]
HOST_REPEATS = 5


class Bench(Protocol):
    """What times kernels: `grader.backends.gpu.GpuSession`, or a simulated device."""

    device: Ready

    def warm_up(self, busy_ms: float) -> Warm: ...

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
    against: the variant whose reference each variant's speed-up is measured by, and the speed-up asked for, None when
      nothing is marked.
    pools: values to fill inputs with, by "name:dtype".
    """

    lab: Lab
    candidates: Sequence[Candidate]
    references: Mapping[str, Callable[[Sizes], tuple[str, LaunchRequest] | None]]
    against: Mapping[str, tuple[str, float | None]]
    pools: Mapping[str, Array]
    nvrtc: str
    host_memory: Mapping[str, Candidate] = field(default_factory=dict)
    """By variant, for labs that compare kinds of host memory; its arrays have their data."""


def measure_speed(bench: Bench, order: SpeedOrder, cpu: Sequence[CpuTime] = ()) -> Measurement:
    """Time everything in an order, smallest size first.

    A kernel that fails or gives a wrong result takes no further part; what happened to it stands in the measurement.

    Raises
    ------
    GpuFault : the device itself is not usable.
    """
    rule = order.lab.timing
    assert rule is not None
    warm = bench.warm_up(plan.WARM_UP_MS)
    sizes = {size_key(c.sizes): c.sizes for c in order.candidates}
    rows: list[SizeTimes] = []
    failures: dict[str, str] = {}
    facts: dict[str, Facts] = {}
    for key in sorted(sizes, key=lambda k: (prod(k), k)):
        here = [c for c in order.candidates if size_key(c.sizes) == key and student(c.variant) not in failures]
        largest = {c.variant for c in here if not any(_is_larger(o, c) for o in order.candidates)}
        row = _size(bench, order, here, largest, failures, facts)
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
        cpu=list(cpu),
        facts=facts,
        failure=failures,
        host_memory=host_rows,
        host_memory_size=dict(host_size),
    )


def _is_larger(one: Candidate, other: Candidate) -> bool:
    return one.variant == other.variant and prod(size_key(one.sizes)) > prod(size_key(other.sizes))


def _size(
    bench: Bench,
    order: SpeedOrder,
    here: list[Candidate],
    largest: set[str],
    failures: dict[str, str],
    facts: dict[str, Facts],
) -> SizeTimes | None:
    """All kernels at one size; kernels that fail are noted in `failures` and left out of another try."""
    while here:
        kernels = _kernels(order, here)
        try:
            prepared = bench.prepare(
                kernels,
                order.pools,
                order.lab.timing.l2 if order.lab.timing else "cold",
                plan.CLOCK_SHARE,
                plan.MAX_BATCH,
                tolerance_between(order.lab, here[0].sizes),
            )
            facts |= {c.variant: _facts(prepared.facts[student(c.variant)]) for c in here}
            return _row(here[0].sizes, prepared, *_sample(bench, order, kernels, prepared, largest))
        except GpuFault as fault:
            if not fault.is_submissions or fault.subject not in {student(c.variant) for c in here}:
                raise
            failures[fault.subject] = fault.reason
            here = [c for c in here if student(c.variant) != fault.subject]
    return None


def _kernels(order: SpeedOrder, here: list[Candidate]) -> list[TimedKernel]:
    """Students' kernels and the references that they are compared with or checked by."""
    kernels: dict[str, TimedKernel] = {}
    for candidate in here:
        wanted = [candidate.variant, *(name for name, _full in [order.against.get(candidate.variant, ("", None))])]
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
    bench: Bench, order: SpeedOrder, kernels: list[TimedKernel], prepared: Prepared, largest: set[str]
) -> tuple[Samples, list[Wrong], float]:
    """Rounds of all kernels whose first results were right; the SM clock, MHz, median over the rounds."""
    wrong = {p.subject: Wrong(name=p.subject, kind=p.kind, count=p.count, total=p.total) for p in prepared.problems}
    names = [k.name for k in kernels if k.name not in wrong]
    questions = [
        Question(student(variant), reference(against), full)
        for variant, (against, full) in order.against.items()
        if variant in largest and full is not None and {student(variant), reference(against)} <= set(names)
    ]
    round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
    found, sm_mhz = sample_rounds(bench, names, questions, plan.plan_for(2 * round_us))
    wrong |= {f.name: Wrong(name=f.name, kind=f.kind, count=f.count, total=f.total) for f in found.faults}
    return found, list(wrong.values()), sm_mhz


def sample_rounds(
    bench: Bench, names: Sequence[str], questions: Sequence[Question], rounds: plan.Plan
) -> tuple[Samples, float]:
    """Rounds of kernels that were prepared before; and the SM clock, MHz, median over the rounds."""
    clocks: list[float] = []

    def measure(order: list[str]) -> Sample:
        done = bench.round(order, secrets.randbits(63))
        clocks.append(done.sm_mhz)
        faults = tuple(Fault(p.subject, p.kind, p.count, p.total) for p in done.problems)
        throttled = clock.is_throttled(done.sm_mhz, done.reasons, bench.device.max_sm_mhz)
        return Sample(done.times_us, throttled, faults)

    found = sample(measure, names, questions, rounds)
    return found, float(np.median(clocks)) if clocks else 0.0


def _row(size: Sizes, prepared: Prepared, found: Samples, wrong: list[Wrong], sm_mhz: float) -> SizeTimes:
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


def tolerance_between(lab: Lab, sizes: Sizes) -> tuple[float, float]:
    """Between two kernels that may each be off by the lab's tolerance."""
    dtype = next(p.dtype for p in lab.parameters if p.kind == "output")
    tolerance = lab.tolerance.at(sizes, dtype)
    return 2 * tolerance.absolute, 2 * tolerance.relative


def _facts(facts: KernelFacts) -> Facts:
    return Facts(
        registers=facts.registers,
        shared_bytes=facts.shared_bytes,
        local_bytes=facts.local_bytes,
        blocks_per_sm=facts.blocks_per_sm,
        occupancy_pct=facts.occupancy_pct,
    )


def _host_memory(bench: Bench, order: SpeedOrder, failures: dict[str, str]) -> tuple[dict[str, list[HostRow]], Sizes]:
    """Rows by variant, and the size they are of."""
    rule = order.lab.timing
    rows: dict[str, list[HostRow]] = {}
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
        rows[variant] = [
            HostRow(
                mode=row.mode,
                copy_in_us=row.copy_in_us,
                kernel_us=row.kernel_us,
                copy_out_us=row.copy_out_us,
                total_us=row.total_us,
                cpu_read_us=row.cpu_read_us,
            )
            for row in done.rows
        ]
    return rows, size


def pool_of(values: Array, limit: int = 1 << 16) -> Array:
    """The first values of an array, as many as the largest power of two that it has, at most `limit`."""
    flat = values.reshape(-1)
    count = min(limit, 1 << (flat.size.bit_length() - 1))
    return np.ascontiguousarray(flat[:count])


def with_data(request: LaunchRequest, inputs: Mapping[str, Array]) -> LaunchRequest:
    """A launch with its inputs' values in place of placeholders."""
    arguments = [
        replace(a, initial=inputs[a.name]) if isinstance(a, BufferArgument) and a.name in inputs else a
        for a in request.arguments
    ]
    return replace(request, arguments=arguments)
