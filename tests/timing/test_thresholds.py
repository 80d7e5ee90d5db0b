"""What calibration proposes and refuses."""

from __future__ import annotations

import random

import pytest

from grader.timing.sampling import judge, propose


def noisy(value: float, deviation: float, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [value * source.gauss(1, deviation) for _value in range(20)]


def test_a_clear_technique() -> None:
    proposal = propose(noisy(6.4, 0.002))
    assert proposal.full == pytest.approx(0.85 * 6.4, rel=0.01)
    assert proposal.minimum == pytest.approx((0.85 * 6.4) ** 0.5, rel=0.01)
    assert judge(proposal.minimum or 0, proposal.full or 0, proposal) == "sound"


def test_the_same_kernel_on_both_sides() -> None:
    proposal = propose(noisy(1.0, 0.002))
    assert (proposal.minimum, proposal.full) == (0.43, 0.85)


def test_a_technique_that_hardly_pays_has_no_threshold() -> None:
    proposal = propose(noisy(1.12, 0.002))
    assert proposal.full is None and proposal.minimum is None


@pytest.mark.parametrize(
    ("minimum", "full", "verdict"),
    [
        (1.2, 2.0, "sound"),
        (1.2, 3.0, "in_noise"),
        (1.2, 3.08, "in_noise"),
        (1.2, 4.0, "out_of_reach"),
        (1.99, 2.0, "too_close"),
    ],
)
def test_the_lab_file_s_thresholds(minimum: float, full: float, verdict: str) -> None:
    assert judge(minimum, full, propose(noisy(3.0, 0.01))) == verdict


def test_nothing_measured() -> None:
    with pytest.raises(ValueError, match="no measurements"):
        propose([])
