"""What times kernels, and how it is asked: kernels side by side, without those that fail, in rounds, on drawn data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from grader.backends.base import BufferArgument, LaunchRequest
from grader.gpu.host.session import GpuFault, TimedKernel
from grader.gpu.messages import HostCopiesDone, Prepared, Ready, RoundDone, Warm
from grader.lab.records import Lab, Sizes
from grader.timing import clock, plan
from grader.timing.sampling import Question, Sample, Samples, sample

Array = npt.NDArray[np.generic]
T = TypeVar("T")


class Bench(Protocol):
    """What times kernels: `grader.gpu.host.session.GpuSession`, or a simulated device."""

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
class Conditions:
    """Under which kernels are timed: values for their inputs, by "name:dtype"; "cold" or "warm" L2; tolerance."""

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

    Parameters
    ----------
    names : kernels of the submission; why one fails is noted in `failures`.
    kernels : everything that is prepared together where the names given are what is left.

    Raises
    ------
    GpuFault : the device failed, or a kernel that is not the submission's.
    """
    left = list(names)
    while left:
        wanted = kernels(left)
        try:
            prepared = bench.prepare(
                wanted, conditions.pools, conditions.l2, plan.CLOCK_SHARE, plan.MAX_BATCH, conditions.tolerance
            )
            return measure(wanted, prepared)
        except GpuFault as fault:
            if not fault.is_submissions or fault.kernel not in left:
                raise
            failures[fault.kernel] = fault.reason
            left.remove(fault.kernel)
    return None


def sample_rounds(
    bench: Bench, names: Sequence[str], questions: Sequence[Question], rounds: plan.Plan
) -> tuple[Samples, float]:
    """Rounds of kernels that were prepared before; and the SM clock, MHz, median over the rounds."""
    clocks: list[float] = []

    def measure(order: list[str]) -> Sample:
        done = bench.round(order, secrets.randbits(63))
        clocks.append(done.sm_mhz)
        throttled = clock.is_throttled(done.sm_mhz, done.reasons, bench.device.max_sm_mhz)
        return Sample(done.times_us, throttled, tuple(done.problems))

    found = sample(measure, names, questions, rounds)
    return found, float(np.median(clocks)) if clocks else 0.0


def tolerance_between(lab: Lab, sizes: Sizes) -> tuple[float, float]:
    """Between two kernels that may each be off by the lab's tolerance."""
    dtype = next(p.dtype for p in lab.parameters if p.kind == "output")
    tolerance = lab.tolerance.at(sizes, dtype)
    return 2 * tolerance.absolute, 2 * tolerance.relative


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
