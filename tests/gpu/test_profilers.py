"""Other tools beside the emulator: the same counts, the same faults, and no mark that hangs on them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.gpu.unmarked import ToolFailed
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs

SUBMISSIONS = Path(__file__).parents[2] / "submissions"
LAB = replace(labs.find("transpose"), sweeps=())
"""Without the sweeps for graphs, which take longer than all the rest."""


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))


@pytest.mark.skipif(shutil.which("ncu") is None, reason="Nsight Compute is not installed")
def test_nsight_compute_counts_what_the_emulator_counts() -> None:
    result = pipeline.grade(
        SUBMISSIONS / "petrova", LAB, GradeOptions(backend="gpu", repairs=False, profilers=("ncu",))
    )
    for variant in result.variants.values():
        assert variant.witnesses and all(w.name != "failed" for w in variant.witnesses), variant.witnesses
        for witness in variant.witnesses:
            if witness.emulator is not None:
                assert witness.value == pytest.approx(witness.emulator, rel=0.005), witness


@pytest.mark.skipif(shutil.which("compute-sanitizer") is None, reason="compute-sanitizer is not installed")
def test_compute_sanitizer_finds_the_race_and_the_access_out_of_bounds() -> None:
    race = pipeline.grade(
        SUBMISSIONS / "sidorov", LAB, GradeOptions(backend="gpu", repairs=False, profilers=("compute-sanitizer",))
    )
    assert any(w.name == "racecheck" for w in race.variants["shared"].witnesses), race.variants["shared"].witnesses
    assert [w.name for w in race.variants["naive"].witnesses] == ["clean"]
    bounds = pipeline.grade(
        SUBMISSIONS / "morozov", LAB, GradeOptions(backend="gpu", repairs=False, profilers=("compute-sanitizer",))
    )
    found = bounds.variants["padded"].witnesses
    assert any(w.name == "memcheck" and w.line == 39 for w in found), found


def test_a_tool_that_is_not_there_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_arguments: object) -> tuple[int, str]:
        raise ToolFailed("ncu is not installed")

    monkeypatch.setattr("grader.gpu.unmarked.run", missing)
    asked = pipeline.grade(SUBMISSIONS / "ivanov", LAB, GradeOptions(backend="gpu", repairs=False, profilers=("ncu",)))
    plain = pipeline.grade(SUBMISSIONS / "ivanov", LAB, GradeOptions(backend="gpu", repairs=False))
    assert asked.score == plain.score
    assert [w.text for w in asked.variants["naive"].witnesses] == ["ncu is not installed"]
