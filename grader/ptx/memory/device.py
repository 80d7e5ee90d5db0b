"""Global memory of the emulated device, and what it keeps from launch to launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.errors import LaunchError
from grader.ptx.memory.addresses import FAR, GLOBAL_BASE, GLOBAL_SPACING, MAX_SLOTS, ORIGINS, POISON
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.values.lanes import Array


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


class Device:
    """Global memory: buffers live as long as the device.

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
        """That have gone by in launches."""
        self.arrays: list[MemoryArray | None] = [None]
        self.heap: Any = None
        """Of device code (see `grader.ptx.memory.heap.heap_of`)."""
        self.workspace: MemoryArray | None = None
        """Of cooperative launches (`grader.ptx.memory.workspace`)."""
        self.textures: dict[int, Any] = {}
        """Textures and surfaces (`grader.ptx.memory.textures`), by the handle that kernels are given."""
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
        """A new array of global or constant memory, 512-byte aligned."""
        data = np.full(-(-size // 16) * 16, self.poison, np.uint8)
        if initial is not None:
            data[: len(initial)] = initial
        valid = None if initialised else np.zeros(len(data), np.uint8)
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
        return self.at(address - self.origin >> GLOBAL_SPACING)

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        return addresses - self.origin >> GLOBAL_SPACING

    def at(self, slot: int) -> MemoryArray | None:
        """The array of a neighbourhood, None where there is none; those of the first and the last one reach farther."""
        if len(self.arrays) < 2 or not -FAR < slot < len(self.arrays) + FAR:
            return None
        return self.arrays[min(max(slot, 1), len(self.arrays) - 1)]
