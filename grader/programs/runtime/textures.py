"""Texture and surface objects over CUDA arrays, pitched and linear memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.message import msg
from grader.programs.device import Unsupported
from grader.programs.runtime.arrays import CudaArray, array_at
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import CudaError, ProgramEnded, State
from grader.ptx.textures import BORDER, Format, Image, Surface, Texture

INVALID_VALUE, INVALID_CHANNEL, INVALID_FILTER, NOT_SUPPORTED = 1, 20, 26, 801
LAYERED, SURFACE = 1, 2
_KINDS = {0: "signed", 1: "unsigned", 2: "float"}
_ARRAY, _MIPMAPPED, _LINEAR, _PITCHED = range(4)
MAX_OBJECTS = 20_000


def _format(channels: Sequence[int]) -> Format:
    """What a cudaChannelFormatDesc means."""
    *bits, kind = channels
    used = [b for b in bits if b]
    whole = used == bits[: len(used)] and len(used) in (1, 2, 4) and len(set(used)) == 1
    if not whole or used[0] not in (8, 16, 32) or kind not in _KINDS or (kind == 2 and used[0] == 8):
        raise CudaError(INVALID_CHANNEL)
    return Format(_KINDS[kind], used[0], len(used))


def _of_array(array: CudaArray) -> Image:
    slice_bytes = array.row_bytes * max(1, array.height)
    shape = (array.width, max(1, array.height), max(1, array.depth), array.row_bytes, slice_bytes)
    layered = bool(array.flags & LAYERED)
    return Image(array.allocation.array, 0, _format(array.channels), *shape, layered=layered)


def _image(state: State, resource: int, place: Place) -> tuple[Image, bool]:
    """What a cudaResourceDesc means, and whether it is linear memory, read by index."""
    (kind,) = state.guest.unpack("i", resource)
    if kind == _ARRAY:
        (handle,) = state.guest.unpack("Q", resource + 8)
        return _of_array(array_at(state, handle)), False
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
        raise CudaError(INVALID_FILTER)
    wanted = (modes[0], modes[1], modes[2])
    texture = Texture(image, wanted, bool(filtering), bool(normalised), as_float, border, linear_memory)
    state.guest.pack("Q", pointer, _register(state, texture))
    return 0


def create_surface(state: State, place: Place, pointer: int, resource: int) -> int:
    (kind,) = state.guest.unpack("i", resource)
    if kind != _ARRAY:
        raise CudaError(INVALID_VALUE)
    (handle,) = state.guest.unpack("Q", resource + 8)
    array = array_at(state, handle)
    if not array.flags & SURFACE:
        message = msg("programs.array_without_surface", array=array.allocation.name)
        raise CudaError(INVALID_VALUE, state.tell("api_error", "error", message, place))
    state.guest.pack("Q", pointer, _register(state, Surface(_of_array(array))))
    return 0


def _register(state: State, thing: Texture | Surface) -> int:
    if len(state.gpu.textures) >= MAX_OBJECTS:
        raise CudaError(2)
    state.objects_made += 1
    try:
        state.gpu.textures[state.objects_made] = thing
    except Unsupported as error:
        raise ProgramEnded(msg("programs.not_on_card", what=str(error))) from error
    return state.objects_made


def destroy_object(state: State, place: Place, handle: int) -> int:
    if handle == 0:
        return 0
    if state.gpu.textures.pop(handle, None) is None:
        raise CudaError(INVALID_VALUE)
    return 0


def channel_desc(state: State, place: Place, description: int, handle: int) -> int:
    state.guest.pack("5i", description, *array_at(state, handle).channels)
    return 0


HANDLERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "cudaCreateTextureObject": ("iiii", create_texture),
    "cudaDestroyTextureObject": ("i", destroy_object),
    "cudaCreateSurfaceObject": ("ii", create_surface),
    "cudaDestroySurfaceObject": ("i", destroy_object),
    "cudaGetChannelDesc": ("ii", channel_desc),
}
