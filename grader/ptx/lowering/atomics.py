"""Atomic operations: `atom` and `red` (PTX ISA, "Parallel Synchronization and Communication Instructions")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Sink, Vector
from grader.ptx.lowering.data_movement import address_getter, settle_space
from grader.ptx.lowering.operands import getter
from grader.ptx.machine import load_store
from grader.ptx.machine.code import Code, Step
from grader.ptx.machine.groups import Group
from grader.ptx.memory.access import AccessSpec, element_dtype


def _vector_atomic(code: Code, instruction: Instruction, count: int) -> Step:
    """Each element for itself: as a whole the access is not atomic (PTX ISA, atom)."""
    operands = list(instruction.operands)
    targets: Sequence[Operand] = (Sink(),) * count
    if instruction.opcode == "atom":
        target = operands.pop(0)
        targets = target.elements if isinstance(target, Vector) else targets
    where, values, *rest = operands
    if rest or not isinstance(where, Address) or not isinstance(values, Vector):
        raise UnsupportedInstruction(instruction.text)
    if {len(targets), len(values.elements)} != {count}:
        raise UnsupportedInstruction(instruction.text, reason=f"{len(values.elements)} values for {count}")
    modifiers = tuple(modifier for modifier in instruction.modifiers if modifier != f"v{count}")
    dtype = element_dtype(modifiers[-1])
    if dtype is None:
        raise UnsupportedInstruction(instruction.text)
    steps = []
    for element, (target, value) in enumerate(zip(targets, values.elements, strict=True)):
        place = replace(where, offset=where.offset + element * dtype.itemsize)
        own = replace(instruction, opcode="atom", modifiers=modifiers, operands=(target, place, value))
        steps.append(_atomic(code, own))

    def step(group: Group) -> None:
        for one in steps:
            one(group)

    return step


def _atomic(code: Code, instruction: Instruction) -> Step:
    count = next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    if count > 1:
        return _vector_atomic(code, instruction, count)
    spec = AccessSpec(instruction, "atomic")
    operands = list(instruction.operands)
    target = operands.pop(0) if instruction.opcode == "atom" else Sink()
    settle_space(code, operands[0], spec)
    address, offset = address_getter(code, operands.pop(0))
    readers = [getter(code, operand, spec.element_bytes) for operand in operands]
    index = target.index if isinstance(target, Register) else None
    size = spec.element_bytes if index is None else code.register_bytes[index]
    spec.looked_at = code.uses.is_looked_at(instruction)
    swap = spec.operation == "cas"
    if len(readers) != 1 + swap:
        raise UnsupportedInstruction(instruction.text, reason="operands")

    def step(group: Group) -> None:
        values = [read(group) for read in readers]
        compare = values[0] if swap else None
        old = load_store.atomic(group, spec, address(group), offset, values[-1], compare, size)
        if index is not None:
            group.registers[index] = old

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {"atom": _atomic, "red": _atomic}
