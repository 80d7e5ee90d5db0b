"""A change that was run and graded, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.checks import races
from grader.message import Message
from grader.repair.change import Change, changed
from grader.repair.diff import diff_lines
from grader.repair.effect import effect_msg
from grader.result import Check
from grader.running.evidence import Evidence
from grader.submission.cpp.tree import ParsedFile

OF_OTHERS = ("speedup", "launch", "host_code")
"""Checks that no emulated run of a kernel decides: speed is measured on a GPU, and the host code stays as it is."""
OF_GPU = ("speedup", "host_code")
"""The same where host code is changed, and read anew."""


@dataclass(frozen=True, slots=True)
class FoundRepair:
    """A change that was run and graded.

    mends: names of the variant's checks that failed and pass with it.  is_complete: every check passes with it.
    diff: what is changed, as lines of a unified diff without its head.
    effect: what it does to the accesses that the check is about, None where it is about none.
    together: the variants that the one change mends, this one among them; () where it was tried for this one alone.
    """

    variant: str
    file: str
    change: Change
    mends: tuple[str, ...]
    is_complete: bool
    diff: tuple[str, ...]
    effect: Message | None = None
    together: tuple[str, ...] = ()


def judged(
    parsed: ParsedFile,
    evidence: Evidence,
    change: Change,
    before: Sequence[Check],
    after: Sequence[Check],
    changed_evidence: Evidence,
    left_out: Sequence[str] = OF_OTHERS,
) -> FoundRepair | None:
    """The repair that a change makes: None where it mends nothing, or spoils what was right."""
    new = {c.check: c for c in after}
    old = [c for c in before if c.check in new and c.check not in left_out]
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
