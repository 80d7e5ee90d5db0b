"""Times of what a GPU does, as far as they are worked out on the host."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.programs.card_times import covered

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=10)


@given(SPANS)
def test_what_lies_in_several_spans_counts_once(spans: list[tuple[int, int]]) -> None:
    ticks = {tick for begin, length in spans for tick in range(begin, begin + length)}
    assert covered([(float(begin), float(begin + length)) for begin, length in spans]) == len(ticks)
