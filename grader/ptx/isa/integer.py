"""Integer arithmetic: whole registers, with carry, and packed in a 32-bit word.

Whole registers: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, mul24, mad24, dp4a, dp2a.  All results wrap
modulo 2**width unless `.sat` is given.  PTX leaves division by zero and the quotient INT_MIN / -1 open; `divide` says
what GPUs return.

With carry: instructions that read or write the condition-code register's carry bit, a uint8 of 0 or 1, the last input
of what reads it and the last result of what writes it; after a subtraction it means borrow.

Packed: add, min, max of .u16x2 and .s16x2; vabsdiff2, vabsdiff4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.instructions import DTYPES, INTEGERS, Array, Modifiers, Semantics, Table, make, plain, register

WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
SIGNED = ("s16", "s32", "s64")


def multiply_high(type_name: str) -> Callable[[Array, Array], Array]:
    """The upper half of the double-width product."""
    if type_name in WIDER:
        wide, narrow = DTYPES[WIDER[type_name]], DTYPES[type_name]
        shift = narrow.itemsize * 8

        def high(a: Array, b: Array) -> Array:
            product = a.astype(wide) * b
            product >>= wide.type(shift)
            return product.astype(narrow)

        return high
    return multiply_high_s64 if type_name == "s64" else multiply_high_u64


def multiply_high_u64(a: Array, b: Array) -> Array:
    """Schoolbook product of 32-bit halves."""
    low_mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & low_mask, a >> half, b & low_mask, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low_mask)
    return a_high * b_high + (middle >> half) + (other >> half)


def multiply_high_s64(a: Array, b: Array) -> Array:
    """From the unsigned product: subtract the other factor once for each negative one."""
    high = multiply_high_u64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return high - (a >> np.int64(63) & b) - (b >> np.int64(63) & a)


def divide(a: Array, b: Array) -> Array:
    """Quotient rounded toward zero; x / 0 has all bits set and INT_MIN / -1 is INT_MIN, as on NVIDIA GPUs."""
    dtype = a.dtype
    if dtype.itemsize < 8:
        # The float64 quotient of two 32-bit integers never rounds up to the next integer (their
        # distance is at least 1/b), and dividing vectors of float64 is faster than of integers.
        real = a.astype(np.float64) / b
        zero = b == 0
        if zero.any():
            real[zero if zero.size == real.size else slice(None)] = -1.0
        quotient = real.astype(np.int64).astype(dtype)
    else:
        zero = b == 0
        divisor = np.where(zero, dtype.type(1), b) if zero.any() else b
        if dtype.kind == "u":
            quotient = a // divisor
        else:
            magnitude = np.abs(a).view(np.uint64) // np.abs(divisor).view(np.uint64)
            signed = magnitude.view(np.int64)
            quotient = np.where((a < 0) != (divisor < 0), -signed, signed)
        if divisor is not b:
            quotient = np.where(zero, ~dtype.type(0), quotient)
    return quotient


def remainder(a: Array, b: Array) -> Array:
    """Remainder with the sign of the dividend; x rem 0 has all bits set, as on NVIDIA GPUs."""
    rest = a - divide(a, b) * b
    zero = b == 0
    return np.where(zero, ~a.dtype.type(0), rest) if zero.any() else rest


def _saturating_s32(operation: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    limits = np.iinfo(np.int32)

    def compute(a: Array, b: Array) -> Array:
        exact = operation(a.astype(np.int64), b)
        return np.clip(exact, limits.min, limits.max).astype(np.int32)

    return compute


def add_or_subtract(m: Modifiers) -> Semantics:
    """add, sub: wrapping, or clamped with `.sat` (s32 only)."""
    name = m.type()
    ufunc = np.add if m.opcode == "add" else np.subtract
    saturate = name == "s32" and m.flag("sat")
    m.end()
    return make(f"{name} {name}", name, _saturating_s32(ufunc) if saturate else ufunc)


def multiply(m: Modifiers) -> Semantics:
    """mul.lo, mul.hi, mul.wide."""
    name = m.type()
    part = m.one_of(("lo", "hi", "wide"))
    m.end()
    if part == "lo":
        return make(f"{name} {name}", name, np.multiply)
    if part == "hi":
        return make(f"{name} {name}", name, multiply_high(name))
    if name not in WIDER:
        raise m.fail("no wider type")
    wide = DTYPES[WIDER[name]]
    return make(f"{name} {name}", WIDER[name], lambda a, b: a.astype(wide) * b)


def multiply_add(m: Modifiers) -> Semantics:
    """mad.lo, mad.hi(.sat), mad.wide."""
    name = m.type()
    part = m.one_of(("lo", "hi", "wide"))
    saturate = part == "hi" and name == "s32" and m.flag("sat")
    m.end()
    if part == "lo":
        return make(f"{name} {name} {name}", name, lambda a, b, c: a * b + c)
    if part == "hi":
        high = multiply_high(name)
        plus = _saturating_s32(np.add) if saturate else np.add
        return make(f"{name} {name} {name}", name, lambda a, b, c: plus(high(a, b), c))
    if name not in WIDER:
        raise m.fail("no wider type")
    wide = DTYPES[WIDER[name]]
    return make(f"{name} {name} {WIDER[name]}", WIDER[name], lambda a, b, c: a.astype(wide) * b + c)


def multiply_24(m: Modifiers) -> Semantics:
    """mul24, mad24: the low 24 bits of each factor; `.lo` bits 0…31 of the 48-bit product, `.hi` bits 16…47."""
    name = m.type()
    part = m.one_of(("lo", "hi"))
    saturate = m.opcode == "mad24" and part == "hi" and name == "s32" and m.flag("sat")
    m.end()
    dtype, wide = DTYPES[name], DTYPES[WIDER[name]]
    shift = wide.type(16 if part == "hi" else 0)
    eight = dtype.type(8)
    plus = _saturating_s32(np.add) if saturate else np.add

    def product(a: Array, b: Array) -> Array:
        exact = ((a << eight) >> eight).astype(wide) * ((b << eight) >> eight)
        return (exact >> shift).astype(dtype)

    if m.opcode == "mul24":
        return make(f"{name} {name}", name, product)
    return make(f"{name} {name} {name}", name, lambda a, b, c: plus(product(a, b), c))


def absolute_difference(a: Array, b: Array, c: Array) -> Array:
    """sad: c + |a - b|."""
    return c + (np.maximum(a, b) - np.minimum(a, b))


def minimum_or_maximum(m: Modifiers) -> Semantics:
    """min, max; `.relu` also clamps at zero (s32)."""
    name = m.type()
    relu = name == "s32" and m.flag("relu")
    m.end()
    ufunc = np.minimum if m.opcode == "min" else np.maximum
    return make(f"{name} {name}", name, (lambda a, b: np.maximum(ufunc(a, b), 0)) if relu else ufunc)


def dot_product(m: Modifiers) -> Semantics:
    """dp4a: four byte products added to c.  dp2a: two products of a's half-words with b's low or high bytes."""
    b_type = m.type(("u32", "s32"))
    a_type = m.one_of(("u32", "s32"))
    dtype = np.dtype("i4" if "s32" in (a_type, b_type) else "u4")
    b_bytes = np.dtype("i1" if b_type == "s32" else "u1")
    if m.opcode == "dp4a":
        a_parts, chosen = np.dtype("i1" if a_type == "s32" else "u1"), slice(0, 4)
    else:
        a_parts = np.dtype("i2" if a_type == "s32" else "u2")
        chosen = slice(0, 2) if m.one_of(("lo", "hi")) == "lo" else slice(2, 4)
    m.end()

    def compute(a: Array, b: Array, c: Array) -> Array:
        left = np.ascontiguousarray(a).view(a_parts).reshape(a.size, -1).astype(np.int64)
        right = np.ascontiguousarray(b).view(b_bytes).reshape(b.size, 4)[:, chosen]
        return (left * right).sum(axis=1).astype(dtype) + c

    c_type = "s32" if dtype.kind == "i" else "u32"
    return make(f"{a_type} {b_type} {c_type}", c_type, compute)


_WHOLE: Table = {}
register(_WHOLE, "add sub", INTEGERS, add_or_subtract)
register(_WHOLE, "mul", INTEGERS, multiply)
register(_WHOLE, "mad", INTEGERS, multiply_add)
register(_WHOLE, "mul24 mad24", ("u32", "s32"), multiply_24)
register(_WHOLE, "sad", INTEGERS, plain(absolute_difference, 3))
register(_WHOLE, "div", INTEGERS, plain(divide, 2))
register(_WHOLE, "rem", INTEGERS, plain(remainder, 2))
register(_WHOLE, "abs", SIGNED, plain(np.abs, 1))
register(_WHOLE, "neg", SIGNED, plain(np.negative, 1))
register(_WHOLE, "min max", INTEGERS, minimum_or_maximum)
register(_WHOLE, "dp4a dp2a", ("u32", "s32"), dot_product)


TYPES = ("u32", "s32", "b32", "u64", "s64", "b64")


def add_carry(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    """Sum of unsigned words and a carry, with the carry out."""
    total = a + b
    out = total < a
    if carry is not None:
        total = total + carry.astype(total.dtype)
        out = out | ((total == 0) & (carry != 0))
    return total, out.astype(np.uint8)


def subtract_borrow(a: Array, b: Array, borrow: Array | None) -> tuple[Array, Array]:
    """a - b - borrow of unsigned words, with the borrow out."""
    difference = a - b
    out = a < b
    if borrow is not None:
        out = out | ((difference == 0) & (borrow != 0))
        difference = difference - borrow.astype(difference.dtype)
    return difference, out.astype(np.uint8)


def chained(m: Modifiers) -> Semantics:
    """add.cc, addc(.cc), sub.cc, subc(.cc), mad.{lo,hi}.cc, madc.{lo,hi}(.cc)."""
    name = m.type(TYPES)
    writes = m.flag("cc")
    reads = m.opcode.endswith("c")
    multiplies = m.opcode.startswith("mad")
    part = m.one_of(("lo", "hi")) if multiplies else ""
    m.end()
    result, unsigned = DTYPES[name], DTYPES["u" + name[1:]]
    word = subtract_borrow if m.opcode.startswith("sub") else add_carry
    high = multiply_high("s" + name[1:] if result.kind == "i" else "u" + name[1:])

    def compute(*operands: Array) -> Array | tuple[Array, Array]:
        carry = operands[-1] if reads else None
        if multiplies:
            a, b, c = operands[:3]
            left = (high(a, b) if part == "hi" else a * b).view(unsigned)
            right = c.view(unsigned)
        else:
            left, right = operands[0].view(unsigned), operands[1].view(unsigned)
        value, out = word(left, right, carry)
        return (value.view(result), out) if writes else value.view(result)

    inputs = " ".join([name] * (3 if multiplies else 2))
    return make(inputs, name, compute, reads_carry=reads, writes_carry=writes)


_WITH_CARRY: Table = {}
register(_WITH_CARRY, "add.cc addc addc.cc sub.cc subc subc.cc mad.cc madc madc.cc", TYPES, chained)


UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def parts(operand: Array, code: str) -> Array:
    """The packed integers of each word, shape (n, parts), lowest first; `code` is their NumPy type."""
    return np.ascontiguousarray(operand).view(code).reshape(operand.size, -1)


def half_words(m: Modifiers) -> Semantics:
    """add, min, max of two 16-bit integers each; wrapping, min and max with an optional `.relu` if signed."""
    name = m.type()
    code = "u2" if name == "u16x2" else "i2"
    relu = m.opcode != "add" and name == "s16x2" and m.flag("relu")
    m.end()
    ufunc = UFUNCS[m.opcode]

    def compute(a: Array, b: Array) -> Array:
        result = ufunc(parts(a, code), parts(b, code))
        if relu:
            result = np.maximum(result, 0)
        return np.ascontiguousarray(result).view(np.uint32).reshape(-1)

    return make(f"{name} {name}", name, compute)


def absolute_differences(m: Modifiers) -> Semantics:
    """vabsdiff2, vabsdiff4 d, a, b, c: |a - b| of each part; with `.add` their sum plus c.

    Selectors, masks and `.sat` are not supported; c then only fills parts that a mask leaves out.
    """
    accumulate = m.flag("add")
    b_type, a_type, d_type = (m.type(("u32", "s32")) for _ in range(3))
    m.end()
    width = "2" if m.opcode == "vabsdiff2" else "1"
    kinds = {"u32": f"u{width}", "s32": f"i{width}"}

    def compute(a: Array, b: Array, c: Array) -> Array:
        difference = np.abs(parts(a, kinds[a_type]).astype(np.int64) - parts(b, kinds[b_type]))
        if accumulate:
            return difference.sum(axis=1).astype(c.dtype) + c
        packed = np.ascontiguousarray(difference.astype(f"u{width}"))
        return packed.view(c.dtype).reshape(-1)

    return make(f"{a_type} {b_type} {d_type}", d_type, compute)


_PACKED: Table = {}
register(_PACKED, "add min max", ("u16x2", "s16x2"), half_words)
register(_PACKED, "vabsdiff2 vabsdiff4", ("u32", "s32"), absolute_differences)

TABLE = {**_WHOLE, **_WITH_CARRY, **_PACKED}
