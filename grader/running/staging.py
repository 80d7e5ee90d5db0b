"""Whether what a kernel puts into shared memory reaches its output, and by way of other threads.

Launches tell: one whose memory is traced, for where a value came from, and some whose shared memory holds other
values, for whether they matter.  Where a value was also made from elements that were read directly, the oracle tells
whether these alone would do: `x + (t - 2 * half_t)` is another value then, and t is there for show all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from grader.lab.checks import TechniqueSettings
from grader.lab.compare import Mask, wrong_elements
from grader.lab.records import Sizes, Tolerance
from grader.launching.backend import Backend, Code, LaunchOutcome, LaunchRequest
from grader.launching.kernel import Array, BoundKernel, shape_at
from grader.launching.trial import Run, Trials
from grader.measured import BackendName
from grader.ptx.records import Read
from grader.running.evidence import Evidence, Staging, moved_bytes
from grader.running.explain import MAX_TRACED, needs

SAMPLED = 12
"""Elements of an output that are followed back."""
ASKED = 4
"""Of those made from elements read directly, which the oracle is asked about: some hundred evaluations each."""
CHEAP = 50_000_000
"""Thread-instructions of a launch that is made once more at the observed size."""


@dataclass(frozen=True, slots=True)
class _Altered:
    """A backend on which shared memory returns other values than were stored."""

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
    if settings is None or settings.shared_memory != "staged":
        return evidence
    counters = evidence.counters
    if counters is None or not evidence.bound.kernel.shared_arrays:
        return evidence
    if not runs or not all(run.output_is_right for run in runs):
        return evidence
    altered_trials = replace(trials, backend=_Altered(trials.backend))
    outputs = [p.name for p in kernel.lab.parameters if p.is_output]
    if not settings.between_threads and moved_bytes(counters.by_line, "shared", "load") < sum(
        evidence.array_bytes[name] for name in outputs
    ):
        is_forwarded = _is_forwarded(trials, altered_trials, evidence, replace(kernel, as_written=True))
        return replace(evidence, staging=Staging(0, 0, 0, is_forwarded=is_forwarded))
    if not counters.shared_requests:
        return evidence
    if not settings.between_threads:
        # At small sizes the compiler may take what a thread keeps for itself from the registers that it was read into.
        return replace(evidence, staging=Staging(0, 0, 0, _unused_at(altered_trials, kernel, runs)))
    sizes = min((run.sizes for run in runs), key=lambda sizes: prod(sizes.values()))
    if max(prod(shape_at(kernel.lab, name, sizes)) for name in outputs) > MAX_TRACED:
        return evidence
    outcome = trials.run(kernel, "correct", sizes, trace=True).outcome
    if outcome.status != "ok" or outcome.trace is None or not outcome.trace.complete:
        return evidence
    altered = altered_trials.run(kernel, "correct", sizes).outcome
    sampled = through = between = 0
    for name in outputs:
        array = outcome.outputs[name]
        follows = _follows(trials.lab.tolerance.at(sizes, str(array.dtype)), array, altered.outputs.get(name))
        width = array.dtype.itemsize
        asked_about: list[bool] = []
        for index in np.linspace(0, array.size - 1, SAMPLED).astype(int).tolist():
            writes = outcome.trace.writes(name, index * width, width)
            if not writes:
                continue
            reads = outcome.trace.reads(writes[-1])
            staged = [read for read in _all(reads) if _is_staged(read)]
            sampled += 1
            if not follows[index]:
                continue
            direct = [read for read in reads if read.space == "global" and read.origin == "input"]
            if direct and len(asked_about) < ASKED:
                place = np.unravel_index(index, array.shape)
                needed = needs(trials.oracle, sizes, kernel.dtypes, name, tuple(int(k) for k in place))
                asked_about.append(needed is not None and _would_do(direct, needed))
            if direct and 2 * sum(asked_about) > len(asked_about):
                continue
            through += bool(staged)
            between += any(read.put is not None and read.put.thread != writes[-1].thread for read in staged)
    if not sampled:
        return evidence
    return replace(
        evidence, staging=Staging(sampled, through, between, _unused_at(altered_trials, kernel, runs, sizes))
    )


def _is_forwarded(trials: Trials, altered_trials: Trials, evidence: Evidence, kernel: BoundKernel) -> bool:
    """Whether the kernel, compiled as written, takes all its outputs from what it stored in shared memory."""
    observed = next((run for run in evidence.runs_of("observe")), None)
    if observed is None or (observed.outcome.thread_instructions or CHEAP) >= CHEAP:
        return False
    run = trials.run(kernel, "observe", observed.sizes, observe=True)
    counters = run.outcome.counters
    if counters is None or not run.output_is_right:
        return False
    read = [evidence.array_bytes[p.name] for p in kernel.lab.parameters if p.is_input]
    written = [evidence.array_bytes[p.name] for p in kernel.lab.parameters if p.is_output]
    if moved_bytes(counters.by_line, "shared", "store") < min(read) or moved_bytes(
        counters.by_line, "shared", "load"
    ) < sum(written):
        return False
    return _unused_at(altered_trials, kernel, [run]) is None


def _would_do(direct: Sequence[Read], needed: Mapping[str, Mask]) -> bool:
    """Whether most elements that an output needs, of every input, were read directly to make it.

    What a thread puts into shared memory itself it has read directly.
    """
    read = {(one.array, one.offset_bytes // one.width_bytes) for one in direct}
    places = {name: np.flatnonzero(mask).tolist() for name, mask in needed.items() if mask.any()}
    return all(2 * sum((name, place) in read for place in of) > len(of) for name, of in places.items())


def _unused_at(
    altered_trials: Trials, kernel: BoundKernel, runs: Sequence[Run], other_than: Sizes | None = None
) -> Sizes | None:
    """Return the observed size where most of an output is the same with other values in shared memory; else None."""
    observed = next((run for run in runs if run.kind == "observe" and run.sizes != other_than), None)
    if observed is None or (observed.outcome.thread_instructions or CHEAP) >= CHEAP:
        return None
    outputs = altered_trials.run(kernel, "correct", observed.sizes).outcome.outputs
    for p in kernel.lab.parameters:
        array = observed.outcome.outputs.get(p.name)
        if p.is_output and array is not None:
            tolerance = altered_trials.lab.tolerance.at(observed.sizes, str(array.dtype))
            if 2 * np.count_nonzero(_follows(tolerance, array, outputs.get(p.name))) < array.size:
                return observed.sizes
    return None


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
