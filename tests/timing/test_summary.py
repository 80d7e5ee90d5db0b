"""From stored times to records: medians, ratios of the same round, rates, what is marked."""

from __future__ import annotations

import msgspec
import pytest

from grader.timing import CpuTime, Measurement, SizeTimes
from grader.timing.summary import Work, is_launch_bound, marked, reference, size_key, student, timings

SMALL, LARGE = {"rows": 8, "cols": 8}, {"rows": 64, "cols": 64}


def row(size: dict[str, int], naive: float, fast: float, empty_us: float = 1.0, valid: bool = True) -> SizeTimes:
    """Eleven rounds, each a tenth slower than the one before for all kernels."""
    slow = [1 + 0.1 * i for i in range(11)]
    times: dict[str, list[float | None]] = {
        student("naive"): [naive * s for s in slow],
        student("fast"): [fast * s for s in slow],
        reference("naive"): [2 * naive * s for s in slow],
        reference("fast"): [0.5 * fast * s for s in slow],
    }
    return SizeTimes(
        size=size,
        times_us=dict(times),
        batch=dict.fromkeys(times, 4),
        empty_us=empty_us,
        rounds=12,
        dropped=1,
        valid=valid,
        sm_mhz=1980.0,
        undecided=[student("fast")],
    )


def measurement(*sizes: SizeTimes) -> Measurement:
    return Measurement(
        device="GPU",
        driver="1",
        nvrtc="13.0",
        l2="cold",
        copy_gb_s=4000.0,
        fp32_gflop_s=50_000.0,
        sizes=list(sizes),
        cpu=[CpuTime(size=LARGE, best_us=3000.0, threads=8)],
    )


WORK = {size_key(LARGE): Work(6e6, None), size_key(SMALL): Work(1e3, None)}


def test_one_size() -> None:
    (found,) = timings(measurement(row(LARGE, 40.0, 10.0)), "fast", "naive", "naive", WORK)
    assert found.median_us == pytest.approx(15.0)
    assert (found.ci_low_us, found.ci_high_us) == pytest.approx((10.0, 20.0))
    assert (found.quartile_low_us, found.quartile_high_us) == pytest.approx((12.5, 17.5))
    # The rounds' slowness cancels: every ratio is exact, although times spread by half.
    assert (found.speedup, found.speedup_low, found.speedup_high) == pytest.approx((8.0, 8.0, 8.0))
    assert found.over_baseline is not None and found.over_baseline.value == pytest.approx(4.0)
    assert found.over_reference is not None and found.over_reference.value == pytest.approx(0.5)
    assert found.reference_us == pytest.approx(7.5)
    assert (found.cpu_us, found.cpu_threads, found.over_cpu) == pytest.approx((3000.0, 8, 200.0))
    assert found.gb_per_s == pytest.approx(400.0) and found.gflop_per_s is None
    assert found.pct_of_device == pytest.approx(10.0)
    assert (found.rounds, found.dropped, found.batch, found.undecided) == (11, 1, 4, True)


def test_the_baseline_is_not_compared_with_itself() -> None:
    (found,) = timings(measurement(row(LARGE, 40.0, 10.0)), "naive", "naive", "naive", WORK)
    assert found.over_baseline is None and found.speedup == pytest.approx(2.0) and not found.undecided


def test_arithmetic_is_set_against_the_peak() -> None:
    work = {size_key(LARGE): Work(6e6, 3e9)}
    (found,) = timings(measurement(row(LARGE, 40.0, 200.0)), "fast", "naive", "naive", work)
    assert found.gflop_per_s == pytest.approx(3e9 / 300e-6 / 1e9) and found.gb_per_s is None
    assert found.pct_of_device == pytest.approx(20.0)


def test_launch_bound_sizes_are_shown_and_not_marked() -> None:
    both = timings(measurement(row(SMALL, 4.0, 2.0), row(LARGE, 40.0, 10.0)), "fast", "naive", "naive", WORK)
    assert [t.launch_bound for t in both] == [True, False]
    found = marked(both)
    assert found is not None and found.size == LARGE
    assert marked(both[:1]) is None and marked([]) is None


def test_the_largest_size_that_is_no_launch_is_marked() -> None:
    rows = timings(
        measurement(row(SMALL, 40.0, 10.0), row(LARGE, 40.0, 10.0, empty_us=4.0)), "fast", "naive", "naive", WORK
    )
    found = marked(rows)
    assert found is not None and found.size == SMALL


def test_a_measurement_with_too_many_throttled_rounds_shows_nothing() -> None:
    assert timings(measurement(row(LARGE, 40.0, 10.0, valid=False)), "fast", "naive", "naive", WORK) == []


def test_a_variant_that_was_not_timed() -> None:
    assert timings(measurement(row(LARGE, 40.0, 10.0)), "other", "naive", "naive", WORK) == []


def test_launch_bound_is_under_five_times_an_empty_kernel() -> None:
    times = row(LARGE, 10.0, 10.0)
    median = 15.0
    assert not is_launch_bound(msgspec.structs.replace(times, empty_us=median / 5), [student("fast")])
    assert is_launch_bound(msgspec.structs.replace(times, empty_us=median / 5 * 1.001), [student("fast")])
