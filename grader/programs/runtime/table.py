"""Every function that programs may import, by name, made ready to be called: errors kept, sticky ones returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.programs.device import LateEnd
from grader.programs.records import LIBRARY
from grader.programs.runtime import (
    arrays,
    calls,
    copies,
    graph_parts,
    graphs,
    launch_plans,
    launches,
    memory,
    modules,
    pools,
    queries,
    registration,
    streams,
)
from grader.programs.runtime.libraries import (
    cub,
    cublas,
    cublas_extensions,
    cublas_lt,
    cublas_matrices,
    cufft,
    curand,
    cusolver,
    cusolver_batches,
    cusolver_sparse,
    cusparse,
    cusparse_products,
)
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import NOT_READY, CudaError, Handlers, State
from grader.programs.sandbox.guest import BadPointer, NullPointer

_RUNTIME = (
    *(memory, pools, copies, arrays, launches, graphs, graph_parts, modules, registration, streams, queries),
    *(cub, cublas, cublas_matrices, cublas_extensions, cublas_lt, cufft, curand),
    *(cusolver, cusolver_batches, cusolver_sparse, cusparse, cusparse_products),
)
CALLS: Handlers = {name: handler for module in _RUNTIME for name, handler in module.HANDLERS.items()}
INTERNAL = registration.INTERNAL


COPIES = ("cublasSet", "cublasGet")
"""Library calls whose names begin so move data and compute nothing."""
MOST_PLACES = 100_000
"""Places of calls kept, at most."""
LIBRARY_HEADERS = ("thrust/", "cub/", "cuda/")
"""What the names of headers begin with whose calls are a library's own business."""


def find(state: State, module: str, name: str) -> tuple[str, Callable[..., int]] | None:
    """Return kinds of the parameters and the function that serves an import; None where there is none."""
    if module == "env" and name.startswith(registration.LINKED_BINARY):
        # One name a file.
        return "iiii", _quiet(state, registration.register_linked_binary)
    if module == "env" and name in INTERNAL:
        kinds, function = INTERNAL[name]
        return kinds, _quiet(state, function)
    if module == "grader" and name in calls.HANDLERS:
        kinds, function = calls.HANDLERS[name]
        return kinds, _quiet(state, function)
    if module != "cuda":
        return None
    if name in ("cudaGetErrorString", "cudaGetErrorName"):
        text = queries.error_string if name == "cudaGetErrorString" else queries.error_name
        return "i", lambda code: text(state, code)
    if name not in CALLS:
        return None
    kinds, function = CALLS[name]
    return kinds + "ii", _call(state, name, function)


def _quiet(state: State, function: Callable[..., int | None]) -> Callable[..., int]:
    """What the compiler's code calls: an error is kept for the program to ask for."""
    nowhere = Place(0, "")

    def call(*values: int) -> int:
        state.plans.clear()
        try:
            return function(state, nowhere, *values) or 0
        except LateEnd as end:
            state.came_late(end)
            return state.sticky
        except CudaError as error:
            state.fail("launch", error.code, nowhere, error.finding)
            return error.code

    return call


def _call(state: State, name: str, function: Callable[..., int | None]) -> Callable[..., int]:
    cleans, waits, arrives = name in queries.NEVER_STICKY, name in queries.WAITING, name not in queries.BEFORE_A_FAULT
    is_library = name.startswith(graphs.LIBRARIES)
    is_work = is_library and not name.startswith(COPIES) and bool(state.limits.undoes_bytes)
    keeps_plans = name in launch_plans.KEEPING
    places = state.places

    def place_of(line: int, file: int) -> Place:
        try:
            written_in = state.guest.text(file).removeprefix("./")
        except BadPointer:
            written_in = ""
        place = Place(0, LIBRARY) if written_in.startswith(LIBRARY_HEADERS) else Place(max(0, line), written_in)
        if len(places) < MOST_PLACES:
            places[line, file] = place
        return place

    def call(*values: Any) -> int:
        *arguments, line, file = values
        place = places.get((line, file)) or place_of(line, file)
        if not keeps_plans:
            state.plans.clear()
        if state.loads_first:
            state.loads_first = False
            registration.load_all(state)
        state.tick()
        state.calling = name
        if is_library:
            state.ask("library", place)
        if arrives and state.fault is not None:
            state.arrive()
        try:
            if state.sticky and not cleans:
                raise CudaError(state.sticky)
            if (state.graphs.captures or state.graphs.events) and graphs.capture_call(
                state, name, function, place, arguments
            ):
                return 0
            if is_work:
                with state.undone():
                    code = function(state, place, *arguments) or 0
            else:
                code = function(state, place, *arguments) or 0
            if waits and (place.file, place.line) not in state.unused_results:
                state.checked()
        except LateEnd as end:
            state.came_late(end)
            code = state.sticky
        except (CudaError, NullPointer) as end:
            if is_library and isinstance(end, NullPointer):
                raise
            error = CudaError(1) if isinstance(end, NullPointer) else end
            if state.limits.forgives and error.finding is not None:
                return 0
            first = not (state.sticky and error.code == state.sticky)
            if error.code == NOT_READY:
                return error.code
            if first:
                state.fail(name, error.code, place, error.finding)
            elif (place.file, place.line) not in state.unused_results:
                # A call whose value is looked at tells of the fault that came before.
                state.noticed()
            code = error.code
        return code

    return call
