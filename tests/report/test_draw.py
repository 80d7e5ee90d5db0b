"""Figures are drawn from any data, the same each time, with everything within them."""

from __future__ import annotations

import re

import pytest

from grader import i18n
from grader.report import charts
from grader.report.charts import Bar, BarChart, BarGroup
from grader.report.draw import plain_number
from grader.report.figure import Figure, Pen, Scale, Words, round_ticks, text_width
from tests.report.drawn import Drawn
from tests.report.jobs import job


def bar_chart(label: str) -> BarChart:
    bars = (Bar("load", 32.0, 1.0, "32"), Bar("store", 1.0, 1.0, "1"))
    return BarChart(label, label, label, (BarGroup(label, "#3a5a8c", bars),), "")


@pytest.mark.parametrize("label", [r"$\frac$", "$x$ ^_ \\", "<b>&", "Ж" * 3000, "名前", ""])
def test_hostile_labels_are_drawn_as_they_are(label: str) -> None:
    drawn = Drawn(bar_chart(label))
    # What the letters lack is a box.
    shown = "".join(sign if ord(sign) < 0x3000 else "\0" for sign in label if sign != " ")
    assert any(row.startswith(shown[:16]) for row in drawn.texts)


def test_a_figure_is_as_wide_as_half_a_page_and_grows_with_its_bars() -> None:
    chart = charts.wavefront_chart(job())
    assert chart is not None
    few, more = Drawn(bar_chart("one")), Drawn(chart)
    assert few.width == more.width == pytest.approx(3.9 * 72)
    assert more.height > few.height


def test_a_drawing_is_reproducible() -> None:
    (shared, _padded) = charts.bank_maps(job())
    assert Drawn(shared).svg == Drawn(shared).svg


def test_the_bank_map_is_in_the_variants_colour() -> None:
    shared, padded = charts.bank_maps(job())
    assert shared.colour.encode() in Drawn(shared).svg
    assert padded.colour.encode() in Drawn(padded).svg
    assert padded.colour.encode() not in Drawn(shared).svg


def test_a_bank_map_frames_what_queues_and_counts_the_words_of_each_bank() -> None:
    shared, padded = charts.bank_maps(job())
    for chart, framed in ((shared, 32), (padded, 0)):
        cells = [s for s in Drawn(chart).shapes if s.fill == chart.colour and s.width in (0.5, 0.8)]
        assert sum(s.outline.count("M") for s in cells) == 32
        assert sum(s.outline.count("M") for s in cells if s.stroke == "#1f2933") == framed


def test_loads_are_solid_stores_hatched_and_the_least_a_tick() -> None:
    drawn = Drawn(bar_chart("naive"))
    solid, hollow = [s for s in drawn.shapes if s.fill in ("#3a5a8c", "#ffffff")]
    assert (solid.fill, hollow.fill) == ("#3a5a8c", "#ffffff")
    widths = [max(x for x, _y in s.points) - min(x for x, _y in s.points) for s in (solid, hollow)]
    assert widths[0] == pytest.approx(32 * widths[1], rel=0.02)
    hatching = [s for s in drawn.shapes if s.fill == "none" and s.stroke == "#3a5a8c" and s.width == 0.7]
    left, top = (min(p[i] for p in hollow.points) for i in (0, 1))
    right, foot = (max(p[i] for p in hollow.points) for i in (0, 1))
    assert hatching and all(left <= x <= right and top <= y <= foot for s in hatching for x, y in s.points)
    ticks = [s for s in drawn.shapes if s.width == 1.8]
    assert len(ticks) == 2 and all(abs(x - right) < 0.01 for s in ticks for x, _y in s.points)


@pytest.mark.parametrize("value", [1.0, 3.0, 32.0, 1e6])
def test_words_behind_the_longest_bar_end_within_the_figure(value: float) -> None:
    chart = BarChart(
        "t", "axis", "least", (BarGroup("v", "#3a5a8c", (Bar("load", value, 1.0, f"{value:g} of many"),)),), ""
    )
    drawn = Drawn(chart)
    (row,) = [row for row in drawn.rows if row.text.endswith("load")]
    assert row.x + text_width(f"{value:g} of many  load", 8) <= drawn.width


def test_numbers_are_those_of_the_language() -> None:
    assert plain_number(0.25) == "0.25"
    try:
        i18n.use("ru")
        assert plain_number(0.25) == "0,25"
    finally:
        i18n.use("en")


@pytest.mark.parametrize(
    ("low", "high", "most", "steps", "is_whole", "ticks"),
    [
        (0, 32, 8, (1, 2, 4, 8, 10), True, [0, 4, 8, 12, 16, 20, 24, 28, 32]),
        (0, 1.2, 8, (1, 2, 4, 8, 10), True, [0, 1]),
        (0, 1.2, 6, (1, 2, 2.5, 5, 10), False, [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]),
        (0, 97, 8, (1, 2, 2.5, 5, 10), False, [0, 20, 40, 60, 80]),
        (0, 2e6, 8, (1, 2, 4, 8, 10), False, [0, 4e5, 8e5, 1.2e6, 1.6e6, 2e6]),
        (5, 5, 8, (1, 2, 5, 10), False, [5]),
    ],
)
def test_numbers_of_an_axis_are_round(
    low: float, high: float, most: int, steps: tuple[float, ...], is_whole: bool, ticks: list[float]
) -> None:
    assert round_ticks(low, high, most, steps, is_whole) == ticks


def test_a_logarithmic_scale_has_its_powers_at_equal_distances() -> None:
    scale = Scale(1, 1000, 0, 300, is_log=True)
    assert [round(scale(value), 9) for value in (1, 10, 100, 1000)] == [0, 100, 200, 300]
    assert Scale(0, 10, 50, 0)(2) == 40


def test_hatching_goes_on_from_one_rectangle_to_the_next() -> None:
    whole, parts = Figure(40, 40), Figure(40, 40)
    pen = Pen("#000000", 1)
    whole.hatching([(5, 5, 20, 10)], 3, pen)
    parts.hatching([(5, 5, 8, 10), (13, 5, 12, 10)], 3, pen)

    def length(figure: Figure) -> float:
        numbers = [float(word) for word in figure.operators().data.split() if word.replace(b".", b"").isdigit()]
        rows = numbers[numbers.index(0) + 1 :]
        return sum(abs(a - b) for a, b in zip(rows[::4], rows[2::4], strict=False))

    assert length(whole) == pytest.approx(length(parts), abs=0.2)


def test_a_letter_s_curves_are_the_same_in_both_formats() -> None:
    """A curve of the second degree through three points, as one of the third: elevated by hand."""
    figure = Figure(10, 10)
    figure.words((0, 0), "O", Words(2048))
    point = r"(-?[\d.]+) (-?[\d.]+)"
    first = re.search(f"M{point}Q{point} {point}", figure.svg().decode())
    written = re.search(r"\S+ \S+ m\n(.*?) c", figure.operators().data.decode(), re.S)
    assert first is not None and written is not None
    x0, y0, x1, y1, x2, y2 = map(float, first.groups())
    third = [(x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3, (x2 + 2 * x1) / 3, (y2 + 2 * y1) / 3, x2, y2]
    assert [float(number) for number in written[1].split()] == pytest.approx(third, abs=0.01)


def test_lines_of_words_stand_one_below_another_and_turned_beside_one_another() -> None:
    figure = Figure(100, 100)
    figure.words((50, 50), "ab\nabab", Words(10), "middle middle")
    figure.words((50, 50), "ab\nabab", Words(10), "middle middle", is_turned=True)
    first, second, turned, other = [part for part in figure._parts if isinstance(part, tuple) and len(part) == 5]
    assert second.y - first.y == pytest.approx(12) and first.x - second.x == pytest.approx(text_width("ab", 10) / 2)
    assert other.x - turned.x == pytest.approx(12) and other.y - turned.y == pytest.approx(text_width("ab", 10) / 2)
