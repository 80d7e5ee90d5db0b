"""`grade new-lab`: the skeleton is a sound lab; wrong names and folders that are taken are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader import files
from grader.cli import main as cli
from grader.errors import UsageError
from grader.grading.options import GradeOptions
from grader.grading.selftest import examine, specimens
from grader.grading.task import GradeTask, grade_here
from grader.lab import labs
from grader.lab.file import load


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_skeleton_is_a_lab_of_its_name(here: Path) -> None:
    folder = labs.create("row-sums", Path("assignments"))
    lab = load(folder)
    assert (lab.id, lab.title) == ("row-sums", {"en": "Row sums", "ru": "Row sums"})
    assert sum(check.points for variant in lab.variants for check in variant.checks) == 100
    assert labs.find("row-sums").path == folder / "lab.yaml"
    texts = {path.name: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    left = [name for name, text in texts.items() if "@NAME@" in text or "@TITLE@" in text]
    assert left == [] and sorted(path.name for path in here.iterdir()) == ["assignments"]
    assert [path.name for path in Path("assignments").iterdir()] == ["row-sums"]


def test_its_kernels_get_their_verdicts() -> None:
    lab = load(labs.create("sums", Path("assignments")))
    findings = examine(specimens(lab), backend="emulator", jobs=1)
    assert [(f.specimen.name, f.problems) for f in findings] == [
        ("good/grid_stride.cu", ()),
        ("bad/missing_guard.cu", ()),
    ]


def test_its_starter_is_told_to_be_empty() -> None:
    folder = labs.create("sums", Path("assignments"))
    task = GradeTask(path=bytes(folder / "starter.cu"), options=GradeOptions(lab="sums", backend="emulator"))
    result = grade_here(task)
    failed = [check for check in result.checks if check.status == "fail"]
    assert [check.id for check in failed] == ["plain.present"] and result.score.earned == 0


@pytest.mark.parametrize(
    "name", ["", "Sums", "row_sums", "-sums", "sums-", "a--b", "../sums", "a/b", "сумма", "1st", "a" * 41, "a b", "."]
)
def test_names_that_are_none(here: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters and digits"):
        labs.create(name, Path("assignments"))
    assert list(here.iterdir()) == []


def test_a_folder_that_is_there_stays_as_it_is(here: Path) -> None:
    (here / "assignments/sums").mkdir(parents=True)
    with pytest.raises(UsageError, match="assignments/sums"):
        labs.create("sums", Path("assignments"))
    assert list((here / "assignments/sums").iterdir()) == []


def test_a_shipped_lab_s_name_is_taken() -> None:
    with pytest.raises(UsageError, match="a lab or a folder of that name"):
        labs.create("transpose", Path("assignments"))


def test_a_folder_that_cannot_be_written(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(UsageError, match="file"):
        labs.create("sums", Path("file"))


def test_the_command_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["new-lab", "row-sums", "--lang", "en"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "The lab is in assignments/row-sums; it is ready to be graded:",
        "  grade selftest row-sums",
        "  grade assignments/row-sums/kernels/good/grid_stride.cu --lab row-sums",
    ]
    assert cli.run(["new-lab", "sums", "--into", "other labs", "--lang", "en"]) == 0
    assert "  grade selftest sums --labs 'other labs'" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["new-lab"], ["new-lab", "A"], ["new-lab", "matmul"], ["new-lab", "a", "b"]])
def test_wrong_commands_are_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*arguments, "--lang", "en"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert captured.err.startswith("grade: ")


def test_a_missing_name_is_called_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["new-lab", "--lang", "en"])
    assert capsys.readouterr().err == "grade: NAME is missing; see grade new-lab --help\n"


@pytest.mark.parametrize("stray", ["reference/__pycache__/oracle.cpython-311.pyc", "kernels/good/.x.cu.swp", "a.bin"])
def test_what_an_installation_leaves_in_the_skeleton_does_no_harm(
    here: Path, monkeypatch: pytest.MonkeyPatch, stray: str
) -> None:
    root = here / "root"
    shutil.copytree(files.data_root() / "templates", root / "templates")
    shutil.copytree(files.data_root() / "assignments", root / "assignments")
    file = root / "templates" / "new_lab" / stray
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"\xa7\r\r\n\x00@NAME@\xff")
    monkeypatch.setattr(labs, "data_root", lambda: root)
    folder = labs.create("sums", Path("labs"))
    assert load(folder).id == "sums"
    kept = [path.name for path in folder.rglob("*") if path.name == file.name]
    assert kept == (["a.bin"] if stray == "a.bin" else [])
