"""A group's marks as a table for a spreadsheet: one line per student."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.exports.entries import Entry, Export
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.group import worst_fault
from grader.report.labels import result_status
from grader.report.visible import visible_line
from grader.words import said

_FORMULA = re.compile(r"\s*['=+\-@|%＝＋－＠]")
_NEEDS_QUOTES = re.compile(r'[",;\t]|^\s|\s$')


def gradebook(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as CSV, as spreadsheets in `language` open it: UTF-8 with BOM; in Russian `;` and decimal commas."""
    variants = [variant.name for variant in lab.variants]
    titles = [_("Student"), _("Name"), _("Group"), _("Status"), _("Points"), _("Pending"), _("Maximum")]
    rows = [[*titles, *variants, _("Worst fault")]]
    for entry in entries:
        result = entry.result
        if result is None:
            # No points, which are not the same as nought.
            rows.append([entry.student, "", "", _("not graded"), *[""] * (3 + len(variants)), said(entry.reason)])
            continue
        score = result.score
        earned = [sum(c.earned for c in result.checks if c.variant == name) for name in variants]
        rows.append(
            [
                result.student.id,
                result.student.name,
                result.student.group,
                result_status(result.status).word,
                *(_number(value, language) for value in (score.earned, score.pending, score.possible, *earned)),
                worst_fault(result),
            ]
        )
    delimiter = ";" if language == "ru" else ","
    return "".join(delimiter.join(map(_cell, row)) + "\r\n" for row in rows).encode("utf-8-sig")


def _number(value: float, language: str) -> str:
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return shown.replace(".", ",") if language == "ru" else shown


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula, in quotes where any kind of spreadsheet could part it in two."""
    text = visible_line(text)
    if _FORMULA.match(text):
        text = f"'{text}"
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if _NEEDS_QUOTES.search(text) else text


EXPORT = Export(".csv", gradebook, lambda path: _("Grade table: {path}").format(path=path))
