"""Medians and their intervals, against the definition by enumeration and against simulated samples."""

from __future__ import annotations

import random
from itertools import product
from math import comb
from statistics import median, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.timing.sampling import fewest_values, median_interval, quantile, robust_deviation

FINITE = st.floats(-1e6, 1e6)


def covered(count: int, rank: int) -> float:
    """P(rank-th smallest ≤ median ≤ rank-th largest), by enumerating which of `count` values lie below the median."""
    inside = sum(rank <= sum(below) <= count - rank for below in product((0, 1), repeat=count))
    return inside / 2**count


@pytest.mark.parametrize("count", range(8, 16))
def test_the_interval_is_the_narrowest_that_covers_enough(count: int) -> None:
    interval = median_interval(range(1, count + 1), 0.99)
    rank = int(interval.low)
    assert interval.high == count + 1 - rank
    assert interval.confidence == pytest.approx(covered(count, rank))
    assert covered(count, rank) >= 0.99
    assert covered(count, rank + 1) < 0.99


@pytest.mark.parametrize("count", [31, 61, 121])
def test_ranks_of_the_stages_in_whole_numbers(count: int) -> None:
    """The largest rank with 2·Σ C(n, i) for i < rank at most a hundredth of 2ⁿ."""
    interval = median_interval(list(range(1, count + 1)))
    rank = max(k for k in range(1, count) if 200 * sum(comb(count, i) for i in range(k)) <= 2**count)
    assert (interval.low, interval.high) == (rank, count + 1 - rank)


def test_too_few_values_claim_no_confidence() -> None:
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.median, interval.high, interval.confidence) == (1.0, 2.0, 3.0, 0.0)


def test_fewest_values() -> None:
    assert fewest_values(0.99) == 8
    assert fewest_values(0.95) == 6
    assert median_interval(range(8)).confidence > 0.99 and median_interval(range(7)).confidence == 0


def test_it_covers_the_true_median_of_a_skewed_distribution() -> None:
    source = random.Random(5)
    hits = 0
    for _trial in range(2000):
        interval = median_interval([source.expovariate(1.0) for _value in range(31)])
        hits += interval.low <= 0.6931 <= interval.high
    assert hits / 2000 > 0.985


@given(st.lists(FINITE, min_size=1, max_size=80))
def test_median_and_order(values: list[float]) -> None:
    interval = median_interval(values)
    assert interval.median == pytest.approx(median(values))
    assert interval.low <= interval.median <= interval.high
    assert interval.low in values and interval.high in values


@given(st.lists(FINITE, min_size=2, max_size=50))
def test_quartiles_are_those_of_the_standard_library(values: list[float]) -> None:
    low, middle, high = quantiles(values, n=4, method="inclusive")
    assert [quantile(values, q) for q in (0.25, 0.5, 0.75)] == pytest.approx([low, middle, high])


def test_robust_deviation_of_normal_values_is_theirs_and_outliers_do_not_matter() -> None:
    source = random.Random(1)
    values = [source.gauss(10, 2) for _value in range(4000)]
    assert robust_deviation(values) == pytest.approx(2, rel=0.05)
    assert robust_deviation([*values, *[1e9] * 100]) == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(("values", "confidence"), [([], 0.99), ([1.0], 0.0), ([1.0], 1.0)])
def test_refused(values: list[float], confidence: float) -> None:
    with pytest.raises(ValueError, match=r"values|confidence"):
        median_interval(values, confidence)
