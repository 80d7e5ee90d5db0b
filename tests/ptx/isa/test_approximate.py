"""The .approx family within the errors that PTX ISA states, against the C library through `math`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grader.ptx.isa.instructions import lookup
from tests.ptx.isa.isa_oracle import decode


def _run(spelling: str, *operands: np.ndarray) -> np.ndarray:
    opcode, *modifiers = spelling.split(".")
    with np.errstate(all="ignore"):
        result = lookup(opcode, tuple(modifiers)).compute(*operands)
    assert isinstance(result, np.ndarray)
    return result


def _sample(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(3).uniform(low, high, 2000).astype(np.float32)


RELATIVE = [
    # spelling, function, range, largest relative error (PTX ISA, section of each instruction)
    ("ex2.approx.f32", lambda x: 2.0**x, (-100, 100), 2.0**-22),
    ("ex2.approx.ftz.f32", lambda x: 2.0**x, (-100, 100), 2.0**-22),
    ("rsqrt.approx.f32", lambda x: 1 / math.sqrt(x), (1e-30, 1e30), 2.0**-22.9),
    ("rsqrt.approx.ftz.f32", lambda x: 1 / math.sqrt(x), (1e-3, 1e3), 2.0**-22.9),
    ("rcp.approx.f32", lambda x: 1 / x, (1e-3, 1e3), 2.0**-23),
    ("rcp.approx.ftz.f32", lambda x: 1 / x, (1e-3, 1e3), 2.0**-23),
    ("sqrt.approx.f32", math.sqrt, (0, 1e6), 2.0**-23),
    ("sqrt.approx.ftz.f32", math.sqrt, (0, 1e6), 2.0**-23),
    ("tanh.approx.f32", math.tanh, (-9, 9), 2.0**-11),
]
ABSOLUTE = [
    ("sin.approx.f32", math.sin, (-math.pi, math.pi), 2.0**-20.5),
    ("sin.approx.ftz.f32", math.sin, (-300, 300), 2.0**-14.7),
    ("cos.approx.f32", math.cos, (-math.pi, math.pi), 2.0**-20.5),
    ("cos.approx.ftz.f32", math.cos, (-300, 300), 2.0**-14.7),
    ("lg2.approx.f32", math.log2, (0.5, 2), 2.0**-22),
    ("lg2.approx.ftz.f32", math.log2, (1e-30, 1e30), 2.0**-17),
]


@pytest.mark.parametrize(
    ("spelling", "function", "limits", "error"), RELATIVE, ids=lambda x: x if isinstance(x, str) else ""
)
def test_relative_error(spelling, function, limits, error) -> None:  # type: ignore[no-untyped-def]
    operands = _sample(*limits)
    for x, y in zip(operands.tolist(), _run(spelling, operands).tolist(), strict=True):
        assert y == pytest.approx(function(x), rel=error)


@pytest.mark.parametrize(
    ("spelling", "function", "limits", "error"), ABSOLUTE, ids=lambda x: x if isinstance(x, str) else ""
)
def test_absolute_error(spelling, function, limits, error) -> None:  # type: ignore[no-untyped-def]
    operands = _sample(*limits)
    for x, y in zip(operands.tolist(), _run(spelling, operands).tolist(), strict=True):
        assert y == pytest.approx(function(x), abs=error, rel=0 if limits[0] != 1e-30 else 2.0**-22)


INF, NAN, TINY = math.inf, math.nan, 1e-40


@pytest.mark.parametrize(
    ("spelling", "pairs"),
    [
        ("ex2.approx.f32", [(-INF, 0.0), (INF, INF), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (-130.0, 2.0**-130)]),
        ("ex2.approx.ftz.f32", [(-130.0, 0.0), (TINY, 1.0), (-INF, 0.0)]),
        (
            "lg2.approx.f32",
            [(-INF, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (INF, INF), (NAN, NAN), (2.0**-140, -140.0)],
        ),
        ("lg2.approx.ftz.f32", [(TINY, -INF), (-TINY, -INF)]),
        ("sin.approx.f32", [(INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
        ("sin.approx.ftz.f32", [(TINY, 0.0), (-TINY, -0.0)]),
        ("cos.approx.f32", [(INF, NAN), (0.0, 1.0), (-0.0, 1.0), (NAN, NAN)]),
        ("tanh.approx.f32", [(INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
        ("rsqrt.approx.f32", [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)]),
        ("rsqrt.approx.ftz.f32", [(-TINY, -INF), (TINY, INF)]),
        ("rcp.approx.f32", [(-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)]),
        ("rcp.approx.ftz.f32", [(-TINY, -INF), (TINY, INF), (2.0**127, 0.0)]),
        ("sqrt.approx.f32", [(-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)]),
        ("sqrt.approx.ftz.f32", [(-TINY, -0.0), (TINY, 0.0)]),
    ],
)
def test_special_values(spelling: str, pairs: list[tuple[float, float]]) -> None:
    got = _run(spelling, np.array([x for x, _ in pairs], np.float32))
    expected = np.array([y for _, y in pairs], np.float32)
    # Compared as bits: signs of zeros and the one NaN of GPUs.
    wanted = np.where(np.isnan(expected), np.uint32(0x7FFFFFFF), expected.view(np.uint32))
    assert got.view(np.uint32).tolist() == wanted.tolist()


@pytest.mark.parametrize("spelling", ["div.full.f32", "div.approx.f32", "div.full.ftz.f32", "div.approx.ftz.f32"])
def test_approximate_division(spelling: str) -> None:
    a, b = _sample(-1e4, 1e4), np.roll(_sample(-1e4, 1e4), 1)
    for x, y, q in zip(a.tolist(), b.tolist(), _run(spelling, a, b).tolist(), strict=True):
        assert q == pytest.approx(x / y, rel=2.0**-22)


def test_approximate_division_by_huge_numbers() -> None:
    huge = np.float32(2.0**127)
    a = np.array([1e38, -1e38, INF, 1.0, NAN], np.float32)
    assert _run("div.approx.f32", a, np.array([huge])).view(np.uint32).tolist() == [
        0,
        1 << 31,
        0x7FFFFFFF,
        0,
        0x7FFFFFFF,
    ]
    full = _run("div.full.f32", a, np.array([huge]))
    assert full.tolist()[:2] == pytest.approx([1e38 / 2.0**127, -1e38 / 2.0**127]) and full[2] == INF


@pytest.mark.parametrize(
    ("spelling", "function"), [("rcp.approx.ftz.f64", lambda x: 1 / x), ("rsqrt.approx.ftz.f64", lambda x: x**-0.5)]
)
def test_double_functions_of_the_upper_word(spelling: str, function) -> None:  # type: ignore[no-untyped-def]
    x = np.random.default_rng(4).uniform(1e-3, 1e3, 1000)
    result = _run(spelling, x)
    assert not (result.view(np.uint64) & np.uint64(0xFFFFFFFF)).any()
    assert result.tolist() == pytest.approx([function(v) for v in x.tolist()], rel=2.0**-19)
    special = np.array([0.0, -0.0, INF, NAN, 5e-324])
    got = _run(spelling, special).view(np.uint64).tolist()
    negative_zero = 0xFFF << 52
    assert got == [0x7FF << 52, negative_zero, 0, 0x7FFFFFFF << 32, 0x7FF << 52]


def test_double_reciprocal_root() -> None:
    x = np.random.default_rng(4).uniform(1e-3, 1e3, 1000)
    assert _run("rsqrt.approx.f64", x).tolist() == pytest.approx([v**-0.5 for v in x.tolist()], rel=2.0**-51)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["ex2", "tanh"])
def test_half_functions(opcode: str, name: str) -> None:
    middle = "ftz." if (opcode, name) == ("ex2", "bf16") else ""
    bits = np.arange(0, 1 << 16, 7, dtype=np.uint16)
    dtype = np.float16 if name == "f16" else np.uint16
    result = _run(f"{opcode}.approx.{middle}{name}", bits.view(dtype)).view(np.uint16)
    packed = _run(f"{opcode}.approx.{middle}{name}x2", bits.astype(np.uint32) << 16 | bits[::-1])
    assert (packed >> 16).tolist() == result.tolist()
    assert (packed & 0xFFFF).tolist() == result[::-1].tolist()
    for x_bits, y_bits in zip(bits.tolist(), result.tolist(), strict=True):
        x, y = decode(x_bits, name), float(decode(y_bits, name))
        if math.isnan(x):
            assert y_bits == 0x7FFF
        elif abs(float(x)) < 10:
            expected = 2.0 ** float(x) if opcode == "ex2" else math.tanh(x)
            if middle and abs(float(x)) < 2.0**-126:
                expected = 1.0
            assert y == pytest.approx(expected, rel=2.0**-7 if name == "bf16" else 2.0**-9.9, abs=2.0**-24)
