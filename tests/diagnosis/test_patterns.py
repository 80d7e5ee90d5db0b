"""Rules of wrong values: each slip made by hand on distinct values must be named, and never for more than it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnosis.patterns import Outcome, value_pattern
from grader.lab.compare import Array, is_sentinel, sentinel, wrong_elements
from grader.lab.records import Tolerance
from grader.measured import WrongPattern

TILE = 4
IN = np.random.default_rng(5).permutation(12 * 8).astype(np.float32).reshape(12, 8) + 100
OUT = np.ascontiguousarray(IN.T)
SQUARE = np.random.default_rng(6).permutation(144).astype(np.float32).reshape(12, 12) + 100


def found(
    got: Any, expected: Array = OUT, inputs: dict[str, Array] | None = None, tile: tuple[int, ...] = (TILE, TILE)
) -> WrongPattern | None:
    got = np.ascontiguousarray(got, expected.dtype)
    exact = Tolerance()
    wrong = wrong_elements(got, expected, exact)
    filling = wrong & is_sentinel(got)
    return value_pattern(
        Outcome(
            got,
            expected,
            wrong,
            filling,
            filling,
            {"in": IN} if inputs is None else inputs,
            tile,
            lambda a, b: ~wrong_elements(np.ascontiguousarray(a), np.ascontiguousarray(b), exact),
        )
    )


def tiles(array: Array) -> Array:
    rows, cols = array.shape
    return array.reshape(rows // TILE, TILE, cols // TILE, TILE)


def written_with_pitch(pitch: int, last_first: bool = False) -> Array:
    """OUT as a kernel leaves it that multiplies the row by `pitch`: later rows overwrite earlier ones, or not."""
    memory = sentinel((OUT.size,), "float32").copy()
    rows = range(OUT.shape[0])
    for row in reversed(rows) if last_first else rows:
        for col in range(OUT.shape[1]):
            if row * pitch + col < OUT.size:
                memory[row * pitch + col] = OUT[row, col]
    return memory.reshape(OUT.shape)


def read_with_pitch(pitch: int) -> Array:
    flat = IN.reshape(-1)
    return np.array([[flat[r * pitch + c] if r * pitch + c < flat.size else 0 for r in range(12)] for c in range(8)])


RULES: list[tuple[str, Any, dict[str, Any]]] = [
    ("untouched", sentinel(OUT.shape, "float32"), {}),
    ("unwritten", np.where(np.arange(12) < 9, OUT, sentinel(OUT.shape, "float32")), {}),
    ("nan", np.where(np.arange(12) < 9, OUT, np.nan), {}),
    ("infinite", np.where(np.arange(12) < 9, OUT, np.inf), {}),
    ("zero", np.where(np.arange(12) < 9, OUT, 0), {}),
    ("constant", np.where(np.arange(12) < 9, OUT, 7), {"value": 7.0}),
    ("copy", IN.reshape(OUT.shape), {"array": "in"}),
    ("transposed_tiles", tiles(OUT).swapaxes(1, 3).reshape(OUT.shape), {}),
    ("reversed", OUT[::-1, ::-1], {"axis": -1}),
    ("reversed", OUT[::-1], {"axis": 0}),
    ("reversed", OUT[:, ::-1], {"axis": 1}),
    ("shifted", np.roll(OUT, -1, 1), {"axis": 1, "by": 1}),
    ("shifted", np.roll(OUT, 2, 1), {"axis": 1, "by": -2}),
    ("shifted", np.roll(OUT, -1, 0), {"axis": 0, "by": 1}),
    ("shifted", np.roll(OUT, 1, 0), {"axis": 0, "by": -1}),
    ("output_pitch", written_with_pitch(8), {"pitch": 8, "right": 12}),
    ("output_pitch", written_with_pitch(13), {"pitch": 13, "right": 12}),
    ("input_pitch", read_with_pitch(12), {"pitch": 12, "right": 8, "array": "in"}),
    ("input_pitch", read_with_pitch(7), {"pitch": 7, "right": 8, "array": "in"}),
    ("constant_columns", np.broadcast_to(OUT[3], OUT.shape), {}),
    ("constant_rows", np.broadcast_to(OUT[:, 3:4], OUT.shape), {}),
    ("scaled", OUT * 5, {"factor": 5.0}),
    ("scaled", OUT / 8, {"factor": 0.125}),
    ("scaled", -OUT, {"factor": -1.0}),
    ("offset", OUT + 1, {"value": 1.0}),
]


@pytest.mark.parametrize(("rule", "got", "data"), RULES, ids=[f"{r}-{i}" for i, (r, _, _) in enumerate(RULES)])
def test_rules(rule: str, got: Any, data: dict[str, Any]) -> None:
    result = found(got)
    assert result is not None
    assert (result.id, dict(result.data)) == (rule, data)
    wrong = wrong_elements(np.ascontiguousarray(got, np.float32), OUT, Tolerance())
    assert result.of == np.count_nonzero(wrong)
    # These lead outside an array for some elements, or leave some unwritten.
    assert result.holds == result.of or rule in ("shifted", "output_pitch", "input_pitch")


@pytest.mark.parametrize("pitch", [7, 8])
@pytest.mark.parametrize("last_first", [False, True])
def test_rows_that_overlap_may_have_been_written_in_any_order(pitch: int, last_first: bool) -> None:
    got = written_with_pitch(pitch, last_first)
    result = found(got)
    assert result is not None
    assert (result.id, result.data["pitch"]) == ("output_pitch", pitch)
    # All that was written in a wrong place is explained by it; the rest of the array was not written at all.
    wrong = wrong_elements(got, OUT, Tolerance())
    assert result.holds == np.count_nonzero(wrong & ~is_sentinel(got))


def test_a_constant_is_seen_where_some_elements_were_not_written_at_all() -> None:
    columns = np.arange(12)
    result = found(np.where(columns < 2, OUT, np.where(columns < 11, 7, sentinel(OUT.shape, "float32"))))
    assert result is not None
    assert (result.id, dict(result.data), result.holds, result.of) == ("constant", {"value": 7.0}, 72, 80)


MEANS = np.random.default_rng(11).uniform(1, 100, 64).astype(np.float32)


def test_sums_of_a_window_that_starts_at_the_element() -> None:
    got = np.roll(MEANS, -2) * 5
    result = found(got, MEANS, {}, tile=())
    assert result is not None
    assert (result.id, dict(result.data)) == ("scaled_shifted", {"factor": 5.0, "axis": 0, "by": 2})
    assert result.holds == 62


def test_sums_of_integers_where_their_means_were_rounded() -> None:
    sums = np.random.default_rng(12).integers(5, 500, 64).astype(np.int32)
    result = found(sums, (sums // 5).astype(np.int32), {}, tile=())
    assert result is not None
    assert (result.id, dict(result.data), result.holds == result.of) == ("scaled", {"factor": 5.0}, True)


def test_tiles_at_their_mirror_places() -> None:
    mirrored = tiles(SQUARE).swapaxes(0, 2).reshape(SQUARE.shape)
    result = found(mirrored, SQUARE, {})
    assert result is not None and (result.id, result.holds == result.of) == ("swapped_tiles", True)


def test_a_square_mirrored_at_its_diagonal() -> None:
    result = found(SQUARE.T, SQUARE, {}, tile=())
    assert result is not None and (result.id, result.holds == result.of) == ("transposed", True)


def test_each_matrix_of_a_batch_transposed() -> None:
    batch = np.arange(3 * 4 * 4, dtype=np.float32).reshape(3, 4, 4)
    result = found(batch.swapaxes(1, 2), batch, {}, tile=())
    assert result is not None and (result.id, result.holds == result.of) == ("transposed", True)


def test_a_rule_with_exceptions_says_for_how_many_it_holds() -> None:
    got = OUT * 2
    got[2, 3] += 5
    got[4, 4] = 0
    result = found(got)
    assert result is not None
    assert (result.id, result.holds, result.of) == ("scaled", 94, 96)


def test_a_rule_that_holds_for_half_is_not_told() -> None:
    got = OUT * 2
    got[:4] = np.random.default_rng(7).permutation(got[:4].reshape(-1)).reshape(4, 12)
    assert found(got) is None


def test_unwritten_elements_are_no_exceptions_to_a_rule_of_values() -> None:
    got = np.where(np.arange(12) < 9, OUT * 2, sentinel(OUT.shape, "float32"))
    result = found(got)
    assert result is not None
    assert (result.id, result.holds, result.of) == ("scaled", 72, 96)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_wrong_elements_follow_no_rule_by_chance(count: int) -> None:
    got = OUT.copy()
    got[0, :count] = OUT[1, :count]
    assert found(got) is None


@pytest.mark.parametrize(
    ("got", "factor"),
    [([633.875], 16), ([39.6171875 * 70_000], None), ([633.9], None), ([39.6171875 / 2], None), ([np.nan], None)],
)
def test_a_sum_that_is_several_times_too_large(got: list[float], factor: int | None) -> None:
    rule = found(got, np.array([39.6171875], np.float32), {})
    is_scaled = rule is not None and rule.id == "scaled"
    assert (rule.data["factor"] if rule is not None and is_scaled else None) == factor


def test_what_unset_memory_holds_is_no_multiple() -> None:
    expected = np.arange(1, 13, dtype=np.uint32)
    assert found(expected * np.uint32(90_000), expected, {}) is None
    assert found(expected + np.uint32(2**32 - 90_000), expected, {}) is None


def test_what_goes_below_0_in_an_unsigned_type_lacks_a_little() -> None:
    expected = np.arange(1, 13, dtype=np.uint32)
    rule = found(expected + np.uint32(2**32 - 30), expected, {})
    assert rule is not None and (rule.id, rule.data, rule.holds == rule.of) == ("offset", {"value": -30.0}, True)


def test_random_values_follow_no_rule() -> None:
    assert found(np.random.default_rng(8).permutation(OUT.reshape(-1)).reshape(OUT.shape)) is None


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 2**32 - 1),
    broken=st.integers(0, 40),
    slip=st.sampled_from(["transposed_tiles", "scaled", "shifted", "reversed", "copy"]),
)
def test_what_is_told_is_true(shape: tuple[int, int], seed: int, broken: int, slip: str) -> None:
    """`holds` counts right: applying the rule to the expected output gives that many of the wrong values."""
    rng = np.random.default_rng(seed)
    rows, cols = shape[0] * TILE, shape[1] * TILE
    expected = (rng.permutation(rows * cols) + 1000).astype(np.float32).reshape(rows, cols)
    given_in = rng.permutation(expected.reshape(-1)).reshape(rows, cols)
    by_rule = {
        "transposed_tiles": np.ascontiguousarray(tiles(expected).swapaxes(1, 3)).reshape(rows, cols),
        "scaled": expected * 3,
        "shifted": np.roll(expected, -1, 1),
        "reversed": expected[:, ::-1],
        "copy": given_in,
    }[slip]
    got = np.ascontiguousarray(by_rule).copy()
    for _ in range(broken):
        got[rng.integers(rows), rng.integers(cols)] = rng.integers(1, 900)
    wrong = wrong_elements(got, expected, Tolerance())
    result = found(got, expected, {"in": given_in})
    if result is None or result.id != slip:
        return
    follows = (got == by_rule) & wrong
    if slip == "shifted":
        # Nothing stands to the right of the last column.
        follows &= np.arange(cols) < cols - 1
    assert (result.holds, result.of) == (int(np.count_nonzero(follows)), int(np.count_nonzero(wrong)))


def test_values_taken_from_a_wrong_place_are_not_called_offset() -> None:
    steps = np.arange(96, dtype=np.float32).reshape(12, 8) + 100
    expected = np.ascontiguousarray(steps.T)
    # The last column of the output is the first one once more: each element differs by 88, none was added to.
    got = expected.copy()
    got[:, 11] = expected[:, 0]
    told = found(got, expected, {"in": steps}, ())
    assert told is None or told.id not in {"offset", "scaled"}
    added = found(np.where(np.arange(12) == 11, expected + 50.5, expected), expected, {"in": steps}, ())
    assert added is not None
    assert (added.id, added.data) == ("offset", {"value": 50.5})


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_sums_that_begin_with_unset_memory_are_told_as_such(dtype: str) -> None:
    expected = np.arange(96).astype(dtype)
    got = expected + sentinel((96,), dtype)
    everything, nothing = np.ones(96, np.bool_), np.zeros(96, np.bool_)
    result = value_pattern(Outcome(got, expected, everything, nothing, nothing, {}, (), lambda a, b: a == b))
    assert result is not None and (result.id, result.holds == result.of) == ("onto_unset", True)


def test_numbers_of_low_precision_have_lost_more_than_their_fractions() -> None:
    expected = np.random.default_rng(8).uniform(-4e5, 4e5, (8, 12)).astype(np.float32)
    wrong = found(np.trunc(expected), expected)
    assert wrong is not None and wrong.id == "whole"
    halves = (expected / 64).astype(np.float16).astype(np.float32) * 64
    coarse = np.where(halves % 4 == 0, halves, halves - halves % 4)
    named = found(coarse, expected)
    assert named is None or named.id != "whole"
