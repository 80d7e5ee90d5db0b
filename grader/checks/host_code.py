"""`host_code`: errors of launches are looked at, copies are right, times are taken rightly, results are compared."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_applicable, passed
from grader.lab.checks import Settings
from grader.message import Message, msg
from grader.running.evidence import Evidence

SHARE_LOST = 0.5
"""Of the points, for each kind of fault."""


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when nothing is wrong around the launches of the variant's kernel."""
    host = evidence.host
    if not host.is_there:
        return not_applicable(msg("checks.host_code.none"))
    if not host.faults:
        return passed(msg("checks.host_code.sound" if host.is_observed else "checks.host_code.reads_sound"))
    first = host.faults[0]
    kinds = list(dict.fromkeys(fault.kind for fault in host.faults))
    data = {"kinds": kinds, "lines": [fault.line for fault in host.faults]}
    credit = max(0.0, 1 - SHARE_LOST * len(kinds))
    verdict = failed(first.message, _hint(first.kind), first.line, credit=credit, data=data)
    return replace(verdict, file="" if first.file == evidence.bound.kernel.file else first.file)


def _hint(kind: str) -> Message:
    return msg(f"checks.host_code.hint_{kind}")
