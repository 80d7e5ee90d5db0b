"""Functions and programs called at other sizes: sweeps, whose counts are worked out by hand, and predicted times, the
launches that their host code makes added up, or why there are none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.errors import FileError
from grader.grading import called, pipeline
from grader.grading.options import GradeOptions
from grader.lab.file import load
from grader.lab.labs import find
from grader.lab.records import Lab
from grader.measured import SweepRecord
from grader.result import Variant
from grader.timing.instructions import read_device
from tests.grading.test_functions import BODY, KERNEL, RIGHT

SWEPT = """
title: {en: Copied, ru: Скопировано}
aim: {en: To copy., ru: Скопировать.}
reference: .
seed: 1
tolerance: {absolute: 0, relative: 0}
interface: function
signature: 'void solve(int times, const float *in, float *out, int n)'
memory: device
parameters:
  times: {kind: scalar, dtype: int32, values: [2, 40, 90]}
  in: {kind: input, shape: [n]}
  out: {kind: output, shape: [n]}
  n: {kind: size}
sizes: {emulator: {correct: [{n: 256}], observe: {n: 512}}}
sweeps:
  elements:
    title: {en: Elements, ru: Элементы}
    x: {name: n, label: {en: n, ru: n}, sizes: {n: n}, values: [64, 128, 320]}
    metrics: {emulator: [sectors, instructions], gpu: [time]}
variants: {solve: {title: {en: solve, ru: solve}, reference: solve.cu, checks: {correct: 100}}}
"""
ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": rng.integers(1, 99, sizes["n"]).astype(np.float32)}
def expected(inputs, sizes):
    return {"out": inputs["in"] + float(inputs["times"])}
"""
COPY = """__global__ void add(const float *in, float *out, int n, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
#pragma unroll 1
    for (int k = 0; k < times; k++)
        x += 1;
    out[i] = x;
}
void solve(int times, const float *in, float *out, int n) { add<<<(n + 63) / 64, 64>>>(in, out, n, times); }
"""
ALONE = COPY.replace("<<<(n + 63) / 64, 64>>>", "<<<n, 1>>>")
"""A thread a warp: each reads a sector of its own, and writes one."""


def lab_of(folder: Path, text: str = SWEPT) -> Lab:
    lab = folder / "copied"
    lab.mkdir()
    (lab / "lab.yaml").write_text(text, "utf-8")
    (lab / "oracle.py").write_text(ORACLE, "utf-8")
    (lab / "solve.cu").write_text(ALONE, "utf-8")
    for language in ("en", "ru"):
        (lab / f"task.{language}.md").write_text("", "utf-8")
    return load(lab)


def swept(folder: Path, solution: str) -> SweepRecord:
    path = folder / "copy.cu"
    path.write_text(solution, "utf-8")
    (record,) = pipeline.grade(path, lab_of(folder), GradeOptions(backend="emulator", repairs=False)).sweeps
    return record


def of(record: SweepRecord, owner: str) -> dict[int, tuple[str, float | None]]:
    """Status and sectors by size."""
    return {
        p.x: (p.status, p.values["sectors"].value if "sectors" in p.values else None)
        for p in record.points
        if p.of == owner
    }


def test_a_function_is_called_at_each_size_and_the_labs_own_beside_it(tmp_path: Path) -> None:
    record = swept(tmp_path, COPY)
    # Eight floats a sector, read and written; of a warp's one thread a sector each.
    assert of(record, "submission") == dict.fromkeys((64, 128, 320), ("ok", 0.25))
    assert of(record, "reference") == dict.fromkeys((64, 128, 320), ("ok", 2.0))
    assert (record.backend, record.x, record.metrics) == ("emulator", "n", ["sectors", "instructions"])
    # Nothing but the size changes: the loop goes round as often at each of them.
    assert len({p.values["instructions"].value for p in record.points if p.of == "submission"}) == 1


def test_a_size_that_comes_out_wrong_is_shown_as_such(tmp_path: Path) -> None:
    record = swept(tmp_path, COPY.replace("i >= n", "i >= n || n == 128"))
    assert of(record, "submission") == {64: ("ok", 0.25), 128: ("wrong", None), 320: ("ok", 0.25)}


def test_what_is_wrong_is_left_out_with_the_reason(tmp_path: Path) -> None:
    record = swept(tmp_path, COPY.replace("x += 1", "x += 2"))
    assert set(record.left_out) == {"solve"} and of(record, "submission") == {}
    assert len(of(record, "reference")) == 3


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("sizes: {n: n}", "block: [n]", "sweeps.elements.x.block"),
        ("sizes: {n: n}", "unroll: true", "sweeps.elements.x.unroll"),
        ("    metrics:", "    host_memory: [pinned]\n    metrics:", "sweeps.elements.host_memory"),
    ],
)
def test_only_sizes_can_be_swept(tmp_path: Path, old: str, new: str, at: str) -> None:
    with pytest.raises(FileError) as caught:
        lab_of(tmp_path, SWEPT.replace(old, new))
    assert at in str(caught.value) and "interface: kernel" in str(caught.value)


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
