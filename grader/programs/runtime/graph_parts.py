"""CUDA graphs added to and taken apart: captures into one, conditional nodes, which nodes there are, what they do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from grader.programs.device_memory import Piece
from grader.programs.runtime import arrays, graphs, streams
from grader.programs.runtime.launches import Prepared
from grader.programs.runtime.memory import GRAPH, memory_errors
from grader.programs.runtime.ordering import KERNEL, Capture, Graph, Node, Place, Work, add
from grader.programs.runtime.state import CudaError, Handlers, State

_WAIT_EVENT, _RECORD_EVENT, _CONDITIONAL = 6, 7, 13
_ADD, _SET = range(2)
"""`cudaStreamUpdateCaptureDependenciesFlags`."""
_ASSIGN_DEFAULT = 1
"""`cudaGraphCondAssignDefault`."""
IF, WHILE, SWITCH = range(3)
"""`cudaGraphConditionalNodeType`."""
MAX_BODIES = 1000
_SWITCHED = (KERNEL, graphs.MEMCPY, graphs.MEMSET)
"""Kinds of nodes that may be left out of a launch."""


def capture_to_graph(state: State, place: Place, stream: int, graph: int, after: int, count: int, mode: int) -> None:
    """Capture into a graph that there is, after these nodes of it."""
    owner, last = graphs.graph_of(state, graph), graphs.nodes_before(state, graph, after, count)
    graphs.begin_capture(state, place, stream, mode)
    state.graphs.captures[stream] = Capture(owner, stream, last)


def capture_info(state: State, place: Place, stream: int, status: int, *numbers: int) -> None:
    """Write whether a stream captures, into which graph, and which nodes the next one comes after, `room` of them."""
    number, graph, nodes, room, count = numbers
    state.stream(stream)
    held = state.graphs.captures.get(stream)
    state.guest.pack("i", status, int(held is not None))
    if held is None:
        return
    handle = graphs.handle_of(state, held.graph)
    for address in (number, graph):
        if address:
            state.guest.pack("Q", address, handle)
    _list(state, sorted(held.last)[:room], nodes)
    state.guest.pack("Q", count, len(held.last))


def update_dependencies(state: State, place: Place, stream: int, nodes: int, count: int, flags: int) -> None:
    """Say which nodes the next one that is captured comes after."""
    held = state.graphs.captures.get(stream)
    if held is None or flags not in (_ADD, _SET):
        raise CudaError(1)
    named = graphs.nodes_before(state, graphs.handle_of(state, held.graph), nodes, count)
    held.last = named if flags == _SET else held.last | named


def create_condition(state: State, place: Place, handle: int, graph: int, default: int, flags: int) -> None:
    state.guest.pack("Q", handle, _new_condition(state, place, graphs.graph_of(state, graph), default, flags))


def add_conditional(state: State, place: Place, node: int, graph: int, *numbers: int) -> None:
    """Add a node that runs bodies, new graphs whose handles are written, as a condition says."""
    after, count, condition, kind, size, bodies = numbers
    owner, before = graphs.graph_of(state, graph), graphs.nodes_before(state, graph, after, count)
    most = {IF: 2, WHILE: 1, SWITCH: MAX_BODIES}.get(kind, 0)
    if not 1 <= size <= most or not any(condition in known.conditions for known in state.graphs.graphs.values()):
        raise CudaError(1)
    inner = [Graph() for _ in range(size)]
    _list(state, [graphs.handle_of(state, body) for body in inner], bodies)

    def work_of() -> Work:
        works = [graphs.in_order(state, graphs.ordered(state, body)) for body in inner]
        return _conditional(state, condition, kind, works)

    handle = state.handle()
    add(handle, owner, Node(lambda _stream: 0, _CONDITIONAL, before, work_of))
    state.guest.pack("Q", node, handle)


def _adds_event(call: Callable[[State, Place, int, int], None], kind: int) -> Callable[..., None]:
    """A handler that adds a node which does something with an event.  call: is handed the event and the stream."""

    def add_event(state: State, place: Place, node: int, graph: int, after: int, count: int, event: int) -> None:
        if event not in state.events:
            raise CudaError(1)
        graphs.add_node(state, node, graph, after, count, lambda stream: call(state, place, event, stream), kind)

    return add_event


def _wait(state: State, place: Place, event: int, stream: int) -> None:
    streams.stream_wait_event(state, place, stream, event, 0)


def _list(state: State, handles: Sequence[int], nodes: int) -> None:
    state.guest.pack(f"{len(handles)}Q", nodes, *handles)


def _write(state: State, nodes: int, count: int, handles: Sequence[int], also: tuple[int, Sequence[int]]) -> None:
    if nodes:
        (room,) = state.guest.unpack("Q", count)
        _list(state, handles[:room], nodes)
        if also[0]:
            _list(state, also[1][:room], also[0])
        handles = handles[:room]
    state.guest.pack("Q", count, len(handles))


def get_nodes(state: State, place: Place, graph: int, nodes: int, count: int) -> None:
    _write(state, nodes, count, list(graphs.graph_of(state, graph).nodes), (0, ()))


def get_roots(state: State, place: Place, graph: int, nodes: int, count: int) -> None:
    roots = [handle for handle, node in graphs.graph_of(state, graph).nodes.items() if not node.after]
    _write(state, nodes, count, roots, (0, ()))


def _edges(graph: Graph) -> list[tuple[int, int]]:
    return [(before, handle) for handle, node in graph.nodes.items() for before in sorted(node.after)]


def get_edges(state: State, place: Place, graph: int, first: int, then: int, count: int) -> None:
    edges = _edges(graphs.graph_of(state, graph))
    _write(state, first, count, [edge[0] for edge in edges], (then, [edge[1] for edge in edges]))


def _owner(state: State, node: int) -> Graph:
    owner = next((graph for graph in state.graphs.graphs.values() if node in graph.nodes), None)
    if owner is None:
        raise CudaError(1)
    return owner


def node_type(state: State, place: Place, node: int, kind: int) -> None:
    state.guest.pack("i", kind, _owner(state, node).nodes[node].kind)


def get_dependencies(state: State, place: Place, node: int, nodes: int, count: int) -> None:
    _write(state, nodes, count, sorted(_owner(state, node).nodes[node].after), (0, ()))


def get_dependents(state: State, place: Place, node: int, nodes: int, count: int) -> None:
    _write(state, nodes, count, [then for first, then in _edges(_owner(state, node)) if first == node], (0, ()))


def remove_dependencies(state: State, place: Place, graph: int, before: int, after: int, count: int) -> None:
    owner = graphs.graph_of(state, graph)
    if not 0 <= count <= len(owner.nodes) ** 2:
        raise CudaError(1)
    first, then = (state.guest.unpack(f"{count}Q", at) if count else () for at in (before, after))
    pairs = list(zip(first, then, strict=True))
    if not set(pairs) <= set(_edges(owner)):
        raise CudaError(1)
    for one, other in pairs:
        _without(owner, other, {one})


def _without(graph: Graph, handle: int, gone: Collection[int]) -> None:
    graph.nodes[handle] = replace(graph.nodes[handle], after=graph.nodes[handle].after - frozenset(gone))


def destroy_node(state: State, place: Place, node: int) -> None:
    owner = _owner(state, node)
    del owner.nodes[node]
    for handle in owner.nodes:
        _without(owner, handle, {node})


def _replace(graph: Graph, node: int, run: Work, kind: int) -> None:
    if node not in graph.nodes or graph.nodes[node].kind != kind:
        raise CudaError(1)
    graph.nodes[node] = replace(graph.nodes[node], run=run)


def _sets(work_of: Callable[[State, Place, int], Work], kind: int) -> Callable[..., None]:
    """A handler that gives a node of an executable graph other parameters."""

    def set_node(state: State, place: Place, executable: int, node: int, parameters: int) -> None:
        _replace(graphs.graph_of(state, executable), node, work_of(state, place, parameters), kind)

    return set_node


def _sets_in_graph(work_of: Callable[[State, Place, int], Work], kind: int) -> Callable[..., None]:
    """A handler that gives a graph's node other parameters."""

    def set_node(state: State, place: Place, node: int, parameters: int) -> None:
        _replace(_owner(state, node), node, work_of(state, place, parameters), kind)

    return set_node


def set_memcpy(state: State, place: Place, executable: int, node: int, *copy: int) -> None:
    """Give a node other memory to copy; executable: 0 for a node of the graph itself."""
    owner = graphs.graph_of(state, executable) if executable else _owner(state, node)
    _replace(owner, node, graphs.memcpy_work(state, place, *copy), graphs.MEMCPY)


def find_in_clone(state: State, place: Place, pointer: int, node: int, clone: int) -> None:
    """Write the node of a clone that was made of this one."""
    copy = graphs.graph_of(state, clone)
    cloned = copy.origin.get(node)
    if cloned not in copy.nodes:
        raise CudaError(1)
    state.guest.pack("Q", pointer, cloned)


def set_enabled(state: State, place: Place, executable: int, node: int, is_enabled: int) -> None:
    owner = graphs.graph_of(state, executable)
    if node not in owner.nodes or owner.nodes[node].kind not in _SWITCHED:
        raise CudaError(1)
    owner.nodes[node] = replace(owner.nodes[node], is_enabled=bool(is_enabled))


def get_enabled(state: State, place: Place, executable: int, node: int, is_enabled: int) -> None:
    owner = graphs.graph_of(state, executable)
    if node not in owner.nodes or owner.nodes[node].kind not in _SWITCHED:
        raise CudaError(1)
    state.guest.pack("I", is_enabled, int(owner.nodes[node].is_enabled))


def kernel_parameters(state: State, place: Place, node: int, parameters: int) -> None:
    """Write a cudaKernelNodeParams whose arguments lie in the program's memory, as the library keeps them."""
    run = _owner(state, node).nodes[node].run
    if not isinstance(run, Prepared):
        raise CudaError(1)
    function = next(address for address, kernel in state.kernels.items() if kernel is run.kernel)
    pointers = 8 * len(run.raw)
    at = int(state.call_guest("grader_malloc", pointers + sum(-(-len(value) // 16) * 16 for value in run.raw) + 16))
    if not at:
        raise CudaError(2)
    where = -(-(at + pointers) // 16) * 16
    for index, value in enumerate(run.raw):
        state.guest.pack("Q", at + 8 * index, where)
        state.guest.write(where, value)
        where += -(-len(value) // 16) * 16
    asked = run.asked
    state.guest.pack("QIIIIIIIIQQ", parameters, function, *asked.grid, *asked.block, asked.shared_bytes, 0, at, 0)


def memset_parameters(state: State, place: Place, node: int, parameters: int) -> None:
    run = _owner(state, node).nodes[node].run
    if not isinstance(run, graphs.Filling):
        raise CudaError(1)
    state.guest.pack("QQIIQQ", parameters, *run.numbers)


def host_parameters(state: State, place: Place, node: int, parameters: int) -> None:
    run = _owner(state, node).nodes[node].run
    if not isinstance(run, graphs.HostCall):
        raise CudaError(1)
    state.guest.pack("QQ", parameters, run.function, run.data)


# -- conditions: numbers on the device that kernels set, by which a node runs one of its bodies or repeats.  The handle
# of one is its address: `cudaGraphSetConditional` is a store there (`grader.compiler.headers`).


def _new_condition(state: State, place: Place, graph: Graph, default: int, flags: int) -> int:
    """Return the handle of a new condition of a graph, whose launches set it to its default where the flags say so."""
    if flags not in (0, _ASSIGN_DEFAULT):
        raise CudaError(1)
    with memory_errors():
        handle = state.memory.allocate("condition", graphs.CONDITION_BYTES, GRAPH, place.line, place.file).base
    graph.conditions[handle] = default & 0xFFFFFFFF if flags else None
    graphs.assign(state, handle, default if flags else 0, 0)
    return handle


def _value(state: State, handle: int, stream: int) -> int:
    """Return what a condition is once all that was queued has been done."""
    queue = state.stream(stream)
    data = np.zeros(graphs.CONDITION_BYTES, np.uint8)
    state.memory.copy(Piece(data=data), Piece(state.memory.live[handle]), [(0, 0, graphs.CONDITION_BYTES)], queue)
    state.gpu.wait([queue.number])
    return int(data.view("<u4")[0])


def _conditional(state: State, handle: int, kind: int, bodies: Sequence[Work]) -> Work:

    def run(stream: int) -> int:
        value = _value(state, handle, stream)
        if kind == SWITCH or (kind == IF and not value):
            # The second body of a condition is for its being 0.
            index = value if kind == SWITCH else 1
            return bodies[index](stream) or 0 if index < len(bodies) else 0
        while value:
            if code := bodies[0](stream):
                return code
            if kind == IF or not state.limits.executes:
                # Kernels that are not run set no condition.
                return 0
            state.tick()
            value = _value(state, handle, stream)
        return 0

    return run


HANDLERS: Handlers = {
    "cudaStreamBeginCaptureToGraph": ("iiiii", capture_to_graph),
    "cudaStreamGetCaptureInfo": ("iiiiiii", capture_info),
    "cudaStreamUpdateCaptureDependencies": ("iiii", update_dependencies),
    "cudaGraphConditionalHandleCreate": ("iiii", create_condition),
    "cudaGraphAddConditionalNode": ("iiiiiiii", add_conditional),
    "cudaGraphAddEventRecordNode": ("iiiii", _adds_event(streams.event_record, _RECORD_EVENT)),
    "cudaGraphAddEventWaitNode": ("iiiii", _adds_event(_wait, _WAIT_EVENT)),
    "cudaGraphGetNodes": ("iii", get_nodes),
    "cudaGraphGetRootNodes": ("iii", get_roots),
    "cudaGraphGetEdges": ("iiii", get_edges),
    "cudaGraphNodeGetType": ("ii", node_type),
    "cudaGraphNodeGetDependencies": ("iii", get_dependencies),
    "cudaGraphNodeGetDependentNodes": ("iii", get_dependents),
    "cudaGraphRemoveDependencies": ("iiii", remove_dependencies),
    "cudaGraphDestroyNode": ("i", destroy_node),
    "cudaGraphExecMemcpyNodeSetParams": ("iii", _sets(arrays.prepared_3d, graphs.MEMCPY)),
    "cudaGraphExecMemsetNodeSetParams": ("iii", _sets(graphs.memset_work, graphs.MEMSET)),
    "cudaGraphExecHostNodeSetParams": ("iii", _sets(graphs.host_work, graphs.HOST)),
    "cudaGraphExecChildGraphNodeSetParams": ("iii", _sets(graphs.child_work, graphs.CHILD)),
    "cudaGraphMemcpyNodeSetParams": ("ii", _sets_in_graph(arrays.prepared_3d, graphs.MEMCPY)),
    "cudaGraphMemsetNodeSetParams": ("ii", _sets_in_graph(graphs.memset_work, graphs.MEMSET)),
    "cudaGraphHostNodeSetParams": ("ii", _sets_in_graph(graphs.host_work, graphs.HOST)),
    "cudaGraphExecMemcpyNodeSetParams1D": ("iiiiii", set_memcpy),
    "cudaGraphNodeFindInClone": ("iii", find_in_clone),
    "cudaGraphNodeSetEnabled": ("iii", set_enabled),
    "cudaGraphNodeGetEnabled": ("iii", get_enabled),
    "cudaGraphKernelNodeGetParams": ("ii", kernel_parameters),
    "cudaGraphMemsetNodeGetParams": ("ii", memset_parameters),
    "cudaGraphHostNodeGetParams": ("ii", host_parameters),
}
