"""Hands a group's tasks to what grades them: as many as it works on at a time, each to the GPU with the least to do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import structs

from grader.grading.task import GradeTask

MOST_AT_ONCE = 16
"""Gradings side by side for each GPU: one is timed there, others are getting ready or wait for it.

Before a kernel is timed its results are looked at, beside others but with nobody timing: whoever is ready when it comes
to that does it in the same second, and the fewer such pauses there are, the more is timed.
"""
LEAST_AT_ONCE = 4
BYTES_AT_ONCE = 1 << 30
"""Of a GPU's memory for each of them: a context takes half of it, arrays the rest."""


def at_once_on(memory_bytes: int, gpus: int, tasks: int) -> int:
    """How many gradings there are side by side on each of some GPUs with so much memory (0: nobody knows how much).

    A third of the tasks is left for later, and goes to whichever GPU is done with its own.
    """
    early = -(-2 * tasks // (3 * gpus))
    return max(LEAST_AT_ONCE, min(memory_bytes // BYTES_AT_ONCE, early, MOST_AT_ONCE))


class Grading(Protocol):
    """What tasks are handed to."""

    def submit(self, task: GradeTask, message: object) -> None:
        """Have a task done."""


class Feeder:
    """The tasks of a group that are not graded yet.

    Parameters
    ----------
    at_once : how many tasks are worked on at the same time.
    gpus : what a task is timed on, () where that is not to be chosen.  A student's second task goes where the first
      went.
    """

    def __init__(self, grading: Grading, at_once: int, gpus: Sequence[str] = ()) -> None:
        self._grading = grading
        self._at_once = at_once
        self._waiting: deque[GradeTask] = deque()
        self._running = 0
        self._load = dict.fromkeys(gpus, 0)
        self._gpu_of: dict[str, str] = {}

    def __bool__(self) -> bool:
        """Whether anything is still to be graded."""
        return bool(self._running or self._waiting)

    def submit(self, tasks: Iterable[GradeTask]) -> None:
        """Have tasks graded, in this order as far as they begin one after another."""
        self._waiting.extend(tasks)
        self._hand_out()

    def ended(self, task: GradeTask) -> None:
        """Note that there is nothing more to come of a task."""
        self._running -= 1
        if task.gpu in self._load:
            self._load[task.gpu] -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._running < self._at_once:
            task = self._waiting.popleft()
            if self._load:
                gpu = self._gpu_of.setdefault(task.student, min(self._load, key=lambda name: self._load[name]))
                self._load[gpu] += 1
                task = structs.replace(task, gpu=gpu)
            self._running += 1
            self._grading.submit(task, task)
