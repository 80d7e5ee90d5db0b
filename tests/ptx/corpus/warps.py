"""Cases of warps.cu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array
from tests.ptx.corpus.numbers import COUNT, F32, I32, I64, U32, U64, N, case, integers
from tests.ptx.corpus.sequential import small

M = 1024
"""Threads where whole warps are needed: 8 blocks of 128."""
WHOLE = I32(M)


def shuffled(x: Array, source: Array, width: int = 32) -> Array:
    """Each lane's value of lane `source` of its segment; lanes out of range keep their own."""
    lane = np.arange(32)
    source = np.broadcast_to(source, (len(x) // 32, 32))
    start = lane // width * width
    absolute = np.where((source >= start) & (source < start + width), source, lane)
    return np.take_along_axis(x.reshape(-1, 32), absolute, axis=1).reshape(-1)


def shuffles(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    lane = np.arange(32)
    i = np.arange(M).reshape(-1, 32)
    rows = [
        shuffled(x, np.full(32, 5)),
        shuffled(x, i * 7 % 32),
        shuffled(x, lane // 8 * 8 + 3, 8),
        shuffled(x, lane - 1),
        shuffled(x, lane - 5, 16),
        shuffled(x, lane + 1),
        shuffled(x, lane + 3, 4),
        shuffled(x, lane ^ 1),
        shuffled(x, lane ^ 31),
        # Within segments of 8 lanes xor may reach back into an earlier segment, never into a later one.
        np.take_along_axis(
            x.reshape(-1, 32),
            np.broadcast_to(np.where((lane ^ 12) < lane // 8 * 8 + 8, lane ^ 12, lane), (M // 32, 32)),
            axis=1,
        ).reshape(-1),
        shuffled(x, np.full(32, 31)),
        shuffled(x, lane + (i & 3)),
    ]
    return {1: np.stack(rows)}


def wide_shuffles(arguments: Sequence[Any]) -> dict[int, Array]:
    a, b = arguments[:2]
    lane = np.arange(32)
    total = shuffled(a, lane + 4) + shuffled(a.astype(F32), lane ^ 2)
    return {2: total, 3: shuffled(b, lane - 7) ^ shuffled(b, 31 - lane)}


def ballot(flags: Array) -> Array:
    weights = np.uint64(1) << np.arange(32, dtype=U64)
    return np.repeat((flags.reshape(-1, 32) * weights).sum(axis=1), 32).astype(U32)


def match_any(x: Array) -> Array:
    table = x.reshape(-1, 32)
    same = table[:, :, None] == table[:, None, :]
    return (same * (np.uint64(1) << np.arange(32, dtype=U64))).sum(axis=2).astype(U32).reshape(-1)


def votes(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    table = x.reshape(-1, 32)
    odd = x & 1
    every = np.repeat((table == table[:, :1]).all(axis=1), 32)
    rows = [
        ballot(odd),
        np.repeat((table > 95).any(axis=1), 32),
        np.repeat((table < 99).all(axis=1), 32),
        match_any(x & 7),
        match_any(x & 3),
        np.full(M, 4, U32),
        np.where(every, 4, 0),
        np.full(M, 32),
        np.where(odd == 1, ballot((x > 50) & (odd == 1)), 32 - np.repeat(odd.reshape(-1, 32).sum(axis=1), 32)),
    ]
    return {1: np.stack([np.asarray(r).astype(U32) for r in rows])}


def partial_masks(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 32)
    lane = np.arange(32)
    source = np.where(lane % 4 + 2 < 4, lane + 2, lane)
    high = a[:, lane ^ 8] + (a[:, 16:] & 1).sum(axis=1, keepdims=True)
    return {1: np.where(lane < 12, a[:, source], np.where(lane >= 16, high, -1)).reshape(-1).astype(I32)}


def warp_sums(arguments: Sequence[Any]) -> dict[int, Array]:
    s = np.concatenate([arguments[0], np.zeros(M - N, F32)]).reshape(-1, 32)
    for d in (16, 8, 4, 2, 1):
        s = s + np.concatenate([s[:, d:], s[:, 32 - d :]], axis=1)
    return {1: s[:, 0].copy()}


def warp_shared(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 32)
    return {1: (a.sum(axis=1, keepdims=True) + np.arange(32)).reshape(-1).astype(I32)}


def lane_registers(arguments: Sequence[Any]) -> dict[int, Array]:
    rows = [[k, (1 << k) - 1, (2 << k) - 1, ~((2 << k) - 1), ~((1 << k) - 1), 1 << k] for k in range(32)]
    one = np.array([[v & 0xFFFFFFFF for v in row] for row in rows], U32).T
    return {0: np.tile(one, 4)}


def indices(arguments: Sequence[Any]) -> dict[int, Array]:
    rows = [
        (tx, ty, tz, bx, by, bz + 300 + 32000)
        for bz in range(3)
        for by in range(2)
        for bx in range(4)
        for tz in range(2)
        for ty in range(3)
        for tx in range(17)
    ]
    return {0: np.array(rows, I32)}


def whole(rows: int, dtype: Any = I32) -> Any:
    """As many numbers as there are threads, small enough for sums to be exact."""

    def make(rng: np.random.Generator) -> list[Argument]:
        return [small(rng, M), np.zeros(M if rows == 1 else (rows, M), dtype), WHOLE]

    return make


CASES = [
    case("warps.cu", "shuffles", whole(12), shuffles),
    case(
        "warps.cu",
        "wide_shuffles",
        lambda rng: [rng.normal(0, 1, M), integers(rng, I64, M), np.zeros(M), np.zeros(M, I64), WHOLE],
        wide_shuffles,
    ),
    case("warps.cu", "votes", whole(9, U32), votes),
    case("warps.cu", "partial_masks", whole(1), partial_masks),
    case(
        "warps.cu", "warp_sums", lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(M // 32, F32), COUNT], warp_sums
    ),
    case(
        "warps.cu", "warp_scan", whole(1), lambda a: {1: np.cumsum(a[0].reshape(-1, 32), axis=1, dtype=I32).reshape(-1)}
    ),
    case("warps.cu", "warp_shared", whole(1), warp_shared),
    case(
        "warps.cu",
        "lane_registers",
        lambda rng: [np.zeros((6, 128), U32), I32(128)],
        lane_registers,
        grid=(2,),
        block=(64,),
    ),
    case("warps.cu", "indices", lambda rng: [np.zeros((2448, 6), I32)], indices, grid=(4, 2, 3), block=(17, 3, 2)),
]
