"""A kernel with its copies to the device and back, for each way of holding the host's buffers."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from grader.gpu.device import driver
from grader.gpu.device.driver import DriverError
from grader.gpu.device.launch import Device, LaunchFailed, Modules, packed, ready_for_launch
from grader.gpu.messages import Array, HostCopies, HostTimes

READ_BYTES = 1 << 20
"""Of the output, read by the CPU; write-combined memory is so slow to read that all of it would take seconds."""

_PORTABLE, _DEVICEMAP, _WRITECOMBINED = 1, 2, 4


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Host memory of one array; device_address: where the kernel finds it (mapped memory only)."""

    array: Array
    address: int
    device_address: int = 0


def measure(device: Device, modules: Modules, order: HostCopies, memory: Any) -> list[HostTimes]:
    """Medians over `order.repeats` runs for each mode that the device has.

    Raises
    ------
    LaunchFailed : the launch was refused, or the kernel failed.
    """
    function = modules.function(order.launch.module, order.launch.entry)
    ready_for_launch(device, function, order.launch)
    arrays = [a for a in order.launch.arguments if isinstance(a, Array)]
    rows = []
    for mode in order.modes:
        with ExitStack() as stack:
            try:
                buffers = [stack.enter_context(_host_buffer(mode, a)) for a in arrays]
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
    """µs of copying in, the kernel, copying out, all three together, and of the CPU reading `READ_BYTES`."""
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
    """The CPU copying the first `READ_BYTES` of the output out of the buffer, µs."""
    output = next(b for b in buffers if b.array.is_output)
    nbytes = min(READ_BYTES, output.array.nbytes)
    target = ctypes.create_string_buffer(nbytes)
    begin = time.perf_counter()
    ctypes.memmove(target, output.address, nbytes)
    return 1e6 * (time.perf_counter() - begin)


@contextmanager
def _host_buffer(mode: str, array: Array) -> Iterator[_Buffer]:
    if mode == "pageable":
        memory = ctypes.create_string_buffer(array.nbytes)
        yield _Buffer(array, ctypes.addressof(memory))
        return
    flags = {"pinned": _PORTABLE, "mapped": _DEVICEMAP}.get(mode, 0)
    if mode == "write_combined":
        # Inputs only make sense so, outputs show the price: reading it is slow.
        flags = _WRITECOMBINED
    address = int(driver.call("cuMemHostAlloc", array.nbytes, flags))
    try:
        mapped = int(driver.call("cuMemHostGetDevicePointer", address, 0)) if mode == "mapped" else 0
        yield _Buffer(array, address, mapped)
    finally:
        with suppress(DriverError):
            driver.call("cuMemFreeHost", address)


@contextmanager
def _device_buffer(array: Array) -> Iterator[int]:
    address = int(driver.call("cuMemAlloc", array.nbytes))
    try:
        yield address
    finally:
        with suppress(DriverError):
            driver.call("cuMemFree", address)
