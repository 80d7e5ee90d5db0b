"""Linear memories that generated code works in: one that arrays of a device live in from launch to launch, so that
nothing is copied for one, and one of each loop that is carried out at once, for what it reads and writes.

An array moves into the first when a kernel first reaches it; its `data` is a part of that memory from then on, for
whoever else reads or writes it.  Generated code reaches nothing but this memory, and every access is looked up besides.
What a launch stores to is saved first (`$global_store` of `runtime.wat` calls for that once an array and launch), so
that an attempt that has to be given up leaves no trace.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.ptx.affine import Irregular
from grader.ptx.isa.rounding import canonical_nan
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.memory import Device, MemoryArray
from grader.ptx.native import layout
from grader.ptx.native.counted_loops import WORD, Arithmetic, Form, Layout, Placed, Shape, generate, spans_of
from grader.ptx.native.generate import Compiled, engine, imports, kept, machine_code
from grader.ptx.native.host import MAX_BYTES, PAGE, LinearMemory, TooLarge
from grader.ptx.values import UNSIGNED, Array, as_array

LOW_BYTES = 32 << 20
"""Room for what a launch has besides global memory; untouched pages take none."""
MAX_KEPT_BYTES = 64 << 20
"""Size of an array beyond which the room that it is saved in is given back after the launch."""
MAX_LOOP_BYTES = 256 << 20
"""Size of all arrays that are copied for a loop."""


@dataclass
class _Home:
    """Where an array lives: its data, its flags (0: all was written), the views that it was given of both.

    saved: what it held before the launch that is under way, in room that is kept.
    """

    array: MemoryArray
    data: int
    valid: int
    data_view: Array
    valid_view: Array | None
    saved: tuple[Array, Array | None] | None = None


class Residence:
    """The memory of one device.  end: of the arrays that live in it."""

    def __init__(self) -> None:
        import wasmtime

        self.store = kept(wasmtime.Store(engine()))
        pages = LOW_BYTES // PAGE
        try:
            self.memory = wasmtime.Memory(self.store, wasmtime.MemoryType(wasmtime.Limits(pages, MAX_BYTES // PAGE)))
        except wasmtime.WasmtimeError:
            # A process whose address space is limited.
            raise TooLarge from None
        self._address = self._begin()
        self._homes: dict[int, _Home] = {}
        self._free: list[tuple[int, int]] = []
        self.end = LOW_BYTES
        self._instances: dict[int, tuple[Compiled, Any]] = {}
        self.on_store: Callable[[int], None] = _nobody

    def _begin(self) -> int:
        return ctypes.cast(self.memory.data_ptr(self.store), ctypes.c_void_p).value or 0

    def view(self, start: int, size: int) -> Array:
        """Bytes of the memory, which lives as long as they do."""
        block = (ctypes.c_uint8 * size).from_address(self._address + start)
        block.owner = self  # type: ignore[attr-defined]  # kept with it
        return np.ctypeslib.as_array(block)

    def instance(self, compiled: Compiled) -> Any:
        """Return the exports of a kernel's machine code in this memory."""
        import wasmtime

        key = id(compiled)
        if key not in self._instances:
            items = [self.memory, *imports(self.store, lambda entry: self.on_store(entry))]
            exports = wasmtime.Instance(self.store, compiled.module, items).exports(self.store)
            self._instances[key] = (compiled, exports)
        return self._instances[key][1]

    def has(self, array: MemoryArray) -> bool:
        """Whether an array lives here."""
        home = self._homes.get(id(array))
        return home is not None and array.data is home.data_view

    def settle(self, device: Device) -> None:
        """Make room where arrays lived that are there no more."""
        live = {id(array) for array in device.arrays if array is not None}
        gone = [self._homes.pop(key) for key in list(self._homes) if key not in live]
        if not gone:
            return
        freed = [(place, _rounded(len(home.data_view))) for home in gone for place in (home.data, home.valid) if place]
        merged: list[tuple[int, int]] = []
        for start, size in sorted([*self._free, *freed]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            elif size:
                merged.append((start, size))
        if merged and sum(merged[-1]) == self.end:
            self.end = merged.pop()[0]
        self._free = merged

    def home(self, array: MemoryArray, is_partial: bool) -> _Home:
        """Return where an array lives, which moves here if it does not yet.  Raises TooLarge."""
        home = self._homes.get(id(array))
        if home is None or len(home.data_view) != len(array.data):
            if home is not None:
                self._free.append((home.data, _rounded(len(home.data_view))))
            start = self._room(len(array.data))
            home = self._homes[id(array)] = _Home(array, start, 0, self.view(start, len(array.data)), None)
        if array.lent:
            # It stays where the host has it, and is copied here and back.
            home.data_view[:] = array.data
        elif array.data is not home.data_view:
            home.data_view[:] = array.data
            array.data = home.data_view
            array.views = {}
        if not is_partial:
            return home
        assert array.valid is not None
        if home.valid_view is None:
            home.valid = self._room(len(array.valid))
            home.valid_view = self.view(home.valid, len(array.valid))
        if array.valid is not home.valid_view:
            home.valid_view[:] = array.valid
            array.valid = home.valid_view
        return home

    def _room(self, size: int) -> int:
        size = _rounded(size)
        for number, (start, length) in enumerate(self._free):
            if length >= size:
                self._free[number] = (start + size, length - size)
                return start
        start = self.end
        missing = start + size - self.memory.data_len(self.store)
        if start + size > MAX_BYTES:
            raise TooLarge
        if missing > 0:
            import wasmtime

            try:
                self.memory.grow(self.store, -(-missing // PAGE))
            except wasmtime.WasmtimeError:
                raise TooLarge from None
            # Its address space is reserved: it stays in its place.
            assert self._begin() == self._address
        self.end = start + size
        return start


def _rounded(size: int) -> int:
    return -(-size // 64) * 64


class ResidentMemory(LinearMemory):
    """The memory of one launch, within a residence.  Arguments as those of `LinearMemory`."""

    def __init__(self, residence: Residence, compiled: Compiled, batch: BlockBatch, device: Device, reached: set[int]):
        self._residence = residence
        self._used: dict[int, _Home] = {}
        self._saved: dict[int, _Home] = {}
        residence.settle(device)
        super().__init__(compiled, batch, device, observed=False, reached=reached)
        residence.on_store = self._save

    def _take(self, size: int) -> int:
        start = super()._take(size)
        if start + size > LOW_BYTES:
            raise TooLarge
        return start

    def _lay(self, array: MemoryArray, is_partial: bool) -> tuple[int, int]:
        home = self._used[id(array)] = self._residence.home(array, is_partial)
        return home.data, home.valid if is_partial else 0

    def _open(self) -> tuple[Any, Any, Array]:
        residence = self._residence
        content = residence.view(0, residence.memory.data_len(residence.store))
        content[: self._end] = 0
        return residence.store, residence.memory, content

    def _copy_in(self) -> None:
        """Arrays are here."""

    def instance(self, compiled: Compiled, run: Callable[[int], None]) -> Any:
        return self._residence.instance(compiled)

    def _save(self, entry: int) -> None:
        """Keep what an array holds that is about to be stored to."""
        row = (entry - self.global_table) // layout.ARRAY_BYTES
        home = next(self._used[key] for key, rows in self._rows_of.items() if row in rows)
        array = home.array
        if id(array) in self._saved or array.lent:
            return
        flags = home.valid_view if array.valid is home.valid_view else None
        if home.saved is None or (home.saved[1] is None) != (flags is None):
            home.saved = (np.empty_like(home.data_view), None if flags is None else np.empty_like(flags))
        data, valid = home.saved
        data[:] = home.data_view
        if flags is not None and valid is not None:
            valid[:] = flags
        self._saved[id(array)] = home

    def _before(self, array: MemoryArray) -> Array:
        home = self._saved.get(id(array))
        return array.data if home is None or home.saved is None else home.saved[0]

    def commit(self) -> None:
        for array, data, _ in self._arrays:
            if self._is_stored_to(array):
                array.digest = None
                if array.lent:
                    array.data[:] = self.bytes[data : data + len(array.data)]
        self._forget()

    def close(self) -> None:
        # What is saved still was not committed.
        for home in self._saved.values():
            assert home.saved is not None
            data, valid = home.saved
            home.data_view[:] = data
            if valid is not None and home.valid_view is not None:
                home.valid_view[:] = valid
        self._forget()
        self._residence.on_store = _nobody
        self.bytes, self.frames = np.zeros(0, np.uint8), np.zeros((0, 0), np.uint64)

    def _forget(self) -> None:
        for home in self._saved.values():
            if len(home.data_view) > MAX_KEPT_BYTES:
                home.saved = None
        self._saved = {}


def _nobody(entry: int) -> None:
    raise AssertionError(entry)


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
