"""What a lecturer wants to see of a group at a glance: marks, what most lost points for, who failed what, speedups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from grader.exports.entries import Entry, Table, percent, shown_names
from grader.report.numbers import Numbers
from grader.report.summary import FAULT_STATUSES, blocked_points, lost_points, shortened, title_of
from grader.report.visible import visible_line
from grader.result import Check
from grader.similarity import alike
from grader.timing.summary import marked
from grader.words import check_title

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
    """A check of a variant: who failed it."""

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
    """All of it.  mean, median: in words, "" where nobody has a mark.  unjudged: graded, and without a verdict."""

    graded: int
    unjudged: int
    missing: int
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
    return Overview(
        graded=len(graded),
        unjudged=sum(bool(entry.result and entry.result.status == "not_judged") for entry in graded),
        missing=len(table.entries) - len(graded),
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
    found: dict[str, list[tuple[float, Entry, Check]]] = defaultdict(list)
    for entry in graded:
        assert entry.result is not None
        for check in entry.result.checks:
            if check.status in FAULT_STATUSES:
                # A kernel that is not there costs nothing itself: all that is asked of it waits.
                points = lost_points(check) + blocked_points(entry.result.checks, check)
                if points > 0:
                    found[title_of(check)].append((points, entry, check))
    rows = []
    for title, faults in found.items():
        # The one that lost most shows it best, of these one with a report.
        _points, entry, check = max(faults, key=lambda fault: (fault[0], bool(fault[1].report)))
        points = sum(points for points, _entry, _check in faults)
        students = {fault[1].student for fault in faults}
        words = visible_line(shortened(check.message, 200))
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
        if failed[name := f"{variant.name}.{check.check}"] or check.points
    )


def _strips(table: Table, graded: Sequence[Entry], names: Mapping[str, str], numbers: Numbers) -> tuple[Strip, ...]:
    strips = []
    for variant in table.lab.variants:
        found = []
        for entry in graded:
            assert entry.result is not None
            record = entry.result.variants.get(variant.name)
            row = marked(record.timing) if record is not None else None
            if row is not None and row.over_reference is not None:
                found.append((row.over_reference.value, _who(entry, names).name))
        if found:
            strips.append(_strip(variant.name, found, numbers))
    return tuple(strips)


def _strip(variant: str, found: Sequence[tuple[float, str]], numbers: Numbers) -> Strip:
    """On a logarithmic axis, a little wider than what lies on it."""
    values = [max(value, 1e-3) for value, _name in found] + [1.0]
    low, high = math.log(min(values)) - 0.1, math.log(max(values)) + 0.1

    def place(value: float) -> float:
        return round(100 * (math.log(max(value, 1e-3)) - low) / (high - low), 2)

    dots = tuple(Dot(place(value), f"{name}: {numbers.decimal(value)}×") for value, name in sorted(found))
    return Strip(variant, dots, place(1.0), f"{numbers.decimal(math.exp(low))}×", f"{numbers.decimal(math.exp(high))}×")


def _pairs(table: Table, names: Mapping[str, str], numbers: Numbers) -> tuple[tuple[int, str, str], ...]:
    pairs = table.similar.pairs if table.similar is not None else ()
    return tuple(
        (number, " – ".join(names.get(name, name) for name in members), numbers.percent(round(100 * pair.share)))
        for number, (pair, members) in enumerate(alike(pairs)[:20], 1)
    )
