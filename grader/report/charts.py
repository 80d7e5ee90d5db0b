"""What the figures show, as plain data: bars with their ideal, bank maps, and the lines of sweeps with their intervals.

No drawing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import frexp
from typing import Literal

from msgspec import structs

from grader.devices import BANKS
from grader.i18n import _
from grader.measured import Counters, LineCounters, SweepPoint, SweepRecord
from grader.report.job import ReportJob, SweepText, variant_columns
from grader.report.text import Numbers, variant_colour
from grader.report.views import VariantView
from grader.result import Variant

BINARY_STEPS = (1, 2, 4, 8, 10)
"""Steps between ticks, of a power of ten: 8, 16, 24, as threads and banks are counted, not 5, 10, 15."""


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
        job, "global", _("Sectors per global-memory request"), _("sectors of 32 bytes per request"), _("minimum")
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


# What the graphs of sweeps show, as plain data: lines with their intervals, and points that cannot be.  No drawing.

MEASURED = ("time", "total_time", "gflop_per_s", "gb_per_s")
PREDICTED = "predicted_"
"""Before a metric: not measured."""
LOG_RANGE = 6.0
"""A vertical axis whose values span more than this many times is logarithmic."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A value at x; low and high: its interval, equal to it for what was counted."""

    x: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """Dots in order of x.  reference: the lab's own kernel.  rank: which of several lines of one colour.  predicted:
    beside one that was measured."""

    label: str
    colour: str
    marker: int
    dots: tuple[Dot, ...]
    reference: bool = False
    rank: int = 0
    predicted: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """Places on the x axis where there is nothing to be drawn, and why; colours: of the kernels concerned."""

    x: int
    reason: str
    colours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    lines: tuple[Line, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class LineChart:
    """Panels side by side with the same axes; `description` says in words what they show.

    ticks: values on the x axis.  binary_y: all values are powers of two.
    """

    title: str
    x_axis: str
    y_axis: str
    ticks: tuple[int, ...]
    log_x: bool
    log_y: bool
    binary_y: bool
    panels: tuple[Panel, ...]
    description: str


def metric_title(metric: str) -> str:
    """What a metric is, with its unit."""
    titles = {
        "time": _("time, µs"),
        "total_time": _("time with copies, µs"),
        "gflop_per_s": _("performance, GFLOP/s"),
        "gb_per_s": _("bandwidth, GB/s"),
        "sectors": _("global-memory sectors per element"),
        "wavefronts": _("shared-memory wavefronts per element"),
        "instructions": _("instructions per element"),
        "bus_bytes": _("bytes over the bus per element"),
    }
    return titles.get(metric.removeprefix(PREDICTED), metric)


def quantity(metric: str) -> str:
    """What a metric is, without its unit."""
    return metric_title(metric).partition(",")[0]


def amount(metric: str, value: float, numbers: Numbers) -> str:
    """A value of a metric with its unit, or with what it counts."""
    if metric in ("time", "total_time"):
        return numbers.microseconds(value)
    unit = metric_title(metric).partition(", ")[2]
    return f"{numbers.decimal(value, 2 if value < 1000 else 0)} {unit}".rstrip()


def axis_title(metric: str) -> str:
    """`metric_title`, and whether it is a measured time, a predicted one, or counted work."""
    kind = _("measured") if metric in MEASURED else _("predicted") if metric.startswith(PREDICTED) else _("counted")
    return f"{metric_title(metric)} ({kind})"


def line_name(sweep: SweepRecord, text: SweepText, line: int | str | None) -> str:
    """What a value of the second parameter is called: "N = 64", "pinned"."""
    modes = {
        "pageable": _("pageable"),
        "pinned": _("pinned"),
        "write_combined": _("write-combined"),
        "mapped": _("mapped (zero-copy)"),
    }
    if line is None:
        return ""
    return modes.get(line, line) if isinstance(line, str) else f"{text.line_label or sweep.lines} = {line}"


def sweep_charts(job: ReportJob, sweep: SweepRecord) -> list[LineChart]:
    """A chart for each metric of a sweep that has values; beside counted work one of predicted times."""
    text = text_of(job, sweep)
    charts = [_sweep_chart(job, sweep, text, metric) for metric in sweep.metrics]
    if sweep.backend == "emulator" and sweep.predicted:
        charts.append(_sweep_chart(job, in_predicted_time(sweep), text, f"{PREDICTED}time"))
    return [chart for chart in charts if chart is not None]


def in_predicted_time(sweep: SweepRecord) -> SweepRecord:
    """A sweep with its predicted points for those that were run."""
    return structs.replace(sweep, points=sweep.predicted)


def text_of(job: ReportJob, sweep: SweepRecord) -> SweepText:
    """The lab's words for a sweep; plain names for a sweep that the lab no longer has."""
    by_id = {text.id: text for text in job.sweeps}
    return by_id.get(sweep.id) or SweepText(id=sweep.id, title=sweep.id, x_label=sweep.x, line_label=sweep.lines)


def _sweep_chart(job: ReportJob, sweep: SweepRecord, text: SweepText, metric: str) -> LineChart | None:
    numbers = Numbers(job.language)
    columns = variant_columns(job)
    names = [c["name"] for c in columns if any(p.variant == c["name"] for p in sweep.points)]
    colours = {c["name"]: c["colour"] for c in columns}
    markers = {c["name"]: index for index, c in enumerate(columns)}
    lines: dict[str, list[Line]] = {}
    for name in names:
        variant_lines = [
            _line(sweep, text, metric, (name, of, line), (colours.get(name, variant_colour(0)), markers.get(name, 0)))
            for line in _lines_of(sweep)
            for of in ("submission", "reference")
        ]
        if sweep.backend == "gpu" and sweep.predicted and metric in MEASURED:
            variant_lines += _predicted_beside(variant_lines, sweep, text, metric, name)
        # A variant that makes no use of shared memory has no wavefronts: a line of zeros says nothing.
        lines[name] = [found_line for found_line in variant_lines if any(dot.value for dot in found_line.dots)]
    shown = [name for name in names if lines[name]]
    if not shown:
        return None
    values = [dot.value for name in shown for line in lines[name] for dot in line.dots]
    ticks = tuple(sorted({p.x for p in sweep.points}))
    if sweep.lines:
        panels = tuple(
            Panel(_panel_title(name, lines[name]), tuple(_labelled(lines[name], "")), _gaps(sweep, [name], colours))
            for name in shown
        )
    else:
        every = [line for name in shown for line in _labelled(lines[name], name)]
        panels = (Panel("", tuple(every), _gaps(sweep, shown, colours)),)
    kind = axis_title(metric) if metric.startswith(PREDICTED) else metric_title(metric)
    title = f"{text.title}: {kind}"
    return LineChart(
        title=title,
        x_axis=text.x_label,
        y_axis=axis_title(metric),
        ticks=ticks,
        log_x=_are_powers(ticks),
        log_y=min(values) > 0 and max(values) > LOG_RANGE * min(values),
        binary_y=all(value > 0 and frexp(value)[0] == 0.5 for value in values),
        panels=panels,
        description=_description(title, panels, numbers),
    )


def _lines_of(sweep: SweepRecord) -> list[int | str | None]:
    return list(dict.fromkeys(p.line for p in sweep.points))


def _line(
    sweep: SweepRecord, text: SweepText, metric: str, points: tuple[str, str, int | str | None], look: tuple[str, int]
) -> Line:
    """points: those of one variant, owner and line.  look: colour and marker."""
    _name, of, line = points
    dots = []
    for point in sweep.points:
        estimate = point.values.get(metric)
        if (point.variant, point.of, point.line) == points and point.status == "ok" and estimate is not None:
            # A prediction's interval is the same factor everywhere, and wider than what the lines are apart.
            exact = metric.startswith(PREDICTED)
            low = estimate.value if estimate.low is None or exact else estimate.low
            high = estimate.value if estimate.high is None or exact else estimate.high
            dots.append(Dot(point.x, estimate.value, low, high))
    rank = _lines_of(sweep).index(line)
    label = line_name(sweep, text, line)
    return Line(label, *look, tuple(sorted(dots, key=lambda d: d.x)), of == "reference", rank)


def _predicted_beside(
    measured: Sequence[Line], sweep: SweepRecord, text: SweepText, metric: str, name: str
) -> list[Line]:
    """Return predicted lines of the kernels shown: the student's where there are any, in the measured style."""
    owner = _owner(sweep, name)
    by_rank = [line for line in measured if line.reference == (owner == "reference")]
    beside = []
    for line, value in zip(by_rank, _lines_of(sweep), strict=True):
        one = _line(
            in_predicted_time(sweep), text, f"{PREDICTED}{metric}", (name, owner, value), (line.colour, line.marker)
        )
        beside.append(replace(one, rank=line.rank, predicted=True))
    return beside


def _labelled(lines: Sequence[Line], name: str) -> list[Line]:
    """Return the lines with labels for their ends; a reference's line needs none beside the student's."""
    labelled = []
    for line in lines:
        if line.predicted:
            labelled.append(replace(line, label=""))
            continue
        text = ", ".join(part for part in (name, line.label) if part)
        beside = any(not other.reference and other.rank == line.rank for other in lines)
        if line.reference:
            text = "" if beside else text if line.label else _("{name} (reference)").format(name=text)
        labelled.append(replace(line, label=text))
    return labelled


def _panel_title(name: str, lines: Sequence[Line]) -> str:
    return (
        _("{name} (reference)").format(name=name) if all(line.reference or line.predicted for line in lines) else name
    )


def _gaps(sweep: SweepRecord, names: Sequence[str], colours: dict[str, str]) -> tuple[Gap, ...]:
    """Return the x values at which a kernel ran on no line, impossible ones first."""
    by_value: dict[tuple[int, str], dict[str, None]] = {}
    drawn = {(p.variant, p.of, p.x) for p in sweep.points if p.status == "ok"}
    for point in sorted(sweep.points, key=lambda p: (p.x, p.status != "impossible")):
        owner = _owner(sweep, point.variant)
        if point.variant in names and point.of == owner and (point.variant, owner, point.x) not in drawn:
            by_value.setdefault((point.x, point.reason), {})[colours.get(point.variant, variant_colour(0))] = None
    return tuple(Gap(x, reason, tuple(variant_colours)) for (x, reason), variant_colours in by_value.items())


def _owner(sweep: SweepRecord, name: str) -> str:
    """Return whose points of a variant are shown: the student's where there are any."""
    return "submission" if any(p.of == "submission" and p.variant == name for p in sweep.points) else "reference"


def _are_powers(ticks: Sequence[int]) -> bool:
    return len(ticks) > 1 and all(x & (x - 1) == 0 for x in ticks)


def _description(title: str, panels: Sequence[Panel], numbers: Numbers) -> str:
    """Return all values in words, for readers who cannot see the picture."""
    parts = []
    for panel in panels:
        for line in panel.lines:
            if line.label:
                label = ", ".join(part for part in (panel.title, line.label) if part)
                values = ", ".join(f"{dot.x}: {numbers.decimal(dot.value)}" for dot in line.dots)
                parts.append(f"{label}: {values}")
    return f"{title}. {'; '.join(parts)}."


def gap_notes(job: ReportJob, sweep: SweepRecord) -> list[tuple[str, list[str]]]:
    """Each reason for which points are missing, once, with the variants and values that it concerns."""
    text = text_of(job, sweep)
    order = list(dict.fromkeys(p.variant for p in sweep.points))
    by_reason: dict[str, dict[tuple[str, str], list[int]]] = {}
    for point in sweep.points:
        if point.status != "ok" and point.of == _owner(sweep, point.variant):
            everywhere = all(
                other.reason == point.reason
                for other in sweep.points
                if (other.variant, other.of, other.x) == (point.variant, point.of, point.x)
            )
            line = "" if everywhere else f" ({line_name(sweep, text, point.line)})"
            values = by_reason.setdefault(point.reason, {}).setdefault((point.variant, line), [])
            if point.x not in values:
                values.append(point.x)
    return [
        (
            reason,
            [
                f"{name} {', '.join(map(str, sorted(places[name, line])))}{line}"
                for name, line in sorted(places, key=lambda place: (order.index(place[0]), bool(place[1])))
            ],
        )
        for reason, places in by_reason.items()
    ]


def points_of(sweep: SweepRecord, variant: str, metric: str) -> list[SweepPoint]:
    return [
        p for p in sweep.points if (p.variant, p.of, p.status) == (variant, "submission", "ok") and metric in p.values
    ]
