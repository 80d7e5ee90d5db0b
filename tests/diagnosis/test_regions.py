"""Regions of wrong elements: each drawn by hand must be named, and every one that is named must hold them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.diagnosis.patterns import Mask
from grader.diagnosis.regions import region_pattern

ROWS, COLS, TILE = 12, 16, 4
Y, X = np.indices((ROWS, COLS))
PLACE = np.arange(24)

DRAWN: list[tuple[str, Any, tuple[int, ...], dict[str, int]]] = [
    ("all", Y >= 0, (TILE, TILE), {}),
    ("first_row", Y == 0, (TILE, TILE), {"index": 0}),
    ("last_row", Y == 11, (TILE, TILE), {"index": 11}),
    ("row", Y == 5, (TILE, TILE), {"index": 5}),
    ("first_column", X == 0, (TILE, TILE), {"index": 0}),
    ("last_column", X == 15, (TILE, TILE), {"index": 15}),
    ("column", X == 6, (TILE, TILE), {"index": 6}),
    ("diagonal", X == Y, (), {}),
    ("off_diagonal", X != Y, (), {}),
    ("above_diagonal", X > Y, (), {}),
    ("below_diagonal", X < Y, (), {}),
    ("off_diagonal_blocks", X // 4 != Y // 4, (TILE, TILE), {}),
    ("diagonal_blocks", X // 4 == Y // 4, (TILE, TILE), {}),
    ("all_but_first_block", (X >= 4) | (Y >= 4), (TILE, TILE), {}),
    ("one_block", (X // 4 == 2) & (Y // 4 == 1), (TILE, TILE), {"block_0": 1, "block_1": 2}),
    ("last_tiles", (X >= 15) | (Y >= 10), (5, 5), {}),
    ("first_rows", Y < 3, (TILE, TILE), {"n": 3}),
    ("last_rows", Y >= 10, (TILE, TILE), {"n": 2}),
    ("first_columns", X < 5, (TILE, TILE), {"n": 5}),
    ("last_columns", X >= 13, (TILE, TILE), {"n": 3}),
    ("first_elements", Y * COLS + X < 37, (), {"n": 37}),
    ("last_elements", Y * COLS + X >= 150, (), {"n": 42}),
    ("border", (X == 0) | (Y == 0) | (X == 15) | (Y == 11), (TILE, TILE), {"width": 1}),
    ("interior", (X > 1) & (Y > 1) & (X < 14) & (Y < 10), (TILE, TILE), {"width": 2}),
    ("first_row_of_tiles", Y % 4 == 0, (TILE, TILE), {"index": 0}),
    ("last_column_of_tiles", X % 4 == 3, (TILE, TILE), {"index": 3}),
    ("column_of_tiles", X % 4 == 1, (TILE, TILE), {"index": 1}),
    ("last_rows_of_tiles", Y % 4 >= 2, (TILE, TILE), {"n": 2}),
    ("tile_edges", (X % 4 % 3 == 0) | (Y % 4 % 3 == 0), (TILE, TILE), {"width": 1}),
    ("tile_interiors", (X % 4 % 3 != 0) & (Y % 4 % 3 != 0), (TILE, TILE), {"width": 1}),
    ("every_nth_rows", Y % 2 == 1, (), {"step": 2, "start": 1}),
    ("every_nth_columns", X % 3 == 0, (), {"step": 3, "start": 0}),
    ("all_but_nth_columns", X % 3 != 1, (), {"step": 3, "start": 1}),
    ("box", (X >= 3) & (X < 7) & (Y > 1) & (Y < 9), (), {"low_0": 2, "high_0": 8, "low_1": 3, "high_1": 6}),
    ("border", (PLACE < 2) | (PLACE >= 22), (8,), {"width": 2}),
    ("last_elements", PLACE >= 20, (8,), {"n": 4}),
    ("first_elements_of_tiles", PLACE % 8 < 2, (8,), {"n": 2}),
    ("last_element_of_tiles", PLACE % 8 == 7, (8,), {"index": 7}),
    ("one_block", PLACE // 8 == 1, (8,), {"block_0": 1}),
    ("every_nth_elements", PLACE % 5 == 2, (8,), {"step": 5, "start": 2}),
]


@pytest.mark.parametrize(("name", "wrong", "tile", "data"), DRAWN, ids=[d[0] + str(d[1].ndim) for d in DRAWN])
def test_drawn_regions(name: str, wrong: Mask, tile: tuple[int, ...], data: dict[str, int]) -> None:
    found = region_pattern(wrong, tile)
    assert found is not None
    size = int(np.count_nonzero(wrong))
    assert (found.id, dict(found.data)) == (name, {**data, "size": size})
    assert found.holds == found.of == size


def test_a_region_with_right_elements_in_it_says_how_large_it_is() -> None:
    wrong = (Y == 11) & (X != 2) & (X != 9)
    found = region_pattern(wrong, (TILE, TILE))
    assert found is not None
    assert (found.id, found.of, found.data["size"]) == ("last_row", 14, 16)


def test_the_smallest_region_wins() -> None:
    wrong = (Y >= 8) & (X >= 8)
    wrong[8, 8] = False
    found = region_pattern(wrong, (TILE, TILE))
    assert found is not None and (found.id, found.data["size"]) == ("box", 32)


def test_scattered_elements_lie_in_no_region() -> None:
    wrong = np.zeros((ROWS, COLS), np.bool_)
    wrong[[1, 2, 7, 10], [3, 14, 0, 8]] = True
    assert region_pattern(wrong, (TILE, TILE)) is None


def test_a_single_element_is_no_region() -> None:
    assert region_pattern((X == 3) & (Y == 4), (TILE, TILE)) is None


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9)).filter(np.any),
    st.integers(1, 5),
)
def test_every_mask_has_an_answer_that_counts_right(wrong: Mask, tile: int) -> None:
    found = region_pattern(wrong, (tile,) * wrong.ndim)
    if found is not None:
        count = int(np.count_nonzero(wrong))
        assert found.holds == found.of == count
        assert count <= int(found.data["size"]) <= wrong.size
        assert count >= int(found.data["size"]) / 2
