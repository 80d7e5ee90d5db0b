"""How many rounds a measurement takes, and in which order the kernels run in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.timing.statistics import CONFIDENCE, fewest_values

WARM_UP_MS = 200.0
"""An idle GPU runs at a sixth of its clock; it takes some ten milliseconds of work to come up."""

CLOCK_SHARE = 0.02
"""Of a launch's time, what one tick of the events' clock may come to; shorter launches are averaged over a batch.

An H200's clock ticks every 32 ns, so that one launch will do from 1.6 µs on; others tick every half microsecond.
"""

MAX_BATCH = 16
LAUNCH_BOUND_FACTOR = 5.0
"""Below this many times an empty kernel's time, what is measured is mostly the launch."""

TOLERANCE = 0.03
"""In the student's favour: a threshold counts as reached at 97 % of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds in the first stage and in the later ones, each only where the one before did not decide.

    max_dropped: more than this share of throttled rounds, and the measurement does not count.
    """

    stages: tuple[int, ...] = (31, 61, 121)
    confidence: float = CONFIDENCE
    max_dropped: float = 0.2


def plan_for(round_us: float, budget_us: float = 1_200_000.0) -> Plan:
    """A plan whose first stage fits the budget: 31 rounds, or fewer of long kernels, but enough for an interval."""
    first = int(min(31, max(fewest_values() + 1, budget_us // max(round_us, 1.0))))
    return Plan(stages=(first, 2 * first - 1, 4 * first - 3))


def order(names: Sequence[str], index: int) -> list[str]:
    """The kernels of round `index`: forwards in even rounds, backwards in odd ones.

    Two kernels run as A B, B A, A B, …; a drift that is steady over two rounds then favours none of any number.
    """
    return list(names) if index % 2 == 0 else list(reversed(names))
