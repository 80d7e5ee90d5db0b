"""Loops and recursion that nothing ends are reported; those that end are left to."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from grader.ptx.limits import DeviceTrap, LimitExceeded, Limits
from tests.pace import at_most
from tests.ptx.running import run

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
    # At once: long before so many instructions have been executed.
    limits = Limits(instructions=100_000)
    with pytest.raises(LimitExceeded, match="repeats without changing anything") as caught:
        run(source, 2, 64, np.zeros(64, np.int32), 40, observe=False, limits=limits)
    assert caught.value.kind == "endless"
    # Loops without a body carry their own line, others that of their condition or their body.
    assert caught.value.line - 1 in (line, line + 1)


def test_other_endless_loops_run_into_the_limits() -> None:
    body, _ = ENDLESS["never_meets"]
    source = f'extern "C" __global__ void k(int* out, int n) {{ int t = threadIdx.x;\n{body} }}'
    with pytest.raises(LimitExceeded) as caught:
        run(source, 1, 64, np.zeros(1, np.int32), 0, observe=False, limits=Limits(instructions=200_000))
    assert (caught.value.kind, caught.value.line) in {("instructions", 2), ("instructions", 3)}
    with pytest.raises(LimitExceeded) as caught:
        run(source, 1, 64, np.zeros(1, np.int32), 0, observe=False, limits=Limits(seconds=0))
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


def test_a_limit_ends_the_largest_grid_long_before_its_end() -> None:
    source = 'extern "C" __global__ void k(int* a) { if (blockIdx.x == gridDim.x - 1) a[threadIdx.x] = 1; }'
    with pytest.raises(LimitExceeded) as caught:
        run(source, 2**31 - 1, 1024, np.zeros(1024, np.int32), observe=False, limits=Limits(instructions=1_000_000))
    assert caught.value.kind == "instructions"
    # All of it would take an hour.
    with at_most(20), pytest.raises(LimitExceeded) as caught:
        run(source, 2**31 - 1, 32, np.zeros(32, np.int32), observe=False, limits=Limits(seconds=0.3))
    assert caught.value.kind == "time"


LATE = """
extern "C" __global__ void k(int* a, int n) {
    volatile int* v = a;
    for (int i = 0; i < 9000; ++i) FAULT v[threadIdx.x % 7] += i;
}
"""


@pytest.mark.parametrize(("fault", "ends"), [("if (i == 0) v[n + 1] = 1; else", True), ("", False)])
def test_the_interpreter_takes_fewer_steps_once_an_access_was_outside(fault: str, ends: bool) -> None:
    """Lanes that race go on: their result may be right."""
    limits = Limits(steps_after_fault=20_000)
    launch = partial(run, LATE.replace("FAULT", fault), 1, 32, np.zeros(32, np.int32), 32, limits=limits)
    if not ends:
        assert launch().report.steps > 30_000
        return
    with pytest.raises(LimitExceeded) as caught:
        launch()
    assert (caught.value.kind, caught.value.line) == ("steps", 4)
    assert 20_000 < caught.value.steps < 30_000
    assert "out_of_bounds" in {hazard.kind for hazard in caught.value.hazards}


def test_steps_of_the_interpreter_are_limited_whatever_they_do() -> None:
    """Atomics of many lanes count by these: each is carried out for itself."""
    source = """
extern "C" __global__ void k(int* a, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) atomicAdd(a, i);
}
"""
    one, many = (run(source, grid, 256, np.zeros(1, np.int32), 300).report.steps for grid in (1, 64))
    assert many > 10 * one
    with pytest.raises(LimitExceeded) as caught:
        run(source, 64, 256, np.zeros(1, np.int32), 300, limits=Limits(steps=2 * one))
    assert caught.value.kind == "steps"
