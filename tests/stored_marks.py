"""Marks as a grading leaves them in the folder of outputs, made by hand: nothing is run for them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.exports.entries import Entry, roster
from grader.lab.records import Lab
from grader.result import Check, Result, Student, encode, score_of, status_of
from tests import sample_results


def put_marks(folder: Path, lab: Lab, students: tuple[str, ...], failed: str = "") -> None:
    """A group in `folder` that passed all checks of `lab` but the `failed` one and those of times, not measured."""
    results = [_result(lab, student, failed) for student in students]
    for result in results:
        place = folder / result.student.id / lab.id
        place.mkdir(parents=True)
        (place / "result.json").write_bytes(encode(result))
    group = [Entry(result.student.id, result) for result in results]
    (folder / f"{lab.id}.json").write_bytes(roster(group, lab, "en"))


def _result(lab: Lab, student: str, failed: str) -> Result:
    checks = [_check(v.name, spec.check, spec.points, failed) for v in lab.variants for spec in v.checks]
    return msgspec.structs.replace(
        sample_results.passed(),
        lab=lab.id,
        student=Student(id=student),
        checks=checks,
        score=score_of(checks),
        status=status_of(checks),
    )


def _check(variant: str, check: str, points: float, failed: str) -> Check:
    made = Check(id=f"{variant}.{check}", variant=variant, check=check, status="pass", earned=points, possible=points)
    if made.id == failed:
        return msgspec.structs.replace(made, status="fail", earned=0.0)
    if check != "speedup":
        return made
    return msgspec.structs.replace(made, status="skip", skip_reason="not_measured", earned=0.0, pending=points)
