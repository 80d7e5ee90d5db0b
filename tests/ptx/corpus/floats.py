"""Cases of floats.cu, mathematics.cu and half.cu."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Array
from tests.ptx.corpus.numbers import (
    COUNT,
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    N,
    case,
    floats,
    integers,
    one,
    shaped,
    stack,
    three,
    two,
)
from tests.ptx.isa import isa_oracle as exactly


def bits_of(x: Array) -> list[int]:
    return [int(v) for v in x.view(f"u{x.dtype.itemsize}")]


def rounded(operation: Callable[..., exactly.Number], mode: str, *columns: Array) -> Array:
    """An operation on exact values, rounded once."""
    dtype = columns[0].dtype
    name = f"f{8 * dtype.itemsize}"
    rows = zip(*[[exactly.decode(bits, name) for bits in bits_of(column)] for column in columns], strict=True)
    return np.array([exactly.encode(operation(*row), name, mode) for row in rows], f"u{dtype.itemsize}").view(dtype)


def _add(mode: str) -> Callable[..., exactly.Number]:
    return lambda x, y: exactly.add(x, y, mode)


def _fma(mode: str) -> Callable[..., exactly.Number]:
    return lambda x, y, z: exactly.add(exactly.multiply(x, y), z, mode)


def away_from_zero(x: Array) -> Array:
    """C's round(): halves go away from zero."""
    whole = np.trunc(x)
    return np.copysign(whole + np.copysign((np.abs(x - whole) >= 0.5), x), x)


def smaller(x: Array, y: Array) -> Array:
    """fmin: −0 is less than +0, a NaN loses."""
    return np.where((x == y) & np.signbit(x), x, np.where((x == y), y, np.fmin(x, y)))


def larger(x: Array, y: Array) -> Array:
    return np.where((x == y) & np.signbit(x), y, np.where((x == y), x, np.fmax(x, y)))


def float_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y, z = arguments[:3]
    below, above = np.where(x > 0, x, 0), np.minimum(np.where(x > 0, x, 0), 1)
    del below
    flags = (x < y) + 2 * (x == y) + 4 * (x > y) + 8 * (x != y) + 16 * np.isnan(x) + 32 * np.isinf(x)
    difference = np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, F32(0)))
    return stack(
        [
            x + y,
            x - y,
            x * y,
            x / y,
            rounded(_fma("rn"), "rn", x, y, z),
            np.sqrt(x),
            F32(1) / x,
            smaller(x, y),
            larger(x, y),
            np.abs(x),
            -x,
            np.copysign(x, y),
            np.floor(x),
            np.ceil(x),
            np.trunc(x),
            np.rint(x),
            away_from_zero(x),
            above,
            flags + 64 * np.signbit(x),
            difference,
            np.fmod(x, F32(3.7)),
            np.nextafter(x, y),
            np.ldexp(x, 5),
        ],
        F32,
    )


def float_rounding(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = arguments[:2]
    one, rows = np.ones(N, F32), []
    for mode in ("rz", "rp", "rm"):
        rows.append(rounded(_add(mode), mode, x, y))
    for mode in ("rz", "rp", "rm"):
        rows.append(rounded(exactly.multiply, mode, x, y))
    for mode in ("rz", "rp", "rm"):
        rows.append(rounded(exactly.divide, mode, x, y))
    for mode in ("rz", "rp"):
        rows.append(rounded(exactly.square_root, mode, np.abs(x)))
    rows.append(rounded(_fma("rz"), "rz", x, y, one))
    rows.append(rounded(_fma("rm"), "rm", x, y, -one))
    rows.append(rounded(exactly.divide, "rp", one, x))
    return stack(rows, F32)


def double_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y, z = arguments[:3]
    return stack(
        [
            x + y,
            x - y,
            x * y,
            x / y,
            rounded(_fma("rn"), "rn", x, y, z),
            np.sqrt(x),
            1 / x,
            smaller(x, y),
            larger(x, y),
            np.abs(x),
            np.floor(x),
            np.ceil(x),
            np.trunc(x),
            np.rint(x),
            away_from_zero(x),
            (x < y) + 2 * (x == y) + 4 * (x > y),
            rounded(_add("rz"), "rz", x, y),
            rounded(exactly.multiply, "rp", x, y),
            rounded(exactly.divide, "rm", x, y),
        ],
        F64,
    )


def to_integer(x: Array, dtype: Any, rounding: Callable[[Array], Array] = np.trunc) -> Array:
    """PTX ISA, cvt: rounded, clamped to the target's range; NaN becomes 0 from f32 to 32 bits, else the top bit."""
    info = np.iinfo(dtype)
    not_a_number = 0 if info.bits == 32 and x.dtype == F32 else 1 << (info.bits - 1)
    whole = rounding(x.astype(F64))
    result = np.zeros(len(x), dtype)
    for i, value in enumerate(whole.tolist()):
        if math.isnan(value):
            result[i] = np.array(not_a_number, f"u{info.bits // 8}").view(dtype)
        elif math.isinf(value):
            result[i] = info.max if value > 0 else info.min
        else:
            result[i] = min(max(int(value), info.min), info.max)
    return result


def float_to_integers(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    return stack(
        [
            to_integer(x, I32),
            to_integer(x, U32),
            to_integer(x, I32, np.rint),
            to_integer(x, I32, np.ceil),
            to_integer(x, I32, np.floor),
            to_integer(x, U32, np.rint),
            to_integer(x, I64),
            to_integer(x, U64).view(I64),
            to_integer(x, I64, np.rint),
            x.view(I32),
            to_integer(np.fmax(F32(-100), np.fmin(F32(100), x)), I32),
            to_integer(np.fmax(F32(-30000), np.fmin(F32(30000), x)), I32),
        ],
        I64,
    )


def double_to_integers(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    return stack(
        [
            to_integer(x, I32),
            to_integer(x, U32),
            to_integer(x, I32, np.rint),
            to_integer(x, I64),
            to_integer(x, I64, np.floor),
            x.view(I64),
            x.view(I64) >> 32,
            x.view(I64).astype(I32),
            to_integer(x, U64).view(I64),
        ],
        I64,
    )


def from_integer(values: Array, name: str, mode: str = "rn") -> Array:
    from fractions import Fraction

    width = int(name[1:]) // 8
    encoded = [exactly.encode(Fraction(int(v)) if v else 0.0, name, mode) for v in values]
    return np.array(encoded, f"u{width}").view(f"f{width}")


def integers_to_float(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    low = x.astype(I32)
    rows = [
        from_integer(low, "f32"),
        from_integer(x.astype(U32), "f32"),
        from_integer(x, "f32"),
        from_integer(x.view(U64), "f32"),
        from_integer(x.astype(np.int16), "f32"),
        from_integer(x.astype(np.uint8), "f32"),
        from_integer(low, "f32", "rz"),
        from_integer(x, "f32", "rp"),
        low.view(F32),
    ]
    wide = [from_integer(x, "f64"), from_integer(x.view(U64), "f64"), low.astype(F64), rows[2].astype(F64)]
    return {1: np.stack(rows), 2: np.stack(wide)}


def double_to_float(arguments: Sequence[Any]) -> dict[int, Array]:
    values = [exactly.decode(bits, "f64") for bits in bits_of(arguments[0])]
    rows = [[exactly.encode(v, "f32", mode) for v in values] for mode in ("rn", "rz", "rp", "rm")]
    return {-1: np.array(rows, U32).view(F32)}


def polynomial(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    s = np.zeros_like(x)
    for k in range(12, 0, -1):
        s = rounded(_fma("rn"), "rn", s, x, np.full(N, F32(1) / F32(k)))
    return {1: s}


def float_functions(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    p, u = np.abs(x) + F32(0.01), x / F32(101)
    x, p, u = (v.astype(F64) for v in (x, p, u))
    rows = [np.sin(x), np.cos(x), np.tan(x), np.exp(x), np.log(p), np.exp2(x), np.log2(p), np.log10(p), 10**u]
    rows += [np.expm1(u), np.log1p(p), np.sinh(u), np.cosh(u), np.tanh(u), np.arcsin(u), np.arccos(u), np.arctan(x)]
    rows += [np.arctan2(x, 3), p ** np.float64(F32(1.7)), x**3, np.cbrt(x), 1 / np.sqrt(p), np.hypot(x, 2)]
    rows.append(np.array([math.erf(v) for v in u]))
    return {-1: np.stack(rows)}


def fast_functions(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    p, narrow, tenth = np.abs(x) + F32(0.01), x * F32(0.03), x * F32(0.1)
    x, p, narrow, tenth = (v.astype(F64) for v in (x, p, narrow, tenth))
    rows = [np.sin(narrow), np.cos(narrow), np.exp(tenth), np.log(p), np.log2(p), np.sqrt(p), x / p, 1 / np.sqrt(p)]
    return {-1: np.stack(rows)}


def double_functions(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    p, u = np.abs(x) + 0.01, x / 101.0
    rows = [np.sin(x), np.cos(x), np.exp(x), np.log(p), p**1.7, np.cbrt(x), np.tanh(u), np.arctan(x), np.arcsin(u)]
    return {-1: np.stack([*rows, np.log2(p), 1 / np.sqrt(p), np.hypot(x, 2)])}


def mandelbrot(arguments: Sequence[Any]) -> dict[int, Array]:
    out, width, height, limit = arguments
    y, x = np.mgrid[0:height, 0:width].astype(F32)
    cr = rounded(_fma("rn"), "rn", (x * F32(3) / F32(width)).ravel(), np.ones(x.size, F32), np.full(x.size, F32(-2)))
    ci = (F32(-1) + y * F32(2) / F32(height)).ravel()
    zr, zi, steps = np.zeros_like(cr), np.zeros_like(cr), np.zeros(cr.shape, I32)
    for _ in range(int(limit)):
        inside = zr * zr + zi * zi < 4
        steps += inside
        following = (zr * zr - zi * zi) + cr
        zi = np.where(inside, (F32(2) * zr) * zi + ci, zi)
        zr = np.where(inside, following, zr)
    return {0: steps.reshape(out.shape)}


def half_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = (v.astype(F32) for v in arguments[:2])
    h = arguments[0]
    total = (x + y).astype(np.float16)
    wide = x.astype(F64) * y.astype(F64) + x.astype(F64)
    rows = [total, x - y, x * y, x / y, wide.astype(np.float16), -h, np.abs(h), smaller(x, y), larger(x, y)]
    rows += [np.where(x < y, x, y), np.floor(x), np.rint(x), x * F32(1.5), np.trunc(x) + F32(0), np.clip(total, 0, 1)]
    return stack(rows, np.float16)


def half2_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = (v.astype(F64) for v in arguments[:2])
    mixed = np.stack([x[:, 0], y[:, 1]], axis=1)
    rows = [x + y, x * y, x * y + y, x - y, x[:, ::-1], mixed, larger(x, y)]
    return {-1: np.stack([row.astype(np.float16) for row in rows])}


def bfloat_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = ((v.astype(U32) << U32(16)).view(F32) for v in arguments[:2])

    def narrowed(values: Array) -> list[int]:
        return [exactly.encode(exactly.decode(bits, "f32"), "bf16") for bits in bits_of(values.astype(F32))]

    return {-1: np.array([narrowed(v) for v in (x + y, x * y, x + y, np.where(x < y, x, y))], np.uint16)}


def half_atomics(arguments: Sequence[Any]) -> dict[int, Array]:
    low = (arguments[0] & 3).astype(np.int64)
    sums = np.array([[low[0::2].sum(), len(low[0::2])], [low[1::2].sum(), len(low[1::2])]], np.float16)
    return {1: sums, 2: np.array([len(low), 0], np.float16)}


def ordinary_halves(rng: np.random.Generator, shape: Any = N) -> Array:
    return rng.normal(0, 8, shape).astype(np.float16)


def ordinary_bfloats(rng: np.random.Generator) -> Array:
    return (rng.normal(0, 8, N).astype(F32).view(U32) >> U32(16)).astype(np.uint16)


CASES = [
    case("floats.cu", "float_ops", partial(three, F32, 23), float_ops),
    case("floats.cu", "float_rounding", partial(two, F32, 14, F32), float_rounding),
    case("floats.cu", "double_ops", partial(three, F64, 19), double_ops),
    case(
        "floats.cu",
        "float_fma",
        lambda rng: [*(floats(rng, F32) for _ in range(3)), np.zeros(N, F32), COUNT],
        lambda a: {3: rounded(_fma("rn"), "rn", *a[:3])},
    ),
    case("floats.cu", "float_to_integers", partial(one, 12, I64, lambda rng: floats(rng, F32)), float_to_integers),
    case("floats.cu", "double_to_integers", partial(one, 9, I64, lambda rng: floats(rng, F64)), double_to_integers),
    case(
        "floats.cu",
        "integers_to_float",
        lambda rng: [integers(rng, I64), shaped(9, F32), shaped(4, F64), COUNT],
        integers_to_float,
    ),
    case("floats.cu", "double_to_float", partial(one, 4, F32, lambda rng: floats(rng, F64)), double_to_float),
    case("floats.cu", "polynomial", lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(N, F32), COUNT], polynomial),
    case(
        "mathematics.cu",
        "float_functions",
        partial(one, 24, F32, lambda rng: rng.uniform(-60, 60, N).astype(F32)),
        float_functions,
        exact=False,
        ulps=5,
        on_device=False,
    ),
    case(
        "mathematics.cu",
        "large_sine",
        lambda rng: [(rng.choice([-1, 1], N) * 10 ** rng.uniform(5, 30, N)).astype(F32), np.zeros(N, F32), COUNT],
        lambda a: {1: np.array([math.sin(float(v)) for v in a[0]])},
        exact=False,
        ulps=2,
    ),
    case(
        "mathematics.cu",
        "fast_functions",
        partial(one, 8, F32, lambda rng: rng.uniform(-60, 60, N).astype(F32)),
        fast_functions,
        exact=False,
        ulps=24,
        absolute=True,
        on_device=False,
    ),
    case(
        "mathematics.cu",
        "double_functions",
        partial(one, 12, F64, lambda rng: rng.uniform(-60, 60, N)),
        double_functions,
        exact=False,
        ulps=4,
        on_device=False,
    ),
    case(
        "mathematics.cu",
        "mandelbrot",
        lambda rng: [np.zeros((50, 70), I32), I32(70), I32(50), I32(60)],
        mandelbrot,
        grid=(5, 4),
        block=(16, 16),
    ),
    case(
        "half.cu",
        "half_ops",
        lambda rng: [ordinary_halves(rng), ordinary_halves(rng), shaped(15, np.float16), COUNT],
        half_ops,
        options=("headers",),
    ),
    case(
        "half.cu",
        "half2_ops",
        lambda rng: [
            ordinary_halves(rng, (N, 2)),
            ordinary_halves(rng, (N, 2)),
            np.zeros((7, N, 2), np.float16),
            COUNT,
        ],
        half2_ops,
        options=("headers",),
    ),
    case(
        "half.cu",
        "bfloat_ops",
        lambda rng: [ordinary_bfloats(rng), ordinary_bfloats(rng), shaped(4, np.uint16), COUNT],
        bfloat_ops,
        options=("headers",),
    ),
    case(
        "half.cu",
        "half_atomics",
        lambda rng: [integers(rng, I32), np.zeros((2, 2), np.float16), np.zeros(2, np.float16), COUNT],
        half_atomics,
        options=("headers",),
    ),
]
