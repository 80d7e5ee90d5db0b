"""A kernel whose text cannot be read as one: what the compiler says of it, and of nothing else in the file."""

from __future__ import annotations

from pathlib import Path

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.result import Check
from tests.marks_only import marks_only

SOURCE = """#include <cstdio>
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols
        out[c * rows + r] = in[r * cols + c];
}
int main() { cout << 1; }
"""


def present(folder: Path, source: str) -> Check:
    file = folder / "transpose.cu"
    file.write_text(source)
    result = grade(file, marks_only("transpose"), GradeOptions(backend="emulator"))
    return next(c for c in result.checks if c.id == "naive.present")


def test_the_compilers_first_error_is_said(tmp_path: Path) -> None:
    found = present(tmp_path, SOURCE)
    assert (found.status, found.line, found.data["cause"]) == ("fail", 6, 5)
    assert found.message == 'The kernel in line 2 cannot be read; the compiler says of line 6: expected a ")"'
    assert found.hint.startswith("A closing ) seems to be missing at the end of line 5")


def test_a_kernel_that_an_if_leaves_out_is_not_blamed_for_the_host_code(tmp_path: Path) -> None:
    right = (
        SOURCE.replace("c < cols\n", "c < cols)\n")
        .replace("__global__", "#if 0\n__global__")
        .replace("int main", "#endif\nint main")
    )
    found = present(tmp_path, right)
    assert found.line == 3
    assert "is excluded by an #if" in found.message
