"""Which submissions a path stands for."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.course.roster import Person
from grader.errors import UsageError
from grader.grading.students import Gathered, Work, _listed, find_works, gather
from grader.lab import labs
from grader.words import said
from tests.marks_only import put_marks_only
from tests.student_files import make


def find(path: Path, *files: str, out: str = "reports") -> Gathered:
    make(path, *files)
    return find_works([path], "flip", ["flip", "other"], path / out)


def students(found: Gathered) -> list[str]:
    return [work.student for work in found.works]


@pytest.mark.parametrize(
    ("files", "path", "student"),
    [
        (["s/flip.cu"], "s", "s"),
        (["s/any.cu"], "s", "s"),
        (["s/flip/a.cu"], "s", "s"),
        (["s/submission.yaml"], "s", "s"),
        (["s/other/main.cu"], "s", "s"),
        (["s/flip.cu"], "s/flip.cu", "s"),
        (["s/mine.cu"], "s/mine.cu", "mine"),
        (["s/mine.cu", "s/submission.yaml"], "s/mine.cu", "s"),
        (["s/flip/a.cu"], "s/flip", "s"),
        (["s/flip/a.cu"], "s/flip/a.cu", "s"),
        (["s/flip.cu", "s/old/flip.cu"], "s", "s"),
        (["s/flip/a.cu", "s/flip/include/b.cu", "s/pictures/x.png"], "s", "s"),
        (["s/submission.yaml", "s/a/flip.cu", "s/b/flip.cu"], "s", "s"),
        (["s/main.cpp", "s/gpu/flip.cu", "s/more/flip.cuh"], "s", "s"),
        (["s/src/flip.cu", "s/include/flip.cu"], "s", "s"),
        (["s/kernels/all.cu"], "s", "s"),
    ],
)
def test_one_students_work(tmp_path: Path, files: list[str], path: str, student: str) -> None:
    make(tmp_path, *files)
    found = find_works([tmp_path / path], "flip", ["other"], tmp_path / "reports")
    assert (found.is_single, students(found)) == (True, [student])
    assert [work.path for work in found.works] == [tmp_path / path]


@pytest.mark.parametrize(
    ("files", "expected", "passed_over"),
    [
        (["a/flip.cu", "b/x.cu"], ["a", "b"], []),
        (["a/flip.cu", "b/x.cu", "c/notes.txt"], ["a", "b", "c"], []),
        (["a/flip.cu", "b/flip.cu", "starter.cu"], ["a", "b"], ["starter.cu"]),
        (["a/x.cu", "b/y.cu", "flip.cu"], ["a", "b"], ["flip.cu"]),
        (["a/flip/x.cu", "b/submission.yaml", "one.cu", "two.cu"], ["a", "b"], ["one.cu", "two.cu"]),
        (["a/flip.cu", "starter.cu"], ["a"], ["starter.cu"]),
        (["a/flip.cu", "b/flip.cu", "flip/flip.cu"], ["a", "b", "flip"], []),
        (["a/flip.cu", "b/flip.cu", "other/main.cu"], ["a", "b", "other"], []),
        (["a/flip.cu", "b/flip.cu", "flip/task.md"], ["a", "b"], []),
        (["a/flip.cu", ".git/x.cu", "__pycache__/x.cu"], ["a"], []),
        (
            ["a.csv/flip.cu", "flip.html/flip.cu", "grade-error.log/flip.cu"],
            ["a.csv", "flip.html", "grade-error.log"],
            [],
        ),
    ],
)
def test_a_group(tmp_path: Path, files: list[str], expected: list[str], passed_over: list[str]) -> None:
    found = find(tmp_path, *files)
    assert (found.is_single, students(found)) == (False, expected)
    assert all(work.refusal is None for work in found.works)
    assert [said(notice).partition(": ")[0] for notice in found.notices] == [
        str(tmp_path / name) for name in passed_over
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["g1/ann/flip.cu", "g1/bob/flip.cu", "g2/eve/flip.cu"], {"ann": "g1", "bob": "g1", "eve": "g2"}),
        (["g1/ann/flip.cu", "g1/bob/flip/a.cu", "g2/ann/flip.cu"], {"ann (g1)": "g1", "bob": "g1", "ann (g2)": "g2"}),
        (["101/s1a/flip.cu", "101/s2b/flip.cu", "102/s3c/my.cu", "papers/x.pdf"], {"s1a": "101", "s2b": "101"}),
    ],
)
def test_a_folder_of_groups_folders(tmp_path: Path, files: list[str], expected: dict[str, str]) -> None:
    found = find(tmp_path, *files)
    people = {work.student: work.person.group for work in found.works if work.person}
    assert not found.is_single and people.items() >= expected.items() and "g1" not in people
    assert said(found.notices[0]).startswith(f"{tmp_path}: folders of groups")


@pytest.mark.parametrize(
    "files",
    [
        ["a/v1/flip.cu", "a/v2/flip.cu", "b/v1/flip.cu"],
        ["a/first/flip.cu", "a/second/flip.cu", "b/first/flip.cu", "b/second/flip.cu"],
        ["a/lab1/flip.cu", "a/lab 2/flip.cu", "b/lab1/flip.cu"],
        ["a/src/flip.cu", "a/include/flip.cu", "b/x.cu"],
        ["a/old/flip.cu", "a/my/flip.cu", "b/flip.cu"],
        ["a/work/flip.cu", "b/task/flip.cu"],
    ],
)
def test_folders_in_students_folders_are_no_students(tmp_path: Path, files: list[str]) -> None:
    assert students(find(tmp_path, *files)) == ["a", "b"]


def test_a_works_own_copies_are_named_too(tmp_path: Path) -> None:
    found = find(tmp_path, "flip.cu", "old/flip.cu")
    assert found.is_single
    assert [said(notice) for notice in found.notices] == [
        f"{tmp_path}/old: not graded; to grade it, name it: grade {tmp_path}/old --lab flip"
    ]


@pytest.mark.parametrize("name", ["flip", "other"])
def test_a_groups_folder_called_like_a_lab(tmp_path: Path, name: str) -> None:
    assert students(find(tmp_path / name, "a/flip.cu", "b/flip.cu")) == ["a", "b"]


@pytest.mark.parametrize("out", ["reports", "elsewhere"])
def test_outputs_are_no_student(tmp_path: Path, out: str) -> None:
    make(tmp_path, "a/flip.cu", "b/flip.cu")
    (tmp_path / "reports" / "a" / "flip").mkdir(parents=True)
    (tmp_path / "reports" / "a" / "flip" / "result.json").write_text("{}")
    assert students(find(tmp_path, out=out)) == ["a", "b"]


def test_a_students_folder_with_results_in_it_is_one(tmp_path: Path) -> None:
    assert students(find(tmp_path, "a/flip.cu", "b/flip.cu", "a/flip/result.json")) == ["a", "b"]


def test_a_link_to_another_student_takes_nobodys_place(tmp_path: Path) -> None:
    make(tmp_path, "ivanov/flip.cu", "petrova/flip.cu")
    (tmp_path / "aaa").symlink_to("ivanov")
    (tmp_path / "zzz").symlink_to(tmp_path / "petrova")
    found = find(tmp_path)
    assert students(found) == ["aaa", "ivanov", "petrova", "zzz"]
    assert [bool(work.refusal) for work in found.works] == [True, False, False, True]


def test_a_link_out_of_the_group_is_not_graded(tmp_path: Path) -> None:
    make(tmp_path, "homes/lab/flip.cu", "group/kept/flip.cu", "group/kept/flip/flip.cu")
    for name, target in (("ivanov", tmp_path / "homes" / "lab"), ("petrova", "../homes/lab"), ("sidorov", "kept/flip")):
        (tmp_path / "group" / name).symlink_to(target)
    found = find_works([tmp_path / "group"], "flip", (), tmp_path / "out")
    assert students(found) == ["ivanov", "kept", "petrova", "sidorov"]
    refused = [said(work.refusal) if work.refusal else "" for work in found.works]
    assert ["link that leads out of the group's folder" in text for text in refused] == [True, False, True, False]


def test_links_that_lead_nowhere_are_no_students(tmp_path: Path) -> None:
    make(tmp_path, "ivanov/flip.cu")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "dead").symlink_to("nobody")
    os.mkfifo(tmp_path / "pipe")
    assert students(find(tmp_path)) == ["ivanov"]


def test_names_that_only_read_alike_are_told_apart(tmp_path: Path) -> None:
    for name in ("Иванов".encode(), "Иванов".encode("cp866"), "Иванов".encode("cp1251")):
        make(tmp_path, os.fsdecode(name) + "/flip.cu")
    found = find(tmp_path)
    assert sorted(students(found)) == ["Иванов", "Иванов (2)", "Иванов (3)"]
    assert not any(work.refusal for work in found.works)


def test_the_same_name_twice_is_refused_whatever_comes_first(tmp_path: Path) -> None:
    make(tmp_path, "a/ivanov/flip.cu", "b/ivanov/flip.cu")
    paths = [tmp_path / "a" / "ivanov", tmp_path / "b" / "ivanov"]
    found = find_works(paths, "flip", (), tmp_path / "out")
    assert [said(work.refusal or "") for work in found.works] == ["", f"{paths[0]} has the same name"]
    assert len(find_works([paths[0], paths[0]], "flip", (), tmp_path / "out").works) == 1


@pytest.mark.parametrize("name", ["nobody", "file/below", "x" * 300, "loop"])
def test_what_is_not_there_says_so(tmp_path: Path, name: str) -> None:
    make(tmp_path, "file")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"no such file or folder|File name too long|symbolic links") as raised:
        find(tmp_path / name)
    assert name.partition("/")[0] in str(raised.value)


def test_a_folder_that_must_not_be_read_says_so(tmp_path: Path) -> None:
    make(tmp_path / "closed", "a/flip.cu")
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0)
    me = os.geteuid()
    try:
        if me == 0:
            os.seteuid(65534)
        with pytest.raises(UsageError, match="closed: Permission denied"):
            find_works([tmp_path / "closed"], "flip", (), tmp_path / "out")
    finally:
        os.seteuid(me)
        (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize(
    ("folders", "is_single"),
    [
        (("naive", "padded_tile"), True),
        (("01_naive", "02-tiled"), True),
        (("naive", "ivanov"), False),
        # What only has a variant's letters in it is a name.
        (("caroline", "crowe"), False),
        (("naive",), False),
    ],
)
def test_folders_called_after_variants_are_one_students(
    tmp_path: Path, folders: tuple[str, ...], is_single: bool
) -> None:
    make(tmp_path / "s", *(f"{name}/main.cu" for name in folders))
    lab = labs.find("transpose", [])
    found = find_works([tmp_path / "s"], "transpose", ["matmul"], tmp_path / "reports", lab.variants)
    assert found.is_single == is_single
    variants = tuple(replace(variant, names=(*variant.names, "line", "row")) for variant in lab.variants)
    assert find_works([tmp_path / "s"], "transpose", [], tmp_path / "out", variants).is_single == is_single


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
