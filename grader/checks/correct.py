"""`correct`: the output is the oracle's, at every size that is a multiple of the tile.

`ragged_sizes`: at sizes that are not, for kernels that are told the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from grader.checks import hazards, host
from grader.checks.base import Verdict, failed, not_applicable, passed
from grader.checks.outcomes import explained, grid_left_out, is_dynamic, of_set_bytes, seen_at, verdict_of_runs
from grader.devices import UNSET_BYTE
from grader.diagnosis.text import hazard_msg
from grader.lab import formula
from grader.lab.checks import CorrectSettings, Settings
from grader.launching.backend import ScalarArgument
from grader.launching.kernel import block_of
from grader.launching.trial import Run
from grader.measured import Diagnosis
from grader.message import Message, joined, msg, sizes_msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence, OtherInput, OwnCheck

UNFILLED = ("programs.symbol_too_short", "programs.symbol_of_pointer", "checks.host_code.constant_unset")
"""Ids of faults of the host by which constants that kernels read are not what they are meant to be."""


def judge_correct(evidence: Evidence, settings: CorrectSettings) -> Verdict:
    """The verdict on the outputs; beside a failure what the program's own check says, where it says something else."""
    verdict, own = _judged(evidence, settings), evidence.own_check
    if own is None or verdict.status != "fail" or own.is_explained:
        return verdict
    return replace(verdict, message=joined(verdict.message, own_check_msg(own)) or verdict.message)


def own_check_msg(own: OwnCheck) -> Message:
    """What the program's own check says, and whether it is right in that."""
    if own.sizes is None or own.case_is_right is None:
        return msg("checks.correct.own_says", line=own.text)
    sizes = sizes_msg(own.sizes)
    if own.case_is_right:
        form = "own_right" if own.is_right else "own_wrong"
        return msg(f"checks.correct.{form}", line=own.text, sizes=sizes)
    misses = "own_exchanged" if own.is_exchanged else "own_misses"
    return msg(f"checks.correct.{misses if own.is_right else 'own_sees'}", line=own.text, sizes=sizes)


def _judged(evidence: Evidence, settings: CorrectSettings) -> Verdict:
    """Fail with the first wrong element of the smallest size that is wrong, and the pattern of all of them.

    What is right by the order of threads alone fails too, where no check of the variant's own looks at races.
    """
    runs = evidence.runs_of("correct", "observe")
    named = [run for run in runs if not run.drawn]
    verdict = verdict_of_runs(runs)
    if verdict is None:
        return (
            _of_smaller_block(evidence, settings, len(named))
            or _of_luck(evidence)
            or passed(msg("checks.correct.passed", n=len(named)), data={"sizes": len(named)})
        )
    if verdict.status != "fail":
        return verdict
    if evidence.other_input is not None:
        return _of_another_task(evidence, evidence.other_input)
    uncovered = grid_left_out(evidence, runs)
    credit = _credit(named, settings)
    if uncovered is not None:
        return replace(uncovered, credit=credit, diagnosis=evidence.diagnoses.get("correct"))
    verdict = explained(verdict, evidence.diagnoses.get("correct"))
    is_output_wrong = "mismatches" in verdict.data
    message = (joined(verdict.message, _where_right(evidence, named)) if is_output_wrong else None) or verdict.message
    hint = (
        host.first(evidence, verdict.data.get("sizes"))
        or _of_narrow_parameter(evidence, verdict.data.get("sizes"))
        or (msg("checks.correct.hint_drawn") if _is_of_the_draw(runs) else None)
        or _of_threads(evidence, verdict.diagnosis)
        or _of_few_threads(evidence, named)
        or _of_blocks(evidence)
        or _of_constants(evidence)
        or _of_unset(evidence, verdict.diagnosis)
        or _of_absent_lanes(evidence)
        or of_set_bytes(evidence, verdict.diagnosis)
        or verdict.hint
        or of_hazards(evidence, verdict.diagnosis)
        or _of_unwritten(evidence, verdict.diagnosis)
        or follow(verdict, evidence)
    )
    hint = host.other_block(evidence) or hint
    return replace(_placed(verdict, evidence), message=message, hint=hint, credit=credit)


def _placed(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Place a verdict without a line at a shuffle that reads from absent lanes, else at the kernel that alone may have
    made it wrong, else at what was called."""
    if verdict.line:
        return verdict
    absent = _absent_lanes(evidence)
    if "mismatches" in verdict.data and absent is not None:
        return replace(verdict, file=evidence.file_of(absent.file), line=absent.line)
    if "mismatches" in verdict.data and evidence.one_block is not None:
        return replace(verdict, file=evidence.file_of(evidence.one_block.file), line=evidence.one_block.line)
    if "mismatches" in verdict.data and evidence.suspect is not None:
        return replace(verdict, file=evidence.file_of(evidence.suspect[0]), line=evidence.suspect[1])
    return replace(verdict, line=evidence.bound.kernel.line)


def _of_absent_lanes(evidence: Evidence) -> Message | None:
    """How to mend a shuffle that reads from lanes that take no part in it: what that hands over is undefined, so that
    no factor and no pattern of the result says more."""
    absent = _absent_lanes(evidence)
    return hazards.race_hint(absent) if absent is not None else None


def _absent_lanes(evidence: Evidence) -> Hazard | None:
    """Return the first shuffle that was seen to read from a lane that takes no part in it."""
    return next((h for h in evidence.hazards("warp_sync") if h.detail == "inactive_source"), None)


def _is_of_the_draw(runs: Sequence[Run]) -> bool:
    """Whether the drawn case alone makes something wrong."""
    wrong = [run for run in runs if verdict_of_runs([run]) is not None]
    return all(run.drawn and run.outcome.reason != "undone" for run in wrong)


def _of_unwritten(evidence: Evidence, diagnosis: Diagnosis | None) -> Message | None:
    """Say that the host copies back elements that nothing wrote, where the first wrong element is one."""
    if diagnosis is None or diagnosis.got is None:
        return None
    dtype = np.dtype(evidence.lab.parameter(diagnosis.output).dtype)
    unset = float(np.frombuffer(bytes([UNSET_BYTE]) * dtype.itemsize, dtype)[0])
    for array, _file, line in evidence.host.unwritten if np.isclose(diagnosis.got, unset, rtol=1e-4) else ():
        return msg("remedies.copied_unwritten", name=array, line=line)
    return None


def _of_blocks(evidence: Evidence) -> Message | None:
    """Say that every block makes a result of its own and nothing combines them."""
    blocks = evidence.uncombined_blocks
    return msg("checks.correct.hint_uncombined", blocks=blocks) if blocks else of_one_block(evidence)


def of_one_block(evidence: Evidence) -> Message | None:
    """The hint that a single block gets more elements than it has threads wherever the result is wrong."""
    one = evidence.one_block
    if one is None:
        return None
    return msg(
        "checks.correct.hint_one_block",
        kernel=one.kernel,
        line=one.line,
        name=one.name,
        value=one.value,
        threads=one.threads,
    )


def _of_constants(evidence: Evidence) -> Message | None:
    """Say that the kernel runs with constants as the host fills them, where that leaves something out."""
    faults = [f for f in evidence.host.faults if f.message.id in UNFILLED]
    if not faults:
        return None
    name = str(faults[0].message.data.get("array") or faults[0].message.data.get("name"))
    return msg("checks.correct.hint_constants_first", name=name, line=faults[0].line)


def _of_unset(evidence: Evidence, diagnosis: Diagnosis | None) -> Message | None:
    """Say that a variable is used before it has a value, where the result is no number or made of too much."""
    if not evidence.compilation.unset or diagnosis is None:
        return None
    is_undefined = diagnosis.got is None or (diagnosis.values is not None and diagnosis.values.id in ("nan", "filling"))
    if not is_undefined or diagnosis.unwritten == diagnosis.wrong:
        return None
    name, line = evidence.compilation.unset[0]
    return msg("checks.correct.hint_unset_variable", name=name, line=line)


def _of_narrow_parameter(evidence: Evidence, sizes: object) -> Message | None:
    """Say that a size of the wrong run exceeds its parameter's type, but not an int; None otherwise."""
    if evidence.interpretation is None or not isinstance(sizes, dict):
        return None
    kernel = evidence.bound.kernel
    for role, parameter in zip(evidence.interpretation.roles, kernel.parameters, strict=True):
        if parameter.is_pointer or parameter.dtype is None or np.dtype(parameter.dtype).kind not in "iu":
            continue
        value = formula.evaluate(role[1:], sizes) if role.startswith("=") else sizes.get(role)
        if value is None or value > np.iinfo(np.int32).max:
            continue
        if (held := ScalarArgument(value, parameter.dtype).converted()) == value:
            continue
        names = {"name": parameter.name, "type": parameter.type_text.strip(), "value": value, "held": int(held)}
        return msg("checks.correct.hint_narrow_parameter", **names)
    return None


def _of_another_task(evidence: Evidence, other: OtherInput) -> Verdict:
    if not other.values:
        return hazards.of_unfilled(evidence, other)
    hint = hazards.other_task_hint(evidence)
    message = msg("checks.correct.other_task", array=other.array, values=other.values, line=other.line)
    return failed(message, hint, other.line, data={"array": other.array})


def _of_smaller_block(evidence: Evidence, settings: CorrectSettings, sizes: int) -> Verdict | None:
    """Fail a kernel that is right only while a block has a thread for each element; None otherwise."""
    run, smaller = evidence.smaller_block, evidence.variant.smaller_block
    verdict = verdict_of_runs([run]) if run is not None else None
    if smaller is None or verdict is None or verdict.status != "fail":
        return None
    assert run is not None
    is_left_over = run.difference is None or run.difference.unwritten > 0 or bool(run.outcome.hazards)
    how = "loop_on" if is_left_over else "start_anew"
    return replace(
        verdict,
        message=msg("checks.correct.smaller_block", n=smaller.threads, what=verdict.message),
        hint=joined(msg("checks.correct.hint_smaller_block"), msg(f"checks.correct.hint_{how}")),
        line=evidence.bound.kernel.line,
        credit=settings.partial * sizes / (sizes + 1),
        data={**verdict.data, "threads": smaller.threads},
    )


def _of_luck(evidence: Evidence) -> Verdict | None:
    """The verdict on a kernel whose result is right in the order in which the emulator runs threads, and need not be in
    another; None for any other, and where `races` is asked and judges that.

    In place of a neighbour's input what the neighbour makes of it may be read, depending on who comes first.
    """
    if "hazards" in evidence.unmeasured or "races" in {spec.check for spec in evidence.variant.checks}:
        return None
    runs = evidence.runs_of("correct", "observe")
    unordered = [h for run in runs for h in hazards.counted(run.outcome.hazards) if not _is_on_one_variable(h)]
    if not unordered:
        return None
    first = hazards.worst(unordered)
    message = msg("checks.correct.luck", what=hazard_msg(evidence.as_written(first)))
    data = {"lines": sorted({h.line for h in unordered}), "other_line": first.other_line, "count": first.count}
    return failed(message, hazards.race_hint(first), first.line, data=data, file=evidence.file_of(first.file))


def _is_on_one_variable(hazard: Hazard) -> bool:
    """Whether threads race on a counter or a flag: no data passes there, so nothing follows from the race."""
    return hazard.kind == "race" and 0 < hazard.array_bytes <= hazard.width_bytes


def _credit(runs: Sequence[Run], settings: CorrectSettings) -> float:
    """The part of the points that is kept for the lab's sizes at which the kernel is right.

    One that is wrong when it is launched again at a size would be so at the others.
    """
    if any(run.outcome.reason == "repeat_wrong" for run in runs):
        return 0.0
    right = sum(run.outcome.status == "ok" and run.is_right for run in runs)
    return settings.partial * right / len(runs) if right < len(runs) else 0.0


def _where_right(evidence: Evidence, runs: Sequence[Run]) -> Message | None:
    """Say at which of the lab's sizes the kernel is right all the same; None for none or all of them."""
    right = [run for run in runs if run.outcome.status == "ok" and run.is_right]
    wrong = [run for run in runs if run not in right]
    if not right or not wrong:
        return None
    equal = evidence.lab.equal_sizes

    def is_square(run: Run) -> bool:
        return len({run.sizes[name] for name in equal}) == 1

    if len(equal) > 1 and all(map(is_square, right)) and not any(map(is_square, wrong)):
        return msg("checks.correct.right_at_squares", sizes=sizes_msg(wrong[0].sizes))
    return msg("checks.correct.right_at_some", n=len(right), total=len(runs), sizes=sizes_msg(right[-1].sizes))


def follow(verdict: Verdict, evidence: Evidence) -> Message:
    """How to find out by hand what is wrong, where nothing more is known."""
    diagnosis = verdict.diagnosis
    if diagnosis is not None and diagnosis.writer is not None:
        return _of_reads(diagnosis)
    if diagnosis is not None:
        is_unwritten = diagnosis.unwritten == diagnosis.wrong
    else:
        is_unwritten = verdict.data.get("pattern") in ("unwritten", "untouched")
    if not is_unwritten:
        return msg("checks.correct.hint_by_hand")
    lab = evidence.lab
    is_copied = lab.program is not None or (lab.function is not None and lab.function.memory == "host")
    return msg("checks.correct.hint_uncopied" if is_copied else "checks.correct.hint_unwritten")


def _of_reads(diagnosis: Diagnosis) -> Message:
    """Say how to find out by hand why the first wrong element was made from these reads."""
    if diagnosis.got_at is not None:
        return msg("checks.correct.hint_follow")
    if diagnosis.missing and not diagnosis.reads:
        return msg("checks.correct.hint_reads_nothing")
    if diagnosis.missing and diagnosis.surplus:
        return msg("checks.correct.hint_other_reads")
    if diagnosis.missing:
        return msg("checks.correct.hint_missing")
    return msg("checks.correct.hint_surplus") if diagnosis.surplus else msg("checks.correct.hint_by_hand")


def _of_threads(evidence: Evidence, diagnosis: Diagnosis | None) -> Message | None:
    """Say how to fix a kernel that computes as many rows or columns as its block has threads; None otherwise."""
    region = diagnosis.region if diagnosis is not None else None
    if (
        evidence.interpretation is None
        or diagnosis is None
        or region is None
        or region.id not in ("last_rows", "last_columns")
    ):
        return None
    x, y, z = block_of(evidence.interpretation.launch, diagnosis.size)
    computed = diagnosis.shape[-1 if region.id == "last_columns" else -2] - int(region.data["n"])
    if (computed, 1, 1) != (x, y, z) or diagnosis.values is None or diagnosis.values.id != "unwritten":
        return None
    if region.id == "last_columns":
        made_msg = msg("checks.correct.hint_columns_made", made=computed)
    else:
        made_msg = msg("checks.correct.hint_rows_made", made=computed)
    return joined(made_msg, msg("checks.correct.hint_loop_on"))


def _of_few_threads(evidence: Evidence, runs: Sequence[Run]) -> Message | None:
    """Say how to fix a kernel that is right only where its block has a thread for each element; None otherwise."""
    equal, lab_sizes = evidence.lab.equal_sizes, evidence.lab.size_names
    if evidence.interpretation is None or not (len(equal) > 1 or len(lab_sizes) == 1):
        return None
    plan = evidence.interpretation.launch
    unset = [h for h in evidence.hazards("uninitialized") if h.space == "shared" and h.array]
    fits: list[bool] = []
    is_computed = False
    for run in runs:
        x, y, z = block_of(plan, run.sizes)
        if (y, z) != (1, 1) or evidence.variant.smaller_block is None:
            return None
        is_right = run.outcome.status == "ok" and run.is_right
        if is_right != (max(run.sizes.values()) <= x):
            return None
        is_left_over = run.difference is not None and run.difference.unwritten > 0
        if not is_right and not is_left_over:
            # All is computed: either of what nobody stored in shared memory, or something else is wrong.
            if not unset:
                return None
            is_computed = True
        fits.append(is_right)
    if all(fits) or not any(fits):
        return None
    fault = msg("checks.correct.hint_few_load", array=unset[0].array) if is_computed else None
    return joined(fault or msg("checks.correct.hint_few_threads"), msg("checks.correct.hint_loop_on"))


def of_hazards(evidence: Evidence, diagnosis: Diagnosis | None) -> Message | None:
    """How to fix an access or an order of accesses that may be what spoils the result, None where all are in order."""
    if "hazards" in evidence.unmeasured:
        return None
    judged = {spec.check for spec in evidence.variant.checks}
    outside = evidence.hazards("out_of_bounds", "uninitialized")
    if outside and not _is_moved(diagnosis):
        hint = hazards.memory_hint(evidence, outside[0])
        if "memory_safety" not in judged or is_dynamic(evidence, outside[0]):
            return hint
        return msg("checks.correct.hint_memory_first")
    unordered = hazards.counted(evidence.hazards(*hazards.KINDS))
    if not unordered:
        return None
    worst = hazards.worst(unordered)
    if hazards.is_of_one_line(worst):
        return hazards.one_line_hint(worst)
    if "races" in judged and worst.kind == "race":
        return msg("checks.correct.hint_race_first")
    return hazards.race_hint(worst)


def _is_moved(diagnosis: Diagnosis | None) -> bool:
    """Whether the first wrong element was followed back, and is an input's element that belongs elsewhere.

    What was read of memory that nobody wrote, or of no array at all, is no part of it then.
    """
    if diagnosis is None or diagnosis.got_at is None or diagnosis.writer is None:
        return False
    return bool(diagnosis.reads) and all(read.origin != "nothing" for read in diagnosis.reads)


# Sizes that are no multiple of the tile.


def judge_ragged_sizes(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail for a wrong result, an access out of bounds, or a barrier or a race that is wrong at such a size only."""
    reason = inapplicable(evidence)
    if reason is not None:
        return not_applicable(reason)
    runs = evidence.runs_of("ragged")
    named = [run for run in runs if not run.drawn]
    if not runs:
        is_fixed = evidence.interpretation is not None and bool(evidence.interpretation.pinned)
        return not_applicable(msg("checks.ragged_sizes.one_size" if is_fixed else "checks.ragged_sizes.no_sizes"))
    everywhere = {(h.file, h.line) for h in evidence.hazards("out_of_bounds")}
    unguarded = next((run for run in runs if _outside(run, everywhere)), None)
    if unguarded is not None:
        hazard = _outside(unguarded, everywhere)[0]
        message = seen_at(unguarded, hazard_msg(evidence.as_written(hazard)))
        data: dict[str, object] = {"sizes": dict(unguarded.sizes), "count": hazard.count}
        return replace(
            failed(message, _outside_hint(hazard), hazard.line, data=data),
            diagnosis=evidence.diagnoses.get("ragged"),
            file=evidence.file_of(hazard.file),
        )
    unordered = next((run for run in runs if _unordered(run, evidence)), None)
    if unordered is not None:
        hazard = hazards.worst(_unordered(unordered, evidence))
        message = seen_at(unordered, hazard_msg(evidence.as_written(hazard)))
        data = {"sizes": dict(unordered.sizes), "count": hazard.count}
        return replace(
            failed(message, hazards.race_hint(hazard), hazard.line, data=data), file=evidence.file_of(hazard.file)
        )
    verdict = grid_left_out(evidence, runs)
    if verdict is not None:
        return replace(verdict, diagnosis=evidence.diagnoses.get("ragged"))
    verdict = verdict_of_runs(runs)
    if verdict is None:
        return passed(msg("checks.ragged_sizes.passed", n=len(named)), data={"sizes": len(named)})
    of_launch = host.first(evidence, verdict.data.get("sizes"))
    if verdict.status == "fail" and (of_launch or not verdict.hint):
        diagnosis = evidence.diagnoses.get("ragged")
        verdict = explained(verdict, diagnosis)
        failing = next((run for run in runs if dict(run.sizes) == verdict.data.get("sizes")), None)
        # Exact sizes have shown these as well, and other checks say where.
        of_run = of_hazards(evidence, diagnosis) if failing is not None and failing.outcome.hazards else None
        of_host = of_one_block(evidence) or of_set_bytes(evidence, evidence.diagnoses.get("ragged"))
        hint = of_launch or host.other_block(evidence) or of_host or verdict.hint or of_run
        # Not at a kernel: what lacks off the tile may well be a block of its launch.
        verdict = _placed(verdict, replace(evidence, suspect=None))
        message = joined(verdict.message, _of_extent(evidence, runs)) or verdict.message
        return replace(verdict, message=message, hint=hint or follow(verdict, evidence))
    return verdict


def _of_extent(evidence: Evidence, runs: Sequence[Run]) -> Message | None:
    """Say that what is wrong off the tile is right at other such sizes, all of them smaller, or all of them larger."""
    everything = evidence.runs_of("correct", "observe", "ragged")
    wrong = [prod(run.sizes.values()) for run in everything if run.outcome.status != "ok" or not run.is_right]
    right = [run for run in everything if run.outcome.status == "ok" and run.is_right]
    off_the_tile = [run for run in right if run in runs]
    for name, are_beyond in (
        ("smaller", all(prod(run.sizes.values()) < min(wrong) for run in right)),
        ("larger", all(prod(run.sizes.values()) > max(wrong) for run in right)),
    ):
        if off_the_tile and are_beyond:
            chosen = max if name == "smaller" else min
            nearest = chosen(off_the_tile, key=lambda run: prod(run.sizes.values()))
            return msg(f"checks.ragged_sizes.right_at_{name}", sizes=sizes_msg(nearest.sizes))
    return None


def inapplicable(evidence: Evidence) -> Message | None:
    """Why the check does not apply: a kernel that takes no size derives it from the grid, so only multiples of the tile
    can be asked of it, and its points are no part of what is possible.  None where it applies."""
    if evidence.bound.takes_sizes:
        return None
    interpretation = evidence.bound.interpretations[0]
    covered = {size for covers in interpretation.launch.covers for size in covers.split("*")}
    constant = next((name for role, name in interpretation.constants if role in covered), None)
    if constant is not None:
        return msg("checks.ragged_sizes.size_is_constant", name=constant)
    return msg("checks.ragged_sizes.takes_no_size")


def _outside_hint(hazard: Hazard) -> Message:
    """Say how to fix an access at such a size: a vector's address may be within the array, and misaligned."""
    if hazard.detail == "misaligned":
        return msg("checks.memory_safety.hint_misaligned")
    return msg("checks.ragged_sizes.hint_guard")


def _outside(run: Run, everywhere: set[tuple[str, int]]) -> list[Hazard]:
    """Accesses out of bounds that exact sizes do not show: `memory_safety` has judged the lines that these do."""
    return [h for h in run.outcome.hazards if h.kind == "out_of_bounds" and (h.file, h.line) not in everywhere]


def _unordered(run: Run, evidence: Evidence) -> list[Hazard]:
    """Races and barriers that some threads pass by, as far as exact sizes do not show them: those `races` has judged.

    A barrier under the guard is met by every thread until the last tiles are cut.
    """
    if "hazards" in evidence.unmeasured:
        return []
    judged = {(h.kind, h.file, h.line) for h in evidence.hazards(*hazards.KINDS)}
    return [h for h in hazards.counted(run.outcome.hazards) if (h.kind, h.file, h.line) not in judged]
