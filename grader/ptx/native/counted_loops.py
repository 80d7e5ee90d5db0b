"""Loops with a known number of iterations: which blocks are such, and their arithmetic as WebAssembly.

Most of what course kernels execute is `for (k = 0; k < n; k++) sum += a[…] * b[…]`: a block that jumps to itself, in
which addresses advance by constants, and all else is arithmetic on what was loaded, and stores of that.  It is done for
as many threads as a vector of 16 bytes holds numbers, some vectors side by side.  These go round all iterations before
the next ones begin, which is the same where no thread touches what another one stores.

All that differs from one run to the next lies in memory, at fixed places (`Layout`): how many iterations there are,
where tables begin, where each access begins and by how much it moves.  The loop's arrays are copied into that memory,
and back from it if it stores to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from grader.ptx.access import AccessSpec, ResolvedAddress
from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Operand, Register
from grader.ptx.isa.instructions import facts
from grader.ptx.lowering.data_movement import load_spec
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.memory import MemoryArray
from grader.ptx.native.arithmetic import canonical_vector, on_data, on_vectors

_WORDS = ("s32", "u32", "b32")
_INTEGERS = (*_WORDS, "s64", "u64", "b64")
RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")
DATA_TYPES = {4: ("f32", "s32", "u32", "b32"), 8: ("f64", "s64", "u64", "b64")}
"""Types of registers that hold data, by the bytes of the loop's numbers."""

Datum = int | tuple[str, int]
"""A register, or an immediate's bits as ("bits", n)."""


@dataclass(frozen=True)
class Load:
    """A load of one number a lane from global memory: `target` gets what lies at register `base` + `offset`."""

    spec: AccessSpec
    base: int
    offset: int
    target: int


@dataclass(frozen=True)
class Store:
    """A store of one number a lane to global memory: at register `base` + `offset`."""

    spec: AccessSpec
    base: int
    offset: int
    value: Datum


@dataclass(frozen=True)
class Arithmetic:
    """An operation on data, `kind` "f32", "f64", "b32" or "b64"."""

    operation: str
    kind: str
    target: int
    operands: tuple[Datum, ...]


Part = Load | Store | Arithmetic


@dataclass(frozen=True)
class Form:
    """A block that jumps to itself, taken apart.

    addressing: the integer instructions that do not depend on what is loaded, in order; exit: the comparison that
    decides whether the loop goes round again (`again`: its outcome then).  body: loads, stores and arithmetic on data,
    in order, all of them on numbers of `word` bytes.  reads: registers that addresses and the exit are worked out from;
    inputs: those that hold data, or are read as data, when an iteration begins; outputs: (register, whether it is the
    result of an operation on floating-point numbers) of those written that are needed later.
    moving: registers of addresses that are live from iteration to iteration.  after: the block behind the loop.
    """

    block: CodeBlock
    after: int
    addressing: tuple[Instruction, ...]
    exit: Instruction
    again: bool
    body: tuple[Part, ...]
    word: int
    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, bool], ...]
    moving: tuple[int, ...]

    @cached_property
    def accesses(self) -> tuple[Load | Store, ...]:
        return tuple(part for part in self.body if not isinstance(part, Arithmetic))

    @cached_property
    def stores(self) -> bool:
        return any(isinstance(part, Store) for part in self.body)

    @property
    def lanes(self) -> int:
        return VECTOR_BYTES // self.word


def form_of(code: Code, block: CodeBlock, successors: tuple[int, ...]) -> Form | None:
    """Take a loop of one block apart; None where it is not one that can be carried out at once."""
    if block.index not in successors or len(set(successors)) != 2 or block.last.guard is None:
        return None
    instructions = [i for i in block.instructions[:-1] if not facts(i.opcode).hint]
    guard = block.last.guard
    if block.last.opcode != "bra" or any(i.guard is not None for i in instructions):
        return None
    data = _data(code, instructions)
    accesses = [i for i in instructions if i.opcode in ("ld", "st")]
    comparisons = [i for i in instructions if i.opcode == "setp"]
    if not accesses or len(comparisons) != 1 or not _compares(comparisons[0], guard.register.index, data):
        return None
    after = next(index for index in successors if index != block.index)
    needed = set(code.live_in[block.index]) | set(code.live_in[after])
    if guard.register.index in needed:
        return None
    specs = {id(i): _spec(code, i) for i in accesses}
    words = {spec.element_bytes for spec in specs.values() if spec is not None}
    if None in specs.values() or len(words) != 1 or not words <= DATA_TYPES.keys():
        return None
    word = words.pop()
    types = {r.index: r.type for r in code.function.registers if r.type in DATA_TYPES[word]}
    addressing: list[Instruction] = []
    body: list[Part] = []
    written: dict[int, bool] = {}
    moved: set[int] = set()
    for instruction in instructions:
        if instruction.opcode == "setp":
            continue
        part: Part | None
        spec = specs.get(id(instruction))
        if spec is not None:
            part = _access(spec, types)
            if part is None:
                return None
            body.append(part)
            if isinstance(part, Load):
                written[part.target] = False
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
        part = _arithmetic(instruction, types)
        if part is None:
            return None
        body.append(part)
        written[target] = part.kind in ("f32", "f64")
    operands = [r for part in body if isinstance(part, Arithmetic) for r in part.operands]
    operands += [part.value for part in body if isinstance(part, Store)]
    read = {r for r in operands if isinstance(r, int)}
    if read & moved or any(part.base in data for part in body if not isinstance(part, Arithmetic)):
        return None
    live = set(code.live_in[block.index])
    return Form(
        block=block,
        after=after,
        addressing=tuple(addressing),
        exit=comparisons[0],
        again=(successors[0] == block.index) != guard.negated,
        body=tuple(body),
        word=word,
        reads=tuple(sorted(live - data)),
        inputs=tuple(sorted(read & live)),
        outputs=tuple((index, fresh) for index, fresh in sorted(written.items()) if index in needed),
        moving=tuple(sorted(moved & live)),
    )


def _data(code: Code, instructions: list[Instruction]) -> set[int]:
    """Return the registers that hold loaded values or what is computed from them."""
    data = {register.index for register in code.function.registers if register.type in ("f32", "f64")}
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
    """Whether `counted_runner.py` knows how the result of an instruction moves."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if not all(isinstance(operand, (Register, Immediate)) for operand in instruction.operands):
        return False
    if opcode in ("add", "sub", "shl", "mov"):
        return len(modifiers) == 1 and modifiers[0] in _INTEGERS
    if opcode in ("mul", "mad"):
        return len(modifiers) == 2 and modifiers[0] in ("lo", "wide") and modifiers[1] in _INTEGERS
    return opcode == "cvt" and len(modifiers) == 2 and all(m in _INTEGERS for m in modifiers)


def _spec(code: Code, instruction: Instruction) -> AccessSpec | None:
    """Return the static side of a plain load or store of one number in global memory, None for any other."""
    spec = load_spec(code, instruction) if instruction.opcode == "ld" else AccessSpec(instruction, "store")
    return None if spec.space != "global" or spec.strong or spec.count != 1 else spec


def _access(spec: AccessSpec, types: dict[int, str]) -> Load | Store | None:
    place, datum = spec.instruction.operands if spec.op == "store" else reversed(spec.instruction.operands)
    if not isinstance(place, Address) or not isinstance(place.base, Register):
        return None
    value = _datum(datum, spec.element_bytes, types)
    if spec.op == "store":
        return Store(spec, place.base.index, place.offset, value) if value is not None else None
    return Load(spec, place.base.index, place.offset, value) if isinstance(value, int) else None


def _datum(operand: Operand, word: int, types: dict[int, str]) -> Datum | None:
    if isinstance(operand, Immediate):
        return "bits", operand.value & ((1 << 8 * word) - 1)
    return operand.index if isinstance(operand, Register) and operand.index in types else None


def _arithmetic(instruction: Instruction, types: dict[int, str]) -> Arithmetic | None:
    entry = on_data(instruction)
    if entry is None:
        return None
    operation, kind = entry
    data: list[Datum] = []
    for operand in instruction.operands:
        datum = _datum(operand, int(kind[1:]) // 8, types)
        if datum is None or (isinstance(datum, int) and (types[datum][0] == "f") != (kind[0] == "f")):
            return None
        data.append(datum)
    target, *operands = data
    return Arithmetic(operation, kind, target, tuple(operands)) if isinstance(target, int) else None


# The arithmetic of a loop as WebAssembly.

CONTIGUOUS, EQUAL, SCATTERED, UNIFORM = "contiguous", "equal", "scattered", "uniform"
"""Where neighbouring threads of a vector go: one after the other, one place, anywhere; one place for all threads."""
VECTOR_BYTES = 16
UNROLLED = 4
WORD = 4
"""Bytes of each number that generated code is given."""
GROUPS, TRIPS = 0, WORD
"""Where the numbers of rounds of the outer and of the inner loop lie."""


@dataclass(frozen=True)
class Shape:
    """What generated code depends on, beside the loop: how each access's lanes lie, and which of them share a table.

    kinds: of the accesses, in order; tables: for each the number of its table, −1 where it needs none.
    """

    kinds: tuple[str, ...]
    tables: tuple[int, ...]

    @cached_property
    def table_kinds(self) -> tuple[str, ...]:
        """The kind of each table."""
        by_table = dict(zip(self.tables, self.kinds, strict=True))
        return tuple(by_table[number] for number in range(max(self.tables) + 1))

    @property
    def unrolled(self) -> int:
        return 1 if SCATTERED in self.kinds else UNROLLED


class Layout:
    """Where the words lie that tell generated code what to do."""

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
    """Write the module, which exports its `memory` and `run`."""
    return _Text(form, shape).module()


class _Text:
    def __init__(self, form: Form, shape: Shape) -> None:
        self._form, self._shape = form, shape
        self._layout = Layout(form, shape)
        self._copies = range(shape.unrolled)
        self._locals: dict[str, str] = {}
        # What is stored has the NaN of GPUs; results are given it once, at the end.
        self._canonical = {part.value for part in form.body if isinstance(part, Store)}

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
            entries = form.lanes if kind == SCATTERED else 1
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
                if isinstance(part, Store):
                    lines.append(self._store(number, copy, self._datum(part.value, copy)))
                    continue
                value = self._arithmetic(part, copy) if isinstance(part, Arithmetic) else self._load(number, copy)
                lines.append(self._set(f"r{part.target}_{copy}", value, "v128"))
                if isinstance(part, Arithmetic) and part.kind == "f32" and part.target in self._canonical:
                    result = self._datum(part.target, copy)
                    lines.append(self._set(f"r{part.target}_{copy}", canonical_vector(result), "v128"))
            number += not isinstance(part, Arithmetic)
        lines += [self._set(f"d{k}", f"(i32.add (local.get $d{k}) (local.get $s{k}))") for k in range(number)]
        lines.append("(br_if $trip (local.tee $trips (i32.sub (local.get $trips) (i32.const 1)))))")
        return lines

    def _place(self, number: int, copy: int, entry: int = 0) -> str:
        return f"(i32.add (local.get $p{self._shape.tables[number]}_{copy}_{entry}) (local.get $d{number}))"

    def _load(self, number: int, copy: int) -> str:
        kind, bits = self._shape.kinds[number], 8 * self._form.word
        if kind == UNIFORM:
            return f"(v128.load{bits}_splat (local.get $d{number}))"
        if kind == CONTIGUOUS:
            return f"(v128.load align=4 {self._place(number, copy)})"
        if kind == EQUAL:
            return f"(v128.load{bits}_splat {self._place(number, copy)})"
        value = f"(v128.load{bits}_zero {self._place(number, copy)})"
        for lane in range(1, self._form.lanes):
            value = f"(v128.load{bits}_lane {lane} {self._place(number, copy, lane)} {value})"
        return value

    def _store(self, number: int, copy: int, value: str) -> str:
        if self._shape.kinds[number] == CONTIGUOUS:
            return f"(v128.store align=4 {self._place(number, copy)} {value})"
        bits = 8 * self._form.word
        lanes = range(self._form.lanes)
        return "".join(f"(v128.store{bits}_lane {k} {self._place(number, copy, k)} {value})" for k in lanes)

    def _datum(self, datum: Datum, copy: int) -> str:
        if isinstance(datum, int):
            return f"(local.get $r{datum}_{copy})"
        shape = "i32x4" if self._form.word == WORD else "i64x2"
        return f"(v128.const {shape}{f' {datum[1]}' * self._form.lanes})"

    def _arithmetic(self, part: Arithmetic, copy: int) -> str:
        return on_vectors(part.operation, part.kind, [self._datum(datum, copy) for datum in part.operands])


@dataclass
class Placed:
    """An access of the first iteration: where it goes, and how far it moves in every further one."""

    address: ResolvedAddress
    step: int
    low: int
    """Byte offset in its array of the smallest lane, in the first iteration."""
    stores: bool


def spans_of(places: list[Placed], trips: int, word: int) -> dict[int, tuple[MemoryArray, int, int]]:
    """Return by array the byte offsets between which it is accessed."""
    spans: dict[int, tuple[MemoryArray, int, int]] = {}
    for where in places:
        vec = where.address.vec
        width = 0 if vec is None else vec.signed_bounds()[1] - vec.signed_bounds()[0]
        moved = (trips - 1) * where.step
        low, high = where.low + min(0, moved), where.low + width + max(0, moved) + word
        array, other_low, other_high = spans.get(id(where.address.array), (where.address.array, low, high))
        spans[id(array)] = (array, min(low, other_low), max(high, other_high))
    return spans
