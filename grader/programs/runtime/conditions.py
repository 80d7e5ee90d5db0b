"""Conditions of CUDA graphs: numbers on the device that kernels set, by which a node runs one of its bodies or repeats.

A condition's handle is its address: `cudaGraphSetConditional` is a store there (`grader.compiler.headers`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.programs.device_memory import Piece
from grader.programs.runtime.memory import GRAPH, memory_errors
from grader.programs.runtime.ordering import Graph, Place, Work
from grader.programs.runtime.state import CudaError, State

SIZE_BYTES = 4
_ASSIGN_DEFAULT = 1
"""`cudaGraphCondAssignDefault`."""
IF, WHILE, SWITCH = range(3)
"""`cudaGraphConditionalNodeType`."""
MAX_BODIES = 1000


def create(state: State, place: Place, graph: Graph, default: int, flags: int) -> int:
    """Return the handle of a new condition of a graph, whose launches set it to its default where the flags say so."""
    if flags not in (0, _ASSIGN_DEFAULT):
        raise CudaError(1)
    with memory_errors():
        handle = state.memory.allocate("condition", SIZE_BYTES, GRAPH, place.line, place.file).base
    graph.conditions[handle] = default & 0xFFFFFFFF if flags else None
    assign(state, handle, default if flags else 0, 0)
    return handle


def assign(state: State, handle: int, value: int, stream: int) -> None:
    """Set a condition, in the order of a stream."""
    data = np.array([value & 0xFFFFFFFF], "<u4").view(np.uint8)
    state.memory.copy(Piece(state.memory.live[handle]), Piece(data=data), [(0, 0, SIZE_BYTES)], state.stream(stream))


def _value(state: State, handle: int, stream: int) -> int:
    """Return what a condition is once all that was queued has been done."""
    queue = state.stream(stream)
    data = np.zeros(SIZE_BYTES, np.uint8)
    state.memory.copy(Piece(data=data), Piece(state.memory.live[handle]), [(0, 0, SIZE_BYTES)], queue)
    state.gpu.wait([queue.number])
    return int(data.view("<u4")[0])


def conditional(state: State, handle: int, kind: int, bodies: Sequence[Work]) -> Work:
    """Return the work of a node that runs bodies as its condition says."""

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
