"""A GPU that somebody else holds all the time costs times, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gpu.messages import Ready
from grader.gpu.process import GpuProcess
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab import labs
from grader.timing import lock

pytestmark = pytest.mark.gpu

SAMPLE = Path(__file__).parents[2] / "submissions" / "ivanov"


def test_a_gpu_in_use_leaves_what_the_emulator_found(monkeypatch: pytest.MonkeyPatch) -> None:
    process = GpuProcess()
    ready = process.ready()
    assert isinstance(ready, Ready)
    process.close()
    plain = grade(SAMPLE, labs.find("transpose"), GradeOptions(backend="emulator"))
    monkeypatch.setattr(lock, "WAIT_S", 0.2)
    with lock.exclusive(ready.uuid, 10.0):
        busy = grade(SAMPLE, labs.find("transpose"))
    assert busy.environment.backend == "emulator"
    assert busy.score == plain.score
    (speed,) = [check for check in busy.checks if check.check == "speedup"]
    assert (speed.status, speed.message) == ("skip", "Not measured: the GPU was busy all the time.")
