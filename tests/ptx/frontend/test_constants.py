"""Constants of PTX, of every base and width."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.declarations import evaluate, parse_immediate, parse_integer
from grader.ptx.frontend.nodes import Immediate

int64 = st.integers(-(2**63), 2**64 - 1)


@settings(deadline=None)
@given(int64, st.sampled_from(["d", "#x", "#X", "#o", "#b"]), st.booleans())
def test_integers_of_every_base_read_back(value: int, base: str, unsigned: bool) -> None:
    digits = format(abs(value), base)
    if base == "#o":
        digits = "0" + digits[2:]
    assert parse_integer(("-" if value < 0 else "") + digits + ("U" if unsigned else "")) == value


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_single_precision_literals_keep_their_bits(value: float) -> None:
    bits = int.from_bytes(struct.pack("<f", value), "little")
    assert parse_immediate(f"0f{bits:08X}") == Immediate(bits, "f32")
    assert parse_immediate(f"0F{bits:08x}") == Immediate(bits, "f32")


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_double_precision_literals_keep_their_bits(bits: int) -> None:
    assert parse_immediate(f"0d{bits:016X}") == Immediate(bits, "f64")


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimal_floats_are_double(value: float) -> None:
    text = f"{value:.17e}"
    immediate = parse_immediate(text)
    assert immediate is not None
    assert immediate.float_type == "f64"
    got = struct.unpack("<d", immediate.value.to_bytes(8, "little"))[0]
    assert got == value
    assert math.copysign(1, got) == math.copysign(1, value)


def test_minus_flips_the_sign_bit_of_float_literals() -> None:
    assert parse_immediate("-0f3F800000") == Immediate(0xBF800000, "f32")
    assert parse_immediate("-0d0000000000000000") == Immediate(1 << 63, "f64")


@pytest.mark.parametrize(
    "text",
    ["", "-", "0x", "0xG", "08", "0b2", "1.2.3", "0f3F80000", "0f3F8000000", "%r1", "x", "1 2", "(1", "1+", "5/0"],
)
def test_what_is_no_literal(text: str) -> None:
    assert parse_immediate(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2+3)*4", 20),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / -2", -3),
        ("1 << 4 | 3", 19),
        ("~0 & 0xff", 255),
        ("!5 + !0", 1),
        ("1 ? 2 : 0 ? 3 : 4", 2),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("WARP_SZ - 1", 31),
        ("3 == 3 && 2 > 3 || 1 <= 1", 1),
        ("6 ^ 3", 5),
        ("- - 3", 3),
        ("10 - 4 - 3", 3),
    ],
)
def test_constant_expressions(text: str, value: int) -> None:
    assert evaluate(text) == value


expressions = st.recursive(
    st.integers(0, 1000).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"~({text})"),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(expressions)
def test_expressions_agree_with_python(text: str) -> None:
    # For these operators C and Python have the same precedence and meaning.
    assert evaluate(text) == eval(text)
