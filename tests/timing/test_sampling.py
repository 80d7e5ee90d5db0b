"""Rounds on a simulated device: order, stages, dropped rounds, wrong results, and marks that repeat."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from grader.timing.sampling import Plan, Question, Sample, credit, decide, order, plan_for, sample, series_plan, speedup
from tests.timing.simulated import SimulatedDevice

NAMES = ["student", "reference"]


def ask(threshold: float) -> list[Question]:
    return [Question("student", "reference", threshold)]


def test_two_kernels_run_as_a_b_b_a() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0})
    sample(device.measure, NAMES, [], Plan(stages=(4,)))
    assert device.rounds == [NAMES, NAMES[::-1], NAMES, NAMES[::-1]]


def test_a_steady_drift_favours_nobody() -> None:
    """Each launch is 1 % slower than the one before: always in the same order, the second would look 1 % slower."""
    device = SimulatedDevice({"student": 10.0, "reference": 10.0}, drift=0.01)
    found = sample(device.measure, NAMES, [], Plan(stages=(30,)))
    ratio = found.speedup("student", "reference")
    assert ratio is not None and ratio.median == pytest.approx(1, abs=1e-9)


def test_a_clear_case_takes_one_stage() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 25.0}, jitter=0.01)
    found = sample(device.measure, NAMES, ask(2.0), Plan())
    assert found.rounds == 31 and not found.undecided
    ratio = found.speedup("student", "reference")
    assert ratio is not None and ratio.low < 2.5 < ratio.high and ratio.count == 31


def test_a_straddled_threshold_takes_more_rounds_and_then_stays_open() -> None:
    # 0.97 of the threshold is where the tolerance puts the edge.
    device = SimulatedDevice({"student": 10.0, "reference": 19.4}, jitter=0.015)
    found = sample(device.measure, NAMES, ask(2.0), Plan())
    assert found.rounds == 121
    assert [q.name for q in found.undecided] == ["student"]


@pytest.mark.parametrize(("seed", "rounds"), [(3, 31), (1, 61), (5, 121)])
def test_more_rounds_decide_what_a_few_do_not(seed: int, rounds: int) -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 19.55}, jitter=0.01, seed=seed)
    found = sample(device.measure, NAMES, ask(2.0), Plan())
    assert found.rounds == rounds and not found.undecided


def test_later_stages_are_for_open_questions_only() -> None:
    names = ["clear", "close", "reference"]
    device = SimulatedDevice({"clear": 5.0, "close": 10.0, "reference": 19.4}, jitter=0.01)
    questions = [Question("clear", "reference", 2.0), Question("close", "reference", 2.0)]
    found = sample(device.measure, names, questions, Plan())
    assert all(set(r) == {"close", "reference"} for r in device.rounds[31:])
    assert sum(t is not None for t in found.times_us["clear"]) == 31
    assert len(found.times_us["clear"]) == len(found.times_us["close"]) == 121


def test_throttled_rounds_are_dropped_whole_and_made_good_for() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, throttled=lambda r: r in (3, 7, 8))
    found = sample(device.measure, NAMES, [], Plan(stages=(31,)))
    assert (found.rounds, found.dropped, found.valid) == (34, 3, True)
    assert len(found.times_us["student"]) == len(found.times_us["reference"]) == 31


def test_too_many_throttled_rounds_are_no_measurement() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, throttled=lambda r: r % 3 == 0)
    found = sample(device.measure, NAMES, ask(3.0), Plan())
    assert not found.valid
    assert found.rounds <= 38, "it does not go on for ever"


@pytest.mark.parametrize(("throttled", "rounds", "valid"), [(2, 10, True), (3, 10, False)])
def test_as_many_rounds_as_the_plan_allows_may_be_throttled(throttled: int, rounds: int, valid: bool) -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, throttled=lambda r: r < throttled)
    found = sample(device.measure, NAMES, [], Plan(stages=(8,), max_dropped=0.2))
    assert (found.rounds, found.dropped, found.valid) == (rounds, throttled, valid)


def test_a_wrong_result_ends_a_kernel_s_part() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, wrong_from={"student": 5})
    found = sample(device.measure, NAMES, [], Plan(stages=(31,)))
    assert [(f.name, f.kind, f.count, f.total) for f in found.problems] == [("student", "wrong", 3, 9)]
    assert [t for t in found.times_us["student"] if t is not None] == [10.0] * 5
    assert all(r == ["reference"] for r in device.rounds[6:])


def test_the_ratio_is_of_the_same_round() -> None:
    """Times double half way through for both: a ratio of medians taken apart would not be 2."""
    times = [*[1.0] * 6, *[2.0] * 5, None]
    against = [2.0] * 6 + [4.0] * 5 + [9.0]
    ratio = speedup(times, against)
    assert ratio is not None and (ratio.median, ratio.low, ratio.high, ratio.count) == pytest.approx((2, 2, 2, 11))
    assert speedup([None], [1.0]) is None and speedup([], []) is None


def test_marks_repeat_within_a_point_on_a_noisy_device() -> None:
    """Slow drift, jitter of 1.5 %, 3 % outliers: 40 gradings of work that earns part of 20 points."""
    marks, verdicts = [], set()
    for seed in range(40):
        device = SimulatedDevice(
            {"student": 10.0, "reference": 17.0}, seed=seed, drift=1e-4, jitter=0.015, outliers=0.03
        )
        found = sample(device.measure, NAMES, ask(2.0), Plan())
        ratio = found.speedup("student", "reference")
        assert ratio is not None
        marks.append(20 * credit(ratio.median, 1.2, 2.0))
        verdicts.add(decide(ratio.low, ratio.high, 2.0))
    assert verdicts == {"missed"}
    assert max(marks) - min(marks) < 1.0


def test_orders_of_three() -> None:
    assert [order("abc", i) for i in range(3)] == [list("abc"), list("cba"), list("abc")]


@pytest.mark.parametrize(
    ("round_us", "stages"),
    [(100.0, (31, 61, 121)), (38_000.0, (31, 61, 121)), (60_000.0, (20, 39, 77)), (1e7, (9, 17, 33))],
)
def test_long_kernels_get_fewer_rounds_but_enough_for_an_interval(round_us: float, stages: tuple[int, ...]) -> None:
    plan = plan_for(round_us)
    assert (plan.asked, *plan.stages[-2:]) == stages
    assert [count for count in plan.stages if count <= plan.asked] == list(series_plan(round_us, 1_200_000.0).stages)


def test_beside_a_question_only_what_scatters_is_timed_as_often() -> None:
    times_us = {"student": 10.0, "reference": 30.0, "steady": 10.0, "scattered": 10.0}
    device = SimulatedDevice(times_us)
    factors = itertools.cycle([0.97, 1.0, 1.03])

    def measure(names: list[str]) -> Sample:
        got, factor = device.measure(names), next(factors)
        return replace(got, times_us={k: t * factor if k == "scattered" else t for k, t in got.times_us.items()})

    found = sample(measure, list(times_us), ask(2.0), plan_for(100.0))
    assert [set(r) for r in device.rounds] == [{*times_us}] * 9 + [{*times_us} - {"steady"}] * 22
    ratio = found.speedup("student", "reference")
    assert ratio is not None and ratio.count == 31 and not found.undecided and found.valid


def test_an_open_question_beside_others_takes_as_many_rounds_as_alone() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 19.4, "other": 10.0}, jitter=0.015)
    found = sample(device.measure, ["student", "reference", "other"], ask(2.0), plan_for(100.0))
    assert found.rounds == 121 and [q.name for q in found.undecided] == ["student"]
    # Past the rounds of a question another is not timed, however its times scatter.
    assert all(set(r) == {"student", "reference"} for r in device.rounds[31:])


def test_what_is_throttled_at_first_is_made_good_for() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 30.0}, throttled=lambda r: r < 4)
    found = sample(device.measure, NAMES, ask(2.0), plan_for(100.0))
    assert (found.rounds, found.dropped, found.valid) == (35, 4, True)
    assert not found.undecided


@pytest.mark.parametrize(
    ("round_us", "stages"),
    [
        (100.0, (9, 12, 15, 18, 21, 24, 26, 29, 31)),
        (12_500.0, (9, 12, 15, 18, 20)),
        (25_000.0, (9, 10)),
        (28_000.0, (9,)),
        (1e7, (9,)),
    ],
)
def test_what_no_mark_depends_on_gets_as_few_rounds_as_make_an_interval(
    round_us: float, stages: tuple[int, ...]
) -> None:
    assert series_plan(round_us, 250_000.0).stages == stages


def test_of_a_series_only_what_scatters_is_timed_on() -> None:
    """One kernel scatters by 3 %, so that its interval of 9 values is wider than 2 %; the other two by nothing."""
    device = SimulatedDevice({"steady": 10.0, "scattered": 10.0, "also_steady": 50.0})
    factors = itertools.cycle([0.97, 1.0, 1.03])

    def measure(names: list[str]) -> Sample:
        got = device.measure(names)
        factor = next(factors)
        return replace(got, times_us={k: t * factor if k == "scattered" else t for k, t in got.times_us.items()})

    found = sample(measure, ["steady", "scattered", "also_steady"], [], series_plan(100.0, 250_000.0))
    assert [set(r) for r in device.rounds] == [{"steady", "scattered", "also_steady"}] * 9 + [{"scattered"}] * 22
    assert found.valid and {n: len([t for t in v if t]) for n, v in found.times_us.items()} == {
        "steady": 9,
        "scattered": 31,
        "also_steady": 9,
    }


def test_one_value_that_lies_apart_costs_a_series_three_rounds_more() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, jitter=0.001)
    factors = itertools.chain([1.5], itertools.repeat(1.0))

    def measure(names: list[str]) -> Sample:
        got, factor = device.measure(names), next(factors)
        return replace(got, times_us={name: factor * time_us for name, time_us in got.times_us.items()})

    found = sample(measure, NAMES, [], series_plan(100.0, 250_000.0))
    assert found.rounds == 12 and found.valid
    interval = found.median("student")
    assert interval is not None and interval.high - interval.low < 0.02 * interval.median


def test_a_series_of_which_nothing_scatters_ends_with_its_first_rounds() -> None:
    device = SimulatedDevice({"student": 10.0, "reference": 20.0}, jitter=0.001)
    found = sample(device.measure, NAMES, [], series_plan(100.0, 250_000.0))
    assert found.rounds == 9 and found.median("student") is not None
