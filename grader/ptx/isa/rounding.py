"""Rounding exact values to IEEE formats, vectorised.

The trick used throughout: a value is first rounded *to odd* into float64 (truncated, and the last bit set
when anything was lost).  A format with at least two bits less can then be reached by any rounding with the
same result as from the exact value (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008).

Directions are PTX's: rn nearest even, rz toward zero, rm toward -inf, rp toward +inf.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grader.ptx.isa.modifiers import Array

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
