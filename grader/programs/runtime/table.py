"""Every function that programs may import, by name, made ready to be called: errors kept, sticky ones returned; and
calls of one function, as a harness makes them: its arguments made, what it left in them looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from grader.message import msg
from grader.programs.device import LateEnd, Outcome
from grader.programs.device_memory import Allocation, Bytes
from grader.programs.records import LIBRARY, CallArgument, CallLaunch, CallSeen, DeviceCall, FunctionCall
from grader.programs.runtime import (
    arrays,
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
    cublas,
    cublas_extensions,
    cublas_lt,
    cublas_matrices,
    curand,
    cusolver,
    cusolver_batches,
    cusolver_sparse,
    cusparse,
    cusparse_products,
    transforms,
)
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import NOT_READY, CudaError, Handlers, State
from grader.programs.sandbox.guest import BadPointer, NullPointer
from grader.submission.kernels.records import SeenLaunch

MOST_COPIED = 64
"""Arrays whose copies are kept, by name."""
GUARD_BYTES = 4096
GUARD = 0xA5
"""What the memory before and behind an array of the host's is filled with."""


RUN = 4
"""How many neighbouring elements are looked for together in what came from the device."""
FEWEST_RUNS = 8
"""An output with fewer of them may well be put together by the host: what a few blocks have found."""
MOST_BYTES = 1 << 24
"""To the device and from it in one call, up to which an output is looked for in them."""


@dataclass
class _Array:
    """An array that a function was handed; host: its address there, 0 for one of the device's.

    read_out: bytes that the host has copied out of it.  filled: bytes that the host has copied into it since a kernel
    was handed it last, which `launches` of them had been then.
    """

    argument: CallArgument
    allocation: Allocation | None = None
    host: int = 0
    read_out: int = 0
    filled: int = 0
    launches: int = 0

    @property
    def is_of_host(self) -> bool:
        """Whether all that is in it was computed by the host, as far as copies and launches tell."""
        return (
            self.allocation is not None
            and self.allocation.written == self.launches
            and self.filled >= self.allocation.size
        )


class Calls:
    """The calls that a harness is to make, and what came of those that it has made.

    Which one is made, and what counts as its outcome, is known here alone: nothing in the program's memory tells.
    """

    def __init__(self, ordered: Sequence[FunctionCall]) -> None:
        self._ordered = ordered
        self.results: list[CallSeen] = []
        self.arrays: dict[int, _Array] = {}
        self.is_underway = False
        self._moved: dict[bool, list[bytes]] = {True: [], False: []}
        """What the host copied to the device (True), and what it could read there (False)."""
        self._moved_bytes = 0
        self.asked_before = 0
        """What had been asked of the device when the call began."""
        if ordered and ordered[0].is_whole:
            self.next()

    @property
    def current(self) -> FunctionCall:
        return self._ordered[len(self.results) - 1]

    def next(self) -> bool:
        """Whether there is another call to be made, which begins."""
        self.is_underway = len(self.results) < len(self._ordered)
        if self.is_underway:
            self.results.append(CallSeen())
            self.arrays = {}
            self._moved, self._moved_bytes = {True: [], False: []}, 0
        return self.is_underway

    def program_ended(self, code: int | None, asked: Sequence[DeviceCall]) -> None:
        """Note the program's end and its exit code, None where it was stopped; asked: what it had the device do."""
        if self.is_underway and self.current.is_whole:
            self.is_underway = False
            self.results[-1].has_returned = code is not None
            self.results[-1].asked = list(asked)

    @property
    def times_program(self) -> bool:
        """Whether it is the whole program that is timed."""
        return any(call.is_whole and call.is_timed for call in self._ordered)

    def moved(self, parts: Callable[[], Iterable[Bytes]], into: bool) -> None:
        """Note parts of an array that the host has copied to the device, or can read there."""
        if self.is_underway and not self.current.on_device and not self.current.is_whole:
            data = b"".join(part.tobytes() for part in parts())
            self._moved_bytes += len(data)
            if self._moved_bytes <= MOST_BYTES:
                self._moved[into].append(data)

    def is_of_device(self, output: bytes, width: int) -> bool:
        """Whether at least half of an array, in runs of elements, came from the device, or nobody can tell.

        What the host had copied there itself did not, unless it was an input as the function was handed it.
        """
        count = len(output) // (RUN * width)
        if count < FEWEST_RUNS or self._moved_bytes > MOST_BYTES:
            return True
        handed = [argument.data for argument in self.current.arguments if argument.is_set]
        own = [data for data in self._moved[True] if not any(data in given for given in handed)]
        of_device = _runs(self._moved[False], width) - _runs(own, width)
        size = RUN * width
        return 2 * sum(output[k * size : (k + 1) * size] in of_device for k in range(count)) >= count

    def copied(self, allocation: Allocation | None, size: int, into: bool, offset: int = 0) -> None:
        """Note a copy between the host and an array of the device's, there from `offset` on."""
        if self.is_underway and allocation is not None and not into and size in self.current.copied_bytes:
            kept = self.results[-1].copied
            if len(kept) < MOST_COPIED or allocation.name in kept:
                kept[allocation.name] = allocation.view(offset, size).tobytes()
        array = next((a for a in self.arrays.values() if a.allocation is allocation), None)
        if array is None or allocation is None:
            return
        if not into:
            array.read_out += size
            return
        if array.launches != allocation.written:
            array.filled, array.launches = 0, allocation.written
        array.filled += size

    def launched(self, record: SeenLaunch, file: str, outcome: Outcome | None = None) -> None:
        """Note a launch, or one that was refused (outcome: None)."""
        if not self.is_underway:
            return
        launch = CallLaunch(
            record.display,
            file,
            "refused",
            record.error,
            record.line,
            symbol=record.symbol,
            grid=record.grid,
            block=record.block,
            is_of_library=record.file == LIBRARY,
        )
        if outcome is not None:
            launch = msgspec.structs.replace(
                launch,
                status=outcome.status,
                reason=outcome.reason,
                line=outcome.line,
                hazards=list(outcome.hazards),
                remarks=list(outcome.remarks),
                counters=outcome.counters,
                thread_instructions=outcome.thread_instructions,
                shared_bytes=outcome.shared_bytes,
                work=list(outcome.work),
            )
        self.results[-1].launches.append(launch)


def _runs(arrays: Sequence[bytes], width: int) -> set[bytes]:
    size = RUN * width
    return {data[at : at + size] for data in arrays for at in range(0, len(data) - size + 1, width)}


def begins(state: State, _place: Place) -> int:
    """1 where a call is to be made, 0 where there is none."""
    if state.calls.is_underway:
        return 0
    state.calls.asked_before = len(state.asked)
    if not state.calls.next():
        return 0
    if state.calls.current.is_timed:
        # What it is handed is there before the clock runs.
        for index in range(len(state.calls.current.arguments)):
            argument(state, _place, index)
        state.gpu.begin_timing()
    return 1


def argument(state: State, _place: Place, index: int) -> int:
    """Return an argument of the call: an address, or a number's bytes."""
    calls: Calls = state.calls
    if not calls.is_underway or not 0 <= index < len(calls.current.arguments):
        return 0
    wanted = calls.current.arguments[index]
    if wanted.raw:
        return int(struct.unpack("<q", wanted.raw)[0])
    array = calls.arrays.get(index)
    if array is None:
        array = calls.arrays[index] = _made(state, wanted, calls.current.on_device)
    return array.allocation.base if array.allocation is not None else array.host


def named(state: State, place: Place, name: int) -> int:
    calls: Calls = state.calls
    wanted = state.guest.text(name)
    names = [given.name for given in calls.current.arguments] if calls.is_underway else []
    return argument(state, place, names.index(wanted)) if wanted in names else 0


def _made(state: State, wanted: CallArgument, on_device: bool) -> _Array:
    size = len(wanted.data)
    data = np.frombuffer(wanted.data, np.uint8)
    if not on_device:
        block = int(state.call_guest("grader_malloc", size + 2 * GUARD_BYTES))
        view = state.guest.view(block, size + 2 * GUARD_BYTES)
        view[:] = GUARD
        view[GUARD_BYTES : GUARD_BYTES + size] = data
        return _Array(wanted, host=block + GUARD_BYTES)
    allocation = state.memory.allocate(wanted.name, size, "handed", 0, "")
    view = allocation.view()
    view[:] = data
    allocation.put_back(view)
    valid = allocation.valid()
    if valid is not None:
        valid[:] = wanted.is_set
    if wanted.is_set:
        allocation.origins.add("copied")
    return _Array(wanted, allocation)


def ends(state: State, _place: Place) -> None:
    """Wait for all that the device still does after a call has returned, and keep what is in the arrays."""
    calls: Calls = state.calls
    if not calls.is_underway or calls.current.is_whole:
        return
    asked = state.asked[calls.asked_before :]
    for array in calls.arrays.values():
        if array.allocation is None and array.argument.is_output:
            _tell_returned_early(state, array.argument.name, array.host, len(array.argument.data))
    state.wait_for_all()
    state.arrive()
    calls.is_underway = False
    call = calls.results[-1]
    call.times = state.gpu.end_timing()
    call.has_returned = True
    call.asked = asked
    # If the host has seen the inputs, what it fills the outputs with is its own work.
    given = [a for a in calls.arrays.values() if a.argument.is_set]
    inputs = [a for a in given if not a.argument.is_output] or given
    saw_inputs = bool(inputs) and all(a.read_out >= len(a.argument.data) for a in inputs)
    for array in calls.arrays.values():
        wanted = array.argument
        if saw_inputs and wanted.is_output and array.is_of_host:
            call.by_host.append(wanted.name)
        if array.allocation is not None and state.memory.live.get(array.allocation.base) is not array.allocation:
            call.freed.append((wanted.name, array.allocation.freed_file, array.allocation.freed_line))
            continue
        left = _left(state, array, call)
        if wanted.is_output:
            call.outputs[wanted.name] = left.tobytes()
            if array.allocation is None and not calls.is_of_device(left.tobytes(), wanted.width_bytes):
                call.not_of_device.append(wanted.name)
        elif wanted.is_set and left.tobytes() != wanted.data:
            call.changed.append(wanted.name)
        if array.allocation is not None:
            state.results.pop(id(array.allocation), None)
            state.flow.append((None, (array.allocation,), ()))
            state.memory.free(array.allocation)


def _left(state: State, array: _Array, call: CallSeen) -> npt.NDArray[np.uint8]:
    """Return an array's bytes; note where the host wrote around it."""
    if array.allocation is not None:
        return array.allocation.view()
    size = len(array.argument.data)
    view = state.guest.view(array.host - GUARD_BYTES, size + 2 * GUARD_BYTES)
    for side, part in (("before", view[:GUARD_BYTES]), ("after", view[GUARD_BYTES + size :])):
        if (part != GUARD).any():
            call.strayed.append((array.argument.name, side))
    return view[GUARD_BYTES : GUARD_BYTES + size].copy()


HANDLERS: Handlers = {
    "call_begins": ("", begins),
    "call_argument": ("i", argument),
    "call_named": ("i", named),
    "call_ends": ("", ends),
}
"""What a harness imports, from the module `grader`."""


def _tell_returned_early(state: State, array: str, address: int, size: int) -> None:
    """Report what may still write into memory of the caller when a function returns."""
    for item in state.unwaited:
        if item.address < address + size and address < item.address + item.size:
            data = {"array": array} | ({"kernel": item.kernel} if item.kernel else {})
            message = msg("programs.returned_before_kernel" if item.kernel else "programs.returned_before_copy", **data)
            state.tell("not_waited", "error", message, item.place)
            return


_RUNTIME = (
    *(memory, pools, copies, arrays, launches, graphs, graph_parts, modules, registration, streams, queries),
    *(cublas, cublas_matrices, cublas_extensions, cublas_lt, curand, transforms),
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
    if module == "grader" and name in HANDLERS:
        kinds, function = HANDLERS[name]
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
        state.calling, state.called_before, state.called_at = name, state.called_at, place
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
