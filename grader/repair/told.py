"""Findings as they stand in a result: the hints that they make true, and the change for who may see it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from grader.message import Message, joined, msg
from grader.repair.search import Finding
from grader.result import Check, Repair, Result
from grader.words import told

DETAILS = {
    "barrier": ("after", "loop_end", "loop_start", "in_branch", "removed", "stronger"),
    "guard": ("missing", "removed"),
    "initial_value": ("missing",),
}
"""Finer cases that have words of their own."""


def with_findings(result: Result, findings: Sequence[Finding]) -> Result:
    """`result` with the hints of the checks that a change mends, and the change where all checks pass with it."""
    by_variant = {finding.variant: finding for finding in findings}
    checks = [_with_finding(check, by_variant.get(check.variant)) for check in result.checks]
    return structs.replace(result, checks=checks)


def without_answers(result: Result) -> Result:
    """The same with no change to be read from it: line and kind of fault alone."""
    checks = [
        structs.replace(c, repair=structs.replace(c.repair, diff=[], effect="", effect_said=None)) if c.repair else c
        for c in result.checks
    ]
    return structs.replace(result, checks=checks)


def hint_msg(finding: Finding) -> Message | None:
    """Line and kind of the fault, and what was seen with one change there."""
    change = finding.change
    known = f"{change.kind}_{change.detail}" if change.detail in DETAILS.get(change.kind, ()) else change.kind
    fault = msg(f"repairs.{known}", line=change.line)
    return joined(fault, msg("repairs.verified") if finding.is_complete else msg("repairs.verified_partly"))


def _with_finding(check: Check, finding: Finding | None) -> Check:
    if finding is None or check.status != "fail" or check.check not in finding.mends:
        return check
    repair = None
    if finding.is_complete:
        repair = Repair(
            file=finding.file,
            line=finding.change.line,
            kind=finding.change.kind,
            diff=list(finding.diff),
            effect_said=finding.effect,
        )
    return told(structs.replace(check, hint_said=joined(hint_msg(finding), check.hint_said), repair=repair))
