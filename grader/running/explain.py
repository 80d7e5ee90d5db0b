"""What launches whose history is kept tell: why an output is wrong, found at the smallest size that goes wrong; and
whether what a kernel puts into shared memory reaches its output, and by way of other threads.

Of shared memory one tells whose memory is traced, where a value came from, and some whose shared memory holds other
values, whether they matter.  Where a value was also made from elements that were read directly, the oracle tells
whether these alone would do: `x + (t - 2 * half_t)` is another value then, and t is there for show all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np

from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.errors import FileError
from grader.lab.checks import TechniqueSettings
from grader.lab.compare import Index, Mask, wrong_elements
from grader.lab.expected import Oracle, dependence
from grader.lab.records import Sizes, Tolerance
from grader.launching.backend import Backend, Code, LaunchOutcome, LaunchRequest
from grader.launching.kernel import Array, BoundKernel, SizeRules, shape_at, tile_of_output
from grader.launching.trial import Run, Trials
from grader.measured import BackendName, Diagnosis
from grader.ptx.records import Read
from grader.result import CaseKind
from grader.running.evidence import Evidence, Staging, moved_bytes
from grader.submission.binding.reconcile import with_matrices_exchanged

MAX_TRIES = 8
"""Sizes that are run in search of the smallest wrong one."""
MAX_TRACED = 128 * 128
"""Elements of an output, above which nothing is explained."""
MAX_EXPLAINED = 512 * 512
"""The same for what is told of the output alone, without the launch's history."""
MULTIPLES = (1, 2, 4)
FINE = (4, 8, 16)
"""Exact sizes for grids with a block for every row or the like."""

T = TypeVar("T")


def explain(trials: Trials, kernel: BoundKernel, runs: Iterable[Run]) -> dict[str, Diagnosis]:
    """Return why outputs are wrong: under "correct" at sizes that fit the tile, else under "ragged" at others.

    trials: on a backend that can trace, whatever the runs were made on.
    """

    def attempt(sizes: Sizes) -> Diagnosis | None:
        return _attempt(trials, kernel, sizes)

    wrong = [run for run in runs if run.difference is not None and run.difference.mismatches]
    kinds: tuple[tuple[str, tuple[CaseKind, ...]], ...] = (("correct", ("correct", "observe")), ("ragged", ("ragged",)))
    for name, members in kinds:
        failed = [run.sizes for run in wrong if run.kind in members]
        if failed:
            diagnosis = first_wrong(small_sizes(kernel.sizes, failed, exact=name == "correct"), attempt)
            if diagnosis is None:
                smallest = min((r for r in wrong if r.kind in members), key=lambda run: _elements(run.sizes))
                diagnosis = untraced(trials.oracle, kernel, smallest)
            return {name: diagnosis} if diagnosis is not None else {}
    return {}


def first_wrong(interpretations: Iterable[Sizes], attempt: Callable[[Sizes], T | None]) -> T | None:
    """Return the first result of `attempt` that is not None, in the order of the sizes."""
    return next((wrong for sizes in interpretations if (wrong := attempt(sizes)) is not None), None)


def small_sizes(rules: SizeRules, failed: list[Sizes], exact: bool) -> list[Sizes]:
    """Sizes to look for a fault at, smallest first, the smallest that is known to fail last.

    Exact ones are a few tiles along each axis that the grid covers; others lie below and above the tile.  Sizes that
    the grid does not cover stay as they are, and all do where another size means another compilation.
    """
    smallest, interpretation = min(failed, key=_elements), rules.interpretation
    if interpretation.constants or interpretation.template:
        return [smallest]
    tiles: dict[str, int] = {}
    for covered, tile in zip(interpretation.launch.covers, interpretation.launch.tile, strict=False):
        # A grid that covers a product of sizes has no tile of its own along each.
        tiles |= dict.fromkeys(covered.split("*"), interpretation.launch.block[0] if "*" in covered else tile)
    choices = [
        _exact(t) if exact else [n for n in (3, 5, t - 1, t + 1, 2 * t + 1) if n > 1 and n % t] for t in tiles.values()
    ]
    grown: list[Sizes] = []
    for values in product(*choices):
        sizes: Sizes = {**smallest, **dict(zip(tiles, values, strict=True))}
        if not rules.fits(sizes) or any(sizes[name] != value for name, value in interpretation.pinned):
            continue
        if exact:
            sizes = rules.rounded(sizes)
        if sizes not in grown and _elements(sizes) < _elements(smallest):
            grown.append(sizes)
    # Rectangles before squares of the same size, so that exchanged axes show.
    grown.sort(key=lambda sizes: (_elements(sizes), len(set(sizes.values())) == 1))
    return [*grown[: MAX_TRIES - 1], smallest]


def _exact(tile: int) -> list[int]:
    return [tile * m for m in MULTIPLES] if tile > 1 else list(FINE)


def _elements(sizes: Sizes) -> int:
    return prod(sizes.values())


def _attempt(trials: Trials, kernel: BoundKernel, sizes: Sizes) -> Diagnosis | None:
    if _largest_output(kernel, sizes) > MAX_TRACED:
        return None
    try:
        run = trials.run(kernel, "correct", sizes, observe=True, trace=True)
    except FileError:
        # The lab does not go that small.
        return None
    return _diagnosis(trials.oracle, kernel, run, trials) if run.outcome.status == "ok" else None


def untraced(oracle: Oracle, kernel: BoundKernel, run: Run) -> Diagnosis | None:
    """Return what a run's output shows by itself: its wrong elements and their rule; None of a large one."""
    return _diagnosis(oracle, kernel, run) if _largest_output(kernel, run.sizes) <= MAX_EXPLAINED else None


def _largest_output(kernel: BoundKernel, sizes: Sizes) -> int:
    return max(prod(shape_at(kernel.lab, p.name, sizes)) for p in kernel.lab.parameters if p.is_output)


def _diagnosis(oracle: Oracle, kernel: BoundKernel, run: Run, trials: Trials | None = None) -> Diagnosis | None:
    """Return the diagnosis of the first wrong output; trials: where the kernel can be run with other inputs."""
    lab, sizes, outcome = kernel.lab, run.sizes, run.outcome
    inputs, expected = oracle.case(sizes, kernel.dtypes)
    launch = kernel.geometry(sizes)
    for name, right in expected.items():
        got = outcome.outputs.get(name)
        tolerance = lab.tolerance.at(sizes, str(right.dtype))
        if got is None or not wrong_elements(got, right, tolerance).any():
            continue
        numbered = [axis for axis in range(3) if launch.grid[axis] > 1 or launch.block[axis] > 1]

        def needed(index: Index, output: str = name) -> Mapping[str, Mask] | None:
            return needs(oracle, sizes, kernel.dtypes, output, index)

        def depends(index: Index, changed: Mapping[str, Mask], output: str = name) -> bool:
            return trials is None or _depends(trials, kernel, run, output, index, changed)

        arrays = kernel.binding.kernel.shared_arrays
        case = WrongCase(
            sizes,
            name,
            got,
            right,
            tolerance,
            inputs,
            tile_of_output(lab, name, kernel.interpretation.launch),
            outcome.trace,
            {a.name: [d for d in a.dims if d is not None] for a in arrays if all(a.dims)},
            needed,
            max(numbered, default=0) + 1,
            outcome.hazards,
            depends if trials is not None else None,
            element_bytes={a.name: a.element_bytes for a in arrays if a.element_bytes},
        )
        return diagnose(case)
    return None


def _depends(
    trials: Trials, kernel: BoundKernel, run: Run, output: str, index: Index, changed: Mapping[str, Mask]
) -> bool:
    """Whether a kernel stores another value in an output element when some elements of its inputs are changed."""
    inputs, expected = trials.oracle.case(run.sizes, kernel.dtypes)
    others = trials.oracle.other_inputs(run.sizes, kernel.dtypes)
    mixed = {n: np.where(changed[n], others[n], array) if n in changed else array for n, array in inputs.items()}
    loaded = kernel.load(trials.programs, run.sizes)
    if loaded.entry is None:
        return False
    launch = kernel.launch(loaded, run.sizes, mixed, expected)
    got = trials.backend.run(loaded.built.code, launch).outputs.get(output)
    return got is not None and got[index].tobytes() != run.outcome.outputs[output][index].tobytes()


def needs(
    oracle: Oracle, sizes: Sizes, dtypes: Mapping[str, str], output: str, index: Index
) -> Mapping[str, Mask] | None:
    """Return which elements of each input an output's element depends on; None where that cannot be found."""
    inputs, _expected = oracle.case(sizes, dtypes)

    def evaluate(changed: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> np.generic:
        value: np.generic = oracle.expected(changed, sizes, output)[index]
        return value

    try:
        return dependence(evaluate, inputs, oracle.other_inputs(sizes, dtypes))
    except Exception:
        # Mixed inputs may break a rule that the lab's own inputs keep: then this cannot be told.
        return None


# -- what passes through shared memory --------------------------------------------------------------------------

SAMPLED = 12
"""Elements of an output that are followed back."""
ASKED = 4
"""How many wrong elements made from what is read directly the oracle is asked about: some hundred evaluations each."""
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


def with_product_by_columns(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with whether a kernel that its program's own check takes for right is so with both matrices in each
    other's place: such a check does notice, and goes by another order."""
    own, reading = evidence.own_check, evidence.interpretation
    if own is None or not own.is_right or own.case_is_right or own.sizes is None or reading is None:
        return evidence
    roles = with_matrices_exchanged(reading.roles, kernel.lab)
    kind: CaseKind = "correct" if kernel.read_as(reading).sizes.rounded(own.sizes) == own.sizes else "ragged"
    if not roles or not trials.run(kernel.read_as(replace(reading, roles=roles)), kind, own.sizes).is_right:
        return evidence
    return replace(evidence, own_check=replace(own, is_exchanged=True))
