"""What the mean of neighbours must give, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (count,) float32, uniform in [0, 100)."""
    return {"in": (100 * rng.random(sizes["count"])).astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (count,): the mean of 2·radius + 1 neighbours, in float64; the first and the last `radius` are copied."""
    count, radius = sizes["count"], sizes["radius"]
    exact = inputs["in"].astype(np.float64)
    out = exact.copy()
    width = 2 * radius + 1
    if count >= width:
        windows = np.lib.stride_tricks.sliding_window_view(exact, width)
        out[radius : count - radius] = windows.mean(axis=1)
    return {"out": out}
