"""CPU times with a clock on paper."""

from __future__ import annotations

import threading
import time

from grader.timing.sampling import MAX_RUNS, model, time_cpu


class Paper:
    """Seconds that pass while work is done, and processor seconds used for it."""

    def __init__(self, steps: list[tuple[float, float]]) -> None:
        self.now = self.used = 0.0
        self.runs = 0
        self._steps = steps

    def work(self) -> None:
        passed, used = self._steps[min(self.runs, len(self._steps) - 1)]
        self.now += passed
        self.used += used
        self.runs += 1


def test_the_best_of_five_short_runs() -> None:
    paper = Paper([(0.03, 0.03), (0.01, 0.04), (0.02, 0.02)])
    found = time_cpu(paper.work, {"n": 3}, lambda: paper.now, lambda: paper.used)
    assert (found.size, round(found.best_us), found.threads, paper.runs) == ({"n": 3}, 10_000, 4, MAX_RUNS)


def test_a_long_run_is_made_once() -> None:
    paper = Paper([(3.0, 5.6)])
    found = time_cpu(paper.work, {}, lambda: paper.now, lambda: paper.used)
    assert (round(found.best_us), found.threads, paper.runs) == (3_000_000, 2, 1)


def test_sleeping_keeps_no_thread_busy_but_one_is_named() -> None:
    assert time_cpu(lambda: time.sleep(0.01), {}).threads == 1
    assert threading.active_count() >= 1 and model()
