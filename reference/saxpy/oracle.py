"""What saxpy must give: y = a·x + y, in double precision, rounded once at the end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

LARGEST = 16
"""Of both arrays' elements, so that with |a| up to 2.5 no result reaches 64."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`x`, `y`: (n,) float32, of both signs, no two of an array equal as far as float32 tells, and none of them 0."""
    n = sizes["n"]
    step = LARGEST / (n + 1)
    signs = rng.choice([-1.0, 1.0], (2, n))
    magnitudes = np.stack([rng.permutation(n), rng.permutation(n)]) + rng.uniform(0.5, 1.0, (2, n))
    x, y = (signs * magnitudes * step).astype(np.float32)
    return {"x": x, "y": y}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`y`: (n,) float32."""
    a, x, y = (np.asarray(inputs[name], np.float64) for name in ("a", "x", "y"))
    return {"y": (a * x + y).astype(np.float32)}
