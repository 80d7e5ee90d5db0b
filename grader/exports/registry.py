"""Every kind of file that is made of a group's results."""

from __future__ import annotations

from collections.abc import Mapping

from grader.exports import canvas, gradescope, junit, markdown, moodle, page, roster, table, workbook
from grader.exports.entries import CourseExport, Entry, Export, StudentExport
from grader.lab.records import Lab
from grader.words import said


def _gradescope(entry: Entry, lab: Lab, language: str) -> bytes:
    if entry.result is None:
        return gradescope.failure(said(entry.reason))
    return gradescope.results(entry.result, language)


EXPORTS: tuple[Export, ...] = (table.EXPORT, page.EXPORT, roster.EXPORT)
"""What every group gets, as results come."""
COURSE_EXPORTS: tuple[CourseExport, ...] = (workbook.EXPORT, page.COURSE)
"""What every group gets at the end, of all labs that lie in the folder of outputs."""

FORMATS: Mapping[str, Export | CourseExport | StudentExport] = {
    "csv": table.EXPORT,
    "html": page.EXPORT,
    "course": page.COURSE,
    "pdf": page.SHEET,
    "xlsx": workbook.EXPORT,
    "moodle": moodle.EXPORT,
    "canvas": canvas.EXPORT,
    "gradescope": StudentExport("gradescope/results.json", _gradescope),
    "junit": junit.EXPORT,
    "markdown": markdown.EXPORT,
}
"""What `grade export` can write, by the name of the format."""
