"""float32 and float64 arithmetic.

Correctly rounded: add, sub, mul, fma, mad, div, sqrt, rcp.  Without rounding: min, max, abs, neg, copysign, testp.
Approximate (`.approx`): ex2, lg2, sin, cos, tanh, rsqrt.  GPUs evaluate these in tables of their own, so results agree
to the error that PTX ISA states, not to the bit: here each is the float64 function rounded once.

NaN results are what an H200 returns: 0x7fffffff for float32; a NaN operand made quiet for float64, else
0xfff8000000000000.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from grader.ptx.isa.instructions import FLOATS, ROUNDINGS, Array, Modifiers, Semantics, Table, make, register
from grader.ptx.isa.rounding import (
    NAN_32,
    canonical_nan,
    exact_f32,
    float64_to_float32,
    flush,
    fma_f32,
    fma_f32_directed,
    fma_f64,
    propagate_nan,
    round_fraction,
    saturate,
    step_directed,
    tiny_after_rounding,
)

if TYPE_CHECKING:
    from fractions import Fraction


Compute = Callable[..., Array]

ONE_32 = np.ones(1, np.float32)
ONE_64 = np.ones(1, np.float64)
_LEAST_NORMAL = np.float32(2.0**-126)


def with_flags(compute: Compute, ftz: bool, sat: bool, tiny: Compute | None) -> Compute:
    """Flush float32 subnormals going in and coming out (.ftz), clamp the result to [0, 1] (.sat).

    `tiny` tells which results to flush although their rounding lifted them to the least normal number.
    """
    if not (ftz or sat):
        return compute

    def wrapped(*operands: Array) -> Array:
        if ftz:
            operands = tuple(flush(x) if x.dtype == np.float32 else x for x in operands)
        result = compute(*operands)
        if ftz:
            result = flush(_without_lifted(result, tiny, operands))
        return saturate(result) if sat else result

    return wrapped


def _tiny(exact: Compute, rounding: str) -> Compute:
    return lambda *operands: tiny_after_rounding(exact(*operands), rounding)


def _without_lifted(result: Array, tiny: Compute | None, operands: tuple[Array, ...]) -> Array:
    if tiny is None:
        return result
    lanes = np.flatnonzero(np.abs(result) == _LEAST_NORMAL)
    if lanes.size == 0:
        return result
    lifted = lanes[tiny(*(np.broadcast_to(x, result.shape)[lanes] for x in operands))]
    result = result.copy()
    result[lifted] = np.copysign(np.float32(0), result[lifted])
    return result


def build(
    m: Modifiers,
    name: str,
    arity: int,
    compute: Compute,
    ftz: bool = False,
    sat: bool = False,
    tiny: Compute | None = None,
) -> Semantics:
    """Check that nothing is left of the modifiers and wrap `compute`."""
    m.end()
    return make(" ".join([name] * arity), name, with_flags(compute, ftz, sat, tiny))


def flags(m: Modifiers, name: str, saturating: bool = True) -> tuple[bool, bool]:
    """Take .ftz and .sat, which only f32 has."""
    return (name == "f32" and m.flag("ftz")), (name == "f32" and saturating and m.flag("sat"))


def canonical(ufunc: Callable[..., Array]) -> Compute:
    """A float32 function with the NaN of GPUs."""
    return lambda *operands: canonical_nan(ufunc(*operands))


def propagating(ufunc: Callable[..., Array]) -> Compute:
    """A float64 function that passes on NaNs as GPUs do."""
    return lambda *operands: propagate_nan(ufunc(*operands), *operands)


def _sum(name: str, rounding: str, negate: bool) -> Compute:
    ufunc = np.subtract if negate else np.add
    if rounding == "rn":
        return canonical(ufunc) if name == "f32" else propagating(ufunc)
    fused = _fused(name, rounding)
    if name == "f32":
        return lambda a, b: fused(a, ONE_32, -b if negate else b)
    return lambda a, b: propagate_nan(fused(a, ONE_64, -b if negate else b), a, b)


def _product(name: str, rounding: str) -> Compute:
    if rounding == "rn":
        return canonical(np.multiply) if name == "f32" else propagating(np.multiply)
    if name == "f32":
        return lambda a, b: float64_to_float32(a.astype(np.float64) * b, rounding)
    # Adding a zero of the product's sign keeps an exact zero's sign.
    return lambda a, b: propagate_nan(fma_f64(a, b, np.copysign(0.0, a * b), rounding), a, b)


def _fused(name: str, rounding: str) -> Compute:
    if name == "f64":
        return lambda a, b, c: fma_f64(a, b, c, rounding)
    return fma_f32 if rounding == "rn" else lambda a, b, c: fma_f32_directed(a, b, c, rounding)


def add_or_subtract(m: Modifiers) -> Semantics:
    name = m.type()
    rounding = m.one_of(ROUNDINGS, default="rn")
    ftz, sat = flags(m, name)
    return build(m, name, 2, _sum(name, rounding, m.opcode == "sub"), ftz, sat)


def multiply(m: Modifiers) -> Semantics:
    name = m.type()
    rounding = m.one_of(ROUNDINGS, default="rn")
    ftz, sat = flags(m, name)
    tiny = _tiny(lambda a, b: a.astype(np.float64) * b, rounding)
    return build(m, name, 2, _product(name, rounding), ftz, sat, tiny)


def fused(m: Modifiers) -> Semantics:
    """fma, and mad, which is the same from compute capability 2.0 on."""
    name = m.type()
    rounding = m.one_of(ROUNDINGS)
    ftz, sat = flags(m, name)
    return build(m, name, 3, _fused(name, rounding), ftz, sat, _tiny(exact_f32, rounding))


def divide_f32(a: Array, b: Array, rounding: str) -> Array:
    """Correctly rounded quotient; the candidate times the divisor is exact in float64, so its side is known."""
    quotient: Array = a / b
    if rounding != "rn":
        back, exact = quotient.astype(np.float64) * b, a.astype(np.float64)
        flip = np.signbit(b)
        finite = np.isfinite(a) & np.isfinite(b) & (b != 0)
        above, below = (back > exact) & finite, (back < exact) & finite
        quotient = step_directed(quotient, np.where(flip, below, above), np.where(flip, above, below), rounding)
    return canonical_nan(quotient)


def root_f32(a: Array, rounding: str) -> Array:
    """Correctly rounded square root, the side of the candidate found the same way."""
    root: Array = np.sqrt(a)
    if rounding != "rn":
        back = root.astype(np.float64) * root
        root = step_directed(root, back > a, back < a, rounding)
    return canonical_nan(root)


def _one_by_one(nearest: Compute, exact: Callable[..., Fraction], rounding: str) -> Compute:
    """Directed rounding of a float64 operation lane by lane: rare in practice, so exactness is all that counts.

    Of two NaN operands the first is passed on, other than in sums and products.
    """

    def compute(*operands: Array) -> Array:
        result = propagate_nan(nearest(*operands), *reversed(operands))
        if rounding == "rn":
            return result
        from fractions import Fraction

        columns = np.broadcast_arrays(result, *operands)
        result = np.array(columns[0])
        finite = np.logical_and.reduce([np.isfinite(x) & (x != 0) for x in columns[1:]]) & ~np.isnan(result)
        for lane in np.flatnonzero(finite):
            result[lane] = round_fraction(exact(*(Fraction(float(x[lane])) for x in columns[1:])), rounding)
        return result

    return compute


def _root_bounds(value: Fraction) -> Fraction:
    """A rational on the same side of every float64 and half-way point as the square root (equal if rational)."""
    from fractions import Fraction

    scale = 2 ** (4 * 64 + 2 * max(0, value.denominator.bit_length() - value.numerator.bit_length()))
    scale = 2 ** (2 * (scale.bit_length() // 2))
    units = value * scale * scale
    whole = isqrt(units.numerator // units.denominator)
    exact = whole * whole == units
    return Fraction(whole if exact else 2 * whole + 1, scale if exact else 2 * scale)


def divide(m: Modifiers) -> Semantics:
    """div.{rn,rz,rm,rp}, div.full and div.approx (both within 2 ulp)."""
    name = m.type()
    rounding = m.one_of((*ROUNDINGS, "full", "approx") if name == "f32" else ROUNDINGS)
    ftz, _ = flags(m, name, saturating=False)
    if name == "f32":
        if rounding == "approx":
            return build(m, name, 2, divide_approximately, ftz)
        nearest = "rn" if rounding == "full" else rounding
        # Two float32 cannot have a quotient so near a float32 that float64 rounds it there, unless it is equal.
        return build(
            m,
            name,
            2,
            lambda a, b: divide_f32(a, b, nearest),
            ftz,
            tiny=_tiny(lambda a, b: a.astype(np.float64) / b, nearest),
        )
    return build(m, name, 2, _one_by_one(np.divide, lambda a, b: a / b, rounding))


def divide_approximately(a: Array, b: Array) -> Array:
    """div.approx: a * (1 / b), so 2**126 < |b| < 2**128 gives 0 (NaN for infinite a), as PTX ISA says."""
    quotient = divide_f32(a, b, "rn")
    huge = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
    if huge.any():
        zero = np.copysign(np.float32(0), quotient)
        quotient = np.where(huge, np.where(np.isfinite(a), zero, NAN_32.view(np.float32)), quotient)
    return canonical_nan(quotient)


def root(m: Modifiers) -> Semantics:
    """sqrt.{rn,rz,rm,rp}; sqrt.approx is given the correctly rounded value too."""
    name = m.type()
    rounding = m.one_of((*ROUNDINGS, "approx") if name == "f32" else ROUNDINGS)
    ftz, _ = flags(m, name, saturating=False)
    if name == "f32":
        return build(m, name, 1, lambda a: root_f32(a, "rn" if rounding == "approx" else rounding), ftz)
    return build(m, name, 1, _one_by_one(np.sqrt, _root_bounds, rounding))


def reciprocal(m: Modifiers) -> Semantics:
    """rcp.{rn,rz,rm,rp}; rcp.approx.f32 is given the correctly rounded value; rcp.approx.ftz.f64 keeps 20 bits."""
    name = m.type()
    rounding = m.one_of((*ROUNDINGS, "approx"))
    if name == "f32":
        ftz, _ = flags(m, name, saturating=False)
        nearest = "rn" if rounding == "approx" else rounding
        return build(
            m,
            name,
            1,
            lambda a: divide_f32(ONE_32, a, nearest),
            ftz,
            tiny=_tiny(lambda a: 1.0 / a.astype(np.float64), nearest),
        )
    if rounding == "approx":
        if not m.flag("ftz"):
            raise m.fail("needs .ftz")
        return build(m, name, 1, lambda a: upper_word(lambda x: 1.0 / x, a))
    return build(m, name, 1, _one_by_one(lambda a: ONE_64 / a, lambda a: 1 / a, rounding))


def upper_word(function: Compute, a: Array) -> Array:
    """A float64 function of the operand's upper 32 bits, with the result's lower 32 bits 0, subnormals flushed.

    PTX ISA, rcp.approx.ftz.f64: sign, exponent and 20 bits of the fraction are computed from the same part of
    the input.
    """
    mask = np.int64(-(2**32))
    tiny = np.float64(2.0**-1022)
    kept = (a.view(np.int64) & mask).view(np.float64)
    kept = np.where(np.abs(kept) < tiny, np.copysign(0.0, kept), kept)
    result = (function(kept).view(np.int64) & mask).view(np.float64)
    result = np.where(np.abs(result) < tiny, np.copysign(0.0, result), result)
    result.view(np.uint64)[np.isnan(result)] = NAN_32.astype(np.uint64) << np.uint64(32)
    return result


_ROUNDED: Table = {}
register(_ROUNDED, "add sub", FLOATS, add_or_subtract)
register(_ROUNDED, "mul", FLOATS, multiply)
register(_ROUNDED, "fma mad", FLOATS, fused)
register(_ROUNDED, "div", FLOATS, divide)
register(_ROUNDED, "sqrt", FLOATS, root)
register(_ROUNDED, "rcp", FLOATS, reciprocal)


def minimum_or_maximum(m: Modifiers) -> Semantics:
    """min, max: a NaN loses to a number unless `.NaN`; -0 < +0; `.xorsign.abs` compares magnitudes."""
    name = m.type()
    ftz, _ = flags(m, name, saturating=False)
    propagate = name == "f32" and m.flag("NaN")
    xor_sign = name == "f32" and m.flag("xorsign")
    if xor_sign and not m.flag("abs"):
        raise m.fail("needs .abs")
    smaller = m.opcode == "min"

    def compute(a: Array, b: Array) -> Array:
        if name == "f64":
            return propagate_nan(select(a, b, smaller, propagate), a, b)
        if xor_sign:
            magnitude = select(np.abs(a), np.abs(b), smaller, propagate)
            return canonical_nan(np.copysign(magnitude, np.copysign(ONE_32, a) * np.copysign(ONE_32, b)))
        return canonical_nan(select(a, b, smaller, propagate))

    return build(m, name, 2, compute, ftz)


def select(a: Array, b: Array, smaller: bool, nan_wins: bool) -> Array:
    """The smaller or larger of two floats of any width, by the rules of PTX's min and max but for a NaN's payload."""
    if nan_wins:
        result = np.minimum(a, b) if smaller else np.maximum(a, b)
    else:
        result = np.fmin(a, b) if smaller else np.fmax(a, b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    a_bits, b_bits = a.view(bits), b.view(bits)
    # Equal values with different bits can only be +0 and -0, which NumPy takes for the same.
    zeros = (a == b) & (a_bits != b_bits)
    if zeros.any():
        chosen = a_bits | b_bits if smaller else a_bits & b_bits
        result = np.where(zeros, chosen, result.view(bits)).view(a.dtype)
    return result


def sign_operation(m: Modifiers) -> Semantics:
    """abs, neg: the sign bit, but NaNs are treated as by any other operation and keep theirs."""
    name = m.type()
    ftz, _ = flags(m, name, saturating=False)
    ufunc = np.abs if m.opcode == "abs" else np.negative
    return build(m, name, 1, canonical(ufunc) if name == "f32" else propagating(ufunc), ftz)


def copy_sign(m: Modifiers) -> Semantics:
    """copysign d, a, b: the magnitude of b with the sign of a."""
    name = m.type()
    return build(m, name, 2, lambda a, b: np.copysign(b, a))


_TESTS: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((a == 0) | (np.abs(a) >= np.finfo(a.dtype).tiny)),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def test_property(m: Modifiers) -> Semantics:
    """testp; PTX counts zeros as normal."""
    name = m.type()
    test = _TESTS[m.one_of(_TESTS)]
    m.end()
    return make(name, "pred", test)


_UNROUNDED: Table = {}
register(_UNROUNDED, "min max", FLOATS, minimum_or_maximum)
register(_UNROUNDED, "abs neg", FLOATS, sign_operation)
register(_UNROUNDED, "copysign", FLOATS, copy_sign)
register(_UNROUNDED, "testp", FLOATS, test_property)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
}


def approximate(m: Modifiers) -> Semantics:
    """`.approx{.ftz}.f32`."""
    name = m.type()
    m.one_of(("approx",))
    ftz = m.opcode != "tanh" and m.flag("ftz")
    function = FUNCTIONS[m.opcode]
    return build(m, name, 1, lambda a: float64_to_float32(function(a.astype(np.float64)), "rn"), ftz)


def reciprocal_root_f64(m: Modifiers) -> Semantics:
    """rsqrt.approx.f64, and rsqrt.approx.ftz.f64, which computes with the upper 32 bits only."""
    name = m.type()
    m.one_of(("approx",))
    function = FUNCTIONS["rsqrt"]
    return build(m, name, 1, (lambda a: upper_word(function, a)) if m.flag("ftz") else function)


_APPROXIMATE: Table = {}
register(_APPROXIMATE, "ex2 lg2 sin cos tanh rsqrt", ("f32",), approximate)
register(_APPROXIMATE, "rsqrt", ("f64",), reciprocal_root_f64)

TABLE = {**_ROUNDED, **_UNROUNDED, **_APPROXIMATE}
