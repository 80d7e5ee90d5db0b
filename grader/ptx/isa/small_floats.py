"""Conversions (`cvt`) of pairs of 8-bit numbers, e4m3 and e5m2, which devices have from 8.9 on.

A pair is a bit pattern of 16 bits; its lower byte is its first element.  What is too large becomes the largest number
(`.satfinite`, which these instructions must have), what is no number 0x7F.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from grader.ptx.isa.instructions import Array, Modifiers, Semantics, Table, make, register

PAIRS = ("e4m3x2", "e5m2x2")
_MANTISSA = {"e4m3x2": 3, "e5m2x2": 2}
_LARGEST = {"e4m3x2": 0x7E, "e5m2x2": 0x7B}
_NONE, _NAN_16 = np.uint16(0x7F), np.uint16(0x7FFF)


def _narrowed(name: str, value: Array) -> Array:
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
def _widened(name: str) -> Array:
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
    return np.where(size > (0x7C if name == "e5m2x2" else 0x7E), _NAN_16, signed)


def _begin(m: Modifiers) -> Callable[[Array], Array]:
    """Take the rounding; return what `.relu` does."""
    m.one_of(("rn",))
    if m.flag("relu"):
        return lambda value: np.where(np.isnan(value), value, np.maximum(value, 0.0) + 0.0)
    return lambda value: value


def from_floats(m: Modifiers, source: str, target: str) -> Semantics:
    """cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32 d, a, b: a to the upper byte, b to the lower."""
    positive = _begin(m)
    m.one_of(("satfinite",))
    m.end()

    def one(a: Array) -> Array:
        return _narrowed(target, positive(a.astype(np.float64)))

    return make(f"{source} {source}", target, lambda a, b: one(a) << np.uint16(8) | one(b))


def of_halves(m: Modifiers) -> Semantics:
    """cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2 d, a."""
    source = m.type()
    target = m.type(PAIRS)
    positive = _begin(m)
    m.one_of(("satfinite",))
    m.end()

    def one(bits: Array) -> Array:
        return _narrowed(target, positive(bits.astype(np.uint16).view(np.float16).astype(np.float64)))

    return make(source, target, lambda a: one(a >> np.uint32(16)) << np.uint16(8) | one(a & np.uint32(0xFFFF)))


def to_halves(m: Modifiers) -> Semantics:
    """cvt.rn.f16x2.{e4m3x2,e5m2x2} d, a."""
    source = m.type()
    target = m.type(("f16x2",))
    relu = m.flag("relu")
    m.one_of(("rn",))
    m.end()
    values = _widened(source)
    if relu:
        values = np.where((values > 0x7FFF) & (values <= 0xFC00), np.uint16(0), values)

    def compute(a: Array) -> Array:
        return values[a >> np.uint16(8)].astype(np.uint32) << np.uint32(16) | values[a & np.uint16(0xFF)]

    return make(source, target, compute)


TABLE: Table = {}
register(TABLE, "cvt", ("f16x2",), of_halves)
register(TABLE, "cvt", PAIRS, to_halves)
