"""The control-flow graph of a function, ready for an executor that runs the lowest pending block first.

Blocks end at branches and returns, in front of labels that something branches to, and behind every call and
barrier, so that threads can be held there.  Guarded instructions other than branches are lowered: a synthetic
`bra` with the inverted guard jumps round them, so only branches ever carry a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grader.ptx.dataflow import destinations, live_at_entry, sources
from grader.ptx.frontend.nodes import Function, Guard, Instruction, Label, LabelMark, Module, Vector
from grader.ptx.isa.instructions import facts
from grader.ptx.loops import ExitDecision, NaturalLoop, exit_decisions, loop_order, natural_loops

__all__ = ["Block", "ControlFlowGraph", "Loop", "build_cfg", "destinations", "sources"]

Loop = NaturalLoop

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
    loops: tuple[Loop, ...]
    live_in: tuple[frozenset[int], ...]
    back_edges: frozenset[tuple[int, int]]
    exit_decisions: tuple[ExitDecision, ...]


@dataclass(slots=True)
class _Draft:
    """A block in the making; targets are labels, None stands for the next block."""

    labels: list[str] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    targets: tuple[str | None, ...] = (None,)


def build_cfg(function: Function, module: Module | None = None) -> ControlFlowGraph:
    """Build the graph of a function.

    Parameters
    ----------
    function : as parsed; a body that runs off its end gets a synthetic `ret`.
    module : with it, `exit_decisions` can tell whether functions called in a loop touch memory that other threads
        change; without it, every call's result is taken to depend on them.
    """
    drafts = _split(function)
    place = {label: index for index, draft in enumerate(drafts) for label in draft.labels}
    edges = [
        tuple(index + 1 if target is None else place[target] for target in draft.targets)
        for index, draft in enumerate(drafts)
    ]
    order = loop_order(edges)
    number = {old: new for new, old in enumerate(order)}
    successors = [tuple(number[target] for target in edges[old]) for old in order]
    blocks = tuple(
        Block(
            new,
            tuple(drafts[old].instructions),
            successors[new],
            drafts[old].labels[0] if drafts[old].labels else None,
        )
        for new, old in enumerate(order)
    )
    loops, back_edges = natural_loops(successors)
    code = [block.instructions for block in blocks]
    return ControlFlowGraph(
        function=function,
        blocks=blocks,
        loops=tuple(loops),
        live_in=live_at_entry(code, successors),
        back_edges=frozenset(back_edges),
        exit_decisions=exit_decisions(code, successors, loops, module),
    )


def _split(function: Function) -> list[_Draft]:
    """The blocks in the order of the text, guarded instructions lowered."""
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
    """Labels that a branch may go to, each once per way there (an indirect branch keeps its table's order)."""
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
