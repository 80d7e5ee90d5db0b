"""Memory of two and three dimensions: pitched volumes and CUDA arrays, and copies of boxes from one to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.programs.device_memory import Allocation
from grader.programs.runtime.copies import D2D, D2H, DEFAULT, H2D, fill, transfer
from grader.programs.runtime.memory import allocate, release
from grader.programs.runtime.ordering import Place, Stream
from grader.programs.runtime.rows import Rows, checked
from grader.programs.runtime.state import CudaError, State


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


def malloc_array(
    state: State, place: Place, pointer: int, desc: int, width: int, height: int, depth: int, flags: int
) -> int:
    channels = state.guest.unpack("iiiii", desc)
    bits = channels[:4]
    if width <= 0 or min(height, depth) < 0 or any(b not in (0, 8, 16, 32) for b in bits) or not bits[0]:
        raise CudaError(1)
    element = sum(bits) // 8
    size = width * max(1, height) * max(1, depth) * element
    allocation = allocate(state, pointer, size, place, "array")
    state.arrays[allocation.base] = CudaArray(allocation, element, width, height, depth, channels, flags)
    return 0


def array_at(state: State, handle: int) -> CudaArray:
    """The array of a handle.  Raises CudaError 400 where there is none."""
    array: CudaArray | None = state.arrays.get(handle)
    if array is None:
        raise CudaError(400)
    return array


def free_array(state: State, place: Place, handle: int) -> int:
    if handle == 0:
        return 0
    array = array_at(state, handle)
    state.wait_for_all()
    del state.arrays[handle]
    release(state, array.allocation, place)
    return 0


@dataclass(frozen=True, slots=True)
class _Box:
    """One side of a copy: where it begins, and how far apart its rows and its slices are."""

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


def memcpy_3d(state: State, place: Place, parameters: int, stream: int, blocking: int) -> int:
    return prepared_3d(state, place, parameters, blocking=bool(blocking))(stream)


def prepared_3d(state: State, place: Place, parameters: int, *, blocking: bool = False) -> Callable[[int], int]:
    """A copy whose parameters are read now, to be made in any stream.

    Raises
    ------
    CudaError : they make no copy.
    """
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

    def copied(stream: int) -> int:
        if not width or not height or not depth:
            return 0
        queue = state.stream(stream)
        rows = _rows(state, boxes[0], boxes[1], width * unit, height, depth)
        ends = boxes[0].address, boxes[1].address
        return transfer(state, *ends, rows, fields[19], queue, place, blocking=blocking, reaches_arrays=True)

    return copied


def memset_3d(state: State, place: Place, pitched: int, value: int, extent: int, stream: int) -> int:
    address, pitch, _width, rows = state.guest.unpack("Qqqq", pitched)
    width, height, depth = state.guest.unpack("qqq", extent)
    box = _Box(address, pitch, pitch * rows)
    rows = _rows(state, box, box, width, height, depth)
    return fill(state, address, value, rows, state.stream(stream), place)


def _to_array(
    state: State, place: Place, handle: int, x: int, y: int, source: _Box, width: int, height: int, kind: int
) -> int:
    if kind not in (H2D, D2D, DEFAULT):
        raise CudaError(21)
    box = _array_box(array_at(state, handle), x, y, 0, width, height, 1)
    rows = _rows(state, box, source, width, height, 1)
    return transfer(
        state, box.address, source.address, rows, kind, _legacy(state), place, blocking=True, reaches_arrays=True
    )


def _from_array(
    state: State, place: Place, handle: int, x: int, y: int, to: _Box, width: int, height: int, kind: int
) -> int:
    if kind not in (D2H, D2D, DEFAULT):
        raise CudaError(21)
    box = _array_box(array_at(state, handle), x, y, 0, width, height, 1)
    rows = _rows(state, to, box, width, height, 1)
    return transfer(
        state, to.address, box.address, rows, kind, _legacy(state), place, blocking=True, reaches_arrays=True
    )


def _legacy(state: State) -> Stream:
    return state.streams[0]


def memcpy_2d_to_array(
    state: State, place: Place, to: int, x: int, y: int, source: int, pitch: int, width: int, height: int, kind: int
) -> int:
    return _to_array(state, place, to, x, y, _Box(source, pitch, 0), width, height, kind)


def memcpy_2d_from_array(
    state: State, place: Place, to: int, pitch: int, source: int, x: int, y: int, width: int, height: int, kind: int
) -> int:
    return _from_array(state, place, source, x, y, _Box(to, pitch, 0), width, height, kind)


def _as_rows(array: CudaArray, x: int, size: int) -> tuple[int, int]:
    """Width and height of so many bytes from the beginning of a row, whole rows of them."""
    if size <= array.row_bytes - x:
        return size, 1
    if x or size % array.row_bytes:
        raise CudaError(1)
    return array.row_bytes, size // array.row_bytes


def memcpy_to_array(state: State, place: Place, to: int, x: int, y: int, source: int, size: int, kind: int) -> int:
    width, height = _as_rows(array_at(state, to), x, size)
    return _to_array(state, place, to, x, y, _Box(source, width, 0), width, height, kind)


def memcpy_from_array(state: State, place: Place, to: int, source: int, x: int, y: int, size: int, kind: int) -> int:
    width, height = _as_rows(array_at(state, source), x, size)
    return _from_array(state, place, source, x, y, _Box(to, width, 0), width, height, kind)


HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    "cudaMallocArray": ("iiiiii", malloc_array),
    "cudaFreeArray": ("i", free_array),
    "cudaMemcpy3D": ("iii", memcpy_3d),
    "cudaMemset3D": ("iiii", memset_3d),
    "cudaMemcpy2DToArray": ("iiiiiiii", memcpy_2d_to_array),
    "cudaMemcpy2DFromArray": ("iiiiiiii", memcpy_2d_from_array),
    "cudaMemcpyToArray": ("iiiiii", memcpy_to_array),
    "cudaMemcpyFromArray": ("iiiiii", memcpy_from_array),
}
