"""The memory of a GPU, as far as it is worked out on the host: rows of a copy put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.programs.card_memory import rectangles

NUMBERS = st.integers(0, 40)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(1, 6)), max_size=12))
def test_rectangles_are_the_rows_in_their_order(rows: list[tuple[int, int, int]]) -> None:
    made = [
        (to + row * to_pitch, source + row * from_pitch, width)
        for to, source, width, to_pitch, from_pitch, height in rectangles(rows)
        for row in range(height)
    ]
    assert made == rows


@given(NUMBERS, NUMBERS, st.integers(1, 8), st.integers(0, 5), st.integers(0, 5), st.integers(1, 30))
def test_rows_that_are_equally_far_apart_are_one(
    to: int, source: int, width: int, gap: int, other_gap: int, height: int
) -> None:
    pitches = width + gap, width + other_gap
    rows = [(to + row * pitches[0], source + row * pitches[1], width) for row in range(height)]
    assert rectangles(rows) == [(to, source, width, *(pitches if height > 1 else (width, width)), height)]


def test_a_pitch_is_never_less_than_a_row() -> None:
    assert rectangles([(0, 0, 8), (4, 100, 8)]) == [(0, 0, 8, 8, 8, 1), (4, 100, 8, 8, 8, 1)]
