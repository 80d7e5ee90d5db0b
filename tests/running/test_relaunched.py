"""Kernels that keep something from launch to launch: right once, wrong later."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Check
from grader.running.reordered import set_by_host
from tests.marks_only import marks_only

LAB = marks_only("transpose")
PROGRAM = """{declared}
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    {first}
    if (r < rows && c < cols)
        out[c * rows + r] = {value};
}}
{host}
"""
COUNTED = "if (c == 0 && r == 0) atomicAdd(&launches, 1);"


def correct(folder: Path, declared: str, first: str, value: str, host: str = "") -> Check:
    (folder / "student").mkdir()
    text = PROGRAM.format(declared=declared, first=first, value=value, host=host)
    (folder / "student" / "transpose.cu").write_text(text)
    checks = pipeline.grade(folder / "student", LAB, GradeOptions(backend="emulator")).checks
    return next(check for check in checks if check.check == "correct" and check.variant == "naive")


WRONG_LATER = {
    "right in the first launch only": (
        "__device__ int done;",
        "",
        "done ? 0 : in[r * cols + c]; if (c == cols - 1 && r == rows - 1) done = 1",
    ),
    "wrong from the sixth on": ("\n__device__ unsigned\n launches;", COUNTED, "launches > 5 ? 0 : in[r * cols + c]"),
    "keeps its first result": (
        "__device__ float kept[1 << 20];",
        "",
        "kept[c * rows + r] != 0 ? kept[c * rows + r] : (kept[c * rows + r] = in[r * cols + c])",
    ),
    "wrong from the twentieth on": ("__device__ int launches;", COUNTED, "launches > 20 ? 0 : in[r * cols + c]"),
    "wrong in one launch of many": (
        "__device__ unsigned long long launches = 7;",
        "if (c == 0 && r == 0) atomicAdd(&launches, 3ull);",
        "launches == 7 + 3 * 17 ? 0 : in[r * cols + c]",
    ),
    "wrong after half a million": (
        "__device__ float seconds;",
        "if (c == 0 && r == 0) seconds += 0.5f;",
        "seconds > 250000.0f ? 0 : in[r * cols + c]",
    ),
    "wrong when time is over": (
        "__device__ int left = 3000;",
        "if (c == 0 && r == 0) left--;",
        "left < 0 ? 0 : in[r * cols + c]",
    ),
    "a counter that doubles": (
        "__device__ unsigned mark = 1;",
        "if (c == 0 && r == 0) mark *= 2;",
        "mark == 0 ? 0 : in[r * cols + c]",
    ),
    "a counter of counters": (
        "__device__ unsigned ones, tens;",
        "if (c == 0 && r == 0 && ++ones == 10) { ones = 0; ++tens; }",
        "tens >= 7 ? 0 : in[r * cols + c]",
    ),
    "in a launch that it draws": (
        "__device__ unsigned drawn = 1;",
        "if (c == 0 && r == 0) { drawn ^= drawn << 13; drawn ^= drawn >> 17; drawn ^= drawn << 5; }",
        "drawn % 32 == 7 ? 0 : in[r * cols + c]",
    ),
    "more than 32 bits": (
        "__device__ unsigned long long launches = 0xffffff00ull;",
        "if (c == 0 && r == 0) ++launches;",
        "launches > 0x100001000ull ? 0 : in[r * cols + c]",
    ),
    "in steps that are rounded": (
        "__device__ double seconds;",
        "if (c == 0 && r == 0) seconds += 0.1;",
        "seconds > 5000. ? 0 : in[r * cols + c]",
    ),
    "by a factor": (
        "__device__ float level = 1;",
        "if (c == 0 && r == 0) level *= 1.01f;",
        "level > 1e6f ? 0 : in[r * cols + c]",
    ),
    "in a namespace": (
        "namespace own { __device__ int launches; }",
        "if (c == 0 && r == 0) atomicAdd(&own::launches, 1);",
        "own::launches > 1 ? 0 : in[r * cols + c]",
    ),
    "comes back to itself on paper": (
        "__device__ int launches; // cudaMemcpyToSymbol(launches, &zero, 4);",
        COUNTED,
        "launches > 1 ? 0 : in[r * cols + c]",
    ),
}


@pytest.mark.parametrize("name", WRONG_LATER)
def test_wrong_in_later_launches(name: str, tmp_path: Path) -> None:
    declared, first, value = WRONG_LATER[name]
    check = correct(tmp_path, declared, first, value)
    assert check.status == "fail", check.message
    # Every size is right once: at how many is no news.
    assert check.message == (
        "The first launch gives the right result, but a second one with other data does not. Either the kernel keeps "
        "results of an earlier launch instead of computing them, or the result depends on the order of threads "
        "(a race). Seen at rows = 64, cols = 64."
    )
    assert check.hint == (
        "A kernel must compute every element from its inputs in every launch, whatever was launched before."
    )


def test_the_line_is_that_of_the_variable(tmp_path: Path) -> None:
    declared, first, value = WRONG_LATER["wrong from the sixth on"]
    assert correct(tmp_path, declared, first, value).line == 3


HONEST = {
    "resets itself": (
        "__device__ unsigned int finished;",
        "if (threadIdx.x == 0 && threadIdx.y == 0) atomicInc(&finished, gridDim.x * gridDim.y - 1);",
        "finished <= gridDim.x * gridDim.y ? in[r * cols + c] : 0",
        "",
    ),
    "its host resets it": (
        "__device__ int launches;",
        COUNTED,
        "launches > 1 ? 0 : in[r * cols + c]",
        "void again() { int zero = 0; cudaMemcpyToSymbol(launches, &zero, sizeof zero); }",
    ),
    "a table": ("__device__ float ones[4] = {1, 1, 1, 1};", "", "in[r * cols + c] * ones[c & 3]", ""),
    "takes turns": (
        "__device__ unsigned turn;",
        COUNTED.replace("launches", "turn"),
        "in[r * cols + c] + 0 * (turn % 2)",
        "",
    ),
    "draws numbers": (
        "__device__ unsigned drawn = 1;",
        "if (c == 0 && r == 0) drawn = drawn * 1664525u + 1013904223u;",
        "in[r * cols + c] + 0 * (drawn % 2)",
        "",
    ),
    "keeps the largest": (
        "__device__ int largest;",
        "atomicMax(&largest, r);",
        "largest < 0 ? 0 : in[r * cols + c]",
        "",
    ),
    "counts for its own sake": ("__device__ int launches;", COUNTED, "in[r * cols + c]", ""),
}


@pytest.mark.parametrize("name", HONEST)
def test_state_that_is_put_to_use_costs_nothing(name: str, tmp_path: Path) -> None:
    check = correct(tmp_path, *HONEST[name])
    assert check.status == "pass", check.message


def test_what_the_host_sets() -> None:
    text = """
    cudaMemcpyToSymbol(count, &zero, sizeof(int));
    cudaMemcpyToSymbolAsync ( own :: n, &zero, 4, 0, cudaMemcpyHostToDevice, stream );
    cudaGetSymbolAddress((void **)&p, flag);
    // cudaMemcpyToSymbol(not_this, 0, 0);
    other(count2);
    """
    found = set_by_host([text])
    assert {"count", "n", "flag"} <= found and not found & {"not_this", "count2"}
