"""A group that is timed: everybody's marks before anybody's sweeps, on every GPU in turn."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader.cli import main as cli
from grader.exports.entries import Entry, gpu_models
from grader.gpu import process
from grader.grading import workers
from grader.grading.cache import Identity
from grader.processes.pool import Pool
from grader.result import decode
from tests import sample_results

SAMPLES = Path(__file__).parents[2] / "submissions"
LAB = "transpose"
OPTIONS = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en", "--jobs", "2"]


def test_models_of_a_group_are_told_apart() -> None:
    def on_model(device: str | None) -> Entry:
        result = sample_results.passed()
        return Entry("s", replace(result, environment=replace(result.environment, device=device)))

    assert gpu_models([on_model(None), Entry("x", reason="none"), on_model("H200"), on_model("H200")]) == ["H200"]
    assert gpu_models([on_model("H200"), on_model("A2")]) == ["A2", "H200"]


@pytest.mark.slow
def test_marks_come_before_sweeps_and_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ivanov", "petrova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    (tmp_path / "group" / "sidorov").mkdir()
    cli.run(OPTIONS)
    known = Identity.__init__
    made = workers.grading_pool
    submitted: list[tuple[str, bool, str]] = []

    def on_gpus(self: Identity, *given: Any) -> None:
        known(self, *given)
        self.with_gpu = True

    def noting(jobs: int) -> Pool[Any, Any]:
        pool = made(jobs)
        submit = pool.submit

        def noted(task: Any, message: object) -> None:
            submitted.append((task.student, task.options.sweeps, task.gpu))
            submit(task, message)

        monkeypatch.setattr(pool, "submit", noted)
        return pool

    monkeypatch.setattr(Identity, "__init__", on_gpus)
    monkeypatch.setattr(process, "several_gpus", lambda _listed: ["GPU-a", "GPU-b"])
    monkeypatch.setattr(workers, "grading_pool", noting)
    cli.run([*OPTIONS, "--out", "timed"])
    assert submitted[:2] == [("ivanov", False, "GPU-a"), ("petrova", False, "GPU-b")]
    assert submitted[2][:2] == ("sidorov", False)
    # Who has nothing to mark is not asked for sweeps.
    assert sorted(submitted[3:]) == [("ivanov", True, "GPU-a"), ("petrova", True, "GPU-b")]
    for name in ("ivanov", "petrova"):
        plain, timed = (tmp_path / out / name / LAB / "result.json" for out in ("reports", "timed"))
        assert plain.read_bytes() == timed.read_bytes()
        assert decode(timed.read_bytes()).sweeps
        assert (timed.parent / "report.html").exists()
    assert (tmp_path / "reports" / f"{LAB}.csv").read_bytes() == (tmp_path / "timed" / f"{LAB}.csv").read_bytes()
