"""Conversions between types of numbers (`cvt`), and arithmetic in f16, bf16 and their pairs, which consists of them.

A sub-word source arrives in its own dtype (the executor truncates the register); a sub-word result has its own
dtype too and is extended to the register by the executor.

Arithmetic in half precision is computed exactly in float64 and rounded once.  f16 travels as float16, bf16 and the
pairs as bit patterns; a pair's lower half is its first element.  What it takes of the other families is imported where
it is used: conversions are needed at every start, and those are not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.instructions import DTYPES, HALVES, ROUNDINGS, Array, Modifiers, Semantics, Table, make, register
from grader.ptx.isa.rounding import (
    NAN_16,
    QUIET_64,
    bf16_to_float32,
    canonical_nan,
    eight_bits_to_float16,
    float32_to_tf32,
    float64_to_eight_bits,
    flush,
    narrow,
    saturate,
    tiny_after_rounding,
    to_odd,
    two_sum,
    widen,
)

Compute = Callable[[Array], Array]

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
EIGHT_BIT_PAIRS = ("e4m3x2", "e5m2x2")
TO_INTEGER: dict[str, Compute] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
SIGNIFICANT_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def integer_to_integer(m: Modifiers, source: str, target: str) -> Compute:
    """Truncation or extension; with `.sat` clamped to the target's range."""
    wanted = DTYPES[target]
    if not m.flag("sat"):
        return lambda a: a.astype(wanted)
    from_limits, to_limits = np.iinfo(DTYPES[source].name), np.iinfo(wanted.name)
    low, high = max(from_limits.min, to_limits.min), min(from_limits.max, to_limits.max)
    return lambda a: np.clip(a, low, high).astype(wanted)


def integer_to_float(m: Modifiers, source: str, target: str) -> Compute:
    """Rounded once: bits below the target's precision are folded into a sticky bit first where float64 is too short."""
    rounding = m.one_of(ROUNDINGS)
    sat = m.flag("sat")
    narrowed = narrow(target, rounding)
    dtype = DTYPES[source]

    def exactly(a: Array) -> Array:
        if dtype.itemsize < 8:
            return narrowed(a.astype(np.float64))
        if rounding == "rn" and target in ("f32", "f64"):
            return a.astype(DTYPES[target])
        magnitude = np.abs(a).view(np.uint64)
        # Split so that both parts are exact in float64; the lower 11 bits only decide the rounding.
        upper, rest = magnitude & ~np.uint64(0x7FF), magnitude & np.uint64(0x7FF)
        negative = a < 0
        if target == "f64":
            value: Array = magnitude.astype(np.float64)
            back_low = value - upper.astype(np.float64)
            below, above = back_low < rest, back_low > rest
            away = (rounding == "rp") & ~negative | (rounding == "rm") & negative
            step = np.where(away, below.astype(np.int64), -above.astype(np.int64))
            value = (value.view(np.int64) + step).view(np.float64)
        else:
            odd = upper | (rest != 0).astype(np.uint64) << np.uint64(11)
            value = np.where(magnitude >> np.uint64(53) == 0, magnitude, odd).astype(np.float64)
        return narrowed(np.where(negative, -value, value))

    return (lambda a: saturate(exactly(a))) if sat else exactly


def float_to_integer(m: Modifiers, source: str, target: str) -> Compute:
    """Rounded to an integer and clamped to the target's range.

    A NaN becomes 0, but 1 << (width - 1) when the source is f64 or the target has 64 bits (PTX ISA, cvt).
    """
    to_integer = TO_INTEGER[m.one_of(TO_INTEGER)]
    ftz = source == "f32" and m.flag("ftz")
    m.flag("sat")
    exact = widen(source)
    dtype = DTYPES[target]
    limits = np.iinfo(dtype.name)
    width = dtype.itemsize * 8
    upper_bound = 2.0 ** (width - (dtype.kind == "i"))
    special = 1 << (width - 1) if source == "f64" or width == 64 else 0
    invalid = np.array(special, np.uint64).astype(dtype)

    def compute(a: Array) -> Array:
        value = to_integer(exact(flush(a) if ftz else a))
        inside = (value >= limits.min) & (value < upper_bound)
        if inside.all():
            return value.astype(dtype)
        result = np.where(inside, value, 0.0).astype(dtype)
        result[value >= upper_bound] = limits.max
        result[value < limits.min] = limits.min
        result[np.isnan(value)] = invalid
        return result

    return compute


def float_to_float(m: Modifiers, source: str, target: str) -> Compute:
    """Between float types; `.rni` and its like round to an integral value of the same type."""
    integral = TO_INTEGER.get(m.one_of(TO_INTEGER, default=""))
    if source == "bf16" and target == "f32" and integral is None and not m.flag("ftz"):
        # No arithmetic at all, so NaNs stay what they are.
        sat = m.flag("sat")
        return lambda a: saturate(bf16_to_float32(a)) if sat else bf16_to_float32(a)
    narrowing = SIGNIFICANT_BITS[target] < SIGNIFICANT_BITS[source] or {source, target} == {"f16", "bf16"}
    rounding = m.one_of(ROUNDINGS) if narrowing else m.one_of(ROUNDINGS, default="rn")
    ftz = "f32" in (source, target) and m.flag("ftz")
    sat, relu = m.flag("sat"), target in ("f16", "bf16") and m.flag("relu")
    exact, narrowed = widen(source), narrow(target, rounding)

    def compute(a: Array) -> Array:
        if ftz and source == "f32":
            a = flush(a)
        if source == target == "f32":
            result = np.array(a) if integral is None else integral(a)
            result = canonical_nan(result)
        elif source == "f32" and target == "f64" and integral is None:
            result = (canonical_nan(a.copy()) if ftz else a).astype(np.float64)
        else:
            value = exact(a)
            if integral is not None:
                value = integral(value)
            if sat:
                value = saturate(value)
            if relu:
                # Adding +0 turns a -0 that the maximum let through into +0.
                value = np.maximum(value, 0.0) + 0.0
            result = narrowed(value)
            if not sat and not relu and "f64" in (source, target):
                result = _keep_nan(result, value, target)
        if sat and target in ("f32", "f64"):
            result = saturate(result)
        if ftz and target == "f32":
            if source == "f64":
                result = np.where(tiny_after_rounding(exact(a), rounding), np.copysign(np.float32(0), result), result)
            result = flush(result)
        return result

    return compute


def _keep_nan(result: Array, value: Array, target: str) -> Array:
    """Keep sign and upper payload of NaNs to and from f64, made quiet; all other conversions lose them."""
    lanes = np.flatnonzero(np.isnan(value))
    if lanes.size:
        bits = value[lanes].view(np.uint64) | QUIET_64
        dropped = 52 - (SIGNIFICANT_BITS[target] - 1)
        sign = bits >> np.uint64(63) << np.uint64(result.itemsize * 8 - 1)
        payload = bits << np.uint64(1) >> np.uint64(1 + dropped)
        width = result.itemsize * 8
        exponent_kept = payload & np.uint64((1 << (width - 1)) - 1)
        result = result.copy()
        result.view(f"u{result.itemsize}")[lanes] = (sign | exponent_kept).astype(f"u{result.itemsize}")
    return result


def pack_two(m: Modifiers, source: str, target: str) -> Semantics:
    """cvt.{f16x2,bf16x2}.f32 d, a, b: a to the upper half, b to the lower."""
    half = target[:-2]
    rounding = m.one_of(("rn", "rz"))
    relu = m.flag("relu")
    m.end()
    narrowed = narrow(half, rounding)

    def one(a: Array) -> Array:
        value = a.astype(np.float64)
        bits = narrowed(np.maximum(value, 0.0) + 0.0 if relu else value).view(np.uint16)
        return bits.astype(np.uint32)

    return make(f"{source} {source}", target, lambda a, b: one(a) << np.uint32(16) | one(b))


def convert(m: Modifiers) -> Semantics:
    source = m.type((*INTEGERS, *FLOATS))
    target = m.type()
    if target in ("f16x2", "bf16x2") and source == "f32":
        return pack_two(m, source, target)
    if target in EIGHT_BIT_PAIRS and source == "f32":
        return eight_bits_from_floats(m, source, target)
    if target == "tf32" and source == "f32":
        rounding, relu = m.one_of(("rna", "rn", "rz")), m.flag("relu")
        m.end()
        return make(source, target, lambda a: float32_to_tf32(a, rounding, relu))
    if target not in (*INTEGERS, *FLOATS):
        raise m.fail("unknown target type")
    if source in INTEGERS:
        compute = (integer_to_integer if target in INTEGERS else integer_to_float)(m, source, target)
    else:
        compute = (float_to_integer if target in INTEGERS else float_to_float)(m, source, target)
    m.end()
    return make(source, target, compute)


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
    """Repeat pairs that are one value for all lanes: taken apart, two values do not broadcast."""
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
    from grader.ptx.isa.floating import select

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
    from grader.ptx.isa.floating import FUNCTIONS

    name = m.type()
    m.one_of(("approx",))
    ftz = m.opcode == "ex2" and name.startswith("bf16")
    if ftz and not m.flag("ftz"):
        raise m.fail("needs .ftz")
    return _lift(m, name, 1, FUNCTIONS[m.opcode], ftz=ftz)


def _comparison(m: Modifiers, name: str) -> Callable[[Array, Array], Array]:
    from grader.ptx.isa.logic import FLOAT_COMPARISONS

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
    from grader.ptx.isa.logic import COMBINATIONS

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
    from grader.ptx.isa.logic import COMBINATIONS

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


# -- pairs of 8-bit numbers, which devices have from 8.9 on: patterns of 16 bits, whose lower byte is the first element


def _begin_eight_bits(m: Modifiers) -> Callable[[Array], Array]:
    """Take the rounding; return what `.relu` does."""
    m.one_of(("rn",))
    if m.flag("relu"):
        return lambda value: np.where(np.isnan(value), value, np.maximum(value, 0.0) + 0.0)
    return lambda value: value


def eight_bits_from_floats(m: Modifiers, source: str, target: str) -> Semantics:
    """cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32 d, a, b: a to the upper byte, b to the lower."""
    positive = _begin_eight_bits(m)
    m.one_of(("satfinite",))
    m.end()

    def one(a: Array) -> Array:
        return float64_to_eight_bits(target, positive(a.astype(np.float64)))

    return make(f"{source} {source}", target, lambda a, b: one(a) << np.uint16(8) | one(b))


def eight_bits_from_halves(m: Modifiers) -> Semantics:
    """cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2 d, a."""
    source = m.type()
    target = m.type(EIGHT_BIT_PAIRS)
    positive = _begin_eight_bits(m)
    m.one_of(("satfinite",))
    m.end()

    def one(bits: Array) -> Array:
        return float64_to_eight_bits(target, positive(bits.astype(np.uint16).view(np.float16).astype(np.float64)))

    return make(source, target, lambda a: one(a >> np.uint32(16)) << np.uint16(8) | one(a & np.uint32(0xFFFF)))


def eight_bits_to_halves(m: Modifiers) -> Semantics:
    """cvt.rn.f16x2.{e4m3x2,e5m2x2} d, a."""
    source = m.type()
    target = m.type(("f16x2",))
    relu = m.flag("relu")
    m.one_of(("rn",))
    m.end()
    values = eight_bits_to_float16(source)
    if relu:
        values = np.where((values > 0x7FFF) & (values <= 0xFC00), np.uint16(0), values)

    def compute(a: Array) -> Array:
        return values[a >> np.uint16(8)].astype(np.uint32) << np.uint32(16) | values[a & np.uint16(0xFF)]

    return make(source, target, compute)


TABLE: Table = {}
register(TABLE, "cvt", (*INTEGERS, *FLOATS), convert)
register(TABLE, "add sub mul fma", HALVES, arithmetic)
register(TABLE, "min max", HALVES, minimum_or_maximum)
register(TABLE, "abs neg", HALVES, sign_operation)
register(TABLE, "ex2 tanh", HALVES, approximate)
register(TABLE, "setp", HALVES, set_predicate)
register(TABLE, "set", HALVES, set_value)
register(TABLE, "cvt", ("f16x2",), eight_bits_from_halves)
register(TABLE, "cvt", EIGHT_BIT_PAIRS, eight_bits_to_halves)
