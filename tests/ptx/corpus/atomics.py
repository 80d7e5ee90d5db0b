"""Cases of atomics.cu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Array
from tests.ptx.corpus.numbers import COUNT, F32, F64, I32, I64, U32, U64, N, case, integers
from tests.ptx.corpus.sequential import small


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
    out[15] += 2 * N
    out[16:] += np.bincount(np.arange(N) // 128, minlength=8).astype(I32)
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


def vector_atomics(arguments: Sequence[Any]) -> dict[int, Array]:
    a, before = arguments[0], arguments[2].reshape(-1, 2)
    sums = np.array([a.sum(), N, -a.sum(), 2 * N], F32)
    return {1: sums, 2: np.stack([3 * before[:, 0] + 2 * a, 2 * before[:, 1] + 2 * a], axis=1).ravel()}


def shared_atomics(arguments: Sequence[Any]) -> dict[int, Array]:
    a, out = arguments[0], arguments[1].copy()
    for block in range(len(out) // 10):
        x = a[block * 128 : (block + 1) * 128]
        total = int(x.astype(np.int64).sum())
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


def _starting(values: Sequence[int], dtype: Any) -> Array:
    return np.array(values, dtype)


CASES = [
    case(
        "atomics.cu",
        "atomics32",
        lambda rng: [
            integers(rng, I32),
            _starting([5, 6, 7, 8, -1, 0, 0, *[0] * 17], I32),
            _starting([2**32 - 1, 0, 3, 7], U32),
            COUNT,
        ],
        atomics32,
    ),
    case(
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
    case(
        "atomics.cu",
        "atomics_float",
        lambda rng: [small(rng).astype(F32), np.zeros(6, F32), np.zeros(2, F64), COUNT],
        atomics_float,
    ),
    case(
        "atomics.cu",
        "vector_atomics",
        lambda rng: [small(rng).astype(F32), np.zeros(4, F32), rng.integers(0, 9, 2 * N).astype(F32), COUNT],
        vector_atomics,
    ),
    case("atomics.cu", "shared_atomics", lambda rng: [integers(rng, I32), np.zeros(80, I32), COUNT], shared_atomics),
    case(
        "atomics.cu",
        "tickets",
        lambda rng: [np.zeros(1, I32), np.zeros(N, I32), COUNT],
        lambda a: {0: np.array([N], I32), 1: np.ones(N, I32)},
    ),
    case(
        "atomics.cu",
        "cas_loops",
        lambda rng: [small(rng).astype(F32), np.zeros(1, F32), np.zeros(N // 4 + 1, U32), COUNT],
        cas_loops,
    ),
    case(
        "atomics.cu",
        "exchanges",
        lambda rng: [small(rng, 64), small(rng, 64).astype(I64), np.zeros(64, I32), I32(64)],
        lambda a: {0: np.arange(64, dtype=I32) * 10, 1: np.arange(64) * 7, 2: (a[0] + a[1]).astype(I32)},
        grid=(1,),
        block=(64,),
    ),
    case(
        "atomics.cu",
        "histogram",
        lambda rng: [rng.integers(0, 256, N).astype(np.uint8), np.zeros(256, U32), COUNT],
        lambda a: {1: np.bincount(a[0], minlength=256).astype(U32)},
        grid=(3,),
    ),
    case(
        "atomics.cu",
        "spin_lock",
        lambda rng: [np.zeros(1, I32), np.zeros(1, I32), I32(100)],
        lambda a: {0: np.zeros(1, I32), 1: np.full(1, 100, I32)},
        grid=(2,),
        block=(64,),
    ),
    case(
        "atomics.cu",
        "last_block",
        lambda rng: [small(rng), np.zeros(8, I32), np.zeros(1, I32), COUNT],
        lambda a: {
            1: np.array([a[0][k : k + 128].sum() for k in range(0, N, 128)], I32),
            2: np.array([a[0].sum()], I32),
        },
    ),
]
