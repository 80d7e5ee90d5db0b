"""Loops that wait for another thread.

On hardware with independent thread scheduling the threads of a warp make progress on their own, so
`while (atomicCAS(lock, 0, 1) != 0);` ends even when the lock's holder is in the same warp.  An executor that runs
the lowest block first would turn in such a loop for ever; it has to know these loops to take turns.

A loop waits if what decides whether to leave it is computed, inside the loop, from an atomic's result or from a
volatile, relaxed or acquire load.  "Computed from" follows registers backwards (a slice by name, whatever the
order of the definitions), and also the branches that decide which definition is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.ptx.analysis.graphs import Graph, NaturalLoop, immediate_post_dominators
from grader.ptx.analysis.liveness import destinations, sources
from grader.ptx.frontend.nodes import Address, Function, Instruction, Module, Register, Sink, Special, Symbol, Vector
from grader.ptx.isa.opcodes import facts, is_barrier

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


def _takes_turns(instruction: Instruction) -> bool:
    """Whether an atomic is a compare-and-swap that changes something: of those who try, one gets through."""
    return "cas" in instruction.modifiers and instruction.operands[2] != instruction.operands[3]


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
    """What a loop's exits are computed from, followed backwards round the loop; fields as of `ExitDecision`."""

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
        """What an instruction of the loop writes, and who has called what it fetches."""
        for register in destinations(instruction):
            self._writers.setdefault(register.index, []).append((block, instruction))
        if instruction.opcode == "call":
            self.unknown |= not _returns(instruction)
            if isinstance(instruction.operands[0], Vector):
                for returned in instruction.operands[0].elements:
                    if isinstance(returned, Symbol):
                        self._callers[returned.name] = instruction

    def add_branches(self, blocks: Iterable[int]) -> None:
        """The branches at the ends of `blocks`, and those that decide whether these run."""
        waiting = list(blocks)
        while waiting:
            block = waiting.pop()
            if block in self._loop.body and block not in self._branches:
                self._branches.add(block)
                self._pending.extend(sources(self._code[block][-1]))
                waiting.extend(self._controllers[block])

    def add_stores(self) -> None:
        """What the loop may write to memory, and when; and those it meets at barriers."""
        for block in self._loop.body:
            for instruction in self._code[block]:
                if facts(instruction.opcode).memory in ("store", "atomic", "surface", "copy"):
                    self._pending.extend(sources(instruction))
                    self.add_branches(self._controllers[block])
                self.unknown |= is_barrier(instruction.opcode) and "warp" not in instruction.modifiers

    def close(self) -> None:
        """Follow everything that was added to what it is computed from."""
        while self._pending:
            register = self._pending.pop()
            if register.index in self.registers:
                continue
            self.registers.add(register.index)
            for block, instruction in self._writers.get(register.index, ()):
                self._look_at(instruction)
                self._pending.extend(sources(instruction))
                self.add_branches(self._controllers[block])

    def _look_at(self, instruction: Instruction) -> None:
        """Where the result of an instruction comes from, beside its operands."""
        if reads_other_threads(instruction):
            self.waits = True
            self.polls |= not _takes_turns(instruction)
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
    found = _Slice(code, loop, controllers, module)
    found.add_branches(block for block in loop.body if any(target not in loop.body for target in successors[block]))
    found.close()
    waits, polls = found.waits, found.polls
    if found.reads_memory and not found.unknown:
        # Who writes that memory has a say as well.
        found.add_stores()
        found.close()
    return ExitDecision(frozenset(found.registers), waits, found.reads_memory, found.unknown, polls)


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
    """Whether a called function is known to come back: only the driver's printf is."""
    target = call.operands[1] if len(call.operands) > 1 else None
    return isinstance(target, Symbol) and target.name == "vprintf"


def _call_behind(instruction: Instruction, callers: dict[str, Instruction]) -> Instruction | None:
    """The call whose return value this instruction fetches."""
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
    seen: set[str] = set()
    while pending:
        target = pending.pop().operands[1]
        if not isinstance(target, Symbol):
            return True
        callee: Function | None = module.functions.get(target.name)
        if target.name in seen or callee is None:
            continue
        seen.add(target.name)
        for item in callee.body:
            if isinstance(item, Instruction):
                if reads_other_threads(item):
                    return True
                if item.opcode == "call":
                    pending.append(item)
    return False
