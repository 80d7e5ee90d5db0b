"""What the checks that look at runs have in common: a launch that did not end well, as a verdict."""

from __future__ import annotations

from dataclasses import replace

from grader.backends.base import LaunchOutcome
from grader.checks import device_faults
from grader.checks.base import Verdict, errored, failed, not_measured
from grader.checks.cures import cure
from grader.i18n import _
from grader.result import Diagnosis
from grader.running.evidence import Run
from grader.wording import changed_text, difference_text, sizes_text


def verdict_of_runs(runs: list[Run]) -> Verdict | None:
    """The verdict on the first run that is not right, None when all are.

    An instruction that the backend lacks is looked for first: what comes after it is not to be trusted.
    """
    if not runs:
        return not_measured(_("No size was run."))
    for run in runs:
        if run.outcome.status == "unsupported":
            return errored(
                _("This machine cannot run the kernel: {reason}").format(reason=run.outcome.reason), run.outcome.line
            )
    for run in runs:
        if run.outcome.status in ("fault", "impossible"):
            return fault(run)
        if run.changed_inputs:
            return failed(
                _("{difference} Seen at {sizes}.").format(
                    sizes=sizes_text(run.sizes), difference=changed_text(run.changed_inputs[0])
                ),
                _("The input must stay as it is: declare it const, and look at which pointer is written to."),
                data={"sizes": dict(run.sizes), "changed_inputs": list(run.changed_inputs)},
            )
        if run.difference is not None and run.difference.mismatches:
            text = _("{difference} Seen at {sizes}.").format(
                sizes=sizes_text(run.sizes), difference=difference_text(run.difference)
            )
            return failed(text, "", data={"sizes": dict(run.sizes)} | _numbers(run))
    return None


def explained(verdict: Verdict, diagnosis: Diagnosis | None) -> Verdict:
    """A verdict on a wrong output, told by its diagnosis where there is one."""
    if diagnosis is None or verdict.status != "fail" or "mismatches" not in verdict.data:
        return verdict
    message = _("{explanation} The smallest size that goes wrong: {sizes}.").format(
        sizes=sizes_text(diagnosis.size), explanation=" ".join(diagnosis.sentences)
    )
    line = diagnosis.writer.line if diagnosis.writer is not None else verdict.line
    return replace(verdict, message=message, hint=cure(diagnosis), line=line or None, diagnosis=diagnosis)


def fault(run: Run) -> Verdict:
    """A launch that stopped: why, where, and what usually causes it."""
    outcome = run.outcome
    at = _("{reason} Seen at {sizes}.").format(sizes=sizes_text(run.sizes), reason=fault_text(outcome))
    hints = {
        "deadlock": _("A barrier must be reached by every thread of the block: take it out of the if or the loop."),
        "time": _("Look at the loop's condition: does every thread change what it tests?"),
        "endless": _("Look at the loop's condition: does every thread change what it tests?"),
        "instructions": _("Look at the loop's condition: does every thread change what it tests?"),
    }
    hint = hints.get(outcome.reason) or device_faults.hint(outcome.reason)
    hint = hint or _("Call cudaGetLastError() after every launch to see such errors yourself.")
    return failed(at, hint, outcome.line, data={"sizes": dict(run.sizes), "reason": outcome.reason})


def fault_text(outcome: LaunchOutcome) -> str:
    """Why a launch stopped, in words."""
    line = outcome.line
    match outcome.reason:
        case "deadlock":
            return _("the kernel never ends: threads wait at line {line} for others that never come.").format(line=line)
        case "endless":
            return _("the kernel never ends: the loop at line {line} changes nothing that could end it.").format(
                line=line
            )
        case "time" | "instructions":
            return _("the kernel does not end in reasonable time; it was stopped at line {line}.").format(line=line)
        case "trap":
            return _("the kernel stopped itself (trap or failed assertion) at line {line}.").format(line=line)
    told = device_faults.text(outcome.reason)
    if told:
        return told
    if outcome.status == "impossible":
        return _("the launch is impossible: {reason}").format(reason=outcome.reason)
    return _("the kernel failed: {reason}").format(reason=outcome.reason)


def _numbers(run: Run) -> dict[str, object]:
    difference = run.difference
    if difference is None:
        return {}
    return {
        "mismatches": difference.mismatches,
        "total": difference.total,
        "pattern": difference.pattern,
        "first": list(difference.first or ()),
        "expected": difference.expected,
        "got": difference.got if difference.got == difference.got else None,
    }
