"""A group's marks as a table in Markdown, for a wiki or a repository."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.exports.entries import Entry, Export, of_entries, shown_names
from grader.exports.points import percent
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.decisions import decision_lines
from grader.report.group import failed_row, group_row
from grader.report.job import in_language
from grader.report.numbers import Numbers
from grader.report.visible import visible_line
from grader.words import said

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


EXPORT = Export(".md", of_entries(markdown), lambda path: _("Grades as Markdown: {path}").format(path=path))
