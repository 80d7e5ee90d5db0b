"""What an inclusive scan must give: every prefix sum, in double precision, rounded once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (n,) float32 multiples of 1/256 up to 1/2, of which more are positive than negative, none of them 0.

    So float32 holds every sum of up to 131072 of them exactly, whatever the order, and one element that is left out or
    taken twice changes all sums from there on.
    """
    magnitudes = rng.integers(1, 129, sizes["n"]) / 256
    return {"in": (magnitudes * rng.choice([1.0, 1.0, 1.0, -1.0], sizes["n"])).astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (n,) float32."""
    return {"out": np.cumsum(inputs["in"], dtype=np.float64).astype(np.float32)}
