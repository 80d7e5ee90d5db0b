"""The weights of labs hold for every table of a course, whichever command writes it, and from wherever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from openpyxl import load_workbook

from grader.cli import main as cli
from grader.files import data_root
from tests.marks_only import put_marks_only

RULES = "labs:\n  one: {weight: 9}\n  two: {weight: 1}\n"


def total(folder: Path) -> float:
    """The last column of the sheet of all labs: per cent of the course."""
    workbook = load_workbook(folder / "reports" / "gradebook.xlsx")
    last = [row[-1].value for row in workbook.worksheets[0].iter_rows()][-1]
    assert isinstance(last, int | float)
    return float(last)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student, graded in two labs: well in the one and ill in the other."""
    monkeypatch.chdir(tmp_path)
    for lab, source in (("one", "ivanov"), ("two", "petrova")):
        put_marks_only(tmp_path, "transpose", lab)
        for student in ("ivanov", "petrova"):
            place = tmp_path / "group" / student
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(data_root() / "submissions" / source / "transpose.cu", place / f"{lab}.cu")
    (tmp_path / "group" / "group.yaml").write_text(RULES)
    for lab in ("one", "two"):
        cli.run(["group", "--lab", lab, "--backend", "emulator", "--no-pdf"])
    return tmp_path


def test_every_command_gives_the_same_total_and_none_without_the_rules(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weighed = total(course)
    for command in (
        ["export", "reports", "--format", "xlsx"],
        ["report", "reports", "--no-pdf"],
        ["rescore", "reports", "--no-pdf"],
    ):
        (course / "reports" / "gradebook.xlsx").unlink()
        assert cli.run(command) == 0
        assert total(course) == weighed, command
    # Rules that are gone change no mark.
    (course / "group" / "group.yaml").rename(course / "kept.yaml")
    capsys.readouterr()
    assert cli.run(["rescore", "reports", "--no-pdf", "--lang", "en"]) == 2
    said = capsys.readouterr().err
    assert str(course / "group" / "group.yaml") in said and "put the file back" in said
    (course / "kept.yaml").rename(course / "reports" / "group.yaml")
    assert cli.run(["rescore", "reports", "--no-pdf"]) == 0
    assert total(course) == weighed
    # And it is no total without weights.
    (course / "reports" / "group.yaml").write_text("")
    assert cli.run(["rescore", "reports", "--no-pdf"]) == 0
    assert total(course) != weighed
