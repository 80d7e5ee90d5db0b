"""Functions that the driver provides to device code: printf, assertions, the heap."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.heap import heap_of
from grader.ptx.limits import DeviceTrap
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.memory import LOCAL_WINDOW, Owner
from grader.ptx.values import Array

U64 = np.dtype(np.uint64)
_CONVERSION = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*))?(hh|h|ll|l|z|j|t)?([diouxXcsfFeEgGaAp%])")

MAX_WIDTH = 500
"""Largest field width and precision."""

ISSUED_PER_LANE = 8
"""Instructions that the work of a function for one lane counts as: here lanes are served one after another."""


def _argument(group: Group, address: int, dtype: np.dtype[Any]) -> Array:
    """(n,) values of a `.param` variable, one a lane."""
    array = group.batch.local.find(address)
    assert array is not None
    index = (array.storage + address - array.base) // dtype.itemsize
    rows = array.row_starts(group.lanes, dtype.itemsize)
    view = array.view(dtype)
    return np.full(group.lanes.n, view[index]) if rows is None else view[rows + index]


def _text(batch: BlockBatch, address: int) -> str:
    array = batch.device.find(address)
    if array is None or not 0 <= address - array.base < array.size:
        return "<bad pointer>"
    raw = array.data[address - array.base : array.size].tobytes()
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
    """How many arguments a format takes."""
    return sum((match[5] != "%") + (match[2] == "*") + (match[3] == "*") for match in _CONVERSION.finditer(template))


class _Packed:
    """A lane's packed argument buffer, read one argument after the other, each aligned to its own size."""

    def __init__(self, batch: BlockBatch, buffer: int, lane: int) -> None:
        local = buffer - LOCAL_WINDOW
        self._array = array = batch.local.find(local)
        self._cursor = local - array.base if array is not None else 0
        self._row = array.storage + lane * array.row_bytes if array is not None else 0

    def fetch(self, dtype: str) -> Any:
        """The next argument; 0 where there is none."""
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
    """C's printf on a packed argument buffer."""
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
            return (spec + "s") % (_text(batch, pointer) if pointer else "(null)")
        if kind == "p":
            return (spec + "s") % hex(packed.fetch("u8"))
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
    """Put what a function returns, one a lane, into a `.param` variable."""
    array = group.batch.local.find(address)
    assert array is not None
    rows = array.row_starts(group.lanes, values.itemsize)
    index = (array.storage + address - array.base) // values.itemsize
    array.view(values.dtype)[(0 if rows is None else rows) + index] = values


def _charge(group: Group, lanes: int) -> None:
    """Count what is done for lanes one by one towards what a launch may issue."""
    group.batch.budget.issued += lanes * ISSUED_PER_LANE


def _malloc(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    batch, line = group.batch, instruction.location.line
    heap = heap_of(batch.device)
    pointers = np.zeros(group.lanes.n, U64)
    _charge(group, group.lanes.n)
    for position, size in enumerate(_argument(group, arguments[0], U64).tolist()):
        found = heap.allocate(size, line)
        if found is not None:
            pointers[position] = found[0]
            for tell in batch.watchers.renewed:
                tell(heap.array, found[0] - heap.array.base, found[1])
    batch.note_change()
    _results(group, returns[0], pointers)


def _free(group: Group, instruction: Instruction, arguments: list[int], returns: list[int]) -> None:
    batch = group.batch
    heap = heap_of(batch.device)
    _charge(group, group.lanes.n)
    for position, pointer in enumerate(_argument(group, arguments[0], U64).tolist()):
        wrong = heap.free(pointer) if pointer else ""
        if wrong:
            inside = 0 <= pointer - heap.array.base < heap.array.size
            owner = heap.array.owner(pointer - heap.array.base) if inside else Owner("", 0, 0)
            batch.hazards.add(
                batch.geometry, "out_of_bounds", wrong, instruction, int(group.lanes.ids[position]), 1,
                op="free", space="global", array=owner.name, array_bytes=owner.size,
            )  # fmt: skip
    batch.note_change()


BUILTINS: dict[str, Callable[[Group, Instruction, list[int], list[int]], None]] = {
    "vprintf": _vprintf,
    "__assertfail": _assert_fail,
    "malloc": _malloc,
    "free": _free,
}
