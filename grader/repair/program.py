"""Causes outside the kernels: a program's launches, its constants, its macros.

One change there may mend several variants.  The launches of a changed program are read anew, its kernels run; what is
found holds only where the changed program, run itself, launches what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from pathlib import Path

import msgspec

from grader.errors import FileError, UsageError
from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.repair.function import Change, changed
from grader.repair.launch_sites import launches_of
from grader.repair.ranking import Failing, ranked
from grader.repair.screen import Budget
from grader.repair.symptom import LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS, faults, instructions_of
from grader.repair.verified import OF_GPU, Proof, VerifiedRepair, judged
from grader.result import CaseKind
from grader.running.cases import own_factors
from grader.running.evidence import Evidence
from grader.running.own_program import said_of
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile
from grader.submission.kernels.records import ObservedRuns, SeenLaunch
from grader.submission.records import Submission, VariantBinding
from grader.submission.source import SourceText

READING = 70_000
"""Work of reading a changed program, in `Budget`'s unit."""
RUNNING = 1_200_000
"""Work of running one."""
SMALLEST_WORK = 4_000_000
"""The most work of the search for the smallest constant that is right."""
MAX_TRIED = 60
MAX_RERUN = 2
"""Programs that are run since their text does not tell what they launch."""
MAX_PROVEN = 3
"""Changes that are graded in full, for every variant that they mend."""

Rerun = Callable[[Mapping[Path, SourceText]], Submission]
"""Runs the programs of a submission whose files have other texts, and binds them by what is seen."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A changed program, and the kernels of the failing variants that a run at small sizes shows to be right in it.

    was_run: its launches are as they were seen.
    """

    cost: float
    parsed: ParsedFile
    change: Change
    texts: Mapping[Path, SourceText]
    kernels: Mapping[str, BoundKernel]
    was_run: bool = False


def program_repairs(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    failing: Sequence[Failing],
    passing: Sequence[tuple[BoundKernel, Evidence]],
    budget: Budget,
    rerun: Rerun | None,
) -> list[VerifiedRepair]:
    """What mends the most variants first; a variant at most once.

    passing: kernels of the variants with no fault, which a change must leave right, and what is known of them.
    """
    proven = 0

    def run_anew(one: _Tried, wanted: Sequence[Failing]) -> _Tried:
        return _run_anew(original, one, wanted, rerun, lambda changed: spoils(trials, passing, changed, budget))

    def repaired(one: _Tried, wanted: Sequence[Failing]) -> list[VerifiedRepair]:
        complete = [r for s in wanted if (r := _proven(trials, drawn_trials, s, one)) is not None and r.is_complete]
        together = tuple(repair.variant for repair in complete) if len(complete) > 1 else ()
        return [replace(repair, together=together) for repair in complete]

    kept: list[_Tried] = []
    doubtful: list[VerifiedRepair] = []
    for one in _tried(original, trials, failing, passing, budget, rerun):
        if one.change.kind == "launch" and not one.was_run and len(one.kernels) == len(failing):
            one = run_anew(one, failing)
        kept.append(one)
        if len(one.kernels) == len(failing) and proven < MAX_PROVEN:
            proven += 1
            repairs = repaired(one, failing)
            if len(repairs) < len(failing):
                continue
            smaller = _smallest(one, original, trials, failing, passing)
            of_smaller = repaired(smaller, failing) if smaller is not one else []
            repairs = of_smaller if len(of_smaller) == len(failing) else repairs
            if not any(_is_said_wrong(s.kernel) and _is_said_wrong(one.kernels[s.name]) for s in failing):
                return repairs
            # The program itself calls the results wrong with it, too: another change may mend what that compares.
            doubtful = doubtful or repairs
            if one.change.kind != "launch":
                return repairs
    if doubtful:
        return doubtful
    left, repairs = list(failing), []
    later: list[_Tried] = []
    for one in chain(sorted(kept, key=lambda one: (-len(one.kernels), one.cost)), later):
        wanted = [subject for subject in left if subject.name in one.kernels]
        if not wanted or proven >= MAX_PROVEN + len(failing):
            continue
        if one.change.kind == "launch" and not one.was_run:
            one = run_anew(one, wanted)
            wanted = [subject for subject in wanted if subject.name in one.kernels]
        is_doubtful = any(_is_said_wrong(s.kernel) and _is_said_wrong(one.kernels[s.name]) for s in wanted)
        if one.was_run and is_doubtful and one not in later:
            later.append(one)
            continue
        proven += 1
        of_one = repaired(one, wanted)
        smaller = _smallest(one, original, trials, wanted, passing) if of_one else one
        of_smaller = repaired(smaller, wanted) if smaller is not one else []
        repairs += of_smaller if len(of_smaller) == len(of_one) else of_one
        left = [subject for subject in left if subject.name not in {repair.variant for repair in repairs}]
    return repairs


def _tried(
    original: Original,
    trials: Trials,
    failing: Sequence[Failing],
    passing: Sequence[tuple[BoundKernel, Evidence]],
    budget: Budget,
    rerun: Rerun | None,
) -> Iterator[_Tried]:
    reruns = MAX_RERUN if rerun is not None and original.submission.observed.launches else 0
    evidence_by_variant = {subject.name: subject.evidence for subject in failing}
    later: list[tuple[_Tried, Submission]] = []

    def right(one: _Tried, submission: Submission, *, soon: bool) -> Iterator[_Tried]:
        changed_kernels = _others(failing, submission).items()
        kernels = {n: k for n, k in changed_kernels if is_right(trials, k, evidence_by_variant[n], budget, soon=soon)}
        if kernels and not spoils(trials, passing, submission, budget):
            yield replace(one, kernels=kernels)

    for parsed, change, is_read in ranked(original, failing, passing)[:MAX_TRIED]:
        if budget.is_spent:
            break
        source = parsed.source
        texts = {source.path: replace(source, text=changed(source.text, change), written=None)}
        budget.work -= READING
        try:
            submission = original.reread(texts, _seen_with(original, parsed, change))
        except (FileError, UsageError):
            continue
        was_run = False
        is_told = is_read and (change.group != "shared_bytes" or _has_other_bytes(failing, submission))
        if not is_told and reruns and rerun is not None:
            # Its text does not say what the change does to the launch.
            reruns, was_run = reruns - 1, True
            budget.work -= RUNNING
            submission = rerun(texts)
            if not submission.observed.launches:
                continue
        if is_told and change.group == "shared_bytes" and not _has_other_bytes_where_wrong(failing, submission):
            continue
        one = _Tried(change.cost, parsed, change, texts, {}, was_run)
        try:
            yield from right(one, submission, soon=True)
        except RunsLong:
            later.append((one, submission))
    for one, submission in later:
        if budget.is_spent:
            break
        yield from right(one, submission, soon=False)


def _smallest(
    one: _Tried,
    original: Original,
    trials: Trials,
    wanted: Sequence[Failing],
    passing: Sequence[tuple[BoundKernel, Evidence]],
) -> _Tried:
    """Return a change that makes a constant larger with the smallest number that is right, looked for by halving."""
    source, (edit, *others) = one.parsed.source, one.change.edits
    before = source.text[edit.start : edit.end].strip()
    if one.change.group != "constant" or others or not before.isdigit() or not edit.text.isdigit():
        return one
    evidence_by_variant = {subject.name: subject.evidence for subject in wanted}
    wrong, right, best, budget = int(before), int(edit.text), one, Budget(SMALLEST_WORK)
    while right - wrong > 1 and not budget.is_spent:
        middle = (wrong + right) // 2
        change = replace(one.change, edits=(replace(edit, text=str(middle)),))
        texts = {source.path: replace(source, text=changed(source.text, change), written=None)}
        budget.work -= READING
        try:
            submission = original.reread(texts, original.submission.observed)
        except (FileError, UsageError):
            break
        kernels = _others(wanted, submission)
        is_mended = len(kernels) == len(wanted) and all(
            is_right(trials, kernel, evidence_by_variant[name], budget) for name, kernel in kernels.items()
        )
        if is_mended and not spoils(trials, passing, submission, budget):
            right, best = middle, replace(one, change=change, texts=texts, kernels=kernels)
        else:
            wrong = middle
    return best


def _is_said_wrong(kernel: BoundKernel | None) -> bool:
    word = said_of(kernel) if kernel is not None else None
    return word is not None and not word.is_right


def _seen_with(original: Original, parsed: ParsedFile, change: Change) -> ObservedRuns:
    """Return what the program would be seen to do with a change that exchanges arguments of a launch."""
    observed = original.submission.observed
    if change.group not in ("arguments", "crosswise"):
        return observed
    places: dict[int, set[int]] = {}
    for launch in launches_of(parsed):
        start = [launch.function.at(node.start_byte) for node in launch.arguments]
        moved = {start.index(edit.start) for edit in change.edits if edit.start in start}
        if len(moved) == 2:
            places[launch.line] = moved

    def seen(launch: SeenLaunch) -> SeenLaunch:
        if launch.file.rpartition("/")[2] != parsed.file.rpartition("/")[2]:
            return launch
        for line, (one, other) in places.items():
            if 0 <= launch.line - line <= 8 and max(one, other) < len(launch.arguments):
                arguments = list(launch.arguments)
                first, second = arguments[one], arguments[other]
                arguments[one] = msgspec.structs.replace(second, name=first.name, type_text=first.type_text)
                arguments[other] = msgspec.structs.replace(first, name=second.name, type_text=second.type_text)
                return msgspec.structs.replace(launch, arguments=tuple(arguments))
        return launch

    runs = tuple(replace(run, launches=tuple(map(seen, run.launches))) for run in observed.runs)
    return replace(observed, runs=runs)


# -- what a change comes to ------------------------------------------------------------


def rebound(kernel: BoundKernel, submission: Submission) -> BoundKernel | None:
    """Return the kernel as a changed program launches it; None where it is another one there."""
    before, after = kernel.binding, submission.bindings.get(kernel.binding.variant)
    if not isinstance(after, VariantBinding) or after.kernel.name != before.kernel.name:
        return None
    if [p.name for p in after.kernel.parameters] != [p.name for p in before.kernel.parameters]:
        return None
    return BoundKernel(kernel.lab, submission, after, after.interpretations[0])


def _others(failing: Sequence[Failing], submission: Submission) -> dict[str, BoundKernel]:
    """Return the failing kernels that a changed program changes."""
    rebound_kernels = ((s.name, s.kernel, rebound(s.kernel, submission)) for s in failing)
    return {name: after for name, before, after in rebound_kernels if after is not None and is_other(before, after)}


def is_other(before: BoundKernel, after: BoundKernel) -> bool:
    """Whether a change makes another kernel or another launch of it."""
    file = before.binding.kernel.file
    same_code = before.submission.device_source.get(file) == after.submission.device_source.get(file)
    same_name = before.binding.expression == after.binding.expression
    sites = before.binding.requested, after.binding.requested
    same_name = same_name and len({site is not None and site.opts_in for site in sites}) == 1
    one, other = before.interpretation, after.interpretation
    same_launch = replace(one.launch, line=0) == replace(other.launch, line=0)
    return not (same_code and same_name and one.roles == other.roles and same_launch)


class RunsLong(Exception):
    """A kernel of a changed program takes more than most that are right: others are tried before it."""


def is_right(trials: Trials, kernel: BoundKernel, before: Evidence, budget: Budget, *, soon: bool = False) -> bool:
    """Whether a kernel is right, with nothing wrong to be seen, at the smaller of the sizes that it is graded by.

    before: what is known of it as it was handed in.
    Raises RunsLong: it is to be known `soon`, and is not.
    """
    budget.compiled()
    cases = kernel.sizes.planned(trials.lab.cases["emulator"], kernel.binding.takes_sizes)
    wrong = [r.sizes for r in before.runs if not r.drawn and (not r.is_right or faults(r))]
    # What is right at the lab's sizes says nothing where the variant's own ones alone are wrong.
    own = kernel.sizes.planned_more(before.variant)
    more: list[tuple[CaseKind, Sizes]] = [("correct", sizes) for sizes in own if sizes in wrong]
    cases = more if more and len(more) == len(wrong) else [*cases, *more]
    factors = own_factors(trials.lab, kernel.interpretation).items()
    cases = [case for case in cases if factors <= case[1].items()] or cases
    small = sorted((case for case in cases if case[0] != "observe"), key=lambda case: prod(case[1].values())) or cases
    needed = {(r.kind, repr(r.sizes)): instructions_of(r) for r in before.runs if r.backend == "emulator"}
    for number, (kind, sizes) in enumerate(small):
        loaded = kernel.load(trials.programs, sizes)
        if loaded.entry is None or min(kernel.geometry(sizes).grid) < 1:
            return False
        observe = number == len(small) - 1
        least = LEAST_INSTRUCTIONS if soon else MOST_INSTRUCTIONS
        most = max(least, needed.get((kind, repr(sizes)), 0) * (2 if (kind, sizes) in more else 1))
        run = trials.run_loaded(kernel, loaded, kind, sizes, observe=observe, instructions=most)
        budget.ran(run, observe)
        if soon and most < MOST_INSTRUCTIONS and run.outcome.reason == "instructions":
            raise RunsLong
        if run.outcome.status != "ok" or not run.is_right or faults(run):
            return False
        if budget.is_spent:
            return number == len(small) - 1
    return bool(small)


def _has_other_bytes(failing: Sequence[Failing], submission: Submission) -> bool:
    """Whether a change gives a failing kernel another number of bytes of shared memory."""
    for before in (s.kernel for s in failing):
        after = rebound(before, submission)
        one, other = before.interpretation.launch, after.interpretation.launch if after is not None else None
        if other is not None and (one.shared_bytes, one.shared_formula) != (other.shared_bytes, other.shared_formula):
            return True
    return False


def _has_other_bytes_where_wrong(failing: Sequence[Failing], submission: Submission) -> bool:
    for subject in failing:
        after = rebound(subject.kernel, submission)
        wrong = [run.sizes for run in subject.evidence.runs if not run.is_right or faults(run)]
        if after is not None and any(
            subject.kernel.geometry(sizes).shared_bytes != after.geometry(sizes).shared_bytes for sizes in wrong
        ):
            return True
    return False


def spoils(
    trials: Trials, passing: Sequence[tuple[BoundKernel, Evidence]], submission: Submission, budget: Budget
) -> bool:
    """Whether a right variant is wrong in a changed program."""
    for before, evidence in passing:
        after = rebound(before, submission)
        if after is None or (is_other(before, after) and not is_right(trials, after, evidence, budget)):
            return True
    return False


def _proven(trials: Trials, drawn_trials: Trials, subject: Failing, tried: _Tried) -> VerifiedRepair | None:
    kernel = tried.kernels.get(subject.name)
    if kernel is None:
        return None
    try:
        after, evidence = Proof.of_kernel(trials, drawn_trials, kernel, subject.evidence)
    except (FileError, UsageError):
        return None
    return judged(tried.parsed, subject.evidence, tried.change, subject.checks, after, evidence, OF_GPU)


def _run_anew(
    original: Original,
    tried: _Tried,
    wanted: Sequence[Failing],
    rerun: Rerun | None,
    is_spoilt: Callable[[Submission], bool],
) -> _Tried:
    """Return the changed program with its kernels as a run shows them launched; is_spoilt: whether others then are."""
    if rerun is None or not original.submission.observed.launches:
        return tried
    submission = rerun(tried.texts)
    if not submission.observed.launches or is_spoilt(submission):
        # It does not compile any more, ends before it launches anything, or launches others as it must not.
        return replace(tried, kernels={}, was_run=True)
    kernels = {s.name: kernel for s in wanted if (kernel := rebound(s.kernel, submission)) is not None}
    return replace(tried, kernels=kernels, was_run=True)
