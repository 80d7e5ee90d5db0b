"""Repairs as they stand in a result: the hints that they make true, and the change for who may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from grader.message import Message, joined, msg
from grader.result import Check, Repair, Result
from grader.words import told

if TYPE_CHECKING:
    # A group that was graded before needs none of what searches.
    from grader.repair.search import FoundRepair
    from grader.repair.turned_away import TurnedAway

DETAILS = {
    "barrier": ("after", "loop_end", "loop_start", "loop_both", "in_branch", "before_branch", "removed", "stronger"),
    "guard": ("missing", "removed", "returns", "returns_early"),
    "initial_value": ("missing",),
    "index": ("axes", "axes_next"),
}
"""Finer cases that have words of their own."""


FOLLOW = "checks.correct.hint_unwritten"
"""How to look for a condition that turns threads away, where none is known."""

OVERRULED = frozenset(["checks.grids.hint_fixed"])
"""Hints that blame what a change elsewhere shows to be right: the launch, where one of the kernel mends it."""

OTHER_WAY = frozenset(["checks.grids.hint_swapped"])
"""Hints at the launch that mend the same fault as the change of the kernel: made both, they would bring it back."""


def with_repairs(result: Result, found: Sequence[FoundRepair], conditions: Sequence[TurnedAway] = ()) -> Result:
    """`result` with the hints of the checks that a change mends, and the change where all checks pass with it.

    conditions: those that turned threads away, of the checks that found what nobody wrote.
    """
    by_variant = {repair.variant: repair for repair in found}
    by_check = {(one.variant, one.check): one for one in conditions}
    # A return that ends too many is said in full by the change.
    known = {(r.variant, name) for r in found if r.is_complete and r.change.group == "returns" for name in r.mends}
    by_check = {place: one for place, one in by_check.items() if place not in known}
    checks = [_with_condition(check, by_check.get((check.variant, check.check))) for check in result.checks]
    checks = [_with_repair(check, by_variant.get(check.variant)) for check in checks]
    return structs.replace(result, checks=checks)


def without_answers(result: Result) -> Result:
    """The same with no change to be read from it: line and kind of fault alone."""
    checks = [
        structs.replace(c, repair=structs.replace(c.repair, diff=[], effect="", effect_said=None)) if c.repair else c
        for c in result.checks
    ]
    return structs.replace(result, checks=checks)


def answers(result: Result) -> str:
    """The changes of a result as a text of diffs, "" where there are none."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for check in result.checks:
        if check.repair is not None and check.repair.diff:
            head = (check.variant, check.repair.file, str(check.repair.line), check.repair.kind, check.repair.effect)
            rows.setdefault((*head, *check.repair.diff), []).append(check.check)
    parts = []
    for (variant, file, line, kind, effect, *diff), checks in rows.items():
        title = f"# {result.student.id} · {variant}: {', '.join(checks)} · {file}:{line} · {kind}"
        parts.append("\n".join([title, *([f"# {effect}"] if effect else []), f"--- {file}", f"+++ {file}", *diff, ""]))
    return "\n".join(parts)


def hint_msg(found: FoundRepair) -> Message | None:
    """Line and kind of the fault, and what was seen with one change there."""
    change = found.change
    known = f"{change.kind}_{change.detail}" if change.detail in DETAILS.get(change.kind, ()) else change.kind
    fault = msg(f"repairs.{known}", line=change.line)
    return joined(fault, msg("repairs.verified") if found.is_complete else msg("repairs.verified_partly"))


def _with_condition(check: Check, condition: TurnedAway | None) -> Check:
    if condition is None or check.status != "fail":
        return check
    known = check.hint_said if check.hint_said is not None and check.hint_said.id != FOLLOW else None
    return told(structs.replace(check, hint_said=joined(condition.hint, known)))


def _with_repair(check: Check, found: FoundRepair | None) -> Check:
    if found is None or check.status != "fail" or check.check not in found.mends:
        return check
    repair = None
    if found.is_complete:
        repair = Repair(
            file=found.file,
            line=found.change.line,
            kind=found.change.kind,
            diff=list(found.diff),
            effect_said=found.effect,
        )
    known = check.hint_said if check.hint_said is not None and check.hint_said.id not in OVERRULED else None
    choice = msg("repairs.either") if known is not None and known.id in OTHER_WAY else None
    return told(structs.replace(check, hint_said=joined(hint_msg(found), choice, known), repair=repair))
