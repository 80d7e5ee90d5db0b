"""What a speed check may ask for, so that noise never decides a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Literal

from grader.timing.plan import TOLERANCE
from grader.timing.statistics import quantile, robust_deviation

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
