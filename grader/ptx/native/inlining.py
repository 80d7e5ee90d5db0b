"""A kernel with the device functions that it calls in the places of their calls.

The compiler has put most functions there itself.  Those it left (`__noinline__`, large ones, those of another file or
of the library that clang's code is linked with) leave a kernel to the interpreter, unless they are put there too: then
values that are handed over lie in registers, and the whole is one function to generate code of.

What is executed is what the interpreter executes: a call becomes a jump, as does what returns from it, and each block
stands for the block of the function that it is a copy of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from grader.ptx.frontend.nodes import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Label,
    Negated,
    Operand,
    Register,
    Selected,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering.builtins import BUILTINS
from grader.ptx.machine.code import Code, CodeBlock, Linkage, graph_of, type_bytes

MOST_INSTRUCTIONS = 6000
"""Instructions of all functions of a kernel together; with more, compiling takes seconds, and calls remain."""
_ELEMENTS = frozenset({f"{kind}{bits}" for kind in "usb" for bits in (8, 16, 32, 64)} | {"f32", "f64"})


@dataclass
class Inlined:
    """A kernel's code, and of each of its blocks the one that is executed with it, as the interpreter has it."""

    code: Code
    origins: list[CodeBlock]


def inlined(code: Code) -> Inlined:
    """Return a kernel with what it calls put in place, made at first use; as it is where it calls nothing."""
    derived: dict[str, Inlined] = code.program.module.derived.setdefault("inlined", {})
    if code.name not in derived:
        expansion = _Expansion(code.program)
        try:
            calls = any(_callee(block, code.program) is not None for block in code.blocks)
            derived[code.name] = expansion.of(code) if calls else Inlined(code, code.blocks)
        except (_TooLarge, UnsupportedInstruction):
            derived[code.name] = Inlined(code, code.blocks)
    return derived[code.name]


class _TooLarge(Exception):
    """The whole would have too many instructions."""


def _callee(block: CodeBlock, program: Linkage) -> str | None:
    """Return the function that a block ends with a call of, where it has a body and is named."""
    if not block.instructions or block.last.opcode != "call":
        return None
    returns, target, arguments, *_ = block.last.operands
    if not isinstance(target, Symbol) or target.name in BUILTINS:
        return None
    function = program.module.functions.get(target.name)
    if function is None or not program.has_body(target.name):
        return None
    for handed, declared in ((arguments, function.parameters), (returns, function.returns)):
        if not isinstance(handed, Vector) or len(handed.elements) != len(declared):
            return None
        if not all(isinstance(element, Symbol) for element in handed.elements):
            return None
    return target.name


@dataclass
class _Activation:
    """One expansion of a function.

    names: what its variables and parameters are called in the whole.  registers: by their index in the function.
    """

    code: Code
    names: dict[str, str]
    path: tuple[str, ...]
    registers: dict[int, Register] = field(default_factory=dict)


class _Expansion:
    """Puts functions in the places of their calls.  Raises _TooLarge, UnsupportedInstruction."""

    def __init__(self, program: Linkage) -> None:
        self._program = program
        self._registers: list[Register] = []
        self._next_index = 0
        self._variables: dict[str, Variable] = {}
        self._blocks: list[list[Instruction]] = []
        self._successors: list[tuple[int, ...]] = []
        self._origins: list[CodeBlock] = []
        self._size = 0

    def of(self, code: Code) -> Inlined:
        self._registers = list(code.function.registers)
        self._next_index = 1 + max((register.index for register in self._registers), default=-1)
        kernel = _Activation(code, {}, (code.name,), {r.index: r for r in code.function.registers})
        for variable in code.function.variables:
            self._variables[variable.name] = variable
        self._put(kernel)
        self._hand_over_in_registers()
        function = replace(
            code.function,
            registers=tuple(self._registers),
            variables=tuple(self._variables.values()),
            body=tuple(instruction for block in self._blocks for instruction in block),
        )
        graph, order = graph_of(function, self._blocks, self._successors, self._program.module)
        whole = Code(graph, self._program)
        for block in graph.blocks:
            following = block.successors[-1] if block.successors else -1
            whole.blocks.append(CodeBlock(block.index, block.instructions, following))
        return Inlined(whole, [self._origins[old] for old in order])

    def _put(self, here: _Activation) -> tuple[int, list[int]]:
        """Add the blocks of a function and of those that it calls; (the first one's number, those that return)."""
        blocks, graph = here.code.blocks, here.code.graph.blocks
        first = len(self._blocks)
        self._size += sum(block.size for block in blocks)
        if self._size > MOST_INSTRUCTIONS:
            raise _TooLarge
        for block, node in zip(blocks, graph, strict=True):
            self._blocks.append([self._moved(instruction, here) for instruction in block.instructions])
            self._successors.append(tuple(first + successor for successor in node.successors))
            self._origins.append(block)
        returning = []
        for block, node in zip(blocks, graph, strict=True):
            number = first + block.index
            name = _callee(block, self._program)
            if name is not None and name not in here.path:
                self._enter(here, name, number, first + node.successors[0])
            elif block.instructions and block.last.opcode == "ret":
                returning.append(number)
        return first, returning

    def _enter(self, caller: _Activation, name: str, number: int, resume: int) -> None:
        """Put a function in the place of the call that a block ends with."""
        call = self._blocks[number].pop()
        returns, _, arguments, *_ = call.operands
        assert isinstance(returns, Vector) and isinstance(arguments, Vector)
        code = self._program.code(name)
        function, depth = code.function, len(caller.path)
        names = {}
        for declared, handed in ((function.parameters, arguments), (function.returns, returns)):
            for variable, symbol in zip(declared, handed.elements, strict=True):
                assert isinstance(symbol, Symbol)
                names[variable.name] = symbol.name
        for variable in function.variables:
            if variable.space in ("local", "param"):
                # A thread has one activation of a function at each depth; the next one finds what it left.
                names[variable.name] = f"{variable.name}@{name}@{depth}"
                self._variables[names[variable.name]] = replace(variable, name=names[variable.name])
            else:
                self._variables[variable.name] = variable
        callee = _Activation(code, names, (*caller.path, name))
        # What it reads before it has set it is garbage, and not what the last call left there.
        for index in code.live_in[0]:
            register = self._register(index, callee)
            kind = "pred" if register.type == "pred" else f"b{8 * type_bytes(register.type)}"
            ones = Immediate((1 << max(8 * type_bytes(register.type), 1)) - 1)
            self._blocks[number].append(_made(call, "mov", (kind,), (register, ones)))
        start, returning = self._put(callee)
        self._blocks[number].append(_jump(call, start))
        self._successors[number] = (start,)
        for block in returning:
            self._blocks[block][-1] = _jump(self._blocks[block][-1], resume)
            self._successors[block] = (resume,)

    # -- what is handed over -----------------------------------------------------------

    def _hand_over_in_registers(self) -> None:
        """Turn loads and stores of `.param` variables into moves, where nothing but these goes to them."""
        accesses: dict[str, dict[int, int]] = defaultdict(dict)
        floats: dict[tuple[str, int], set[str]] = defaultdict(set)
        stored: dict[tuple[str, int], set[int]] = defaultdict(set)
        left = {name for name, variable in self._variables.items() if variable.space == "param"}
        for instruction in (instruction for block in self._blocks for instruction in block):
            access = _access_of(instruction)
            if access is None:
                left -= set(_symbols(instruction.operands))
                continue
            name, places, values, width = access
            for place, value in zip(places, values, strict=True):
                widest = accesses[name].setdefault(place, width)
                # What is loaded may be the lower part of what was stored.
                accesses[name][place] = max(widest, width)
                stored[name, place] |= {width} if instruction.opcode == "st" else set()
                floats[name, place].add(value.type if isinstance(value, Register) else "")
        for name, widths in accesses.items():
            places = sorted(widths)
            if any(before + widths[before] > after for before, after in pairwise(places)) or any(
                stored[name, place] - {width} for place, width in widths.items()
            ):
                left.discard(name)
        registers: dict[tuple[str, int], Register] = {}
        for name in sorted(left):
            del self._variables[name]
            for place, width in accesses[name].items():
                kinds = floats[name, place] - {""}
                kind = kinds.pop() if len(kinds) == 1 else ""
                kind = kind if kind in ("f32", "f64") and width == type_bytes(kind) else f"b{max(8 * width, 16)}"
                registers[name, place] = self._new_register(f"{name}+{place}", kind)
        for number, block in enumerate(self._blocks):
            self._blocks[number] = [moved for one in block for moved in _as_moves(one, registers)]

    # -- instructions ------------------------------------------------------------------

    def _moved(self, instruction: Instruction, here: _Activation) -> Instruction:
        """An instruction with the registers and variables of an activation."""
        if len(here.path) == 1:
            return instruction
        guard = instruction.guard
        return replace(
            instruction,
            operands=tuple(self._operand(operand, here) for operand in instruction.operands),
            guard=None if guard is None else Guard(self._register(guard.register.index, here), guard.negated),
        )

    def _register(self, index: int, here: _Activation) -> Register:
        register = here.registers.get(index)
        if register is None:
            own = here.code.function.registers[index]
            register = here.registers[index] = self._new_register(own.name, own.type)
        return register

    def _new_register(self, name: str, kind: str) -> Register:
        register = Register(self._next_index, name, kind)
        self._next_index += 1
        self._registers.append(register)
        return register

    def _operand(self, operand: Operand, here: _Activation) -> Operand:
        if isinstance(operand, Register):
            return self._register(operand.index, here)
        if isinstance(operand, Symbol):
            return replace(operand, name=here.names.get(operand.name, operand.name))
        if isinstance(operand, Address) and operand.base is not None:
            base = self._operand(operand.base, here)
            assert isinstance(base, Register | Symbol)
            return replace(operand, base=base)
        if isinstance(operand, Vector):
            return Vector(tuple(self._operand(element, here) for element in operand.elements))
        if isinstance(operand, Negated):
            return Negated(self._register(operand.register.index, here))
        if isinstance(operand, Selected):
            return Selected(self._register(operand.register.index, here), operand.part)
        return operand


def _made(at: Instruction, opcode: str, modifiers: tuple[str, ...], operands: tuple[Operand, ...]) -> Instruction:
    """An instruction in the place of another one."""
    return replace(at, opcode=opcode, modifiers=modifiers, operands=operands, guard=None)


def _jump(at: Instruction, target: int) -> Instruction:
    return _made(at, "bra", ("uni",), (Label(str(target)),))


def _symbols(operands: Sequence[Operand]) -> Iterator[str]:
    """Go through the names in operands."""
    for operand in operands:
        if isinstance(operand, Vector):
            yield from _symbols(operand.elements)
            continue
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol):
            yield base.name


def _access_of(instruction: Instruction) -> tuple[str, list[int], Sequence[Operand], int] | None:
    """(variable, offsets of the elements, what they are loaded to or stored from, bytes of each) of a plain access.

    None where an instruction is none, or to another space.
    """
    if instruction.opcode not in ("ld", "st") or "param" not in "".join(instruction.modifiers[:1]).split("::"):
        return None
    value, address = instruction.operands if instruction.opcode == "ld" else instruction.operands[::-1]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        return None
    values = value.elements if isinstance(value, Vector) else (value,)
    kind = instruction.modifiers[-1]
    if kind not in _ELEMENTS or not all(isinstance(v, Register | Immediate | Sink) for v in values):
        return None
    width, start = type_bytes(kind), address.base.offset + address.offset
    return address.base.name, [start + width * number for number in range(len(values))], values, width


def _as_moves(instruction: Instruction, registers: Mapping[tuple[str, int], Register]) -> list[Instruction]:
    """An access as moves from or to registers; any other instruction as it is."""
    access = _access_of(instruction)
    if access is None or (access[0], access[1][0]) not in registers:
        return [instruction]
    name, places, values, width = access
    kind, bits = instruction.modifiers[-1], 8 * width
    moves = []
    for place, value in zip(places, values, strict=True):
        kept = registers[name, place]
        if instruction.opcode == "st":
            if width > 1:
                moves.append(_made(instruction, "mov", (f"b{bits}",), (kept, value)))
            elif isinstance(value, Immediate):
                moves.append(_made(instruction, "mov", ("b16",), (kept, Immediate(value.value & 255))))
            else:
                moves.append(_made(instruction, "cvt", ("u16", "u8"), (kept, value)))
        elif isinstance(value, Register):
            own = 8 * type_bytes(value.type)
            if own == bits == 8 * type_bytes(kept.type):
                moves.append(_made(instruction, "mov", (f"b{bits}",), (value, kept)))
            else:
                sign = "s" if kind[0] == "s" else "u"
                moves.append(_made(instruction, "cvt", (f"{sign}{own}", f"{sign}{bits}"), (value, kept)))
    return moves
