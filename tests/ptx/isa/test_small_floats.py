"""Pairs of 8-bit numbers against the format's definition: of all its numbers the nearest one, of two the even one."""

import math
from typing import Any

import numpy as np
import pytest

from grader.ptx.isa.instructions import Array, lookup

FORMATS = {"e4m3x2": (3, 7, 0x7E), "e5m2x2": (2, 15, 0x7B)}


def converted(modifiers: tuple[str, ...], *operands: Any) -> Array:
    """What `cvt` with these modifiers makes of its operands."""
    return np.asarray(lookup("cvt", modifiers).compute(*operands)).astype(np.uint32)


def value_of(bits: int, name: str) -> float:
    mantissa, bias, _largest = FORMATS[name]
    exponent, rest = bits >> mantissa, bits & (1 << mantissa) - 1
    if not exponent:
        return math.ldexp(rest, 1 - bias - mantissa)
    return math.ldexp(1 + rest / 2**mantissa, exponent - bias)


@pytest.mark.parametrize("name", FORMATS)
def test_a_float_becomes_the_nearest_number(name: str) -> None:
    _mantissa, _bias, largest = FORMATS[name]
    values = np.array([value_of(bits, name) for bits in range(largest + 1)])
    middles = (values[1:] + values[:-1]) / 2
    asked = np.concatenate([values, middles, middles * 1.0001, middles * 0.9999, [values[-1] * 1.5, 1e30, np.inf]])
    distance = np.abs(values[:, None] - np.minimum(asked, values[-1])[None, :])
    is_nearest = distance == distance.min(axis=0)
    expected = [next((b for b in np.flatnonzero(column) if b % 2 == 0), np.argmax(column)) for column in is_nearest.T]
    pairs = converted(("rn", "satfinite", name, "f32"), -asked.astype(np.float32), asked.astype(np.float32))
    assert list(pairs & 0xFF) == expected
    assert list(pairs >> 8) == [bits | 0x80 for bits in expected]


@pytest.mark.parametrize("name", FORMATS)
def test_every_number_survives_the_way_to_half_and_back(name: str) -> None:
    _mantissa, _bias, largest = FORMATS[name]
    bits = np.array([sign | size for sign in (0, 0x80) for size in range(largest + 1)], np.uint16)
    there = converted(("rn", "f16x2", name), bits | bits[::-1] << np.uint16(8))
    halves = (there & 0xFFFF).astype(np.uint16).view(np.float16)
    assert list(halves) == [(-1 if b & 0x80 else 1) * value_of(int(b) & 0x7F, name) for b in bits]
    back = converted(("rn", "satfinite", name, "f16x2"), there)
    assert list(back & 0xFF) == list(bits)
    assert list(back >> 8) == list(bits[::-1])


def test_what_is_no_number() -> None:
    nan = np.array([math.nan], np.float32)
    for name in FORMATS:
        assert converted(("rn", "satfinite", name, "f32"), nan, nan) == 0x7F7F
    infinite = np.array([0xFC7C], np.uint16)
    assert converted(("rn", "f16x2", "e5m2x2"), infinite) == 0xFC007C00
    assert converted(("rn", "relu", "f16x2", "e5m2x2"), infinite) == 0x00007C00


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("rna", [0x3F804000, 0xBF804000, 0x3F802000]),
        ("rn", [0x3F804000, 0xBF804000, 0x3F800000]),
        ("rz", [0x3F802000, 0xBF802000, 0x3F800000]),
    ],
)
def test_floats_of_19_bits(rounding: str, expected: list[int]) -> None:
    """Two halves between neighbours (to odd ones and to even ones), and what is no number."""
    values = np.array([0x3F803000, 0xBF803000, 0x3F801000, 0x7F800000, 0xFF800000, 0x7FC00123], np.uint32)
    got = converted((rounding, "tf32", "f32"), values.view(np.float32))
    assert got.tolist() == [*expected, 0x7F800000, 0xFF800000, 0x7FFFFFFF]
