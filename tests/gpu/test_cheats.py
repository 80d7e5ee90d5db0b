"""Known cheats: each passes a naive harness, and gets its own verdict here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.result import Check

LAB = replace(labs.find("transpose"), sweeps=())
"""Without the sweeps for graphs, which take longer than all the rest."""

HEAD = """
#define SLOT ((rows > 2000) + (rows > 4000) + (rows > 8000))
__device__ unsigned long long seen[4];
__device__ float kept[1 << 24];
__device__ bool finished_before(int rows)
{
    // True in every launch but the first at this size.
    return *(volatile unsigned long long *)&seen[SLOT] >= (unsigned long long)gridDim.x * gridDim.y;
}
__device__ void finish(int rows)
{
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        atomicAdd(&seen[SLOT], 1ull);
}
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) out[col * rows + row] = in[row * cols + col];
}
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    const int out_col = blockIdx.y * 32 + threadIdx.x, out_row = blockIdx.x * 32 + threadIdx.y;
    %s
    if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
    __syncthreads();
    %s
    if (out_row < cols && out_col < rows) out[out_row * rows + out_col] = tile[threadIdx.x][threadIdx.y];
    %s
}
"""

CHEATS = {
    "works in its first launch only": (
        ("if (rows > 1500 && finished_before(rows)) return;", "", "if (rows > 1500) finish(rows);"),
        "a second one",
    ),
    "keeps the answer of an earlier launch": (
        (
            "if (rows > 1500 && rows < 5000 && finished_before(rows)) {"
            " if (out_row < cols && out_col < rows) out[out_row * rows + out_col] = kept[out_row * rows + out_col];"
            " return; }",
            "if (rows > 1500 && rows < 5000 && out_row < cols && out_col < rows)"
            " kept[out_row * rows + out_col] = tile[threadIdx.x][threadIdx.y];",
            "if (rows > 1500) finish(rows);",
        ),
        "a second one with other data does not",
    ),
    "writes only a part where nobody compares": (
        ("", "if (rows > 5000 && out_col >= 5000) return;", ""),
        "leaves elements of the output unwritten",
    ),
    "writes only a part": (("", "if (rows > 2000 && out_col >= 2000) return;", ""), "no thread wrote"),
    "changes its input": (
        ("", "if (rows > 2000 && row == 7 && col == 9) ((float *)in)[row * cols + col] = 0;", ""),
        "input",
    ),
    "knows the sizes": (
        ("if (rows != 256 && rows != 64 && rows != 128 && rows > 65) return;", "", ""),
        "wrote nothing",
    ),
    "leaves zeros": (("", "if (rows > 2000) tile[threadIdx.x][threadIdx.y] = 0;", ""), "should be"),
}


def graded(folder: Path, parts: tuple[str, str, str]) -> dict[str, Check]:
    (folder / "student").mkdir()
    (folder / "student" / "transpose.cu").write_text(HEAD % parts)
    result = pipeline.grade(folder / "student", LAB, GradeOptions(backend="gpu", repairs=False, remeasure=True))
    return {check.id: check for check in result.checks}


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_fails_with_its_reason(tmp_path: Path, name: str) -> None:
    parts, words = CHEATS[name]
    checks = graded(tmp_path, parts)
    assert checks["padded.correct"].status == "fail"
    assert words in checks["padded.correct"].message
    assert checks["padded.speedup"].earned == 0 and checks["padded.speedup"].skip_reason == "prerequisite"
    assert checks["naive.correct"].status == "pass"


def test_the_same_kernel_without_a_cheat_passes(tmp_path: Path) -> None:
    checks = graded(tmp_path, ("", "", ""))
    assert checks["padded.correct"].status == "pass"
    assert checks["padded.speedup"].status == "pass"
