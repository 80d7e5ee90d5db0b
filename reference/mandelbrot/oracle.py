"""How many steps points of the plane take to leave the circle of radius 2, and for which of them rounding decides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

UNIT = 2.0**-24
"""Unit roundoff of float32."""

FAR = 1e3
"""What is this far off has long been counted, and does not move any more."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
    """There are none but numbers."""
    return {}


def expected(
    inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]
) -> dict[str, npt.NDArray[np.generic]]:
    """`counts`: (height, width) int32, masked where float32 may come to another count than exact arithmetic.

    `off` bounds how far a point computed in float32 may be from the exact one: squaring multiplies it by 2|z| and adds
    its square, and each step adds roundings of z², of c and of their sum.
    """
    x0, y0, x1, y1 = (float(inputs[name]) for name in ("x0", "y0", "x1", "y1"))
    width, height, limit = sizes["width"], sizes["height"], sizes["limit"]
    x = x0 + np.arange(width) * ((x1 - x0) / width)
    y = y0 + np.arange(height) * ((y1 - y0) / height)
    c = x[None, :] + 1j * y[:, None]
    off_c = UNIT * (4 * (abs(x1 - x0) + abs(y1 - y0)) + 4 * np.abs(c))
    z, off = np.zeros_like(c), np.zeros(c.shape)
    least, most = np.full(c.shape, limit), np.full(c.shape, limit)
    for step in range(limit):
        size = np.abs(z)
        least[(least == limit) & (size + off > 2 * (1 - 4 * UNIT))] = step
        most[(most == limit) & (size - off > 2 * (1 + 4 * UNIT))] = step
        off = np.minimum(2 * size * off + off**2 + off_c + UNIT * 12 * (size**2 + np.abs(c)), FAR)
        z = np.where(size < FAR, z * z + c, z)
    return {"counts": np.ma.array(most.astype(np.int32), mask=least != most)}
