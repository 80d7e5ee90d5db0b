"""The smallest change that makes a kernel right: likely changes in order, run at a small size, then graded in full.

A search is counted, not timed, so that the same program gets the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.errors import FileError, UsageError
from grader.launching.kernel import BoundKernel, bound_kernels
from grader.launching.trial import Trials
from grader.repair.function import Change, Function, changed, functions_of
from grader.repair.host import host_repairs
from grader.repair.program import Rerun, program_repairs, spoils
from grader.repair.ranking import Failing, changes_of, ranked_changes
from grader.repair.screen import Budget, Condition, Screen, other_launch, turned_away
from grader.repair.symptom import SEARCHED, symptom_of, symptom_of_order
from grader.repair.verified import OF_GPU, OF_OTHERS, Proof, VerifiedRepair, diff_lines, judged
from grader.result import Check
from grader.running.evidence import Evidence
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile

MAX_WORK = 4_800_000
"""The most work for all kernels of a submission, in the unit of `Budget`."""
ORDER_WORK = 500_000
"""Besides, for the race of a kernel whose result nothing mended."""
PROGRAM_WORK = 4_000_000
"""Before that, for causes outside the kernels."""
MAX_PROOFS = 3
"""Full gradings of changed programs, for each kernel."""
MAX_SHARED_PROOFS = 2
"""Changes of a function that kernels share which are graded for all of them."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A variant whose kernel is searched: the functions that changes are made in, and what runs and grades them.

    passing: the kernels of variants with no fault, which a change must leave right.
    """

    name: str
    evidence: Evidence
    checks: Sequence[Check]
    parsed: ParsedFile
    screen: Screen
    proof: Proof
    passing: Sequence[tuple[BoundKernel, Evidence]] = ()

    @property
    def parts(self) -> int:
        """The share of the work that the variant gets, beside the others'."""
        return 3 if self.screen.symptom.check == "correct" else 1


def search(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    evidence_by_variant: Mapping[str, Evidence],
    checks: Sequence[Check],
    rerun: Rerun | None = None,
) -> tuple[list[VerifiedRepair], list[Condition]]:
    """At most one repair for each variant with a failed check, in the lab's order; the same of conditions.

    What several variants share comes first: launches, constants and macros across the program, then functions that
    they all call; after that each kernel by itself, with an equal part of what is left of the work.
    Of a kernel with a wrong result and a race, which no one change mends both, one that mends the race is looked for.

    evidence_by_variant: evidence of the emulator by variant.  checks: the verdicts on all of them.
    rerun: runs a changed program; None: what its text says of its launches is taken as it is.
    """
    own = {name: [c for c in checks if c.variant == name] for name in evidence_by_variant}
    kernels = bound_kernels(trials.lab, original.submission)
    failing = [
        f
        for name, e in evidence_by_variant.items()
        if (f := _failing(original, kernels, name, e, own[name])) is not None
    ]
    repairs = [
        r
        for name, e in evidence_by_variant.items()
        if name in kernels and (r := _of_steps(original, trials, drawn_trials, kernels[name], e, own[name])) is not None
    ]
    passing = [
        (kernels[name].read_as(interpretation), e)
        for name, e in evidence_by_variant.items()
        if name in kernels
        and (interpretation := e.interpretation) is not None
        and e.halo is None
        and all(c.status != "fail" or c.check in OF_GPU for c in own[name])
    ]
    repairs += host_repairs(original, kernels, evidence_by_variant, checks, rerun)
    repairs += program_repairs(original, trials, drawn_trials, failing, passing, Budget(PROGRAM_WORK), rerun)
    mended = {repair.variant for repair in repairs if not repair.proof}
    left = [f for f in failing if f.name not in mended]
    repairs += [r for f in left if (r := _of_width(original, trials, drawn_trials, f)) is not None]
    subjects = [s for f in left if (s := _subject(original, trials, drawn_trials, f, passing)) is not None]
    budget = Budget(MAX_WORK)
    repairs += _of_shared_functions(subjects, budget)
    mended = {repair.variant for repair in repairs if not repair.proof}
    # What is wrong at every size is sought first, and longer than what is at some.
    subjects = sorted((s for s in subjects if s.name not in mended), key=lambda s: s.parts, reverse=True)
    conditions: list[Condition] = []
    for number, subject in enumerate(subjects):
        share = Budget(budget.work * subject.parts // sum(s.parts for s in subjects[number:]))
        before = share.work
        of_subject, condition = _of_kernel(subject, share)
        budget.work -= before - share.work
        repairs += of_subject
        conditions += [condition] if condition is not None else []
    order = list(evidence_by_variant)
    return sorted(repairs, key=lambda r: order.index(r.variant)), conditions


def _failing(
    original: Original, kernels: Mapping[str, BoundKernel], name: str, evidence: Evidence, checks: Sequence[Check]
) -> Failing | None:
    # Faults of launches that a run showed, a run alone shows to be mended (`host_repairs`).
    failed = {c.check for c in checks if c.status == "fail" and not (c.check == "launch" and c.data.get("seen"))}
    if name not in kernels or evidence.interpretation is None or not failed & {*SEARCHED, "launch"}:
        return None
    if evidence.other_input is not None or evidence.halo is not None:
        # It does what it is meant to do, which is another task; or its inputs are longer than those tried here.
        return None
    # Of a fault of its code for newer devices the kernel shows nothing where changes are tried.
    if failed & {"present", "compiles"} or any(c.status == "fail" and "device" in c.data for c in checks):
        return None
    kernel = kernels[name].read_as(evidence.interpretation)
    parsed = original.file_of(kernel.binding.kernel)
    return Failing(name, kernel, parsed, evidence, checks) if parsed is not None else None


def _subject(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    failing: Failing,
    passing: Sequence[tuple[BoundKernel, Evidence]],
) -> _Subject | None:
    kernel, parsed, evidence = failing.kernel, failing.parsed, failing.evidence
    symptom = symptom_of(evidence, failing.checks)
    functions = functions_of(parsed, kernel.binding.kernel.name)
    if symptom is None or not functions or not _lies_true(kernel, functions):
        return None
    screen = Screen(trials, kernel, functions, symptom)
    proof = Proof(trials, drawn_trials, original.rebind, parsed.source, kernel, evidence)
    return _Subject(failing.name, evidence, failing.checks, parsed, screen, proof, passing)


def _of_width(original: Original, trials: Trials, drawn_trials: Trials, failing: Failing) -> VerifiedRepair | None:
    """Return a wider type with which a kernel is right that only the drawn case, larger than the lab's, shows wrong:
    that of one variable, else of all that are narrow."""
    kernel, parsed = failing.kernel, failing.parsed
    functions = functions_of(parsed, kernel.binding.kernel.name)
    if symptom_of(failing.evidence, failing.checks) is not None or not functions or not _lies_true(kernel, functions):
        return None
    changes = [c for _function, c in changes_of(functions, {}, ()) if c.detail == "narrow"][: MAX_PROOFS - 1]
    if len(changes) > 1:
        changes.append(replace(changes[0], edits=tuple(edit for c in changes for edit in c.edits)))
    proof = Proof(trials, drawn_trials, original.rebind, parsed.source, kernel, failing.evidence)
    for change in changes:
        try:
            graded = proof.graded(change)
        except (FileError, UsageError):
            continue
        repair = judged(parsed, failing.evidence, change, failing.checks, *graded) if graded is not None else None
        if repair is not None and repair.is_complete:
            return repair
    return None


def _of_steps(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    kernel: BoundKernel,
    evidence: Evidence,
    checks: Sequence[Check],
) -> VerifiedRepair | None:
    """Return another step of a loop over the grid with which a kernel is right that does its work so often, by many
    threads each time, that it was not run to its end."""
    parsed = original.file_of(kernel.binding.kernel)
    if parsed is None or evidence.interpretation is None or all(r.outcome.reason != "steps" for r in evidence.runs):
        return None
    kernel = kernel.read_as(evidence.interpretation)
    functions = functions_of(parsed, kernel.binding.kernel.name)
    if not functions or not _lies_true(kernel, functions):
        return None
    proof = Proof(trials, drawn_trials, original.rebind, parsed.source, kernel, evidence)
    changes = [c for _function, c in changes_of(functions, {}, ()) if c.group == "stride"]
    for change in changes[:MAX_PROOFS]:
        try:
            graded = proof.graded(change)
        except (FileError, UsageError):
            continue
        after = [c for c in graded[0] if c.check not in OF_OTHERS] if graded is not None else []
        if after and all(c.status not in ("fail", "error") for c in after):
            text = parsed.source.text
            mends = tuple(c.check for c in checks if c.status == "error")
            diff = tuple(diff_lines(text, changed(text, change)))
            return VerifiedRepair(evidence.variant.name, parsed.file, change, mends, is_complete=True, diff=diff)
    return None


def _of_shared_functions(subjects: Sequence[_Subject], budget: Budget) -> list[VerifiedRepair]:
    """Return changes of a function that several kernels call, with which all of these are right."""
    callers: dict[tuple[str, int], list[_Subject]] = {}
    for subject in subjects:
        for function in subject.screen.functions[1:]:
            callers.setdefault((subject.parsed.file, function.item.start), []).append(subject)
    groups = {tuple(s.name for s in group): group for group in callers.values() if len(group) > 1}
    shared_repairs: list[VerifiedRepair] = []
    for names, group in sorted(groups.items(), key=lambda row: -len(row[0])):
        if any(repair.variant in names for repair in shared_repairs):
            continue
        first = min(group, key=lambda s: s.screen.symptom.cases[0].instructions)
        shared = {place[1] for place, all_of in callers.items() if len(all_of) >= len(group)}
        ranked = ranked_changes(first.screen.functions, first.screen.kernel, first.checks, first.screen.symptom)
        ranked = [(f, change) for f, change in ranked if f.item.start in shared]
        share = Budget(budget.work // 2)
        before = share.work
        for number, change in enumerate(first.screen.survivors(ranked, share)):
            repairs = [r for s in group if (r := _graded(s, change, share)) is not None and r.is_complete]
            if len(repairs) == len(group):
                shared_repairs += [replace(r, together=names) for r in repairs]
                break
            if number >= MAX_SHARED_PROOFS - 1:
                break
        budget.work -= before - share.work
    return shared_repairs


def _of_kernel(subject: _Subject, budget: Budget) -> tuple[list[VerifiedRepair], Condition | None]:
    screen, evidence, own, name = subject.screen, subject.evidence, subject.checks, subject.name
    symptom = screen.symptom
    small = screen.in_small_blocks()
    repair = _first_repair(subject, small, budget) if small is not None else None
    repair = repair or _first_repair(subject, screen, budget)
    repairs = [repair] if repair is not None else []
    mended = set(repair.mends) if repair is not None else set()
    launch = other_launch(screen, name, budget) if symptom.check == "correct" and not mended else None
    if launch is not None:
        return repairs, launch
    order = symptom_of_order(evidence, own) if "races" not in mended and symptom.check != "races" else None
    if order is not None:
        repair_of_order = _first_repair(subject, replace(screen, symptom=order), Budget(ORDER_WORK), "barrier")
        repairs += [repair_of_order] if repair_of_order is not None else []
    if any(c.check == symptom.check and c.diagnosis is not None and c.diagnosis.unwritten for c in own):
        return repairs, turned_away(screen, name, screen.functions)
    return repairs, None


def _first_repair(subject: _Subject, screen: Screen, budget: Budget, kind: str = "") -> VerifiedRepair | None:
    ranked = ranked_changes(screen.functions, screen.kernel, subject.checks, screen.symptom)
    ranked = [(function, change) for function, change in ranked if kind in ("", change.kind)]
    # What a kernel that is right calls, too, is wrong last of all.
    right = _called(subject)
    ranked.sort(key=lambda tried: tried[0].item.start in right)
    partial: VerifiedRepair | None = None
    for used, change in enumerate(screen.survivors(ranked, budget), start=1):
        repair = _graded(subject, change, budget)
        if repair is not None and repair.is_complete:
            return repair
        if partial is None or (repair is not None and repair.is_shown and not partial.is_shown):
            partial = repair
        if used >= MAX_PROOFS:
            break
    return partial


def _called(subject: _Subject) -> dict[int, Function]:
    """Return functions of the kernel that a right kernel calls as well, by where they begin."""
    names = {kernel.binding.kernel.name for kernel, _evidence in subject.passing}
    called_by_right = {f.item.start for name in names for f in functions_of(subject.parsed, name)}
    return {f.item.start: f for f in subject.screen.functions[1:] if f.item.start in called_by_right}


def _graded(subject: _Subject, change: Change, budget: Budget) -> VerifiedRepair | None:
    try:
        if any(f.line(f.item.node) <= change.line <= f.item.node.end_point.row + 1 for f in _called(subject).values()):
            text = changed(subject.parsed.source.text, change)
            submission = subject.proof.rebind({subject.proof.source.path: replace(subject.proof.source, text=text)})
            if spoils(subject.proof.trials, subject.passing, submission, budget):
                return None
        graded = subject.proof.graded(change)
    except (FileError, UsageError):
        graded = None
    budget.compiled()
    if graded is None:
        return None
    for run in graded[1].runs:
        budget.ran(run)
    return judged(subject.parsed, subject.evidence, change, subject.checks, *graded)


def _lies_true(kernel: BoundKernel, functions: Sequence[Function]) -> bool:
    """Whether compiled code has each function where the file has it, character by character."""
    device = kernel.submission.device_source.get(functions[0].parsed.file, "")
    for function in functions:
        start, end = function.at(function.item.start), function.at(function.item.end)
        if device[start:end] != function.parsed.source.text[start:end]:
            return False
    return True
