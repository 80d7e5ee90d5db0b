"""Every check judged, by the rules by which they depend on one another.

A check is a pure function of `grader.running.evidence.Evidence`; it runs nothing and knows no lab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from msgspec import structs

from grader.checks import code, correct, execution, hazards, host, memory_accesses, outcomes
from grader.checks.base import Verdict, not_applicable, not_measured
from grader.lab.checks import kind_of
from grader.lab.records import CheckSpec
from grader.message import joined, msg, sentences_of
from grader.result import WAITING, Check
from grader.running.evidence import Evidence
from grader.submission.records import Missing

Trait = Literal["code", "run", "host", "limit", "margin", "result", "cost"]
"""What other parts need to know of a check besides its judge:

code: it judges the code of a kernel, which may be other code for a newer device.
run: it judges what a kernel does when it runs, whatever its block.
host: it judges the code around the kernels, so it is judged even where a kernel does not compile.
limit: it compares a number with a limit; the report shows what the lab's own solution has beside it.
margin: it may fail only because the program gives the kernel arrays with a margin and the grader does not.
result: a kernel that fails it computes something else than the lab asks for.
cost: it judges what a right kernel costs; whether it passes says nothing of a repair of a wrong result.
"""


class Judge(NamedTuple):
    """What a check is judged by, and its traits."""

    verdict_on: Callable[[Evidence, Any], Verdict]
    traits: frozenset[Trait] = frozenset()


def _judge(verdict_on: Callable[[Evidence, Any], Verdict], *traits: Trait) -> Judge:
    return Judge(verdict_on, frozenset(traits))


JUDGES: Mapping[str, Judge] = {
    "present": _judge(code.judge_present),
    "compiles": _judge(code.judge_compiles, "code"),
    "launch": _judge(host.judge_launch, "host"),
    "correct": _judge(correct.judge_correct, "code", "run", "margin", "result"),
    "ragged_sizes": _judge(correct.judge_ragged_sizes, "code", "run", "margin", "result"),
    "tests": _judge(outcomes.judge_tests),
    "memory_safety": _judge(hazards.judge_memory_safety, "code", "run", "margin", "result"),
    "races": _judge(hazards.judge_races, "code", "run", "result"),
    "deterministic": _judge(hazards.judge_deterministic, "code", "run"),
    "technique": _judge(memory_accesses.judge_technique, "code", "run"),
    "coalescing": _judge(memory_accesses.judge_coalescing, "code", "run", "cost"),
    "bank_conflicts": _judge(memory_accesses.judge_bank_conflicts, "code", "run", "cost"),
    "host_code": _judge(host.judge_host_code, "host"),
    "launches": _judge(host.judge_launches, "limit", "cost"),
    "overlap": _judge(host.judge_overlap, "limit", "cost"),
    "uses": _judge(code.judge_uses, "code", "run"),
    "work": _judge(execution.judge_work, "code", "run", "limit", "cost"),
    "atomics": _judge(execution.judge_atomics, "code", "run", "limit", "cost"),
    "divergence": _judge(execution.judge_divergence, "code", "run", "limit", "cost"),
    "occupancy": _judge(execution.judge_occupancy, "code", "run", "limit", "cost"),
    "speedup": _judge(execution.judge_speedup, "cost"),
}
"""The judge of each check, and all that others ask of it: a new check is a row here."""


def checks_with(trait: Trait) -> tuple[str, ...]:
    """Names of the checks with a trait, in the order of the table."""
    return tuple(name for name, row in JUDGES.items() if trait in row.traits)


def judge(evidence: Evidence) -> list[Check]:
    """The verdicts of all checks of a variant, in the order of its checks.

    Rules (docs/result.md): a check that needs one which failed or could not be judged is skipped and its points
    stay pending, neither given nor lost; a check that does not apply is no part of what is possible.  Of a submission
    that could not be observed, for a reason that is not its own, nothing is judged: elsewhere it might be otherwise.

    Where a kernel is other code on newer devices, each check says the worst that it says of any.
    """
    done: dict[str, Check] = {}
    if evidence.unobserved is not None:
        unjudged = Verdict("error", msg("observation.not_graded", why=evidence.unobserved))
        return [_check(evidence.variant.name, spec, unjudged) for spec in evidence.variant.checks]
    for spec in evidence.variant.checks:
        kind = kind_of(spec.check)
        verdict = _inapplicable(evidence, kind.name) or _blocked(kind.needs, done)
        if verdict is None and "host" in JUDGES[kind.name].traits:
            verdict = _of_host(evidence, spec, done)
        if verdict is None:
            verdict = _worst(evidence, spec, kind.name)
            if verdict.status == "pass":
                verdict = _blocked(kind.credit_needs, done) or verdict
        done[spec.check] = _check(evidence.variant.name, spec, verdict)
    return [_with_cause(check, done, evidence.lab.makes_launches) for check in done.values()]


DUE_TO = {
    "checks.correct.hint_memory_first": "memory_safety",
    "checks.correct.hint_race_first": "races",
    "checks.correct.hint_constants_first": "host_code",
    "launches.hint_launch_first": "launch",
    "launches.hint_pointer_first": "launch",
    "remedies.onto_unset": "memory_safety",
    "remedies.shared_unset": "memory_safety",
}
"""What a hint says comes first, by its id."""
CAUSES = ("launch", "host_code", "memory_safety", "races")
"""Checks that may find why another one fails, the likeliest first: what a launch is handed decides what its threads
touch, and what they touch decides who races."""
BY_HAND = ("unwritten", "uncopied", "by_hand", "follow", "other_reads", "missing", "surplus", "reads_nothing")
SEARCHES = frozenset(f"checks.correct.hint_{name}" for name in BY_HAND)
"""Hints that say how to look for a cause, as none is known."""


def _with_cause(check: Check, checks: Mapping[str, Check], runs_host: bool) -> Check:
    """Return a failed check with the name of the one in its data that found what it follows from, if any did.

    runs_host: the student's own host code made the results.
    """
    causes = (cause for name in CAUSES if (cause := checks.get(name)) is not None and cause.status == "fail")
    cause = next((c for c in causes if c is not check and _is_due_to(check, c, runs_host)), None)
    if check.status != "fail" or cause is None:
        return check
    return structs.replace(check, data={**check.data, "due_to": cause.check})


def _is_due_to(check: Check, cause: Check, runs_host: bool) -> bool:
    hint, order = check.hint_said, [*CAUSES, check.check]
    if {check.check, cause.check} == {"races", "memory_safety"}:
        access, race = sorted((check, cause), key=lambda c: order.index(c.check))
        is_one_line = access.line in (race.line, race.data.get("other_line"))
        # What another thread does write is read too early; what lies outside of an array may well be another's element.
        first = race if is_one_line and _is_of_unset(access) else access
        return is_one_line and cause is first
    if order.index(cause.check) >= order.index(check.check):
        return False
    if hint is not None and (DUE_TO.get(hint.id) == cause.check or hint == cause.hint_said):
        return True
    # What a kernel is run with by the grader is right whatever the host does.
    is_wrong = check.check in ("correct", "ragged_sizes") and (hint is None or hint.id in SEARCHES)
    return runs_host and cause.check == "host_code" and bool(cause.data.get("seen")) and is_wrong


def _is_of_unset(access: Check) -> bool:
    """Whether an access to memory is wrong in that nobody had written there."""
    sentences = sentences_of(access.message_said)
    return bool(sentences) and sentences[0].id in ("faults.unset_element", "faults.uninitialized")


def _inapplicable(evidence: Evidence, name: str) -> Verdict | None:
    """Return the verdict of a check that the kernel's text alone makes inapplicable, whatever fails before it."""
    if name != "ragged_sizes" or isinstance(evidence.binding, Missing):
        return None
    reason = correct.inapplicable(evidence)
    return not_applicable(reason) if reason is not None else None


def _of_host(evidence: Evidence, spec: CheckSpec, done: dict[str, Check]) -> Verdict | None:
    """Return why host code is not judged: it does not compile or cannot be read; None where it is judged."""
    blocked = _blocked(("compiles",), done)
    if blocked is None or evidence.compilation.is_host_broken:
        return blocked
    return blocked if _verdict(evidence, spec, spec.check).skip_reason == "not_applicable" else None


def _worst(evidence: Evidence, spec: CheckSpec, name: str) -> Verdict:
    """Return the verdict on the code for the oldest device, or a worse one on that for a newer device."""
    worst = _verdict(evidence, spec, name)
    if "code" not in JUDGES[name].traits or worst.status not in ("pass", "fail"):
        return worst
    for device, other in evidence.newer.items():
        verdict = _verdict(other, spec, name)
        if verdict.status == "fail" and (worst.status == "pass" or verdict.credit < worst.credit):
            message = msg("launches.on_newer", what=verdict.message, device=device)
            worst = replace(verdict, message=message, data={**verdict.data, "device": device})
    return worst


def _verdict(evidence: Evidence, spec: CheckSpec, name: str) -> Verdict:
    verdict = JUDGES[name].verdict_on(evidence, spec.settings)
    if verdict.status == "fail" and evidence.margin is not None and "margin" in JUDGES[name].traits:
        return not_measured(evidence.margin, msg("runs.hint_margin"))
    if verdict.status == "fail" and "run" in JUDGES[name].traits:
        # A block that the program does not use costs nothing: the launch that asks for an impossible one does.
        substituted = host.other_block(evidence)
        if substituted is not None:
            message = joined(verdict.message, substituted) or verdict.message
            return Verdict("skip", message, skip_reason="prerequisite", data={"blocked_by": "launch"})
    return verdict


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
    waits = verdict.status == "error" or verdict.skip_reason in WAITING
    return Check(
        id=f"{variant}.{spec.check}",
        variant=variant,
        check=spec.check,
        status=verdict.status,
        earned=round(spec.points * verdict.credit, 2),
        possible=0.0 if verdict.skip_reason == "not_applicable" else spec.points,
        pending=spec.points if waits else round(spec.points * verdict.open, 2),
        message_said=verdict.message,
        hint_said=verdict.hint,
        line=verdict.line,
        skip_reason=verdict.skip_reason,
        data=dict(verdict.data),
        diagnosis=verdict.diagnosis,
        file=verdict.file,
    )
