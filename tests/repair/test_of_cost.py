"""Right functions and programs that cost too much: which changes are made for which check, and whole gradings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.files import data_root
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.repair.faster_changes import strided_changes
from grader.repair.function import changed, functions_of
from grader.repair.of_cost import MAX_GRADED, cheaper
from grader.result import Check
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

KERNELS = data_root() / "tests" / "kernels"


def parsed(text: str) -> Any:
    return parse(SourceText(Path("k.cu"), text, "utf-8"))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "int first = 8 * (blockIdx.x * 32 + threadIdx.x);\n for (int i = first; i < first + 8 && i < n; ++i) f(i);",
            "for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);",
        ),
        (
            "int t = threadIdx.x; for (int i = t * each; i < min(n, t * each + each); i++) f(i);",
            "for (int i = t; i < n; i += gridDim.x * blockDim.x) f(i);",
        ),
        (
            "int t = threadIdx.x, a = t * 4, e = min(a + 4, n); int i; for (i = a; i < e; i += 1) f(i);",
            "for (i = t; i < n; i += gridDim.x * blockDim.x) f(i);",
        ),
        (
            "int t = threadIdx.x; for (int i = t * 4; i < t * 4 + 4; i++) f(i);",
            "for (int i = t; i < (4) * (gridDim.x * blockDim.x); i += gridDim.x * blockDim.x) f(i);",
        ),
        (
            "int t = threadIdx.x; for (int k = 0; k < 4; k++) f(t * 4 + k);",
            "for (int k = 0; k < 4; k++) f(t + k * (gridDim.x * blockDim.x));",
        ),
        ("int t = threadIdx.x; for (int i = t; i < n; i += 32) f(i);", ""),
        ("int t = threadIdx.x; for (int i = t * 4; i < n; i += 2) f(i);", ""),
        ("for (int i = n * 4; i < n; ++i) f(i);", ""),
    ],
)
def test_elements_of_a_thread_are_taken_in_steps_of_all_threads(text: str, after: str) -> None:
    whole = f"__global__ void k(int n, int each) {{ {text} }}\n"
    changes = [c for f in functions_of(parsed(whole), "k") for c in strided_changes(f)]
    assert [after in changed(whole, change) for change in changes] == ([True] if after else [])


HOST = """#define BX 32
__global__ void k(float *a, int rows, int cols) {
    int r = blockIdx.x * BX + threadIdx.x, c = blockIdx.y * 8 + threadIdx.y;
    if (r < rows && c < cols) a[r * cols + c] = 1;
}
void solve(float *a, float *h, int rows, int cols) {
    cudaStream_t s;
    cudaStreamCreate(&s);
    dim3 block(BX, 8), grid((rows + BX - 1) / BX, (cols + 7) / 8);
    for (int i = 0; i < 4; i++) {
        cudaMemcpy(a, h, 4, cudaMemcpyHostToDevice);
        k<<<grid, block, 0, s>>>(a, rows, cols);
        cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);
        cudaDeviceSynchronize();
    }
}
"""


@pytest.mark.parametrize(
    ("check", "line", "row"),
    [
        ("overlap", 14, "-        cudaDeviceSynchronize();"),
        ("overlap", 0, "+        cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s);"),
        ("launches", 11, "-        cudaMemcpy(a, h, 4, cudaMemcpyHostToDevice);"),
        ("launches", 13, "-        cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);"),
        ("occupancy", 0, "+"),
        ("coalescing", 0, "+    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * BX + threadIdx.x;"),
    ],
)
def test_what_is_tried_for_a_check(check: str, line: int, row: str) -> None:
    failed: Any = SimpleNamespace(check=check, line=line, data={})
    launch = SimpleNamespace(kernel="k", block=(32, 8, 1))
    runs = SimpleNamespace(
        # The observed case comes out wrong: kernels alone are not changed.
        named=lambda: [SimpleNamespace(kind="observe")],
        begun=lambda case, limits: (case, limits),
        judged=lambda _case, _seen: SimpleNamespace(outcome=SimpleNamespace(status="fault"), is_right=False),
        observations=[SimpleNamespace(calls=[SimpleNamespace(launches=[launch])])],
    )
    called: Any = SimpleNamespace(
        files=[parsed(HOST)], runs=runs, compiled=SimpleNamespace(run=lambda *_: SimpleNamespace(calls=[]))
    )
    texts = [changed(HOST, change) for _parsed, change in cheaper(called, failed)]
    assert len(texts) <= MAX_GRADED
    if check == "occupancy":
        # Grid and block in each other's place come first.
        assert "#define BX 8\n" in texts[1] and "dim3 block(BX, 32)" in texts[1]
        assert texts[0].count("#define BX 32\n") == 1 and texts[0] != HOST
    elif row.startswith("-"):
        # What is spoken of is left out first.
        assert row[1:] not in texts[0] and len(texts[0].splitlines()) == len(HOST.splitlines()) - 1
    else:
        assert any(row[1:] in text for text in texts)
    if check == "coalescing":
        assert "grid((cols + BX - 1) / BX, (rows + 7) / 8)" in texts[-1]


def failed(lab: str, name: str) -> Check:
    options = GradeOptions(backend="emulator", answers=True)
    result = grade(KERNELS / lab / "bad" / f"{name}.cu", replace(find(lab), sweeps=()), options)
    (check,) = (check for check in result.checks if check.status == "fail")
    return check


def test_a_right_function_that_is_not_coalesced_is_shown_how_it_is() -> None:
    check = failed("vector-sum", "chunk_a_thread")
    assert check.check == "coalescing" and check.repair is not None
    assert (check.repair.kind, check.repair.line) == ("bound", 5)
    row = "+    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {"
    assert row in check.repair.diff
    assert "neighbouring threads should take neighbouring elements" in check.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lab", "name", "row"),
    [
        ("two-streams", "blocking_copies", "cudaMemcpyDeviceToHost, stream);"),
        ("two-streams", "waits_for_each", "-        cudaStreamSynchronize(stream);"),
        ("saxpy", "blocks_of_one_warp", "+    saxpy<<<(n + 255) / 256, 256>>>(a, x, y, n);"),
        ("saxpy", "block_for_grid", "+    saxpy<<<blocks, threads>>>(a, x, y, n);"),
        ("heat-equation", "down_the_columns", "grid((cols + 31) / 32, (rows + 7) / 8)"),
        ("mandelbrot", "rows_of_32", "+#define BX 8"),
        ("image-blur", "copied_twice", "-    CHECK(cudaMemcpy(d_in, in.data(), in.size(), cudaMemcpyHostToDevice));"),
    ],
)
def test_one_change_makes_every_check_pass(lab: str, name: str, row: str) -> None:
    check = failed(lab, name)
    assert check.repair is not None and any(row in line for line in check.repair.diff), check.repair
    assert "One change there makes every check pass" in check.hint
