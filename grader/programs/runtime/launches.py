"""Launches: configured, checked against the device's limits, run on the emulator, recorded."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from grader.diagnosis.faults import hazard_msg as hazard_message
from grader.message import msg
from grader.programs.emulated import Allocation, Outcome
from grader.programs.records import Argument, LineCount, ObservedHazard, ObservedLaunch
from grader.programs.runtime.errors import name_of
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.state import (
    MAX_LAUNCHES,
    CudaError,
    Kernel,
    Pending,
    Place,
    ProgramEnded,
    State,
    Stream,
)

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
STATIC_LIMIT = 48 * 1024
PAGE = 2 << 20
"""Granularity in which a driver maps memory: what lies beyond an array, but not beyond this, does not fault."""
OBSERVED_REPEATS = 3
MAX_ARGUMENT_BYTES = 4096
MAX_KERNELS = 500
MAX_HASHED_BYTES = 256 << 20

_FORMATS = {
    "int": "i",
    "unsigned int": "I",
    "unsigned": "I",
    "float": "f",
    "double": "d",
    "long": "q",
    "unsigned long": "Q",
    "long long": "q",
    "unsigned long long": "Q",
    "short": "h",
    "unsigned short": "H",
    "char": "b",
    "signed char": "b",
    "unsigned char": "B",
    "bool": "?",
}


@dataclass
class Configured:
    """A `<<<…>>>` whose arguments are being set up: (offset, bytes) each."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    place: Place
    arguments: list[tuple[int, bytes]] = field(default_factory=list)


# -- what the compiler's own code calls -----------------------------------------------------------


def register_binary(state: State, _place: Place, wrapper: int) -> int:
    """A file of the program: the bytes that stand for its device code hold its number."""
    data = state.guest.unpack("iiQQ", wrapper)[2]
    unit = state.guest.unpack("I", data)[0]
    if unit not in range(len(state.unit_names)):
        raise ProgramEnded(msg("programs.crash", reason="registration"))
    handle = state.handle()
    state.units[handle] = unit
    return handle


def register_function(state: State, _place: Place, handle: int, function: int, name: int, *_rest: int) -> int:
    unit = state.units.get(handle)
    if unit is None or len(state.kernels) > MAX_KERNELS:
        return 0
    symbol = state.guest.text(name)
    display, types = _demangled(state, symbol)
    state.kernels[function] = Kernel(unit, symbol, display, types)
    if "<" in display:
        state.wanted.setdefault(unit, {})[display] = None
    return 0


def register_variable(state: State, _place: Place, handle: int, shadow: int, _name: int, name: int, *rest: int) -> int:
    unit = state.units.get(handle)
    if unit is not None and len(state.symbols) < MAX_KERNELS:
        state.symbols[shadow] = (unit, state.guest.text(name), max(0, min(rest[1], 1 << 30)))
    return 0


def register_managed(state: State, place: Place, variable: int, size: int, name: int) -> int:
    unit = state.unit_names.index(place.file) if place.file in state.unit_names else -1
    if unit >= 0 and len(state.managed) < MAX_KERNELS:
        state.guest.view(variable, size)
        state.managed.append((unit, state.guest.text(name), variable, size))
    return 0


def _demangled(state: State, symbol: str) -> tuple[str, tuple[str, ...]]:
    """A kernel's name as C++ writes it, "tiled<16>", and the types of its parameters."""
    address = int(state.call_guest("grader_malloc", len(symbol.encode()) + 1))
    state.guest.write(address, symbol.encode() + b"\0")
    found = int(state.call_guest("grader_demangle", address))
    text = state.guest.text(found) if found else symbol
    state.call_guest("grader_free", address)
    if found:
        state.call_guest("grader_free", found)
    return split_signature(text)


def split_signature(text: str) -> tuple[str, tuple[str, ...]]:
    """ "void ns::tiled<16>(float*, int)" as name and types of the parameters."""
    text = text.replace("(anonymous namespace)::", "").replace("__device_stub__", "")
    depth, start = 0, -1
    for index, character in enumerate(text):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0:
            start = index
            break
    if start < 0:
        return text, ()
    name = text[:start]
    if "<" in name:
        # A template's instance is said with its return type.
        name = name.removeprefix("void ")
    inner, parts, depth, last = text[start + 1 : text.rfind(")")], [], 0, 0
    for index, character in enumerate(inner):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(inner[last:index].strip())
            last = index + 1
    if inner[last:].strip():
        parts.append(inner[last:].strip())
    return name, tuple(parts) if parts != ["void"] else ()


def configure(state: State, place: Place, grid: int, block: int, shared_bytes: int, stream: int) -> int:
    if len(state.configured) > 100:
        raise CudaError(52)
    sizes = (state.guest.unpack("III", grid), state.guest.unpack("III", block))
    state.configured.append(Configured(*sizes, shared_bytes, stream, place))
    return 0


def setup_argument(state: State, _place: Place, argument: int, size: int, offset: int) -> int:
    if not state.configured:
        raise CudaError(52)
    if not 0 <= size <= MAX_ARGUMENT_BYTES or len(state.configured[-1].arguments) > 200:
        raise CudaError(1)
    state.configured[-1].arguments.append((offset, state.guest.read(argument, size)))
    return 0


def launch_configured(state: State, _place: Place, function: int) -> int:
    if not state.configured:
        raise CudaError(52)
    asked = state.configured.pop()
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(98)
    arguments = [raw for _offset, raw in sorted(asked.arguments, key=lambda item: item[0])]
    return _launch(state, kernel, asked, arguments)


def launch_kernel(
    state: State, place: Place, function: int, grid: int, block: int, arguments: int, shared_bytes: int, stream: int
) -> int:
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(98, state.tell("bad_function", "error", msg("programs.no_kernel"), place))
    load(state, kernel.unit)
    entry = state.gpu.entry(kernel.unit, kernel.symbol)
    if entry is None:
        raise CudaError(98)
    values = []
    for index, size in enumerate(state.gpu.parameter_sizes(kernel.unit, entry)):
        (address,) = state.guest.unpack("Q", arguments + 8 * index)
        values.append(state.guest.read(address, size))
    sizes = (state.guest.unpack("III", grid), state.guest.unpack("III", block))
    failed = _launch(state, kernel, Configured(*sizes, shared_bytes, stream, place), values)
    # Its value is there to be looked at, as that of a launch by <<<…>>> is not.
    if failed and (place.file, place.line) not in state.unused_results:
        state.noticed()
    return failed


# -- modules --------------------------------------------------------------------------------------


def load(state: State, unit: int) -> None:
    """Have the device code of a file compiled and loaded, at its first use.

    Raises
    ------
    ProgramEnded : it does not compile, or the emulator cannot read it.
    """
    if state.gpu.is_loaded(unit):
        return
    ptx, reason = state.compile_unit(unit, list(state.wanted.get(unit, {})))
    if not ptx:
        raise ProgramEnded(msg("programs.device_code", file=state.unit_names[unit], reason=reason))
    try:
        state.gpu.load(unit, ptx)
    except Exception as error:
        raise ProgramEnded(msg("programs.emulator_cannot", reason=str(error).split("\n")[0])) from error


# -- the launch itself ----------------------------------------------------------------------------


def refusal(state: State, kernel: Kernel, entry: str, asked: Configured) -> tuple[int, Any]:
    """The error that a device refuses a launch with, and why; (0, None) where it does not."""
    model = state.model
    for axis, size, limit in zip("xyz", asked.grid, MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            return 9, msg("programs.grid_limit", axis=axis, size=size, limit=limit)
    for axis, size, limit in zip("xyz", asked.block, MAX_BLOCK, strict=True):
        if not 1 <= size <= limit:
            return 9, msg("programs.block_limit", axis=axis, size=size, limit=limit)
    threads = asked.block[0] * asked.block[1] * asked.block[2]
    if threads > MAX_BLOCK[0]:
        return 9, msg("programs.thread_limit", block=_sizes(asked.block), threads=threads)
    # A module that nothing has asked for is not compiled where no kernel is run.
    static = state.gpu.static_shared_bytes(kernel.unit, entry) if state.gpu.is_loaded(kernel.unit) else 0
    total = static + asked.shared_bytes
    if asked.shared_bytes < 0 or total > max(STATIC_LIMIT, min(kernel.max_dynamic_bytes + static, model.shared_opt_in)):
        return 1, msg("programs.shared_limit", bytes=total, limit=max(STATIC_LIMIT, kernel.max_dynamic_bytes))
    return 0, None


def _sizes(sizes: tuple[int, int, int]) -> str:
    return "×".join(str(size) for size in (sizes if sizes[2] != 1 else sizes[:2]))


def _launch(state: State, kernel: Kernel, asked: Configured, raw: list[bytes]) -> int:
    place = asked.place
    entry: str | None = kernel.symbol
    if state.limits.executes:
        load(state, kernel.unit)
        entry = state.gpu.entry(kernel.unit, kernel.symbol)
    record = ObservedLaunch(
        kernel.display,
        kernel.symbol,
        place.file,
        place.line,
        asked.grid,
        asked.block,
        max(0, asked.shared_bytes),
        0 if asked.stream in (0, 1, 2) else asked.stream,
        _arguments(state, kernel, raw),
    )
    state.launch_count += 1
    if len(state.launches) < MAX_LAUNCHES:
        state.launches.append(record)
    if state.sticky:
        return _failed(state, record, state.sticky, place)
    if entry is None:
        return _failed(state, record, 98, place)
    code, why = refusal(state, kernel, entry, asked)
    if code:
        state.tell("launch_refused", "error", msg("programs.launch_refused", kernel=kernel.display, why=why), place)
        if state.limits.executes:
            _run_smaller(state, kernel, entry, asked, raw, record)
        return _failed(state, record, code, place)
    stream = state.stream(asked.stream)
    ticket = state.begin(stream)
    _order(state, record, raw, stream, ticket, place)
    if not state.limits.executes:
        record.status = "traced"
        stream.ready_ns += 5_000
        state.pending.append(Pending(kernel.display, stream.number, ticket, place, state.launch_count))
        return 0
    # A kernel may touch every page of what is allocated.
    live = [allocation for allocation in state.gpu.live.values() if not allocation.host]
    if all(state.has_room(allocation, allocation.size, place) for allocation in live):
        outcome = _run(state, kernel, entry, asked, raw, record)
    else:
        outcome = Outcome("too_large")
    seconds = outcome.thread_instructions / (state.model.multiprocessors * state.model.cores_per_multiprocessor)
    stream.ready_ns += 5_000 + int(seconds / state.model.clock_khz * 1e6)
    state.pending.append(Pending(kernel.display, stream.number, ticket, place, state.launch_count))
    return _judge(state, kernel, record, outcome, place)


def _run(
    state: State, kernel: Kernel, entry: str, asked: Configured, raw: list[bytes], record: ObservedLaunch
) -> Outcome:
    for allocation in state.host_memory.values():
        state.gpu.refresh(allocation, state.guest.view(allocation.host, allocation.size))
    managed = [item for item in state.managed if item[0] == kernel.unit]
    for unit, name, address, size in managed:
        found = state.gpu.variable(unit, name)
        if found is not None and found.size == size:
            found.data[:] = state.guest.view(address, size)
    key = (kernel.symbol, kernel.unit, asked.grid, asked.block)
    seen = state.seen_launches[key] = state.seen_launches.get(key, 0) + 1
    outcome = state.gpu.run(
        kernel.unit,
        entry,
        asked.grid,
        asked.block,
        asked.shared_bytes,
        [_translated(state, value, parameter.type) for value, parameter in zip(raw, record.arguments, strict=True)],
        state.model.shared_opt_in,
        state.instructions_left,
        seen <= OBSERVED_REPEATS,
    )
    for unit, name, address, size in managed:
        found = state.gpu.variable(unit, name)
        if found is not None and found.size == size:
            state.guest.view(address, size)[:] = found.data
    state.instructions_left = max(0, state.instructions_left - outcome.thread_instructions)
    if outcome.printf:
        state.print_text(outcome.printf.encode())
    return outcome


def _translated(state: State, raw: bytes, type_text: str) -> bytes:
    """An argument as the device takes it: memory of both sides has an address of its own there."""
    if len(raw) != 8 or not type_text.endswith("*"):
        return raw
    (address,) = struct.unpack("<Q", raw)
    shared = shared_at(state, address)
    return raw if shared is None else struct.pack("<Q", shared.base + address - shared.host)


def _judge(state: State, kernel: Kernel, record: ObservedLaunch, outcome: Outcome, place: Place) -> int:
    """What the run means for the program."""
    record.thread_instructions = outcome.thread_instructions
    kernel_file = state.unit_names[kernel.unit]
    record.hazards = [
        ObservedHazard(hazard.kind, hazard.line, hazard_message(hazard), hazard.count) for hazard in outcome.hazards
    ]
    if outcome.counters is not None:
        record.counters = [
            LineCount(c.line, c.space, c.op, c.requests, c.wavefronts, c.sectors, c.ideal, c.ways)
            for c in outcome.counters.by_line
        ]
    match outcome.status:
        case "too_large":
            record.status = "traced"
            state.hollow = True
            state.tell("too_large", "warning", msg("programs.too_large", kernel=kernel.display), place)
            return 0
        case "unsupported":
            record.status = "traced"
            state.hollow = True
            message = msg("programs.kernel_unsupported", kernel=kernel.display, reason=outcome.reason.split("\n")[0])
            state.tell("unsupported", "warning", message, place)
            return 0
        case "impossible":
            record.status = "failed"
            message = msg("programs.launch_impossible", kernel=kernel.display, reason=outcome.reason)
            state.tell("launch_refused", "error", message, place)
            return _failed(state, record, 1, place)
        case "trap":
            at = Place(outcome.line, kernel_file)
            state.tell("trap", "error", msg("programs.trap", kernel=kernel.display), at)
            return _faulted(state, record, 710 if "assert" in outcome.reason else 719, place)
        case "endless":
            at = Place(outcome.line, kernel_file)
            state.tell("endless", "error", msg("programs.endless", kernel=kernel.display), at)
            return _faulted(state, record, 702, place)
    fatal = 0
    for hazard in outcome.hazards:
        severity = "error" if hazard.kind != "uninitialized" or not state.hollow else "remark"
        message = hazard_message(hazard)
        if hazard.detail == "unmapped":
            fatal = 700
            freed = state.gpu.find_freed(hazard.offset_bytes)
            if freed is not None:
                message = msg("programs.kernel_use_after_free", kernel=kernel.display, array=freed.name)
            elif 0 < hazard.offset_bytes < state.guest.size():
                message = msg("programs.kernel_host_pointer", kernel=kernel.display)
            elif hazard.offset_bytes <= 0:
                message = msg("programs.kernel_null_pointer", kernel=kernel.display)
        elif hazard.kind == "out_of_bounds" and hazard.detail == "misaligned":
            fatal = fatal or 716
        elif hazard.kind == "out_of_bounds" and hazard.space in ("global", "generic"):
            end = -(-hazard.array_bytes // PAGE) * PAGE
            if not -PAGE <= hazard.offset_bytes < end:
                fatal = fatal or 700
        state.tell(hazard.kind, severity, message, Place(hazard.line, kernel_file))
    if fatal:
        return _faulted(state, record, fatal, place)
    return 0


def _faulted(state: State, record: ObservedLaunch, code: int, place: Place) -> int:
    """A fault ends the context: this launch has returned by then, every later call tells it."""
    record.status = "faulted"
    record.error = name_of(code)
    state.fault = (code, record, place)
    return 0


def _failed(state: State, record: ObservedLaunch, code: int, place: Place) -> int:
    record.status = "failed"
    record.error = name_of(code)
    state.fail("launch", code, place).launch = record
    return code


def _run_smaller(
    state: State, kernel: Kernel, entry: str, asked: Configured, raw: list[bytes], record: ObservedLaunch
) -> None:
    """A refused launch shows nothing of the kernel: look at it once with a block that is allowed, on a copy."""
    block = list(asked.block)
    grid = list(asked.grid)
    if min(*block, *grid) < 1 or asked.shared_bytes or state.seen_launches.get((kernel.symbol, "tried")):
        return
    state.seen_launches[kernel.symbol, "tried"] = 1
    while block[0] * block[1] * block[2] > MAX_BLOCK[0]:
        axis = max(range(3), key=lambda i: block[i])
        if block[axis] % 2:
            return
        block[axis] //= 2
        grid[axis] *= 2
    tried = Configured(tuple(grid), tuple(block), 0, asked.stream, asked.place)  # type: ignore[arg-type]
    before = state.gpu.snapshot()
    if before is None or refusal(state, kernel, entry, tried)[0]:
        return
    for allocation in state.host_memory.values():
        state.gpu.refresh(allocation, state.guest.view(allocation.host, allocation.size))
    outcome = state.gpu.run(
        kernel.unit,
        entry,
        tried.grid,
        tried.block,
        0,
        [_translated(state, value, parameter.type) for value, parameter in zip(raw, record.arguments, strict=True)],
        STATIC_LIMIT,
        state.instructions_left,
        True,
    )
    state.gpu.restore(before)
    file = state.unit_names[kernel.unit]
    for hazard in outcome.hazards:
        message = msg("programs.with_smaller_block", block=_sizes(tried.block), fault=hazard_message(hazard))
        state.tell(hazard.kind, "warning", message, Place(hazard.line, file))


def _order(state: State, record: ObservedLaunch, raw: list[bytes], stream: Stream, ticket: int, place: Place) -> None:
    """Look for other streams' work on the same arrays; what is `const` is read only."""
    for value, argument in zip(raw, record.arguments, strict=True):
        if not argument.buffer or len(value) != 8:
            continue
        (address,) = struct.unpack("<Q", value)
        found = state.gpu.find(address) or shared_at(state, address)
        if found is not None:
            is_write = " const*" not in argument.type
            start = argument.offset_bytes
            state.access(found, stream, ticket, start, found.size, is_write, place)


def _arguments(state: State, kernel: Kernel, raw: list[bytes]) -> list[Argument]:
    types = kernel.types if len(kernel.types) == len(raw) else tuple("?" for _value in raw)
    names = state.parameter_names.get(re.sub(r"<.*", "", kernel.display).rpartition("::")[2], ())
    found = []
    for index, (value, type_text) in enumerate(zip(raw, types, strict=True)):
        argument = Argument(type_text, names[index] if len(names) == len(raw) else "")
        layout = _FORMATS.get(type_text.removesuffix(" const"))
        if layout and struct.calcsize("<" + layout) == len(value):
            (argument.value,) = struct.unpack("<" + layout, value)
        elif type_text.endswith("*") and len(value) == 8:
            (address,) = struct.unpack("<Q", value)
            allocation = state.gpu.find(address) or shared_at(state, address)
            if allocation is not None:
                argument.buffer, argument.buffer_bytes = allocation.name, allocation.size
                argument.offset_bytes = address - (allocation.host or allocation.base)
                argument.copied_in = "copied" in allocation.origins
                argument.zeroed = "zeroed" in allocation.origins
                argument.written = "kernel" in allocation.origins
                _look_at(state, argument, allocation)
                if " const*" not in type_text:
                    allocation.origins.add("kernel")
        found.append(argument)
    return found


def _look_at(state: State, argument: Argument, allocation: Allocation) -> None:
    """Tell whether all that was copied into a buffer is zero, and what else has the same content."""
    if allocation.host and allocation.array.data.size != allocation.size:
        state.gpu.refresh(allocation, state.guest.view(allocation.host, allocation.size))
    if argument.written or not (allocation.host or argument.copied_in):
        argument.zeros = argument.zeroed and not argument.written
        return
    if state.hashed_bytes + allocation.size > MAX_HASHED_BYTES:
        return
    state.hashed_bytes += allocation.size
    data = allocation.data
    if data.any():
        argument.digest = blake2b(data.tobytes(), digest_size=16).hexdigest()
    else:
        argument.zeros = True


HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    "cudaConfigureCall": ("iiii", configure),
    "registerManaged": ("iii", register_managed),
    "cudaLaunchKernel": ("iiiiii", launch_kernel),
    "cudaLaunchCooperativeKernel": ("iiiiii", launch_kernel),
}
INTERNAL: dict[str, tuple[str, Callable[..., int]]] = {
    "cudaSetupArgument": ("iii", setup_argument),
    "cudaLaunch": ("i", launch_configured),
    "__cudaRegisterFatBinary": ("i", register_binary),
    "__cudaRegisterFunction": ("i" * 10, register_function),
    "__cudaRegisterVar": ("i" * 8, register_variable),
    "__cudaUnregisterFatBinary": ("i", lambda *_arguments: 0),
}
"""What the compiler's own code calls: no place comes with it."""
