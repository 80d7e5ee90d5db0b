"""How a library's calls are served: handles, operands in memory that the device reaches as arrays of NumPy, and where
results go.  Numbers that NumPy has no type for, bfloat16 and those of 8 bits, are stored as they are and computed with
as float32.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.message import msg
from grader.programs.device_memory import Allocation
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.silent import read
from grader.programs.runtime.state import Handler, Handlers, ProgramEnded, State
from grader.programs.sandbox.guest import PRODUCTS_PER_INSTRUCTION

Array = npt.NDArray[Any]
NOT_INITIALIZED, INVALID_VALUE, MAPPING_ERROR = 1, 7, 11
MAX_WORK = 2_000_000_000
"""Multiplications of one call."""
MAX_PRODUCTS = 100_000_000_000
"""The same of a product of matrices, which BLAS computes."""
_BLAS_PER_WORK = 16
"""How many of BLAS's multiplications take the time of one of any other call's."""
MAX_ELEMENTS = 1 << 25
"""Elements of a matrix made of a band or a packed triangle, at most (512 MiB)."""
MAX_HANDLES = 1000
MAPPED_BYTES = 2 << 20
"""What a driver maps at once: past an array, but within these, nothing fails on a device."""


Served = Callable[..., int | None]
"""A function of a call and its numbers, which returns a status, None for success."""


class Arguments(SimpleNamespace):
    """The arguments of one call, by the names that its C declaration has for them.  Of a matrix `a` its leading
    dimension is `lda`, its `cudaDataType`, where that is told, `at`; the step of a vector `x` is `incx`.
    """

    def but(self, **changed: Any) -> Arguments:
        """Return these with others in the place of some."""
        return Arguments(**{**vars(self), **changed})


@dataclass(frozen=True, slots=True)
class Named:
    """A function of a call and its `Arguments`.  names: in the order of the C declaration; "low:f" is no integer."""

    function: Callable[[Call, Arguments], int | None]
    names: str

    def __call__(self, call: Call, args: Arguments) -> int | None:
        return self.function(call, args)


def takes(names: str) -> Callable[[Callable[[Call, Arguments], int | None]], Named]:
    """Return a decorator of functions with more arguments than one list of parameters reads well with."""
    return lambda function: Named(function, names)


class Refused(Exception):
    """A call ends with this status of its library's."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


def one_of(table: Mapping[int, str], status: int, number: int) -> str:
    """Return what a table has for a number.  Raises Refused(`status`) where it has nothing."""
    if number not in table:
        raise Refused(status)
    return table[number]


def guarded(
    function: Callable[..., int | None], statuses: Mapping[int, int] | None = None
) -> Callable[..., int | None]:
    """Return a handler that turns Refused into its status; statuses: of another library, by cuBLAS's."""

    def call(state: State, place: Place, *arguments: Any) -> int | None:
        try:
            return function(state, place, *arguments)
        except Refused as error:
            return (statuses or {}).get(error.status, error.status)

    return call


def _place_of(state: State, address: int, size: int, place: Place) -> tuple[Array, Allocation]:
    """Return `size` bytes of memory that the device reaches, and what they lie in."""
    buffer = state.memory.find(address)
    offset = address - buffer.base if buffer is not None else 0
    if buffer is None:
        buffer = shared_at(state, address)
        offset = address - buffer.host if buffer is not None else 0
    if buffer is None or offset < 0 or offset + size > buffer.size:
        message = msg("programs.library_pointer") if buffer is None else msg("programs.library_past", array=buffer.name)
        state.tell("copy_size" if buffer is not None else "bad_pointer", "error", message, place)
        if buffer is not None and not buffer.host and 0 <= offset < offset + size <= _mapped(buffer.size):
            return _beyond(buffer, offset, size)
        raise Refused(MAPPING_ERROR)
    read(state, buffer, place)
    if buffer.host:
        return state.guest.view(address, size), buffer
    return buffer.view(offset, size), buffer


def _mapped(size: int) -> int:
    return -(-size // MAPPED_BYTES) * MAPPED_BYTES


def _beyond(buffer: Allocation, offset: int, size: int) -> tuple[Array, Allocation]:
    """Return bytes of an array and past it, as a device has them mapped: zeros, and what is written there is lost."""
    inside = max(0, buffer.size - offset)
    content = np.zeros(size, np.uint8)
    if inside:
        content[:inside] = buffer.seen(offset, inside)
    reached = copy.copy(buffer)

    def put_back(_changed: Any) -> None:
        if inside:
            within = buffer.view(offset, inside)
            within[:] = content[:inside]
            buffer.put_back(within)
            buffer.digest = None

    reached.put_back = put_back  # type: ignore[assignment]
    return content, reached


def matrix_at(
    state: State, place: Place, address: int, rows: int, columns: int, leading: int, dtype: str
) -> tuple[Array, Allocation]:
    """Return a matrix in column-major order as (rows, columns), and what it lies in."""
    if min(rows, columns) < 0 or leading < max(1, rows):
        raise Refused(INVALID_VALUE)
    if not rows or not columns:
        if max(rows, columns) >= 1 << 40:
            # NumPy holds no array of no elements with such a side.
            raise Refused(INVALID_VALUE)
        return np.empty((rows, columns), STORED.get(dtype, dtype)), Allocation("", 0, 0, "", 0, "")
    width = width_of(dtype)
    raw, allocation = _place_of(state, address, ((columns - 1) * leading + rows) * width, place)
    if raw.ctypes.data % width:
        state.tell("bad_pointer", "error", msg("programs.library_misaligned"), place)
        raise Refused(MAPPING_ERROR)
    flat = raw.view(STORED.get(dtype, dtype))
    matrix = np.lib.stride_tricks.as_strided(flat, (rows, columns), (width, leading * width))
    return narrow(matrix, dtype) if dtype in STORED else matrix, allocation


def width_of(dtype: str) -> int:
    """Return the bytes of a number of a type, as `MULTIPLIED_TYPES` names it."""
    return np.dtype(STORED.get(dtype, dtype)).itemsize


def note_write(state: State, target: tuple[Array, Allocation]) -> None:
    """Note that an operand was written: all of it is there for kernels."""
    values, allocation = target
    allocation.put_back(values)
    valid = allocation.valid()
    if valid is not None:
        valid[:] = 1
    allocation.origins.add("kernel")
    allocation.digest = None
    queue = state.streams[0]
    state.begin(queue)


def handle_of(state: State, handle: int) -> dict[str, Any]:
    record = state.libraries.get(handle)
    if record is None:
        raise Refused(NOT_INITIALIZED)
    return record


def new_handle(state: State, pointer: int, fields: dict[str, Any], lacks: int) -> int:
    """Make a library's object and write its handle to `pointer`.  Raises Refused(`lacks`) where there are too many."""
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(lacks)
    number = state.handle()
    state.guest.pack("Q", pointer, number)
    state.libraries[number] = fields
    return number


def destroy(call: Call, handle: int) -> None:
    handle_of(call.state, handle)
    del call.state.libraries[handle]


def set_stream(call: Call, stream: int) -> None:
    """Set the stream of a handle's calls, which matters where that is captured."""
    call.handle["stream"] = stream


def accept(call: Call, value: int) -> None:
    """Accept a setting that makes no difference here."""


def gives(number: int) -> Served:
    """Return a function that writes one number, as a library's version."""

    def give_number(call: Call, pointer: int) -> None:
        call.state.guest.pack("i", pointer, number)

    return give_number


ALL = {"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}
"""Types of numbers by the letter that names of functions have for them."""
REALS = {"S": "f4", "D": "f8"}
COMPLEX = {"C": "c8", "Z": "c16"}
REAL = {"c8": "f4", "c16": "f8"}
DATA_TYPES = {0: "f4", 1: "f8", 2: "f2", 3: "i1", 4: "c8", 5: "c16", 8: "u1", 10: "i4"}
"""`cudaDataType` as NumPy has it."""
MULTIPLIED_TYPES = DATA_TYPES | {14: "bf16", 28: "e4m3", 29: "e5m2"}
"""The same of operands of products, with what NumPy has not."""
Operand = tuple[Array, Allocation]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a library's.

    handle: what belongs to the library's handle.  dtype: of the numbers that the function's name says.
    """

    state: State
    place: Place
    handle: dict[str, Any]
    dtype: str

    @property
    def real(self) -> str:
        """The type of the parts of its numbers."""
        return REAL.get(self.dtype, self.dtype)

    def matrix(self, address: int, rows: int, columns: int, leading: int, dtype: str = "") -> Operand:
        """In column-major order."""
        return matrix_at(self.state, self.place, address, rows, columns, leading, dtype or self.dtype)

    def vector(self, address: int, count: int, step: int = 1, dtype: str = "") -> Operand:
        """Every `step`-th number, from the last one on where that is negative."""
        if count < 0 or step == 0:
            raise Refused(INVALID_VALUE)
        matrix, allocation = self.matrix(address, 1, count, abs(step), dtype)
        return (matrix[0][::-1] if step < 0 else matrix[0]), allocation

    def array(self, address: int, count: int, dtype: str = "") -> Operand:
        """Numbers one after another."""
        return self.vector(address, count, 1, dtype)

    def matrix_of(self, args: Arguments, name: str, rows: int, columns: int, dtype: str = "") -> Operand:
        """Return the matrix that is called so among the arguments."""
        return self.matrix(getattr(args, name), rows, columns, getattr(args, f"ld{name}"), dtype)

    def vector_of(self, args: Arguments, name: str, count: int) -> Operand:
        """Return the vector that is called so among the arguments."""
        return self.vector(getattr(args, name), count, getattr(args, f"inc{name}"))

    def pointers(self, address: int, count: int) -> list[int]:
        """Addresses that lie in memory of the device, as batched calls take them."""
        return [int(pointer) for pointer in self.array(address, count, "u8")[0]]

    def scalar(self, address: int, dtype: str = "") -> Any:
        """Return the number at an address on either side."""
        dtype = dtype or self.dtype
        if self.state.memory.is_device_address(address):
            return self.array(address, 1, dtype)[0][0]
        size = np.dtype(dtype).itemsize
        captured = self.state.graphs.numbers.get(address)
        return np.frombuffer(captured[:size] if captured is not None else self.state.guest.read(address, size), dtype)[
            0
        ]

    def zeros(self, rows: int, columns: int) -> Array:
        """Return a matrix of zeros.  Raises ProgramEnded where it would be larger than any call may make."""
        if rows * columns > MAX_ELEMENTS:
            raise ProgramEnded(msg("programs.too_much_computed"))
        return np.zeros((rows, columns), self.dtype)

    def read(self, *operands: Operand) -> None:
        """Report operands that are read and that nobody wrote."""
        for _values, allocation in operands:
            valid = allocation.valid()
            if valid is not None and not valid.any() and not self.state.hollow:
                message = msg("programs.library_unwritten", array=allocation.name)
                self.state.tell("uninitialized", "error", message, self.place)

    def give(self, address: int, values: Any, dtype: str = "") -> None:
        """Write results to an address on either side; the host's has waited for them."""
        dtype = dtype or self.dtype
        numbers = np.atleast_1d(np.asarray(values)).astype(dtype)
        if self.state.memory.is_device_address(address):
            target = self.array(address, len(numbers), dtype)
            target[0][:] = numbers
            note_write(self.state, target)
        else:
            self.state.guest.write(address, numbers.tobytes())
            self.state.wait_for_all()

    def store(self, target: Operand, value: Any) -> None:
        """Write what a call came to into an operand."""
        with np.errstate(all="ignore"):
            target[0][...] = value
        note_write(self.state, target)

    def work(self, *extents: int) -> None:
        """Charge the multiplications of a loop nest of these extents, before anything is computed or allocated.

        An extent of none counts as one: what the others span is read or written all the same.
        Raises ProgramEnded where they are more than any call may make.
        """
        self._spend(prod(max(1, abs(extent)) for extent in extents), MAX_WORK, 1)

    def products(self, *extents: int) -> None:
        """The same for a product of matrices, by BLAS."""
        self._spend(prod(max(1, abs(extent)) for extent in extents), MAX_PRODUCTS, _BLAS_PER_WORK)

    def _spend(self, multiplications: int, most: int, each: int) -> None:
        if multiplications > most:
            raise ProgramEnded(msg("programs.too_much_computed"))
        self.state.meter.spend(multiplications // (PRODUCTS_PER_INSTRUCTION * each))


def served(
    function: Served, dtype: str = "", *, is_bound: bool = True, statuses: Mapping[int, int] | None = None
) -> Handler:
    """Return a handler of a function of a call and its numbers, as parameters or `Named`.

    is_bound: its first argument is a handle; else it has none.  statuses: as `guarded` takes them.
    """
    if isinstance(function, Named):
        names, _, layout = zip(*(name.partition(":") for name in function.names.split()), strict=True)
    else:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        names, layout = (), tuple("f" if parameter.annotation == "float" else "" for parameter in parameters)
    kinds = "i" * is_bound + "".join(kind or "i" for kind in layout)

    def call(state: State, place: Place, *values: Any) -> int | None:
        handle = handle_of(state, values[0]) if is_bound else {}
        numbers = values[is_bound:]
        arguments = (Arguments(**dict(zip(names, numbers, strict=True))),) if names else numbers
        with np.errstate(all="ignore"):
            return function(Call(state, place, handle, dtype), *arguments)

    return kinds, guarded(call, statuses)


def of_types(
    prefix: str, name: str, function: Served, types: Mapping[str, str], statuses: Mapping[int, int] | None = None
) -> Handlers:
    """Return handlers of one function for several types, by the letter of each: `cublasSgemm`, `cublasDgemm`."""
    return {f"{prefix}{letter}{name}": served(function, dtype, statuses=statuses) for letter, dtype in types.items()}


def all_served(
    functions: Mapping[str, Served], *, is_bound: bool = True, statuses: Mapping[int, int] | None = None
) -> Handlers:
    """Handlers of functions by name; as `served`."""
    return {name: served(function, is_bound=is_bound, statuses=statuses) for name, function in functions.items()}


STORED = {"bf16": "u2", "e4m3": "u1", "e5m2": "u1"}
"""What lies in memory, by the name of what it stands for."""
_FRACTION_BITS = {"e4m3": 3, "e5m2": 2}
_MAGNITUDES = {"e4m3": 0x7F, "e5m2": 0x7C}
"""Numbers of 8 bits, without their sign, that are no NaN and not infinite."""
_NAN_OF_8_BITS, _SIGN = 0x7F, 0x80
_NAN_OF_BF16 = 0x7FFF


@cache
def _magnitudes(name: str) -> Array:
    """Values of all codes of a format of 8 bits without a sign, in order."""
    fraction_bits = _FRACTION_BITS[name]
    exponents, fractions = np.divmod(np.arange(_MAGNITUDES[name]), 1 << fraction_bits)
    bias = (1 << (6 - fraction_bits)) - 1
    whole = np.where(exponents == 0, fractions, fractions + (1 << fraction_bits))
    values: Array = np.ldexp(whole.astype("f4"), np.maximum(exponents, 1) - bias - fraction_bits)
    return values


def decoded(stored: Array, name: str) -> Array:
    """Return stored numbers as float32."""
    if name == "bf16":
        return (stored.astype("u4") << 16).view("f4")
    magnitudes = np.full(_SIGN, np.nan, "f4")
    magnitudes[: _MAGNITUDES[name]] = _magnitudes(name)
    if name == "e5m2":
        magnitudes[_MAGNITUDES[name]] = np.inf
    return np.concatenate([magnitudes, -magnitudes])[stored]


def encoded(values: Array, name: str) -> Array:
    """Return numbers as they are stored: the nearest, of two the even one; of 8 bits none beyond the largest."""
    numbers = values.astype("f4")
    if name == "bf16":
        bits = numbers.view("u4")
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(numbers), _NAN_OF_BF16, rounded).astype("u2")
    magnitudes, sizes = _magnitudes(name), np.abs(numbers)
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2
    below = np.searchsorted(middles, sizes)
    is_between = np.append(middles, np.inf)[below] == sizes
    codes = np.minimum(below + (is_between & (below & 1).astype(bool)), len(magnitudes) - 1)
    codes = np.where(np.isnan(numbers), _NAN_OF_8_BITS, codes)
    return (codes | np.where(np.signbit(numbers), _SIGN, 0)).astype("u1")


class Narrow(np.ndarray[Any, Any]):
    """A view of stored numbers that is read, and written, as the numbers that they stand for."""

    name: str = ""

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "")

    def astype(self, dtype: Any, *_order: Any, **_options: Any) -> Any:
        """Return the numbers in another type."""
        return decoded(self.view(np.ndarray), self.name).astype(dtype, copy=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, encoded(np.asarray(_plain(value)), self.name))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(_plain, inputs), **options)


def _plain(value: Any) -> Any:
    return value.astype("f4") if isinstance(value, Narrow) else value


def narrow(stored: Array, name: str) -> Narrow:
    """Return stored numbers as what they stand for."""
    view = stored.view(Narrow)
    view.name = name
    return view
