"""A kernel on devices by name: what it does where it is other code there, and how many of its warps they hold.

Kernels are compiled for the oldest device that there is.  Code under `__CUDA_ARCH__` may be another for newer ones; and
what copies asynchronously does so from compute capability 8.0 on, so that a wait for it that is missing is seen there
only.  A program that speaks of neither is not compiled a second time.

The arithmetic is that of NVIDIA's cuda_occupancy.h for compute capability 7.5 and later; registers are those of the
machine code that the assembler makes for the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

from grader.compiler.result import asks_for_device, copies_asynchronously, other_targets
from grader.devices import WARP_LANES
from grader.lab.checks import OccupancySettings
from grader.launching.backend import GAVE_UP, reason_msg
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.message import Message, msg
from grader.programs.runtime.devices import Model, model_of
from grader.running.evidence import Compilation, Diagnostic, Evidence, LaunchWork, Occupancy, Work

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult, Resources


_OF_TARGET = re.compile(r"(?m)^(?://.*|\.target .*|\.version .*)\n?")
"""What the text of a program says of its target, whatever its code is."""
FAULTS = ("race", "barrier_divergence", "warp_sync", "out_of_bounds", "uninitialized")


def with_newer_devices(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, again: Callable[[BoundKernel], Evidence]
) -> Evidence:
    """`evidence`, of a kernel's code for the oldest device, with what its other code does on newer ones.

    A kernel that is wrong on the oldest device and right from a newer one on is written for that: then it is the
    evidence of that one.

    Parameters
    ----------
    kernel : as it was found.
    again : all that is found out about its code for the target that it is given with.
    """
    texts = kernel.submission.program(kernel.binding.kernel.file)
    targets = other_targets(texts.values())
    if not targets or not evidence.runs or evidence.interpretation is None:
        return evidence
    by_device = {
        _capability(target): ready or again(replace(kernel, target=target))
        for target, ready in _others(trials, evidence, kernel.read_as(evidence.interpretation), targets)
    }
    if asks_for_device(texts.values()) and not _is_right(evidence):
        right = _newest_that_are(by_device)
        if right:
            device, *newer = right
            return replace(by_device[device], needs=device, newer={name: by_device[name] for name in newer})
    if copies_asynchronously(texts.values()):
        why = next((reason for other in by_device.values() if (reason := _unfollowed(other)) is not None), None)
        if why is not None:
            evidence = replace(evidence, unmeasured={**evidence.unmeasured, "hazards": why})
    return replace(evidence, newer={device: other for device, other in by_device.items() if _unfollowed(other) is None})


def _others(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, targets: Sequence[str]
) -> Iterator[tuple[str, Evidence | None]]:
    """The targets for which the kernel is compiled to other code than for older ones; the evidence where to none."""
    first = evidence.runs[0]
    oldest = kernel.load(trials.programs, first.sizes)
    if oldest.entry is None:
        return
    codes = {_OF_TARGET.sub("", oldest.built.result.ptx)}
    for target in targets:
        if _number(target) <= _number(oldest.built.target):
            continue
        loaded = replace(kernel, target=target).load(trials.programs, first.sizes)
        if loaded.entry is None:
            failure = _failure(loaded.built.result)
            if failure.diagnostics:
                yield target, replace(evidence, compilation=failure)
            continue
        code = _OF_TARGET.sub("", loaded.built.result.ptx)
        if code not in codes:
            codes.add(code)
            yield target, None


def _failure(result: CompileResult) -> Compilation:
    """What the compiler finds wrong."""
    errors = (d for d in result.diagnostics if d.severity == "error")
    return Compilation("errors", tuple(Diagnostic(d.file, d.line, d.message, d.hint, d.cause) for d in errors))


def _newest_that_are(found: Mapping[str, Evidence]) -> list[str]:
    """The devices from the oldest one on from which the kernel is right on all; oldest first, none where on no such."""
    right: list[str] = []
    for device in reversed(list(found)):
        if not _is_right(found[device]):
            break
        right.insert(0, device)
    return right


def _is_right(evidence: Evidence) -> bool:
    return not evidence.compilation.failure and all(
        run.is_right and not any(h.kind in FAULTS and h.detail != "write_write_same_value" for h in run.outcome.hazards)
        for run in evidence.runs
    )


def _unfollowed(evidence: Evidence) -> Message | None:
    """Why the emulator could not run a kernel to its end, None where it could."""
    for run in evidence.runs:
        if run.outcome.status == "unsupported" or run.outcome.reason in GAVE_UP:
            return msg("runs.copies_unfollowed", why=reason_msg(run.outcome))
    return None


def _number(target: str) -> int:
    return int(target.rpartition("_")[2])


def _capability(target: str) -> str:
    """The compute capability of a virtual architecture: "8.0" of "compute_80"."""
    return f"{_number(target) // 10}.{_number(target) % 10}"


SUB_PARTITIONS = 4
"""Of a multiprocessor: each has its own part of the registers."""
REGISTERS_AT_A_TIME = 256
"""What a warp's registers are rounded up to."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Blocks that fit on a multiprocessor, and what keeps more from fitting."""

    blocks: int
    limit: Literal["threads", "blocks", "shared", "registers"]


def fit(model: Model, threads: int, registers: int, shared_bytes: int) -> Fit:
    """Of blocks of so many threads, with so many registers a thread and so much shared memory."""
    warps = -(-threads // WARP_LANES)
    of_warp = _rounded(registers * WARP_LANES, REGISTERS_AT_A_TIME)
    per_partition = model.attributes["MaxRegistersPerMultiprocessor"] // SUB_PARTITIONS
    limits = {
        "threads": model.threads_per_multiprocessor // WARP_LANES // warps,
        "blocks": model.blocks_per_multiprocessor,
        "registers": per_partition // max(1, of_warp) * SUB_PARTITIONS // warps,
    }
    if of_warp * _rounded(warps, SUB_PARTITIONS) > model.attributes["MaxRegistersPerBlock"]:
        limits["registers"] = 0
    at_a_time = 128 if model.capability >= (8, 0) else 256
    allocated = _rounded(shared_bytes + model.attributes["ReservedSharedMemoryPerBlock"], at_a_time)
    if allocated:
        limits["shared"] = model.shared_per_multiprocessor // allocated
    limit = min(limits, key=lambda name: limits[name])
    return Fit(limits[limit], limit)  # type: ignore[arg-type]  # a key of the above


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step


def heaviest(work: Work) -> LaunchWork | None:
    """The launch whose threads execute the most instructions; None where there is none of the program's own."""
    own = [launch for launch in work.launches if not launch.is_of_library]
    return max(own, key=lambda launch: sum(row.instructions for row in launch.lines), default=None)


def with_occupancy(evidence: Evidence, compiled: Callable[[str, LaunchWork], Resources | None]) -> Evidence:
    """`evidence` with the occupancy of its heaviest launch at the observed size, where a check asks for it.

    compiled: what a launch's kernel takes in machine code for an architecture ("sm_90"); None where that is not known.
    """
    settings = next((s.settings for s in evidence.variant.checks if isinstance(s.settings, OccupancySettings)), None)
    work = evidence.observed_work
    launch = heaviest(work) if work is not None else None
    if settings is None or work is None or launch is None:
        return evidence
    model = model_of(settings.device)
    taken = compiled("sm_{}{}".format(*model.capability), launch)
    if taken is None:
        return evidence
    threads = prod(launch.block)
    fitted = fit(model, threads, taken.registers, launch.shared_bytes)
    warps = -(-threads // WARP_LANES)
    share = fitted.blocks * warps * WARP_LANES / model.threads_per_multiprocessor
    called = next((c for c in work.asked or () if c.kind == "kernel" and c.name == launch.kernel), None)
    kernel = evidence.bound.kernel
    file, line = (called.file, called.line) if called is not None else (kernel.file, kernel.line)
    if work.asked is None and evidence.interpretation is not None and evidence.interpretation.launch.line:
        line = evidence.interpretation.launch.line
    return replace(
        evidence,
        occupancy=Occupancy(
            model.name, launch.kernel, file, line, threads, taken.registers, launch.shared_bytes, fitted.blocks,
            fitted.limit, share,
        ),
    )  # fmt: skip


def with_occupancy_of_kernel(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """The same of a bare kernel."""

    def compiled(architecture: str, _launch: LaunchWork) -> Resources | None:
        work = evidence.observed_work
        if work is None:
            return None
        loaded = replace(kernel, target=architecture).load(trials.programs, work.sizes)
        return loaded.built.result.resources.get(loaded.entry or "")

    return with_occupancy(evidence, compiled)
