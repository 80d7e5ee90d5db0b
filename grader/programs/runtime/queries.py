"""Questions about the device, about kernels, about errors."""

from __future__ import annotations

import struct
from collections.abc import Callable

from grader.devices import MAX_THREADS_PER_BLOCK, SHARED_BYTES, WARP_LANES
from grader.programs.runtime.devices import name_of, numbers, text_of
from grader.programs.runtime.memory import nothing
from grader.programs.runtime.ordering import Place, Raised
from grader.programs.runtime.outcomes import blocks_per_multiprocessor
from grader.programs.runtime.registration import entry_of
from grader.programs.runtime.state import CudaError, Handlers, Kernel, State

VERSION = 13_000
"""Version of the runtime and of the driver: `CUDART_VERSION` of the headers."""
UUID = b"\1" * 16
MAX_RAISED = 1000
BUS_ID = "0000:00:04.0"
DEVICE_FLAGS, HOST_MAPPED_FLAG = 0xFF, 8
"""Flags of `cudaSetDeviceFlags`: all there are, and `cudaDeviceMapHost`."""
LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 64, 6: 0}
"""Default limits, by `cudaLimit`."""
STACK, HEAP, SYNC_DEPTH, PERSISTING = 0, 2, 3, 6
MAX_STACK_BYTES = 512 << 10
UNSUPPORTED_LIMIT = 215


_PROPERTIES: tuple[tuple[str, str], ...] = (
    ("Q", "bytes MaxSharedMemoryPerBlock"),
    ("i", "MaxRegistersPerBlock WarpSize"),
    ("Q", "MaxPitch"),
    ("i", "MaxThreadsPerBlock MaxBlockDimX MaxBlockDimY MaxBlockDimZ MaxGridDimX MaxGridDimY MaxGridDimZ ClockRate"),
    ("Q", "TotalConstantMemory"),
    ("i", "ComputeCapabilityMajor ComputeCapabilityMinor"),
    ("Q", "TextureAlignment TexturePitchAlignment"),
    ("i", "GpuOverlap MultiProcessorCount KernelExecTimeout Integrated CanMapHostMemory ComputeMode"),
    ("i", "MaxTexture1DWidth MaxTexture1DMipmappedWidth MaxTexture1DLinearWidth MaxTexture2DWidth MaxTexture2DHeight"),
    ("i", "MaxTexture2DMipmappedWidth MaxTexture2DMipmappedHeight MaxTexture2DLinearWidth MaxTexture2DLinearHeight"),
    ("i", "MaxTexture2DLinearPitch MaxTexture2DGatherWidth MaxTexture2DGatherHeight"),
    ("i", "MaxTexture3DWidth MaxTexture3DHeight MaxTexture3DDepth"),
    ("i", "MaxTexture3DWidthAlt MaxTexture3DHeightAlt MaxTexture3DDepthAlt MaxTextureCubemapWidth"),
    ("i", "MaxTexture1DLayeredWidth MaxTexture1DLayeredLayers"),
    ("i", "MaxTexture2DLayeredWidth MaxTexture2DLayeredHeight MaxTexture2DLayeredLayers"),
    ("i", "MaxTextureCubemapLayeredWidth MaxTextureCubemapLayeredLayers"),
    ("i", "MaxSurface1DWidth MaxSurface2DWidth MaxSurface2DHeight"),
    ("i", "MaxSurface3DWidth MaxSurface3DHeight MaxSurface3DDepth MaxSurface1DLayeredWidth MaxSurface1DLayeredLayers"),
    ("i", "MaxSurface2DLayeredWidth MaxSurface2DLayeredHeight MaxSurface2DLayeredLayers"),
    ("i", "MaxSurfaceCubemapWidth MaxSurfaceCubemapLayeredWidth MaxSurfaceCubemapLayeredLayers"),
    ("Q", "SurfaceAlignment"),
    ("i", "ConcurrentKernels EccEnabled PciBusId PciDeviceId PciDomainId TccDriver AsyncEngineCount"),
    ("i", "UnifiedAddressing MemoryClockRate GlobalMemoryBusWidth L2CacheSize MaxPersistingL2CacheSize"),
    ("i", "MaxThreadsPerMultiProcessor StreamPrioritiesSupported GlobalL1CacheSupported LocalL1CacheSupported"),
    ("Q", "MaxSharedMemoryPerMultiprocessor"),
    ("i", "MaxRegistersPerMultiprocessor ManagedMemory IsMultiGpuBoard MultiGpuBoardGroupID HostNativeAtomicSupported"),
    ("i", "SingleToDoublePrecisionPerfRatio PageableMemoryAccess ConcurrentManagedAccess ComputePreemptionSupported"),
    ("i", "CanUseHostPointerForRegisteredMem CooperativeLaunch CooperativeLaunch"),
    ("Q", "MaxSharedMemoryPerBlockOptin"),
    ("i", "PageableMemoryAccessUsesHostPageTables DirectManagedMemAccessFromHost MaxBlocksPerMultiprocessor"),
    ("i", "MaxAccessPolicyWindowSize"),
    ("Q", "ReservedSharedMemoryPerBlock"),
    ("i", "HostRegisterSupported SparseCudaArraySupported HostRegisterReadOnlySupported"),
    ("i", "TimelineSemaphoreInteropSupported MemoryPoolsSupported GPUDirectRDMASupported"),
    ("i", "GPUDirectRDMAFlushWritesOptions GPUDirectRDMAWritesOrdering MemoryPoolSupportedHandleTypes"),
    ("i", "DeferredMappingCudaArraySupported IpcEventSupport ClusterLaunch ClusterLaunch"),
)
"""`cudaDeviceProp` behind the names, in its order: how wide, and which attributes; "bytes": the memory."""


def properties(state: State, place: Place, prop: int, device: int) -> None:
    _check_device(device)
    values = state.model.attributes | {"bytes": state.model.memory_bytes}  # type: ignore[operator]
    raw = struct.pack("<256s16s8sI", state.model.name.encode(), UUID, bytes(8), 0)
    for kind, names in _PROPERTIES:
        # As C lays it out: eight-byte members at multiples of eight.
        raw += bytes(-len(raw) % struct.calcsize(kind))
        raw += b"".join(struct.pack("<" + kind, values[name]) for name in names.split())
    state.guest.write(prop, raw)


def _check_device(device: int) -> None:
    if device != 0:
        raise CudaError(101)


def attribute(state: State, place: Place, value: int, which: int, device: int) -> None:
    _check_device(device)
    name = numbers().get(which, "")
    if name not in state.model.attributes:
        raise CudaError(1)
    state.guest.pack("i", value, state.model.attributes[name])


def set_device(state: State, place: Place, device: int) -> None:
    _check_device(device)


def _gives(number: int) -> Callable[..., None]:
    """A handler that writes one number to the address that the call is handed first."""

    def handler(state: State, place: Place, pointer: int, *_others: int) -> None:
        state.guest.pack("i", pointer, number)

    return handler


def device_reset(state: State, place: Place) -> None:
    state.wait_for_all()
    for allocation in list(state.memory.live.values()):
        if allocation.kind == "device":
            state.allocated_bytes -= allocation.size
            state.memory.free(allocation)
    state.sticky = state.last_error = 0


def _has_limit(state: State, limit: int) -> bool:
    # Kernels of later devices cannot wait for what they have launched.
    return limit in LIMITS and not (limit == SYNC_DEPTH and state.model.capability >= (9, 0))


def get_limit(state: State, place: Place, value: int, limit: int) -> None:
    if not _has_limit(state, limit):
        raise CudaError(UNSUPPORTED_LIMIT)
    state.guest.pack("Q", value, state.device_limits.get(limit, LIMITS[limit]))


def set_limit(state: State, place: Place, limit: int, value: int) -> None:
    if not _has_limit(state, limit):
        raise CudaError(UNSUPPORTED_LIMIT)
    if (limit == STACK and value > MAX_STACK_BYTES) or (limit == HEAP and not state.memory.set_heap(value)):
        raise CudaError(1)
    most = state.model.attributes["MaxPersistingL2CacheSize"]
    state.device_limits[limit] = min(value, most) if limit == PERSISTING else value


def set_device_flags(state: State, place: Place, flags: int) -> None:
    if flags & ~DEVICE_FLAGS:
        raise CudaError(1)
    state.device_flags = flags


def get_device_flags(state: State, place: Place, flags: int) -> None:
    """Memory of the host can be mapped, whether or not a program asks for it."""
    state.guest.pack("I", flags, state.device_flags | HOST_MAPPED_FLAG)


def init_device(state: State, place: Place, device: int, device_flags: int, flags: int) -> None:
    _check_device(device)
    if flags not in (0, 1):
        raise CudaError(1)
    if flags:
        set_device_flags(state, place, device_flags)


def by_bus_id(state: State, place: Place, device: int, text: int) -> None:
    if state.guest.text(text).rsplit(".", 1)[0].removeprefix("0000:") != BUS_ID[5:-2]:
        raise CudaError(101)
    state.guest.pack("i", device, 0)


def priority_range(state: State, place: Place, least: int, greatest: int) -> None:
    state.guest.pack("i", least, 0)
    state.guest.pack("i", greatest, -5)


def no_peer(state: State, place: Place, *_arguments: int) -> None:
    """There is one device, and it has no peer."""
    raise CudaError(101)


def bus_id(state: State, place: Place, text: int, length: int, device: int) -> None:
    _check_device(device)
    if length < 13:
        raise CudaError(1)
    state.guest.write(text, BUS_ID.encode() + b"\0")


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
    return _text(state, text_of(code))


def error_name(state: State, code: int) -> int:
    return _text(state, name_of(code))


# -- kernels --------------------------------------------------------------------------------------


def _kernel(state: State, function: int) -> tuple[Kernel, str]:
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(98)
    return kernel, entry_of(state, kernel)


def set_attribute(state: State, place: Place, function: int, which: int, value: int) -> None:
    kernel, entry = _kernel(state, function)
    if which in (8, 9) and len(state.raised) < MAX_RAISED:
        state.raised.append(Raised(kernel.display, value, place, is_carveout=which == 9))
    if which == 8:
        if not 0 <= value <= state.model.shared_opt_in - state.gpu.static_shared_bytes(kernel.unit, entry):
            raise CudaError(1)
        kernel.max_dynamic_bytes = value
    elif which != 9:
        raise CudaError(1)


def get_attributes(state: State, place: Place, attributes: int, function: int) -> None:
    kernel, entry = _kernel(state, function)
    capability = state.model.capability[0] * 10 + state.model.capability[1]
    static = state.gpu.static_shared_bytes(kernel.unit, entry)
    threads = state.gpu.most_threads(kernel.unit, entry)
    dynamic = kernel.max_dynamic_bytes or SHARED_BYTES - static
    raw = struct.pack("<QQQiiiiiii", static, 0, 0, threads, 32, capability, capability, 0, dynamic, -1)
    state.guest.write(attributes, raw)


def get_name(state: State, place: Place, name: int, function: int, room: int, size: int) -> None:
    """Write a kernel's mangled name into `room`, and where that is into `name`."""
    _, entry = _kernel(state, function)
    state.guest.write(room, entry.encode()[: size - 1] + b"\0")
    state.guest.pack("Q", name, room)


def max_active_blocks(state: State, place: Place, blocks: int, function: int, threads: int, shared_bytes: int) -> None:
    kernel, entry = _kernel(state, function)
    if threads <= 0 or shared_bytes < 0:
        raise CudaError(1)
    state.guest.pack("i", blocks, blocks_per_multiprocessor(state, kernel.unit, entry, threads, shared_bytes))


def max_potential_block(
    state: State, place: Place, grid: int, block: int, function: int, shared_bytes: int, limit: int
) -> None:
    kernel, entry = _kernel(state, function)
    if shared_bytes < 0:
        raise CudaError(1)
    most = state.gpu.most_threads(kernel.unit, entry)
    sizes = range(min(limit or most, most) // 32 * 32, 0, -32)
    fits = [(blocks_per_multiprocessor(state, kernel.unit, entry, n, shared_bytes), n) for n in sizes]
    blocks, threads = max(fits, key=lambda fit: fit[0] * fit[1], default=(0, 0))
    state.guest.pack("i", grid, blocks * state.model.multiprocessors)
    state.guest.pack("i", block, threads if blocks else 0)


def available_shared(state: State, place: Place, value: int, function: int, blocks: int, threads: int) -> None:
    """Dynamic shared memory that each of so many resident blocks could have."""
    kernel, entry = _kernel(state, function)
    model = state.model
    warps = -(-threads // WARP_LANES)
    most = min(model.blocks_per_multiprocessor, model.threads_per_multiprocessor // max(1, warps * WARP_LANES))
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK or not 1 <= blocks <= most:
        raise CudaError(1)
    reserved = model.attributes["ReservedSharedMemoryPerBlock"]
    each = model.shared_per_multiprocessor // blocks // 128 * 128 - reserved
    static = state.gpu.static_shared_bytes(kernel.unit, entry)
    state.guest.pack("Q", value, max(0, min(each, model.shared_opt_in) - static))


HANDLERS: Handlers = {
    "cudaGetDeviceCount": ("i", _gives(1)),
    "cudaGetDevice": ("i", _gives(0)),
    "cudaSetDevice": ("i", set_device),
    "cudaChooseDevice": ("ii", _gives(0)),
    "cudaGetDeviceProperties": ("ii", properties),
    "cudaDeviceGetAttribute": ("iii", attribute),
    "cudaDeviceReset": ("", device_reset),
    "cudaThreadExit": ("", device_reset),
    "cudaSetDeviceFlags": ("i", set_device_flags),
    "cudaGetDeviceFlags": ("i", get_device_flags),
    "cudaInitDevice": ("iii", init_device),
    "cudaDeviceGetByPCIBusId": ("ii", by_bus_id),
    "cudaSetValidDevices": ("ii", nothing),
    "cudaDeviceSetLimit": ("ii", set_limit),
    "cudaDeviceGetLimit": ("ii", get_limit),
    "cudaDeviceSetCacheConfig": ("i", nothing),
    "cudaDeviceGetCacheConfig": ("i", _gives(0)),
    "cudaDeviceSetSharedMemConfig": ("i", nothing),
    "cudaDeviceGetSharedMemConfig": ("i", _gives(1)),
    "cudaDriverGetVersion": ("i", _gives(VERSION)),
    "cudaRuntimeGetVersion": ("i", _gives(VERSION)),
    "cudaDeviceGetStreamPriorityRange": ("ii", priority_range),
    "cudaDeviceCanAccessPeer": ("iii", _gives(0)),
    "cudaDeviceEnablePeerAccess": ("ii", no_peer),
    "cudaDeviceDisablePeerAccess": ("i", no_peer),
    "cudaDeviceGetP2PAttribute": ("iiii", no_peer),
    "cudaDeviceGetPCIBusId": ("iii", bus_id),
    "cudaProfilerStart": ("", nothing),
    "cudaProfilerStop": ("", nothing),
    "cudaGetLastError": ("", get_last_error),
    "cudaPeekAtLastError": ("", peek_last_error),
    "cudaFuncSetAttribute": ("iii", set_attribute),
    "cudaFuncGetAttributes": ("ii", get_attributes),
    "cudaFuncGetName": ("iiii", get_name),
    "cudaFuncSetCacheConfig": ("ii", nothing),
    "cudaFuncSetSharedMemConfig": ("ii", nothing),
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": ("iiii", max_active_blocks),
    "cudaOccupancyAvailableDynamicSMemPerBlock": ("iiii", available_shared),
    "cudaOccupancyMaxPotentialBlockSize": ("iiiii", max_potential_block),
}
BEFORE_A_FAULT = frozenset(
    {"cudaGetLastError", "cudaPeekAtLastError", "cudaEventRecord", "cudaLaunch", "cudaLaunchKernel"}
)
"""Calls that return before a kernel which was just launched can have failed."""
WAITING = frozenset(
    {"cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy"}
    | {"cudaMemcpy2D", "cudaMemcpy3D", "cudaMemcpyFromSymbol", "cudaLaunchKernel", "cudaLaunchCooperativeKernel"}
)
"""Calls whose error tells of a kernel's."""
NEVER_STICKY = frozenset({"cudaGetLastError", "cudaLaunch", "cudaPeekAtLastError", "cudaDeviceReset", "cudaThreadExit"})
"""Calls that a lost context does not fail by itself."""
