"""Memory of two and three dimensions: pitched volumes and CUDA arrays, copies of boxes from one to another, and texture
and surface objects over arrays, pitched and linear memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.message import msg
from grader.programs.device import Unsupported
from grader.programs.device_memory import Allocation
from grader.programs.runtime.copies import D2D, D2H, DEFAULT, H2D, Copy, Rows, checked, fill, transfer
from grader.programs.runtime.memory import allocate, release
from grader.programs.runtime.ordering import Place, Work
from grader.programs.runtime.state import CudaError, Handlers, ProgramEnded, State
from grader.ptx.lowering.textures import BORDER, Format, Image, Surface, Texture


@dataclass(frozen=True, slots=True)
class CudaArray:
    """A CUDA array: rows of `row_bytes`, of `width` elements; `height` and `depth` are 0 where it has none.

    channels: the fields of its cudaChannelFormatDesc.  flags: as in cudaMalloc3DArray.
    """

    allocation: Allocation
    element_bytes: int
    width: int
    height: int
    depth: int
    channels: tuple[int, ...]
    flags: int

    @property
    def row_bytes(self) -> int:
        """Nothing lies between rows."""
        return self.width * self.element_bytes


def malloc_array(state: State, place: Place, pointer: int, desc: int, *numbers: int) -> None:
    """numbers: width, height, depth, flags."""
    width, height, depth, flags = numbers
    channels = state.guest.unpack("iiiii", desc)
    bits = channels[:4]
    if width <= 0 or min(height, depth) < 0 or any(b not in (0, 8, 16, 32) for b in bits) or not bits[0]:
        raise CudaError(1)
    element = sum(bits) // 8
    size = width * max(1, height) * max(1, depth) * element
    allocation = allocate(state, pointer, size, place, "array")
    state.arrays[allocation.base] = CudaArray(allocation, element, width, height, depth, channels, flags)


def array_at(state: State, handle: int) -> CudaArray:
    """Return the array of a handle.  Raises CudaError 400 where there is none."""
    array: CudaArray | None = state.arrays.get(handle)
    if array is None:
        raise CudaError(400)
    return array


def free_array(state: State, place: Place, handle: int) -> None:
    if handle == 0:
        return
    array = array_at(state, handle)
    state.wait_for_all()
    del state.arrays[handle]
    release(state, array.allocation, place)


@dataclass(frozen=True, slots=True)
class _Box:
    """One side of a copy: its first byte, and the distances between rows and between slices."""

    address: int
    row: int
    slice: int


def _rows(state: State, to: _Box, source: _Box, width: int, height: int, depth: int) -> Rows:
    rows = checked(state, Rows(width, height, depth, (to.row, to.slice), (source.row, source.slice)))
    if height > 1 and (width > to.row or width > source.row):
        raise CudaError(12)
    return rows


def _array_box(array: CudaArray, x_bytes: int, y: int, z: int, width: int, height: int, depth: int) -> _Box:
    rows, slices = max(1, array.height), max(1, array.depth)
    inside = x_bytes >= 0 and x_bytes + width <= array.row_bytes and y >= 0 and y + height <= rows
    if not inside or not z >= 0 or z + depth > slices:
        raise CudaError(1)
    start = (z * rows + y) * array.row_bytes + x_bytes
    return _Box(array.allocation.base + start, array.row_bytes, array.row_bytes * rows)


def memcpy_3d(state: State, place: Place, parameters: int, stream: int, blocking: int) -> int | None:
    return prepared_3d(state, place, parameters, blocking=bool(blocking))(stream)


def prepared_3d(state: State, place: Place, parameters: int, *, blocking: bool = False) -> Work:
    """Return a copy whose parameters are read now, to be made in any stream.  Raises CudaError: they make no copy."""
    fields = state.guest.unpack("Qqqq" + "Qqqq" + "Qqqq" + "Qqqq" + "qqq" + "i", parameters)
    source, to = fields[:8], fields[8:16]
    width, height, depth = fields[16:19]
    arrays = [array_at(state, side[0]) for side in (source, to) if side[0]]
    # Where an array takes part, widths count its elements (CUDA runtime API, cudaMemcpy3D).
    unit = arrays[0].element_bytes if arrays else 1
    boxes = []
    for side in (to, source):
        handle, x, y, z, address, pitch, _row, rows = side
        if handle:
            boxes.append(_array_box(array_at(state, handle), x * unit, y, z, width * unit, height, depth))
        elif address:
            boxes.append(_Box(address + z * pitch * rows + y * pitch + x, pitch, pitch * rows))
        else:
            raise CudaError(1)

    def copied(stream: int) -> None:
        if not width or not height or not depth:
            return
        queue = state.stream(stream)
        rows = _rows(state, boxes[0], boxes[1], width * unit, height, depth)
        ends = boxes[0].address, boxes[1].address
        transfer(state, Copy(*ends, rows, fields[19]), queue, place, blocking=blocking, reaches_arrays=True)

    return copied


def memset_3d(state: State, place: Place, pitched: int, value: int, extent: int, stream: int) -> None:
    address, pitch, _width, rows = state.guest.unpack("Qqqq", pitched)
    width, height, depth = state.guest.unpack("qqq", extent)
    box = _Box(address, pitch, pitch * rows)
    rows = _rows(state, box, box, width, height, depth)
    fill(state, address, value, rows, state.stream(stream), place)


Corner = tuple[int, int, int]
"""A place in a CUDA array: its handle, bytes along a row, and the row."""


def _copy_of_array(
    state: State, place: Place, corner: Corner, other: _Box, extent: tuple[int, int], kind: int, *, is_into: bool
) -> None:
    """Copy between an array and other memory; extent: width in bytes, and rows."""
    if kind not in (H2D if is_into else D2H, D2D, DEFAULT):
        raise CudaError(21)
    handle, x, y = corner
    box = _array_box(array_at(state, handle), x, y, 0, *extent, 1)
    to, source = (box, other) if is_into else (other, box)
    copy = Copy(to.address, source.address, _rows(state, to, source, *extent, 1), kind)
    transfer(state, copy, state.streams[0], place, blocking=True, reaches_arrays=True)


def memcpy_2d_to_array(state: State, place: Place, *numbers: int) -> None:
    """numbers: in the order of the runtime's, here and below."""
    to, x, y, source, pitch, width, height, kind = numbers
    _copy_of_array(state, place, (to, x, y), _Box(source, pitch, 0), (width, height), kind, is_into=True)


def memcpy_2d_from_array(state: State, place: Place, *numbers: int) -> None:
    to, pitch, source, x, y, width, height, kind = numbers
    _copy_of_array(state, place, (source, x, y), _Box(to, pitch, 0), (width, height), kind, is_into=False)


def _as_rows(array: CudaArray, x: int, size: int) -> tuple[int, int]:
    """Return width and height of `size` bytes from `x` on: a part of one row, or whole rows."""
    if size <= array.row_bytes - x:
        return size, 1
    if x or size % array.row_bytes:
        raise CudaError(1)
    return array.row_bytes, size // array.row_bytes


def memcpy_to_array(state: State, place: Place, *numbers: int) -> None:
    to, x, y, source, size, kind = numbers
    width, height = _as_rows(array_at(state, to), x, size)
    _copy_of_array(state, place, (to, x, y), _Box(source, width, 0), (width, height), kind, is_into=True)


def memcpy_from_array(state: State, place: Place, *numbers: int) -> None:
    to, source, x, y, size, kind = numbers
    width, height = _as_rows(array_at(state, source), x, size)
    _copy_of_array(state, place, (source, x, y), _Box(to, width, 0), (width, height), kind, is_into=False)


INVALID_VALUE, INVALID_CHANNEL, INVALID_FILTER, NOT_SUPPORTED = 1, 20, 26, 801
SURFACE = 2
_KINDS = {0: "signed", 1: "unsigned", 2: "float"}
_ARRAY, _MIPMAPPED, _LINEAR, _PITCHED = range(4)
MAX_OBJECTS = 20_000
_RESOURCE_BYTES, _DESCRIPTION_BYTES = 144, 72
"""Of cudaResourceDesc and cudaTextureDesc."""


def _format(channels: Sequence[int]) -> Format:
    *bits, kind = channels
    used = [b for b in bits if b]
    whole = used == bits[: len(used)] and len(used) in (1, 2, 4) and len(set(used)) == 1
    if not whole or used[0] not in (8, 16, 32) or kind not in _KINDS or (kind == 2 and used[0] == 8):
        raise CudaError(INVALID_CHANNEL)
    return Format(_KINDS[kind], used[0], len(used))


def _of_array(array: CudaArray) -> Image:
    slice_bytes = array.row_bytes * max(1, array.height)
    shape = (array.width, max(1, array.height), max(1, array.depth), array.row_bytes, slice_bytes)
    return Image(array.allocation.array, 0, _format(array.channels), *shape)


def _image(state: State, resource: int, place: Place) -> Image:
    """Return the image that a cudaResourceDesc describes."""
    (kind,) = state.guest.unpack("i", resource)
    if kind == _ARRAY:
        (handle,) = state.guest.unpack("Q", resource + 8)
        return _of_array(array_at(state, handle))
    if kind not in (_LINEAR, _PITCHED):
        raise CudaError(NOT_SUPPORTED)
    (address,) = state.guest.unpack("Q", resource + 8)
    texel = _format(state.guest.unpack("iiiii", resource + 16))
    if kind == _LINEAR:
        (size,) = state.guest.unpack("q", resource + 40)
        width, height, row_bytes = size // texel.texel_bytes, 1, size
    else:
        width, height, row_bytes = state.guest.unpack("qqq", resource + 40)
        size = (height - 1) * row_bytes + width * texel.texel_bytes
    memory = state.memory.find(address)
    if memory is None or memory.host:
        raise CudaError(INVALID_VALUE, state.tell("bad_pointer", "error", msg("programs.unknown_pointer"), place))
    offset = address - memory.base
    if width <= 0 or height <= 0 or row_bytes < width * texel.texel_bytes or not 0 <= offset <= memory.size - size:
        raise CudaError(INVALID_VALUE)
    return Image(memory.array, offset, texel, width, height, 1, row_bytes, row_bytes * height)


def create_texture(state: State, place: Place, pointer: int, resource: int, description: int, view: int) -> None:
    image = _image(state, resource, place)
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
        raise CudaError(INVALID_FILTER)
    wanted = (modes[0], modes[1], modes[2])
    texture = Texture(image, wanted, bool(filtering), bool(normalised), as_float, border)
    told = state.guest.read(resource, _RESOURCE_BYTES), state.guest.read(description, _DESCRIPTION_BYTES)
    state.guest.pack("Q", pointer, _register(state, texture, told))


def create_surface(state: State, place: Place, pointer: int, resource: int) -> None:
    (kind,) = state.guest.unpack("i", resource)
    if kind != _ARRAY:
        raise CudaError(INVALID_VALUE)
    (handle,) = state.guest.unpack("Q", resource + 8)
    array = array_at(state, handle)
    if not array.flags & SURFACE:
        message = msg("programs.array_without_surface", array=array.allocation.name)
        raise CudaError(INVALID_VALUE, state.tell("api_error", "error", message, place))
    told = state.guest.read(resource, _RESOURCE_BYTES), b""
    state.guest.pack("Q", pointer, _register(state, Surface(_of_array(array)), told))


def _register(state: State, thing: Texture | Surface, told: tuple[bytes, bytes]) -> int:
    if len(state.gpu.textures) >= MAX_OBJECTS:
        raise CudaError(2)
    state.objects_made.append(told)
    try:
        state.gpu.textures[len(state.objects_made)] = thing
    except Unsupported as error:
        raise ProgramEnded(msg("programs.not_on_card", what=str(error))) from error
    return len(state.objects_made)


def _description(number: int, is_texture: bool) -> Callable[[State, Place, int, int], None]:
    """Return a call that gives back what an object was made of: `number` 0 its resource, 1 how it is read."""

    def give(state: State, place: Place, pointer: int, handle: int) -> None:
        told = state.objects_made[handle - 1] if handle in state.gpu.textures else (b"", b"")
        if not pointer or not told[0] or bool(told[1]) != is_texture:
            raise CudaError(INVALID_VALUE)
        state.guest.write(pointer, told[number])

    return give


def destroy_object(state: State, place: Place, handle: int) -> None:
    if handle == 0:
        return
    if state.gpu.textures.pop(handle, None) is None:
        raise CudaError(INVALID_VALUE)
    state.objects_made[handle - 1] = b"", b""


def channel_desc(state: State, place: Place, description: int, handle: int) -> None:
    state.guest.pack("5i", description, *array_at(state, handle).channels)


def array_info(state: State, place: Place, description: int, extent: int, flags: int, handle: int) -> None:
    """Each of the pointers may be null."""
    array = array_at(state, handle)
    if description:
        state.guest.pack("5i", description, *array.channels)
    if extent:
        state.guest.pack("qqq", extent, array.width, array.height, array.depth)
    if flags:
        state.guest.pack("I", flags, array.flags)


HANDLERS: Handlers = {
    "cudaMallocArray": ("iiiiii", malloc_array),
    "cudaFreeArray": ("i", free_array),
    "cudaMemcpy3D": ("iii", memcpy_3d),
    "cudaMemset3D": ("iiii", memset_3d),
    "cudaMemcpy2DToArray": ("iiiiiiii", memcpy_2d_to_array),
    "cudaMemcpy2DFromArray": ("iiiiiiii", memcpy_2d_from_array),
    "cudaMemcpyToArray": ("iiiiii", memcpy_to_array),
    "cudaMemcpyFromArray": ("iiiiii", memcpy_from_array),
    "cudaCreateTextureObject": ("iiii", create_texture),
    "cudaDestroyTextureObject": ("i", destroy_object),
    "cudaCreateSurfaceObject": ("ii", create_surface),
    "cudaDestroySurfaceObject": ("i", destroy_object),
    "cudaGetTextureObjectResourceDesc": ("ii", _description(0, is_texture=True)),
    "cudaGetTextureObjectTextureDesc": ("ii", _description(1, is_texture=True)),
    "cudaGetSurfaceObjectResourceDesc": ("ii", _description(0, is_texture=False)),
    "cudaGetChannelDesc": ("ii", channel_desc),
    "cudaArrayGetInfo": ("iiii", array_info),
}
