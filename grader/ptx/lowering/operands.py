"""How a step gets at its operands."""

from __future__ import annotations

from typing import Any

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Symbol
from grader.ptx.machine import special
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.groups import Group
from grader.ptx.values.kinds import Vec


def refuse(instruction: Instruction, reason: str) -> Step:
    """A step that says, when it is reached, that the emulator cannot execute the instruction."""

    def step(group: Group) -> None:
        raise UnsupportedInstruction(instruction.text, instruction.location.line, reason)

    return step


def getter(code: Code, operand: Operand, size: int = 8) -> Getter:
    """A function group → value for a source operand; immediates are cut to `size` bytes."""
    if isinstance(operand, Register):
        index = operand.index
        return lambda group: group.registers[index]
    if isinstance(operand, Immediate):
        value = bool(operand.value) if size == 0 else operand.value & ((1 << 8 * size) - 1)
        return lambda group: value
    if isinstance(operand, Special):
        name = operand.name
        if not special.is_known(name):
            raise UnsupportedInstruction(f"%{name}", reason=f"special register %{name}")
        return lambda group: special.read(group, name)
    if isinstance(operand, Symbol):
        return symbol_getter(code, operand.name, operand.offset)
    if isinstance(operand, Negated):
        index = operand.register.index

        def negated(group: Group) -> Any:
            value = group.registers[index]
            return Vec(~value.array, value.lanes) if isinstance(value, Vec) else not value

        return negated
    raise UnsupportedInstruction(str(operand), reason="operand")


def symbol_getter(code: Code, name: str, offset: int) -> Getter:
    """The address of a variable or function; local and `.param` variables have one in every activation."""
    address = code.program.addresses.get(name)
    if address is not None:
        total = address + offset
        return lambda group: total
    if code.program.space_of(name) in ("global", "const"):
        return lambda group: group.batch.addresses[name] + offset
    return lambda group: group.frames[-1].symbols[name] + offset
