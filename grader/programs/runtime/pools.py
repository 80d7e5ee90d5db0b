"""Memory in the order of streams and of graphs, and the pools that it comes from: what each holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from grader.programs.runtime.memory import GRAPH, allocate, free_late, memory_errors
from grader.programs.runtime.ordering import Graph, Place, Work, in_chunks
from grader.programs.runtime.state import CudaError, Handlers, State

FLAGS = (1, 2, 3)
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = range(4, 9)
"""`cudaMemPoolAttr`: how memory is reused, numbers of 32 bits; bytes, of 64."""
_FIELDS = {THRESHOLD: "threshold", RESERVED: "reserved", USED: "used"}
_FIELDS |= {RESERVED_HIGH: "reserved_high", USED_HIGH: "used_high"}
PINNED = 1
ON_DEVICE = 1
MAX_POOLS = 1000
NOT_SUPPORTED = 801


@dataclass
class Pool:
    """flags: by attribute.  used, reserved: bytes handed out and held, and the most of both since that was reset."""

    flags: dict[int, int] = field(default_factory=lambda: dict.fromkeys(FLAGS, 1))
    threshold: int = 0
    used: int = 0
    used_high: int = 0
    reserved: int = 0
    reserved_high: int = 0

    def take(self, size: int) -> None:
        """Hand out memory."""
        self.used += size
        self.reserved = max(self.reserved, in_chunks(self.used))
        self.used_high = max(self.used_high, self.used)
        self.reserved_high = max(self.reserved_high, self.reserved)

    def give_back(self, size: int) -> None:
        """Memory is free again; what is held beyond the threshold goes to the device."""
        self.used -= size
        self.trim(self.threshold)

    def trim(self, least: int) -> None:
        """Hold no more than `least` bytes beside those that are handed out, in whole chunks."""
        self.reserved = min(self.reserved, in_chunks(max(self.used, least)))


def _pool(state: State, handle: int) -> Pool:
    pool = state.pools.get(handle)
    if not isinstance(pool, Pool):
        raise CudaError(1)
    return pool


def _default(state: State) -> int:
    """The handle of the device's own pool."""
    if not state.pools:
        state.current_pool = state.handle()
        state.pools[state.current_pool] = Pool()
    own: int = next(iter(state.pools))
    return own


def check_device(device: int) -> None:
    if device:
        raise CudaError(101)


def get_default(state: State, place: Place, pool: int, device: int) -> None:
    check_device(device)
    state.guest.pack("Q", pool, _default(state))


def get_current(state: State, place: Place, pool: int, device: int) -> None:
    check_device(device)
    _default(state)
    state.guest.pack("Q", pool, state.current_pool)


def set_current(state: State, place: Place, device: int, pool: int) -> None:
    check_device(device)
    _pool(state, pool)
    state.current_pool = pool


def create(state: State, place: Place, pool: int, properties: int) -> None:
    kind, handle_types, location, device = state.guest.unpack("iiii", properties)
    if kind != PINNED or location != ON_DEVICE or len(state.pools) >= MAX_POOLS:
        raise CudaError(1)
    check_device(device)
    if handle_types:
        # No other process could open what a handle of these is for.
        raise CudaError(NOT_SUPPORTED)
    _default(state)
    handle = state.handle()
    state.pools[handle] = Pool()
    state.guest.pack("Q", pool, handle)


def destroy(state: State, place: Place, pool: int) -> None:
    _pool(state, pool)
    if pool == _default(state):
        raise CudaError(1)
    del state.pools[pool]
    if state.current_pool == pool:
        state.current_pool = _default(state)


def set_attribute(state: State, place: Place, pool: int, which: int, value: int) -> None:
    record = _pool(state, pool)
    if which in FLAGS:
        (record.flags[which],) = state.guest.unpack("i", value)
        return
    (number,) = state.guest.unpack("Q", value)
    if which == THRESHOLD:
        record.threshold = number
    elif which == RESERVED_HIGH and number == 0:
        record.reserved_high = record.reserved
    elif which == USED_HIGH and number == 0:
        record.used_high = record.used
    else:
        raise CudaError(1)


def get_attribute(state: State, place: Place, pool: int, which: int, value: int) -> None:
    record = _pool(state, pool)
    if which in FLAGS:
        state.guest.pack("i", value, record.flags[which])
        return
    if which not in _FIELDS:
        raise CudaError(1)
    state.guest.pack("Q", value, getattr(record, _FIELDS[which]))


def trim(state: State, place: Place, pool: int, least: int) -> int:
    _pool(state, pool).trim(max(0, least))
    return 0


def set_access(state: State, place: Place, pool: int, access: int, count: int) -> None:
    """The one device reaches its own memory, which cannot be taken from it."""
    _pool(state, pool)
    for index in range(min(max(count, 0), MAX_POOLS)):
        location, device, flags = state.guest.unpack("iii", access + 12 * index)
        if location != ON_DEVICE or flags not in (0, 1, 3):
            raise CudaError(1)
        check_device(device)
        if flags != 3:
            raise CudaError(1)


def get_access(state: State, place: Place, flags: int, pool: int, location: int) -> None:
    _pool(state, pool)
    kind, device = state.guest.unpack("ii", location)
    if kind != ON_DEVICE:
        raise CudaError(1)
    check_device(device)
    state.guest.pack("i", flags, 3)


def malloc_from_pool(state: State, place: Place, pointer: int, size: int, pool: int, stream: int) -> None:
    state.begin(state.stream(stream))
    record = _pool(state, pool)
    if size == 0:
        state.guest.pack("Q", pointer, 0)
        return
    allocation = allocate(state, pointer, size, place)
    allocation.pool = record
    record.take(size)


def malloc_async(state: State, place: Place, pointer: int, size: int, stream: int) -> None:
    _default(state)
    malloc_from_pool(state, place, pointer, size, state.current_pool, stream)


def allocating(
    state: State, place: Place, graph: Graph, last: Collection[int], size: int, name: str
) -> tuple[int, Work]:
    """Return the address of what a new node allocates after others, and its work.

    It has the address of what is freed by then, where that has the same size.
    """
    earlier = graph.before(last)
    state.meter.walk(len(earlier) + len(graph.freed))
    memory = state.graphs.memory
    of_same_size = (a for a, node in graph.freed.items() if node in earlier and state.memory.live[a].size == size)
    address = next(of_same_size, 0)
    if address:
        del graph.freed[address]
    else:
        if not 0 < size <= state.model.memory_bytes:
            raise CudaError(1 if size <= 0 else 2)
        with memory_errors():
            address = state.memory.allocate(name, size, GRAPH, place.line, place.file).base
    graph.allocates.add(address)

    def run(stream: int) -> None:
        memory.take(address, size, stream)

    return address, run


def freeing(state: State, graph: Graph, handle: int, address: int) -> Work:
    """Return the work of a node that frees what a node of any graph has allocated."""
    allocation = state.memory.live.get(address)
    if allocation is None or allocation.kind != GRAPH or address in graph.freed:
        raise CudaError(1)
    if address in graph.allocates:
        graph.freed[address] = handle

    def run(stream: int) -> None:
        state.graphs.memory.give_back(address, stream)

    return run


def get_graph_memory(state: State, place: Place, device: int, attribute: int, value: int) -> None:
    check_device(device)
    state.guest.pack("Q", value, state.graphs.memory.value(attribute))


def set_graph_memory(state: State, place: Place, device: int, attribute: int, value: int) -> None:
    """The most that was used, or reserved, counts from now on: nothing but 0 can be said."""
    check_device(device)
    if state.guest.unpack("Q", value) != (0,):
        raise CudaError(1)
    state.graphs.memory.reset(attribute)


def trim_graph_memory(state: State, place: Place, device: int) -> None:
    check_device(device)
    state.graphs.memory.kept.clear()


def refused(state: State, place: Place, *_arguments: int) -> int:
    """There is no other process to share anything with."""
    raise CudaError(NOT_SUPPORTED)


HANDLERS: Handlers = {
    "cudaMallocAsync": ("iii", malloc_async),
    "cudaMallocFromPoolAsync": ("iiii", malloc_from_pool),
    "cudaFreeAsync": ("ii", free_late),
    "cudaDeviceGetDefaultMemPool": ("ii", get_default),
    "cudaDeviceGetMemPool": ("ii", get_current),
    "cudaDeviceSetMemPool": ("ii", set_current),
    "cudaMemPoolCreate": ("ii", create),
    "cudaMemPoolDestroy": ("i", destroy),
    "cudaMemPoolSetAttribute": ("iii", set_attribute),
    "cudaMemPoolGetAttribute": ("iii", get_attribute),
    "cudaMemPoolTrimTo": ("ii", trim),
    "cudaMemPoolSetAccess": ("iii", set_access),
    "cudaMemPoolGetAccess": ("iii", get_access),
    "cudaDeviceGetGraphMemAttribute": ("iii", get_graph_memory),
    "cudaDeviceSetGraphMemAttribute": ("iii", set_graph_memory),
    "cudaDeviceGraphMemTrim": ("i", trim_graph_memory),
    "cudaIpcGetMemHandle": ("ii", refused),
    "cudaIpcOpenMemHandle": ("iii", refused),
    "cudaIpcCloseMemHandle": ("i", refused),
    "cudaIpcGetEventHandle": ("ii", refused),
    "cudaIpcOpenEventHandle": ("ii", refused),
}
