"""What is said of a change that was graded: whether it is one to be made as it is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.repair.function import Change
from grader.repair.verified import judged
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
