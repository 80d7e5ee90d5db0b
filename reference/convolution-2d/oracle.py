"""What filtering by a mask must give, in double precision, rounded once; zeros lie around the image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (rows, cols) float32, multiples of 1/64 up to 16, none of them 0; `mask`: (5, 5) float32, of both signs.

    The mask's elements are the odd multiples of 1/64 below 51/64, each of them once: a mask that is turned about in any
    way gives other results.  Float32 holds every partial sum of the 25 products exactly.
    """
    image = rng.integers(1, 1025, (sizes["rows"], sizes["cols"])) / 64
    mask = rng.permutation(np.arange(1, 51, 2)).reshape(5, 5) * rng.choice([-1.0, 1.0], (5, 5)) / 64
    return {"in": image.astype(np.float32), "mask": mask.astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (rows, cols) float32."""
    rows, cols = sizes["rows"], sizes["cols"]
    padded = np.pad(np.asarray(inputs["in"], np.float64), 2)
    mask = np.asarray(inputs["mask"], np.float64)
    out = sum(mask[i, j] * padded[i : i + rows, j : j + cols] for i in range(5) for j in range(5))
    return {"out": np.asarray(out).astype(np.float32)}
