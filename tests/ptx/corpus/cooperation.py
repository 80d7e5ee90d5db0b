"""Cases of atomics.cu, warps.cu, blocks.cu, groups.cu and pipeline.cu: threads that work together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.arithmetic import BLOCK, COUNT, F32, F64, GRID, I32, I64, U32, U64, N, integers
from tests.ptx.corpus.case import Argument, Array, Case
from tests.ptx.corpus.sequential import in_out, small

M = 1024
"""Threads where whole warps are needed: 8 blocks of 128."""
WHOLE = I32(M)


def atomics32(arguments: Sequence[Any]) -> dict[int, Array]:
    x, out, uout = arguments[0], arguments[1].copy(), arguments[2].copy()
    u = x.view(U32)
    out[0] += x.sum(dtype=I32)
    out[1] -= x.sum(dtype=I32)
    out[2], out[3] = min(out[2], x.min()), max(out[3], x.max())
    out[4], out[5], out[6] = (
        np.bitwise_and.reduce(x) & out[4],
        np.bitwise_or.reduce(x) | out[5],
        np.bitwise_xor.reduce(x),
    )
    out[7:15] += np.bincount(x & 7, minlength=8).astype(I32)
    out[15], out[16] = out[15] + N, out[16] + 2 * N
    uout[0], uout[1] = min(uout[0], u.min()), max(uout[1], u.max())
    up, down = int(uout[2]), int(uout[3])
    for _ in range(N):
        up = 0 if up >= 99 else up + 1
        down = 49 if down == 0 or down > 49 else down - 1
    uout[2], uout[3] = up, down
    return {1: out, 2: uout}


def atomics64(arguments: Sequence[Any]) -> dict[int, Array]:
    x, out, signed = arguments[0], arguments[1].copy(), arguments[2].copy()
    u = x.view(U64)
    out[0] += u.sum(dtype=U64)
    out[1], out[2] = min(out[1], u.min()), max(out[2], u.max())
    out[3], out[4], out[5] = (
        np.bitwise_and.reduce(u) & out[3],
        np.bitwise_or.reduce(u) | out[4],
        np.bitwise_xor.reduce(u),
    )
    signed[0], signed[1] = min(signed[0], x.min()), max(signed[1], x.max())
    return {1: out, 2: signed}


def atomics_float(arguments: Sequence[Any]) -> dict[int, Array]:
    a, out, wide = arguments[0], arguments[1].copy(), arguments[2].copy()
    i = np.arange(N)
    out[:4] = np.bincount(i & 3, a)
    out[4:6] = np.bincount(i & 1, a)
    wide[:] = np.bincount(i & 1, a)
    return {1: out, 2: wide}


def shared_atomics(arguments: Sequence[Any]) -> dict[int, Array]:
    a, out = arguments[0], arguments[1].copy()
    for block in range(len(out) // 10):
        x = a[block * 128 : (block + 1) * 128]
        total = int(x.view(U32).astype(np.int64).sum()) if False else int(x.astype(np.int64).sum())
        row = out[block * 10 : block * 10 + 10]
        row[0], row[1] = x.sum(dtype=I32), -x.sum(dtype=I32)
        row[2], row[3] = x.min(), x.max()
        row[4], row[5], row[6] = np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)
        row[7] = len(x)
        sums = np.array([5 + total, max(5, int(x.astype(I64).view(U64).max()))], object)
        for k, value in enumerate(sums):
            word = int(value) & (1 << 64) - 1
            row[8 + k] = np.array((word ^ word >> 32) & 0xFFFFFFFF, U32).view(I32)
    return {1: out}


def cas_loops(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    claimed = np.ones(N // 4 + 1, U32)
    claimed[-1] = N // 4
    return {1: np.array([a.max()], F32), 2: claimed}


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
        np.full(M, 0xFFFFFFFF + 1 & 0xFFFFFFFF, U32),
        np.where(every, 0, 0),
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


def tree_sum(arguments: Sequence[Any]) -> dict[int, Array]:
    s = np.concatenate([arguments[0], np.zeros(M - N, F32)]).reshape(-1, 128)
    for d in (64, 32, 16, 8, 4, 2, 1):
        s = s[:, :d] + s[:, d : 2 * d]
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


def barrier_votes(arguments: Sequence[Any]) -> dict[int, Array]:
    x = np.concatenate([arguments[0], np.zeros(M - N, I32)]).reshape(-1, 128)
    row = (x > 50).sum(axis=1) * 4 + (x < 99).all(axis=1) * 2 + (x == 77).any(axis=1)
    return {1: np.repeat(row, 128)[:N].astype(I32)}


def scans(arguments: Sequence[Any], size: int) -> Array:
    a = arguments[0]
    padded = np.concatenate([a, np.zeros(-len(a) % size, a.dtype)]).reshape(-1, size)
    return np.cumsum(padded, axis=1, dtype=I32)


def bitonic_sort(arguments: Sequence[Any]) -> dict[int, Array]:
    a = np.concatenate([arguments[0], np.full(24, 0x7FFFFFFF, I32)]).reshape(2, 512)
    return {1: np.sort(a, axis=1).reshape(-1)[:N]}


def tiled_product(arguments: Sequence[Any]) -> dict[int, Array]:
    return {2: (arguments[0].astype(F64) @ arguments[1]).astype(F32)}


def stencil(arguments: Sequence[Any]) -> dict[int, Array]:
    padded = np.concatenate([np.zeros(3, F32), arguments[0], np.zeros(3, F32)])
    return {1: sum((padded[k : k + N].astype(F64) for k in range(7)), np.zeros(N)).astype(F32)}


def box_filter(arguments: Sequence[Any]) -> dict[int, Array]:
    a = np.pad(arguments[0].astype(int), 1, mode="edge")
    h, w = arguments[0].shape
    total = sum(a[r : r + h, c : c + w] for r in range(3) for c in range(3))
    return {1: (total // 9).astype(np.uint8)}


def carved(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 128)
    t = np.arange(128)
    return {1: (a[:, ::-1].astype(F32).astype(F64) * 0.5 + (t + 1) % 128 * 3).reshape(-1)}


def leave_early(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    return {1: np.concatenate([a[start : start + 64][::-1] for start in range(0, N, 64)])}


def game_of_life(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    shifts = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y]
    alive = sum(np.roll(a, shift, (0, 1)).astype(int) for shift in shifts)
    return {1: ((alive == 3) | ((alive == 2) & (a == 1))).astype(np.uint8)}


def block_group(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 128)
    return {1: (a[:, ::-1] + np.arange(128)).reshape(-1).astype(I32)}


def tiles(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 8)
    any_ = np.repeat((arguments[0].reshape(-1, 32) > 97).any(axis=1), 4)[:, None]
    odd = (a & 1).sum(axis=1, keepdims=True)
    rank = (np.arange(len(a)) % 4)[:, None] * 100000
    rows = a.sum(axis=1, keepdims=True) * 8 + any_ * 4 + odd + rank
    return {1: np.repeat(rows, 8).astype(I32)}


def reductions(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    by_warp, by_four = a.reshape(-1, 32), a.reshape(-1, 4)
    rows = [np.repeat(by_warp.sum(axis=1), 32), np.repeat(by_four.max(axis=1), 4), by_warp.cumsum(axis=1).reshape(-1)]
    return {1: np.stack(rows).astype(I32)}


def coalesced(arguments: Sequence[Any]) -> dict[int, Array]:
    count = int((arguments[0] & 1).sum())
    return {1: (np.arange(N) < count).astype(I32), 2: np.array([count], I32)}


def staged(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].reshape(-1, 64, 4)[:, ::-1]
    return {1: (a * np.array([1, 2, 4, 8])).sum(axis=(0, 2)).astype(F32)}


def whole(rows: int, dtype: Any = I32) -> Any:
    """As many numbers as there are threads, small enough for sums to be exact."""

    def make(rng: np.random.Generator) -> list[Argument]:
        return [small(rng, M), np.zeros(M if rows == 1 else (rows, M), dtype), WHOLE]

    return make


def _case(source: str, entry: str, make: Any, oracle: Any, **more: Any) -> Case:
    return Case(entry, source, entry, more.pop("grid", GRID), more.pop("block", BLOCK), make, oracle, **more)


def _starting(values: Sequence[int], dtype: Any) -> Array:
    return np.array(values, dtype)


CASES = [
    _case(
        "atomics.cu",
        "atomics32",
        lambda rng: [
            integers(rng, I32),
            _starting([5, 6, 7, 8, -1, 0, 0, *[0] * 10], I32),
            _starting([2**32 - 1, 0, 3, 7], U32),
            COUNT,
        ],
        atomics32,
    ),
    _case(
        "atomics.cu",
        "atomics64",
        lambda rng: [
            integers(rng, I64),
            _starting([9, 2**64 - 1, 0, 2**64 - 1, 0, 0], U64),
            _starting([0, 0], I64),
            COUNT,
        ],
        atomics64,
    ),
    _case(
        "atomics.cu",
        "atomics_float",
        lambda rng: [small(rng).astype(F32), np.zeros(6, F32), np.zeros(2, F64), COUNT],
        atomics_float,
    ),
    _case("atomics.cu", "shared_atomics", lambda rng: [integers(rng, I32), np.zeros(80, I32), COUNT], shared_atomics),
    _case(
        "atomics.cu",
        "tickets",
        lambda rng: [np.zeros(1, I32), np.zeros(N, I32), COUNT],
        lambda a: {0: np.array([N], I32), 1: np.ones(N, I32)},
    ),
    _case(
        "atomics.cu",
        "cas_loops",
        lambda rng: [small(rng).astype(F32), np.zeros(1, F32), np.zeros(N // 4 + 1, U32), COUNT],
        cas_loops,
    ),
    _case(
        "atomics.cu",
        "exchanges",
        lambda rng: [small(rng, 64), small(rng, 64).astype(I64), np.zeros(64, I32), I32(64)],
        lambda a: {
            0: np.arange(64, dtype=I32) * 10,
            1: np.arange(64) * 7,
            2: (a[0] + a[1]).astype(I32),
        },
        grid=(1,),
        block=(64,),
    ),
    _case(
        "atomics.cu",
        "histogram",
        lambda rng: [rng.integers(0, 256, N).astype(np.uint8), np.zeros(256, U32), COUNT],
        lambda a: {1: np.bincount(a[0], minlength=256).astype(U32)},
        grid=(3,),
    ),
    _case(
        "atomics.cu",
        "spin_lock",
        lambda rng: [np.zeros(1, I32), np.zeros(1, I32), I32(100)],
        lambda a: {0: np.zeros(1, I32), 1: np.full(1, 100, I32)},
        grid=(2,),
        block=(64,),
    ),
    _case(
        "atomics.cu",
        "last_block",
        lambda rng: [small(rng), np.zeros(8, I32), np.zeros(1, I32), COUNT],
        lambda a: {
            1: np.array([a[0][k : k + 128].sum() for k in range(0, N, 128)], I32),
            2: np.array([a[0].sum()], I32),
        },
    ),
    _case("warps.cu", "shuffles", whole(12), shuffles),
    _case(
        "warps.cu",
        "wide_shuffles",
        lambda rng: [rng.normal(0, 1, M), integers(rng, I64, M), np.zeros(M), np.zeros(M, I64), WHOLE],
        wide_shuffles,
    ),
    _case("warps.cu", "votes", whole(9, U32), votes),
    _case("warps.cu", "partial_masks", whole(1), partial_masks),
    _case(
        "warps.cu",
        "warp_sums",
        lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(M // 32, F32), COUNT],
        warp_sums,
    ),
    _case("warps.cu", "warp_scan", whole(1), lambda a: {1: scans(a, 32).reshape(-1)}),
    _case("warps.cu", "warp_shared", whole(1), warp_shared),
    _case(
        "warps.cu",
        "lane_registers",
        lambda rng: [np.zeros((6, 128), U32), I32(128)],
        lane_registers,
        grid=(2,),
        block=(64,),
    ),
    _case("warps.cu", "indices", lambda rng: [np.zeros((2448, 6), I32)], indices, grid=(4, 2, 3), block=(17, 3, 2)),
    _case("blocks.cu", "barrier_votes", in_out(), barrier_votes),
    _case(
        "blocks.cu",
        "tree_sum",
        lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(8, F32), COUNT],
        tree_sum,
        shared_bytes=512,
    ),
    _case(
        "blocks.cu",
        "interleaved_sum",
        lambda rng: [small(rng), np.zeros(1, I32), COUNT],
        lambda a: {1: np.array([a[0].sum()], I32)},
        grid=(4,),
        block=(256,),
    ),
    _case(
        "blocks.cu",
        "inclusive_scan",
        in_out(),
        lambda a: {1: scans(a, 256).reshape(-1)[:N]},
        grid=(4,),
        block=(256,),
    ),
    _case(
        "blocks.cu",
        "exclusive_scan",
        whole(1),
        lambda a: {1: (scans(a, 256) - a[0].reshape(-1, 256)).reshape(-1)},
        grid=(4,),
    ),
    _case("blocks.cu", "bitonic_sort", in_out(), bitonic_sort, grid=(2,), block=(512,)),
    _case(
        "blocks.cu",
        "tiled_product",
        lambda rng: [
            rng.integers(-9, 9, (50, 33)).astype(F32),
            rng.integers(-9, 9, (33, 70)).astype(F32),
            np.zeros((50, 70), F32),
            I32(50),
            I32(33),
            I32(70),
        ],
        tiled_product,
        grid=(5, 4),
        block=(16, 16),
    ),
    _case(
        "blocks.cu",
        "transpose_rows",
        lambda rng: [rng.normal(0, 1, (45, 70)).astype(F32), np.zeros((70, 45), F32), I32(45), I32(70)],
        lambda a: {1: a[0].T.copy()},
        grid=(3, 2),
        block=(32, 8),
    ),
    _case(
        "blocks.cu",
        "stencil",
        lambda rng: [small(rng).astype(F32), np.zeros(N, F32), COUNT],
        stencil,
        shared_bytes=(128 + 6) * 4,
    ),
    _case(
        "blocks.cu",
        "box_filter",
        lambda rng: [rng.integers(0, 256, (37, 50)).astype(np.uint8), np.zeros((37, 50), np.uint8), I32(50), I32(37)],
        box_filter,
        grid=(4, 3),
        block=(16, 16),
    ),
    _case(
        "blocks.cu",
        "carved",
        lambda rng: [small(rng, M).astype(F32), np.zeros(M), WHOLE],
        carved,
        shared_bytes=128 * 10,
    ),
    _case("blocks.cu", "leave_early", in_out(), leave_early, grid=(16,), block=(64,)),
    _case(
        "blocks.cu",
        "named_barriers",
        lambda rng: [small(rng, 64), np.zeros(64, I32), I32(64)],
        lambda a: {1: a[0][::-1] * 2 + 1},
        grid=(1,),
        block=(128,),
        race_free=False,
    ),
    _case(
        "blocks.cu",
        "game_of_life",
        lambda rng: [rng.integers(0, 2, (40, 60)).astype(np.uint8), np.zeros((40, 60), np.uint8), I32(60), I32(40)],
        game_of_life,
        grid=(3, 5),
        block=(20, 9),
    ),
    _case("groups.cu", "block_group", whole(1), block_group, options=("headers",)),
    _case("groups.cu", "tiles", whole(1), tiles, options=("headers",)),
    _case("groups.cu", "reductions", whole(3), reductions, options=("headers",)),
    _case(
        "groups.cu",
        "coalesced",
        lambda rng: [small(rng), np.zeros(N, I32), np.zeros(1, I32), COUNT],
        coalesced,
        options=("headers",),
    ),
    _case(
        "pipeline.cu",
        "staged",
        lambda rng: [rng.integers(-9, 9, (5 * 64, 4)).astype(F32), np.zeros(64, F32), I32(5)],
        staged,
        grid=(1,),
        block=(64,),
        options=("headers",),
    ),
]
