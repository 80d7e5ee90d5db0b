"""Exact arithmetic on IEEE bit patterns in Python integers and fractions: slow, plain, shares nothing with the grader.

A decoded number is a `Fraction` when finite and not zero, else one of the floats 0.0, -0.0, inf, -inf, nan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float


@dataclass(frozen=True)
class Format:
    """A binary format: total bits, bits of the significand with its leading 1, exponent of the greatest binade."""

    width: int
    precision: int
    emax: int
    nan: int

    @property
    def emin(self) -> int:
        return 1 - self.emax

    @property
    def largest(self) -> Fraction:
        return (2 - Fraction(1, 2 ** (self.precision - 1))) * Fraction(2) ** self.emax


FORMATS = {
    "f16": Format(16, 11, 15, 0x7FFF),
    "bf16": Format(16, 8, 127, 0x7FFF),
    "f32": Format(32, 24, 127, 0x7FFFFFFF),
    "f64": Format(64, 53, 1023, 0xFFF8000000000000),
}


def decode(bits: int, name: str) -> Number:
    """The value of a bit pattern."""
    form = FORMATS[name]
    negative = bits >> (form.width - 1) & 1
    fraction = bits & (1 << (form.precision - 1)) - 1
    exponent = bits >> (form.precision - 1) & (1 << (form.width - form.precision)) - 1
    if exponent == (1 << (form.width - form.precision)) - 1:
        value: Number = math.nan if fraction else math.inf
    elif exponent == 0:
        value = Fraction(fraction) * Fraction(2) ** (form.emin - form.precision + 1)
    else:
        value = Fraction(fraction | 1 << (form.precision - 1)) * Fraction(2) ** (
            exponent - form.emax - form.precision + 1
        )
    if value == 0:
        return -0.0 if negative else 0.0
    return -value if negative else value


def encode(value: Number, name: str, mode: str = "rn") -> int:
    """The bit pattern nearest to a value in a rounding direction; NaN gives the format's canonical NaN."""
    form = FORMATS[name]
    if is_nan(value):
        return form.nan
    sign = (1 << (form.width - 1)) if is_negative(value) else 0
    infinity = ((1 << (form.width - form.precision)) - 1) << (form.precision - 1)
    if value == 0:
        return sign
    if is_infinite(value):
        return sign | infinity
    magnitude = abs(Fraction(value))
    exponent = form.emin
    while magnitude >= Fraction(2) ** (exponent + 1):
        # Walk in big steps first: exponents reach 2000.
        gap = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - exponent - 2
        exponent += max(1, gap)
    quotient = magnitude / Fraction(2) ** (exponent - form.precision + 1)
    units = quotient.numerator // quotient.denominator
    rest = quotient - units
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and units % 2 == 1)
    else:
        up = rest > 0 and mode == {0: "rp"}.get(sign, "rm")
    units += up
    rounded = units * Fraction(2) ** (exponent - form.precision + 1)
    if rounded > form.largest:
        to_infinity = mode == "rn" or mode == ("rm" if sign else "rp")
        return sign | (infinity if to_infinity else infinity - 1)
    if units >= 1 << form.precision:
        units, exponent = units >> 1, exponent + 1
    if units < 1 << (form.precision - 1):
        return sign | units
    return sign | (exponent + form.emax) << (form.precision - 1) | units - (1 << (form.precision - 1))


def is_nan(x: Number) -> bool:
    return isinstance(x, float) and math.isnan(x)


def is_infinite(x: Number) -> bool:
    return isinstance(x, float) and math.isinf(x)


def is_negative(x: Number) -> bool:
    return math.copysign(1.0, x) < 0 if isinstance(x, float) else x < 0


def negate(x: Number) -> Number:
    return -x


def add(x: Number, y: Number, mode: str = "rn") -> Number:
    """x + y, exact; `mode` decides the sign of a sum that cancels."""
    if is_nan(x) or is_nan(y) or (is_infinite(x) and is_infinite(y) and x != y):
        return math.nan
    if is_infinite(x) or is_infinite(y):
        return x if is_infinite(x) else y
    total = Fraction(x) + Fraction(y)
    if total:
        return total
    if is_negative(x) == is_negative(y):
        return -0.0 if is_negative(x) else 0.0
    return -0.0 if mode == "rm" else 0.0


def multiply(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or (is_infinite(x) and y == 0) or (is_infinite(y) and x == 0):
        return math.nan
    negative = is_negative(x) != is_negative(y)
    if is_infinite(x) or is_infinite(y):
        return -math.inf if negative else math.inf
    if x == 0 or y == 0:
        return -0.0 if negative else 0.0
    return Fraction(x) * Fraction(y)


def divide(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or (is_infinite(x) and is_infinite(y)) or (x == 0 and y == 0):
        return math.nan
    negative = is_negative(x) != is_negative(y)
    if is_infinite(x) or y == 0:
        return -math.inf if negative else math.inf
    if x == 0 or is_infinite(y):
        return -0.0 if negative else 0.0
    return Fraction(x) / Fraction(y)


def square_root(x: Number) -> Number:
    """The root to 200 bits, with a last 1 that stands for the rest when it is irrational."""
    if x == 0 or is_nan(x):
        return x
    if is_negative(x):
        return math.nan
    if is_infinite(x):
        return x
    scale = 4**1400
    radicand = Fraction(x) * scale
    assert radicand.denominator == 1
    root = math.isqrt(radicand.numerator)
    sticky = 0 if root * root == radicand else 1
    return Fraction(2 * root + sticky, 2 * 2**1400)


def flush(bits: int, name: str) -> int:
    """Zero of the same sign for a subnormal."""
    form = FORMATS[name]
    exponent = bits >> (form.precision - 1) & (1 << (form.width - form.precision)) - 1
    return bits & 1 << (form.width - 1) if exponent == 0 else bits


def is_tiny(value: Number, name: str, mode: str) -> bool:
    """Below the normal range after rounding to the format's precision with an exponent as small as need be."""
    if not isinstance(value, Fraction):
        return False
    shifted = decode(encode(value * 2**20, name, mode), name)
    least = Fraction(2) ** (FORMATS[name].emin + 20)
    return -least < shifted < least


def saturate(x: Number) -> Number:
    """[0, 1], NaN to +0."""
    if is_nan(x) or is_negative(x) or x == 0:
        return 0.0
    return Fraction(1) if x > 1 else x


def round_to_integer(x: Number, mode: str) -> int:
    """A finite number to an integer: rni, rzi, rmi, rpi."""
    exact = Fraction(x)
    if mode == "rni":
        return round(exact)
    if mode == "rzi":
        return math.trunc(exact)
    return math.floor(exact) if mode == "rmi" else math.ceil(exact)


def wrap(value: int, width: int) -> int:
    """The bit pattern of an integer modulo 2**width."""
    return value & (1 << width) - 1


def signed(bits: int, width: int) -> int:
    """The two's complement value of a bit pattern."""
    return bits - (1 << width) if bits >> (width - 1) else bits
