"""What a register holds in four neighbouring threads of a row that go together: numbers in equal steps, or any.

Most of what a kernel computes addresses and bounds of is the same for such threads, or goes up by the same step from
one to the next (Collange, Defour, Zhang, Dynamic detection of uniform and affine vectors, 2009); here that is found
in the text.  `x & 15` and `x >> 4` keep it, as the first of four threads has a coordinate that four divides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Negated, Operand, Register, Special, Symbol
from grader.ptx.isa.instructions import facts
from grader.ptx.machine.code import Code
from grader.ptx.native.layout import TYPES

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
