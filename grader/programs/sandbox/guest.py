"""The memory of a running program, as those who serve its calls see it: every address is checked, and what our
functions do for it counts as its own work; and which exception of C++ ended the program, read from that memory.

Host code is bounded by counted instructions.  All memory of the program's and of its device is reached through `Guest`
and `Allocation`, which charge the `Meter` of the run with what is asked of them, so that a handler need not think of
it.  One that works more than once through what it reads, or makes what lies in no memory yet, charges that by itself.

Exceptions are laid out by the Itanium ABI, as libc++abi has it for wasm64:
https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html, https://itanium-cxx-abi.github.io/cxx-abi/abi.html#rtti
"""

from __future__ import annotations

import ctypes
import struct
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grader.programs.sandbox.demangling import demangled
from grader.programs.toolchain.zig import CLASS_TYPES

BYTES_PER_INSTRUCTION = 4
"""Bytes moved for one instruction of the host: both take about as long here."""
SHORT_BYTES, FEW_ITEMS = 64, 3
"""What is read, or looked at, along with every call, and counts as part of it."""
ROW_INSTRUCTIONS = 2_000
"""A row of a copy, or another piece that is served by itself, however short it is."""
RANDOM_INSTRUCTIONS = 10
"""A pseudorandom number."""
PRODUCTS_PER_INSTRUCTION = 2
"""Multiplications within a library."""
ITEM_INSTRUCTIONS = 100
"""A look at one item of a list that grows with the program's calls: streams, allocations, work under way."""
RANDOM_BYTE_INSTRUCTIONS = 64
"""A byte of `/dev/urandom`."""


class Meter:
    """The work of one run: `spend` takes instructions off what is left to it, and raises where there is not so much."""

    def __init__(self, spend: Callable[[int], None] = lambda _instructions: None) -> None:
        self.spend = spend

    def charge(self, size_bytes: int = 0, rows: int = 0) -> None:
        """Count bytes that are about to be moved, and pieces that they lie in."""
        # What is asked of it hundreds of thousands of times is a few bytes in one piece.
        if rows > 0:
            self.spend(max(0, size_bytes) // BYTES_PER_INSTRUCTION + rows * ROW_INSTRUCTIONS)
        elif size_bytes >= BYTES_PER_INSTRUCTION:
            self.spend(size_bytes // BYTES_PER_INSTRUCTION)

    def walk(self, items: int) -> None:
        """Count items that are about to be looked at one by one."""
        if items > FEW_ITEMS:
            self.spend(items * ITEM_INSTRUCTIONS)


MAX_TEXT_BYTES = 4096
NULL_BYTES = 4096
"""The page that no program has anything in."""
MALLOC_ALIGNMENT = 16
"""Alignment of what the program's malloc() returns, in bytes."""


class BadPointer(Exception):
    """A call with an address outside the program's memory: on a real machine a segmentation fault."""


class NullPointer(BadPointer):
    """A call with a null pointer, or a place in what it would point to; the CUDA runtime refuses most of these."""


def _bad(address: int) -> BadPointer:
    kind = NullPointer if 0 <= address < NULL_BYTES else BadPointer
    return kind(f"{address:#x}")


SHARED_ALIGNMENT = 64
"""The same of page-locked and managed memory."""
MARK_BEFORE, SHARED_MARK = 32, 0x5851F42D4C957F2D
"""How far before such memory its mark stands, by which `free()` knows it, and that mark, beside the address."""
KEPT_BYTES = 32 << 20
"""Of freed blocks, whose addresses are not given out again: what a run may take of memory is bounded."""
ROOM = 8, 256 << 20
"""What a block that is too short has more of, once that is told: at most so many times its size, or so many bytes."""
ROOM_BESIDE = 3, 64 << 20
"""The same of other blocks."""
GIVEN_BACK, KEPT, STOP = range(3)
"""What the program's malloc() and free() are told, as `support.c` has it."""


class Fences(Protocol):
    """Closes pages of the program's memory to its own code."""

    def fence(self, address: int, size: int) -> None: ...

    def unfence(self, address: int, size: int) -> None: ...

    def open_fences(self) -> None: ...


@dataclass(slots=True)
class HostBlock:
    """A block of the program's heap; number, freed: the how many-th allocation and the how many-th free it was, from
    1 on, 0 of what is not freed.  begin, taken: the pages that it has for itself, those behind it included."""

    address: int
    size: int
    begin: int
    taken: int
    number: int
    freed: int = 0
    line: int = 0
    file: str = ""

    @property
    def end(self) -> int:
        """Where its last page ends, and the closed ones begin."""
        alignment = SHARED_ALIGNMENT if self.line else MALLOC_ALIGNMENT
        return self.address + -(-self.size // alignment) * alignment


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run is to end: at the how many-th allocation, or free."""

    number: int = 0
    freed: int = 0


class Heap:
    """The blocks of one run.

    memory: closes pages; None: nothing is closed, and freed blocks are given out again.
    stop: where the run ends.
    short: the number of a block that is known to be too short: it gets room for what is done beyond it.
    """

    def __init__(self, memory: Fences | None, stop: Stop = Stop(), short: int = 0) -> None:
        self._memory = memory
        self._short = short
        self._stop = stop
        self._addresses: list[int] = []
        self._blocks: dict[int, HostBlock] = {}
        self._count = self._freed = self._kept_bytes = 0

    def room(self, size: int) -> int:
        """Return how many bytes the next block is to have, which was asked for with `size`: once one is known to be too
        short more, for others may be so as well."""
        if not self._short:
            return size
        times, most = ROOM if self._count + 1 == self._short else ROOM_BESIDE
        return size + min(times * size, most)

    def allocated(self, address: int, size: int, begin: int, taken: int) -> int:
        """Note a block, and close the page behind it."""
        self._count += 1
        if self._count == self._stop.number:
            return STOP
        insort(self._addresses, begin)
        block = self._blocks[begin] = HostBlock(address, size, begin, taken, self._count)
        if self._memory is not None:
            self._memory.fence(block.end, begin + taken - block.end)
        return KEPT

    def freed(self, address: int) -> int:
        """Note that a block is freed; return whether the program's malloc() must not have it back."""
        self._freed += 1
        if self._freed == self._stop.freed:
            return STOP
        block = self.at(address)
        if block is None:
            return GIVEN_BACK
        if self._memory is not None and self._kept_bytes + block.taken <= KEPT_BYTES:
            block.freed, self._kept_bytes = self._freed, self._kept_bytes + block.taken
            self._memory.fence(block.begin, block.taken)
            return KEPT
        if self._memory is not None:
            self._memory.unfence(block.end, block.begin + block.taken - block.end)
        self._addresses.remove(block.begin)
        del self._blocks[block.begin]
        return GIVEN_BACK

    def shared(self, address: int, size: int, begin: int, taken: int, line: int, file: str) -> None:
        """Note a block that a function of the runtime allocates in `line`, with pages of its own."""
        insort(self._addresses, begin)
        block = self._blocks[begin] = HostBlock(address, size, begin, taken, 0, line=line, file=file)
        if self._memory is not None:
            self._memory.fence(block.end, begin + taken - block.end)

    def shared_freed(self, begin: int) -> None:
        """Forget such a block."""
        block = self._blocks.pop(begin, None)
        if block is not None:
            self._addresses.remove(begin)
            if self._memory is not None:
                self._memory.unfence(block.end, begin + block.taken - block.end)

    @property
    def is_fenced(self) -> bool:
        """Whether pages are closed."""
        return self._memory is not None

    def open(self) -> None:
        """Close no more pages, and open all that are."""
        if self._memory is not None:
            self._memory.open_fences()
            self._memory = None

    def at(self, address: int) -> HostBlock | None:
        """Return the block whose pages an address lies in."""
        place = bisect_right(self._addresses, address)
        block = self._blocks[self._addresses[place - 1]] if place else None
        return block if block is not None and address < block.begin + block.taken else None


class Guest:
    """Reads and writes the memory of one WebAssembly instance; every byte is charged to `meter` before it is moved.

    The memory stays in its place as it grows.
    """

    def __init__(self, store: Any, memory: Any, meter: Meter) -> None:
        self.store = store
        self._memory = memory
        self._meter = meter
        self._known = (0, 0)
        """Where it lies, and how large it was at least."""
        self._bytes = memoryview(b"")
        """The guest's memory, mapped."""
        self.heap = Heap(None)

    def size(self) -> int:
        """Return the present size in bytes."""
        return int(self._memory.data_len(self.store))

    def _place(self, address: int, length: int) -> int:
        start, size = self._known
        if 0 < address <= size - length and length >= 0:
            return start + address
        size = self.size()
        if length < 0 or address <= 0 or address + length > size:
            raise _bad(address)
        start = ctypes.cast(self._memory.data_ptr(self.store), ctypes.c_void_p).value or 0
        self._known = start, size
        self._bytes = memoryview((ctypes.c_char * size).from_address(start)).cast("B")
        return start + address

    def read(self, address: int, length: int) -> bytes:
        """Raises BadPointer."""
        if not 0 < address <= len(self._bytes) - length or length < 0:
            self._place(address, length)
        if length > SHORT_BYTES:
            self._meter.spend(length // BYTES_PER_INSTRUCTION)
        return self._bytes[address : address + length].tobytes()

    def write(self, address: int, data: bytes) -> None:
        """Raises BadPointer."""
        place = self._place(address, len(data))
        self._meter.charge(len(data))
        ctypes.memmove(place, data, len(data))

    def view(self, address: int, length: int) -> npt.NDArray[np.uint8]:
        """Return the bytes themselves, good until the program runs on.  Raises BadPointer."""
        content = self.lent(address, length)
        self._meter.charge(length)
        return content

    def lent(self, address: int, length: int) -> npt.NDArray[np.uint8]:
        """See `view`; for the emulator, which counts what it does with the bytes itself: nothing is charged."""
        if length == 0:
            return np.empty(0, np.uint8)
        block = (ctypes.c_uint8 * length).from_address(self._place(address, length))
        content: npt.NDArray[np.uint8] = np.ctypeslib.as_array(block)
        return content

    def unpack(self, layout: str, address: int) -> tuple[Any, ...]:
        """`struct.unpack` of little-endian memory."""
        return struct.unpack("<" + layout, self.read(address, struct.calcsize("<" + layout)))

    def block_bytes(self, address: int) -> int | None:
        """Return how many bytes malloc() was asked for where it gave this address; None where it shows that it did not.

        Zig's malloc() (`lib/c/malloc.zig`) has a header before each block: six bits for its alignment, then its size.
        """
        if address % MALLOC_ALIGNMENT or not NULL_BYTES <= address <= self.size():
            return None
        (header,) = self.unpack("Q", address - 8)
        size = int(header) >> 6
        is_one = 1 << (int(header) & 63) == MALLOC_ALIGNMENT and 0 < size <= self.size() - address
        return size if is_one else None

    def pack(self, layout: str, address: int, *values: Any) -> None:
        """`struct.pack` into memory."""
        try:
            data = struct.pack("<" + layout, *values)
        except struct.error as error:
            raise BadPointer(str(error)) from error
        self.write(address, data)

    def text(self, address: int) -> str:
        """Return a C string, cut at `MAX_TEXT_BYTES`."""
        if not 0 < address < self.size():
            raise _bad(address)
        raw = self.read(address, min(MAX_TEXT_BYTES, self.size() - address))
        return raw.split(b"\0", 1)[0].decode("utf-8", errors="replace")


_UNWIND_HEADER_BYTES = 32
_TYPE_BEFORE_HEADER = 80
_PRIMARY = b"CLNGC++\0"
"""Marks an exception thrown; one thrown again from `std::exception_ptr` has 1 at the end."""
_DEPENDENT = b"CLNGC++\1"
_REFERENCE_BEFORE_HEADER = 88
_MAX_BASES = 64
_WHAT = 2
"""Its place among the virtual functions of `std::exception`."""


@dataclass(frozen=True, slots=True)
class Uncaught:
    """An exception: its type as in the program, and what its `what()` returns, None of what is no `std::exception`."""

    type: str
    what: str | None

    @property
    def short(self) -> str:
        """In one line, cut."""
        return (f"{self.type}: {self.what}" if self.what else self.type)[:300].replace("\n", " ")

    @property
    def terminate_text(self) -> str:
        """What libstdc++ writes to standard error."""
        what = "" if self.what is None else f"\n  what():  {self.what}"
        return f"terminate called after throwing an instance of '{self.type}'{what}\n"


def exception_header(store: Any) -> int | None:
    """Return the address of the uncaught exception, taken from the store; None where there is none."""
    from wasmtime import _bindings

    reference, value = _bindings.wasmtime_exnref_t(), _bindings.wasmtime_val_t()
    if not _bindings.wasmtime_context_take_exception(store._context(), ctypes.byref(reference)):
        return None
    error = _bindings.wasmtime_exnref_field(store._context(), ctypes.byref(reference), 0, ctypes.byref(value))
    address = None if error else int(value.of.i64)
    _bindings.wasmtime_exnref_unroot(ctypes.byref(reference))
    return address


def read_exception(guest: Guest, exports: Any, header: int, call: Callable[..., Any]) -> Uncaught:
    """Return the exception whose `_Unwind_Exception` lies at `header`.

    exports: of the instance; call: an export by its name, or a function by its place in the table, and its arguments.

    Raises BadPointer: the memory does not hold one.
    """
    kind = guest.read(header, len(_PRIMARY))[::-1]
    if kind not in (_PRIMARY, _DEPENDENT):
        raise BadPointer(f"{header:#x}")
    (info,) = guest.unpack("Q", header - _TYPE_BEFORE_HEADER)
    thrown = header + _UNWIND_HEADER_BYTES
    if kind == _DEPENDENT:
        (thrown,) = guest.unpack("Q", header - _REFERENCE_BEFORE_HEADER)
    return Uncaught(_name(guest, info, call), _what(guest, exports, info, thrown, call))


def _name(guest: Guest, info: int, call: Callable[..., Any]) -> str:
    (mangled,) = guest.unpack("Q", info + 8)
    text = demangled(guest.text(mangled)) or guest.text(int(call("grader_demangle", mangled)) or mangled)
    return text.replace("std::__1::", "std::")


def _what(guest: Guest, exports: Any, info: int, thrown: int, call: Callable[..., Any]) -> str | None:
    base = _standard_base(guest, exports, info, thrown)
    if base is None:
        return None
    (functions,) = guest.unpack("Q", base)
    (index,) = guest.unpack("Q", functions + 8 * _WHAT)
    return guest.text(int(call(index, base)))


def _standard_base(guest: Guest, exports: Any, info: int, thrown: int) -> int | None:
    """Where in the object `thrown` its `std::exception` lies; info: its type."""
    # A pointer to virtual functions points behind two words of their table.
    single, several = (exports[name].value(guest.store) + 16 if name in exports else None for name in CLASS_TYPES)
    left = [(info, thrown)]
    for _base in range(_MAX_BASES):
        if not left:
            break
        info, at = left.pop()
        kind, name = guest.unpack("QQ", info)
        if guest.text(name) == "St9exception":
            return at
        if kind == single:
            left.append((*guest.unpack("Q", info + 16), at))
        elif kind == several:
            (count,) = guest.unpack("I", info + 20)
            for number in range(min(count, _MAX_BASES)):
                base, flags = guest.unpack("Qq", info + 24 + 16 * number)
                # The place of a virtual base stands in the object's own table.
                (offset,) = guest.unpack("q", guest.unpack("Q", at)[0] + (flags >> 8)) if flags & 1 else (flags >> 8,)
                left.append((base, at + offset))
    return None
