"""Device memory of one process: allocations, and the grader's own kernels that fill and check them."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grader import driver
from grader.devices import sentinel_byte
from grader.driver import DriverError, Parameters, f64, u32, u64

GUARD_BYTES = 64 * 1024
"""On either side of every array of a single launch: as far as a slip of one row of 16384 floats."""

_THREADS = 256
_FLOAT_KINDS = {"float16": 1, "float32": 2, "float64": 3}


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up to 256, the alignment that cuMemAlloc gives."""
    return -(-nbytes // 256) * 256


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of `sets` arrays at one place of each set: `count` of `width` bytes, `stride` bytes from set to set."""

    base: int
    stride: int
    sets: int
    count: int
    width: int


@dataclass(frozen=True, slots=True)
class Values:
    """What elements are made of: a pool of mask + 1 values at an address, drawn from by `key`."""

    pool: int
    mask: int
    key: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Addresses of counters: of elements that are wrong, that nothing wrote, and of zeros where another is wanted."""

    wrong: int
    unwritten: int
    zeros: int


def _of_fill(elements: Elements, values: Values) -> list[bytes | int]:
    """Return the arguments that `fill` and `check_filled` begin with."""
    at: list[bytes | int] = [elements.base, u64(elements.stride), u64(elements.count), u32(elements.width)]
    return [*at, values.pool, u32(values.mask), u64(values.key)]


class Helpers:
    """The grader's own kernels on one stream (helpers.cu says what each does)."""

    def __init__(self, functions: dict[str, Any], stream: Any, multiprocessors: int) -> None:
        self.functions = functions
        self._stream = stream
        self._blocks = multiprocessors * 8

    def fill(self, elements: Elements, values: Values) -> None:
        self._launch("fill", elements.count, elements.sets, _of_fill(elements, values))

    def check_filled(self, elements: Elements, values: Values, counter: int) -> None:
        """Count into `counter` the elements that `fill` with these arguments did not make."""
        self._launch("check_filled", elements.count, elements.sets, [*_of_fill(elements, values), counter])

    def set_bytes(self, base: int, stride: int, sets: int, nbytes: int, value: int) -> None:
        """`base` is a multiple of 16, as is `stride`."""
        self._launch("set_bytes", nbytes // 16 + 1, sets, [base, u64(stride), u64(nbytes), u32(value)])

    def check_bytes(self, base: int, stride: int, sets: int, nbytes: int, value: int, counter: int) -> None:
        """Count the bytes that are not `value`."""
        self._launch("check_bytes", nbytes, sets, [base, u64(stride), u64(nbytes), u32(value), counter])

    def check_same(self, a: int, b: int, nbytes: int, counter: int) -> None:
        """Count the bytes in which two arrays differ."""
        self._launch("check_same", nbytes, 1, [a, b, u64(nbytes), counter])

    def compare(self, got: Elements, want: int, dtype: str, tolerance: tuple[float, float], counts: Counts) -> None:
        """Count the elements that are not as those at `want`, which lie as `got` do.

        tolerance: absolute and relative; (0, 0): bits.
        """
        absolute, relative = tolerance
        kind = _FLOAT_KINDS.get(dtype, 0) if absolute or relative else 0
        stride = u64(got.stride)
        arguments: list[bytes | int] = [got.base, stride, want, stride, u64(got.count), u32(got.width), u32(kind)]
        arguments += [f64(absolute), f64(relative), u32(sentinel_byte(dtype))]
        arguments += [counts.wrong, counts.unwritten, counts.zeros]
        self._launch("compare", got.count, got.sets, arguments)

    def read_all(self, base: int, nbytes: int, nowhere: int) -> None:
        """Read a buffer, so that nothing else is left in the L2 cache."""
        self._launch("read_all", nbytes // 16, 1, [base, u64(nbytes // 16), nowhere])

    def discard(self, base: int, nbytes: int) -> None:
        """Have the L2 cache forget a buffer; its content is undefined afterwards."""
        self._launch("discard", nbytes // 128, 1, [base, u64(nbytes)])

    def clock_probe(self, out: int, cycles: int) -> None:
        """Have one thread wait so many SM cycles; cycles and nanoseconds to `out`."""
        self._start("clock_probe", 1, 1, 1, [out, u64(cycles)])

    def multiply_add(self, nowhere: int, blocks: int, rounds: int) -> None:
        """16·256·rounds fused multiply-adds in each of 256 threads of each block."""
        factor = b"\x00\x00\x80\x3f"  # float32 1.0
        self._start("multiply_add", blocks, 1, _THREADS, [nowhere, factor, u32(rounds)])

    def _launch(self, name: str, items: int, sets: int, arguments: list[bytes | int]) -> None:
        blocks = max(1, min(-(-items // _THREADS), max(1, self._blocks // min(sets, 8))))
        self._start(name, blocks, sets, _THREADS, arguments)

    def _start(self, name: str, blocks: int, sets: int, threads: int, arguments: list[bytes | int]) -> None:
        packed: Parameters = driver.parameters(arguments)
        driver.launch(self.functions[name], (blocks, sets, 1), (threads, 1, 1), 0, self._stream, packed)


class Arena:
    """One allocation that is kept from launch to launch and grows where it must.

    To allocate and to free takes the driver's lock, which everybody who opens a context beside this one holds for a
    fifth of a second: with the arrays allocated for each launch anew, that was half of what thirty gradings side by
    side took of an H200 before anything was timed.
    """

    def __init__(self) -> None:
        self._base = 0
        self.nbytes = 0
        """Size of the allocation in bytes, a multiple of 256."""

    def room(self, nbytes: int) -> int:
        """Address of so many bytes, whatever is in them; what was asked for before is gone.

        Raises DriverError: there is not so much memory.
        """
        if nbytes > self.nbytes:
            self.close()
            wanted = aligned(nbytes)
            self._base = int(driver.call("cuMemAlloc", wanted))
            self.nbytes = wanted
        return self._base

    def close(self) -> None:
        """Give it back."""
        base, self._base, self.nbytes = self._base, 0, 0
        if base:
            driver.call("cuMemFree", base)


class Counters:
    """Some 64-bit counters on the device."""

    def __init__(self, count: int, stream: Any) -> None:
        self._count = count
        self._stream = stream
        self._base = int(driver.call("cuMemAlloc", 8 * count))

    def clear(self) -> None:
        """Set all counters to 0, in stream order."""
        driver.call("cuMemsetD8Async", self._base, 0, 8 * self._count, self._stream)

    def at(self, index: int) -> int:
        return self._base + 8 * index

    def read(self) -> list[int]:
        """The counters, once the stream is idle."""
        import struct

        host = bytearray(8 * self._count)
        driver.call("cuStreamSynchronize", self._stream)
        copy_out(host, self._base, len(host))
        return list(struct.unpack(f"<{self._count}Q", host))


def copy_in(address: int, source: Any, nbytes: int, offset: int) -> None:
    """Host to device; `source` is a writable buffer (bytearray, mmap)."""
    if nbytes:
        driver.call("cuMemcpyHtoD", address, _address_of(source, nbytes, offset), nbytes)
        # From pageable memory it returns before the data is there, and the grader's stream does not wait for it.
        driver.call("cuCtxSynchronize")


def copy_out(target: Any, address: int, nbytes: int, offset: int = 0) -> None:
    """Device to host; `target` is a writable buffer."""
    if nbytes:
        driver.call("cuMemcpyDtoH", _address_of(target, nbytes, offset), address, nbytes)


def _address_of(buffer: Any, nbytes: int, offset: int) -> int:
    import ctypes

    return ctypes.addressof((ctypes.c_char * nbytes).from_buffer(buffer, offset))


_PORTABLE, _DEVICEMAP, _WRITECOMBINED = 1, 2, 4


class HostBuffers:
    """The host's memory of several kinds, kept from one measurement to the next: to lock its pages takes longer than to
    copy what is in them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[int, int, int, Any]] = {}
        """Bytes, address, the device's address (0: none), and what owns pageable memory."""

    def buffer(self, mode: str, index: int, nbytes: int) -> tuple[int, int]:
        """Return the address of such memory, and where a kernel finds it, 0 where it does not.

        index: which of those of this kind that are used at once.
        Raises DriverError: this kind of memory is not to be had here.
        """
        if self._kept.get((mode, index), (-1,))[0] < nbytes:
            self._give_back((mode, index))
            self._kept[mode, index] = nbytes, *self._made(mode, nbytes)
        _nbytes, address, mapped, _owner = self._kept[mode, index]
        return address, mapped

    @staticmethod
    def _made(mode: str, nbytes: int) -> tuple[int, int, Any]:
        if mode == "pageable":
            memory = ctypes.create_string_buffer(nbytes)
            return ctypes.addressof(memory), 0, memory
        flags = {"pinned": _PORTABLE, "mapped": _DEVICEMAP}.get(mode, 0)
        if mode == "write_combined":
            # Inputs only make sense so, outputs show the price: reading it is slow.
            flags = _WRITECOMBINED
        address = int(driver.call("cuMemHostAlloc", nbytes, flags))
        mapped = int(driver.call("cuMemHostGetDevicePointer", address, 0)) if mode == "mapped" else 0
        return address, mapped, None

    def _give_back(self, key: tuple[str, int]) -> None:
        _nbytes, address, _mapped, owner = self._kept.pop(key, (0, 0, 0, None))
        if address and owner is None:
            with suppress(DriverError):
                driver.call("cuMemFreeHost", address)

    def close(self) -> None:
        for key in list(self._kept):
            self._give_back(key)
