"""`grade report`: what is stored, shown again in another language, is what grading in that language writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.files import data_root
from tests.marks_only import put_marks_only

SAMPLES = data_root() / "submissions"
OLD = data_root() / "tests" / "data" / "results"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A group of two whose work is read, and one whose cannot be."""
    monkeypatch.chdir(tmp_path)
    for name in ("petrova", "ivanov"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    (tmp_path / "group" / "nobody").mkdir()
    return tmp_path


@pytest.mark.slow
def test_a_group_there_and_back(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for language in ("en", "ru"):
        _code, said[language] = run(
            capsys, "group", "--lab", "transpose", "--no-pdf", "--out", language, "--lang", language
        )
    english, russian = contents(group / "en"), contents(group / "ru")
    assert set(english) == set(russian) >= {"transpose.csv", "transpose.html", "petrova/transpose/report.html"}
    # What is remembered of likeness has no words in it; everything else has.
    without_words = {".transpose.similar.json"}
    assert {name for name in english if english[name] == russian[name]} == without_words

    code, told = run(capsys, "report", "en", "--lang", "ru", "--no-pdf")
    assert code == 0
    # What the teacher alone is shown is in no result, so it stays as it was written.
    kept = {"transpose.repairs/petrova.diff"}
    assert contents(group / "en") == {**russian, **{name: english[name] for name in kept}}
    # The same table of marks on the screen.
    assert [line for line in told.splitlines() if "│" in line] == [
        line for line in said["ru"].splitlines() if "│" in line
    ]
    code, _told = run(capsys, "report", "en", "--lang", "en", "--no-pdf")
    assert contents(group / "en") == english


def test_one_student_with_a_pdf(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_marks_only(group)
    run(capsys, "group/petrova", "--lab", "transpose", "--no-pdf", "--lang", "en")
    run(capsys, "group/petrova", "--lab", "transpose", "--no-pdf", "--lang", "ru", "--out", "ru")
    result = group / "reports" / "petrova" / "transpose" / "result.json"
    code, told = run(capsys, "report", result, "--lang", "ru")
    assert code == 0
    assert "Что исправить" in told
    assert (result.parent / "report.pdf").read_bytes().startswith(b"%PDF")
    (result.parent / "report.pdf").unlink()
    assert contents(group / "reports") == contents(group / "ru")


def test_an_old_result_gets_a_page_and_keeps_its_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "old" / "wrong_pitch" / "transpose"
    place.mkdir(parents=True)
    shutil.copy(OLD / "version_1_en.json", place / "result.json")
    before = (place / "result.json").read_bytes()
    code, told = run(capsys, "report", "old/wrong_pitch", "--lang", "ru", "--no-pdf")
    assert code == 0
    assert "проверено прежней версией" in told
    assert (place / "result.json").read_bytes() == before
    page = (place / "report.html").read_text(encoding="utf-8")
    assert 'lang="ru"' in page
    assert "1984 of 2048 elements are wrong" in page


@pytest.mark.parametrize(
    ("made", "words"),
    [("empty/", "no results of the grader"), ("a.json", "not a result of schema version"), ("gone", "No such file")],
)
def test_what_is_no_result_is_refused(
    made: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if made.endswith("/"):
        Path(made).mkdir()
    elif made.endswith(".json"):
        Path(made).write_text("{}")
    assert cli.run(["report", made, "--lang", "en"]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
