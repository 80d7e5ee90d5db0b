"""Cases of blocks.cu, groups.cu and pipeline.cu: blocks that work together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Array
from tests.ptx.corpus.numbers import COUNT, F32, F64, I32, N, case
from tests.ptx.corpus.sequential import in_out, small
from tests.ptx.corpus.warps import WHOLE, M, whole


def tree_sum(arguments: Sequence[Any]) -> dict[int, Array]:
    s = np.concatenate([arguments[0], np.zeros(M - N, F32)]).reshape(-1, 128)
    for d in (64, 32, 16, 8, 4, 2, 1):
        s = s[:, :d] + s[:, d : 2 * d]
    return {1: s[:, 0].copy()}


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
    total = sum((a[r : r + h, c : c + w] for r in range(3) for c in range(3)), np.zeros((h, w), int))
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


CASES = [
    case("blocks.cu", "barrier_votes", in_out(), barrier_votes),
    case(
        "blocks.cu",
        "tree_sum",
        lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(8, F32), COUNT],
        tree_sum,
        shared_bytes=512,
    ),
    case(
        "blocks.cu",
        "interleaved_sum",
        lambda rng: [small(rng), np.zeros(1, I32), COUNT],
        lambda a: {1: np.array([a[0].sum()], I32)},
        grid=(4,),
        block=(256,),
    ),
    case(
        "blocks.cu", "inclusive_scan", in_out(), lambda a: {1: scans(a, 256).reshape(-1)[:N]}, grid=(4,), block=(256,)
    ),
    case(
        "blocks.cu",
        "exclusive_scan",
        whole(1),
        lambda a: {1: (scans(a, 256) - a[0].reshape(-1, 256)).reshape(-1)},
        grid=(4,),
    ),
    case("blocks.cu", "bitonic_sort", in_out(), bitonic_sort, grid=(2,), block=(512,)),
    case(
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
    case(
        "blocks.cu",
        "transpose_rows",
        lambda rng: [rng.normal(0, 1, (45, 70)).astype(F32), np.zeros((70, 45), F32), I32(45), I32(70)],
        lambda a: {1: a[0].T.copy()},
        grid=(3, 2),
        block=(32, 8),
    ),
    case(
        "blocks.cu",
        "stencil",
        lambda rng: [small(rng).astype(F32), np.zeros(N, F32), COUNT],
        stencil,
        shared_bytes=(128 + 6) * 4,
    ),
    case(
        "blocks.cu",
        "box_filter",
        lambda rng: [rng.integers(0, 256, (37, 50)).astype(np.uint8), np.zeros((37, 50), np.uint8), I32(50), I32(37)],
        box_filter,
        grid=(4, 3),
        block=(16, 16),
    ),
    case(
        "blocks.cu",
        "carved",
        lambda rng: [small(rng, M).astype(F32), np.zeros(M), WHOLE],
        carved,
        shared_bytes=128 * 10,
    ),
    case("blocks.cu", "leave_early", in_out(), leave_early, grid=(16,), block=(64,)),
    case(
        "blocks.cu",
        "named_barriers",
        lambda rng: [small(rng, 64), np.zeros(64, I32), I32(64)],
        lambda a: {1: a[0][::-1] * 2 + 1},
        grid=(1,),
        block=(128,),
        race_free=False,
    ),
    case(
        "blocks.cu",
        "game_of_life",
        lambda rng: [rng.integers(0, 2, (40, 60)).astype(np.uint8), np.zeros((40, 60), np.uint8), I32(60), I32(40)],
        game_of_life,
        grid=(3, 5),
        block=(20, 9),
    ),
    case("groups.cu", "block_group", whole(1), block_group, options=("headers",)),
    case("groups.cu", "tiles", whole(1), tiles, options=("headers",)),
    case("groups.cu", "reductions", whole(3), reductions, options=("headers",)),
    case(
        "groups.cu",
        "coalesced",
        lambda rng: [small(rng), np.zeros(N, I32), np.zeros(1, I32), COUNT],
        coalesced,
        options=("headers",),
    ),
    case(
        "pipeline.cu",
        "staged",
        lambda rng: [rng.integers(-9, 9, (5 * 64, 4)).astype(F32), np.zeros(64, F32), I32(5)],
        staged,
        grid=(1,),
        block=(64,),
        options=("headers",),
    ),
]
