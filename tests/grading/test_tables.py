"""The tables of a group and of a course."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from grader import i18n
from grader.course.decisions import Decider, Overrides
from grader.course.roster import Person
from grader.course.rules import Rules
from grader.exports.entries import CourseExport, Entry, Table
from grader.grading.paths import Outputs
from grader.grading.students import Work
from grader.grading.tables import Rows, Tables, course_tables
from grader.lab import labs
from grader.message import verbatim
from tests import sample_results
from tests.stored_marks import put_marks


def names(tables: Sequence[Table], language: str) -> bytes:
    return f"{language}: {' '.join(table.lab.id for table in tables)}".encode()


def test_every_lab_is_in_the_courses_tables(tmp_path: Path) -> None:
    entry = Entry("ivanov", sample_results.passed())
    tables = [Table(labs.find(name), [entry]) for name in ("matmul", "transpose")]
    exports = [CourseExport(name, names, lambda path: f"Course: {path.name}") for name in ("a.txt", "none/b.txt")]
    (tmp_path / "none").write_text("no folder")
    writer = Tables("ru")
    assert writer.of_course(exports, tables, tmp_path) == ["Course: a.txt"]
    assert (tmp_path / "a.txt").read_text() == "ru: matmul transpose"
    (problem,) = writer.problems
    assert "none" in problem


def test_a_lab_that_cannot_be_shown_is_named_and_costs_no_other(tmp_path: Path) -> None:
    i18n.use("en")
    for lab in ("box-blur", "matmul", "transpose"):
        put_marks(tmp_path, labs.find(lab), ("ivanov",))
    (tmp_path / "ivanov" / "box-blur" / "result.json").write_text("{")
    (tmp_path / "matmul.json").write_text((tmp_path / "matmul.json").read_text().replace('"matmul"', '"gone"'))
    tables, left_out = course_tables(tmp_path, {}, ())
    # What one student's file lacks costs nobody else a row.
    assert [table.lab.id for table in tables] == ["box-blur", "transpose"]
    (blur,) = tables[0].entries
    assert blur.result is None and "result.json" in str(blur.reason)
    (gone,) = left_out
    assert gone.startswith("matmul is left out of the tables of all labs: ") and "gone" in gone


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
