"""What sorting must give."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

LIMITS = np.iinfo(np.int32)


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`data`: (n,) int32 from the whole range, of which an eighth are there twice or more; from 8 on with both limits.

    So differences of two elements overflow, and no number but the largest can stand for what comes after all of them.
    """
    n = sizes["n"]
    data = rng.integers(LIMITS.min, LIMITS.max, n, np.int64, endpoint=True)
    data[: n // 8] = data[n // 8 : 2 * (n // 8)]
    if n >= 8:
        data[-2:] = LIMITS.min, LIMITS.max
    return {"data": rng.permutation(data).astype(np.int32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`data`: (n,) int32, ascending."""
    return {"data": np.sort(inputs["data"])}
