"""Marks as Canvas imports them into its gradebook: a column named after the lab, a line with the points possible.

Its importer (`lib/gradebook_importer.rb`) goes by the place of columns and by their English headings: student, ID, SIS
User ID, SIS Login ID, section, then assignments, known by their titles.  It looks for a student by the first of ID, SIS
User ID, SIS Login ID and name that is there.  An empty cell would take away a grade that a student has, so who has no
mark is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.exports.entries import Entry, Export, of_entries
from grader.exports.points import lab_points, scaled
from grader.exports.table import csv_text
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.job import in_language


def canvas(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries with Canvas's own English headings, by which it finds its columns; UTF-8 with commas."""
    title = in_language(lab.title, language)
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title],
        ["Points Possible", "", "", "", "", f"{lab_points(lab):g}"],
    ]
    for entry in entries:
        who = entry.who
        grade = scaled(entry.result, lab) if entry.result is not None else None
        if grade is not None:
            rows.append([who.name or who.id, who.canvas_id, who.number, who.email, who.group, f"{grade:g}"])
    return csv_text(rows, ",").encode("utf-8-sig")


EXPORT = Export(".canvas.csv", of_entries(canvas), lambda path: _("Grades for Canvas: {path}").format(path=path))
