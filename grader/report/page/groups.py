"""Pages of groups and courses: self-contained HTML with a script of ours that sorts, searches and filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.report.group import GroupRow
from grader.report.page.html import environment
from grader.report.page.scripts import GROUP, script, script_hash

Rows = Sequence[tuple[GroupRow, tuple[float, str]]]
"""Students' rows, each with the mark in per cent, for sorting and in words."""


def group_page(rows: Rows, variants: Sequence[str], title: str, language: str, overview: object, lab: str) -> str:
    """A lab's page; overview: of `grader.exports.overview`."""
    return (
        environment()
        .get_template("group.html.j2")
        .render(rows=rows, variants=variants, title=title, language=language, overview=overview, lab=lab, **_script())
    )


def course_page(labs: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, object]], language: str) -> str:
    """The page of all labs; labs: ids and titles."""
    return environment().get_template("course.html.j2").render(labs=labs, rows=rows, language=language, **_script())


def sheet_page(rows: Rows, variants: Sequence[str], title: str, language: str) -> str:
    """The marks on paper, with a line for a signature."""
    return (
        environment().get_template("sheet.html.j2").render(rows=rows, variants=variants, title=title, language=language)
    )


def similar_page(pairs: Sequence[object], too_short: Sequence[str], title: str, language: str) -> str:
    """Pairs of similar submissions; pairs: of `grader.exports.pages.PairView`."""
    return (
        environment()
        .get_template("similar.html.j2")
        .render(pairs=pairs, too_short=too_short, title=title, language=language)
    )


def _script() -> dict[str, str]:
    return {"script": script(GROUP), "script_hash": script_hash(GROUP)}
