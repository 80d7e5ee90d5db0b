"""What threads have executed, by source line: instructions, lanes that stood idle beside them, additions of data, and
what of the machine was used.

All of it follows from how often each basic block was executed, by how many threads and in how many warps, which both
engines count.  An addition of data is an `add`, `sub`, `fma`, `mad` or an atomic or warp-wide addition whose result may
be stored, exchanged or added to memory: what addresses and loops are counted with is none.  It is told by the backward
slice of what is stored, without regard to order (see `dataflow`), in which predicates, and so what a value is chosen
by, do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from grader.ptx.dataflow import destinations, sources, writers_of
from grader.ptx.frontend.nodes import Function, Instruction, Register, Vector
from grader.ptx.isa.instructions import facts, is_barrier
from grader.ptx.machine.code import Code
from grader.ptx.records import LineWork

_ADDING = frozenset({"add", "sub", "fma", "mad"})
_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
_PAIRS = frozenset({"f16x2", "bf16x2"})
_SHUFFLES = frozenset({"shfl", "redux"})
_VOTES = frozenset({"vote", "match", "activemask", "elect"})


@dataclass(frozen=True, slots=True)
class _Share:
    """What one execution of a block does at one source line; weighty: instructions other than jumps and returns."""

    file: str
    line: int
    instructions: int
    weighty: int
    additions: int
    uses: tuple[tuple[str, int], ...]


def work_of(codes: Iterable[Code]) -> list[LineWork]:
    """What was executed of these functions since their blocks' counts were cleared, by line."""
    rows: dict[tuple[str, int], LineWork] = {}
    for code in codes:
        for block, shares in zip(code.blocks, _shares(code), strict=True):
            if not block.executions:
                continue
            for share in shares:
                row = rows.get((share.file, share.line))
                if row is None:
                    row = rows[share.file, share.line] = LineWork(share.line, file=share.file)
                row.instructions += share.instructions * block.executions
                row.executed += share.weighty * block.executions
                row.places += share.weighty * block.places
                row.additions += share.additions * block.executions
                for name, times in share.uses:
                    row.uses[name] = row.uses.get(name, 0) + times * block.executions
    return sorted(rows.values(), key=lambda row: (row.line, row.file))


def _shares(code: Code) -> list[tuple[_Share, ...]]:
    kept: dict[str, list[tuple[_Share, ...]]] = code.program.module.derived.setdefault("work", {})
    if code.name not in kept:
        data = _data_registers(code.function)
        kept[code.name] = [_of_block(block.instructions, data) for block in code.blocks]
    return kept[code.name]


def _of_block(instructions: Iterable[Instruction], data: frozenset[int]) -> tuple[_Share, ...]:
    by_line: dict[tuple[str, int], list[Instruction]] = defaultdict(list)
    for instruction in instructions:
        by_line[instruction.location.file, instruction.location.line].append(instruction)
    shares = []
    for (file, line), here in by_line.items():
        uses: dict[str, int] = defaultdict(int)
        for instruction in here:
            for name in uses_of(instruction):
                uses[name] += 1
        shares.append(
            _Share(
                file,
                line,
                len(here),
                # Threads that leave or jump do so one by one: nobody waits for them.
                sum(not facts(i.opcode).idle for i in here),
                sum(_additions(i, data) for i in here),
                tuple(uses.items()),
            )
        )
    return tuple(shares)


def uses_of(instruction: Instruction) -> list[str]:
    """What of the machine an instruction uses, by the names of `grader.ptx.records.LineWork.uses`."""
    opcode = instruction.opcode
    spaces = {modifier.split("::")[0] for modifier in instruction.modifiers}
    opcode_facts = facts(opcode)
    uses = []
    if "shared" in spaces and opcode_facts.memory:
        uses.append("shared")
    if "const" in spaces and opcode_facts.memory == "load":
        uses.append("constant")
    if opcode in ("atom", "red"):
        uses.append("atomics")
        if not spaces.isdisjoint(_FLOATS):
            uses.append("float_atomics")
    if opcode in _SHUFFLES:
        uses.append("shuffles")
    if opcode in _VOTES:
        uses.append("votes")
    if is_barrier(opcode) and "warp" not in spaces:
        uses.append("barriers")
    if opcode_facts.memory == "fence":
        uses.append("fences")
    if opcode_facts.memory in ("texture", "surface"):
        uses.append("textures")
    if opcode in ("wmma", "mma"):
        uses.append("tensor_cores")
    return uses


def _additions(instruction: Instruction, data: frozenset[int]) -> int:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("atom", "red", "redux"):
        return int("add" in modifiers)
    if opcode not in _ADDING or data.isdisjoint(register.index for register in destinations(instruction)):
        return 0
    return 1 if _PAIRS.isdisjoint(modifiers) else 2


def _data_registers(function: Function) -> frozenset[int]:
    """Return registers that may hold what is stored, exchanged or handed to an atomic, or what that is made from."""
    writers = writers_of(function)
    pending: list[int] = []
    for item in function.body:
        if not isinstance(item, Instruction):
            continue
        opcode_facts = facts(item.opcode)
        if item.opcode == "st":
            pending += _indices(item.operands[1:2])
        elif item.opcode in ("atom", "red"):
            # The first operand that is no result is the address.
            pending += _indices(item.operands[2 if item.opcode == "atom" else 1 :])
        elif opcode_facts.exchanges and not opcode_facts.fragments:
            pending += _indices(item.operands[1:2])
    indices: set[int] = set()
    while pending:
        index = pending.pop()
        if index in indices:
            continue
        indices.add(index)
        for writer in writers[index]:
            # What comes from memory is data whatever it was found by; what the warp exchanges is listed already.
            if not facts(writer.opcode).memory and not facts(writer.opcode).exchanges:
                pending += [register.index for register in sources(writer) if register.type != "pred"]
    return frozenset(indices)


def _indices(operands: Iterable[object]) -> list[int]:
    indices = []
    for operand in operands:
        elements = operand.elements if isinstance(operand, Vector) else (operand,)
        indices += [element.index for element in elements if isinstance(element, Register) and element.type != "pred"]
    return indices
