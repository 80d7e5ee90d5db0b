"""Draws charts: bars, graphs of sweeps; maps of banks and of wrong outputs have files of their own.

Lines are labelled at their ends; points that cannot be are marked with a cross, the reasons stand below the figures.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.i18n import decimal
from grader.report.bank_map import draw_bank_map
from grader.report.charts import BINARY_STEPS, BankMap, Bar, BarChart, Gap, Line, LineChart, Panel
from grader.report.figure import (
    AXIS,
    LETTER_HEIGHT,
    TICK,
    TICK_GAP,
    TICKS_COLOUR,
    Box,
    Figure,
    Pen,
    Point,
    Scale,
    Words,
    round_ticks,
    text_height,
    text_width,
)
from grader.report.text import FAINT, INK
from grader.report.wrong_map import WrongMap, draw_wrong_map

Chart = BarChart | BankMap | WrongMap | LineChart
Medium = Literal["screen", "paper"]

PADDING = 3.4
"""Round a figure, in points."""
GRID = Pen(FAINT, 0.6)
PLAIN = Words()
TICK_WORDS = Words(colour=TICKS_COLOUR)
LABEL_PAD = 5.5
"""Between the numbers of an axis and what it shows."""


def figure_of(chart: Chart) -> Figure:
    """The chart as a figure."""
    if isinstance(chart, BankMap):
        return draw_bank_map(chart)
    if isinstance(chart, WrongMap):
        return draw_wrong_map(chart)
    if isinstance(chart, LineChart):
        return draw_line_chart(chart)
    return _draw_bars(chart)


BAR_HEIGHT, BETWEEN_GROUPS = 0.78, 0.7
"""In bars, of which each takes one."""
BAR_WORDS = Words(8)
HATCHING_STEP = 4.2


def _draw_bars(chart: BarChart) -> Figure:
    """Draw a group of horizontal bars for each variant: loads solid, stores hatched, the ideal as a dark tick."""
    count = sum(len(group.bars) for group in chart.groups)
    figure = Figure(NARROW, 72 * (0.75 + 0.24 * count + 0.22 * len(chart.groups)))
    labels = [_wrapped(group.label) for group in chart.groups]
    left = PADDING + max((text_width(label, PLAIN.size) for label in labels), default=0.0) + TICK_GAP
    right = figure.width - PADDING
    foot = figure.height - PADDING - text_height("", PLAIN) - LABEL_PAD - text_height("", PLAIN) - TICK_GAP - TICK
    bars = [bar for group in chart.groups for bar in group.bars]
    x = Scale(0, _longest(bars, right - left), left, right)
    rows = 1.7 + count - 1 + BETWEEN_GROUPS * (len(chart.groups) - 1)
    y = Scale(-0.8, rows - 0.8, PADDING, foot)
    high = y(1) - y(0)
    ticks = round_ticks(0, x.high, 8, BINARY_STEPS, is_whole=True)
    figure.segments([((x(tick), PADDING), (x(tick), foot)) for tick in ticks], GRID)
    position = 0.0
    for group, label in zip(chart.groups, labels, strict=True):
        top = position
        for index, bar in enumerate(group.bars):
            box: Box = (left, y(position) - BAR_HEIGHT * high / 2, x(bar.value) - left, BAR_HEIGHT * high)
            figure.boxes([box], group.colour if index == 0 else "#ffffff")
            if index:
                figure.hatching([box], HATCHING_STEP, Pen(group.colour, 0.7))
            figure.boxes([box], pen=Pen(group.colour, 0.9))
            ideal = x(bar.ideal)
            figure.segments([((ideal, y(position) - high / 2), (ideal, y(position) + high / 2))], Pen(INK, 1.8))
            figure.words((_bar_end(bar, x), y(position)), _bar_text(bar), BAR_WORDS, "left middle")
            position += 1
        figure.words((left - TICK_GAP, y((top + position - 1) / 2)), label, PLAIN, "right middle")
        position += BETWEEN_GROUPS
    figure.segments([((left, foot), (right, foot))], AXIS)
    # Whole numbers look the same in every language; what warps and banks take comes in powers of two.
    _number_across(figure, foot, [(x(tick), f"{tick:g}") for tick in ticks])
    axis = f"{chart.axis}    ▎{chart.ideal_label}"
    figure.words(((left + right) / 2, figure.height - PADDING), axis, PLAIN, "middle bottom")
    return figure


BAR_GAP = 4.0
"""Between a bar and its words, in points."""


def _bar_text(bar: Bar) -> str:
    return f"{bar.text}  {bar.label}"


def _bar_end(bar: Bar, x: Scale) -> float:
    return x(max(bar.value, bar.ideal)) + BAR_GAP


def _longest(bars: Sequence[Bar], width: float) -> float:
    """Return what an axis of bars ends with: behind each is room for its words."""
    ends = [(max(bar.value, bar.ideal), text_width(_bar_text(bar), BAR_WORDS.size) + BAR_GAP) for bar in bars]
    room = max(width / 4, width - max(words for _end, words in ends))
    return max(end * width / max(room, width - words) for end, words in ends) * 1.02


def _wrapped(label: str) -> str:
    """Return a long label in a few short lines, cut where it is longer still."""
    return "\n".join(textwrap.wrap(label, 18, max_lines=3, placeholder=" …", break_long_words=True))


def _number_across(figure: Figure, y: float, ticks: Sequence[tuple[float, str]]) -> None:
    """Draw ticks below a horizontal axis, with their labels."""
    figure.segments([((at, y), (at, y + TICK)) for at, _label in ticks], Pen(TICKS_COLOUR, 0.8))
    for at, label in ticks:
        figure.words((at, y + TICK + TICK_GAP), label, TICK_WORDS, "middle top")


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NARROW, WIDE = 72 * 3.9, 72 * 7.9
HEIGHT = 72 * 2.9
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
BETWEEN_PANELS = 14.0
TITLE_WORDS = Words(9)


@dataclass(frozen=True, slots=True)
class Axes:
    """A pair of axes; y grows downwards, so that y.start is the foot.  y_ticks: values with labels, "" for none."""

    x: Scale
    y: Scale
    x_ticks: Sequence[tuple[int, str]]
    y_ticks: Sequence[tuple[float, str]]

    def at(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)


def draw_line_chart(chart: LineChart) -> Figure:
    """The chart as a figure: narrow with one panel, as wide as the page with several."""
    figure = Figure(NARROW if len(chart.panels) == 1 else WIDE, HEIGHT)
    every = axes_of(chart, figure)
    for number, (axes, panel) in enumerate(zip(every, chart.panels, strict=True)):
        _draw_axes(figure, axes, chart, is_first=number == 0)
        if panel.title:
            figure.words((axes.x.start, axes.y.end - 6), panel.title, TITLE_WORDS, "left bottom")
        labels = _labels(axes, chart, panel)
        for label in labels:
            label.draw_hair(figure, axes)
        ranks = max((line.rank for line in panel.lines), default=0)
        for line in sorted(panel.lines, key=lambda line: (not line.reference, not line.predicted)):
            # Beside panels a mark stands for a line, the same in each; else for a variant.
            marker = MARKERS[(line.rank if panel.title else line.marker) % len(MARKERS)]
            _draw_line(figure, axes, line, ranks - line.rank, marker)
        _mark_gaps(figure, axes, panel)
        for label in labels:
            figure.words((axes.x(chart.ticks[-1]) + 9, label.height), label.text, label.look, "left middle")
    return figure


def axes_of(chart: LineChart, figure: Figure) -> list[Axes]:
    """The places of a chart's panels, beside one another, with the same axes."""
    y_axis = "\n".join(textwrap.wrap(chart.y_axis, AXIS_WIDTH))
    head = PADDING + (text_height("", TITLE_WORDS) + 6 if any(panel.title for panel in chart.panels) else 4)
    low, high = _y_limits(chart)
    count = len(chart.panels)
    left, right = PADDING, figure.width - PADDING
    # What the numbers are follows from the height, how wide they are from the numbers, and the height from the width.
    foot = figure.height - PADDING - 4 * PLAIN.size
    for _time in range(2):
        y = Scale(low, high, foot, head, chart.log_y)
        y_ticks = _y_ticks(chart, y)
        numbers = max((text_width(label, PLAIN.size) for _value, label in y_ticks), default=0.0)
        left = PADDING + text_height(y_axis, PLAIN) + LABEL_PAD + numbers + TICK_GAP + TICK
        width = (right - left - BETWEEN_PANELS * (count - 1)) / count
        below = text_height(_x_title(chart, width), PLAIN) + LABEL_PAD + LETTER_HEIGHT * PLAIN.size + TICK_GAP + TICK
        foot = figure.height - PADDING - below
    x_ticks = list(zip(chart.ticks, _tick_labels(chart), strict=True))
    first, last = chart.ticks[0], chart.ticks[-1]
    # Room for the labels at the lines' ends.
    if chart.log_x:
        limits = first / 1.25, last * (last / first) ** 0.34 * 1.1
    elif first == last:
        limits = first - 1.0, last + 1.0
    else:
        limits = first - 0.04 * (last - first), last + 0.38 * (last - first)
    starts = [left + number * (width + BETWEEN_PANELS) for number in range(count)]
    return [Axes(Scale(*limits, at, at + width, chart.log_x), y, x_ticks, y_ticks) for at in starts]


def _x_title(chart: LineChart, width: float) -> str:
    """Return what the horizontal axis shows, in as many lines as a panel's width needs."""
    letters = max(8, int(width / (0.6 * PLAIN.size)))
    return "\n".join(textwrap.wrap(chart.x_axis, letters)) or ""


def _y_limits(chart: LineChart) -> tuple[float, float]:
    dots = [dot for panel in chart.panels for line in panel.lines for dot in line.dots]
    low, high = min(d.low for d in dots), max(d.high for d in dots)
    if not chart.log_y:
        return 0.0, high * 1.12 or 1.0
    # The crosses stand below all dots, where they cannot be taken for values.
    band = max(0.08, CROSS_FOOT + CROSS_STEP * max(map(_most_crosses, chart.panels)))
    return low * (high / low) ** (-band / (0.92 - band)), high * (high / low) ** (0.08 / (0.92 - band))


LEAST_APART = 11.0
"""Points from one label of a vertical axis to the next."""


def _y_ticks(chart: LineChart, y: Scale) -> list[tuple[float, str]]:
    """Return values of the vertical axis that have a tick, with their labels."""
    most = max(2, min(9, int(abs(y.end - y.start) / (2 * PLAIN.size))))
    if not chart.log_y:
        steps = BINARY_STEPS if chart.binary_y else (1, 2, 2.5, 5, 10)
        return [(value, plain_number(value)) for value in round_ticks(y.low, y.high, most, steps)]
    base = 2 if chart.binary_y else 10
    powers = range(math.ceil(math.log(y.low, base) - 1e-9), math.floor(math.log(y.high, base) + 1e-9) + 1)
    of_power = abs(y(base * y.low) - y(y.low))
    every = max(1, math.ceil(LEAST_APART / of_power))
    ticks = [(float(base) ** n, plain_number(float(base) ** n) if n % every == 0 else "") for n in powers]
    if base == 10:
        # Two and five of a decade have labels where these keep apart: 0.3 of it lie between five and ten.
        labelled = (2, 5) if 0.3 * of_power >= LEAST_APART else ()
        between = range(2, 10) if of_power >= 3 * LEAST_APART else labelled
        decades = range(powers.start - 1, powers.stop)
        minor = [(digit * 10.0**n, digit in labelled) for n in decades for digit in between]
        ticks += [(v, plain_number(v) if named else "") for v, named in minor if y.low <= v <= y.high]
    return ticks


def _draw_axes(figure: Figure, axes: Axes, chart: LineChart, is_first: bool) -> None:
    x, y = axes.x, axes.y
    lines = [((x(at), y.start), (x(at), y.end)) for at, _label in axes.x_ticks]
    lines += [((x.start, y(at)), (x.end, y(at))) for at, label in axes.y_ticks if label]
    figure.segments(lines, GRID)
    figure.segments([((x.start, y.start), (x.end, y.start)), ((x.start, y.start), (x.start, y.end))], AXIS)
    _number_across(figure, y.start, [(x(at), label) for at, label in axes.x_ticks])
    title = _x_title(chart, x.end - x.start)
    figure.words(((x.start + x.end) / 2, figure.height - PADDING), title, PLAIN, "middle bottom")
    for at, label in axes.y_ticks:
        length = TICK if label else 2.0
        figure.segments([((x.start - length, y(at)), (x.start, y(at)))], Pen(INK, 0.8 if label else 0.6))
        if label and is_first:
            figure.words((x.start - TICK - TICK_GAP, y(at)), label, PLAIN, "right middle")
    if is_first:
        title = "\n".join(textwrap.wrap(chart.y_axis, AXIS_WIDTH))
        figure.words((PADDING, (y.start + y.end) / 2), title, PLAIN, "middle top", is_turned=True)


def _tick_labels(chart: LineChart) -> list[str]:
    """Return labels for the ticks; every other one, including the last, where all would overlap."""
    labels = [str(x) for x in chart.ticks]
    if sum(map(len, labels)) <= TICK_CHARACTERS[len(chart.panels) == 2]:
        return labels
    return [label if (len(labels) - 1 - number) % 2 == 0 else "" for number, label in enumerate(labels)]


def _draw_line(figure: Figure, axes: Axes, line: Line, lighter: int, marker: str) -> None:
    """Draw lines of one colour, the last the darkest."""
    points = [axes.at(dot.x, dot.value) for dot in line.dots]
    colour = _lightened(line.colour, min(0.22 * lighter, 0.5))
    if line.predicted:
        figure.polyline(points, Pen(colour, 1.1, (1.1, 1.65)))
    elif line.reference:
        figure.polyline(points, Pen(colour, 1.0, (4, 2.5)))
        for point in points:
            _draw_marker(figure, point, marker, 6.5, Pen(colour, 0.8))
    else:
        for dot in line.dots:
            if dot.low != dot.value or dot.high != dot.value:
                (x, low), (_x, high) = axes.at(dot.x, dot.low), axes.at(dot.x, dot.high)
                caps = [((x - 2.5, end), (x + 2.5, end)) for end in (low, high)]
                figure.segments([((x, low), (x, high)), *caps], Pen(colour, 0.9))
        figure.polyline(points, Pen(colour, 1.6))
        for point in points:
            _draw_marker(figure, point, marker, 4, None, colour)


_PLUS = [(-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1)]
_STAR = [
    (math.sin(math.pi * n / 5) * (1, 0.38)[n % 2] * 0.58, -math.cos(math.pi * n / 5) * (1, 0.38)[n % 2] * 0.58)
    for n in range(10)
]
_HALF_ROOT = math.sqrt(0.5)
OUTLINES: dict[str, list[Point]] = {
    "s": [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)],
    "^": [(0, -0.5), (0.5, 0.5), (-0.5, 0.5)],
    "D": [(0, -_HALF_ROOT), (_HALF_ROOT, 0), (0, _HALF_ROOT), (-_HALF_ROOT, 0)],
    "v": [(0, 0.5), (0.5, -0.5), (-0.5, -0.5)],
    "P": [(x / 6, y / 6) for x, y in _PLUS],
    "X": [((x - y) / 6 * _HALF_ROOT, (x + y) / 6 * _HALF_ROOT) for x, y in _PLUS],
    "*": _STAR,
}
"""Of marks, one unit large; "o" is a circle."""


def _draw_marker(figure: Figure, at: Point, marker: str, size: float, pen: Pen | None, fill: str = "none") -> None:
    if marker == "o":
        figure.circle(at, size / 2, fill, pen)
    else:
        figure.polygon([(at[0] + x * size, at[1] + y * size) for x, y in OUTLINES[marker]], fill, pen)


@dataclass(frozen=True, slots=True)
class Label:
    """What stands beside the last dot of a line: its text, at a height of the figure."""

    text: str
    height: float
    line: Line
    look: Words

    def draw_hair(self, figure: Figure, axes: Axes) -> None:
        """From the last dot to the label, where the line ends earlier or the label had to move."""
        last = self.line.dots[-1]
        end, own = axes.x_ticks[-1][0], axes.y(last.value)
        if last.x < end or abs(self.height - own) > 0.01 * abs(axes.y.end - axes.y.start):
            figure.polyline(
                [axes.at(last.x, last.value), (axes.x(end) + 7, self.height)], Pen(self.look.colour, 0.6, (0.8, 1.1))
            )


def _labels(axes: Axes, chart: LineChart, panel: Panel) -> list[Label]:
    """Return the labels of a panel's lines; those that would overlap are moved apart."""
    shown = [line for line in panel.lines if line.label and line.dots]
    width = LABEL_WIDTH.get(len(chart.panels), NARROW_LABEL)
    texts = {line.label: _wrapped_label(line.label, width) for line in shown}
    most_lines = max((text.count("\n") + 1 for text in texts.values()), default=1)
    shown.sort(key=lambda line: axes.y.share(line.dots[-1].value))
    own = [axes.y.share(line.dots[-1].value) for line in shown]
    heights = spread(own, LABEL_GAP * (1 + 0.7 * (most_lines - 1)))
    start, length = axes.y.start, axes.y.end - axes.y.start
    return [
        Label(texts[line.label], start + height * length, line, Words(7.5, _darkened(line.colour), line=1.14))
        for height, line in zip(heights, shown, strict=True)
    ]


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


def _mark_gaps(figure: Figure, axes: Axes, panel: Panel) -> None:
    """Draw a cross for each kernel at the foot of the axes; the reasons stand below the figures."""
    by_x: dict[int, list[Gap]] = {}
    for gap in panel.gaps:
        by_x.setdefault(gap.x, []).append(gap)
    for value, here in by_x.items():
        colours = list(dict.fromkeys(colour for gap in here for colour in gap.colours))
        for index, colour in enumerate(colours):
            x = axes.x(value)
            y = axes.y.start + (CROSS_FOOT + CROSS_STEP * index) * (axes.y.end - axes.y.start)
            arms = [((x - 2.5, y - 2.5), (x + 2.5, y + 2.5)), ((x - 2.5, y + 2.5), (x + 2.5, y - 2.5))]
            figure.segments(arms, Pen(colour, 1.6))


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_number(value: float) -> str:
    """The number without powers of ten where it is short: 0.25, 4, 1500, 10⁵, 2·10⁶."""
    if value < 1e5:
        return f"{decimal(value):g}"
    digit, power = f"{value:.0e}".split("e+")
    return f"{digit}·10{str(int(power)).translate(_RAISED)}".removeprefix("1·")


def _lightened(colour: str, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c + (255 - c) * share):02x}" for c in parts)


def _darkened(colour: str) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(c * 0.85):02x}" for c in parts)
