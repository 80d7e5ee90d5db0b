"""f16, bf16 and their packed pairs: computed exactly in float64, rounded once.

f16 travels as float16, bf16 and the pairs as bit patterns; a pair's lower half is its first element.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.convert import narrow, widen
from grader.ptx.isa.floating import FUNCTIONS, select
from grader.ptx.isa.instructions import DTYPES, HALVES, Array, Modifiers, Semantics, Table, make, register
from grader.ptx.isa.logic import COMBINATIONS, FLOAT_COMPARISONS
from grader.ptx.isa.rounding import NAN_16, saturate, to_odd, two_sum

Exact = Callable[..., Array]

LEAST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126}


def flush_to_zero(value: Array, half: str) -> Array:
    """Zero of the same sign for values that are below the half type's normal range when rounded to its precision."""
    least = LEAST_NORMAL[half]
    rounded = elements(combined(value / least, half), half) if half == "f16" else value / least
    return np.where(np.abs(rounded) < 1.0, np.copysign(0.0, value), value)


def elements(operand: Array, name: str) -> Array:
    """The float64 values of an operand: (n,), or (2 n,) for pairs, lower halves first."""
    half = name.removesuffix("x2")
    return widen(half)(np.ascontiguousarray(operand).view(DTYPES[half]))


def _same_length(operands: tuple[Array, ...], name: str) -> tuple[Array, ...]:
    """Pairs of one value for all lanes are repeated before they are taken apart, since two values do not broadcast."""
    lanes = max(x.size for x in operands)
    return tuple(np.broadcast_to(x, lanes) for x in operands) if name.endswith("x2") else operands


def combined(values: Array, name: str) -> Array:
    """Inverse of `elements`, rounding to nearest even."""
    half = name.removesuffix("x2")
    rounded = np.ascontiguousarray(narrow(half, "rn")(values))
    return rounded.view(np.uint32) if half != name else rounded


def _lift(
    m: Modifiers, name: str, arity: int, function: Exact, *, ftz: bool, sat: bool = False, relu: bool = False
) -> Semantics:
    m.end()
    half = name.removesuffix("x2")

    def compute(*operands: Array) -> Array:
        values = [elements(x, name) for x in _same_length(operands, name)]
        if ftz:
            values = [flush_to_zero(x, half) for x in values]
        result = function(*values)
        if ftz:
            result = flush_to_zero(result, half)
        if sat:
            result = saturate(result)
        if relu:
            # Adding +0 turns a -0 that the maximum let through into +0.
            result = np.maximum(result, 0.0) + 0.0
        return combined(result, name)

    return make(" ".join([name] * arity), name, compute)


def _sum(a: Array, b: Array) -> Array:
    """The sum, rounded to odd when float64 cannot hold it."""
    total, error = two_sum(a, b)
    inexact = np.flatnonzero(error)
    if inexact.size:
        total[inexact] = to_odd(total[inexact], error[inexact])
    return total


_ARITHMETIC: dict[str, tuple[int, Exact]] = {
    # Products of two significands of 11 bits are exact in float64.
    "add": (2, _sum),
    "sub": (2, lambda a, b: _sum(a, -b)),
    "mul": (2, np.multiply),
    "fma": (3, lambda a, b, c: _sum(a * b, c)),
}
_F16_SUMS: dict[str, tuple[int, Exact]] = {
    # All f16 are multiples of 2**-24 below 2**16, so their sums are exact too.
    "add": (2, np.add),
    "sub": (2, np.subtract),
}


def arithmetic(m: Modifiers) -> Semantics:
    """add, sub, mul, fma with .rn (the default), .ftz, .sat; fma also with .relu."""
    name = m.type()
    m.flag("rn")
    arity, function = _ARITHMETIC[m.opcode]
    if name.startswith("f16"):
        arity, function = _F16_SUMS.get(m.opcode, (arity, function))
    ftz = name.startswith("f16") and m.flag("ftz")
    return _lift(m, name, arity, function, ftz=ftz, sat=m.flag("sat"), relu=m.opcode == "fma" and m.flag("relu"))


def minimum_or_maximum(m: Modifiers) -> Semantics:
    """min, max: rules as for float32."""
    name = m.type()
    ftz = name.startswith("f16") and m.flag("ftz")
    propagate, xor_sign = m.flag("NaN"), m.flag("xorsign")
    if xor_sign and not m.flag("abs"):
        raise m.fail("needs .abs")
    smaller = m.opcode == "min"

    def function(a: Array, b: Array) -> Array:
        if xor_sign:
            sign = np.copysign(1.0, a) * np.copysign(1.0, b)
            return np.copysign(select(np.abs(a), np.abs(b), smaller, propagate), sign)
        return select(a, b, smaller, propagate)

    return _lift(m, name, 2, function, ftz=ftz)


def sign_operation(m: Modifiers) -> Semantics:
    """abs, neg: the sign bit of each half, NaNs made canonical; with .ftz subnormals become zero as well."""
    name = m.type()
    if name.startswith("f16") and m.flag("ftz"):
        return _lift(m, name, 1, np.abs if m.opcode == "abs" else np.negative, ftz=True)
    m.end()
    half = name.removesuffix("x2")
    sign = np.uint16(0x8000)
    infinity = np.uint16(0x7C00 if half == "f16" else 0x7F80)
    absolute = m.opcode == "abs"

    def compute(a: Array) -> Array:
        bits = np.ascontiguousarray(a).view(np.uint16)
        magnitude = bits & ~sign
        result = magnitude if absolute else bits ^ sign
        if np.maximum.reduce(magnitude) > infinity:
            result = np.where(magnitude > infinity, NAN_16, result)
        return result.view(DTYPES[name])

    return make(name, name, compute)


def approximate(m: Modifiers) -> Semantics:
    """ex2.approx, tanh.approx: the float64 function rounded once."""
    name = m.type()
    m.one_of(("approx",))
    ftz = m.opcode == "ex2" and name.startswith("bf16")
    if ftz and not m.flag("ftz"):
        raise m.fail("needs .ftz")
    return _lift(m, name, 1, FUNCTIONS[m.opcode], ftz=ftz)


def _comparison(m: Modifiers, name: str) -> Callable[[Array, Array], Array]:
    compare = FLOAT_COMPARISONS[m.one_of(FLOAT_COMPARISONS)]
    half = name.removesuffix("x2")
    ftz = half == "f16" and m.flag("ftz")

    def holds(a: Array, b: Array) -> Array:
        x, y = (elements(operand, name) for operand in _same_length((a, b), name))
        if ftz:
            x, y = flush_to_zero(x, half), flush_to_zero(y, half)
        result = compare(x, y)
        return result.reshape(-1, 2) if half != name else result

    return holds


def set_predicate(m: Modifiers) -> Semantics:
    """setp: for pairs p|q are the lower and the upper comparison, both combined with c."""
    name = m.type()
    pair = name.endswith("x2")
    compare = _comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    combine = COMBINATIONS.get(combination)
    m.end(results=2 if pair else 1)

    def compute(a: Array, b: Array, *c: Array) -> Array | tuple[Array, Array]:
        holds = compare(a, b)
        first, second = (holds[:, 0], holds[:, 1]) if pair else (holds, holds)
        if combine:
            first, second = combine(first, c[0]), combine(second, c[0])
        return (first, second) if m.results == 2 else first

    inputs = f"{name} {name} pred" if combination else f"{name} {name}"
    return make(inputs, " ".join(["pred"] * m.results), compute)


def set_value(m: Modifiers) -> Semantics:
    """set: 1.0 in the half's own type, or all ones in an integer (of 16 bits for each half of a pair)."""
    name = m.type()
    pair = name.endswith("x2")
    allowed = (name, "u32", "s32") if pair else ("u16", "s16", "u32", "s32", "f16", "bf16")
    result = m.type(allowed)
    compare = _comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    combine = COMBINATIONS.get(combination)
    m.end()
    dtype = DTYPES[result]

    def compute(a: Array, b: Array, *c: Array) -> Array:
        holds = compare(a, b)
        if combine:
            holds = combine(holds, c[0][:, None] if pair else c[0])
        if pair and result == name:
            return combined(holds.astype(np.float64).reshape(-1), name)
        if pair:
            words = np.where(holds, np.uint16(0xFFFF), np.uint16(0))
            return np.ascontiguousarray(words).view(dtype).reshape(-1)
        if result in HALVES:
            return combined(holds.astype(np.float64), result)
        return -holds.astype(dtype)

    return make(f"{name} {name} pred" if combination else f"{name} {name}", result, compute)


TABLE: Table = {}
register(TABLE, "add sub mul fma", HALVES, arithmetic)
register(TABLE, "min max", HALVES, minimum_or_maximum)
register(TABLE, "abs neg", HALVES, sign_operation)
register(TABLE, "ex2 tanh", HALVES, approximate)
register(TABLE, "setp", HALVES, set_predicate)
register(TABLE, "set", HALVES, set_value)
