"""`host_code`: errors of launches are looked at, copies are right, times are taken rightly, results are compared."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_applicable, not_measured, passed
from grader.checks.launch import SEEN, with_own_words
from grader.lab.checks import HostCodeSettings
from grader.message import Message, msg
from grader.running.evidence import Evidence

SHARE_LOST = 0.5
"""Of the points, for each kind of fault."""
OF_ORDER = (
    *(
        "programs.read_before_",
        "programs.returned_before_",
        "programs.stream_race",
        "programs.host_changed",
        "programs.overwritten",
    ),
    *("checks.host_code.copied_", "checks.host_code.filled_"),
    *("checks.host_code.compared_", "checks.host_code.same_array"),
)


def judge(evidence: Evidence, settings: HostCodeSettings) -> Verdict:
    """Pass when nothing is wrong around the launches of the variant's kernel."""
    host = evidence.host
    if not host.is_there:
        return not_applicable(msg("checks.host_code.none"))
    faults = host.counted(settings.of)
    kind = "program" if evidence.lab.program is not None else "function"
    if not faults and evidence.lab.makes_launches and not evidence.launches:
        # Host code that stands around no launch, or does not come to its end, has shown nothing.
        return not_measured(msg(f"checks.host_code.{kind}_not_seen", name=evidence.bound.kernel.name))
    if not faults and evidence.lab.makes_launches:
        return passed(
            msg(f"checks.host_code.{kind}_data_sound" if settings.of == "data" else f"checks.host_code.{kind}_sound")
        )
    if not faults and settings.of == "data":
        return passed(msg("checks.host_code.data_sound" if host.is_observed else "checks.host_code.reads_data_sound"))
    if not faults:
        return passed(msg("checks.host_code.sound" if host.is_observed else "checks.host_code.reads_sound"))
    first = faults[0]
    kinds = list(dict.fromkeys(fault.kind for fault in faults))
    data: dict[str, object] = {"kinds": kinds, "lines": [fault.line for fault in faults]}
    message = first.message
    if first.is_of_data:
        data |= SEEN
        message = with_own_words(evidence, message)
    credit = max(0.0, 1 - SHARE_LOST * len(kinds))
    hint = None if _is_of_order(first.message) else _hint(first.kind)
    verdict = failed(message, hint, first.line, credit=credit, data=data)
    return replace(verdict, file="" if first.file == evidence.bound.kernel.file else first.file)


def _is_of_order(message: Message) -> bool:
    """Whether a fault is one of order, of which no argument of a copy is the cause."""
    return message.id.startswith(OF_ORDER)


def _hint(kind: str) -> Message:
    return msg(f"checks.host_code.hint_{kind}")
