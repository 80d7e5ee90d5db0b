"""Which exception of C++ ended a program: read from its memory, by the Itanium ABI as libc++abi has it for wasm64.

https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html, https://itanium-cxx-abi.github.io/cxx-abi/abi.html#rtti
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.programs.sandbox.guest import BadPointer, Guest
from grader.programs.toolchain.zig import CLASS_TYPES

_UNWIND_HEADER_BYTES = 32
_TYPE_BEFORE_HEADER = 80
_PRIMARY = b"CLNGC++\0"
"""Of an exception thrown; one thrown again from `std::exception_ptr` has 1 at the end."""
_DEPENDENT = b"CLNGC++\1"
_REFERENCE_BEFORE_HEADER = 88
_MAX_BASES = 64
_WHAT = 2
"""Its place among the virtual functions of `std::exception`."""


@dataclass(frozen=True, slots=True)
class Uncaught:
    """type: as in the program; what: what its `what()` returns, None of what is no `std::exception`."""

    type: str
    what: str | None

    @property
    def short(self) -> str:
        """In one line, cut."""
        return (f"{self.type}: {self.what}" if self.what else self.type)[:300].replace("\n", " ")

    @property
    def told(self) -> str:
        """As libstdc++ writes it to standard error."""
        what = "" if self.what is None else f"\n  what():  {self.what}"
        return f"terminate called after throwing an instance of '{self.type}'{what}\n"


def taken(store: Any) -> int | None:
    """The address of the exception that no function caught, taken from the store; None where there is none."""
    from wasmtime import _bindings

    reference, value = _bindings.wasmtime_exnref_t(), _bindings.wasmtime_val_t()
    if not _bindings.wasmtime_context_take_exception(store._context(), ctypes.byref(reference)):
        return None
    error = _bindings.wasmtime_exnref_field(store._context(), ctypes.byref(reference), 0, ctypes.byref(value))
    address = None if error else int(value.of.i64)
    _bindings.wasmtime_exnref_unroot(ctypes.byref(reference))
    return address


def read(guest: Guest, exports: Any, header: int, call: Callable[..., Any]) -> Uncaught:
    """The exception whose `_Unwind_Exception` lies at `header`.

    exports: of the instance; call: an export by its name, or a function by its place in the table, and its arguments.

    Raises
    ------
    BadPointer : the memory does not hold one.
    """
    kind = guest.read(header, len(_PRIMARY))[::-1]
    if kind not in (_PRIMARY, _DEPENDENT):
        raise BadPointer(f"{header:#x}")
    (info,) = guest.unpack("Q", header - _TYPE_BEFORE_HEADER)
    thrown = header + _UNWIND_HEADER_BYTES
    if kind == _DEPENDENT:
        (thrown,) = guest.unpack("Q", header - _REFERENCE_BEFORE_HEADER)
    return Uncaught(_name(guest, info, call), _what(guest, exports, info, thrown, call))


def _name(guest: Guest, info: int, call: Callable[..., Any]) -> str:
    (mangled,) = guest.unpack("Q", info + 8)
    demangled = int(call("grader_demangle", mangled))
    return guest.text(demangled or mangled).replace("std::__1::", "std::")


def _what(guest: Guest, exports: Any, info: int, thrown: int, call: Callable[..., Any]) -> str | None:
    base = _standard_base(guest, exports, info, thrown)
    if base is None:
        return None
    (functions,) = guest.unpack("Q", base)
    (index,) = guest.unpack("Q", functions + 8 * _WHAT)
    return guest.text(int(call(index, base)))


def _standard_base(guest: Guest, exports: Any, info: int, thrown: int) -> int | None:
    """Where in the object `thrown` its `std::exception` lies; info: its type."""
    # A pointer to virtual functions points behind two words of their table.
    single, several = (exports[name].value(guest.store) + 16 if name in exports else None for name in CLASS_TYPES)
    left = [(info, thrown)]
    for _base in range(_MAX_BASES):
        if not left:
            break
        info, at = left.pop()
        kind, name = guest.unpack("QQ", info)
        if guest.text(name) == "St9exception":
            return at
        if kind == single:
            left.append((*guest.unpack("Q", info + 16), at))
        elif kind == several:
            (count,) = guest.unpack("I", info + 20)
            for number in range(min(count, _MAX_BASES)):
                base, flags = guest.unpack("Qq", info + 24 + 16 * number)
                # Of a virtual base the place stands in the object's own table.
                (offset,) = guest.unpack("q", guest.unpack("Q", at)[0] + (flags >> 8)) if flags & 1 else (flags >> 8,)
                left.append((base, at + offset))
    return None
