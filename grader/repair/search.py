"""The smallest change that makes a kernel right: likely changes in order, run at a small size, then graded in full;
and what a result says of it.

A search is counted, not timed, so that the same program gets the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from grader.errors import FileError, UsageError
from grader.launching.kernel import BoundKernel, bound_kernels
from grader.launching.trial import Trials
from grader.message import Message, joined, msg, sentences_of
from grader.repair.experiments import OtherLaunch, TurnedAway, other_launch, turned_away
from grader.repair.found import OF_GPU, FoundRepair, Proof, judged
from grader.repair.function import Change, Function, changed, functions_of
from grader.repair.host import host_repairs
from grader.repair.program import Failing, Rerun, program_repairs, spoils
from grader.repair.ranking import ranked_changes
from grader.repair.screen import Budget, Screen
from grader.repair.symptom import SEARCHED, symptom_of, symptom_of_order
from grader.result import Check, Repair, Result
from grader.running.evidence import Evidence
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile
from grader.words import told

if TYPE_CHECKING:
    from grader.repair.found import FoundRepair
    from grader.repair.function import Change


MAX_WORK = 2_400_000
"""Of all kernels of a submission, in the unit of `Budget`."""
ORDER_WORK = 500_000
"""Besides, for the race of a kernel whose result nothing mended."""
PROGRAM_WORK = 4_000_000
"""Before that, for causes outside the kernels."""
MAX_PROOFS = 3
"""Full gradings of changed programs, for each kernel."""
MAX_SHARED_PROOFS = 2
"""Changes of a function that kernels share which are graded for all of them."""


Condition = TurnedAway | OtherLaunch
"""What was seen of a wrong kernel, with no change of it that makes it right."""


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
        """Its part of the work, beside the others'."""
        return 3 if self.screen.symptom.check == "correct" else 1


def search(
    original: Original,
    trials: Trials,
    drawn_trials: Trials,
    found: Mapping[str, Evidence],
    checks: Sequence[Check],
    rerun: Rerun | None = None,
) -> tuple[list[FoundRepair], list[Condition]]:
    """At most one repair for each variant with a failed check, in the lab's order; the same of conditions.

    What several variants share comes first: launches, constants and macros across the program, then functions that
    they all call; after that each kernel by itself, with an equal part of what is left of the work.
    Of a kernel with a wrong result and a race, which no one change mends both, one that mends the race is looked for.

    Parameters
    ----------
    found : evidence of the emulator by variant.  checks : the verdicts on all of them.
    rerun : runs a changed program; None: what its text says of its launches is taken as it is.
    """
    own = {name: [c for c in checks if c.variant == name] for name in found}
    kernels = bound_kernels(trials.lab, original.submission)
    failing = [f for name, e in found.items() if (f := _failing(original, kernels, name, e, own[name])) is not None]
    passing = [
        (kernels[name].read_as(interpretation), e)
        for name, e in found.items()
        if name in kernels
        and (interpretation := e.interpretation) is not None
        and e.halo is None
        and all(c.status != "fail" or c.check in OF_GPU for c in own[name])
    ]
    repairs = host_repairs(original, kernels, found, checks, rerun)
    repairs += program_repairs(original, trials, drawn_trials, failing, passing, Budget(PROGRAM_WORK), rerun)
    mended = {repair.variant for repair in repairs if not repair.proof}
    left = [f for f in failing if f.name not in mended]
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
    order = list(found)
    return sorted(repairs, key=lambda r: order.index(r.variant)), conditions


def _failing(
    original: Original, kernels: Mapping[str, BoundKernel], name: str, evidence: Evidence, checks: Sequence[Check]
) -> Failing | None:
    """A variant for which changes may be looked for, None where there is nothing to be mended by one."""
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


def _of_shared_functions(subjects: Sequence[_Subject], budget: Budget) -> list[FoundRepair]:
    """The change of a function that several of the kernels call, with which all of these are right."""
    callers: dict[tuple[str, int], list[_Subject]] = {}
    for subject in subjects:
        for function in subject.screen.functions[1:]:
            callers.setdefault((subject.parsed.file, function.item.start), []).append(subject)
    groups = {tuple(s.name for s in group): group for group in callers.values() if len(group) > 1}
    shared_repairs: list[FoundRepair] = []
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


def _of_kernel(subject: _Subject, budget: Budget) -> tuple[list[FoundRepair], Condition | None]:
    """What mends one kernel, and the condition that was seen of it where nothing does."""
    screen, evidence, own, name = subject.screen, subject.evidence, subject.checks, subject.name
    symptom = screen.symptom
    small = screen.in_small_blocks()
    repair = _found(subject, small, budget, MAX_PROOFS) if small is not None else None
    repair = repair or _found(subject, screen, budget, MAX_PROOFS)
    repairs = [repair] if repair is not None else []
    mended = set(repair.mends) if repair is not None else set()
    launch = other_launch(screen, name, budget) if symptom.check == "correct" and not mended else None
    if launch is not None:
        return repairs, launch
    order = symptom_of_order(evidence, own) if "races" not in mended and symptom.check != "races" else None
    if order is not None:
        found_order = _found(subject, replace(screen, symptom=order), Budget(ORDER_WORK), MAX_PROOFS, "barrier")
        repairs += [found_order] if found_order is not None else []
    if any(c.check == symptom.check and c.diagnosis is not None and c.diagnosis.unwritten for c in own):
        return repairs, turned_away(screen, name, screen.functions)
    return repairs, None


def _found(subject: _Subject, screen: Screen, budget: Budget, proofs: int, kind: str = "") -> FoundRepair | None:
    """What makes one kernel right; kind: of the changes that are tried, "" for all."""
    ranked = ranked_changes(screen.functions, screen.kernel, subject.checks, screen.symptom)
    ranked = [(function, change) for function, change in ranked if kind in ("", change.kind)]
    # What a kernel that is right calls, too, is wrong last of all.
    right = _called(subject)
    ranked.sort(key=lambda tried: tried[0].item.start in right)
    partial: FoundRepair | None = None
    for used, change in enumerate(screen.survivors(ranked, budget), start=1):
        repair = _graded(subject, change, budget)
        if repair is not None and repair.is_complete:
            return repair
        if partial is None or (repair is not None and repair.is_shown and not partial.is_shown):
            partial = repair
        if used >= proofs:
            break
    return partial


def _called(subject: _Subject) -> dict[int, Function]:
    """Functions of the kernel that one which is right calls as well, by where they begin."""
    names = {kernel.binding.kernel.name for kernel, _evidence in subject.passing}
    others = {f.item.start for name in names for f in functions_of(subject.parsed, name)}
    return {f.item.start: f for f in subject.screen.functions[1:] if f.item.start in others}


def _graded(subject: _Subject, change: Change, budget: Budget) -> FoundRepair | None:
    """A change of a kernel graded in full: None where it mends nothing, or spoils what another kernel calls."""
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
    """Whether what is compiled has each function where the file has it, character by character."""
    device = kernel.submission.device_source.get(functions[0].parsed.file, "")
    for function in functions:
        start, end = function.at(function.item.start), function.at(function.item.end)
        if device[start:end] != function.parsed.source.text[start:end]:
            return False
    return True


DETAILS = {
    "barrier": ("after", "loop_end", "loop_start", "loop_both", "in_branch", "before_branch", "removed", "stronger"),
    "guard": (
        "missing",
        "missing_around",
        "removed",
        "returns",
        "returns_early",
        "returns_break",
        "returns_late",
        "loop",
    ),
    "initial_value": ("missing", "stored", "added", "positive", "zero"),
    "bound": ("remainder", "shuffle"),
    "comparison": ("overflow",),
    "expression": (
        *(
            "template",
            "shuffle_width",
            "cancellation",
            "digits",
            "division",
            "parentheses",
            "neighbour",
            "factor",
            "unused",
        ),
        *("unused", "unsigned", "signed", "narrow", "not_shared", "lost", "macro", "shadowed", "stale"),
    ),
    "index": ("unused", "axes", "axes_next", "names_next", "tile", "macro", "macro_name"),
    "launch": (
        "axes",
        "rounded",
        "block",
        "arguments",
        "argument",
        "grid",
        "order",
        "bytes",
        "no_bytes",
        "too_few_bytes",
        "fields",
        "instance",
    ),
    "host": (
        *(
            "target",
            "source",
            "ends",
            "direction",
            "directions",
            "bytes",
            "size",
            "pitch",
            "earlier",
            "later",
            "extra",
            "missing",
            "missing_before",
        ),
        *("wait", "kernel", "stream", "freed", "once"),
    ),
}
"""Finer cases that have words of their own."""


NOT_KNOWN = frozenset(
    ["checks.races.hint_one_line"]
    + [f"checks.correct.hint_{name}" for name in ("unwritten", "uncopied", "by_hand", "memory_first", "race_first")]
)
"""How to look for what is wrong, where it is not known."""

OVERRULED = frozenset(
    ["checks.grids.hint_fixed", "checks.races.hint_one_line"]
    + ["checks.correct.hint_memory_first", "checks.correct.hint_race_first"]
    + [f"checks.bank_conflicts.hint_{name}" for name in ("rows_pad", "rows", "block", "odd", "longer")]
)
"""Hints that blame what the change shows to be right, or advise another one: of the launch, of another check, of the
block where an index mends it."""
OVERRULED_BY: Mapping[str, frozenset[str]] = {
    # A sum that goes on in a variable is spoilt by being added to the output, whatever that starts from.
    "assignment": frozenset(["remedies.onto_unset"]),
}
"""The same of changes of one group alone."""
PADS = "checks.bank_conflicts.hint_column"
"""Advice on padding, which a change of the padding follows, and no other."""
READS = "checks.correct.hint_other_reads"
"""What to work out by hand of all reads; the line whose index is wrong may be the one that writes."""

SEEN = frozenset(
    [f"remedies.{name}" for name in ("divided", "pitch", "scaled", "onto_unset")]
    + [f"repairs.{name}" for name in ("turned_away", "turned_away_wrong", "guard_protects")]
    + ["checks.technique.hint_small_tile"]
    + [f"checks.bank_conflicts.hint_{name}" for name in ("lanes", "words")]
)
"""What runs, counters and the wrong values themselves show: it stays true beside a change that mends them."""

MENDABLE = frozenset((*SEARCHED, "launch", "host_code"))
"""Checks whose hints a change may overrule."""

OTHER_WAY = frozenset(["checks.grids.hint_swapped"])
"""Hints at the launch that mend the same fault as the change of the kernel: made both, they would bring it back."""


def with_repairs(result: Result, found: Sequence[FoundRepair], conditions: Sequence[Condition] = ()) -> Result:
    """`result` with the hints of the checks that a change mends, and the change where all checks pass with it.

    conditions: those that turned threads away, or a launch that is right, of the checks that found what is wrong.
    """
    by_place = {(repair.variant, name): repair for repair in reversed(found) for name in repair.mends}
    by_check = {(one.variant, one.check): one for one in conditions}
    # A return that ends too many is said in full by the change.
    of_returns = {(r.variant, name) for r in found if r.is_shown and r.change.group == "returns" for name in r.mends}
    by_check = {place: one for place, one in by_check.items() if place not in of_returns}
    checks = [_with_condition(check, by_check.get((check.variant, check.check))) for check in result.checks]
    checks = [_with_repair(check, by_place.get((check.variant, check.check))) for check in checks]
    return structs.replace(result, checks=checks)


def without_guesses(result: Result) -> Result:
    """The same with no hint that a change which is still looked for may overrule: what was seen alone stays true."""
    checks = []
    for check in result.checks:
        said = sentences_of(check.hint_said)
        kept = [one for one in said if one.id in SEEN or check.check not in MENDABLE]
        is_guess = check.status == "fail" and len(kept) < len(said)
        checks.append(told(structs.replace(check, hint="", hint_said=joined(*kept))) if is_guess else check)
    return structs.replace(result, checks=checks)


def without_answers(result: Result) -> Result:
    """The same with no change to be read from it: line and kind of fault alone."""
    checks = [
        structs.replace(c, repair=structs.replace(c.repair, diff=[], effect="", effect_said=None)) if c.repair else c
        for c in result.checks
    ]
    variants = {
        name: structs.replace(v, faster=structs.replace(v.faster, diff=[], effect="", effect_said=None))
        if v.faster
        else v
        for name, v in result.variants.items()
    }
    return structs.replace(result, checks=checks, variants=variants)


def answers(result: Result) -> str:
    """The changes of a result as a text of diffs, "" where there are none."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for check in result.checks:
        if check.repair is not None and check.repair.diff:
            head = (check.variant, check.repair.file, str(check.repair.line), check.repair.kind, check.repair.effect)
            rows.setdefault((*head, *check.repair.diff), []).append(check.check)
    for name, variant in result.variants.items():
        made = variant.faster
        if made is not None and made.diff:
            how, ratio, gpu = "predicted", made.predicted_times, made.device
            if made.measured_times is not None:
                how, ratio, gpu = "measured", made.measured_times, made.measured_on
            times = f"{how} {ratio.value:.3g} times as fast on {gpu} ({ratio.low:.2g} to {ratio.high:.2g})"
            rows.setdefault((name, made.file, str(made.line), made.kind, made.effect, *made.diff), []).append(times)
    parts = []
    for (in_variant, file, line, kind, effect, *diff), why in rows.items():
        title = f"# {result.student.id} · {in_variant}: {', '.join(why)} · {file}:{line} · {kind}"
        parts.append("\n".join([title, *([f"# {effect}"] if effect else []), f"--- {file}", f"+++ {file}", *diff, ""]))
    return "\n".join(parts)


def hint_msg(found: FoundRepair) -> Message | None:
    """Line and kind of the fault, and what was seen with one change there."""
    change = found.change
    kind = f"{change.kind}_{change.detail}" if change.detail in DETAILS.get(change.kind, ()) else change.kind
    fault = msg(f"repairs.{kind}", line=change.line, **({"to_line": change.to_line} if change.to_line else {}))
    if found.proof and not found.rest:
        return joined(fault, msg(f"repairs.verified_by_{found.proof}"))
    if found.rest:
        return joined(fault, _right_with(found))
    if not found.is_complete:
        return joined(fault, msg("repairs.verified_partly"))
    if found.together:
        return joined(fault, msg("repairs.verified_together", variants=", ".join(found.together)))
    return joined(fault, msg("repairs.verified"))


def _right_with(found: FoundRepair) -> Message:
    """That the result is right with a change, and which checks fail all the same."""
    names = [msg(f"checks.{name}.title") for name in found.rest]
    return msg("repairs.verified_result", n=len(names), checks=msg("pieces.listed", items=names, more=False))


def _beside(said: Message, change: Change) -> Message | None:
    """What is left of a sentence of the hint where a change is known to mend the fault."""
    if said.id in OVERRULED | OVERRULED_BY.get(change.group, frozenset()):
        return None
    if said.id == PADS and change.kind != "padding":
        return None
    if said.id == READS and change.kind == "index":
        return msg("checks.correct.hint_indices")
    return said


def _with_condition(check: Check, condition: Condition | None) -> Check:
    if condition is None or check.status != "fail":
        return check
    hint = check.hint_said if check.hint_said is not None and check.hint_said.id not in NOT_KNOWN else None
    return told(structs.replace(check, hint_said=joined(condition.hint, hint)))


def _with_repair(check: Check, found: FoundRepair | None) -> Check:
    if found is None or check.status != "fail":
        return check
    repair = None
    if found.is_shown:
        repair = Repair(
            file=found.file,
            line=found.change.line,
            kind=found.change.kind,
            diff=list(found.diff),
            effect_said=found.effect,
        )
    beside = [said for part in sentences_of(check.hint_said) if (said := _beside(part, found.change)) is not None]
    if found.is_shown:
        # What was only supposed of the same fault has nothing to add to what was run.
        others = OTHER_WAY if found.change.kind != "launch" else frozenset[str]()
        beside = [said for said in beside if said.id in SEEN | others]
    rest = joined(*beside)
    choice = msg("repairs.either") if rest is not None and rest.id in OTHER_WAY else None
    return told(structs.replace(check, hint_said=joined(hint_msg(found), choice, rest), repair=repair))
