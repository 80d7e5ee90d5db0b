"""Launches in the GPU process: one between guard zones, inputs compared afterwards, what it printed, its copies; and
CUDA graphs of launches, each between two events.

A kernel with its copies to the device and back is measured for each way of holding the host's buffers.

A timed graph is, for each launch: evict the L2 cache, event, launch, event.  A graph leaves no gap in which the device
would wait for the host, and the mean over several launches averages out the coarse ticks of the events' clock.  With
the time that two events show with nothing between them subtracted, this gives the times that Nsight Compute gives.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from grader import driver
from grader.devices import GUARD_BYTE, SHARED_BYTES, sentinel_byte
from grader.driver import DriverError
from grader.gpu.device.memory import GUARD_BYTES, Arena, Counters, Helpers, HostBuffers, aligned, copy_in, copy_out
from grader.gpu.messages import Array, HostCopies, HostTimes, KernelFacts, Launch, Ran

PRINTF_CHARACTERS = 4096


class LaunchFailed(Exception):
    """A driver call failed while a student's kernel was at work; `during` as in `messages.Failed`."""

    def __init__(self, error: DriverError, during: str, kernel: str = "") -> None:
        self.error = error
        self.during = during
        self.kernel = kernel
        super().__init__(str(error))


@dataclass(frozen=True, slots=True)
class Device:
    """What everything in the GPU process works with."""

    handle: Any
    stream: Any
    helpers: Helpers
    counters: Counters
    arena: Arena
    printed: int
    """Descriptor of the file that standard output goes to."""


class Modules:
    """Machine code that is loaded, by name."""

    def __init__(self) -> None:
        self._modules: dict[str, Any] = {}
        self._functions: dict[tuple[str, str], Any] = {}

    def load(self, name: str, cubin: bytes) -> None:
        """Load `cubin` under a name; a module that had the name before is unloaded with its variables."""
        loaded = driver.call("cuModuleLoadData", cubin)
        old = self._modules.pop(name, None)
        if old is not None:
            driver.call("cuModuleUnload", old)
        self._modules[name] = loaded
        self._functions = {key: value for key, value in self._functions.items() if key[0] != name}

    def function(self, module: str, entry: str) -> Any:
        """A kernel; DriverError when there is none of that name."""
        key = (module, entry)
        if key not in self._functions:
            self._functions[key] = driver.call("cuModuleGetFunction", self._modules[module], entry.encode())
        return self._functions[key]


def run(device: Device, modules: Modules, launch: Launch, memory: Any) -> Ran:
    """Carry out one launch on the arrays in `memory`.

    Raises LaunchFailed: the launch was refused, or the kernel failed.  Raises DriverError: something else did.
    """
    arrays = [argument for argument in launch.arguments if isinstance(argument, Array)]
    function = modules.function(launch.module, launch.entry)
    facts = ready_for_launch(device, function, launch)
    places = places_of(arrays)
    try:
        base = device.arena.room(places.nbytes)
    except DriverError as error:
        raise LaunchFailed(error, "grader") from error
    addresses = {name: base + offset for name, offset in places.arrays.items()}
    originals = {name: base + offset for name, offset in places.originals.items()}
    # All of it: what an earlier launch left is nothing that this one may read.
    device.helpers.set_bytes(base, 0, 1, device.arena.nbytes, GUARD_BYTE)
    # Copies go by the default stream, which does not wait for this one: they would race with the filling of guards.
    driver.call("cuStreamSynchronize", device.stream)
    for array in arrays:
        if array.is_output:
            device.helpers.set_bytes(
                addresses[array.name], 0, 1, array.nbytes, 0 if array.is_zeroed else sentinel_byte(array.dtype)
            )
        else:
            copy_in(addresses[array.name], memory, array.nbytes, array.offset)
            if array.nbytes:
                driver.call("cuMemcpyDtoD", originals[array.name], addresses[array.name], array.nbytes)
    device.counters.clear()
    # Nor does this one wait for the copies.
    driver.call("cuCtxSynchronize")
    elapsed_us = _launch(device, function, launch, addresses)
    changed, guards = _examine(device, arrays, places, base)
    for array in arrays:
        if array.is_output or array.name in changed:
            copy_out(memory, addresses[array.name], array.nbytes, array.offset)
    return Ran(facts=facts, changed=changed, guards=guards, elapsed_us=elapsed_us, printf=_printed(device))


LARGE_BYTES = 1 << 20
SLOT_BYTES = 2 << 20
"""A large array's guard zone begins at a multiple of this, as cuMemAlloc places what is large."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the arrays of a launch lie in the arena, in bytes from its start; `nbytes`: what they take in all.

    originals: of the inputs, what they were.
    zones: offset and length of what lies round each array and belongs to none, at least `GUARD_BYTES` on either side.
    """

    arrays: Mapping[str, int]
    originals: Mapping[str, int]
    zones: Mapping[str, tuple[tuple[int, int], ...]]
    nbytes: int


def places_of(arrays: Sequence[Array]) -> Places:
    """Place one array after another, then the originals."""
    starts, originals, zones, position = {}, {}, {}, 0
    for array in arrays:
        slot = -(-position // SLOT_BYTES) * SLOT_BYTES if array.nbytes >= LARGE_BYTES else position
        at = slot + GUARD_BYTES
        end = at + array.nbytes
        after = at + aligned(array.nbytes) + GUARD_BYTES
        starts[array.name] = at
        zones[array.name] = (position, at - position), (end, after - end)
        position = after
    for array in arrays:
        if not array.is_output:
            originals[array.name] = position
            position += aligned(array.nbytes)
    return Places(starts, originals, zones, position)


def ready_for_launch(device: Device, function: Any, launch: Launch) -> KernelFacts:
    """Permit the dynamic shared memory that a launch asks for; what is known of the kernel.

    Raises LaunchFailed: the device has not that much.
    """
    from cuda.bindings.driver import CUfunction_attribute

    try:
        if launch.shared_bytes > SHARED_BYTES:
            attribute = CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", function, attribute, launch.shared_bytes)
        return facts_of(device, function, launch)
    except DriverError as error:
        raise LaunchFailed(error, "launch") from error


def facts_of(device: Device, function: Any, launch: Launch) -> KernelFacts:
    """Registers and memory of a kernel, and how many of its blocks a multiprocessor holds."""
    x, y, z = launch.block
    threads = x * y * z
    blocks = 0
    if threads <= driver.function_attribute(function, "MAX_THREADS_PER_BLOCK"):
        blocks = int(driver.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, launch.shared_bytes))
    warps = -(-threads // 32)
    most = driver.attribute(device.handle, "MAX_THREADS_PER_MULTIPROCESSOR") // 32
    return KernelFacts(
        registers=driver.function_attribute(function, "NUM_REGS"),
        shared_bytes=driver.function_attribute(function, "SHARED_SIZE_BYTES") + launch.shared_bytes,
        local_bytes=driver.function_attribute(function, "LOCAL_SIZE_BYTES"),
        blocks_per_sm=blocks,
        occupancy_pct=round(100 * blocks * warps / most, 1),
    )


def packed(launch: Launch, addresses: Mapping[str, int]) -> driver.Parameters:
    """The launch's arguments, with the arrays at `addresses`."""
    return driver.parameters([addresses[a.name] if isinstance(a, Array) else a.value for a in launch.arguments])


def _launch(device: Device, function: Any, launch: Launch, addresses: Mapping[str, int]) -> float:
    """Launch and wait; return µs between the events around it."""
    arguments = packed(launch, addresses)
    begin, end = driver.call("cuEventCreate", 0), driver.call("cuEventCreate", 0)
    try:
        driver.call("cuEventRecord", begin, device.stream)
        driver.launch(
            function, launch.grid, launch.block, launch.shared_bytes, device.stream, arguments, launch.cooperative
        )
        driver.call("cuEventRecord", end, device.stream)
    except DriverError as error:
        raise LaunchFailed(error, "launch") from error
    try:
        driver.call("cuStreamSynchronize", device.stream)
    except DriverError as error:
        raise LaunchFailed(error, "kernel") from error
    elapsed_us = 1000.0 * float(driver.call("cuEventElapsedTime", begin, end))
    driver.call("cuEventDestroy", begin)
    driver.call("cuEventDestroy", end)
    return elapsed_us


def _examine(device: Device, arrays: list[Array], places: Places, base: int) -> tuple[list[str], list[str]]:
    """Return the names of inputs that changed, and of arrays beside which something was written."""
    helpers, counters = device.helpers, device.counters
    for index, array in enumerate(arrays):
        if not array.is_output:
            given, original = places.arrays[array.name], places.originals[array.name]
            helpers.check_same(base + given, base + original, array.nbytes, counters.at(2 * index))
        zones = places.zones[array.name]
        if index == len(arrays) - 1:
            # What is behind all of them belongs to none either.
            zones = *zones, (places.nbytes, device.arena.nbytes - places.nbytes)
        for offset, nbytes in zones:
            helpers.check_bytes(base + offset, 0, 1, nbytes, GUARD_BYTE, counters.at(2 * index + 1))
    counts = counters.read()
    changed = [a.name for i, a in enumerate(arrays) if counts[2 * i]]
    return changed, [a.name for i, a in enumerate(arrays) if counts[2 * i + 1]]


def _printed(device: Device) -> str:
    """Return what the kernel printed since the last call, at most `PRINTF_CHARACTERS`."""
    ctypes.CDLL(None).fflush(None)
    size = os.fstat(device.printed).st_size
    data = os.pread(device.printed, PRINTF_CHARACTERS, 0) if size else b""
    os.ftruncate(device.printed, 0)
    os.lseek(device.printed, 0, os.SEEK_SET)
    return data.decode("utf-8", errors="replace")


READ_BYTES = 1 << 20
"""How much of the output the CPU reads; write-combined memory is so slow to read that all of it would take seconds."""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Host memory of one array; device_address: where the kernel finds it (mapped memory only)."""

    array: Array
    address: int
    device_address: int = 0


def measure(device: Device, modules: Modules, order: HostCopies, memory: Any, host: HostBuffers) -> list[HostTimes]:
    """Medians over `order.repeats` runs for each mode that the device has, by buffers of `host`.

    Raises LaunchFailed: the launch was refused, or the kernel failed.
    """
    function = modules.function(order.launch.module, order.launch.entry)
    ready_for_launch(device, function, order.launch)
    arrays = [a for a in order.launch.arguments if isinstance(a, Array)]
    rows = []
    for mode in order.modes:
        with ExitStack() as stack:
            try:
                buffers = [_Buffer(a, *host.buffer(mode, index, a.nbytes)) for index, a in enumerate(arrays)]
            except DriverError:
                # This kind of memory is not to be had here.
                continue
            for buffer in buffers:
                if not buffer.array.is_output:
                    view = (ctypes.c_char * buffer.array.nbytes).from_buffer(memory, buffer.array.offset)
                    ctypes.memmove(buffer.address, ctypes.addressof(view), buffer.array.nbytes)
            on_device = [
                buffer.device_address or stack.enter_context(_device_buffer(buffer.array)) for buffer in buffers
            ]
            runs = [_run(device, function, order, buffers, on_device) for _index in range(order.repeats + 1)]
        # The first is not counted: pages are touched and code is loaded in it.
        rows.append(HostTimes(mode, *(median(values) for values in zip(*runs[1:], strict=True))))
    return rows


def _run(
    device: Device, function: Any, order: HostCopies, buffers: list[_Buffer], on_device: list[int]
) -> tuple[float, float, float, float, float]:
    """Return µs of copying in, the kernel, copying out, all three together, and the CPU reading `READ_BYTES`."""
    stream, launch = device.stream, order.launch
    arguments = packed(launch, {b.array.name: at for b, at in zip(buffers, on_device, strict=True)})
    events = [driver.call("cuEventCreate", 0) for _index in range(4)]
    driver.call("cuStreamSynchronize", stream)
    begin = time.perf_counter()
    try:
        driver.call("cuEventRecord", events[0], stream)
        for buffer, address in zip(buffers, on_device, strict=True):
            if not buffer.array.is_output and not buffer.device_address:
                driver.call("cuMemcpyHtoDAsync", address, buffer.address, buffer.array.nbytes, stream)
        driver.call("cuEventRecord", events[1], stream)
        driver.launch(function, launch.grid, launch.block, launch.shared_bytes, stream, arguments, launch.cooperative)
        driver.call("cuEventRecord", events[2], stream)
        for buffer, address in zip(buffers, on_device, strict=True):
            if buffer.array.is_output and not buffer.device_address:
                driver.call("cuMemcpyDtoHAsync", buffer.address, address, buffer.array.nbytes, stream)
        driver.call("cuEventRecord", events[3], stream)
        driver.call("cuStreamSynchronize", stream)
    except DriverError as error:
        raise LaunchFailed(error, "kernel") from error
    total_us = 1e6 * (time.perf_counter() - begin)
    steps = [1000 * float(driver.call("cuEventElapsedTime", a, b)) for a, b in pairwise(events)]
    for event in events:
        driver.call("cuEventDestroy", event)
    return steps[0], steps[1], steps[2], total_us, _read_us(buffers)


def _read_us(buffers: list[_Buffer]) -> float:
    """Return how long the CPU takes to copy the first `READ_BYTES` of the output from the buffer, µs."""
    output = next(b for b in buffers if b.array.is_output)
    nbytes = min(READ_BYTES, output.array.nbytes)
    target = ctypes.create_string_buffer(nbytes)
    begin = time.perf_counter()
    ctypes.memmove(target, output.address, nbytes)
    return 1e6 * (time.perf_counter() - begin)


@contextmanager
def _device_buffer(array: Array) -> Iterator[int]:
    address = int(driver.call("cuMemAlloc", array.nbytes))
    try:
        yield address
    finally:
        with suppress(DriverError):
            driver.call("cuMemFree", address)


Item = tuple[Any, Launch, dict[str, int]]
"""A kernel, its launch, and the addresses of its arrays by name."""

IDLE_BATCH, IDLE_SAMPLES = 16, 9
"""Launches in a batch, and samples, for the time of an empty interval and of an empty kernel."""

COARSE_TICK_US = 0.5
"""What the driver's documentation says of an event's clock."""


@dataclass(frozen=True, slots=True)
class Graph:
    """An executable graph, with an event before and after each launch where these are timed."""

    executable: Any
    stream: Any
    events: list[tuple[Any, Any]]

    def start(self) -> None:
        """Enqueue it."""
        driver.call("cuGraphLaunch", self.executable, self.stream)

    def run(self) -> None:
        """Enqueue it and wait."""
        self.start()
        driver.call("cuStreamSynchronize", self.stream)

    def intervals_us(self) -> list[float]:
        """Between the events of each launch, once the graph has run."""
        return [1000 * float(driver.call("cuEventElapsedTime", begin, end)) for begin, end in self.events]

    def close(self) -> None:
        """Destroy it."""
        with suppress(DriverError):
            driver.call("cuGraphExecDestroy", self.executable)
        for event in (event for pair in self.events for event in pair):
            with suppress(DriverError):
                driver.call("cuEventDestroy", event)


_idle_times: dict[tuple[str, int], list[float]] = {}
"""Times of nothing and of an empty kernel, by the bytes that are read before: a process has one device, whose clock is
up by the time that anything is timed."""


class Graphs:
    """Makes graphs; flush_bytes: of the buffer at `flush` that is read before each timed launch, 0 for none."""

    def __init__(self, device: Device, flush: int, flush_bytes: int) -> None:
        self._device = device
        self._flush = flush
        self._flush_bytes = flush_bytes
        self.tick_us = COARSE_TICK_US
        """One tick of the events' clock; known once `nothing_us` has been called."""

    def timed(self, items: Sequence[Item | None]) -> Graph:
        """Launches one after another, each between events; None stands for no launch."""
        return self._graph(items, timed=True)

    def plain(self, items: Sequence[Item | None]) -> Graph:
        """Launches one after another."""
        return self._graph(items, timed=False)

    def nothing_us(self) -> float:
        """What two events with nothing between them show; measured once for a device."""
        if ("nothing", self._flush_bytes) not in _idle_times:
            _idle_times["nothing", self._flush_bytes] = self._idle(None)
        times = _idle_times["nothing", self._flush_bytes]
        steps = sorted(set(times))
        # On a coarse clock all of them may look alike.
        self.tick_us = min((b - a for a, b in pairwise(steps) if b - a > 1e-3), default=COARSE_TICK_US)
        return median(times)

    def empty_us(self) -> float:
        """The same with an empty kernel between them."""
        if ("empty", self._flush_bytes) not in _idle_times:
            launch = Launch("", "", (1, 1, 1), (32, 1, 1), 0, [])
            empty = self._device.helpers.functions["empty"]
            _idle_times["empty", self._flush_bytes] = self._idle((empty, launch, {}))
        return median(_idle_times["empty", self._flush_bytes])

    def _idle(self, item: Item | None) -> list[float]:
        """Return µs between the events of every launch of some samples."""
        graph = self.timed([item] * IDLE_BATCH)
        times = []
        for _sample in range(IDLE_SAMPLES):
            graph.run()
            times += graph.intervals_us()
        graph.close()
        return times

    def _graph(self, launches: Sequence[Item | None], timed: bool) -> Graph:
        from cuda.bindings.driver import CUevent_record_flags, CUstreamCaptureMode

        stream = self._device.stream
        external = int(CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL)
        events = [
            (driver.call("cuEventCreate", 0), driver.call("cuEventCreate", 0))
            for _launch in (launches if timed else ())
        ]
        driver.call("cuStreamBeginCapture", stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            for index, item in enumerate(launches):
                if timed and self._flush_bytes:
                    self._device.helpers.read_all(self._flush, self._flush_bytes, self._flush)
                    self._device.helpers.discard(self._flush, self._flush_bytes)
                if timed:
                    driver.call("cuEventRecordWithFlags", events[index][0], stream, external)
                if item is not None:
                    function, launch, addresses = item
                    arguments = packed(launch, addresses)
                    driver.launch(
                        function, launch.grid, launch.block, launch.shared_bytes, stream, arguments, launch.cooperative
                    )
                if timed:
                    driver.call("cuEventRecordWithFlags", events[index][1], stream, external)
        except DriverError:
            with suppress(DriverError):
                driver.call("cuStreamEndCapture", stream)
            raise
        graph = driver.call("cuStreamEndCapture", stream)
        executable = driver.call("cuGraphInstantiate", graph, 0)
        driver.call("cuGraphDestroy", graph)
        driver.call("cuGraphUpload", executable, stream)
        return Graph(executable, stream, events)
