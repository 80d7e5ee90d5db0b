"""A course's marks as one workbook (xlsx): a sheet for each lab, before them one of all labs with totals."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from grader.exports.entries import CourseExport, Entry, Table
from grader.exports.points import course_percent, percent
from grader.exports.table import harmless
from grader.exports.xml_text import xml_text
from grader.i18n import _
from grader.report.decisions import decision_lines
from grader.report.group import worst_fault
from grader.report.job import in_language
from grader.report.labels import result_status
from grader.words import said

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

NAME = "gradebook.xlsx"
LONGEST_TITLE = 31
_NO_TITLE = re.compile(r"[\[\]:*?/\\']")
# A workbook carries when it was made; the same marks are the same file.
_EPOCH = datetime(2020, 1, 1)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")

Value = str | float | None


def workbook(tables: Sequence[Table], language: str) -> bytes:
    """The workbook; texts are cells of text whatever they begin with, what is not there is an empty cell."""
    from openpyxl import Workbook

    book = Workbook()
    book.properties.created = _EPOCH
    titles: set[str] = set()
    sheet = book.active
    assert sheet is not None
    _fill(sheet, _title(_("All labs"), titles), list(_totals(tables, language)))
    for table in tables:
        _fill(book.create_sheet(), _title(table.lab.id, titles), list(_lab(table, language)))
    buffer = io.BytesIO()
    book.save(buffer)
    return _dateless(buffer)


def _dateless(made: io.BytesIO) -> bytes:
    """The same archive without the time when it was made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(made) as archive, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            content = _MODIFIED.sub(rb"\g<1>" + f"{_EPOCH:%Y-%m-%dT%H:%M:%SZ}".encode(), archive.read(name))
            copy.writestr(zipfile.ZipInfo(name, _EPOCH.timetuple()[:6]), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _totals(tables: Sequence[Table], language: str) -> Iterator[list[Value]]:
    """A line for each student: points and per cent for each lab, points of all labs, pending ones."""
    labs = [in_language(table.lab.title, language) for table in tables]
    columns = [name for lab in labs for name in (lab, f"{lab}, %")]
    yield [_("Student"), _("Name"), _("Group"), *columns, _("Points"), _("Pending"), _("Maximum"), _("Percent")]
    by_lab = [{entry.student: entry for entry in table.entries} for table in tables]
    for student in dict.fromkeys(entry.student for table in tables for entry in table.entries):
        found = [entries.get(student) for entries in by_lab]
        known = [entry for entry in found if entry is not None]
        results = [entry.result for entry in known if entry.result is not None]
        marks: list[Value] = []
        for entry in found:
            result = entry.result if entry is not None else None
            marks += [result.score.earned, percent(result)] if result is not None else [None, None]
        earned, pending, possible = (
            round(sum(getattr(result.score, name) for result in results), 2)
            for name in ("earned", "pending", "possible")
        )
        share = course_percent(tables, found)
        totals: list[Value] = [earned, pending, possible, share] if results else [None] * 4
        yield [student, *_who(known), *marks, *totals]


def _who(entries: Sequence[Entry]) -> list[Value]:
    people = [entry.who for entry in entries]
    return [next((p.name for p in people if p.name), ""), next((p.group for p in people if p.group), "")]


def _lab(table: Table, language: str) -> Iterator[list[Value]]:
    variants = [variant.name for variant in table.lab.variants]
    numbers = [_("Points"), _("Pending"), _("Maximum"), _("Percent")]
    yield [
        _("Student"),
        _("Name"),
        _("Group"),
        _("Status"),
        *numbers,
        *variants,
        _("Worst fault"),
        _("Teacher's decisions"),
    ]
    for entry in table.entries:
        who, result = entry.who, entry.result
        if result is None:
            yield [
                *[entry.student, who.name, who.group, _("not graded")],
                *[None] * (4 + len(variants)),
                said(entry.reason),
                None,
            ]
            continue
        score = result.score
        earned = [round(sum(c.earned for c in result.checks if c.variant == name), 2) for name in variants]
        yield [
            *[entry.student, who.name, who.group, result_status(result.status).word],
            *[score.earned, score.pending, score.possible, percent(result)],
            *earned,
            worst_fault(result),
            "; ".join(decision_lines(result, language)),
        ]


def _fill(sheet: Worksheet, title: str, rows: Sequence[Sequence[Value]]) -> None:
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    sheet.title = title
    bold, top = Font(bold=True), Alignment(wrap_text=True, vertical="top")
    widths: dict[int, int] = {}
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            if value is None or value == "":
                continue
            cell = sheet.cell(number, column)
            if isinstance(value, str):
                # Neither now nor after it was saved as CSV does it become a formula.
                cell.value = xml_text(harmless(value))
                cell.data_type = "s"
            else:
                cell.value = value
            if number == 1:
                cell.font, cell.alignment = bold, top
            else:
                widths[column] = max(widths.get(column, 0), len(str(value)))
    for column in range(1, len(rows[0]) + 1):
        sheet.column_dimensions[get_column_letter(column)].width = min(60, max(9, widths.get(column, 0) + 2))
    sheet.freeze_panes = "B2"
    sheet.auto_filter.ref = sheet.dimensions


def _title(wanted: str, taken: set[str]) -> str:
    """A sheet's name that a spreadsheet allows, not one of `taken`, whatever their capitals."""
    short = _NO_TITLE.sub("_", wanted)[:LONGEST_TITLE] or "_"
    title, number = short, 1
    while title.lower() in taken:
        number += 1
        title = f"{short[: LONGEST_TITLE - 1 - len(str(number))]} {number}"
    taken.add(title.lower())
    return title


EXPORT = CourseExport(NAME, workbook, lambda path: _("Grades of all labs as a workbook: {path}").format(path=path))
