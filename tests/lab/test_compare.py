"""Comparing outputs: counts against a plain loop, and the pattern of every slip that courses see."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.lab.compare import Array, Difference, compare, sentinel, wrong_elements
from grader.lab.records import Tolerance

EXACT = Tolerance()
SIDE, TILE = 12, 4
IN = np.random.default_rng(3).permutation(SIDE * SIDE).astype(np.float32).reshape(SIDE, SIDE)
OUT = np.ascontiguousarray(IN.T)


def difference(got: Array) -> Difference:
    return compare("out", np.ascontiguousarray(got), OUT, EXACT, {"in": IN})


def blocks(array: Array) -> Array:
    return array.reshape(SIDE // TILE, TILE, SIDE // TILE, TILE)


def test_equal_outputs() -> None:
    found = difference(OUT.copy())
    assert (found.mismatches, found.first, found.extent, found.max_abs_error) == (0, None, "", 0.0)


def test_one_wrong_element_is_found_with_where_its_values_belong() -> None:
    got = OUT.copy()
    got[5, 7] = IN[2, 3]
    found = difference(got)
    assert (found.mismatches, found.first, found.extent) == (1, (5, 7), "scattered")
    assert found.expected == OUT[5, 7]
    assert found.belongs_at == ("in", (7, 5))
    assert found.found_at == ("in", (2, 3))
    assert found.max_abs_error == abs(float(IN[2, 3]) - float(OUT[5, 7]))


@pytest.mark.parametrize(("kept", "is_told"), [(0.25, True), (0.75, False)])
def test_in_a_large_output_most_wrong_values_stand_where_the_first_does(kept: float, is_told: bool) -> None:
    side = 700
    given = np.random.default_rng(7).permutation(side * side).astype(np.float32).reshape(side, side)
    # Elsewhere wrong values are no input's.
    elsewhere = np.arange(side * side).reshape(side, side) % 100 < 100 * kept
    got = np.where(elsewhere & (np.arange(side)[:, None] > 0), -given, np.roll(given, 1, axis=1))
    found = compare("out", got, given, EXACT, {"in": given})
    assert found.belongs_at == ("in", (0, 0))
    assert found.found_at == (("in", (0, side - 1)) if is_told else None)


@pytest.mark.parametrize(
    ("got", "extent"),
    [
        (sentinel((SIDE, SIDE), "float32"), "untouched"),
        (np.where(np.arange(SIDE)[:, None] < 9, OUT, sentinel((SIDE, SIDE), "float32")), "unwritten"),
        (OUT + 1, "all"),
        (np.where(np.arange(SIDE)[:, None] < 9, OUT, OUT + 1), "scattered"),
        (OUT, ""),
    ],
)
def test_how_far_it_goes(got: Array, extent: str) -> None:
    assert difference(got.astype(np.float32)).extent == extent


def test_bit_exact_tells_zero_from_minus_zero_and_equal_nans_apart_by_bits() -> None:
    got = np.array([0.0, -0.0, math.nan, 1.0], np.float32)
    expected = np.array([0.0, 0.0, math.nan, 1.0], np.float32)
    assert wrong_elements(got, expected, EXACT).tolist() == [False, True, False, False]


@given(
    hnp.arrays(np.float32, 20, elements=st.floats(-1e3, 1e3, width=32)),
    hnp.arrays(np.float32, 20, elements=st.floats(-1e3, 1e3, width=32)),
    st.floats(0, 10),
    st.floats(0, 1),
)
def test_tolerance_against_a_plain_loop(got: Array, expected: Array, absolute: float, relative: float) -> None:
    assume(np.unique(got).size > 1)  # one value everywhere has a rule of its own
    allowed = Tolerance(absolute + 1e-9, relative)
    wrong = [
        abs(float(g) - float(e)) > absolute + 1e-9 + relative * abs(float(e))
        for g, e in zip(got, expected, strict=True)
    ]
    assert wrong_elements(got, expected, allowed).tolist() == wrong


@pytest.mark.parametrize(("value", "wrong"), [(math.nan, True), (math.inf, True), (-math.inf, True), (1.05, False)])
def test_tolerance_never_excuses_what_is_no_number(value: float, wrong: bool) -> None:
    got, expected = np.array([value], np.float32), np.array([1.0], np.float32)
    assert wrong_elements(got, expected, Tolerance(absolute=0.1)).tolist() == [wrong]


def test_an_expected_infinity_or_nan_must_be_met() -> None:
    expected = np.array([math.inf, math.nan, math.inf], np.float32)
    got = np.array([math.inf, math.nan, -math.inf], np.float32)
    assert wrong_elements(got, expected, Tolerance(absolute=0.1)).tolist() == [False, False, True]


def test_shapes_and_types_must_agree() -> None:
    with pytest.raises(ValueError, match="shape or type differ"):
        compare("out", OUT.astype(np.float64), OUT, EXACT, {})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "uint64"])
def test_what_nobody_set_passes_for_no_value_of_its_type(dtype: str) -> None:
    expected = np.arange(64).astype(dtype)
    for wide in (Tolerance(), Tolerance(absolute=1e3), Tolerance(relative=1e3)):
        for got in (sentinel((64,), dtype), sentinel((64,), dtype) + expected):
            if dtype.startswith("float") or wide == Tolerance():
                assert wrong_elements(got, expected, wide).all()
    if dtype.startswith("float"):
        assert wrong_elements(sentinel((64,), dtype), np.full(64, np.nan, dtype), Tolerance(absolute=1)).all()


@pytest.mark.parametrize("tolerance", [Tolerance(0.0, 0.0), Tolerance(1e-6, 1e-6)])
def test_arrays_of_many_parts_are_compared_to_the_last_element(tolerance: Tolerance) -> None:
    # As one would be compared; more elements than are looked at together.
    expected = np.random.default_rng(1).random((3, 200_001)).astype(np.float32)
    got = expected.copy()
    got[1, 150_000] += 0.5
    got[2, -1] -= 0.25
    got[2, 7] = sentinel((1,), "float32")[0]
    found = compare("out", got, expected, tolerance, {})
    assert (found.mismatches, found.unwritten, found.first) == (3, 1, (1, 150_000))
    assert found.max_abs_error == pytest.approx(0.5, rel=1e-6)
    got[2, 8] = np.nan
    found = compare("out", got, expected, tolerance, {})
    assert (found.mismatches, found.max_abs_error) == (4, None)
