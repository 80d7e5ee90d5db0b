"""What goes through shared memory for show is told from what the output is made of, however it is mixed in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.pipeline import grade
from tests.marks_only import marks_only

WHOLE = marks_only("transpose")
LAB = replace(WHOLE, variants=tuple(v for v in WHOLE.variants if v.name == "shared"))
KERNEL = """
__global__ void shared(const float *src, float *dst, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    float x = 0.0f;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x = src[r * cols + c];
    else
        tile[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    float t = tile[threadIdx.x][threadIdx.y];
    WRITE
}
"""
OWN = "if (r < rows && c < cols) dst[c * rows + r] = VALUE;"
OTHER = """c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) dst[r * rows + c] = VALUE;"""
DIRECT = ["x + 0 * t", "t == 12345.f ? 0 : x", "fminf(x, fabsf(t) + 1e30f)", "x + (t - t)", "x * (t < 1e30f)"]
DIRECT += [
    "__int_as_float(__float_as_int(x) | (__float_as_int(t) == 0x7fffffff))",
    "x + 1e-30f * t",
    "isnan(t) ? t : x",
]
STAGED = ["t", "t + 0 * x", "2 * (0.5f * t)", "__int_as_float(__float_as_int(t) | 0)"]


def technique(folder: Path, write: str) -> tuple[str, str]:
    """The verdict on a kernel that writes so, and its message's id."""
    (folder / "transpose.cu").write_text(KERNEL.replace("WRITE", write))
    checks = {check.check: check for check in grade(folder, LAB, backend="emulator").checks}
    assert checks["correct"].status == "pass", checks["correct"].message
    said = checks["technique"].message_said
    return checks["technique"].status, said.id if said is not None else ""


@pytest.mark.parametrize("value", DIRECT)
def test_a_value_that_changes_nothing_is_not_used(tmp_path: Path, value: str) -> None:
    assert technique(tmp_path, OWN.replace("VALUE", value)) == ("fail", "checks.technique.unused")


@pytest.mark.parametrize("value", STAGED)
def test_a_value_that_the_output_is_made_of_is_used(tmp_path: Path, value: str) -> None:
    assert technique(tmp_path, OTHER.replace("VALUE", value)) == ("pass", "checks.technique.passed")
