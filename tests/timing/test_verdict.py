"""Three-state decisions and the ramp of points."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.timing.sampling import credit, decide


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (2.0, 2.1, "reached"),
        (1.94, 1.95, "reached"),
        (1.93, 1.95, "undecided"),
        (1.90, 1.9399, "missed"),
        (1.0, 3.0, "undecided"),
    ],
)
def test_decisions_at_a_threshold_of_two(low: float, high: float, decision: str) -> None:
    assert decide(low, high, 2.0) == decision


@pytest.mark.parametrize(
    ("speedup", "points"), [(1.0, 0.0), (0.97 * 1.2, 0.0), (0.97 * 1.6, 0.5), (0.97 * 2.0, 1.0), (5.0, 1.0)]
)
def test_the_ramp(speedup: float, points: float) -> None:
    assert credit(speedup, 1.2, 2.0) == pytest.approx(points)


@given(st.floats(0.1, 10), st.floats(0.5, 4), st.floats(0.01, 4))
def test_the_ramp_has_no_step_and_never_falls(speedup: float, minimum: float, width: float) -> None:
    full = minimum + width
    here, there = credit(speedup, minimum, full), credit(speedup * 1.0001, minimum, full)
    assert 0 <= here <= there <= 1
    assert there - here <= 0.0002 * speedup / width


@given(st.floats(0.1, 10), st.floats(0.5, 4), st.floats(0.01, 4))
def test_all_points_exactly_where_the_threshold_counts_as_reached(speedup: float, minimum: float, width: float) -> None:
    full = minimum + width
    if decide(speedup, speedup, full) == "reached":
        assert credit(speedup, minimum, full) == pytest.approx(1)
    else:
        assert credit(speedup, minimum, full) < 1


def test_minimum_and_full_alike_are_a_step() -> None:
    assert (credit(1.93, 2.0, 2.0), credit(1.95, 2.0, 2.0)) == (0.0, 1.0)
