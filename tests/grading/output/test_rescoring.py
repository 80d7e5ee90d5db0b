"""`grade rescore`: a changed lab file's points and thresholds give what grading by it gives, with nothing run."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from grader.cli import main as cli
from grader.grading.output.rescored_check import rescored_check
from grader.lab import labs
from grader.lab.checks import BankConflictSettings, SpeedupSettings, WaysShare
from grader.lab.records import CheckSpec
from grader.message import msg
from grader.result import Check, decode

ROOT = Path(__file__).parents[3]
LAB = "transpose"


@pytest.mark.slow
def test_points_changed_in_the_lab_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ivanov", "petrova", "volkova", "fedorov"):
        shutil.copytree(ROOT / "submissions" / name, tmp_path / "group" / name)
    shutil.copytree(ROOT / "assignments" / LAB, tmp_path / "labs" / LAB)
    file = tmp_path / "labs" / LAB / "lab.yaml"
    text = file.read_text().replace("../../reference", str(ROOT / "reference"))
    file.write_text(text)
    options = ["--labs", "labs", "--no-pdf", "--lang", "en"]
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


def check(status: str, earned: float, **data: object) -> Check:
    return msgspec.convert(
        {"id": "a.b", "variant": "a", "check": "b", "status": status, "earned": earned, "possible": 20.0, "data": data},
        Check,
    )


@pytest.mark.parametrize(
    ("made", "points", "expected"),
    [
        (check("pass", 20), 30, (30, 0, 30)),
        (check("fail", 5), 30, (7.5, 0, 30)),
        (check("fail", 0), 30, (0, 0, 30)),
    ],
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
    from grader.exports.roster import rest_of

    known = [labs.find(name) for name in labs.folders()]
    assert len({rest_of(lab) for lab in known}) == len(known)
    assert [rest_of(labs.find(lab.id)) for lab in known] == [rest_of(lab) for lab in known]
