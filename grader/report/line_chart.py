"""Draws a `LineChart`: lines labelled at their ends, points that cannot be are marked with the reason."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.i18n import decimal
from grader.report.charts import BINARY_STEPS, Gap, Line, LineChart, Panel
from grader.report.numbers import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NARROW, WIDE = 3.9, 7.9
HEIGHT = 2.9
LABEL_GAP = 0.075
"""Between the labels of neighbouring lines, as a share of the axes' height."""
CROSS_FOOT, CROSS_STEP = 0.04, 0.06
"""Where the lowest cross stands and how far the next one is above it, as shares of the axes' height."""
AXIS_WIDTH = 30
LABEL_WIDTH = {2: 24}
"""Characters in a line of a label by number of panels; two panels that are as wide as the page leave most room."""
NARROW_LABEL = 14
TICK_CHARACTERS = (24, 30)
"""In all labels of a horizontal axis, on other panels and on the wider ones of a pair."""


def draw_line_chart(chart: LineChart) -> Figure:
    """The chart as a figure: narrow with one panel, as wide as the page with several."""
    from matplotlib.figure import Figure

    width = NARROW if len(chart.panels) == 1 else WIDE
    figure = Figure(figsize=(width, HEIGHT))
    every: list[Axes] = []
    for index, panel in enumerate(chart.panels):
        axes: Axes = figure.add_subplot(1, len(chart.panels), index + 1, sharey=every[0] if every else None)
        every.append(axes)
        _draw_panel(axes, chart, panel)
        if index:
            axes.tick_params(axis="y", which="both", labelleft=False)
        else:
            axes.set_ylabel("\n".join(textwrap.wrap(chart.y_axis, AXIS_WIDTH)))
    _set_limits(every[0], chart)
    for axes, panel in zip(every, chart.panels, strict=True):
        _label_lines(axes, chart, panel)
        _mark_gaps(axes, panel)
    return figure


def _draw_panel(axes: Axes, chart: LineChart, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    if chart.log_x:
        axes.set_xscale("log", base=2)
    if chart.log_y and chart.binary_y:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(_plain)
        axes.yaxis.set_minor_formatter(_plain_minor)
        axes.yaxis.minorticks_off()
    elif chart.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_plain)
        axes.yaxis.set_minor_formatter(_plain_minor)
    else:
        if chart.binary_y:
            axes.yaxis.set_major_locator(MaxNLocator(nbins=8, steps=BINARY_STEPS))
        axes.yaxis.set_major_formatter(_plain)
    axes.set_xticks(chart.ticks, _tick_labels(chart))
    axes.minorticks_off() if not chart.log_y else axes.xaxis.minorticks_off()
    first, last = chart.ticks[0], chart.ticks[-1]
    if chart.log_x:
        # Room for the labels at the lines' ends.
        axes.set_xlim(first / 1.25, last * (last / first) ** 0.34 * 1.1)
    else:
        axes.set_xlim(first - 0.04 * (last - first), last + 0.38 * (last - first))
    axes.set_xlabel(chart.x_axis)
    if panel.title:
        axes.set_title(panel.title, fontsize=9, loc="left", color=INK)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    ranks = max((line.rank for line in panel.lines), default=0)
    for line in panel.lines:
        # Beside panels a mark stands for a line, the same in each; else for a variant.
        _draw_line(axes, line, ranks - line.rank, MARKERS[(line.rank if panel.title else line.marker) % len(MARKERS)])


def _tick_labels(chart: LineChart) -> list[str]:
    """The values at the ticks; every other one, the last among them, where all would run into each other."""
    labels = [str(x) for x in chart.ticks]
    if sum(map(len, labels)) <= TICK_CHARACTERS[len(chart.panels) == 2]:
        return labels
    return [label if (len(labels) - 1 - number) % 2 == 0 else "" for number, label in enumerate(labels)]


def _draw_line(axes: Axes, line: Line, lighter: int, marker: str) -> None:
    """The last of several lines of one colour is the darkest; `marker` in matplotlib's letters."""
    x = [dot.x for dot in line.dots]
    y = [dot.value for dot in line.dots]
    colour = _lightened(line.colour, min(0.22 * lighter, 0.5))
    if line.predicted:
        axes.plot(x, y, color=colour, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=2.5)
        return
    if line.reference:
        axes.plot(x, y, color=colour, linewidth=1.0, linestyle=(0, (4, 2.5)), marker=marker, markersize=6.5,
                  markerfacecolor="none", markeredgewidth=0.8, zorder=2)  # fmt: skip
        return
    below = [dot.value - dot.low for dot in line.dots]
    above = [dot.high - dot.value for dot in line.dots]
    axes.errorbar(x, y, yerr=[below, above] if any(below) or any(above) else None, color=colour, linewidth=1.6,
                  marker=marker, markersize=4, capsize=2.5, elinewidth=0.9, zorder=3)  # fmt: skip


def _set_limits(axes: Axes, chart: LineChart) -> None:
    dots = [dot for panel in chart.panels for line in panel.lines for dot in line.dots]
    low, high = min(d.low for d in dots), max(d.high for d in dots)
    if chart.log_y:
        # The crosses stand below all dots, where they cannot be taken for values.
        band = max(0.08, CROSS_FOOT + CROSS_STEP * max(map(_most_crosses, chart.panels)))
        axes.set_ylim(low * (high / low) ** (-band / (0.92 - band)), high * (high / low) ** (0.08 / (0.92 - band)))
    else:
        axes.set_ylim(0, high * 1.12)


def _label_lines(axes: Axes, chart: LineChart, panel: Panel) -> None:
    """Write each line's label beside its last dot; labels that would overlap are moved apart."""
    shown = [line for line in panel.lines if line.label and line.dots]
    width = LABEL_WIDTH.get(len(chart.panels), NARROW_LABEL)
    texts = {line.label: _wrapped(line.label, width) for line in shown}
    most_lines = max((text.count("\n") + 1 for text in texts.values()), default=1)
    places = []
    for line in shown:
        height = axes.transAxes.inverted().transform(axes.transData.transform((1.0, line.dots[-1].value)))[1]
        places.append((float(height), line))
    places.sort(key=lambda place: place[0])
    heights = spread([height for height, _line in places], LABEL_GAP * (1 + 0.7 * (most_lines - 1)))
    for height, (own_height, line) in zip(heights, places, strict=True):
        colour = _darkened(line.colour)
        axes.annotate(
            texts[line.label],
            xy=(chart.ticks[-1], height),
            xycoords=("data", "axes fraction"),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            linespacing=0.95,
            color=colour,
            annotation_clip=False,
        )
        # A hair from the last dot to the label, where the line ends earlier or the label had to move.
        if line.dots[-1].x < chart.ticks[-1] or abs(height - own_height) > 0.01:
            axes.annotate(
                "",
                xy=(line.dots[-1].x, line.dots[-1].value),
                xytext=(chart.ticks[-1] * (1.1 if chart.log_x else 1.0), height),
                textcoords=("data", "axes fraction"),
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "linestyle": ":", "shrinkA": 0},
                annotation_clip=False,
                zorder=1,
            )


def _wrapped(label: str, width: int) -> str:
    return "\n".join(textwrap.wrap(label, width, break_long_words=False, break_on_hyphens=False))


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Ascending heights moved apart so that neighbours are at least `gap` from each other, as near as can be."""
    spaced = list(heights)
    for _round in range(50):
        moved = False
        for i in range(1, len(spaced)):
            lack = gap - (spaced[i] - spaced[i - 1])
            if lack > 1e-9:
                spaced[i - 1] -= lack / 2
                spaced[i] += lack / 2
                moved = True
        if not moved:
            break
    return spaced


def _most_crosses(panel: Panel) -> int:
    """Crosses one above another at a place of the axis, at most."""
    places = {gap.x for gap in panel.gaps}
    return max((len({c for gap in panel.gaps if gap.x == x for c in gap.colours}) for x in places), default=0)


def _mark_gaps(axes: Axes, panel: Panel) -> None:
    """A cross for each kernel at the foot of the axes; the reasons stand below the figures, where there is room."""
    by_x: dict[int, list[Gap]] = {}
    for gap in panel.gaps:
        by_x.setdefault(gap.x, []).append(gap)
    for x, here in by_x.items():
        colours = list(dict.fromkeys(colour for gap in here for colour in gap.colours))
        for index, colour in enumerate(colours):
            height = CROSS_FOOT + CROSS_STEP * index
            axes.plot([x], [height], transform=axes.get_xaxis_transform(), marker="x", color=colour, markersize=5,
                      markeredgewidth=1.6, clip_on=False, zorder=4)  # fmt: skip


def _plain(value: float, _position: float = 0.0) -> str:
    """Without powers of ten: 0.25, 4, 1500."""
    return f"{decimal(value):g}" if value < 1e5 else f"{value:.0e}"


def _plain_minor(value: float, _position: float = 0.0) -> str:
    """Minor ticks that are labelled: 2 and 5 of a decade."""
    mantissa = f"{value:e}"[0]
    return _plain(value) if mantissa in "25" else ""


def _lightened(colour: str, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c + (255 - c) * share):02x}" for c in parts)


def _darkened(colour: str, share: float = 0.15) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c * (1 - share)):02x}" for c in parts)
