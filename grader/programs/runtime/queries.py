"""Questions about the device, about kernels, about errors."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from grader.device_limits import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, SHARED_BYTES
from grader.programs.runtime.errors import NAMES, name_of, text_of
from grader.programs.runtime.memory import nothing
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.outcomes import blocks_per_multiprocessor
from grader.programs.runtime.registration import entry_of
from grader.programs.runtime.state import CudaError, Kernel, State

DRIVER = 12_040
LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048}


def properties(state: State, place: Place, prop: int, device: int) -> int:
    if device != 0:
        raise CudaError(101)
    m = state.model
    registers = 65536
    fields: list[tuple[Any, ...]] = [
        ("256s", m.name.encode()),
        ("16s", b"\1" * 16),
        ("QQ", m.memory_bytes, SHARED_BYTES),
        ("ii", registers, 32),
        ("Q", 2147483647),
        ("i3i3ii", MAX_THREADS_PER_BLOCK, *MAX_BLOCK, *MAX_GRID, m.clock_khz),
        ("Q", 65536),
        ("ii", *m.capability),
        ("QQ", 512, 32),
        ("6i", 1, m.multiprocessors, 0, 0, 1, 0),
        ("7i", 1, 0, 0, 4, 0, 0, 3),
        ("5i", 1, m.memory_clock_khz, m.bus_bits, m.l2_bytes, 0),
        ("4i", m.threads_per_multiprocessor, 1, 1, 1),
        ("Q", m.shared_per_multiprocessor),
        ("4i", registers, 1, 0, 0),
        ("4i", 32, 0, 1, 1),
        ("i2i3ii", 131072, 131072, 65536, 16384, 16384, 16384, 512),
        ("Q", m.shared_opt_in),
        ("ii", m.blocks_per_multiprocessor, 0),
        ("Q", 1024 if m.capability >= (8, 0) else 0),
    ]
    raw = b""
    for layout, *values in fields:
        # As C lays it out: eight-byte members at multiples of eight.
        if layout.startswith("Q"):
            raw += bytes(-len(raw) % 8)
        raw += struct.pack("<" + layout, *values)
    state.guest.write(prop, raw)
    return 0


def attribute(state: State, place: Place, value: int, which: int, device: int) -> int:
    if device != 0:
        raise CudaError(101)
    m = state.model
    known = {
        1: MAX_THREADS_PER_BLOCK, 2: MAX_BLOCK[0], 3: MAX_BLOCK[1], 4: MAX_BLOCK[2],
        5: MAX_GRID[0], 6: MAX_GRID[1], 7: MAX_GRID[2], 8: SHARED_BYTES, 9: 65536, 10: 32, 11: 2147483647, 12: 65536,
        13: m.clock_khz, 16: m.multiprocessors, 17: 0, 18: 0, 19: 1, 31: 1, 36: m.memory_clock_khz, 37: m.bus_bits,
        38: m.l2_bytes, 39: m.threads_per_multiprocessor, 40: 3, 41: 1, 75: m.capability[0], 76: m.capability[1],
        81: m.shared_per_multiprocessor, 82: 65536, 83: 1, 88: 0, 89: 1, 95: 1, 97: m.shared_opt_in,
        106: m.blocks_per_multiprocessor,
    }  # fmt: skip
    if which not in known:
        raise CudaError(1)
    state.guest.pack("i", value, known[which])
    return 0


def device_count(state: State, place: Place, count: int) -> int:
    state.guest.pack("i", count, 1)
    return 0


def get_device(state: State, place: Place, device: int) -> int:
    state.guest.pack("i", device, 0)
    return 0


def set_device(state: State, place: Place, device: int) -> int:
    if device != 0:
        raise CudaError(101)
    return 0


def choose_device(state: State, place: Place, device: int, prop: int) -> int:
    return get_device(state, place, device)


def device_reset(state: State, place: Place) -> int:
    state.wait_for_all()
    for allocation in list(state.memory.live.values()):
        if allocation.kind == "device":
            state.allocated_bytes -= allocation.size
            state.memory.free(allocation)
    state.sticky = state.last_error = 0
    return 0


def version(state: State, place: Place, pointer: int) -> int:
    state.guest.pack("i", pointer, DRIVER)
    return 0


def get_limit(state: State, place: Place, value: int, limit: int) -> int:
    if limit not in LIMITS:
        raise CudaError(1)
    state.guest.pack("Q", value, LIMITS[limit])
    return 0


def get_shared_config(state: State, place: Place, config: int) -> int:
    state.guest.pack("i", config, 1)
    return 0


def priority_range(state: State, place: Place, least: int, greatest: int) -> int:
    state.guest.pack("i", least, 0)
    state.guest.pack("i", greatest, -5)
    return 0


def can_access_peer(state: State, place: Place, can: int, device: int, peer: int) -> int:
    state.guest.pack("i", can, 0)
    return 0


def enable_peer(state: State, place: Place, peer: int, flags: int) -> int:
    raise CudaError(101)


def bus_id(state: State, place: Place, text: int, length: int, device: int) -> int:
    if device != 0:
        raise CudaError(101)
    if length < 13:
        raise CudaError(1)
    state.guest.write(text, b"0000:00:04.0\0")
    return 0


def get_last_error(state: State, place: Place) -> int:
    code = state.sticky or state.last_error
    if not state.sticky:
        state.last_error = 0
    state.noticed()
    state.checked()
    return code


def peek_last_error(state: State, place: Place) -> int:
    state.noticed()
    state.checked()
    return state.sticky or state.last_error


def _text(state: State, text: str) -> int:
    key = (text, -1)
    if key not in state.texts:
        raw = text.encode() + b"\0"
        address = int(state.call_guest("grader_malloc", len(raw)))
        state.guest.write(address, raw)
        state.texts[key] = address
    return state.texts[key]


def error_string(state: State, code: int) -> int:
    return _text(state, text_of(code) if code in NAMES else "unrecognized error code")


def error_name(state: State, code: int) -> int:
    return _text(state, name_of(code))


# -- kernels --------------------------------------------------------------------------------------


def _kernel(state: State, function: int) -> tuple[Kernel, str]:
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(98)
    return kernel, entry_of(state, kernel)


def set_attribute(state: State, place: Place, function: int, which: int, value: int) -> int:
    kernel, entry = _kernel(state, function)
    if which == 8:
        if not 0 <= value <= state.model.shared_opt_in - state.gpu.static_shared_bytes(kernel.unit, entry):
            raise CudaError(1)
        kernel.max_dynamic_bytes = value
    elif which != 9:
        raise CudaError(1)
    return 0


def get_attributes(state: State, place: Place, attributes: int, function: int) -> int:
    kernel, entry = _kernel(state, function)
    capability = state.model.capability[0] * 10 + state.model.capability[1]
    static = state.gpu.static_shared_bytes(kernel.unit, entry)
    raw = struct.pack("<QQQiiiiiii", static, 0, 0, 1024, 32, capability, capability, 0, kernel.max_dynamic_bytes, -1)
    state.guest.write(attributes, raw)
    return 0


def max_active_blocks(state: State, place: Place, blocks: int, function: int, threads: int, shared_bytes: int) -> int:
    kernel, entry = _kernel(state, function)
    if threads <= 0 or shared_bytes < 0:
        raise CudaError(1)
    state.guest.pack("i", blocks, blocks_per_multiprocessor(state, kernel.unit, entry, threads, shared_bytes))
    return 0


def max_potential_block(
    state: State, place: Place, grid: int, block: int, function: int, shared_bytes: int, limit: int
) -> int:
    kernel, entry = _kernel(state, function)
    if shared_bytes < 0:
        raise CudaError(1)
    best, best_threads, best_blocks = 0, 0, 0
    for threads in range(min(limit or MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK) // 32 * 32, 0, -32):
        count = blocks_per_multiprocessor(state, kernel.unit, entry, threads, shared_bytes)
        if count * threads > best:
            best, best_threads, best_blocks = count * threads, threads, count
    state.guest.pack("i", grid, best_blocks * state.model.multiprocessors)
    state.guest.pack("i", block, best_threads)
    return 0


HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    "cudaGetDeviceCount": ("i", device_count),
    "cudaGetDevice": ("i", get_device),
    "cudaSetDevice": ("i", set_device),
    "cudaChooseDevice": ("ii", choose_device),
    "cudaGetDeviceProperties": ("ii", properties),
    "cudaDeviceGetAttribute": ("iii", attribute),
    "cudaDeviceReset": ("", device_reset),
    "cudaThreadExit": ("", device_reset),
    "cudaSetDeviceFlags": ("i", nothing),
    "cudaDeviceSetLimit": ("ii", nothing),
    "cudaDeviceGetLimit": ("ii", get_limit),
    "cudaDeviceSetCacheConfig": ("i", nothing),
    "cudaDeviceSetSharedMemConfig": ("i", nothing),
    "cudaDeviceGetSharedMemConfig": ("i", get_shared_config),
    "cudaDriverGetVersion": ("i", version),
    "cudaRuntimeGetVersion": ("i", version),
    "cudaDeviceGetStreamPriorityRange": ("ii", priority_range),
    "cudaDeviceCanAccessPeer": ("iii", can_access_peer),
    "cudaDeviceEnablePeerAccess": ("ii", enable_peer),
    "cudaDeviceGetPCIBusId": ("iii", bus_id),
    "cudaProfilerStart": ("", nothing),
    "cudaProfilerStop": ("", nothing),
    "cudaGetLastError": ("", get_last_error),
    "cudaPeekAtLastError": ("", peek_last_error),
    "cudaFuncSetAttribute": ("iii", set_attribute),
    "cudaFuncGetAttributes": ("ii", get_attributes),
    "cudaFuncSetCacheConfig": ("ii", nothing),
    "cudaFuncSetSharedMemConfig": ("ii", nothing),
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": ("iiii", max_active_blocks),
    "cudaOccupancyMaxPotentialBlockSize": ("iiiii", max_potential_block),
}
BEFORE_A_FAULT = frozenset(
    {"cudaGetLastError", "cudaPeekAtLastError", "cudaEventRecord", "cudaConfigureCall", "cudaLaunchKernel"}
)
"""Calls that return before a kernel which was just launched can have failed."""
WAITING = frozenset(
    {"cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy"}
    | {"cudaMemcpy2D", "cudaMemcpy3D", "cudaMemcpyFromSymbol", "cudaLaunchKernel", "cudaLaunchCooperativeKernel"}
)
"""Calls whose error tells of a kernel's."""
NEVER_STICKY = frozenset(
    {"cudaGetLastError", "cudaConfigureCall", "cudaPeekAtLastError", "cudaDeviceReset", "cudaThreadExit"}
)
"""Calls that a lost context does not fail by itself."""
