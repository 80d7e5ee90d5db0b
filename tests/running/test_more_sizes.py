"""A variant's own sizes: what a kernel forgets that makes a whole row in one block shows without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Result
from tests.marks_only import marks_only

Grade = Callable[..., Result]

LAB = marks_only("matmul")
assert {v.name: v.more_sizes for v in LAB.variants if v.more_sizes} == {"row": ({"n": 288},), "column": ({"n": 288},)}

ROW = """#define N 512
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    __shared__ float t[1024];
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
int main() { matmul_row<<<N, THREADS>>>(a, b, c, N); }
"""


@pytest.fixture
def graded(tmp_path: Path) -> Grade:
    def grade(threads: str = "128", step: str = "blockDim.x", source: str = ROW) -> Result:
        path = tmp_path / "matmul.cu"
        path.write_text(source.replace("THREADS", threads).replace("STEP", step), encoding="utf-8")
        return pipeline.grade(path, LAB, GradeOptions(backend="emulator"))

    return grade


def sizes(result: Result) -> list[tuple[str, int, str]]:
    return [(case.kind, case.size["n"], case.status) for case in result.variants["row"].cases if not case.drawn]


LABS = [("correct", 32), ("correct", 64), ("observe", 96), ("ragged", 33), ("ragged", 50)]
RIGHT = [(*case, "pass") for case in LABS]


def test_a_right_kernel_is_run_there_and_counted_at_the_observed_size(graded: Grade) -> None:
    result = graded()
    assert sizes(result) == [*RIGHT, ("correct", 288, "pass")]
    counters = result.variants["row"].counters
    assert counters is not None and counters.size == {"n": 96}
    (row,) = (check for check in result.checks if check.id == "row.correct")
    assert (row.status, row.message) == ("pass", "Every element is right at 4 tested sizes.")


@pytest.mark.parametrize("threads", [100, 256])
def test_columns_beyond_the_block_that_nobody_makes_are_told(graded: Grade, threads: int) -> None:
    result = graded(str(threads), "n")
    assert sizes(result) == [*RIGHT, ("correct", 288, "fail")]
    (row,) = (check for check in result.checks if check.id == "row.correct")
    assert (row.status, row.earned, row.line) == ("fail", 0, 2)
    assert row.message.startswith(f"{288 * (288 - threads)} of 82944 elements are wrong. c[0][{threads}] should be ")
    assert row.message.endswith(
        f", but no thread wrote it. Exactly these elements are wrong: the last {288 - threads} columns. "
        "In all wrong elements nothing was written. This was seen at n = 288. "
        "Of the 4 sizes of this check it is right at 3, for instance at n = 96."
    )
    assert row.hint.startswith(f"Only the first {threads} columns are computed, as many as the block has threads.")


def test_a_column_that_is_taller_than_the_block_is_told_in_rows() -> None:
    assert LAB.selftest is not None
    result = pipeline.grade(LAB.selftest / "bad" / "column_taller_than_block.cu", LAB, GradeOptions(backend="emulator"))
    (row,) = (check for check in result.checks if check.id == "column.correct")
    assert "Exactly these elements are wrong: the last 160 rows." in row.message
    assert row.hint.startswith("Only the first 128 rows are computed, as many as the block has threads.")


def test_a_kernel_that_is_wrong_already_is_not_run_there(graded: Grade) -> None:
    result = graded("64", "n")
    assert [(kind, n) for kind, n, _status in sizes(result)] == LABS
    (row,) = (check for check in result.checks if check.id == "row.correct")
    # At a size that is small enough for the launch's history the same is told.
    assert row.message.endswith(
        " This was seen at n = 96. Of the 3 sizes of this check it is right at 2, for instance at n = 64."
    )
    assert row.hint.startswith("Only the first 64 columns are computed, as many as the block has threads.")


def test_a_kernel_of_one_size_is_not_asked_for_another(graded: Grade) -> None:
    fixed = ROW.replace(", int n)", ")").replace("a, b, c, N)", "a, b, c)").replace("N 512", "N 64")
    fixed = fixed.replace("< n", "< N").replace("* n", "* N") + "static_assert(N == 64);"
    assert sizes(graded(source=fixed)) == [("observe", 64, "pass")]


def test_nor_is_one_whose_size_stands_in_it_by_another_name(tmp_path: Path) -> None:
    path = tmp_path / "transpose.cu"
    path.write_text(
        "#define PLACES 128\n"
        "__global__ void transpose_naive(const float *in, float *out) {\n"
        "    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n"
        "    out[x * PLACES + y] = in[y * PLACES + x];\n"
        "}\n"
        "int main() { transpose_naive<<<dim3(8, 8), dim3(16, 16)>>>(in, out); }\n"
    )
    lab = marks_only("transpose")
    variants = tuple(replace(v, more_sizes=({"rows": 288, "cols": 288},)) for v in lab.variants)
    result = pipeline.grade(path, replace(lab, variants=variants), GradeOptions(backend="emulator"))
    assert [(c.kind, c.size["rows"], c.status) for c in result.variants["naive"].cases if not c.drawn] == [
        ("observe", 128, "pass")
    ]


@pytest.mark.slow
def test_a_kernel_whose_cost_only_shows_there_is_not_blamed(graded: Grade) -> None:
    slow = ROW.replace("sum += ", "for (int i = 0; i < 40; ++i) sum += i < 39 ? clock() * 0.0f : ")
    result = graded(source=slow)
    assert sizes(result) == RIGHT
    (row,) = (check for check in result.checks if check.id == "row.correct")
    assert (row.status, row.earned) == ("pass", 6)
