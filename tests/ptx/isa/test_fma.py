"""fma rounds once: operands built so that rounding twice would show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ptx.isa import isa_oracle as exact
from tests.ptx.isa.isa_case import MODES, Case
from tests.ptx.isa.isa_oracle import FORMATS, decode, encode
from tests.ptx.isa.isa_run import emulate


def _case(name: str, mode: str) -> Case:
    def oracle(a: int, b: int, c: int) -> int:
        value = exact.add(exact.multiply(decode(a, name), decode(b, name)), decode(c, name), mode)
        return encode(value, name, mode)

    return Case(f"fma.{mode}.{name}", (name,) * 3, (name,), oracle)


def _check(item: Case, rows: list[tuple[int, ...]]) -> None:
    for row, result in zip(rows, emulate(item, rows), strict=True):
        assert hex(result[0]) == hex(item.oracle(*row)), [hex(x) for x in row]


@st.composite
def _near_ties(draw: st.DrawFn, name: str) -> tuple[int, int, int]:
    """A product that lies near a half-way point of the sum, or nearly cancels the addend."""
    form = FORMATS[name]
    span = min(form.emax // 3, 40)
    significand = st.integers(1 << form.precision - 1, (1 << form.precision) - 1)
    a = Fraction(draw(significand)) * Fraction(2) ** draw(st.integers(-span - form.precision, span - form.precision))
    b = Fraction(draw(significand)) * Fraction(2) ** draw(st.integers(-span - form.precision, span - form.precision))
    if draw(st.booleans()):
        # Few bits, so that the product can be half a unit and a little of a much larger addend.
        b = Fraction(draw(st.sampled_from([1, 3, 5]))) * Fraction(2) ** draw(st.integers(-span, span))
    product = a * b
    distance = draw(st.integers(-2, 2 * form.precision + 2))
    addend = Fraction(draw(significand)) * product / a.numerator * Fraction(2) ** distance
    if draw(st.booleans()):
        addend = -product
    bits = [encode(x, name) for x in (a, b, addend)]
    bits[2] += draw(st.integers(-1, 1))
    return bits[0], bits[1] ^ draw(st.sampled_from([0, 1 << form.width - 1])), bits[2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_near_ties(name: str, mode: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(_near_ties(name), min_size=10, max_size=40))
    # A negative pattern after stepping below zero would be no bit pattern at all.
    _check(_case(name, mode), [r for r in rows if 0 <= r[2] < 1 << FORMATS[name].width])


@settings(deadline=None, max_examples=20)
@given(st.lists(_near_ties("f16"), min_size=10, max_size=40))
def test_near_ties_f16(rows: list[tuple[int, int, int]]) -> None:
    _check(_case("f16", "rn"), [r for r in rows if 0 <= r[2] < 1 << 16])


def test_double_rounding_would_show() -> None:
    # 2**-24 * (1 + 2**-30) added to 1 lies just above the half-way point between 1 and its successor.
    almost_tie = [encode(Fraction(x), "f32") for x in (Fraction(2) ** -24, 1 + Fraction(2) ** -23, 1)]
    tie = [encode(Fraction(x), "f32") for x in (Fraction(2) ** -24, 1, 1)]
    assert emulate(_case("f32", "rn"), [tuple(almost_tie), tuple(tie)]) == [(0x3F800001,), (0x3F800000,)]
    a, b, c = (np.array([x], np.uint32).view(np.float32) for x in almost_tie)
    assert (a * b + c).view(np.uint32)[0] == 0x3F800001 and (a * np.float32(1) + c).view(np.uint32)[0] == 0x3F800000


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_subnormal_results(name: str) -> None:
    form = FORMATS[name]
    least = Fraction(2) ** (form.emin - form.precision + 1)
    rows: list[tuple[int, ...]] = []
    for units in range(1, 40):
        for extra in (Fraction(1, 2), 1 - Fraction(1, 2 ** (form.precision - 1)), Fraction(1, 4) + Fraction(1, 2**20)):
            a = encode(extra * Fraction(2) ** (form.emin // 2), name)
            b = encode(least / Fraction(2) ** (form.emin // 2), name)
            rows += [(a, b, encode(units * least, name)), (a, b, encode(-units * least * 2**30, name))]
    for mode in MODES:
        _check(_case(name, mode), rows)


def test_float64_beyond_the_error_free_range() -> None:
    powers = [-1074, -1060, -1022, -1000, -900, -500, 0, 500, 1000, 1023]
    rows = []
    for p in powers:
        for q in powers[::2]:
            for r in (-1074, -1022, 0, 1023):
                three = (
                    3 * Fraction(2) ** (p - 1),
                    Fraction(2) ** q * (1 + Fraction(1, 2**30)),
                    -5 * Fraction(2) ** (r - 2),
                )
                rows.append(tuple(encode(x, "f64") for x in three))
    infinity = 0x7FF << 52
    # A product beyond the range meets infinity, one below it a zero of the other sign.
    rows.append((0x7FEFFFFFFFFFFFFF, 0x41F0000000000001, infinity | 1 << 63))
    rows += [(0xBE70000000000000, 2, 0), (0x36A0000000000000, 0x8010000000000001, 0), (2, 2, 1 << 63)]
    for mode in MODES:
        _check(_case("f64", mode), rows)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_products_that_are_exactly_zero(name: str) -> None:
    minus = 1 << FORMATS[name].width - 1
    values = [sign | encode(Fraction(x), name) for x in (0, Fraction(2) ** 2000, 1) for sign in (0, minus)]
    rows: list[tuple[int, ...]] = [(zero, b, c) for zero in (0, minus) for b in (1, *values) for c in (1, *values)]
    for mode in MODES:
        _check(_case(name, mode), rows)
        _check(_case(name, mode), [(b, zero, c) for zero, b, c in rows])
