"""Marks as Moodle imports them: the worksheet of an assignment's offline grading, and the import of its gradebook.

The worksheet (`mod/assign/feedback/offline`) is UTF-8 with commas; its columns are found by their headings in the
language of the site: identifier ("Participant 123456"), grade, and when the grade was last changed.  The gradebook's
import asks which column is the user and takes the e-mail or the ID number.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.exports.entries import Entry, Export, of_entries
from grader.exports.points import lab_points, scaled
from grader.exports.table import csv_text
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.decisions import decision_lines
from grader.report.group import worst_fault
from grader.report.numbers import Numbers
from grader.words import said


def worksheet(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries with Moodle's own headings in `language`; grades are on the lab's scale."""
    # Translators: headings and words of Moodle's grading worksheet, as its own translation writes them.
    rows = [
        [
            *[_("Identifier"), _("Full name"), _("ID number"), _("Email address")],
            *[_("Grade"), _("Maximum grade"), _("Last modified (grade)"), _("Feedback comments")],
        ]
    ]
    for entry in entries:
        who, result = entry.who, entry.result
        participant = _("Participant {number}").format(number=who.participant) if who.participant else ""
        grade = scaled(result, lab) if result is not None else None
        rows.append(
            [
                participant,
                who.name or who.id,
                who.number,
                who.email,
                "" if grade is None else f"{grade:g}",
                f"{lab_points(lab):g}",
                "",
                comment(entry, language),
            ]
        )
    return csv_text(rows, ",").encode()


def comment(entry: Entry, language: str) -> str:
    """What a student reads beside the grade: what is pending, and what cost most."""
    result = entry.result
    if result is None:
        return said(entry.reason)
    pending = result.score.pending
    parts = [
        _("pending: {points} points").format(points=Numbers(language).points(pending)) if pending else "",
        worst_fault(result),
    ]
    parts += decision_lines(result, language)
    return "; ".join(filter(None, parts))


EXPORT = Export(".moodle.csv", of_entries(worksheet), lambda path: _("Grades for Moodle: {path}").format(path=path))
