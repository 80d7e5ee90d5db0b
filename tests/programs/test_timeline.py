"""What streams do as a picture: order, times, what is drawn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.programs.records import CELLS, DeviceCall, covered, timeline

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=10)


@given(SPANS)
def test_what_lies_in_several_spans_counts_once(spans: list[tuple[int, int]]) -> None:
    ticks = {tick for begin, length in spans for tick in range(begin, begin + length)}
    assert covered([(float(begin), float(begin + length)) for begin, length in spans]) == len(ticks)


def call(kind: str, stream: int, ticket: int, after: dict[int, int], began_us: float | None = None) -> DeviceCall:
    ended_us = None if began_us is None else began_us + 10
    asked = DeviceCall(kind, kind, "a.cu", 1, 1 << 20, stream, ticket, {**after, stream: ticket})
    asked.began_us, asked.ended_us = began_us, ended_us
    return asked


def pipeline(*times: float) -> list[DeviceCall]:
    """Two streams beside one another, then the default one, which waits for both; a wait is no step."""
    calls = [
        call("copy_in", 5, 1, {}),
        DeviceCall("wait", "cudaDeviceSynchronize", "a.cu", 2),
        call("kernel", 5, 2, {}),
        call("copy_in", 9, 1, {}),
        call("kernel", 9, 2, {5: 1}),
        call("copy_out", 1, 3, {5: 2, 9: 2}),
    ]
    for step, began_us in zip([step for step in calls if step.ticket], times, strict=False):
        step.began_us, step.ended_us = began_us, began_us + 10
    return calls


def test_of_an_order_each_step_comes_as_early_as_what_it_waits_for_lets_it() -> None:
    line = timeline(pipeline())
    assert line is not None and not line.is_timed and line.streams == [1, 5, 9]
    assert [(step.begin, step.end) for step in line.steps] == [(0, 1), (1, 2), (0, 1), (1, 2), (2, 3)]
    copied, ran, nothing = (["copy_in"] * 3, ["kernel"] * 3, [""] * 4)
    assert line.rows() == {
        1: [*nothing, *nothing, *["copy_out"] * 3, ""],
        5: [*copied, "", *ran, "", *nothing],
        9: [*copied, "", *ran, "", *nothing],
    }


def test_times_are_drawn_to_scale_and_what_has_none_is_left_out() -> None:
    line = timeline(pipeline(100, 110, 105, 115))
    assert line is not None and line.is_timed and line.length == 25
    assert line.took("copy_in") == 15 and line.took("copy_in", "kernel") == 25
    rows = line.rows()
    assert set(rows) == {5, 9} and len(rows[5]) == CELLS
    assert [rows[5].count(kind) for kind in ("copy_in", "kernel", "")] == [25, 26, 13]
    assert rows[9][:12] == [""] * 12 and rows[9][-26:] == ["kernel"] * 26


def test_of_many_steps_the_first_are_drawn_and_a_short_one_is_seen() -> None:
    line = timeline([call("kernel" if number % 2 else "fill", 1, number + 1, {}) for number in range(1000)])
    assert line is not None and line.rows()[1] == ["fill", "kernel"] * (CELLS // 2)
    long = [call("kernel", 1, 1, {}, 0.0), call("copy_out", 1, 2, {}, 1e6)]
    long[0].ended_us = 1e6
    drawn = timeline(long)
    assert drawn is not None and drawn.rows()[1] == ["kernel"] * (CELLS - 1) + ["copy_out"]
    assert timeline([]) is None
