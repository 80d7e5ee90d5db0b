"""What is tried on a wrong kernel to tell why it is wrong, not to mend it: another launch, a condition taken away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.lab.compare import Mask, is_sentinel, wrong_elements
from grader.launching.kernel import block_of, grid_of
from grader.launching.trial import Run
from grader.message import Message, joined, msg, sizes_msg
from grader.repair.function import Change, Function, condition_of, only_leaves
from grader.repair.screen import Budget, Screen
from grader.repair.symptom import faults
from grader.submission.records import LaunchPlan

MAX_GUARDS = 6
"""Conditions of a kernel, and of what it calls, that are taken away."""


# Its own block, its axes exchanged, more blocks.


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


# Which condition of the kernel, or of what it calls, turned the threads away that should have written something.


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A condition without which elements are written that nobody wrote.

    check: the check that found them, of a `variant`.  line: where the condition stands.
    unwritten: how many elements nobody wrote.  right: how many of them are right without the condition; 0 where all
    of them are written then, every one wrong, and no other element is spoilt.
    protects: whether threads leave the arrays without it.
    """

    variant: str
    check: str
    line: int
    unwritten: int
    right: int
    protects: bool

    @property
    def hint(self) -> Message:
        """What was seen."""
        if not self.right:
            return msg("repairs.turned_away_wrong", line=self.line, n=self.unwritten)
        message = msg("repairs.turned_away", line=self.line, n=self.unwritten, right=self.right)
        return joined(message, msg("repairs.guard_protects") if self.protects else None) or message


Condition = TurnedAway | OtherLaunch
"""What was seen of a wrong kernel, with no change of it that makes it right."""


def turned_away(screen: Screen, variant: str, functions: Sequence[Function]) -> TurnedAway | None:
    """The condition without which most of what nobody wrote is right, else all of it written; None: there is none."""
    before = screen.unchanged()
    unwritten = _unwritten(screen, before)
    if unwritten is None or not unwritten.any():
        return None
    changes = [(function, change) for function in functions for change in opened(function)][:MAX_GUARDS]
    candidates = []
    for change, run in screen.runs(changes):
        one = _judged(screen, variant, change, before, run, unwritten)
        if one is not None:
            candidates.append(one)
    return max(candidates, key=lambda one: (one.right, -one.line), default=None)


def opened(function: Function) -> Iterator[Change]:
    """The function's branches, each with a condition that lets every thread go on."""
    for node in function.nodes:
        condition, body = condition_of(node), node.child_by_field_name("consequence")
        if node.type == "if_statement" and condition is not None and body is not None:
            edit = function.replaced(condition, "false" if only_leaves(body) else "true")
            yield Change("guard", function.line(node), (edit,), 0.0, "opened")


def _unwritten(screen: Screen, run: Run) -> Mask | None:
    """Which elements of the first wrong output no thread wrote."""
    name = run.difference.name if run.difference is not None else ""
    if run.outcome.status != "ok" or name not in run.outcome.outputs:
        return None
    got, expected = run.outcome.outputs[name], screen.expected(name)
    unwritten: Mask = is_sentinel(got) & (got != expected)
    return unwritten


def _judged(screen: Screen, variant: str, change: Change, before: Run, run: Run, unwritten: Mask) -> TurnedAway | None:
    assert before.difference is not None
    name = before.difference.name
    if run.outcome.status != "ok" or name not in run.outcome.outputs:
        return None
    wrong = _wrong(screen, name, run)
    right = int(np.count_nonzero(unwritten & ~wrong))
    count = int(np.count_nonzero(unwritten))
    if 2 * right < count:
        is_written = not (unwritten & is_sentinel(run.outcome.outputs[name])).any()
        is_spoilt = (wrong & ~_wrong(screen, name, before)).any()
        if right or not is_written or is_spoilt:
            return None
    return TurnedAway(variant, screen.symptom.check, change.line, count, right, run.leaves_its_arrays)


def _wrong(screen: Screen, name: str, run: Run) -> Mask:
    expected = screen.expected(name)
    tolerance = screen.trials.lab.tolerance.at(screen.symptom.cases[0].sizes, str(expected.dtype))
    return wrong_elements(run.outcome.outputs[name], expected, tolerance)
