"""cvt: between integers of all widths, f16, bf16, f32 and f64, with rounding, clamping and flushing.

A sub-word source arrives in its own dtype (the executor truncates the register); a sub-word result has its own
dtype too and is extended to the register by the executor.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.instructions import DTYPES, ROUNDINGS, Array, Modifiers, Semantics, Table, make, register
from grader.ptx.isa.rounding import (
    QUIET_64,
    bf16_to_float32,
    canonical_nan,
    float64_to_bf16,
    float64_to_float16,
    float64_to_float32,
    flush,
    saturate,
    tiny_after_rounding,
)

Compute = Callable[[Array], Array]

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
TO_INTEGER: dict[str, Compute] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
SIGNIFICANT_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def widen(name: str) -> Compute:
    """The exact float64 value of a float operand."""
    if name == "bf16":
        return lambda a: bf16_to_float32(a).astype(np.float64)
    return lambda a: a.astype(np.float64)


def narrow(name: str, rounding: str) -> Compute:
    """Float64 rounded to a float type, NaNs canonical (but not for f64)."""
    if name == "f16":
        return lambda a: float64_to_float16(a, rounding)
    if name == "bf16":
        return lambda a: float64_to_bf16(a, rounding)
    if name == "f32":
        return lambda a: float64_to_float32(a, rounding)
    return lambda a: a


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
                result = _keep_nan(result, value)
        if sat and target in ("f32", "f64"):
            result = saturate(result)
        if ftz and target == "f32":
            if source == "f64":
                result = np.where(tiny_after_rounding(exact(a), rounding), np.copysign(np.float32(0), result), result)
            result = flush(result)
        return result

    return compute


def _keep_nan(result: Array, value: Array) -> Array:
    """NaNs to and from f64 keep sign and upper payload and become quiet, unlike those of all other conversions."""
    lanes = np.flatnonzero(np.isnan(value))
    if lanes.size:
        bits = value[lanes].view(np.uint64) | QUIET_64
        dropped = 52 - (SIGNIFICANT_BITS[f"f{result.itemsize * 8}"] - 1)
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
    """cvt."""
    source = m.type((*INTEGERS, *FLOATS))
    target = m.type()
    if target in ("f16x2", "bf16x2") and source == "f32":
        return pack_two(m, source, target)
    if target not in (*INTEGERS, *FLOATS):
        raise m.fail("unknown target type")
    if source in INTEGERS:
        compute = (integer_to_integer if target in INTEGERS else integer_to_float)(m, source, target)
    else:
        compute = (float_to_integer if target in INTEGERS else float_to_float)(m, source, target)
    m.end()
    return make(source, target, compute)


TABLE: Table = {}
register(TABLE, "cvt", (*INTEGERS, *FLOATS), convert)
