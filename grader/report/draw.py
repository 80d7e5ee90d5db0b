"""Draws charts with matplotlib: SVG for pages, PNG for the PDF where the SVG cannot be taken (`pdf_operators`).

No pyplot: it brings a window system's worth of imports and global state.  Labels are never parsed as formulas, for they
hold names that students chose.  Lines are labelled at their ends; points that cannot be are marked with the reason.
"""

from __future__ import annotations

import contextlib
import io
import logging
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from grader.i18n import decimal
from grader.report.bank_map import draw_bank_map
from grader.report.charts import BINARY_STEPS, BankMap, BarChart, Gap, Line, LineChart, Panel
from grader.report.text import FAINT, INK
from grader.report.wrong_map import WrongMap, draw_wrong_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Chart = BarChart | BankMap | WrongMap | LineChart
Format = Literal["svg", "png"]
Medium = Literal["screen", "paper"]

PNG_DPI = 150
PADDING = 0.4
"""Round a figure, in heights of its letters."""
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": "#52606d",
    "ytick.color": INK,
    "hatch.linewidth": 0.7,
    # The same input gives the same bytes.
    "svg.hashsalt": "grader",
    "svg.fonttype": "path",
}


def load() -> None:
    """Import all that drawing needs (the slow part of the first figure)."""
    # On a new machine it says that it looks for fonts, and where it keeps what it found: in a notebook, on a cell.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.figure  # noqa: F401


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """While figures are made and written: the style of all of them."""
    load()
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():  # type: ignore[arg-type]  # the stub wants literal keys
        # A name in a script that the font lacks is drawn as boxes; nobody needs to be told on standard error.
        warnings.simplefilter("ignore")
        yield


def figure_of(chart: Chart) -> Figure:
    """The chart as a figure whose parts have no places yet; to be called while `styled`."""
    if isinstance(chart, BankMap):
        figure = draw_bank_map(chart)
    elif isinstance(chart, WrongMap):
        figure = draw_wrong_map(chart)
    elif isinstance(chart, LineChart):
        figure = draw_line_chart(chart)
    else:
        figure = _draw_bars(chart)
    # Measures every label once; "constrained" does so twice, and so does "tight" within a rectangle that is given.
    figure.set_layout_engine("tight", pad=PADDING, rect=None)
    return figure


def as_svg(figure: Figure) -> bytes:
    """The figure as SVG; its parts have their places from then on, for finding these takes as long as drawing."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]  # no types yet
    figure.set_layout_engine("none")
    return buffer.getvalue()


def as_png(figure: Figure) -> bytes:
    """The figure as PNG, its parts where `as_svg` has put them.

    Without transparency, which a PDF holds as an image of its own; hardly compressed, for the PDF compresses it anew.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    buffer = io.BytesIO()
    figure.set_dpi(PNG_DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]  # no types yet
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]  # no types yet
    drawn = Image.frombuffer("RGBA", canvas.get_width_height(), pixels, "raw", "RGBA", 0, 1)
    drawn.convert("RGB").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _draw_bars(chart: BarChart) -> Figure:
    """Draw a group of horizontal bars for each variant: loads solid, stores hatched, the ideal as a dark tick."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    bars = sum(len(group.bars) for group in chart.groups)
    figure = Figure(figsize=(3.9, 0.75 + 0.24 * bars + 0.22 * len(chart.groups)))
    axes: Axes = figure.add_subplot()
    position = 0.0
    ticks, labels = [], []
    widest = max(max(b.value, b.ideal) for g in chart.groups for b in g.bars)
    for group in chart.groups:
        top = position
        for index, bar in enumerate(group.bars):
            axes.barh(
                position,
                bar.value,
                height=0.78,
                color=group.colour if index == 0 else "white",
                edgecolor=group.colour,
                hatch=None if index == 0 else "////",
                linewidth=0.9,
            )
            axes.plot([bar.ideal, bar.ideal], [position - 0.5, position + 0.5], color=INK, linewidth=1.8, zorder=3)
            axes.text(
                max(bar.value, bar.ideal) + widest * 0.02, position, f"{bar.text}  {bar.label}", va="center", fontsize=8
            )
            position += 1
        ticks.append((top + position - 1) / 2)
        labels.append(_wrapped(group.label))
        position += 0.7
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(position - 0.9, -0.8)
    axes.set_xlim(0, widest * 1.28)
    # Whole numbers look the same in every language; what warps and banks take comes in powers of two.
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=BINARY_STEPS))
    axes.set_xlabel(f"{chart.axis}    ▎{chart.ideal_label}")
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _wrapped(label: str) -> str:
    """Return a long label in a few short lines, cut where it is longer still."""
    import textwrap

    return "\n".join(textwrap.wrap(label, 18, max_lines=3, placeholder=" …", break_long_words=True))


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
    """Return labels for the ticks; every other one, including the last, where all would overlap."""
    labels = [str(x) for x in chart.ticks]
    if sum(map(len, labels)) <= TICK_CHARACTERS[len(chart.panels) == 2]:
        return labels
    return [label if (len(labels) - 1 - number) % 2 == 0 else "" for number, label in enumerate(labels)]


def _draw_line(axes: Axes, line: Line, lighter: int, marker: str) -> None:
    """Draw lines of one colour, the last the darkest; `marker` in matplotlib's letters."""
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
    texts = {line.label: _wrapped_label(line.label, width) for line in shown}
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


def _wrapped_label(label: str, width: int) -> str:
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
    """Return the most crosses that stand one above another at a place of the axis."""
    places = {gap.x for gap in panel.gaps}
    return max((len({c for gap in panel.gaps if gap.x == x for c in gap.colours}) for x in places), default=0)


def _mark_gaps(axes: Axes, panel: Panel) -> None:
    """Draw a cross for each kernel at the foot of the axes; the reasons stand below the figures."""
    by_x: dict[int, list[Gap]] = {}
    for gap in panel.gaps:
        by_x.setdefault(gap.x, []).append(gap)
    for x, here in by_x.items():
        colours = list(dict.fromkeys(colour for gap in here for colour in gap.colours))
        for index, colour in enumerate(colours):
            height = CROSS_FOOT + CROSS_STEP * index
            axes.plot([x], [height], transform=axes.get_xaxis_transform(), marker="x", color=colour, markersize=5,
                      markeredgewidth=1.6, clip_on=False, zorder=4)  # fmt: skip


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _plain(value: float, _position: float = 0.0) -> str:
    """Return the number without powers of ten where it is short: 0.25, 4, 1500, 10⁵, 2·10⁶."""
    if value < 1e5:
        return f"{decimal(value):g}"
    digit, power = f"{value:.0e}".split("e+")
    return f"{digit}·10{str(int(power)).translate(_RAISED)}".removeprefix("1·")


def _plain_minor(value: float, _position: float = 0.0) -> str:
    """Return labels of minor ticks at 2 and 5 of a decade."""
    mantissa = f"{value:e}"[0]
    return _plain(value) if mantissa in "25" else ""


def _lightened(colour: str, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c + (255 - c) * share):02x}" for c in parts)


def _darkened(colour: str) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c * 0.85):02x}" for c in parts)
