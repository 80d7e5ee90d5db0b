"""The smallest change that makes a kernel right: likely changes in order, run at a small size, then graded in full.

A search is counted, not timed, so that the same program gets the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.checks import races
from grader.errors import FileError, UsageError
from grader.launching.kernel import BoundKernel, bound_kernels
from grader.launching.trial import Trials
from grader.message import Message
from grader.repair.change import Change, changed
from grader.repair.changes.arrays import array_changes
from grader.repair.changes.barriers import barrier_changes
from grader.repair.changes.conditions import guard_changes
from grader.repair.changes.expressions import expression_changes
from grader.repair.changes.first_values import value_changes
from grader.repair.changes.ideas import idea_changes
from grader.repair.clues import clues_of
from grader.repair.diff import diff_lines
from grader.repair.effect import effect_msg
from grader.repair.function import Function, functions_of
from grader.repair.other_launch import OtherLaunch, other_launch
from grader.repair.proof import Proof
from grader.repair.screen import Budget, Screen
from grader.repair.symptom import Symptom, symptom_of, symptom_of_order
from grader.repair.turned_away import TurnedAway, turned_away
from grader.result import Check
from grader.running.evidence import Evidence
from grader.submission.cpp.tree import ParsedFile
from grader.submission.rewriting.changes import Original

MAX_WORK = 2_400_000
"""Of all kernels of a submission, in the unit of `Budget`."""
ORDER_WORK = 500_000
"""Besides, for the race of a kernel whose result nothing mended."""
MAX_PROOFS = 5
"""Full gradings of changed programs."""


OF_OTHERS = ("speedup", "launch", "host_code")
"""Checks that no emulated run of a kernel decides: speed is measured on a GPU, and the host code stays as it is."""


Condition = TurnedAway | OtherLaunch
"""What was seen of a wrong kernel, with no change of it that makes it right."""


@dataclass(frozen=True, slots=True)
class FoundRepair:
    """A change that was run and graded.

    mends: names of the variant's checks that failed and pass with it.  is_complete: every check passes with it.
    diff: what is changed, as lines of a unified diff without its head.
    effect: what it does to the accesses that the check is about, None where it is about none.
    """

    variant: str
    file: str
    change: Change
    mends: tuple[str, ...]
    is_complete: bool
    diff: tuple[str, ...]
    effect: Message | None = None


def search(
    original: Original, trials: Trials, drawn_trials: Trials, found: Mapping[str, Evidence], checks: Sequence[Check]
) -> tuple[list[FoundRepair], list[Condition]]:
    """At most one repair for each variant with a failed check, in the lab's order; the same of conditions.

    Of a kernel with a wrong result and a race, which no one change mends both, one that mends the race is looked for.

    Parameters
    ----------
    found : evidence of the emulator by variant.  checks : the verdicts on all of them.
    """
    budget = Budget(MAX_WORK)
    proofs = MAX_PROOFS
    repairs: list[FoundRepair] = []
    conditions: list[Condition] = []
    kernels = bound_kernels(trials.lab, original.submission)
    for name, evidence in found.items():
        own = [c for c in checks if c.variant == name]
        symptom = symptom_of(evidence, own) if name in kernels else None
        if symptom is None or evidence.interpretation is None or budget.is_spent or proofs <= 0:
            continue
        if any(c.status == "fail" and "device" in c.data for c in own):
            # Of a fault of its code for newer devices the kernel shows nothing where changes are tried.
            continue
        kernel = kernels[name].read_as(evidence.interpretation)
        parsed = original.file_of(kernel.binding.kernel)
        functions = functions_of(parsed, kernel.binding.kernel.name) if parsed is not None else []
        if parsed is None or not functions or not _lies_true(kernel, functions):
            continue
        screen = Screen(trials, kernel, functions, symptom)
        proof = Proof(trials, drawn_trials, original.rebind, parsed.source, kernel, evidence)
        repair, used = _found(screen, proof, parsed, own, budget, proofs)
        proofs -= used
        mended = set(repair.mends) if repair is not None else set()
        if repair is not None:
            repairs.append(repair)
        launch = other_launch(screen, name, budget) if symptom.check == "correct" and not mended else None
        if launch is not None:
            conditions.append(launch)
            continue
        order = symptom_of_order(evidence, own) if "races" not in mended and symptom.check != "races" else None
        if order is not None and proofs > 0:
            found_order, used = _found(
                replace(screen, symptom=order), proof, parsed, own, Budget(ORDER_WORK), proofs, "barrier"
            )
            proofs -= used
            repairs += [found_order] if found_order is not None else []
        if any(c.check == symptom.check and c.diagnosis is not None and c.diagnosis.unwritten for c in own):
            condition = turned_away(screen, name, functions)
            if condition is not None:
                conditions.append(condition)
    return repairs, conditions


def _found(
    screen: Screen,
    proof: Proof,
    parsed: ParsedFile,
    checks: Sequence[Check],
    budget: Budget,
    proofs: int,
    kind: str = "",
) -> tuple[FoundRepair | None, int]:
    """What makes one kernel right, and how many proofs were made; kind: of the changes that are tried, "" for all."""
    ranked = _ranked(screen.functions, screen.kernel, checks, screen.symptom)
    ranked = [(function, change) for function, change in ranked if kind in ("", change.kind)]
    partial: FoundRepair | None = None
    used = 0
    for change in screen.survivors(ranked, budget):
        used += 1
        try:
            graded = proof.graded(change)
        except (FileError, UsageError):
            graded = None
        budget.compiled()
        if graded is not None:
            for run in graded[1].runs:
                budget.ran(run)
            repair = _judged(parsed, proof.evidence, change, checks, *graded)
            if repair is not None and repair.is_complete:
                return repair, used
            partial = partial or repair
        if used >= proofs:
            break
    return partial, used


def _judged(
    parsed: ParsedFile,
    evidence: Evidence,
    change: Change,
    before: Sequence[Check],
    after: Sequence[Check],
    changed_evidence: Evidence,
) -> FoundRepair | None:
    """The repair that a change makes: None where it mends nothing, or spoils what was right."""
    new = {c.check: c for c in after}
    old = [c for c in before if c.check in new and c.check not in OF_OTHERS]
    spoilt = [c for c in old if c.status == "pass" and new[c.check].status != "pass"]
    mended = tuple(c.check for c in old if c.status == "fail" and _is_passed(new[c.check], changed_evidence))
    if spoilt or not mended:
        return None
    is_complete = all(new[c.check].status not in ("fail", "error") and not _is_waiting(new[c.check]) for c in old)
    text = parsed.source.text
    diff = tuple(diff_lines(text, changed(text, change)))
    effect = effect_msg(mended, evidence.counters, changed_evidence.counters, diff)
    return FoundRepair(evidence.variant.name, parsed.file, change, mended, is_complete, diff, effect)


def _is_passed(check: Check, evidence: Evidence) -> bool:
    """Whether a check passes, or would if what comes before it did: a race may be gone from a wrong kernel."""
    if check.check != "races" or not _is_waiting(check) or "hazards" in evidence.unmeasured:
        return check.status == "pass"
    return not races.counted(evidence.hazards(*races.KINDS))


def _is_waiting(check: Check) -> bool:
    return check.status == "skip" and check.skip_reason == "prerequisite"


def _lies_true(kernel: BoundKernel, functions: Sequence[Function]) -> bool:
    """Whether what is compiled has each function where the file has it, character by character."""
    device = kernel.submission.device_source.get(functions[0].parsed.file, "")
    for function in functions:
        start, end = function.at(function.item.start), function.at(function.item.end)
        if device[start:end] != function.parsed.source.text[start:end]:
            return False
    return True


def _ranked(
    functions: Sequence[Function], kernel: BoundKernel, checks: Sequence[Check], symptom: Symptom
) -> list[tuple[Function, Change]]:
    """All changes, likeliest first, each text once."""
    diagnosis = next((c.diagnosis for c in checks if c.check == symptom.check), None)
    names = _names(kernel)
    clues = clues_of(functions, symptom.check, symptom.hazards, diagnosis, symptom.lines, names)
    shares = any(f.uses_shared for f in functions)
    extents = _extents(kernel, names)
    rows: list[tuple[float, int, Function, Change]] = []
    for function in functions:
        found = [*barrier_changes(function, shares), *expression_changes(function), *array_changes(function)]
        found += [*guard_changes(function, extents), *value_changes(function), *idea_changes(function)]
        for change in found:
            if symptom.is_stopped and change.group == "returns":
                # What goes with such a return is the call in its condition, not that threads end there.
                continue
            rows.append((clues.cost(change), len(rows), function, change))
    rows.sort(key=lambda row: row[:2])
    ranked: dict[str, tuple[Function, Change]] = {}
    for _cost, _number, function, change in rows:
        key = repr(sorted((e.start, e.end, "".join(e.text.split())) for e in change.edits))
        ranked.setdefault(key, (function, change))
    return list(ranked.values())


def _names(kernel: BoundKernel) -> dict[str, str]:
    """What the lab's arrays and sizes are called in the kernel, by role."""
    names = {
        role: p.name for role, p in zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
    }
    names |= dict(kernel.interpretation.constants)
    return names | {role: text for text, role in kernel.interpretation.template if role}


def _extents(kernel: BoundKernel, names: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """What the axes of the lab's arrays are called in the kernel, by the arrays' names there."""
    sizes = set(kernel.lab.size_names)
    equal = [names[n] for n in kernel.lab.equal_sizes if n in names]
    found = {}
    for parameter in kernel.lab.parameters:
        if parameter.kind == "size" or parameter.name not in names:
            continue
        axes = []
        for axis in parameter.shape:
            known = names.get(str(axis)) if axis in sizes else str(axis)
            if known is None and axis in kernel.lab.equal_sizes and equal:
                known = equal[0]
            axes.append(known)
        if all(axes):
            found[names[parameter.name]] = tuple(str(a) for a in axes)
    return found
