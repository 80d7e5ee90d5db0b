"""What is said of kernels with one fault, after changes were tried: exact lines, kinds, hints and diffs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.launching.trial import Run, Trials
from grader.repair.verified import answers, without_answers
from grader.result import Check
from tests.repair.conftest import KERNELS, Grade

EVERY = "One change there makes the kernel pass every check; it was compiled and run."

MENDED = [
    # The read comes first, the write belongs to the next pass: between the two lines a barrier stands.
    (
        "matmul/bad/second_barrier_missing.cu",
        "block.races",
        (12, "barrier"),
        "A barrier is missing at the end of the loop body, after line 12: faster threads overwrite in the "
        "next iteration what slower ones are still reading.",
        ["+        __syncthreads();"],
    ),
    # The grid is right: rows and columns are not exchanged in the output's guard.
    (
        "transpose/bad/guard_not_exchanged.cu",
        "padded.ragged_sizes",
        (10, "guard"),
        "The condition in line 10 is wrong.",
        ["-    if (r < rows && c < cols)", "+    if (orow < cols && oc < rows)"],
    ),
    # The guard is right: the row's length is another one.
    (
        "transpose/bad/wrong_pitch.cu",
        "naive.correct",
        (7, "index"),
        "An index in line 7 is wrong. The wrong name there is cols.",
        ["-        out[c * cols + r] = in[r * cols + c];", "+        out[c * rows + r] = in[r * cols + c];"],
    ),
    (
        "matmul/bad/sum_never_set.cu",
        "row.correct",
        (9, "initial_value"),
        "An initial value is missing in line 9.",
        ["+        s = 0;"],
    ),
    # Two threads write one element: ordered, one of the two would still be lost.
    (
        "box-blur/bad/halo_into_the_block.cu",
        "shared.correct",
        (12, "index"),
        "An index in line 12 is wrong. The wrong part there is t + blockDim.x.",
        [
            "-            w[t + blockDim.x] = in[i + blockDim.x];",
            "+            w[t + blockDim.x + radius] = in[i + blockDim.x];",
        ],
    ),
    (
        "matmul/bad/one_step_too_many.cu",
        "naive.memory_safety",
        (7, "comparison"),
        "A comparison in line 7 is wrong. There k <= n must not hold where both sides are equal.",
        ["-        for (int k = 0; k <= n; ++k)", "+        for (int k = 0; k < n; ++k)"],
    ),
]


def check(checks: list[Check], id: str) -> Check:
    return next(c for c in checks if c.id == id)


@pytest.mark.parametrize(("file", "id", "place", "hint", "rows"), MENDED, ids=[m[0] for m in MENDED])
def test_a_change_of_one_place_is_found_and_said(
    graded: Grade, file: str, id: str, place: tuple[int, str], hint: str, rows: list[str]
) -> None:
    result = graded(file.partition("/")[0], KERNELS / file)
    found = check(result.checks, id)
    assert found.repair is not None
    assert (found.repair.line, found.repair.kind) == place
    assert found.hint.startswith(f"{hint} {EVERY}")
    assert [row for row in found.repair.diff if row[0] in "+-"] == rows
    # No mark depends on it.
    assert found.status == "fail" and found.earned < found.possible
    assert "\n".join(rows) in answers(result)
    assert answers(without_answers(result)) == ""


def test_a_step_that_was_copied_is_found_also_where_a_rest_is_left_out(graded: Grade) -> None:
    result = graded("matmul", KERNELS / "matmul" / "bad" / "unrolled_step_copied.cu")
    said = "An index in line 14 is wrong. The wrong number there is 2 in k + 2. One change there removes this fault;"
    assert check(result.checks, "unrolled.correct").hint.startswith(said)


def test_padding_says_what_it_does_to_the_line(graded: Grade) -> None:
    found = check(graded("transpose", KERNELS / "transpose/bad/conflicts_left.cu").checks, "padded.bank_conflicts")
    assert found.repair is not None and (found.repair.line, found.repair.kind) == (4, "padding")
    assert found.repair.diff[-2:] == [
        "+    __shared__ float tile[32][32 + 1];",
        "     int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;",
    ]
    assert found.repair.effect == "With tile[32][32 + 1] line 12 takes 1 wavefront per request instead of 32."


NAIVE = """
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = in[r * cols + c];
}
"""
FOLLOW = (
    "Follow one element by hand: which thread reads it, where it stores it, and which thread writes the result. "
    "The value you got instead shows where it was taken from."
)


def test_where_no_change_of_one_place_helps_no_cause_is_named(graded: Grade) -> None:
    file = KERNELS / "transpose/bad/blocks_not_exchanged.cu"
    (found,) = (c for c in graded("transpose", file).checks if c.check == "correct" and c.status == "fail")
    assert found.repair is None
    assert found.hint == FOLLOW


def test_a_grid_that_leaves_elements_out_hides_no_fault_of_the_kernel(graded: Grade) -> None:
    result = graded("transpose", KERNELS.parents[1] / "submissions" / "morozov")
    rows = {c.id: c for c in result.checks}
    equal = "There j <= TILE_DIM must not hold where both sides are equal."
    gone = f"A comparison in line 37 is wrong. {equal} One change there removes this fault; it was compiled and run."
    assert rows["padded.memory_safety"].hint.startswith(gone)
    # The grid stands in the host code, which stays as it is.
    assert rows["padded.memory_safety"].repair is None
    assert gone not in rows["padded.ragged_sizes"].hint


def test_the_condition_that_turned_the_writers_away_is_named(graded: Grade) -> None:
    """That they would be right without it is not said where it is known how to correct it."""
    found = check(graded("transpose", KERNELS / "transpose/bad/guard_not_exchanged.cu").checks, "padded.ragged_sizes")
    assert found.diagnosis is not None and found.diagnosis.unwritten == 6
    assert ("The condition in line 10 turns away the threads that should write the 6 unwritten elements.") in found.hint


def test_a_condition_is_named_also_where_the_writers_would_be_wrong(graded: Grade) -> None:
    """The borders follow another rule: no change of the condition alone makes them right."""
    file = KERNELS / "box-blur/bad/borders_left_out.cu"
    (found,) = (c for c in graded("box-blur", file).checks if c.check == "correct" and c.status == "fail")
    assert found.repair is None
    assert found.hint == (
        "The condition in line 5 turns away the threads that would write the 4 unwritten elements; without the "
        "condition they are written, but with wrong values."
    )


def test_no_condition_is_blamed_where_an_index_leads_elsewhere(graded: Grade, tmp_path: Path) -> None:
    """The guard is right; the threads that it turns away have nothing to write."""
    file = tmp_path / "transpose.cu"
    file.write_text(NAIVE.replace("c * rows + r", "c * rows + r / 2"))
    (found,) = (c for c in graded("transpose", file).checks if c.check == "correct" and c.status == "fail")
    assert found.diagnosis is not None and found.diagnosis.unwritten
    assert "turns away" not in found.hint


SHARED = """
#include <cstdio>
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (c < cols && r < rows)
        t[threadIdx.y][threadIdx.x] = in[r * cols + c];
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (c < rows && r < cols)
        out[r * rows + c] = t[threadIdx.x][threadIdx.y];
}
"""
MAIN = """
int main()
{
    float *a, *b;
    cudaMalloc(&a, 64 * 96 * sizeof(float));
    cudaMalloc(&b, 64 * 96 * sizeof(float));
    cudaMemset(a, 0, 64 * 96 * sizeof(float));
    KERNEL<<<dim3(3, 2), dim3(32, 32)>>>(a, b, 64, 96);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("magics", [("%%cu", "%%cu"), ("%%writefile naive.cu", "%%writefile shared.cu")])
def test_a_change_is_found_in_any_program_of_a_notebook(graded: Grade, tmp_path: Path, magics: tuple[str, str]) -> None:
    programs = [NAIVE + MAIN.replace("KERNEL", "transpose_naive"), SHARED + MAIN.replace("KERNEL", "transpose_shared")]
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": magic + program}
        for magic, program in zip(magics, programs, strict=True)
    ]
    file = tmp_path / "transpose.ipynb"
    file.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    result = graded("transpose", file)
    assert check(result.checks, "naive.correct").status == "pass"
    found = check(result.checks, "shared.races")
    assert found.repair is not None
    assert (found.repair.line, found.repair.kind) == (8, "barrier")
    assert found.hint.startswith(f"A barrier is missing after line 8 of cell 2. {EVERY}")


TILED = """
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (c < cols && r < rows)
        t[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (c < rows && r < cols)
        out[r * rows + c] = t[threadIdx.x][threadIdx.y];
}
"""


@pytest.mark.parametrize(
    "called",
    [
        pytest.param("volatile int a[64]; a[n & 63] = n; return n <= 0 ? a[0] : f(n - 1) + a[n & 63];", id="memory"),
        pytest.param("volatile int i = 0; while (i < 1 << 30) i = i + 1; return i * n;", id="instructions"),
    ],
)
def test_no_return_is_blamed_where_the_call_in_its_condition_does_not_end(
    graded: Grade, tmp_path: Path, called: str
) -> None:
    file = tmp_path / "transpose.cu"
    text = TILED.replace("__syncthreads();", "if (f(100000) == -1) return;\n    __syncthreads();", 1)
    file.write_text(f"__device__ int f(int n) {{ {called} }}\n{text}")
    found = check(graded("transpose", file).checks, "padded.correct")
    assert found.status == "fail" and found.hint is not None and "still needed" not in found.hint
    assert found.repair is None or found.repair.kind != "guard"


def test_a_launch_is_not_blamed_where_a_change_of_the_kernel_mends_it(graded: Grade, tmp_path: Path) -> None:
    """An axis that the launch has one block of may be one that the kernel should not ask for."""
    text = (KERNELS / "transpose/good/block_a_row.cu").read_text()
    file = tmp_path / "transpose.cu"
    file.write_text(text.replace("b[j * n + blockIdx.x]", "b[j * n + blockIdx.y]"))
    found = check(graded("transpose", file).checks, "naive.correct")
    assert found.repair is not None and (found.repair.line, found.repair.kind) == (5, "index")
    assert found.hint is not None and found.hint.startswith("An index in line 5 is wrong.")
    assert "blocks" not in found.hint


def test_a_lab_says_who_sees_the_change(graded: Grade, tmp_path: Path) -> None:
    lab = find("transpose", ())
    file = KERNELS / "transpose/bad/wrong_pitch.cu"
    shown = {}
    for who in ("student", "teacher", "off"):
        result = grade(file, dataclasses.replace(lab, repairs=who, sweeps=()), GradeOptions(backend="emulator"))
        shown[who] = check(result.checks, "naive.correct")
    assert shown["student"].repair is not None and shown["student"].repair.diff
    assert shown["teacher"].repair is not None and shown["teacher"].repair.diff == []
    assert shown["teacher"].hint == shown["student"].hint
    assert shown["off"].repair is None
    assert "line 7" not in shown["off"].hint


def test_the_same_program_gets_the_same_change(graded: Grade) -> None:
    file = KERNELS / "transpose/bad/tiles_not_turned.cu"
    first, second = (check(graded("transpose", file).checks, "shared.correct") for _ in range(2))
    assert first.repair is not None and first == second


ENDLESS = """\
__global__ void transposeNaive(const float *in, float *out, int rows, int cols)
{
    for (;;) { char *p = (char *)malloc(64); if (!p) break; free(p); }
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}
"""


@pytest.mark.slow
def test_a_search_ends_soon_where_threads_execute_one_by_one(
    graded: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is issued for few threads takes as long as what is issued for a whole grid, and counts for more."""
    searched: list[Run] = []
    really = Trials.run_loaded

    def run_loaded(self: Trials, *arguments: Any, **named: Any) -> Run:
        run = really(self, *arguments, **named)
        # A grading's own launches have the limits of the backend.
        if named.get("instructions"):
            searched.append(run)
        return run

    monkeypatch.setattr(Trials, "run_loaded", run_loaded)
    (tmp_path / "transpose.cu").write_text(ENDLESS)
    result = graded("transpose", tmp_path / "transpose.cu")
    assert check(result.checks, "naive.correct").status == "fail"
    assert searched
    assert sum(run.outcome.issued or 0 for run in searched) < 4 * 6_000_000


SPREAD = """#include <cuda_runtime.h>
__global__ void transposeNaive(const float *in, float *out, int rows, int cols)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += gridDim.x * blockDim.x) {
        int r = i / rows;
        int c = i % rows;
        out[c * rows + r] = in[i];
    }
}
int main()
{
    int rows = 256, cols = 192;
    float *in, *out;
    cudaMalloc(&in, rows * cols * sizeof(float));
    cudaMalloc(&out, rows * cols * sizeof(float));
    cudaMemset(in, 0, rows * cols * sizeof(float));
    transposeNaive<<<4096, 256>>>(in, out, rows, cols);
    cudaDeviceSynchronize();
}
"""


def test_a_grid_whose_threads_mostly_have_nothing_to_do_is_searched_as_any_other(graded: Grade, tmp_path: Path) -> None:
    (tmp_path / "transpose.cu").write_text(SPREAD)
    found = check(graded("transpose", tmp_path / "transpose.cu").checks, "naive.correct")
    assert found.repair is not None and (found.repair.line, found.repair.kind) == (5, "index")
    assert found.hint.startswith(f"Line 5 and the next one use the wrong size. {EVERY}")
    changed = [row for row in found.repair.diff if row[0] == "+"]
    assert changed == ["+        int r = i / cols;", "+        int c = i % cols;"]


LOADED = """
constexpr int S = 16;
__device__ void load(float (&tile)[S][S], const float *m, int t, int n)
{
    int row = blockIdx.y * S + threadIdx.y, col = t * S + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = row < n && col < n ? m[row * n + col] : 0.0f;
}
__device__ void loadB(float (&tile)[S][S], const float *m, int t, int n)
{
    int row = blockIdx.y * S + threadIdx.y, col = t * S + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = row < n && col < n ? m[row * n + col] : 0.0f;
}
__global__ void block(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[S][S], b[S][S];
    int row = blockIdx.y * S + threadIdx.y, col = blockIdx.x * S + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t * S < n; ++t) {
        load(a, A, t, n);
        loadB(b, B, t, n);
        __syncthreads();
        for (int k = 0; k < S; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}
"""


def test_a_tile_that_a_helper_moves_along_the_wrong_axis_is_turned(graded: Grade, tmp_path: Path) -> None:
    (tmp_path / "matmul.cu").write_text(LOADED)
    found = check(graded("matmul", tmp_path / "matmul.cu").checks, "block.correct")
    assert found.repair is not None and (found.repair.line, found.repair.kind) == (10, "index")
    assert found.hint.startswith(
        "In line 10 the tile moves along the wrong axis: rows are taken where columns are meant"
    )
    assert "+    int row = t * S + threadIdx.y, col = blockIdx.x * S + threadIdx.x;" in found.repair.diff


ROWS = """#include <cuda_runtime.h>
__global__ void mm_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float line[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) line[i] = a[blockIdx.x * n + i];
    __syncthreads();
    float acc = 0.f;
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        for (int i = 0; i < n; ++i) acc = fmaf(line[i], b[i * n + j], acc);
        c[blockIdx.x * n + j] = acc;
    }
}
int main()
{
    int n = 600;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    cudaMemset(b, 0, n * n * sizeof(float));
    mm_row<<<n, 256, n * sizeof(float)>>>(a, b, c, n);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_what_shows_only_beyond_a_large_block_is_mended(graded: Grade, tmp_path: Path) -> None:
    (tmp_path / "matmul.cu").write_text(ROWS)
    found = check(graded("matmul", tmp_path / "matmul.cu").checks, "row.correct")
    assert found.repair is not None and (found.repair.line, found.repair.kind) == (9, "initial_value")
    said = "acc keeps its value from one pass of a loop to the next: set it to 0 before line 9."
    assert found.hint.startswith(f"{said} {EVERY}")
    assert "+        acc = 0;" in found.repair.diff


def test_a_return_that_a_device_allows_and_the_task_does_not_goes_behind_the_barrier(graded: Grade) -> None:
    result = graded("box-blur", KERNELS / "box-blur/bad/returns_before_barrier.cu")
    found = check(result.checks, "shared.races")
    assert found.hint.startswith(
        "The return in line 6 comes before the barrier in line 13, which all threads of the block have to reach: put "
        f"the condition around what it guards instead. {EVERY}"
    )
    assert found.repair is not None
    rows = [row.removeprefix("+").strip() for row in found.repair.diff if row[0] == "+"]
    assert rows[0] == "if (i < count) { w[t + radius] = in[i];"
    assert rows[-2:] == ["if (i >= count)", "return;"]
