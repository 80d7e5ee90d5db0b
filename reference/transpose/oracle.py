"""What a transposition must give.  No two elements of an input are equal, so that any slip of an index shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

EXACT = 1 << 24
"""float32 holds every integer below this."""

FINITE_PATTERNS = 0x7F800000
"""Bit patterns below this are the non-negative finite float32 numbers."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (rows, cols) float32, all elements different.

    Up to 2²⁴ elements they are whole numbers, which every numeric type of a kernel's signature can hold and a
    reader can find again; above that, every element has a bit pattern of its own.
    """
    rows, cols = sizes["rows"], sizes["cols"]
    count = rows * cols
    modulus = EXACT if count <= EXACT else FINITE_PATTERNS
    # i → (a·i + b) mod m is one-to-one for a coprime to m.
    factor = int(rng.integers(1 << 20, 1 << 22)) | 1
    while np.gcd(factor, modulus) != 1:
        factor += 2
    numbers = (
        np.arange(count, dtype=np.uint64) * np.uint64(factor) + rng.integers(modulus, dtype=np.uint64)
    ) % np.uint64(modulus)
    values = numbers.astype(np.float32) if modulus == EXACT else numbers.astype(np.uint32).view(np.float32)
    return {"in": values.reshape(rows, cols)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (cols, rows), out[c, r] = in[r, c], of the input's type."""
    return {"out": np.ascontiguousarray(inputs["in"].T)}
