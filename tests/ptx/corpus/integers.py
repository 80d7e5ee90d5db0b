"""Cases of integers.cu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Array
from tests.ptx.corpus.numbers import (
    COUNT,
    I32,
    I64,
    U32,
    U64,
    N,
    big,
    case,
    doubled,
    integers,
    quotient,
    remainder,
    shaped,
    stack,
    two,
    where_divisible,
    wrapped,
)


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


CASES = [
    case("integers.cu", "int32_ops", partial(two, I32, 22, I32), int32_ops),
    case("integers.cu", "uint32_ops", partial(two, U32, 19, U32), uint32_ops),
    case("integers.cu", "int64_ops", partial(two, I64, 25, I64), int64_ops),
    case(
        "integers.cu",
        "narrow_ops",
        lambda rng: [integers(rng, np.int16), integers(rng, np.int8), shaped(14, I32), COUNT],
        narrow_ops,
    ),
    case(
        "integers.cu",
        "narrow_stores",
        lambda rng: [integers(rng, I32), *(np.zeros(N, t) for t in (np.int8, np.uint8, np.int16, np.uint16)), COUNT],
        narrow_stores,
    ),
    case("integers.cu", "int128_ops", lambda rng: doubled(2, U64, rng, 14), int128_ops),
    case("integers.cu", "carry_chain", lambda rng: doubled(3, U32, rng, 8), carry_chain),
    case("integers.cu", "bit_fields", partial(two, U32, 9, U32), bit_fields),
]
