"""The checks that a lab file can ask for, and the rules by which they depend on one another.

A check is a pure function of `grader.running.evidence.Evidence`; it runs nothing and knows no lab.
"""

from __future__ import annotations

import msgspec

from grader.checks import (
    bank_conflicts,
    coalescing,
    compiles,
    correct,
    launch,
    memory_safety,
    present,
    races,
    ragged_sizes,
    speedup,
    technique,
)
from grader.checks.base import CheckKind, Verdict
from grader.i18n import _
from grader.lab.records import CheckSpec
from grader.message import Message, verbatim
from grader.result import Check
from grader.running.evidence import Evidence
from grader.titles import check_title

CHECKS: dict[str, CheckKind] = {
    module.CHECK.name: module.CHECK
    for module in (
        present,
        compiles,
        launch,
        correct,
        ragged_sizes,
        memory_safety,
        races,
        technique,
        coalescing,
        bank_conflicts,
        speedup,
    )
}
"""By name, in the order in which they run: what a check depends on comes before it."""

IMPLIED = ("present", "compiles", "launch", "correct")
"""Checks that every variant has, with no points where the lab file gives none: the others rest on them."""


def judge(evidence: Evidence) -> list[Check]:
    """The verdicts of all checks of a variant, in the lab file's order.

    Rules (docs/result.md): a check that needs one which failed or could not be judged is skipped and its points
    stay pending, neither given nor lost; a check that does not apply is no part of what is possible.
    """
    done: dict[str, Check] = {}
    for spec in evidence.variant.checks:
        kind = CHECKS[spec.check]
        verdict = _blocked(kind.needs, done)
        if verdict is None:
            verdict = kind.judge(evidence, msgspec.convert(dict(spec.settings), kind.settings))
            if verdict.status == "pass":
                verdict = _blocked(kind.credit_needs, done) or verdict
        done[spec.check] = _check(evidence.variant.name, spec, verdict)
    return list(done.values())


def _blocked(needs: tuple[str, ...], done: dict[str, Check]) -> Verdict | None:
    for need in needs:
        check = done.get(need)
        if check is None or check.status in ("pass", "borderline") or check.skip_reason == "not_applicable":
            continue
        if check.status == "fail" or check.skip_reason == "prerequisite":
            root = check.data.get("blocked_by", need)
            message = _("Not graded, because the check “{check}” failed.").format(check=check_title(root))
            return Verdict("skip", message, skip_reason="prerequisite", data={"blocked_by": root})
        message = _("Not graded, because the check “{check}” could not be judged.").format(check=check_title(need))
        return Verdict("skip", message, skip_reason="not_measured", data={"blocked_by": need})
    return None


def _check(variant: str, spec: CheckSpec, verdict: Verdict) -> Check:
    waits = verdict.status == "error" or verdict.skip_reason in ("not_measured", "prerequisite")
    return Check(
        id=f"{variant}.{spec.check}",
        variant=variant,
        check=spec.check,
        status=verdict.status,
        earned=round(spec.points * verdict.share, 2),
        possible=0.0 if verdict.skip_reason == "not_applicable" else spec.points,
        pending=spec.points if waits else 0.0,
        message_said=verdict.message if isinstance(verdict.message, Message) else verbatim(verdict.message),
        hint_said=verbatim(verdict.hint) if isinstance(verdict.hint, str) and verdict.hint else verdict.hint or None,
        line=verdict.line,
        skip_reason=verdict.skip_reason,
        data=dict(verdict.data),
        diagnosis=verdict.diagnosis,
    )
