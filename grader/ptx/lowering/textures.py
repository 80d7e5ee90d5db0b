"""Textures and surfaces: arrays that kernels read by coordinates, how texture units answer, and `tex`, `suld`, `sust`.

Filtering and addressing follow the CUDA C++ Programming Guide, appendix "Texture Fetching": a linear filter takes its
weights in steps of 1/256.  A device's sums of weighted texels may differ from these in their last bits.  Instructions:
PTX ISA, "Texture Instructions" and "Surface Instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register, Vector
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.machine.batch import Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.operands import getter
from grader.ptx.observers.interface import BlamedOperation
from grader.ptx.values import UNSIGNED, Array, as_array, from_array

WRAP, CLAMP, MIRROR, BORDER = range(4)
"""As cudaTextureAddressMode numbers them."""


class Storage(Protocol):
    """The holder of an image's bytes, which may lie elsewhere at another time."""

    data: Array
    valid: Array | None
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class Format:
    """What a texel is: `channels` values of `bits` bits, "float", "signed" or "unsigned"."""

    kind: str
    bits: int
    channels: int

    @property
    def texel_bytes(self) -> int:
        return self.bits // 8 * self.channels

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of one channel."""
        return np.dtype(f"{ {'float': 'f', 'signed': 'i', 'unsigned': 'u'}[self.kind] }{self.bits // 8}")


@dataclass(frozen=True, slots=True)
class Image:
    """Texels in memory: `depth` slices (or layers) of `height` rows of `width`.

    row_bytes, slice_bytes: from one row, and slice, to the next.
    """

    storage: Storage
    offset: int
    format: Format
    width: int
    height: int = 1
    depth: int = 1
    row_bytes: int = 0
    slice_bytes: int = 0

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
    as_float: integers of 8 and 16 bits are read as numbers from 0 (or −1) to 1.
    """

    image: Image
    addressing: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    linear: bool = False
    normalised: bool = False
    as_float: bool = False
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def gives_floats(self) -> bool:
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

    def read_cube(self, direction: Sequence[Array], cube: Array | None = None) -> Array:
        """(n, 4) uint32: bits of the four channels in float32 directions x, y, z from the middle of a cube.

        The image's slices are the faces, +x, −x, +y, −y, +z, −z of one cube after the other.  cube: (n,) of several.
        Each face is filtered by itself, up to its edges (a device does so unless asked for a seamless cube).
        """
        x, y, z = (c.astype(np.float32) for c in np.broadcast_arrays(*direction))
        sizes = np.abs(np.stack([x, y, z]))
        longest = np.where((sizes[2] >= sizes[0]) & (sizes[2] >= sizes[1]), 2, np.where(sizes[1] >= sizes[0], 1, 0))
        signs = [np.signbit(c) for c in (x, y, z)]
        face = 2 * longest + np.choose(longest, signs)
        length = np.choose(longest, sizes)
        across = np.choose(face, [-z, z, x, x, x, -x])
        down = np.choose(face, [-y, -y, z, -z, -y, -y])
        with np.errstate(all="ignore"):
            places = [(c / length + np.float32(1)) / np.float32(2) for c in (across, down)]
        last = self.image.depth // 6 - 1
        first = 0 if cube is None else 6 * np.clip(cube.astype(np.int64), 0, last)
        return replace(self, normalised=True, addressing=(CLAMP, CLAMP, CLAMP)).read(places, first + face)

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
        """Return indices along one dimension, −1 for the border."""
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


_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}
_ELEMENT_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}
_FLOAT = np.dtype(np.float32)
_INT = np.dtype(np.int32)


def _place(code: Code, operand: Operand, geometry: str, text: str) -> tuple[Getter, list[Getter], Getter | None]:
    """Return getters of the handle, the coordinates, and the layer of a layered image."""
    if geometry not in _DIMENSIONS:
        raise UnsupportedInstruction(text, reason=f"geometry .{geometry}")
    assert isinstance(operand, Vector)
    handle, where = operand.elements
    parts = where.elements if isinstance(where, Vector) else (where,)
    layered = geometry[0] == "a"
    count = _DIMENSIONS[geometry]
    if len(parts) < count + layered:
        raise UnsupportedInstruction(text, reason="coordinates")
    assert all(isinstance(part, (Register, Immediate)) for part in parts)
    getters = [getter(code, part, 4) for part in parts]
    return getter(code, handle), getters[layered : layered + count], getters[0] if layered else None


def _image(group: Group, handle: Any, kind: type, instruction: Instruction) -> Any:
    """Return the texture or surface of a handle, which all lanes must share; None, reported, where there is none."""
    numbers = np.unique(as_array(handle, UNSIGNED[8])).tolist()
    if len(numbers) > 1:
        raise UnsupportedInstruction(instruction.text, instruction.location.line, "several textures at once")
    image = group.batch.device.textures.get(numbers[0])
    if isinstance(image, kind):
        return image
    _report(group, instruction, "no_texture" if kind is Texture else "no_surface", np.arange(group.lanes.n))
    return None


def _report(group: Group, instruction: Instruction, detail: str, positions: Array, width: int = 0) -> None:
    batch = group.batch
    op = "store" if instruction.opcode == "sust" else "load"
    lane = int(group.lanes.ids[positions[0]])
    space = "texture" if instruction.opcode == "tex" else "surface"
    blamed = BlamedOperation(instruction, lane, op, space, width_bytes=width)
    batch.hazards.add(batch.geometry, "out_of_bounds", detail, blamed, len(positions))


def _tex(code: Code, instruction: Instruction) -> Step:
    modifiers = [m for m in instruction.modifiers if m not in ("level", "base")]
    if "level" in instruction.modifiers and len(instruction.operands) != 3:
        raise UnsupportedInstruction(instruction.text)
    if len(modifiers) != 4 or modifiers[1] != "v4" or modifiers[2] not in ("f32", "u32", "s32", "b32"):
        raise UnsupportedInstruction(instruction.text)
    handle, coordinates, layer = _place(code, instruction.operands[1], modifiers[0], instruction.text)
    by_index, is_cube = modifiers[3] == "s32", modifiers[0].endswith("cube")
    if not by_index and modifiers[3] != "f32":
        raise UnsupportedInstruction(instruction.text)
    # Without mipmaps there is but one level; an offset of texels is another matter.
    if len(instruction.operands) > 2 and "level" not in instruction.modifiers:
        raise UnsupportedInstruction(instruction.text, reason="an offset")
    target = instruction.operands[0]
    assert isinstance(target, Vector)
    indices = [element.index if isinstance(element, Register) else None for element in target.elements]

    def step(group: Group) -> None:
        texture: Texture | None = _image(group, handle(group), Texture, instruction)
        if texture is None:
            bits: Array = np.zeros((1, 4), np.uint32)
        elif by_index:
            bits = texture.fetch([as_array(get(group), _INT) for get in coordinates])
        else:
            number = None if layer is None else as_array(layer(group), _INT)
            read = texture.read_cube if is_cube else texture.read
            bits = read([as_array(get(group), _FLOAT) for get in coordinates], number)
        for channel, index in enumerate(indices):
            if index is not None:
                values = np.ascontiguousarray(bits[:, channel])
                group.registers[index] = from_array(values, group.lanes, code.register_bytes[index])

    return step


def _surface(
    code: Code, instruction: Instruction, data: Operand, where: Operand
) -> tuple[Callable[[Group], tuple[Surface, Array, Array] | None], int, tuple[Operand, ...]]:
    """A surface access as a function from a group to (surface, byte of each lane, whether it is inside), None where
    there is no such surface; bytes of an element; operands of the elements."""
    modifiers = instruction.modifiers
    kinds = [m for m in modifiers if m in _ELEMENT_BYTES]
    geometry = [m for m in modifiers if m in _DIMENSIONS]
    mode = modifiers[-1]
    if modifiers[0] != "b" or len(kinds) != 1 or len(geometry) != 1 or mode not in ("trap", "clamp", "zero"):
        raise UnsupportedInstruction(instruction.text)
    element_bytes = _ELEMENT_BYTES[kinds[0]]
    elements = data.elements if isinstance(data, Vector) else (data,)
    width = element_bytes * len(elements)
    handle, coordinates, layer = _place(code, where, geometry[0], instruction.text)

    def locate(group: Group) -> tuple[Surface, Array, Array] | None:
        surface: Surface | None = _image(group, handle(group), Surface, instruction)
        if surface is None:
            return None
        positions = [np.broadcast_to(as_array(get(group), _INT), (group.lanes.n,)) for get in coordinates]
        none = np.zeros(group.lanes.n, np.int64)
        x, y, z = (*positions, none, none)[:3]
        if layer is not None:
            z = np.broadcast_to(as_array(layer(group), _INT), (group.lanes.n,))
        places, inside = surface.place(x, y, z, width, mode)
        if mode == "trap" and not inside.all():
            _report(group, instruction, "outside_surface", np.flatnonzero(~inside), width)
        return surface, places, inside

    return locate, element_bytes, elements


def _suld(code: Code, instruction: Instruction) -> Step:
    data, where = instruction.operands
    locate, size, elements = _surface(code, instruction, data, where)
    indices = [element.index if isinstance(element, Register) else None for element in elements]

    def step(group: Group) -> None:
        located = locate(group)
        raw: Array = np.zeros((group.lanes.n, size * len(indices)), np.uint8)
        if located is not None:
            surface, places, inside = located
            bytes_of = places[:, None] + np.arange(raw.shape[1])
            raw[inside] = surface.image.storage.data[bytes_of[inside]]
        values = raw.view(UNSIGNED[size])
        for number, index in enumerate(indices):
            if index is not None:
                column = np.ascontiguousarray(values[:, number])
                group.registers[index] = from_array(column, group.lanes, code.register_bytes[index])

    return step


def _sust(code: Code, instruction: Instruction) -> Step:
    where, data = instruction.operands
    locate, size, elements = _surface(code, instruction, data, where)
    readers = [getter(code, element, size) for element in elements]

    def step(group: Group) -> None:
        located = locate(group)
        if located is None:
            return
        surface, places, inside = located
        columns = [np.broadcast_to(as_array(get(group), UNSIGNED[size]), (group.lanes.n,)) for get in readers]
        raw = np.stack(columns, axis=1).view(np.uint8)
        targets = places[:, None] + np.arange(raw.shape[1])
        storage = surface.image.storage
        storage.data[targets[inside]] = raw[inside]
        storage.digest = None
        if storage.valid is not None:
            storage.valid[targets[inside]] = 1

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {"tex": _tex, "suld": _suld, "sust": _sust}
