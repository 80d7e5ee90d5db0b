"""The host's side of generated code: the linear memory of a launch, and what is computed here for it.

The memory holds the device's arrays and all that generated code needs, in one flat piece; it can reach nothing else.
What it changed comes to the device when the launch has gone well (`commit`).  What generated code calls for are
instructions that `isa/` computes, for all lanes that run at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Vector
from grader.ptx.isa.instructions import lookup
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering import warps
from grader.ptx.machine.batch import BlockBatch, Frame, Group
from grader.ptx.machine.code import Code
from grader.ptx.memory import POISON, Device, MemoryArray
from grader.ptx.native import layout
from grader.ptx.native.generate import Compiled, engine, imports
from grader.ptx.native.layout import CONTEXT
from grader.ptx.native.pieces import Generated
from grader.ptx.values import BOOL, SIGNED, UNSIGNED, Array, Lanes, Value, Vec, as_array, constant


class Unusual(Exception):
    """Generated code cannot judge what came up: the interpreter runs the launch from its start."""


Call = Callable[["BlockBatch", Lanes, Array], None]
"""Carries out an instruction for some lanes of a batch, on the frames of all."""


def call_of(code: Code, generated: Generated, instruction: Instruction) -> Call:
    """Return the function that carries out an instruction left to the host."""
    if instruction.opcode in warps.EXCHANGES:
        return _warp_call(code, generated, instruction)
    return _numpy_call(code, generated, instruction)


class _Registers:
    """Frames of generated code in the form of the interpreter's registers."""

    def __init__(self, code: Code, generated: Generated, lanes: Lanes, frames: Array) -> None:
        self._sizes, self._slots, self._lanes, self._frames = code.register_bytes, generated.slots, lanes, frames

    def __getitem__(self, index: int) -> Vec:
        column = self._frames[self._lanes.ids, self._slots[index]]
        size = self._sizes[index]
        return Vec(column.astype(UNSIGNED[size]) if size else column != 0, self._lanes)

    def __setitem__(self, index: int, value: Value) -> None:
        if index in self._slots:
            size = self._sizes[index]
            column = as_array(value, UNSIGNED[size] if size else BOOL)
            self._frames[self._lanes.ids, self._slots[index]] = column.astype(np.uint64)


def _warp_call(code: Code, generated: Generated, instruction: Instruction) -> Call:
    """Carry out an exchange within warps as the interpreter does, with whole warps only."""
    try:
        step = warps.EXCHANGES[instruction.opcode](code, instruction)
    except UnsupportedInstruction:
        # The other engine says so where it is reached.
        step = None

    def call(batch: BlockBatch, lanes: Lanes, frames: Array) -> None:
        if not lanes.whole_warps or step is None:
            raise Unusual
        registers: Any = _Registers(code, generated, lanes, frames)
        step(Group(batch, lanes, [Frame(code, registers, {})], 0, ()))
        if len(batch.hazards):
            raise Unusual

    return call


def _numpy_call(code: Code, generated: Generated, instruction: Instruction) -> Call:
    first, *sources = instruction.operands
    targets = first.elements if isinstance(first, Vector) else (first,)
    semantics = lookup(instruction.opcode, instruction.modifiers, len(targets))
    inputs = [_column(operand, dtype, generated) for operand, dtype in zip(sources, semantics.inputs, strict=True)]
    # A result that nobody reads has no place.
    slots = generated.slots
    outputs = [
        (slots[t.index], code.register_bytes[t.index]) if isinstance(t, Register) and t.index in slots else None
        for t in targets
    ]

    def call(batch: BlockBatch, lanes: Lanes, frames: Array) -> None:
        ids = lanes.ids
        with np.errstate(all="ignore"):
            result = semantics.compute(*[read(frames, ids) for read in inputs])
        results = result if isinstance(result, tuple) else (result,)
        for output, array in zip(outputs, results, strict=True):
            if output is not None:
                frames[ids, output[0]] = _bits(array, output[1])

    return call


def _column(operand: Operand, dtype: Any, generated: Generated) -> Callable[[Array, Array], Array]:
    if isinstance(operand, Immediate):
        size = 0 if dtype == BOOL else dtype.itemsize
        value = bool(operand.value) if size == 0 else operand.value & ((1 << 8 * size) - 1)
        number = constant(value, dtype)
        return lambda frames, ids: number
    negated = isinstance(operand, Negated)
    if isinstance(operand, Special):
        index = generated.specials[operand.name]
    else:
        register = operand.register if isinstance(operand, Negated) else operand
        assert isinstance(register, Register)
        index = generated.slots[register.index]
    if dtype == BOOL:
        return lambda frames, ids: (frames[ids, index] != 0) ^ negated
    unsigned = UNSIGNED[dtype.itemsize]
    return lambda frames, ids: frames[ids, index].astype(unsigned).view(dtype)


def _bits(array: Array, register_bytes: int) -> Array:
    """A result as a register's 64 bits: narrower ones are extended by their own sign, up to the register's width."""
    if array.dtype == BOOL:
        return array.astype(np.uint64)
    size = array.dtype.itemsize
    if array.dtype.kind == "i" and size < register_bytes:
        return array.astype(SIGNED[register_bytes]).view(UNSIGNED[register_bytes]).astype(np.uint64)
    cut = array.view(UNSIGNED[size]).astype(np.uint64)
    return cut & np.uint64((1 << 8 * register_bytes) - 1) if 0 < register_bytes < size else cut


PAGE = 65536
_APART = 64
"""Bytes; regions begin at multiples of them."""
MAX_BYTES = (1 << 32) - PAGE
"""More than that a launch is not given."""


class TooLarge(Exception):
    """The launch's arrays do not fit."""


class LinearMemory:
    """Arrays of a device laid out for generated code.

    bytes: all of it, as a view.  frames: (lanes, slots) uint64, the registers.

    reached: ids of the arrays that are there; an access to any other is `Unusual` (None: all of the device's).
    """

    def __init__(
        self, compiled: Compiled, batch: BlockBatch, device: Device, observed: bool, reached: set[int] | None = None
    ) -> None:
        self.generated = compiled.generated
        self.device = device
        self.unit = 1 if compiled.generated.narrow else 4
        self.observed = observed
        self._end = self.generated.end
        self._arrays: list[tuple[MemoryArray, int, int]] = []
        self._rows_of: dict[int, list[int]] = {}
        lanes = batch.layout.blocks * batch.layout.padded
        self.lane_count = lanes
        self.list = self._take(4 * lanes)
        self.warps = self._take(layout.WARP_BYTES * (lanes // 32 + 1))
        self.epochs = self._take(4 * batch.layout.blocks)
        self.lanes = self._take(layout.LANE_BYTES * lanes)
        self.snapshots = {
            block: self._take(8 * max(count, 1) * lanes) for block, (_, count) in self.generated.snapshots.items()
        }
        self.frames_at = self._take(self.generated.frame_bytes * lanes)
        rows: list[tuple[int, ...]] = []
        by_id: dict[int, tuple[int, ...]] = {}
        for array in device.arrays:
            if array is None or (reached is not None and id(array) not in reached):
                rows.append((0,) * 9)
                continue
            self._rows_of.setdefault(id(array), []).append(len(rows))
            if id(array) in by_id:
                # A large array fills several neighbourhoods.
                rows.append(by_id[id(array)])
                continue
            # Where all is written, nothing has to be looked up or noted.
            is_partial = array.valid is not None and not array.valid[: array.size].min(initial=1)
            data, valid = self._lay(array, is_partial)
            constant = array.space == "const"
            history = 0
            if observed and not constant:
                history = self._take(layout.HISTORY_BYTES * -(-len(array.data) // self.unit))
            self._arrays.append((array, data, valid))
            by_id[id(array)] = (data, array.size, valid, history, 0, 0, int(array.read_only), int(constant), array.base)
            rows.append(by_id[id(array)])
        self.global_table = self._table(rows)
        self._local: list[tuple[int, int, str]] = []
        self._shared: tuple[int, int, int, int] | None = None
        self._shared_row = 0
        self.shared_table, shared_rows = self._shared_rows(batch)
        self.local_table, local_rows = self._local_rows(batch)
        self.store, self.memory, self.bytes = self._open()
        self._put_rows(self.global_table, rows)
        self._put_rows(self.shared_table, shared_rows)
        self._put_rows(self.local_table, local_rows)
        slots = self.generated.frame_bytes // 8
        self.frames: Array = self._view(self.frames_at, np.uint64, lanes * slots).reshape(lanes, slots)
        self._copy_in()
        for name, value in {
            "LIST": self.list,
            "WARP_TABLE": self.warps,
            "FRAMES": self.frames_at,
            "LANES": self.lanes,
            "GLOBAL_TABLE": self.global_table,
            "GLOBAL_SLOTS": len(rows),
            "SHARED_TABLE": self.shared_table,
            "SHARED_SLOTS": len(shared_rows),
            "LOCAL_TABLE": self.local_table,
            "LOCAL_SLOTS": len(local_rows),
        }.items():
            self.put(CONTEXT[name], value)
        self.put64(CONTEXT["ORIGIN"], device.origin)

    def _lay(self, array: MemoryArray, is_partial: bool) -> tuple[int, int]:
        """Return where an array's data and flags are to lie, 0 for flags that are not needed.  Raises TooLarge."""
        return self._take(len(array.data)), self._take(len(array.data)) if is_partial else 0

    def _open(self) -> tuple[Any, Any, Array]:
        """Return a store, its memory, and the memory's bytes.  Raises TooLarge."""
        import wasmtime

        pages = -(-self._end // PAGE)
        if pages * PAGE > MAX_BYTES:
            raise TooLarge
        store = wasmtime.Store(engine())
        try:
            memory = wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(pages, pages)))
        except wasmtime.WasmtimeError:
            # A process whose address space is limited.
            raise TooLarge from None
        address = ctypes.cast(memory.data_ptr(store), ctypes.POINTER(ctypes.c_uint8))
        return store, memory, np.ctypeslib.as_array(address, (pages * PAGE,))

    def _copy_in(self) -> None:
        for array, data, valid in self._arrays:
            self.bytes[data : data + len(array.data)] = array.data
            if valid:
                assert array.valid is not None
                self.bytes[valid : valid + len(array.valid)] = array.valid

    def instance(self, compiled: Compiled, run: Callable[[int], None]) -> Any:
        """Return the exports of a kernel's machine code in this memory; run: what it calls of the host's."""
        import wasmtime

        return wasmtime.Instance(self.store, compiled.module, [self.memory, *imports(self.store, run)]).exports(
            self.store
        )

    def _take(self, size: int) -> int:
        start = -(-self._end // _APART) * _APART
        self._end = start + size
        if self._end > MAX_BYTES:
            raise TooLarge
        return start

    def _table(self, rows: list[tuple[int, ...]]) -> int:
        return self._take(layout.ARRAY_BYTES * max(len(rows), 1))

    def _put_rows(self, start: int, rows: list[tuple[int, ...]]) -> None:
        if not rows:
            return
        fields = np.array(rows, np.int64)
        words = layout.ARRAY_BYTES // 4
        self._view(start, np.uint32, words * len(rows)).reshape(-1, words)[:, :8] = fields[:, :8]
        self._view(start, np.int64, words // 2 * len(rows)).reshape(-1, words // 2)[:, 4] = fields[:, 8]

    def _shared_rows(self, batch: BlockBatch) -> tuple[int, list[tuple[int, ...]]]:
        rows: list[tuple[int, ...]] = []
        for array in batch.shared.arrays:
            if array is None:
                rows.append((0,) * 9)
                continue
            if self._shared is None:
                size = len(array.data)
                history = self._take(layout.HISTORY_BYTES * -(-size // self.unit)) if self.observed else 0
                self._shared = (self._take(size), self._take(size), history, size)
            self._shared_row = array.row_bytes
            data, valid, history, _ = self._shared
            past = history + layout.HISTORY_BYTES * (array.storage // self.unit) if history else 0
            rows.append(
                (
                    data + array.storage,
                    array.size,
                    valid + array.storage,
                    past,
                    array.row_bytes,
                    layout.ROWS["block"],
                    0,
                    array.storage,
                    array.base,
                )
            )
        return self._table(rows), rows

    def _local_rows(self, batch: BlockBatch) -> tuple[int, list[tuple[int, ...]]]:
        rows: list[tuple[int, ...]] = []
        for array in batch.local.arrays:
            if array is None:
                rows.append((0,) * 9)
            elif array.space == "param" and array.name in self.generated.parameters:
                rows.append((self.generated.parameters[array.name], array.size, 0, 0, 0, 0, 1, 0, array.base))
            else:
                data = self._take(len(array.data))
                self._local.append((data, len(array.data), array.name))
                rows.append((data, array.size, 0, 0, array.row_bytes, layout.ROWS["lane"], 0, 0, array.base))
        return self._table(rows), rows

    def _view(self, start: int, dtype: Any, count: int) -> Array:
        size = np.dtype(dtype).itemsize
        return self.bytes[start : start + size * count].view(dtype)

    def put(self, offset: int, value: int) -> None:
        """Set a 32-bit field."""
        self._view(offset, np.uint32, 1)[0] = value

    def put64(self, offset: int, value: int) -> None:
        """Set a 64-bit field."""
        self._view(offset, np.uint64, 1)[0] = value & ((1 << 64) - 1)

    def get(self, offset: int) -> int:
        """A 32-bit field."""
        return int(self._view(offset, np.uint32, 1)[0])

    def words(self, offset: int, count: int) -> Array:
        """(count,) int64 fields."""
        return self._view(offset, np.int64, count)

    def begin(self, batch: BlockBatch, symbols: dict[str, int], specials: dict[str, Any]) -> None:
        """Prepare the memory for a batch: registers, lanes' records, shared and local memory, parameters."""
        generated, code_lanes = self.generated, batch.layout
        blocks, padded = code_lanes.blocks, code_lanes.padded
        lanes = blocks * padded
        table = self._view(self.lanes, np.uint32, 4 * lanes).reshape(-1, 4)
        number = np.arange(lanes, dtype=np.uint32)
        table[:, 0] = number // padded
        table[:, 1] = (
            number // padded + np.uint32(batch.geometry.first_block + 1)
        ) << layout.THREAD_BITS | number % padded
        table[:, 2] = self.epochs + 4 * (number // padded)
        table[:, 3] = (number // padded) * self._shared_row
        self._view(self.epochs, np.uint32, blocks)[:] = 0
        for array in batch.local.arrays:
            if array is not None and array.name in generated.parameters and array.space == "param":
                start = generated.parameters[array.name]
                self.bytes[start : start + array.size] = array.data[: array.size]
        for (name, offset), where in generated.symbols.items():
            self.put64(where, symbols[name] + offset)
        if self._shared is not None:
            data, valid, history, size = self._shared
            first = next(array for array in batch.shared.arrays if array is not None)
            self.bytes[data : data + len(first.data)] = first.data
            self.bytes[valid : valid + size] = 0
            if history:
                self.bytes[history : history + layout.HISTORY_BYTES * -(-size // self.unit)] = 0
        for data, size, _ in self._local:
            self.bytes[data : data + size] = POISON
        ids = batch.layout.root.ids
        for name, slot in generated.specials.items():
            value = specials[name]
            self.frames[ids, slot] = value.array if isinstance(value, Vec) else value
        for block, (state, _) in generated.snapshots.items():
            self._view(state, np.uint32, 8)[:] = 0
            self.put(state + 24, self.snapshots[block])

    def made_anew(self) -> list[tuple[int, int, int]]:
        """(start, size, byte) of what every block finds filled: flags of its shared memory, its threads' variables."""
        fills = [] if self._shared is None else [(self._shared[1], self._shared[3], 0)]
        named = {name for name, _ in self.generated.symbols}
        for data, size, name in self._local:
            if name not in named:
                continue
            start, before, byte = fills[-1] if fills else (0, 0, 0)
            if byte == POISON and data - (start + before) < _APART:
                # What lies between neighbours is nobody's.
                fills[-1] = start, data + size - start, byte
            else:
                fills.append((data, size, POISON))
        return fills

    def close(self) -> None:
        """Free the memory; nothing of this may be used afterwards."""
        self.bytes, self.frames = np.zeros(0, np.uint8), np.zeros((0, 0), np.uint64)
        self.store.close()

    def commit(self) -> None:
        """Copy what was written to the device's arrays."""
        for array, data, valid in self._arrays:
            if not self._is_stored_to(array):
                continue
            array.data[:] = self.bytes[data : data + len(array.data)]
            array.digest = None
            if valid:
                assert array.valid is not None
                array.valid[:] = self.bytes[valid : valid + len(array.valid)]

    def take_over(self, other: LinearMemory) -> None:
        """Copy what other blocks of the launch wrote in a memory of their own, which began as this one did.

        To be called before either is committed: what was written is what differs from the device's arrays.
        """
        for (array, data, valid), (_, other_data, other_valid) in zip(self._arrays, other._arrays, strict=True):
            if not other._is_stored_to(array):
                continue
            size = len(array.data)
            theirs = other.bytes[other_data : other_data + size]
            np.copyto(self.bytes[data : data + size], theirs, where=theirs != self._before(array))
            if valid:
                self.bytes[valid : valid + size] |= other.bytes[other_valid : other_valid + size]
            self.put(self._row(array) + layout.STORED, 1)

    def _before(self, array: MemoryArray) -> Array:
        """What an array held before the launch."""
        return array.data

    def _is_stored_to(self, array: MemoryArray) -> bool:
        rows = [self.global_table + layout.ARRAY_BYTES * row for row in self._rows_of[id(array)]]
        return any(self.get(row + layout.STORED) for row in rows)

    def _row(self, array: MemoryArray) -> int:
        return self.global_table + layout.ARRAY_BYTES * self._rows_of[id(array)][0]
