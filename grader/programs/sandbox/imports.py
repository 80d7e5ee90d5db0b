"""What a program imports, called with as little in between as wasmtime allows: a launch may be one of thousands.

Its Python package wraps every value and every number of fuel in objects, which takes longer than most of our functions
do.  Here a call's values are read off the engine's own array, whose layout follows from the import's type, and fuel is
asked for once a call.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

_LAYOUTS = {"i32": ("i", ctypes.c_int32), "i64": ("q", ctypes.c_int64), "f32": ("f", None), "f64": ("d", None)}
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)  # fmt: skip  # the engine's `wasmtime_func_unchecked_callback_t`, its array as an address
_Finalizer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Fuel:
    """The instructions that a program has left.  While a call of ours is served, between `take` and `give`, they are
    counted here."""

    def __init__(self, store: Any, instructions: int) -> None:
        from wasmtime import _bindings

        store.set_fuel(instructions)
        self._store = store
        self._context = store._context()
        self._read = _bindings.wasmtime_context_get_fuel
        self._write = _bindings.wasmtime_context_set_fuel
        self._number = ctypes.c_uint64()
        self._place = ctypes.byref(self._number)
        self._held: int | None = None

    @property
    def left(self) -> int:
        if self._held is not None:
            return self._held
        self._read(self._context, self._place)
        return self._number.value

    @left.setter
    def left(self, instructions: int) -> None:
        if self._held is not None:
            self._held = instructions
        else:
            self._write(self._context, instructions)

    def take(self) -> None:
        """The program's own code stands still from now on."""
        self._read(self._context, self._place)
        self._held = self._number.value

    def give(self) -> None:
        """It goes on, with what is left."""
        if self._held is not None:
            self._write(self._context, self._held)
            self._held = None


def bound(store: Any, kind: Any, function: Callable[..., int]) -> tuple[Any, Any]:
    """A function of Python's as one of the engine's, and what must live as long as that.

    kind: its type, of numbers alone, with one result or none, which is cut to its width.
    """
    import wasmtime
    from wasmtime import _bindings, _func

    slot = ctypes.sizeof(_bindings.wasmtime_val_raw_t)
    codes = [_LAYOUTS[str(parameter)][0] for parameter in kind.params]
    layout = struct.Struct("<" + "".join(f"{code}{slot - struct.calcsize(code)}x" for code in codes))
    unpack, size, at = layout.unpack, layout.size, ctypes.string_at
    width = _LAYOUTS[str(kind.results[0])][1] if kind.results else None

    def call(_environment: object, _caller: object, slots: int, _count: int) -> int:
        try:
            number = function(*unpack(at(slots, size))) if size else function()
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
