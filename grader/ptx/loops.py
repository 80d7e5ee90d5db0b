"""Loops of a function: dominators, natural loops, block order, and which loops wait for another thread.

A graph is a list of successor tuples, nodes are list indices, node 0 is the entry.

On hardware with independent thread scheduling the threads of a warp make progress on their own, so
`while (atomicCAS(lock, 0, 1) != 0);` ends even when the lock's holder is in the same warp.  An executor that runs
the lowest block first would turn in such a loop for ever; it has to know these loops to take turns.  A loop waits if
what decides whether to leave it is computed, inside the loop, from an atomic's result or from a volatile, relaxed or
acquire load.  "Computed from" follows registers backwards (a slice by name, whatever the order of the definitions), and
also the branches that decide which definition is reached.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Function, Instruction, Module, Register, Sink, Special, Symbol, Vector
from grader.ptx.isa.instructions import facts, is_barrier

Graph = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """A header and every block that can reach one of its back edges without passing the header."""

    header: int
    body: frozenset[int]


def reverse_postorder(successors: Graph, entry: int = 0) -> tuple[list[int], set[tuple[int, int]]]:
    """The nodes reachable from `entry` in reverse post-order, and the edges that go back to an open node."""
    order: list[int] = []
    retreating: set[tuple[int, int]] = set()
    state = [0] * len(successors)  # 0 new, 1 open, 2 finished
    state[entry] = 1
    stack = [(entry, 0)]
    while stack:
        node, position = stack.pop()
        if position == len(successors[node]):
            state[node] = 2
            order.append(node)
            continue
        stack.append((node, position + 1))
        target = successors[node][position]
        if state[target] == 0:
            state[target] = 1
            stack.append((target, 0))
        elif state[target] == 1:
            retreating.add((node, target))
    order.reverse()
    return order, retreating


def immediate_dominators(successors: Graph, entry: int = 0) -> list[int | None]:
    """Immediate dominator of each node; None for the entry and for nodes that it does not reach.

    Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001).
    """
    order, _ = reverse_postorder(successors, entry)
    number = {node: position for position, node in enumerate(order)}
    predecessors = reverse(successors)
    dominator: list[int | None] = [None] * len(successors)
    dominator[entry] = entry
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best: int | None = None
            for predecessor in predecessors[node]:
                if dominator[predecessor] is None:
                    continue
                other: int = predecessor
                while best is not None and best != other:
                    if number[best] > number[other]:
                        best, other = other, best
                    other = dominator[other]  # type: ignore[assignment]  # set for every node that comes earlier
                best = other
            if dominator[node] != best:
                dominator[node] = best
                changed = True
    dominator[entry] = None
    return dominator


def immediate_post_dominators(successors: Graph) -> list[int | None]:
    """Immediate post-dominator of each node, looking at the paths that end.

    None where paths meet only at the function's end, and for nodes from which no path ends.
    """
    count = len(successors)
    backward = [list(edges) for edges in reverse(successors)]
    backward.append([node for node in range(count) if not successors[node]])
    dominators = immediate_dominators(backward, count)[:count]
    return [None if dominator == count else dominator for dominator in dominators]


def reverse(successors: Graph) -> list[list[int]]:
    """The graph with its edges turned round (parallel edges merged)."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in dict.fromkeys(targets):
            predecessors[target].append(node)
    return predecessors


def natural_loops(successors: Graph) -> tuple[list[NaturalLoop], set[tuple[int, int]]]:
    """Natural loops, one per header, outer loops before the loops they contain; and the back edges.

    A back edge goes to a node that dominates its origin; cycles entered at several nodes have none and are no loops.
    """
    dominator = immediate_dominators(successors)
    predecessors = reverse(successors)
    back_edges: set[tuple[int, int]] = set()
    for node, targets in enumerate(successors):
        if node and dominator[node] is None:
            continue
        for target in targets:
            above: int | None = node
            while above is not None and above != target:
                above = dominator[above]
            if above is not None:
                back_edges.add((node, target))
    bodies: dict[int, set[int]] = {}
    for origin, header in sorted(back_edges):
        body = bodies.setdefault(header, {header})
        pending = [origin]
        while pending:
            node = pending.pop()
            # Blocks that cannot be reached have no dominator and belong to no loop.
            if node not in body and (node == 0 or dominator[node] is not None):
                body.add(node)
                pending.extend(predecessors[node])
    loops = [NaturalLoop(header, frozenset(body)) for header, body in bodies.items()]
    loops.sort(key=lambda loop: (-len(loop.body), loop.header))
    return loops, back_edges


def innermost_loops(loops: Sequence[NaturalLoop], count: int) -> list[int | None]:
    """Index of the smallest loop around each node, None outside loops.  `loops` as from `natural_loops`."""
    innermost: list[int | None] = [None] * count
    for index, loop in enumerate(loops):
        for node in loop.body:
            innermost[node] = index
    return innermost


def loop_order(successors: Graph) -> list[int]:
    """The reachable nodes in a topological order of the forward edges that keeps every loop's nodes together.

    So each block of a loop comes before every block behind the loop's exits: who always runs the lowest pending
    block runs a loop until all threads have left it.  For reducible graphs the order is a reverse post-order; where
    cycles have several entries, forward edges are those that a depth-first search finds.
    """
    order, retreating = reverse_postorder(successors)
    position = {node: index for index, node in enumerate(order)}
    loops, back_edges = natural_loops(successors)
    cut = back_edges | retreating
    innermost = innermost_loops(loops, len(successors))
    parent: list[int | None] = []
    for index, loop in enumerate(loops):
        enclosing = [other for other in range(index) if loop.header in loops[other].body]
        parent.append(enclosing[-1] if enclosing else None)

    def chain(loop: int | None) -> list[int]:
        loops: list[int] = []
        while loop is not None:
            loops.append(loop)
            loop = parent[loop]
        return loops

    chains = {node: chain(innermost[node]) for node in order}

    def member(node: int, level: int | None) -> tuple[int, int] | None:
        """What stands for `node` inside loop `level` (None: the whole function): itself or a loop directly inside."""
        around = chains[node]
        if level is None:
            return (1, around[-1]) if around else (0, node)
        if level not in around:
            return None
        at = around.index(level)
        return (1, around[at - 1]) if at else (0, node)

    result: list[int] = []

    def emit(level: int | None) -> None:
        nodes = [node for node in order if level is None or node in loops[level].body]
        waiting: dict[tuple[int, int], int] = {}
        rank: dict[tuple[int, int], int] = {}
        edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for node in nodes:
            here = member(node, level)
            assert here is not None
            rank.setdefault(here, position[node])
            waiting.setdefault(here, 0)
            for target in dict.fromkeys(successors[node]):
                there = None if (node, target) in cut else member(target, level)
                if there is not None and there != here:
                    waiting[there] = waiting.get(there, 0) + 1
                    edges.setdefault(here, []).append(there)
        ready = [(rank[item], item) for item, count in waiting.items() if not count]
        heapq.heapify(ready)
        while waiting:
            # Only a cycle with several entries can leave nothing ready: break it at its first node.
            item = heapq.heappop(ready)[1] if ready else min(waiting, key=rank.__getitem__)
            if waiting.pop(item, None) is None:
                continue
            if item[0]:
                emit(item[1])
            else:
                result.append(item[1])
            for target_item in edges.get(item, ()):
                if target_item in waiting:
                    waiting[target_item] -= 1
                    if not waiting[target_item]:
                        heapq.heappush(ready, (rank[target_item], target_item))

    emit(None)
    return result


_FRESH_LOADS = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_Code = Sequence[Sequence[Instruction]]


@dataclass(frozen=True, slots=True)
class ExitDecision:
    """What decides whether a loop is left.

    registers: indices of all registers that the exits' conditions are computed from, round the loop; where memory is
        part of that, also those that what the loop writes is computed from.
    waits: another thread's progress may change them.
    reads_memory: some of them are loaded from memory that a kernel can write.
    unknown: something else has a say: a clock, a barrier's vote, a function called in the loop.
    polls: it waits for more than its turn at a compare-and-swap (a lock, an update of one's own), so that threads that
        have not begun may have to do their part first.
    """

    registers: frozenset[int]
    waits: bool
    reads_memory: bool
    unknown: bool
    polls: bool = False


def exit_decisions(
    code: _Code, successors: Graph, loops: Sequence[NaturalLoop], module: Module | None
) -> tuple[ExitDecision, ...]:
    """What decides whether each of the loops is left.

    `code` holds each block's instructions.  Without `module` the result of any call may come from another thread.
    """
    return tuple(_decision(code, successors, loop, _controllers(successors, loop), module) for loop in loops)


def reads_other_threads(instruction: Instruction) -> bool:
    """Whether an instruction's result may change because another thread went on."""
    if instruction.opcode == "atom":
        return bool(instruction.operands) and not isinstance(instruction.operands[0], Sink | Address)
    if instruction.opcode == "mbarrier":
        return not {"test_wait", "try_wait"}.isdisjoint(instruction.modifiers)
    return instruction.opcode == "ld" and not _FRESH_LOADS.isdisjoint(instruction.modifiers)


def _controllers(successors: Graph, loop: NaturalLoop) -> dict[int, set[int]]:
    """For each block of a loop the conditional branches that decide whether one iteration comes to it.

    Control dependence by post-dominators, of the paths from the header to the end of the iteration: the header once
    more, or what follows the loop.  Two loops may share a header (`for (…) while (…);`): which of the two goes round
    is decided on the way.
    """
    body = sorted(loop.body)
    number = {block: position for position, block in enumerate(body)}
    end = len(body)
    graph = [
        tuple({end if target == loop.header else number.get(target, end) for target in successors[block]})
        for block in body
    ]
    post_dominators = immediate_post_dominators([*graph, ()])
    result: dict[int, set[int]] = {block: set() for block in body}
    for position, targets in enumerate(graph):
        if len(targets) < 2:
            continue
        for target in targets:
            at: int | None = target
            while at is not None and at != end and at != post_dominators[position]:
                result[body[at]].add(body[position])
                at = post_dominators[at]
    return result


class _Slice:
    """The backward slice of a loop's exits, round the loop; fields as of `ExitDecision`."""

    def __init__(
        self, code: _Code, loop: NaturalLoop, controllers: Mapping[int, set[int]], module: Module | None
    ) -> None:
        self._code = code
        self._loop = loop
        self._controllers = controllers
        self._module = module
        self._writers: dict[int, list[tuple[int, Instruction]]] = {}
        self._callers: dict[str, Instruction] = {}
        self._branches: set[int] = set()
        self._pending: list[Register] = []
        self.registers: set[int] = set()
        self.waits = self.polls = self.reads_memory = self.unknown = False
        for block in loop.body:
            for instruction in code[block]:
                self._note(block, instruction)

    def _note(self, block: int, instruction: Instruction) -> None:
        for register in destinations(instruction):
            self._writers.setdefault(register.index, []).append((block, instruction))
        if instruction.opcode == "call":
            self.unknown |= not _returns(instruction)
            if isinstance(instruction.operands[0], Vector):
                for returned in instruction.operands[0].elements:
                    if isinstance(returned, Symbol):
                        self._callers[returned.name] = instruction

    def add_branches(self, blocks: Iterable[int]) -> None:
        """Add the branches at the ends of `blocks`, and those that decide whether these run."""
        waiting = list(blocks)
        while waiting:
            block = waiting.pop()
            if block in self._loop.body and block not in self._branches:
                self._branches.add(block)
                self._pending.extend(sources(self._code[block][-1]))
                waiting.extend(self._controllers[block])

    def add_stores(self) -> None:
        """Add what the loop may write to memory, and when; and those it meets at barriers."""
        for block in self._loop.body:
            for instruction in self._code[block]:
                if facts(instruction.opcode).memory in ("store", "atomic", "surface", "copy"):
                    self._pending.extend(sources(instruction))
                    self.add_branches(self._controllers[block])
                self.unknown |= is_barrier(instruction.opcode) and "warp" not in instruction.modifiers

    def close(self) -> None:
        """Follow everything that was added back to what it is computed from."""
        while self._pending:
            register = self._pending.pop()
            if register.index in self.registers:
                continue
            self.registers.add(register.index)
            for block, instruction in self._writers.get(register.index, ()):
                self._look_at(instruction)
                self._pending.extend(sources(instruction))
                self.add_branches(self._controllers[block])

    def _takes_turns(self, instruction: Instruction) -> bool:
        """Whether an atomic is a compare-and-swap that changes something, so that one of those who try gets through.

        What it waits for is the same for all of them (free: a literal), or what the loop has found there.  A number of
        the thread's own (`atomicCAS(turn, blockIdx.x, blockIdx.x + 1)`) makes it wait until it has been called.
        """
        if "cas" not in instruction.modifiers or instruction.operands[2] == instruction.operands[3]:
            return False
        expected = instruction.operands[2]
        return not isinstance(expected, Register) or expected.index in self._writers

    def _look_at(self, instruction: Instruction) -> None:
        """Note where the result of an instruction comes from, apart from its operands."""
        if reads_other_threads(instruction):
            self.waits = True
            self.polls |= not self._takes_turns(instruction)
        caller = _call_behind(instruction, self._callers)
        if caller is not None:
            self.unknown = True
            if _call_waits(caller, self._module):
                self.waits = self.polls = True
        self.reads_memory |= _reads_memory(instruction)
        self.unknown |= (
            is_barrier(instruction.opcode) or instruction.opcode == "activemask" or _reads_clock(instruction)
        )


def _decision(
    code: _Code, successors: Graph, loop: NaturalLoop, controllers: Mapping[int, set[int]], module: Module | None
) -> ExitDecision:
    exits = _Slice(code, loop, controllers, module)
    exits.add_branches(block for block in loop.body if any(target not in loop.body for target in successors[block]))
    exits.close()
    waits, polls = exits.waits, exits.polls
    if exits.reads_memory and not exits.unknown:
        # Who writes that memory has a say as well.
        exits.add_stores()
        exits.close()
    return ExitDecision(frozenset(exits.registers), waits, exits.reads_memory, exits.unknown, polls)


def _reads_clock(instruction: Instruction) -> bool:
    return any(
        isinstance(operand, Special) and operand.name.startswith(("clock", "globaltimer"))
        for operand in instruction.operands
    )


def _reads_memory(instruction: Instruction) -> bool:
    if facts(instruction.opcode).memory == "load":
        return not {"param", "const"}.intersection(instruction.modifiers)
    return instruction.opcode == "atom" or reads_other_threads(instruction)


def _returns(call: Instruction) -> bool:
    """Whether a called function certainly returns: only the driver's printf does."""
    target = call.operands[1] if len(call.operands) > 1 else None
    return isinstance(target, Symbol) and target.name == "vprintf"


def _call_behind(instruction: Instruction, callers: dict[str, Instruction]) -> Instruction | None:
    """Return the call whose return value this instruction fetches."""
    if instruction.opcode == "call":
        return instruction
    if instruction.opcode == "ld" and len(instruction.operands) > 1:
        address = instruction.operands[1]
        if isinstance(address, Address) and isinstance(address.base, Symbol):
            return callers.get(address.base.name)
    return None


def _call_waits(call: Instruction, module: Module | None) -> bool:
    if module is None:
        return True
    pending = [call]
    visited: set[str] = set()
    while pending:
        target = pending.pop().operands[1]
        if not isinstance(target, Symbol):
            return True
        callee: Function | None = module.functions.get(target.name)
        if target.name in visited or callee is None:
            continue
        visited.add(target.name)
        for item in callee.body:
            if isinstance(item, Instruction):
                if reads_other_threads(item):
                    return True
                if item.opcode == "call":
                    pending.append(item)
    return False
