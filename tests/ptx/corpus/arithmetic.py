"""Cases of integers.cu, floats.cu, mathematics.cu and half.cu."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case
from tests.ptx.isa import isa_oracle as exactly

N = 1000
GRID, BLOCK = (8,), (128,)
COUNT = np.int32(N)

I32, U32, I64, U64, F32, F64 = np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64


def integers(rng: np.random.Generator, dtype: Any, count: int = N) -> Array:
    """Edge values, small numbers, and any bits."""
    info = np.iinfo(dtype)
    edges = np.array([0, 1, 2, 3, 7, 31, 32, info.max, info.max - 1, info.min, info.min + 1, -1 & info.max], dtype)
    if info.min:
        edges = np.append(edges, np.array([-1, -2, -7, -32], dtype))
    small = rng.integers(0, 200, count // 4).astype(dtype)
    bits = rng.integers(0, 256, (count - len(small) - len(edges)) * info.bits // 8, np.uint8).view(dtype)
    result = np.concatenate([edges, small, bits])
    rng.shuffle(result)
    return result


def floats(rng: np.random.Generator, dtype: Any, count: int = N) -> Array:
    """Edge values, ordinary numbers, halves, and any bits."""
    info = np.finfo(dtype)
    tiny, large = float(info.smallest_subnormal), float(info.max)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, tiny, -tiny, large, -large]
    edges += [float(info.tiny), float(info.tiny) * 0.75, 1 + float(info.eps), 2.0**31, 2.0**32, -(2.0**31), 2.0**63]
    ordinary = rng.normal(0, 50, count // 2)
    halves = np.round(rng.normal(0, 20, count // 8)) + 0.5
    rest = count - len(edges) - len(ordinary) - len(halves)
    bits = rng.integers(0, 256, rest * info.bits // 8, np.uint8).view(dtype)
    result = np.concatenate([np.array(edges, dtype), ordinary.astype(dtype), halves.astype(dtype), bits])
    rng.shuffle(result)
    return result


def shaped(rows: int, dtype: Any) -> Array:
    return np.zeros((rows, N), dtype)


def stack(values: Sequence[Any], dtype: Any) -> dict[int, Array]:
    return {-1: np.stack([np.broadcast_to(np.asarray(value), (N,)).astype(dtype) for value in values])}


def quotient(x: Array, y: Array) -> Array:
    """C's division: towards zero, for y ≠ 0."""
    wide_x, wide_y = [int(v) for v in x], [int(v) for v in y]
    result = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(wide_x, wide_y, strict=True)]
    return np.array(result, object)


def remainder(x: Array, y: Array) -> Array:
    return np.array([int(v) for v in x], object) - quotient(x, y) * np.array([int(v) for v in y], object)


def where_divisible(bad: Array, other: int, operation: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    result = np.full(len(x), other, object)
    result[~bad] = operation(x[~bad], y[~bad])
    return result


def big(x: Any) -> Array:
    return np.array([int(v) for v in x], object)


def wrapped(values: Array, dtype: Any) -> Array:
    """Python integers modulo 2^bits."""
    bits = np.iinfo(dtype).bits
    unsigned = np.array([int(v) & ((1 << bits) - 1) for v in values], np.dtype(f"u{bits // 8}"))
    return unsigned.view(dtype)


def int32_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = arguments[:2]
    u = x.view(U32)
    bad = (y == 0) | ((y == -1) & (x == np.iinfo(I32).min))
    text = [f"{int(v):032b}" for v in u]
    return stack(
        [
            x + y,
            x - y,
            x * y,
            where_divisible(bad, 7, quotient, x, y),
            where_divisible(bad, 7, remainder, x, y),
            x & y,
            x | y,
            x ^ y,
            (u << (y & 31).view(U32)).view(I32),
            x >> (y & 31),
            np.minimum(x, y),
            np.maximum(x, y),
            ~x,
            (x < y) + 2 * (x == y) + 4 * (x > y),
            (x.astype(I64) * y) >> 32,
            np.array([32 - int(v).bit_length() for v in u]),
            np.array([t.count("1") for t in text]),
            np.array([32 - t.rindex("1") if "1" in t else 0 for t in text]),
            np.array([int(t[::-1], 2) for t in text], U32).view(I32),
            (x & ~y) ^ (y | 0x0F0F0F0F),
            quotient(x, np.full(N, 7)),
            remainder(x, np.full(N, 10)),
        ],
        I32,
    )


def uint32_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = arguments[:2]
    w, v = x.astype(U64), y.astype(U64)
    signed_gap = np.abs(x.view(I32).astype(I64) - y.view(I32).astype(I64))
    pair = [int(a) << 32 | int(b) for a, b in zip(y, x, strict=True)]

    def byte(value: Array, k: int) -> Array:
        return (value >> U32(8 * k)) & U32(255)

    return stack(
        [
            np.where(y == 0, 5, x // np.maximum(y, 1)),
            np.where(y == 0, 5, x % np.maximum(y, 1)),
            x >> (y & 31),
            np.minimum(x, y),
            np.maximum(x, y),
            (w * v) >> U64(32),
            x // 1000,
            x % 1000003,
            (x < y) + 2 * (x > y),
            byte(x, 0) | byte(y, 0) << U32(8) | byte(x, 1) << U32(16) | byte(y, 1) << U32(24),
            np.array([(p << 9 >> 32) & 0xFFFFFFFF for p in pair]),
            np.array([(p >> int(s & 31)) & 0xFFFFFFFF for p, s in zip(pair, y, strict=True)]),
            (w & U64(0xFFFFFF)) * (v & U64(0xFFFFFF)) & U64(0xFFFFFFFF),
            (signed_gap + 3) & 0xFFFFFFFF,
            (np.abs(w.astype(I64) - v.astype(I64)) + 3) & 0xFFFFFFFF,
            (w + v) >> U64(1),
            (w + v + U64(1)) >> U64(1),
            (x >> U32(5)) & U32(0x7FF),
            (x & ~U32(0x3FF0)) | ((y & U32(0x3FF)) << U32(4)),
        ],
        U32,
    )


def int64_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = arguments[:2]
    u, v = x.view(U64), y.view(U64)
    bx, by, bu, bv = big(x), big(y), big(u), big(v)
    bad = (y == 0) | (y == -1)
    text = [f"{int(t):064b}" for t in u]
    divisor = np.where(v == 0, 1, bv)
    results = [
        bx + by,
        bx - by,
        bx * by,
        where_divisible(bad, 7, quotient, x, y),
        where_divisible(bad, 7, remainder, x, y),
        np.where(v == 0, 7, bu // divisor),
        np.where(v == 0, 7, bu % divisor),
        x & y,
        x | y,
        x ^ y,
        u << (v & U64(63)),
        x >> (y & 63),
        u >> (v & U64(63)),
        np.minimum(x, y),
        np.maximum(x, y),
        np.minimum(u, v),
        [64 - int(t).bit_length() for t in u],
        [t.count("1") for t in text],
        [64 - t.rindex("1") if "1" in t else 0 for t in text],
        [int(t[::-1], 2) for t in text],
        bu * bv // 2**64,
        (bx * by) >> 64,
        big(x.astype(I32)) * big(y.astype(I32)),
        big(x.astype(U32)) * big(y.astype(U32)),
        (x < y) + 2 * (u < v),
    ]
    return {-1: np.stack([wrapped(big(r), I64) for r in results])}


def narrow_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    x, y = arguments[0].astype(I32), arguments[1].astype(I32)
    ux, uy = x & 0xFFFF, y & 0xFF
    zero, none = y == 0, uy == 0
    results = [
        (x + y).astype(np.int16),
        (x * y).astype(np.int16),
        (ux * 3).astype(np.uint16),
        (y + 100).astype(np.int8),
        (uy - 200).astype(np.uint8),
        x >> 3,
        ux >> 3,
        x.astype(np.int8),
        x.astype(np.uint8),
        np.where(y < 0, -1, uy),
        np.maximum(x, y),
        (uy << 2).astype(np.uint8) | (ux & 3),
        where_divisible(zero, 1, quotient, x, y),
        where_divisible(none, 1, remainder, ux, uy),
    ]
    return stack(results, I32)


def narrow_stores(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    kinds = (np.int8, np.uint8, np.int16, np.uint16)
    return {1 + k: (a.astype(I64) + k).astype(kind) for k, kind in enumerate(kinds)}


def int128_ops(arguments: Sequence[Any]) -> dict[int, Array]:
    a, b = (big(v) for v in arguments[:2])
    x, y = a[0::2] << 64 | a[1::2], b[0::2] << 64 | b[1::2]
    signed = np.array([v - (1 << 128) if v >> 127 else v for v in x], object)
    shift = y & 127
    rows = [x + y, x - y, x * y, x >> shift, x << shift, x ^ y, signed >> 17]
    halves = [half for row in rows for half in (row >> 64, row)]
    return {-1: np.stack([wrapped(half, U64) for half in halves])}


def carry_chain(arguments: Sequence[Any]) -> dict[int, Array]:
    a, b = (big(v) for v in arguments[:2])
    x = a[0::3] | a[1::3] << 32 | a[2::3] << 64
    y = b[0::3] | b[1::3] << 32 | b[2::3] << 64
    total, difference = x + y, x - y
    product = a[0::3] * b[0::3] + (a[1::3] | b[1::3] << 32)
    words = [v >> s for v in (total, difference) for s in (0, 32, 64)] + [product, product >> 32]
    return {-1: np.stack([wrapped(word, U32) for word in words])}


def bit_fields(arguments: Sequence[Any]) -> dict[int, Array]:
    """PTX ISA, bfe, bfi, bfind, lop3, shl, shr, prmt: written from their pseudocode, number by number."""
    rows: list[list[int]] = [[] for _ in range(9)]
    for x, y in zip(arguments[0].tolist(), arguments[1].tolist(), strict=True):
        start, length = y & 63, (y >> 8) & 63
        signed = x - (1 << 32) if x >> 31 else x
        field = x >> start & (1 << length) - 1
        top = min(start + length - 1, 31)
        sign = 0 if length == 0 else x >> top & 1
        extended = sum((x >> start + k & 1 if k < length and start + k < 32 else sign) << k for k in range(32))
        mask = (((1 << length) - 1) << start) & 0xFFFFFFFF
        found = x.bit_length() - 1 if x else 0xFFFFFFFF
        magnitude = ~signed if signed < 0 else signed
        leading = magnitude.bit_length() - 1 if magnitude else 0xFFFFFFFF
        source = (x | y << 32).to_bytes(8, "little")
        permuted = 0
        for k in range(4):
            selector = y >> 3 >> 4 * k & 15
            value = source[selector & 7]
            if selector & 8:
                value = 0xFF if value & 0x80 else 0
            permuted |= value << 8 * k
        values = [
            field & 0xFFFFFFFF,
            extended,
            (x << start & mask) | (y & ~mask & 0xFFFFFFFF),
            found,
            leading,
            x ^ y ^ (x >> 7),
            x << start & 0xFFFFFFFF if start < 32 else 0,
            signed >> min(start, 31) & 0xFFFFFFFF,
            permuted,
        ]
        for row, value in zip(rows, values, strict=True):
            row.append(value)
    return {-1: np.array(rows, U32)}


# -- floating point ------------------------------------------------------------------------------------------------


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


def two(dtype: Any, rows: int, out: Any, rng: np.random.Generator) -> list[Argument]:
    make = floats if np.issubdtype(dtype, np.floating) else integers
    return [make(rng, dtype), make(rng, dtype), shaped(rows, out), COUNT]


def three(dtype: Any, rows: int, rng: np.random.Generator) -> list[Argument]:
    return [*(floats(rng, dtype) for _ in range(3)), shaped(rows, dtype), COUNT]


def one(rows: int, dtype: Any, make: Callable[..., Array], rng: np.random.Generator) -> list[Argument]:
    return [make(rng), shaped(rows, dtype), COUNT]


def ordinary_halves(rng: np.random.Generator, shape: Any = N) -> Array:
    return rng.normal(0, 8, shape).astype(np.float16)


def ordinary_bfloats(rng: np.random.Generator) -> Array:
    return (rng.normal(0, 8, N).astype(F32).view(U32) >> U32(16)).astype(np.uint16)


def _case(source: str, entry: str, make: Callable[..., list[Argument]], oracle: Any, **more: Any) -> Case:
    return Case(entry, source, entry, more.pop("grid", GRID), more.pop("block", BLOCK), make, oracle, **more)


def doubled(count: int, dtype: Any, rng: np.random.Generator, rows: int) -> list[Argument]:
    return [integers(rng, dtype, count * N), integers(rng, dtype, count * N), shaped(rows, dtype), COUNT]


CASES = [
    _case("integers.cu", "int32_ops", partial(two, I32, 22, I32), int32_ops),
    _case("integers.cu", "uint32_ops", partial(two, U32, 19, U32), uint32_ops),
    _case("integers.cu", "int64_ops", partial(two, I64, 25, I64), int64_ops),
    _case(
        "integers.cu",
        "narrow_ops",
        lambda rng: [integers(rng, np.int16), integers(rng, np.int8), shaped(14, I32), COUNT],
        narrow_ops,
    ),
    _case(
        "integers.cu",
        "narrow_stores",
        lambda rng: [
            integers(rng, I32),
            *(np.zeros(N, t) for t in (np.int8, np.uint8, np.int16, np.uint16)),
            COUNT,
        ],
        narrow_stores,
    ),
    _case("integers.cu", "int128_ops", lambda rng: doubled(2, U64, rng, 14), int128_ops),
    _case("integers.cu", "carry_chain", lambda rng: doubled(3, U32, rng, 8), carry_chain),
    _case("integers.cu", "bit_fields", partial(two, U32, 9, U32), bit_fields),
    _case("floats.cu", "float_ops", partial(three, F32, 23), float_ops),
    _case("floats.cu", "float_rounding", partial(two, F32, 14, F32), float_rounding),
    _case("floats.cu", "double_ops", partial(three, F64, 19), double_ops),
    _case(
        "floats.cu",
        "float_fma",
        lambda rng: [*(floats(rng, F32) for _ in range(3)), np.zeros(N, F32), COUNT],
        lambda a: {3: rounded(_fma("rn"), "rn", *a[:3])},
    ),
    _case("floats.cu", "float_to_integers", partial(one, 12, I64, lambda rng: floats(rng, F32)), float_to_integers),
    _case("floats.cu", "double_to_integers", partial(one, 9, I64, lambda rng: floats(rng, F64)), double_to_integers),
    _case(
        "floats.cu",
        "integers_to_float",
        lambda rng: [integers(rng, I64), shaped(9, F32), shaped(4, F64), COUNT],
        integers_to_float,
    ),
    _case("floats.cu", "double_to_float", partial(one, 4, F32, lambda rng: floats(rng, F64)), double_to_float),
    _case(
        "floats.cu",
        "polynomial",
        lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(N, F32), COUNT],
        polynomial,
    ),
    _case(
        "mathematics.cu",
        "float_functions",
        partial(one, 24, F32, lambda rng: rng.uniform(-60, 60, N).astype(F32)),
        float_functions,
        exact=False,
        ulps=5,
        on_device=False,
    ),
    _case(
        "mathematics.cu",
        "large_sine",
        lambda rng: [(rng.choice([-1, 1], N) * 10 ** rng.uniform(5, 30, N)).astype(F32), np.zeros(N, F32), COUNT],
        lambda a: {1: np.array([math.sin(float(v)) for v in a[0]])},
        exact=False,
        ulps=2,
    ),
    _case(
        "mathematics.cu",
        "fast_functions",
        partial(one, 8, F32, lambda rng: rng.uniform(-60, 60, N).astype(F32)),
        fast_functions,
        exact=False,
        ulps=24,
        absolute=True,
        on_device=False,
    ),
    _case(
        "mathematics.cu",
        "double_functions",
        partial(one, 12, F64, lambda rng: rng.uniform(-60, 60, N)),
        double_functions,
        exact=False,
        ulps=4,
        on_device=False,
    ),
    _case(
        "mathematics.cu",
        "mandelbrot",
        lambda rng: [np.zeros((50, 70), I32), I32(70), I32(50), I32(60)],
        mandelbrot,
        grid=(5, 4),
        block=(16, 16),
    ),
    _case(
        "half.cu",
        "half_ops",
        lambda rng: [ordinary_halves(rng), ordinary_halves(rng), shaped(15, np.float16), COUNT],
        half_ops,
        options=("headers",),
    ),
    _case(
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
    _case(
        "half.cu",
        "bfloat_ops",
        lambda rng: [ordinary_bfloats(rng), ordinary_bfloats(rng), shaped(4, np.uint16), COUNT],
        bfloat_ops,
        options=("headers",),
    ),
    _case(
        "half.cu",
        "half_atomics",
        lambda rng: [integers(rng, I32), np.zeros((2, 2), np.float16), np.zeros(2, np.float16), COUNT],
        half_atomics,
        options=("headers",),
    ),
]
