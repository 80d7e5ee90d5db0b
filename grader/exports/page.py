"""A group's marks as a page with a link to each report."""

from __future__ import annotations

from collections.abc import Sequence

from grader.exports.entries import Entry, Export
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.group import failed_row, group_row
from grader.report.job import in_language
from grader.words import said


def page(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The page, one self-contained file."""
    from grader.report.page.html import group_page

    names = [variant.name for variant in lab.variants]
    rows = [
        failed_row(e.student, said(e.reason)) if e.result is None else group_row(e.result, names, language, e.report)
        for e in entries
    ]
    return group_page(rows, names, in_language(lab.title, language), language).encode()


EXPORT = Export(".html", page, lambda path: _("Group page:  {path}").format(path=path))
