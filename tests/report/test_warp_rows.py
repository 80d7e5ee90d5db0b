"""Rows of a request's picture: as many as the emulator counts, which hardware agrees with."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.launching.trial import runs_of
from grader.measured import WarpArray, WarpRequest
from grader.ptx.observers import traffic
from grader.ptx.records import LaneAccess
from grader.report.bank_map import accesses, sectors, wavefronts

ELEMENTS = st.one_of(
    st.builds(lambda start, step: [start + step * lane for lane in range(32)], st.integers(0, 64), st.integers(0, 40)),
    st.lists(st.integers(0, 300), min_size=32, max_size=32),
    st.builds(
        lambda several: [several[lane // 2] for lane in range(32)],
        st.lists(st.integers(0, 90), min_size=16, max_size=16),
    ),
)


def request(elements: list[int], active: list[bool], width: int, at_once: int = 32) -> WarpRequest:
    lanes = [LaneAccess(n, "a", 0, e * width) for n, (e, on) in enumerate(zip(elements, active, strict=True)) if on]
    return WarpRequest(cost=0, ideal=0, at_once=at_once, runs=list(runs_of(lanes, {("a", 0): 0}, width)))


@settings(max_examples=300, deadline=None)
@given(
    ELEMENTS,
    st.one_of(st.just([True] * 32), st.lists(st.booleans(), min_size=32, max_size=32)),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from(["load", "store"]),
)
def test_there_are_as_many_rows_as_the_request_costs(
    elements: list[int], active: list[bool], width: int, op: str
) -> None:
    offsets, mask = np.array([elements], np.int64) * width, np.array([active])
    (at_once,) = traffic.lanes_at_once(offsets, mask, width, op).tolist()
    asked = request(elements, active, width, at_once)
    found = list(accesses([WarpArray(name="a", element_bytes=width)], asked))
    assert [(a.lane, a.element) for a in found] == [
        (n, e) for n, (e, on) in enumerate(zip(elements, active, strict=True)) if on
    ]
    rows = wavefronts(found, width, at_once)
    assert [len(rows)] == traffic.shared_wavefronts(offsets, mask, width, op)[0].tolist()
    # A bank serves one word a wavefront, and every lane gets all of its words.
    assert all(len({cell.byte for cell in row.cells}) == len(row.cells) for row in rows)
    served = {lane for row in rows for cell in row.cells for lane in cell.lanes}
    assert served == {a.lane for a in found}
    touched = sectors(found, width)
    assert [len(touched)] == traffic.global_sectors(offsets, mask).tolist()
    assert {lane for row in touched for cell in row.cells for lane in cell.lanes} == served


def test_even_steps_are_one_run() -> None:
    assert request([5 + 32 * lane for lane in range(32)], [True] * 32, 4).runs == [(0, 0, 32, 5, 32)]
    gap = [lane != 7 for lane in range(32)]
    assert request([3] * 32, gap, 4).runs == [(0, 0, 7, 3, 0), (0, 8, 24, 3, 0)]
    assert request([0] * 32, [False] * 32, 4).runs == []
