"""Numbers to compute with, and what the tables of cases share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case

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


def two(dtype: Any, rows: int, out: Any, rng: np.random.Generator) -> list[Argument]:
    make = floats if np.issubdtype(dtype, np.floating) else integers
    return [make(rng, dtype), make(rng, dtype), shaped(rows, out), COUNT]


def three(dtype: Any, rows: int, rng: np.random.Generator) -> list[Argument]:
    return [*(floats(rng, dtype) for _ in range(3)), shaped(rows, dtype), COUNT]


def one(rows: int, dtype: Any, make: Callable[..., Array], rng: np.random.Generator) -> list[Argument]:
    return [make(rng), shaped(rows, dtype), COUNT]


def case(source: str, entry: str, make: Callable[..., list[Argument]], oracle: Any, **more: Any) -> Case:
    return Case(entry, source, entry, more.pop("grid", GRID), more.pop("block", BLOCK), make, oracle, **more)


def doubled(count: int, dtype: Any, rng: np.random.Generator, rows: int) -> list[Argument]:
    return [integers(rng, dtype, count * N), integers(rng, dtype, count * N), shaped(rows, dtype), COUNT]
