"""Threads of a warp that part and meet again, as each alone would run; what is counted of them, and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.ptx.limits import DeviceTrap
from tests.ptx.running import Run, run


def requests_at(result: Run, line: int) -> int:
    """Memory requests (warp instructions) at a source line: 1 for each warp that executes it together."""
    return sum(c.requests for c in result.report.counters.by_line if c.line == line)


CODE = {
    "if_else": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x;
    if (t % 3 == 0) x = a[t] * 2;
    else if (t % 3 == 1) x = a[63 - t];
    else x = -1;
    out[t] = x;
}
""",
    "break": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x = 0;
    for (int k = 0; k < 64; ++k) {
        if (a[(t + k) & 63] % 7 == 3) break;
        ++x;
    }
    out[t] = x;
}
""",
    "continue": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x = 0;
    for (int k = 0; k < 10; ++k) {
        if ((t + k) % 3 == 0) continue;
        x += a[(t * k) & 63];
    }
    out[t] = x;
}
""",
    "early_return": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x;
    if (t % 5 == 2) return;
    int x = a[t];
    if (x % 5 == 1) return;
    out[t] = x;
}
""",
    "nested": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x = 0;
    for (int k = 0; k < t % 5; ++k)
        for (int j = 0; j < (t + k) % 4; ++j) {
            if (j == 2 && a[t] % 2) break;
            x += a[(k * 8 + j + t) & 63];
        }
    out[t] = x;
}
""",
    "return_in_loop": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x;
    for (int k = 0; k < 40; ++k) {
        if (k > t) return;
        if (a[k] == 40) break;
        out[t] = a[(k + t) & 63];
    }
    out[t] += 1000;
}
""",
    "while": """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x = a[t] + 1, n = 0;
    while (x != 1 && n < 200) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        ++n;
    }
    out[t] = n;
}
""",
}


def expected(name: str, a: list[int]) -> list[int]:
    out = [0] * 64
    for t in range(64):
        x = n = 0
        if name == "if_else":
            out[t] = a[t] * 2 if t % 3 == 0 else a[63 - t] if t % 3 == 1 else -1
        elif name == "break":
            while n < 64 and a[(t + n) & 63] % 7 != 3:
                n += 1
            out[t] = n
        elif name == "continue":
            out[t] = sum(a[(t * k) & 63] for k in range(10) if (t + k) % 3)
        elif name == "early_return":
            out[t] = a[t] if t % 5 != 2 and a[t] % 5 != 1 else 0
        elif name == "nested":
            for k in range(t % 5):
                for j in range((t + k) % 4):
                    if j == 2 and a[t] % 2:
                        break
                    x += a[(k * 8 + j + t) & 63]
            out[t] = x
        elif name == "return_in_loop":
            for k in range(40):
                if k > t:
                    break
                if a[k] == 40:
                    out[t] += 1000
                    break
                out[t] = a[(k + t) & 63]
            else:
                out[t] += 1000
        else:
            x = a[t] + 1
            while x != 1 and n < 200:
                x = 3 * x + 1 if x % 2 else x // 2
                n += 1
            out[t] = n
    return out


@pytest.mark.parametrize("name", CODE)
def test_threads_that_part_do_what_each_would_alone(name: str) -> None:
    a = np.random.default_rng(5).permutation(64).astype(np.int32)
    result = run(CODE[name], 1, 64, a, np.zeros(64, np.int32))
    assert result[1].tolist() == expected(name, a.tolist())


@pytest.mark.parametrize(("name", "line"), [("if_else", 7), ("break", 8), ("continue", 8), ("nested", 9), ("while", 8)])
def test_threads_that_parted_meet_again(name: str, line: int) -> None:
    """The store behind the if or the loop is one request for each of the two warps, however they got there."""
    a = np.random.default_rng(5).permutation(64).astype(np.int32)
    result = run(CODE[name], 1, 64, a, np.zeros(64, np.int32))
    assert requests_at(result, line) == 2


def test_those_who_return_are_missing_and_nobody_else() -> None:
    a = np.random.default_rng(5).permutation(64).astype(np.int32)
    result = run(CODE["early_return"], 1, 64, a, np.zeros(64, np.int32))
    (store,) = [c for c in result.report.counters.by_line if c.op == "store"]
    left = [t for t in range(64) if t % 5 != 2 and a[t] % 5 != 1]
    assert (store.requests, store.lanes) == (2, len(left))


def test_iterations_of_a_loop_are_executed_together() -> None:
    """Lanes with longer loops go on alone: one request for each warp and iteration that any of its lanes is in."""
    source = """
extern "C" __global__ void k(int* a, int* out) {
    int t = threadIdx.x, x = 0;
    for (int k = 0; k < t; ++k)
        x += a[k];
    out[t] = x;
}
"""
    result = run(source, 1, 64, np.ones(64, np.int32), np.zeros(64, np.int32))
    assert result[1].tolist() == list(range(64))
    counters = [c for c in result.report.counters.by_line if c.op == "load"]
    assert sum(c.lanes for c in counters) == sum(range(64))


def test_instructions_are_counted_by_thread_and_by_warp() -> None:
    source = 'extern "C" __global__ void k(int* a) { if (threadIdx.x < 8) a[threadIdx.x] = 1; }'
    report = run(source, 3, 64, np.zeros(8, np.int32), observe=False).report
    by_thread = report.opcode_counts
    assert by_thread["ret"] == 3 * 64
    assert by_thread["st"] == 3 * 8
    assert sum(by_thread.values()) == report.thread_instructions
    assert report.warp_instructions < report.thread_instructions


@pytest.mark.parametrize("order", ["sync.ballot", "ballot.sync"])
def test_votes_in_either_order_of_modifiers(order: str) -> None:
    source = f"""
extern "C" __global__ void k(unsigned* out, int n) {{
    unsigned mask;
    int own = threadIdx.x % 3 == n;
    asm volatile("{{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.{order}.b32 %0, p, 0xffffffff; }}"
        : "=r"(mask) : "r"(own));
    out[threadIdx.x] = mask;
}}
"""
    result = run(source, 1, 32, np.zeros(32, np.uint32), 1)
    assert result[0].tolist() == [sum(1 << lane for lane in range(32) if lane % 3 == 1)] * 32


def test_traps_and_failed_assertions() -> None:
    source = """
extern "C" __global__ void k(int* a) {
    if (a[threadIdx.x] == 9)
        __trap();
    a[threadIdx.x] = 1;
}
"""
    a: Any = np.arange(32, dtype=np.int32)
    with pytest.raises(DeviceTrap) as caught:
        run(source, 1, 32, a)
    assert caught.value.line in (3, 4)
    assert run(source, 1, 8, a)[0][:8].tolist() == [1] * 8


def test_big_local_arrays_run_in_smaller_chunks() -> None:
    source = """
extern "C" __global__ void k(int* a, int n) {
    int t[8000];
    for (int k = 0; k < n; ++k) t[(k * 37 + threadIdx.x) % 8000] = k;
    a[blockIdx.x * 256 + threadIdx.x] = t[threadIdx.x];
}
"""
    result = run(source, 40, 256, np.zeros(40 * 256, np.int32), 1, observe=False)
    assert (result[0][::256] == 0).all()


def test_a_call_through_a_pointer_to_no_function_is_the_kernels_fault() -> None:
    source = """
__device__ int twice(int x) { return 2 * x; }
__device__ int next(int x) { return x + 1; }
typedef int (*Function)(int);
__device__ Function table[3] = {twice, next, 0};
extern "C" __global__ void k(int* a, int n) {
    a[threadIdx.x] = table[threadIdx.x % n](threadIdx.x);
}
"""
    assert run(source, 1, 4, np.zeros(4, np.int32), 2)[0].tolist() == [0, 2, 4, 4]
    with pytest.raises(DeviceTrap, match=r"a call through a pointer to no function \(0x0\)") as caught:
        run(source, 1, 4, np.zeros(4, np.int32), 3)
    assert caught.value.line == 7


NEVER_SET = """
extern "C" __global__ void k(const float* a, float* out, int n) {
    float sum;
    for (int i = 0; i < n; ++i) sum += a[i];
    out[0] = sum;
}
"""

SET_WHERE_USED = """
extern "C" __global__ void k(const float* a, float* out, int n) {
    float x;
    if (threadIdx.x < n) x = a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = x;
}
"""


def test_a_variable_that_nothing_sets_holds_garbage() -> None:
    a = np.arange(4, dtype=np.float32)
    result = run(NEVER_SET, 1, 1, a, np.zeros(4, np.float32), 4)
    assert np.isnan(result[1][0])


def test_a_variable_that_is_set_where_it_is_used_is_in_order() -> None:
    a = np.arange(64, dtype=np.float32)
    result = run(SET_WHERE_USED, 1, 64, a, np.zeros(64, np.float32), 40)
    np.testing.assert_array_equal(result[1], np.where(a < 40, a, 0))


def test_a_thread_that_waits_for_the_clock_does_not_wait_long() -> None:
    source = """extern "C" __global__ void k(long long* out) {
        long long first = clock64(), now = first;
        while (now - first < 1LL << 40) now = clock64();
        out[0] = now - first;
    }"""
    result = run(source, 1, 1, np.zeros(1, np.int64))
    assert 1 << 40 <= result[0][0] < 5 << 38
    assert result.report.issued < 10_000


def test_a_clock_that_is_read_for_long_runs_over_nowhere() -> None:
    source = """
extern "C" __global__ void k(long long *out) {
    long long last = clock64(), ordered = 1;
    for (int i = 0; i < 9000; ++i) { long long now = clock64(); ordered &= now > last; last = now; }
    out[threadIdx.x] = ordered && last > 0;
}
"""
    assert run(source, 1, 2, np.zeros(2, np.int64))[0].tolist() == [1, 1]
