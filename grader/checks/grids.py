"""Grids that leave out part of the data: the program launches fewer blocks than it takes to cover the sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from grader.checks.base import Verdict, failed
from grader.lab import formula
from grader.launching.geometry import geometry
from grader.launching.run import Run
from grader.message import Message, msg, sizes_msg
from grader.running.evidence import Evidence
from grader.submission.records import LaunchPlan


def left_out(evidence: Evidence, runs: Sequence[Run]) -> Verdict | None:
    """The verdict on the first wrong run whose grid covers less than its sizes; None where there is none.

    Only of a grid that the submission itself launches, and of a kernel that does not go on by itself with what its
    grid leaves over: such a one is right.
    """
    interpretation = evidence.interpretation
    if interpretation is None or not interpretation.launch.grid_formula:
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
        if short is None:
            continue
        data = {"sizes": dict(run.sizes), "grid": list(grid), "covered": covered[short], "extent": extents[short]}
        blocks = "×".join(str(n) for n in grid[: max(2, len(plan.covers))])
        what: Message
        if min(grid) < 1:
            what = msg("checks.grids.empty", line=plan.line, grid=blocks, sizes=sizes_msg(run.sizes))
        else:
            what = msg(
                "checks.grids.left_out",
                line=plan.line,
                grid=blocks,
                axis="xyz"[short],
                covered=covered[short],
                extent=extents[short],
                sizes=sizes_msg(run.sizes),
            )
        return failed(what, _hint(plan, short), plan.line, data=data)
    return None


def _hint(plan: LaunchPlan, axis: int) -> Message:
    """How to have enough blocks along an axis."""
    if axis >= len(plan.grid_formula) or not formula.names_of(plan.grid_formula[axis]):
        return msg("checks.grids.hint_fixed", axis="xyz"[axis], tile=plan.tile[axis])
    return msg("checks.grids.hint", tile=plan.tile[axis])
