"""A group's marks as tables: for a spreadsheet (CSV, and one workbook a course), and in Markdown for a wiki or a
repository.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from grader.exports.entries import CourseExport, Entry, Export, Table, course_percent, of_entries, percent, shown_names
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.job import decision_lines, in_language
from grader.report.summary import failed_row, group_row, worst_fault
from grader.report.text import Numbers, clipped, result_status, visible, visible_line
from grader.words import said

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet


_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """`text` (see `clipped`), visible, with U+FFFD for what XML has no way to write (XML 1.0, production 2, Char)."""
    return _NO_XML.sub("\ufffd", visible(clipped(text)))


# A group's marks as a table for a spreadsheet: one line per student.

_FORMULA = re.compile(r"\s*['=+\-@|%＝＋－＠]")
_NEEDS_QUOTES = re.compile(r'[",;\t]|^\s|\s$')


def gradebook(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as CSV, as spreadsheets in `language` open it: UTF-8 with BOM; in Russian `;` and decimal commas."""
    variants = [variant.name for variant in lab.variants]
    titles = [_("Student"), _("Name"), _("Group"), _("Status"), _("Points"), _("Pending"), _("Maximum"), _("Percent")]
    rows = [[*titles, *variants, _("Worst fault"), _("Teacher's decisions")]]
    for entry in entries:
        result = entry.result
        if result is None:
            # No points, which are not the same as nought.
            who = [entry.student, entry.who.name, entry.who.group]
            rows.append([*who, _("not graded"), *[""] * (4 + len(variants)), said(entry.reason), ""])
            continue
        score = result.score
        earned = [sum(c.earned for c in result.checks if c.variant == name) for name in variants]
        rows.append(
            [
                result.student.id,
                entry.who.name,
                entry.who.group,
                result_status(result.status).word,
                *(_number(value, language) for value in (score.earned, score.pending, score.possible)),
                _number(percent(result), language),
                *(_number(value, language) for value in earned),
                worst_fault(result),
                "; ".join(decision_lines(result, language)),
            ]
        )
    return csv_text(rows, ";" if language == "ru" else ",").encode("utf-8-sig")


def csv_text(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """Rows as CSV (RFC 4180), no cell of which a spreadsheet takes for a formula."""
    return "".join(delimiter.join(map(_cell, row)) + "\r\n" for row in rows)


def _number(value: float | None, language: str) -> str:
    if value is None:
        return ""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return shown.replace(".", ",") if language == "ru" else shown


def harmless(text: str) -> str:
    """Text as one visible line that no spreadsheet takes for a formula."""
    text = visible_line(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _cell(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, quoted where one could split it."""
    text = harmless(text)
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if _NEEDS_QUOTES.search(text) else text


TABLE = Export(".csv", of_entries(gradebook), lambda path: _("Grade table: {path}").format(path=path))


# A group's marks as a table in Markdown, for a wiki or a repository.

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")


def markdown(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as a table; whatever a student is called is text."""
    numbers, names = Numbers(language), [variant.name for variant in lab.variants]
    titles = [
        _("Student"),
        _("Group"),
        _("Grade"),
        _("Percent"),
        _("Pending"),
        *names,
        _("Worst fault"),
        _("Teacher's decisions"),
    ]
    rows, shown = [], shown_names(entries)
    for entry in entries:
        who, result = entry.who, entry.result
        first = [shown[entry.student], who.group]
        if result is None:
            row = failed_row(entry.student, said(entry.reason))
            rows.append([*first, row.mark, *[""] * (2 + len(names)), row.fault, ""])
            continue
        row, share = group_row(result, names, language), percent(result)
        pending = numbers.points(result.score.pending) if result.score.pending else ""
        cells = [f"{cell.symbol} {cell.text}" for cell in row.cells]
        rows.append(
            [
                *first,
                row.mark,
                "" if share is None else numbers.percent(share),
                pending,
                *cells,
                row.fault,
                "; ".join(decision_lines(result, language)),
            ]
        )
    lines = [f"# {_text(in_language(lab.title, language))}", "", _line(titles), _line(["---"] * len(titles), str)]
    return ("\n".join([*lines, *map(_line, rows)]) + "\n").encode()


def _line(cells: Sequence[str], shown: object = None) -> str:
    return "| " + " | ".join(cells if shown is str else map(_text, cells)) + " |"


def _text(text: str) -> str:
    return _MARKUP.sub(r"\\\1", visible_line(text))


MARKDOWN = Export(".md", of_entries(markdown), lambda path: _("Grades as Markdown: {path}").format(path=path))


# A course's marks as one workbook (xlsx): a sheet for each lab, before them one of all labs with totals.

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


def _dateless(workbook: io.BytesIO) -> bytes:
    """Return the same archive without the time when it was made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(workbook) as archive, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            content = _MODIFIED.sub(rb"\g<1>" + f"{_EPOCH:%Y-%m-%dT%H:%M:%SZ}".encode(), archive.read(name))
            copy.writestr(zipfile.ZipInfo(name, _EPOCH.timetuple()[:6]), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _totals(tables: Sequence[Table], language: str) -> Iterator[list[Value]]:
    """Yield a line for each student: points and per cent for each lab, points of all labs, pending ones."""
    labs = [in_language(table.lab.title, language) for table in tables]
    columns = [name for lab in labs for name in (lab, f"{lab}, %")]
    yield [_("Student"), _("Name"), _("Group"), *columns, _("Points"), _("Pending"), _("Maximum"), _("Percent")]
    by_lab = [{entry.student: entry for entry in table.entries} for table in tables]
    for student in dict.fromkeys(entry.student for table in tables for entry in table.entries):
        student_entries = [entries.get(student) for entries in by_lab]
        present = [entry for entry in student_entries if entry is not None]
        results = [entry.result for entry in present if entry.result is not None]
        marks: list[Value] = []
        for entry in student_entries:
            result = entry.result if entry is not None else None
            marks += [result.score.earned, percent(result)] if result is not None else [None, None]
        earned, pending, possible = (
            round(sum(getattr(result.score, name) for result in results), 2)
            for name in ("earned", "pending", "possible")
        )
        share = course_percent(tables, student_entries)
        totals: list[Value] = [earned, pending, possible, share] if results else [None] * 4
        yield [student, *_who(present), *marks, *totals]


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
    """Return a sheet's name that a spreadsheet allows and that is not in `taken`, ignoring case."""
    short = _NO_TITLE.sub("_", wanted)[:LONGEST_TITLE] or "_"
    title, number = short, 1
    while title.lower() in taken:
        number += 1
        title = f"{short[: LONGEST_TITLE - 1 - len(str(number))]} {number}"
    taken.add(title.lower())
    return title


WORKBOOK = CourseExport(NAME, workbook, lambda path: _("Grades of all labs as a workbook: {path}").format(path=path))
