"""A group graded by an executor gives what it gives on one machine, whatever becomes of a worker."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.grading.groups.cluster.packed import pack, pack_lab
from grader.grading.groups.cluster.pool import ExecutorPool
from grader.grading.options import GradeOptions
from grader.grading.task import Failed, Graded, GradeTask, Refused, grade_here
from grader.lab import labs
from grader.processes.pool import wait

ROOT = Path(__file__).parents[4]
SAMPLES = ROOT / "submissions"
LAB = "transpose"


def task(path: Path, student: str) -> GradeTask:
    options = GradeOptions(lab=LAB, backend="emulator", sweeps=False)
    return GradeTask(path=bytes(path), options=options, student=student, command=f"grade {student}")


@pytest.mark.slow
def test_any_executor_gives_what_this_process_gives(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "petrova", tmp_path / "petrova")
    (tmp_path / "nobody").mkdir()
    (tmp_path / "two").mkdir()
    for name in ("a.cu", "b.cu"):
        (tmp_path / "two" / name).write_text("__global__ void k() {}")
    tasks = [task(tmp_path / name, name) for name in ("petrova", "nobody", "two")]
    got = {}
    with ThreadPoolExecutor(1) as executor, ExecutorPool(executor, labs.find(LAB), 2) as pool:
        for one in tasks:
            pool.submit(one)
        while pool.unfinished:
            wait(pool)
            for event in pool.events():
                got[event.task.student] = event.reply
    petrova = got["petrova"]
    assert isinstance(petrova, Graded) and petrova.result == grade_here(tasks[0])
    assert isinstance(got["nobody"], Refused) and isinstance(got["two"], Refused)


def test_another_version_grades_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.grading.groups.cluster import packed

    lab = labs.find(LAB)
    data = pack(task(SAMPLES / "petrova", "petrova"), lab, pack_lab(lab))
    monkeypatch.setattr(packed, "code_hash", lambda: b"another")
    outcome = packed.outcome_of(packed.grade_packed(data))
    assert isinstance(outcome, Failed) and outcome.message is not None
    assert outcome.message.id == "session.other_version"


def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    from grader.grading.groups.cluster import pool

    monkeypatch.setattr(pool, "CONNECT_S", 1)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        shutil.copytree(SAMPLES / "ivanov", tmp_path / "group" / name)
    arguments = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]
    assert cli.run([*arguments, "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "--cluster tcp://127.0.0.1:1: " in capsys.readouterr().err


def test_a_cluster_without_dask_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # None in place of a module: importing it fails, wherever Dask is installed too.
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        shutil.copytree(SAMPLES / "ivanov", tmp_path / "group" / name)
    arguments = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]
    assert cli.run([*arguments, "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "grade: --cluster needs Dask: pip install 'cuda-lab-grader[cluster]'\n"


class Cluster:
    """A scheduler and workers, each a process of its own on this host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
        file = folder / "scheduler.json"
        self._scheduler = self._start("distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--no-dashboard")
        deadline = time.monotonic() + 600
        self.address = ""
        while not self.address:
            assert time.monotonic() < deadline
            time.sleep(0.05)
            # It is not there, or not whole yet.
            with contextlib.suppress(OSError, ValueError):
                self.address = json.loads(file.read_text())["address"]
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", module, "--port", "0", *arguments]
            if "scheduler" in module
            else [sys.executable, "-m", module, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def add_worker(self) -> None:
        """Without a nanny, which would start it again when it dies."""
        arguments = (self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "600")
        self.workers.append(self._start("distributed.cli.dask_worker", *arguments))

    def close(self) -> None:
        for process in (*self.workers, self._scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    (tmp_path / "dask").mkdir()
    made = Cluster(tmp_path / "dask")
    made.add_worker()
    made.add_worker()
    yield made
    made.close()


@pytest.mark.slow
def test_a_real_scheduler_with_workers_that_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    for number, name in enumerate(("ivanov", "petrova", "orlova", "smirnov", "volkova", "ivanov")):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / f"{name}{number}")
    arguments = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", "--lang", "en"]

    def start(*more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments, *more],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    assert start("--out", "here").wait(2400) == 1
    process = start("--out", "there", "--cluster", cluster.address)
    chance = random.Random(15)
    for _kill in range(2):
        time.sleep(chance.uniform(4, 8))
        victim = next((worker for worker in cluster.workers if worker.poll() is None), None)
        if process.poll() is None and victim is not None:
            os.killpg(victim.pid, signal.SIGKILL)
            cluster.add_worker()
    assert process.wait(2400) == 1

    def results(out: str) -> dict[str, bytes]:
        found = sorted((tmp_path / out).glob("*/*/result.json"))
        return {str(path.relative_to(tmp_path / out)): path.read_bytes() for path in found}

    assert results("there") == results("here")
    assert (tmp_path / "there" / f"{LAB}.csv").read_bytes() == (tmp_path / "here" / f"{LAB}.csv").read_bytes()
