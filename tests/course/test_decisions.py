"""Lateness, overrides and totals: what they make of a mark, and that it can be had back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.decisions import Decider, Overrides, find_decider, read_ledger, undone, write_ledger
from grader.course.roster import Person, merged
from grader.course.rules import Penalty, Rules, days_late, penalty_pct, read_rules
from grader.errors import FileError, UsageError
from grader.lab import labs
from grader.report.job import decision_lines
from grader.result import decode, encode
from tests import sample_results

LAB = labs.find("transpose")
DUE = datetime(2026, 10, 1, 20, 59, tzinfo=UTC)
GROUP = """\
timezone: Europe/Moscow
penalty: {percent_per_day: 10, floor: 40}
labs:
  transpose: {deadline: 2026-10-01 23:59, weight: 2}
students:
  petrova: {extra_days: 3, handed_in: {transpose: 2026-10-05 12:00}}
"""


def rules(tmp_path: Path, text: str = GROUP) -> Rules:
    (tmp_path / "group.yaml").write_text(text, "utf-8")
    return read_rules(tmp_path / "group.yaml")


def handed_in(when: str, **more: float) -> Person:
    return Person(id="ivanov", handed_in=when, extra_days=more.get("extra_days", 0.0))


@pytest.mark.parametrize(
    ("when", "days", "earned"),
    [
        ("2026-10-01 23:59:30", 0, 80),
        ("2026-10-01 23:59:59.900", 0, 80),
        ("2026-10-02 00:00", 1, 72),
        ("2026-10-02T20:59:00Z", 1, 72),
        ("2026-10-03 12:00", 2, 64),
        ("2026-12-31", 91, 32),
    ],
)
def test_each_begun_day_costs_down_to_the_floor(when: str, days: int, earned: float, tmp_path: Path) -> None:
    result = Decider(rules(tmp_path), Overrides()).decided(sample_results.passed(), handed_in(when))
    assert result.score.earned == earned
    late = result.decisions.late if result.decisions else None
    assert (late.days if late else 0) == days
    assert (late.lost_pending if late else 0) == 20 - result.score.pending
    told = " ".join(decision_lines(result, "en"))
    assert (f"and {20 - result.score.pending:g} of those pending" in told) == bool(days)
    # What is still to come is due as late.
    assert result.score.pending == 20 * earned / 80
    assert undone(result) == sample_results.passed()


def test_extra_time_and_times_that_the_file_gives(tmp_path: Path) -> None:
    decider = Decider(rules(tmp_path), Overrides())
    assert decider.decided(sample_results.passed(), handed_in("2026-10-03", extra_days=2)).decisions is None
    petrova = decider.decided(sample_results.failed(), Person(id="petrova"))
    assert petrova.decisions is not None and petrova.decisions.late is not None
    assert (petrova.student.id, petrova.decisions.late.days, petrova.score.earned) == ("petrova", 1, 22.5)


@pytest.mark.parametrize(
    ("zone", "deadline", "extra", "when", "days"),
    [
        # Clocks are set back in the night to 25 October, and that day lasts 25 hours.
        ("Europe/Berlin", "2026-10-24 23:59", 0, "2026-10-25 23:59", 1),
        ("Europe/Berlin", "2026-10-24 23:59", 0, "2026-10-26 00:00", 2),
        ("Europe/Berlin", "2026-10-24 23:59", 1, "2026-10-25 23:59", 0),
        ("Europe/Berlin", "2026-10-24 23:59", 1, "2026-10-26 00:00", 1),
        # Set forward on 29 March: 23 hours.
        ("Europe/Berlin", "2026-03-28 23:59", 0, "2026-03-29 23:59", 1),
        ("Europe/Berlin", "2026-03-28 23:59", 1, "2026-03-30 00:00", 1),
        # The hour that there is twice: a deadline in the first, handed in during the second.
        ("Europe/Berlin", "2026-10-25 02:30", 0, "2026-10-25T02:10:00+01:00", 1),
        ("Europe/Moscow", "2026-10-24 00:00", 0, "2026-10-24 00:00:59", 0),
        ("Europe/Moscow", "2026-10-24 00:00", 0, "2026-10-24 00:01", 1),
    ],
)
def test_days_are_those_of_the_calendar(
    zone: str, deadline: str, extra: float, when: str, days: int, tmp_path: Path
) -> None:
    text = f"timezone: {zone}\npenalty: {{percent_per_day: 1}}\nlabs:\n  transpose: {{deadline: {deadline}}}\n"
    result = Decider(rules(tmp_path, text), Overrides()).decided(
        sample_results.passed(), handed_in(when, extra_days=extra)
    )
    late = result.decisions.late if result.decisions else None
    assert (late.days if late else 0) == days


def test_an_unknown_time_is_asked_for(tmp_path: Path) -> None:
    result = Decider(rules(tmp_path), Overrides()).decided(sample_results.passed())
    assert result.score == sample_results.passed().score
    assert result.decisions is not None and result.decisions.asks_time
    assert decision_lines(result, "en") == ["it is not known when the work was submitted; no penalty is applied"]


@given(late=st.timedeltas(timedelta(days=-30), timedelta(days=400)), rate=st.floats(0, 100), floor=st.floats(0, 100))
def test_penalties_keep_within_their_bounds(late: timedelta, rate: float, floor: float) -> None:
    days = days_late(DUE + late, DUE, UTC)
    assert (days == 0) == (late <= timedelta(0))
    assert days - 1 < late / timedelta(days=1) <= days or days == 0
    assert 0 <= penalty_pct(days, Penalty(rate, floor)) <= 100 - floor


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("timezone: Mars\n", 1, "Mars"),
        ("labs:\n  transpose: {deadline: soon}\n", 2, "soon: not a time"),
        ("penalty: {percent_per_day: 120}\n", 1, r"must be a number of at most 100 \(got 120\)"),
        ("labs:\n  transpose: {weight: -1}\n", 2, r"must be a number of at least 0 \(got -1\)"),
        ("labs:\n  transpose:\n    dedline: 2026-10-01\n", 3, "dedline"),
        ("students:\n  petrova:\n    handed_in: {transpose: never}\n", 3, "never"),
    ],
)
def test_a_wrong_file_names_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=words) as error:
        rules(tmp_path, text)
    assert error.value.line == line


def decider(tmp_path: Path, text: str) -> Decider:
    (tmp_path / "overrides.yaml").write_text(text, "utf-8")
    (tmp_path / "out").mkdir(exist_ok=True)
    return find_decider([tmp_path], tmp_path / "out")


ONE = "transpose:\n  petrova:\n    checks:\n      padded.bank_conflicts: {points: 7, reason: a typing error}\n"


def test_a_checks_points_and_what_they_replaced(tmp_path: Path) -> None:
    before = sample_results.failed()
    first = decider(tmp_path, ONE)
    result = first.decided(before)
    check = next(c for c in result.checks if c.id == "padded.bank_conflicts")
    was = next(c for c in before.checks if c.id == "padded.bank_conflicts")
    assert check.override is not None and (check.earned, check.override.was) == (7, was.earned)
    assert result.score.earned == before.score.earned - was.earned + 7
    assert decision_lines(result, "en") == [
        f"padded: bank conflicts: the teacher gives 7 instead of {was.earned:g}: a typing error"
    ]
    assert undone(result) == before and decode(encode(result)) == result
    # Applied again, it is the same.
    assert first.decided(result) == result
    write_ledger(first, tmp_path / "out", LAB.id)
    # Another grading finds something else there.
    changed = msgspec.structs.replace(
        before,
        checks=[msgspec.structs.replace(c, status="pass", earned=c.possible) if c is was else c for c in before.checks],
    )
    again = decider(tmp_path, ONE).decided(changed)
    assert "has changed since" in decision_lines(again, "en")[0]
    # A new decision replaces what is there now.
    anew = decider(tmp_path, ONE.replace("a typing", "another typing")).decided(changed)
    assert "has changed since" not in decision_lines(anew, "en")[0]


def test_a_total_comes_after_everything_else(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    text = "transpose:\n  ivanov:\n    total: {points: 60, reason: defended}\n    note: well explained\n"
    result = decider(tmp_path, text).decided(sample_results.passed(), handed_in("2026-10-03 12:00"))
    assert (result.score.earned, result.score.pending) == (60, 0)
    assert decision_lines(result, "en")[1:] == [
        "Total: the teacher gives 60 instead of 64: defended",
        "Teacher's note: well explained",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ONE.replace("bank_conflicts", "colour"),
            r"padded\.colour: no such check in this lab; allowed: naive\.present, ",
        ),
        (ONE.replace("points: 7", "points: 700"), "700 points; at most"),
        ("transpose:\n  petrova:\n    total:\n      {points: 101, reason: bonus}\n", "101 points; at most 100"),
        (ONE.replace(", reason: a typing error", ""), "reason"),
        (ONE.replace("a typing error", "''"), "length"),
    ],
)
def test_a_wrong_decision_names_its_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=words) as error:
        decider(tmp_path, text).overrides.validate(LAB)
    assert error.value.line == 4


@pytest.mark.parametrize("points", ["0", "10", "7.5"])
def test_a_decision_may_give_all_points_and_none(points: str, tmp_path: Path) -> None:
    decider(tmp_path, ONE.replace("points: 7", f"points: {points}")).overrides.validate(LAB)
    # What is decided of another lab is no business of this one.
    decider(tmp_path, ONE.replace("transpose", "matmul").replace("bank", "tank")).overrides.validate(LAB)


def test_a_result_of_which_nothing_was_decided_stays_as_it_is(tmp_path: Path) -> None:
    result = sample_results.passed()
    assert undone(result) is result
    total = "transpose:\n  ivanov:\n    total: {points: 60, reason: defended}\n"
    assert undone(decider(tmp_path, total).decided(result)) == result


@pytest.mark.parametrize(("kept", "is_written"), [("group.yaml", True), ("overrides.yaml", True), ("", False)])
def test_what_was_applied_is_kept_for_the_next_run(kept: str, is_written: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if kept:
        (tmp_path / kept).write_text(GROUP if kept == "group.yaml" else ONE, "utf-8")
    write_ledger(find_decider([tmp_path], out), out, LAB.id)
    ledger = read_ledger(out).of(LAB.id)
    assert (ledger.rules, ledger.overrides) == tuple(
        str(tmp_path / name) if name == kept else "" for name in ("group.yaml", "overrides.yaml")
    )
    assert any(out.iterdir()) == is_written


def test_what_speaks_of_nobody_is_told(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(
        "labs:\n  transposee: {weight: 2}\n  transpose: {weight: 1}\n"
        "students:\n  petrva: {extra_days: 1}\n  ivanov: {handed_in: {matmull: 2026-10-05}}\n"
    )
    (tmp_path / "overrides.yaml").write_text(
        "transpose:\n  ivanov: {note: good}\n  zzz: {total: {points: 9, reason: told all}}\nmatmul:\n  yyy: {note: x}\n"
    )
    decider = find_decider([tmp_path], tmp_path)
    people = [Person(id="ivanov"), Person(id="petrova")]
    notices = decider.for_people(people).of_nobody("transpose", people, {"transpose", "matmul"})
    assert [(notice.id.removeprefix("course."), *list(notice.data.values())[1:]) for notice in notices] == [
        ("unknown_lab", "transposee", "matmul, transpose"),
        ("unknown_lab", "matmull", "matmul, transpose"),
        ("unknown_student_like", "petrva", "petrova"),
        ("unknown_student", "zzz"),
    ]


@pytest.mark.parametrize(
    "called", ["Ivanov Pyotr_77", "s2301", "u1@uni.example", "20-312", "Иванов Пётр", "Петр Иванов"]
)
def test_a_student_may_be_called_by_whatever_the_roster_knows(called: str, tmp_path: Path) -> None:
    listed = Person(id="s2301", name="Иванов Пётр", email="u1@uni.example", number="20-312")
    people = [merged(Person(id="Ivanov Pyotr_77"), listed), Person(id="other", name="Иванов Павел")]
    (tmp_path / "overrides.yaml").write_text(f"transpose:\n  {called}: {{note: good}}\n", "utf-8")
    (tmp_path / "group.yaml").write_text(
        f"labs: {{transpose: {{deadline: 2026-10-01}}}}\n"
        f"students:\n  {called}: {{extra_days: 1, handed_in: {{transpose: 2026-10-05}}}}\n",
        "utf-8",
    )
    decider = find_decider([tmp_path], tmp_path).for_people(people)
    assert list(decider.overrides.by_lab["transpose"]) == list(decider.rules.extra_days) == ["Ivanov Pyotr_77"]
    assert list(decider.rules.handed_in) == [("Ivanov Pyotr_77", "transpose")]
    assert decider.of_nobody("transpose", people, {"transpose"}) == []
    with (tmp_path / "overrides.yaml").open("a", encoding="utf-8") as file:
        file.write(f"  {'s2301' if called != 's2301' else 'u1@uni.example'}: {{note: better}}\n")
    with pytest.raises(UsageError, match="are one student"):
        find_decider([tmp_path], tmp_path).for_people(people)


def test_decisions_in_two_places_are_asked_about(tmp_path: Path) -> None:
    decider(tmp_path, ONE)
    (tmp_path / "out" / "overrides.yaml").write_text(ONE)
    with pytest.raises(UsageError, match="keep one"):
        find_decider([tmp_path], tmp_path / "out")
