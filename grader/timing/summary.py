"""From stored times to what a report shows and a check judges: pure functions of a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.result import Ratio, Timing
from grader.timing.plan import LAUNCH_BOUND_FACTOR
from grader.timing.records import CpuTime, Measurement, SizeTimes
from grader.timing.sampling import speedup
from grader.timing.statistics import Interval, median_interval, quantile


def student(variant: str) -> str:
    """The name under which a student's kernel is timed."""
    return f"student:{variant}"


def reference(variant: str) -> str:
    """The name under which a variant's reference kernel is timed."""
    return f"reference:{variant}"


@dataclass(frozen=True, slots=True)
class Work:
    """What has to be done at a size: bytes to be moved; operations, None for labs that are about bytes."""

    traffic_bytes: float
    operations: float | None


def timings(
    measurement: Measurement, variant: str, baseline: str, first: str, work: Mapping[tuple[int, ...], Work]
) -> list[Timing]:
    """One record for each size at which the student's kernel of `variant` has times, smallest first.

    Parameters
    ----------
    baseline : the variant whose reference kernel `Timing.speedup` is measured by.
    first : the variant of the student's own that others are compared with.
    work : by the values of the size.
    """
    records = []
    for row in measurement.sizes:
        own = row.times_us.get(student(variant), [])
        values = [time for time in own if time is not None]
        if not values or not row.valid:
            continue
        records.append(_timing(measurement, row, variant, baseline, first, values, work.get(size_key(row.size))))
    return records


def size_key(size: Mapping[str, int]) -> tuple[int, ...]:
    """A size as a key: its values in the lab's order."""
    return tuple(size.values())


def is_launch_bound(row: SizeTimes, names: Sequence[str]) -> bool:
    """Whether one of these kernels takes less than `LAUNCH_BOUND_FACTOR` times as long as an empty one."""
    medians = [interval.median for name in names if (interval := _median(row, name)) is not None]
    return any(median < LAUNCH_BOUND_FACTOR * row.empty_us for median in medians)


def marked(records: Sequence[Timing]) -> Timing | None:
    """The record that is marked: the largest size that is not launch-bound and has a speed-up."""
    return next((t for t in reversed(records) if t.speedup is not None and not t.launch_bound), None)


def _timing(
    measurement: Measurement,
    row: SizeTimes,
    variant: str,
    baseline: str,
    first: str,
    values: list[float],
    work: Work | None,
) -> Timing:
    own = row.times_us[student(variant)]
    median = median_interval(values)
    ratio = speedup(own, row.times_us.get(reference(baseline), []))
    cpu = next((c for c in measurement.cpu if c.size == row.size), None)
    reference_median = _median(row, reference(variant))
    names = [student(variant), reference(baseline)]
    return Timing(
        size=dict(row.size),
        median_us=median.median,
        ci_low_us=median.low,
        ci_high_us=median.high,
        quartile_low_us=quantile(values, 0.25),
        quartile_high_us=quantile(values, 0.75),
        speedup=ratio.median if ratio else None,
        speedup_low=ratio.low if ratio else None,
        speedup_high=ratio.high if ratio else None,
        reference_us=reference_median.median if reference_median else None,
        over_baseline=_ratio(speedup(own, row.times_us.get(student(first), []))) if variant != first else None,
        over_reference=_ratio(speedup(own, row.times_us.get(reference(variant), []))),
        launch_bound=is_launch_bound(row, names),
        rounds=len(values),
        dropped=row.dropped,
        batch=row.batch.get(student(variant), 1),
        undecided=student(variant) in row.undecided,
        **_of_cpu(cpu, median.median),
        **_rate(measurement, work, median.median),
    )


def _median(row: SizeTimes, name: str) -> Interval | None:
    values = [time for time in row.times_us.get(name, []) if time is not None]
    return median_interval(values) if values else None


def _ratio(interval: Interval | None) -> Ratio | None:
    return Ratio(value=interval.median, low=interval.low, high=interval.high) if interval else None


def _of_cpu(cpu: CpuTime | None, median_us: float) -> dict[str, Any]:
    if cpu is None:
        return {}
    return {"cpu_us": cpu.best_us, "cpu_threads": cpu.threads, "over_cpu": cpu.best_us / median_us}


def _rate(measurement: Measurement, work: Work | None, median_us: float) -> dict[str, Any]:
    """Bandwidth or arithmetic rate in units of 10⁹ a second, and its share of what the device was seen to do."""
    if work is None or not median_us:
        return {}
    if work.operations is not None:
        rate = work.operations / median_us / 1000
        most = measurement.fp32_gflop_s
        return {"gflop_per_s": rate, "pct_of_device": 100 * rate / most if most else None}
    rate = work.traffic_bytes / median_us / 1000
    most = measurement.copy_gb_s
    return {"gb_per_s": rate, "pct_of_device": 100 * rate / most if most else None}
