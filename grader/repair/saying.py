"""What a result says of changes that were found: hints that they overrule, the fault in words, its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from grader.message import Message, joined, msg, sentences_of
from grader.repair.experiments import Condition
from grader.repair.found import FoundRepair
from grader.repair.function import Change
from grader.repair.symptom import SEARCHED
from grader.result import Check, Repair, Result
from grader.words import told

DETAILS = {
    kind: frozenset(details.split())
    for kind, details in {
        "barrier": (
            "after loop_end loop_start loop_both in_branch before_branch out_of_loop removed stronger warp between"
        ),
        "guard": "missing missing_around removed returns returns_early returns_break returns_late loop flattened",
        "initial_value": "missing stored added positive zero else",
        "bound": "remainder shuffle rounded start end step neighbours",
        "padding": "moved",
        "comparison": "overflow wrapped",
        "expression": (
            "wrapped in_place template shuffle_mask shuffle_width cancellation digits division parentheses "
            "neighbour factor unused unsigned signed narrow not_shared lost macro shadowed stale atomic"
        ),
        "index": "exchanged unused axes axes_next names_next tile macro macro_name threads everything crossed",
        "launch": (
            "axes rounded remainder block arguments argument grid order bytes no_bytes too_few_bytes fields "
            "instance opt_in shape opt_in_other size"
        ),
        "host": (
            "target source ends direction directions bytes size pitch earlier later extra missing "
            "missing_before wait kernel stream freed once unset needless asynchronous"
        ),
    }.items()
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
