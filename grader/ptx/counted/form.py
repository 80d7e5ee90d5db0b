"""Which blocks are loops that can be carried out at once, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from grader.ptx.analysis.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Register
from grader.ptx.isa.opcodes import facts
from grader.ptx.lowering.data_movement import load_spec
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.memory.access import AccessSpec

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
    known = ARITHMETIC.get((instruction.opcode, *instruction.modifiers))
    if known is None:
        return None
    operation, kind = known
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
