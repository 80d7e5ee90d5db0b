"""What is said of a change that was graded: whether it is one to be made as it is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.message import msg
from grader.repair.function import Change
from grader.repair.verified import VerifiedRepair, judged, with_repairs
from grader.result import Check, Environment, Result, Score, Student, Variant
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText


def checks(**status: str) -> list[Any]:
    return [SimpleNamespace(check=name, status=one, skip_reason="") for name, one in status.items()]


@pytest.mark.parametrize(
    ("before", "after", "rest"),
    [
        # Who did something else had no cost to be proud of.
        ({"correct": "fail", "atomics": "pass"}, {"correct": "pass", "atomics": "fail"}, ("atomics",)),
        ({"correct": "fail", "uses": "fail"}, {"correct": "pass", "uses": "fail"}, ("uses",)),
        # What is spoilt is said, however it stands now, and whatever cost is mended beside it.
        ({"correct": "fail", "work": "pass"}, {"correct": "pass", "work": "skip"}, ("work",)),
        (
            {"correct": "fail", "atomics": "fail", "work": "pass"},
            {"correct": "pass", "atomics": "pass", "work": "fail"},
            ("work",),
        ),
        # What was right stays right, and cheap.
        ({"correct": "fail", "races": "pass"}, {"correct": "pass", "races": "fail"}, None),
        ({"correct": "fail", "uses": "pass"}, {"correct": "pass", "uses": "fail"}, None),
        ({"atomics": "fail", "work": "pass"}, {"atomics": "pass", "work": "fail"}, None),
        ({"correct": "fail", "races": "fail"}, {"correct": "pass", "races": "fail"}, ()),
    ],
)
def test_what_may_fail_beside_a_right_result(
    before: dict[str, str], after: dict[str, str], rest: tuple[str, ...] | None
) -> None:
    parsed = parse(SourceText(Path("k.cu"), "", "utf-8"))
    evidence: Any = SimpleNamespace(variant=SimpleNamespace(name="v"), counters=None)
    change = Change("index", 1, (), 1.0, "index")
    repair = judged(parsed, evidence, change, checks(**before), checks(**after), evidence)
    assert (repair.rest if repair is not None else None) == rest
    assert repair is None or repair.is_shown == bool(rest)


def test_a_remark_does_not_excuse_a_return_that_is_the_fault() -> None:
    left, other = msg("remarks.exited_before_barrier", line=4, n=3), msg("remarks.no_size")
    variant = Variant(kernel="k", remarks=["left", "other"], remarks_said=[left, other])
    check = Check(id="a", variant="naive", check="races", status="fail", earned=0, possible=1)
    change = Change("guard", 3, (), 1.0, "returns", "returns")
    for is_shown in (True, False):
        given = Result(
            student=Student(id="s"),
            lab="transpose",
            status="failed",
            score=Score(earned=0, possible=1, pending=0),
            environment=Environment(backend="emulator", grader="0", seed=1),
            variants={"naive": variant},
            checks=[check],
        )
        repair = VerifiedRepair("naive", "k.cu", change, ("races",), is_complete=is_shown, diff=())
        after = with_repairs(given, [repair] if is_shown else [])
        assert after.variants["naive"].remarks == (["other"] if is_shown else ["left", "other"])
