"""The arrays of a launch: their shapes at some sizes, and ones that take no memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grader.lab.records import Lab, Sizes

Array = npt.NDArray[np.generic]


def shape_at(lab: Lab, name: str, sizes: Sizes) -> tuple[int, ...]:
    """The shape of an array at some sizes."""
    return lab.parameter(name).extents_at(sizes)


def placeholder(shape: tuple[int, ...], dtype: str) -> Array:
    """An array of that shape that takes no memory: for launches whose data are made on the device."""
    return np.broadcast_to(np.zeros((), dtype), shape)
