"""How a basic block ends: branches, returns, barriers, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Immediate, Instruction, Register, Symbol, Vector
from grader.ptx.limits import DeviceTrap, InvalidInstruction, UnsupportedInstruction
from grader.ptx.lowering.builtins import BUILTINS
from grader.ptx.machine.barriers import Barriers, BarrierWaiter
from grader.ptx.machine.batch import Frame, Group, report_outsiders
from grader.ptx.machine.code import Code, CodeBlock, Finish
from grader.ptx.machine.operands import getter, refuse
from grader.ptx.machine.scheduler import Scheduler
from grader.ptx.values import BOOL, UNSIGNED, Affine, Lanes, Vec, as_array, from_array, remember, select


def terminator(code: Code, block: CodeBlock, successors: tuple[int, ...]) -> Finish | None:
    """What happens after the last step of a block; None when the block just runs into the next one."""
    if not block.instructions:
        return None
    instruction = block.last
    maker = _FINISHERS.get(instruction.opcode)
    if maker is None:
        return None
    try:
        return maker(code, block, instruction, successors)
    except UnsupportedInstruction as error:
        step = refuse(instruction, error.reason)

        def fail(group: Group, scheduler: Scheduler) -> bool:
            step(group)
            return False

        return fail


def _bra(code: Code, block: CodeBlock, instruction: Instruction, successors: tuple[int, ...]) -> Finish:
    guard = instruction.guard
    here, taken = block.index, successors[0]
    backwards = (here, taken) in code.back_edges
    if guard is None:

        def jump(group: Group, scheduler: Scheduler) -> bool:
            group.block = taken
            group.from_back_edge = backwards
            return True

        return jump
    index, negated, fall = guard.register.index, guard.negated, successors[1]
    return lambda group, scheduler: take_branch(group, scheduler, group.registers[index], negated, taken, fall)


def take_branch(
    group: Group, scheduler: Scheduler, predicate: Any, negated: bool, taken: int, fallthrough: int
) -> bool:
    """Send a group's lanes to one or two blocks; True when the same group simply goes on at `group.block`."""
    code = group.frames[-1].code
    if isinstance(predicate, Vec):
        holds, fails = _parted(predicate, group.lanes)
        if holds is not None and fails is not None:
            here = group.block
            for lanes, target in ((fails if negated else holds, taken), (holds if negated else fails, fallthrough)):
                part = group.split(lanes, target)
                part.from_back_edge = (here, target) in code.back_edges
                scheduler.queue.add(part)
            return False
        truth = holds is not None
    else:
        truth = bool(predicate)
    target = taken if truth != negated else fallthrough
    group.from_back_edge = (group.block, target) in code.back_edges
    group.block = target
    return True


def _parted(predicate: Vec, lanes: Lanes) -> tuple[Lanes | None, Lanes | None]:
    """Return the lanes for which a predicate holds and those for which it does not, None for an empty set."""
    lasting = predicate.lasting and lanes.lasting and predicate.lanes is lanes
    parts: tuple[Lanes | None, Lanes | None] | None = predicate.memo.get("parts") if lasting else None
    if parts is None:
        mask = predicate.array
        if mask.dtype != np.bool_:
            mask = mask != 0
        count = int(np.count_nonzero(mask))
        if count == len(mask):
            parts = lanes, None
        elif not count:
            parts = None, lanes
        else:
            holds, fails = lanes.select(np.flatnonzero(mask)), lanes.select(np.flatnonzero(~mask))
            parts = (holds.keep(), fails.keep()) if lasting else (holds, fails)
        if lasting:
            remember(predicate.memo, "parts", parts)
    return parts


def _brx(code: Code, block: CodeBlock, instruction: Instruction, successors: tuple[int, ...]) -> Finish:
    read = getter(code, instruction.operands[0], 4)

    def finish(group: Group, scheduler: Scheduler) -> bool:
        choice = as_array(read(group), UNSIGNED[4])
        values = np.unique(choice).tolist()
        if values[-1] >= len(successors):
            raise DeviceTrap(instruction.location.line, f"branch to entry {values[-1]} of {len(successors)} labels")
        if len(values) == 1:
            group.from_back_edge = (block.index, successors[values[0]]) in code.back_edges
            group.block = successors[values[0]]
            return True
        for value in values:
            lanes = group.lanes.select(np.flatnonzero(choice == value))
            part = group.split(lanes, successors[value])
            part.from_back_edge = (block.index, successors[value]) in code.back_edges
            scheduler.queue.add(part)
        return False

    return finish


def _ret(code: Code, block: CodeBlock, instruction: Instruction, successors: tuple[int, ...]) -> Finish:
    leaves = instruction.opcode == "exit"

    def finish(group: Group, scheduler: Scheduler) -> bool:
        if leaves or len(group.frames) == 1:
            group.batch.retire(group.lanes)
            return False
        group.pop()
        group.from_back_edge = False
        return True

    return finish


def _barrier(code: Code, block: CodeBlock, instruction: Instruction, successors: tuple[int, ...]) -> Finish:
    modifiers = [m for m in instruction.modifiers if m not in ("cta", "aligned")]
    operands = list(instruction.operands)
    if modifiers[:1] == ["warp"]:
        if not operands:
            raise InvalidInstruction(instruction.text, instruction.location.line, "no lanes are named")
        mask = getter(code, operands[0], 4)

        def in_warp(group: Group, scheduler: Scheduler) -> bool:
            report_outsiders(group, instruction, mask(group))
            if not scheduler.convergence.sync(group, block, mask(group)):
                return False
            group.from_back_edge = block.next_is_back_edge
            group.block = successors[0]
            return True

        return in_warp
    kind = modifiers[0] if modifiers else ""
    if kind in ("sync", "arrive", "red") and not operands:
        raise InvalidInstruction(instruction.text, instruction.location.line, "no barrier is named")
    if kind not in ("sync", "arrive", "red"):
        raise UnsupportedInstruction(instruction.text)
    target: int | None = None
    if kind == "red":
        register = operands.pop(0)
        if not isinstance(register, Register) or len(operands) < 2 or modifiers[1:2] not in (["popc"], ["and"], ["or"]):
            raise InvalidInstruction(instruction.text, instruction.location.line, "operands")
        target = register.index
        predicate = getter(code, operands.pop(), 0)
    number = getter(code, operands[0], 4)
    count = getter(code, operands[1], 4) if len(operands) > 1 else (lambda group: 0)

    def meet(group: Group, barriers: Barriers, barrier: int, expected: int, vote: Any) -> bool:
        waiter = BarrierWaiter(group, block, barrier, expected)
        if kind == "arrive":
            waiter.group = group.split(group.lanes, successors[0])
            waiter.arrive_only = True
            barriers.arrive(waiter)
            group.from_back_edge = block.next_is_back_edge
            group.block = successors[0]
            return True
        if target is not None:
            _vote_at(group, barriers, barrier, vote)
            waiter.release = lambda released: _deliver(code, released, barriers, barrier, modifiers[1], target)
        barriers.waiters.append(waiter)
        return False

    def finish(group: Group, scheduler: Scheduler) -> bool:
        barrier, expected, vote = number(group), count(group), None if target is None else predicate(group)
        if isinstance(barrier, int) and isinstance(expected, int):
            return meet(group, scheduler.barriers, barrier, expected, vote)
        # Threads of one group that name different barriers go to them by themselves.
        barriers, counts = (np.broadcast_to(as_array(v, UNSIGNED[4]), (group.lanes.n,)) for v in (barrier, expected))
        for pair in sorted(set(zip(barriers.tolist(), counts.tolist(), strict=True))):
            lanes = group.lanes.select(np.flatnonzero((barriers == pair[0]) & (counts == pair[1])))
            part = group.split(lanes, successors[0])
            part.block = block.index
            if meet(part, scheduler.barriers, *pair, select(vote, lanes)):
                scheduler.queue.add(part)
        return False

    return finish


def _vote_at(group: Group, barriers: Barriers, barrier: int, value: Any) -> None:
    batch = group.batch
    votes = barriers.votes.setdefault(barrier, np.zeros((batch.layout.blocks, 2), np.int64))
    truth = np.broadcast_to(as_array(value, BOOL), (group.lanes.n,))
    blocks = group.lanes.blocks
    votes[:, 0] += np.bincount(blocks[truth], minlength=batch.layout.blocks)
    votes[:, 1] += np.bincount(blocks, minlength=batch.layout.blocks)


def _deliver(code: Code, group: Group, barriers: Barriers, barrier: int, operation: str, target: int) -> None:
    true, arrived = barriers.votes[barrier].T
    result = {"popc": true.astype(np.uint32), "and": true == arrived, "or": true > 0}[operation]
    group.registers[target] = from_array(result[group.lanes.blocks], group.lanes, code.register_bytes[target])


def _call(code: Code, block: CodeBlock, instruction: Instruction, successors: tuple[int, ...]) -> Finish:
    # A call through a pointer also names the function's prototype.
    returns, target, arguments, *_ = instruction.operands
    if not isinstance(returns, Vector) or not isinstance(arguments, Vector):
        raise InvalidInstruction(instruction.text, instruction.location.line, "operands")
    argument_names = [(o.name if isinstance(o, Symbol) else "") for o in arguments.elements]
    return_names = [(o.name if isinstance(o, Symbol) else "") for o in returns.elements]
    resume = successors[0]
    if any(isinstance(o, (Register, Immediate)) for o in (*arguments.elements, *returns.elements)):
        raise UnsupportedInstruction(instruction.text, reason="call with registers")
    if isinstance(target, Symbol):
        builtin = BUILTINS.get(target.name)
        if builtin is not None:

            def call_builtin(group: Group, scheduler: Scheduler) -> bool:
                symbols = group.frames[-1].symbols
                builtin(group, instruction, [symbols[n] for n in argument_names], [symbols[n] for n in return_names])
                group.from_back_edge = block.next_is_back_edge
                group.block = resume
                return True

            return call_builtin
        if target.name not in code.program.module.functions or not code.program.has_body(target.name):
            raise UnsupportedInstruction(instruction.text, reason=f"function {target.name} has no body")
        name = target.name

        def call(group: Group, scheduler: Scheduler) -> bool:
            return enter(group, code.program.code(name), argument_names, return_names, resume, (block.index, name))

        return call
    read = getter(code, target)

    def call_pointer(group: Group, scheduler: Scheduler) -> bool:
        value = read(group)
        if isinstance(value, (Vec, Affine)):
            pointers = as_array(value, UNSIGNED[8])
            for pointer in np.unique(pointers).tolist():
                lanes = group.lanes.select(np.flatnonzero(pointers == pointer))
                part = group.split(lanes, resume)
                callee = code.program.code(code.program.at(pointer, instruction).name)
                enter(part, callee, argument_names, return_names, resume, (block.index, callee.name))
                scheduler.queue.add(part)
            return False
        callee = code.program.code(code.program.at(value, instruction).name)
        return enter(group, callee, argument_names, return_names, resume, (block.index, callee.name))

    return call_pointer


def enter(
    group: Group, callee: Code, argument_names: list[str], return_names: list[str], resume: int, link: Any
) -> bool:
    """Start executing a function for all lanes of the group."""
    deepest = group.batch.budget.limits.depth
    if len(group.frames) > deepest:
        raise DeviceTrap(callee.function.location.line, f"more than {deepest} nested calls: the stack overflows")
    caller = group.frames[-1].symbols
    function = callee.function
    if len(function.parameters) != len(argument_names) or len(function.returns) != len(return_names):
        raise DeviceTrap(callee.function.location.line, f"{callee.name} is called as what it is not")
    symbols = {p.name: caller[name] for p, name in zip(function.parameters, argument_names, strict=True)}
    symbols.update({p.name: caller[name] for p, name in zip(function.returns, return_names, strict=True)})
    symbols.update(group.batch.local_variables(len(group.frames), function))
    registers = callee.fresh_registers.copy()
    group.push(Frame(callee, registers, symbols, resume), link)
    group.from_back_edge = False
    return True


_FINISHERS: dict[str, Callable[[Code, CodeBlock, Instruction, tuple[int, ...]], Finish]] = {
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _ret,
    "bar": _barrier,
    "barrier": _barrier,
    "call": _call,
}
