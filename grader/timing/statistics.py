"""Medians and what can be said of them without assuming any distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with its confidence interval.

    confidence: what the interval really covers; 0 when there were too few values for the one that was asked.
    """

    median: float
    low: float
    high: float
    confidence: float
    count: int


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median of `values`, between two of them that enclose the true median with at least `confidence`.

    Order statistics: of n independent values the number below the true median is binomial(n, 1/2), so the interval
    from the k-th smallest to the k-th largest covers it with 1 − 2·P(B < k) (H. A. David, Order Statistics, 2.5).
    Too few values for that give the range of all of them, with confidence 0.

    Raises
    ------
    ValueError : no values, or confidence not between 0 and 1.
    """
    if not values:
        raise ValueError("no values")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    ordered = sorted(values)
    count = len(ordered)
    rank, covered = _rank(count, confidence)
    if rank == 0:
        return Interval(quantile(ordered, 0.5), ordered[0], ordered[-1], 0.0, count)
    return Interval(quantile(ordered, 0.5), ordered[rank - 1], ordered[count - rank], covered, count)


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by linear interpolation between the two nearest values."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def robust_deviation(values: Sequence[float]) -> float:
    """1.4826 times the median distance from the median: the standard deviation where values are normal."""
    centre = quantile(values, 0.5)
    return 1.4826 * quantile([abs(value - centre) for value in values], 0.5)


def fewest_values(confidence: float = CONFIDENCE) -> int:
    """The fewest values that an interval of this confidence can be made of: 8 for 99 %."""
    count = 1
    while 1 - 2 * 0.5**count < confidence:
        count += 1
    return count


def _rank(count: int, confidence: float) -> tuple[int, float]:
    """The largest k whose interval covers enough, and what it covers; (0, 0) when none does."""
    below = 0.0
    best = 0, 0.0
    for rank in range(1, count // 2 + 1):
        below += comb(count, rank - 1) * 0.5**count
        covered = 1 - 2 * below
        if covered < confidence:
            break
        best = rank, covered
    return best
