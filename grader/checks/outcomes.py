"""What the checks that look at runs have in common: a launch that did not end well, as a verdict."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, errored, failed, not_measured, remedy
from grader.diagnosis.text import difference_msg
from grader.launching.backend import LaunchOutcome, reason_msg
from grader.launching.trial import Run
from grader.message import Message, joined, msg, sizes_msg
from grader.result import Diagnosis

REASONS = {
    "illegal_address": msg("launches.illegal_address"),
    "misaligned_address": msg("launches.misaligned_address"),
    "launch_failure": msg("launches.launch_failure"),
    "repeat_wrong": msg("launches.repeat_wrong"),
    "repeat_unwritten": msg("launches.repeat_unwritten"),
    "repeat_input_changed": msg("launches.repeat_input_changed"),
    "repeat_guard": msg("launches.repeat_guard"),
    "too_large": msg("launches.too_large"),
}
"""Why a launch stopped, was wrong, or was not made; of those on a GPU the hardware tells less than the emulator."""

HINTS = {
    "deadlock": msg("launches.hint_deadlock"),
    "time": msg("launches.hint_steps"),
    "endless": msg("launches.hint_endless"),
    "instructions": msg("launches.hint_steps"),
    "memory": msg("launches.hint_memory"),
    "illegal_address": msg("launches.hint_address"),
    "misaligned_address": msg("launches.hint_misaligned"),
    "launch_failure": msg("launches.hint_shared_index"),
    "repeat_wrong": msg("launches.hint_repeat"),
    "repeat_unwritten": msg("launches.hint_repeat"),
    "repeat_input_changed": msg("launches.hint_repeat"),
    "repeat_guard": msg("launches.hint_address"),
    "too_large": msg("launches.hint_too_large"),
    "second_call": msg("launches.hint_second_call"),
    "call_ended": msg("launches.hint_call_ended"),
    "left_early": msg("launches.hint_left"),
    "left_before": msg("launches.hint_left"),
    "freed_array": msg("launches.hint_freed_array"),
    "strayed": msg("launches.hint_strayed"),
    "by_host": msg("launches.hint_by_host"),
    "undone": msg("launches.hint_undone"),
    "program_ended": msg("launches.hint_program_ended"),
    "no_output": msg("launches.hint_no_output"),
}
"""What usually causes it."""


OF_CALLS = frozenset(
    {"second_call", "call_ended", "left_early", "left_before", "freed_array", "strayed", "by_host"}
    | {"undone", "program_ended", "no_output"}
)
"""Reasons of a function's or a program's, which say what there is to say themselves."""


def verdict_of_runs(runs: list[Run]) -> Verdict | None:
    """The verdict on the first run that is not right, None when all are.

    An instruction that the backend lacks is looked for first: what comes after it is not to be trusted.
    """
    if not runs:
        return not_measured(msg("launches.no_size"), msg("launches.hint_no_size"))
    for run in runs:
        if run.outcome.status == "unsupported":
            return errored(msg("launches.unsupported", reason=reason_msg(run.outcome)), run.outcome.line)
    for run in runs:
        if run.outcome.status in ("fault", "impossible"):
            return fault(run)
        if run.changed_inputs:
            return failed(
                seen_at(run, msg("outputs.input_changed", name=run.changed_inputs[0])),
                msg("outputs.hint_input_changed"),
                data={"sizes": dict(run.sizes), "changed_inputs": list(run.changed_inputs)},
            )
        if run.difference is not None and run.difference.mismatches:
            data = {"sizes": dict(run.sizes)} | _numbers(run)
            return failed(seen_at(run, difference_msg(run.difference)), None, data=data)
    return None


def seen_at(run: Run, what: Message) -> Message:
    """What was seen, and at which sizes."""
    return msg("launches.seen_at", what=what, sizes=sizes_msg(run.sizes))


def explained(verdict: Verdict, diagnosis: Diagnosis | None) -> Verdict:
    """A verdict on a wrong output, told by its diagnosis where there is one."""
    if diagnosis is None or verdict.status != "fail" or "mismatches" not in verdict.data:
        return verdict
    message = msg(
        "launches.explained",
        explanation=joined(*diagnosis.sentences_said) or "",
        sizes=sizes_msg(diagnosis.size),
    )
    line = diagnosis.writer.line if diagnosis.writer is not None else verdict.line
    return replace(verdict, message=message, hint=remedy(diagnosis), line=line or None, diagnosis=diagnosis)


def fault(run: Run) -> Verdict:
    """A launch that stopped: why, where, and what usually causes it."""
    outcome = run.outcome
    hint = HINTS.get(outcome.reason, msg("launches.hint_last_error"))
    data = {"sizes": dict(run.sizes), "reason": outcome.reason}
    return replace(failed(seen_at(run, fault_msg(outcome)), hint, outcome.line, data=data), file=outcome.file)


def fault_msg(outcome: LaunchOutcome) -> Message:
    """Why a launch stopped."""
    line = outcome.line
    match outcome.reason:
        case "deadlock":
            return msg("launches.deadlock", line=line)
        case "endless":
            return msg("launches.endless", line=line)
        case "time" | "instructions":
            return msg("launches.limit", line=line) if line else msg("launches.limit_nowhere")
        case "trap" | "grid_sync" | "memory":
            return msg(f"launches.{outcome.reason}", line=line)
    if outcome.reason in OF_CALLS:
        return reason_msg(outcome)
    if outcome.reason in REASONS:
        return REASONS[outcome.reason]
    if outcome.status == "impossible":
        return msg("launches.impossible", reason=reason_msg(outcome))
    return msg("launches.failed", reason=reason_msg(outcome))


def _numbers(run: Run) -> dict[str, object]:
    difference = run.difference
    if difference is None:
        return {}
    return {
        "mismatches": difference.mismatches,
        "total": difference.total,
        "pattern": difference.extent,
        "first": list(difference.first or ()),
        "expected": difference.expected,
        "got": difference.got if difference.got == difference.got else None,
    }
