"""The checks that a lab file can ask for, and the rules by which they depend on one another.

A check is a pure function of `grader.running.evidence.Evidence`; it runs nothing and knows no lab.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import msgspec

from grader.checks.base import CheckKind, Verdict
from grader.lab.records import CheckSpec
from grader.message import msg
from grader.result import Check
from grader.running.evidence import Evidence


def _found() -> dict[str, CheckKind]:
    """The `CHECK` of each file here that has one, those before that others need."""
    modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]
    kinds = [module.CHECK for module in modules if hasattr(module, "CHECK")]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: (kind.place, kind.name))}


CHECKS: dict[str, CheckKind] = _found()
"""By name, in the order in which they run and are shown: what a check depends on comes before it."""

IMPLIED = tuple(kind.name for kind in CHECKS.values() if kind.implied)
"""Checks that every variant has, with no points where the lab file gives none: the others rest on them."""


def judge(evidence: Evidence) -> list[Check]:
    """The verdicts of all checks of a variant, in the order of `CHECKS`.

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
        earned=round(spec.points * verdict.share, 2),
        possible=0.0 if verdict.skip_reason == "not_applicable" else spec.points,
        pending=spec.points if waits else 0.0,
        message_said=verdict.message,
        hint_said=verdict.hint,
        line=verdict.line,
        skip_reason=verdict.skip_reason,
        data=dict(verdict.data),
        diagnosis=verdict.diagnosis,
    )
