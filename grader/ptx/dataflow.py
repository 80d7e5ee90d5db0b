"""The flow of data through a function: what instructions read and write, which registers are live, where values go.

Uses and backward slices are taken without regard to order: every instruction that writes a register counts for every
one that reads it.  NVRTC gives nearly every value a register of its own, so little is lost by that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from grader.ptx.frontend.nodes import Address, Function, Instruction, Negated, Operand, Register, Symbol, Vector
from grader.ptx.isa.instructions import facts, is_arithmetic, is_barrier


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
    registers: list[Register] = []
    for operand in operands[skip:]:
        if type(operand) is Register:
            registers.append(operand)
        else:
            registers.extend(_registers(operand))
    if instruction.guard is not None:
        registers.append(instruction.guard.register)
    return tuple(registers)


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


class DefUse:
    """The uses of a function's registers.

    compared: registers whose value, moved at most, is what an `atom.cas` compares with.  A read behind such a value may
    be out of date and no harm done, as the comparison would tell:

        int old = *p, seen;
        do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);

    computed: registers whose value is used for more than being stored as it is.  read: those that are used at all.
    needed: those that are used for more than being one of two values to choose from.
    """

    def __init__(self, function: Function) -> None:
        moves: dict[int, list[int]] = defaultdict(list)
        pending: list[int] = []
        self.computed: set[int] = set()
        self.read: set[int] = set()
        self.needed: set[int] = set()
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
            choice = item.operands[3] if opcode == "selp" else None
            self.needed |= {choice.index} if isinstance(choice, Register) else used
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
        """Whether a compare-and-swap notices when the value of a load is out of date."""
        return not self.compared.isdisjoint(register.index for register in destinations(load))

    def may_be_dropped(self, load: Instruction) -> bool:
        """Whether a compiler may have moved a load out of one branch of `?:`, as it does of a variable at its place."""
        address = load.operands[1]
        is_variable = isinstance(address, Address) and isinstance(address.base, Symbol)
        return is_variable and self.needed.isdisjoint(register.index for register in destinations(load))

    def is_looked_at(self, load: Instruction) -> bool:
        """Whether the result of a load or an atomic is used."""
        return not self.read.isdisjoint(register.index for register in destinations(load))


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
        """Return the slice of a value that a whole warp has made: it may hold whatever any lane has loaded."""
        anything = cls()
        anything.complete, anything.exchanged = False, True
        return anything


def writers_of(function: Function) -> dict[int, list[Instruction]]:
    """Return by register index the instructions that write a register, in order; an empty list for any other."""
    writers: dict[int, list[Instruction]] = defaultdict(list)
    for item in function.body:
        if isinstance(item, Instruction):
            for register in destinations(item):
                writers[register.index].append(item)
    return writers


def backward_slice(function: Function, store: Instruction, element: int = 0) -> BackwardSlice:
    """What feeds the `element`-th value that `store` (a store, `red` or `atom` of `function`) writes."""
    writers = writers_of(function)
    backward = BackwardSlice()
    values = store.operands[-1:] if store.opcode == "st" else store.operands[1:]
    pending: list[int] = []
    for operand in values:
        if isinstance(operand, Vector):
            operand = operand.elements[element]
        if isinstance(operand, Register):
            pending.append(operand.index)
    visited: set[int] = set()
    while pending:
        register_index = pending.pop()
        if register_index in visited:
            continue
        visited.add(register_index)
        for writer in writers[register_index]:
            _follow(function, writer, register_index, backward, pending)
    return backward


def _follow(
    function: Function, writer: Instruction, register_index: int, backward: BackwardSlice, pending: list[int]
) -> None:
    opcode = writer.opcode
    if facts(opcode).memory in ("load", "atomic"):
        spaces = {modifier.split("::")[0] for modifier in writer.modifiers}
        if "local" in spaces:
            backward.complete = False
            return
        if spaces & _OWN:
            # A parameter of the kernel is no element of anything; what a called function returns is unknown here.
            backward.complete &= not _is_call_result(function, writer)
            return
        backward.by_load[writer].add(_element(writer, register_index))
    elif opcode == "call":
        backward.complete = False
    elif facts(opcode).exchanges:
        backward.exchanged = True
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


def data_decide(function: Function) -> bool:
    """Whether values in memory decide where a function's accesses go, or which of its instructions are carried out.

    Values of arguments and constant memory are no data: they are the same for every thread.  What a call returns is.
    """
    body = [item for item in function.body if isinstance(item, Instruction)]
    own = {parameter.name for parameter in function.parameters}
    data: set[int] = set()
    grew = True
    while grew:
        before = len(data)
        for item in body:
            if _brings_data(item, own) or any(register.index in data for register in sources(item)):
                data.update(register.index for register in destinations(item))
        grew = len(data) > before
    return any(_is_decided(item, data) for item in body)


def _brings_data(instruction: Instruction, parameters: set[str]) -> bool:
    if "param" in instruction.modifiers:
        address = next((o for o in instruction.operands if type(o) is Address), None)
        base = address.base if address is not None else None
        return instruction.opcode == "ld" and not (isinstance(base, Symbol) and base.name in parameters)
    return "const" not in instruction.modifiers and facts(instruction.opcode).memory in ("load", "atomic", "texture")


def _is_decided(instruction: Instruction, data: set[int]) -> bool:
    fact = facts(instruction.opcode)
    guard = instruction.guard
    if guard is not None and guard.register.index in data and (fact.memory or fact.ends):
        return True
    addressed = [o.base for o in instruction.operands if type(o) is Address and type(o.base) is Register]
    branches = instruction.operands if instruction.opcode == "brx" else ()
    return any(o.index in data for o in (*addressed, *branches) if isinstance(o, Register))


def decisive_registers(blocks: Sequence[Iterable[Instruction]], is_entry: bool) -> frozenset[int] | None:
    """Indices of the registers whose values decide where accesses go and which instructions are carried out; None where
    all are taken to.

    blocks: of a function.  is_entry: whether it is a kernel.
    """
    body = [instruction for block in blocks for instruction in block]
    if not is_entry or any(instruction.opcode == "call" for instruction in body):
        return None
    registers: set[int] = set()
    values: set[int] = set()
    for item in body:
        moved = moved_operand(item)
        if moved is None:
            if not _only_computes(item):
                registers |= {register.index for register in sources(item)}
            continue
        others = [operand for place, operand in enumerate(item.operands) if place != moved]
        registers |= {register.index for operand in others for register in _registers(operand)}
        if item.opcode == "st":
            values |= {register.index for register in _registers(item.operands[moved])}
    _add_sources(registers, body)
    if any(_reads_memory(item) and _decides(item, registers) for item in body):
        # What is loaded was stored before, and so was what an atomic operation or a warp finds.
        registers |= values
        _add_sources(registers, body)
    return frozenset(registers)


def moved_operand(instruction: Instruction) -> int | None:
    """Which operand of a load or store of data is what is moved; None for any other instruction."""
    if instruction.opcode not in ("ld", "st") or not _OWN.isdisjoint(m.split("::")[0] for m in instruction.modifiers):
        return None
    return 0 if instruction.opcode == "ld" else 1


def is_idle_for(instruction: Instruction, decisive: frozenset[int]) -> bool:
    """Whether an instruction does nothing but compute values that are not among the decisive ones."""
    return _only_computes(instruction) and decisive.isdisjoint(r.index for r in destinations(instruction))


def _only_computes(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    passes_carry = "cc" in instruction.modifiers or opcode in ("addc", "subc", "madc")
    return (opcode == "mov" or is_arithmetic(opcode)) and not passes_carry


def _reads_memory(instruction: Instruction) -> bool:
    if instruction.opcode == "ld":
        return moved_operand(instruction) == 0
    return facts(instruction.opcode).memory not in ("", "store")


def _decides(instruction: Instruction, registers: set[int]) -> bool:
    return any(register.index in registers for register in destinations(instruction))


def _add_sources(registers: set[int], body: Sequence[Instruction]) -> None:
    """Add the registers that those in `registers` are computed from."""
    before = -1
    while before < len(registers):
        before = len(registers)
        for item in reversed(body):
            if _decides(item, registers):
                registers |= {register.index for register in sources(item)}
