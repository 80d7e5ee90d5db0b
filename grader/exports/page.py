"""A group's marks as a page with a link to each report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.exports.entries import Entry, Export, Table
from grader.i18n import _
from grader.report.group import GroupRow, failed_row, group_row
from grader.report.job import in_language
from grader.report.visible import visible_line
from grader.words import said


def page(table: Table, language: str) -> bytes:
    """The page, one self-contained file."""
    from grader.report.page.html import group_page

    entries, lab = table.entries, table.lab
    names = [variant.name for variant in lab.variants]
    return group_page(rows_of(entries, names, language), names, in_language(lab.title, language), language).encode()


def rows_of(entries: Sequence[Entry], variants: Sequence[str], language: str) -> list[GroupRow]:
    """The entries as rows of a table, by the names that the roster knows."""
    rows = []
    for entry in entries:
        who = entry.who
        if entry.result is None:
            row = failed_row(entry.student, said(entry.reason))
        else:
            row = group_row(entry.result, variants, language, entry.report)
        rows.append(replace(row, name=visible_line(who.name or who.id), group=visible_line(who.group)))
    return rows


EXPORT = Export(".html", page, lambda path: _("Group page:  {path}").format(path=path))
