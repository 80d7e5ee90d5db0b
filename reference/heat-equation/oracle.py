"""What a heated plate becomes, in double precision, rounded once at the end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`t`: (rows, cols) float32 from 1 to 64, each drawn for itself, so that every step changes every inner element."""
    return {"t": rng.uniform(1, 64, (sizes["rows"], sizes["cols"])).astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`t`: (rows, cols) float32; the outermost rows and columns keep their values."""
    t, rate = np.asarray(inputs["t"], np.float64), float(inputs["rate"])
    for _step in range(sizes["steps"]):
        inner = t[1:-1, 1:-1]
        around = t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:]
        t = t.copy()
        t[1:-1, 1:-1] = inner + rate * (around - 4 * inner)
    return {"t": t.astype(np.float32)}
