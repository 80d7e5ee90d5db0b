"""Memory of the emulated device: arrays with exact bounds, each far from the next.

Addresses are made so that an index slip never lands in another array by accident: device buffers
lie 2^36 bytes apart, shared and local arrays 2^20.  Storage is compact all the same.  Generic
64-bit pointers carry shared and local memory in windows of their own.

    global, constant   slot << 36 | 1 << 35
    shared (32 bits)   slot << 20 | 1 << 19            generic: SHARED_WINDOW + that
    local              slot << 20 | 1 << 19            generic: LOCAL_WINDOW + that
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.values import SIGNED, UNSIGNED, Array, Lanes, Shifted, Value, Vec, remember, split_shift

GLOBAL_SPACING = 36
WINDOW_SPACING = 20
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
WINDOW_BYTES = 1 << 32
FUNCTION_WINDOW = 1 << 59


class MemoryArray:
    """A contiguous piece of memory with a name: a device buffer, a shared array, a local variable.

    base: address of its first byte in its space.  size: its bytes.
    data: flat uint8 storage; row r (a block's copy of a shared array, a thread's copy of a local one)
    starts at byte `storage + r·row_bytes`.  `rows` says what numbers the rows: "" (one copy), "block", "lane".
    valid: uint8 flags like `data`, 1 where something was written; None when all of it was initialised.
    """

    __slots__ = ("base", "data", "name", "read_only", "row_bytes", "rows", "size", "space", "storage", "valid", "views")

    def __init__(
        self,
        name: str,
        space: str,
        base: int,
        size: int,
        data: Array,
        *,
        storage: int = 0,
        row_bytes: int = 0,
        rows: str = "",
        valid: Array | None = None,
        read_only: bool = False,
    ) -> None:
        self.name = name
        self.space = space
        self.base = base
        self.size = size
        self.data = data
        self.storage = storage
        self.row_bytes = row_bytes
        self.rows = rows
        self.valid = valid
        self.read_only = read_only
        self.views: dict[Any, Array] = {}

    def view(self, dtype: np.dtype[Any]) -> Array:
        """The whole storage as elements of `dtype`."""
        found = self.views.get(dtype)
        if found is None:
            found = self.views[dtype] = self.data.view(dtype)
        return found

    def row_starts(self, lanes: Lanes, element_bytes: int) -> Array | None:
        """(n,) index of each lane's row in elements, or None for a single copy."""
        if not self.rows:
            return None
        key = ("rows", self.rows, self.row_bytes, element_bytes)
        found = lanes.memo.get(key)
        if found is None:
            number = lanes.blocks if self.rows == "block" else lanes.ids
            found = remember(lanes.memo, key, number * (self.row_bytes // element_bytes))
        return found


class Buffer:
    """A device buffer that the host can write and read; made by `Device.buffer`."""

    def __init__(self, array: MemoryArray, device: Device) -> None:
        self.memory = array
        self.device = device

    @property
    def address(self) -> int:
        """What a kernel gets as a pointer."""
        return self.memory.base

    def read(self, dtype: Any, shape: tuple[int, ...] | int = -1) -> Array:
        """A copy of the contents, as `dtype` in `shape`."""
        return self.memory.data[: self.memory.size].view(dtype).reshape(shape).copy()

    def write(self, array: Array) -> None:
        """Copy host data to the start of the buffer, which counts as initialised from then on.

        Raises ValueError when the data is larger than the buffer.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if len(raw) > self.memory.size:
            raise ValueError(f"{len(raw)} bytes do not fit in buffer {self.memory.name!r} of {self.memory.size} bytes")
        self.memory.data[: len(raw)] = raw
        if self.memory.valid is not None:
            self.memory.valid[: len(raw)] = 1

    def written(self) -> Array:
        """(size,) bool: which bytes the host or a kernel has written."""
        if self.memory.valid is None:
            return np.ones(self.memory.size, np.bool_)
        return self.memory.valid[: self.memory.size].view(np.bool_).copy()


POISON = 0xA5


class Device:
    """Global memory: buffers live as long as the device.

    >>> import numpy as np
    >>> device = Device()
    >>> source = device.buffer("source", np.arange(4, dtype=np.float32))
    >>> target = device.buffer("target", 16)
    >>> target.written().any()
    np.False_
    """

    def __init__(self) -> None:
        self.arrays: list[MemoryArray | None] = [None]
        self.modules: dict[int, Any] = {}
        """Modules loaded on this device, by identity (see `grader.ptx.launch.linked`)."""

    def buffer(self, name: str, contents: Array | int, *, initialised: bool | None = None) -> Buffer:
        """Allocate a buffer.

        contents: an array to copy in, or a number of bytes of memory that nothing has written (filled with 0xA5,
        so that a kernel which reads it computes nonsense).  `initialised` overrides whether it counts as written.
        """
        if isinstance(contents, int):
            size, raw = contents, None
        else:
            raw = np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
            size = len(raw)
        if initialised is None:
            initialised = raw is not None
        return Buffer(self.allocate(name, "global", size, raw, initialised), self)

    def allocate(
        self, name: str, space: str, size: int, initial: Array | None, initialised: bool, read_only: bool = False
    ) -> MemoryArray:
        """A new array of global or constant memory, 256-byte aligned."""
        data = np.full(-(-size // 16) * 16, POISON, np.uint8)
        if initial is not None:
            data[: len(initial)] = initial
        valid = None if initialised else np.zeros(len(data), np.uint8)
        base = len(self.arrays) << GLOBAL_SPACING | 1 << (GLOBAL_SPACING - 1)
        array = MemoryArray(name, space, base, size, data, valid=valid, read_only=read_only)
        self.arrays.append(array)
        return array

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        slot = address >> GLOBAL_SPACING
        return self.arrays[slot] if 0 < slot < len(self.arrays) else None


class Window:
    """The shared arrays of a chunk's blocks, or the local variables of its threads."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.arrays: list[MemoryArray | None] = [None]

    def next_base(self) -> int:
        """The address the next array gets."""
        return len(self.arrays) << WINDOW_SPACING | 1 << (WINDOW_SPACING - 1)

    def find(self, address: int) -> MemoryArray | None:
        slot = address >> WINDOW_SPACING
        return self.arrays[slot] if 0 < slot < len(self.arrays) else None


def shared_window(sizes: list[tuple[str, int] | None], blocks: int) -> Window:
    """Shared memory of `blocks` blocks: an array in each slot that has a (name, bytes).

    Every array starts at a multiple of 128 bytes of its block's storage, that is at bank 0.
    """
    window = Window("shared")
    offsets, total = [], 0
    for entry in sizes:
        offsets.append(total)
        total += -(-entry[1] // 128) * 128 if entry else 0
    row_bytes = max(total, 128)
    data = np.full(blocks * row_bytes, POISON, np.uint8)
    valid = np.zeros(blocks * row_bytes, np.uint8)
    for entry, offset in zip(sizes, offsets, strict=True):
        array = None
        if entry:
            array = MemoryArray(
                entry[0],
                "shared",
                window.next_base(),
                entry[1],
                data,
                storage=offset,
                row_bytes=row_bytes,
                rows="block",
                valid=valid,
            )
        window.arrays.append(array)
    return window


def local_array(window: Window, name: str, size: int, lane_count: int) -> MemoryArray:
    """A local variable: one copy for each lane of the chunk."""
    row_bytes = -(-max(size, 1) // 16) * 16
    data = np.zeros(lane_count * row_bytes, np.uint8)
    array = MemoryArray(name, "local", window.next_base(), size, data, row_bytes=row_bytes, rows="lane")
    window.arrays.append(array)
    return array


class Place:
    """Where one access of one set of lanes goes: all of it inside one array, aligned.

    `vec` + `shift` is the byte offset of each lane within the array; `vec` None means every lane has offset `shift`.
    """

    __slots__ = ("array", "lanes", "shift", "vec")

    def __init__(self, array: MemoryArray, vec: Vec | None, shift: int, lanes: Lanes) -> None:
        self.array = array
        self.vec = vec
        self.shift = shift
        self.lanes = lanes

    def offsets(self) -> Array:
        """(n,) int64 byte offsets within the array."""
        if self.vec is None:
            return np.full(self.lanes.n, self.shift, np.int64)
        return as_int64(self.vec) + self.shift

    def index(self, element_bytes: int) -> tuple[Array | int, int]:
        """(indices, start): lane i's first element is element indices[i] + start of `array.view(...)`.

        `indices` is the int 0 when one element serves all lanes.
        """
        array = self.array
        rows = array.row_starts(self.lanes, element_bytes)
        if self.vec is None:
            return (0 if rows is None else rows), (array.storage + self.shift) // element_bytes
        low, high = self.vec.signed_bounds()
        start = (array.storage + low + self.shift) // element_bytes
        if low == high and rows is None:
            return 0, start
        key = ("index", array.rows, array.row_bytes, element_bytes)
        indices = self.vec.memo.get(key)
        if indices is None:
            indices = (as_int64(self.vec) - low) // element_bytes
            if rows is not None:
                indices = indices + rows
            remember(self.vec.memo, key, indices)
        return indices, start


def as_int64(vec: Vec) -> Array:
    """The elements sign-extended to 64 bits (addresses are small, so offsets may be negative)."""
    found = vec.memo.get("int64")
    if found is None:
        found = remember(vec.memo, "int64", vec.array.view(SIGNED[vec.dtype.itemsize]).astype(np.int64))
    return found


Space = Device | Window


def locate(space: Space, address: Value, offset: int, width: int, lanes: Lanes) -> Place | None:
    """The place of an access of `width` bytes at `address` + `offset`, or None when it is not all right.

    None means that some lane is out of bounds or misaligned, or that lanes address different arrays.
    """
    if not isinstance(address, (Vec, Shifted)):
        start = address + offset
        array = space.find(start)
        if array is None or start < array.base or start + width > array.base + array.size or start % width:
            return None
        return Place(array, None, start - array.base, lanes)
    vec, shift = split_shift(address)
    shift += offset
    low, high = vec.signed_bounds()
    array = space.find(low + shift)
    if array is None or low + shift < array.base or high + shift + width > array.base + array.size:
        return None
    if width > 1:
        residue = vec.memo.get("residue")
        if residue is None:
            # The low four bits decide alignment up to 16 bytes: those of the first lane, and which ones differ.
            bits = vec.array.view(UNSIGNED[vec.dtype.itemsize])
            differing_bits = int(np.bitwise_or.reduce(bits ^ bits[0])) & 15
            residue = remember(vec.memo, "residue", (int(bits[0]) & 15, differing_bits))
        first, differing = residue
        if differing & (width - 1) or (first + shift) & (width - 1):
            return None
    return Place(array, vec, shift - array.base, lanes)


class Fault:
    """Lanes of one access that must not happen: all with the same reason in the neighbourhood of one array.

    detail: "before", "after", "misaligned" or "unmapped" (array None).  positions: of the lanes within the access.
    offsets: (n,) int64 byte offsets in the array (addresses when unmapped).
    """

    __slots__ = ("array", "detail", "offsets", "positions")

    def __init__(self, array: MemoryArray | None, detail: str, positions: Array, offsets: Array) -> None:
        self.array = array
        self.detail = detail
        self.positions = positions
        self.offsets = offsets


def _signed_64(number: int) -> int:
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def scatter(
    space: Space, address: Value, offset: int, width: int, lanes: Lanes
) -> tuple[list[tuple[Array, Place]], list[Fault]]:
    """What `locate` refused, taken apart: (positions, place) of the lanes that are all right, and the faults."""
    if isinstance(address, (Vec, Shifted)):
        vec, shift = split_shift(address)
        full = as_int64(vec) + _signed_64(shift + offset)
        if vec.bits == 32:
            full &= (1 << 32) - 1
    else:
        full = np.full(lanes.n, _signed_64(address + offset), np.int64)
    spacing = GLOBAL_SPACING if isinstance(space, Device) else WINDOW_SPACING
    slots = full >> spacing
    places: list[tuple[Array, Place]] = []
    faults: list[Fault] = []
    for slot in np.unique(slots).tolist():
        positions = np.flatnonzero(slots == slot)
        addresses = full[positions]
        array = space.find(slot << spacing)
        if array is None:
            faults.append(Fault(None, "unmapped", positions, addresses))
            continue
        offsets = addresses - array.base
        after = offsets + width > array.size
        before = offsets < 0
        misaligned = ~before & ~after & (addresses % width != 0)
        for detail, mask in (("before", before), ("after", after & ~before), ("misaligned", misaligned)):
            if mask.any():
                faults.append(Fault(array, detail, positions[mask], offsets[mask]))
        good = ~(before | after | misaligned)
        if good.any():
            kept = positions[good]
            subset = lanes if len(kept) == lanes.n else lanes.select(kept)
            places.append((kept, Place(array, Vec(offsets[good], subset), 0, subset)))
    return places, faults
