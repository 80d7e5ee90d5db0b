"""Which registers an instruction reads and writes, and which are live where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.ptx.frontend.nodes import Address, Instruction, Negated, Operand, Register, Vector
from grader.ptx.isa.opcodes import facts, is_barrier


def _registers(operand: Operand) -> tuple[Register, ...]:
    if type(operand) is Register:
        return (operand,)
    if type(operand) is Address:
        return (operand.base,) if type(operand.base) is Register else ()
    if type(operand) is Vector:
        return tuple(register for element in operand.elements for register in _registers(element))
    if type(operand) is Negated:
        return (operand.register,)
    return ()


def _writes_first(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if is_barrier(opcode):
        return "red" in instruction.modifiers
    return facts(opcode).writes_first and bool(instruction.operands) and type(instruction.operands[0]) is not Address


def destinations(instruction: Instruction) -> tuple[Register, ...]:
    """The registers that an instruction writes: its first operand's, both of `p|q`, none of stores and branches.

    What a call returns lies in `.param` variables, so only returns that name registers count.  The carry flag of
    `.cc` instructions is no register and is not listed.
    """
    operands = instruction.operands
    if _writes_first(instruction) or (instruction.opcode == "call" and operands):
        return _registers(operands[0])
    return ()


def sources(instruction: Instruction) -> tuple[Register, ...]:
    """The registers that an instruction reads, its guard and the bases of addresses among them."""
    operands = instruction.operands
    skip = 1 if instruction.opcode == "call" or _writes_first(instruction) else 0
    found: list[Register] = []
    for operand in operands[skip:]:
        if type(operand) is Register:
            found.append(operand)
        else:
            found.extend(_registers(operand))
    if instruction.guard is not None:
        found.append(instruction.guard.register)
    return tuple(found)


def live_at_entry(
    blocks: Sequence[Iterable[Instruction]], successors: Sequence[Sequence[int]]
) -> tuple[frozenset[int], ...]:
    """Indices of the registers whose value at each block's entry may still be read.

    Backward data flow to a fixed point; sets are bit masks while it runs.  Blocks in an order close to reverse
    post-order converge fastest; any order gives the same result.
    """
    used: list[int] = []
    defined: list[int] = []
    for block in blocks:
        uses = defines = 0
        for instruction in block:
            for register in sources(instruction):
                uses |= 1 << register.index & ~defines
            for register in destinations(instruction):
                defines |= 1 << register.index
        used.append(uses)
        defined.append(defines)
    live = list(used)
    changed = True
    while changed:
        changed = False
        for block_index in range(len(live) - 1, -1, -1):
            leaving = 0
            for successor in successors[block_index]:
                leaving |= live[successor]
            entering = used[block_index] | (leaving & ~defined[block_index])
            if entering != live[block_index]:
                live[block_index] = entering
                changed = True
    return tuple(frozenset(_bits(mask)) for mask in live)


def _bits(mask: int) -> list[int]:
    bits: list[int] = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest.bit_length() - 1)
        mask ^= lowest
    return bits
