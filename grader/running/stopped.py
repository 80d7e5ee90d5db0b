"""Why calls of a function or a program gave nothing to be compared; and what of it lives on from one call to the
next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from grader.diagnosis.text import hazard_msg
from grader.launching.backend import LaunchOutcome
from grader.message import msg
from grader.programs.records import LIBRARY, CallLaunch, CallSeen, Observation
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import declared_name, descendants, qualifiers_of
from grader.submission.source import SourceText

NO_FAULTS = frozenset({"programs.hangs", "programs.process_died", "programs.launch_seconds"})
"""Ends that a clock or the machine has brought about."""
NOT_OURS = frozenset(
    f"programs.{name}"
    for name in ("kernel_not_emulated", "emulator_cannot", "kernel_keeps_pointer", "kernel_waits_for_host")
)
"""Ends that come of what the emulator lacks."""
OF_CARD: dict[str, tuple[str, str]] = {
    "fault": ("fault", "call_ended"),
    "hangs": ("fault", "call_ended"),
    "unsupported": ("unsupported", "on_card"),
}
"""What a GPU has ended a launch with, by the finding that tells of it."""


def of_launches(observation: Observation) -> LaunchOutcome | None:
    """What stopped one of the launches, or kept it from being run; None where nothing did."""
    finding = next((f for f in observation.findings if f.kind in OF_CARD), None) if observation.device else None
    if finding is not None:
        status, reason = OF_CARD[finding.kind]
        return LaunchOutcome(status, reason=reason, said=finding.message, line=finding.line, file=finding.file)
    cause = observation.cause
    if cause is not None and cause.id in NO_FAULTS | NOT_OURS:
        return LaunchOutcome("unsupported", reason=cause.id, said=cause)
    for launch in (launch for call in observation.calls for launch in call.launches):
        if launch.status == "too_many_steps":
            said = msg("launches.emulator_steps")
            return LaunchOutcome("unsupported", reason="steps", said=said, line=launch.line)
        if launch.status in ("trap", "grid_sync", "endless"):
            reason = launch.reason if launch.status == "endless" else launch.status
            return _ended_in(launch, reason)
        if launch.status in ("too_large", "too_slow"):
            return _ended_in(launch, "instructions")
        of_null = next((h for h in launch.hazards if h.detail == "null"), None)
        if of_null is not None:
            said = msg("launches.null_pointer", kernel=launch.kernel, what=hazard_msg(of_null))
            at = msgspec.structs.replace(launch, line=of_null.line, file=of_null.file or launch.file)
            return replace(_ended_in(at, "null_pointer"), said=said)
    return None


def _ended_in(launch: CallLaunch, reason: str) -> LaunchOutcome:
    is_own = launch.file != LIBRARY
    return LaunchOutcome("fault", reason=reason, line=launch.line if is_own else 0, file=launch.file if is_own else "")


def stopped(observation: Observation, wanted: int) -> LaunchOutcome | None:
    """Why there is nothing to be compared: a launch that stopped, a call that did not return; None where there is."""
    ended = of_launches(observation)
    if ended is not None:
        return ended
    cause = observation.cause
    last = observation.calls[-1] if observation.calls else CallSeen()
    if len(observation.calls) < wanted or not last.has_returned:
        number = max(1, len(observation.calls))
        if cause is not None:
            place = next((f for f in reversed(observation.findings) if f.message == cause), None)
            said = msg("launches.call_ended", number=number, what=cause)
            line, file = (place.line, place.file) if place is not None else (0, "")
            return LaunchOutcome("fault", reason="call_ended", said=said, line=line, file=file)
        if not observation.calls:
            return LaunchOutcome("fault", reason="left_before", said=msg("launches.left_before"))
        return LaunchOutcome("fault", reason="left_early", said=msg("launches.left_early", number=number))
    for call in observation.calls:
        if call.by_host:
            return LaunchOutcome("fault", reason="by_host", said=msg("launches.by_host", name=call.by_host[0]))
        if call.freed:
            name, file, line = call.freed[0]
            said = msg("launches.freed_array", name=name)
            return LaunchOutcome("fault", reason="freed_array", said=said, line=line, file=file)
        if call.strayed:
            name, side = call.strayed[0]
            return LaunchOutcome("fault", reason="strayed", said=msg(f"launches.strayed_{side}", name=name))
    return None


def living_on(texts: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """Name, file and line of what keeps its value from call to call: variables of the device and of the host that are
    no constants, and static ones of functions.  Constant memory is left out, which every call may fill.

    texts: of files, by name.
    """
    for file, text in texts.items():
        parsed = parse(SourceText(Path(file), text, "utf-8"))
        for item in parsed.items:
            nodes = [item.node] if item.kind == "variable" else []
            if item.kind == "function" and not item.is_device and item.name != "main":
                nodes = [n for n in descendants(item.node) if n.type == "declaration" and "static" in qualifiers_of(n)]
            for node in nodes if item.active else ():
                if {"const", "constexpr", "extern", "__constant__"} & qualifiers_of(node):
                    continue
                for declarator in node.children_by_field_name("declarator"):
                    if declared_name(declarator) and declarator.type != "function_declarator":
                        yield declared_name(declarator), file, declarator.start_point.row + 1
