"""`races`: threads that touch the same memory have a barrier between them, and every thread reaches every barrier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.diagnosis.text import hazard_msg
from grader.lab.checks import Settings
from grader.message import Message, msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence

KINDS = ("race", "barrier_divergence", "warp_sync")


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail at the first line where a race or a divergent barrier was seen.

    Two writes of one value are a race too in the language's rules, yet cannot show: they cost nothing.
    """
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = counted(evidence.hazards(*KINDS))
    if not hazards:
        return passed(msg("checks.races.none"))
    first = worst(hazards)
    data = {"lines": [h.line for h in hazards], "other_line": first.other_line, "count": first.count}
    return replace(failed(hazard_msg(first), hint(first), first.line, data=data), file=evidence.file_of(first.file))


def counted(hazards: Iterable[Hazard]) -> list[Hazard]:
    """The hazards that are this check's and cost points."""
    return [h for h in hazards if h.kind in KINDS and h.detail != "write_write_same_value"]


def worst(hazards: Iterable[Hazard]) -> Hazard:
    """The one to tell of: a divergent barrier is the cause, the races that it leaves open are what comes of it."""
    return min(hazards, key=lambda h: (h.kind == "race", h.line))


def hint(hazard: Hazard) -> Message:
    """How to mend it."""
    if hazard.kind == "barrier_divergence":
        return msg("checks.races.hint_barrier")
    if hazard.kind == "warp_sync" and hazard.detail == "inactive_source":
        return msg("checks.races.hint_warp_source")
    if hazard.kind == "warp_sync":
        return msg("checks.races.hint_warp_mask")
    if hazard.detail in ("unfinished_copy", "late_copy"):
        return msg("checks.races.hint_copy")
    if hazard.detail == "scope":
        return msg("checks.races.hint_scope")
    is_between_blocks = hazard.other_block is not None and hazard.other_block != hazard.block
    if hazard.space == "global" and hazard.detail == "read_write":
        return msg("checks.races.hint_global_read")
    if hazard.space == "global":
        return msg("checks.races.hint_global" if is_between_blocks else "checks.races.hint_global_block")
    if hazard.detail.startswith("write_write"):
        return msg("checks.races.hint_write_write")
    # Where a barrier belongs is found out by trying (`grader.repair`): not always between the two lines.
    if hazard.within_warp:
        return msg("checks.races.hint_within_warp")
    return msg("checks.races.hint_between_warps")
