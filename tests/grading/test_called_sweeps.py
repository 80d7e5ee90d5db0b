"""Sweeps of functions and programs: counts worked out by hand, points that come out wrong, what is not swept."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import FileError
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab.file import load
from grader.lab.records import Lab
from grader.measured import SweepRecord

LAB = """
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


def lab_of(folder: Path, text: str = LAB) -> Lab:
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
        lab_of(tmp_path, LAB.replace(old, new))
    assert at in str(caught.value) and "interface: kernel" in str(caught.value)
