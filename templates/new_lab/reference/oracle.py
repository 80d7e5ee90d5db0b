"""What the kernels must give: computed with NumPy, by no student's code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """Every input by its name in lab.yaml; `rng` is seeded with the lab's seed and the sizes."""
    return {"in": rng.random(sizes["count"], dtype=np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """Every output by its name."""
    return {"out": 2 * inputs["in"].astype(np.float64) + 1}
