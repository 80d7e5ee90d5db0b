"""Of a kernel with a wrong result and a race, where the order of accesses is looked at by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.ptx.records import Hazard
from grader.repair.symptom import symptom_of_order


def race(detail: str, line: int, other_line: int) -> Hazard:
    place = (0, 0, 0)
    return Hazard("race", detail, line, "shared", "store", "t", 0, 4, 64, place, place, other_line=other_line)


@pytest.mark.parametrize(
    ("races", "is_sought"),
    [
        ([race("read_write", 9, 5)], True),
        ([race("write_write", 9, 5), race("read_write", 9, 5)], True),
        # Two threads with one place: no order gives each its own.
        ([race("write_write", 5, 5), race("read_write", 9, 5)], False),
        ([race("write_write", 9, 5)], False),
    ],
)
def test_no_order_mends_what_two_threads_write_in_one_line(races: list[Hazard], is_sought: bool) -> None:
    outcome = SimpleNamespace(status="ok", hazards=tuple(races), thread_instructions=1000, reason="")
    run = SimpleNamespace(drawn=False, backend="emulator", kind="correct", sizes={"n": 8}, outcome=outcome)
    evidence: Any = SimpleNamespace(runs=(run,))
    check: Any = SimpleNamespace(check="races", status="fail")
    assert (symptom_of_order(evidence, [check]) is not None) is is_sought
