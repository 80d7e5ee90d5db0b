"""Threads and blocks that wait for each other by values in memory, and come to an end."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ptx.running import run


@pytest.mark.parametrize(
    "lock",
    [
        "while (atomicCAS(lock, 0, 1) != 0); out[0] = out[0] + 1; __threadfence(); atomicExch(lock, 0);",
        "bool done = false; while (!done) if (atomicCAS(lock, 0, 1) == 0)"
        " { out[0] = out[0] + 1; __threadfence(); atomicExch(lock, 0); done = true; }",
        "for (int k = 0; k < 32; ++k) if (k == threadIdx.x % 32)"
        " { while (atomicExch(lock, 1)); out[0] = out[0] + 1; __threadfence(); *lock = 0; }",
    ],
)
def test_locks_that_lanes_of_one_warp_compete_for_end(lock: str) -> None:
    source = f'extern "C" __global__ void k(volatile int* out, int* held) {{ int* lock = held; {lock} }}'
    result = run(
        source.replace("*lock = 0", "*(volatile int*)lock = 0"), 2, 64, np.zeros(1, np.int32), np.zeros(1, np.int32)
    )
    assert result[0].tolist() == [128]
    assert result.hazards == []


@pytest.mark.parametrize("grid", [1, 4])
def test_a_lock_is_set_free_by_lanes_that_go_on_to_a_vote(grid: int) -> None:
    source = """
extern "C" __global__ void k(int* lock, int* out) {
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    atomicExch(lock, 0);
    out[blockIdx.x * 64 + threadIdx.x] = __any_sync(0xffffffffu, threadIdx.x == 40) + 1;
}
"""
    result = run(source, grid, 64, np.zeros(1, np.int32), np.zeros(64 * grid, np.int32))
    assert result[1].reshape(grid, 2, 32).tolist() == [[[1] * 32, [2] * 32]] * grid
    assert result.hazards == []


def test_one_block_waits_for_another_that_is_behind_a_barrier() -> None:
    source = """
extern "C" __global__ void k(volatile int* flag, int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        while (flag[0] == 0);
        out[t] = flag[1];
    } else {
        s[t] = t;
        __syncthreads();
        if (t == 0) { flag[1] = s[63]; __threadfence(); flag[0] = 1; }
    }
}
"""
    assert run(source, 2, 64, np.zeros(2, np.int32), np.zeros(64, np.int32))[1].tolist() == [63] * 64


def test_blocks_are_called_up_from_the_last_one_on() -> None:
    """A compare-and-swap waits for a number of the block's own: those that come first have to have begun."""
    source = """
extern "C" __global__ void k(int* turn, unsigned* out) {
    int own = gridDim.x - 1 - blockIdx.x;
    if (threadIdx.x == 0) {
        while (atomicCAS(turn, own, -1) != own) {}
        out[0] = out[0] * 3 + own;
        __threadfence();
        atomicExch(turn, own + 1);
    }
}
"""
    expected = 0
    for own in range(40):
        expected = (expected * 3 + own) % 2**32
    assert run(source, 40, 256, np.zeros(1, np.int32), np.zeros(1, np.uint32))[1].tolist() == [expected]


def test_lanes_that_left_a_lock_wait_for_the_others_at_a_shuffle() -> None:
    source = """
extern "C" __global__ void k(int* lock, volatile int* count, int* out) {
    bool done = false;
    int mine = 0;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            mine = *count;
            *count = mine + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, mine, 1);
}
"""
    result = run(source, 1, 32, np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32))
    assert sorted(result[2].tolist()) == list(range(32))
    assert result.hazards == []


def test_who_waits_for_a_turn_does_not_run_while_nothing_changes() -> None:
    """A ticket in an outer loop: those whose turn it is not are not run in vain at every step of whose it is."""
    source = """
__device__ int next_turn, serving;
extern "C" __global__ void k(int* out, int n) {
    for (int i = 0; i < n; ++i) {
        int own = atomicAdd(&next_turn, 1);
        while (atomicAdd(&serving, 0) != own);
        __threadfence();
        out[0] = out[0] + 1;
        __threadfence();
        atomicAdd(&serving, 1);
    }
}
"""
    result = run(source, 1, 32, np.zeros(1, np.int32), 3)
    assert result[0][0] == 96 and not result.hazards
    # 24,981 now; 42,624 when all of them take turns whatever happens.
    assert result.report.thread_instructions < 30_000
