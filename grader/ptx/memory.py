"""Memory of the emulated device: its arrays, where they lie, and what it keeps from launch to launch.

Addresses are made so that an index slip hardly ever lands in another array by accident: device buffers
lie 2^28 bytes apart, shared arrays as far as a block's 227 KiB allow, local ones 2^20 bytes.  Storage is
compact all the same.  Generic 64-bit pointers carry shared and local memory in windows of their own.

They look like a device's, for a kernel that asks where its arrays lie must not learn from it what runs it:

    global, constant   0x7Fxx xxxx xxxx, other ones for every `seed` of a device
    shared (32 bits)   within 227 KiB                  generic: SHARED_WINDOW + that
    local              slot << 20 | 1 << 19            generic: LOCAL_WINDOW + that
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, Protocol

import numpy as np

from grader.ptx.limits import LaunchError
from grader.ptx.values import Array, Lanes, remember

GLOBAL_SPACING = 28
GLOBAL_BASE = 0x7F00_0000_0000
WINDOW_SPACING = 20
WINDOW_BITS = 32
WINDOW_BYTES = 1 << WINDOW_BITS
FUNCTION_WINDOW = 0x7FFC_0000_0000
SHARED_WINDOW = 0x7FFD_0000_0000
LOCAL_WINDOW = SHARED_WINDOW + WINDOW_BYTES
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": LOCAL_WINDOW, "global": 0, "const": 0}
"""By state space, what a generic address has more than one of the space itself."""
MAX_SLOTS = 2000
"""Arrays (and pieces of 256 MiB of them) of one device."""
FAR = 32
"""Slots: 8 GiB, as far as an int can be wrong as the index of a float."""
HOSTED = -(1 << 40)
"""The number of the first array that a host has, in place of a neighbourhood's; those of the others are less."""
ORIGINS = ((FUNCTION_WINDOW - GLOBAL_BASE) >> GLOBAL_SPACING) - MAX_SLOTS

SHARED_BYTES = 227 * 1024
"""What a block can have on any device so far (compute capability 9.0)."""

HEAP_BYTES = 8 << 20
"""Size of device code's heap: the default of `cudaLimitMallocHeapSize`."""

POISON = 0xFF
"""Every byte of memory that nothing has written: NaN in every floating-point format."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of some bytes of an array, for messages: its name, its first byte in the array, its bytes."""

    name: str
    start: int
    size: int


NOWHERE = Owner("", 0, 0)


class Parts(Protocol):
    """What an array is divided into, where it is not one piece."""

    def owner(self, offset: int) -> Owner:
        """Return the part that a byte belongs to, or the nearest one."""
        ...

    def judge(self, offsets: Array, width: int) -> Array | None:
        """(n,) what is wrong with accesses at byte offsets, as a fault's detail; "" where nothing is, None for all."""
        ...


@dataclass(slots=True, eq=False)
class MemoryArray:
    """A contiguous piece of memory with a name: a device buffer, a shared array, a local variable.

    base: address of its first byte in its space.  size: its bytes.
    data: flat uint8 storage; row r (a block's copy of a shared array, a thread's copy of a local one)
    starts at byte `storage + r·row_bytes`.  `rows` says what numbers the rows: "" (one copy), "block", "lane".
    valid: uint8 flags like `data`, 1 where something was written; None when all of it was initialised.
    views: of all its storage, by type.  parts: what it is divided into; None when all of it is one piece.
    lent: its data lie in memory of the host's, and are no others.
    digest: of what is in it, for who compares contents; whoever changes these, a store above all, sets it to None.
    """

    name: str
    space: str
    base: int
    size: int
    data: Array
    _: KW_ONLY
    storage: int = 0
    row_bytes: int = 0
    rows: str = ""
    valid: Array | None = None
    read_only: bool = False
    views: dict[Any, Array] = field(default_factory=dict, init=False)
    parts: Parts | None = field(default=None, init=False)
    lent: bool = field(default=False, init=False)
    digest: bytes | None = field(default=None, init=False)

    def owner(self, offset: int) -> Owner:
        """Return the owner of the byte at an offset, or the nearest one."""
        return Owner(self.name, 0, self.size) if self.parts is None else self.parts.owner(offset)

    def view(self, dtype: np.dtype[Any]) -> Array:
        """The whole storage as elements of `dtype`."""
        elements = self.views.get(dtype)
        if elements is None:
            elements = self.views[dtype] = self.data.view(dtype)
        return elements

    def row_starts(self, lanes: Lanes, element_bytes: int) -> Array | None:
        """(n,) index of each lane's row in elements, or None for a single copy."""
        if not self.rows:
            return None
        key = ("rows", self.rows, self.row_bytes, element_bytes)
        starts = lanes.memo.get(key)
        if starts is None:
            number = lanes.blocks if self.rows == "block" else lanes.ids
            starts = remember(lanes.memo, key, number * (self.row_bytes // element_bytes))
        return starts


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
        self.memory.digest = None
        if self.memory.valid is not None:
            self.memory.valid[: len(raw)] = 1

    def written(self) -> Array:
        """(size,) bool: which bytes the host or a kernel has written."""
        if self.memory.valid is None:
            return np.ones(self.memory.size, np.bool_)
        return self.memory.valid[: self.memory.size].view(np.bool_).copy()


LEAST_MAPPED = 1 << 20


def _untouched(size: int) -> Array:
    """Zeros that take memory as they are touched: the heap would give such as were used before, and clear them."""
    if size < LEAST_MAPPED:
        return np.zeros(size, np.uint8)
    try:
        return np.frombuffer(mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS), np.uint8)
    except OSError as error:
        raise MemoryError(str(error)) from error


class Device:
    """Global memory: buffers live as long as the device.

    hosted: arrays that lie at addresses below all neighbourhoods, ascending by `base`: memory that a host has.

    >>> import numpy as np
    >>> device = Device()
    >>> source = device.buffer("source", np.arange(4, dtype=np.float32))
    >>> target = device.buffer("target", 16)
    >>> target.written().any()
    np.False_
    """

    def __init__(self, poison: int = POISON, seed: int = 0) -> None:
        self.seed = seed
        """Moves addresses and clocks, as on a device every process and launch has others."""
        self.origin = GLOBAL_BASE + (seed * 0x9E3779B1 % ORIGINS << GLOBAL_SPACING)
        self.poison = poison
        """What every byte of memory that nothing has written holds; one for kernels without floats may be another."""
        self.cycles = 0
        """Cycles that have gone by in launches."""
        self.arrays: list[MemoryArray | None] = [None]
        self.hosted: list[MemoryArray] = []
        self.heap: Any = None
        """Heap of device code (see `grader.ptx.heap.heap_of`)."""
        self.heap_bytes = HEAP_BYTES
        """What live allocations of it may take together, once it is made."""
        self.launch_arguments: Any = None
        """The heap of arguments for launches that kernels make."""
        self.residence: Any = None
        """The memory that arrays live in which generated code has reached (`grader.ptx.native.memories`)."""
        self.workspace: MemoryArray | None = None
        """The barrier of the grid in cooperative launches (see `workspace_of`)."""
        self.textures: dict[int, Any] = {}
        """Textures and surfaces (`grader.ptx.lowering.textures`), by the handle that kernels are given."""
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

    def reserve(self, name: str, size: int) -> Buffer:
        """A buffer of zeros whose memory is taken as it is touched, for launches of which only some blocks are run."""
        return Buffer(self._placed(name, "global", size, _untouched(-(-size // 16) * 16)), self)

    def allocate(
        self, name: str, space: str, size: int, initial: Array | None, initialised: bool, read_only: bool = False
    ) -> MemoryArray:
        """A new array of global or constant memory, 512-byte aligned."""
        data = np.full(-(-size // 16) * 16, self.poison, np.uint8)
        if initial is not None:
            data[: len(initial)] = initial
        valid = None if initialised else np.zeros(len(data), np.uint8)
        return self._placed(name, space, size, data, valid, read_only)

    def _placed(
        self, name: str, space: str, size: int, data: Array, valid: Array | None = None, read_only: bool = False
    ) -> MemoryArray:
        slot = len(self.arrays)
        half = 1 << (GLOBAL_SPACING - 1)
        base = self.origin + (slot << GLOBAL_SPACING) + half + (slot * 0x9E3779B1 + self.seed) % 4096 * 512
        array = MemoryArray(name, space, base, size, data, valid=valid, read_only=read_only)
        self.arrays += [array] * (1 + (size + half) // (2 * half))
        if len(self.arrays) > MAX_SLOTS:
            raise LaunchError(f"more than {MAX_SLOTS} arrays in global memory")
        return array

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        if self.hosted and 0 <= address < GLOBAL_BASE:
            return self.at(int(self.slots(np.array([address], np.int64))[0]))
        return self.at(address - self.origin >> GLOBAL_SPACING)

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        slots = addresses - self.origin >> GLOBAL_SPACING
        if not self.hosted:
            return slots
        bases = np.array([array.base for array in self.hosted], np.int64)
        ends = bases + np.array([array.size for array in self.hosted], np.int64)
        index = np.searchsorted(bases, addresses, "right") - 1
        return np.where((index >= 0) & (addresses < ends[index]), HOSTED - index, slots)

    def at(self, slot: int) -> MemoryArray | None:
        """The array of a neighbourhood, None where there is none; those of the first and the last one reach farther."""
        if slot <= HOSTED:
            return self.hosted[HOSTED - slot]
        if len(self.arrays) < 2 or not -FAR < slot < len(self.arrays) + FAR:
            return None
        return self.arrays[min(max(slot, 1), len(self.arrays) - 1)]


class Window:
    """The local variables of a batch's threads."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.arrays: list[MemoryArray | None] = [None]

    def next_base(self) -> int:
        return len(self.arrays) << WINDOW_SPACING | 1 << (WINDOW_SPACING - 1)

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        return self.at(address >> WINDOW_SPACING)

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        return addresses >> WINDOW_SPACING

    def at(self, slot: int) -> MemoryArray | None:
        """The array of a neighbourhood, None where there is none."""
        return self.arrays[slot] if 0 < slot < len(self.arrays) else None


class SharedLayout:
    """Where shared arrays of these sizes lie in a block's window: apart as far as a device's shared memory has room.

    bases: the address of each.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        room = SHARED_BYTES - sum(-(-size // 128) * 128 for size in sizes)
        # Arrays of kernels that are not launched count as well: where they leave no room, addresses go beyond.
        gap = max(room // (len(sizes) + 1), 4096) // 128 * 128
        self.bases: list[int] = []
        self._edges = [-(1 << 20)]
        end = 0
        for size in sizes:
            self.bases.append(end + gap)
            end += gap + -(-size // 128) * 128
            self._edges.append(end + gap // 2)
        self._edges[-1] += 1 << 20

    def slot(self, address: int) -> int:
        """The number, from 1, of the array in whose neighbourhood an address lies; 0 or one too many where none is."""
        return bisect_right(self._edges, address)

    def slots(self, addresses: Array) -> Array:
        """(n,) the same for many addresses."""
        return np.searchsorted(self._edges, addresses, "right")


class SharedWindow(Window):
    """The shared arrays of a batch's blocks, laid out as for the whole module."""

    def __init__(self, layout: SharedLayout) -> None:
        super().__init__("shared")
        self._layout = layout

    def next_base(self) -> int:
        return self._layout.bases[len(self.arrays) - 1]

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        return self.at(self._layout.slot(address))

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        return self._layout.slots(addresses)


def shared_window(sizes: list[tuple[str, int] | None], layout: SharedLayout, blocks: int, poison: int) -> SharedWindow:
    """Shared memory of `blocks` blocks, every byte of it `poison`: an array in each slot that has a (name, bytes).

    Every array starts at a multiple of 128 bytes of its block's storage, that is at bank 0.
    """
    window = SharedWindow(layout)
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
    """A local variable: one copy for each lane of the batch."""
    row_bytes = -(-max(size, 1) // 16) * 16
    data = np.full(lane_count * row_bytes, POISON, np.uint8)
    array = MemoryArray(name, "local", window.next_base(), size, data, row_bytes=row_bytes, rows="lane")
    window.arrays.append(array)
    return array


Space = Device | Window


WORKSPACE_BYTES = 8
"""Size of the workspace of the grid's barrier: its own size, and the counter."""


def workspace_of(device: Device) -> MemoryArray:
    """Return the grid barrier's memory as it is before a launch, made at first use."""
    workspace = device.workspace
    if workspace is None:
        workspace = device.workspace = device.allocate(
            "barrier of the grid", "global", WORKSPACE_BYTES, None, initialised=True
        )
    workspace.data[:WORKSPACE_BYTES] = np.array([WORKSPACE_BYTES, 0], np.uint32).view(np.uint8)
    return workspace
