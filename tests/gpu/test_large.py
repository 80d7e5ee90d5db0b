"""Large sizes on a real GPU: projections of products, faults that cost nothing, memory that is enough or not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.records import Sweep, SweepParameter

KERNELS = data_root() / "tests" / "kernels"
MATMUL = replace(labs.find("matmul"), sweeps=(), timing=None)
TEXT = {"en": "…", "ru": "…"}


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))


def test_products_of_4096_are_exact() -> None:
    result = pipeline.grade(data_root() / "submissions" / "ivanov", MATMUL, GradeOptions(backend="gpu", repairs=False))
    for name, variant in result.variants.items():
        large = [case for case in variant.cases if case.kind == "large"]
        assert [(case.size, case.status, case.max_abs_error) for case in large] == [({"n": 4096}, "pass", 0.0)], name
        assert large[0].message.startswith("checked by 32 random projections")
        assert large[0].backend == "gpu"


def test_a_row_that_does_not_fit_costs_nothing() -> None:
    path = KERNELS / "matmul" / "good" / "row_fewer_threads.cu"
    emulated = pipeline.grade(path, MATMUL, GradeOptions(backend="emulator", repairs=False))
    graded = pipeline.grade(path, MATMUL, GradeOptions(backend="gpu", repairs=False))
    assert {c.id: c.earned for c in graded.checks} == {c.id: c.earned for c in emulated.checks}
    row = graded.variants["row"]
    assert [case.status for case in row.cases if case.kind == "large"] == ["fail"]
    assert any(text.endswith("is tested in addition and costs no points.") for text in row.remarks), row.remarks


def test_blocks_that_grow_with_the_matrix_end_at_1024_threads() -> None:
    graded = pipeline.grade(
        KERNELS / "matmul" / "bad" / "row_and_column_n_threads.cu", MATMUL, GradeOptions(backend="gpu", repairs=False)
    )
    for name in ("row", "column"):
        (large,) = (case for case in graded.variants[name].cases if case.kind == "large")
        assert (large.status, "4096 threads per block, at most 1024 are allowed" in large.message) == ("fail", True)
        # That a block ends at 1024 threads is judged on the emulator, with a smaller one.
        assert [c.check for c in graded.checks if c.variant == name and c.status == "fail"] == ["correct"]


def test_a_transposition_of_four_gibibytes() -> None:
    x = SweepParameter("n", TEXT, {"emulator": (64,), "gpu": (4096, 32768, 1 << 18)}, sizes={"rows": "n", "cols": "n"})
    metrics = {"emulator": ("sectors",), "gpu": ("time", "gb_per_s")}
    base = {"emulator": {"rows": 64, "cols": 64}, "gpu": {"rows": 64, "cols": 64}}
    lab = replace(labs.find("transpose"), sweeps=(Sweep("size", TEXT, ("padded",), x, base, metrics),), timing=None)
    result = pipeline.grade(data_root() / "submissions" / "ivanov", lab, GradeOptions(backend="gpu", repairs=False))
    points = {(p.of, p.x): p for p in result.sweeps[0].points}
    for owner in ("submission", "reference"):
        middle, large, huge = (points[owner, n] for n in (4096, 32768, 1 << 18))
        # 256 GiB each way: more than any GPU has.
        assert huge.status == "impossible" and "GiB of GPU memory are needed" in huge.reason
        assert middle.status == "ok"
        if large.status == "ok":
            # 64 times the bytes.
            assert large.values["time"].value > 30 * middle.values["time"].value
        else:
            assert large.status == "impossible" and "memory" in large.reason


SHORT_OF_MEMORY = r"""
#include <cstdio>
__global__ void set(int *a) { *a = 7; }
int main() {
    void *most = nullptr; int *managed;
    size_t room, total, take;
    cudaMemGetInfo(&room, &total);
    for (take = total; cudaMalloc(&most, take) != cudaSuccess; take -= 256 << 20) cudaGetLastError();
    printf("%d %d\n", take > total / 2, cudaMallocManaged(&managed, 1 << 30));
    cudaFree(most);
    printf("%d ", cudaMallocManaged(&managed, 64 << 20));
    set<<<1, 1>>>(managed);
    cudaDeviceSynchronize();
    printf("%d\n", *managed);
    cudaFree(managed);
}
"""


def test_managed_memory_that_the_device_has_no_room_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    (tmp_path / "main.cu").write_text(SHORT_OF_MEMORY, "utf-8")
    run(["run", str(tmp_path / "main.cu"), "--backend", "gpu", "--json"])
    assert json.loads(capfd.readouterr().out)["stdout"] == "1 2\n0 7\n"
