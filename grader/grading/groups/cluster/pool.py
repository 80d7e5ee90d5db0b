"""Gradings on an executor (`concurrent.futures`), with the interface of the pool of processes.

Which executor does not matter: threads of this process in a test, a Dask scheduler with workers on many machines.
A worker that dies costs its own task; the executor tries it again elsewhere as often as it is set up to.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, Self

from grader.errors import UsageError
from grader.grading.groups.cluster.packed import grade_packed, outcome_of, pack, pack_lab
from grader.grading.task import Failed, GradeTask, Outcome, Refused
from grader.lab.records import Lab
from grader.message import msg, verbatim
from grader.processes.pool import LONGEST_WAIT_S, Answer

CONNECT_S = 15


class ExecutorPool:
    """At most `most` gradings at a time on `executor`: what travels is kept in its memory until it is graded."""

    def __init__(self, executor: Executor, lab: Lab, most: int, close: Callable[[], None] | None = None) -> None:
        self._executor = executor
        self._lab = lab
        self._packed_lab = pack_lab(lab)
        self._most = most
        self._close = close
        self._waiting: deque[GradeTask] = deque()
        self._running: dict[Future[bytes], GradeTask] = {}
        self._refused: deque[tuple[GradeTask, Outcome]] = deque()
        self._news, self._bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is not graded yet."""
        for future in self._running:
            future.cancel()
        if self._close is not None:
            with contextlib.suppress(Exception):
                self._close()
        os.close(self._bell)
        os.close(self._news)

    def submit(self, task: GradeTask, _message: object = None) -> None:
        """Have `task` graded."""
        self._waiting.append(task)
        self._hand_out()

    @property
    def unfinished(self) -> list[GradeTask]:
        """What is not graded yet."""
        return [*self._running.values(), *self._waiting, *(task for task, _outcome in self._refused)]

    def events(self) -> Iterator[Answer[GradeTask, Outcome]]:
        """What was graded since the last time."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._news, 4096):
                pass
        for future in [future for future in self._running if future.done()]:
            yield Answer(self._running.pop(future), _outcome(future), True)
        self._hand_out()
        while self._refused:
            yield Answer(*self._refused.popleft(), True)

    def descriptors(self) -> Iterator[tuple[int, int]]:
        """What to wait for, as `grader.processes.pool.wait` asks."""
        yield self._news, select.POLLIN

    def next_deadline(self) -> float:
        """When something is to be done though nothing was told."""
        return time.monotonic() + (0.0 if self._refused else LONGEST_WAIT_S)

    def _hand_out(self) -> None:
        while self._waiting and len(self._running) < self._most:
            task = self._waiting.popleft()
            try:
                data = pack(task, self._lab, self._packed_lab)
            except UsageError as error:
                self._refused.append((task, Refused(message=error.message)))
                continue
            except OSError:
                self._refused.append((task, Failed(details=traceback.format_exc())))
                continue
            future = self._executor.submit(grade_packed, data)
            self._running[future] = task
            future.add_done_callback(self._ring)

    def _ring(self, _future: Future[bytes]) -> None:
        # Another thread's: the one that waits wakes up.
        with contextlib.suppress(OSError):
            os.write(self._bell, b"!")


def _outcome(future: Future[bytes]) -> Outcome:
    try:
        return outcome_of(future.result())
    except (Exception, CancelledError) as error:
        details = "".join(traceback.format_exception(error))
        return Failed(details=details, message=verbatim(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"))


def cluster_pool(address: str, lab: Lab, with_gpu: bool) -> ExecutorPool:
    """A pool on the Dask scheduler at `address`; with_gpu: on its workers that have the resource `GPU`, one each.

    Raises
    ------
    UsageError : Dask is not installed, no scheduler answers there, or it has no workers (of that kind).
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(msg("session.no_dask")) from error
    try:
        connect: Any = Client
        client = connect(address, timeout=CONNECT_S, set_as_default=False)
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(msg("session.no_cluster", address=address, reason=str(error).splitlines()[0])) from error
    able = [worker for worker in workers.values() if not with_gpu or worker["resources"].get("GPU")]
    if not able:
        client.close()
        raise UsageError(msg("session.no_workers", address=address))
    threads = sum(int(worker["nthreads"]) for worker in able)
    executor = client.get_executor(pure=False, retries=2, **({"resources": {"GPU": 1}} if with_gpu else {}))
    # Enough that no worker waits for the next one.
    return ExecutorPool(executor, lab, 2 * threads, client.close)
