"""Where a fault is looked for by blocks of few threads, and where it is not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run, Trials
from grader.repair.screen import SMALL_BLOCK, Screen
from grader.repair.symptom import MOST_INSTRUCTIONS, SmallCase, Symptom
from grader.submission.records import LaunchPlan

PLAN = LaunchPlan(block=(256, 1, 1), tile=(256,), covers=("n",), exact=False, shared_bytes=0, line=9)
PLAN = replace(PLAN, grid_formula=("n // 256",))


@dataclass(frozen=True)
class Reading:
    """What of an interpretation is looked at: the launch."""

    launch: LaunchPlan


@dataclass(frozen=True)
class Kernel:
    """What of a kernel is looked at: how it is launched."""

    interpretation: Reading

    def read_as(self, other: Reading) -> Kernel:
        return Kernel(other)


@dataclass
class Outcome:
    status: str
    thread_instructions: int = 1000


@dataclass
class Ran:
    outcome: Outcome
    is_right: bool


@dataclass
class Runs:
    """Right where no size is larger than a block of few threads, unless a test says otherwise."""

    status: str = "ok"
    is_right_beyond: bool = False
    is_right_within: bool = True

    def run(self, kernel: Kernel, kind: str, sizes: dict[str, int], observe: bool = False) -> Run:
        assert kernel.interpretation.launch.block == (SMALL_BLOCK, 1, 1)
        is_beyond = max(sizes.values()) > SMALL_BLOCK
        right = self.is_right_beyond if is_beyond else self.is_right_within
        return cast("Run", Ran(Outcome(self.status if is_beyond else "ok"), right))


def small(
    plan: LaunchPlan = PLAN, runs: Runs | None = None, instructions: int = MOST_INSTRUCTIONS + 1
) -> Screen | None:
    case = SmallCase("correct", {"n": 400}, instructions)
    symptom = Symptom("correct", (case, SmallCase("ragged", {"n": 33}, 1000)), (), (), is_observed=False)
    trials: Any = runs or Runs()
    screen = Screen(cast("Trials", trials), cast("BoundKernel", Kernel(Reading(plan))), (), symptom)
    return screen.in_small_blocks()


def test_a_fault_beyond_a_large_block_is_sought_by_small_ones() -> None:
    found = small()
    assert found is not None
    assert found.kernel.interpretation.launch.block == (SMALL_BLOCK, 1, 1)
    # As many blocks, the last of them as full.
    assert [case.sizes for case in found.symptom.cases] == [{"n": 50}, {"n": 33}]
    assert found.symptom.cases[0].instructions < MOST_INSTRUCTIONS


def test_a_fault_that_is_seen_soon_is_sought_as_it_is() -> None:
    assert small(instructions=MOST_INSTRUCTIONS) is None


@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, block=(16, 16, 1)),
        replace(PLAN, block=(256, 1, 2)),
        replace(PLAN, block=(SMALL_BLOCK, 1, 1)),
        replace(PLAN, block_formula=("n",)),
        # Blocks divide the data: with fewer threads there would be elements that nobody takes.
        replace(PLAN, grid_formula=()),
    ],
)
def test_a_launch_that_needs_its_own_block_keeps_it(plan: LaunchPlan) -> None:
    assert small(plan) is None


def test_a_block_for_each_element_is_made_smaller() -> None:
    assert small(replace(PLAN, tile=(1,), grid_formula=())) is not None


@pytest.mark.parametrize(
    "runs",
    [
        # The fault does not show by small blocks.
        Runs(is_right_beyond=True),
        # It ends there in another way.
        Runs(status="fault"),
        # It shows within one block too: then it is another.
        Runs(is_right_within=False),
    ],
)
def test_what_small_blocks_do_not_show_alike_is_sought_as_it_is(runs: Runs) -> None:
    assert small(runs=runs) is None
