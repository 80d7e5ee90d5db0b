"""What a remedy says follows from what was found: the sum, the array, the launch at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.checks.base import remedy
from grader.lab.compare import Difference
from grader.measured import Diagnosis, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.submission.cpp.syntax import Binary, Expression, Name, Number, SizeOf
from grader.submission.kernels.records import LaunchSite, SharedArray
from grader.words import text
from tests.checks.evidence_factory import check, evidence, hazard, kernel, run, site

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
        ({}, "the fault is in what is computed from them"),
        ({"values": WrongPattern(id="input_pitch", holds=60, of=60, data={"array": "in", "right": 31})}, "in has 31"),
        ({"compared": False}, ""),
        # What was read too little or too much says nothing of why.
        ({"missing": SUM}, ""),
        ({"surplus": SUM}, ""),
        # Nor does a region or a rule of the wrong values.
        ({"compared": False, "values": WrongPattern(id="swapped_tiles", holds=60, of=60)}, ""),
        ({"compared": False, "values": WrongPattern(id="unwritten", holds=60, of=60)}, ""),
        ({"compared": False, "region": WrongPattern(id="border", holds=60, of=60)}, ""),
    ],
)
def test_a_remedy_says_what_the_diagnosis_proves(changes: dict[str, Any], words: str) -> None:
    assert words in text(remedy(diagnosis(**changes)))
    assert bool(remedy(diagnosis(**changes))) == bool(words)


def read(**changes: Any) -> ElementRead:
    """A thread's reading of in[0], which was there before the launch."""
    fields: dict[str, Any] = {"array": "in", "space": "global", "index": [0], "line": 9, "origin": "input"}
    return ElementRead(**(fields | {"block": (0, 0, 0), "thread": (2, 0, 0)} | changes))


LATER = ElementWriter(block=(0, 0, 0), thread=(3, 0, 0), line=14)


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        ([read(), read(array="out", origin="nothing")], "or set the output to 0 first."),
        ([read(), read(array="t", space="shared", origin="nothing")], "Shared memory holds whatever"),
        # It is written, but later: a matter of barriers.
        ([read(array="t", space="shared", origin="nothing", put_by=LATER)], ""),
        ([read(origin="nothing")], ""),
        # The output's own name in shared memory is another array.
        ([read(array="out", space="shared", origin="nothing")], "Shared memory holds whatever"),
        ([read(array="out"), read(array="t", space="shared", origin="written", put_by=LATER)], "The right elements"),
    ],
)
def test_what_was_read_before_anything_was_written_there(reads: list[ElementRead], words: str) -> None:
    found = text(remedy(diagnosis(reads=reads)))
    assert words in found and bool(found) == bool(words)


@pytest.mark.parametrize(
    ("factor", "summed", "words"),
    [
        (3.0, SUM, "Divided by 3 these values would be right"),
        (1.25, SUM, "5 elements are summed, and the result is as if their sum were divided by 4 instead of 5."),
        (0.5, SUM, "divided by 10 instead of 5"),
        # No whole number of elements gives that.
        (0.7, SUM, "The right elements are read"),
        (1.0, SUM, "The right elements are read"),
        (-1.25, SUM, "The right elements are read"),
        (0, SUM, "The right elements are read"),
        ("x", SUM, "The right elements are read"),
        (0.5, [ElementRange(array="in", ranges=[(3, 3)])], "The right elements are read"),
        (1.25, [*SUM, ElementRange(array="other", ranges=[(0, 4)])], "The right elements are read"),
        (1.2, [ElementRange(array="in", ranges=[(0, 1), (0, 2)])], "6 elements are summed"),
    ],
)
def test_a_sum_that_is_divided_by_another_number(factor: object, summed: list[ElementRange], words: str) -> None:
    values = WrongPattern(id="scaled", holds=60, of=60, data={"factor": factor})  # type: ignore[dict-item]
    assert words in text(remedy(diagnosis(values=values, read=summed)))


@pytest.mark.parametrize(("thread", "words"), [((3, 0, 0), "Two threads write"), ((2, 0, 0), "")])
def test_two_writers_are_two_threads(thread: tuple[int, int, int], words: str) -> None:
    earlier = ElementWriter(block=(0, 0, 0), thread=thread, line=9)
    found = text(remedy(diagnosis(overwritten=earlier, compared=False)))
    assert words in found and bool(found) == bool(words)


@pytest.mark.parametrize("found", [diagnosis(missing=SUM), diagnosis(missing=SUM, surplus=SUM)])
def test_a_wrong_result_off_the_tile_is_no_missing_guard(found: Diagnosis) -> None:
    given = evidence(runs=(run("correct"), run("ragged", WRONG)), diagnoses={"ragged": found})
    hint = check(given, "ragged_sizes").hint
    assert "guard" not in hint and "by hand" in hint


@pytest.mark.parametrize(("dynamic", "words"), [(True, "the array t a size of 4096 bytes."), (False, "declared size")])
def test_past_the_end_of_shared_memory(dynamic: bool, words: str) -> None:
    array = SharedArray("t", 7, "float32", (None,) if dynamic else (32, 32), dynamic)
    outside = hazard("out_of_bounds", "after", offset_bytes=4096)
    given = evidence(runs=(run("correct", hazards=(outside,)),), kernel=replace(kernel(), shared_arrays=(array,)))
    assert words in check(given, "memory_safety").hint


def test_past_the_end_of_shared_memory_that_no_launch_states() -> None:
    array = SharedArray("t", 7, "float32", (None,), dynamic=True)
    outside = hazard("out_of_bounds", "after", offset_bytes=4096)
    own = replace(kernel(), shared_arrays=(array,))
    given = evidence(runs=(run("correct", hazards=(outside,)),), kernel=own, requested=None)
    assert check(given, "memory_safety").hint.startswith("How many bytes t gets could not be read in the program")


SIDE, ELEMENT = Name("TILE"), SizeOf("float")
TILE = Binary("*", SIDE, SIDE)


@pytest.mark.parametrize(
    ("written", "elements"),
    [
        (TILE, True),
        (Binary("*", TILE, ELEMENT), False),
        (Binary("*", TILE, Number(4)), False),
        (SIDE, False),
        (Number(4096), False),
        (None, False),
    ],
)
def test_bytes_are_said_to_be_elements_only_where_they_are_written_so(
    written: Expression | None, elements: bool
) -> None:
    array = SharedArray("t", 7, "float32", (None,), dynamic=True)
    outside = hazard("out_of_bounds", "after", offset_bytes=4096)
    launch = replace(site((32, 32, 1)), shared_expression=written, shared_bytes=4096)

    def hint(launch: LaunchSite) -> str:
        own = replace(kernel(), shared_arrays=(array,))
        return check(
            evidence(runs=(run("correct", hazards=(outside,)),), kernel=own, requested=launch), "memory_safety"
        ).hint

    assert ("not elements" in hint(launch)) == elements
    # As many as the block has threads.
    if written is SIDE:
        assert "not elements" in hint(replace(launch, shared_bytes=1024))
    # As many elements as there are bytes would not do either.
    outside = replace(outside, offset_bytes=4 * 4096)
    assert "largest index" in hint(launch)


def test_a_wrong_result_beside_a_race_is_mended_by_mending_the_race() -> None:
    race = hazard("race", "write_write", op="store", other_line=9, other_thread=(2, 0, 0))
    given = evidence(runs=(run("correct", WRONG, hazards=(race,)),))
    assert check(given, "correct").hint == "Fix the data race first: it may be what makes the result wrong."
    assert "Follow one element by hand" in check(evidence(runs=(run("correct", WRONG),)), "correct").hint
