"""What a value depends on, against functions whose support is known."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.lab.expected import MAX_ELEMENTS, Array, Mask, boxes, dependence


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.bool_, (6, 7)), hnp.arrays(np.bool_, 11), st.integers(0, 2**31))
def test_the_support_of_a_sum_is_found_exactly(first: Mask, second: Mask, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def draw() -> dict[str, Array]:
        return {"a": rng.random((6, 7)), "b": rng.random(11)}

    def total(inputs: dict[str, Array]) -> np.generic:
        return np.float64(inputs["a"][first].sum() + 2 * inputs["b"][second].sum())

    found = dependence(total, draw(), draw())  # type: ignore[arg-type]
    if not first.any() and not second.any():
        assert found is None
    else:
        assert found is not None
        assert np.array_equal(found["a"], first)
        assert np.array_equal(found["b"], second)


def test_inputs_are_left_as_they_were() -> None:
    base, other = {"a": np.arange(4.0)}, {"a": np.arange(4.0) + 10}
    found = dependence(lambda inputs: inputs["a"][2], base, other)
    assert found is not None and found["a"].tolist() == [False, False, True, False]
    assert base["a"].tolist() == [0, 1, 2, 3] and other["a"].tolist() == [10, 11, 12, 13]


def test_an_input_that_cannot_be_changed_tells_nothing() -> None:
    same = {"a": np.ones(5)}
    assert dependence(lambda inputs: inputs["a"].sum(), same, same) is None


def test_large_inputs_are_not_searched() -> None:
    large = {"a": np.zeros(MAX_ELEMENTS + 1)}
    assert dependence(lambda inputs: inputs["a"][0], large, {"a": large["a"] + 1}) is None


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=3, max_side=6)))
def test_boxes_cover_a_mask_exactly_once(mask: Mask) -> None:
    covered = np.zeros(mask.shape, int)
    for box in boxes(mask):
        covered[tuple(slice(low, high + 1) for low, high in box)] += 1
    assert np.array_equal(covered, mask.astype(int))


def test_a_row_a_column_and_a_block_are_one_box_each() -> None:
    mask = np.zeros((5, 8), np.bool_)
    mask[1] = True
    mask[2:5, 3] = True
    assert boxes(mask) == [[(1, 1), (0, 7)], [(2, 4), (3, 3)]]
    block = np.zeros((5, 8), np.bool_)
    block[1:4, 2:6] = True
    assert boxes(block) == [[(1, 3), (2, 5)]]
