"""A function in its runnable form: blocks of steps, and what the scheduler knows of them (see `translate`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from grader.ptx.access import InlineCache
from grader.ptx.cfg import ControlFlowGraph
from grader.ptx.dataflow import DefUse, destinations
from grader.ptx.frontend.nodes import Function, Instruction, Module
from grader.ptx.isa.instructions import facts
from grader.ptx.limits import FRAGMENT_CHARGE

Step = Callable[[Any], None]
"""Carries out an instruction for a `Group`."""
Getter = Callable[[Any], Any]
"""The value of an operand for a `Group`."""
Finish = Callable[[Any, Any], bool]
"""What a `Group` does at the end of a block, under a `Scheduler`: whether the same group simply goes on."""


class Linkage(Protocol):
    """What functions know of the module that they are part of."""

    module: Module
    addresses: dict[str, int]

    def space_of(self, name: str) -> str:
        """The state space of a named variable."""
        ...

    def has_body(self, name: str) -> bool:
        """Whether a function is defined in this module, not only declared."""
        ...

    def code(self, name: str) -> Code:
        """The runnable form of a function."""
        ...

    def at(self, pointer: int, instruction: Instruction) -> Function:
        """The function or kernel that a pointer names.  Raises DeviceTrap where it names none."""
        ...


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
        "charge",
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
        "places",
        "size",
        "steps",
    )

    def __init__(self, index: int, instructions: tuple[Instruction, ...], following: int) -> None:
        self.index = index
        self.instructions = instructions
        self.size = len(instructions)
        self.charge = sum(FRAGMENT_CHARGE if facts(i.opcode).fragments else 1 for i in instructions)
        """What one thread's execution counts to the limit."""
        self.steps: tuple[Step, ...] = ()
        self.finish: Finish = lambda group, scheduler: False
        self.next = following
        self.next_is_back_edge = False
        self.executions = 0
        """By threads."""
        self.places = 0
        """What these would be if every thread of the warps had taken part."""
        self.line = next((i.location.line for i in instructions if i.location.line), 0)
        if instructions:
            self.first = instructions[0]
            self.last = instructions[-1]
        self.does_something = any(not facts(i.opcode).idle for i in instructions)
        self.leaves = bool(instructions) and all(facts(i.opcode).ends == "leave" for i in instructions)
        self.collective = any(facts(i.opcode).collective for i in instructions)
        self.member_mask: Getter | None = None
        """The mask of the first warp-wide instruction, where it is known before the block is executed."""


class Code:
    """A function in its runnable form; `grader.ptx.lowering.lower.translate` fills the blocks with steps."""

    def __init__(self, graph: ControlFlowGraph, program: Linkage) -> None:
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
        self.repeats: list[InlineCache] = []
        """What loads remember of the last time, to be forgotten after a launch."""
        self.uses = DefUse(function)
        self._reach: dict[int, frozenset[int]] = {}
        self.blocks: list[CodeBlock] = []

    def polls(self, load: Instruction) -> bool:
        """Whether what a load fetches decides if a loop is left that another thread's progress may end."""
        fetched = {register.index for register in destinations(load)}
        return any(
            decision.waits
            and not fetched.isdisjoint(decision.registers)
            and any(load in self.graph.blocks[block].instructions for block in loop.body)
            for loop, decision in zip(self.graph.loops, self.graph.exit_decisions, strict=True)
        )

    def loop_line(self, loop: LoopInfo) -> int:
        """The source line of a loop: that of the branch back, where it has one."""
        back = [self.blocks[origin].last for origin, header in self.back_edges if self.loop_at_header[header] is loop]
        lines = [instruction.location.line for instruction in back]
        lines += [self.blocks[index].line for index in sorted(loop.body)]
        return next((line for line in lines if line), 0)

    def forward_reach(self, start: int) -> frozenset[int]:
        """Blocks that can be reached from `start` (itself left out) without going back in a loop."""
        reach = self._reach.get(start)
        if reach is None:
            visited: set[int] = set()
            stack = [start]
            while stack:
                here = stack.pop()
                for successor in self.graph.blocks[here].successors:
                    if (here, successor) not in self.back_edges and successor not in visited:
                        visited.add(successor)
                        stack.append(successor)
            reach = self._reach[start] = frozenset(visited)
        return reach


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
