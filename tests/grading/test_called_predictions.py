"""Predicted times of functions: the launches that their host code makes, added up, or why there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import called, pipeline
from grader.grading.options import GradeOptions
from grader.lab.labs import find
from grader.result import Variant
from grader.timing.instructions import read_device
from tests.grading.test_functions import BODY, KERNEL, RIGHT

SAXPY = find("saxpy")
assert SAXPY.timing is not None
N = 1 << 22
LAB = replace(SAXPY, sweeps=(), timing=replace(SAXPY.timing, sizes=({"n": N},)))
QUARTERS = """{
    for (int k = 0; k < 4; k++) {
        int m = (n + 3) / 4, at = k * m, count = n - at < m ? n - at : m;
        if (count > 0) saxpy<<<(count + 255) / 256, 256>>>(a, x + at, y + at, count);
    }
}"""
FILLED = """{
    float *room;
    cudaMalloc(&room, n * sizeof(float));
    cudaMemset(room, 0, n * sizeof(float));
    BODY
    cudaFree(room);
}"""
BY_RESULT = """{
    float before, after;
    cudaMemcpy(&before, y, sizeof(float), cudaMemcpyDeviceToHost);
    BODY
    cudaMemcpy(&after, y, sizeof(float), cudaMemcpyDeviceToHost);
    if (before != after) saxpy<<<1, 32>>>(0.0f, x, y, n);
}"""
OF_STRUCT = KERNEL.replace("float a, const float *x, float *y, int n", "Arrays given, float a, int n").replace(
    "    int i", "    const float *x = given.x; float *y = given.y;\n    int i"
)


def predicted(folder: Path, body: str, kernel: str = KERNEL) -> Variant:
    (folder / "saxpy.cu").write_text(kernel + RIGHT.replace(BODY, body.replace("BODY", BODY)), "utf-8")
    options = GradeOptions(backend="emulator", repairs=False, predict="h200")
    result = pipeline.grade(folder / "saxpy.cu", LAB, options)
    assert result.status == "passed", result.checks
    return result.variants["solve"]


def test_a_kernel_of_a_namespace_without_a_name_is_found_whatever_each_compiler_calls_it(tmp_path: Path) -> None:
    inside = predicted(tmp_path, BODY, f"namespace {{\n{KERNEL}}}\n")
    assert inside.predicted is not None and inside.predicted.size == {"n": N}


def test_what_is_launched_and_filled_is_added_up(tmp_path: Path) -> None:
    h200 = read_device("h200")
    one, four, filled = (predicted(tmp_path, body).predicted for body in (BODY, QUARTERS, FILLED))
    assert one is not None and four is not None and filled is not None
    assert one.size == {"n": N}
    # Three arrays are moved: no less than that takes.
    assert one.predicted_us > 3 * 4 * N / h200.dram_bytes_per_second * 1e6
    assert four.predicted_us * four.shares["launch"] == pytest.approx(4 * h200.launch_us, rel=0.02)
    assert 0.98 * (one.predicted_us + 3 * h200.launch_us) < four.predicted_us < 1.8 * one.predicted_us
    assert four.predicted_low_us < four.predicted_us < four.predicted_high_us
    more_us = h200.launch_us + 4 * N / h200.dram_bytes_per_second * 1e6
    assert filled.predicted_us == pytest.approx(one.predicted_us + more_us, rel=0.02)
    line = KERNEL.splitlines().index("        y[i] = a * x[i] + y[i];") + 1
    assert one.by_line[0].line == four.by_line[0].line == line


@pytest.mark.parametrize(
    ("body", "kernel", "reason"),
    [
        (BY_RESULT, KERNEL, "without results its host code makes other launches"),
        (
            "{ saxpy<<<(n + 255) / 256, 256>>>({x, y}, a, n); }",
            f"struct Arrays {{ const float *x; float *y; }};\n{OF_STRUCT}",
            "saxpy is handed a struct that holds pointers",
        ),
        (
            BODY,
            KERNEL.replace(
                "if (i < n)", "for (float k = 0; i < n && k < x[i] - 1e30f; k += 1) y[i] += k;\n    if (i < n)"
            ),
            "values in the arrays decide which addresses it goes to",
        ),
    ],
    ids=["host", "struct", "data"],
)
def test_why_there_is_none(tmp_path: Path, body: str, kernel: str, reason: str) -> None:
    variant = predicted(tmp_path, body, kernel)
    assert variant.predicted is None
    assert reason in variant.unpredicted


def test_launches_that_are_no_longer_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(called, "MAX_LAUNCHES", 4)
    variant = predicted(tmp_path, QUARTERS)
    assert variant.predicted is None
    assert "it makes 4 launches or more" in variant.unpredicted
