"""A group's marks as CSV, read back with Python's own reader."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest

from grader import i18n
from grader.course.decisions import DecidedPoints, Decider, Overrides, StudentOverrides
from grader.course.rules import Rules
from grader.exports.entries import Entry
from grader.exports.tables import gradebook
from grader.lab import labs
from grader.result import Score, Student
from tests import sample_results

LAB = labs.find("transpose")


def read(raw: bytes, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=delimiter))


def test_a_line_for_every_student() -> None:
    entries = [
        Entry("ivanov", sample_results.passed()),
        Entry("petrova", sample_results.failed()),
        Entry("nobody", reason="no .cu file"),
    ]
    titles, passed, failed, refused = read(gradebook(entries, LAB, "en"), ",")
    assert titles == [
        *["Student", "Name", "Group", "Status", "Points", "Pending", "Maximum", "Percent"],
        *["naive", "shared", "padded", "Worst fault", "Teacher's decisions"],
    ]
    assert (passed[0], passed[3:]) == ("ivanov", ["passed", "80", "20", "100", "80", "20", "20", "40", "", ""])
    assert (failed[0], *failed[4:8:2], failed[7]) == ("petrova", "25", "80", "31.25")
    assert failed[-2].startswith("bank conflicts (transpose.cu:12): 32-way bank")
    assert refused == ["nobody", "", "", "not graded", *[""] * 7, "no .cu file", ""]


def test_what_the_teacher_gave_all_points_for_is_no_worst_fault() -> None:
    failed = sample_results.failed()
    decided = StudentOverrides(
        checks={
            c.id: DecidedPoints(points=c.possible, reason="a slip")
            for c in failed.checks
            if c.status in ("fail", "borderline")
        }
    )
    decider = Decider(Rules(), Overrides(by_lab={failed.lab: {failed.student.id: decided}}))
    _titles, row = read(gradebook([Entry("petrova", decider.decided(failed))], LAB, "en"), ",")
    assert row[-2] == "" and "a slip" in row[-1]


def test_russian_spreadsheets_take_semicolons_and_commas() -> None:
    i18n.use("ru")
    result = msgspec.structs.replace(sample_results.passed(), score=Score(earned=79.5, possible=100.0, pending=0.0))
    raw = gradebook([Entry("ivanov", result)], LAB, "ru")
    assert raw.startswith(b"\xef\xbb\xbf")
    titles, row = read(raw, ";")
    assert titles[:1] == ["Студент"]
    assert row[4:7] == ["79,5", "0", "100"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2", "'-2"),
        ("\n=1+1", "␊=1+1"),
        ("\t=1+1", "␉=1+1"),
        ("\r=1+1", "␍=1+1"),
        ("  =1+1", "'  =1+1"),
        ("\u00a0=1+1", "'\u00a0=1+1"),
        ("＝1+1", "'＝1+1"),
        ("＠x", "'＠x"),
        ("'=1", "''=1"),
        ("Иванов", "Иванов"),
    ],
)
def test_a_text_is_never_a_formula(text: str, cell: str) -> None:
    evil = msgspec.structs.replace(sample_results.passed(), student=Student(id=text, name=text, group=text))
    (_titles, row, refused) = read(gradebook([Entry(text, evil), Entry(text, reason=text)], LAB, "en"), ",")
    assert [row[0], row[1], row[2], refused[0], refused[-2]] == [cell] * 5


@pytest.mark.parametrize("text", ["a;=1+1", "a,=1+1", 'a",=1+1,"', "a\t=1+1", "a;=1+1\nb;=2"])
def test_no_kind_of_spreadsheet_parts_a_cell_in_two(text: str) -> None:
    for language in ("en", "ru"):
        raw = gradebook([Entry(text, reason="none")], LAB, language)
        for delimiter in (",", ";", "\t"):
            rows = read(raw, delimiter)
            assert len(rows) == 2
            assert not [cell for cell in rows[1] if cell.startswith("=")]
