"""What the checks that look at runs have in common: a launch that did not end well, and a grid that leaves out part of
the data, as verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from grader.checks.base import Verdict, errored, failed, file_of_launch, not_applicable, not_measured, passed, remedy
from grader.devices import MAX_THREADS_PER_BLOCK
from grader.diagnosis.text import difference_msg, hazard_msg
from grader.lab import formula
from grader.lab.checks import CaseSettings
from grader.lab.records import Sizes
from grader.launching.backend import LaunchOutcome, reason_msg
from grader.launching.kernel import geometry
from grader.launching.trial import Run
from grader.measured import Diagnosis
from grader.message import Message, joined, msg, sizes_msg
from grader.ptx.records import Hazard
from grader.running.data_flow import reached_text
from grader.running.evidence import Evidence
from grader.submission.cpp.syntax import Name, Number, SizeOf
from grader.submission.kernels.records import LaunchSite
from grader.submission.kernels.symbolic import leaves_of
from grader.submission.records import LaunchPlan

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
    "null_pointer": msg("checks.memory_safety.hint_null"),
    "second_call": msg("launches.hint_second_call"),
    "second_call_with": msg("launches.hint_second_call_with"),
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
    {
        "second_call",
        "second_call_with",
        "null_pointer",
        "call_ended",
        "left_early",
        "left_before",
        "freed_array",
        "strayed",
        "by_host",
    }
    | {"undone", "program_ended", "no_output"}
)
"""Reasons of a function's or a program's, which say what there is to say themselves."""


def verdict_of_runs(runs: list[Run]) -> Verdict | None:
    """The verdict on the first run that is not right, None when all are.

    An instruction that the backend lacks is looked for first: what comes after it is not to be trusted.  A run that
    took too much is looked at last, and says what was seen up to then.
    """
    if not runs:
        return not_measured(msg("launches.no_size"), msg("launches.hint_no_size"))
    for run in runs:
        if run.outcome.status == "unsupported" and run.outcome.reason != "steps":
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
    given_up = next((run for run in runs if run.outcome.status == "unsupported"), None)
    return _given_up(given_up, runs) if given_up is not None else None


def _given_up(run: Run, runs: Sequence[Run]) -> Verdict:
    """The verdict on a run that took more than a launch may take: what was seen up to then, and at other sizes.

    It fails if that run had left an array by then: on a GPU no result can be relied on after that, whenever it ends.
    """
    message = msg("launches.unsupported", reason=reason_msg(run.outcome))
    strays = next((h for h in run.outcome.hazards if h.kind == "out_of_bounds"), None)
    if strays is not None:
        return failed(seen_at(run, hazard_msg(strays)), None, strays.line or None, data={"sizes": dict(run.sizes)})
    one = next((h for other in (run, *runs) for h in other.outcome.hazards), None)
    until_then = (
        msg("launches.until_then", line=one.line, what=hazard_msg(one)) if one is not None and one.line else None
    )
    return errored(joined(message, until_then) or message, run.outcome.line)


def judge_tests(evidence: Evidence, settings: CaseSettings) -> Verdict:
    """The verdict on one of the variant's tests, told as far as who reads it may know.

    What may be known of a sealed one is whether it is passed, and if not, in which of a few ways: no size, no value, no
    line, and no hint that follows from them.
    """
    view = evidence.lab.view
    name = next(name for name, test in evidence.variant.tests.items() if test is settings)
    kept = {"hidden": True} if settings.is_hidden(view) else {}
    if settings.is_secret(view):
        assert settings.until is not None
        later = msg("checks.tests.later", when=f"{settings.until:%Y-%m-%d %H:%M %Z}".strip())
        return Verdict("skip", later, skip_reason="later")
    run = evidence.tests.get(f"{evidence.variant.name}.{name}")
    if run is None:
        return not_applicable(msg("checks.tests.inapplicable"))
    verdict = verdict_of_runs([run])
    about = msg("checks.tests.about", **settings.about) if settings.about else None
    if settings.is_sealed(view):
        if verdict is None:
            return passed(msg("checks.tests.passed_sealed"), data=kept)
        if verdict.status == "error":
            return replace(errored(msg("checks.tests.unsupported")), data=kept)
        way = "stopped" if run.difference is None else "wrong"
        return failed(msg(f"checks.tests.{way}"), about, data=kept)
    if verdict is None:
        return passed(msg("checks.tests.passed", sizes=sizes_msg(run.sizes)), data={"sizes": dict(run.sizes), **kept})
    hint = joined(about, verdict.hint) if verdict.status == "fail" else verdict.hint
    return replace(verdict, hint=hint, data={**verdict.data, **kept})


def seen_at(run: Run, fault: Message) -> Message:
    """What was seen, and at which sizes."""
    return msg("launches.seen_at", what=fault, sizes=sizes_msg(run.sizes))


def explained(verdict: Verdict, diagnosis: Diagnosis | None) -> Verdict:
    """A verdict on a wrong output, told by its diagnosis where there is one."""
    if diagnosis is None or verdict.status != "fail" or "mismatches" not in verdict.data:
        return verdict
    message = msg(
        "launches.explained", explanation=joined(*diagnosis.sentences_said) or "", sizes=sizes_msg(diagnosis.size)
    )
    line = diagnosis.writer.line if diagnosis.writer is not None else verdict.line
    return replace(verdict, message=message, hint=remedy(diagnosis), line=line or None, diagnosis=diagnosis)


def fault(run: Run) -> Verdict:
    """A launch that stopped: why, where, and what usually causes it."""
    outcome = run.outcome
    hint = HINTS.get(outcome.reason, msg("launches.hint_last_error"))
    if outcome.reason.startswith("second_call") and any(
        h.kind in ("out_of_bounds", "uninitialized") for h in outcome.hazards
    ):
        # What lies outside of an array, or was never set, is another thing each time.
        hint = msg("checks.correct.hint_memory_first")
    data = {"sizes": dict(run.sizes), "reason": outcome.reason}
    return failed(seen_at(run, fault_msg(outcome)), hint, outcome.line, data=data, file=outcome.file)


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


def grid_left_out(evidence: Evidence, runs: Sequence[Run]) -> Verdict | None:
    """The verdict on the first wrong run whose grid covers less than its sizes; None where there is none.

    Only of a grid that the submission itself launches, and of a kernel that does not go on by itself with what its
    grid leaves over: such a one is right.
    """
    interpretation = evidence.interpretation
    if interpretation is None or not interpretation.launch.grid_formula:
        return None
    if evidence.bound.requested is not None and evidence.bound.requested.offset:
        # No one launch of several covers its sizes.
        return None
    plan = interpretation.launch
    for run in runs:
        is_wrong = run.outcome.status == "impossible" or (run.difference is not None and run.difference.mismatches)
        if not is_wrong:
            continue
        if run.difference is not None and not run.difference.unwritten and not interpretation.zeroed:
            # A kernel whose threads go on to further elements writes them all, and is wrong for another reason.
            continue
        grid = geometry(plan, run.sizes).grid
        extents = [prod(run.sizes[name] for name in covered.split("*")) for covered in plan.covers]
        covered = [blocks * step for blocks, step in zip(grid, plan.tile, strict=False)]
        short = next((axis for axis in range(len(extents)) if covered[axis] < extents[axis]), None)
        if short is None or _is_refuted(run, covered, extents) or not _mentions(evidence, "xyz"[short]):
            continue
        data = {"sizes": dict(run.sizes), "grid": list(grid), "covered": covered[short], "extent": extents[short]}
        blocks = "×".join(str(n) for n in grid[: max(2, len(plan.covers))])
        message: Message
        alone = _only_size(plan)
        if alone and min(covered) < run.sizes[alone]:
            # Rounded down it is short of that size too.
            alone = ""
        if min(grid) < 1:
            message = msg("checks.grids.empty", line=plan.line, grid=blocks, sizes=sizes_msg(run.sizes))
        elif alone:
            message = msg(
                "checks.grids.of_one_size", line=plan.line, grid=blocks, size=alone, sizes=sizes_msg(run.sizes)
            )
        else:
            message = msg(
                "checks.grids.left_out",
                line=plan.line,
                grid=blocks,
                axis="xyz"[short],
                covered=covered[short],
                extent=extents[short],
                sizes=sizes_msg(run.sizes),
            )
        requested = evidence.bound.requested
        if requested is not None and requested.seems_swapped:
            hint = msg("checks.grids.hint_block_first")
        elif alone:
            other_sizes = [name for name in plan.covers if name != alone]
            hint = msg("checks.grids.hint_of_one_size", size=alone, other=other_sizes[0])
        elif _are_swapped(plan, covered, extents):
            hint = msg("checks.grids.hint_swapped", x=plan.covers[0], y=plan.covers[1], tile=plan.tile[0])
        else:
            hint = _hint(plan, short)
        return failed(message, hint, plan.line, data=data, file=file_of_launch(evidence))
    return None


def _mentions(evidence: Evidence, axis: str) -> bool:
    """Whether a kernel speaks of an axis, itself or in what it calls: one that numbers its threads along x alone covers
    nothing along y."""
    kernel = evidence.bound.kernel
    source = evidence.source.get(kernel.file, "")
    text = "\n".join(source.split("\n")[kernel.line - 1 : kernel.end_line]) + reached_text(kernel.name, source)
    return axis == "x" or not text or re.search(rf"\.\s*{axis}\b", text) is not None


def _is_refuted(run: Run, covered: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether more was written than such a grid could reach, so that a block covers another number."""
    if run.difference is None or run.difference.total != prod(extents) or not all(covered):
        return False
    reached = prod(min(reach, extent) for reach, extent in zip(covered, extents, strict=True))
    return run.difference.total - run.difference.unwritten > reached


def _only_size(plan: LaunchPlan) -> str:
    """Return the one size that both axes of a grid are computed from, though they run over two; "" otherwise."""
    axes = [set(formula.names_of(text)) for text in plan.grid_formula[:2]]
    names = set().union(*axes)
    is_one = len(axes) == 2 and all(axes) and len(names) == 1 and names < set(plan.covers)
    return next(iter(names)) if is_one else ""


def _are_swapped(plan: LaunchPlan, covered: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether the grid would be right with its two axes exchanged."""
    if len(covered) != 2 or len(set(plan.tile[:2])) > 1 or "*" in "".join(plan.covers):
        return False
    x, y = covered
    return x != y and 0 <= x - extents[1] < plan.tile[0] and 0 <= y - extents[0] < plan.tile[1]


def _hint(plan: LaunchPlan, axis: int) -> Message:
    if axis >= len(plan.grid_formula) or not formula.names_of(plan.grid_formula[axis]):
        return msg("checks.grids.hint_fixed", axis="xyz"[axis], tile=plan.tile[axis])
    if _is_rounded_up(plan, axis):
        return msg("checks.grids.hint_other_extent", extent=plan.covers[axis], tile=plan.tile[axis])
    if plan.tile[axis] == 1:
        step = _divisor(plan, axis)
        if step and plan.block[axis] == 1 and prod(plan.block) * step <= MAX_THREADS_PER_BLOCK:
            sides = [*plan.block[:axis], step]
            return msg(
                "checks.grids.hint_one_thread", axis="xyz"[axis], step=step, sides=", ".join(str(n) for n in sides)
            )
        return msg("checks.grids.hint_one_element", axis="xyz"[axis])
    return msg("checks.grids.hint", tile=plan.tile[axis])


def _divisor(plan: LaunchPlan, axis: int) -> int:
    """What the size that an axis runs over is divided by, and rounded up, for its blocks; 0 where it is not."""
    text, name = plan.grid_formula[axis], plan.covers[axis]
    if formula.names_of(text) != {name}:
        return 0
    steps = range(2, MAX_THREADS_PER_BLOCK + 1)
    return next((s for s in steps if all(formula.integer(text, {name: n}) == -(-n // s) for n in (s, s + 1, 7 * s))), 0)


def _is_rounded_up(plan: LaunchPlan, axis: int) -> bool:
    """Whether there are blocks enough for the one size that their number follows from."""
    text = plan.grid_formula[axis]
    names = formula.names_of(text)
    if len(names) != 1 or plan.covers[axis] in names:
        return False
    (name,) = names
    tile = plan.tile[axis]
    return all(formula.integer(text, {name: size}) * tile >= size for size in (tile, tile + 1, 2 * tile - 1, 4 * tile))


ELEMENT_BYTES = (Number(2), Number(4), Number(8))
"""Factors that stand for the size of an element."""


def short_of_bytes(evidence: Evidence) -> Verdict | None:
    """The verdict on a launch that gives an array in shared memory elements in place of bytes, or none at all."""
    for run in evidence.runs_of("correct", "observe"):
        for hazard in run.outcome.hazards:
            if is_dynamic(evidence, hazard) and _is_of_the_launch(evidence, hazard, run.sizes):
                line = evidence.bound.requested.line if evidence.bound.requested is not None else 0
                data: dict[str, str | int] = {"array": hazard.array, "bytes": hazard.array_bytes}
                message = msg("checks.launch.short_of_bytes", sizes=sizes_msg(run.sizes), **data)
                return failed(message, dynamic_hint(evidence, hazard), line, data=data, file=file_of_launch(evidence))
    return None


def is_dynamic(evidence: Evidence, hazard: Hazard) -> bool:
    """Whether it is an access past the end of an array whose size the launch says."""
    dynamic = {array.name for array in evidence.bound.kernel.shared_arrays if array.dynamic}
    return hazard.kind == "out_of_bounds" and hazard.detail == "after" and hazard.array in dynamic


def dynamic_hint(evidence: Evidence, hazard: Hazard) -> Message:
    """What to do about such an access."""
    sizes = next((r.sizes for r in evidence.runs_of("correct", "observe") if hazard in r.outcome.hazards), {})
    array, count = hazard.array, hazard.array_bytes
    is_guessed = evidence.interpretation is not None and evidence.interpretation.origins.shared_bytes == "lab"
    if evidence.bound.requested is None and is_guessed:
        return msg("checks.memory_safety.hint_dynamic_unread", array=array, bytes=count)
    name = "hint_dynamic" if _is_in_elements(evidence, hazard, sizes) else "hint_dynamic_short"
    name = name if count else "hint_dynamic_none"
    return msg(f"checks.memory_safety.{name}", array=array, bytes=count, sizes=sizes_msg(sizes))


def _is_of_the_launch(evidence: Evidence, hazard: Hazard, sizes: Sizes) -> bool:
    """Whether the launch has no bytes for the array or a number of elements in their place, or fewer bytes than the lab
    gives such a block, which the access would be within."""
    site, plan = evidence.bound.requested, evidence.interpretation
    if site is None or plan is None:
        return False
    rule = evidence.lab.launch_of(evidence.variant).shared_bytes
    threads = prod(geometry(plan.launch, sizes).block)
    lab_bytes = formula.integer(rule, {**sizes, "threads": threads}) if rule and sizes else 0
    if not hazard.array_bytes or hazard.array_bytes < hazard.offset_bytes + hazard.width_bytes <= lab_bytes:
        return True
    return _is_in_elements(evidence, hazard, sizes)


def _is_in_elements(evidence: Evidence, hazard: Hazard, sizes: Sizes) -> bool:
    site = evidence.bound.requested
    fits_if_elements = hazard.offset_bytes // hazard.width_bytes < hazard.array_bytes
    is_size = site is not None and isinstance(site.shared_expression, Name) and hazard.array_bytes in sizes.values()
    return site is not None and fits_if_elements and (is_size or _counts_elements(site))


def _counts_elements(site: LaunchSite) -> bool:
    """Whether a launch's shared memory is written as a number of elements: a product without `sizeof` or its value.

    What is one name or one number may be a number of bytes, unless it is as many as the block has threads.
    """
    written = site.shared_expression
    if written is None or any(isinstance(leaf, SizeOf) or leaf in ELEMENT_BYTES for leaf in leaves_of(written)):
        return False
    is_one = isinstance(written, Name | Number)
    return not is_one or (site.block is not None and site.shared_bytes == prod(site.block))


def of_set_bytes(evidence: Evidence, diagnosis: Diagnosis | None) -> Message | None:
    """Say that the first wrong element is what a memset makes of an element, which was taken for a value."""
    if diagnosis is None or diagnosis.got is None or diagnosis.unwritten:
        return None
    dtype = np.dtype(evidence.lab.parameter(diagnosis.output).dtype)
    for array, _file, line, byte in evidence.host.set_bytes if dtype.itemsize > 1 else ():
        value = np.frombuffer(bytes([byte]) * dtype.itemsize, dtype)[0]
        if float(value) == diagnosis.got:
            return msg(
                "remedies.set_bytes",
                line=line,
                name=array,
                byte=f"0x{byte:02x}",
                value=f"{value.item():g}" if dtype.kind == "f" else str(value),
            )
    return None
