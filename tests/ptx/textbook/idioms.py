"""What the kernels of idioms.cu do, worked out otherwise."""

from __future__ import annotations

import numpy as np

from tests.ptx.corpus.case import Array
from tests.ptx.textbook.cases import cases, numbers


def _rows(a: Array, width: int, fill: int = 0) -> Array:
    padded: Array = np.pad(a.astype(np.int64), (0, -len(a) % width), constant_values=fill).reshape(-1, width)
    return padded


def _histogram(a: Array) -> Array:
    warps = _rows(a % 16, 32, 99)
    return np.append(np.bincount(a % 16, minlength=16), 2 * sum((warp < 99).all() for warp in warps))


def _neighbours(a: Array) -> Array:
    space = np.zeros((5, 6, 18), np.int64)
    space[1:4, 1:5, 1:17] = inside = a[:192].reshape(3, 4, 16)
    sums = -6 * inside
    for axis in range(3):
        for shift in (-1, 1):
            sums = sums + np.roll(space, shift, axis)[1:-1, 1:-1, 1:-1]
    return sums


def _halves(a: Array) -> Array:
    halves = _rows(a, 32).reshape(-1, 2, 16)
    lane = np.arange(16)
    low, high = halves[:, 0, lane ^ 15] * 2, halves[:, 1, lane ^ 7] * 3
    return np.stack([low[:, lane ^ 1], high[:, lane ^ 2]], axis=1).ravel()[: len(a)]


def _levelled(a: Array) -> Array:
    blocks = []
    for values in _rows(a, 64):
        rounds = 0
        while values.max() >= 100:
            rounds += 1
            values = (
                (values + values[::-1]) // 2
                if rounds % 2 == 0
                else np.where(values == values.max(), values // 2, values)
            )
        blocks.append(values + rounds * 1000)
    return np.concatenate(blocks)[: len(a)]


def _tiles(a: Array) -> Array:
    tiles = _rows(a, 8)
    sums = tiles.cumsum(axis=1)
    more = (sums > 3000).any(axis=1, keepdims=True) + (sums & 1).sum(axis=1, keepdims=True)
    found = (sums[:, -1:] - sums + more)[:, np.arange(8) ^ 5] + np.arange(len(tiles))[:, None] % 8
    return found.ravel()[: len(a)]


def _eliminated(a: Array) -> Array:
    prime = 10007
    rows = [[(int(a[y * 8 + x]) + (x == y) * 5000) % prime for x in range(8)] for y in range(8)]
    for k in range(8):
        for y in range(k + 1, 8):
            factor = rows[y][k] * pow(rows[k][k], -1, prime)
            rows[y] = [(mine - factor * pivot) % prime for mine, pivot in zip(rows[y], rows[k], strict=True)]
    return np.array(rows)


def _common(a: Array) -> Array:
    left, right = a[:64] % 4, a[100:164] % 4
    longest = np.zeros((65, 65), np.int64)
    for i in range(1, 65):
        for j in range(1, 65):
            same = left[i - 1] == right[j - 1]
            longest[i, j] = longest[i - 1, j - 1] + 1 if same else max(longest[i - 1, j], longest[i, j - 1])
    return longest[1:, 64]


def _levels(a: Array) -> Array:
    level, queue = np.full(64, -1), [0]
    level[0] = 0
    for node in queue:
        for to in (a[node * 3 : node * 3 + 3] % 64).tolist():
            if level[to] < 0:
                level[to] = level[node] + 1
                queue.append(to)
    return level


def _paths(a: Array) -> Array:
    paths = a[:64].reshape(8, 8) + 1
    np.fill_diagonal(paths, 0)
    for k in range(8):
        paths = np.minimum(paths, paths[:, k : k + 1] + paths[k : k + 1])
    return paths


IDIOMS = cases(
    "idioms.cu",
    {
        "matched_histogram": _histogram,
        "one_barrier_a_tile": lambda a: a[:192] @ (np.arange(192)[:, None] % 64 ^ np.arange(64)),
        "register_queue": _neighbours,
        "halves_of_warps": _halves,
        "uniform_loops": _levelled,
        "tiles_of_eight": _tiles,
        "radix_by_ballots": lambda a: np.sort(_rows(a, 64, 1023), axis=1).ravel()[: len(a)],
        "elimination": _eliminated,
        "longest_common_subsequence": _common,
        "work_list": _levels,
        "all_pairs": _paths,
    },
    (4,),
    (64,),
    numbers(252),
)
