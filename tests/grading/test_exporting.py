"""`grade export DIR --lab LAB`: one lab's files are made anew, and those of all labs lose none."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest
from openpyxl import load_workbook

from grader.cli import main as cli
from grader.exports import FORMATS
from grader.lab import labs
from tests.marks_only import put_marks_only
from tests.stored_marks import put_marks


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A group in two labs."""
    monkeypatch.chdir(tmp_path)
    for lab in ("one", "two"):
        put_marks_only(tmp_path, "transpose", lab)
        put_marks(tmp_path / "reports", labs.find(lab), ("ivanov", "petrova"))
    return tmp_path / "reports"


def test_files_of_all_labs_keep_all(reports: Path) -> None:
    formats = ["--format", "xlsx", "--format", "course", "--format", "csv"]
    assert cli.run(["export", "reports", "--lang", "en", *formats]) == 0
    whole = {name: (reports / name).read_bytes() for name in ("gradebook.xlsx", "course.html")}
    assert load_workbook(reports / "gradebook.xlsx").sheetnames == ["All labs", "one", "two"]
    for file in reports.glob("*.csv"):
        file.unlink()
    assert cli.run(["export", "reports", "--lang", "en", "--lab", "two", *formats]) == 0
    assert {name: (reports / name).read_bytes() for name in whole} == whole
    assert [file.name for file in reports.glob("*.csv")] == ["two.csv"]


def test_a_lab_that_is_not_known_here_is_not_left_out(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", "reports", "--lang", "en", "--format", "xlsx"]) == 0
    whole = (reports / "gradebook.xlsx").read_bytes()
    shutil.rmtree(tmp_path / "assignments" / "one")
    assert cli.run(["export", "reports", "--lang", "en", "--lab", "two", "--format", "xlsx"]) == 2
    assert "one" in capsys.readouterr().err
    assert (reports / "gradebook.xlsx").read_bytes() == whole
    # A file of its own needs no other lab.
    assert cli.run(["export", "reports", "--lang", "en", "--lab", "two", "--format", "csv"]) == 0


def test_a_lab_that_was_not_graded_is_said(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "reports", "--lang", "en", "--lab", "two", "--lab", "three", "--format", "csv"]) == 2
    said = capsys.readouterr()
    assert "three was not graded there; there are one, two" in said.err and said.err.count("\n") == 1
    assert not list(reports.glob("*.csv"))


def test_a_result_that_is_gone_is_a_row_that_says_so(reports: Path) -> None:
    (reports / "ivanov" / "one" / "result.json").unlink()
    formats = [option for name in FORMATS if name != "pdf" for option in ("--format", name)]
    assert cli.run(["export", "reports", "--lang", "en", *formats]) == 0
    rows = list(csv.reader(io.StringIO((reports / "one.csv").read_text("utf-8-sig"))))
    assert [(row[0], row[3]) for row in rows[1:]] == [("ivanov", "not graded"), ("petrova", "passed")]
    assert "is not there any more; grade the group again" in rows[1][-2]
    # Neither do others speak of marks that nobody has.
    assert cli.run(["rescore", "reports", "--lang", "en", "--no-pdf"]) == 0
    assert "is not there any more" in (reports / "one.html").read_text("utf-8")


def test_a_result_of_a_newer_grader_is_said_to_be_one(reports: Path) -> None:
    file = reports / "ivanov" / "one" / "result.json"
    file.write_text(file.read_text("utf-8").replace('"schema_version": 3', '"schema_version": 4'))
    assert cli.run(["export", "reports", "--lang", "en", "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO((reports / "one.csv").read_text("utf-8-sig"))))
    assert "of schema version 4, and this version of the grader knows 3" in rows[1][-2]
