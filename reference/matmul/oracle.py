"""What a product of square matrices must give, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

LARGEST = 8.0
"""Bound of the entries, which the lab's tolerance is derived from; whole parts keep kernels on integers honest."""


PROJECTED_FROM = 2048
"""Products of this size and above take the CPU seconds and are checked by projections."""

ROWS = 256
"""Rows or columns of a matrix that are converted to float64 at a time."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`a` and `b`: (n, n) float32, uniform in [-8, 8): no product is like its transpose, no term is lost unseen.

    Large ones are multiples of 1/4, so that every product is one of 1/16.  Sums of n ≤ 16384 products stay within
    64·n ≤ 2²⁰ and need 24 binary digits: float32 holds them all, whatever the order of summation, fused or not.
    Larger ones are whole numbers: the same holds up to n = 2¹⁸.
    """
    n = sizes["n"]
    if n < PROJECTED_FROM:
        return {name: rng.uniform(-LARGEST, LARGEST, (n, n)).astype(np.float32) for name in ("a", "b")}
    steps = 4 if n <= 1 << 14 else 1
    bound = int(LARGEST) * steps
    return {name: rng.integers(-bound, bound, (n, n), dtype=np.int8) * np.float32(1 / steps) for name in ("a", "b")}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`c`: (n, n), c = a·b, computed in float64."""
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


def projected_tolerance(sizes: Mapping[str, int]) -> float | None:
    """0: of the large inputs a right product is exact."""
    return 0.0 if sizes["n"] >= PROJECTED_FROM else None


def projection(
    inputs: Mapping[str, npt.NDArray[np.generic]],
    sizes: Mapping[str, int],
    output: str,
    vectors: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """c·x = a·(b·x) in float64: (n, k)."""
    for name in ("b", "a"):
        matrix = inputs[name]
        # A few rows at a time: whole matrices would take as much memory again twice.
        parts = [matrix[i : i + ROWS].astype(np.float64) @ vectors for i in range(0, sizes["n"], ROWS)]
        vectors = np.concatenate(parts)
    return vectors


def rows(
    inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int], output: str, which: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """These rows of `c` in full."""
    left = inputs["a"][which].astype(np.float64)
    parts = [left @ inputs["b"][:, i : i + ROWS].astype(np.float64) for i in range(0, sizes["n"], ROWS)]
    return np.concatenate(parts, axis=1)
