"""Whether a kernel that is wrong is right with another launch: its own block, its axes exchanged, more blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.launching.kernel import block_of, grid_of
from grader.message import Message, msg, sizes_msg
from grader.repair.screen import Budget, Screen
from grader.repair.symptom import faults
from grader.submission.records import LaunchPlan


@dataclass(frozen=True, slots=True)
class OtherLaunch:
    """What was seen of another launch: the `check` of a `variant` that it mends, and how that is said."""

    variant: str
    check: str
    hint: Message


def other_launch(screen: Screen, variant: str, budget: Budget) -> OtherLaunch | None:
    """The first launch with which nothing of the fault is left, at any size of the symptom; None: there is none."""
    interpretation = screen.kernel.interpretation
    plan = interpretation.launch
    if not plan.line:
        return None
    for other, hint in _other_plans(plan, screen.symptom.cases[0].sizes):
        kernel = screen.kernel.read_as(replace(interpretation, launch=other))
        for case in screen.symptom.cases:
            run = screen.trials.run(kernel, case.kind, case.sizes, observe=case.observe)
            budget.ran(run, case.observe)
            if run.outcome.status != "ok" or not run.is_right or faults(run):
                break
        else:
            return OtherLaunch(variant, screen.symptom.check, hint)
    return None


def _other_plans(plan: LaunchPlan, sizes: dict[str, int]) -> Iterator[tuple[LaunchPlan, Message]]:
    """Launches that are tried, with what is said where one of them is right."""
    x, y, z = block_of(plan, sizes)
    if plan.block_formula and len(plan.tile) > 1:
        threads = (*plan.tile, 1, 1)[:3]
        other = replace(plan, block=(threads[0], threads[1], threads[2]), block_formula=(), grid_formula=())
        yield other, msg("repairs.other_block_first", line=plan.line)
    if len(plan.covers) == 2 and plan.covers[0] != plan.covers[1]:
        other = replace(plan, covers=plan.covers[::-1], grid_formula=plan.grid_formula[::-1])
        yield other, msg("repairs.other_axes", line=plan.line, x=plan.covers[0], y=plan.covers[1])
    if len(set(plan.tile)) > 1 or z > 1:
        return
    blocks = grid_of(plan, sizes)
    for tile in sorted({x, 1} - {plan.tile[0]}, reverse=True):
        # A kernel that takes more than a thread's element with each block needs no more of them.
        if tile < plan.tile[0] and (len(plan.tile) < 2 or x == y):
            other = replace(plan, tile=(tile,) * len(plan.tile), grid_formula=())
            more = grid_of(other, sizes)
            if more != blocks:
                yield (
                    other,
                    msg(
                        "repairs.other_blocks",
                        line=plan.line,
                        sizes=sizes_msg(sizes),
                        blocks=_axes(blocks, len(plan.tile)),
                        more=_axes(more, len(plan.tile)),
                    ),
                )


def _axes(grid: tuple[int, int, int], axes: int) -> str:
    return "×".join(str(n) for n in grid[:axes])
