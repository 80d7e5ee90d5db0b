"""A device on paper: kernels with true times, drift, jitter, outliers and throttling, all from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from grader.timing import Problem
from grader.timing.sampling import Sample


class SimulatedDevice:
    """times_us: the true time of each kernel.

    drift: relative change of all times from one launch to the next.  jitter: relative standard deviation.
    outliers: share of launches that take a tenth longer.  throttled: says of a round's number whether it is.
    wrong_from: round from which a kernel's results are wrong.
    """

    def __init__(
        self,
        times_us: dict[str, float],
        seed: int = 1,
        drift: float = 0.0,
        jitter: float = 0.0,
        outliers: float = 0.0,
        throttled: Callable[[int], bool] = lambda _round: False,
        wrong_from: dict[str, int] | None = None,
    ) -> None:
        self.rounds: list[list[str]] = []
        self._times_us = times_us
        self._random = random.Random(seed)
        self._drift, self._jitter, self._outliers = drift, jitter, outliers
        self._throttled = throttled
        self._wrong_from = wrong_from or {}
        self._slowness = 1.0

    def measure(self, order: list[str]) -> Sample:
        """One round."""
        index = len(self.rounds)
        self.rounds.append(list(order))
        times = {}
        for name in order:
            self._slowness *= 1 + self._drift
            factor = self._slowness * self._random.gauss(1, self._jitter)
            factor *= 1.1 if self._random.random() < self._outliers else 1
            times[name] = self._times_us[name] * factor
        problems = tuple(Problem(n, "wrong", 3, 9) for n in order if index >= self._wrong_from.get(n, 1 << 30))
        return Sample(times, self._throttled(index), problems)
