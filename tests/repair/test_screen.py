"""Where a fault is looked for: by blocks of few threads, in the order of accesses alone, and how long a kernel runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from grader import words
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run, Trials
from grader.ptx.records import Hazard
from grader.repair.program import RunsLong, is_right
from grader.repair.screen import SMALL_BLOCK, Budget, Screen, TurnedAway
from grader.repair.symptom import LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS, SmallCase, Symptom, symptom_of_order
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


def test_a_block_that_has_a_limit_is_made_smaller() -> None:
    assert small(replace(PLAN, block_formula=("min(n, 256)",))) is not None


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


def race(detail: str, line: int, other_line: int) -> Hazard:
    place = (0, 0, 0)
    return Hazard("race", detail, line, "shared", "store", "t", 0, 4, 64, place, place, other_line=other_line)


@pytest.mark.parametrize(
    ("races", "is_sought"),
    [
        ([race("read_write", 9, 5)], True),
        ([race("write_write", 9, 5), race("read_write", 9, 5)], True),
        # Two threads with one place: no order gives each its own.
        ([race("write_write", 5, 5), race("read_write", 9, 5)], False),
        ([race("write_write", 9, 5)], False),
        # What leaves its array meets what is another's.
        ([race("read_write", 9, 5), replace(race("after", 9, 5), kind="out_of_bounds")], False),
        ([race("read_write", 9, 5), replace(race("after", 7, 5), kind="out_of_bounds")], True),
    ],
)
def test_no_order_mends_what_two_threads_write_in_one_line(races: list[Hazard], is_sought: bool) -> None:
    outcome = SimpleNamespace(status="ok", hazards=tuple(races), thread_instructions=1000, reason="")
    run = SimpleNamespace(drawn=False, backend="emulator", kind="correct", sizes={"n": 8}, outcome=outcome)
    evidence: Any = SimpleNamespace(runs=(run,))
    check: Any = SimpleNamespace(check="races", status="fail")
    assert (symptom_of_order(evidence, [check]) is not None) is is_sought


def limits(needed: dict[int, int], *, soon: bool = False, ends: str = "") -> dict[int, int]:
    """The limit at each of two sizes, of a kernel that took so many instructions at some of them; ends: why it ends."""
    given: dict[int, int] = {}

    def run_loaded(kernel: Any, loaded: Any, kind: str, sizes: dict[str, int], observe: bool, instructions: int) -> Any:
        given[sizes["n"]] = instructions
        outcome = SimpleNamespace(status="ok", issued=1, hazards=(), reason=ends, thread_instructions=1)
        return SimpleNamespace(kind=kind, sizes=sizes, outcome=outcome, is_right=True)

    planned = [("correct", {"n": 64}), ("correct", {"n": 512})]
    kernel: Any = SimpleNamespace(
        sizes=SimpleNamespace(planned=lambda *_of: planned, planned_more=lambda _of: []),
        binding=SimpleNamespace(takes_sizes=True),
        load=lambda *_of: SimpleNamespace(entry="k", built=None),
        geometry=lambda _sizes: SimpleNamespace(grid=(1, 1, 1)),
        interpretation=SimpleNamespace(constants=(), declared=()),
    )
    lab = SimpleNamespace(cases={"emulator": None}, parameters=())
    trials: Any = SimpleNamespace(lab=lab, programs=None, run_loaded=run_loaded)
    runs = [
        SimpleNamespace(
            kind="correct",
            sizes={"n": n},
            backend="emulator",
            outcome=SimpleNamespace(thread_instructions=count, hazards=()),
            drawn=False,
            is_right=False,
        )
        for n, count in needed.items()
    ]
    before: Any = SimpleNamespace(runs=runs, variant=None)
    assert is_right(trials, kernel, before, Budget(10_000_000), soon=soon)
    return given


def test_a_kernel_that_takes_long_as_it_is_may_take_as_long_again() -> None:
    assert limits({512: 3 * MOST_INSTRUCTIONS}) == {64: MOST_INSTRUCTIONS, 512: 6 * MOST_INSTRUCTIONS}


def test_what_does_next_to_nothing_as_it_is_may_do_all_of_its_work() -> None:
    assert limits({64: 10, 512: 10}) == {64: MOST_INSTRUCTIONS, 512: MOST_INSTRUCTIONS}


def test_what_is_to_be_known_soon_is_put_off_where_it_takes_long() -> None:
    assert limits({512: 10}, soon=True) == {64: LEAST_INSTRUCTIONS, 512: LEAST_INSTRUCTIONS}
    # One that took as long as it is does not take long for that.
    assert limits({512: 3 * MOST_INSTRUCTIONS}, soon=True)[512] == 6 * MOST_INSTRUCTIONS
    with pytest.raises(RunsLong):
        limits({512: 10}, soon=True, ends="instructions")


@pytest.mark.parametrize(
    ("right", "protects", "is_mended", "rest"),
    [
        (6, False, False, ": without the condition all of them are right."),
        (6, True, False, "all of them are right. It has to be corrected, not removed: without it some threads access"),
        (4, False, False, "without the condition 4 of 6 are right."),
        (0, False, False, "without the condition they are written, but with wrong values."),
        # Where it is known how to correct it, nothing need be said of leaving it out.
        (6, True, True, "the threads that should write the 6 unwritten elements."),
    ],
)
def test_a_condition_that_turned_threads_away(right: int, protects: bool, is_mended: bool, rest: str) -> None:
    said = words.text(TurnedAway("shared", "correct", 10, 6, right, protects, is_mended).hint)
    assert said.startswith("The condition in line 10 turns away") and rest in said
