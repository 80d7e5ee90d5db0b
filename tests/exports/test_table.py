"""A group's marks as CSV, read back with Python's own reader."""

from __future__ import annotations

import csv
import io

import msgspec
from grader.report.gradebook import gradebook, gradebook_line, refused_line

from grader import i18n
from grader.result import Student
from tests import sample_results
from tests.report.jobs import job

VARIANTS = ["naive", "shared", "padded"]


def read(raw: bytes, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig")), delimiter=delimiter))


def test_a_line_for_every_student() -> None:
    lines = [
        gradebook_line(job(), ""),
        gradebook_line(job(sample_results.failed()), "bank conflicts: 32-way, in line 12"),
        refused_line("nobody", "no .cu file"),
    ]
    titles, passed, failed, refused = read(gradebook(lines, VARIANTS, "en"), ",")
    assert titles == [
        *["Student", "Name", "Group", "Status", "Points", "Pending", "Of"],
        *["naive", "shared", "padded", "Worst fault"],
    ]
    assert (passed[0], passed[3:]) == ("ivanov", ["passed", "80", "20", "100", "20", "20", "40", ""])
    assert (failed[0], failed[4], failed[6]) == ("petrova", "25", "80")
    assert failed[-1] == "bank conflicts: 32-way, in line 12"
    assert refused == ["nobody", "", "", "not graded", *[""] * 6, "no .cu file"]


def test_russian_spreadsheets_take_semicolons_and_commas() -> None:
    i18n.use("ru")
    line = gradebook_line(job(language="ru"), "")
    line["points"] = [79.5, 0.0, 100.0]
    raw = gradebook([line], VARIANTS, "ru")
    assert raw.startswith(b"\xef\xbb\xbf")
    titles, row = read(raw, ";")
    assert titles[:2] == ["Студент", "Имя"]
    assert row[4:7] == ["79,5", "0", "100"]


def test_a_name_is_never_a_formula() -> None:
    evil = msgspec.structs.replace(sample_results.passed(), student=Student(id="=1+1", name="@SUM(A1)", group="-2"))
    (_titles, row) = read(gradebook([gradebook_line(job(evil), "+x")], VARIANTS, "en"), ",")
    assert [row[0], row[1], row[2], row[-1]] == ["'=1+1", "'@SUM(A1)", "'-2", "'+x"]
