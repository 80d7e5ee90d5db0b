"""What a histogram of bytes must give: how many of each of the 256 values there are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`data`: (n,) uint8, of which a quarter has one of four values, so that threads meet; all 256 values are drawn."""
    n = sizes["n"]
    spread = rng.integers(0, 256, n)
    frequent = rng.choice(rng.permutation(256)[:4], n)
    return {"data": np.where(rng.random(n) < 0.25, frequent, spread).astype(np.uint8)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`bins`: (256,) uint32."""
    return {"bins": np.bincount(np.asarray(inputs["data"], np.uint8), minlength=256).astype(np.uint32)}
