"""Report jobs made of the sample results, for the tests of this folder."""

from __future__ import annotations

import msgspec

from grader.report.job import ReportJob, VariantTitle
from grader.result import Result, Student
from tests import sample_results

TITLES = [
    VariantTitle(name="naive", title="Straight"),
    VariantTitle(name="shared", title="Through a tile"),
    VariantTitle(name="padded", title="Without conflicts"),
]


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
