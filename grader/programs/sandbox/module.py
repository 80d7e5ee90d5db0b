"""A program's module as it is run: without the library functions that programs hardly ever come to, and its imports
called with as little in between as wasmtime allows.

Machine code for all of the C++ library that a program is linked with takes longer to make than the program runs:
`std::cout` alone brings the formats of money, dates and wide characters.  So functions of the library that are not in
`called_functions.txt` are left empty, and a run that comes to one of them is begun anew with the whole module: it does
the same again, as all that it sees is counted.

A launch may be one of thousands, and wasmtime's Python package wraps every value and every number of fuel in objects,
which takes longer than most of our functions do.  Here a call's values are read off the engine's own array, whose
layout follows from the import's type, and fuel is asked for once a call.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from grader.programs.device_linking import OF_FILE
from grader.programs.sandbox.demangling import demangled

_MANGLED = re.compile(rb"(_Z[\w.]{1,1000})\0", re.ASCII)
"""A name as the program hands it over."""
MOST_NAMES = 1_000
"""Names that are looked at, at most; a course's program has a dozen."""
LISTED = Path(__file__).with_name("called_functions.txt")
"""Made by `scripts/list_called_functions.py` of the programs in `tests/programs`."""
FIRST_OF_LIBRARY = frozenset(
    {"header_of", "fenced_malloc", "__wrap_malloc", "__wrap_calloc", "__wrap_realloc", "__wrap_free"}
    | {"__wrap_aligned_alloc", "grader_malloc"}
)
"""Names of `toolchain/support`, which is linked right behind the program's own files."""
_HEADER = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORT, _CODE = 0, 2, 10
_UNREACHABLE = b"\x00\x00\x0b"
"""A body: no locals, trap, end."""


@dataclass(frozen=True, slots=True)
class Lean:
    """A module; left_out: indices of the functions whose bodies are empty, which trap when they are called."""

    module: bytes
    left_out: frozenset[int]


@functools.cache
def called(with_names: bool = False) -> frozenset[str]:
    """Functions of the library that programs do call, by their mangled names.

    with_names: also those that read such names, which `demangling` does for nearly all programs.
    """
    listed = frozenset(LISTED.read_text(encoding="utf-8").split())
    return listed if with_names else frozenset(name for name in listed if "demangle" not in name)


def has_other_names(module: bytes) -> bool:
    """Whether a kernel or a variable has a name that `demangling` does not read."""
    names = {OF_FILE.sub("", match[1].decode("ascii")) for match in islice(_MANGLED.finditer(module), MOST_NAMES)}
    return len(names) == MOST_NAMES or any(demangled(name) is None for name in names)


@dataclass(frozen=True, slots=True)
class Layout:
    """A module taken apart.  sections: kind and all bytes of each; bodies, names: of functions, by index."""

    sections: tuple[tuple[int, bytes], ...]
    names: dict[int, str]
    bodies: dict[int, bytes]

    @classmethod
    def of(cls, module: bytes) -> Layout:
        """Raises IndexError or UnicodeDecodeError where the module is not one of our linker's."""
        names: dict[int, str] = {}
        bodies: dict[int, bytes] = {}
        sections = []
        imports = 0
        for kind, start, content, end in _sections(module):
            sections.append((kind, module[start:end]))
            if kind == _IMPORT:
                imports = _imported_functions(module, content)
            elif kind == _CUSTOM:
                names = _function_names(module, content, end) or names
            elif kind == _CODE:
                count, at = number(module, content)
                for index in range(imports, imports + count):
                    size, at = number(module, at)
                    bodies[index] = module[at : at + size]
                    at += size
        return cls(tuple(sections), names, bodies)

    def library(self) -> list[int]:
        """Indices of the library's functions, which come after the program's own; none where that cannot be told."""
        first = min((index for index, name in self.names.items() if name in FIRST_OF_LIBRARY), default=None)
        return [] if first is None else [index for index in self.bodies if index >= first and index in self.names]

    def with_bodies(self, changed: Mapping[int, bytes]) -> bytes:
        """Return the module with other bodies in place of some."""
        parts = [_HEADER]
        for kind, section in self.sections:
            if kind != _CODE:
                parts.append(section)
                continue
            bodies = [changed.get(index, body) for index, body in self.bodies.items()]
            code = _encoded(len(bodies)) + b"".join(_encoded(len(body)) + body for body in bodies)
            parts += [bytes([_CODE]), _encoded(len(code)), code]
        return b"".join(parts)


@functools.lru_cache(maxsize=1)
def lean(module: bytes, keep: frozenset[str]) -> Lean:
    """`module` with the library's functions emptied, but for `keep`; as it is where it is not laid out as ours are.

    The program's own functions come before them and keep their places, so lines of a backtrace stay true.
    """
    try:
        layout = Layout.of(module)
    except (IndexError, UnicodeDecodeError):
        return Lean(module, frozenset())
    left_out = frozenset(index for index in layout.library() if layout.names[index] not in keep)
    return Lean(layout.with_bodies(dict.fromkeys(left_out, _UNREACHABLE)), left_out)


def _sections(module: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, start, start of the content, and end of each section."""
    at = len(_HEADER)
    while at < len(module):
        size, content = number(module, at + 1)
        yield module[at], at, content, content + size
        at = content + size


def _imported_functions(module: bytes, at: int) -> int:
    count, at = number(module, at)
    functions = 0
    for _import in range(count):
        for _name in range(2):
            size, at = number(module, at)
            at += size
        kind = module[at]
        at += 1
        if kind == 0:
            functions += 1
            at = number(module, at)[1]
        elif kind == 3:
            at += 2
        else:
            # A table or a memory of the program's own is never imported, nor a tag.
            raise IndexError
    return functions


def _function_names(module: bytes, at: int, end: int) -> dict[int, str]:
    """Names by index, where the custom section at `at` is the one that has them."""
    size, at = number(module, at)
    names: dict[int, str] = {}
    if module[at : at + size] != b"name":
        return names
    at += size
    while at < end:
        kind = module[at]
        size, at = number(module, at + 1)
        if kind == 1:
            count, place = number(module, at)
            for _entry in range(count):
                index, place = number(module, place)
                length, place = number(module, place)
                names[index] = module[place : place + length].decode()
                place += length
        at += size
    return names


def number(module: bytes, at: int) -> tuple[int, int]:
    """Return a number in LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = module[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


_LAYOUTS = {"i32": ("i", ctypes.c_int32), "i64": ("q", ctypes.c_int64), "f32": ("f", None), "f64": ("d", None)}
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)  # fmt: skip  # the engine's `wasmtime_func_unchecked_callback_t`, its array as an address
MOST_ARRAYS = 100
"""Of the engine's, with a function's values, by their addresses: one call after the other has them at the same."""
_Finalizer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Fuel:
    """The instructions that a program has left.  While a call of ours is served, between `take` and `give`, they are
    counted here."""

    def __init__(self, store: Any, instructions: int) -> None:
        from wasmtime import _bindings

        store.set_fuel(instructions)
        self._store = store
        self._context = store._context()
        # Without the package's own functions around them.
        self._read = _bindings._wasmtime_context_get_fuel
        self._write = _bindings._wasmtime_context_set_fuel
        self._number = ctypes.c_uint64()
        self._place = ctypes.byref(self._number)
        self.held: int | None = None
        """What is left, while it is counted here."""

    @property
    def left(self) -> int:
        if self.held is not None:
            return self.held
        self._read(self._context, self._place)
        return self._number.value

    @left.setter
    def left(self, instructions: int) -> None:
        if self.held is not None:
            self.held = instructions
        else:
            self._write(self._context, instructions)

    def take(self) -> int:
        """Count fuel here while the program's own code stands still; return it."""
        self._read(self._context, self._place)
        self.held = self._number.value
        return self.held

    def give(self) -> None:
        """Hand what is left back to the program."""
        if self.held is not None:
            self._write(self._context, self.held)
            self.held = None


def bound(store: Any, kind: Any, function: Callable[..., int]) -> tuple[Any, Any]:
    """Return a Python function as one of the engine's, and what must live as long as that.

    kind: its type, of numbers alone, with one result or none, which is cut to its width.
    """
    import wasmtime
    from wasmtime import _bindings, _func

    slot = ctypes.sizeof(_bindings.wasmtime_val_raw_t)
    codes = [_LAYOUTS[str(parameter)][0] for parameter in kind.params]
    layout = struct.Struct("<" + "".join(f"{code}{slot - struct.calcsize(code)}x" for code in codes))
    unpack, size = layout.unpack_from, layout.size
    arrays: dict[int, Any] = {}
    width = _LAYOUTS[str(kind.results[0])][1] if kind.results else None

    def call(_environment: object, _caller: object, slots: int, _count: int) -> int:
        try:
            values = arrays.get(slots)
            if values is None:
                values = (ctypes.c_char * size).from_address(slots)
                if len(arrays) < MOST_ARRAYS:
                    arrays[slots] = values
            number = function(*unpack(values))
            if width is not None:
                width.from_address(slots).value = number
            return 0
        except BaseException as error:
            # As the package does it, which raises it again where the program was called.
            _func.LAST_EXCEPTION = error  # type: ignore[assignment]  # any exception is kept
            trap = wasmtime.Trap("python exception")._consume()
            return ctypes.cast(trap, ctypes.c_void_p).value or 0

    callback = _Callback(call)
    raw = _bindings.wasmtime_func_t()
    _bindings.wasmtime_func_new_unchecked(
        store._context(),
        kind.ptr(),
        ctypes.cast(callback, _bindings.wasmtime_func_unchecked_callback_t),
        None,
        _Finalizer(),
        ctypes.byref(raw),
    )
    return wasmtime.Func._from_raw(raw), callback
