"""A check scored again by other points and thresholds, from what is stored of it; nothing is run.

What a kernel did does not change with the lab file's thresholds, so where a check's `data` hold what its thresholds are
compared with, its verdict follows from them.  Everything else has to be graded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from grader.checks.coalescing import TOLERANCE
from grader.lab.checks import BankConflictSettings, CoalescingSettings, SpeedupSettings
from grader.lab.records import CheckSpec
from grader.message import Message, joined, msg
from grader.result import Check, CheckStatus
from grader.timing.statistics import credit, decide


@dataclass(frozen=True, slots=True)
class _Again:
    status: CheckStatus
    credit: float
    message: Message | None


def rescored_check(check: Check, spec: CheckSpec, old_points: float, settings_changed: bool) -> Check | None:
    """The check by `spec`, None where what is stored does not suffice; old_points: what it could give before."""
    possible = 0.0 if check.skip_reason == "not_applicable" else spec.points
    if not settings_changed or check.status in ("skip", "error"):
        credit = check.earned / old_points if old_points else (1.0 if check.status == "pass" else 0.0)
        return _with(check, credit, possible, check.pending > 0 or _waits(check))
    again = _judged(check, spec.settings)
    if again is None:
        return None
    changed = _with(check, again.credit, possible, waits=False)
    if again.message is not None:
        changed = msgspec.structs.replace(changed, message_said=again.message)
    if again.status != check.status:
        # What the old verdict advised is no fault any more, or was none yet.
        changed = msgspec.structs.replace(changed, status=again.status, hint="", hint_said=None)
    return changed


def _with(check: Check, credit: float, possible: float, waits: bool) -> Check:
    return msgspec.structs.replace(
        check,
        earned=0.0 if waits else round(possible * credit, 2),
        pending=possible if waits else 0.0,
        possible=possible,
    )


def _waits(check: Check) -> bool:
    return check.status == "error" or check.skip_reason in ("not_measured", "prerequisite")


def _judged(check: Check, settings: Any) -> _Again | None:
    data = check.data
    match settings:
        case BankConflictSettings() if "ways" in data:
            credit = max((p.share for p in settings.partial if data["ways"] <= p.ways), default=0.0)
            return _Again(check.status, 1.0 if check.status == "pass" else credit, None)
        case CoalescingSettings() if "load_ratio" in data:
            return _coalescing(check, settings)
        case SpeedupSettings() if {"speedup", "low", "high", "full"} <= data.keys():
            return _speedup(check, settings)
    return None


def _coalescing(check: Check, settings: CoalescingSettings) -> _Again | None:
    ratios = (check.data["load_ratio"], check.data["store_ratio"])
    reached = max(ratios) if settings.sides == "both" else min(ratios)
    figures = check.message_said.data.get("figures") if check.message_said is not None else None
    # The stored ratios are rounded: too near a threshold they do not tell.
    limits = [settings.max_ratio, *(p.ratio for p in settings.partial)]
    if figures is None or any(0 < abs(reached - limit) <= 1e-4 for limit in limits):
        return None
    if reached <= settings.max_ratio + TOLERANCE:
        name = "passed" if settings.sides == "both" else "passed_one"
        return _Again("pass", 1.0, msg(f"checks.coalescing.{name}", figures=figures))
    if check.status == "pass":
        # Which line is to blame is not stored.
        return None
    credit = max((p.share for p in settings.partial if reached <= p.ratio + TOLERANCE), default=0.0)
    return _Again("fail", credit, None)


def _speedup(check: Check, settings: SpeedupSettings) -> _Again | None:
    message = check.message_said
    parts = message.data if message is not None and message.id == "checks.speedup.timed" else {}
    figures = parts.get("figures")
    if not isinstance(figures, Message) or figures.data.get("variant", check.variant) != settings.against:
        # Another kernel is compared with now, or the words are an earlier version's.
        return None
    speedup, low, high = (float(check.data[name]) for name in ("speedup", "low", "high"))
    thresholds = msg("checks.speedup.thresholds", full=settings.full, minimum=settings.minimum)
    timed = msg("checks.speedup.timed", figures=figures, thresholds=thresholds)
    earned = credit(speedup, settings.minimum, settings.full)
    match decide(low, high, settings.minimum):
        case "reached":
            return _Again("pass", earned, timed)
        case "undecided":
            return _Again("borderline", earned, joined(timed, msg("checks.speedup.undecided")) or timed)
    return _Again("fail", earned, timed)
