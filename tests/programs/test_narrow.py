"""Numbers that NumPy has no type for, as libraries read and write them."""

from __future__ import annotations

import numpy as np
import pytest

from grader.programs.runtime.libraries.calls import STORED, decoded, encoded, narrow
from grader.programs.runtime.libraries.cublas_matrices import multiplied


@pytest.mark.parametrize("name", STORED)
def test_every_number_is_stored_as_it_was(name: str) -> None:
    codes = np.arange(1 << 8 * np.dtype(STORED[name]).itemsize).astype(STORED[name])
    values = decoded(codes, name)
    finite = np.isfinite(values)
    assert np.array_equal(encoded(values, name)[finite], codes[finite])
    assert np.isnan(decoded(encoded(np.array([np.nan]), name), name)).all()


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        # Halfway between two, the even one; of 8 bits nothing is beyond the largest.
        ("bf16", [1 + 2**-8, 1 + 3 * 2**-8, -3.1415927], [1, 1 + 2**-6, -3.140625]),
        ("e4m3", [1.0625, 1.1875, 0.3, 1e6, -449, 2**-9], [1, 1.25, 0.3125, 448, -448, 2**-9]),
        ("e5m2", [1.125, 1.375, 1e6, np.inf, 2**-17], [1, 1.5, 57344, 57344, 0]),
    ],
)
def test_numbers_are_rounded_to_what_there_is(name: str, given: list[float], kept: list[float]) -> None:
    stored = narrow(np.zeros(len(given), STORED[name]), name)
    stored[...] = np.array(given)
    assert (stored * np.float32(2) / 2).tolist() == kept
    assert np.array_equal(stored[::-1].astype("f8"), kept[::-1])


def test_a_product_is_not_known_again_where_the_same_bytes_stand_for_other_numbers() -> None:
    codes = np.full((512, 512), 0x44, np.uint8)
    one = narrow(np.full((512, 512), 0x38, np.uint8), "e4m3")
    sums = {name: multiplied(narrow(codes, name), one, "f4")[0, 0] for name in ("e4m3", "e5m2")}
    assert sums == {name: 512 * decoded(codes, name)[0, 0] for name in sums}
    assert multiplied(one, narrow(codes, "e5m2"), "f4")[0, 0] == sums["e5m2"]
