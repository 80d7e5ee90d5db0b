"""What a product of square matrices must give, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

LARGEST = 8.0
"""Bound of the entries, which the lab's tolerance is derived from; whole parts keep kernels on integers honest."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`a` and `b`: (n, n) float32, uniform in [-8, 8): no product is like its transpose, no term is lost unseen."""
    n = sizes["n"]
    return {name: rng.uniform(-LARGEST, LARGEST, (n, n)).astype(np.float32) for name in ("a", "b")}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`c`: (n, n), c = a·b, computed in float64."""
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}
