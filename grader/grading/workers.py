"""Grades submissions of a group in processes of their own, several at a time.

What goes wrong with one, be it a crash of the interpreter or a grading that never ends, is that one's outcome and
nobody else's.  Run as `python -m grader.grading.workers`, this module is such a process: a `GradeTask` as JSON per
line on standard input, an outcome per line on standard output.
"""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader.errors import InternalError, UsageError
from grader.lab.records import Lab
from grader.result import Record, Result

DEADLINE_S = 600.0
"""For one submission, far beyond what its compile and kernel limits add up to."""


class GradeTask(Record, frozen=True):
    """One submission to grade."""

    path: str
    lab: str
    backend: str
    language: str
    labs_folders: list[str]
    command: str = ""
    remeasure: bool = False
    witnesses: list[str] = msgspec.field(default_factory=list)
    sweeps: bool = True
    """False leaves out the lab's sweeps, on which no mark depends."""
    times: bool = True
    """False leaves out the times of kernels, and with them the marks for speed."""


class Graded(Record, frozen=True, tag="graded"):
    """The submission's result."""

    result: Result


class Refused(Record, frozen=True, tag="refused"):
    """The submission's layout is wrong: it holds nothing that could be graded."""

    message: str


class Failed(Record, frozen=True, tag="failed"):
    """The grader failed; `details` is a traceback or what else is known, `message` what to tell, "" for a slip."""

    details: str
    message: str = ""


Outcome = Graded | Refused | Failed


def grade_here(task: GradeTask, lab: Lab | None = None, judged: Callable[[Result], None] | None = None) -> Result:
    """Grade in this process; `lab` saves reading it again, `judged` is called once all checks are judged.

    Raises
    ------
    UsageError : the lab or the submission's layout is wrong.
    """
    from grader.grading import pipeline
    from grader.lab_files import labs

    if lab is None:
        lab = labs.find(task.lab, [Path(folder) for folder in task.labs_folders])
    if not task.sweeps:
        lab = dataclasses.replace(lab, sweeps=())
    if not task.times:
        lab = dataclasses.replace(lab, timing=None)
    return pipeline.grade(
        Path(task.path),
        lab,
        backend=task.backend,
        command=task.command,
        remeasure=task.remeasure,
        witnesses=task.witnesses,
        judged=judged,
    )


def job_count(tasks: int, asked: int | None = None) -> int:
    """How many of `tasks` to work on at the same time: as many as asked for, else one per core."""
    return max(1, min(asked or len(os.sched_getaffinity(0)), tasks))


def grade_all(tasks: Sequence[GradeTask], jobs: int) -> Iterator[tuple[GradeTask, Outcome]]:
    """Outcomes as they come, of `jobs` gradings at a time.

    Closing the iterator, or an exception in its consumer, ends the processes.
    """
    waiting: queue.SimpleQueue[GradeTask] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    outcomes: queue.SimpleQueue[tuple[GradeTask, Outcome]] = queue.SimpleQueue()
    workers = [_Worker(waiting, outcomes) for _index in range(jobs)]
    try:
        for _task in tasks:
            yield outcomes.get()
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A thread that feeds one child process, and starts another where that one dies."""

    def __init__(
        self, waiting: queue.SimpleQueue[GradeTask], outcomes: queue.SimpleQueue[tuple[GradeTask, Outcome]]
    ) -> None:
        self._waiting = waiting
        self._outcomes = outcomes
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        """End the child and take no more tasks."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _work(self) -> None:
        while not self._stopped:
            try:
                task = self._waiting.get_nowait()
            except queue.Empty:
                break
            self._outcomes.put((task, self._grade(task)))
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _grade(self, task: GradeTask) -> Outcome:
        process = self._process
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                [sys.executable, "-m", "grader.grading.workers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._process = process
        assert process.stdin is not None and process.stdout is not None
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            process.stdin.write(msgspec.json.encode(task) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            deadline.cancel()
        if not line:
            return Failed(details=f"{task.path}: the grading process ended with status {process.wait()}")
        try:
            outcome: Outcome = msgspec.json.decode(line, type=Outcome)
        except msgspec.MsgspecError:
            return Failed(details=f"{task.path}: the grading process gave no outcome\n{traceback.format_exc()}")
        return outcome


def main() -> None:
    """Serve tasks until standard input ends."""
    # Ctrl-C is for the parent to act on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What libraries print must not get into the outcomes.
    outcomes = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        outcomes.write(msgspec.json.encode(_outcome(msgspec.json.decode(line, type=GradeTask))) + b"\n")


def _outcome(task: GradeTask) -> Outcome:
    from grader import i18n

    i18n.use(task.language)
    try:
        return Graded(result=grade_here(task))
    except UsageError as error:
        return Refused(message=str(error))
    except InternalError as error:
        return Failed(details=traceback.format_exc(), message=str(error))
    except Exception:
        return Failed(details=traceback.format_exc())


if __name__ == "__main__":
    main()
