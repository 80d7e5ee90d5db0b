"""Labs of one function, made for a test, and what a check says of a solution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab.file import load
from grader.lab.records import Lab
from grader.result import Check

AMONG_THE_QUICK = {
    "saxpy": {"good/grid_stride.cu", "bad/on_the_host.cu", "bad/blocks_of_one_warp.cu"},
    "vector-sum": {"good/last_block.cu", "bad/all_add_atomically.cu", "bad/missing_barrier.cu"},
    "bitonic-sort": {"good/any_length.cu", "bad/padded_with_zeros.cu", "bad/both_exchange.cu"},
    "heat-equation": {"good/two_steps_a_launch.cu", "bad/in_place.cu", "bad/through_the_host.cu"},
    "two-streams": {"good/breadth_first.cu", "bad/pageable.cu", "bad/other_stream.cu", "bad/no_wait.cu"},
    "histogram": {"good/two_launches.cu", "bad/global_atomics.cu", "bad/signed_bytes.cu"},
    "convolution-2d": {"good/managed.cu", "bad/mask_in_global.cu", "bad/on_the_host.cu", "bad/added_by_rows.cu"},
    "csr-product": {"good/warp_a_row.cu", "bad/empty_rows.cu", "bad/staged_too_early.cu"},
    "mandelbrot": {"good/warps_of_one_row_of_threads.cu", "bad/rows_of_32.cu", "bad/tested_after_the_step.cu"},
    "vector-max": {"good/compare_and_swap.cu", "bad/begins_with_zero.cu", "bad/nothing_to_begin_with.cu"},
    "inclusive-scan": {"good/blelloch.cu", "bad/every_sum_anew.cu", "bad/two_levels.cu"},
    "standard-scores": {"good/welford.cu", "bad/block_a_column.cu", "bad/difference_of_squares.cu"},
    "image-blur": {"good/tile.cu", "bad/on_the_host.cu", "bad/unchecked.cu"},
}
"""Of each lab a right one and two wrong ones of its kernels, graded by quick tests; the rest is for a slow one."""

SUM_ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": (rng.integers(1, 129, sizes["n"]) / 256).astype(np.float32)}
def expected(inputs, sizes):
    return {"out": np.array([inputs["in"].sum(dtype=np.float64)], np.float32)}
"""
SCAN_ORACLE = SUM_ORACLE.replace(
    'np.array([inputs["in"].sum(dtype=np.float64)], np.float32)',
    'np.cumsum(inputs["in"], dtype=np.float64).astype(np.float32)',
)
FUNCTION = """
title: {{en: Numbers, ru: Числа}}
aim: {{en: To try a check., ru: Испытать проверку.}}
reference: .
seed: 1
tolerance: {{absolute: 0, relative: 0}}
interface: function
signature: 'void solve(const float *in, float *out, int n)'
memory: device
parameters:
  in: {{kind: input, shape: [n]}}
  out: {{kind: output, shape: [{extent}]{initial}}}
  n: {{kind: size}}
sizes: {{emulator: {{correct: [{{n: 256}}], observe: {{n: 2048}}}}}}
variants: {{solve: {{title: {{en: solve, ru: solve}}, reference: solve.cu, checks: {checks}}}}}
"""
KERNEL = """
title: {{en: Numbers, ru: Числа}}
aim: {{en: To try a check., ru: Испытать проверку.}}
reference: .
seed: 1
tolerance: {{absolute: 0, relative: 0}}
parameters:
  in: {{kind: input, names: [in], dtype: float32, shape: [n]}}
  out: {{kind: output, names: [out], dtype: float32, shape: [n]}}
  n: {{kind: size, names: [n]}}
launch: {{block: [256], covers: [n]}}
sizes:
  emulator: {{correct: [{{n: 256}}], observe: {{n: 2048}}, probe: {{n: 256}}}}
  gpu: {{correct: [{{n: 256}}], observe: {{n: 2048}}, probe: {{n: 256}}}}
variants:
  solve:
    title: {{en: solve, ru: solve}}
    names: [solve]
    reference: {{file: solve.cu, kernel: solve, arguments: [in, out, n], block: [256], tile: [256]}}
    checks: {checks}
"""


def lab_of(
    folder: Path, checks: dict[str, Any], oracle: str = SUM_ORACLE, template: str = FUNCTION, **changes: str
) -> Lab:
    """A lab with these checks, in which texts of `template` are replaced."""
    folder = folder / "numbers"
    folder.mkdir(exist_ok=True)
    is_sum = oracle is SUM_ORACLE
    text = template.format(
        checks=json.dumps(checks), extent="1" if is_sum else "n", initial=", initial: 0" if is_sum else ""
    )
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "lab.yaml").write_text(text, "utf-8")
    (folder / "oracle.py").write_text(oracle, "utf-8")
    text = "__global__ void solve(const float *in, float *out, int n) {}\nint main() {}\n"
    (folder / "solve.cu").write_text(text, "utf-8")
    for language in ("en", "ru"):
        (folder / f"task.{language}.md").write_text("", "utf-8")
    return load(folder)


def judged(folder: Path, lab: Lab, text: str, check: str, repairs: bool = False) -> Check:
    """The verdict on a solution that is right."""
    path = folder / "numbers.cu"
    path.write_text(text, "utf-8")
    checks = {
        found.check: found
        for found in pipeline.grade(path, lab, GradeOptions(backend="emulator", repairs=repairs)).checks
    }
    assert checks["correct"].status == "pass", checks["correct"].message
    return checks[check]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


ATOMIC_SUM = """__global__ void add(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, in[i]);
}
void solve(const float *in, float *out, int n) { add<<<(n + 255) / 256, 256>>>(in, out, n); }
"""
SHARED_SUM = """__global__ void parts(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
void solve(const float *in, float *out, int n)
{
    int blocks = (n + 255) / 256;
    float *sums;
    cudaMalloc(&sums, blocks * sizeof(float));
    parts<<<blocks, 256>>>(in, sums, n);
    parts<<<1, 256>>>(sums, out, blocks);
    cudaFree(sums);
}
"""
SHUFFLE_SUM = """__global__ void add(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_down_sync(0xffffffff, x, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, x);
}
void solve(const float *in, float *out, int n) { add<<<(n + 255) / 256, 256>>>(in, out, n); }
"""
COPIES = """__global__ void twice(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2 * in[i];
}
void solve(const float *in, float *out, int n)
{
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, in, n * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<(n + 255) / 256, 256>>>(a, b, n);
    cudaDeviceSynchronize();
    cudaMemcpy(out, b, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
}
"""
IN_PARTS = (
    COPIES.split("void solve", maxsplit=1)[0]
    + """void solve(const float *in, float *out, int n)
{
    float *a, *b;
    int part = n / 4;
    size_t bytes = part * sizeof(float);
    cudaStream_t s[4];
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaHostRegister((void *)in, n * sizeof(float), 0);
    cudaHostRegister(out, n * sizeof(float), 0);
    for (int k = 0; k < 4; k++)
        cudaStreamCreate(&s[k]);
    for (int k = 0; k < 4; k++) {
        int i = k * part;
        cudaMemcpyAsync(a + i, in + i, bytes, cudaMemcpyHostToDevice, s[k]);
        twice<<<(part + 63) / 64, 64, 0, s[k]>>>(a + i, b + i, part);
        cudaMemcpyAsync(out + i, b + i, bytes, cudaMemcpyDeviceToHost, s[k]);
    }
    cudaDeviceSynchronize();
    for (int k = 0; k < 4; k++)
        cudaStreamDestroy(s[k]);
    cudaHostUnregister((void *)in);
    cudaHostUnregister(out);
    cudaFree(a);
    cudaFree(b);
}
"""
)
PAGEABLE = "\n".join(line for line in IN_PARTS.splitlines() if "egister" not in line)
