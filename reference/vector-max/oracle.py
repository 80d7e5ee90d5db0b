"""What the largest element is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (n,) float32, all different, between -1000 and -1, or in one of four cases up to 1000.

    So 0 is larger than all elements, and so is the smallest positive number; the element of the largest magnitude is
    the smallest one.  In half of the cases the largest one comes last, where a grid that is too small does not reach.
    """
    n = sizes["n"]
    order = rng.permutation(n)
    if rng.random() < 0.5:
        order[[int(np.argmax(order)), -1]] = order[-1], n - 1
    steps = (order + rng.uniform(0.25, 0.75, n)) / n
    highest = 1000 if rng.random() < 0.25 else -1
    return {"in": (-1000 + (highest + 1000) * steps).astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (1,) float32."""
    return {"out": np.max(inputs["in"], keepdims=True)}
