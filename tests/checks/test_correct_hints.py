"""What `correct` advises: which of several hints stands, and when none may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.lab.checks import CorrectSettings
from grader.lab.compare import Difference
from grader.lab.records import CheckSpec, SmallerBlock
from grader.launching.trial import Run
from grader.measured import Element, ElementRead, WrongPattern
from grader.message import verbatim
from grader.ptx.records import Hazard
from grader.running.evidence import Compilation, Evidence, HostCode
from tests.checks.evidence_factory import check, evidence, hazard, run, site
from tests.checks.test_remedies import SUM, WRITER, diagnosis

WRONG = Difference(total=64, mismatches=60, max_abs_error=5.0, first=(2,), expected=17.0, got=0.0, name="out")
ASKED = SmallerBlock({"rows": 40, "cols": 40}, 16)


def hint(given: Evidence) -> str:
    row = check(given, "correct")
    assert row.status == "fail"
    return row.hint


def wrong(**changes: Any) -> Evidence:
    """Evidence of a kernel that is wrong everywhere, with a diagnosis."""
    return evidence(runs=(run("correct", WRONG), run("observe", WRONG)), diagnoses={"correct": diagnosis(**changes)})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"writer": None, "unwritten": 60}, "Take an element that no thread wrote"),
        ({"writer": None, "unwritten": 59}, "Follow one element by hand: which thread makes it"),
        ({"got_at": Element(array="in", index=[3])}, "The value you got instead shows where it was taken from."),
        ({"missing": SUM}, "stores its result without having read anything"),
        ({"missing": SUM, "surplus": SUM, "reads": "some"}, "other elements are read than the result needs"),
        ({"missing": SUM, "reads": "some"}, "what is missing is either never read"),
        ({"surplus": SUM, "reads": "some"}, "what is not needed is either read too"),
        ({}, "Follow one element by hand: which thread makes it"),
    ],
)
def test_how_to_go_on_by_hand(changes: dict[str, Any], words: str) -> None:
    if "reads" in changes:
        place: dict[str, Any] = {"index": [0], "line": 9, "block": (0, 0, 0), "thread": (0, 0, 0)}
        changes = changes | {"reads": [ElementRead(array="in", space="global", origin="input", **place)]}
    assert words in hint(wrong(**({"compared": False} | changes)))


@pytest.mark.parametrize(
    ("fault", "changes", "words"),
    [
        (hazard("uninitialized", ""), {}, "Fix the faulty memory access first"),
        # The value was an input's, put where it does not belong: what nobody wrote is no part of it.
        (hazard("uninitialized", ""), {"got_at": Element(array="in", index=[3]), "reads": "written"}, "shows where"),
        (hazard("race", "write_write", op="store", other_line=9), {}, "Fix the data race first"),
        (hazard("race", "write_write", op="store", other_line=12), {}, "Both writes stand in line 12"),
    ],
)
def test_what_is_a_consequence_is_not_to_be_mended_first(fault: Hazard, changes: dict[str, Any], words: str) -> None:
    if "reads" in changes:
        place: dict[str, Any] = {"index": [0], "line": 9, "block": (0, 0, 0), "thread": (0, 0, 0)}
        changes = changes | {"reads": [ElementRead(array="t", space="shared", origin=changes["reads"], **place)]}
    found = {"correct": diagnosis(**({"compared": False} | changes))}
    assert words in hint(evidence(runs=(run("correct", WRONG, hazards=(fault,)),), diagnoses=found))


def test_a_variable_without_a_value_is_named() -> None:
    given = replace(wrong(got=None), compilation=Compilation(unset=(("sum", 9),)))
    assert hint(given).startswith("sum is used in line 9 before it has a value")
    assert "before it has a value" not in hint(replace(given, diagnoses={"correct": diagnosis()}))


def test_without_a_diagnosis_the_extent_tells() -> None:
    nothing = replace(WRONG, mismatches=64, unwritten=64)
    assert "no thread wrote" in hint(evidence(runs=(run("correct", nothing),)))


@pytest.mark.parametrize(
    ("region", "block", "n", "words"),
    [
        ("last_rows", (24, 1, 1), 40, "Only the first 24 rows are computed, as many as the block has threads."),
        ("last_columns", (24, 1, 1), 8, "Only the first 24 columns are computed, as many as the block has threads."),
        ("last_rows", (24, 2, 1), 40, ""),
        ("last_rows", (32, 1, 1), 40, ""),
        ("border", (24, 1, 1), 40, ""),
    ],
)
def test_a_row_or_column_for_each_thread(region: str, block: tuple[int, int, int], n: int, words: str) -> None:
    where = WrongPattern(id=region, holds=60, of=60, data={"n": n})
    values = WrongPattern(id="unwritten", holds=60, of=60)
    found = diagnosis(shape=[64, 32], region=where, values=values, writer=None, unwritten=60)
    given = evidence(block=block, runs=(run("correct", WRONG),), diagnoses={"correct": found})
    said = hint(given)
    assert said.startswith(words) if words else "as many as the block has threads" not in said
    assert ("for (int j = threadIdx.x; j < n; j += blockDim.x)" in said) == bool(words)
    # What was written is wrong for another reason.
    other = replace(given, diagnoses={"correct": diagnosis(shape=[64, 32], region=where)})
    assert "as many as the block has threads" not in hint(other)


def square(size: int, difference: Difference) -> Run:
    return replace(run("correct", difference), sizes={"rows": size, "cols": size})


RIGHT = replace(WRONG, mismatches=0)
LEFT = replace(WRONG, unwritten=WRONG.mismatches)
"""Nobody writes what is wrong."""


@pytest.mark.parametrize(
    ("runs", "asked", "is_few"),
    [
        ((square(16, RIGHT), square(32, RIGHT), square(33, LEFT)), ASKED, True),
        ((square(16, RIGHT), square(32, RIGHT), square(33, WRONG)), ASKED, False),
        ((square(16, RIGHT), square(32, LEFT), square(33, LEFT)), ASKED, False),
        ((square(16, RIGHT), square(33, RIGHT), square(40, LEFT)), ASKED, False),
        ((square(33, LEFT), square(40, LEFT)), ASKED, False),
        ((square(16, RIGHT), square(33, LEFT)), None, False),
    ],
)
def test_a_kernel_that_is_right_while_a_row_fits_a_block(
    runs: tuple[Run, ...], asked: SmallerBlock | None, is_few: bool
) -> None:
    given = evidence(block=(32, 1, 1), runs=runs)
    said = hint(replace(given, variant=replace(given.variant, smaller_block=asked)))
    assert said.startswith("The result is right only where the block has a thread for each element") == is_few
    flat = evidence(block=(32, 2, 1), runs=runs)
    assert "thread for each" not in hint(replace(flat, variant=replace(flat.variant, smaller_block=asked)))


def test_a_kernel_that_needs_a_thread_for_each_element_is_right_in_part() -> None:
    given = evidence(smaller_block=square(40, WRONG))
    assert check(given, "correct").status == "pass", "no lab asked for it"
    spec = CheckSpec("correct", 9.0, CorrectSettings(partial=0.5))
    checks = tuple(spec if s.check == "correct" else s for s in given.variant.checks)
    asked = replace(given, variant=replace(given.variant, smaller_block=ASKED, checks=checks))
    row = check(asked, "correct")
    assert (row.status, row.line, row.earned) == ("fail", 6, 3.0)
    assert row.message.startswith("The kernel is right only while the block has a thread for each element.")
    assert "With a block of 16 threads: 60 of 64 elements are wrong" in row.message
    assert row.hint.startswith("A block has at most 1024 threads")
    assert row.data["threads"] == 16
    # Who takes all that there is needs no loop: what it starts each of them from is wrong.
    assert "as a sum that has to start anew" in row.hint and "blockDim" not in row.hint
    left = check(replace(asked, smaller_block=square(40, LEFT)), "correct")
    assert "for (int j = threadIdx.x; j < n; j += blockDim.x)" in left.hint and "anew" not in left.hint
    assert check(replace(asked, smaller_block=square(40, RIGHT)), "correct").status == "pass"


def test_what_only_the_drawn_case_shows_is_an_assumption() -> None:
    drawn = replace(run("correct", WRONG), drawn=True)
    given = evidence(runs=(run("correct"), drawn), diagnoses={"correct": diagnosis()})
    row = check(given, "correct")
    assert row.hint.startswith("With the lab's own sizes and data the result is right.")
    assert "It is right at" not in row.message
    assert "With the lab's own sizes" not in hint(replace(given, runs=(run("correct", WRONG), drawn)))


def test_the_kernel_was_run_with_another_block_than_the_program_s() -> None:
    # A block of the grader's, in place of an impossible one, costs nothing beyond the launch.
    row = check(replace(wrong(), binding=evidence(requested=site((64, 64, 1))).binding), "correct")
    assert (row.status, row.skip_reason, row.earned, row.pending) == ("skip", "prerequisite", 0, row.possible)
    assert (row.hint, row.data) == ("", {"blocked_by": "launch"})
    assert row.message.endswith(
        "It was run with blocks of 32×32 threads, since 64×64 are impossible: if the kernel counts on 64×64, it may be "
        "wrong for that reason alone. Fix the launch first."
    )
    possible = hint(replace(wrong(), binding=evidence(requested=site((16, 16, 1))).binding))
    assert "16×16" not in possible
    unread = hint(replace(wrong(), binding=evidence(requested=site(None)).binding))
    assert "another block" not in unread and unread == hint(wrong())


@pytest.mark.parametrize(
    ("variant", "fault", "words"),
    [
        ("padded", hazard("out_of_bounds", "after", op="store"), "Fix the faulty memory access first"),
        ("padded", hazard("race", "read_write", other_line=9), "Fix the data race first"),
        ("padded", hazard("barrier_divergence", "bypassed", 10), "every thread of the block has to reach it"),
        # The variant has no check of races: then the hint is that of the race itself.
        ("naive", hazard("race", "read_write", other_line=9), "Nothing orders these two accesses"),
        ("padded", hazard("race", "write_write_same_value", op="store"), "Follow one element by hand"),
    ],
)
def test_what_may_spoil_a_result_is_mended_first(variant: str, fault: Any, words: str) -> None:
    given = evidence(variant, runs=(run("correct", WRONG, hazards=(fault,)),))
    assert words in hint(given)
    assert "Follow one" in hint(replace(given, unmeasured={"hazards": verbatim("no emulator here")}))


def test_the_line_is_that_of_the_writer() -> None:
    row = check(wrong(), "correct")
    assert row.line == WRITER.line
    assert check(wrong(writer=None), "correct").line == 6


def test_a_shuffle_from_absent_lanes_is_the_cause_before_any_pattern_of_the_result() -> None:
    absent = hazard("warp_sync", "inactive_source", 41)
    scaled = diagnosis(writer=None, values=WrongPattern(id="scaled", holds=60, of=60, data={"factor": 4.0}))
    for hazards, line, words in (((), 6, "Divided by 4"), ((absent,), 41, "only of lanes that its mask names")):
        runs = (run("correct", WRONG, hazards), run("observe", WRONG))
        row = check(evidence(runs=runs, diagnoses={"correct": scaled}), "correct")
        assert (row.line, words in row.hint) == (line, True), row.hint


@pytest.mark.parametrize(("byte", "is_told"), [(0x41, True), (0x42, False)])
def test_what_a_memset_makes_of_an_element_is_told_as_no_value(byte: int, is_told: bool) -> None:
    host = HostCode(is_there=True, is_observed=True, set_bytes=(("d_out", "k.cu", 9, byte),))
    # Four bytes of 0x41, as a float.
    found = diagnosis(writer=None, got=12.078431129455566, values=None)
    row = check(replace(evidence(runs=(run("correct", WRONG),), diagnoses={"correct": found}), host=host), "correct")
    assert row.hint.startswith("Line 9 sets each byte of d_out to 0x41: an element of that memory") == is_told, row.hint
