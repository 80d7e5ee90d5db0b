"""Whether a measured speed-up reaches what is asked, and the share of points it earns."""

from __future__ import annotations

from typing import Literal

from grader.timing.plan import TOLERANCE

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
