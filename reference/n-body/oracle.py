"""How n bodies attract one another, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

SOFTENING = 0.01
"""What is added to the square of every distance."""

ROWS = 256
"""Bodies whose accelerations are computed at a time."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`bodies`: (n, 4) float32, places in a cube of side 2 and masses from 0.5 to 2, all different."""
    bodies = rng.uniform(-1, 1, (sizes["n"], 4))
    bodies[:, 3] = rng.uniform(0.5, 2, sizes["n"])
    return {"bodies": bodies.astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`acc`: (n, 3), computed in float64.  Called for every number of a case, where what is staged is looked at."""
    bodies = inputs["bodies"].astype(np.float64)
    places, masses = bodies[:, :3], bodies[:, 3]
    acc = np.zeros(places.shape)
    for first in range(0, len(bodies), ROWS):
        rows = slice(first, first + ROWS)
        apart = [places[:, axis] - places[rows, axis, None] for axis in range(3)]
        square = apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 + SOFTENING
        weights = masses / (square * np.sqrt(square))
        for axis in range(3):
            acc[rows, axis] = (weights * apart[axis]).sum(axis=1)
    return {"acc": acc}
