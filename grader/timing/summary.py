"""From times kept on disk to what a report shows and a check judges.

Measurements are stored so that grading the same work again on the same GPU gives the same mark; all else are pure
functions of a measurement.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from grader.files import home, write_atomically
from grader.measured import Ratio, Timing
from grader.timing import CpuTime, Measurement, SizeTimes
from grader.timing.sampling import LAUNCH_BOUND_FACTOR, Interval, median_interval, quantile, speedup

FORMAT = 1
"""Raised when what is measured, or how, changes: older measurements are then no longer found."""


def key_of(
    sources: Mapping[str, str], launches: str, lab: Mapping[str, bytes], nvrtc: str, device: str, driver: str
) -> str:
    """The SHA-256 of everything that a measurement depends on, in hexadecimal.

    sources: device code of the submission by file name.  launches: how its kernels are launched, in any fixed form.
    lab: the lab's own files by name.  nvrtc, driver: versions.  device: the GPU's name.
    """
    parts = [
        str(FORMAT).encode(),
        nvrtc.encode(),
        device.encode(),
        driver.encode(),
        launches.encode(),
        *_flat({name: text.encode() for name, text in sources.items()}),
        b"lab",
        *_flat(lab),
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where measurements are kept: CUDA_LAB_GRADER_STORE, or the user's data folder."""
    variables = os.environ if environment is None else environment
    chosen = variables.get("CUDA_LAB_GRADER_STORE")
    if chosen:
        return Path(chosen)
    data = variables.get("XDG_DATA_HOME")
    base = Path(data) if data else Path(variables.get("HOME") or home()) / ".local" / "share"
    return base / "cuda-lab-grader" / "measurements"


class Store:
    """The measurements in a folder, one file each."""

    def __init__(self, where: Path) -> None:
        self.folder = where

    def get(self, key: str) -> Measurement | None:
        """The measurement under `key`; None when there is none that can be read."""
        try:
            return msgspec.json.decode((self.folder / f"{key}.json").read_bytes(), type=Measurement)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, measurement: Measurement) -> bool:
        """Keep a measurement; False when the folder cannot be written to, which is no reason to stop grading."""
        try:
            write_atomically(self.folder / f"{key}.json", msgspec.json.encode(measurement))
        except OSError:
            return False
        return True


def _flat(parts: Mapping[str, bytes]) -> list[bytes]:
    return [piece for name in sorted(parts) for piece in (name.encode(), parts[name])]


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

    baseline: the variant whose reference kernel `Timing.speedup` is measured by.
    first: the variant of the student's own that others are compared with.
    work: by the values of the size.
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


def ratio_of(row: Timing, own: bool) -> Ratio | None:
    """The speed-up that is marked: over a reference kernel, or over the student's kernel of the first variant."""
    if own or row.speedup is None:
        return row.over_baseline if own else None
    low = row.speedup if row.speedup_low is None else row.speedup_low
    return Ratio(value=row.speedup, low=low, high=row.speedup if row.speedup_high is None else row.speedup_high)


def marked(records: Sequence[Timing], own: bool = False) -> Timing | None:
    """The record that is marked: the largest size that is not launch-bound and has a speed-up."""
    return next((t for t in reversed(records) if ratio_of(t, own) is not None and not t.launch_bound), None)


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
        copies_us=row.copies_us.get(student(variant)),
        reference_copies_us=row.copies_us.get(reference(variant)),
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
    """Return GB/s or GFLOP/s, and its share of what the device was measured to do."""
    if work is None or not median_us:
        return {}
    if work.operations is not None:
        rate = work.operations / median_us / 1000
        most = measurement.fp32_gflop_s
        return {"gflop_per_s": rate, "pct_of_device": 100 * rate / most if most else None}
    rate = work.traffic_bytes / median_us / 1000
    most = measurement.copy_gb_s
    return {"gb_per_s": rate, "pct_of_device": 100 * rate / most if most else None}
