"""What a kernel does on newer devices, where it is other code there.

Kernels are compiled for the oldest device that there is.  Code under `__CUDA_ARCH__` may be another for newer ones; and
what copies asynchronously does so from compute capability 8.0 on, so that a wait for it that is missing is seen there
only.  A program that speaks of neither is not compiled a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.backends.base import GAVE_UP, reason_msg
from grader.compiler.newer import asks_for_device, copies_asynchronously, other_targets
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.message import Message, msg
from grader.running.evidence import Compilation, Diagnostic, Evidence

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult

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
    found = {
        _capability(target): made or again(replace(kernel, target=target))
        for target, made in _others(trials, evidence, kernel.read_as(evidence.interpretation), targets)
    }
    if asks_for_device(texts.values()) and not _is_right(evidence):
        right = _newest_that_are(found)
        if right:
            device, *newer = right
            return replace(found[device], needs=device, newer={name: found[name] for name in newer})
    if copies_asynchronously(texts.values()):
        why = next((reason for other in found.values() if (reason := _unfollowed(other)) is not None), None)
        if why is not None:
            evidence = replace(evidence, unmeasured={**evidence.unmeasured, "hazards": why})
    return replace(evidence, newer={device: other for device, other in found.items() if _unfollowed(other) is None})


def _others(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, targets: Sequence[str]
) -> Iterator[tuple[str, Evidence | None]]:
    """The targets for which the kernel is compiled to other code than for older ones; the evidence where to none."""
    first = evidence.runs[0]
    oldest = kernel.load(trials.programs, first.sizes)
    if oldest.entry is None:
        return
    seen = {_OF_TARGET.sub("", oldest.built.result.ptx)}
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
        if code not in seen:
            seen.add(code)
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
