"""A loop's machine code, with a memory that its arrays are copied into."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.ptx.counted.form import Form
from grader.ptx.counted.generate import (
    LANES,
    UNROLLED,
    WORD,
    Layout,
    Shape,
    generate,
)
from grader.ptx.isa.rounding import canonical_nan
from grader.ptx.machine.groups import Group
from grader.ptx.memory.address_resolution import ResolvedAddress
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.native.module import engine, kept
from grader.ptx.values.kinds import UNSIGNED, as_array
from grader.ptx.values.lanes import Array

MAX_BYTES = 256 << 20
"""Of arrays that are copied."""
PAGE = 65536


@dataclass
class ResolvedLoad:
    """A load of the first iteration: where it goes, and how far it moves in every further one."""

    address: ResolvedAddress
    step: int
    low: int
    """Byte offset in its array of the smallest lane, in the first iteration."""


class Module:
    """A loop's machine code for one shape of its loads, with a memory of its own."""

    def __init__(self, form: Form, shape: Shape, store: Any, instance: Any) -> None:
        self._form, self._shape = form, shape
        self._layout = Layout(form, shape)
        self._store = store
        exports = instance.exports(store)
        self._memory: Any = exports["memory"]
        self._run: Any = exports["run"]
        self._bytes = np.zeros(0, np.uint8)

    @classmethod
    def of(cls, form: Form, shape: Shape) -> Module | None:
        """The machine code; None where there is no WebAssembly runtime for this platform, or no room for one."""
        try:
            import wasmtime
        except ImportError:
            return None
        module = kept(wasmtime.Module(engine(), bytes(wasmtime.wat2wasm(generate(form, shape)))))
        store = kept(wasmtime.Store(engine()))
        try:
            return cls(form, shape, store, wasmtime.Instance(store, module, []))
        except wasmtime.WasmtimeError:
            # A process whose address space is limited.
            return None

    def run(self, group: Group, trips: int, loads: list[ResolvedLoad], offsets: list[Array]) -> dict[int, Array] | None:
        """Registers after so many iterations; None where what is loaded is too much to be copied."""
        n = group.lanes.n
        padded = -(-n // (LANES * UNROLLED)) * LANES * UNROLLED
        spans = _spans(loads, trips)
        layout, form = self._layout, self._form
        end = -(-layout.end // 64) * 64
        places: list[int] = []
        sizes = [table.nbytes for table in offsets] + [WORD * padded] * (len(form.inputs) + len(form.outputs))
        for size in [*sizes, *(high - low for _, low, high in spans.values())]:
            places.append(end)
            end = -(-(end + size) // 64) * 64
        if end > MAX_BYTES or not self._grow(end):
            return None
        memory = self._bytes
        words = memory[: layout.end].view(np.int32)
        words[0], words[1] = padded // (LANES * self._shape.unrolled), trips
        rest = iter(places)
        for table, place in zip(offsets, layout.tables, strict=True):
            words[place // WORD] = at = next(rest)
            memory[at : at + table.nbytes].view(np.int32)[:] = table
        for index, place in zip(form.inputs, layout.inputs, strict=True):
            words[place // WORD] = at = next(rest)
            memory[at : at + WORD * n].view(np.uint32)[:] = as_array(group.registers[index], UNSIGNED[4])
        results: dict[int, Array] = {}
        for (index, _), place in zip(form.outputs, layout.outputs, strict=True):
            words[place // WORD] = at = next(rest)
            results[index] = memory[at : at + WORD * n].view(np.uint32)
        copies: dict[int, int] = {}
        for key, (array, low, high) in spans.items():
            at = next(rest)
            copies[key] = at - low
            memory[at : at + high - low] = array.data[array.storage + low : array.storage + high]
        for where, begin, step in zip(loads, layout.begins, layout.steps, strict=True):
            words[begin // WORD] = copies[id(where.address.array)] + where.low
            words[step // WORD] = where.step
        self._run(self._store)
        return {index: _result(results[index], fresh) for index, fresh in form.outputs}

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


def _spans(loads: list[ResolvedLoad], trips: int) -> dict[int, tuple[MemoryArray, int, int]]:
    """By array, the byte offsets between which it is read."""
    found: dict[int, tuple[MemoryArray, int, int]] = {}
    for where in loads:
        vec = where.address.vec
        width = 0 if vec is None else vec.signed_bounds()[1] - vec.signed_bounds()[0]
        moved = (trips - 1) * where.step
        low, high = where.low + min(0, moved), where.low + width + max(0, moved) + WORD
        array, other_low, other_high = found.get(id(where.address.array), (where.address.array, low, high))
        found[id(array)] = (array, min(low, other_low), max(high, other_high))
    return found


def _result(bits: Array, fresh: bool) -> Array:
    """A register's values, out of the memory of generated code, whose NaNs are not a GPU's."""
    copied = bits.copy()
    return canonical_nan(copied.view(np.float32)) if fresh else copied
