"""Textures and surfaces: arrays that kernels read by coordinates, and how a texture unit answers.

Filtering and addressing follow the CUDA C++ Programming Guide, appendix "Texture Fetching": a linear filter takes its
weights in steps of 1/256.  A device's sums of weighted texels may differ from these in their last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grader.ptx.values import Array

WRAP, CLAMP, MIRROR, BORDER = range(4)
"""As cudaTextureAddressMode numbers them."""


class Storage(Protocol):
    """Whatever holds the bytes; they may lie elsewhere at another time."""

    data: Array
    valid: Array | None


@dataclass(frozen=True, slots=True)
class Format:
    """What a texel is: `channels` values of `bits` bits, "float", "signed" or "unsigned"."""

    kind: str
    bits: int
    channels: int

    @property
    def texel_bytes(self) -> int:
        """Bytes of one texel."""
        return self.bits // 8 * self.channels

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of one channel."""
        return np.dtype(f"{ {'float': 'f', 'signed': 'i', 'unsigned': 'u'}[self.kind] }{self.bits // 8}")


@dataclass(frozen=True, slots=True)
class Image:
    """Texels in memory: `depth` slices (or layers) of `height` rows of `width`.

    row_bytes, slice_bytes: from one row, and slice, to the next.  dimensions: 1, 2 or 3 that are filtered along; what
    is layered has its layers in `depth`.
    """

    storage: Storage
    offset: int
    format: Format
    width: int
    height: int = 1
    depth: int = 1
    row_bytes: int = 0
    slice_bytes: int = 0
    layered: bool = False

    def offsets(self, x: Array, y: Array, z: Array) -> Array:
        """(n,) byte at which each texel begins."""
        return self.offset + z * self.slice_bytes + y * self.row_bytes + x * self.format.texel_bytes

    def texels(self, x: Array, y: Array, z: Array) -> Array:
        """(n, channels) texels at indices that lie inside."""
        size = self.format.texel_bytes
        places = self.offsets(x, y, z)[:, None] + np.arange(size)
        return np.ascontiguousarray(self.storage.data[places]).view(self.format.dtype)


@dataclass(frozen=True, slots=True)
class Texture:
    """An image with the way in which it is read.

    addressing: of each dimension.  linear: filtered, else the nearest texel.  normalised: coordinates from 0 to 1.
    as_float: integers of 8 and 16 bits are read as numbers from 0 (or −1) to 1.  fetched: linear memory, read by index.
    """

    image: Image
    addressing: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    linear: bool = False
    normalised: bool = False
    as_float: bool = False
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    fetched: bool = False

    @property
    def gives_floats(self) -> bool:
        """Whether what is read are floats."""
        return self.as_float or self.image.format.kind == "float"

    def read(self, coordinates: Sequence[Array], layer: Array | None = None) -> Array:
        """(n, 4) uint32: bits of the four channels at float32 coordinates x, y, z; those that are missing are 0, 0, 1.

        layer: (n,) of a layered image, clamped to those there are.
        """
        image = self.image
        if self.linear and len(coordinates) == 1 and layer is None and self.addressing[1] == BORDER:
            # An array of one dimension is filtered as one row of two, and row 0 lies half in the border (as measured
            # on an H200).
            coordinates = [coordinates[0], np.zeros(1, np.float32)]
        extents = (image.width, image.height, image.depth)[: len(coordinates)]
        count = max(len(c) for c in (*coordinates, *([] if layer is None else [layer])))
        rest = [np.zeros(count, np.int64) for _ in range(3 - len(coordinates))]
        if layer is not None:
            rest[-1] = np.broadcast_to(np.clip(layer.astype(np.int64), 0, image.depth - 1), (count,))
        scaled = [self._scaled(np.broadcast_to(c, (count,)), d, extents[d]) for d, c in enumerate(coordinates)]
        if not self.linear:
            nearest = [self._place(np.floor(c), d, extents[d]) for d, c in enumerate(scaled)]
            return self._bits(self._texels(nearest, rest))
        floors, parts = [], []
        for position in scaled:
            # Weights have eight bits after the point.
            steps = np.floor((position - 0.5) * 256 + 0.5)
            floors.append(np.floor(steps / 256))
            parts.append(steps / 256 - floors[-1])
        total: Array = np.zeros((count, 4))
        for corner in range(1 << len(coordinates)):
            weight: Array = np.ones(count)
            places = []
            for d, (floor, part) in enumerate(zip(floors, parts, strict=True)):
                upper = corner >> d & 1
                weight = weight * (part if upper else 1 - part)
                places.append(self._place(floor + upper, d, extents[d]))
            total += np.where(weight[:, None] > 0, weight[:, None] * self._texels(places, rest), 0)
        return self._bits(total)

    def fetch(self, indices: Sequence[Array]) -> Array:
        """(n, 4) uint32: bits of the four channels at integer indices x, y, z; outside they are 0."""
        count = max(len(i) for i in indices)
        extents = (self.image.width, self.image.height, self.image.depth)
        places = [np.broadcast_to(i, (count,)).astype(np.int64) for i in indices]
        inside: Array = np.ones(count, np.bool_)
        for place, extent in zip(places, extents, strict=False):
            inside &= (place >= 0) & (place < extent)
        places = [np.where(inside, place, 0) for place in places]
        places += [np.zeros(count, np.int64) for _ in range(3 - len(places))]
        values = self._four(self.image.texels(*places))
        values[~inside] = 0
        return self._bits(values)

    def _scaled(self, coordinate: Array, dimension: int, extent: int) -> Array:
        wide = np.nan_to_num(coordinate.astype(np.float64), nan=0.0, posinf=2.0**40, neginf=-(2.0**40))
        if not self.normalised:
            return np.clip(wide, -(2.0**40), 2.0**40)
        mode = self.addressing[dimension]
        if mode == WRAP:
            wide = wide - np.floor(wide)
        elif mode == MIRROR:
            whole = np.floor(wide)
            wide = np.where(whole % 2 == 0, wide - whole, 1 - (wide - whole))
        return np.clip(wide * extent, -(2.0**40), 2.0**40)

    def _place(self, index: Array, dimension: int, extent: int) -> Array:
        """Indices along one dimension, −1 where the border is meant."""
        place = index.astype(np.int64)
        mode = self.addressing[dimension]
        if self.normalised and mode == WRAP:
            return place % extent
        if self.normalised and mode == MIRROR:
            turned = place % (2 * extent)
            return np.where(turned < extent, turned, 2 * extent - 1 - turned)
        if mode == BORDER:
            return np.where((place < 0) | (place >= extent), -1, place)
        # Wrap and mirror are for normalised coordinates only; with others they are clamp.
        return np.clip(place, 0, extent - 1)

    def _texels(self, places: Sequence[Array], rest: Sequence[Array]) -> Array:
        """(n, 4) values at indices along the dimensions; the border's where one is −1."""
        whole = [*places, *rest]
        outside = (whole[0] < 0) | (whole[1] < 0) | (whole[2] < 0)
        values = self._four(self.image.texels(*(np.maximum(place, 0) for place in whole)))
        if outside.any():
            values[outside] = self.border
        return values

    def _four(self, texels: Array) -> Array:
        """(n, 4) values of float64 or int64, as the kernel reads them."""
        kind = self.image.format
        values: Array
        if self.gives_floats:
            values = np.zeros((len(texels), 4))
            values[:, 3] = 1
            values[:, : kind.channels] = texels
            if kind.kind != "float":
                top = (1 << kind.bits - (kind.kind == "signed")) - 1
                values[:, : kind.channels] = np.maximum(values[:, : kind.channels] / top, -1.0)
        else:
            values = np.zeros((len(texels), 4), np.int64)
            values[:, 3] = 1
            values[:, : kind.channels] = texels
        return values

    def _bits(self, values: Array) -> Array:
        if self.gives_floats:
            return values.astype(np.float32).view(np.uint32)
        return (values.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Surface:
    """An image that kernels read and write by index, without any conversion; x counts bytes."""

    image: Image

    def place(self, x: Array, y: Array, z: Array, width: int, mode: str) -> tuple[Array, Array]:
        """(n,) byte at which each access of `width` bytes begins, and (n,) whether it lies inside.

        mode: "clamp": what lies outside is moved to the edge, and so inside.
        """
        image = self.image
        row = image.width * image.format.texel_bytes
        x, y, z = (np.asarray(v, np.int64) for v in (x, y, z))
        if mode == "clamp":
            x = np.clip(x, 0, row - width)
            y, z = np.clip(y, 0, image.height - 1), np.clip(z, 0, image.depth - 1)
        inside = (x >= 0) & (x + width <= row) & (x % width == 0)
        inside = inside & (y >= 0) & (y < image.height) & (z >= 0) & (z < image.depth)
        offsets = image.offset + z * image.slice_bytes + y * image.row_bytes + x
        return np.where(inside, offsets, image.offset), inside
