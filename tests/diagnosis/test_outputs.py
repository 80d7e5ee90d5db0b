"""How an output differs from what is expected, in words."""

from __future__ import annotations

from typing import Any

import pytest

from grader.diagnosis.text import difference_msg, projections_msg
from grader.lab.compare import Difference
from grader.words import text


def difference(**changes: Any) -> Difference:
    fields: dict[str, Any] = {"name": "out", "total": 64, "mismatches": 5, "first": (0, 3)}
    return Difference(**(fields | {"expected": 17.0, "got": 3.5} | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "5 of 64 elements are wrong. The first: out[0][3] should be 17, got 3.5."),
        ({"mismatches": 1}, "1 of 64 elements is wrong. The first: out[0][3] should be 17, got 3.5."),
        (
            {"found_at": ("in", (3, 0)), "belongs_at": ("in", (0, 3))},
            "5 of 64 elements are wrong. The first: out[0][3] should be 17 (in[0][3]), got 3.5 (in[3][0]).",
        ),
        (
            {"mismatches": 64},
            "64 of 64 elements are wrong. The first: out[0][3] should be 17, got 3.5. Every element is wrong.",
        ),
        (
            {"unwritten": 5},
            "5 of 64 elements are wrong. The first: out[0][3] should be 17, but no thread wrote it. All wrong elements "
            "were written by no thread.",
        ),
        (
            {"found_at": ("out", (0, 3))},
            "5 of 64 elements are wrong. The first: out[0][3] should be 17, but still has its old value, 3.5.",
        ),
        (
            {"found_at": ("out", (0, 4))},
            "5 of 64 elements are wrong. The first: out[0][3] should be 17, got 3.5 (out[0][4]).",
        ),
        ({"unwritten": 64, "mismatches": 64}, "The kernel wrote nothing to out."),
        ({"first": None}, "5 of 64 elements are wrong."),
    ],
)
def test_a_difference(changes: dict[str, Any], words: str) -> None:
    assert text(difference_msg(difference(**changes))) == words


def test_how_it_was_told_to_be_right() -> None:
    assert projections_msg(difference()) is None
    assert text(projections_msg(difference(projections=40))) == (
        "checked by 40 random projections; they miss a wrong row with a probability of at most 2⁻⁴⁰"
    )
