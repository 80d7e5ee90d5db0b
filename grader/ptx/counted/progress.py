"""What advances by how much in a loop, and how often it goes round: worked out before it is carried out.

A register that moves is known as the value that it has in the first iteration and the step that every iteration adds.
Where all that an iteration computes from such registers is a sum, a difference or a multiple of them, modulo 2^bits,
it moves as well, and the loop's own registers are found to move by the same step in every iteration to come.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.ptx.counted.form import Form
from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register
from grader.ptx.values import affine
from grader.ptx.values.kinds import Affine, Value, Vec, shifted, split_shift

Moving = tuple[Value, int]
"""(what it is in the first iteration, what each iteration adds: signed)."""

_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip


class Irregular(Exception):
    """The loop does not move by constants, or not in every thread the same way."""


@dataclass
class Progress:
    """An iteration in terms of the first.

    before: registers as loads find them, by the place of the load among all; after: as the first iteration leaves
    them.  trips: how many iterations there are, at most as many as were asked for; leaves: the loop is left then.
    """

    before: list[Moving]
    after: dict[int, Moving]
    trips: int = 0
    leaves: bool = False
    widened: list[tuple[Value, int, int, bool]] = field(default_factory=list)


def signed(value: int, bits: int) -> int:
    """The representative of a number modulo 2^bits that is nearest to 0."""
    half = 1 << bits - 1
    return ((value + half) & (2 * half - 1)) - half


def advance(value: Value, amount: int, bits: int) -> Value:
    """value + amount modulo 2^bits."""
    if isinstance(value, (Vec, Affine)):
        vec, shift = split_shift(value)
        return shifted(vec, shift + amount)
    return (value + amount) & ((1 << bits) - 1)


def progress_of(form: Form, registers: Sequence[Any], register_bytes: Sequence[int], most: int) -> Progress:
    """How a loop that is about to begin an iteration goes on.  Raises Irregular where that is not known."""
    once = _iteration(form, registers, dict.fromkeys(form.moving, 0))
    steps = {i: _difference(registers[i], once.after[i][0], 8 * register_bytes[i]) for i in form.moving}
    found = _iteration(form, registers, steps)
    for index, step in steps.items():
        if signed(found.after[index][1], 8 * register_bytes[index]) != step:
            raise Irregular
    _count(form, found, registers, steps, most)
    for value, step, bits, is_signed in found.widened:
        low_high = affine.bounds(value, bits, is_signed)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if is_signed else (0, 1 << bits)
        if low_high is None:
            raise Irregular
        last = (found.trips - 1) * step
        if low_high[0] + last < low or low_high[1] + last >= high:
            raise Irregular
    return found


def _difference(first: Value, second: Value, bits: int) -> int:
    if not isinstance(first, (Vec, Affine)) and not isinstance(second, (Vec, Affine)):
        return signed(second - first, bits)
    if isinstance(first, (Vec, Affine)) and isinstance(second, (Vec, Affine)):
        (vec, shift), (other, other_shift) = split_shift(first), split_shift(second)
        if vec is other:
            return signed(other_shift - shift, bits)
    raise Irregular


def _iteration(form: Form, registers: Sequence[Any], steps: dict[int, int]) -> Progress:
    """One iteration of the addressing, with the steps that registers have when it begins."""
    known: dict[int, Moving] = {}
    found = Progress([], known)

    def read(operand: Operand, bits: int) -> Moving:
        if isinstance(operand, Immediate):
            return operand.value & ((1 << bits) - 1), 0
        assert isinstance(operand, Register)
        if operand.index in known:
            return known[operand.index]
        return registers[operand.index], steps.get(operand.index, 0)

    # Loads read their addresses where they stand among the instructions.
    places = iter(form.addressing)
    done = 0
    order = {id(i): k for k, i in enumerate(form.block.instructions)}
    pending = next(places, None)
    for load in form.loads:
        while pending is not None and order[id(pending)] < order[id(load.spec.instruction)]:
            target, moving = _compute(pending, read, found)
            known[target] = moving
            pending = next(places, None)
            done += 1
        base = known.get(load.base) or (registers[load.base], steps.get(load.base, 0))
        found.before.append(base)
    while pending is not None:
        target, moving = _compute(pending, read, found)
        known[target] = moving
        pending = next(places, None)
    return found


def _compute(i: Instruction, read: Callable[[Operand, int], Moving], found: Progress) -> tuple[int, Moving]:
    target, *operands = i.operands
    assert isinstance(target, Register)
    bits = int(i.modifiers[-1][1:])
    is_signed = i.modifiers[-1].startswith("s")
    values = [read(operand, bits) for operand in operands]
    result: Moving
    if i.opcode == "mov":
        result = values[0]
    elif i.opcode == "add":
        result = _add(values[0], values[1], bits)
    elif i.opcode == "sub":
        (a, step), (b, other) = values
        result = _certain(affine.sub(a, b, bits)), signed(step - other, bits)
    elif i.opcode == "shl":
        (a, step), (b, other) = values
        if other or isinstance(b, (Vec, Affine)) or b >= bits:
            raise Irregular
        result = _certain(affine.shl(a, b, bits)), signed(step << b, bits)
    elif i.opcode == "cvt":
        to_bits = int(i.modifiers[0][1:])
        result = _convert(values[0], bits, to_bits, is_signed, found)
    else:
        wide = i.modifiers[0] == "wide"
        result = _multiply(values[0], values[1], bits, wide, is_signed, found)
        if i.opcode == "mad":
            sum_bits = 2 * bits if wide else bits
            result = _add(result, read(operands[2], sum_bits), sum_bits)
    return target.index, result


def _certain(value: Value | None) -> Value:
    if value is None:
        raise Irregular
    return value


def _add(left: Moving, right: Moving, bits: int) -> Moving:
    return _certain(affine.add(left[0], right[0], bits)), signed(left[1] + right[1], bits)


def _convert(moving: Moving, bits: int, to_bits: int, is_signed: bool, found: Progress) -> Moving:
    value, step = moving
    if to_bits == bits:
        return moving
    if to_bits < bits:
        return _certain(affine.narrow(value, to_bits)), signed(step, to_bits)
    if step:
        # Linear as long as the narrow one does not wrap around.
        found.widened.append((value, step, bits, is_signed))
    return _certain(affine.widen(value, bits, to_bits, is_signed)), step


def _multiply(a: Moving, b: Moving, bits: int, wide: bool, is_signed: bool, found: Progress) -> Moving:
    if isinstance(b[0], (Vec, Affine)) or b[1]:
        a, b = b, a
    factor, factor_step = b
    if factor_step or isinstance(factor, (Vec, Affine)):
        raise Irregular
    if not wide:
        return _certain(affine.mul_lo(a[0], factor, bits)), signed(a[1] * factor, bits)
    value, step = _convert(a, bits, 2 * bits, is_signed, found)
    factor = affine.to_signed(factor, bits) if is_signed else factor
    product = affine.mul_lo(value, factor & ((1 << 2 * bits) - 1), 2 * bits)
    return _certain(product), signed(step * factor, 2 * bits)


def _count(form: Form, found: Progress, registers: Sequence[Any], steps: dict[int, int], most: int) -> None:
    """Find out how often the loop goes round."""
    relation, type_name = form.exit.modifiers
    bits = int(type_name[1:])
    is_signed = type_name.startswith("s") and relation not in ("lo", "ls", "hi", "hs")
    sides: list[tuple[int, int]] = []
    place = form.block.instructions.index(form.exit)
    for operand in form.exit.operands[1:]:
        if isinstance(operand, Immediate):
            sides.append((operand.value & ((1 << bits) - 1), 0))
            continue
        assert isinstance(operand, Register)
        value, step = registers[operand.index], steps.get(operand.index, 0)
        written = [i for i in form.addressing if i.operands[0] == operand]
        if written:
            if any(form.block.instructions.index(i) > place for i in written):
                raise Irregular
            value, step = found.after[operand.index]
        if isinstance(value, (Vec, Affine)):
            raise Irregular
        sides.append((value, step))
    (left, left_step), (right, right_step) = sides
    if not left_step and not right_step:
        raise Irregular
    holds, mask = _HOLDS[relation], (1 << bits) - 1
    for trip in range(1, most + 1):
        a, b = left & mask, right & mask
        if is_signed:
            a, b = affine.to_signed(a, bits), affine.to_signed(b, bits)
        if holds(a, b) != form.again:
            found.trips, found.leaves = trip, True
            return
        left, right = left + left_step, right + right_step
    found.trips = most
