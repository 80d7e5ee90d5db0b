"""Instructions through which the lanes of a warp see each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.frontend.nodes import Instruction, Operand, Register, Vector
from grader.ptx.isa.warp import LANES, pack
from grader.ptx.lowering.operands import getter
from grader.ptx.machine.code import Code, Step
from grader.ptx.machine.groups import Group, missing, report_missing, report_outsiders
from grader.ptx.values.kinds import BOOL, UNSIGNED, Value, as_array, from_array
from grader.ptx.values.lanes import Array, Lanes

U32 = UNSIGNED[4]


def _table(value: Value, lanes: Lanes, dtype: np.dtype[Any]) -> Array:
    array = as_array(value, dtype)
    if len(array) != lanes.n:
        array = np.broadcast_to(array, (lanes.n,))
    return lanes.to_warps(array, dtype.type(0))


def _members(group: Group, instruction: Instruction, mask: Value) -> Array:
    """(n_warps, 32) member masks; a mask that names lanes which are not there, or not the lane itself, is a hazard."""
    lanes = group.lanes
    table = _table(mask, lanes, U32)
    if not lanes.whole_warps:
        report_missing(group, instruction, missing(group.batch, lanes, mask))
    report_outsiders(group, instruction, mask)
    return table


def _register(operand: Operand) -> int | None:
    return operand.index if isinstance(operand, Register) else None


def _shfl(code: Code, instruction: Instruction) -> Step:
    from grader.ptx.isa.warp import shuffle

    modifiers = instruction.modifiers
    if modifiers[0] != "sync" or modifiers[-1] != "b32":
        raise UnsupportedInstruction(instruction.text)
    mode = modifiers[1]
    target, *sources = instruction.operands
    outputs = target.elements if isinstance(target, Vector) else (target,)
    value, lane, clamp, mask = (getter(code, operand, 4) for operand in sources)
    index = _register(outputs[0])
    predicate = _register(outputs[1]) if len(outputs) > 1 else None

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, mask(group))
        result, in_range, inactive = shuffle(
            mode,
            _table(value(group), lanes, U32),
            lanes.active_table(),
            _table(lane(group), lanes, U32),
            _table(clamp(group), lanes, U32),
            members,
        )
        if inactive.any():
            _report_inactive(group, instruction, inactive)
        if index is not None:
            group.registers[index] = from_array(lanes.from_warps(result), lanes, 4)
        if predicate is not None:
            group.registers[predicate] = from_array(lanes.from_warps(in_range), lanes, 0)

    return step


def _report_inactive(group: Group, instruction: Instruction, inactive: Array) -> None:
    lanes = group.lanes
    positions = np.flatnonzero(lanes.from_warps(inactive))
    if len(positions):
        group.batch.hazards.add(
            group.batch.geometry,
            "warp_sync",
            "inactive_source",
            instruction,
            int(lanes.ids[positions[0]]),
            len(positions),
            op="shuffle",
        )


def _vote(code: Code, instruction: Instruction) -> Step:
    from grader.ptx.isa.warp import vote

    modifiers = instruction.modifiers
    # Hand-written PTX has them in either order: vote.sync.ballot and vote.ballot.sync.
    modes = [modifier for modifier in modifiers if modifier in ("all", "any", "uni", "ballot")]
    if "sync" not in modifiers or len(modes) != 1:
        raise UnsupportedInstruction(instruction.text)
    mode = modes[0]
    target, source, mask = instruction.operands
    read, read_mask = getter(code, source, 0), getter(code, mask, 4)
    index = _register(target)

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        result = vote(mode, _table(read(group), lanes, BOOL), lanes.active_table(), members)
        if index is not None:
            group.registers[index] = from_array(lanes.from_warps(result), lanes, code.register_bytes[index])

    return step


def _match(code: Code, instruction: Instruction) -> Step:
    from grader.ptx.isa.warp import match

    mode = instruction.modifiers[0]
    dtype = UNSIGNED[int(instruction.modifiers[-1][1:]) // 8]
    target, source, mask = instruction.operands
    outputs = target.elements if isinstance(target, Vector) else (target,)
    read, read_mask = getter(code, source, dtype.itemsize), getter(code, mask, 4)

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        results: Any = match(mode, _table(read(group), lanes, dtype), lanes.active_table(), members)
        if not isinstance(results, tuple):
            results = (results,)
        for operand, result in zip(outputs, results, strict=False):
            index = _register(operand)
            if index is not None:
                group.registers[index] = from_array(lanes.from_warps(result), lanes, code.register_bytes[index])

    return step


def _redux(code: Code, instruction: Instruction) -> Step:
    from grader.ptx.isa.warp import redux

    modifiers = instruction.modifiers
    operation, type_name = modifiers[1], modifiers[-1]
    dtype = np.dtype(np.int32) if type_name == "s32" else U32
    target, source, mask = instruction.operands
    read, read_mask = getter(code, source, 4), getter(code, mask, 4)
    index = _register(target)

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        result = redux(operation, _table(read(group), lanes, dtype), lanes.active_table(), members)
        if index is not None:
            group.registers[index] = from_array(lanes.from_warps(result), lanes, 4)

    return step


def _activemask(code: Code, instruction: Instruction) -> Step:
    index = _register(instruction.operands[0])
    assert index is not None

    def step(group: Group) -> None:
        lanes = group.lanes
        active = lanes.active_table()
        masks = (active * (np.uint32(1) << np.arange(32, dtype=np.uint32))).sum(axis=1, dtype=np.uint32)
        table = np.broadcast_to(masks[:, None], active.shape)
        group.registers[index] = from_array(lanes.from_warps(table), lanes, 4)

    return step


def _elect(code: Code, instruction: Instruction) -> Step:
    """One of the members, here the first: which one is the device's choice (PTX ISA, elect.sync)."""
    target, mask = instruction.operands
    if instruction.modifiers != ("sync",) or not isinstance(target, Vector):
        raise UnsupportedInstruction(instruction.text)
    leader, predicate = (_register(element) for element in target.elements)
    read_mask = getter(code, mask, 4)

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        here = members & pack(lanes.active_table())[:, None]
        lowest = np.bitwise_count(~here & (here - np.uint32(1))).astype(np.uint32)
        if leader is not None:
            group.registers[leader] = from_array(lanes.from_warps(lowest), lanes, 4)
        if predicate is not None:
            group.registers[predicate] = from_array(lanes.from_warps(lowest == LANES), lanes, 0)

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "elect": _elect,
}
