"""CUDA arrays, textures and surfaces; copies of three dimensions.

An array is memory of the device with its rows one behind the other; its handle is its address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.message import msg
from grader.programs.emulated import Allocation
from grader.programs.runtime.copies import D2D, transfer
from grader.programs.runtime.memory import allocate, release
from grader.programs.runtime.state import CudaError, Place, State
from grader.ptx.memory.textures import BORDER, Format, Image, Surface, Texture

INVALID_VALUE, INVALID_CHANNEL, INVALID_HANDLE, NOT_SUPPORTED = 1, 20, 400, 801
LAYERED, SURFACE = 1, 2
_KINDS = {0: "signed", 1: "unsigned", 2: "float"}
_ARRAY, _MIPMAPPED, _LINEAR, _PITCHED = range(4)
MAX_OBJECTS = 20_000


@dataclass(frozen=True, slots=True)
class CudaArray:
    """An array that the program made; height and depth are at least 1."""

    memory: Allocation
    format: Format
    width: int
    height: int
    depth: int
    flags: int

    @property
    def row_bytes(self) -> int:
        """From one row to the next."""
        return self.width * self.format.texel_bytes

    def image(self) -> Image:
        """As kernels see it."""
        slice_bytes = self.row_bytes * self.height
        shape = (self.width, self.height, self.depth, self.row_bytes, slice_bytes)
        return Image(self.memory.array, 0, self.format, *shape, layered=bool(self.flags & LAYERED))


def _format(state: State, description: int) -> Format:
    *bits, kind = state.guest.unpack("iiiii", description)
    used = [b for b in bits if b]
    whole = used == bits[: len(used)] and len(used) in (1, 2, 4) and len(set(used)) == 1
    if not whole or used[0] not in (8, 16, 32) or kind not in _KINDS or (kind == 2 and used[0] == 8):
        raise CudaError(INVALID_CHANNEL)
    return Format(_KINDS[kind], used[0], len(used))


def _new_array(
    state: State, place: Place, pointer: int, description: int, extent: tuple[int, int, int], flags: int
) -> int:
    kind = _format(state, description)
    width, height, depth = extent
    if width <= 0 or min(height, depth) < 0 or max(extent) > 1 << 20 or flags & ~(LAYERED | SURFACE):
        raise CudaError(INVALID_VALUE)
    size = width * max(1, height) * max(1, depth) * kind.texel_bytes
    memory = allocate(state, pointer, size, place, "array")
    state.arrays[memory.base] = CudaArray(memory, kind, width, max(1, height), max(1, depth), flags)
    return 0


def malloc_array(
    state: State, place: Place, pointer: int, description: int, width: int, height: int, flags: int
) -> int:
    return _new_array(state, place, pointer, description, (width, height, 0), flags)


def malloc_3d_array(state: State, place: Place, pointer: int, description: int, extent: int, flags: int) -> int:
    width, height, depth = state.guest.unpack("qqq", extent)
    if flags & LAYERED and depth == 0:
        raise CudaError(INVALID_VALUE)
    return _new_array(state, place, pointer, description, (width, height, depth), flags)


def free_array(state: State, place: Place, handle: int) -> int:
    if handle == 0:
        return 0
    state.wait_for_all()
    release(state, _array(state, handle).memory, place)
    del state.arrays[handle]
    return 0


def _array(state: State, handle: int) -> CudaArray:
    found: CudaArray | None = state.arrays.get(handle)
    if found is None:
        raise CudaError(INVALID_HANDLE)
    return found


# -- copies ----------------------------------------------------------------------------------


def _rows(
    array: CudaArray, x_bytes: int, y: int, pitch: int, width: int, height: int, place: Place, state: State
) -> list[tuple[int, int]]:
    """(offset in the array, offset in the other memory) of each row that is copied."""
    if min(x_bytes, y, pitch, width, height) < 0 or (height > 1 and width > pitch):
        raise CudaError(INVALID_VALUE)
    if x_bytes + width > array.row_bytes or y + height > array.height:
        message = msg(
            "programs.copy_past_array",
            array=array.memory.name,
            width=array.row_bytes,
            height=array.height,
            right=x_bytes + width,
            bottom=y + height,
        )
        raise CudaError(INVALID_VALUE, state.tell("copy_size", "error", message, place))
    return [((y + row) * array.row_bytes + x_bytes, row * pitch) for row in range(height)]


def to_array_2d(
    state: State,
    place: Place,
    handle: int,
    x_bytes: int,
    y: int,
    source: int,
    pitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int = 0,
) -> int:
    array = _array(state, handle)
    found = _rows(array, x_bytes, y, pitch, width, height, place, state)
    rows = [(inside, outside, width) for inside, outside in found]
    return transfer(state, array.memory.base, source, rows, kind, state.stream(stream), True, place)


def from_array_2d(
    state: State,
    place: Place,
    to: int,
    pitch: int,
    handle: int,
    x_bytes: int,
    y: int,
    width: int,
    height: int,
    kind: int,
    stream: int = 0,
) -> int:
    array = _array(state, handle)
    found = _rows(array, x_bytes, y, pitch, width, height, place, state)
    rows = [(outside, inside, width) for inside, outside in found]
    return transfer(state, to, array.memory.base, rows, kind, state.stream(stream), True, place)


def to_array(
    state: State, place: Place, handle: int, x_bytes: int, y: int, source: int, size: int, kind: int, stream: int = 0
) -> int:
    array = _array(state, handle)
    start = y * array.row_bytes + x_bytes
    if min(x_bytes, y, size) < 0:
        raise CudaError(INVALID_VALUE)
    return transfer(state, array.memory.base, source, [(start, 0, size)], kind, state.stream(stream), True, place)


def from_array(
    state: State, place: Place, to: int, handle: int, x_bytes: int, y: int, size: int, kind: int, stream: int = 0
) -> int:
    array = _array(state, handle)
    start = y * array.row_bytes + x_bytes
    if min(x_bytes, y, size) < 0:
        raise CudaError(INVALID_VALUE)
    return transfer(state, to, array.memory.base, [(0, start, size)], kind, state.stream(stream), True, place)


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a copy of three dimensions: where it begins, and how far rows and slices are apart, in bytes."""

    base: int
    offset: int
    row_bytes: int
    slice_bytes: int
    room: tuple[int, int, int] | None
    texel_bytes: int


def _end(state: State, handle: int, position: tuple[int, int, int], pitched: tuple[int, int, int, int]) -> _End:
    x, y, z = position
    if bool(handle) == bool(pitched[0]) or min(position) < 0:
        raise CudaError(INVALID_VALUE)
    if handle:
        array = _array(state, handle)
        row, slice_bytes, texel = array.row_bytes, array.row_bytes * array.height, array.format.texel_bytes
        room = (array.width - x, array.height - y, array.depth - z)
        return _End(array.memory.base, z * slice_bytes + y * row + x * texel, row, slice_bytes, room, texel)
    pointer, pitch, _width, height = pitched
    if min(pitch, height) < 0:
        raise CudaError(INVALID_VALUE)
    slice_bytes = pitch * height
    return _End(pointer, z * slice_bytes + y * pitch + x, pitch, slice_bytes, None, 1)


def memcpy_3d(state: State, place: Place, parameters: int, stream: int = 0) -> int:
    """cudaMemcpy3DParms: an extent in elements where an array takes part, else in bytes."""
    given = state.guest.unpack("Q3q" + "Qqqq" + "Q3q" + "Qqqq" + "3q" + "i", parameters)
    source = _end(state, given[0], given[1:4], given[4:8])
    to = _end(state, given[8], given[9:12], given[12:16])
    width, height, depth = given[16:19]
    if min(width, height, depth) < 0 or height * depth > 1 << 22:
        raise CudaError(INVALID_VALUE)
    for end in (source, to):
        if end.room is not None and any(
            asked > room for asked, room in zip((width, height, depth), end.room, strict=True)
        ):
            raise CudaError(INVALID_VALUE)
    size = width * max(source.texel_bytes, to.texel_bytes)
    rows = [
        (
            to.offset + z * to.slice_bytes + y * to.row_bytes,
            source.offset + z * source.slice_bytes + y * source.row_bytes,
            size,
        )
        for z in range(depth)
        for y in range(height)
    ]
    return transfer(state, to.base, source.base, rows, given[19], state.stream(stream), True, place)


# -- objects ---------------------------------------------------------------------------------


def _image(state: State, resource: int, place: Place) -> tuple[Image, bool]:
    """What a cudaResourceDesc means, and whether it is linear memory, read by index."""
    (kind,) = state.guest.unpack("i", resource)
    if kind == _ARRAY:
        (handle,) = state.guest.unpack("Q", resource + 8)
        return _array(state, handle).image(), False
    if kind not in (_LINEAR, _PITCHED):
        raise CudaError(NOT_SUPPORTED)
    (address,) = state.guest.unpack("Q", resource + 8)
    texel = _format(state, resource + 16)
    if kind == _LINEAR:
        (size,) = state.guest.unpack("q", resource + 40)
        width, height, row_bytes = size // texel.texel_bytes, 1, size
    else:
        width, height, row_bytes = state.guest.unpack("qqq", resource + 40)
        size = (height - 1) * row_bytes + width * texel.texel_bytes
    memory = state.gpu.find(address)
    if memory is None or memory.host:
        raise CudaError(INVALID_VALUE, state.tell("bad_pointer", "error", msg("programs.unknown_pointer"), place))
    offset = address - memory.base
    if width <= 0 or height <= 0 or row_bytes < width * texel.texel_bytes or not 0 <= offset <= memory.size - size:
        raise CudaError(INVALID_VALUE)
    return Image(memory.array, offset, texel, width, height, 1, row_bytes, row_bytes * height), kind == _LINEAR


def create_texture(state: State, place: Place, pointer: int, resource: int, description: int, view: int) -> int:
    image, linear_memory = _image(state, resource, place)
    *modes, filtering, reading, _srgb = state.guest.unpack("6i", description)
    border = state.guest.unpack("4f", description + 24)
    (normalised,) = state.guest.unpack("i", description + 40)
    if view or any(not 0 <= mode <= BORDER for mode in modes) or filtering not in (0, 1) or reading not in (0, 1):
        raise CudaError(NOT_SUPPORTED if view else INVALID_VALUE)
    is_float = image.format.kind == "float"
    as_float = bool(reading) and not is_float
    if as_float and image.format.bits == 32:
        raise CudaError(INVALID_VALUE)
    if filtering and not (is_float or as_float):
        # What is read as integers cannot be filtered.
        raise CudaError(26)
    wanted = (modes[0], modes[1], modes[2])
    texture = Texture(image, wanted, bool(filtering), bool(normalised), as_float, border, linear_memory)
    state.guest.pack("Q", pointer, _register(state, texture))
    return 0


def create_surface(state: State, place: Place, pointer: int, resource: int) -> int:
    (kind,) = state.guest.unpack("i", resource)
    if kind != _ARRAY:
        raise CudaError(INVALID_VALUE)
    (handle,) = state.guest.unpack("Q", resource + 8)
    array = _array(state, handle)
    if not array.flags & SURFACE:
        message = msg("programs.array_without_surface", array=array.memory.name)
        raise CudaError(INVALID_VALUE, state.tell("api_error", "error", message, place))
    state.guest.pack("Q", pointer, _register(state, Surface(array.image())))
    return 0


def _register(state: State, thing: Texture | Surface) -> int:
    if len(state.gpu.textures) >= MAX_OBJECTS:
        raise CudaError(2)
    state.objects_made += 1
    state.gpu.textures[state.objects_made] = thing
    return state.objects_made


def destroy_object(state: State, place: Place, handle: int) -> int:
    if handle == 0:
        return 0
    if state.gpu.textures.pop(handle, None) is None:
        raise CudaError(INVALID_VALUE)
    return 0


def channel_desc(state: State, place: Place, description: int, handle: int) -> int:
    array = _array(state, handle)
    bits = [array.format.bits] * array.format.channels + [0] * (4 - array.format.channels)
    state.guest.pack("5i", description, *bits, next(k for k, name in _KINDS.items() if name == array.format.kind))
    return 0


def array_to_array(
    state: State,
    place: Place,
    to: int,
    to_x: int,
    to_y: int,
    source: int,
    from_x: int,
    from_y: int,
    width: int,
    height: int,
    kind: int,
) -> int:
    origin = _array(state, source)
    start = from_y * origin.row_bytes + from_x
    if min(from_x, from_y) < 0 or from_x + width > origin.row_bytes or from_y + height > origin.height:
        raise CudaError(INVALID_VALUE)
    return to_array_2d(state, place, to, to_x, to_y, source + start, origin.row_bytes, width, height, D2D)


HANDLERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "cudaMallocArray": ("iiiii", malloc_array),
    "cudaMalloc3DArray": ("iiii", malloc_3d_array),
    "cudaFreeArray": ("i", free_array),
    "cudaMemcpy2DToArray": ("iiiiiiii", to_array_2d),
    "cudaMemcpy2DToArrayAsync": ("iiiiiiiii", to_array_2d),
    "cudaMemcpy2DFromArray": ("iiiiiiii", from_array_2d),
    "cudaMemcpy2DFromArrayAsync": ("iiiiiiiii", from_array_2d),
    "cudaMemcpy2DArrayToArray": ("iiiiiiiii", array_to_array),
    "cudaMemcpyToArray": ("iiiiii", to_array),
    "cudaMemcpyFromArray": ("iiiiii", from_array),
    "cudaMemcpy3D": ("i", memcpy_3d),
    "cudaMemcpy3DAsync": ("ii", memcpy_3d),
    "cudaCreateTextureObject": ("iiii", create_texture),
    "cudaDestroyTextureObject": ("i", destroy_object),
    "cudaCreateSurfaceObject": ("ii", create_surface),
    "cudaDestroySurfaceObject": ("i", destroy_object),
    "cudaGetChannelDesc": ("ii", channel_desc),
}
