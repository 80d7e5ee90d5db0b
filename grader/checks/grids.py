"""Grids that leave out part of the data: the program launches fewer blocks than it takes to cover the sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from grader.checks.base import Verdict, failed
from grader.checks.launch import file_of_launch
from grader.lab import formula
from grader.launching.kernel import geometry
from grader.launching.trial import Run
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
        if short is None or _is_refuted(run, covered, extents):
            continue
        data = {"sizes": dict(run.sizes), "grid": list(grid), "covered": covered[short], "extent": extents[short]}
        blocks = "×".join(str(n) for n in grid[: max(2, len(plan.covers))])
        what: Message
        alone = _only_size(plan)
        if alone and min(covered) < run.sizes[alone]:
            # Rounded down it is short of that size too.
            alone = ""
        if min(grid) < 1:
            what = msg("checks.grids.empty", line=plan.line, grid=blocks, sizes=sizes_msg(run.sizes))
        elif alone:
            what = msg("checks.grids.of_one_size", line=plan.line, grid=blocks, size=alone, sizes=sizes_msg(run.sizes))
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
        requested = evidence.bound.requested
        if requested is not None and requested.seems_swapped:
            hint = msg("checks.grids.hint_block_first")
        elif alone:
            others = [name for name in plan.covers if name != alone]
            hint = msg("checks.grids.hint_of_one_size", size=alone, other=others[0])
        elif _are_swapped(plan, covered, extents):
            hint = msg("checks.grids.hint_swapped", x=plan.covers[0], y=plan.covers[1], tile=plan.tile[0])
        else:
            hint = _hint(plan, short)
        return replace(failed(what, hint, plan.line, data=data), file=file_of_launch(evidence))
    return None


def _is_refuted(run: Run, covered: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether more was written than such a grid could reach: what a block covers is another number, then."""
    if run.difference is None or run.difference.total != prod(extents) or not all(covered):
        return False
    reached = prod(min(reach, extent) for reach, extent in zip(covered, extents, strict=True))
    return run.difference.total - run.difference.unwritten > reached


def _only_size(plan: LaunchPlan) -> str:
    """The one size that both axes of a grid are computed from, though they run over two; "" for any other grid."""
    axes = [set(formula.names_of(text)) for text in plan.grid_formula[:2]]
    names = set().union(*axes)
    is_one = len(axes) == 2 and all(axes) and len(names) == 1 and names < set(plan.covers)
    return next(iter(names)) if is_one else ""


def _are_swapped(plan: LaunchPlan, covered: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether the grid would be right with its two axes in the other's place."""
    if len(covered) != 2 or len(set(plan.tile[:2])) > 1 or "*" in "".join(plan.covers):
        return False
    x, y = covered
    return x != y and 0 <= x - extents[1] < plan.tile[0] and 0 <= y - extents[0] < plan.tile[1]


def _hint(plan: LaunchPlan, axis: int) -> Message:
    """How to have enough blocks along an axis."""
    if axis >= len(plan.grid_formula) or not formula.names_of(plan.grid_formula[axis]):
        return msg("checks.grids.hint_fixed", axis="xyz"[axis], tile=plan.tile[axis])
    if _is_rounded_up(plan, axis):
        return msg("checks.grids.hint_other_extent", extent=plan.covers[axis], tile=plan.tile[axis])
    return msg("checks.grids.hint", tile=plan.tile[axis])


def _is_rounded_up(plan: LaunchPlan, axis: int) -> bool:
    """Whether the number of blocks is enough for the one size that it follows from, so that another one is wanted."""
    text = plan.grid_formula[axis]
    names = formula.names_of(text)
    if len(names) != 1 or plan.covers[axis] in names:
        return False
    (name,) = names
    tile = plan.tile[axis]
    return all(formula.integer(text, {name: size}) * tile >= size for size in (tile, tile + 1, 2 * tile - 1, 4 * tile))
