"""Loops with a known number of iterations: which blocks are such, and their arithmetic as WebAssembly.

Most of what course kernels execute is `for (k = 0; k < n; k++) sum += a[…] * b[…]`: a block that jumps to itself, in
which addresses advance by constants, and all else is arithmetic on what was loaded.  Its arithmetic is done for four
threads to a vector, some vectors side by side.

All that differs from one run to the next lies in memory, at fixed places (`Layout`): how many iterations there are,
where tables begin, where each load begins and by how much it moves.  The loop's arrays are copied into that memory.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grader.ptx.access import AccessSpec, ResolvedAddress
from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Register
from grader.ptx.isa.instructions import facts
from grader.ptx.isa.rounding import canonical_nan
from grader.ptx.lowering.data_movement import load_spec
from grader.ptx.machine.batch import Group
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.memory import MemoryArray
from grader.ptx.native.generate import engine, kept
from grader.ptx.values import UNSIGNED, Array, as_array

_WORDS = ("s32", "u32", "b32")
_INTEGERS = (*_WORDS, "s64", "u64", "b64")
RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")

ARITHMETIC: dict[tuple[str, ...], tuple[str, str]] = {
    ("fma", "rn", "f32"): ("fma", "f32"),
    ("mad", "rn", "f32"): ("fma", "f32"),
    **{(opcode, *more, "f32"): (opcode, "f32") for opcode in ("add", "sub", "mul") for more in ((), ("rn",))},
    **{(opcode, word): (opcode, "b32") for opcode in ("add", "sub") for word in _WORDS},
    **{("mul", "lo", word): ("mul", "b32") for word in _WORDS},
    **{("mad", "lo", word): ("mad", "b32") for word in _WORDS},
}
"""Arithmetic on what was loaded: (opcode, *modifiers) → (operation, kind of all its operands)."""


@dataclass(frozen=True)
class Load:
    """A load of 4 bytes a lane from global memory: `target` gets what lies at register `base` + `offset`."""

    spec: AccessSpec
    base: int
    offset: int
    target: int


@dataclass(frozen=True)
class Arithmetic:
    """An operation on data, `kind` "f32" or "b32"; operands are registers, or immediates' bits as ("bits", n)."""

    operation: str
    kind: str
    target: int
    operands: tuple[int | tuple[str, int], ...]


@dataclass(frozen=True)
class Form:
    """A block that jumps to itself, taken apart.

    addressing: the integer instructions that do not depend on what is loaded, in order; exit: the comparison that
    decides whether the loop goes round again (`again`: its outcome then).  body: loads and arithmetic on data, in
    order.  reads: registers that addresses and the exit are worked out from; inputs: those that hold data, or are read
    as data, when an iteration begins; outputs: (register, whether it is the result of an operation on f32) of those
    written that are needed later.
    moving: registers of addresses that are live from iteration to iteration.  after: the block behind the loop.
    """

    block: CodeBlock
    after: int
    addressing: tuple[Instruction, ...]
    exit: Instruction
    again: bool
    body: tuple[Load | Arithmetic, ...]
    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, bool], ...]
    moving: tuple[int, ...]

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """Its loads, in order."""
        return tuple(part for part in self.body if isinstance(part, Load))


def form_of(code: Code, block: CodeBlock, successors: tuple[int, ...]) -> Form | None:
    """What a loop of one block is made of; None where it is not one that can be carried out at once."""
    if block.index not in successors or len(set(successors)) != 2 or block.last.guard is None:
        return None
    instructions = [i for i in block.instructions[:-1] if not facts(i.opcode).hint]
    guard = block.last.guard
    if block.last.opcode != "bra" or any(i.guard is not None for i in instructions):
        return None
    data = _data(code, instructions)
    loads = [i for i in instructions if i.opcode == "ld"]
    comparisons = [i for i in instructions if i.opcode == "setp"]
    if not loads or len(comparisons) != 1 or not _compares(comparisons[0], guard.register.index, data):
        return None
    after = next(index for index in successors if index != block.index)
    needed = set(code.live_in[block.index]) | set(code.live_in[after])
    if guard.register.index in needed:
        return None
    types = {register.index: register.type for register in code.function.registers}
    addressing: list[Instruction] = []
    body: list[Load | Arithmetic] = []
    written: dict[int, bool] = {}
    moved: set[int] = set()
    for instruction in instructions:
        if instruction.opcode == "setp":
            continue
        targets = destinations(instruction)
        if len(targets) != 1:
            return None
        target = targets[0].index
        if target not in data:
            if not _addresses(instruction):
                return None
            addressing.append(instruction)
            moved.add(target)
            continue
        part = _load(code, instruction) if instruction.opcode == "ld" else _arithmetic(instruction, types)
        if part is None:
            return None
        body.append(part)
        written[target] = isinstance(part, Arithmetic) and part.kind == "f32"
    read = {r for part in body if isinstance(part, Arithmetic) for r in part.operands if isinstance(r, int)}
    if read & moved or any(part.base in data for part in body if isinstance(part, Load)):
        return None
    live = set(code.live_in[block.index])
    return Form(
        block=block,
        after=after,
        addressing=tuple(addressing),
        exit=comparisons[0],
        again=(successors[0] == block.index) != guard.negated,
        body=tuple(body),
        reads=tuple(sorted(live - data)),
        inputs=tuple(sorted(read & live)),
        outputs=tuple((index, fresh) for index, fresh in sorted(written.items()) if index in needed),
        moving=tuple(sorted(moved & live)),
    )


def _data(code: Code, instructions: list[Instruction]) -> set[int]:
    """Registers that hold what was loaded, or what comes of it."""
    data = {register.index for register in code.function.registers if register.type == "f32"}
    while True:
        before = len(data)
        for instruction in instructions:
            if instruction.opcode == "ld" or any(register.index in data for register in sources(instruction)):
                data |= {register.index for register in destinations(instruction)}
        if len(data) == before:
            return data


def _compares(instruction: Instruction, predicate: int, data: set[int]) -> bool:
    modifiers, operands = instruction.modifiers, instruction.operands
    if len(modifiers) != 2 or modifiers[0] not in RELATIONS or modifiers[1] not in _INTEGERS or len(operands) != 3:
        return False
    if not isinstance(operands[0], Register) or operands[0].index != predicate:
        return False
    return all(isinstance(o, Immediate) or (isinstance(o, Register) and o.index not in data) for o in operands[1:])


def _addresses(instruction: Instruction) -> bool:
    """Whether it is one of the operations of which `progress.py` knows how their results move."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if not all(isinstance(operand, (Register, Immediate)) for operand in instruction.operands):
        return False
    if opcode in ("add", "sub", "shl", "mov"):
        return len(modifiers) == 1 and modifiers[0] in _INTEGERS
    if opcode in ("mul", "mad"):
        return len(modifiers) == 2 and modifiers[0] in ("lo", "wide") and modifiers[1] in _INTEGERS
    return opcode == "cvt" and len(modifiers) == 2 and all(m in _INTEGERS for m in modifiers)


def _load(code: Code, instruction: Instruction) -> Load | None:
    target, source = instruction.operands
    if not isinstance(target, Register) or not isinstance(source, Address) or not isinstance(source.base, Register):
        return None
    spec = load_spec(code, instruction)
    if spec.space != "global" or spec.strong or spec.count != 1 or spec.element_bytes != 4:
        return None
    return Load(spec, source.base.index, source.offset, target.index) if target.type != "pred" else None


def _arithmetic(instruction: Instruction, types: dict[int, str]) -> Arithmetic | None:
    entry = ARITHMETIC.get((instruction.opcode, *instruction.modifiers))
    if entry is None:
        return None
    operation, kind = entry
    operands: list[int | tuple[str, int]] = []
    for operand in instruction.operands:
        if isinstance(operand, Immediate):
            operands.append(("bits", operand.value & 0xFFFFFFFF))
        elif isinstance(operand, Register) and (types[operand.index] == "f32") == (kind == "f32"):
            if types[operand.index] not in ("f32", *_WORDS):
                return None
            operands.append(operand.index)
        else:
            return None
    target = operands.pop(0)
    return Arithmetic(operation, kind, target, tuple(operands)) if isinstance(target, int) else None


# The arithmetic of a loop as WebAssembly.

CONTIGUOUS, EQUAL, SCATTERED, UNIFORM = "contiguous", "equal", "scattered", "uniform"
"""Where four neighbouring threads load: one after the other, one place, anywhere; one place for all threads."""
LANES = 4
UNROLLED = 4
WORD = 4
GROUPS, TRIPS = 0, WORD
"""Where the numbers of rounds of the outer and of the inner loop lie."""

_VECTOR = {
    ("fma", "f32"): "f32x4.relaxed_madd",
    ("add", "f32"): "f32x4.add",
    ("sub", "f32"): "f32x4.sub",
    ("mul", "f32"): "f32x4.mul",
    ("add", "b32"): "i32x4.add",
    ("sub", "b32"): "i32x4.sub",
    ("mul", "b32"): "i32x4.mul",
}


@dataclass(frozen=True)
class Shape:
    """What generated code depends on, beside the loop: how each load's lanes lie, and which loads share a table.

    kinds: of the loads, in order; tables: for each load the number of its table, −1 where it needs none.
    """

    kinds: tuple[str, ...]
    tables: tuple[int, ...]

    @cached_property
    def table_kinds(self) -> tuple[str, ...]:
        """Of each table."""
        by_table = dict(zip(self.tables, self.kinds, strict=True))
        return tuple(by_table[number] for number in range(max(self.tables) + 1))

    @property
    def unrolled(self) -> int:
        """Vectors side by side."""
        return 1 if SCATTERED in self.kinds else UNROLLED


class Layout:
    """Where the words lie that say what is to be done."""

    def __init__(self, form: Form, shape: Shape) -> None:
        place = 2 * WORD

        def take(count: int) -> list[int]:
            nonlocal place
            start, place = place, place + count * WORD
            return list(range(start, place, WORD))

        loads = len(shape.kinds)
        self.begins, self.steps = take(loads), take(loads)
        self.tables = take(len(shape.table_kinds))
        self.inputs, self.outputs = take(len(form.inputs)), take(len(form.outputs))
        self.end = place


def generate(form: Form, shape: Shape) -> str:
    """A module that exports its `memory` and `run`."""
    return _Text(form, shape).module()


class _Text:
    def __init__(self, form: Form, shape: Shape) -> None:
        self._form, self._shape = form, shape
        self._layout = Layout(form, shape)
        self._copies = range(shape.unrolled)
        self._locals: dict[str, str] = {}

    def module(self) -> str:
        body = "\n".join(self._outer())
        declared = "\n".join(f"(local ${name} {kind})" for name, kind in self._locals.items())
        return f'(module (memory (export "memory") 1)\n(func (export "run")\n{declared}\n{body}))'

    def _set(self, name: str, value: str, kind: str = "i32") -> str:
        self._locals[name] = kind
        return f"(local.set ${name} {value})"

    def _word(self, name: str, place: int) -> str:
        return self._set(name, f"(i32.load (i32.const {place}))")

    def _outer(self) -> list[str]:
        form, shape, layout = self._form, self._shape, self._layout
        lines = [self._word("groups", GROUPS)]
        lines += [self._word(f"t{k}", place) for k, place in enumerate(layout.tables)]
        lines += [self._word(f"i{r}", place) for r, place in zip(form.inputs, layout.inputs, strict=True)]
        lines += [self._word(f"o{r}", place) for (r, _), place in zip(form.outputs, layout.outputs, strict=True)]
        lines += [self._word(f"s{k}", place) for k, place in enumerate(layout.steps)]
        lines.append("(loop $group")
        advanced: dict[str, int] = {}
        for number, kind in enumerate(shape.table_kinds):
            entries = LANES if kind == SCATTERED else 1
            for copy in self._copies:
                for entry in range(entries):
                    offset = WORD * (copy * entries + entry)
                    lines.append(
                        self._set(f"p{number}_{copy}_{entry}", f"(i32.load offset={offset} (local.get $t{number}))")
                    )
            advanced[f"t{number}"] = WORD * entries * shape.unrolled
        for register in form.inputs:
            for copy in self._copies:
                value = f"(v128.load offset={16 * copy} (local.get $i{register}))"
                lines.append(self._set(f"r{register}_{copy}", value, "v128"))
            advanced[f"i{register}"] = 16 * shape.unrolled
        lines += [self._word(f"d{k}", place) for k, place in enumerate(layout.begins)]
        lines.append(self._word("trips", TRIPS))
        lines += self._inner()
        for register, _ in form.outputs:
            for copy in self._copies:
                lines.append(
                    f"(v128.store offset={16 * copy} (local.get $o{register}) (local.get $r{register}_{copy}))"
                )
            advanced[f"o{register}"] = 16 * shape.unrolled
        lines += [self._set(name, f"(i32.add (local.get ${name}) (i32.const {n}))") for name, n in advanced.items()]
        lines.append("(br_if $group (local.tee $groups (i32.sub (local.get $groups) (i32.const 1)))))")
        return lines

    def _inner(self) -> list[str]:
        lines = ["(loop $trip"]
        number = 0
        for part in self._form.body:
            for copy in self._copies:
                value = self._arithmetic(part, copy) if isinstance(part, Arithmetic) else self._load(number, copy)
                lines.append(self._set(f"r{part.target}_{copy}", value, "v128"))
            number += not isinstance(part, Arithmetic)
        lines += [self._set(f"d{k}", f"(i32.add (local.get $d{k}) (local.get $s{k}))") for k in range(number)]
        lines.append("(br_if $trip (local.tee $trips (i32.sub (local.get $trips) (i32.const 1)))))")
        return lines

    def _load(self, number: int, copy: int) -> str:
        kind, table = self._shape.kinds[number], self._shape.tables[number]
        begin = f"(local.get $d{number})"
        if kind == UNIFORM:
            return f"(v128.load32_splat {begin})"

        def place(entry: int) -> str:
            return f"(i32.add (local.get $p{table}_{copy}_{entry}) {begin})"

        if kind == CONTIGUOUS:
            return f"(v128.load align=4 {place(0)})"
        if kind == EQUAL:
            return f"(v128.load32_splat {place(0)})"
        value = f"(v128.load32_zero {place(0)})"
        for lane in range(1, LANES):
            value = f"(v128.load32_lane {lane} {place(lane)} {value})"
        return value

    def _arithmetic(self, part: Arithmetic, copy: int) -> str:
        operands = [
            f"(local.get $r{operand}_{copy})"
            if isinstance(operand, int)
            else f"(v128.const i32x4 {' '.join([str(operand[1])] * LANES)})"
            for operand in part.operands
        ]
        if part.operation == "mad":
            return f"(i32x4.add (i32x4.mul {operands[0]} {operands[1]}) {operands[2]})"
        return f"({_VECTOR[part.operation, part.kind]} {' '.join(operands)})"


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
    spans: dict[int, tuple[MemoryArray, int, int]] = {}
    for where in loads:
        vec = where.address.vec
        width = 0 if vec is None else vec.signed_bounds()[1] - vec.signed_bounds()[0]
        moved = (trips - 1) * where.step
        low, high = where.low + min(0, moved), where.low + width + max(0, moved) + WORD
        array, other_low, other_high = spans.get(id(where.address.array), (where.address.array, low, high))
        spans[id(array)] = (array, min(low, other_low), max(high, other_high))
    return spans


def _result(bits: Array, fresh: bool) -> Array:
    """A register's values, out of the memory of generated code, whose NaNs are not a GPU's."""
    copied = bits.copy()
    return canonical_nan(copied.view(np.float32)) if fresh else copied
