"""A group's marks as a table for a spreadsheet: one line per student."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.labels import result_status
from grader.report.view import View, variant_columns
from grader.report.visible import visible


def gradebook_line(job: ReportJob, fault: str) -> View:
    """What the gradebook says of one student; fault: the one that costs most, in words."""
    result, score = job.result, job.result.score
    return {
        "id": result.student.id,
        "name": result.student.name,
        "group": result.student.group,
        "status": result_status(result.status).word,
        "points": [score.earned, score.pending, score.possible],
        "variants": {
            column["name"]: sum(c.earned for c in result.checks if c.variant == column["name"])
            for column in variant_columns(job)
        },
        "fault": fault,
    }


def refused_line(student: str, reason: str) -> View:
    """The line of a submission that could not be graded: no points, which are not the same as nought."""
    return {
        "id": student,
        "name": "",
        "group": "",
        "status": _("not graded"),
        "points": [None, None, None],
        "variants": {},
        "fault": reason,
    }


def gradebook(lines: Sequence[View], variants: Sequence[str], language: str) -> bytes:
    """The lines as CSV, as a spreadsheet in `language` opens it: UTF-8 with BOM; Russian has `;` and decimal commas."""
    russian = language == "ru"
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";" if russian else ",", lineterminator="\r\n")
    titles = [_("Student"), _("Name"), _("Group"), _("Status"), _("Points"), _("Pending"), _("Of")]
    writer.writerow([*titles, *variants, _("Worst fault")])

    def number(value: float | None) -> str:
        if value is None:
            return ""
        shown = f"{value:.2f}".rstrip("0").rstrip(".")
        return shown.replace(".", ",") if russian else shown

    for line in lines:
        numbers = [number(v) for v in (*line["points"], *(line["variants"].get(name) for name in variants))]
        words = [_harmless(str(line[key])) for key in ("id", "name", "group", "status")]
        writer.writerow([*words, *numbers, _harmless(line["fault"])])
    return text.getvalue().encode("utf-8-sig")


def _harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula: a student chooses names and file names."""
    text = visible(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
