"""Functions that the driver provides to device code: printf, assertions, the heap, launches of further kernels.

The order in which such launches are carried out, when their parent has ended, stands here as well.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.ptx.access import AccessSpec
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.heap import Heap, heap_of
from grader.ptx.limits import MAX_THREADS, DeviceTrap
from grader.ptx.machine import load_store
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.memory import LOCAL_WINDOW, NOWHERE, SHARED_WINDOW, Device, SharedWindow, Window
from grader.ptx.observers.interface import BlamedOperation
from grader.ptx.records import FIRE_AND_FORGET, TAIL_LAUNCH, DeviceLaunch, Index3
from grader.ptx.values import Array, from_array

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_CONVERSION = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*))?(hh|h|ll|l|z|j|t)?([diouxXcsfFeEgGaAp%])")

MAX_WIDTH = 500
"""Largest field width and precision."""

ISSUED_PER_LANE = 8
"""Instructions that the work of a function for one lane counts as: here lanes are served one after another."""


def _argument(group: Group, address: int, dtype: np.dtype[Any]) -> Array:
    """Return (n,) values of a `.param` variable, one for each lane."""
    array = group.batch.local.find(address)
    assert array is not None
    index = (array.storage + address - array.base) // dtype.itemsize
    rows = array.row_starts(group.lanes, dtype.itemsize)
    view = array.view(dtype)
    return np.full(group.lanes.n, view[index]) if rows is None else view[rows + index]


def _text(batch: BlockBatch, address: int, lane: int = 0) -> str:
    """Return the string at an address, up to its zero, as a lane sees it."""
    window: Device | Window | SharedWindow = batch.device
    row = 0
    if address >= SHARED_WINDOW:
        window = batch.local if address >= LOCAL_WINDOW else batch.shared
        row = lane if address >= LOCAL_WINDOW else lane // batch.layout.padded
        address -= LOCAL_WINDOW if address >= LOCAL_WINDOW else SHARED_WINDOW
    array = window.find(address)
    if array is None or not 0 <= address - array.base < array.size:
        return "<bad pointer>"
    start = array.storage + row * array.row_bytes
    raw = array.data[start + address - array.base : start + array.size].tobytes()
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _vprintf(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    batch = group.batch
    formats = _argument(group, arguments[0], U64)
    buffers = _argument(group, arguments[1], U64)
    # "returns the number of arguments parsed" (CUDA C++ programming guide, formatted output).
    templates = {int(f): _text(batch, int(f)) for f in np.unique(formats)}
    distinct, which = np.unique(formats, return_inverse=True)
    counts = np.array([_arguments(templates[int(f)]) for f in distinct], np.int32)[which]
    for position in range(group.lanes.n):
        if batch.budget.printf_left <= 0:
            break
        _charge(group, 1)
        template = templates[int(formats[position])]
        text = _format(batch, template, int(buffers[position]), int(group.lanes.ids[position]))
        batch.budget.printf.append(text[: batch.budget.printf_left])
        batch.budget.printf_left -= len(text)
    for address in returns:
        array = batch.local.find(address)
        if array is not None:
            rows = array.row_starts(group.lanes, 4)
            array.view(np.dtype(np.int32))[(0 if rows is None else rows) + array.storage // 4] = counts


def _arguments(template: str) -> int:
    return sum((match[5] != "%") + (match[2] == "*") + (match[3] == "*") for match in _CONVERSION.finditer(template))


class _Packed:
    """A lane's packed argument buffer; each argument is aligned to its own size."""

    def __init__(self, batch: BlockBatch, buffer: int, lane: int) -> None:
        local = buffer - LOCAL_WINDOW
        self._array = array = batch.local.find(local)
        self._cursor = local - array.base if array is not None else 0
        self._row = array.storage + lane * array.row_bytes if array is not None else 0

    def fetch(self, dtype: str) -> Any:
        kind, array = np.dtype(dtype), self._array
        if array is None:
            return kind.type(0).item()
        self._cursor += -self._cursor % kind.itemsize
        start = self._row + self._cursor
        self._cursor += kind.itemsize
        if self._cursor > array.size:
            return kind.type(0).item()
        return array.data[start : start + kind.itemsize].view(kind)[0].item()


def _format(batch: BlockBatch, template: str, buffer: int, lane: int) -> str:
    packed = _Packed(batch, buffer, lane)

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(packed.fetch("i4")) if width == "*" else width or ""
        precision = str(packed.fetch("i4")) if precision == "*" else precision
        if width.startswith("-"):
            flags, width = flags + "-", width[1:]
        if precision is not None and precision.startswith("-"):
            precision = None
        # Nobody wants to see more, and Python would try to make a string of a thousand million blanks.
        width = str(min(int(width), MAX_WIDTH)) if width else ""
        precision = str(min(int(precision), MAX_WIDTH)) if precision else precision
        spec = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
        if kind in "diouxX":
            return _integer(packed, spec, kind, length, flags, precision)
        if kind == "c":
            return (spec + "c") % chr(packed.fetch("i4") & 0xFF)
        if kind == "s":
            pointer = packed.fetch("u8")
            return (spec + "s") % (_text(batch, pointer, lane) if pointer else "(null)")
        if kind == "p":
            pointer = packed.fetch("u8")
            return (spec + "s") % (hex(pointer) if pointer else "(nil)")
        value = packed.fetch("f8")
        if not math.isfinite(value):
            spec = spec.replace("0", "", 1) if "0" in flags else spec
            return (spec.split(".")[0] + ("F" if kind in "AEFG" else "f")) % value
        if kind in "aA":
            text = _hexadecimal(value, precision)
            return (f"%{flags}{width}s") % (text.upper() if kind == "A" else text)
        return (spec + kind) % value

    return _CONVERSION.sub(convert, template)


def _integer(packed: _Packed, spec: str, kind: str, length: str, flags: str, precision: str | None) -> str:
    """%d %i %o %u %x %X: Python's % on numbers of the right width, but for octal ones with a prefix."""
    size = "8" if length in ("l", "ll", "z", "j", "t") else "4"
    # Arguments shorter than int are passed as int and cut when printed.
    short = {"h": 16, "hh": 8}.get(length)
    if kind in "di":
        number = packed.fetch(f"i{size}")
        if short:
            number = (number + (1 << short - 1)) % (1 << short) - (1 << short - 1)
        return (spec + "d") % number
    number = packed.fetch(f"u{size}")
    number = number % (1 << short) if short else number
    if "#" in flags:
        # C prefixes no zero, and octal numbers with a mere 0: one digit more than they have.
        spec = spec.replace("#", "") if not number or kind == "o" else spec
        if kind == "o" and number:
            return (spec.split(".")[0] + "s") % f"0{number:o}".zfill(int(precision or 0))
    return (spec + {"u": "d"}.get(kind, kind)) % number


def _hexadecimal(value: float, precision: str | None) -> str:
    """C's %a: without the zeros that `float.hex` puts behind, or rounded to a number of hexadecimal digits."""
    mantissa, exponent = value.hex().split("p")
    sign, (whole, _, digits) = "-" * mantissa.startswith("-"), mantissa.lstrip("-").partition(".")
    if precision is None:
        digits = digits.rstrip("0")
    else:
        # Half to even, a carry into the digit before the point, as the C library does.
        places = int(precision)
        number = int(whole, 16) << 52 | int(digits.ljust(13, "0"), 16)
        if places < 13:
            unit = 1 << 4 * (13 - places)
            number, rest = divmod(number, unit)
            number += rest * 2 > unit or (rest * 2 == unit and number & 1)
        else:
            number <<= 4 * (places - 13)
        whole = f"0x{number >> 4 * places:x}"
        digits = f"{number & (1 << 4 * places) - 1:0{places}x}" if places else ""
    return f"{sign}{whole}{'.' if digits else ''}{digits}p{exponent}"


def _assert_fail(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    message = _text(group.batch, int(_argument(group, arguments[0], U64)[0]))
    line = int(_argument(group, arguments[2], np.dtype(np.uint32))[0])
    raise DeviceTrap(line or instruction.location.line, f"assertion failed: {message}")


def _results(group: Group, address: int, values: Array) -> None:
    """Store the return value of a function, one for each lane, in a `.param` variable."""
    array = group.batch.local.find(address)
    assert array is not None
    rows = array.row_starts(group.lanes, values.itemsize)
    index = (array.storage + address - array.base) // values.itemsize
    array.view(values.dtype)[(0 if rows is None else rows) + index] = values


def _charge(group: Group, lanes: int) -> None:
    group.batch.budget.issued += lanes * ISSUED_PER_LANE


def _allocated(group: Group, instruction: Instruction, sizes: int) -> Array:
    """Return an address for each lane, 0 where the heap has no room.  sizes: the argument that says how much."""
    batch, line = group.batch, instruction.location.line
    heap = heap_of(batch.device)
    pointers = np.zeros(group.lanes.n, U64)
    _charge(group, group.lanes.n)
    for position, size in enumerate(_argument(group, sizes, U64).tolist()):
        allocation = heap.allocate(size, line)
        if allocation is not None:
            pointers[position] = allocation[0]
            for notify in batch.watchers.renewed:
                notify(heap.array, allocation[0] - heap.array.base, allocation[1])
    batch.note_change()
    return pointers


def _malloc(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    _results(group, returns[0], _allocated(group, instruction, arguments[0]))


def _free(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    batch = group.batch
    heap = heap_of(batch.device)
    _charge(group, group.lanes.n)
    for position, pointer in enumerate(_argument(group, arguments[0], U64).tolist()):
        wrong = heap.free(pointer) if pointer else ""
        if wrong:
            inside = 0 <= pointer - heap.array.base < heap.array.size
            owner = heap.array.owner(pointer - heap.array.base) if inside else NOWHERE
            blamed = BlamedOperation(instruction, int(group.lanes.ids[position]), "free", "global", owner, owner.start)
            batch.hazards.add(batch.geometry, "out_of_bounds", wrong, blamed, 1)
    batch.note_change()


# Launches out of a kernel (CUDA C++ programming guide, dynamic parallelism): a kernel asks for memory, puts the
# arguments there, and hands it back.

_NO_MEMORY = 2
"""`cudaErrorMemoryAllocation`."""
FIRST_HANDLE = 16
"""First handle of streams and events that are created; those below are streams that every grid has."""
LAUNCH_ARGUMENT_BYTES = 16 << 20
LAUNCH_COST = 500
"""A launch out of a kernel against what is done for a lane of another function."""
MEMORY_ALLOCATION, INVALID_CONFIGURATION = 2, 9
"""Numbers of `cudaError_t`."""


def _parameter_buffer(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """Allocate memory for the arguments of a launch for each lane, and remember its shape; null where none is left."""
    budget, program = group.batch.budget, group.frames[-1].code.program
    callees = [program.at(pointer, instruction) for pointer in _argument(group, arguments[0], U64).tolist()]
    grids, blocks = _fields(group, arguments[1]), _fields(group, arguments[2])
    shared = _argument(group, arguments[3], U32).tolist()
    pointers = _rooms(group, instruction, [callee.parameter_bytes for callee in callees])
    for callee, pointer, *shape in zip(callees, pointers.tolist(), grids, blocks, shared, strict=True):
        if pointer:
            budget.asked_for[pointer] = (callee.name, *shape)
    _results(group, returns[0], pointers)


def _parameter_buffer_of_size(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """The same as clang asks for it: by alignment, which all have, and size."""
    sizes = _argument(group, arguments[1], U64).tolist()
    _results(group, returns[0], _rooms(group, instruction, sizes))


def _rooms(group: Group, instruction: Instruction, sizes: Sequence[int]) -> Array:
    """Return a pointer for each lane; null where no memory is left."""
    batch, line = group.batch, instruction.location.line
    device = batch.device
    if device.launch_arguments is None:
        device.launch_arguments = Heap(device, LAUNCH_ARGUMENT_BYTES)
    room: Heap = device.launch_arguments
    pointers = np.zeros(group.lanes.n, U64)
    _charge(group, LAUNCH_COST * group.lanes.n)
    for position, size in enumerate(sizes):
        allocation = room.allocate(max(size, 1), line)
        if allocation is None:
            _errors(group)[int(group.lanes.ids[position])] = MEMORY_ALLOCATION
            continue
        pointers[position] = allocation[0]
        if room.array.valid is not None:
            # What lies between two arguments nobody writes, and it is read with them.
            room.array.valid[allocation[0] - room.array.base :][: allocation[1]] = 1
    batch.note_change()
    return pointers


def _fields(group: Group, address: int) -> list[Index3]:
    return list(zip(*(_argument(group, address + 4 * axis, U32).tolist() for axis in range(3)), strict=True))


def _errors(group: Group) -> dict[int, int]:
    errors: dict[int, int] = group.batch.extensions.setdefault("errors of launches", {})
    return errors


def _launch_device(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """Queue a launch for each lane; its arguments lie where `_parameter_buffer` put them."""
    _launch(group, instruction, arguments[0], arguments[1], returns[0])


def _launch_with_shape(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """The same as clang asks for it: the kernel, its arguments, grid, block, bytes of shared memory, stream."""
    budget, program = group.batch.budget, group.frames[-1].code.program
    callees = [program.at(pointer, instruction).name for pointer in _argument(group, arguments[0], U64).tolist()]
    grids, blocks = _fields(group, arguments[2]), _fields(group, arguments[3])
    shared = _argument(group, arguments[4], U32).tolist()
    pointers = _argument(group, arguments[1], U64).tolist()
    budget.asked_for.update(zip(pointers, zip(callees, grids, blocks, shared, strict=True), strict=True))
    _launch(group, instruction, arguments[1], arguments[5], returns[0])


def _launch(group: Group, instruction: Instruction, of_arguments: int, of_streams: int, result: int) -> None:
    batch, module = group.batch, group.frames[-1].code.program.module
    room: Heap | None = batch.device.launch_arguments
    streams = _argument(group, of_streams, U64).tolist()
    codes = np.zeros(group.lanes.n, np.int32)
    for position, pointer in enumerate(_argument(group, of_arguments, U64).tolist()):
        entry, grid, block, shared_bytes = batch.budget.asked_for.pop(pointer, ("", (0, 0, 0), (0, 0, 0), 0))
        if room is None or not entry or not all((*grid, *block)) or math.prod(block) > MAX_THREADS:
            codes[position] = _errors(group)[int(group.lanes.ids[position])] = INVALID_CONFIGURATION
            continue
        start = pointer - room.array.base
        raw = room.array.data[start : start + module.functions[entry].parameter_bytes].tobytes()
        room.free(pointer)
        number = batch.geometry.first_block + int(group.lanes.blocks[position])
        batch.budget.launched.append(
            DeviceLaunch(entry, grid, block, shared_bytes, raw, number, streams[position], instruction.location.line)
        )
    _results(group, result, codes)


def _stream_create(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """Store a handle that no other stream or event of the launch has, for each lane."""
    lanes, budget = group.lanes, group.batch.budget
    handles = np.arange(FIRST_HANDLE + budget.handles, FIRST_HANDLE + budget.handles + lanes.n, dtype=np.uint64)
    budget.handles += lanes.n
    spec = AccessSpec(replace(instruction, opcode="st", modifiers=("b64",), operands=()), "store")
    places = from_array(_argument(group, arguments[0], U64), lanes, 8)
    load_store.store(group, spec, places, 0, [from_array(handles, lanes, 8)])
    _succeed(group, instruction, arguments, returns)


def _cuda_malloc(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """`cudaMalloc` of a kernel, from the same heap: store the pointer, and return whether there was room."""
    pointers = _allocated(group, instruction, arguments[1])
    spec = AccessSpec(replace(instruction, opcode="st", modifiers=("b64",), operands=()), "store")
    places = from_array(_argument(group, arguments[0], U64), group.lanes, 8)
    load_store.store(group, spec, places, 0, [from_array(pointers, group.lanes, 8)])
    _results(group, returns[0], np.where(pointers == 0, _NO_MEMORY, 0).astype(np.int32))


def _cuda_free(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    _free(group, instruction, arguments, returns)
    _succeed(group, instruction, arguments, returns)


def _last_error(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    errors = _errors(group)
    _results(group, returns[0], np.array([errors.get(lane, 0) for lane in group.lanes.ids.tolist()], np.int32))


def _take_last_error(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    _last_error(group, instruction, arguments, returns)
    for lane in group.lanes.ids.tolist():
        _errors(group).pop(lane, None)


def _succeed(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    """Return success: what is destroyed ends when its work is done."""
    _results(group, returns[0], np.zeros(group.lanes.n, np.int32))


BUILTINS: dict[str, Callable[[Group, Instruction, list[int], list[int]], None]] = {
    "vprintf": _vprintf,
    "__assertfail": _assert_fail,
    "malloc": _malloc,
    "free": _free,
    "__cudaCDP2Malloc": _cuda_malloc,
    "__cudaCDP2Free": _cuda_free,
    "__cudaCDP2GetParameterBufferV2": _parameter_buffer,
    "__cudaCDP2LaunchDeviceV2": _launch_device,
    "cudaGetParameterBuffer": _parameter_buffer_of_size,
    "cudaLaunchDevice": _launch_with_shape,
    "__cudaCDP2StreamCreateWithFlags": _stream_create,
    "__cudaCDP2StreamDestroy": _succeed,
    "__cudaCDP2EventCreateWithFlags": _stream_create,
    "__cudaCDP2EventDestroy": _succeed,
    "__cudaCDP2GetLastError": _take_last_error,
    "__cudaCDP2PeekAtLastError": _last_error,
}


# The order in which such launches are carried out, once the kernels that made them have ended.


@dataclass(slots=True)
class _Grid:
    """A grid that was launched, and what it launched that is not yet done."""

    parent: _Grid | None = None
    queue: deque[tuple[_Grid, DeviceLaunch]] | None = None
    children: int = 0
    tails: list[DeviceLaunch] = field(default_factory=list)


class _Descendants:
    """Grids that wait for their turn; `ready`: those whose turn has come."""

    def __init__(self) -> None:
        self.ready: deque[tuple[_Grid, DeviceLaunch]] = deque()

    def expand(self, grid: _Grid, launched: Sequence[DeviceLaunch]) -> None:
        """Queue what a grid launched that has been run."""
        grid.tails = [child for child in launched if child.stream == TAIL_LAUNCH]
        queues: dict[tuple[int, int, int], deque[tuple[_Grid, DeviceLaunch]]] = {}
        for number, child in enumerate(launched):
            if child.stream != TAIL_LAUNCH:
                apart = number if child.stream == FIRE_AND_FORGET else -1
                queue = queues.setdefault((child.launched_by, child.stream, apart), deque())
                self._enqueue(_Grid(grid, queue), child)
        self._end(grid)

    def _enqueue(self, grid: _Grid, child: DeviceLaunch) -> None:
        assert grid.parent is not None and grid.queue is not None
        grid.parent.children += 1
        grid.queue.append((grid, child))
        if len(grid.queue) == 1:
            self.ready.append((grid, child))

    def _end(self, grid: _Grid) -> None:
        """Note that a grid is done once its descendants are, and then perhaps its parent."""
        while not grid.children:
            if grid.tails:
                tails, grid.tails = grid.tails, []
                queue: deque[tuple[_Grid, DeviceLaunch]] = deque()
                for child in tails:
                    self._enqueue(_Grid(grid, queue), child)
                return
            if grid.parent is None or grid.queue is None:
                return
            grid.queue.popleft()
            if grid.queue:
                self.ready.append(grid.queue[0])
            grid = grid.parent
            grid.children -= 1


def carry_out_descendants(
    launched: Sequence[DeviceLaunch], carry_out: Callable[[DeviceLaunch], Sequence[DeviceLaunch]]
) -> None:
    """Carry out what a kernel launched, and what that launches, in an order in which a device may do it.

    carry_out: runs one grid and returns what it has launched itself.

    A grid is done when all that it launched is.  What one block launches into one stream is done in that order, all
    else begins in the order in which it was launched, and what was launched as a tail begins when everything else is
    done (CUDA C++ programming guide, dynamic parallelism).
    """
    descendants = _Descendants()
    descendants.expand(_Grid(), launched)
    while descendants.ready:
        grid, launch = descendants.ready.popleft()
        descendants.expand(grid, carry_out(launch))
