"""Drawing of sweeps: everything stands within the picture, labels keep apart, crosses mark what cannot be."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.measured import Estimate, SweepRecord
from grader.report.charts import LineChart, sweep_charts
from grader.report.draw import HEIGHT, LEAST_APART, NARROW, WIDE, Axes, axes_of, plain_number, spread
from grader.report.figure import Figure
from tests.report.drawn import Drawn, Shape
from tests.report.sweeps import memory_sweep, point, size_sweep, swept, tile_sweep, with_predicted


def chart_of(record: SweepRecord) -> LineChart:
    made = swept(record)
    (chart,) = sweep_charts(made, record)
    return chart


def axes_in(record: SweepRecord) -> list[Axes]:
    chart = chart_of(record)
    return axes_of(chart, Figure(NARROW if len(chart.panels) == 1 else WIDE, HEIGHT))


def lines_in(record: SweepRecord, width: float, dashes: str = "") -> list[Shape]:
    """Lines of one look from dot to dot, in the order in which they are drawn."""
    return [s for s in Drawn(chart_of(record)).shapes if (s.width, s.dashes, s.fill) == (width, dashes, "none")]


@pytest.mark.parametrize("record", [size_sweep(), tile_sweep(), memory_sweep()], ids=lambda r: r.id)
def test_images(record: SweepRecord) -> None:
    first = Drawn(chart_of(record))
    assert first.svg == Drawn(chart_of(record)).svg
    assert all(0 <= x <= first.width and 0 <= y <= first.height for s in first.shapes for x, y in s.points)


def test_a_panel_for_each_variant_with_the_same_axes() -> None:
    assert {"naive", "shared"} <= set(Drawn(chart_of(tile_sweep())).texts)
    first, second = axes_in(tile_sweep())
    assert first.y == second.y and first.x.is_log and first.y.is_log
    assert [label for _value, label in first.x_ticks] == ["8", "16", "32", "64"]
    assert second.x.start > first.x.end and (first.x.low, first.x.high) == (second.x.low, second.x.high)


def test_lines_are_labelled_at_their_ends() -> None:
    assert set(Drawn(chart_of(size_sweep())).texts) >= {"naive", "shared", "padded", "(reference)"}


def test_long_values_below_an_axis_keep_apart() -> None:
    values = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768]
    record = msgspec.structs.replace(size_sweep(), points=[point("naive", x, 1.0) for x in values])
    (axes,) = axes_in(record)
    assert [value for value, _label in axes.x_ticks] == values
    assert [label for _value, label in axes.x_ticks] == ["", "512", "", "2048", "", "8192", "", "32768"]
    assert "512" in Drawn(chart_of(record)).texts and "256" not in Drawn(chart_of(record)).texts


def test_only_the_first_of_several_panels_numbers_the_shared_axis() -> None:
    drawn = Drawn(chart_of(tile_sweep()))
    first, _second = axes_in(tile_sweep())
    for _value, label in first.y_ticks:
        if label:
            assert [row.x < first.x.start for row in drawn.rows if row.text == label and row.y < first.y.start] == [
                True
            ]


def test_a_line_has_the_same_mark_in_every_panel() -> None:
    shapes = Drawn(chart_of(tile_sweep())).shapes
    first, second = axes_in(tile_sweep())

    def marks(axes: Axes) -> set[int]:
        filled = [s for s in shapes if s.fill not in ("none", "#ffffff") and s.stroke == "none"]
        return {len(s.points) for s in filled if axes.x.start <= s.points[0][0] <= axes.x.end}

    # Circles have thirteen points, squares four.
    assert marks(first) == marks(second) == {4, 13}


def test_the_lab_s_kernels_are_dashed_and_hollow() -> None:
    assert len(lines_in(size_sweep(), 1.0, "4 2.5")) == 2
    hollow = [s for s in Drawn(chart_of(size_sweep())).shapes if s.width == 0.8 and s.outline.endswith("z")]
    assert len(hollow) == 6 and all(s.fill == "none" for s in hollow)


def test_what_was_predicted_is_dotted_beside_what_was_measured() -> None:
    record = with_predicted(size_sweep("gpu", "time"))
    (axes,) = axes_in(record)
    dotted = lines_in(record, 1.1, "1.1 1.65")
    expected = [pytest.approx(axes.at(x, x), abs=0.01) for x in (32, 64, 128)]
    assert len(dotted) == 2 and all(line.points == expected for line in dotted)


def test_a_cross_where_nothing_could_be_run_and_no_words_over_the_lines() -> None:
    drawn = Drawn(chart_of(tile_sweep()))
    crosses = [s for s in drawn.shapes if s.width == 1.6 and s.outline.count("M") == 2]
    assert len(crosses) == 2
    for axes, cross in zip(axes_in(tile_sweep()), crosses, strict=True):
        assert sum(x for x, _y in cross.points) / 4 == pytest.approx(axes.x(64), abs=0.01)
    # Reasons stand in the notes below the figures: what is turned names the axis.
    first, _second = axes_in(tile_sweep())
    assert all(row.x < first.x.start for row in drawn.rows if row.is_turned)


def test_crosses_stand_below_all_dots_of_a_logarithmic_axis() -> None:
    drawn = Drawn(chart_of(tile_sweep()))
    axes, _second = axes_in(tile_sweep())
    highest = min(y for s in drawn.shapes if s.width == 1.6 and s.outline.count("M") == 2 for _x, y in s.points)
    lowest = max(y for s in drawn.shapes if s.width == 1.6 and s.outline.count("M") == 1 for _x, y in s.points)
    assert highest > lowest + 0.01 * (axes.y.start - axes.y.end)


def test_intervals_are_drawn() -> None:
    values = {"time": Estimate(value=2.0, low=1.0, high=4.0)}
    points = [msgspec.structs.replace(point("naive", x, 1.0), values=values) for x in (32, 64)]
    record = msgspec.structs.replace(size_sweep("gpu", "time"), points=points)
    (axes,) = axes_in(record)
    bars = lines_in(record, 0.9)
    assert [bar.points[:2] for bar in bars] == [
        [pytest.approx(axes.at(x, value), abs=0.01) for value in (1.0, 4.0)] for x in (32, 64)
    ]
    assert axes.y.low <= 1.0 and axes.y.high >= 4.0


@pytest.mark.parametrize("highest", [7.0, 88.0, 1e3, 3e4, 5e6, 2e9])
def test_numbers_of_a_logarithmic_axis_keep_apart(highest: float) -> None:
    record = msgspec.structs.replace(
        size_sweep(), points=[point("naive", 32, 1.1), point("naive", 64, highest)], metrics=["sectors"]
    )
    (axes,) = axes_in(record)
    places = sorted(axes.y(value) for value, label in axes.y_ticks if label)
    assert len(places) >= 2
    assert all(b - a >= 0.99 * LEAST_APART for a, b in itertools.pairwise(places))
    assert all(axes.y.end - 0.01 <= place <= axes.y.start + 0.01 for place in places)


@pytest.mark.parametrize(
    ("value", "text"), [(0.25, "0.25"), (4, "4"), (1500, "1500"), (1e5, "10⁵"), (2e6, "2·10⁶"), (1e10, "10¹⁰")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert plain_number(value) == text


@given(st.lists(st.floats(0, 1), max_size=6).map(sorted), st.floats(0.01, 0.15))
def test_labels_keep_apart_and_in_order(heights: list[float], gap: float) -> None:
    moved = spread(heights, gap)
    assert len(moved) == len(heights)
    assert all(b - a >= gap * 0.9 for a, b in itertools.pairwise(moved))
    if all(b - a >= gap for a, b in itertools.pairwise(heights)):
        assert moved == heights
