"""A real scheduler with workers that die, each a process of its own on this host."""

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
from pathlib import Path

import pytest

from grader.errors import UsageError
from tests.marks_only import put_marks_only

pytestmark = pytest.mark.started

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
LAB = "transpose"


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

    def await_workers(self) -> None:
        """Wait until the scheduler knows all workers that were added."""
        script = (
            "import sys; from distributed import Client; "
            "Client(sys.argv[1], set_as_default=False).wait_for_workers(int(sys.argv[2]), timeout=600)"
        )
        command = [sys.executable, "-c", script, self.address, str(len(self.workers))]
        subprocess.run(command, cwd=self._folder, env=self._environment, check=True, capture_output=True)

    def kill(self, which: str) -> None:
        for process in self.workers if which == "workers" else [self._scheduler]:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

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
    try:
        made.await_workers()
        yield made
    finally:
        made.close()


@pytest.mark.slow
def test_a_real_scheduler_with_workers_that_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    for number, name in enumerate(("ivanov", "petrova", "orlova", "smirnov", "volkova", "ivanov")):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / f"{name}{number}")
    # Each takes some seconds; sweeps would make it twice as many.  The workers are told where, in folders of their own.
    labs = put_marks_only(tmp_path, LAB, with_repairs=True).parents[1]
    arguments = ["group", "--lab", LAB, "--labs", str(labs), "--backend", "emulator", "--no-pdf", "--lang", "en"]

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
        time.sleep(chance.uniform(3, 6))
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


SOON_DESERTED = """
import sys
from grader.cli.main import main
from grader.grading import cluster

cluster.DESERTED_S = 8.0
sys.exit(main())
"""
"""The command, which waits less long for a worker."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dies", "told"), [("workers", "no workers are left there"), ("scheduler", "the scheduler is gone")]
)
def test_a_cluster_that_is_gone_for_good_is_one_line_and_loses_nothing(
    cluster: Cluster, tmp_path: Path, dies: str, told: str
) -> None:
    for number in range(4):
        shutil.copytree(SAMPLES / "ivanov", tmp_path / "group" / f"ivanov{number}")
    labs = put_marks_only(tmp_path, LAB, with_repairs=True).parents[1]
    command = [sys.executable, "-c", SOON_DESERTED, "group", "--lab", LAB, "--labs", str(labs), "--backend", "emulator"]
    process = subprocess.Popen(
        [*command, "--no-pdf", "--lang", "en", "--cluster", cluster.address],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list((tmp_path / "reports").glob("*/*/result.json")):
        time.sleep(0.05)
    cluster.kill(dies)
    _out, said = process.communicate(timeout=2400)
    assert process.returncode == 2
    (line,) = said.splitlines()
    assert told in line
    rows = (tmp_path / "reports" / f"{LAB}.csv").read_text("utf-8-sig").splitlines()
    assert len(rows) == 5


SHORT_TASKS = """
import sys, time
from grader.errors import UsageError
from grader.grading.cluster import DaskWorkers

workers = DaskWorkers(sys.argv[1], False, print)
futures = [workers.submit(time.sleep, 0.01) for _ in range(4)]
try:
    for number in range(10**9):
        futures = [workers.submit(time.sleep, 0.01) if future.done() else future for future in futures
                   if not future.cancelled()]
        if len(futures) < 4:
            raise workers.gone()
        if number == 100:
            print("under way", flush=True)
        workers.attend()
        time.sleep(0.001)
except UsageError as error:
    for future in futures:
        future.cancel()
    workers.shutdown()
    sys.exit(str(error))
"""
"""Tasks so short that a scheduler dies while results are on their way."""


@pytest.mark.slow
@pytest.mark.parametrize("_try", range(3))
def test_a_scheduler_that_dies_over_results_on_their_way_is_one_line(cluster: Cluster, _try: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SHORT_TASKS, cluster.address],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "under way\n"
    cluster.kill("scheduler")
    out, said = process.communicate(timeout=2400)
    assert (process.returncode, out) == (1, "")
    (line,) = said.splitlines()
    assert "the scheduler is gone" in line


@pytest.mark.slow
def test_a_scheduler_without_workers_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from grader.grading.cluster import DaskWorkers

    (tmp_path / "dask").mkdir()
    made = Cluster(tmp_path / "dask")
    try:
        with pytest.raises(UsageError) as raised:
            DaskWorkers(made.address, False, lambda _message: None)
    finally:
        made.close()
    assert str(raised.value) == f"--cluster {made.address}: the scheduler has no workers"
