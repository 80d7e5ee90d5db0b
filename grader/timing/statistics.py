"""Medians and what follows from them without assuming any distribution: intervals, verdicts, thresholds.

Whether a measured speed-up reaches what is asked, the share of points it earns, and what a speed check may ask for so
that noise never decides a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, exp, log, sqrt
from typing import Literal

TOLERANCE = 0.03
"""In the student's favour: a threshold counts as reached at 97 % of it."""
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


Decision = Literal["reached", "missed", "undecided"]


def decide(low: float, high: float, threshold: float) -> Decision:
    """Where an interval of the speed-up lies as against a threshold, less the tolerance."""
    asked = threshold * (1 - TOLERANCE)
    if low >= asked:
        return "reached"
    return "missed" if high < asked else "undecided"


def credit(speedup: float, minimum: float, full: float) -> float:
    """The share of points: 0 up to `minimum`, 1 from `full`, linear between; no step anywhere.

    Both are lowered by the tolerance, so that all points are there where `full` counts as reached.
    """
    minimum, full = minimum * (1 - TOLERANCE), full * (1 - TOLERANCE)
    if full <= minimum:
        return 1.0 if speedup >= full else 0.0
    return min(1.0, max(0.0, (speedup - minimum) / (full - minimum)))


DEVIATIONS = 5.0
"""A threshold stays this many robust standard deviations away from what is measured."""

NEAR_REFERENCE = 0.85
"""Of the reference's speed-up: who comes so near to the instructor's kernel has done what can be asked."""

Judgement = Literal["sound", "in_noise", "out_of_reach", "too_close"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Thresholds for one check.

    measured: the reference kernel's own speed-up; deviation: of its logarithm between repeated measurements.
    minimum, full: proposed; None when no threshold fits between the two kernels.
    """

    measured: float
    deviation: float
    minimum: float | None
    full: float | None


def propose(speedups: Sequence[float]) -> Proposal:
    """Thresholds from repeated measurements of the reference kernel's speed-up over the kernel it is measured by.

    `full` is 85 % of it, `minimum` half way (on a logarithmic scale) from no speed-up to there.  A check of a variant
    against itself has no speed-up to find: 0.85 and the half of that.

    Raises
    ------
    ValueError : no measurements.
    """
    if not speedups:
        raise ValueError("no measurements")
    measured = quantile(speedups, 0.5)
    deviation = robust_deviation([log(s) for s in speedups])
    if abs(log(measured)) <= max(DEVIATIONS * deviation, TOLERANCE):
        return Proposal(measured, deviation, 0.43, NEAR_REFERENCE)
    full = NEAR_REFERENCE * measured
    minimum = sqrt(full)
    if full <= exp(DEVIATIONS * deviation) or full <= 1:
        return Proposal(measured, deviation, None, None)
    return Proposal(measured, deviation, _rounded(minimum), _rounded(full))


def judge(minimum: float, full: float, proposal: Proposal) -> Judgement:
    """Whether thresholds that a lab file has are sound on this device.

    in_noise: `full`, less the tolerance, lies within the noise of the reference's own speed-up.
    out_of_reach: it lies above.  too_close: the ramp between the two is narrower than the noise.
    """
    margin = DEVIATIONS * proposal.deviation
    asked, reached = log(full * (1 - TOLERANCE)), log(proposal.measured)
    if abs(asked - reached) < margin:
        return "in_noise"
    if asked > reached:
        return "out_of_reach"
    if log(full) - log(max(minimum, 1e-9)) < margin:
        return "too_close"
    return "sound"


def _rounded(value: float) -> float:
    """To two digits after the point below 10, to one above."""
    return round(value, 2 if value < 10 else 1)
