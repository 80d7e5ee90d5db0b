"""What marks come to beyond points: per cent, since what is possible differs between students."""

from __future__ import annotations

from collections.abc import Sequence

from grader.exports.entries import Entry, Table
from grader.lab.records import Lab
from grader.result import Result


def percent(result: Result) -> float | None:
    """Points earned of those possible for this student, 0 to 100; None where none are possible, or too little was
    judged for a mark."""
    possible = result.score.possible
    return round(100 * result.score.earned / possible, 2) if possible and result.status != "not_judged" else None


def lab_points(lab: Lab) -> float:
    """The points of all checks of a lab."""
    return round(sum(check.points for variant in lab.variants for check in variant.checks), 2)


def scaled(result: Result, lab: Lab) -> float | None:
    """The mark on the scale of the whole lab, for systems that know one maximum for all students."""
    share = percent(result)
    return None if share is None else round(share * lab_points(lab) / 100, 2)


def course_percent(tables: Sequence[Table], found: Sequence[Entry | None]) -> float | None:
    """Per cent of a course: by the labs' weights, work that is not there counting nothing and work without a verdict
    not at all; without weights of what was possible in the labs that were graded.

    found: a student's entry in each table.  None where nothing was judged."""
    of_labs = [entry.result if entry is not None else None for entry in found]
    results = [result for result in of_labs if result is not None and result.status != "not_judged"]
    weights = [
        0.0 if result is not None and result.status == "not_judged" else 1.0 if table.weight is None else table.weight
        for table, result in zip(tables, of_labs, strict=True)
    ]
    if results and sum(weights) > 0 and any(table.weight is not None for table in tables):
        shares = [(percent(result) or 0.0) if result is not None else 0.0 for result in of_labs]
        weighted = [weight * share for weight, share in zip(weights, shares, strict=True)]
        return round(sum(weighted) / sum(weights), 2)
    possible = sum(result.score.possible for result in results)
    return round(100 * sum(result.score.earned for result in results) / possible, 2) if possible else None
