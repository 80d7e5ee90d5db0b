"""The smallest change that makes a right kernel faster: ranked by predicted times, graded as if it had been handed in,
on a GPU timed beside the kernel as it is, and what a result says of it.

A search is counted, not timed: without a GPU the same program gets the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from msgspec import structs

from grader.checks import checks_with
from grader.devices import WARP_LANES
from grader.errors import FileError, UsageError
from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel, bound_kernels
from grader.launching.programs import DeviceProgram, ProgramStore
from grader.launching.trial import Trials
from grader.measured import Counters, FasterChange, FasterKind, PredictedTime, Ratio
from grader.message import Message
from grader.repair.faster_changes import (
    axis_changes,
    block_changes,
    padding_changes,
    shape_changes,
    sized_padding_changes,
    strided_changes,
    unrolled_changes,
)
from grader.repair.faster_elements import element_changes, tile_changes, with_rows
from grader.repair.faster_values import arithmetic_changes, register_changes, restrict_changes
from grader.repair.function import Change, changed, functions_of
from grader.repair.launch_sites import launches_of
from grader.repair.program import READING, Rerun, is_other, is_right, rebound
from grader.repair.ranking import kernels_at
from grader.repair.screen import Budget
from grader.repair.verified import OF_GPU, OF_OTHERS, Proof, diff_lines, effect_msg
from grader.result import Check, Result
from grader.running.evidence import Evidence
from grader.running.runs import counters_of
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile
from grader.submission.records import Submission
from grader.submission.source import SourceText
from grader.timing.instructions import Processor
from grader.timing.model import Prediction as ModelTime
from grader.timing.prediction import FollowedLaunch, followed, ratio_of, record_of

LEAST_GAIN = 1.15
"""How many times as fast a kernel has to be with a change, by prediction, for that to be told."""
MOST_LOSS = 1.02
"""How many times as long another variant of the program may take with it."""
NEAR = 1.1
"""Changes whose gains differ by less are told apart by how small they are."""
MAX_WORK = 4_000_000
"""The most work for all kernels of a submission, in the unit of `Budget`."""
PREDICTING = 500_000
"""Work of a prediction, machine code included."""
MAX_PREDICTED, MAX_PROOFS, MAX_TIMED = 4, 3, 3
"""Changes of a kernel that are predicted, graded in full until one passes, and on a GPU graded to be timed."""
LEAST_MEASURED_GAIN = 1.05
"""The least ratio of a change that was timed, whatever was predicted of it."""

BLOCKS = range(128, 513)
"""Threads of a block for which no other is tried if its rows are whole warps: shorter ones ask for more lines."""

HELD = ("present", "compiles", "launch", *checks_with("result"), "deterministic")
"""Checks that a kernel which is right does not fail."""
CHECKS = {"bank_conflicts": "bank_conflicts", "uncoalesced": "coalescing"}
"""The checks on what costs time and need not be there."""
KINDS: Mapping[str, FasterKind] = {kind: kind for kind in get_args(FasterKind)} | {
    "index": "axes",
    "bound": "neighbours",
    "loop": "unrolled",
    "tiles": "elements",
}
"""What a result calls a change, by what is changed in particular or by its kind."""
UNROLLING = ("latency", "issue")
"""What limits a kernel whose loops may be too short to fill the pauses between their steps, or whose loads may wait for
stores before them."""
COMPUTING = ("issue", "arithmetic")
"""The same whose warps may have lanes that stand idle."""


@dataclass(frozen=True, slots=True)
class _Right:
    name: str
    kernel: BoundKernel
    parsed: ParsedFile
    evidence: Evidence
    checks: Sequence[Check]
    time: PredictedTime

    def is_launched_alike(self, one: BoundKernel, other: BoundKernel) -> bool:
        """Whether two launches are the same at the sizes that are graded and predicted, whatever their formulas."""
        counters = self.evidence.counters
        sizes = [self.time.size, *([counters.size] if counters is not None else [])]
        return all(one.geometry(size) == other.geometry(size) for size in sizes)

    def gain_without(self, cause: str) -> float:
        """Return how many times as fast the kernel would be without one cost."""
        return self.time.predicted_us / self.time.predicted_without_us.get(cause, self.time.predicted_us)


@dataclass(slots=True)
class _Program:
    """A program with another text of one file, as it is read; by variant whether it is right there, how long it takes
    and, where it was graded in full, its verdicts (None: it cannot be graded).

    seen: as it is when it is run.  is_spoilt: another kernel of it is wrong, slower, or passes less.
    """

    source: SourceText
    submission: Submission
    right: dict[str, bool] = field(default_factory=dict)
    times: dict[str, PredictedTime | None] = field(default_factory=dict)
    graded: dict[str, tuple[list[Check], Evidence] | None] = field(default_factory=dict)
    seen: Submission | None = None
    is_spoilt: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A changed kernel that is right at small sizes, and the cost (`cause`) that is to go."""

    change: Change
    cause: str
    parsed: ParsedFile
    program: _Program
    kernel: BoundKernel


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Times kernels on a GPU.

    gains: of a kernel as it is and changed ones behind it, at some sizes, how many times as fast each of these is; None
    for one that fails there, or is wrong.  Empty where none could be timed.
    """

    gpu: str
    gains: Callable[[Sequence[BoundKernel], Sizes], Sequence[Ratio | None]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted times of the kernels as they are, by variant, for `processor`; stores: as of `followed`.

    predict: what launches take, in order, several at once, or why one could not be followed to its end.
    expect: told what will be predicted.  stopwatch: times the best, so that the fastest is told; None: no GPU.
    """

    times: Mapping[str, PredictedTime | Message]
    processor: Processor
    stores: tuple[ProgramStore, ProgramStore]
    predict: Callable[[Sequence[FollowedLaunch]], Sequence[ModelTime | Message]]
    expect: Callable[[DeviceProgram], None]
    stopwatch: Stopwatch | None = None


def faster(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    evidence_by_variant: Mapping[str, Evidence],
    checks: Sequence[Check],
    prediction: Prediction,
    rerun: Rerun | None = None,
) -> dict[str, FasterChange]:
    """At most one change for each variant whose kernel is right, by variant.

    evidence_by_variant: evidence of the emulator by variant.  checks: the verdicts on all of them.
    prediction: how long the kernels take as they are, and what foretells a changed one's time.
    rerun: runs a changed program; None: what its text says of its launches is taken as it is.
    """
    if original.submission.is_long:
        return {}
    kernels = bound_kernels(trials.lab, original.submission)
    subjects = [
        one
        for name, evidence in evidence_by_variant.items()
        if name in kernels
        and (one := _right(original, kernels[name], evidence, checks, prediction.times.get(name))) is not None
    ]
    subjects.sort(key=lambda one: -max(one.gain_without(cause) for cause in CHECKS))
    search = _Search(original, trials, drawn_trials, subjects, prediction, Budget(MAX_WORK), rerun)
    tried = {one.name: list(search.candidates(one)) for one in subjects}
    search.predict([(one.name, c.kernel, c.program) for one in subjects for c in tried[one.name]])
    # The device may be in use until all of them are proven.
    proven = {one.name: search.proven(one, tried[one.name]) for one in subjects}
    best = {one.name: search.fastest(one, proven[one.name]) for one in subjects}
    return {name: change for name, change in best.items() if change is not None}


def fastest(changes: Sequence[FasterChange], gains: Sequence[Ratio | None], gpu: str) -> FasterChange | None:
    """The change that gains most on `gpu`; None where none gains enough; the first where `gains` is empty."""
    if not gains:
        return next(iter(changes), None)
    timed = [
        (gain.value, structs.replace(change, measured_on=gpu, measured_times=gain))
        for change, gain in zip(changes, gains, strict=True)
        if gain is not None and gain.value >= LEAST_MEASURED_GAIN and gain.low > 1
    ]
    return max(timed, key=lambda one: one[0])[1] if timed else None


def _right(
    original: Original,
    kernel: BoundKernel,
    evidence: Evidence,
    checks: Sequence[Check],
    time: PredictedTime | Message | None,
) -> _Right | None:
    """Return a variant whose kernel may be made faster; None where it is wrong or has no predicted time."""
    name = evidence.variant.name
    own = [check for check in checks if check.variant == name]
    is_wrong = any(c.status in ("fail", "error") for c in own if c.check in HELD)
    interpretation = evidence.interpretation
    if interpretation is None or is_wrong or not isinstance(time, PredictedTime):
        return None
    if evidence.other_input is not None or evidence.halo is not None:
        return None
    parsed = original.file_of(kernel.binding.kernel)
    return _Right(name, kernel.read_as(interpretation), parsed, evidence, own, time) if parsed is not None else None


@dataclass(frozen=True, slots=True)
class _Search:
    """One search over all right kernels of a submission (`subjects`)."""

    original: Original
    trials: Trials
    drawn_trials: Trials
    subjects: Sequence[_Right]
    prediction: Prediction
    budget: Budget
    rerun: Rerun | None
    programs: dict[str, _Program] = field(default_factory=dict)
    """Changed ones, by the text that is changed."""

    def proven(self, subject: _Right, candidates: Sequence[_Candidate]) -> list[tuple[FasterChange, BoundKernel]]:
        """Return the most promising of `candidates` that spoil nothing: one, or as many as are to be timed."""
        times_us = {
            number: time.predicted_us
            for number, one in enumerate(candidates)
            if (time := one.program.times.get(subject.name)) is not None
            and subject.time.predicted_us >= LEAST_GAIN * time.predicted_us
        }
        best_us = min(times_us.values(), default=0.0)

        def order(number: int) -> tuple[float, bool, int, float]:
            own_us, change = times_us[number], candidates[number].change
            # A launch's constants are often other kernels', too.
            is_launch = change.kind == "launch"
            return (0.0 if own_us < NEAR * best_us else own_us, is_launch, len(change.edits), own_us)

        proven: list[tuple[FasterChange, BoundKernel]] = []
        for number in sorted(times_us, key=order)[: MAX_TIMED if self.prediction.stopwatch else MAX_PROOFS]:
            verified = self._proven(subject, candidates[number])
            if verified is not None:
                proven.append(verified)
                if self.prediction.stopwatch is None:
                    break
        return proven

    def fastest(self, subject: _Right, proven: Sequence[tuple[FasterChange, BoundKernel]]) -> FasterChange | None:
        """Return the change that is shown for one kernel; None where none makes it faster."""
        changes = [change for change, _kernel in proven]
        stopwatch = self.prediction.stopwatch
        if stopwatch is None or not changes:
            return next(iter(changes), None)
        kernels = [subject.kernel, *(kernel for _change, kernel in proven)]
        return fastest(changes, stopwatch.gains(kernels, subject.time.size), stopwatch.gpu)

    def candidates(self, subject: _Right) -> Iterator[_Candidate]:
        """Yield changed kernels that are right, so many as are predicted."""
        predicted = 0
        for parsed, change, cause in self._changes(subject):
            if self.budget.is_spent or predicted >= MAX_PREDICTED:
                return
            source = replace(parsed.source, text=changed(parsed.source.text, change), written=None)
            program = self._read(source)
            kernel = self._changed_kernel(subject, change, program) if program is not None else None
            if program is None or kernel is None or not self._is_right(subject, kernel, program):
                continue
            predicted += 1
            self.budget.work -= PREDICTING
            yield _Candidate(change, cause, parsed, program, kernel)

    def predict(self, wanted: Sequence[tuple[str, BoundKernel, _Program]]) -> None:
        """Predict the times of variants' kernels in changed programs."""
        processor, stores = self.prediction.processor, self.prediction.stores
        size_of = {one.name: one.time.size for one in self.subjects}
        following: list[tuple[_Program, str, FollowedLaunch]] = []
        for name, kernel, program in wanted:
            if name in program.times:
                continue
            program.times[name] = None
            launch = followed(kernel, size_of[name], processor, stores)
            if not isinstance(launch, Message):
                following.append((program, name, launch))
        times = self.prediction.predict([launch for _program, _name, launch in following])
        for (program, name, _launch), time in zip(following, times, strict=True):
            program.times[name] = None if isinstance(time, Message) else record_of(time, size_of[name], processor)

    def _changes(self, subject: _Right) -> Iterator[tuple[ParsedFile, Change, str]]:
        """Yield changes with the cost that each is to remove, "" for changes of a launch."""
        name, parsed = subject.kernel.binding.kernel.name, subject.parsed
        functions = functions_of(parsed, name)
        launches = [(file, launch) for file in self.original.files() for launch in launches_of(file)]
        launches = [row for row in launches if kernels_at(self.original, *row) == [name]]
        own = [launch for file, launch in launches if file is parsed]
        only = own if len(own) == 1 else []
        yield from ((parsed, change, "accesses") for f in functions[:1] for change in register_changes(f, own))
        yield from ((parsed, change, "arithmetic") for change in arithmetic_changes(functions))
        # Padded, a kernel that is to have its conflicts would be another variant.
        if subject.gain_without("bank_conflicts") >= LEAST_GAIN and subject.evidence.variant.padded is not False:
            yield from ((parsed, change, "bank_conflicts") for change in padding_changes(functions))
            sized = (sized_padding_changes(f, launch) for launch in only for f in functions[:1])
            yield from ((parsed, change, "bank_conflicts") for changes in sized for change in changes)
        if subject.gain_without("uncoalesced") >= LEAST_GAIN:
            yield from ((parsed, c, "uncoalesced") for function in functions for c in strided_changes(function))
            yield from ((parsed, change, "uncoalesced") for f in functions[:1] for change in axis_changes(f))
        if subject.time.limiter in UNROLLING:
            yield from ((parsed, change, "instructions") for change in unrolled_changes(functions))
        geometry = subject.kernel.geometry(subject.time.size)
        block = geometry.block
        for launch in only if functions else ():
            # Rows of warps only: others ask for more lines.
            if block[0] >= WARP_LANES:
                yield from ((parsed, change, "") for change in element_changes(functions[0], launch, block))
            yield from ((parsed, change, "accesses") for change in tile_changes(functions[0], launch, block))
        if geometry.threads not in BLOCKS or block[0] < min(WARP_LANES, geometry.threads):
            yield from ((file, c, "") for file, launch in launches for c in block_changes(launch, file, block))
        if subject.time.limiter in COMPUTING:
            yield from ((file, change, "") for file, launch in launches for change in shape_changes(launch))
        if subject.time.limiter in UNROLLING:
            yield from ((parsed, change, "") for f in functions[:1] for change in restrict_changes(f, own))

    def _read(self, source: SourceText) -> _Program | None:
        """Return the program with another text of one file; None where it cannot be read any more."""
        if source.text not in self.programs:
            self.budget.work -= READING
            try:
                submission = self.original.rebind({source.path: source})
            except (FileError, UsageError):
                return None
            self.programs[source.text] = _Program(source, submission)
        return self.programs[source.text]

    def _is_right(self, subject: _Right, kernel: BoundKernel, program: _Program) -> bool:
        if subject.name not in program.right:
            self.prediction.expect(kernel.program(subject.time.size))
            program.right[subject.name] = is_right(self.trials, kernel, subject.evidence, self.budget)
        return program.right[subject.name]

    def _time(self, subject: _Right, kernel: BoundKernel, program: _Program) -> PredictedTime | None:
        """Return the predicted time of a kernel of a changed program; None where there is no prediction."""
        if subject.name not in program.times:
            self.budget.work -= PREDICTING
            self.predict([(subject.name, kernel, program)])
        return program.times[subject.name]

    def _changed_kernel(self, subject: _Right, change: Change, program: _Program) -> BoundKernel | None:
        """Return the kernel in a changed program; None where it is not found there."""
        if change.kind == "launch":
            read = rebound(subject.kernel, program.submission)
            has_rows = change.detail in ("elements", "tiles")
            return with_rows(subject.kernel, read, change.detail) if read is not None and has_rows else read
        # Padded, or not, it may be another variant to who reads it anew.
        before = subject.kernel.binding
        same = [k for k in program.submission.kernels if (k.name, k.file) == (before.kernel.name, before.kernel.file)]
        if len(same) != 1 or [p.name for p in same[0].parameters] != [p.name for p in before.kernel.parameters]:
            return None
        interpretation = subject.kernel.interpretation
        binding = replace(before, kernel=same[0], interpretations=(interpretation,), others=())
        return BoundKernel(subject.kernel.lab, program.submission, binding, interpretation)

    def _proven(self, subject: _Right, tried: _Candidate) -> tuple[FasterChange, BoundKernel] | None:
        """The change as a result has it, and its kernel, graded; None where it spoils something or saves nothing."""
        kernel, program, time = tried.kernel, tried.program, tried.program.times[subject.name]
        if time is None or program.is_spoilt or not self._counts_less(subject, kernel, tried.cause):
            return None
        if tried.change.kind == "launch":
            # Its constants are other kernels', too.
            other_variants = [other for other in self.subjects if other is not subject]
            program.is_spoilt = program.is_spoilt or not all(self._leaves(other, program) for other in other_variants)
            launched = None if program.is_spoilt else self._launched(subject, program, kernel)
            program.is_spoilt = program.is_spoilt or not all(self._passes(other, program) for other in other_variants)
            if launched is None or program.is_spoilt:
                return None
            kernel = launched
        graded = self._graded(subject, kernel, program, OF_GPU if tried.change.kind == "launch" else OF_OTHERS)
        if graded is None or graded.counters is None:
            return None
        diff = list(diff_lines(tried.parsed.source.text, changed(tried.parsed.source.text, tried.change)))
        mended = [CHECKS.get(tried.cause, tried.cause)]
        change = FasterChange(
            file=tried.parsed.file,
            line=tried.change.line,
            kind=KINDS[tried.change.detail if tried.change.detail in KINDS else tried.change.kind],
            diff=diff,
            effect_said=effect_msg(mended, subject.evidence.counters, graded.counters, diff),
            device=time.device,
            size=time.size,
            predicted_us=time.predicted_us,
            predicted_times=ratio_of(subject.time, time, self.prediction.processor),
        )
        return change, kernel

    def _launched(self, subject: _Right, program: _Program, read: BoundKernel | None = None) -> BoundKernel | None:
        """The kernel as a changed program launches it; None where that is not as its text, or `read`, has it."""
        of_text = rebound(subject.kernel, program.submission)
        read = read or of_text
        if read is None or of_text is None:
            return None
        before = self.original.submission.observed
        if self.rerun is None or not before.launches:
            return read if subject.is_launched_alike(of_text, read) else None
        if all(run.change is not None and not run.results for run in before.runs):
            return None  # As it is, it ran to the limits, and so it would again.
        if program.seen is None:
            program.seen = self.rerun({program.source.path: program.source})
        observed = rebound(subject.kernel, program.seen)
        return observed if observed is not None and subject.is_launched_alike(observed, read) else None

    def _graded(
        self, subject: _Right, kernel: BoundKernel, program: _Program, left_out: Collection[str]
    ) -> Evidence | None:
        if subject.name not in program.graded:
            try:
                program.graded[subject.name] = Proof.of_kernel(self.trials, self.drawn_trials, kernel, subject.evidence)
            except (FileError, UsageError):
                program.graded[subject.name] = None
        graded = program.graded[subject.name]
        return None if graded is None or _is_spoilt(subject.checks, graded[0], left_out) else graded[1]

    def _counts_less(self, subject: _Right, kernel: BoundKernel, cause: str) -> bool:
        """Whether a kernel of a changed program has less counted, as `_is_less`: before all that takes longer."""
        before = subject.evidence.counters
        if before is None:
            return False
        run = self.trials.run(kernel, "observe", before.size, observe=True)
        raw = run.outcome.counters
        if raw is None:
            return False
        return _is_less(before, counters_of(raw, before.size, run.outcome.thread_instructions), cause)

    def _leaves(self, other: _Right, program: _Program) -> bool:
        """Whether another variant stays right in a changed program, with no higher counts and no longer time."""
        kernel = rebound(other.kernel, program.submission)
        if kernel is None or not is_other(other.kernel, kernel):
            return kernel is not None
        time = self._time(other, kernel, program) if self._is_right(other, kernel, program) else None
        if time is None or time.predicted_us > MOST_LOSS * other.time.predicted_us:
            return False
        return self._counts_less(other, kernel, "")

    def _passes(self, other: _Right, program: _Program) -> bool:
        kernel = rebound(other.kernel, program.submission)
        if kernel is not None and not is_other(other.kernel, kernel):
            return True
        launched = self._launched(other, program)
        return launched is not None and self._graded(other, launched, program, OF_GPU) is not None


def _is_spoilt(before: Sequence[Check], after: Sequence[Check], left_out: Collection[str]) -> bool:
    new = {check.check: check for check in after}
    passed = [c.check for c in before if c.status == "pass" and c.check in new and c.check not in left_out]
    if any(new[name].status != "pass" for name in passed):
        return True
    return any(c.status in ("fail", "error") for c in after if c.check in HELD and c.check not in left_out)


def _is_less(before: Counters, after: Counters, cause: str) -> bool:
    """Whether fewer wavefronts, sectors or instructions are counted, by what a change is to mend, and of the others no
    more where it is to mend none of them; wavefronts and sectors for each access, and all together where accesses are
    what is to be saved, or nothing of them is touched."""

    def counted(counters: Counters, space: str) -> float:
        rows = [row for row in counters.by_line if row.space == space]
        lanes = 1 if cause in ("accesses", "arithmetic") else max(1, sum(row.lanes for row in rows))
        return sum(row.wavefronts + row.sectors for row in rows) / lanes

    if cause in CHECKS:
        space = "shared" if cause == "bank_conflicts" else "global"
        return counted(after, space) < counted(before, space)
    if cause == "instructions" and (after.thread_instructions or 0) >= (before.thread_instructions or 0):
        return False
    rows = [(counted(after, space), counted(before, space)) for space in ("shared", "global")]
    return all(new <= old for new, old in rows) and (cause != "accesses" or any(new < old for new, old in rows))


def with_faster(result: Result, changes: Mapping[str, FasterChange]) -> Result:
    """Return `result` with the changes of its variants."""
    variants = {name: structs.replace(v, faster=changes.get(name)) for name, v in result.variants.items()}
    return structs.replace(result, variants=variants)
