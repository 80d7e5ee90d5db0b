"""What becomes of the values that a function loads, by following registers without regard to order."""

from __future__ import annotations

from collections import defaultdict

from grader.ptx.analysis.liveness import destinations, sources
from grader.ptx.frontend.nodes import Function, Instruction, Register, Vector


class DefUse:
    """DefUse of a function's registers.

    compared: registers whose value, moved at most, is what an `atom.cas` compares with.  A read behind such a value may
    be out of date and no harm done, as the comparison would tell:

        int old = *p, seen;
        do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);

    computed: registers whose value is used for more than being stored as it is.  read: those that are used at all.
    """

    def __init__(self, function: Function) -> None:
        moves: dict[int, list[int]] = defaultdict(list)
        pending: list[int] = []
        self.computed: set[int] = set()
        self.read: set[int] = set()
        for item in function.body:
            if not isinstance(item, Instruction):
                continue
            opcode = item.opcode
            if opcode == "mov" and isinstance(item.operands[0], Register) and isinstance(item.operands[1], Register):
                moves[item.operands[0].index].append(item.operands[1].index)
            if opcode == "atom" and "cas" in item.modifiers and isinstance(item.operands[2], Register):
                pending.append(item.operands[2].index)
            used = {register.index for register in sources(item)}
            self.read |= used
            if opcode == "st":
                value = item.operands[1]
                stored = value.elements if isinstance(value, Vector) else (value,)
                used -= {element.index for element in stored if isinstance(element, Register)}
            self.computed |= used
        self.compared: set[int] = set()
        while pending:
            index = pending.pop()
            if index not in self.compared:
                self.compared.add(index)
                pending += moves[index]

    def is_copy(self, load: Instruction) -> bool:
        """Whether what a load fetches is stored elsewhere as it is, and nothing else."""
        return self.computed.isdisjoint(register.index for register in destinations(load))

    def is_compared(self, load: Instruction) -> bool:
        """Whether a compare-and-swap tells when what a load fetches is out of date."""
        return not self.compared.isdisjoint(register.index for register in destinations(load))

    def is_looked_at(self, load: Instruction) -> bool:
        """Whether anything is done with what a load or an atomic brings."""
        return not self.read.isdisjoint(register.index for register in destinations(load))
