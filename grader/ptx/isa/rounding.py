"""Rounding exact values to IEEE formats, vectorised, and the fused multiply-add that NumPy lacks.

The trick used throughout: a value is first rounded *to odd* into float64 (truncated, and the last bit set
when anything was lost).  A format with at least two bits less can then be reached by any rounding with the
same result as from the exact value (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008).

Directions are PTX's: rn nearest even, rz toward zero, rm toward -inf, rp toward +inf.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grader.ptx.isa.instructions import Array

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction


NAN_32 = np.uint32(0x7FFFFFFF)
"""The only NaN that GPU arithmetic on float32 returns, whatever the operands' payloads."""
NAN_16 = np.uint16(0x7FFF)
"""The same for f16 and bf16."""
SIGN_32 = np.uint32(0x80000000)


NAN_64 = np.uint64(0xFFF8000000000000)
"""What invalid float64 operations give; NaN operands are passed on, made quiet (see `propagate_nan`)."""
QUIET_64 = np.uint64(0x0008000000000000)


class Format(NamedTuple):
    """A narrow binary format: bits of the significand with its leading 1, least exponent of a normal number."""

    precision: int
    least_exponent: int
    largest: float


F16 = Format(11, -14, 65504.0)
BF16 = Format(8, -126, float.fromhex("0x1.fep127"))


def canonical_nan(result: Array) -> Array:
    """Replace NaNs of a fresh float32 array by the GPU's, in place; the maximum is NaN if any element is."""
    if np.maximum.reduce(result) != np.maximum.reduce(result):
        result.view(np.uint32)[np.isnan(result)] = NAN_32
    return result


def propagate_nan(result: Array, *operands: Array) -> Array:
    """Make NaNs of a fresh float64 array what a GPU returns: the last operand that is NaN, else the default."""
    if np.maximum.reduce(result) == np.maximum.reduce(result):
        return result
    lanes = np.flatnonzero(np.isnan(result))
    bits = np.full(lanes.size, NAN_64)
    for operand in operands:
        chosen = np.broadcast_to(operand, result.shape)[lanes]
        bits = np.where(np.isnan(chosen), chosen.view(np.uint64) | QUIET_64, bits)
    result.view(np.uint64)[lanes] = bits
    return result


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what the rounding lost, exactly (Knuth); float64."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def to_odd(value: Array, error: Array) -> Array:
    """Round value + error (error less than an ulp of value) to odd, in float64."""
    bits = value.view(np.int64)
    inexact_even = (error != 0) & ((bits & 1) == 0) & np.isfinite(value)
    # Toward the error: away from zero when the signs agree, else toward zero; both end on the odd neighbour.
    step = np.where((error > 0) == (value > 0), 1, -1)
    return (bits + inexact_even * step).view(np.float64)


def step_directed(rounded: Array, too_high: Array, too_low: Array, rounding: str) -> Array:
    """Move float results rounded to nearest to the neighbour that a directed rounding asks for.

    too_high, too_low: where `rounded` is above or below the exact value.
    """
    bits_type = np.dtype(f"i{rounded.dtype.itemsize}")
    bits = rounded.view(bits_type)
    # Bit patterns of floats count magnitudes: upward is +1 for positive and -1 for negative ones.
    upward = (bits >> bits_type.type(8 * bits_type.itemsize - 1)) | bits_type.type(1)
    if rounding == "rz":
        bits = bits - np.where(upward > 0, too_high, too_low)
    elif rounding == "rm":
        bits = bits - upward * too_high
    else:
        bits = bits + upward * too_low
    return bits.view(rounded.dtype)


def float64_to_float32(value: Array, rounding: str) -> Array:
    """Round float64 values to float32, NaNs made canonical."""
    rounded = value.astype(np.float32)
    if rounding != "rn":
        rounded = step_directed(rounded, rounded > value, rounded < value, rounding)
    return canonical_nan(rounded)


def _round_integer(value: Array, rounding: str) -> Array:
    if rounding == "rn":
        return np.rint(value)
    if rounding == "rz":
        return np.trunc(value)
    return np.floor(value) if rounding == "rm" else np.ceil(value)


def round_to_format(value: Array, target: Format, rounding: str) -> Array:
    """Float64 values rounded to a narrow format, still as float64; too large ones become inf or `largest`."""
    _, exponent = np.frexp(value)
    ulp_exponent = np.maximum(exponent - 1, target.least_exponent) - (target.precision - 1)
    rounded = np.ldexp(_round_integer(np.ldexp(value, -ulp_exponent), rounding), ulp_exponent)
    overflow = (np.abs(rounded) > target.largest) & np.isfinite(value)
    if overflow.any():
        limit = {"rz": (-target.largest, target.largest), "rm": (-np.inf, target.largest)}.get(
            rounding, (-np.inf, np.inf) if rounding == "rn" else (-target.largest, np.inf)
        )
        rounded = np.where(overflow, np.where(value < 0, limit[0], limit[1]), rounded)
    return np.copysign(rounded, value)


def _nan_16(bits: Array, value: Array) -> None:
    if np.maximum.reduce(value, axis=None) != np.maximum.reduce(value, axis=None):
        bits[np.isnan(value)] = NAN_16


def float64_to_float16(value: Array, rounding: str) -> Array:
    """Round float64 values to float16, NaNs made canonical."""
    rounded = (value if rounding == "rn" else round_to_format(value, F16, rounding)).astype(np.float16)
    _nan_16(rounded.view(np.uint16), value)
    return rounded


def float64_to_bf16(value: Array, rounding: str) -> Array:
    """Round float64 values to bfloat16, returned as bit patterns (uint16); NaNs made canonical."""
    if rounding == "rn":
        words = float64_to_odd_float32(value).view(np.uint32)
        # Half a unit less one, plus one more if the unit is odd: carries exactly when rounding to even does.
        words = words + (np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1)))
    else:
        words = round_to_format(value, BF16, rounding).astype(np.float32).view(np.uint32)
    bits = (words >> np.uint32(16)).astype(np.uint16)
    _nan_16(bits, value)
    return bits


def float64_to_odd_float32(value: Array) -> Array:
    """Round float64 values to odd in float32; NaNs stay NaNs of some kind."""
    nearest = value.astype(np.float32)
    inexact = nearest != value
    truncated = step_directed(nearest, nearest > value, nearest < value, "rz")
    return (truncated.view(np.int32) | inexact).view(np.float32)


def bf16_to_float32(bits: Array) -> Array:
    """The value of bfloat16 bit patterns."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def flush(value: Array) -> Array:
    """Replace float32 subnormals by zero of the same sign (.ftz)."""
    bits = value.view(np.uint32)
    subnormal = (bits & np.uint32(0x7F800000)) == 0
    if not subnormal.any():
        return value
    return np.where(subnormal, bits & SIGN_32, bits).view(np.float32)


def tiny_after_rounding(value: Array, rounding: str) -> Array:
    """Where exact values (float64) would be below 2**-126 when rounded to float32's precision with any exponent.

    This decides what GPUs flush: 2**-126 * (1 - 2**-24) is, though rounding to a subnormal lifts it to 2**-126.
    """
    scale = 2.0**64
    return np.abs(float64_to_float32(value * scale, rounding)) < np.float32(2.0**-126 * scale)


def saturate(value: Array) -> Array:
    """Clamp to [0, 1]; NaN becomes +0 (.sat)."""
    clamped = np.minimum(np.maximum(value, value.dtype.type(0)), value.dtype.type(1))
    # Adding +0 turns a -0 that the maximum let through into +0.
    return np.where(np.isnan(value), value.dtype.type(0), clamped + value.dtype.type(0))


_TIE = np.int64(np.iinfo(np.int64).min)
_SMALLEST_NORMAL = np.uint32(0x01000000)
_ZERO_KEY = np.uint32(0xFF000000)
_INFINITY_KEY = np.uint32(0xFE000000)


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once to nearest even.

    The product of two float32 is exact in float64 and their sum is rounded to 53 bits there; rounding that
    again to 24 bits goes wrong only if the 53 bits lie exactly half-way between two float32 (low 29 bits
    10…0), or if the result is subnormal and has another half-way point.  Both are looked for with one pass
    each, and only such lanes are done again by way of rounding to odd.
    """
    total = a.astype(np.float64) * b
    total = total + c
    result: Array = total.astype(np.float32)
    # Shifted left by 35 the low 29 bits are on top: 10…0 then is the least int64.
    low = total.view(np.int64) << 35
    tie = np.minimum.reduce(low) == _TIE
    # Exponent and fraction, less the smallest normal number: subnormals and zeros wrap round to the top.
    key = result.view(np.uint32) << 1
    key -= _SMALLEST_NORMAL
    top = np.maximum.reduce(key)
    if tie or top > _ZERO_KEY:
        doubtful = np.flatnonzero((low == _TIE) | (key > _ZERO_KEY))
        x, y, z = (_pick(operand, doubtful).astype(np.float64) for operand in (a, b, c))
        value, error = two_sum(x * y, z)
        result[doubtful] = to_odd(value, error).astype(np.float32)
    return canonical_nan(result) if top > _INFINITY_KEY else result


def _pick(operand: Array, lanes: Array) -> Array:
    return operand if operand.size == 1 else operand[lanes]


def exact_f32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 rounded to odd in float64: on the same side of every float32 as the exact value."""
    return to_odd(*two_sum(a.astype(np.float64) * b, c.astype(np.float64)))


def fma_f32_directed(a: Array, b: Array, c: Array, rounding: str) -> Array:
    """a * b + c rounded once toward zero (rz), down (rm) or up (rp)."""
    product = a.astype(np.float64) * b
    value = product + c
    nearest: Array = value.astype(np.float32)
    back = nearest.astype(np.float64)
    result = canonical_nan(step_directed(nearest, back > value, back < value, rounding))
    # Strictly between two float32 the 53-bit sum lies on the same side of both as the exact one.
    doubtful = np.flatnonzero(back == value)
    if doubtful.size:
        factor, addend = _pick(product, doubtful), _pick(c, doubtful).astype(np.float64)
        total, error = two_sum(factor, addend)
        repaired = float64_to_float32(to_odd(total, error), rounding)
        if rounding == "rm":
            # IEEE 754, 6.3: an exact zero sum of operands with opposite signs is -0 when rounding down.
            repaired[(total == 0) & (np.signbit(factor) != np.signbit(addend))] = -0.0
        result[doubtful] = repaired
    return result


_SPLITTER = float(2**27 + 1)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b rounded and the rounding error, exactly (Veltkamp, Dekker), if neither over- nor underflows."""
    product = a * b
    a_high = a * _SPLITTER
    a_high = a_high - (a_high - a)
    b_high = b * _SPLITTER
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def fma_f64(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """a * b + c in float64, rounded once.

    The sum of the rounded product and c, and what both roundings lost, are found without error; that loss is
    itself rounded, so it is taken once a little smaller and once a little larger: when both give the same
    result, the exact one lies between.  Other lanes (ties, extreme exponents, NaNs) are computed at length.
    """
    if rounding == "rn":
        if not (a.any() and b.any()):
            # A product that is exactly zero loses nothing: the sum alone is rounded.
            return propagate_nan(a * b + c, a, c, b)
        product, product_error = two_product(a, b)
        total, total_error = two_sum(product, c)
        loss = product_error + total_error
        result: Array = total + loss * _LESS
        certain = result == total + loss * _MORE
        if np.logical_and.reduce(certain) and float(np.minimum.reduce(np.abs(product))) > _ERROR_FREE:
            return result
        doubtful = np.flatnonzero(~(certain & (np.abs(product) > _ERROR_FREE)))
        x, y, z = (_pick(operand, doubtful) for operand in (a, b, c))
        result[doubtful] = _fma_f64_at_length(x, y, z, rounding)
        return result
    return _fma_f64_at_length(a, b, c, rounding)


_LESS, _MORE = 1 - 2.0**-52, 1 + 2.0**-52
_ERROR_FREE = 2.0**-900


def _fma_f64_at_length(a: Array, b: Array, c: Array, rounding: str) -> Array:
    """Boldo and Melquiond's algorithm Fma with rounding to odd, and exact fractions at extreme exponents."""
    a, b, c = np.broadcast_arrays(a, b, c)
    product, product_error = two_product(a, b)
    low, low_error = two_sum(c, product_error)
    high, high_error = two_sum(product, low)
    result, residue = two_sum(high, to_odd(*two_sum(low_error, high_error)))
    if rounding != "rn":
        result = step_directed(result, residue < 0, residue > 0, rounding)
    if rounding == "rm":
        result[(result == 0) & _opposite(a, b, c)] = -0.0
    # The error-free steps need room for 2 * 53 bits below and a few binades above every operand.
    safe = _in_safe_range(a) & _in_safe_range(b) & _in_safe_range(product) & (_in_safe_range(c) | (c == 0))
    if not safe.all():
        _repair(result, np.flatnonzero(~safe), (a, b, c), rounding)
    return propagate_nan(result, a, c, b)


def _in_safe_range(value: Array) -> Array:
    magnitude = np.abs(value)
    return (magnitude > 2.0**-800) & (magnitude < 2.0**960)


def _opposite(a: Array, b: Array, c: Array) -> Array:
    """Where an exact zero sum is -0 when rounding down: a * b and c have different signs (IEEE 754, 6.3)."""
    return (np.signbit(a) ^ np.signbit(b)) != np.signbit(c)


def _repair(result: Array, lanes: Array, operands: tuple[Array, ...], rounding: str) -> None:
    # Here and below: rarely needed, and a millisecond to import.
    from fractions import Fraction

    a, b, c = (operand[lanes] for operand in operands)
    product = a * b
    # An infinite addend must not meet a product that overflows, nor a zero one a product that underflows to zero.
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, product + c)
    plain = np.where((c == 0) & (a != 0) & (b != 0), product, plain)
    exact = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    if rounding == "rn":
        exact |= c == 0
    for i in np.flatnonzero(~exact):
        value = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        plain[i] = round_fraction(value, rounding)
        exact[i] = value == 0
    if rounding == "rm":
        plain[exact & (plain == 0) & _opposite(a, b, c)] = -0.0
    result[lanes] = plain


def round_fraction(exact: Fraction, rounding: str) -> float:
    """An exact value rounded to float64; for the few lanes where no vectorised way is exact."""
    from fractions import Fraction

    if exact == 0:
        return 0.0
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    ulp = Fraction(2) ** (max(exponent, -1022) - 52)
    units, rest = divmod(magnitude, ulp)
    up = {"rz": False, "rm": exact < 0, "rp": exact > 0}.get(rounding)
    if up is None:
        up = rest * 2 > ulp or (rest * 2 == ulp and units % 2 == 1)
    units += 1 if rest and up else 0
    value = units * ulp
    if value > Fraction(float(np.finfo(np.float64).max)):
        away = up if rounding != "rn" else True
        result = float("inf") if away else float(np.finfo(np.float64).max)
    else:
        result = float(value)
    return -result if exact < 0 else result


# -- 8-bit numbers, e4m3 and e5m2: what is too large becomes the largest number, what is no number 0x7F ---------------

_MANTISSA = {"e4m3x2": 3, "e5m2x2": 2}
_LARGEST = {"e4m3x2": 0x7E, "e5m2x2": 0x7B}
_NONE = np.uint16(0x7F)


def float64_to_eight_bits(name: str, value: Array) -> Array:
    """Float64 → bit patterns of one number each, uint16, rounded to nearest even."""
    mantissa = _MANTISSA[name]
    bias = (1 << (6 - mantissa)) - 1
    size = np.abs(value)
    _fraction, exponent = np.frexp(np.where(np.isfinite(size), size, 0.0))
    exponent = np.maximum(np.where(size > 0, exponent - 1, -bias), 1 - bias)
    units = np.rint(np.ldexp(np.minimum(size, 1e6), mantissa - exponent))
    bits = ((exponent + bias - 1) << mantissa) + np.where(np.isnan(units), 0, units).astype(np.int64)
    bits = np.where(bits > _LARGEST[name], _LARGEST[name], bits) | np.signbit(value).astype(np.int64) << 7
    return np.where(np.isnan(value), _NONE, bits.astype(np.uint16))


@cache
def eight_bits_to_float16(name: str) -> Array:
    """The f16 bit pattern of each of the 256 numbers."""
    mantissa = _MANTISSA[name]
    bias = (1 << (6 - mantissa)) - 1
    size = np.arange(256) & 0x7F
    exponent = size >> mantissa
    significand = np.where(exponent > 0, size & (1 << mantissa) - 1 | 1 << mantissa, size)
    value = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - bias - mantissa)
    if name == "e5m2x2":
        value = np.where(size >= 0x7C, np.inf, value)
    signed: Array = np.where(np.arange(256) > 0x7F, -value, value).astype(np.float16).view(np.uint16)
    return np.where(size > (0x7C if name == "e5m2x2" else 0x7E), NAN_16, signed)


def float32_to_tf32(value: Array, rounding: str, relu: bool) -> Array:
    """Floats with ten bits after the point, as patterns; "rna" rounds halves away from zero; relu: 0 if negative."""
    bits: Array = value.view(np.uint32)
    odd: Array = bits >> np.uint32(13) & np.uint32(1)
    more: Array = {"rna": np.full_like(bits, 0x1000), "rn": odd + np.uint32(0xFFF), "rz": np.zeros_like(bits)}[rounding]
    whole: Array = np.where(np.isinf(value), bits, bits + more & np.uint32(0xFFFFE000))
    whole = np.where(np.isnan(value), np.uint32(0x7FFFFFFF), whole)
    return np.where(whole >> np.uint32(31) != 0, np.uint32(0), whole) if relu else whole


def widen(name: str) -> Callable[[Array], Array]:
    """The exact float64 value of a float operand."""
    if name == "bf16":
        return lambda a: bf16_to_float32(a).astype(np.float64)
    return lambda a: a.astype(np.float64)


def narrow(name: str, rounding: str) -> Callable[[Array], Array]:
    """Float64 rounded to a float type, NaNs canonical (but not for f64)."""
    if name == "f16":
        return lambda a: float64_to_float16(a, rounding)
    if name == "bf16":
        return lambda a: float64_to_bf16(a, rounding)
    if name == "f32":
        return lambda a: float64_to_float32(a, rounding)
    return lambda a: a
