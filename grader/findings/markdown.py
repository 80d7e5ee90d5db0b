"""A result as Markdown: the summary of a job, a comment on a merge request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.findings.finding import REMARK, Finding, cost_of, dearest_first, title_of
from grader.findings.formats import Told
from grader.findings.graded import mark_text
from grader.i18n import _
from grader.report.labels import result_status
from grader.report.numbers import Numbers
from grader.report.summary import matrix, unjudged_lines
from grader.report.summary_views import CellView
from grader.report.visible import visible_line

_ACTING = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~@&:])")
_MARKS = {"error": "❌", "warning": "⚠️", "note": "💡"}


def write(told: Told) -> str:
    """Mark, a row for each check with its points, and what to fix; nothing of a student's acts as markup."""
    return "\n".join(_lines(told)) + "\n"


def _lines(told: Told) -> Iterator[str]:
    numbers = Numbers(told.language)
    result = told.result
    status = result_status(result.status)
    yield f"## {status.symbol} {_plain(result.lab)}: {mark_text(result, numbers)}"
    yield ""
    for line in unjudged_lines(result, told.language)[:1]:
        yield _plain(line)
        yield ""
    faults = [f for f in dearest_first(told.findings) if f.level != "note"]
    if faults:
        yield f"### {_('What to fix')}"
        yield ""
        for finding in faults:
            yield from _item(finding, numbers)
        yield ""
    names = list(result.variants)
    yield f"| {_('Check')} | " + " | ".join(_plain(name) for name in names) + " |"
    yield "| --- |" + " --- |" * len(names)
    for row in matrix(result.checks, names, numbers):
        yield f"| {_plain(row['title'])} | " + " | ".join(map(_cell, row["cells"])) + " |"
    remarks = [f for f in told.findings if f.level == "note"]
    if remarks:
        yield ""
        yield f"### {_('Worth knowing (costs no points)')}"
        yield ""
        for finding in remarks:
            yield from _item(finding, numbers)


def _cell(cell: CellView | None) -> str:
    return "" if cell is None else _plain(f"{cell['symbol']} {cell['points']}".rstrip())


def _item(finding: Finding, numbers: Numbers) -> Iterator[str]:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    where = f" {_code(place)}" if place else ""
    # Remarks stand under a title that says what they are.
    title = ", ".join(finding.variants) if finding.check == REMARK else title_of(finding)
    bold = f" **{_plain(title)}**" if title else ""
    yield f"- {_MARKS[finding.level]}{bold}{cost_of(finding, numbers)}{where}  "
    yield f"  {_plain(finding.message)}"
    if finding.hint:
        yield f"  <br>→ {_plain(finding.hint)}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _ACTING.sub(r"\\\1", visible_line(text))


def _code(text: str) -> str:
    return "`" + visible_line(text).replace("`", "ˋ") + "`"
