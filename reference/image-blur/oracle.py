"""What the picture's program must give: shades of grey, and means over squares that end at the borders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

WEIGHTS = (0.299, 0.587, 0.114)
"""Of red, green and blue in the luma of ITU-R BT.601."""


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (height, width, 3) uint8: patches of colour with noise, so that neither a pixel nor a channel is another's.

    The channels lie in different ranges: one in another's place is off by far more than the tolerance.
    """
    height, width = sizes["height"], sizes["width"]
    rows, columns = np.indices((height, width))
    patches = (rows // 5 + 2 * (columns // 7)) % 3 * 20
    noise = rng.integers(0, 50, (height, width, 3))
    picture = patches[:, :, None] + noise + np.array([120, 60, 5])
    return {"in": np.clip(picture, 0, 255).astype(np.uint8)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`grey`: (height, width) uint8; `blur`: (height, width, 3) uint8."""
    picture = np.asarray(inputs["in"], np.float64)
    grey = np.floor(picture @ np.array(WEIGHTS) + 0.5)
    radius, (height, width) = int(inputs["radius"]), picture.shape[:2]
    # Sums over all that lies above and to the left: four of them make the sum over any rectangle.
    sums = np.zeros((height + 1, width + 1, 3))
    sums[1:, 1:] = picture.cumsum(axis=0).cumsum(axis=1)
    top, bottom = _ends(height, radius)
    left, right = _ends(width, radius)
    total = sums[bottom][:, right] - sums[top][:, right] - sums[bottom][:, left] + sums[top][:, left]
    count = (bottom - top)[:, None, None] * (right - left)[None, :, None]
    return {"grey": grey.astype(np.uint8), "blur": np.floor(total / count + 0.5).astype(np.uint8)}


def _ends(extent: int, radius: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first index of each place's window, and the one behind its last."""
    places = np.arange(extent)
    return np.maximum(places - radius, 0), np.minimum(places + radius + 1, extent)
