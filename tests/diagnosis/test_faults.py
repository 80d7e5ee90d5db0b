"""A hazard as a sentence: memory that has no name is told by what kind of memory it is."""

from __future__ import annotations

import pytest

from grader.diagnosis.faults import hazard_msg
from grader.ptx.records import Hazard
from grader.words import text


@pytest.mark.parametrize(
    ("space", "array", "said"),
    [
        ("shared", "tile", "reads element 16 of tile,"),
        ("shared", "", "reads shared memory, byte 64,"),
        ("global", "", "reads global memory, byte 64,"),
    ],
)
def test_memory_without_a_name_is_told_by_its_kind(space: str, array: str, said: str) -> None:
    hazard = Hazard("uninitialized", "", 7, space, "load", array, 64, 4, 128, (0, 0, 0), (5, 0, 0))
    assert said in text(hazard_msg(hazard))
