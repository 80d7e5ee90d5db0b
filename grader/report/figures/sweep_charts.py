"""What the graphs of sweeps show, as plain data: lines with their intervals, and points that cannot be.  No drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp

from grader.i18n import _
from grader.report.job import ReportJob, SweepText
from grader.report.labels import variant_colour
from grader.report.numbers import Numbers
from grader.report.summary import variant_columns
from grader.result import SweepPoint, SweepRecord

MEASURED = ("time", "total_time", "gflop_per_s", "gb_per_s")
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
    """Dots in order of x.  reference: the lab's own kernel.  rank: which of several lines of one colour."""

    label: str
    colour: str
    marker: int
    dots: tuple[Dot, ...]
    reference: bool = False
    rank: int = 0


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
    return titles.get(metric, metric)


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
    """`metric_title`, and whether it is a measured time or counted work."""
    kind = _("measured") if metric in MEASURED else _("counted")
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
    """A chart for each metric of a sweep that has values."""
    text = text_of(job, sweep)
    charts = (_chart(job, sweep, text, metric) for metric in sweep.metrics)
    return [chart for chart in charts if chart is not None]


def text_of(job: ReportJob, sweep: SweepRecord) -> SweepText:
    """The lab's words for a sweep; its plain names when the lab does not know it any more."""
    known = {text.id: text for text in job.sweeps}
    return known.get(sweep.id) or SweepText(id=sweep.id, title=sweep.id, x_label=sweep.x, line_label=sweep.lines)


def _chart(job: ReportJob, sweep: SweepRecord, text: SweepText, metric: str) -> LineChart | None:
    numbers = Numbers(job.language)
    columns = variant_columns(job)
    names = [c["name"] for c in columns if any(p.variant == c["name"] for p in sweep.points)]
    colours = {c["name"]: c["colour"] for c in columns}
    markers = {c["name"]: index for index, c in enumerate(columns)}
    lines: dict[str, list[Line]] = {}
    for name in names:
        found = [
            _line(sweep, text, metric, name, of, line, colours.get(name, variant_colour(0)), markers.get(name, 0))
            for line in _lines_of(sweep)
            for of in ("submission", "reference")
        ]
        # A variant that makes no use of shared memory has no wavefronts: a line of zeros says nothing.
        lines[name] = [found_line for found_line in found if any(dot.value for dot in found_line.dots)]
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
    title = f"{text.title}: {metric_title(metric)}"
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
    sweep: SweepRecord,
    text: SweepText,
    metric: str,
    name: str,
    of: str,
    line: int | str | None,
    colour: str,
    marker: int,
) -> Line:
    dots = []
    for point in sweep.points:
        estimate = point.values.get(metric)
        if (point.variant, point.of, point.line) == (name, of, line) and point.status == "ok" and estimate is not None:
            low = estimate.value if estimate.low is None else estimate.low
            high = estimate.value if estimate.high is None else estimate.high
            dots.append(Dot(point.x, estimate.value, low, high))
    rank = _lines_of(sweep).index(line)
    label = line_name(sweep, text, line)
    return Line(label, colour, marker, tuple(sorted(dots, key=lambda d: d.x)), of == "reference", rank)


def _labelled(lines: Sequence[Line], name: str) -> list[Line]:
    """The lines with the labels to be written at their ends; a reference's line needs none beside the student's."""
    found = []
    for line in lines:
        text = ", ".join(part for part in (name, line.label) if part)
        beside = any(not other.reference and other.rank == line.rank for other in lines)
        if line.reference:
            text = "" if beside else text if line.label else _("{name} (reference)").format(name=text)
        found.append(Line(text, line.colour, line.marker, line.dots, line.reference, line.rank))
    return found


def _panel_title(name: str, lines: Sequence[Line]) -> str:
    return _("{name} (reference)").format(name=name) if all(line.reference for line in lines) else name


def _gaps(sweep: SweepRecord, names: Sequence[str], colours: dict[str, str]) -> tuple[Gap, ...]:
    """Values at which a kernel could be run on no line; those that are impossible first."""
    found: dict[tuple[int, str], dict[str, None]] = {}
    drawn = {(p.variant, p.of, p.x) for p in sweep.points if p.status == "ok"}
    for point in sorted(sweep.points, key=lambda p: (p.x, p.status != "impossible")):
        owner = _owner(sweep, point.variant)
        if point.variant in names and point.of == owner and (point.variant, owner, point.x) not in drawn:
            found.setdefault((point.x, point.reason), {})[colours.get(point.variant, variant_colour(0))] = None
    return tuple(Gap(x, reason, tuple(seen)) for (x, reason), seen in found.items())


def _owner(sweep: SweepRecord, name: str) -> str:
    """Whose points of a variant are told of: the student's where there are any."""
    return "submission" if any(p.of == "submission" and p.variant == name for p in sweep.points) else "reference"


def _are_powers(ticks: Sequence[int]) -> bool:
    return len(ticks) > 1 and all(x & (x - 1) == 0 for x in ticks)


def _description(title: str, panels: Sequence[Panel], numbers: Numbers) -> str:
    """All values in words, for those who cannot see the picture."""
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
    found: dict[str, dict[tuple[str, str], list[int]]] = {}
    for point in sweep.points:
        if point.status != "ok" and point.of == _owner(sweep, point.variant):
            everywhere = all(
                other.reason == point.reason
                for other in sweep.points
                if (other.variant, other.of, other.x) == (point.variant, point.of, point.x)
            )
            line = "" if everywhere else f" ({line_name(sweep, text, point.line)})"
            values = found.setdefault(point.reason, {}).setdefault((point.variant, line), [])
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
        for reason, places in found.items()
    ]


def points_of(sweep: SweepRecord, variant: str, of: str, metric: str) -> list[SweepPoint]:
    """The points of one kernel that have a value of a metric."""
    return [p for p in sweep.points if (p.variant, p.of, p.status) == (variant, of, "ok") and metric in p.values]
