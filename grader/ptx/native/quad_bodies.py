"""The instructions of four neighbouring threads of a row that go together, as WebAssembly's vectors of 128 bits;
and what a register holds in them: numbers in equal steps, or any.

Most of what a kernel computes addresses and bounds of is the same for such threads, or goes up by the same step from
one to the next (Collange, Defour, Zhang, Dynamic detection of uniform and affine vectors, 2009); here that is found
in the text.  `x & 15` and `x >> 4` keep it, as the first of four threads has a coordinate that four divides.

A register that is in equal steps is the first thread's number in a local; any other is a vector, or two where its
numbers take eight bytes.  Numbers of float32 are always in a vector.  What has no instruction of vectors is computed
thread by thread, as in `thread_bodies.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Special,
    Symbol,
    Vector,
)
from grader.ptx.isa.instructions import facts
from grader.ptx.machine.code import Code
from grader.ptx.native.arithmetic import canonical_vector
from grader.ptx.native.conversions import with_any_nan
from grader.ptx.native.layout import TYPES, Unfit, local_type
from grader.ptx.native.pieces import Kernel
from grader.ptx.native.thread_bodies import Body, is_arithmetic
from grader.ptx.native.vector_arithmetic import vector_of

LANES = 4
_LARGEST = 1 << 28
"""Largest step that is kept."""
_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Stride:
    """step: from one thread to the next, None where there is none that is known; 0 where all have the same.

    zeros: so many low bits of the first thread's number are 0.
    """

    step: int | None
    zeros: int = 0

    def joined(self, other: Stride) -> Stride:
        """What holds of both."""
        return Stride(self.step if self.step == other.step else None, min(self.zeros, other.zeros))


ANY = Stride(None)
SAME = Stride(0)
_OF_SPECIALS = {"tid.x": Stride(1, 2), "laneid": Stride(1, 2), "ntid.x": Stride(0, 2)}
_SHARED_LOADS = frozenset({"param", "global", "shared", "const"})
"""Spaces in which threads reach the same by the same address; of "param" a kernel's parameters alone."""


def strides_of(code: Code) -> dict[int, Stride]:
    """The stride of each register, by its index: whatever instruction wrote it last."""
    strides: dict[int, Stride] = dict.fromkeys(code.live_in[0], SAME)
    instructions = [i for block in code.blocks for i in block.instructions if destinations(i)]
    changed = True
    while changed:
        changed = False
        for instruction in instructions:
            if any(register.index not in strides for register in sources(instruction)):
                continue
            stride = _of(instruction, strides, code)
            for register in destinations(instruction):
                before = strides.get(register.index)
                after = stride if before is None else before.joined(stride)
                if after != before:
                    strides[register.index] = after
                    changed = True
    for register in code.function.registers:
        strides.setdefault(register.index, ANY)
    return strides


def loads_same(space: str, base: Operand | None, strides: Mapping[int, Stride], code: Code) -> bool:
    """Whether a load gives all four threads the same: it goes to one place, which is not one of each thread's own."""
    if space == "param":
        return isinstance(base, Symbol) and any(base.name == p.name for p in code.function.parameters)
    return space in _SHARED_LOADS and (base is None or stride_of(base, strides).step == 0)


def stride_of(operand: Operand, strides: Mapping[int, Stride]) -> Stride:
    """The stride of an operand."""
    if isinstance(operand, Register):
        return strides[operand.index]
    if isinstance(operand, Negated):
        return SAME if strides[operand.register.index].step == 0 else ANY
    if isinstance(operand, Immediate):
        return Stride(0, _zeros(operand.value))
    if isinstance(operand, Special):
        return _OF_SPECIALS.get(operand.name, SAME)
    if isinstance(operand, Address):
        return SAME if operand.base is None else stride_of(operand.base, strides)
    return SAME if isinstance(operand, Symbol) else ANY


def may_wrap(instruction: Instruction, strides: Mapping[int, Stride]) -> tuple[Register, bool, int] | None:
    """(source, whether it is signed, its step) of an instruction that widens numbers in steps.

    It keeps them in steps where none is beyond the narrower numbers' end.
    """
    source = _widened(instruction)
    if source is None or not isinstance(source[0], Register):
        return None
    register, signed = source[0], source[1]
    step = strides[register.index].step
    return (register, signed, step) if step and strides[destinations(instruction)[0].index].step else None


def _widened(instruction: Instruction) -> tuple[Operand, bool] | None:
    """(what, whether signed) an instruction widens from 32 to 64 bits."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if instruction.opcode in ("mul", "mad") and len(modifiers) == 2 and modifiers[0] == "wide":
        return (operands[1], modifiers[1] == "s32") if modifiers[1] in ("s32", "u32") else None
    if instruction.opcode == "cvt" and len(modifiers) == 2 and modifiers[0] in ("s64", "u64", "b64"):
        return (operands[1], modifiers[1] == "s32") if modifiers[1] in ("s32", "u32") else None
    return None


def _zeros(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else _ALIGNED


def _of(instruction: Instruction, by_register: Mapping[int, Stride], code: Code) -> Stride:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    first, *operands = instruction.operands
    if opcode in ("ld", "ldu"):
        space = next((m for m in modifiers if m in ("local", *_SHARED_LOADS)), "generic")
        base = operands[0].base if isinstance(operands[0], Address) else None
        if space == "generic" and isinstance(base, Symbol):
            space = code.program.space_of(base.name)
        return SAME if loads_same(space, base, by_register, code) else ANY
    if opcode == "vote":
        return SAME
    if facts(opcode).memory or opcode in ("shfl", "call", "activemask"):
        return ANY
    strides = [stride_of(operand, by_register) for operand in operands]
    is_same = all(stride.step == 0 for stride in strides)
    in_steps = None
    if isinstance(first, Register) and modifiers and TYPES.get(modifiers[-1], ("", 0, False))[1] >= 32:
        in_steps = _in_steps(opcode, modifiers, operands, strides)
    if in_steps is None or (in_steps.step is not None and abs(in_steps.step) > _LARGEST):
        return SAME if is_same else ANY
    return in_steps


def _in_steps(opcode: str, modifiers: tuple[str, ...], operands: list[Operand], strides: list[Stride]) -> Stride | None:
    """The stride of integer arithmetic; None where nothing better is known than that of all else."""
    name = modifiers[-1]
    if name.startswith("f"):
        return None
    if opcode == "mov" and len(operands) == 1 and not isinstance(operands[0], Symbol):
        return strides[0] if isinstance(operands[0], Register | Immediate | Special) else None
    if opcode == "cvta":
        return Stride(strides[0].step)
    if opcode in ("add", "sub") and len(modifiers) == 1:
        return _sum(strides[0], strides[1], -1 if opcode == "sub" else 1)
    if opcode == "mul" and modifiers[0] in ("lo", "wide"):
        return _product(operands, strides, modifiers)
    if opcode == "mad" and modifiers[0] in ("lo", "wide"):
        product = _product(operands, strides, modifiers)
        return None if product is None else _sum(product, strides[2], 1)
    if opcode == "cvt" and len(modifiers) == 2:
        widths = [TYPES[m][1] if m in TYPES and not m.startswith("f") else 0 for m in modifiers]
        whole = widths[0] == widths[1] or widths == [32, 64] or _widens(modifiers)
        return strides[0] if min(widths) >= 32 and whole else None
    if opcode in ("shl", "shr") and len(modifiers) == 1 and isinstance(operands[1], Immediate):
        return _shifted(opcode, strides[0], operands[1].value, TYPES[name][1])
    if opcode in ("and", "or", "xor") and len(modifiers) == 1:
        return _logic(opcode, operands, strides)
    return None


def _widens(modifiers: tuple[str, ...]) -> bool:
    return modifiers[0] in ("s64", "u64", "b64") and modifiers[1] in ("s32", "u32")


def _sum(a: Stride, b: Stride, sign: int) -> Stride:
    step = None if a.step is None or b.step is None else a.step + sign * b.step
    return Stride(step, min(a.zeros, b.zeros))


def _product(operands: list[Operand], strides: list[Stride], modifiers: tuple[str, ...]) -> Stride | None:
    a, b = strides[:2]
    zeros = min(a.zeros + b.zeros, _ALIGNED)
    if a.step == 0 and b.step == 0:
        return Stride(0, zeros)
    factor = operands[1]
    if a.step is None or not isinstance(factor, Immediate):
        return None
    bits = TYPES[modifiers[-1]][1]
    value = factor.value & ((1 << bits) - 1)
    if (TYPES[modifiers[-1]][2] or modifiers[0] == "lo") and value >> (bits - 1):
        value -= 1 << bits
    return Stride(a.step * value, zeros)


def _shifted(opcode: str, a: Stride, by: int, bits: int) -> Stride | None:
    if a.step is None or not 0 <= by < bits:
        return None
    if opcode == "shl":
        return Stride(a.step << by, min(a.zeros + by, _ALIGNED))
    zeros = max(a.zeros - by, 0)
    if a.step == 0:
        return Stride(0, zeros)
    return _steps([step >> by for step in _inside(a)], zeros)


def _inside(a: Stride) -> list[int]:
    """What is added to the first thread's number, where that reaches its low zeros only; else nothing."""
    if not a.step or a.step < 0 or (LANES - 1) * a.step >> a.zeros:
        return []
    return [a.step * lane for lane in range(LANES)]


def _steps(values: list[int], zeros: int) -> Stride | None:
    if not values:
        return None
    steps = {after - before for before, after in pairwise(values)}
    return Stride(steps.pop(), zeros) if len(steps) == 1 else None


def _logic(opcode: str, operands: list[Operand], strides: list[Stride]) -> Stride | None:
    a, b = strides
    if a.step == 0 and b.step == 0:
        together = max(a.zeros, b.zeros) if opcode == "and" else min(a.zeros, b.zeros)
        return Stride(0, together)
    if a.step == 0:
        a, b, operands = b, a, operands[::-1]
    if b.step != 0:
        return None
    constant = operands[1]
    # If a number is not known, its zeros are.
    stride = Stride(a.step, a.zeros if isinstance(constant, Immediate) else min(a.zeros, b.zeros))
    added = _inside(stride)
    low = constant.value & ((1 << stride.zeros) - 1) if isinstance(constant, Immediate) else 0
    if opcode == "and":
        return _steps([step & low for step in added], max(a.zeros, b.zeros))
    if opcode == "or":
        return _steps([step | low for step in added], min(a.zeros, b.zeros))
    return _steps([step ^ low for step in added], min(a.zeros, b.zeros))


_MOST_RESULTS = 4
TEMPORARIES = " ".join(f"(local $v{n} v128) (local $w{n} v128)" for n in range(_MOST_RESULTS))


class Quad(Body):
    """Writes what four threads compute; `access` is how they load and store."""

    def __init__(self, kernel: Kernel, loose: set[int], strides: Mapping[int, Stride]) -> None:
        super().__init__(kernel, loose, frozenset())
        self.strides = strides
        self._lane: int | None = None
        self._results: list[int] = []

    # -- registers ---------------------------------------------------------------------

    def step(self, index: int) -> int | None:
        """From one thread's number to the next's, where it is known and the first one's is in a local."""
        return None if self.registers[index].type == "f32" else self.strides[index].step

    def parts(self, index: int) -> list[str]:
        """The locals of a register that is in vectors: one, or two of two threads each; none where it is in steps."""
        if self.step(index) is not None:
            return []
        if local_type(self.registers[index]) in ("i64", "f64"):
            return [f"$r{index}a", f"$r{index}b"]
        return [f"$r{index}"]

    def local(self, index: int) -> str:
        names = self.parts(index)
        if not names:
            return f"(local $r{index} {local_type(self.registers[index])})"
        return " ".join(f"(local {name} v128)" for name in names)

    def of_lane(self, index: int, lane: int) -> str:
        """One thread's value of a register, as its local in generated code of one thread has it."""
        self.read.add(index)
        kind = local_type(self.registers[index])
        names, step = self.parts(index), self.step(index)
        if step is not None:
            value = f"(local.get $r{index})"
            return f"({kind}.add {value} ({kind}.const {step * lane}))" if step * lane else value
        shape = {"i32": "i32x4", "f32": "f32x4", "i64": "i64x2", "f64": "f64x2"}[kind]
        if len(names) == 1:
            value = f"({shape}.extract_lane {lane} (local.get {names[0]}))"
            return f"(i32.and {value} (i32.const 1))" if self.registers[index].type == "pred" else value
        return f"({shape}.extract_lane {lane & 1} (local.get {names[lane >> 1]}))"

    def to_all(self, index: int, expression: str) -> str:
        """Set a register to what the first thread's is, by an expression of that: of all, or in steps."""
        self.set.add(index)
        kind, names = local_type(self.registers[index]), self.parts(index)
        if not names:
            return f"(local.set $r{index} {expression})"
        if self.registers[index].type == "pred":
            expression = f"(i32.sub (i32.const 0) {expression})"
        if kind == "f32" and expression.startswith("(f32.load "):
            return f"(local.set {names[0]} {expression.replace('(f32.load ', '(v128.load32_splat ', 1)})"
        if len(names) == 1:
            return f"(local.set {names[0]} ({kind}x4.splat {expression}))"
        return f"(local.set {names[0]} ({kind}x2.splat {expression})) (local.set {names[1]} (local.get {names[0]}))"

    def _read_index(self, index: int) -> str:
        return self.of_lane(index, self._lane or 0)

    def _set(self, index: int, expression: str) -> None:
        if index in self._loose:
            expression = with_any_nan(expression)
        if self._lane is None:
            self._lines.append(self.to_all(index, expression))
            return
        kind, names = local_type(self.registers[index]), self.parts(index)
        if not names:
            raise Unfit("numbers in steps that are computed one by one")
        if index not in self._results:
            self._results.append(index)
        number = self._results.index(index)
        if number >= _MOST_RESULTS:
            raise Unfit("more results than temporary vectors")
        if self.registers[index].type == "pred":
            expression = f"(i32.sub (i32.const 0) {expression})"
        shape = f"{kind}x4" if len(names) == 1 else f"{kind}x2"
        temporary = f"${'v' if len(names) == 1 or self._lane < 2 else 'w'}{number}"
        lane = self._lane if len(names) == 1 else self._lane & 1
        self._lines.append(
            f"(local.set {temporary} ({shape}.replace_lane {lane} (local.get {temporary}) {expression}))"
        )

    def _raw(self, operand: Operand, size_bits: int) -> tuple[str, str]:
        expression, kind = super()._raw(operand, size_bits)
        if isinstance(operand, Special) and self._lane:
            step = stride_of(operand, self.strides).step
            if step:
                expression = f"(i32.add {expression} (i32.const {step * self._lane}))"
        return expression, kind

    # -- vectors of operands -----------------------------------------------------------

    def of_all(self, operand: Operand) -> str | None:
        """A vector of an operand's four numbers of four bytes, or masks; None where there is none."""
        if isinstance(operand, Immediate):
            return f"(v128.const i32x4{f' {operand.value & 0xFFFFFFFF}' * LANES})"
        if isinstance(operand, Negated):
            value = self.of_all(operand.register)
            return None if value is None else f"(v128.not {value})"
        if isinstance(operand, Special):
            return self._in_steps(self._raw(operand, 32)[0], stride_of(operand, self.strides).step or 0)
        if not isinstance(operand, Register) or local_type(operand) not in ("i32", "f32"):
            return None
        self.read.add(operand.index)
        names = self.parts(operand.index)
        if not names:
            value = f"(local.get $r{operand.index})"
            if operand.type == "pred":
                return f"(i32x4.splat (i32.sub (i32.const 0) {value}))"
            return self._in_steps(value, self.strides[operand.index].step or 0)
        value = f"(local.get {names[0]})"
        if operand.index in self._loose and not self._is_arithmetic:
            value = canonical_vector(value)
        return value

    @staticmethod
    def _in_steps(first: str, step: int) -> str:
        value = f"(i32x4.splat {first})"
        if not step:
            return value
        steps = " ".join(str(step * lane & 0xFFFFFFFF) for lane in range(LANES))
        return f"(i32x4.add {value} (v128.const i32x4 {steps}))"

    def of_pairs(self, operand: Operand) -> tuple[str, str] | None:
        """Two vectors of an operand's four numbers of eight bytes; None where there are none."""
        if isinstance(operand, Immediate):
            value = f"(i64x2.splat (i64.const {operand.value & ((1 << 64) - 1)}))"
            return value, value
        if not isinstance(operand, Register) or local_type(operand) not in ("i64", "f64"):
            return None
        self.read.add(operand.index)
        names = self.parts(operand.index)
        if names:
            return f"(local.get {names[0]})", f"(local.get {names[1]})"
        have, step = local_type(operand), self.strides[operand.index].step or 0
        value = f"({have}x2.splat (local.get $r{operand.index}))"
        if not step:
            return value, value
        first, second = (
            f"(i64x2.add {value} (v128.const i64x2 {a * step} {(a + 1) * step}))" for a in range(0, LANES, 2)
        )
        return first, second

    # -- instructions ------------------------------------------------------------------

    def _write_instruction(self, instruction: Instruction) -> None:
        if instruction.opcode in ("ld", "ldu", "st"):
            self._transfer(instruction)
            return
        results = destinations(instruction)
        if instruction.opcode not in ("atom", "red", "cp"):
            if any(self.parts(register.index) for register in results) and self._as_vectors(instruction):
                return
            # What is the same of all, or in steps, follows from the first thread's.
            stepless = all(self._is_same(register) for register in sources(instruction))
            if all(not self.parts(register.index) for register in results) or (
                stepless and not any(isinstance(o, Special) and stride_of(o, {}).step for o in instruction.operands)
            ):
                self._alone(instruction)
                return
        for lane in self.each_lane():
            self._alone(instruction, lane)

    def _is_same(self, register: Register) -> bool:
        return self.strides[register.index].step == 0

    def _alone(self, instruction: Instruction, lane: int = 0) -> None:
        start = len(self._lines)
        super()._write_instruction(instruction)
        self.move_to_lane(start, lane)

    def move_to_lane(self, start: int, lane: int) -> None:
        """Have the lines from one on speak of another thread than the first."""
        if lane:
            here = f"(i32.add (local.get $lane) (i32.const {lane}))"
            self._lines[start:] = [line.replace("(local.get $lane)", here) for line in self._lines[start:]]

    def each_lane(self) -> Iterator[int]:
        """Go through the threads: what is set meanwhile is set of that thread's, and of all in the end."""
        self._results = []
        for lane in range(LANES):
            self._lane = lane
            yield lane
        self._lane = None
        for number, index in enumerate(self._results):
            self.set.add(index)
            for name, temporary in zip(self.parts(index), "vw", strict=False):
                self._lines.append(f"(local.set {name} (local.get ${temporary}{number}))")

    def note(self, line: str) -> None:
        """Write a line that what follows needs."""
        self._lines.append(line)

    def _as_vectors(self, instruction: Instruction) -> bool:
        """Write an instruction as one of vectors, if it is one."""
        target = instruction.operands[0]
        second: Operand | None = None
        if isinstance(target, Vector) and instruction.opcode == "setp" and len(instruction.modifiers) == 2:
            target, second = target.elements
        if not isinstance(target, Register) or (isinstance(second, Register) and not self.parts(second.index)):
            return False
        names = self.parts(target.index)
        self._is_arithmetic = is_arithmetic(instruction)
        values = vector_of(instruction, self) if names else None
        self._is_arithmetic = False
        if values is None or len(names) != len(values):
            return False
        if is_arithmetic(instruction) and target.type == "f32" and target.index not in self._loose:
            self.note(f"(local.set $tv {values[0]})")
            values = [canonical_vector("(local.get $tv)")]
        # A target may be a source.
        for number, value in enumerate(values[1:]):
            self.note(f"(local.set $w{number} {value})")
        self.note(f"(local.set {names[0]} {values[0]})")
        for number, name in enumerate(names[1:]):
            self.note(f"(local.set {name} (local.get $w{number}))")
        self.set.add(target.index)
        if isinstance(second, Register):
            self.set.add(second.index)
            self.note(f"(local.set {self.parts(second.index)[0]} (v128.not (local.get {names[0]})))")
        return True
