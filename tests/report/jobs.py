"""Report jobs made of the sample results, for the tests of this folder."""

from __future__ import annotations

import msgspec

from grader.measured import LineTime, PredictedTime, Ratio
from grader.report.job import ReportJob, VariantTitle
from grader.result import Result, Student
from tests import sample_results

TITLES = [
    VariantTitle(name="naive", title="Straight"),
    VariantTitle(name="shared", title="Through a tile"),
    VariantTitle(name="padded", title="Without conflicts"),
]
TIME = PredictedTime(
    device="H200",
    size={"n": 64},
    predicted_us=1995.0,
    predicted_low_us=1330.0,
    predicted_high_us=2990.0,
    is_checked=True,
    shares={"l2": 0.25, "shared": 0.7, "launch": 0.004},
    limiter="shared",
    predicted_without_us={"bank_conflicts": 498.0},
    by_line=[
        LineTime(line=4, share=0.8, predicted_us=1600.0, shares={"shared": 0.7, "l2": 0.1}),
        LineTime(line=5, share=0.02, predicted_us=40.0, shares={"l2": 0.02}),
    ],
    predicted_over_baseline=Ratio(value=3.14, low=1.7, high=5.6),
    predicted_speedup=Ratio(value=2.5, low=1.4, high=4.5),
    against="naive",
)


def job(result: Result | None = None, **changes: object) -> ReportJob:
    """A job in English for `result` (default: everything passed)."""
    made = ReportJob(
        result=result or sample_results.passed(),
        language="en",
        lab_title="Transposing a matrix",
        aim="To see bank conflicts.",
        task="Write *three* kernels.",
        variants=TITLES,
    )
    return msgspec.structs.replace(made, **changes)


def named(name: str) -> ReportJob:
    """A job for a student of that name."""
    result = msgspec.structs.replace(sample_results.failed(), student=Student(id="x", name=name, group=name))
    return job(result)


def with_time(**variants: PredictedTime | None) -> Result:
    """What passed, with predicted times of some variants."""
    result = sample_results.passed()
    changed = {name: msgspec.structs.replace(result.variants[name], predicted=time) for name, time in variants.items()}
    return msgspec.structs.replace(result, variants={**result.variants, **changed})
