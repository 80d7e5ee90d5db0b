"""Integer arithmetic: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, mul24, mad24, dp4a, dp2a.

All results wrap modulo 2**width unless `.sat` is given.  PTX leaves division by zero and the
quotient INT_MIN / -1 open; `divide` says what GPUs return.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.modifiers import DTYPES, INTEGERS, Array, Modifiers, Table, make, plain, register
from grader.ptx.isa.semantics import Semantics

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


TABLE: Table = {}
register(TABLE, "add sub", INTEGERS, add_or_subtract)
register(TABLE, "mul", INTEGERS, multiply)
register(TABLE, "mad", INTEGERS, multiply_add)
register(TABLE, "mul24 mad24", ("u32", "s32"), multiply_24)
register(TABLE, "sad", INTEGERS, plain(absolute_difference, 3))
register(TABLE, "div", INTEGERS, plain(divide, 2))
register(TABLE, "rem", INTEGERS, plain(remainder, 2))
register(TABLE, "abs", SIGNED, plain(np.abs, 1))
register(TABLE, "neg", SIGNED, plain(np.negative, 1))
register(TABLE, "min max", INTEGERS, minimum_or_maximum)
register(TABLE, "dp4a dp2a", ("u32", "s32"), dot_product)
