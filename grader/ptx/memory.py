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

from grader.ptx.values import Array, Lanes, remember

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


POISON = 0xFF
"""Every byte of memory that nothing has written: NaN in every floating-point format."""


class Device:
    """Global memory: buffers live as long as the device.

    >>> import numpy as np
    >>> device = Device()
    >>> source = device.buffer("source", np.arange(4, dtype=np.float32))
    >>> target = device.buffer("target", 16)
    >>> target.written().any()
    np.False_
    """

    def __init__(self, poison: int = POISON) -> None:
        self.poison = poison
        """What every byte of memory that nothing has written holds; one for kernels without floats may be another."""
        self.arrays: list[MemoryArray | None] = [None]
        self.modules: dict[int, Any] = {}
        """Modules loaded on this device, by identity (see `grader.ptx.launch.linked`)."""

    def buffer(self, name: str, contents: Array | int, *, initialised: bool | None = None) -> Buffer:
        """Allocate a buffer.

        contents: an array to copy in, or a number of bytes of memory that nothing has written (filled with
        `poison`, so that a kernel which reads it computes nonsense).  `initialised` overrides whether it counts as
        written.
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
        data = np.full(-(-size // 16) * 16, self.poison, np.uint8)
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


def shared_window(sizes: list[tuple[str, int] | None], blocks: int, poison: int = POISON) -> Window:
    """Shared memory of `blocks` blocks, every byte of it `poison`: an array in each slot that has a (name, bytes).

    Every array starts at a multiple of 128 bytes of its block's storage, that is at bank 0.
    """
    window = Window("shared")
    offsets, total = [], 0
    for entry in sizes:
        offsets.append(total)
        total += -(-entry[1] // 128) * 128 if entry else 0
    row_bytes = max(total, 128)
    data = np.full(blocks * row_bytes, poison, np.uint8)
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
    data = np.full(lane_count * row_bytes, POISON, np.uint8)
    array = MemoryArray(name, "local", window.next_base(), size, data, row_bytes=row_bytes, rows="lane")
    window.arrays.append(array)
    return array


Space = Device | Window
