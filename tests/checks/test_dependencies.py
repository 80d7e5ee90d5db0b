"""What a failed, missing or inapplicable check does to those that rest on it, and to the points."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader import i18n
from grader.checks import JUDGES, judge
from grader.compiler.diagnostics import Diagnostic
from grader.lab.checks import CHECKS
from grader.lab.compare import Difference
from grader.message import msg
from grader.ptx.records import Hazard
from grader.result import Check, score_of, status_of
from grader.running.evidence import Compilation, Evidence
from grader.submission.records import Missing
from grader.words import text, told
from tests.checks.evidence_factory import evidence, hazard, run
from tests.sample_results import counters

PACKAGE = Path(__file__).parent.parent.parent / "grader"
WRONG = Difference(4096, 4096, first=(0, 1), expected=1.0, got=2.0, name="out")


OUTSIDE, UNSET = hazard("out_of_bounds", "after"), hazard("uninitialized", "")
RACE = hazard("race", "read_write", other_line=9)


def by_name(given: Evidence) -> dict[str, Check]:
    return {c.check: told(c) for c in judge(given)}


def test_a_right_kernel_earns_everything_but_what_was_not_measured() -> None:
    checks = judge(evidence())
    assert [c.check for c in checks if c.status != "pass"] == ["host_code", "speedup"]
    score = score_of(checks)
    # Without a program there is no host code to judge.
    assert (score.earned, score.possible, score.pending) == (36.0, 41.0, 5.0)
    assert status_of(checks) == "passed"


def test_without_a_kernel_every_other_check_waits() -> None:
    checks = judge(evidence(binding=Missing("padded", "no_candidate"), runs=(), counters=None))
    assert checks[0].status == "fail"
    assert {c.status for c in checks[1:]} == {"skip"}
    assert {c.skip_reason for c in checks[1:]} == {"prerequisite"}
    assert {c.data["blocked_by"] for c in checks[1:]} == {"present"}
    score = score_of(checks)
    assert (score.earned, score.possible, score.pending) == (0.0, 43.0, 43.0)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en", "Not graded: the check “correct result” failed."),
        ("ru", "Не оценивалось: не пройдена проверка «верный результат»."),
    ],
)
def test_who_waits_names_the_failed_check_by_its_title(language: str, message: str) -> None:
    i18n.use(language)
    try:
        checks = by_name(evidence(runs=(run("correct", WRONG), run("observe", WRONG))))
    finally:
        i18n.use("en")
    assert checks["coalescing"].message == message


def test_figures_of_messages_have_the_languages_decimal_mark() -> None:
    given = evidence(counters=counters(load_ways=32))
    english = by_name(given)["bank_conflicts"]
    i18n.use("ru")
    try:
        russian = by_name(given)["bank_conflicts"]
    finally:
        i18n.use("en")
    assert "6.06 %" in english.message
    assert "6,06" in russian.message
    assert "." not in russian.message.rstrip(".")


@pytest.mark.parametrize(
    ("hazards", "due"),
    [
        ([OUTSIDE], {"correct": "memory_safety"}),
        ([OUTSIDE, RACE], {"correct": "memory_safety", "races": "memory_safety"}),
        ([UNSET, RACE], {"correct": "memory_safety", "memory_safety": "races"}),
        ([UNSET, replace(RACE, line=7)], {"correct": "memory_safety"}),
    ],
)
def test_what_follows_from_what_another_check_found_names_it(hazards: list[Hazard], due: dict[str, str]) -> None:
    wrong = tuple(run(kind, WRONG, hazards=tuple(hazards)) for kind in ("correct", "observe"))
    checks = by_name(evidence(runs=wrong))
    assert {name: check.data["due_to"] for name, check in checks.items() if "due_to" in check.data} == due


def test_a_compile_error_still_judges_the_launch() -> None:
    failed = Compilation("errors", (Diagnostic("transpose.cu", 9, "error", "expected a ;"),))
    checks = by_name(evidence(compilation=failed, runs=(), counters=None))
    assert checks["compiles"].status == "fail"
    assert checks["launch"].status == "pass"
    assert checks["correct"].data == {"blocked_by": "compiles"}
    assert checks["speedup"].skip_reason == "prerequisite"
    assert checks["speedup"].pending == 5


def test_the_most_that_can_be_had_is_the_same_before_and_after_a_fault_is_mended() -> None:
    errors = (Diagnostic("transpose.cu", 9, "error", "expected a ;"),)
    broken = by_name(evidence(compilation=Compilation("errors", errors), runs=(), counters=None, requested=None))
    # No launch can be read of it, which says nothing of what it will be.
    assert (broken["launch"].skip_reason, broken["launch"].possible) == ("prerequisite", broken["launch"].pending)
    wrong = by_name(evidence(runs=(run("correct", WRONG), run("observe", WRONG)), takes_sizes=False))
    right = by_name(evidence(takes_sizes=False))
    assert wrong["ragged_sizes"].skip_reason == right["ragged_sizes"].skip_reason == "not_applicable"
    assert score_of(wrong.values()).possible == score_of(right.values()).possible


def test_of_host_code_that_does_not_compile_nothing_is_read() -> None:
    errors = (Diagnostic("transpose.cu", 70, "error", "expected ')'"),)
    broken = Compilation("errors", errors, is_host_broken=True)
    checks = by_name(evidence(compilation=broken, runs=(), counters=None))
    assert checks["compiles"].status == "fail"
    assert checks["launch"].data == checks["correct"].data == {"blocked_by": "compiles"}


def test_a_wrong_result_gives_no_credit_for_the_rest() -> None:
    checks = by_name(evidence(runs=(run("correct", WRONG), run("observe", WRONG))))
    assert checks["correct"].status == "fail"
    for name in ("ragged_sizes", "memory_safety", "races", "technique", "coalescing", "bank_conflicts", "speedup"):
        check = checks[name]
        assert (check.skip_reason, check.earned, check.pending) == ("prerequisite", 0, check.possible), name


def test_a_wrong_result_does_not_hide_its_cause() -> None:
    race = hazard("race", "read_write", other_line=9, other_thread=(0, 1, 0))
    checks = by_name(evidence(runs=(run("correct", WRONG, (race,)),)))
    assert checks["correct"].status == "fail"
    assert checks["races"].status == "fail"
    assert checks["races"].line == 12


def test_what_does_not_apply_is_no_part_of_what_is_possible() -> None:
    checks = judge(evidence(takes_sizes=False))
    ragged = next(c for c in checks if c.check == "ragged_sizes")
    assert (ragged.status, ragged.skip_reason, ragged.possible) == ("skip", "not_applicable", 0)
    assert score_of(checks).possible == 38.0


def test_an_unknown_instruction_blames_the_grader_and_leaves_all_points_pending() -> None:
    lost = run("correct", None, status="unsupported", reason="`wmma.load` is not implemented", line=9)
    checks = by_name(evidence(runs=(lost,), counters=None))
    assert checks["correct"].status == "error"
    assert "wmma.load" in checks["correct"].message
    assert checks["technique"].skip_reason == "not_measured"
    score = score_of(checks.values())
    assert score.earned == 2.0  # the launch in the host code is right all the same
    assert score.pending == 39.0
    assert status_of(checks.values()) == "error"


def test_every_point_is_earned_pending_or_lost() -> None:
    for changes in ({}, {"counters": None}, {"takes_sizes": False}, {"runs": (run("correct", WRONG),)}):
        for c in judge(evidence(**changes)):
            assert 0 <= c.earned + c.pending <= c.possible
            assert (c.status == "skip") == bool(c.skip_reason)
            assert told(c).message
            assert c.id == f"padded.{c.check}"


def test_every_check_has_a_judge_of_its_own() -> None:
    assert JUDGES.keys() == CHECKS.keys()
    for name, (judge_of_it, _traits) in JUDGES.items():
        assert judge_of_it.__module__.startswith("grader.checks.")
        assert judge_of_it.__name__ == f"judge_{name}"


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_has_a_title_and_stands_in_the_description_of_labs(name: str) -> None:
    assert text(msg(f"checks.{name}.title"))
    assert f"`{name}`" in (PACKAGE.parent / "docs" / "labs.md").read_text("utf-8")


@pytest.mark.parametrize("name", CHECKS)
def test_what_a_check_needs_comes_before_it(name: str) -> None:
    order = list(CHECKS)
    for need in (*CHECKS[name].needs, *CHECKS[name].credit_needs):
        assert order.index(need) < order.index(name)


def test_a_check_whose_need_the_lab_does_not_list_is_run() -> None:
    given = evidence()
    specs = tuple(s for s in given.variant.checks if s.check == "bank_conflicts")
    assert judge(replace(given, variant=replace(given.variant, checks=specs)))[0].status == "pass"
