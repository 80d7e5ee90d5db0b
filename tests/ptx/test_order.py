"""Blocks and warps in other orders: every thread runs once, and what depends on the order shows."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx.affine import Order, geometry_of
from tests.ptx.native.engines import both
from tests.ptx.running import Bytes, run

K = 'extern "C" __global__ void k'
FLOATS = np.random.default_rng(3).standard_normal(4096).astype(np.float32)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("grid", "block"), [((1,), (1,)), ((6, 5), (8, 12)), ((7, 1, 3), (50,)), ((40,), (33, 3))])
def test_every_thread_has_its_turn(grid: tuple[int, ...], block: tuple[int, ...], order: int) -> None:
    source = (
        K
        + """(int* seen) {
        int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        atomicAdd(&seen[b * blockDim.x * blockDim.y * blockDim.z + t], 1);
    }"""
    )
    seen = np.zeros(int(np.prod(grid)) * int(np.prod(block)), np.int32)
    done = run(source, grid, block, seen, order=order)
    assert done[0].tolist() == [1] * len(seen)
    x, y, z = (*block, 1, 1)[:3]
    across, down, deep = (*grid, 1, 1)[:3]
    at = geometry_of((x, y, z), across * down * deep, 0, (across, down, deep), Order(order))
    for lane in at.layout.root.ids[:: max(1, len(seen) // 50)].tolist():
        assert at.lane(*at.coordinates(lane)) == lane


def test_orders_are_different() -> None:
    source = K + "(int* next, int* turn) { if (threadIdx.x == 0) turn[blockIdx.x] = atomicAdd(next, 1); }"
    turns = [
        run(source, 8, 32, np.zeros(1, np.int32), np.zeros(8, np.int32), order=order)[1].tolist() for order in range(3)
    ]
    assert turns[:2] == [[0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0]]
    assert sorted(turns[2]) == turns[0]
    assert turns[2] not in turns[:2]


def test_sums_of_floats_depend_on_it_and_those_of_integers_do_not() -> None:
    source = K + "(const T* a, T* sum) { atomicAdd(sum, a[blockIdx.x * blockDim.x + threadIdx.x]); }"
    floats, whole = (source.replace("T*", f"{kind}*") for kind in ("float", "int"))
    sums = {run(floats, 32, 128, FLOATS, np.zeros(1, np.float32), order=order)[1].tobytes() for order in range(3)}
    assert len(sums) == 3
    numbers = np.arange(4096, dtype=np.int32)
    sums = {run(whole, 32, 128, numbers, np.zeros(1, np.int32), order=order)[1].tobytes() for order in range(3)}
    assert len(sums) == 1


def test_warps_of_one_block_have_another_order_too() -> None:
    source = K + "(int* next, int* turn) { if (threadIdx.x % 32 == 0) turn[threadIdx.x / 32] = atomicAdd(next, 1); }"
    done = run(source, 1, 100, np.zeros(1, np.int32), np.zeros(4, np.int32), order=1)
    # The last warp has 4 threads, and stays the last.
    assert done[1].tolist() == [2, 1, 0, 3]


def test_both_engines_in_another_order() -> None:
    source = K + "(const float* a, float* b, int n) { for (int i = 0; i < n; i++)"
    source += " b[threadIdx.x * n + i] = a[blockIdx.x + i] + (float)threadIdx.x; }"
    _, launches = both(source, 3, 96, FLOATS, Bytes(4 * 96 * 40), 40, order=1, observe=False)
    assert launches == 1


def test_faults_are_told_of_the_thread_that_did_them() -> None:
    source = K + "(int* a) { if (blockIdx.x == 1 && threadIdx.x == 70) a[5000] = 1; }"
    for order in range(3):
        (hazard,) = run(source, 4, 96, np.zeros(96, np.int32), order=order).hazards
        assert (hazard.block, hazard.thread) == ((1, 0, 0), (70, 0, 0))
