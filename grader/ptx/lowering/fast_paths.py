"""Which integer instructions have a cheap way for values that are uniform or advance by a constant."""

from __future__ import annotations

from collections.abc import Callable

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.values import affine
from grader.ptx.values.kinds import Affine, Value, Vec

_TYPES = {f"{kind}{bits}": (bits, kind == "s") for kind in "usb" for bits in (16, 32, 64)}


def fast_path_of(instruction: Instruction) -> Callable[..., Value | None] | None:
    """The cheap way for integers that are uniform or advance by a constant, where there is one."""
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
        return lambda a: a
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
