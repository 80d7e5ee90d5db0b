"""How a thread goes on from where it meets others: nodes, and regions of them, in the order of their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.isa.instructions import is_barrier
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.native.layout import Unfit


@dataclass
class Node:
    """A basic block, or a part of one that ends where threads meet others.

    instructions: without what ends it.  meeting: a barrier, or an instruction of a warp; None where there is none.
    needed: registers that are read from here on.
    """

    block: CodeBlock
    instructions: Sequence[Instruction]
    meeting: Instruction | None
    is_first: bool
    successors: tuple[int, ...] = ()
    needed: set[int] = field(default_factory=set)


def nodes_of(code: Code) -> list[Node]:
    """The parts of all blocks, the first one's first."""
    nodes: list[Node] = []
    firsts: list[int] = []
    for block in code.blocks:
        firsts.append(len(nodes))
        begin = 0
        for place, instruction in enumerate(block.instructions):
            if meets(instruction):
                nodes.append(Node(block, block.instructions[begin:place], instruction, begin == 0))
                begin = place + 1
        nodes.append(Node(block, block.instructions[begin:], None, begin == 0))
    for number, node in enumerate(nodes):
        is_last = number + 1 == len(nodes) or nodes[number + 1].block is not node.block
        if not is_last:
            node.successors = (number + 1,)
            continue
        following = code.graph.blocks[node.block.index].successors
        node.successors = tuple(firsts[successor] for successor in following)
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        after = [
            set(code.live_in[nodes[s].block.index]) if nodes[s].is_first else nodes[s].needed for s in node.successors
        ]
        node.needed = set().union(*after)
        for instruction in reversed([*node.instructions, *([node.meeting] if node.meeting else [])]):
            node.needed -= {register.index for register in destinations(instruction)}
            node.needed |= {register.index for register in sources(instruction)}
    return nodes


def meets(instruction: Instruction) -> bool:
    """Whether threads meet others at an instruction."""
    return is_barrier(instruction.opcode) or instruction.opcode in ("shfl", "vote")


@dataclass
class Region:
    """What is reached from a place without a meeting in between, and how its nodes follow each other.

    order: number of a node in reverse postorder.  dominator: who every way to a node leads through last.
    """

    start: int
    order: dict[int, int] = field(default_factory=dict)
    dominator: dict[int, int] = field(default_factory=dict)
    merges: set[int] = field(default_factory=set)
    headers: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, start: int, successors: list[tuple[int, ...]]) -> Region:
        """The region from a block on.  Raises Unfit where a loop has two entries."""
        region = cls(start)
        after: list[int] = []
        seen = {start}
        stack = [(start, iter(successors[start]))]
        while stack:
            here, left = stack[-1]
            following = next((s for s in left if s not in seen), None)
            if following is None:
                after.append(here)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(successors[following])))
        after.reverse()
        region.order = {block: number for number, block in enumerate(after)}
        before: dict[int, list[int]] = {block: [] for block in after}
        for block in after:
            for following in set(successors[block]):
                before[following].append(block)
        region._dominate(after, before)
        for block in after:
            forward = [b for b in before[block] if region.order[b] < region.order[block]]
            if len(forward) > 1:
                region.merges.add(block)
            if len(forward) < len(before[block]):
                region.headers.add(block)
                if any(not region._dominates(block, b) for b in before[block] if b not in forward):
                    raise Unfit("a loop with two entries")
        return region

    def _dominate(self, blocks: list[int], before: dict[int, list[int]]) -> None:
        order, dominator = self.order, self.dominator
        dominator[self.start] = self.start
        changed = True
        while changed:
            changed = False
            for block in blocks[1:]:
                candidates = [b for b in before[block] if b in dominator]
                common = candidates[0]
                for other in candidates[1:]:
                    while common != other:
                        if order[common] > order[other]:
                            common = dominator[common]
                        else:
                            other = dominator[other]
                if dominator.get(block) != common:
                    dominator[block] = common
                    changed = True

    def _dominates(self, above: int, block: int) -> bool:
        while self.order[block] > self.order[above]:
            block = self.dominator[block]
        return block == above


def of_warp(node: Node) -> bool:
    """Whether who meets at the end of a node are threads of one warp."""
    meeting = node.meeting
    return meeting is not None and (not is_barrier(meeting.opcode) or "warp" in meeting.modifiers)
