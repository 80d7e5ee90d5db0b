"""Pairs of similar submissions as a page: side by side, what matches marked.  A hint for the teacher, never a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.exports.entries import Export, Table, shown_names
from grader.i18n import _
from grader.report.job import in_language
from grader.report.numbers import Numbers
from grader.report.visible import visible
from grader.similarity.pairs import Pair, alike

MOST_PAIRS = 60
"""Side by side; more are listed."""


@dataclass(frozen=True, slots=True)
class SideLine:
    """A line of a source; is_marked: it matches."""

    number: int
    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair as the page shows it; left, right: its sources, none for pairs that are listed only.

    names: of all whose work it stands for, more than two where several handed in copies.
    """

    names: str
    left_name: str
    right_name: str
    share: str
    rare: tuple[str, ...]
    left: tuple[SideLine, ...]
    right: tuple[SideLine, ...]


def similar_page(table: Table, language: str) -> bytes:
    """The page, one self-contained file."""
    from grader.report.page.groups import similar_page as html

    sources = {entry.student: entry.source for entry in table.entries}
    names = shown_names(table.entries)
    found = table.similar
    pairs = found.pairs if found is not None else ()
    archive = dict(found.archive) if found is not None else {}
    views = [
        _view(pair, members, {**archive, **sources}, names, Numbers(language), index < MOST_PAIRS)
        for index, (pair, members) in enumerate(alike(pairs))
    ]
    short = [names.get(name, name) for name in found.too_short] if found is not None else []
    return html(views, short, in_language(table.lab.title, language), language).encode()


def _view(
    pair: Pair, members: Sequence[str], sources: dict[str, str], names: dict[str, str], numbers: Numbers, is_whole: bool
) -> PairView:
    return PairView(
        names=" – ".join(names.get(member, member) for member in members),
        left_name=names.get(pair.left, pair.left),
        right_name=names.get(pair.right, pair.right),
        share=numbers.percent(round(100 * pair.share)),
        rare=pair.rare,
        left=_side(sources.get(pair.left, ""), pair.left_lines) if is_whole else (),
        right=_side(sources.get(pair.right, ""), pair.right_lines) if is_whole else (),
    )


def _side(text: str, marked: tuple[int, ...]) -> tuple[SideLine, ...]:
    lines = set(marked)
    return tuple(
        SideLine(number, visible(line.expandtabs(4)), number in lines)
        for number, line in enumerate(text.split("\n"), 1)
    )


EXPORT = Export(".similar.html", similar_page, lambda path: _("Similar submissions: {path}").format(path=path))
