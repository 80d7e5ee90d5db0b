"""Pages about a group: its marks with a link to each report, to be sorted, searched, signed; similar submissions.

Pairs of similar submissions stand side by side, what matches marked: a hint for the teacher, never a mark.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

from grader.exports.entries import CourseExport, Entry, Export, Table, course_percent, in_order, percent, shown_names
from grader.i18n import _
from grader.message import Message, msg
from grader.report import summary
from grader.report.job import decided, in_language
from grader.report.text import Numbers, visible, visible_line
from grader.result import Check, Decisions
from grader.similarity import Pair, alike
from grader.timing.summary import marked
from grader.words import check_title, said

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Marks from `low` to `high` per cent; height: of its bar, in per cent of the highest."""

    low: int
    high: int
    count: int
    height: float


@dataclass(frozen=True, slots=True)
class Who:
    """A student with the address of their report, "" where there is none."""

    name: str
    report: str


@dataclass(frozen=True, slots=True)
class LostRow:
    """A fault, by how many points the group has not got for it; example: whose report shows it, and in what words.

    points: lost, and of the checks that wait until it is mended.
    """

    title: str
    count: int
    points: str
    example: Who
    words: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of a variant that somebody failed: who, and how many passed it."""

    variant: str
    title: str
    failed: tuple[Who, ...]
    passed: int


@dataclass(frozen=True, slots=True)
class Dot:
    """A kernel's speedup; x: its place in per cent of the strip."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Speedups of a variant's kernels over the reference kernel, whose place is `reference`; both ends in words."""

    variant: str
    dots: tuple[Dot, ...]
    reference: float
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Overview:
    """All of it.  mean, median: in words, "" where nobody has a mark.

    unjudged: graded, and without a verdict.  missing: not graded, nothing: as nothing was handed in.
    late: after the deadline; timeless: nobody knows whether they are.
    """

    graded: int
    unjudged: int
    missing: int
    nothing: int
    late: int
    timeless: int
    pending: int
    mean: str
    median: str
    bins: tuple[Bin, ...]
    lost: tuple[LostRow, ...]
    checks: tuple[CheckRow, ...]
    strips: tuple[Strip, ...]
    pairs: tuple[tuple[int, str, str], ...]


def overview(table: Table, language: str) -> Overview:
    """What a group's page begins with."""
    numbers, names = Numbers(language), shown_names(table.entries)
    graded = [entry for entry in table.entries if entry.result is not None]
    shares = [share for entry in graded if entry.result and (share := percent(entry.result)) is not None]
    nothing = sum(map(_has_nothing, table.entries))
    decisions = [entry.result.decisions or Decisions() for entry in graded if entry.result]
    return Overview(
        graded=len(graded),
        unjudged=sum(bool(entry.result and entry.result.status == "not_judged") for entry in graded),
        missing=len(table.entries) - len(graded) - nothing,
        nothing=nothing,
        late=sum(it.late is not None for it in decisions),
        timeless=sum(it.asks_time for it in decisions),
        pending=sum(bool(entry.result and entry.result.score.pending) for entry in graded),
        mean=numbers.percent(round(mean(shares), 1)) if shares else "",
        median=numbers.percent(round(median(shares), 1)) if shares else "",
        bins=_bins(shares),
        lost=_lost(graded, names, numbers),
        checks=_checks(table, graded, names),
        strips=_strips(table, graded, names, numbers),
        pairs=_pairs(table, names, numbers),
    )


def _bins(shares: Sequence[float]) -> tuple[Bin, ...]:
    counts = [0] * BINS
    for share in shares:
        counts[min(BINS - 1, max(0, int(share * BINS / 100)))] += 1
    highest = max(counts) or 1
    step = 100 // BINS
    return tuple(
        Bin(n * step, (n + 1) * step, count, round(100 * count / highest, 1)) for n, count in enumerate(counts)
    )


def _who(entry: Entry, names: Mapping[str, str]) -> Who:
    return Who(visible_line(names[entry.student]), entry.report)


def _lost(graded: Sequence[Entry], names: Mapping[str, str], numbers: Numbers) -> tuple[LostRow, ...]:
    by_title: dict[str, list[tuple[float, Entry, Check]]] = defaultdict(list)
    for entry in graded:
        assert entry.result is not None
        for check in entry.result.checks:
            if check.status in summary.FAULT_STATUSES:
                # A kernel that is not there costs nothing itself: all that is asked of it waits.
                points = summary.lost_points(check) + summary.blocked_points(entry.result.checks, check)
                if points > 0:
                    by_title[summary.title_of(check)].append((points, entry, check))
    rows = []
    for title, faults in by_title.items():
        # The one that lost most shows it best, of these one with a report.
        _points, entry, check = max(faults, key=lambda fault: (fault[0], bool(fault[1].report)))
        points = sum(points for points, _entry, _check in faults)
        students = {fault[1].student for fault in faults}
        words = visible_line(summary.shortened(check.message, 200))
        rows.append((points, LostRow(title, len(students), numbers.points(points), _who(entry, names), words)))
    rows.sort(key=lambda row: (-row[0], -row[1].count, row[1].title))
    return tuple(row for _points, row in rows)


def _checks(table: Table, graded: Sequence[Entry], names: Mapping[str, str]) -> tuple[CheckRow, ...]:
    failed: dict[str, list[Who]] = defaultdict(list)
    passed: dict[str, int] = defaultdict(int)
    for entry in graded:
        assert entry.result is not None
        for check in entry.result.checks:
            passed[check.id] += check.status == "pass"
            if check.status == "fail":
                failed[check.id].append(_who(entry, names))
    return tuple(
        CheckRow(variant.name, check_title(check.check), tuple(failed[name]), passed[name])
        for variant in table.lab.variants
        for check in variant.checks
        if failed[name := f"{variant.name}.{check.check}"]
    )


def _strips(table: Table, graded: Sequence[Entry], names: Mapping[str, str], numbers: Numbers) -> tuple[Strip, ...]:
    strips = []
    for variant in table.lab.variants:
        ratios = []
        for entry in graded:
            assert entry.result is not None
            record = entry.result.variants.get(variant.name)
            row = marked(record.timing) if record is not None else None
            if row is not None and row.over_reference is not None:
                ratios.append((row.over_reference.value, _who(entry, names).name))
        if ratios:
            strips.append(_strip(variant.name, ratios, numbers))
    return tuple(strips)


def _strip(variant: str, marks: Sequence[tuple[float, str]], numbers: Numbers) -> Strip:
    """Return the scale of a logarithmic axis, a little wider than the values on it."""
    values = [max(value, 1e-3) for value, _name in marks] + [1.0]
    low, high = math.log(min(values)) - 0.1, math.log(max(values)) + 0.1

    def place(value: float) -> float:
        return round(100 * (math.log(max(value, 1e-3)) - low) / (high - low), 2)

    dots = tuple(Dot(place(value), f"{name}: {numbers.decimal(value)}×") for value, name in sorted(marks))
    return Strip(variant, dots, place(1.0), f"{numbers.decimal(math.exp(low))}×", f"{numbers.decimal(math.exp(high))}×")


def _pairs(table: Table, names: Mapping[str, str], numbers: Numbers) -> tuple[tuple[int, str, str], ...]:
    pairs = table.similar.pairs if table.similar is not None else ()
    return tuple(
        (number, " – ".join(names.get(name, name) for name in members), numbers.percent(round(100 * pair.share)))
        for number, (pair, members) in enumerate(alike(pairs)[:20], 1)
    )


def page(table: Table, language: str) -> bytes:
    """The page of one lab, one self-contained file."""
    from grader.report.html import group_page

    entries, lab = in_order(table.entries), table.lab
    names = [variant.name for variant in lab.variants]
    rows = [
        (row, _sortable(entry, language)) for row, entry in zip(rows_of(entries, names, language), entries, strict=True)
    ]
    title = in_language(lab.title, language)
    return group_page(rows, names, title, language, overview(table, language), lab.id).encode()


def course_page(tables: Sequence[Table], language: str) -> bytes:
    """The page of all labs: a line for each student, links to each report and to each lab's page."""
    from grader.report.html import course_page as html

    numbers = Numbers(language)
    labs = [(table.lab.id, in_language(table.lab.title, language)) for table in tables]
    by_lab = [{entry.student: entry for entry in table.entries} for table in tables]
    shown = [shown_names(table.entries) for table in tables]
    rows = []
    everybody = {entry.student: entry for table in reversed(tables) for entry in table.entries}
    for student in (entry.student for entry in in_order(list(everybody.values()))):
        student_entries = [entries.get(student) for entries in by_lab]
        people = [entry.who for entry in student_entries if entry is not None]
        shares = [percent(entry.result) if entry and entry.result else None for entry in student_entries]
        total = course_percent(tables, student_entries)
        rows.append(
            {
                "name": visible_line(
                    next((names[student] for names in shown if names.get(student, student) != student), student)
                ),
                "group": visible_line(next((who.group for who in people if who.group), "")),
                "cells": [
                    {
                        "share": "" if share is None else numbers.percent(share),
                        "value": -1 if share is None else share,
                        "report": entry.report if entry else "",
                        "reason": visible_line(said(entry.reason)) if entry and entry.result is None else "",
                    }
                    for entry, share in zip(student_entries, shares, strict=True)
                ],
                "decisions": [
                    (title, line)
                    for (_id, title), entry in zip(labs, student_entries, strict=True)
                    if entry is not None and entry.result is not None
                    for line in decided(entry.result, language)
                ],
                "total": "" if total is None else numbers.percent(total),
                "value": -1 if total is None else total,
            }
        )
    return html(labs, rows, language).encode()


def sheet(table: Table, language: str) -> bytes:
    """The marks as a PDF to be signed.  Raises PdfUnavailable: this machine lacks what a PDF needs."""
    from grader.report.pdf import render

    return render(sheet_html(table, language))


def sheet_html(table: Table, language: str) -> str:
    """The sheet to be signed before it is laid out."""
    from grader.report.html import sheet_page

    names, entries = [variant.name for variant in table.lab.variants], in_order(table.entries)
    rows = [
        (row if entry.result is not None else replace(row, fault=_on_paper(entry)), _sortable(entry, language))
        for row, entry in zip(rows_of(entries, names, language), entries, strict=True)
    ]
    return sheet_page(rows, names, in_language(table.lab.title, language), language)


def _on_paper(entry: Entry) -> str:
    """Return why somebody has no mark, for all who sign the sheet: without folders and logs of this machine."""
    return visible_line(said(entry.reason)) if _has_nothing(entry) else _("not graded")


def _has_nothing(entry: Entry) -> bool:
    return isinstance(entry.reason, Message) and entry.reason.id == msg("intake.nothing").id


def _sortable(entry: Entry, language: str) -> tuple[float, str]:
    """Return a student's per cent, for sorting and in words; -1 and "" without a mark."""
    share = percent(entry.result) if entry.result is not None else None
    return (-1.0, "") if share is None else (share, Numbers(language).decimal(share))


def rows_of(entries: Sequence[Entry], variants: Sequence[str], language: str) -> list[summary.GroupRow]:
    """The entries as rows of a table, by the names that the roster knows."""
    rows, shown = [], shown_names(entries)
    for entry in entries:
        who = entry.who
        if entry.result is None:
            row = summary.failed_row(entry.student, said(entry.reason))
            row = replace(row, status="nothing" if _has_nothing(entry) else row.status)
        else:
            row = summary.group_row(entry.result, variants, language, entry.report)
        name = visible_line(shown[entry.student])
        # Where no roster names anybody, folders are what the teacher knows, and what the course's files may call them.
        student = name if entry.person is not None and entry.person.name else row.student
        rows.append(replace(row, student=student, name=name, group=visible_line(who.group)))
    return rows


PAGE = Export(".html", page, lambda path: _("Group page: {path}").format(path=path))
COURSE = CourseExport("course.html", course_page, lambda path: _("Page of all labs: {path}").format(path=path))
SHEET = Export(".sheet.pdf", sheet, lambda path: _("Sheet to be signed: {path}").format(path=path))


# Pairs of similar submissions as a page: side by side, what matches marked.  A hint for the teacher, never a mark.

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
    from grader.report.html import similar_page as html

    sources = {entry.student: entry.source for entry in table.entries}
    names = shown_names(table.entries)
    similar = table.similar
    pairs = similar.pairs if similar is not None else ()
    archive = dict(similar.archive) if similar is not None else {}
    views = [
        _view(pair, members, {**archive, **sources}, names, Numbers(language), index < MOST_PAIRS)
        for index, (pair, members) in enumerate(alike(pairs))
    ]
    short = [names.get(name, name) for name in similar.too_short] if similar is not None else []
    return html(views, short, in_language(table.lab.title, language), language).encode()


def _view(
    pair: Pair, members: Sequence[str], sources: dict[str, str], names: dict[str, str], numbers: Numbers, is_whole: bool
) -> PairView:
    return PairView(
        names=" – ".join(names.get(member, member) for member in members),
        left_name=names.get(pair.left, pair.left),
        right_name=names.get(pair.right, pair.right),
        share=numbers.percent(round(100 * pair.share)),
        rare=tuple(map(_rare, pair.rare)),
        left=_side(sources.get(pair.left, ""), pair.left_lines) if is_whole else (),
        right=_side(sources.get(pair.right, ""), pair.right_lines) if is_whole else (),
    )


def _rare(choice: str) -> str:
    """Return a rare choice in words: its kind, then what it is."""
    kind, _blank, text = choice.partition(" ")
    shown = {"comment": _("comment “{text}”"), "string": _("string “{text}”"), "number": _("number {text}")}
    return shown[kind].format(text=text)


def _side(text: str, marked: tuple[int, ...]) -> tuple[SideLine, ...]:
    lines = set(marked)
    return tuple(
        SideLine(number, visible(line.expandtabs(4)), number in lines)
        for number, line in enumerate(text.split("\n"), 1)
    )


SIMILAR = Export(".similar.html", similar_page, lambda path: _("Similar submissions: {path}").format(path=path))
