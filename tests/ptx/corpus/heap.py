"""Kernels that allocate memory on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case

N = 256


def arguments(rng: np.random.Generator) -> list[Argument]:
    return [rng.integers(0, 1000, N).astype(np.int32), np.zeros(N, np.int32)]


def lists(rng: np.random.Generator) -> list[Argument]:
    return [*arguments(rng), np.int32(N)]


def hashes(given: Sequence[Any]) -> dict[int, Array]:
    result = np.zeros(N, np.int64)
    for t in range(N):
        for i in reversed(range(1 + t % 7)):
            result[t] = result[t] * 31 + int(given[0][(t + i) % N])
    return {1: (result & 0xFFFFFFFF).astype(np.uint32).view(np.int32)}


CASES = [
    Case("reversed_lists", "heap.cu", "reversed_lists", (4,), (64,), lists, hashes),
    Case(
        "shared_scratch", "heap.cu", "shared_scratch", (4,), (64,), arguments,
        lambda given: {1: given[0].reshape(4, 64)[:, ::-1].ravel()},
    ),
]  # fmt: skip
