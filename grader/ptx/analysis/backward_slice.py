"""Which loads a stored value is made from, by following registers backwards through a function.

The data flow is taken without regard to order: every instruction that writes a register counts for every one that
reads it.  NVRTC gives nearly every value a register of its own, so little is lost by that.
"""

from __future__ import annotations

from collections import defaultdict

from grader.ptx.analysis.liveness import destinations, sources
from grader.ptx.frontend.nodes import Address, Function, Instruction, Register, Symbol, Vector
from grader.ptx.isa.opcodes import facts

_OWN = frozenset({"param", "const"})


class BackwardSlice:
    """The loads that may feed the values stored in a function.

    by_load: for each such load the elements of it that count (0 for plain ones).
    complete: False when the value also comes through local memory or a call, where registers do not tell.
    exchanged: the value also comes from other lanes of the warp.
    """

    __slots__ = ("by_load", "complete", "exchanged")

    def __init__(self) -> None:
        self.by_load: dict[Instruction, set[int]] = defaultdict(set)
        self.complete = True
        self.exchanged = False

    @classmethod
    def of_anything(cls) -> BackwardSlice:
        """That of a value which a whole warp has made together: all that any lane has loaded may be in it."""
        found = cls()
        found.complete, found.exchanged = False, True
        return found


def backward_slice(function: Function, store: Instruction, element: int = 0) -> BackwardSlice:
    """What feeds the `element`-th value that `store` (a store, `red` or `atom` of `function`) writes."""
    writers: dict[int, list[Instruction]] = defaultdict(list)
    for item in function.body:
        if isinstance(item, Instruction):
            for register in destinations(item):
                writers[register.index].append(item)
    found = BackwardSlice()
    values = store.operands[-1:] if store.opcode == "st" else store.operands[1:]
    pending: list[int] = []
    for operand in values:
        if isinstance(operand, Vector):
            operand = operand.elements[element]
        if isinstance(operand, Register):
            pending.append(operand.index)
    seen: set[int] = set()
    while pending:
        register_index = pending.pop()
        if register_index in seen:
            continue
        seen.add(register_index)
        for writer in writers[register_index]:
            _follow(function, writer, register_index, found, pending)
    return found


def _follow(
    function: Function, writer: Instruction, register_index: int, found: BackwardSlice, pending: list[int]
) -> None:
    opcode = writer.opcode
    if facts(opcode).memory in ("load", "atomic"):
        spaces = {modifier.split("::")[0] for modifier in writer.modifiers}
        if "local" in spaces:
            found.complete = False
            return
        if spaces & _OWN:
            # A parameter of the kernel is no element of anything; what a called function returns is unknown here.
            found.complete &= not _is_call_result(function, writer)
            return
        found.by_load[writer].add(_element(writer, register_index))
    elif opcode == "call":
        found.complete = False
    elif facts(opcode).exchanges:
        found.exchanged = True
    pending.extend(register.index for register in sources(writer))


def _element(load: Instruction, register_index: int) -> int:
    target = load.operands[0]
    if isinstance(target, Vector):
        for number, register in enumerate(target.elements):
            if isinstance(register, Register) and register.index == register_index:
                return number
    return 0


def _is_call_result(function: Function, load: Instruction) -> bool:
    address = load.operands[1]
    name = address.base.name if isinstance(address, Address) and isinstance(address.base, Symbol) else ""
    return all(parameter.name != name for parameter in function.parameters) if function.is_entry else True
