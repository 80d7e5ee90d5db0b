"""What graphs of sweeps show: axes, lines, labels, points that cannot be, words for those who do not see."""

from __future__ import annotations

import msgspec
import pytest

from grader.measured import Estimate, SweepRecord
from grader.report.charts import LineChart, amount, axis_title, gap_notes, quantity, sweep_charts
from grader.report.text import Numbers, variant_colour
from tests.report.sweeps import memory_sweep, point, size_sweep, swept, tile_sweep, with_predicted


def only(*records: SweepRecord, language: str = "en") -> LineChart:
    made = swept(*records, language=language)
    (chart,) = sweep_charts(made, made.result.sweeps[0])
    return chart


def test_axes_say_what_and_whether_it_was_measured() -> None:
    chart = only(size_sweep())
    assert (chart.x_axis, chart.y_axis) == ("rows, N", "global-memory sectors per element (counted)")
    assert only(size_sweep("gpu", "time")).y_axis == "time, µs (measured)"
    assert axis_title("gflop_per_s") == "performance, GFLOP/s (measured)"


def test_sizes_that_are_powers_of_two_stand_on_a_logarithmic_axis() -> None:
    assert only(size_sweep()).log_x
    odd = msgspec.structs.replace(size_sweep(), points=[point("naive", x, 1.0) for x in (2, 3, 4)])
    assert not only(odd).log_x
    assert only(odd).ticks == (2, 3, 4)


@pytest.mark.parametrize(("least", "log"), [(1.0, True), (2.0, False), (0.0, False)])
def test_values_far_apart_are_on_a_logarithmic_axis_unless_there_is_a_zero(least: float, log: bool) -> None:
    points = [point("naive", 32, least), point("naive", 64, 8.0)]
    assert only(msgspec.structs.replace(size_sweep(), points=points)).log_y is log


def test_one_line_a_variant_in_its_colour_with_its_name() -> None:
    (panel,) = only(size_sweep()).panels
    lines = {(line.label, line.reference): line for line in panel.lines}
    assert set(lines) == {("naive", False), ("", True), ("shared", False), ("padded (reference)", True)}
    assert lines["shared", False].colour == variant_colour(1)
    assert lines["padded (reference)", True].colour == variant_colour(2)
    assert [(dot.x, dot.value) for dot in lines["shared", False].dots] == [(32, 8.0), (64, 4.0), (128, 2.0)]


def test_lines_of_a_second_parameter_have_a_panel_for_each_variant() -> None:
    naive, shared = only(tile_sweep()).panels
    assert (naive.title, shared.title) == ("naive", "shared")
    assert [(line.label, line.rank, len(line.dots)) for line in naive.lines] == [("N = 32", 0, 3), ("N = 64", 1, 3)]
    assert [len(line.dots) for line in shared.lines] == [2, 3]


def test_a_panel_of_the_lab_s_kernels_alone_says_so() -> None:
    points = [msgspec.structs.replace(p, of="reference") for p in tile_sweep().points]
    chart = only(msgspec.structs.replace(tile_sweep(), points=points))
    assert [panel.title for panel in chart.panels] == ["naive (reference)", "shared (reference)"]
    assert chart.panels[0].lines[0].label == "N = 32"


def test_a_value_at_which_no_line_has_a_point_is_marked_with_the_reason() -> None:
    naive, shared = only(tile_sweep()).panels
    for panel, index in ((naive, 0), (shared, 1)):
        (gap,) = panel.gaps
        assert (gap.x, gap.colours) == (64, (variant_colour(index),))
        assert gap.reason == "4096 threads per block, at most 1024 are allowed"


def test_notes_tell_of_every_point_that_is_missing_and_on_which_line() -> None:
    made = swept(tile_sweep())
    ((reason, places),) = gap_notes(made, made.result.sweeps[0])
    assert reason.startswith("4096 threads")
    assert places == ["naive 64", "shared 64", "shared 8 (N = 32)"]


def test_intervals_are_kept() -> None:
    points = [msgspec.structs.replace(point("naive", 32, 1.0), values={"time": Estimate(value=2.0, low=1.5, high=2.5)})]
    chart = only(msgspec.structs.replace(size_sweep("gpu", "time"), points=points))
    (dot,) = chart.panels[0].lines[0].dots
    assert (dot.low, dot.value, dot.high) == (1.5, 2.0, 2.5)


def test_variants_that_have_none_of_it_are_left_out() -> None:
    points = [point("naive", x, 0.0) for x in (1, 2)] + [point("shared", x, 1.0) for x in (1, 2)]
    (panel,) = only(msgspec.structs.replace(size_sweep(), points=points)).panels
    assert [line.label for line in panel.lines] == ["shared"]


def test_nothing_to_show_is_no_chart() -> None:
    made = swept(msgspec.structs.replace(size_sweep(), points=[point("naive", 64, None)]))
    assert sweep_charts(made, made.result.sweeps[0]) == []


def test_kinds_of_host_memory_are_called_by_their_names() -> None:
    (panel,) = only(memory_sweep()).panels
    assert [line.label for line in panel.lines] == ["pageable", "mapped (zero-copy)"]


def test_a_sweep_that_the_lab_does_not_know_any_more_keeps_its_own_words() -> None:
    made = swept(msgspec.structs.replace(tile_sweep(), id="gone"))
    (chart,) = sweep_charts(made, made.result.sweeps[0])
    assert chart.title.startswith("gone: ") and chart.x_axis == "t"
    assert chart.panels[0].lines[0].label == "n = 32"


def test_the_description_holds_every_value() -> None:
    text = only(size_sweep()).description
    assert text.startswith("Size: global-memory sectors per element. naive: 32: 8, 64: 8, 128: 8;")
    assert "shared: 32: 8, 64: 4, 128: 2" in text and "padded (reference): 32: 1" in text


def test_amounts() -> None:
    english, russian = Numbers("en"), Numbers("ru")
    assert amount("time", 12.345, english) == "12.35\u00a0µs"
    assert amount("gflop_per_s", 7704.2, english) == "7,704 GFLOP/s"
    assert amount("gb_per_s", 12.345, russian) == "12,35 GB/s"
    assert amount("sectors", 0.375, russian) == "0,38"
    assert (quantity("time"), quantity("gb_per_s")) == ("time", "bandwidth")


def test_beside_counted_work_stands_a_graph_of_predicted_times() -> None:
    made = swept(with_predicted(size_sweep()))
    counted, foretold = sweep_charts(made, made.result.sweeps[0])
    assert counted == only(size_sweep())
    assert (foretold.title, foretold.y_axis) == ("Size: time, µs (predicted)", "time, µs (predicted)")
    (panel,) = foretold.panels
    assert [(line.label, [dot.value for dot in line.dots]) for line in panel.lines] == [
        ("naive", [32, 64, 128]),
        ("shared", [32, 64, 128]),
    ]
    # The intervals, the same factor at every value, are told in words.
    assert all(dot.low == dot.value == dot.high for line in panel.lines for dot in line.dots)
    assert [(gap.x, gap.reason) for gap in panel.gaps] == [(512, "not predicted")]


def test_on_a_gpu_the_predicted_line_stands_beside_the_measured_one() -> None:
    (panel,) = only(with_predicted(size_sweep("gpu", "gb_per_s"))).panels
    beside = [line for line in panel.lines if line.predicted]
    assert [(line.label, line.colour, [dot.value for dot in line.dots]) for line in beside] == [
        ("", variant_colour(0), [32, 64, 128]),
        ("", variant_colour(1), [32, 64, 128]),
    ]
    assert [line for line in panel.lines if not line.predicted] == list(
        only(size_sweep("gpu", "gb_per_s")).panels[0].lines
    )


def test_predicted_lines_of_a_second_parameter_keep_their_rank() -> None:
    record = msgspec.structs.replace(tile_sweep(), backend="gpu", metrics=["time"])
    one = {"time": Estimate(value=1.0)}
    points = [msgspec.structs.replace(p, values=one if p.values else {}) for p in record.points]
    record = msgspec.structs.replace(record, points=points)
    naive, _shared = only(with_predicted(record)).panels
    assert naive.title == "naive"
    assert [(line.label, line.rank, line.predicted) for line in naive.lines] == [
        ("N = 32", 0, False), ("N = 64", 1, False), ("", 0, True), ("", 1, True)
    ]  # fmt: skip
