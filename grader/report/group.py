"""A group's results as rows of one table."""

from __future__ import annotations

from urllib.parse import quote

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.labels import check_status, result_status
from grader.report.numbers import Numbers
from grader.report.view import FAULT_STATUSES, View, blocked_points, lost_points, shortened, variant_columns, where
from grader.report.visible import visible
from grader.result import Result, Variant
from grader.words import check_title

# A variant is as good as its worst check.
_SEVERITY = {"fail": 4, "error": 3, "borderline": 2, "pass": 1, "skip": 0}


def group_row(job: ReportJob) -> View:
    """A student's row: mark, a cell per variant with the worst status and the points, the fault that costs most."""
    numbers = Numbers(job.language)
    result = job.result
    cells = []
    for column in variant_columns(job):
        checks = [c for c in result.checks if c.variant == column["name"]]
        worst = max(checks, key=lambda c: _SEVERITY[c.status], default=None)
        status = check_status(worst.status, worst.skip_reason) if worst else check_status("skip", "not_applicable")
        cells.append(
            {"key": status.key, "symbol": status.symbol, "text": numbers.points(sum(c.earned for c in checks))}
        )
    return {
        "student": result.student.id,
        "name": visible(result.student.name or result.student.id),
        "group": visible(result.student.group),
        "report": f"{quote(result.student.id)}/{quote(result.lab)}/report.html",
        "key": result_status(result.status).key,
        "mark": _("{earned} of {possible}").format(
            earned=numbers.points(result.score.earned), possible=numbers.points(result.score.possible)
        ),
        "cells": cells,
        "fault": _worst_fault(result),
    }


def student_line(job: ReportJob) -> str:
    """A submission in one line, for the running account of a long grading."""
    row = group_row(job)
    return visible(f"{result_status(job.result.status).symbol} {row['student']}: {row['mark']}")


def failed_row(student: str, reason: str) -> View:
    """The row of a submission that could not be graded at all."""
    shown = {"name": visible(student), "group": "", "report": ""}
    return {"student": student, **shown, "key": "error", "mark": "–", "cells": [], "fault": visible(reason)}


def _worst_fault(result: Result) -> str:
    checks = result.checks
    faults = [c for c in checks if c.status in FAULT_STATUSES]
    if not faults:
        return ""
    worst = max(faults, key=lambda c: (c.status == "fail", lost_points(c) + blocked_points(checks, c)))
    place = where(result.variants.get(worst.variant, Variant()).file, worst.line) if worst.line else ""
    return f"{check_title(worst.check)}{f' ({place})' if place else ''}: {shortened(worst.message)}"
