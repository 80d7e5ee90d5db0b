"""Runs as the records of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.grading.recording import host_remarks, observation_remarks, variant_record
from grader.lab.compare import Difference
from grader.launching.backend import LaunchOutcome
from grader.message import msg
from grader.result import CaseKind
from grader.running.evidence import HostCode, HostFault
from grader.submission.kernels.records import ObservedRuns, SeenRun
from grader.words import text, told
from tests.checks.evidence_factory import evidence, run

LARGE: CaseKind = "large"


def test_large_sizes_are_told_and_cost_nothing() -> None:
    right, wrong, impossible = (
        replace(run("correct"), kind=LARGE, sizes={"n": n}, backend="gpu", difference=difference, outcome=outcome)
        for n, difference, outcome in (
            (4096, Difference(1 << 24, 0, name="c", projections=32), LaunchOutcome("ok")),
            (8192, Difference(1 << 26, 2, first=(5, 7), expected=3.0, got=4.0, name="c"), LaunchOutcome("ok")),
            (2048, None, LaunchOutcome("impossible", reason="2048 threads per block, at most 1024 are allowed")),
        )
    )
    record = told(variant_record(evidence(larger=(right, wrong, impossible))))
    assert [(case.kind, case.size, case.status) for case in record.cases[-3:]] == [
        ("large", {"n": 4096}, "pass"),
        ("large", {"n": 8192}, "fail"),
        ("large", {"n": 2048}, "fail"),
    ]
    assert record.cases[-3].message == (
        "checked by 32 random projections; they miss a wrong row with a probability of at most 2⁻³²"
    )
    costs_nothing = "This large size is tested in addition and costs no points."
    assert record.remarks == [
        "2 of 67108864 elements are wrong. The first: c[5][7] should be 3, got 4. Seen at n = 8192. " + costs_nothing,
        "The launch is impossible: 2048 threads per block, at most 1024 are allowed. Seen at n = 2048. "
        + costs_nothing,
    ]


def test_a_line_in_another_file_than_the_programs_is_told_with_that_file() -> None:
    files = ("main.cu", "kernels.cuh")
    cause = msg("programs.too_long", limit="1")
    runs = [SeenRun(files, cause=cause, cause_file=file, cause_line=7) for file in files]
    at_home, elsewhere = (text(observation_remarks(ObservedRuns((run,)))[0]) for run in runs)
    assert "(line 7)" in at_home and "(kernels.cuh, line 7)" in elsewhere


@pytest.mark.parametrize(
    ("body", "is_right", "is_told"),
    [
        ("out[i] = sum / (2 * RADIUS + 1);", True, False),
        ("out[i] = sum / (2 * RADIUS + 1);", False, True),
        ("out[i] = rsqrtf(in[i]);", True, True),
        ("out[i] = in[i] / (float)weights[i];", True, True),
        ("out[i] = in[i]; }\nvoid f() { in[0] = NAN;", True, True),
        ("out[i] = in[i]; }\nvoid f() { bad += isnan(got[0]);", True, False),
    ],
)
def test_that_a_check_takes_nan_for_right_is_told_where_there_may_be_some(
    body: str, is_right: bool, is_told: bool
) -> None:
    fault = HostFault("copy", "transpose.cu", 9, msg("checks.host_code.not_noticed_nan"))
    difference = Difference(total=4096, mismatches=0 if is_right else 7, name="out")
    own = evidence(
        source={"transpose.cu": f"__global__ void tiled(const float *in, float *out, int rows, int cols) {{ {body} }}"},
        host=HostCode(is_there=True, untidy=(fault,)),
        runs=(run("correct", difference),),
    )
    assert len(host_remarks({"padded": own})) == is_told
