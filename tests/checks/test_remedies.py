"""What a remedy says follows from what was found: the sum, the array, the launch at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.checks.remedies import remedy
from grader.oracle.compare import Difference
from grader.result import Diagnosis, ElementRange, ElementWriter, WrongPattern
from grader.submission.kernels.records import SharedArray
from grader.words import text
from tests.checks.evidence_factory import check, evidence, hazard, kernel, run

SUM = [ElementRange(array="in", ranges=[(0, 4)])]
WRITER = ElementWriter(block=(0, 0, 0), thread=(2, 0, 0), line=12)
WRONG = Difference(total=64, mismatches=60, max_abs_error=5.0, first=(2,), expected=17.0, got=0.0, name="out")


def diagnosis(**changes: Any) -> Diagnosis:
    """Of a sum over in[0…4] that comes out wrong though its elements are the right ones."""
    fields: dict[str, Any] = {
        "size": {"rows": 33, "cols": 31},
        "output": "out",
        "shape": [64],
        "total": 64,
        "wrong": 60,
        "unwritten": 0,
        "first": [2],
        "expected": 17.0,
        "got": 3.5,
        "writer": WRITER,
        "read": SUM,
        "uses": 5,
        "compared": True,
        "sentences": ["60 of 64 elements are wrong."],
    }
    return Diagnosis(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "check what is computed from them"),
        ({"got": 0.0, "values": WrongPattern(id="zero", holds=60, of=60)}, "integer division such as 1 / 5 gives 0"),
        ({"got": None, "values": WrongPattern(id="nan", holds=60, of=60)}, "Start with float sum = 0"),
        ({"values": WrongPattern(id="scaled", holds=60, of=60)}, "multiplied or divided by"),
        ({"compared": False}, ""),
        ({"missing": SUM}, "The loop skips terms"),
        ({"surplus": SUM}, "The loop includes too many terms"),
    ],
)
def test_a_wrong_sum(changes: dict[str, Any], words: str) -> None:
    assert words in text(remedy(diagnosis(**changes)))
    assert bool(remedy(diagnosis(**changes))) == bool(words)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (diagnosis(missing=SUM), "(n + T - 1) / T steps"),
        # One element that is not the right one is no sum that was cut short.
        (diagnosis(read=[], missing=[ElementRange(array="in", ranges=[(3, 3)])]), "guard every read"),
        (diagnosis(missing=SUM, surplus=SUM), "guard every read"),
    ],
)
def test_sizes_off_the_tile(found: Diagnosis, words: str) -> None:
    given = evidence(runs=(run("correct"), run("ragged", WRONG)), diagnoses={"ragged": found})
    assert words in check(given, "ragged_sizes").hint


def test_rows_and_columns_change_places_where_a_lab_has_both() -> None:
    given = evidence(runs=(run("correct"), run("ragged", WRONG)))
    assert "Rows and columns are swapped in the output" in check(given, "ragged_sizes").hint
    launch = replace(given.lab.launch, covers=("rows",))
    line = evidence(runs=(run("correct"), run("ragged", WRONG)), lab=replace(given.lab, launch=launch))
    assert "guard every read" in check(line, "ragged_sizes").hint
    assert "Rows and columns" not in check(line, "ragged_sizes").hint


@pytest.mark.parametrize(("dynamic", "words"), [(True, "The launch gives t 4096 bytes."), (False, "declared size")])
def test_past_the_end_of_shared_memory(dynamic: bool, words: str) -> None:
    array = SharedArray("t", 7, "float32", (None,) if dynamic else (32, 32), dynamic)
    outside = hazard("out_of_bounds", "after", offset_bytes=4096)
    given = evidence(runs=(run("correct", hazards=(outside,)),), kernel=replace(kernel(), shared_arrays=(array,)))
    assert words in check(given, "memory_safety").hint


def test_a_wrong_result_beside_a_race_is_mended_by_mending_the_race() -> None:
    race = hazard("race", "write_write", op="store", other_line=12, other_thread=(2, 0, 0))
    given = evidence(runs=(run("correct", WRONG, hazards=(race,)),))
    assert "Two threads write the same element" in check(given, "correct").hint
    assert "Follow one element by hand" in check(evidence(runs=(run("correct", WRONG),)), "correct").hint
