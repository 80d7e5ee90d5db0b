"""A group's results as files: each export a function of the list of results, all named here."""

from __future__ import annotations

from collections.abc import Mapping

from grader.exports import entries, pages, systems, tables
from grader.exports.entries import CourseExport, Entry, Export, StudentExport
from grader.lab.records import Lab
from grader.words import said


def _gradescope(entry: Entry, lab: Lab, language: str) -> bytes:
    if entry.result is None:
        return systems.gradescope_failure(said(entry.reason))
    return systems.gradescope_results(entry.result, language)


EXPORTS: tuple[Export, ...] = (tables.TABLE, pages.PAGE, entries.ROSTER)
"""What every group gets, as results come."""
COURSE_EXPORTS: tuple[CourseExport, ...] = (tables.WORKBOOK, pages.COURSE)
"""What every group gets at the end, of all labs that lie in the folder of outputs."""

FORMATS: Mapping[str, Export | CourseExport | StudentExport] = {
    "csv": tables.TABLE,
    "html": pages.PAGE,
    "course": pages.COURSE,
    "pdf": pages.SHEET,
    "xlsx": tables.WORKBOOK,
    "moodle": systems.MOODLE,
    "canvas": systems.CANVAS,
    "gradescope": StudentExport("gradescope/results.json", _gradescope),
    "junit": systems.JUNIT,
    "markdown": tables.MARKDOWN,
}
"""What `grade export` can write, by the name of the format."""
