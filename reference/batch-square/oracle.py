"""What squaring every matrix of a batch must give, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (count, n, n) float32, uniform in [0, 1)."""
    return {"in": rng.random((sizes["count"], sizes["n"], sizes["n"]), dtype=np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`out`: (count, n, n), each matrix times itself, computed in float64."""
    exact = inputs["in"].astype(np.float64)
    return {"out": exact @ exact}
