"""`grade rescore`: a changed lab file's points and thresholds give what grading by it gives, with nothing run."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from grader.cli import main as cli
from grader.course.decisions import find_decider, read_ledger, write_ledger
from grader.grading.rescoring import rescored_check
from grader.lab import labs
from grader.lab.checks import BankConflictSettings, SpeedupSettings, WaysShare
from grader.lab.records import CheckSpec
from grader.message import msg
from grader.result import Check, decode
from tests.marks_only import put_marks_only
from tests.stored_marks import put_marks

ROOT = Path(__file__).parents[2]
LAB = "transpose"


@pytest.mark.slow
def test_points_changed_in_the_lab_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ivanov", "petrova", "volkova", "fedorov"):
        shutil.copytree(ROOT / "submissions" / name, tmp_path / "group" / name)
    file = put_marks_only(tmp_path, LAB, with_repairs=True, with_drawn=True)
    text = file.read_text()
    options = ["--no-pdf", "--lang", "en"]
    grading = ["group", "--lab", LAB, "--backend", "emulator", *options]
    cli.run(grading)
    # Another weight of every check of fifteen points, and other shares for few ways.
    changed = text.replace("points: 15", "points: 21").replace("ways: 2", "ways: 32")
    assert changed != text
    file.write_text(changed)
    capsys.readouterr()
    assert cli.run(["rescore", "reports", *options]) == 0
    assert "changed" in capsys.readouterr().out
    rescored = {p.parent.parent.name: decode(p.read_bytes()) for p in (tmp_path / "reports").glob("*/*/result.json")}
    # Where nothing changes no report is made again, and where one mark does, that student's.
    assert made_again(tmp_path, options) == set()
    (tmp_path / "reports" / "overrides.yaml").write_text(
        f"{LAB}:\n  ivanov:\n    total: {{points: 50, reason: the defence}}\n"
    )
    assert made_again(tmp_path, options) == {"ivanov"}
    assert made_again(tmp_path, options) == set()
    (tmp_path / "reports" / "overrides.yaml").write_text("")
    cli.run([*grading, "--force"])
    graded = {p.parent.parent.name: decode(p.read_bytes()) for p in (tmp_path / "reports").glob("*/*/result.json")}
    assert {name: (r.score, r.status) for name, r in rescored.items()} == {
        name: (r.score, r.status) for name, r in graded.items()
    }
    assert {name: r.checks for name, r in rescored.items()} == {name: r.checks for name, r in graded.items()}
    # More than that has to be graded.
    file.write_text(changed.replace("seed: ", "seed: 1"))
    assert cli.run(["rescore", "reports", *options]) == 2
    assert "grade the group again" in capsys.readouterr().err


def made_again(course: Path, options: list[str]) -> set[str]:
    """Whose reports rescoring writes."""
    reports = list((course / "reports").glob("*/*/report.html"))
    before = {file: file.stat().st_mtime_ns for file in reports}
    assert cli.run(["rescore", "reports", *options]) == 0
    return {file.parent.parent.name for file in reports if file.stat().st_mtime_ns != before[file]}


def check(status: str, earned: float, **data: object) -> Check:
    return msgspec.convert(
        {"id": "a.b", "variant": "a", "check": "b", "status": status, "earned": earned, "possible": 20.0, "data": data},
        Check,
    )


@pytest.mark.parametrize(
    ("made", "points", "expected"),
    [(check("pass", 20), 30, (30, 0, 30)), (check("fail", 5), 30, (7.5, 0, 30)), (check("fail", 0), 30, (0, 0, 30))],
)
def test_points_follow_the_share(made: Check, points: float, expected: tuple[float, float, float]) -> None:
    again = rescored_check(made, CheckSpec("b", points), 20, settings_changed=False)
    assert again is not None
    assert (again.earned, again.pending, again.possible) == expected
    # Whatever else was changed, what is not stored is not made up.
    assert rescored_check(made, CheckSpec("b", points, BankConflictSettings()), 20, settings_changed=True) is None


def test_what_waits_goes_on_waiting() -> None:
    made = msgspec.structs.replace(check("skip", 0), skip_reason="not_measured", pending=20.0)
    again = rescored_check(made, CheckSpec("b", 8), 20, settings_changed=True)
    assert again is not None and (again.earned, again.pending, again.possible) == (0, 8, 8)


def test_thresholds_are_compared_with_what_was_found() -> None:
    conflict = check("fail", 0, ways=4)
    spec = CheckSpec("b", 20, BankConflictSettings(partial=(WaysShare(ways=4, share=0.5),)))
    again = rescored_check(conflict, spec, 20, settings_changed=True)
    assert again is not None and (again.status, again.earned) == ("fail", 10)
    figures = msg("checks.speedup.figures", sizes=msg("x.y"), speedup=1.8, low=1.7, high=1.9)
    timed = msgspec.structs.replace(
        check("fail", 16, speedup=1.8, low=1.7, high=1.9, full=2.0, minimum=1.0),
        message_said=msg("checks.speedup.timed", figures=figures, thresholds=msg("x.z")),
    )
    spec = CheckSpec("b", 20, SpeedupSettings(against="a", full=1.6))
    again = rescored_check(timed, spec, 20, settings_changed=True)
    assert again is not None and (again.status, again.earned) == ("pass", 20)
    asked = SpeedupSettings(against="a", full=2.5, minimum=1.8)
    undecided = rescored_check(timed, CheckSpec("b", 20, asked), 20, True)
    assert undecided is not None and undecided.status == "borderline"
    # Compared with another kernel's time, nobody knows.
    assert rescored_check(timed, CheckSpec("b", 20, SpeedupSettings(against="c", full=1.6)), 20, True) is None


def test_every_lab_can_be_told_from_another(tmp_path: Path) -> None:
    from grader.exports.entries import rest_of

    known = [labs.find(name) for name in labs.folders()]
    assert len({rest_of(lab) for lab in known}) == len(known)
    assert [rest_of(labs.find(lab.id)) for lab in known] == [rest_of(lab) for lab in known]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The lab files of two labs that a student has stored marks in."""
    monkeypatch.chdir(tmp_path)
    found = {lab: put_marks_only(tmp_path, LAB, lab) for lab in ("one", "two")}
    for lab in found:
        put_marks(tmp_path / "reports", labs.find(lab), ("ivanov",), failed="padded.bank_conflicts")
    return found


def rescored(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code of rescoring, and what it said before it lists the group."""
    capsys.readouterr()
    code = cli.run(["rescore", "reports", "--no-pdf", "--lang", "en"])
    said = capsys.readouterr()
    lines = (said.out + said.err).splitlines()
    ends = [place for place, line in enumerate(lines) if line.endswith("changed")]
    return code, lines[: ends[0] + 1] if ends else lines


def put(file: Path, *changes: tuple[str, str]) -> None:
    """Change the lab file in places of which there is one each."""
    text = file.read_text()
    for was, becomes in changes:
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    file.write_text(text)


def test_what_changed_of_points_is_said(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    # Settings that nobody touched are the same, in whatever way they were stored: these marks hold no facts at all.
    assert rescored(capsys) == (0, ["0 grades changed"])
    put(
        files["one"],
        ("speedup: {points: 5", "speedup: {points: 7"),
        ("bank_conflicts: {points: 10", "bank_conflicts: {points: 8"),
    )
    assert rescored(capsys) == (
        0,
        [
            "ivanov: pending: 5 → 7",
            "  padded: bank conflicts: 0/10 → 0/8",
            "  padded: speedup: 0/5 → 0/7, pending: 5 → 7",
            "1 grade changed",
        ],
    )
    put(files["one"], ("correct: 9", "correct: 13"), ("bank_conflicts: {points: 8", "bank_conflicts: {points: 4"))
    assert rescored(capsys) == (
        0,
        [
            "ivanov: 85/100 → 89/100",
            "  naive: correct result: 9/9 → 13/13",
            "  padded: bank conflicts: 0/8 → 0/4",
            "1 grade changed",
        ],
    )
    # What one passed check gives and another loses changes no mark.
    put(files["one"], ("correct: 13", "correct: 11"), ("races: 7", "races: 9"))
    assert rescored(capsys) == (0, ["0 grades changed"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [("correct: 9\n", "correct: 8\n      races: 1\n")],
            "one: checks were added to the lab file (naive.races); grade the group again",
        ),
        (
            [("      races: 7\n", ""), ("correct: 9\n", "correct: 16\n")],
            "one: checks were removed from the lab file (shared.races); grade the group again",
        ),
        (
            [("      races: 7\n", "      bank_conflicts: 7\n")],
            "one: checks were added to the lab file (shared.bank_conflicts) and removed from it (shared.races); "
            "grade the group again",
        ),
    ],
    ids=["added", "removed", "exchanged"],
)
def test_other_checks_have_to_be_graded(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str], changes: list[tuple[str, str]], said: str
) -> None:
    put(files["one"], *changes)
    code, lines = rescored(capsys)
    assert code == 2
    assert lines == [f"grade: {said}"]


def test_where_one_lab_has_to_be_graded_no_mark_of_any_changes(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(files["one"], ("correct: 9", "correct: 12"), ("bank_conflicts: {points: 10", "bank_conflicts: {points: 7"))
    put(files["two"], ("share: 0.4", "share: 0.3"))
    before = {path: path.read_bytes() for path in (tmp_path / "reports").rglob("*.json")}
    assert rescored(capsys) == (
        2,
        [
            "ivanov: the stored results do not decide shared.coalescing of two; "
            "no grade is changed, grade the group again"
        ],
    )
    assert {path: path.read_bytes() for path in (tmp_path / "reports").rglob("*.json")} == before


def test_decisions_are_found_where_a_course_was_moved_and_never_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    course = tmp_path / "course"
    (course / "works").mkdir(parents=True)
    monkeypatch.chdir(course)
    put_marks_only(course, LAB, "one")
    put_marks(course / "reports", labs.find("one"), ("ivanov",))
    decided = course / "works" / "overrides.yaml"
    decided.write_text("one:\n  ivanov:\n    total: {points: 40, reason: the defence}\n")
    write_ledger(find_decider([course / "works"], course / "reports"), course / "reports", "one")

    def points(folder: Path) -> float:
        return decode((folder / "reports" / "ivanov" / "one" / "result.json").read_bytes()).score.earned

    def rescored() -> int:
        return cli.run(["rescore", "reports", "--lang", "en", "--no-pdf"])

    assert rescored() == 0 and points(course) == 40
    # A copy has a file of its own, wherever that of the first is.
    copy = tmp_path / "copy"
    shutil.copytree(course, copy)
    (copy / "works" / "overrides.yaml").write_text(decided.read_text().replace("40", "50"))
    monkeypatch.chdir(copy)
    assert rescored() == 0 and (points(copy), points(course)) == (50, 40)
    # What was decided outlives the file that says where it stands.
    (copy / "reports" / ".decisions.json").write_text("spoilt")
    capsys.readouterr()
    assert rescored() == 2 and points(copy) == 50
    assert "ivanov: what was decided stood in overrides.yaml" in capsys.readouterr().err
    shutil.copy(copy / "works" / "overrides.yaml", copy / "reports")
    assert rescored() == 0 and points(copy) == 50
    (copy / "reports" / "overrides.yaml").write_text("")
    assert rescored() == 0 and points(copy) > 50


def test_each_lab_keeps_the_files_that_it_was_marked_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reports = tmp_path / "reports"
    for lab, points, weight in (("one", 40, 3), ("two", 50, 1)):
        put_marks_only(tmp_path, LAB, lab)
        put_marks(reports, labs.find(lab), ("ivanov",))
        works = tmp_path / f"works of {lab}"
        works.mkdir()
        (works / "group.yaml").write_text(f"labs:\n  {lab}: {{weight: {weight}}}\n")
        (works / "overrides.yaml").write_text(
            f"{lab}:\n  ivanov:\n    total: {{points: {points}, reason: the defence}}\n"
        )
        write_ledger(find_decider([works], reports), reports, lab)
    assert cli.run(["rescore", "reports", "--lang", "en", "--no-pdf"]) == 0
    results = {lab: decode((reports / "ivanov" / lab / "result.json").read_bytes()) for lab in ("one", "two")}
    assert {lab: result.score.earned for lab, result in results.items()} == {"one": 40, "two": 50}
    assert read_ledger(reports).weights == {"one": 3, "two": 1}
    # A lab that no file speaks of any more has no weight.
    (tmp_path / "works of one" / "group.yaml").write_text("")
    assert cli.run(["rescore", "reports", "--lang", "en", "--no-pdf"]) == 0
    assert read_ledger(reports).weights == {"two": 1}
