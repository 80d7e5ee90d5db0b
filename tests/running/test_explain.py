"""From a submission to the explanation of its wrong output: sizes are grown, and the check tells what was found."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.records import Sizes
from grader.launching.kernel import SizeRules
from grader.measured import Diagnosis
from grader.result import Check
from grader.running.explain import MAX_TRIES, explain, first_wrong, small_sizes
from grader.submission.records import Interpretation, LaunchPlan
from tests.pace import slowness

LAB = replace(labs.find("transpose"), sweeps=())

SOURCE = """#define T 16
__global__ void transpose_naive(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    NAIVE
}
__global__ void transpose_shared(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    SHARED
}
int main() {
    dim3 block(T, T), grid((cols + T - 1) / T, (rows + T - 1) / T);
    transpose_naive<<<grid, block>>>(in, out, rows, cols);
    transpose_shared<<<grid, block>>>(in, out, rows, cols);
}
"""
NAIVE = "if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];"
MENDED = "One change there makes the kernel pass every check; it was compiled and run."
UNWRITTEN = (
    "Take an element that no thread wrote, work out which thread should write it, and follow that thread: "
    "is there such a thread in the launch, does a condition or a loop turn it away, or does its index lead elsewhere?"
)
SHARED = """x = blockIdx.y * T + threadIdx.x, y = blockIdx.x * T + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];"""


@pytest.fixture
def checks(tmp_path: Path) -> Any:
    """Grades a source and gives its checks by id."""

    @cache
    def graded(naive: str = NAIVE, shared: str = SHARED) -> dict[str, Check]:
        path = tmp_path / "transpose.cu"
        path.write_text(SOURCE.replace("NAIVE", naive).replace("SHARED", shared), encoding="utf-8")
        return {check.id: check for check in pipeline.grade(path, LAB, GradeOptions(backend="emulator")).checks}

    return graded


def test_an_index_slip_is_told_at_one_tile_with_thread_and_line(checks: Any) -> None:
    row = checks("if (x < cols && y < rows) out[y * rows + x] = in[y * cols + x];")["naive.correct"]
    assert row.message.startswith("240 of 256 elements are wrong. out[0][1] should be in[1][0] = ")
    assert "but thread (1, 0) of block (0, 0) wrote in[0][1] = " in row.message
    assert row.message.endswith(
        " there in line 4. Exactly these elements are wrong: all but the main diagonal. "
        "In all wrong elements the result is the element of in at the same index: nothing was rearranged. "
        "This was seen at rows = 16, cols = 16."
    )
    assert (row.status, row.line) == ("fail", 4)
    assert row.hint == f"Two indices are in each other's place in the statement in line 4. {MENDED}"
    assert row.diagnosis is not None and row.diagnosis.size == {"rows": 16, "cols": 16}


def test_a_fault_that_one_tile_hides_is_found_at_two(checks: Any) -> None:
    row = checks(shared="if (x < cols && y < rows) out[y * cols + x] = tile[threadIdx.x][threadIdx.y];")[
        "shared.correct"
    ]
    # A single tile is right by chance; a rectangle of two is the next smallest.
    assert row.diagnosis is not None
    assert sorted(row.diagnosis.size.values()) == [16, 32]
    assert row.diagnosis.first == [0, 16]


def test_a_guard_left_out_is_told_at_a_size_off_the_tile(checks: Any) -> None:
    row = checks("out[x * rows + y] = in[y * cols + x];")["naive.ragged_sizes"]
    assert row.status == "fail" and "which has elements 0 to" in row.message
    found = row.diagnosis
    assert found is not None
    assert found.size == {"rows": 3, "cols": 3}
    assert found.overwritten is not None


def test_guards_of_the_wrong_axes_are_told_with_what_was_not_written(checks: Any) -> None:
    row = checks(shared=SHARED.replace("x < rows && y < cols", "x < cols && y < rows"))["shared.correct"]
    assert row.diagnosis is not None and row.diagnosis.values is not None
    assert sorted(row.diagnosis.size.values()) == [16, 32]
    assert (row.diagnosis.values.id, row.diagnosis.unwritten) == ("unwritten", 256)
    assert "but no thread wrote it." in row.message
    assert row.message.endswith(" It is right at squares, wrong at rectangles (rows = 128, cols = 64).")
    assert row.hint == (
        "The condition in line 12 is wrong. There two names are in each other's place: x < cols && y < rows. "
        f"{MENDED} The condition in line 12 turns away the threads that should write the 256 unwritten elements."
    )


def test_a_wrong_result_off_the_tile_has_its_own_explanation(checks: Any) -> None:
    """The last row is left out wherever the number of columns is odd."""
    row = checks("if (x < cols - cols % 2 && y < rows) out[x * rows + y] = in[y * cols + x];")["naive.ragged_sizes"]
    assert row.diagnosis is not None and row.diagnosis.region is not None
    assert row.diagnosis.region.id == "last_row"
    assert row.message.startswith("3 of 9 elements are wrong. ")
    assert row.message.endswith("This was seen at rows = 3, cols = 3.")
    assert "out[2][0] should be in[0][2] = " in row.message
    assert row.hint == f"The condition in line 4 is wrong. {MENDED}"


def test_what_is_right_has_no_diagnosis(checks: Any) -> None:
    assert [row.diagnosis for row in checks().values() if row.diagnosis is not None] == []


def test_an_explanation_costs_little_time(checks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.running import runs

    spent: list[float] = []

    def measured(*arguments: Any) -> dict[str, Diagnosis]:
        began_s = time.process_time()
        found = explain(*arguments)
        spent.append(time.process_time() - began_s)
        return found

    monkeypatch.setattr(runs, "explain", measured)
    checks(
        "if (x < cols && y < rows) out[y * rows + x] = in[y * cols + x];",
        SHARED.replace("threadIdx.x][threadIdx.y", "0][0"),
    )
    assert len(spent) == 2
    # 0.3 s is promised on two idle cores.
    assert max(spent) < 1.5 * slowness()


# -- which sizes are tried -------------------------------------------------------------


def interpretation(
    tile: tuple[int, ...] = (32, 8), covers: tuple[str, ...] = ("cols", "rows"), roles: tuple[str, ...] = ()
) -> Interpretation:
    return Interpretation(roles or ("in", "out", "rows", "cols"), LaunchPlan((32, 8, 1), tile, covers, False))


def pairs(sizes: list[Sizes]) -> list[tuple[int, int]]:
    return [(s["rows"], s["cols"]) for s in sizes]


KNOWN = {"rows": 128, "cols": 256}


def test_exact_sizes_grow_from_one_tile_rectangles_first() -> None:
    found = pairs(small_sizes(SizeRules(LAB, interpretation()), [{"rows": 1000, "cols": 1000}, KNOWN], exact=True))
    assert found[0] == (8, 32)
    assert found[-1] == (128, 256)
    assert len(found) == MAX_TRIES
    areas = [rows * cols for rows, cols in found]
    assert areas == sorted(areas)
    assert all(rows % 8 == 0 and cols % 32 == 0 for rows, cols in found)


def test_a_kernel_for_squares_is_asked_for_squares() -> None:
    squares = SizeRules(LAB, interpretation((16, 16), roles=("in", "out", "rows")))
    found = pairs(small_sizes(squares, [{"rows": 64, "cols": 64}], exact=True))
    assert found == [(16, 16), (32, 32), (64, 64)]


def test_sizes_off_the_tile_lie_below_and_above_it() -> None:
    found = pairs(small_sizes(SizeRules(LAB, interpretation((32, 32))), [{"rows": 33, "cols": 33}], exact=False))
    assert found[0] == (3, 3) and set(found[1:3]) == {(3, 5), (5, 3)}
    assert found[-1] == (33, 33)
    assert all(rows % 32 and cols % 32 for rows, cols in found)


def test_grids_over_a_product_or_over_lines_have_sizes_too() -> None:
    flat = pairs(small_sizes(SizeRules(LAB, interpretation((256,), ("rows*cols",))), [KNOWN], exact=True))
    assert flat[0] == (32, 32) and flat[-1] == (128, 256)
    lines = pairs(small_sizes(SizeRules(LAB, interpretation((1,), ("rows",))), [KNOWN], exact=True))
    assert lines == [(4, 256), (8, 256), (16, 256), (128, 256)]


def test_the_first_size_that_fails_is_taken_and_no_other_is_run() -> None:
    tried = []

    def attempt(sizes: Sizes) -> str | None:
        tried.append(sizes["n"])
        return "wrong" if sizes["n"] >= 3 else None

    assert first_wrong([{"n": n} for n in (1, 2, 3, 4)], attempt) == "wrong"
    assert tried == [1, 2, 3]
    assert first_wrong([{"n": 1}], attempt) is None


PRODUCT = r"""#include <cmath>
#include <cstdio>
__global__ void naive(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += FACTORS;
    c[y * n + x] = sum;
}
int main() {
    const int n = 32;
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; i++) { a[i] = i % 7 + 1; b[i] = i % 5 + 1; }
    float *da, *db, *dc;
    cudaMalloc(&da, sizeof a); cudaMalloc(&db, sizeof b); cudaMalloc(&dc, sizeof c);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice); cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    naive<<<dim3(2, 2), dim3(16, 16)>>>(da, db, dc, n);
    cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < n; y++) for (int x = 0; x < n; x++) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += FACTORS;
        if (!(fabsf(sum - c[y * n + x]) <= 1e-3f)) wrong++;
    }
    printf("%s\n", wrong ? "naive FAILED" : "naive ok");
    cudaFree(da); cudaFree(db); cudaFree(dc);
}
"""
BY_COLUMNS = (
    "At n = 32, where it ran, the kernel is right with the two matrices in each other's place: a product that reads "
    "its matrices by columns is right so. The lab's lie row by row."
)
UNNOTICED = "but the kernel is wrong at n = 32, where it ran, as well: the check does not notice."


@pytest.mark.parametrize(
    ("factors", "told", "untold"),
    [
        ("a[k * n + x] * b[y * n + k]", BY_COLUMNS, UNNOTICED),
        ("a[y * n + k] * b[x * n + k]", UNNOTICED, BY_COLUMNS),
    ],
)
def test_a_check_in_another_order_is_not_said_to_miss_it(factors: str, told: str, untold: str, tmp_path: Path) -> None:
    path = tmp_path / "matmul.cu"
    path.write_text(PRODUCT.replace("FACTORS", factors), encoding="utf-8")
    result = pipeline.grade(path, replace(labs.find("matmul"), sweeps=()), GradeOptions(backend="emulator"))
    (row,) = (check for check in result.checks if check.id == "naive.correct")
    assert row.status == "fail"
    assert told in row.message and untold not in row.message
