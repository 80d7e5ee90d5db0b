"""What the lab of two streams must give: x² + 1 of every number, exactly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

EIGHTHS = 2047
"""The greatest magnitude of an input in eighths: a square plus 1, in 64ths, is below 2²⁴ and so exact in float32."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (n,) float32, eighths of both signs, none of them 0."""
    eighths = rng.integers(1, EIGHTHS, sizes["n"], endpoint=True) * rng.choice([-1, 1], sizes["n"])
    return {"in": (eighths / 8).astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (n,) float32."""
    return {"out": (np.asarray(inputs["in"], np.float64) ** 2 + 1).astype(np.float32)}
