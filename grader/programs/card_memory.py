"""The memory of a GPU of this machine, as a running program has it: allocated, copied, shared with the host.

Page-locked memory of the host's is registered with the driver, so that copies of it are asynchronous and kernels reach
it where it lies.  Managed memory has a twin on the device: kernels work on that, and it is copied before a launch that
is handed it and when the host has waited.
"""

from __future__ import annotations

import contextlib
import ctypes
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from grader import driver
from grader.driver import DriverError
from grader.programs.device_memory import Allocation, Bytes, Memory, Piece, Saved
from grader.programs.sandbox.guest import Meter

if TYPE_CHECKING:
    from grader.programs.runtime.ordering import Stream

PAGE = 2 << 20
"""As far behind an array an address is still taken for one that is meant to lie in it."""
OUT_OF_MEMORY = 2
_HOST = 1 << 40
"""Addresses below are the host's, where nothing of the device's lies there."""
Rows = Sequence[tuple[int, int, int]]


class Queues(Protocol):
    """What memory needs of a device's streams: see `grader.programs.card.Card`."""

    def handle(self, stream: Stream) -> Any:
        """Return the driver's stream."""
        ...

    def settle(self, stream: Stream | None = None) -> None:
        """Wait for all that a call in a stream waits for, all streams where None.  Raises LateEnd."""
        ...

    def called(self, name: str, *arguments: Any) -> Any:
        """Call the driver.  Raises LateEnd where a launch has failed before; else as `driver.call`."""
        ...

    def failed(self, name: str, status: Any) -> NoReturn:
        """Raise what the status of a call is, as `called` does."""
        ...

    def timed(self, stream: Any, *, is_work: bool) -> contextlib.AbstractContextManager[object]:
        """What is queued in a stream within the block counts, of a call that is timed, as the device's own work or as
        a copy from or to the host."""
        ...


@dataclass
class CardAllocation(Allocation):
    """Memory that a GPU reaches.

    queues: of the device.  is_registered: it is the host's own; else what `host` says has a twin.
    used_in: streams of launches that were handed the twin, and whose work the host has not waited for.
    """

    queues: Queues = field(kw_only=True)
    is_registered: bool = False
    used_in: set[int] = field(default_factory=set)
    _lent: list[tuple[int, Bytes]] = field(default_factory=list)

    def seen(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Return a copy of its bytes, once all that was queued is done."""
        size = self.size - offset if size is None else size
        self.meter.charge(size)
        self.queues.settle()
        data = np.empty(size, np.uint8)
        if size:
            self.queues.called("cuMemcpyDtoH", data.ctypes.data, self.base + offset, size)
        return data

    def view(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Return the same; what is changed in it can be put back."""
        data = self.seen(offset, size)
        self._lent = [*self._lent[-7:], (offset, data)]
        return data

    def valid(self, offset: int = 0, size: int | None = None) -> Bytes | None:
        """Not known."""
        return None

    def put_back(self, changed: npt.NDArray[Any]) -> None:
        """Copy what the view holds to the device; other views of before have nothing to say any more."""
        lent, self._lent = self._lent, []
        for offset, data in lent:
            if data.size and np.may_share_memory(data, changed):
                _put(self.queues, self.base + offset, data, 0)


class CardMemory(Memory):
    """All that a program has on a GPU.

    lent: the bytes of the host's memory at an address, as they lie there now.
    """

    needs_pages = True
    finds_host_memory = True

    def __init__(self, meter: Meter, queues: Queues, lent: Callable[[int, int], Bytes]) -> None:
        super().__init__(meter)
        self._queues = queues
        self._lent = lent
        self._bases: list[int] = []
        self.has_twins = False
        self._filling = driver.call("cuStreamCreate", 1)

    # -- what there is -----------------------------------------------------------------------

    def allocate(self, name: str, size: int, kind: str, line: int, file: str) -> Allocation:
        """Raises MemoryError where the device has not so much left."""
        base = self._taken(size)
        return self.keep(CardAllocation(name, base, size, kind, line, file, queues=self._queues))

    def _taken(self, size: int) -> int:
        """Allocate memory of the device and zero it: no program sees what another has left there."""
        try:
            base = int(self._queues.called("cuMemAlloc", max(size, 1)))
        except DriverError as error:
            if error.code == OUT_OF_MEMORY:
                raise MemoryError from error
            raise
        self._queues.called("cuMemsetD8Async", base, 0, max(size, 1), self._filling)
        self._queues.called("cuStreamSynchronize", self._filling)
        return base

    def share(self, name: str, size: int, kind: str, line: int, file: str, host: int) -> Allocation:
        """Registered where it is page-locked memory that can be, else with a twin."""
        base = self._registered(host, size) if kind in ("pinned", "registered") else 0
        allocation = CardAllocation(name, base or self._taken(size), size, kind, line, file, host, queues=self._queues)
        allocation.is_registered = bool(base)
        self.has_twins |= not base
        return self.keep(allocation)

    def _registered(self, host: int, size: int) -> int:
        """Register memory of the host's; return its address on the device, 0 where the driver does not take it."""
        address = self._lent(host, size).ctypes.data
        try:
            self._queues.called("cuMemHostRegister", address, size, 3)
            return int(self._queues.called("cuMemHostGetDevicePointer", address, 0))
        except DriverError:
            return 0

    def keep(self, allocation: Allocation) -> Allocation:
        """Known by its address from now on."""
        insort(self._bases, allocation.base)
        return super().keep(allocation)

    def free(self, allocation: Allocation) -> None:
        """Given back once nothing that was queued can use it."""
        assert isinstance(allocation, CardAllocation)
        self._queues.settle()
        del self.live[allocation.base]
        self._bases.remove(allocation.base)
        self.freed[allocation.base] = allocation
        if allocation.is_registered:
            self._queues.called("cuMemHostUnregister", self._lent(allocation.host, allocation.size).ctypes.data)
        elif allocation.kind != "symbol":
            self._queues.called("cuMemFree", allocation.base)

    def close(self) -> None:
        """Give all of it back."""
        for allocation in list(self.live.values()):
            self.free(allocation)
        self._queues.called("cuStreamDestroy", self._filling)

    def find(self, address: int) -> Allocation | None:
        """Return the allocation that an address lies in, or shortly behind."""
        index = bisect_right(self._bases, address) - 1
        allocation = self.live[self._bases[index]] if index >= 0 else None
        return allocation if allocation is not None and address < allocation.base + allocation.size + PAGE else None

    def is_device_address(self, address: int) -> bool:
        """Whether it lies where the driver has memory, or where no memory of the host's lies."""
        return address >= _HOST or self.find(address) is not None or self.find_freed(address) is not None

    def refresh(self, allocation: Allocation, data: Bytes) -> None:
        """Nothing to be done."""

    def restore(self, before: list[Saved] | None) -> None:
        """There is no snapshot of a GPU's memory."""
        assert before is None

    # -- what is in it -----------------------------------------------------------------------

    def copy(self, into: Piece, out_of: Piece, rows: Rows, stream: Stream) -> None:
        """In a stream; to or from memory that is not page-locked, when this returns."""
        if any(isinstance(piece.allocation, CardAllocation) and piece.allocation.used_in for piece in (into, out_of)):
            self._queues.settle()
        if into.data is not None and out_of.data is not None:
            self._queues.settle(stream)
            _between_hosts(into.data, out_of.data, rows)
            return
        if not all(piece.data is None or _is_queued(piece) for piece in (into, out_of)):
            # The driver waits for what was queued before, and has no limit of time for it.
            self._queues.settle(stream)
        handle = self._queues.handle(stream)
        to, source = _address(into), _address(out_of)
        direction = "HtoD" if out_of.data is not None else "DtoH" if into.data is not None else "DtoD"
        with self._queues.timed(handle, is_work=direction == "DtoD"):
            for a, b, size, to_pitch, from_pitch, height in rectangles(rows):
                if height == 1:
                    self._queues.called(f"cuMemcpy{direction}Async", to + a, source + b, size, handle)
                    continue
                wanted = _two_dimensional(to + a, source + b, (size, height, to_pitch, from_pitch), direction)
                self._queues.called("cuMemcpy2DAsync", wanted, handle)

    def fill(
        self, allocation: Allocation, offset: int, rows: Sequence[tuple[int, int]], pattern: bytes, stream: Stream
    ) -> None:
        """In a stream; of memory that has a twin, when this returns."""
        unit, value = len(pattern), int.from_bytes(pattern, "little")
        if allocation.host and not getattr(allocation, "is_registered", False):
            self._queues.settle(stream)
            data = self._lent(allocation.host, allocation.size)
            for start, size in rows:
                data[offset + start : offset + start + size].view(f"u{unit}")[:] = value
            return
        handle = self._queues.handle(stream)
        shapes = rectangles([(start, start, size) for start, size in rows])
        with self._queues.timed(handle, is_work=True):
            for start, _start, size, pitch, _pitch, height in shapes:
                address = allocation.base + offset + start
                if height == 1:
                    self._queues.called(f"cuMemsetD{8 * unit}Async", address, value, size // unit, handle)
                else:
                    width = size // unit
                    self._queues.called(f"cuMemsetD2D{8 * unit}Async", address, pitch, value, width, height, handle)

    # -- twins -------------------------------------------------------------------------------

    def hand_over(self, arguments: Sequence[bytes], stream: Stream) -> None:
        """Before a launch: twins of managed memory among its arguments get what the host has written."""
        if not self.has_twins:
            return
        twins = self._twins(arguments)
        if not all(twin.used_in for twin in twins):
            # A copy out of pageable memory waits for what is queued before it, and what was waited for comes back.
            self._queues.settle(stream)
        for twin in twins:
            if not twin.used_in:
                _put(self._queues, twin.base, self._lent(twin.host, twin.size), self._queues.handle(stream))
        for twin in twins:
            twin.used_in.add(stream.number)

    def _twins(self, arguments: Sequence[bytes]) -> list[CardAllocation]:
        twins: dict[int, CardAllocation] = {}
        for raw in arguments:
            allocation = self.find(int.from_bytes(raw, "little")) if len(raw) == 8 else None
            if isinstance(allocation, CardAllocation) and allocation.host and not allocation.is_registered:
                twins[allocation.base] = allocation
        return list(twins.values())

    def take_back(self, streams: set[int]) -> None:
        """After the host has waited for streams: it gets what kernels have written into twins there."""
        for allocation in self.live.values() if self.has_twins else ():
            if isinstance(allocation, CardAllocation) and allocation.used_in & streams:
                allocation.used_in -= streams
                if allocation.used_in:
                    continue
                data = self._lent(allocation.host, allocation.size)
                self._queues.called("cuMemcpyDtoH", data.ctypes.data, allocation.base, allocation.size)


def _put(queues: Queues, address: int, data: Bytes, stream: Any) -> None:
    """Copy pageable memory to the device: it is there when this returns, for every stream.

    A copy that the driver calls blocking returns once the bytes are staged, and streams that do not wait for the
    default one would read what was there before.
    """
    queues.called("cuMemcpyHtoDAsync", address, data.ctypes.data, data.size, stream)
    queues.called("cuStreamSynchronize", stream)


def _between_hosts(to: Bytes, source: Bytes, rows: Rows) -> None:
    overlap = np.may_share_memory(to, source)
    for a, b, size in rows:
        to[a : a + size] = source[b : b + size].copy() if overlap else source[b : b + size]


def _is_queued(piece: Piece) -> bool:
    """Whether the driver copies this piece of the host's memory asynchronously."""
    return isinstance(piece.allocation, CardAllocation) and piece.allocation.is_registered


def _address(piece: Piece) -> int:
    if piece.data is not None:
        return int(piece.data.ctypes.data)
    assert piece.allocation is not None
    return piece.allocation.base + piece.offset


def rectangles(rows: Rows) -> list[tuple[int, int, int, int, int, int]]:
    """Rows put together where they are as long as each other and equally far apart.

    (offset in to, offset in source, bytes of a row, pitch of to, pitch of source, rows) each.

    >>> rectangles([(0, 0, 4), (8, 16, 4), (16, 32, 4), (100, 48, 4)])
    [(0, 0, 4, 8, 16, 3), (100, 48, 4, 4, 4, 1)]
    """
    merged: list[tuple[int, int, int, int, int, int]] = []
    for a, b, size in rows:
        if merged:
            to, source, width, to_pitch, from_pitch, height = merged[-1]
            steps = a - to, b - source
            if height == 1 and size == width and min(steps) >= size:
                merged[-1] = (to, source, width, *steps, 2)
                continue
            if height > 1 and size == width and steps == (to_pitch * height, from_pitch * height):
                merged[-1] = (to, source, width, to_pitch, from_pitch, height + 1)
                continue
        merged.append((a, b, size, size, size, 1))
    return merged


def _two_dimensional(to: int, source: int, shape: tuple[int, int, int, int], direction: str) -> Any:
    """Return the driver's description of a copy of rows; shape: bytes of a row, rows, both pitches."""
    from cuda.bindings import driver as cuda

    wanted = cuda.CUDA_MEMCPY2D()
    wanted.WidthInBytes, wanted.Height, wanted.dstPitch, wanted.srcPitch = shape
    host, device = cuda.CUmemorytype.CU_MEMORYTYPE_HOST, cuda.CUmemorytype.CU_MEMORYTYPE_DEVICE
    wanted.srcMemoryType, wanted.dstMemoryType = (
        (host if direction[0] == "H" else device),
        (host if direction[-1] == "H" else device),
    )
    if direction[0] == "H":
        wanted.srcHost = source
    else:
        wanted.srcDevice = source
    if direction[-1] == "H":
        wanted.dstHost = to
    else:
        wanted.dstDevice = to
    return wanted


def words_at(address: int, count: int) -> Any:
    """32-bit words of page-locked memory at an address."""
    return (ctypes.c_uint32 * count).from_address(address)
