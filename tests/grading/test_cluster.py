"""A group graded by an executor gives what it gives on one machine, whatever becomes of a worker."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from grader.cli import main as cli
from grader.errors import UsageError
from grader.grading import cluster
from grader.grading.cluster import ExecutorPool, pack, pack_lab
from grader.grading.options import GradeOptions
from grader.grading.workers import Failed, Graded, GradeTask, Refused, grade_here
from grader.lab import labs
from grader.message import Message, verbatim
from grader.processes.pool import wait

pytestmark = pytest.mark.started

ROOT = Path(__file__).parents[2]
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
    lab = labs.find(LAB)
    data = pack(task(SAMPLES / "petrova", "petrova"), lab, pack_lab(lab))
    monkeypatch.setattr(cluster, "code_hash", lambda: b"another")
    outcome = cluster.outcome_of(cluster.grade_packed(data))
    assert isinstance(outcome, Failed) and outcome.message is not None
    assert outcome.message.id == "session.other_version"


def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")

    monkeypatch.setattr(cluster, "CONNECT_S", 1)
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


class Workers:
    """Workers that come and go as a test says."""

    def __init__(self) -> None:
        self.threads = 1
        self.next_look_s = 0.0
        self.has_left = False
        self.stranded: set[Future[bytes]] = set()

    def attend(self) -> None:
        if self.has_left:
            raise UsageError("deserted")

    def is_stranded(self, future: Future[bytes]) -> bool:
        return future in self.stranded

    def gone(self) -> UsageError:
        return UsageError("gone")


class Handed(Executor):
    """Keeps what is handed to it."""

    def __init__(self) -> None:
        self.futures: list[Future[bytes]] = []

    def submit(self, *_call: object, **_options: object) -> Future[bytes]:  # type: ignore[override]
        self.futures.append(Future())
        return self.futures[-1]


def failed(message: Message | None = None) -> bytes:
    return msgspec.msgpack.encode(Failed(details="", message=message))


@pytest.fixture
def served() -> Iterator[tuple[ExecutorPool, Workers, Handed]]:
    workers, executor = Workers(), Handed()
    with ExecutorPool(executor, labs.find(LAB), workers=workers) as pool:
        for number in range(9):
            pool.submit(task(SAMPLES / "petrova", f"petrova{number}"))
        yield pool, workers, executor


def test_workers_that_come_later_get_work(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, workers, executor = served
    assert len(executor.futures) == 2
    workers.threads = 4
    assert list(pool.events()) == []
    assert len(executor.futures) == 8


def test_a_worker_of_another_version_costs_no_task(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, _workers, executor = served
    executor.futures[0].set_result(failed(cluster.OTHER_VERSION))
    assert list(pool.events()) == []
    assert len(pool.unfinished) == 9
    # Not for ever, though.
    rounds = 0
    while len(pool.unfinished) == 9 and rounds < 1000:
        rounds += 1
        for future in executor.futures:
            if not future.done():
                future.set_result(failed(cluster.OTHER_VERSION))
        told = list(pool.events())
    assert told and all(event.reply == Failed(details="", message=cluster.OTHER_VERSION) for event in told)


def test_what_waits_for_workers_that_have_gone_is_handed_to_others(
    served: tuple[ExecutorPool, Workers, Handed],
) -> None:
    pool, workers, executor = served
    workers.stranded = {executor.futures[0]}
    assert list(pool.events()) == []
    assert executor.futures[0].cancelled() and not executor.futures[1].done()
    assert len(executor.futures) == 3 and len(pool.unfinished) == 9


def test_a_scheduler_that_goes_is_the_users_to_restart(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, _workers, executor = served
    executor.futures[0].set_result(failed())
    executor.futures[1].cancel()
    with pytest.raises(UsageError, match="gone"):
        list(pool.events())


def test_what_was_graded_before_the_scheduler_went_counts(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, _workers, executor = served
    executor.futures[0].cancel()
    executor.futures[1].set_result(failed())
    events = pool.events()
    assert next(events).reply == Failed(details="")
    with pytest.raises(UsageError, match="gone"):
        next(events)


def test_what_ends_after_the_run_writes_into_nobodys_file(tmp_path: Path) -> None:
    executor = Handed()
    with ExecutorPool(executor, labs.find(LAB)) as pool:
        pool.submit(task(SAMPLES / "petrova", "petrova"))
        (late,) = executor.futures
        # It is under way: giving up does not end it.
        late.set_running_or_notify_cancel()
    # These get the numbers that the pool's descriptors had.
    files = [tmp_path / str(number) for number in range(8)]
    descriptors = [os.open(file, os.O_CREAT | os.O_WRONLY) for file in files]
    late.set_result(failed())
    for descriptor in descriptors:
        os.close(descriptor)
    assert {file.read_bytes() for file in files} == {b""}


def test_workers_that_do_not_come_back_end_the_run(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, workers, _executor = served
    workers.has_left = True
    with pytest.raises(UsageError, match="deserted"):
        list(pool.events())


def test_an_exception_without_words_is_told_by_its_name(served: tuple[ExecutorPool, Workers, Handed]) -> None:
    pool, _workers, executor = served
    executor.futures[0].set_exception(TimeoutError())
    (event,) = pool.events()
    assert isinstance(event.reply, Failed) and event.reply.message == verbatim("TimeoutError")


def test_a_cluster_is_given_the_whole_group_whatever_this_machine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.grading.group import Group

    asked = []

    def grade(_group: Group, _out: object, jobs: int, _notices: object = ()) -> int:
        asked.append(jobs)
        return 0

    monkeypatch.setattr(Group, "carry_out", grade)
    monkeypatch.setattr("grader.grading.session.cores", lambda: 1)
    monkeypatch.setattr("grader.grading.workers.cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        shutil.copytree(SAMPLES / "ivanov", tmp_path / "group" / f"s{number}")
    arguments = ["group", "--lab", LAB, "--backend", "emulator", "--no-pdf"]
    for more in ([], ["--cluster", "tcp://head:1"], ["--cluster", "tcp://head:1", "--jobs", "3"]):
        assert cli.run([*arguments, *more]) == 0
    assert asked == [1, 5, 3]
