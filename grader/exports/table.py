"""A group's marks as a table for a spreadsheet: one line per student."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from grader.exports.entries import Entry, Export, of_entries
from grader.exports.points import percent
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.decisions import decision_lines
from grader.report.group import worst_fault
from grader.report.labels import result_status
from grader.report.visible import visible_line
from grader.words import said

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
    """Text that no spreadsheet takes for a formula, in quotes where any kind of spreadsheet could part it in two."""
    text = harmless(text)
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if _NEEDS_QUOTES.search(text) else text


EXPORT = Export(".csv", of_entries(gradebook), lambda path: _("Grade table: {path}").format(path=path))
