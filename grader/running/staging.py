"""Whether what a kernel puts into shared memory reaches its output, and by way of other threads.

Two launches tell: one whose memory is traced, for where a value came from, and one whose shared memory holds other
values, for whether they matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from grader.backends.base import Backend, Code, LaunchOutcome, LaunchRequest
from grader.lab.checks import TechniqueSettings
from grader.lab.records import Tolerance
from grader.launching.arrays import Array, shape_at
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.oracle.compare import wrong_elements
from grader.ptx.records import Read
from grader.result import BackendName
from grader.running.evidence import Evidence, Staging
from grader.running.explain import MAX_TRACED

SAMPLED = 12
"""Elements of an output that are followed back."""


@dataclass(frozen=True, slots=True)
class _Altered:
    """A backend on which shared memory gives back other values than were put there."""

    backend: Backend

    @property
    def name(self) -> BackendName:
        return self.backend.name

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        return self.backend.run(code, replace(request, altered=True))


def with_staging(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what a traced launch at its smallest exact size shows, of a kernel that uses shared memory.

    Nothing is added for one that is wrong, or where no size is small enough to be followed.
    """
    runs = evidence.runs_of("correct", "observe")
    settings = evidence.variant.settings_of(TechniqueSettings)
    asked = settings is not None and settings.shared_memory == "staged" and settings.between_threads
    counters = evidence.counters
    if not asked or counters is None or not counters.shared_requests:
        return evidence
    if not runs or not all(run.output_is_right for run in runs):
        return evidence
    sizes = min((run.sizes for run in runs), key=lambda sizes: prod(sizes.values()))
    outputs = [p.name for p in kernel.lab.parameters if p.kind == "output"]
    if max(prod(shape_at(kernel.lab, name, sizes)) for name in outputs) > MAX_TRACED:
        return evidence
    outcome = trials.run(kernel, "correct", sizes, trace=True).outcome
    if outcome.status != "ok" or outcome.trace is None or not outcome.trace.complete:
        return evidence
    altered = replace(trials, backend=_Altered(trials.backend)).run(kernel, "correct", sizes).outcome
    sampled = through = between = 0
    for name in outputs:
        array = outcome.outputs[name]
        follows = _follows(trials.lab.tolerance.at(sizes, str(array.dtype)), array, altered.outputs.get(name))
        width = array.dtype.itemsize
        for index in np.linspace(0, array.size - 1, SAMPLED).astype(int).tolist():
            writes = outcome.trace.writes(name, index * width, width)
            if not writes:
                continue
            staged = [read for read in _all(outcome.trace.reads(writes[-1])) if _is_staged(read)]
            sampled += 1
            if not follows[index]:
                continue
            through += bool(staged)
            between += any(read.put is not None and read.put.thread != writes[-1].thread for read in staged)
    return replace(evidence, staging=Staging(sampled, through, between)) if sampled else evidence


def _follows(tolerance: Tolerance, array: Array, altered: Array | None) -> Array:
    """(elements,) bool: which elements of an output are others when shared memory holds other values.

    All of them where such a launch does not end, or leaves the output alone: then the values decide over that.
    """
    if altered is None:
        return np.ones(array.size, np.bool_)
    return wrong_elements(altered, array, tolerance).ravel()


def _all(reads: Sequence[Read]) -> Iterator[Read]:
    for read in reads:
        yield read
        yield from _all(read.reads)


def _is_staged(read: Read) -> bool:
    """Whether it takes from shared memory what was made from an input.

    Of a chain too long to be followed, as a scan's or a reduction's is, that is taken for granted: it is held already
    that the output follows what shared memory holds.
    """
    return read.space == "shared" and (read.is_cut or any(r.origin == "input" or r.is_cut for r in _all(read.reads)))
