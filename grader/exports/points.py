"""What marks come to beyond points: per cent, since what is possible differs between students."""

from __future__ import annotations

from grader.lab.records import Lab
from grader.result import Result


def percent(result: Result) -> float | None:
    """Points earned of those possible for this student, 0 to 100; None where none are possible."""
    possible = result.score.possible
    return round(100 * result.score.earned / possible, 2) if possible else None


def lab_points(lab: Lab) -> float:
    """The points of all checks of a lab."""
    return round(sum(check.points for variant in lab.variants for check in variant.checks), 2)


def scaled(result: Result, lab: Lab) -> float | None:
    """The mark on the scale of the whole lab, for systems that know one maximum for all students."""
    share = percent(result)
    return None if share is None else round(share * lab_points(lab) / 100, 2)
