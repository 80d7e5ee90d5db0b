"""Tiles so large that no size which suits them can be run: told before anything is allocated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Check
from tests.marks_only import marks_only

LAB = marks_only("transpose")
KERNEL = """#define TILE {tile}
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{{
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = in[r * cols + c];
}}
"""
HOST = """int main() {{ transpose_naive<<<dim3((n + TILE - 1) / TILE, (n + TILE - 1) / TILE), {block}>>>(a, b, n, n); }}
"""


def correct(folder: Path, text: str, settings: str = "") -> Check:
    (folder / "student").mkdir()
    (folder / "student" / "transpose.cu").write_text(text)
    if settings:
        (folder / "student" / "submission.yaml").write_text(settings)
    checks = pipeline.grade(folder / "student", LAB, GradeOptions(backend="emulator")).checks
    return next(check for check in checks if check.check == "correct" and check.variant == "naive")


@pytest.mark.parametrize("tile", [20000, 4099, 1048576, 999999999999])
def test_the_kernel_is_blamed_and_nothing_is_allocated(tile: int, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        check = correct(tmp_path, KERNEL.format(tile=tile) + HOST.format(block="dim3(32, 32)"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert check.status == "fail" and check.line is not None, check
    assert "too large" in check.message and str(tile) in check.message and "tile" in (check.hint or "")
    assert peak < 200 << 20


def test_negative_extents_are_the_compilers_matter(tmp_path: Path) -> None:
    array = "__shared__ float s[TILE - 64];"
    whole = KERNEL.format(tile=32) + HOST.format(block="dim3(TILE, TILE)")
    dead = whole.replace("    int c", f"#ifdef NEVER\n    {array}\n#endif\n    int c")
    assert correct(tmp_path, dead).status == "pass"
    (tmp_path / "other").mkdir()
    assert correct(tmp_path / "other", whole.replace("    int c", f"    {array}\n    int c")).status == "skip"
