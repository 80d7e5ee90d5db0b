"""Scheduling: threads that part meet again, barriers, locks, loops that never end, limits."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from grader.ptx import DeviceTrap, LimitExceeded, Limits
from tests.ptx.running import Run, run


def requests_at(result: Run, line: int) -> int:
    """Memory requests (warp instructions) at a source line: 1 for each warp that executes it together."""
    return sum(c.requests for c in result.report.counters.by_line if c.line == line)


# -- divergence --------------------------------------------------------------------------------------------------------

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


# -- barriers ----------------------------------------------------------------------------------------------------------


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


# -- threads that wait for each other ----------------------------------------------------------------------------------


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


# -- kernels that never end --------------------------------------------------------------------------------------------

ENDLESS = {
    "empty": ("while (true);", 1),
    "forgotten_step": ("int k = t; while (k < n) out[t] = k;", 1),
    "sum_goes_on": ("float s = 0;\nint k = 0;\nwhile (k < n)\n    s += out[t];\nout[t] = s;", 3),
    "stuck_at_zero": ("for (int d = n; d >= 0; d /= 2)\n    out[d] += 1;", 1),
    "two_states": ("int k = 1; while (k != 5)\n    k = 3 - k;\nout[t] = k;", 1),
    "waits_for_nobody": ("while (*(volatile int*)&out[0] == 0);", 1),
    "lock_never_released": ("while (atomicCAS(&out[0], 0, 1) != 0);\nout[1] = 1;", 1),
    "some_lanes_only": ("int k = t % 2;\nwhile (k < 1)\n    out[t] = 7;\nout[t] = 1;", 2),
    "with_a_barrier": ("while (n > 0) {\n    out[t] = 1;\n    __syncthreads();\n}", 1),
    "with_a_print": ('while (n > 0)\n    printf("x");', 1),
    "never_meets": ("for (unsigned k = t; k != 33; k += 2)\n    *(volatile int*)out = k;", 1),
}


@pytest.mark.parametrize("name", [name for name in ENDLESS if name != "never_meets"])
def test_a_loop_that_nothing_can_end_is_reported_at_once(name: str) -> None:
    body, line = ENDLESS[name]
    source = f'extern "C" __global__ void k(int* out, int n) {{ int t = threadIdx.x;\n{body} }}'
    started = time.perf_counter()
    with pytest.raises(LimitExceeded, match="repeats without changing anything") as caught:
        run(source, 2, 64, np.zeros(64, np.int32), 40, observe=False)
    assert caught.value.kind == "endless"
    # Loops without a body carry their own line, others that of their condition or their body.
    assert caught.value.line - 1 in (line, line + 1)
    assert time.perf_counter() - started < 2


def test_other_endless_loops_run_into_the_limits() -> None:
    body, _ = ENDLESS["never_meets"]
    source = f'extern "C" __global__ void k(int* out, int n) {{ int t = threadIdx.x;\n{body} }}'
    with pytest.raises(LimitExceeded) as caught:
        run(source, 1, 64, np.zeros(1, np.int32), 0, observe=False, limits=Limits(instructions=200_000))
    assert (caught.value.kind, caught.value.line) in {("instructions", 2), ("instructions", 3)}
    with pytest.raises(LimitExceeded) as caught:
        run(source, 1, 64, np.zeros(1, np.int32), 0, observe=False, limits=Limits(seconds=0.3))
    assert caught.value.kind == "time"


LONG = [
    "for (int k = 0; k < 3000; ++k) s += k;",
    "for (int r = 0; r < 20; ++r) for (int k = 0; k < 20; ++k) s += k ^ r;",
    "for (int r = 0; r < 300; ++r) { int k = 0; while (k < 3) { ++k; s += a[k]; } }",
    "unsigned x = 1; do { x = x * 1664525u + 1013904223u; ++s; } while (x >> 24 != 77);",
    "int k = 0; while (a[k] == 0 && k < 2000) { s += 1; k += a[40 + t] == 0; }",
    "for (int k = 0; k < 500; ++k) { if (k % 7 == t % 7) continue; s += k; }",
    "volatile int* v = a + 200 + t; while (*v < 300) *v = *v + 1; s = *v;",
    "float e = 1.0f; while (1.0f + e > 1.0f) { e *= 0.5f; ++s; }",
    "for (int k = 0; k < 5; ++k) { int j = 5; while (j > 0) --j; s += j + k; }",
    "while (atomicAdd(&a[300 + t], 1) < 500) ++s;",
    "volatile int* v = a + 300 + t; while (*v == 0) if (++s == 100) *v = 1;",
    "volatile int* v = a + 300; while (*v == 0) { __syncthreads(); if (t == 4 && ++s == 99) *v = 1; __syncthreads(); }",
    "int* p = a + 200 + blockIdx.x * 64 + t; while (atomicCAS(p, 7, 8) != 7) if (++s == 50) atomicExch(p, 7);",
    "volatile int* v = a + 300; if (t < 32) while (*v < 20) ++s;"
    " else for (int k = 0; k < 200; ++k) if (k % 10 == 9) *v = k / 10 + 1;",
]


@pytest.mark.parametrize("body", LONG)
def test_loops_that_end_are_left_to_end(body: str) -> None:
    source = f'extern "C" __global__ void k(int* a, int* out) {{ int t = threadIdx.x, s = 0; {body} out[t] = s; }}'
    for debug in ((), ("-G",)):
        run(source, 2, 64, np.zeros(400, np.int32), np.zeros(64, np.int32), observe=False, options=debug)


# -- functions ---------------------------------------------------------------------------------------------------------


def test_recursion_without_end_is_a_stack_overflow() -> None:
    source = """
__device__ __noinline__ int f(int* a, int n) {
    return a[n & 31] == 5 ? n : f(a, n + 1) - f(a, n + 2);
}
extern "C" __global__ void k(int* a) { a[threadIdx.x] = f(a, 1); }
"""
    with pytest.raises(DeviceTrap, match="nested calls: the stack overflows") as caught:
        run(source, 1, 32, np.zeros(32, np.int32))
    assert caught.value.line == 2


def test_deep_recursion_with_many_paths_stays_small() -> None:
    """Local memory is one activation for each depth, however many different call chains there are."""
    source = """
__device__ __noinline__ int f(int n, int* log) {
    int kept[4] = {n, n + 1, n + 2, n + 3};
    if (n < 2) return kept[n & 3];
    log[n & 31] = n;
    return f(n - 1, log) + f(n - 2, log) + kept[(n + log[n & 31]) & 3] - n;
}
extern "C" __global__ void k(int* a, int* log) { a[threadIdx.x] = f(threadIdx.x % 16, log + 32 * threadIdx.x); }
"""
    result = run(source, 1, 64, np.zeros(64, np.int32), np.zeros(2048, np.int32), observe=False)

    def f(n: int) -> int:
        kept = [n, n + 1, n + 2, n + 3]
        return kept[n & 3] if n < 2 else f(n - 1) + f(n - 2) + kept[2 * n & 3] - n

    assert result[0].tolist() == [f(t % 16) for t in range(64)]


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


def test_the_limit_of_instructions_ends_the_largest_grid_within_a_second() -> None:
    source = 'extern "C" __global__ void k(int* a) { if (blockIdx.x == gridDim.x - 1) a[threadIdx.x] = 1; }'
    with pytest.raises(LimitExceeded) as caught:
        run(source, 2**31 - 1, 1024, np.zeros(1024, np.int32), observe=False, limits=Limits(instructions=1_000_000))
    assert caught.value.kind == "instructions"
    started = time.perf_counter()
    with pytest.raises(LimitExceeded):
        run(source, 2**31 - 1, 32, np.zeros(32, np.int32), observe=False, limits=Limits(seconds=0.3))
    assert time.perf_counter() - started < 2


# -- registers ---------------------------------------------------------------------------------------------------------

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
