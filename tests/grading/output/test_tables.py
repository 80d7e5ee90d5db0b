"""The tables of a course are made of every lab that was graded into the folder; one that cannot be written says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader import i18n
from grader.exports.entries import CourseExport, Entry, Table
from grader.grading.output.tables import Tables, course_tables
from grader.lab import labs
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
