"""What the figures show, as plain data: bars with their ideal, and bank maps.  No drawing here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.device_limits import BANKS
from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.numbers import Numbers
from grader.report.summary import variant_columns
from grader.report.summary_views import VariantView
from grader.result import Counters, LineCounters, Variant

BINARY_STEPS = (1, 2, 4, 8, 10)
"""Steps between ticks, of a power of ten: 8, 16, 24 where matplotlib would write 6, 12, 18 or 5, 10, 15."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its value with the text to write at its end, and the least value that was possible."""

    label: str
    value: float
    ideal: float
    text: str


@dataclass(frozen=True, slots=True)
class BarGroup:
    """The bars of one variant."""

    label: str
    colour: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars grouped by variant; `description` says the same in words."""

    title: str
    axis: str
    ideal_label: str
    groups: tuple[BarGroup, ...]
    description: str


@dataclass(frozen=True, slots=True)
class BankMap:
    """One request of one warp: the 32-bit words of shared memory that each lane addresses ((), if it takes no part).

    title: whose request; place: which; `description` says in words what the picture shows.
    """

    title: str
    place: str
    verdict: str
    colour: str
    lanes: tuple[tuple[int, ...], ...]
    lane_axis: str
    bank_axis: str
    words_axis: str

    @property
    def description(self) -> str:
        return f"{self.title}, {self.place}: {self.verdict}."


def wavefront_chart(job: ReportJob) -> BarChart | None:
    """Wavefronts per shared-memory request; None when no variant uses shared memory."""
    return _chart(job, "shared", _("Wavefronts per shared-memory request"), _("wavefronts per request"), _("minimum"))


def sector_chart(job: ReportJob) -> BarChart | None:
    """32-byte sectors per request to global memory; None when none was counted."""
    return _chart(
        job,
        "global",
        _("Sectors per global-memory request"),
        _("sectors of 32 bytes per request"),
        _("minimum"),
    )


def _chart(job: ReportJob, space: Literal["shared", "global"], title: str, axis: str, ideal: str) -> BarChart | None:
    numbers = Numbers(job.language)
    operations = {"load": _("load"), "store": _("store"), "atomic": _("atomic")}
    groups = []
    for column in variant_columns(job):
        counters = job.result.variants.get(column["name"], Variant()).counters
        bars = tuple(
            bar
            for op, label in operations.items()
            if counters is not None and (bar := _bar(counters, space, op, label, numbers)) is not None
        )
        if bars:
            groups.append(BarGroup(column["name"], column["colour"], bars))
    if not groups:
        return None
    words = "; ".join(f"{g.label}: " + ", ".join(f"{b.label} {b.text}" for b in g.bars) for g in groups)
    return BarChart(title, axis, ideal, tuple(groups), f"{title}. {words}.")


def _bar(counters: Counters, space: str, op: str, label: str, numbers: Numbers) -> Bar | None:
    lines = [c for c in counters.by_line if c.space == space and c.op == op]
    requests = sum(c.requests for c in lines)
    if not requests:
        return None
    cost = sum(c.wavefronts if space == "shared" else c.sectors for c in lines) / requests
    return Bar(label, cost, sum(c.ideal for c in lines) / requests, numbers.decimal(cost))


def bank_maps(job: ReportJob) -> list[BankMap]:
    """A map per variant whose shared-memory addresses were recorded, to be compared with each other.

    Variants without conflicts whose lanes use the same banks share one: four diagonals say no more than one.

    Shown is each variant's worst request.  A variant without conflicts shows the request that compares with the
    worst one of all: the same operation, spread over most rows of banks.
    """
    recorded: list[tuple[VariantView, str, list[LineCounters]]] = []
    for column in variant_columns(job):
        variant = job.result.variants.get(column["name"], Variant())
        counters = variant.counters.by_line if variant.counters is not None else []
        lines = [c for c in counters if c.space == "shared" and any(w is not None for w in c.lane_words)]
        if lines:
            recorded.append((column, variant.file or "", lines))
    worst = max((c for _column, _file, lines in recorded for c in lines), key=lambda c: c.ways, default=None)
    alike: dict[object, list[tuple[VariantView, str, LineCounters]]] = {}
    for column, file, lines in recorded:
        shown = max(lines, key=lambda c: (c.ways, worst is None or c.op == worst.op, _rows_spanned(c)))
        key = column["name"] if shown.ways > 1 else (shown.op, shown.width_bytes, _banks(shown))
        alike.setdefault(key, []).append((column, file, shown))
    return [_map(members) for members in alike.values()]


def _banks(counter: LineCounters) -> tuple[int | None, ...]:
    return tuple(None if word is None else word % BANKS for word in counter.lane_words)


def _rows_spanned(counter: LineCounters) -> int:
    return len({word // BANKS for word in counter.lane_words if word is not None})


def _map(members: Sequence[tuple[VariantView, str, LineCounters]]) -> BankMap:
    column, file, counter = members[0]
    words_each = max(1, counter.width_bytes // 4)
    operations = {"load": _("load"), "store": _("store"), "atomic": _("atomic")}
    if counter.ways > 1:
        verdict = _("{ways} words in one bank: {ways}-way conflict").format(ways=counter.ways)
    else:
        verdict = _("one word in a bank: no conflict")
    line = ", ".join(dict.fromkeys(str(shown.line) for _column, _file, shown in members))
    place = _("{operation} at {file}:{line}").format(operation=operations[counter.op], file=file, line=line)
    return BankMap(
        title=", ".join(member["name"] for member, _file, _counter in members),
        place=place,
        verdict=verdict,
        colour=column["colour"],
        lanes=tuple(() if word is None else tuple(range(word, word + words_each)) for word in counter.lane_words),
        lane_axis=_("lane of the warp"),
        bank_axis=_("bank of shared memory"),
        words_axis=_("words"),
    )
