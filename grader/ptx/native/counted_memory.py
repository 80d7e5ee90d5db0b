"""A loop that is carried out at once: its machine code, and a linear memory for what it reads and writes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from grader.ptx.affine import Irregular
from grader.ptx.isa.rounding import canonical_nan
from grader.ptx.machine.batch import Group
from grader.ptx.native.counted_loops import WORD, Arithmetic, Form, Layout, Placed, Shape, generate, spans_of
from grader.ptx.native.generate import engine, kept, machine_code
from grader.ptx.native.host import PAGE
from grader.ptx.values import UNSIGNED, Array, as_array

MAX_LOOP_BYTES = 256 << 20
"""Of arrays that are copied for a loop."""


class LoopModule:
    """A loop's machine code for one shape of its accesses, with a memory of its own."""

    def __init__(self, form: Form, shape: Shape, store: Any, instance: Any) -> None:
        self._form, self._shape = form, shape
        self._layout = Layout(form, shape)
        self._store = store
        exports = instance.exports(store)
        self._memory: Any = exports["memory"]
        self._run: Any = exports["run"]
        self._bytes = np.zeros(0, np.uint8)

    @classmethod
    def of(cls, form: Form, shape: Shape) -> LoopModule | None:
        """Compile a loop; None where there is no WebAssembly runtime for this platform, or no room for one."""
        module = machine_code(generate(form, shape))
        if module is None:
            return None
        import wasmtime

        store = kept(wasmtime.Store(engine()))
        try:
            return cls(form, shape, store, wasmtime.Instance(store, module, []))
        except wasmtime.WasmtimeError:
            # A process whose address space is limited.
            return None

    def run(self, group: Group, trips: int, places: list[Placed], tables: list[Array]) -> dict[int, Array] | None:
        """Registers after so many iterations, with what they store in its arrays; None where these are too large.

        Raises Irregular, with nothing done, where a NaN of float64 comes out: which one, wasm does not say.
        """
        n, layout, form = group.lanes.n, self._layout, self._form
        word, together = form.word, form.lanes * self._shape.unrolled
        padded = -(-n // together) * together
        spans = spans_of(places, trips, word)
        end = -(-layout.end // 64) * 64
        begins: list[int] = []
        sizes = [table.nbytes for table in tables] + [word * padded] * (len(form.inputs) + len(form.outputs))
        for size in [*sizes, *(high - low for _, low, high in spans.values())]:
            begins.append(end)
            end = -(-(end + size) // 64) * 64
        if end > MAX_LOOP_BYTES or not self._grow(end):
            return None
        memory = self._bytes
        words = memory[: layout.end].view(np.int32)
        words[0], words[1] = padded // together, trips
        rest = iter(begins)
        for table, place in zip(tables, layout.tables, strict=True):
            words[place // WORD] = at = next(rest)
            memory[at : at + table.nbytes].view(np.int32)[:] = table
        for index, place in zip(form.inputs, layout.inputs, strict=True):
            words[place // WORD] = at = next(rest)
            data = memory[at : at + word * padded].view(UNSIGNED[word])
            data[:n] = as_array(group.registers[index], UNSIGNED[word])
            # Lanes that are none do what the last ones do, as their tables say: they store the same.
            whole = -(-n // form.lanes) * form.lanes
            data[n:whole] = data[n - 1]
            data[whole:].reshape(-1, form.lanes)[:] = data[whole - form.lanes : whole]
        results: dict[int, Array] = {}
        for (index, _), place in zip(form.outputs, layout.outputs, strict=True):
            words[place // WORD] = at = next(rest)
            results[index] = memory[at : at + word * n].view(UNSIGNED[word])
        copies: dict[int, int] = {}
        for key, (array, low, high) in spans.items():
            at = next(rest)
            copies[key] = at - low
            memory[at : at + high - low] = array.data[array.storage + low : array.storage + high]
        for where, begin, step in zip(places, layout.begins, layout.steps, strict=True):
            words[begin // WORD] = copies[id(where.address.array)] + where.low
            words[step // WORD] = where.step
        self._run(self._store)
        stored = {id(where.address.array) for where in places if where.stores}
        spanned = [(*spans[key], memory[copies[key] + spans[key][1] : copies[key] + spans[key][2]]) for key in stored]
        if any(isinstance(part, Arithmetic) and part.kind == "f64" for part in form.body):
            fresh = [results[index] for index, is_float in form.outputs if is_float]
            for where in places:
                if where.stores:
                    _, low, high = spans[id(where.address.array)]
                    at = copies[id(where.address.array)]
                    bits = memory[at + low : at + high].view(np.uint64)
                    fresh.append(bits if where.step else bits[(where.address.offsets() - low) // word])
            if any(np.isnan(bits.view(np.float64)).any() for bits in fresh):
                raise Irregular
        for array, low, high, part in spanned:
            array.data[array.storage + low : array.storage + high] = part
            array.digest = None
        return {index: _result(results[index], is_float) for index, is_float in form.outputs}

    def _grow(self, size: int) -> bool:
        missing = size - len(self._bytes)
        if missing > 0:
            pages = -(-size // PAGE) - self._memory.size(self._store)
            if pages > 0:
                import wasmtime

                try:
                    self._memory.grow(self._store, pages)
                except wasmtime.WasmtimeError:
                    return False
            length = self._memory.data_len(self._store)
            address = ctypes.cast(self._memory.data_ptr(self._store), ctypes.POINTER(ctypes.c_uint8))
            self._bytes = np.ctypeslib.as_array(address, (length,))
        return True


def _result(bits: Array, is_float: bool) -> Array:
    """Copy a register's values out of generated code's memory, with the NaN of GPUs in place of its own."""
    copied = bits.copy()
    if not is_float:
        return copied
    return canonical_nan(copied.view(np.float32)) if copied.itemsize == WORD else copied.view(np.float64)
