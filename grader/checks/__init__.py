"""Every check judged, by the rules by which they depend on one another.

A check is a pure function of `grader.running.evidence.Evidence`; it runs nothing and knows no lab.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from grader.checks.base import Verdict, not_measured
from grader.lab.checks import CHECKS
from grader.lab.records import CheckSpec
from grader.message import msg
from grader.result import Check
from grader.running.evidence import Evidence

JUDGES: dict[str, Callable[[Evidence, Any], Verdict]] = {
    name: import_module(f"{__name__}.{name}").judge for name in CHECKS
}
"""What each check judges by: `judge` of the file of its name."""

OF_MARGINS = frozenset({"correct", "memory_safety", "ragged_sizes"})
"""Checks that fail of a kernel whose arrays have a margin in the program, and none here."""


def judge(evidence: Evidence) -> list[Check]:
    """The verdicts of all checks of a variant, in the order of `CHECKS`.

    Rules (docs/result.md): a check that needs one which failed or could not be judged is skipped and its points
    stay pending, neither given nor lost; a check that does not apply is no part of what is possible.  Of a submission
    that could not be observed, for a reason that is not its own, nothing is judged: elsewhere it might be otherwise.
    """
    done: dict[str, Check] = {}
    if evidence.unobserved is not None:
        unjudged = Verdict("error", msg("observation.not_graded", why=evidence.unobserved))
        return [_check(evidence.variant.name, spec, unjudged) for spec in evidence.variant.checks]
    for spec in evidence.variant.checks:
        kind = CHECKS[spec.check]
        verdict = _blocked(kind.needs, done)
        if verdict is None:
            verdict = JUDGES[kind.name](evidence, spec.settings)
            if verdict.status == "fail" and evidence.margin is not None and kind.name in OF_MARGINS:
                verdict = not_measured(evidence.margin)
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
            message = msg("checks.blocked", check=msg(f"checks.{root}.title"))
            return Verdict("skip", message, skip_reason="prerequisite", data={"blocked_by": root})
        message = msg("checks.not_judged", check=msg(f"checks.{need}.title"))
        return Verdict("skip", message, skip_reason="not_measured", data={"blocked_by": need})
    return None


def _check(variant: str, spec: CheckSpec, verdict: Verdict) -> Check:
    waits = verdict.status == "error" or verdict.skip_reason in ("not_measured", "prerequisite")
    return Check(
        id=f"{variant}.{spec.check}",
        variant=variant,
        check=spec.check,
        status=verdict.status,
        earned=round(spec.points * verdict.credit, 2),
        possible=0.0 if verdict.skip_reason == "not_applicable" else spec.points,
        pending=spec.points if waits else 0.0,
        message_said=verdict.message,
        hint_said=verdict.hint,
        line=verdict.line,
        skip_reason=verdict.skip_reason,
        data=dict(verdict.data),
        diagnosis=verdict.diagnosis,
        file=verdict.file,
    )
