"""Launches: configured, checked against the device's limits, run on the emulator, recorded."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import msgspec

from grader.devices import MAX_THREADS_PER_BLOCK, SHARED_BYTES
from grader.diagnosis.text import hazard_msg as hazard_message
from grader.message import Message, msg
from grader.programs.device import Asked, LateEnd, Outcome
from grader.programs.records import LIBRARY, MAX_LAUNCHES, NO_LIMIT
from grader.programs.runtime.arguments import (
    before_stores,
    described,
    filled,
    give_back_pointers,
    memory_of,
    name_parts,
    pointers_are_kept,
    put_in_order,
    put_stores_in_order,
    translated,
)
from grader.programs.runtime.devices import name_of
from grader.programs.runtime.launch_plans import CONFIGURED, Repeatable, remember
from grader.programs.runtime.memory import freed_by_copy
from grader.programs.runtime.ordering import KERNEL, NOWHERE, Pending, Place, Stream, Text
from grader.programs.runtime.outcomes import Configured, failed, judge, of_null, place_in, refusal, sizes_text
from grader.programs.runtime.registration import entry_of
from grader.programs.runtime.silent import after_kernel, before_kernel, check_counts, note_arrays, step_of, took_step
from grader.programs.runtime.state import CudaError, Handlers, Kernel, State
from grader.programs.runtime.streams import LAUNCH_NS, takes
from grader.submission.kernels.records import SeenLaunch

OBSERVED_REPEATS = 3
MAX_ARGUMENTS = 512


@lru_cache(maxsize=1000)
def _configured(raw: bytes, place: Place) -> Configured:
    *numbers, shared_bytes, stream = CONFIGURED.unpack(raw)
    x, y, z, block_x, block_y, block_z = numbers
    return Configured((x, y, z), (block_x, block_y, block_z), shared_bytes, stream, place)


@lru_cache(maxsize=1000)
def _argument_places(raw: bytes) -> tuple[list[tuple[int, int]], int]:
    """Return where each argument begins and ends, and where the last of them does."""
    packed = struct.unpack(f"<{len(raw) // 4}I", raw)
    places = [(number & 0xFFFF, (number & 0xFFFF) + (number >> 16)) for number in packed]
    return places, max((end for _start, end in places), default=0)


def launch(state: State, place: Place, function: int, configured: int, sizes: int, count: int, data: int) -> int:
    """A `<<<…>>>`; sizes: of each of `count` arguments its size, times 65536, and where it lies in `data`."""
    kernel = state.kernels.get(function)
    try:
        if kernel is None:
            raise CudaError(98)
        if not 0 <= count <= MAX_ARGUMENTS:
            raise CudaError(1)
        shape = state.guest.read(configured, CONFIGURED.size)
        places, length = _argument_places(state.guest.read(sizes, 4 * count) if count else b"")
        whole = state.guest.read(data, length) if length else b""
        raw = [whole[start:end] for start, end in places]
        repeatable = None if state.limits.looks else Repeatable((function, count, shape, place), places, whole)
        return _launch(state, kernel, _configured(shape, place), raw, repeatable)
    except CudaError as error:
        # Nobody has its value to look at.
        state.fail("launch", error.code, NOWHERE, error.finding)
        return error.code


def launch_kernel(state: State, place: Place, function: int, *numbers: int, is_cooperative: bool = False) -> int:
    """Launch a grid; is_cooperative: one whose blocks are all resident at once, or refuse it."""
    grid, block, arguments, shared_bytes, stream = numbers
    sizes = _sizes(state, grid), _sizes(state, block)
    kernel, values = _by_address(state, function, place, arguments)
    asked = Configured(*sizes, shared_bytes, stream, place, is_cooperative=is_cooperative)
    return launch_by_call(state, kernel, asked, values)


def _sizes(state: State, address: int) -> tuple[int, int, int]:
    x, y, z = state.guest.unpack("III", address)
    return x, y, z


def _by_address(state: State, function: int, place: Place, arguments: int) -> tuple[Kernel, list[bytes]]:
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(98, state.tell("bad_function", "error", msg("programs.no_kernel"), place))
    entry = entry_of(state, kernel)
    values = []
    for index, size in enumerate(state.gpu.parameter_sizes(kernel.unit, entry)):
        (address,) = state.guest.unpack("Q", arguments + 8 * index)
        values.append(state.guest.read(address, size))
    return kernel, values


def _refused(state: State, kernel: Kernel, asked: Configured, why: Message | None) -> tuple[Message, Place]:
    """What is said of a launch that is rejected, and where: at the call that should have raised the limit that it is
    beyond, where there is one."""
    data: dict[str, str | int] = {
        "kernel": kernel.display,
        "bytes": asked.shared_bytes,
        "launch_line": asked.place.line,
    }
    if why is not None and why.id == "programs.shared_limit" and asked.shared_bytes <= state.model.shared_opt_in:
        own = [call for call in state.raised if call.kernel == kernel.display]
        limits = [call for call in own if not call.is_carveout]
        others = [c for c in state.raised if c not in own and not c.is_carveout and c.value >= asked.shared_bytes]
        if limits and limits[-1].value < asked.shared_bytes:
            return msg("programs.raised_too_little", limit=limits[-1].value, **data), limits[-1].place
        if own and not limits:
            return msg("programs.raised_carveout", **data), own[-1].place
        if others and not limits:
            return msg("programs.raised_for_another", other=others[-1].kernel, **data), others[-1].place
    return msg("programs.launch_refused", kernel=kernel.display, why=why), asked.place


def launch_by_call(state: State, kernel: Kernel, asked: Configured, values: list[bytes]) -> int:
    """Make a launch whose error is the call's value."""
    place = asked.place
    code = _launch(state, kernel, asked, values)
    # Its value is there to be looked at, as that of a launch by <<<…>>> is not.
    if code and (place.file, place.line) not in state.unused_results:
        state.noticed()
    return code


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch whose arguments were read, to be made in any stream."""

    state: State
    kernel: Kernel
    asked: Configured
    raw: list[bytes]

    def __call__(self, stream: int) -> int:
        return _launch(self.state, self.kernel, replace(self.asked, stream=stream), self.raw)


def prepared(
    state: State, place: Place, function: int, grid: int, block: int, arguments: int, shared_bytes: int
) -> Prepared:
    """Return a launch whose arguments are read now, to be made in any stream.

    Raises CudaError: 98, there is no such kernel.
    """
    asked = Configured(_sizes(state, grid), _sizes(state, block), shared_bytes, 0, place)
    kernel, values = _by_address(state, function, place, arguments)
    return Prepared(state, kernel, asked, values)


def _launch(
    state: State, kernel: Kernel, asked: Configured, raw: list[bytes], repeatable: Repeatable | None = None
) -> int:
    held = state.graphs.captures.get(asked.stream)
    if held is not None:
        state.graphs.append(state.handle(), held, Prepared(state, kernel, asked, raw), KERNEL)
        return 0
    place = asked.place
    if state.limits.executes and state.limits.looks:
        # What was printed so far is of launches before this one.
        state.call_guest("fflush", 0)
    entry = entry_of(state, kernel) if state.limits.executes else kernel.symbol
    name, template_arguments = name_parts(kernel.display)
    arguments = described(state, kernel, raw)
    record = SeenLaunch(
        name,
        template_arguments,
        place.file,
        place.line,
        asked.grid,
        asked.block,
        max(0, asked.shared_bytes),
        arguments,
        filled=filled(state) if state.limits.looks else (),
        display=kernel.display,
        symbol=kernel.symbol,
        stream=0 if asked.stream in (0, 1, 2) else asked.stream,
        compiler=state.gpu.compiler(kernel.unit, entry),
    )
    if not state.sticky:
        # After a fault nothing is allocated any more: what pointers hold then follows from it.
        _tell_unreachable(state, record, raw)
    state.launch_count += 1
    if len(state.launches) < MAX_LAUNCHES:
        state.launches.append(record)
    if state.sticky:
        state.calls.launched(record, "")
        return failed(state, record, state.sticky, place)
    code, why = refusal(state, kernel, entry, asked)
    if code:
        state.tell("launch_refused", "error", *_refused(state, kernel, asked, why))
        if state.limits.executes:
            _run_smaller(state, kernel, entry, asked, raw, record)
        state.calls.launched(record, "")
        return failed(state, record, code, place)
    stream = state.stream(asked.stream)
    ticket = state.begin(stream)
    state.ask("kernel", place, (stream, ticket), name=kernel.display)
    buffers = memory_of(state, record, raw)
    took_step(state, step_of(record, buffers))
    if any(buffers):
        put_in_order(state, record, buffers, stream, ticket, place)
        for buffer in buffers:
            if buffer is not None and buffer.host:
                state.written(buffer)
        check_counts(state, record, buffers)
        note_arrays(record, buffers)
    if not state.limits.executes:
        record.status = "traced"
        takes(state, stream, LAUNCH_NS, kernel)
        state.pending.append(Pending(kernel.display, stream.number, ticket, place, state.launch_count))
        return 0
    # A kernel may touch every page of what is allocated.
    if state.limits.device_bytes == NO_LIMIT or all(
        state.has_room(allocation, allocation.size, place)
        for allocation in list(state.memory.live.values())
        if not allocation.host
    ):
        before = before_kernel(state, record, buffers) if state.watches else None
        stores = before_stores(state, record, buffers)
        outcome = _run(state, kernel, entry, asked, raw, record, stream)
        put_stores_in_order(state, stores, stream, ticket)
        if before is not None:
            after_kernel(state, record, buffers, before, (stream.number, ticket, place))
        for buffer in buffers:
            if buffer is not None and buffer.host:
                state.calls.moved(lambda buffer=buffer: [buffer.seen()], into=False)
        if outcome.printf:
            state.texts_held.append(Text(outcome.printf.encode(), kernel.display, stream.number, ticket, place))
    else:
        outcome = Outcome("too_large")
    takes(state, stream, LAUNCH_NS, kernel)
    if outcome.thread_instructions:
        seconds = outcome.thread_instructions / (state.model.multiprocessors * state.model.cores_per_multiprocessor)
        stream.ready_ns += int(seconds / state.model.clock_khz * 1e6)
    state.pending.append(Pending(kernel.display, stream.number, ticket, place, state.launch_count))
    if state.calls.is_underway:
        has_source = outcome.file == LIBRARY or state.sources.has(outcome.file)
        state.calls.launched(record, outcome.file if has_source else state.unit_names[kernel.unit], outcome)
    code = judge(state, kernel, record, outcome, place)
    if repeatable is not None and not code and not asked.is_cooperative:
        sizes = asked.grid, asked.block, asked.shared_bytes
        limits = state.model.shared_opt_in, state.instructions_left, state.limits
        made = Asked(kernel.unit, entry, *sizes, raw, *limits, stream)
        remember(state, repeatable, kernel, made, record, buffers)
    return code


def _tell_unreachable(state: State, record: SeenLaunch, raw: list[bytes]) -> None:
    """Report freed arrays among a launch's arguments, at the line that freed them, and pointers of the host's."""
    for index, (value, argument) in enumerate(zip(raw, record.arguments, strict=True)):
        if argument.buffer or argument.value is not None or not argument.is_pointer or len(value) != 8:
            continue
        (address,) = struct.unpack("<Q", value)
        if 0 < address < state.guest.size():
            fault = msg(
                "programs.host_pointer_launched", kernel=record.display, name=argument.name or argument.type_text
            )
            state.tell("host_pointer", "error", fault, Place(record.line, record.file))
            continue
        freed = state.memory.find_freed(address)
        if freed is not None and not freed.is_told:
            freed.is_told = True
            given = list(record.arguments)
            given[index] = msgspec.structs.replace(argument, buffer=freed.name)
            record.arguments = tuple(given)
            fault = msg(
                "programs.freed_before_launch", array=freed.name, kernel=record.display, launch_line=record.line
            )
            place = Place(freed.freed_line, freed.freed_file)
            copied = freed_by_copy(state, freed)
            if copied is not None:
                data, place = copied
                data |= {"kernel": record.display, "launch_line": record.line}
                fault = msg("programs.freed_by_copy_before_launch", **data)
            state.tell("use_after_free", "error", fault, place)


def _run(
    state: State, kernel: Kernel, entry: str, asked: Configured, raw: list[bytes], record: SeenLaunch, stream: Stream
) -> Outcome:
    if state.host_memory:
        state.refresh_host_memory()
    managed = []
    for unit, name, address, size in state.managed:
        variable = state.gpu.variable(unit, name) if unit == kernel.unit else None
        if variable is not None and variable.size == size:
            before = variable.view()
            before[:] = state.guest.view(address, size)
            variable.put_back(before)
            managed.append((variable, address, before.copy()))
    key = (kernel.symbol, kernel.unit, asked.grid, asked.block)
    count = state.seen_launches[key] = state.seen_launches.get(key, 0) + 1
    arguments = raw
    if state.host_memory and not state.keeps_pointers:
        types = [parameter.type_text for parameter in record.arguments]
        if pointers_are_kept(state, raw, types):
            state.keeps_pointers = True
            give_back_pointers(state, everywhere=True)
        else:
            arguments = [translated(state, value, type_text) for value, type_text in zip(raw, types, strict=True)]

    def execute() -> Outcome:
        what = Asked(
            kernel.unit,
            entry,
            asked.grid,
            asked.block,
            asked.shared_bytes,
            arguments,
            state.model.shared_opt_in,
            state.instructions_left,
            state.limits,
            stream,
            observe=count <= OBSERVED_REPEATS or state.calls.is_underway,
            cooperative=asked.is_cooperative,
            at_host=state.keeps_pointers,
            steps_left=state.steps_left,
            record=record,
            on_end=lambda outcome: judge(state, kernel, record, outcome, asked.place),
        )
        try:
            if state.limits.undoes_bytes:
                with state.undone():
                    outcome = state.gpu.run(what)
            else:
                outcome = state.gpu.run(what)
            if outcome.hazards:
                outcome = msgspec.structs.replace(outcome, hazards=of_null(state, record, raw, outcome.hazards))
        except LateEnd as end:
            # A launch before this one has failed; this one is refused then.
            record.status, record.error = "failed", name_of(end.outcome.code)
            raise
        if outcome.charged or outcome.steps:
            state.instructions_left = max(0, state.instructions_left - outcome.charged)
            state.steps_left = max(0, state.steps_left - outcome.steps)
        return outcome

    if state.calls.is_underway:
        outcome = execute()
    else:
        launch = (*key, entry, asked.shared_bytes, asked.is_cooperative, *arguments)
        outcome = state.gpu.again(kernel.unit, launch, execute)
    if state.host_memory and not state.keeps_pointers:
        give_back_pointers(state)
    for variable, address, before in managed:
        # A kernel may have written it by its address instead.
        after = variable.view()
        written = after != before
        state.guest.view(address, variable.size)[written] = after[written]
    return outcome


def _run_smaller(
    state: State, kernel: Kernel, entry: str, asked: Configured, raw: list[bytes], record: SeenLaunch
) -> None:
    """Run a kernel whose launch was refused once with a smaller block, on a copy of memory, to see its hazards."""
    block = list(asked.block)
    grid = list(asked.grid)
    if min(*block, *grid) < 1 or asked.shared_bytes or state.seen_launches.get((kernel.symbol, "tried")):
        return
    state.seen_launches[kernel.symbol, "tried"] = 1
    while block[0] * block[1] * block[2] > MAX_THREADS_PER_BLOCK:
        axis = max(range(3), key=lambda i: block[i])
        if block[axis] % 2:
            return
        block[axis] //= 2
        grid[axis] *= 2
    tried = Configured((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), 0, asked.stream, asked.place)
    before = state.memory.snapshot()
    if before is None or refusal(state, kernel, entry, tried)[0]:
        return
    state.refresh_host_memory()
    outcome = state.gpu.run(
        Asked(
            kernel.unit,
            entry,
            tried.grid,
            tried.block,
            0,
            [
                translated(state, value, parameter.type_text)
                for value, parameter in zip(raw, record.arguments, strict=True)
            ],
            SHARED_BYTES,
            state.instructions_left,
            state.limits,
            state.streams[0],
            steps_left=state.steps_left,
        )
    )
    state.memory.restore(before)
    for hazard in outcome.hazards:
        message = msg("programs.with_smaller_block", block=sizes_text(tried.block), fault=hazard_message(hazard))
        state.tell(hazard.kind, "warning", message, place_in(state, kernel.unit, hazard.file, hazard.line))


HANDLERS: Handlers = {
    "cudaLaunch": ("iiiii", launch),
    "cudaLaunchKernel": ("iiiiii", launch_kernel),
    "cudaLaunchCooperativeKernel": ("iiiiii", partial(launch_kernel, is_cooperative=True)),
}
