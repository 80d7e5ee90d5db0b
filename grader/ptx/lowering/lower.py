"""Turns a function into steps: one Python closure an instruction, one finish a block.

A step takes the group it is executed for, reads and writes `group.registers`, and knows everything
that does not depend on the group beforehand.  Some integer instructions have a cheap way for values that are uniform or
advance by a constant.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.ptx import affine
from grader.ptx.dataflow import is_idle_for
from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register, Vector
from grader.ptx.isa.instructions import facts, is_arithmetic, lookup
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering import asynchronous, data_movement, textures, warps
from grader.ptx.lowering.control import terminator
from grader.ptx.machine.batch import FULL, Group
from grader.ptx.machine.code import Code, CodeBlock, ControlFlowGraph, Finish, Getter, Linkage, Step
from grader.ptx.machine.operands import getter, refuse
from grader.ptx.machine.scheduler import Scheduler
from grader.ptx.values import BOOL, UNSIGNED, Affine, Value, Vec, as_array, from_array, keep, lasting_key, remember

_TYPES = {f"{kind}{bits}": (bits, kind == "s") for kind in "usb" for bits in (16, 32, 64)}


def fast_path_of(instruction: Instruction) -> Callable[..., Value | None] | None:
    """Return the cheap way for integers that are uniform or advance by a constant, None where there is none."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    types = [_TYPES[m] for m in modifiers if m in _TYPES]
    if not types:
        return None
    bits, signed = types[-1]
    if opcode in ("add", "sub", "shl") and len(modifiers) == 1:
        function = {"add": affine.add, "sub": affine.sub, "shl": affine.shl}[opcode]
        return lambda a, b: function(a, b, bits)
    if opcode in ("mul", "mad") and len(modifiers) == 2 and modifiers[0] in ("lo", "wide"):
        wide = modifiers[0] == "wide"

        def multiply(a: Value, b: Value) -> Value | None:
            return affine.mul_wide(a, b, bits, signed) if wide else affine.mul_lo(a, b, bits)

        if opcode == "mul":
            return multiply
        sum_bits = 2 * bits if wide else bits

        def multiply_add(a: Value, b: Value, c: Value) -> Value | None:
            product = multiply(a, b)
            return None if product is None else affine.add(product, c, sum_bits)

        return multiply_add
    if opcode == "cvt" and len(modifiers) == 2 and len(types) == 2:
        to_bits, (from_bits, from_signed) = types[0][0], types[1]
        if to_bits > from_bits:
            return lambda a: affine.widen(a, from_bits, to_bits, from_signed)
        if to_bits < from_bits:
            return lambda a: affine.narrow(a, to_bits) if to_bits >= 32 else None
        return lambda a: affine.same_bits(a, to_bits)
    if opcode == "setp" and len(modifiers) == 2:
        relation = modifiers[0]
        if relation in ("lo", "ls", "hi", "hs"):
            signed = False
        return lambda a, b: affine.compare(relation, a, b, bits, signed)
    if opcode in ("and", "or", "xor", "shr", "min", "max") and len(modifiers) == 1:
        return lambda a, b: _uniform(opcode, a, b, bits, signed)
    return None


def _uniform(opcode: str, a: Value, b: Value, bits: int, signed: bool) -> Value | None:
    if isinstance(a, (Vec, Affine)) or isinstance(b, (Vec, Affine)):
        return None
    if opcode == "and":
        return a & b
    if opcode == "or":
        return a | b
    if opcode == "xor":
        return a ^ b
    left = affine.to_signed(a, bits) if signed else a
    mask = (1 << bits) - 1
    if opcode == "shr":
        return (left >> min(b, bits)) & mask
    right = affine.to_signed(b, bits) if signed else b
    return (min(left, right) if opcode == "min" else max(left, right)) & mask


def lower(graph: ControlFlowGraph, program: Linkage) -> Code:
    """Lower a function to its runnable form."""
    code = Code(graph, program)
    for block in graph.blocks:
        following = block.successors[-1] if block.successors else -1
        code_block = CodeBlock(block.index, block.instructions, following)
        code_block.next_is_back_edge = (block.index, following) in graph.back_edges
        code.blocks.append(code_block)
        steps: list[Step] = []
        instructions = block.instructions
        finish = terminator(code, code_block, block.successors)
        if finish is not None:
            code_block.finish, instructions = finish, instructions[:-1]
        else:
            code_block.finish = _fall_through(code_block)
        for instruction in instructions:
            step = compile_step(code, instruction)
            if step is not None:
                steps.append(step)
        code_block.steps = tuple(steps)
        if code_block.collective:
            code_block.member_mask = _member_mask(code, code_block)
    return code


def _member_mask(code: Code, block: CodeBlock) -> Getter | None:
    """Return the mask of a block's first warp-wide instruction: a constant, or a register set before the block."""
    moved: dict[Operand, Operand | None] = {}
    for instruction in block.instructions:
        if facts(instruction.opcode).fragments:
            return lambda group: FULL
        if facts(instruction.opcode).collective:
            mask: Operand | None = instruction.operands[-1]
            if mask in moved:
                mask = moved[mask]
            return getter(code, mask, 4) if isinstance(mask, (Immediate, Register)) else None
        if instruction.operands:
            target, *rest = instruction.operands
            constant = instruction.opcode == "mov" and isinstance(rest[0], Immediate)
            for element in target.elements if isinstance(target, Vector) else (target,):
                moved[element] = rest[0] if constant else None
    return None


def _fall_through(block: CodeBlock) -> Finish:
    following, backwards = block.next, block.next_is_back_edge

    def finish(group: Group, scheduler: Scheduler) -> bool:
        group.block = following
        group.from_back_edge = backwards
        return True

    return finish


_ROOMS = (data_movement, warps, textures, asynchronous)


def compile_step(code: Code, instruction: Instruction) -> Step | None:
    """Return the step of an instruction that does not end a block; None when it does nothing."""
    opcode = instruction.opcode
    if facts(opcode).hint or (code.decisive is not None and is_idle_for(instruction, code.decisive)):
        return None
    try:
        special_case = next((room.STEPS[opcode] for room in _ROOMS if opcode in room.STEPS), None)
        if special_case is not None:
            return special_case(code, instruction)
        return _arithmetic(code, instruction)
    except UnsupportedInstruction as error:
        return refuse(instruction, error.reason)


def _arithmetic(code: Code, instruction: Instruction) -> Step:
    if not is_arithmetic(instruction.opcode):
        raise UnsupportedInstruction(instruction.text)
    first, *rest = instruction.operands
    destinations = first.elements if isinstance(first, Vector) else (first,)
    sources = tuple(rest)
    semantics = lookup(instruction.opcode, instruction.modifiers, len(destinations))
    inputs = semantics.inputs
    if len(sources) != len(inputs):
        raise UnsupportedInstruction(instruction.text, reason=f"{len(sources)} operands, {len(inputs)} expected")
    getters = [
        getter(code, operand, 0 if dtype == BOOL else dtype.itemsize)
        for operand, dtype in zip(sources, inputs, strict=True)
    ]
    if semantics.reads_carry:
        carry = code.carry
        getters.append(lambda group: group.registers[carry] or 0)
        inputs = (*inputs, UNSIGNED[1])
    targets = [(d.index, code.register_bytes[d.index]) if isinstance(d, Register) else None for d in destinations]
    if semantics.writes_carry:
        targets.append((code.carry, 1))
    compute = semantics.compute
    pairs = tuple(zip(getters, inputs, strict=True))
    if len(targets) == 1 and targets[0] is not None:
        index, size = targets[0]
        name = (instruction.opcode, instruction.modifiers, size)

        def general(group: Group) -> None:
            values = [get(group) for get in getters]
            lasting = lasting_key(name, values)
            if lasting is not None:
                per_thread, key = lasting
                cached = per_thread[0].memo.get(key)
                if cached is not None:
                    group.registers[index] = cached[0]
                    return
            result = compute(*[as_array(value, dtype) for value, dtype in zip(values, inputs, strict=True)])
            value = from_array(result, group.lanes, size)  # type: ignore[arg-type]  # one target: one array
            if lasting is not None:
                kept = keep(value) if isinstance(value, Vec) else value
                remember(per_thread[0].memo, key, (kept, per_thread))
            group.registers[index] = value

        short = fast_path_of(instruction)
        if short is None:
            return general
        short_cut = short
        if len(getters) == 2:
            left, right = getters

            def two(group: Group) -> None:
                value = short_cut(left(group), right(group))
                if value is None:
                    general(group)
                else:
                    group.registers[index] = value

            return two

        def any_number(group: Group) -> None:
            value = short_cut(*[get(group) for get in getters])
            if value is None:
                general(group)
            else:
                group.registers[index] = value

        return any_number

    def several(group: Group) -> None:
        results = compute(*[as_array(get(group), dtype) for get, dtype in pairs])
        for target, result in zip(targets, results, strict=True):
            if target is not None:
                group.registers[target[0]] = from_array(result, group.lanes, target[1])

    return several
