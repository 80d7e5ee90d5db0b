"""Rounds of several kernels side by side, until every question asked of them is answered or the plan ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log

from grader.timing.plan import Plan, order
from grader.timing.records import Problem
from grader.timing.statistics import Interval, fewest_values, median_interval
from grader.timing.verdict import decide


@dataclass(frozen=True, slots=True)
class Sample:
    """What one round gave: µs by kernel, or `throttled` and then it does not count."""

    times_us: dict[str, float]
    throttled: bool = False
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Is `name` at least `threshold` times as fast as `baseline`?"""

    name: str
    baseline: str
    threshold: float


@dataclass(slots=True)
class Samples:
    """Times of the rounds that count; `times_us[name][i]` is None where a kernel took no part in round i.

    rounds: all that were made; dropped: those of them that were throttled.
    """

    times_us: dict[str, list[float | None]]
    rounds: int = 0
    dropped: int = 0
    problems: list[Problem] = field(default_factory=list)
    undecided: list[Question] = field(default_factory=list)
    valid: bool = True

    def median(self, name: str) -> Interval | None:
        """µs; None when there is no time of it."""
        values = [t for t in self.times_us.get(name, []) if t is not None]
        return median_interval(values) if values else None

    def speedup(self, name: str, baseline: str) -> Interval | None:
        """How many times as fast `name` is as `baseline`, from rounds that have both; None when there is none."""
        return speedup(self.times_us.get(name, []), self.times_us.get(baseline, []))


def speedup(times: Sequence[float | None], baseline: Sequence[float | None]) -> Interval | None:
    """Median of the paired ratio `baseline` / `times` with its interval, taken on logarithms."""
    logs = [log(b / a) for a, b in zip(times, baseline, strict=False) if a and b]
    if not logs:
        return None
    found = median_interval(logs)
    return Interval(exp(found.median), exp(found.low), exp(found.high), found.confidence, found.count)


def sample(
    measure: Callable[[list[str]], Sample], names: Sequence[str], questions: Iterable[Question], plan: Plan
) -> Samples:
    """Make rounds of `measure` by the plan.

    A kernel whose result was wrong takes no part in later rounds.  Stages after the first are for the kernels of
    questions that are open still.
    """
    asked = list(questions)
    found = Samples({name: [] for name in names})
    active = list(names)
    for stage, goal in enumerate(plan.stages):
        if stage:
            found.undecided = [q for q in asked if _is_open(found, q)]
            wanted = {n for q in found.undecided for n in (q.name, q.baseline)}
            active = [name for name in active if name in wanted]
            if not active:
                break
        # Throttled rounds are made good for, but not without end.
        attempts = found.rounds + (goal - _counted(found)) + int(plan.max_dropped * goal) + 1
        while _counted(found) < goal and found.rounds < attempts and active:
            active = _round(measure, active, found)
        if found.rounds and found.dropped > plan.max_dropped * found.rounds:
            found.valid = False
            return found
    found.undecided = [q for q in asked if _is_open(found, q)]
    return found


def _round(measure: Callable[[list[str]], Sample], active: list[str], found: Samples) -> list[str]:
    """One round; returns the kernels that are right still."""
    got = measure(order(active, found.rounds))
    found.rounds += 1
    found.problems += got.problems
    wrong = {problem.name for problem in got.problems}
    if got.throttled:
        found.dropped += 1
    else:
        for name, times in found.times_us.items():
            times.append(got.times_us.get(name) if name not in wrong else None)
    return [name for name in active if name not in wrong]


def _counted(found: Samples) -> int:
    return found.rounds - found.dropped


def _is_open(found: Samples, question: Question) -> bool:
    interval = found.speedup(question.name, question.baseline)
    if interval is None or interval.count < fewest_values():
        return False
    return decide(interval.low, interval.high, question.threshold) == "undecided"
