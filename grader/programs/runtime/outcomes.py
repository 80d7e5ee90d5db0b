"""What a launch that was run, or refused, means for the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.diagnosis.faults import hazard_msg as hazard_message
from grader.message import Message, msg
from grader.programs.emulated import Outcome
from grader.programs.records import LineCount, ObservedHazard, ObservedLaunch
from grader.programs.runtime.errors import name_of
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import Kernel, State
from grader.ptx.records import Hazard

PAGE = 2 << 20
"""Granularity in which a driver maps memory: what lies beyond an array, but not beyond this, does not fault."""


def judge(state: State, kernel: Kernel, record: ObservedLaunch, outcome: Outcome, place: Place) -> int:
    """What the run means for the program: tell it, and return what the launch returns."""
    record.thread_instructions = outcome.thread_instructions
    hazards = _one_a_line(outcome.hazards)
    record.hazards = [
        ObservedHazard(hazard.kind, hazard.line, hazard_message(hazard), hazard.count) for hazard in hazards
    ]
    if outcome.counters is not None:
        record.counters = [
            LineCount(c.line, c.space, c.op, c.requests, c.wavefronts, c.sectors, c.ideal, c.ways)
            for c in outcome.counters.by_line
        ]
    at = Place(outcome.line, state.unit_names[kernel.unit])
    match outcome.status:
        case "too_large":
            return _traced(state, record, "too_large", msg("programs.too_large", kernel=kernel.display), place)
        case "unsupported":
            reason = outcome.reason.split("\n")[0]
            message = msg("programs.kernel_unsupported", kernel=kernel.display, reason=reason)
            return _traced(state, record, "unsupported", message, place)
        case "impossible":
            message = msg("programs.launch_impossible", kernel=kernel.display, reason=outcome.reason)
            state.tell("launch_refused", "error", message, place)
            return failed(state, record, 1, place)
        case "trap" | "grid_sync":
            state.tell("trap", "error", msg(f"programs.{outcome.status}", kernel=kernel.display), at)
            return _faulted(state, record, 710 if "assert" in outcome.reason else 719, place)
        case "endless":
            state.tell("endless", "error", msg("programs.endless", kernel=kernel.display), at)
            return _faulted(state, record, 702, place)
    strayed = [hazard for hazard in hazards if hazard.detail == "unmapped" and hazard.space != "shared"]
    if any(shared_at(state, hazard.offset_bytes) for hazard in strayed):
        # A pointer that lies in memory is the host's here; on a GPU both sides have one address for it.
        record.hazards = []
        return _traced(state, record, "unsupported", msg("programs.kernel_kept_pointer", kernel=kernel.display), place)
    code = 0
    for hazard in hazards:
        severity = "error" if hazard.kind != "uninitialized" or not state.hollow else "remark"
        message = _stray_msg(state, kernel, hazard) or hazard_message(hazard)
        state.tell(hazard.kind, severity, message, replace(at, line=hazard.line))
        # An address that is mapped nowhere outweighs all else; of others the first counts.
        code = 700 if hazard.detail == "unmapped" else code or _error_of(hazard)
    return _faulted(state, record, code, place) if code else 0


def _stray_msg(state: State, kernel: Kernel, hazard: Hazard) -> Message | None:
    """What an address is that is no memory of the device; None where it is known no better."""
    if hazard.detail != "unmapped" or hazard.space == "shared":
        return None
    freed = state.memory.find_freed(hazard.offset_bytes)
    if freed is not None:
        return msg("programs.kernel_use_after_free", kernel=kernel.display, array=freed.name)
    if 0 < hazard.offset_bytes < state.guest.size():
        return msg("programs.kernel_host_pointer", kernel=kernel.display)
    return msg("programs.kernel_null_pointer", kernel=kernel.display) if hazard.offset_bytes <= 0 else None


def _error_of(hazard: Hazard) -> int:
    """CUDA's error for an access within memory that a driver maps, 0 where hardware notices nothing."""
    if hazard.space in ("texture", "surface"):
        return 719
    if hazard.kind != "out_of_bounds":
        return 0
    if hazard.detail == "misaligned":
        return 716
    end = -(-hazard.array_bytes // PAGE) * PAGE
    return 700 if hazard.space in ("global", "generic") and not -PAGE <= hazard.offset_bytes < end else 0


def _one_a_line(hazards: Sequence[Hazard]) -> list[Hazard]:
    """A loop that the compiler unrolled does the same wrong thing in many instructions of one line: tell it once.

    What ends the kernel on hardware is told before what does not.
    """
    found: dict[tuple[str, int], Hazard] = {}
    for hazard in sorted(hazards, key=lambda hazard: hazard.detail not in ("unmapped", "misaligned")):
        known = found.get((hazard.kind, hazard.line))
        count = hazard.count + (known.count if known else 0)
        found[hazard.kind, hazard.line] = replace(known or hazard, count=count)
    return sorted(found.values(), key=lambda hazard: hazard.line)


def _traced(state: State, record: ObservedLaunch, kind: str, message: Message, place: Place) -> int:
    """The launch is known, what it does is not: the data that follow are hollow."""
    record.status = "traced"
    state.hollow = True
    state.tell(kind, "warning", message, place)
    return 0


def _faulted(state: State, record: ObservedLaunch, code: int, place: Place) -> int:
    """A fault ends the context: this launch has returned by then, every later call tells it."""
    record.status = "faulted"
    record.error = name_of(code)
    state.fault = (code, record, place)
    return 0


def failed(state: State, record: ObservedLaunch, code: int, place: Place) -> int:
    """The launch is refused with an error of CUDA's."""
    record.status = "failed"
    record.error = name_of(code)
    state.fail("launch", code, place).launch = record
    return code
