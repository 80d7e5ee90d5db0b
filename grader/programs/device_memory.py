"""The memory of a running program's device: what is allocated, and where it lies; that of the emulated one."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.programs.sandbox.guest import Meter
from grader.ptx.memory import GLOBAL_SPACING, MAX_SLOTS, Device, MemoryArray

Bytes = npt.NDArray[np.uint8]
Saved = tuple[MemoryArray, Bytes, Bytes | None]
MAX_SNAPSHOT_BYTES = 512 << 20
MAX_HEAP_BYTES = 1 << 30
PAGE = 2 << 20
"""Granularity in which a driver maps memory: what lies beyond an array, but not beyond this, does not fault."""
"""Largest heap of device code."""


class TooManyAllocations(Exception):
    """More at once than there are addresses for."""


@dataclass
class Allocation:
    """A piece of memory that kernels can reach.

    host: its address in the program's memory, for memory that both sides use; 0 for the device's own.
    block: what of the program's memory was taken for it, whole pages; 0 where it has none for itself.
    digest: of the device's own memory as the host last filled it, "" where that is all zero; None where nobody asked.
    freed_line, freed_file: where the program gave it back; 0 while it has not.
    freed_after: where the call stands that came before that one, line and file.
    is_told: that it is used although it was freed.
    serial: no other allocation of the run has it.
    width: bytes of an element, as kernels take it; 0 where none has, 1 where that is not known.
    written: launches of kernels that may write it.  pool: of the runtime's, that it came from.
    pitch: bytes from one row to the next, of what was allocated row by row, row_bytes: those of a row without what
      pads it; 0 of all else.  flags: that page-locked memory was asked for with.
    """

    name: str
    base: int
    size: int
    kind: str
    line: int
    file: str
    host: int = 0
    array: Any = None
    resident_bytes: int = 0
    origins: set[str] = field(default_factory=set)
    accesses: list[Any] = field(default_factory=list)
    digest: str | None = None
    block: int = 0
    meter: Meter = field(default_factory=Meter)
    freed_line: int = 0
    freed_file: str = ""
    freed_after: tuple[int, str] = (0, "")
    is_told: bool = False
    serial: int = 0
    width: int = 0
    written: int = 0
    pool: Any = None
    pitch: int = 0
    row_bytes: int = 0
    flags: int = 0

    def view(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Its bytes from `offset` on, charged as moved; what is changed in them counts once `put_back` has them."""
        content = self.seen(offset, size)
        self.array.digest = None
        return content

    def seen(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Return the same, to be read only."""
        size = self.size - offset if size is None else size
        self.meter.charge(size)
        content: Bytes = self.array.data[offset : offset + size]
        return content

    def put_back(self, changed: npt.NDArray[Any]) -> None:
        """What was changed in a view of its bytes, or in a part of one, is there for kernels from now on."""

    def valid(self, offset: int = 0, size: int | None = None) -> Bytes | None:
        """Which of these bytes anything has written, as 0 and 1, charged as moved; None where that is not known."""
        if self.array is None or self.array.valid is None:
            return None
        size = self.size - offset if size is None else size
        self.meter.charge(size)
        valid: Bytes = self.array.valid[offset : offset + size]
        return valid


class _Arrays(Device):
    """The emulator's memory with arrays that come and go; pages that nobody touches take no room."""

    def __init__(self) -> None:
        super().__init__()
        self._free: dict[int, None] = {}

    def place(self, name: str, size: int, data: Bytes, initialised: bool) -> MemoryArray:
        """Place a new array, at addresses that nothing had before as long as there are such."""
        half = 1 << (GLOBAL_SPACING - 1)
        count = 1 + (size + half) // (2 * half)
        if len(self.arrays) + count > MAX_SLOTS - 64:
            slot = self._freed_longest(count)
        else:
            slot = len(self.arrays)
            self.arrays += [None] * count
        base = self.origin + (slot << GLOBAL_SPACING) + half + (slot * 0x9E3779B1 + self.seed) % 4096 * 512
        valid = None if initialised else np.zeros(len(data), np.uint8)
        array = MemoryArray(name, "global", base, size, data, valid=valid)
        self.arrays[slot : slot + count] = [array] * count
        return array

    def remove(self, array: MemoryArray) -> None:
        """Nothing lies there any more."""
        first = (array.base - self.origin) >> GLOBAL_SPACING
        last = first
        while last < len(self.arrays) and self.arrays[last] is array:
            self.arrays[last] = None
            self._free[last] = None
            last += 1

    def _freed_longest(self, count: int) -> int:
        """Return the first of `count` free slots in a row, those that were freed longest ago."""
        for slot in self._free:
            run = range(slot, slot + count)
            if all(other in self._free for other in run):
                for other in run:
                    del self._free[other]
                return slot
        raise TooManyAllocations


@dataclass(frozen=True, slots=True)
class Piece:
    """One end of a copy: an allocation from `offset` on, or bytes of the host's."""

    allocation: Allocation | None = None
    offset: int = 0
    data: Bytes | None = None


class Memory(abc.ABC):
    """All that kernels of a device can reach, by address: `live`, and what was there until it was `freed`.

    needs_pages: memory that both sides use is better off with pages of its own.
    takes_host_addresses: kernels can be given such memory where the host has it.
    finds_host_memory: it looks itself where that lies, whenever it is used.
    """

    needs_pages = False
    takes_host_addresses = False
    finds_host_memory = False

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._serial = 0
        self.live: dict[int, Allocation] = {}
        self.freed: dict[int, Allocation] = {}

    @abc.abstractmethod
    def allocate(self, name: str, size: int, kind: str, line: int, file: str) -> Allocation:
        """Memory of the device, all of it zero.  Raises MemoryError, TooManyAllocations."""

    @abc.abstractmethod
    def share(self, name: str, size: int, kind: str, line: int, file: str, host: int) -> Allocation:
        """Memory of the host at `host` that kernels can use."""

    @abc.abstractmethod
    def free(self, allocation: Allocation) -> None:
        """Its address belongs to nothing from now on."""

    @abc.abstractmethod
    def find(self, address: int) -> Allocation | None:
        """Return the live allocation that an address of the device lies in or near."""

    @abc.abstractmethod
    def is_device_address(self, address: int) -> bool:
        """Whether an address can be the device's, by its size alone."""

    @abc.abstractmethod
    def copy(self, into: Piece, out_of: Piece, rows: Sequence[tuple[int, int, int]], stream: Any) -> None:
        """Copy rows of (offset in into, offset in out_of, bytes), in the order of a stream."""

    @abc.abstractmethod
    def fill(
        self, allocation: Allocation, offset: int, rows: Sequence[tuple[int, int]], pattern: bytes, stream: Any
    ) -> None:
        """Set rows of (offset from `offset`, bytes) to a number's 1, 2 or 4 bytes, in the order of a stream."""

    def clear(self, allocation: Allocation) -> bool:
        """Set all of the device's own memory to zero without touching it; False where that cannot be done."""
        return False

    def contents(self, least_bytes: int) -> list[tuple[MemoryArray, Bytes]]:
        """Arrays of the device's own of at least so many bytes, and what is in them, where it can be put back."""
        return []

    @abc.abstractmethod
    def refresh(self, allocation: Allocation, data: Bytes) -> None:
        """Set where shared memory lies now: the program's memory may have moved."""

    def own_arrays(self) -> list[Bytes]:
        """Return the bytes, to be changed, of all that kernels can reach and the host cannot, variables included."""
        return []

    def set_heap(self, size: int) -> bool:
        """Set how much `malloc` in kernels can hand out; return False where it is too late for that, or too much."""
        return True

    def snapshot(self) -> list[Saved] | None:
        """Return the contents of all memory, to be put back with `restore`; None where there is too much of it."""
        return None

    @abc.abstractmethod
    def restore(self, before: list[Saved] | None) -> None:
        """Put back what `snapshot` kept."""

    def keep(self, allocation: Allocation) -> Allocation:
        """Know an allocation by its address from now on."""
        allocation.meter = self._meter
        allocation.serial = self._serial = self._serial + 1
        self.live[allocation.base] = allocation
        self.freed.pop(allocation.base, None)
        return allocation

    def find_freed(self, address: int) -> Allocation | None:
        """Return the freed allocation that an address lay in."""
        self._meter.walk(len(self.freed))
        for base, allocation in self.freed.items():
            if base <= address < base + max(1, allocation.size):
                return allocation
        return None


class DeviceMemory(Memory):
    """The memory of the emulated device, where copies and fills are done at once, whatever the stream.

    device: the same as the emulator knows it.
    executes: kernels will be run; else nobody asks which bytes were written.
    """

    takes_host_addresses = True

    def __init__(self, meter: Meter, executes: bool = True) -> None:
        super().__init__(meter)
        self._executes = executes
        self._arrays = _Arrays()
        self.device: Device = self._arrays

    def allocate(self, name: str, size: int, kind: str, line: int, file: str) -> Allocation:
        """Memory of the device: zero, as a driver hands it out, but not counted as written."""
        data = np.zeros(-(-max(size, 1) // 16) * 16, np.uint8)
        array = self._arrays.place(name, size, data, initialised=not self._executes)
        return self.keep(Allocation(name, array.base, size, kind, line, file, array=array))

    def share(self, name: str, size: int, kind: str, line: int, file: str, host: int) -> Allocation:
        """Memory of the host at `host` that kernels can use; `refresh` gives it its bytes."""
        array = self._arrays.place(name, size, np.empty(0, np.uint8), initialised=True)
        array.lent = True
        return self.keep(Allocation(name, array.base, size, kind, line, file, host=host, array=array))

    def refresh(self, allocation: Allocation, data: Bytes) -> None:
        allocation.array.data = data
        allocation.array.views = {}
        allocation.array.digest = None

    def clear(self, allocation: Allocation) -> bool:
        # Kernels may hold on to it.
        if self._executes or allocation.host:
            return False
        allocation.array.data = np.zeros(len(allocation.array.data), np.uint8)
        allocation.array.views = {}
        allocation.array.digest = None
        return True

    def free(self, allocation: Allocation) -> None:
        del self.live[allocation.base]
        self.freed[allocation.base] = allocation
        self._arrays.remove(allocation.array)
        allocation.array = None

    def find(self, address: int) -> Allocation | None:
        if not self.is_device_address(address):
            return None
        array = self._arrays.find(address)
        return None if array is None else self.live.get(array.base)

    def copy(self, into: Piece, out_of: Piece, rows: Sequence[tuple[int, int, int]], stream: Any) -> None:
        to = _bytes_of(into, max(row[0] + row[2] for row in rows))
        source = _bytes_of(out_of, max(row[1] + row[2] for row in rows), is_changed=False)
        overlap = np.may_share_memory(to, source)
        for to_offset, from_offset, size in rows:
            part = source[from_offset : from_offset + size]
            to[to_offset : to_offset + size] = part.copy() if overlap else part

    def fill(
        self, allocation: Allocation, offset: int, rows: Sequence[tuple[int, int]], pattern: bytes, stream: Any
    ) -> None:
        into = allocation.view(offset, max(start + size for start, size in rows))
        for start, size in rows:
            into[start : start + size].view(f"u{len(pattern)}")[:] = int.from_bytes(pattern, "little")

    def is_device_address(self, address: int) -> bool:
        return address >= self._arrays.origin

    def contents(self, least_bytes: int) -> list[tuple[MemoryArray, Bytes]]:
        """What is in all arrays that kernels can reach of at least so many bytes, variables of programs among them."""
        arrays = {id(array): array for array in self.device.arrays if array is not None and array.space == "global"}
        kept = [array for array in arrays.values() if array.size >= least_bytes]
        self._meter.charge(sum(array.data.size for array in kept))
        return [(array, array.data.copy()) for array in kept]

    def snapshot(self) -> list[Saved] | None:
        if sum(allocation.size for allocation in self.live.values()) > MAX_SNAPSHOT_BYTES:
            return None
        arrays = [allocation.array for allocation in self.live.values() if allocation.kind != "registered"]
        for array in arrays:
            self._meter.charge(array.data.size + (0 if array.valid is None else array.valid.size))
        return [(a, a.data.copy(), None if a.valid is None else a.valid.copy()) for a in arrays]

    def own_arrays(self) -> list[Bytes]:
        shared = {id(allocation.array) for allocation in self.live.values() if allocation.host}
        arrays = {id(array): array for array in self.device.arrays if array is not None and id(array) not in shared}
        for array in arrays.values():
            array.digest = None
        self._meter.charge(sum(array.data.size for array in arrays.values()))
        return [array.data for array in arrays.values()]

    def set_heap(self, size: int) -> bool:
        is_other = size != self.device.heap_bytes
        if size > MAX_HEAP_BYTES or (is_other and self.device.heap is not None):
            return False
        self.device.heap_bytes = max(size, self.device.heap_bytes)
        return True

    @contextmanager
    def at_host_addresses(self) -> Iterator[None]:
        """Memory of both sides lies, for kernels too, where the host has it, and nowhere else."""
        shared = sorted((a for a in self.live.values() if a.host), key=lambda allocation: allocation.host)
        for allocation in shared:
            allocation.array.base = allocation.host
        self.device.hosted = [allocation.array for allocation in shared]
        try:
            yield
        finally:
            self.device.hosted = []
            for allocation in shared:
                allocation.array.base = allocation.base

    def restore(self, before: list[Saved] | None) -> None:
        for array, data, valid in before or ():
            self._meter.charge(data.size)
            array.data[:] = data
            array.digest = None
            if valid is not None and array.valid is not None:
                array.valid[:] = valid


def _bytes_of(piece: Piece, end: int, is_changed: bool = True) -> Bytes:
    if piece.data is not None:
        return piece.data
    assert piece.allocation is not None
    allocation = piece.allocation
    return allocation.view(piece.offset, end) if is_changed else allocation.seen(piece.offset, end)
