"""The way of a block's threads: where they meet, how each goes on from one meeting to the next, what they exchange.

A `Node` is a basic block or the part of one in front of a meeting; a `Region` is what is reached from a meeting without
another in between.  `Meetings` writes the functions around those of single threads, warp by warp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Vector
from grader.ptx.isa.instructions import is_barrier
from grader.ptx.loops import immediate_dominators, reverse_postorder
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.native import layout
from grader.ptx.native.layout import Unfit, local_type
from grader.ptx.native.pieces import FRAME_BYTES, Kernel


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


def nodes_of(
    code: Code,
    begins_node: Callable[[Instruction], bool] = lambda _: False,
    meeting: Callable[[Instruction], bool] | None = None,
) -> list[Node]:
    """Return the parts of all blocks in order; begins_node: whether an instruction is to be a part's first.

    meeting: whether threads meet others at an instruction, else `meets`.
    """
    is_meeting = meeting or meets
    nodes: list[Node] = []
    firsts: list[int] = []
    for block in code.blocks:
        firsts.append(len(nodes))
        begin = 0
        for place, instruction in enumerate(block.instructions):
            if begin < place and begins_node(instruction):
                nodes.append(Node(block, block.instructions[begin:place], None, begin == 0))
                begin = place
            if is_meeting(instruction):
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
        """Return the region from a block on.  Raises Unfit where a loop has two entries."""
        order, _ = reverse_postorder(successors, start)
        region = cls(start, {block: number for number, block in enumerate(order)})
        dominators = immediate_dominators(successors, start)
        region.dominator = {block: start if (above := dominators[block]) is None else above for block in order}
        before: dict[int, list[int]] = {block: [] for block in order}
        for block in order:
            for following in set(successors[block]):
                before[following].append(block)
        for block in order:
            forward = [b for b in before[block] if region.order[b] < region.order[block]]
            if len(forward) > 1:
                region.merges.add(block)
            if len(forward) < len(before[block]):
                region.headers.add(block)
                if any(not region._dominates(block, b) for b in before[block] if b not in forward):
                    raise Unfit("a loop with two entries")
        return region

    def _dominates(self, above: int, block: int) -> bool:
        while self.order[block] > self.order[above]:
            block = self.dominator[block]
        return block == above


def of_warp(node: Node) -> bool:
    """Whether the threads that meet at the end of a node are those of one warp."""
    meeting = node.meeting
    return meeting is not None and (not is_barrier(meeting.opcode) or "warp" in meeting.modifiers)


FILLS = 8
"""At most so many regions are made anew for every block: the flags of its shared memory, and local variables."""


@dataclass(frozen=True, slots=True)
class Places:
    """Fields of a kernel's own in the context: the grid's sizes, threads of a block, and what is filled (`FILLS`)."""

    grid: int
    threads: int
    fills: int


class Meetings:
    """Writes what goes on around the functions of single threads.

    meetings: nodes that end where threads meet, by their numbers.
    """

    def __init__(self, kernel: Kernel, places: Places, meetings: Mapping[int, Node]) -> None:
        self._kernel = kernel
        self._places = places
        self._meetings = meetings
        self._scratch = kernel.static.take(8 * 32)

    def texts(self, starts: Sequence[int]) -> list[str]:
        """Return all functions; starts: the nodes that threads begin at.  Raises Unfit."""
        exchanges = [self._exchange(number, node) for number, node in self._meetings.items() if of_warp(node)]
        return [*map(self._lanes_from, starts), *exchanges, self._warp(starts), self._run()]

    def _lanes_from(self, start: int) -> str:
        """Run the threads of a warp from a place on; the result is 1 + where they meet, 0 where all have returned."""
        done = self._kernel.slot(-1)
        alive = f"(i32.load offset={done} (local.get $f))"
        skip = f"(br_if $passed {alive})" if start else f"(i32.store offset={done} (local.get $f) (i32.const 0))"
        return f"""(func $lanes_from_{start} (param $f i32) (param $l i32) (param $lane i32) (param $n i32) (result i32)
 (local $to i32) (local $all i32)
 (loop $threads
  (block $passed
   {skip}
   (local.set $to (call $from_{start} (local.get $f) (local.get $l) (local.get $lane)))
   (if (i32.eqz (local.get $to))
    (then (i32.store offset={done} (local.get $f) (i32.const 1)) (br $passed)))
   (if (i32.eqz (local.get $all)) (then (local.set $all (local.get $to))))
   (if (i32.ne (local.get $all) (local.get $to)) (then unreachable)))
  (local.set $f (i32.add (local.get $f) (i32.const {FRAME_BYTES})))
  (local.set $l (i32.add (local.get $l) (i32.const {layout.LANE_BYTES})))
  (local.set $lane (i32.add (local.get $lane) (i32.const 1)))
  (br_if $threads (i32.lt_u (local.get $lane) (local.get $n))))
 (local.get $all))"""

    def _frame(self, operand: Operand, frame: str) -> str:
        """Read an operand of a warp's instruction from the frame of a thread."""
        if isinstance(operand, Immediate):
            return f"(i32.const {operand.value & 0xFFFFFFFF})"
        if isinstance(operand, Negated):
            return f"(i32.eqz {self._frame(operand.register, frame)})"
        if not isinstance(operand, Register) or local_type(operand) not in ("i32", "f32"):
            raise Unfit(str(operand))
        return f"(i32.load offset={self._kernel.slot(operand.index)} {frame})"

    def _exchange(self, number: int, node: Node) -> str:
        """Carry out an instruction of a warp whose 32 threads have met; its first thread's frame is `$f`."""
        meeting = node.meeting
        assert meeting is not None
        modifiers = meeting.modifiers
        if is_barrier(meeting.opcode):
            return f"(func $exchange_{number} (param $f i32) (param $n i32))"
        if modifiers[:1] != ("sync",) or len(modifiers) != 3:
            raise Unfit(meeting.text)
        target, *operands = meeting.operands
        targets = target.elements if isinstance(target, Vector) else (target,)
        here = "(local.get $g)"
        done = self._kernel.slot(-1)
        gather = ["(if (i32.ne (i32.const -1) " + self._frame(operands[-1], here) + ") (then unreachable))"]
        gather.append(f"(if (i32.load offset={done} {here}) (then unreachable))")
        if meeting.opcode == "shfl":
            put = self._shuffled(modifiers, operands, targets)
            gather.append(
                f"(i32.store (i32.add (i32.const {self._scratch}) (i32.shl (local.get $k) (i32.const 3)))"
                f" {self._frame(operands[0], here)})"
            )
        else:
            put = [self._store(targets[0], self._voted(modifiers))]
            gather.append(
                "(local.set $votes (i32.or (local.get $votes)"
                f" (i32.shl (i32.ne {self._frame(operands[0], here)} (i32.const 0)) (local.get $k))))"
            )

        def each(lines: list[str]) -> str:
            return f"""(local.set $k (i32.const 0)) (local.set $g (local.get $f))
 (loop $next {" ".join(lines)}
  (local.set $g (i32.add (local.get $g) (i32.const {FRAME_BYTES})))
  (br_if $next (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (i32.const 32))))"""

        return f"""(func $exchange_{number} (param $f i32) (param $n i32)
 (local $g i32) (local $k i32) (local $votes i32) (local $b i32) (local $c i32) (local $segment i32) (local $j i32)
 (local $holds i32)
 (if (i32.ne (local.get $n) (i32.const 32)) (then unreachable))
 {each(gather)}
 {each(put)})"""

    def _store(self, target: Operand, value: str) -> str:
        if not isinstance(target, Register):
            return ""
        return f"(i32.store offset={self._kernel.slot(target.index)} (local.get $g) {value})"

    @staticmethod
    def _voted(modifiers: Sequence[str]) -> str:
        votes = {
            ("ballot", "b32"): "(local.get $votes)",
            ("any", "pred"): "(i32.ne (local.get $votes) (i32.const 0))",
            ("all", "pred"): "(i32.eq (local.get $votes) (i32.const -1))",
            ("uni", "pred"): "(i32.le_u (i32.add (local.get $votes) (i32.const 1)) (i32.const 1))",
        }
        if tuple(modifiers[1:]) not in votes:
            raise Unfit(str(modifiers))
        return votes[modifiers[1], modifiers[2]]

    def _shuffled(self, modifiers: Sequence[str], operands: Sequence[Operand], targets: Sequence[Operand]) -> list[str]:
        """Write shfl.sync as PTX ISA, "shfl.sync", defines it."""
        lane, b, c = "(local.get $k)", "(local.get $b)", "(local.get $c)"
        segment = "(local.get $segment)"
        outside = f"(i32.xor {segment} (i32.const -1))"
        least = f"(i32.and {lane} {segment})"
        most = f"(i32.or {least} (i32.and {c} {outside}))"
        below = {
            "up": (f"(i32.sub {lane} {b})", "ge_s"),
            "down": (f"(i32.add {lane} {b})", "le_s"),
            "bfly": (f"(i32.xor {lane} {b})", "le_s"),
            "idx": (f"(i32.or {least} (i32.and {b} {outside}))", "le_s"),
        }
        if modifiers[1] not in below or modifiers[2] != "b32":
            raise Unfit(str(modifiers))
        source, compare = below[modifiers[1]]
        amount, clamp = (self._frame(operand, "(local.get $g)") for operand in operands[1:3])
        word = f"(i32.add (i32.const {self._scratch}) (i32.shl (local.get $j) (i32.const 3)))"
        return [
            f"(local.set $b (i32.and {amount} (i32.const 31)))",
            f"(local.set $segment (i32.and (i32.shr_u {clamp} (i32.const 8)) (i32.const 31)))",
            f"(local.set $c (i32.and {clamp} (i32.const 31)))",
            f"(local.set $j {source})",
            f"(local.set $holds (i32.{compare} (local.get $j) {most}))",
            f"(local.set $j (select (local.get $j) {lane} (local.get $holds)))",
            self._store(targets[0], f"(i32.load {word})"),
            self._store(targets[1], "(local.get $holds)") if len(targets) > 1 else "",
        ]

    def _warp(self, starts: Sequence[int]) -> str:
        """Run a warp from one place to where it meets others of its block."""
        arguments = "(local.get $f) (local.get $l) (local.get $lane) (local.get $n)"
        go = "\n".join(
            f"(if (i32.eq (local.get $at) (i32.const {start}))"
            f" (then (local.set $at (call $lanes_from_{start} {arguments})) (br $gone)))"
            for start in starts
        )
        meet = "\n".join(
            f"(if (i32.eq (local.get $at) (i32.const {1 + number})) (then"
            f" (call $exchange_{number} (local.get $f) (i32.sub (local.get $n) (local.get $lane)))"
            f" (local.set $at (i32.const {node.successors[0]})) (br $on)))"
            for number, node in self._meetings.items()
            if of_warp(node)
        )
        return f"""(func $warp (param $at i32) (param $f i32) (param $l i32) (param $lane i32) (param $n i32)
 (result i32)
 (loop $on
  (block $gone {go})
  {meet})
 (local.get $at))"""

    def _run(self) -> str:
        grid = self._places.grid
        x, y = f"(i32.load (i32.const {grid}))", f"(i32.load offset=4 (i32.const {grid}))"
        fills = []
        for number in range(FILLS):
            at = self._places.fills + 16 * number
            fills.append(
                f"(memory.fill (i32.load (i32.const {at})) (i32.load offset=8 (i32.const {at}))"
                f" (i32.load offset=4 (i32.const {at})))"
            )
        behind = "\n".join(
            f"(if (i32.eq (local.get $all) (i32.const {1 + number}))"
            f" (then (local.set $at (i32.const {node.successors[0]})) (br $phases)))"
            for number, node in self._meetings.items()
            if not of_warp(node)
        )
        return f"""(func (export "run") (param $b i32) (param $n i32)
 (local $at i32) (local $f i32) (local $l i32) (local $lane i32) (local $threads i32) (local $to i32) (local $all i32)
 (local $end i32)
 (global.set $frames (i32.load (i32.const {layout.CONTEXT["FRAMES"]})))
 (global.set $lanes (i32.load (i32.const {layout.CONTEXT["LANES"]})))
 (local.set $threads (i32.load (i32.const {self._places.threads})))
 (loop $blocks
  (global.set $block_x (i32.rem_u (local.get $b) {x}))
  (global.set $block_y (i32.rem_u (i32.div_u (local.get $b) {x}) {y}))
  (global.set $block_z (i32.div_u (i32.div_u (local.get $b) {x}) {y}))
  {" ".join(fills)}
  (local.set $at (i32.const 0))
  (loop $phases
   (local.set $f (global.get $frames)) (local.set $l (global.get $lanes))
   (local.set $lane (i32.const 0)) (local.set $all (i32.const 0))
   (loop $warps
    (local.set $end (i32.add (local.get $lane) (i32.const 32)))
    (local.set $end (select (local.get $end) (local.get $threads) (i32.lt_u (local.get $end) (local.get $threads))))
    (local.set $to (call $warp
     (local.get $at) (local.get $f) (local.get $l) (local.get $lane) (local.get $end)))
    (if (local.get $to) (then
     (if (i32.eqz (local.get $all)) (then (local.set $all (local.get $to))))
     (if (i32.ne (local.get $all) (local.get $to)) (then unreachable))))
    (local.set $f (i32.add (local.get $f) (i32.mul (i32.const 32) (i32.const {FRAME_BYTES}))))
    (local.set $l (i32.add (local.get $l) (i32.const {32 * layout.LANE_BYTES})))
    (br_if $warps (i32.lt_u (local.tee $lane (local.get $end)) (local.get $threads))))
   {behind})
  (local.set $b (i32.add (local.get $b) (i32.const 1)))
  (local.set $n (i32.sub (local.get $n) (i32.const 1)))
  (br_if $blocks (local.get $n))))"""
