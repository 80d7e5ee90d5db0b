"""CUDA graphs: what a stream would do kept instead, by capture or node by node, and done as often as it is launched.

A graph's nodes run one after another in an order that its dependencies allow, in the stream that it is launched in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from grader.programs.device_memory import Piece
from grader.programs.runtime import arrays, copies, launches, pools, streams
from grader.programs.runtime.memory import name_at
from grader.programs.runtime.ordering import KERNEL, MAX_NODES, Capture, Graph, Node, Place, Work, add
from grader.programs.runtime.state import CudaError, Handlers, State
from grader.programs.sandbox.guest import BadPointer

CAPTURE_UNSUPPORTED, CAPTURE_UNMATCHED, CAPTURE_UNJOINED = 900, 903, 904
UPDATE_FAILURE = 910
CONDITION_BYTES = 4
NOT_SUPPORTED = 801
MEMCPY, MEMSET, HOST, CHILD, _EMPTY, _ALLOC, _FREE = 1, 2, 3, 4, 5, 10, 11
"""`cudaGraphNodeType`, with `KERNEL`."""

CAPTURED = {
    "cudaMemcpyAsync": (4, MEMCPY),
    "cudaMemcpy2DAsync": (7, MEMCPY),
    "cudaMemcpyToSymbolAsync": (5, MEMCPY),
    "cudaMemcpyFromSymbolAsync": (5, MEMCPY),
    "cudaMemsetAsync": (3, MEMSET),
    "cudaMemset2DAsync": (5, MEMSET),
    "cuMemsetD2D32Async": (6, MEMSET),
    "cudaLaunchHostFunc": (0, HOST),
}
"""Calls that a capturing stream keeps: which argument is the stream, and the kind of node."""
_WAITING = {"cudaStreamSynchronize": 0, "cudaStreamQuery": 0, "cudaStreamAddCallback": 0}
"""Calls that a capturing stream refuses."""
_MEMORY = {"cudaMallocAsync": 2, "cudaMallocFromPoolAsync": 3, "cudaFreeAsync": 1}
"""Calls that a capturing stream keeps as nodes that allocate and free."""
LIBRARIES = ("cublas", "curand", "cufft", "cusolver", "cusparse")
"""What the names of a library's functions begin with."""
_SETS_UP = re.compile(r"^cu[a-z]+(?:Dn|Sp|Lt|Xt)?(?:Create|Destroy|Set|Get|Make|Plan|Estimate)|[bB]uffer_?[sS]ize")
"""Functions of theirs that queue nothing."""
_BYTESIZE = 104
"""Where `cudaMemAllocNodeParams` has the size, and behind it the address."""
_AUTO_FREE = 1
"""`cudaGraphInstantiateFlagAutoFreeOnLaunch`."""
_NUMBER_BYTES = 16
"""Size of the largest number that a call is handed the address of."""


def capture_call(
    state: State, name: str, function: Callable[..., int | None], place: Place, values: Collection[int]
) -> bool:
    """Keep a call instead of making it, where the stream that it is for captures; whether it was kept.

    Raises CudaError: 900, of a call that cannot be captured.
    """
    arguments = list(values)
    if name in _WAITING and arguments[_WAITING[name]] in state.graphs.captures:
        raise CudaError(CAPTURE_UNSUPPORTED)
    if name == "cudaDeviceSynchronize":
        raise CudaError(CAPTURE_UNSUPPORTED)
    if name == "cudaEventRecord" and arguments[1] in state.graphs.captures:
        held = state.graphs.captures[arguments[1]]
        state.graphs.events[arguments[0]] = replace(held)
        return True
    if name == "cudaStreamWaitEvent" and arguments[1] in state.graphs.events:
        recorded = state.graphs.events[arguments[1]]
        mine = state.graphs.captures.get(arguments[0])
        last = recorded.last | (mine.last if mine is not None else frozenset())
        state.graphs.captures[arguments[0]] = Capture(recorded.graph, recorded.origin, last)
        return True
    if name.startswith(LIBRARIES) and not _SETS_UP.search(name):
        return _capture_library(state, name, function, place, arguments)
    if name in _MEMORY and arguments[_MEMORY[name]] in state.graphs.captures:
        _capture_memory(state, name, place, state.graphs.captures[arguments[_MEMORY[name]]], arguments)
        return True
    if name == "cudaMemcpy3D" and arguments[1] in state.graphs.captures:
        copy = arrays.prepared_3d(state, place, arguments[0])
        state.graphs.append(state.handle(), state.graphs.captures[arguments[1]], copy, MEMCPY)
        return True
    if name not in CAPTURED:
        return False
    index, kind = CAPTURED[name]
    held_now = state.graphs.captures.get(arguments[index])
    if held_now is None:
        return False

    def run(stream: int) -> int | None:
        return function(state, place, *arguments[:index], stream, *arguments[index + 1 :])

    work: Work = run
    if name == "cudaLaunchHostFunc":
        work = HostCall(state, place, *arguments[1:])
    elif name == "cudaMemsetAsync":
        pointer, value, size, _stream = arguments
        work = Filling(state, place, (pointer, 0, value & 0xFF, 1, size, 1))
    state.graphs.append(state.handle(), held_now, work, kind)
    return True


def _capture_library(
    state: State, name: str, function: Callable[..., int | None], place: Place, arguments: list[int]
) -> bool:
    """Capture a library's call, with the present settings of its handle and numbers of the host's."""
    handle = arguments[0] if arguments else 0
    settings = state.libraries.get(handle)
    stream = arguments[-1] if name == "cublasLtMatmul" else (settings or {}).get("stream", 0)
    held = state.graphs.captures.get(stream)
    if settings is None or held is None:
        return False
    settings, numbers = dict(settings), {}
    for address in arguments[1:]:
        # What is no address of the host's is not looked up, either.
        if isinstance(address, int) and not state.memory.is_device_address(address):
            with suppress(BadPointer):
                numbers[address] = state.guest.read(address, _NUMBER_BYTES)

    def run(_stream: int) -> int | None:
        libraries, before = state.libraries, state.graphs.numbers
        state.libraries, state.graphs.numbers = {**libraries, handle: settings}, numbers
        try:
            with state.undone():
                return function(state, place, *arguments)
        finally:
            state.libraries, state.graphs.numbers = libraries, before

    state.graphs.append(state.handle(), held, run, KERNEL)
    return True


def _capture_memory(state: State, name: str, place: Place, held: Capture, arguments: list[int]) -> None:
    handle = state.handle()
    if name == "cudaFreeAsync":
        run = pools.freeing(state, held.graph, handle, arguments[0])
        state.graphs.append(handle, held, run, _FREE)
        return
    address, run = pools.allocating(state, place, held.graph, held.last, arguments[1], name_at(state, place))
    state.graphs.append(handle, held, run, _ALLOC)
    state.guest.pack("Q", arguments[0], address)


def begin_capture(state: State, place: Place, stream: int, mode: int) -> None:
    state.stream(stream)
    if stream in (0, 1, 2) or stream in state.graphs.captures:
        raise CudaError(CAPTURE_UNSUPPORTED)
    if mode not in (0, 1, 2):
        raise CudaError(1)
    state.graphs.captures[stream] = Capture(Graph(), stream)


def end_capture(state: State, place: Place, stream: int, graph: int) -> None:
    held = state.graphs.captures.get(stream)
    if held is None or held.origin != stream:
        raise CudaError(1 if held is None else CAPTURE_UNMATCHED)
    others = [c for other, c in state.graphs.captures.items() if other != stream and c.origin == stream]
    state.graphs.captures = {s: c for s, c in state.graphs.captures.items() if c.origin != stream}
    state.graphs.events = {e: c for e, c in state.graphs.events.items() if c.origin != stream}
    # What another stream has captured must come before something that this one has.
    reached = held.graph.before(held.last)
    if any(not c.last <= reached for c in others):
        if graph:
            state.guest.pack("Q", graph, 0)
        raise CudaError(CAPTURE_UNJOINED)
    if graph:
        state.guest.pack("Q", graph, handle_of(state, held.graph))


def is_capturing(state: State, place: Place, stream: int, status: int) -> None:
    state.stream(stream)
    state.guest.pack("i", status, int(stream in state.graphs.captures))


def handle_of(state: State, graph: Graph) -> int:
    """Return a graph's handle, a new one where it has none."""
    for handle, other in state.graphs.graphs.items():
        if other is graph:
            return handle
    if len(state.graphs.graphs) > streams.MAX_HANDLES:
        raise CudaError(2)
    handle = state.handle()
    state.graphs.graphs[handle] = graph
    return handle


def give(state: State, pointer: int, graph: Graph) -> None:
    state.guest.pack("Q", pointer, handle_of(state, graph))


def graph_of(state: State, handle: int) -> Graph:
    graph = state.graphs.graphs.get(handle)
    if graph is None:
        raise CudaError(1)
    return graph


def create(state: State, place: Place, graph: int, flags: int) -> None:
    if flags:
        raise CudaError(1)
    give(state, graph, Graph())


def add_node(state: State, node: int, graph: int, after: int, count: int, run: Work, kind: int) -> None:
    before = nodes_before(state, graph, after, count)
    handle = state.handle()
    add(handle, graph_of(state, graph), Node(run, kind, before))
    state.guest.pack("Q", node, handle)


def adds(work_of: Callable[..., Work], kind: int) -> Callable[..., None]:
    """A handler that adds a node of a kind; work_of: what its parameters say that it does."""

    def add_of_kind(state: State, place: Place, node: int, *numbers: int) -> None:
        graph, after, count, *parameters = numbers
        add_node(state, node, graph, after, count, work_of(state, place, *parameters), kind)

    return add_of_kind


def nodes_before(state: State, graph: int, after: int, count: int) -> frozenset[int]:
    """Return the nodes that a call names as those before a new one."""
    owner = graph_of(state, graph)
    if not 0 <= count <= len(owner.nodes):
        raise CudaError(1)
    before = frozenset(state.guest.unpack(f"{count}Q", after)) if count else frozenset()
    if not before <= owner.nodes.keys():
        raise CudaError(1)
    return before


def _kernel(state: State, place: Place, parameters: int) -> Work:
    """Return the work of a kernel node; its arguments are read now."""
    (function,) = state.guest.unpack("Q", parameters)
    shared_bytes, _padding, arguments = state.guest.unpack("IIQ", parameters + 32)
    return launches.prepared(state, place, function, parameters + 8, parameters + 20, arguments, shared_bytes)


@dataclass(frozen=True, slots=True)
class Filling:
    """The work of a node that fills memory; numbers: the fields of its cudaMemsetParams."""

    state: State
    place: Place
    numbers: tuple[int, ...]

    def __call__(self, stream: int) -> None:
        copies.memset_of_numbers(self.state, self.place, *self.numbers, stream)


def memset_work(state: State, place: Place, parameters: int) -> Filling:
    """Return the work of a node that fills memory."""
    numbers = state.guest.unpack("QQIIQQ", parameters)
    _pointer, pitch, _value, width_bytes, width, height = numbers
    if width_bytes not in (1, 2, 4) or (height > 1 and pitch < width * width_bytes):
        raise CudaError(1)
    return Filling(state, place, numbers)


def memcpy_work(state: State, place: Place, to: int, source: int, size: int, kind: int) -> Work:
    """Return the work of a node that copies memory."""
    if size < 0:
        raise CudaError(1)

    def run(stream: int) -> None:
        copies.memcpy_async(state, place, to, source, size, kind, stream)

    return run


def child_work(state: State, place: Place, child: int) -> Work:
    """Return the work of a node that does what another graph does now, whatever becomes of that."""
    return in_order(state, ordered(state, graph_of(state, child)))


def clone(state: State, place: Place, copy: int, graph: int) -> None:
    if graph_of(state, graph).allocates:
        # What allocates is in one graph alone.
        raise CudaError(NOT_SUPPORTED)
    nodes = graph_of(state, graph).nodes
    new = {handle: state.handle() for handle in nodes}
    copied = {
        new[handle]: replace(node, after=frozenset(new[before] for before in node.after))
        for handle, node in nodes.items()
    }
    give(state, copy, Graph(copied, origin=new))


@dataclass(frozen=True, slots=True)
class HostCall:
    """The work of a node that calls a function of the host's, with `data`."""

    state: State
    place: Place
    function: int
    data: int

    def __call__(self, stream: int) -> None:
        streams.launch_host_function(self.state, self.place, stream, self.function, self.data)


def host_work(state: State, place: Place, parameters: int) -> HostCall:
    """Return the work of a node that calls a function of the host's."""
    return HostCall(state, place, *state.guest.unpack("QQ", parameters))


def add_empty(state: State, place: Place, node: int, graph: int, after: int, count: int) -> None:
    add_node(state, node, graph, after, count, lambda _stream: 0, _EMPTY)


def add_alloc(state: State, place: Place, node: int, graph: int, after: int, count: int, parameters: int) -> None:
    """Add a node that allocates; where its memory lies is known at once."""
    before = nodes_before(state, graph, after, count)
    (size,) = state.guest.unpack("q", parameters + _BYTESIZE)
    address, run = pools.allocating(state, place, graph_of(state, graph), before, size, "?")
    state.guest.pack("Q", parameters + _BYTESIZE + 8, address)
    add_node(state, node, graph, after, count, run, _ALLOC)


def add_free(state: State, place: Place, node: int, graph: int, after: int, count: int, address: int) -> None:
    before = nodes_before(state, graph, after, count)
    handle = state.handle()
    owner = graph_of(state, graph)
    add(handle, owner, Node(pools.freeing(state, owner, handle, address), _FREE, before))
    state.guest.pack("Q", node, handle)


def add_dependencies(state: State, place: Place, graph: int, before: int, after: int, count: int) -> None:
    owner = graph_of(state, graph)
    if not 0 <= count <= MAX_NODES:
        raise CudaError(1)
    first, then = (state.guest.unpack(f"{count}Q", at) if count else () for at in (before, after))
    if not {*first, *then} <= owner.nodes.keys():
        raise CudaError(1)
    for one, other in zip(first, then, strict=True):
        node = owner.nodes[other]
        owner.nodes[other] = replace(node, after=node.after | {one})


def instantiate(state: State, place: Place, executable: int, graph: int, flags: int) -> None:
    source = graph_of(state, graph)
    others = (other for other in state.graphs.graphs.values() if other is not source)
    if source.allocates and any(other.allocates is source.allocates for other in others):
        # What allocates is instantiated once at a time.
        raise CudaError(NOT_SUPPORTED)
    nodes, frees_first = ordered(state, source), bool(flags & _AUTO_FREE)
    instance = Graph(nodes, allocates=source.allocates, frees_first=frees_first, conditions=source.conditions)
    give(state, executable, instance)


def ordered(state: State, graph: Graph) -> dict[int, Node]:
    """A graph's nodes in an order that their dependencies allow.  Raises CudaError: 1, they wait for one another."""
    nodes = graph.nodes
    state.meter.walk(sum(1 + len(node.after) for node in nodes.values()))
    waits = {handle: len(node.after) for handle, node in nodes.items()}
    next_of: dict[int, list[int]] = {}
    for handle, node in nodes.items():
        for before in node.after:
            next_of.setdefault(before, []).append(handle)
    queue = [handle for handle, count in waits.items() if not count]
    for handle in queue:
        for then in next_of.get(handle, ()):
            waits[then] -= 1
            if not waits[then]:
                queue.append(then)
    if len(queue) < len(nodes):
        raise CudaError(1)
    return {handle: nodes[handle].ready() for handle in queue}


def in_order(state: State, nodes: dict[int, Node]) -> Work:
    """Return the work of these nodes, one after another, until one fails."""

    def run(stream: int) -> int:
        state.meter.charge(rows=len(nodes))
        return next((code for node in list(nodes.values()) if node.is_enabled and (code := node.run(stream))), 0)

    return run


def assign(state: State, handle: int, value: int, stream: int) -> None:
    """Set a condition, in the order of a stream."""
    data = np.array([value & 0xFFFFFFFF], "<u4").view(np.uint8)
    state.memory.copy(
        Piece(state.memory.live[handle]), Piece(data=data), [(0, 0, CONDITION_BYTES)], state.stream(stream)
    )


def launch(state: State, place: Place, executable: int, stream: int) -> int | None:
    graph = graph_of(state, executable)
    state.stream(stream)
    held = state.graphs.captures.get(stream)
    if held is not None:
        state.graphs.append(state.handle(), held, in_order(state, dict(graph.nodes)), CHILD)
        return 0
    memory = state.graphs.memory
    left = [address for address in graph.allocates if address in memory.held]
    if left and not graph.frees_first:
        raise CudaError(1)
    for address in left:
        memory.give_back(address, stream)
    for condition, value in graph.conditions.items():
        if value is not None:
            assign(state, condition, value, stream)
    return in_order(state, graph.nodes)(stream)


def upload(state: State, place: Place, executable: int, stream: int) -> None:
    graph_of(state, executable)
    state.stream(stream)


def set_kernel(state: State, place: Place, executable: int, node: int, parameters: int) -> None:
    _set_kernel(state, place, graph_of(state, executable), node, parameters)


def set_kernel_of_graph(state: State, place: Place, node: int, parameters: int) -> None:
    owner = next((graph for graph in state.graphs.graphs.values() if node in graph.nodes), Graph())
    _set_kernel(state, place, owner, node, parameters)


def _set_kernel(state: State, place: Place, graph: Graph, node: int, parameters: int) -> None:
    if node not in graph.nodes or graph.nodes[node].kind != KERNEL:
        raise CudaError(1)
    graph.nodes[node] = replace(graph.nodes[node], run=_kernel(state, place, parameters))


def update(state: State, place: Place, executable: int, graph: int) -> None:
    """Give an executable graph the nodes of another that has the same shape."""
    updated = graph_of(state, executable)
    others = ordered(state, graph_of(state, graph))
    if [node.kind for node in updated.nodes.values()] != [node.kind for node in others.values()]:
        raise CudaError(UPDATE_FAILURE)
    updated.nodes = {
        handle: replace(old, run=new.run)
        for (handle, old), new in zip(updated.nodes.items(), others.values(), strict=True)
    }


def destroy(state: State, place: Place, graph: int) -> None:
    graph_of(state, graph)
    del state.graphs.graphs[graph]


HANDLERS: Handlers = {
    "cudaStreamBeginCapture": ("ii", begin_capture),
    "cudaStreamEndCapture": ("ii", end_capture),
    "cudaStreamIsCapturing": ("ii", is_capturing),
    "cudaGraphCreate": ("ii", create),
    "cudaGraphAddKernelNode": ("iiiii", adds(_kernel, KERNEL)),
    "cudaGraphAddMemsetNode": ("iiiii", adds(memset_work, MEMSET)),
    "cudaGraphAddMemcpyNode1D": ("iiiiiiii", adds(memcpy_work, MEMCPY)),
    "cudaGraphAddMemcpyNode": ("iiiii", adds(arrays.prepared_3d, MEMCPY)),
    "cudaGraphAddChildGraphNode": ("iiiii", adds(child_work, CHILD)),
    "cudaGraphClone": ("ii", clone),
    "cudaGraphUpload": ("ii", upload),
    "cudaGraphKernelNodeSetParams": ("ii", set_kernel_of_graph),
    "cudaGraphExecUpdate": ("ii", update),
    "cudaGraphAddHostNode": ("iiiii", adds(host_work, HOST)),
    "cudaGraphAddEmptyNode": ("iiii", add_empty),
    "cudaGraphAddDependencies": ("iiii", add_dependencies),
    "cudaGraphAddMemAllocNode": ("iiiii", add_alloc),
    "cudaGraphAddMemFreeNode": ("iiiii", add_free),
    "cudaGraphInstantiate": ("iii", instantiate),
    "cudaGraphLaunch": ("ii", launch),
    "cudaGraphExecKernelNodeSetParams": ("iii", set_kernel),
    "cudaGraphDestroy": ("i", destroy),
    "cudaGraphExecDestroy": ("i", destroy),
}
