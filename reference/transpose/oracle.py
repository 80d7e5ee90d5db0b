"""What a transposition must give.  No two elements of an input are equal, so that any slip of an index shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

HALVES = (1 << 20, 1 << 24)
"""How many numbers half-way between two whole ones are drawn from: those of seven digits, as reports print them, and
all that float32 holds."""

FINITE_PATTERNS = 0x7F800000
"""Bit patterns below this are the non-negative finite float32 numbers."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (rows, cols) float32, all elements different, of both signs.

    Up to 2²⁴ elements they lie half-way between two whole numbers and need some 20 binary digits, so that whatever
    narrower a kernel keeps them in shows: an integer loses the half, a half-precision number the last digits.  Without
    the half they differ as well (but for the two next to 0), which kernels on integers need.  Above that, every element
    has a bit pattern of its own.
    """
    rows, cols = sizes["rows"], sizes["cols"]
    count = rows * cols
    modulus = next((enough for enough in HALVES if count <= enough), FINITE_PATTERNS)
    # i → (a·i + b) mod m is one-to-one for a coprime to m.
    factor = int(rng.integers(1 << 20, 1 << 22)) | 1
    while np.gcd(factor, modulus) != 1:
        factor += 2
    numbers = (
        np.arange(count, dtype=np.uint64) * np.uint64(factor) + rng.integers(modulus, dtype=np.uint64)
    ) % np.uint64(modulus)
    if modulus in HALVES:
        values = (numbers.astype(np.float64) - (modulus - 1) / 2).astype(np.float32)
    else:
        values = numbers.astype(np.uint32).view(np.float32)
    return {"in": values.reshape(rows, cols)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (cols, rows), out[c, r] = in[r, c], of the input's type."""
    return {"out": np.ascontiguousarray(inputs["in"].T)}
