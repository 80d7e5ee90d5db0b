"""A function as basic blocks: its control-flow graph, and its runnable form, whose blocks `lowering` fills with steps.

The executor runs the lowest pending block first.  Blocks end at branches and returns, in front of labels that something
branches to, and behind every call and barrier, so that threads can be held there.  Guarded instructions other than
branches are lowered: a synthetic `bra` with the inverted guard jumps round them, so only branches ever carry a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from grader.ptx.access import InlineCache
from grader.ptx.dataflow import DefUse, decisive_registers, destinations, live_at_entry
from grader.ptx.frontend.nodes import Function, Guard, Instruction, Label, LabelMark, Module, Vector
from grader.ptx.isa.instructions import facts
from grader.ptx.limits import FRAGMENT_CHARGE
from grader.ptx.loops import ExitDecision, NaturalLoop, exit_decisions, loop_order, natural_loops

GUARD_BRANCH = "guard"
"""The modifier of a synthetic branch that jumps round guarded instructions."""


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: `index` is its place in the order, `label` the label in front of it if something branches there.

    The last instruction is a branch (conditional: successors are (taken, fall-through), which may be equal), `ret`,
    `exit`, a call or a barrier (one successor), or anything else when the block just runs on.
    """

    index: int
    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]
    label: str | None


@dataclass(frozen=True, slots=True)
class ControlFlowGraph:
    """Reachable blocks of a function and what is known about them; all indices are block indices.

    blocks: in an order where every block of a loop comes before the blocks behind the loop's exits.
    loops: natural loops, outer before inner.
    live_in: indices of registers that are live at each block's entry.
    exit_decisions: for each loop, what decides whether it is left (see `grader.ptx.loops`).
    """

    function: Function
    blocks: tuple[Block, ...]
    loops: tuple[NaturalLoop, ...]
    live_in: tuple[frozenset[int], ...]
    back_edges: frozenset[tuple[int, int]]
    exit_decisions: tuple[ExitDecision, ...]


@dataclass(slots=True)
class _Draft:
    """A block under construction; targets are labels, None stands for the next block."""

    labels: list[str] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    targets: tuple[str | None, ...] = (None,)


def build_cfg(function: Function, module: Module | None = None) -> ControlFlowGraph:
    """Build the graph of a function.

    function: as parsed; a body that runs off its end gets a synthetic `ret`.
    module: with it, `exit_decisions` can tell whether functions called in a loop touch memory that other threads
        change; without it, every call's result is taken to depend on them.
    """
    drafts = _split(function)
    place = {label: index for index, draft in enumerate(drafts) for label in draft.labels}
    edges = [
        tuple(index + 1 if target is None else place[target] for target in draft.targets)
        for index, draft in enumerate(drafts)
    ]
    labels = [draft.labels[0] if draft.labels else None for draft in drafts]
    graph, _order = graph_of(function, [draft.instructions for draft in drafts], edges, module, labels)
    return graph


def graph_of(
    function: Function,
    blocks: Sequence[Sequence[Instruction]],
    edges: Sequence[tuple[int, ...]],
    module: Module | None = None,
    labels: Sequence[str | None] | None = None,
) -> tuple[ControlFlowGraph, Sequence[int]]:
    """Return the graph of blocks, the first of which a function begins with, and the number that each had before.

    edges: the blocks that may follow each one.  labels: in front of each.  module: as for `build_cfg`.
    """
    order = loop_order(edges)
    number = {old: new for new, old in enumerate(order)}
    successors = [tuple(number[target] for target in edges[old]) for old in order]
    code = [tuple(blocks[old]) for old in order]
    loops, back_edges = natural_loops(successors)
    graph = ControlFlowGraph(
        function=function,
        blocks=tuple(
            Block(new, code[new], successors[new], labels[old] if labels is not None else None)
            for new, old in enumerate(order)
        ),
        loops=tuple(loops),
        live_in=live_at_entry(code, successors),
        back_edges=frozenset(back_edges),
        exit_decisions=exit_decisions(code, successors, loops, module),
    )
    return graph, order


def _split(function: Function) -> list[_Draft]:
    """Split a function into blocks in the order of its text, with guarded instructions lowered."""
    wanted = {label for item in function.body if isinstance(item, Instruction) for label in _targets(item)}
    drafts = [_Draft()]

    def start_block() -> _Draft:
        if drafts[-1].instructions:
            drafts.append(_Draft())
        return drafts[-1]

    skipping: Guard | None = None
    skip_label = ""
    for item in function.body:
        if isinstance(item, LabelMark):
            if item.name in wanted:
                if skipping is not None:
                    start_block().labels.append(skip_label)
                    skipping = None
                start_block().labels.append(item.name)
            continue
        if skipping is not None and item.guard != skipping:
            start_block().labels.append(skip_label)
            skipping = None
        if item.guard is not None and item.opcode != "bra" and skipping is None:
            skipping = item.guard
            skip_label = f"#skip{len(drafts)}"
            current = drafts[-1]
            current.instructions.append(_jump_round(item, skip_label))
            current.targets = (skip_label, None)
            drafts.append(_Draft())
        _append(drafts, replace(item, guard=None) if skipping is not None else item)
        if skipping is not None and skipping.register in destinations(item):
            # What follows under the same name of guard has to look at its new value.
            start_block().labels.append(skip_label)
            skipping = None
    if skipping is not None:
        start_block().labels.append(skip_label)
    last = drafts[-1]
    if not last.instructions:
        end = next((item for item in reversed(function.body) if isinstance(item, Instruction)), None)
        location, line = (end.location, end.ptx_line) if end is not None else (function.location, 0)
        _append(drafts, Instruction("ret", (), (), None, location, line, "ret"))
    elif None in last.targets:
        _append(drafts, replace(last.instructions[-1], opcode="ret", modifiers=(), operands=(), guard=None, text="ret"))
    if drafts[-1].instructions or len(drafts) == 1:
        return drafts
    return drafts[:-1]


def _append(drafts: list[_Draft], instruction: Instruction) -> None:
    """Add an instruction to the last block, and open the next one if the block ends with it."""
    current = drafts[-1]
    if facts(instruction.opcode).collective and any(
        facts(before.opcode).memory in ("store", "atomic", "surface") for before in current.instructions
    ):
        # Lanes wait in front of the block for others; these may wait for what is stored here (a lock set free).
        current = _Draft()
        drafts.append(current)
    current.instructions.append(instruction)
    ends = facts(instruction.opcode).ends
    if ends == "branch":
        targets = tuple(_targets(instruction))
        current.targets = targets if instruction.guard is None else (*targets, None)
    elif ends == "leave":
        current.targets = ()
    elif not ends:
        return
    drafts.append(_Draft())


def _targets(instruction: Instruction) -> Sequence[str]:
    """Return the labels that a branch may go to, one for each way there, in the order of an indirect branch's table."""
    if instruction.opcode == "bra":
        return [operand.name for operand in instruction.operands if isinstance(operand, Label)]
    if instruction.opcode == "brx":
        table = instruction.operands[-1]
        assert isinstance(table, Vector)
        return [element.name for element in table.elements if isinstance(element, Label)]
    return []


def _jump_round(instruction: Instruction, label: str) -> Instruction:
    guard = instruction.guard
    assert guard is not None
    return replace(
        instruction,
        opcode="bra",
        modifiers=(GUARD_BRANCH,),
        operands=(Label(label),),
        guard=Guard(guard.register, not guard.negated),
    )


Step = Callable[[Any], None]
"""Carries out an instruction for a `Group`."""
Getter = Callable[[Any], Any]
"""The value of an operand for a `Group`."""
Finish = Callable[[Any, Any], bool]
"""What a `Group` does at the end of a block, under a `Scheduler`: whether the same group simply goes on."""


class Linkage(Protocol):
    """The module that a function is part of, as far as its runnable form needs it."""

    module: Module
    addresses: dict[str, int]
    moves_no_data: bool

    def space_of(self, name: str) -> str: ...

    def has_body(self, name: str) -> bool:
        """Whether a function is defined in this module, not only declared."""
        ...

    def code(self, name: str) -> Code:
        """The runnable form of a function."""
        ...

    def at(self, pointer: int, instruction: Instruction) -> Function:
        """Return the function or kernel that a pointer names.  Raises DeviceTrap where it names none."""
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
        """How often threads have executed the block."""
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
    """A function in its runnable form; `grader.ptx.lowering.lower.lower` fills the blocks with steps."""

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
        self.decisive: frozenset[int] | None = None
        """Registers that decide where accesses go and what is carried out, where nothing else is computed."""
        if program.moves_no_data:
            self.decisive = decisive_registers([block.instructions for block in graph.blocks], function.is_entry)
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


@dataclass(slots=True, eq=False)
class LoopInfo:
    """What the scheduler knows of a loop.

    spins: another thread's progress may end it.  deciding: registers at its header that decide whether it is ever
    left, None where more than registers and memory does; reads_memory: memory does, too.
    """

    body: frozenset[int]
    spins: bool
    deciding: tuple[int, ...] | None
    reads_memory: bool
