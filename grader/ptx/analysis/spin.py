"""Loops that wait for another thread.

On hardware with independent thread scheduling the threads of a warp make progress on their own, so
`while (atomicCAS(lock, 0, 1) != 0);` ends even when the lock's holder is in the same warp.  An executor that runs
the lowest block first would turn in such a loop for ever; it has to know these loops to take turns.

A loop waits if what decides whether to leave it is computed, inside the loop, from an atomic's result or from a
volatile, relaxed or acquire load.  "Computed from" follows registers backwards (a slice by name, whatever the
order of the definitions), and also the branches that decide which definition is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.ptx.analysis.graphs import Graph, NaturalLoop
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
    code: _Code,
    successors: Graph,
    loops: Sequence[NaturalLoop],
    post_dominators: Sequence[int | None],
    module: Module | None,
) -> tuple[ExitDecision, ...]:
    """What decides whether each of the loops is left.

    `code` holds each block's instructions.  Without `module` the result of any call may come from another thread.
    """
    if not loops:
        return ()
    controllers = _controllers(successors, post_dominators)
    return tuple(_decision(code, successors, loop, controllers, module) for loop in loops)


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


def _controllers(successors: Graph, post_dominators: Sequence[int | None]) -> list[set[int]]:
    """For each block the conditional branches that decide whether it runs (control dependence by post-dominators)."""
    result: list[set[int]] = [set() for _ in successors]
    for block, targets in enumerate(successors):
        if len(targets) < 2:
            continue
        for target in targets:
            at: int | None = target
            while at is not None and at != post_dominators[block]:
                result[at].add(block)
                at = post_dominators[at]
    return result


def _decision(
    code: _Code, successors: Graph, loop: NaturalLoop, controllers: Sequence[set[int]], module: Module | None
) -> ExitDecision:
    writers: dict[int, list[tuple[int, Instruction]]] = {}
    callers: dict[str, Instruction] = {}
    calls = False
    for block in loop.body:
        for instruction in code[block]:
            for register in destinations(instruction):
                writers.setdefault(register.index, []).append((block, instruction))
            if instruction.opcode == "call":
                calls |= not _returns(instruction)
                if isinstance(instruction.operands[0], Vector):
                    for returned in instruction.operands[0].elements:
                        if isinstance(returned, Symbol):
                            callers[returned.name] = instruction
    deciding = [block for block in loop.body if any(target not in loop.body for target in successors[block])]
    seen_blocks: set[int] = set()
    registers: set[int] = set()
    pending: list[Register] = []
    waits = polls = reads_memory = False
    unknown = calls

    def follow_branches(blocks: Iterable[int]) -> None:
        waiting = list(blocks)
        while waiting:
            block = waiting.pop()
            if block in loop.body and block not in seen_blocks:
                seen_blocks.add(block)
                pending.extend(sources(code[block][-1]))
                waiting.extend(controllers[block])

    def close() -> None:
        """Follow the registers in `pending` to what they are computed from."""
        nonlocal waits, polls, reads_memory, unknown
        while pending:
            register = pending.pop()
            if register.index in registers:
                continue
            registers.add(register.index)
            for block, instruction in writers.get(register.index, ()):
                if reads_other_threads(instruction):
                    waits = True
                    polls |= not _takes_turns(instruction)
                caller = _call_behind(instruction, callers)
                if caller is not None:
                    unknown = True
                    if _call_waits(caller, module):
                        waits = polls = True
                reads_memory |= _reads_memory(instruction)
                unknown |= (
                    is_barrier(instruction.opcode)
                    or instruction.opcode == "activemask"
                    or any(
                        isinstance(operand, Special) and operand.name.startswith(("clock", "globaltimer"))
                        for operand in instruction.operands
                    )
                )
                pending.extend(sources(instruction))
                follow_branches(controllers[block])

    follow_branches(deciding)
    close()
    ends_with_others, ends_with_later = waits, polls
    if reads_memory and not unknown:
        # What the loop may write to that memory, and when, has a say as well; so have those it meets at barriers.
        for block in loop.body:
            for instruction in code[block]:
                if facts(instruction.opcode).memory in ("store", "atomic", "surface", "copy"):
                    pending.extend(sources(instruction))
                    follow_branches(controllers[block])
                unknown |= is_barrier(instruction.opcode) and "warp" not in instruction.modifiers
        close()
    return ExitDecision(frozenset(registers), ends_with_others, reads_memory, unknown, ends_with_later)


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
