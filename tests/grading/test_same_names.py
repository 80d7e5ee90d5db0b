"""Programs of one name in folders of their own, each with kernels and headers of one name: told apart throughout."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.programs.observation import observed
from grader.result import Result
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources, read_sources
from grader.submission.records import Submission, VariantBinding
from tests.marks_only import marks_only

MAIN = """\
#include <cstdio>
#include "../common/check.h"
#include "kernel.cuh"

int main() {
  const int n = SIDE;
  static float host[SIDE * SIDE], back[SIDE * SIDE];
  for (int i = 0; i < n * n; ++i) host[i] = i;
  float *in, *out;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  transpose<<<dim3((n + 31) / 32, (n + 31) / 32), dim3(32, 32)>>>(out, in, n, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(back, out, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n * n; ++i) wrong += back[i] != host[i % n * n + i / n];
  std::printf("%d wrong\\n", wrong);
  cudaFree(in);
  cudaFree(out);
}
"""
CHECK = """\
#pragma once
#include <cstdlib>
#define SIDE 64
#define CHECK(call) do { if ((call) != cudaSuccess) { std::puts("failed"); std::exit(1); } } while (0)
"""
NAIVE = """\
__global__ void transpose(float *out, const float *in, int w, int h) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < w && y < h) out[x * h + y] = in[y * w + x];
}
"""
TILED = """\
// Through shared memory.
#define SIDE_OF_TILE 32
__global__ void transpose(float *out, const float *in, int w, int h) {
  __shared__ float tile[SIDE_OF_TILE][SIDE_OF_TILE];
  int x = blockIdx.x * SIDE_OF_TILE + threadIdx.x, y = blockIdx.y * SIDE_OF_TILE + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * SIDE_OF_TILE + threadIdx.x;
  y = blockIdx.x * SIDE_OF_TILE + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
"""
PADDED = TILED.replace("[SIDE_OF_TILE][SIDE_OF_TILE]", "[SIDE_OF_TILE][SIDE_OF_TILE + 1]")
LAB = marks_only("transpose")


def written(folder: Path, kernels: dict[str, str]) -> Path:
    files = {"common/check.h": CHECK}
    for name, kernel in kernels.items():
        files |= {f"{name}/main.cu": MAIN, f"{name}/kernel.cuh": kernel}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def bound(folder: Path, runs: bool = False) -> Submission:
    found = find_sources(folder, "transpose", (), LAB.variants)
    sources = read_sources(found)
    return bind(found, sources, LAB, observed=observed(sources)) if runs else bind(found, sources, LAB)


def test_each_kernel_is_bound_and_compiled_with_its_own_folders_files(tmp_path: Path) -> None:
    submission = bound(written(tmp_path, {"naive": NAIVE, "tiled": TILED, "padded": PADDED}))
    for variant, folder, text in (("naive", "naive", NAIVE), ("shared", "tiled", TILED), ("padded", "padded", PADDED)):
        binding = submission.bindings[variant]
        assert isinstance(binding, VariantBinding)
        assert binding.kernel.file == f"{folder}/kernel.cuh" and submission.device_source[binding.kernel.file] == text
        program = submission.program(binding.kernel.file)
        assert next(iter(program)) == f"{folder}/main.cu"
        assert program["kernel.cuh"] == text
        assert {site.file for site in submission.launches} == {"naive/main.cu", "tiled/main.cu", "padded/main.cu"}


@pytest.mark.slow
def test_a_submission_of_several_folders_is_graded_whole(tmp_path: Path) -> None:
    # Folders' names are a student's: quotes, spaces, what looks like an option.
    names = ["-o naive x", "ти\"л`; 'tiled'", "padded\u202e(2)"]
    folder = written(tmp_path, dict(zip(names, [NAIVE, TILED, PADDED], strict=True)))
    runs = bound(folder, runs=True).observed.runs
    assert {run.files: (run.ended, run.cause, [x.file for x in run.launches]) for run in runs} == {
        (f"{name}/main.cu",): (True, None, [f"{name}/main.cu"]) for name in names
    }
    result = grade(folder, LAB, GradeOptions(backend="emulator"))
    assert isinstance(result, Result) and result.status == "passed"
    assert [result.variants[name].file for name in ("naive", "shared", "padded")] == [
        f"{name}/kernel.cuh" for name in names
    ]
    assert {source.file for source in result.sources} == {
        "common/check.h",
        *(f"{name}/{part}" for name in names for part in ("main.cu", "kernel.cuh")),
    }


@pytest.mark.slow
def test_a_fault_in_one_of_them_is_told_of_its_file(tmp_path: Path) -> None:
    broken = TILED.replace("__syncthreads();", "__syncthreads()")
    result = grade(written(tmp_path, {"naive": NAIVE, "tiled": broken}), LAB, GradeOptions(backend="emulator"))
    check = next(c for c in result.checks if c.id == "shared.compiles")
    assert check.status == "fail" and check.line == 8 and result.variants["shared"].file == "tiled/kernel.cuh"
    assert next(c for c in result.checks if c.id == "naive.correct").status == "pass"


def test_a_file_that_another_includes_is_compiled_with_it(tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text('#define SIDE_OF_TILE 32\n#include "kernel.cu"\n' + MAIN.split("\n\n", 1)[1])
    (tmp_path / "kernel.cu").write_text(TILED.replace("#define SIDE_OF_TILE 32\n", ""))
    submission = bound(tmp_path)
    binding = submission.bindings["shared"]
    assert isinstance(binding, VariantBinding) and binding.kernel.file == "kernel.cu"
    assert list(submission.program("kernel.cu")) == ["main.cu", "kernel.cu"]
    assert [kernel.file for kernel in submission.kernels] == ["kernel.cu"]
