"""Barriers: who has to come, who may have left, and what waits for ever."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx.limits import LimitExceeded
from tests.ptx.running import run


def test_a_barrier_holds_until_the_whole_block_has_come() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    if (t < 32) for (int k = 0; k < 50; ++k) s[t] = k;
    else s[t] = t;
    __syncthreads();
    out[blockIdx.x * 96 + t] = s[95 - t];
}
"""
    result = run(source, 5, 96, np.zeros(480, np.int32))
    assert result[0].tolist() == [*range(95, 31, -1), *[49] * 32] * 5
    assert result.hazards == []


def test_reducing_barriers_see_every_thread_of_their_block() -> None:
    source = """
extern "C" __global__ void k(int* a, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = __syncthreads_count(a[i]);
    if (threadIdx.x % 2) a[i] += 1;
    int y = __syncthreads_and(a[i] < 3), z = __syncthreads_or(a[i] > 1);
    out[i] = x * 4 + (y != 0) * 2 + (z != 0);
}
"""
    a = np.zeros(3 * 40, np.int32)
    a[40:60] = 1
    a[80] = 2
    result = run(source, 3, 40, a, np.zeros(120, np.int32))
    assert result[1].reshape(3, 40)[:, 0].tolist() == [0 + 2, 20 * 4 + 2 + 1, 1 * 4 + 2 + 1]
    assert (result[1].reshape(3, 40) == result[1].reshape(3, 40)[:, :1]).all()


def test_threads_that_have_returned_count_as_arrived_which_is_worth_a_remark() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    out[t] = 1;
    __syncthreads();
    out[t] += out[n - 1 - t] > 0;
}
"""
    result = run(source, 1, 64, np.zeros(64, np.int32), 50, observe=False)
    assert result[0].tolist() == [2] * 50 + [0] * 14
    assert result.hazards == []
    assert result.report.remarks == [("exited_before_barrier", 6, 14)]


def test_lanes_of_a_mask_that_have_returned_need_not_come_which_is_worth_a_remark() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    if (t / 16 >= n) return;
    out[t] = __shfl_down_sync(0xffffffff, t, 1, 16);
}
"""
    for halves, remarks in ((1, [("returned_in_mask", 5, 16)]), (3, [("returned_in_mask", 5, 16)]), (4, [])):
        result = run(source, 1, 64, np.zeros(64, np.int32), halves, observe=False)
        assert result.hazards == []
        assert result.report.remarks == remarks


def test_a_barrier_that_some_threads_bypass_while_they_go_on() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    if (t < 40) {
        out[t] = 1;
        __syncthreads();
    }
    out[64 + t] = out[t % 40];
}
"""
    result = run(source, 2, 64, np.zeros(128, np.int32), observe=False)
    (hazard,) = result.hazards
    assert (hazard.kind, hazard.detail, hazard.line, hazard.other_line) == ("barrier_divergence", "bypassed", 6, 8)
    assert (hazard.block, hazard.thread, hazard.other_thread) == ((0, 0, 0), (40, 0, 0), (0, 0, 0))
    assert hazard.count == 48
    assert result.report.remarks == []


def test_threads_of_a_block_that_meet_at_different_barriers() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    if (t & 1) {
        out[t] = 1;
        __syncthreads();
    } else {
        out[t] = 2;
        __syncthreads();
    }
}
"""
    (hazard,) = run(source, 1, 64, np.zeros(64, np.int32), observe=False).hazards
    assert (hazard.kind, hazard.detail) == ("barrier_divergence", "different_barriers")
    assert {hazard.line, hazard.other_line} == {6, 9}
    odd = hazard.line == 6
    assert (hazard.thread, hazard.other_thread) == (((1, 0, 0), (0, 0, 0)) if odd else ((0, 0, 0), (1, 0, 0)))


def test_a_barrier_in_a_loop_that_some_threads_leave_earlier() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < (t < 32 ? n : n + 1); ++k) {
        out[t] += k;
        __syncthreads();
    }
    out[t] += 100;
}
"""
    result = run(source, 1, 64, np.zeros(64, np.int32), 3, observe=False)
    assert ("barrier_divergence", "bypassed", 6) in result.kinds()
    assert run(source.replace("n + 1", "n"), 1, 64, np.zeros(64, np.int32), 3, observe=False).hazards == []


def test_named_barriers_with_fewer_threads_than_the_block() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x, half = t / 64;
    s[t] = t;
    if (half == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = s[half * 64 + 63 - t % 64];
}
"""
    result = run(source, 2, 128, np.zeros(128, np.int32), observe=False)
    assert result[0].tolist() == [*range(63, -1, -1), *range(127, 63, -1)]
    assert result.hazards == []


def test_threads_that_wait_for_others_that_never_come() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}
"""
    with pytest.raises(LimitExceeded, match="waits at a barrier that can never be complete") as caught:
        run(source, 1, 64, np.zeros(64, np.int32))
    assert (caught.value.kind, caught.value.line) == ("deadlock", 4)


def test_blocks_at_different_barriers_of_which_some_threads_have_returned() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= 50) return;
    s[t] = t;
    if (blockIdx.x % 2) {
        __syncthreads();
        out[blockIdx.x * 50 + t] = s[49 - t];
    } else {
        s[t] += 100;
        __syncthreads();
        out[blockIdx.x * 50 + t] = s[49 - t] + 1000;
    }
}
"""
    result = run(source, 2, 64, np.zeros(100, np.int32))
    assert result[0].tolist() == [*range(1149, 1099, -1), *range(49, -1, -1)]
    assert result.hazards == []
