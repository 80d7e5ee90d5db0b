"""What marks come to beyond points: per cent, since what is possible differs between students."""

from __future__ import annotations

from collections.abc import Sequence

from grader.exports.entries import Entry, Table
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


def course_percent(tables: Sequence[Table], found: Sequence[Entry | None]) -> float | None:
    """Per cent of a course: by the labs' weights, work that is not there counting nothing; without weights of what was
    possible in the labs that were graded.  found: a student's entry in each table.  None where nothing was."""
    results = [entry.result for entry in found if entry is not None and entry.result is not None]
    weights = [1.0 if table.weight is None else table.weight for table in tables]
    if results and sum(weights) > 0 and any(table.weight is not None for table in tables):
        shares = [(percent(entry.result) or 0.0) if entry and entry.result else 0.0 for entry in found]
        weighted = [weight * share for weight, share in zip(weights, shares, strict=True)]
        return round(sum(weighted) / sum(weights), 2)
    possible = sum(result.score.possible for result in results)
    return round(100 * sum(result.score.earned for result in results) / possible, 2) if possible else None
