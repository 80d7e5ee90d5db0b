"""An export and a roster graded from the command line."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.course.roster import Person
from grader.grading.students import Work, _listed, gather
from tests.marks_only import put_marks_only

pytestmark = pytest.mark.started

SAMPLES = Path(__file__).parents[2] / "submissions"
LAB = "transpose"


def test_an_export_with_a_roster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    code = (SAMPLES / "ivanov" / "transpose.cu").read_bytes()
    for name, students in (
        ("first.zip", {"Иванов Иван_1": code, "Чужой_9": b""}),
        ("second.zip", {"Анна Петрова_2": code}),
    ):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for student, content in students.items():
                archive.writestr(f"{student}_assignsubmission_file_/transpose.cu", content)
    (tmp_path / "roster.csv").write_text(
        "id,name,group,e-mail,identifier\n"
        "s1,Иванов И. И.,101,i@x.ru,Participant 1\ns2,Петрова Анна,102,,\ns3,Сидоров Пётр,102,,\n"
    )
    (tmp_path / "overrides.yaml").write_text(
        "transpose:\n  i@x.ru: {total: {points: 90, reason: late at the defence}}\n"
        "  s3: {total: {points: 60, reason: on paper}}\n"
    )
    options = ["--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]
    assert cli.run(["first.zip", "second.zip", "--roster", "roster.csv", *options]) == 2
    captured = capsys.readouterr()
    assert captured.err == "" and "Чужой: not in the roster" in captured.out
    # People are called as the roster does, in the teacher's files too; nobody has a mark without a result.
    assert "! Сидоров Пётр: nothing was submitted" in captured.out and "s3" not in captured.out
    assert "what is decided of Сидоров Пётр has no effect" in captured.out
    assert "! Чужой: transpose.cu: the file is empty" in captured.out
    table = list(csv.reader(io.StringIO((tmp_path / "reports" / f"{LAB}.csv").read_text("utf-8-sig"))))
    rows = {row[0]: row[1:5] + row[-2:-1] for row in table[1:]}
    assert rows["Иванов Иван"] == ["Иванов И. И.", "101", "passed", "90", ""]
    assert rows["Анна Петрова"][:3] == ["Петрова Анна", "102", "passed"]
    assert rows["s3"] == ["Сидоров Пётр", "102", "not graded", "", "nothing was submitted"]
    assert rows["Чужой"][2] == "not graded"
    assert "Иванов И. И." in (tmp_path / "reports" / "Иванов Иван" / LAB / "report.html").read_text("utf-8")
    # A roster's names are no part of what was graded; Moodle gets its own back.
    assert cli.run(["first.zip", "second.zip", *options]) == 2
    assert "2 submissions are unchanged" in capsys.readouterr().out
    assert cli.run(["export", "reports", "--format", "moodle", "--lang", "en"]) == 0
    assert "Participant 1,Иванов Иван" in (tmp_path / "reports" / f"{LAB}.moodle.csv").read_text("utf-8")
    # An export that was downloaded twice.
    (tmp_path / "copy.zip").write_bytes((tmp_path / "first.zip").read_bytes())
    assert cli.run(["first.zip", "copy.zip", *options, "--out", "copies"]) == 2
    assert "submitted several times" not in (tmp_path / "copies" / f"{LAB}.csv").read_text("utf-8-sig")
    # The same student in two exports that differ, of which neither says when.
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("Иванов Иван_1_assignsubmission_file_/transpose.cu", code + b"// again")
    assert cli.run(["first.zip", "other.zip", *options, "--out", "twice"]) == 2
    twice = (tmp_path / "twice" / f"{LAB}.csv").read_text("utf-8-sig")
    assert "submitted several times (" in twice
    assert "and it is not known which was last: name only one archive" in twice


def exported(path: Path, *works: tuple[str, str, str]) -> None:
    """An export of Gradescope; works: whose, when, and the text."""
    lines = []
    with zipfile.ZipFile(path, "w") as archive:
        for number, (email, when, text) in enumerate(works):
            lines.append(f"submission_{number}:\n  :submitters:\n  - :email: {email}\n  :created_at: {when}\n")
            archive.writestr(f"export/submission_{number}/transpose.cu", text)
        archive.writestr("export/submission_metadata.yml", "".join(lines))


def test_the_last_attempt_counts_and_none_is_guessed(tmp_path: Path) -> None:
    second = "2026-10-01 20:59:30"
    exported(
        tmp_path / "a.zip",
        ("ivan@x", f"{second}.100000000 Z", "first"),
        ("anna@x", f"{second} Z", "one"),
        ("olga@x", f"{second} Z", "same"),
        ("petr@x", "2026-10-02 00:30:00 +03:00", "last"),
    )
    exported(
        tmp_path / "b.zip",
        ("ivan@x", f"{second}.900000000 Z", "second"),
        ("anna@x", f"{second} Z", "other"),
        ("olga@x", f"{second} Z", "same"),
        ("petr@x", "2026-10-01 21:00:00 Z", "earlier"),
    )
    found = gather([tmp_path / "a.zip", tmp_path / "b.zip"], LAB, {LAB}, tmp_path / "out", None)
    taken = {w.student: "" if w.refusal else (w.path / "transpose.cu").read_text() for w in found.works}
    assert taken == {"ivan@x": "second", "anna@x": "", "olga@x": "same", "petr@x": "last"}
    assert [w.refusal.id for w in found.works if w.refusal] == ["intake.twice"]


def test_two_of_one_name_in_an_export_each_are_two(tmp_path: Path) -> None:
    for name, numbers in (("a.zip", "1"), ("b.zip", "2")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for number in numbers:
                archive.writestr(f"Иванов Иван_{number}_assignsubmission_file_/transpose.cu", number)
    found = gather([tmp_path / "a.zip", tmp_path / "b.zip"], LAB, {LAB}, tmp_path / "out", None)
    assert [(w.student, w.refusal, (w.path / "transpose.cu").read_text()) for w in found.works] == [
        ("Иванов Иван 1", None, "1"),
        ("Иванов Иван 2", None, "2"),
    ]


def test_one_line_of_a_roster_is_one_student(tmp_path: Path) -> None:
    def work(student: str, participant: str) -> Work:
        return Work(tmp_path, student, person=Person(id=student, name="Иванов Иван", participant=participant))

    def person(student: str, name: str = "", number: str = "") -> Person:
        return Person(id=student, name=name, number=number)

    listed = [person("petr", "Сидоров Пётр", "5"), person("ivan", "Иванов Иван", "7"), person("anna", "Анна", "8")]
    twins = [work("Иванов Иван 100", "100"), work("Иванов Иван 200", "200")]
    other = Work(tmp_path, "anna")
    found, notices = _listed([*twins, other, Work(tmp_path, "nobody")], listed)
    assert [(w.student, w.person.number if w.person else None) for w in found] == [
        ("petr", "5"),
        ("Иванов Иван 100", ""),
        ("Иванов Иван 200", ""),
        ("anna", "8"),
        ("nobody", None),
    ]
    assert [notice.id for notice in notices] == ["course.one_line_for_many", "course.not_in_roster"]
    found, notices = _listed(twins[:1], listed[1:2])
    assert [w.person.number for w in found if w.person] == ["7"] and not notices
