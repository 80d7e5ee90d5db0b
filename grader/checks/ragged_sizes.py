"""`ragged_sizes`: sizes that are no multiple of the tile, for kernels that are told the size."""

from __future__ import annotations

from dataclasses import replace

from grader.checks import hazards, launch
from grader.checks.base import Verdict, failed, not_applicable, passed
from grader.checks.correct import follow, of_hazards
from grader.checks.outcomes import explained, grid_left_out, seen_at, verdict_of_runs
from grader.diagnosis.text import hazard_msg
from grader.lab.checks import Settings
from grader.launching.trial import Run
from grader.message import Message, msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail for a wrong result, an access out of bounds, or a barrier or a race that is wrong at such a size only."""
    reason = inapplicable(evidence)
    if reason is not None:
        return not_applicable(reason)
    runs = evidence.runs_of("ragged")
    named = [run for run in runs if not run.drawn]
    if not runs:
        return not_applicable(msg("checks.ragged_sizes.no_sizes"))
    everywhere = {(h.file, h.line) for h in evidence.hazards("out_of_bounds")}
    unguarded = next((run for run in runs if _outside(run, everywhere)), None)
    if unguarded is not None:
        hazard = _outside(unguarded, everywhere)[0]
        message = seen_at(unguarded, hazard_msg(hazard))
        data: dict[str, object] = {"sizes": dict(unguarded.sizes), "count": hazard.count}
        return replace(
            failed(message, msg("checks.ragged_sizes.hint_guard"), hazard.line, data=data),
            diagnosis=evidence.diagnoses.get("ragged"),
            file=evidence.file_of(hazard.file),
        )
    unordered = next((run for run in runs if _unordered(run, evidence)), None)
    if unordered is not None:
        hazard = hazards.worst(_unordered(unordered, evidence))
        message = seen_at(unordered, hazard_msg(hazard))
        data = {"sizes": dict(unordered.sizes), "count": hazard.count}
        return replace(
            failed(message, hazards.race_hint(hazard), hazard.line, data=data), file=evidence.file_of(hazard.file)
        )
    verdict = grid_left_out(evidence, runs)
    if verdict is not None:
        return replace(verdict, diagnosis=evidence.diagnoses.get("ragged"))
    verdict = verdict_of_runs(runs)
    if verdict is None:
        return passed(
            msg("checks.ragged_sizes.passed", n=len(named)),
            data={"sizes": len(named)},
        )
    of_launch = launch.first(evidence, verdict.data.get("sizes"))
    if verdict.status == "fail" and (of_launch or not verdict.hint):
        diagnosis = evidence.diagnoses.get("ragged")
        verdict = explained(verdict, diagnosis)
        failing = next((run for run in runs if dict(run.sizes) == verdict.data.get("sizes")), None)
        # Exact sizes have shown these as well, and other checks say where.
        of_run = of_hazards(evidence, diagnosis) if failing is not None and failing.outcome.hazards else None
        hint = of_launch or launch.other_block(evidence) or verdict.hint or of_run or follow(verdict)
        return replace(verdict, hint=hint, line=verdict.line or evidence.bound.kernel.line)
    return verdict


def inapplicable(evidence: Evidence) -> Message | None:
    """Why the check does not apply: a kernel that takes no size derives it from the grid, so only multiples of the tile
    can be asked of it, and its points are no part of what is possible.  None where it applies."""
    if evidence.bound.takes_sizes:
        return None
    constants = evidence.bound.interpretations[0].constants
    if constants:
        return msg("checks.ragged_sizes.size_is_constant", name=constants[0][1])
    return msg("checks.ragged_sizes.takes_no_size")


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
