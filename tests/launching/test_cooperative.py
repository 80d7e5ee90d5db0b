"""A kernel that waits for its whole grid is launched so that it can, whatever its source calls that."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.launching.backend import Code, waits_for_grid
from tests.marks_only import marks_only
from tests.ptx.nvrtc import compile_ptx, header_options

LAB = marks_only("transpose")
HEADER = """#pragma once
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
"""
KERNEL = """
__global__ void naive(const float* in, float* out, int n)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = 0.0f;
    WAIT;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}
int main()
{
    int n = 256;
    float *in, *out;
    cudaMalloc(&in, n * n * sizeof(float));
    cudaMalloc(&out, n * n * sizeof(float));
    cudaMemset(in, 0, n * n * sizeof(float));
    void* arguments[] = {&in, &out, &n};
    cudaLaunchCooperativeKernel((void*)naive, dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16), arguments, 0, 0);
    cudaDeviceSynchronize();
}
"""
SPELLINGS = {
    "a macro of a header": ("#define GRID cg::this_grid()\n", "GRID.sync()"),
    "a macro that pastes it": ("#define GROUP(name) cg::this_##name()\n", "GROUP(grid).sync()"),
    "a function of a header": (
        "template <class T> __device__ void all(T t) { t.sync(); }\n#define ALL all(cg::this_ ## grid())\n",
        "ALL",
    ),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_the_grid(tmp_path: Path, spelling: str) -> None:
    header, wait = SPELLINGS[spelling]
    (tmp_path / "all.h").write_text(HEADER + header)
    (tmp_path / "transpose.cu").write_text('#include "all.h"\n' + KERNEL.replace("WAIT", wait))
    result = pipeline.grade(tmp_path, LAB)
    correct = next(c for c in result.checks if c.id == "naive.correct")
    assert correct.status == "pass", correct


def code(source: str) -> Code:
    text = HEADER + "".join(f'extern "C" __global__ void {kernel}\n' for kernel in source.split("\n"))
    return Code(source, compile_ptx(text, options=header_options()))


def test_only_kernels_that_ask_for_their_grid_wait_for_it() -> None:
    several = code(
        "waits(int* a) { cg::this_grid().sync(); }\nnamed(int* this_grid) { this_grid[0] = 1; /* this_grid() */ }\n"
        "ranks(int* a) { auto g = cg::this_grid(); a[g.thread_rank()] = g.size(); }"
    )
    found = {entry: waits_for_grid(several, entry) for entry in ("waits", "named", "ranks")}
    assert found == {"waits": True, "named": False, "ranks": False}


def test_what_cannot_be_looked_through_is_taken_to_wait() -> None:
    assert waits_for_grid(Code("x", ".visible .entry k() { %envreg1 }"), "k")
