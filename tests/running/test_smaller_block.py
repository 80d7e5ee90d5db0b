"""A launch with a block smaller than the sizes: one element a thread is right only while the block can have as many."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Check
from tests.marks_only import marks_only

LAB = marks_only("matmul")
KERNELS = Path(__file__).parents[1] / "kernels" / "matmul"

LOOP = """__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += STEP) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += t[k] * b[k * n + j];
        c[blockIdx.x * n + j] = sum;
    }
}
int main() { int n = 512; matmul_row<<<n, n, n * 4>>>(a, b, c, n); }
"""


def correct(path: Path, variant: str) -> Check:
    result = pipeline.grade(path, LAB, GradeOptions(backend="emulator"))
    return next(c for c in result.checks if c.id == f"{variant}.correct")


def test_a_thread_for_each_element_is_told_with_the_block_that_shows_it() -> None:
    for variant, line in (("row", 2), ("column", 14)):
        found = correct(KERNELS / "bad" / "row_and_column_n_threads.cu", variant)
        assert (found.status, found.earned, found.line) == ("fail", 0, line)
        assert found.message.startswith(
            "The kernel is right only while the block has a thread for each element. With a block of 32 threads: 4096 "
            "of 4096 elements are wrong."
        )
        assert found.message.endswith("Seen at n = 64.")
        assert found.hint.startswith("A block has at most 1024 threads")
        assert found.data["threads"] == 32


def test_a_kernel_that_goes_on_passes_whatever_its_host_code_launches(tmp_path: Path) -> None:
    path = tmp_path / "matmul.cu"
    path.write_text(LOOP.replace("STEP", "blockDim.x"))
    assert correct(path, "row").status == "pass"


def test_part_of_the_columns_is_wrong_where_only_the_row_is_read_in_steps(tmp_path: Path) -> None:
    path = tmp_path / "matmul.cu"
    path.write_text(LOOP.replace("STEP", "n"))
    found = correct(path, "row")
    assert found.status == "fail"
    assert "With a block of 32 threads: 2048 of 4096 elements are wrong" in found.message


def test_a_block_that_never_grows_is_not_made_smaller(tmp_path: Path) -> None:
    """Its size may stand in the kernel."""
    path = tmp_path / "matmul.cu"
    path.write_text(LOOP.replace("<<<n, n, n * 4>>>", "<<<n, 128, n * 4>>>").replace("STEP", "128"))
    assert correct(path, "row").status == "pass"


@pytest.mark.slow
def test_a_size_that_is_a_constant_is_one_that_the_block_can_have() -> None:
    """As the course sheet has it: N is 1024, and so many threads has a block."""
    path = KERNELS / "good" / "constants_and_globals.cu"
    assert {correct(path, variant).status for variant in ("row", "column")} == {"pass"}
