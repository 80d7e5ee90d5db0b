"""Cases of asynchronous.cu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case


def short_copies(given: Sequence[Any]) -> dict[int, Array]:
    raw = given[0].view(np.uint8).reshape(64, 16).copy()
    for t in range(0, 64, 4):
        raw[t, t // 4 % 17 :] = 0
    return {1: raw.view(np.int32).ravel()}


def staged_copies(given: Sequence[Any]) -> dict[int, Array]:
    table, out = given[0].reshape(4, 64).copy(), given[1].reshape(4, 64).copy()
    table[1, 1::2] = -1
    out[:2] = table[:2]
    out[2:, 20:] = table[2:, 20:]
    return {1: out.ravel()}


def shared_barrier(given: Sequence[Any]) -> dict[int, Array]:
    a, fresh = given[0][:64], given[0][64:128]
    return {1: np.concatenate([a[::-1] + k for k in range(3)] + [fresh[::-1]]).astype(np.int32)}


def leaving(given: Sequence[Any]) -> dict[int, Array]:
    a = given[0][:64]
    return {1: np.concatenate([a[:31:-1], a[31::-1]])}


def matrices_out_of_shared(given: Sequence[Any]) -> dict[int, Array]:
    rows = given[0].reshape(32, 8)
    four = rows.reshape(4, 8, 8)
    last = rows[31:23:-1]
    matrices = [*four, *four.swapaxes(1, 2), last, rows[8:16].T, rows[16:24].T]
    return {1: np.stack([np.ascontiguousarray(m).view(np.uint32).ravel() for m in matrices]).ravel()}


def one_of_a_warp(given: Sequence[Any]) -> dict[int, Array]:
    lane = np.arange(64) % 32
    leader = np.where(lane < 20, 0, 20)
    return {1: (leader + 100 * (lane == leader) + 1000 * (given[0] > 50).sum()).astype(np.int32)}


def numbers(count: int, room: int) -> Any:
    def make(rng: np.random.Generator) -> list[Argument]:
        return [rng.integers(0, 100, count).astype(np.int32), np.zeros(room, np.int32)]

    return make


def words(rng: np.random.Generator) -> list[Argument]:
    return [rng.integers(0, 1 << 16, 256).astype(np.uint16), np.zeros(11 * 32, np.uint32)]


def case(oracle: Any, arguments: Any, block: int = 64) -> Case:
    name = oracle.__name__
    return Case(name, "asynchronous.cu", name, (1,), (block,), arguments, oracle)


CASES = [
    case(short_copies, numbers(256, 256)),
    case(staged_copies, numbers(256, 256)),
    case(shared_barrier, numbers(128, 256)),
    case(leaving, numbers(64, 64)),
    case(matrices_out_of_shared, words, 32),
    # Which lane is chosen is the device's matter.
    replace(case(one_of_a_warp, numbers(64, 64)), on_device=False),
]
