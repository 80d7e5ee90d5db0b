"""Who has which row of a group's tables, and what exit code the rows come to."""

from __future__ import annotations

import csv
from pathlib import Path

from grader.course.decisions import Decider, Overrides
from grader.course.roster import Person
from grader.course.rules import Rules
from grader.grading.groups.rows import Rows
from grader.grading.output.paths import Outputs
from grader.grading.students import Work
from grader.lab import labs
from grader.message import verbatim
from tests import sample_results

WORKS = (
    Work(Path("ivanov"), "ivanov", person=Person(id="ivanov", number="77")),
    Work(Path("ivanov.zip"), "ivanov", refusal=verbatim("a second of this name")),
    Work(Path("petrova"), "petrova"),
)


def rows_in(out: Path, rendered: set[str]) -> Rows:
    outputs = Outputs(out, "transpose", ["ivanov", "petrova"])
    return Rows(WORKS, labs.find("transpose"), "en", outputs, Decider(Rules(), Overrides()), rendered)


def table(out: Path) -> list[tuple[str, str]]:
    rows = list(csv.DictReader((out / "transpose.csv").read_text("utf-8-sig").splitlines()))
    return [(row["Student"], row["Worst fault"]) for row in rows]


def test_each_work_has_a_row_whoever_is_graded_by_now(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, set())
    assert rows.missing == ["ivanov", "ivanov", "petrova"] and rows.are_due
    rows.write()
    waiting = "not graded: the run was interrupted or is not finished yet"
    assert table(tmp_path) == [(name, waiting) for name in ("ivanov", "ivanov", "petrova")]
    assert not rows.are_due
    # A refused work of the same name keeps a row of its own.
    rows.put_refused()
    result = rows.shown("ivanov", sample_results.passed())
    rows.put("ivanov", result)
    rows.refuse("petrova", verbatim("nothing to grade"), 2)
    entries, lines = rows.write(is_last=True)
    assert table(tmp_path) == [("ivanov", ""), ("ivanov", "a second of this name"), ("petrova", "nothing to grade")]
    assert [entry.result is None for entry in entries] == [False, True, True]
    assert rows.missing == [] and any("transpose.csv" in line for line in lines)


def test_the_worst_row_is_the_exit_code(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, set())
    assert rows.code == 0
    rows.put("ivanov", sample_results.failed())
    assert rows.code == 1
    rows.refuse("petrova", verbatim("the grader failed"), 3)
    # A refusal is told by 2, whatever is known by then.
    rows.put_refused()
    assert rows.code == 3


def test_only_who_has_a_report_is_linked_to_it(tmp_path: Path) -> None:
    rendered: set[str] = set()
    rows = rows_in(tmp_path, rendered)
    rows.put("ivanov", sample_results.passed())
    assert [entry.report for entry in rows.write()[0]] == ["", "", ""]
    rendered.add("ivanov")
    assert [entry.report for entry in rows.write()[0]] == ["ivanov/transpose/report.html", "", ""]
