"""Sweeps on a real GPU: points that can be run have times, more work takes longer, kept records are found again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.records import Lab, Sweep, SweepParameter
from grader.result import Result

TEXT = {"en": "…", "ru": "…"}
KERNELS = data_root() / "tests" / "kernels"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


OPTIONS = GradeOptions(backend="gpu", answers=True, predict="auto")


def lab() -> Lab:
    values = {"emulator": (32,), "gpu": (512, 2048, 4096)}
    size = SweepParameter("n", TEXT, values, sizes={"rows": "n", "cols": "n"})
    tiles = {"emulator": (32,), "gpu": (8, 16, 32, 64)}
    tile = SweepParameter("t", TEXT, tiles, constants=("(tile|block)_?dim", "bdim"))
    base = {"emulator": {"rows": 64, "cols": 64}, "gpu": {"rows": 2048, "cols": 2048}}
    metrics = {"emulator": ("sectors",), "gpu": ("time", "gb_per_s")}
    variants = ("naive", "padded")
    sweeps = (Sweep("size", TEXT, variants, size, base, metrics), Sweep("tile", TEXT, variants, tile, base, metrics))
    return replace(labs.find("transpose"), sweeps=sweeps)


def graded() -> Result:
    return pipeline.grade(KERNELS / "transpose" / "good" / "macros.cu", lab(), GradeOptions(backend="gpu"))


def test_what_a_change_gains_is_timed_and_the_same_again(store: Path) -> None:
    transpose = labs.find("transpose")
    # What is to be a plain tile is not told to pad it.
    plain = replace(transpose, sweeps=(), variants=tuple(replace(v, padded=None) for v in transpose.variants))
    path = data_root() / "submissions" / "ivanov" / "transpose.cu"
    first, again = (pipeline.grade(path, plain, OPTIONS) for _ in range(2))
    made = first.variants["shared"].faster
    # Its tile has a bank conflict of 32 ways, and nothing else differs from the reference.
    assert made is not None and made.kind == "padding" and made.measured_times is not None
    assert made.measured_on == first.environment.device
    assert 1.5 < made.measured_times.low <= made.measured_times.value <= made.measured_times.high
    assert again.variants["shared"].faster == made
    assert list(store.glob("*.changes.json"))


def test_times_of_all_points_and_the_same_again(store: Path) -> None:
    result = graded()
    size, tile = result.sweeps
    assert size.backend == tile.backend == "gpu"
    assert all(point.status == "ok" for point in size.points), size.points
    for name in ("naive", "padded"):
        for owner in ("submission", "reference"):
            times = [p.values["time"] for p in size.points if (p.variant, p.of) == (name, owner)]
            assert [t.value for t in times] == sorted(t.value for t in times)
            assert all(t.low is not None and t.high is not None and t.low <= t.value <= t.high for t in times)
    fate = {(p.of, p.variant, p.x): p.status for p in tile.points}
    assert fate["submission", "padded", 64] == "impossible" and fate["submission", "padded", 16] == "ok"
    assert fate["reference", "padded", 64] == "ok"
    assert list(store.glob("*.sweeps.json"))
    assert graded().sweeps == result.sweeps
