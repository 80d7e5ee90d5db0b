"""Drawing of sweeps: everything stands within the picture, labels keep apart, crosses mark what cannot be."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.measured import Estimate, SweepRecord
from grader.report.charts import LineChart, sweep_charts
from grader.report.draw import draw_line_chart, spread
from grader.report.html import drawn
from tests.report.sweeps import memory_sweep, point, size_sweep, swept, tile_sweep, with_predicted


def chart_of(record: SweepRecord) -> LineChart:
    made = swept(record)
    (chart,) = sweep_charts(made, record)
    return chart


@pytest.mark.parametrize("record", [size_sweep(), tile_sweep(), memory_sweep()], ids=lambda r: r.id)
@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_images(record: SweepRecord, kind: str, start: bytes) -> None:
    first = drawn(chart_of(record), kind)  # type: ignore[arg-type]
    assert first.startswith(start)
    assert first == drawn(chart_of(record), kind)  # type: ignore[arg-type]


def test_a_panel_for_each_variant_with_the_same_axes() -> None:
    figure = draw_line_chart(chart_of(tile_sweep()))
    first, second = figure.axes
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("naive", "shared")
    assert first.get_ylim() == second.get_ylim() and first.get_xscale() == second.get_xscale() == "log"
    assert [tick.get_text() for tick in first.get_xticklabels()] == ["8", "16", "32", "64"]


def test_lines_are_labelled_at_their_ends() -> None:
    (axes,) = draw_line_chart(chart_of(size_sweep())).axes
    assert {text.get_text() for text in axes.texts} >= {"naive", "shared", "padded\n(reference)"}


def test_long_values_below_an_axis_keep_apart() -> None:
    values = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768]
    record = msgspec.structs.replace(size_sweep(), points=[point("naive", x, 1.0) for x in values])
    (axes,) = draw_line_chart(chart_of(record)).axes
    assert list(axes.get_xticks()) == values
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown == ["", "512", "", "2048", "", "8192", "", "32768"]


def test_only_the_first_of_several_panels_numbers_the_shared_axis() -> None:
    first, second = draw_line_chart(chart_of(tile_sweep())).axes
    for axes, shown in ((first, True), (second, False)):
        for which in ("major", "minor"):
            assert axes.yaxis.get_tick_params(which=which)["labelleft"] is shown


def test_a_line_has_the_same_mark_in_every_panel() -> None:
    figure = draw_line_chart(chart_of(tile_sweep()))
    marks = [[line.get_marker() for line in axes.lines if len(line.get_xdata()) > 1] for axes in figure.axes]  # type: ignore[arg-type]
    assert marks[0] == marks[1] and len(set(marks[0])) == 2


def test_the_lab_s_kernels_are_dashed_and_hollow() -> None:
    (axes,) = draw_line_chart(chart_of(size_sweep())).axes
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 2 and all(line.get_markerfacecolor() == "none" for line in dashed)


def test_what_was_predicted_is_dotted_beside_what_was_measured() -> None:
    (axes,) = draw_line_chart(chart_of(with_predicted(size_sweep("gpu", "time")))).axes
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":" or line.get_marker() == "None"]
    shown = [line for line in dotted if np.asarray(line.get_xydata()).tolist() == [[x, x] for x in (32, 64, 128)]]
    assert len(shown) == 2


def test_a_cross_where_nothing_could_be_run_and_no_words_over_the_lines() -> None:
    figure = draw_line_chart(chart_of(tile_sweep()))
    for axes in figure.axes:
        crosses = [line for line in axes.lines if line.get_marker() == "x"]
        assert [np.asarray(line.get_xdata()).tolist() for line in crosses] == [[64]]
        # Reasons stand in the notes below the figures.
        assert not [text for text in axes.texts if text.get_rotation() == 90]


def test_crosses_stand_below_all_dots_of_a_logarithmic_axis() -> None:
    for axes in draw_line_chart(chart_of(tile_sweep())).axes:
        crosses = [line for line in axes.lines if line.get_marker() == "x"]
        dots = [line for line in axes.lines if line.get_marker() != "x"]
        highest = max(np.max(line.get_ydata()) for line in crosses)
        lowest = min(np.min(line.get_ydata()) for line in dots)
        # A cross is placed by its share of the axes' height.
        assert highest < axes.transAxes.inverted().transform(axes.transData.transform((8, lowest)))[1] - 0.03


def test_intervals_are_drawn() -> None:
    values = {"time": Estimate(value=2.0, low=1.0, high=4.0)}
    points = [msgspec.structs.replace(point("naive", x, 1.0), values=values) for x in (32, 64)]
    (axes,) = draw_line_chart(chart_of(msgspec.structs.replace(size_sweep("gpu", "time"), points=points))).axes
    (container,) = axes.containers
    assert container.has_yerr  # type: ignore[attr-defined]
    low, high = axes.get_ylim()
    assert low <= 1.0 and high >= 4.0


@given(st.lists(st.floats(0, 1), max_size=6).map(sorted), st.floats(0.01, 0.15))
def test_labels_keep_apart_and_in_order(heights: list[float], gap: float) -> None:
    moved = spread(heights, gap)
    assert len(moved) == len(heights)
    assert all(b - a >= gap * 0.9 for a, b in itertools.pairwise(moved))
    if all(b - a >= gap for a, b in itertools.pairwise(heights)):
        assert moved == heights
