"""The sample submissions get the same verdicts with a GPU as without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs

SUBMISSIONS = Path(__file__).parents[2] / "submissions"
LAB = replace(labs.find("transpose"), sweeps=(), timing=None)
"""Without the sweeps for graphs and the times for marks of speed, which take longer than all the rest."""


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))


@pytest.mark.parametrize("student", sorted(path.name for path in SUBMISSIONS.iterdir() if path.is_dir()))
def test_verdicts_are_the_same(student: str) -> None:
    emulated = pipeline.grade(SUBMISSIONS / student, LAB, GradeOptions(backend="emulator", repairs=False))
    graded = pipeline.grade(SUBMISSIONS / student, LAB, GradeOptions(backend="gpu", repairs=False))
    wanted = {c.id: (c.status, c.earned) for c in emulated.checks if c.check != "speedup"}
    assert {c.id: (c.status, c.earned) for c in graded.checks if c.check != "speedup"} == wanted
    assert graded.environment.backend == "gpu" and graded.environment.device
