"""A teacher's decisions over a group, from the command line: they outlive gradings and stand in every table."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.result import decode
from tests.marks_only import put_marks_only

SAMPLES = Path(__file__).parents[2] / "submissions"
LAB = "transpose"
OVERRIDES = "transpose:\n  petrova:\n    total: {points: 85, reason: explained it all}\n"
GROUP = """\
penalty: {percent_per_day: 10}
labs: {transpose: {deadline: 2026-10-01 23:59}}
students: {ivanov: {handed_in: {transpose: 2026-10-03 12:00}}}
"""


def rows(reports: Path) -> dict[str, dict[str, str]]:
    lines = list(csv.reader(io.StringIO((reports / f"{LAB}.csv").read_text("utf-8-sig"))))
    return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}


@pytest.mark.slow
def test_decisions_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    for name in ("ivanov", "petrova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    options = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]
    cli.run(options)
    capsys.readouterr()
    written = [path for path in (tmp_path / "reports").rglob("*") if path.is_file() and path.suffix != ".html"]
    plain = {path: path.read_bytes() for path in written}
    (tmp_path / "group" / "overrides.yaml").write_text(OVERRIDES)
    (tmp_path / "group" / "group.yaml").write_text(GROUP)
    cli.run(options)
    said = capsys.readouterr()
    # Nothing is graded for this.
    assert "2 submissions are unchanged" in said.out
    assert not [line for line in said.out.splitlines() if line.startswith(("1/", "2/"))]
    assert "It is not known when work was handed in by petrova. Write it into" in said.out
    table = rows(tmp_path / "reports")
    assert table["petrova"]["Points"] == "85" and "explained it all" in table["petrova"]["Teacher's decisions"]
    assert table["ivanov"]["Points"] == "76" and "2 days late" in table["ivanov"]["Teacher's decisions"]
    place = tmp_path / "reports" / "petrova" / LAB
    assert "explained it all" in (place / "report.html").read_text("utf-8")
    assert decode((place / "result.json").read_bytes()).score.earned == 85
    # Said in another language and back, exported, they still stand.
    assert cli.run(["report", "reports", "--no-pdf", "--lang", "ru"]) == 0
    assert "преподаватель ставит 85" in (place / "report.html").read_text("utf-8")
    assert cli.run(["report", "reports", "--no-pdf", "--lang", "en"]) == 0
    assert rows(tmp_path / "reports") == table
    # Without them everything is as it was.
    (tmp_path / "group" / "overrides.yaml").unlink()
    (tmp_path / "group" / "group.yaml").unlink()
    cli.run(options)
    assert {path: path.read_bytes() for path in plain if path.name != ".kept.json"} == {
        path: data for path, data in plain.items() if path.name != ".kept.json"
    }


@pytest.mark.slow
def test_one_alone_gets_the_mark_that_the_group_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    for name in ("ivanov", "petrova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    (tmp_path / "group" / "overrides.yaml").write_text(OVERRIDES)
    roster = "id,name,e-mail,extra days\nivanov,Ivanov Pyotr,i@x.ru,1\npetrova,,,\n"
    (tmp_path / "group" / "roster.csv").write_text(roster)
    (tmp_path / "group" / "group.yaml").write_text(f"roster: roster.csv\n{GROUP}")
    # What a student writes decides nothing.
    (tmp_path / "group" / "petrova" / "group.yaml").write_text("nonsense")
    (tmp_path / "group" / "petrova" / "overrides.yaml").write_text(OVERRIDES.replace("85", "100"))
    options = ["--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]
    cli.run(["group", *options])

    def marks(student: str, reports: str) -> tuple[object, ...]:
        result = decode((tmp_path / reports / student / LAB / "result.json").read_bytes())
        return result.student, result.score, result.decisions, result.checks

    for student, path in (("ivanov", "group/ivanov"), ("petrova", f"group/petrova/{LAB}.cu")):
        capsys.readouterr()
        cli.run([path, *options, "--out", "alone"])
        said = capsys.readouterr().out
        assert marks(student, "alone") == marks(student, "reports")
        if student == "petrova":
            assert "85" in said and "explained it all" in said
        else:
            assert "1 day late" in said
    # A folder of the lab's name in a student's folder.
    (tmp_path / "group" / "ivanov" / LAB).mkdir()
    (tmp_path / "group" / "ivanov" / f"{LAB}.cu").rename(tmp_path / "group" / "ivanov" / LAB / f"{LAB}.cu")
    cli.run([f"group/ivanov/{LAB}", *options, "--out", "nested"])
    assert marks("ivanov", "nested")[:3] == marks("ivanov", "reports")[:3]
