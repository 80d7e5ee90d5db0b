"""Turns a function into steps: one Python closure an instruction, one finish a block.

A step takes the group it is executed for, reads and writes `group.registers`, and knows everything
that does not depend on the group beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.ptx import special
from grader.ptx.cfg import ControlFlowGraph
from grader.ptx.convergence import COLLECTIVE
from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.isa.registry import lookup
from grader.ptx.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Symbol, Vector
from grader.ptx.shortcuts import short_cut_of
from grader.ptx.uses import Uses
from grader.ptx.values import BOOL, UNSIGNED, Vec, as_array, from_array

if TYPE_CHECKING:
    from grader.ptx.access import Repeat
    from grader.ptx.groups import Group
    from grader.ptx.link import Program

Step = Callable[["Group"], None]
Getter = Callable[["Group"], Any]

_IDLE = {"ret", "exit", "bra"}


def type_bytes(name: str) -> int:
    """Width of a register type in bytes, 0 for predicates."""
    if name == "pred":
        return 0
    if name.endswith("x2"):
        return 4
    return int(name.lstrip("busf")) // 8


class CodeBlock:
    """A basic block, ready to run."""

    __slots__ = (
        "collective",
        "does_something",
        "executions",
        "finish",
        "first",
        "index",
        "instructions",
        "last",
        "leaves",
        "line",
        "member_mask",
        "next",
        "next_is_back_edge",
        "size",
        "steps",
    )

    def __init__(self, index: int, instructions: tuple[Instruction, ...], following: int) -> None:
        self.index = index
        self.instructions = instructions
        self.size = len(instructions)
        self.steps: tuple[Step, ...] = ()
        self.finish: Callable[[Group], bool] = lambda group: False
        self.next = following
        self.next_is_back_edge = False
        self.executions = 0
        self.line = next((i.location.line for i in instructions if i.location.line), 0)
        if instructions:
            self.first = instructions[0]
            self.last = instructions[-1]
        self.does_something = any(i.opcode not in _IDLE for i in instructions)
        self.leaves = bool(instructions) and all(i.opcode in ("ret", "exit") for i in instructions)
        self.collective = any(i.opcode in COLLECTIVE for i in instructions)
        self.member_mask: Getter | None = None
        """The mask of the first warp-wide instruction, where it is known before the block is executed."""


class Code:
    """A function, ready to run."""

    def __init__(self, graph: ControlFlowGraph, program: Program) -> None:
        function = graph.function
        self.function = function
        self.graph = graph
        self.program = program
        self.name = function.name
        self.back_edges = graph.back_edges
        self.live_in = [tuple(live) for live in graph.live_in]
        self.register_bytes = [0] * (max((r.index for r in function.registers), default=-1) + 2)
        for register in function.registers:
            self.register_bytes[register.index] = type_bytes(register.type)
        # The condition code of add.cc and its kin lives in a register of its own, which no block boundary crosses.
        self.carry = len(self.register_bytes) - 1
        self.register_bytes[self.carry] = 1
        self.fresh_registers: list[Any] = [0] * len(self.register_bytes)
        """What registers hold at first: garbage, NaN to a float, where the function may read them before it writes."""
        for index in self.live_in[0] if self.live_in else ():
            self.fresh_registers[index] = (1 << 8 * self.register_bytes[index]) - 1
        self.loop_at_header: dict[int, LoopInfo] = {}
        for loop, decision in zip(graph.loops, graph.exit_decisions, strict=True):
            deciding = None
            if not decision.unknown:
                deciding = tuple(sorted(decision.registers & graph.live_in[loop.header]))
            self.loop_at_header[loop.header] = LoopInfo(loop.body, decision.waits, deciding, decision.reads_memory)
        self.repeats: list[Repeat] = []
        """What loads remember of the last time, to be forgotten after a launch."""
        self.uses = Uses(function)
        self._reach: dict[int, frozenset[int]] = {}
        self.blocks: list[CodeBlock] = []
        from grader.ptx.control import finisher

        for block in graph.blocks:
            following = block.successors[-1] if block.successors else -1
            code_block = CodeBlock(block.index, block.instructions, following)
            code_block.next_is_back_edge = (block.index, following) in graph.back_edges
            self.blocks.append(code_block)
            steps: list[Step] = []
            instructions = block.instructions
            finish = finisher(self, code_block, block.successors)
            if finish is not None:
                code_block.finish, instructions = finish, instructions[:-1]
            else:
                code_block.finish = _fall_through(code_block)
            for instruction in instructions:
                step = compile_step(self, instruction)
                if step is not None:
                    steps.append(step)
            code_block.steps = tuple(steps)
            if code_block.collective:
                code_block.member_mask = self._member_mask(code_block)

    def _member_mask(self, block: CodeBlock) -> Getter | None:
        """The mask of a block's first warp-wide instruction: a constant, or a register that is set before the block."""
        moved: dict[Operand, Operand | None] = {}
        for instruction in block.instructions:
            if instruction.opcode in COLLECTIVE:
                mask: Operand | None = instruction.operands[-1]
                if mask in moved:
                    mask = moved[mask]
                return getter(self, mask, 4) if isinstance(mask, (Immediate, Register)) else None
            if instruction.operands:
                target, *rest = instruction.operands
                constant = instruction.opcode == "mov" and isinstance(rest[0], Immediate)
                for element in target.elements if isinstance(target, Vector) else (target,):
                    moved[element] = rest[0] if constant else None
        return None

    def loop_line(self, loop: LoopInfo) -> int:
        """The source line of a loop: that of the branch back, where it has one."""
        back = [self.blocks[origin].last for origin, header in self.back_edges if self.loop_at_header[header] is loop]
        lines = [instruction.location.line for instruction in back]
        lines += [self.blocks[index].line for index in sorted(loop.body)]
        return next((line for line in lines if line), 0)

    def forward_reach(self, start: int) -> frozenset[int]:
        """Blocks that can be reached from `start` (itself left out) without going back in a loop."""
        found = self._reach.get(start)
        if found is None:
            seen: set[int] = set()
            stack = [start]
            while stack:
                here = stack.pop()
                for successor in self.graph.blocks[here].successors:
                    if (here, successor) not in self.back_edges and successor not in seen:
                        seen.add(successor)
                        stack.append(successor)
            found = self._reach[start] = frozenset(seen)
        return found


class LoopInfo:
    """What the scheduler knows of a loop.

    spins: another thread's progress may end it.  deciding: registers at its header that decide whether it is ever
    left, None where more than registers and memory does; reads_memory: memory does, too.
    """

    __slots__ = ("body", "deciding", "reads_memory", "spins")

    def __init__(self, body: frozenset[int], spins: bool, deciding: tuple[int, ...] | None, reads_memory: bool) -> None:
        self.body = body
        self.spins = spins
        self.deciding = deciding
        self.reads_memory = reads_memory


def _fall_through(block: CodeBlock) -> Callable[[Group], bool]:
    following, backwards = block.next, block.next_is_back_edge

    def finish(group: Group) -> bool:
        group.block = following
        group.from_back_edge = backwards
        return True

    return finish


def refuse(instruction: Instruction, reason: str = "") -> Step:
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
        return lambda group: group.chunk.addresses[name] + offset
    return lambda group: group.frames[-1].symbols[name] + offset


def compile_step(code: Code, instruction: Instruction) -> Step | None:
    """The step of one instruction that does not end a block; None when it does nothing."""
    from grader.ptx import movement, warps

    opcode = instruction.opcode
    try:
        special_case = movement.STEPS.get(opcode) or warps.STEPS.get(opcode)
        if special_case is not None:
            return special_case(code, instruction)
        return _arithmetic(code, instruction)
    except UnsupportedInstruction as error:
        return refuse(instruction, error.reason)
    except (AssertionError, IndexError, KeyError, ValueError):
        # An instruction that exists, in a form that none of its implementations expects.
        return refuse(instruction, "unknown form")


def _arithmetic(code: Code, instruction: Instruction) -> Step:
    first, *rest = instruction.operands
    destinations = first.elements if isinstance(first, Vector) else (first,)
    sources = tuple(rest)
    semantics = lookup(instruction.opcode, instruction.modifiers, len(destinations))
    inputs = semantics.inputs
    if len(sources) != len(inputs):
        raise UnsupportedInstruction(instruction.text, reason=f"{len(sources)} operands, {len(inputs)} expected")
    getters = [
        getter(code, operand, 0 if dtype == BOOL else dtype.itemsize)
        for operand, dtype in zip(sources, inputs, strict=True)
    ]
    if semantics.reads_carry:
        carry = code.carry
        getters.append(lambda group: group.registers[carry] or 0)
        inputs = (*inputs, UNSIGNED[1])
    targets = [(d.index, code.register_bytes[d.index]) if isinstance(d, Register) else None for d in destinations]
    if semantics.writes_carry:
        targets.append((code.carry, 1))
    compute = semantics.compute
    pairs = tuple(zip(getters, inputs, strict=True))
    if len(targets) == 1 and targets[0] is not None:
        index, size = targets[0]

        def general(group: Group) -> None:
            result = compute(*[as_array(get(group), dtype) for get, dtype in pairs])
            group.registers[index] = from_array(result, group.lanes, size)  # type: ignore[arg-type]

        short = short_cut_of(instruction)
        if short is None:
            return general
        short_cut = short
        if len(getters) == 2:
            left, right = getters

            def two(group: Group) -> None:
                value = short_cut(left(group), right(group))
                if value is None:
                    general(group)
                else:
                    group.registers[index] = value

            return two

        def any_number(group: Group) -> None:
            value = short_cut(*[get(group) for get in getters])
            if value is None:
                general(group)
            else:
                group.registers[index] = value

        return any_number

    def several(group: Group) -> None:
        results = compute(*[as_array(get(group), dtype) for get, dtype in pairs])
        for target, result in zip(targets, results, strict=True):
            if target is not None:
                group.registers[target[0]] = from_array(result, group.lanes, target[1])

    return several
