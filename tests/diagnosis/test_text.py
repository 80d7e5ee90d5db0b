"""What a diagnosis comes to in words: which sentences, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from grader.diagnosis.text import Circumstances, ranges_msg, region_msg, sentences, values_msg
from grader.measured import Diagnosis, Element, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.message import verbatim
from grader.ptx.records import Hazard
from grader.words import text

WRITER = ElementWriter(block=(0, 0, 0), thread=(2, 1, 0), line=12)
OTHER = ElementWriter(block=(1, 0, 0), thread=(5, 0, 0), line=9)
RACE = Hazard("race", "write_write", 7, "shared", "store", "t", 0, 4, 64, (0, 0, 0), (1, 0, 0), other_line=7)
ROW = [ElementRange(array="in", ranges=[(0, 0), (0, 4)])]
SHARED = {"array": "t", "space": "shared", "index": [0], "line": 10, "block": (0, 0, 0), "thread": (2, 1, 0)}


def said(around: Circumstances | None = None, **changes: Any) -> list[str]:
    """The sentences on a diagnosis that differs from a plain one by `changes`."""
    fields: dict[str, Any] = {
        "size": {"n": 8},
        "output": "out",
        "shape": [8, 8],
        "total": 64,
        "wrong": 5,
        "unwritten": 0,
        "first": [0, 3],
        "expected": 17.0,
        "got": 3.5,
        "traced": True,
        "writer": WRITER,
        "read": ROW,
    }
    return [text(one) for one in sentences(Diagnosis(**(fields | changes)), around or Circumstances(axes=2))]


def through(**changes: Any) -> ElementRead:
    """A reading of t[0], where OTHER had put in[3]."""
    put = {"origin": "written", "put_by": OTHER, "put_from": [Element(array="in", index=[3])]}
    return ElementRead(**(SHARED | put | changes))  # type: ignore[arg-type]


COUNT = "5 of 64 elements are wrong."
FIRST = "out[0][3] should be 17, but thread (2, 1) of block (0, 0) wrote 3.5 there in line 12."


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({}, [COUNT, FIRST, "The value was computed from in[0][0…4]."]),
        ({"wrong": 64}, ["Every element is wrong.", FIRST, "The value was computed from in[0][0…4]."]),
        ({"writer": None}, [COUNT, "out[0][3] should be 17, but no thread wrote it."]),
        ({"writer": None, "traced": False}, [COUNT, "out[0][3] should be 17, got 3.5."]),
        (
            {"writer": ElementWriter(block=(0, 0, 0), thread=(2, 1, 0), line=12, op="atomic"), "read": []},
            [
                COUNT,
                "out[0][3] should be 17, but is 3.5 after thread (2, 1) of block (0, 0) was the last to add to it in "
                "line 12.",
                "This value was computed without reading any input element.",
            ],
        ),
        (
            {"overwritten": OTHER, "writers": 2},
            [
                COUNT,
                FIRST,
                "The right value was there: thread (5, 0) of block (1, 0) had written it in line 9, and it was "
                "overwritten.",
                "The value was computed from in[0][0…4].",
            ],
        ),
        (
            {"writers": 3},
            [
                COUNT,
                FIRST,
                "3 threads write this element; the last one's value stays.",
                "The value was computed from in[0][0…4].",
            ],
        ),
        ({"writers": 1}, [COUNT, FIRST, "The value was computed from in[0][0…4]."]),
        (
            {"reads": [through(), through(index=[1])], "compared": True},
            [
                COUNT,
                FIRST,
                "The value was computed from in[0][0…4].",
                "They came through t (filled in line 9).",
                "These are the right elements, so check what is computed from them.",
            ],
        ),
        (
            {"missing": ROW, "surplus": ROW, "compared": True},
            [
                COUNT,
                FIRST,
                "The value was computed from in[0][0…4].",
                "Missing from it: in[0][0…4].",
                "Not needed in it: in[0][0…4].",
            ],
        ),
        (
            {"read": [], "reads": [through(origin="input"), through(origin="input")]},
            [COUNT, FIRST, "The value was computed from t[0] alone, not from any input element."],
        ),
    ],
)
def test_what_became_of_the_first_wrong_element(changes: dict[str, Any], rows: list[str]) -> None:
    assert said(**changes) == rows


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (through(), "It came from t[0] (line 10), where thread (5, 0) of block (1, 0) had stored in[3] in line 9."),
        (through(put_by=WRITER), "It came from t[0] (line 10), where the same thread had stored in[3] in line 12."),
        (through(put_from=[]), None),
        (through(origin="input", put_by=None), None),
        (through(origin="nothing", put_by=None), "It read t[0] in line 10, which no thread ever writes."),
        (
            through(origin="nothing"),
            "It read t[0] in line 10 too early: thread (5, 0) of block (1, 0) writes it only later, in line 9.",
        ),
        (
            through(origin="nothing", array="out", space="global"),
            "It adds to out[0], which was never given an initial value (line 10).",
        ),
        (
            through(origin="nothing", array="out", put_by=None),
            "It read out[0] in line 10, which no thread ever writes.",
        ),
    ],
)
def test_where_a_value_that_was_only_moved_came_from(read: ElementRead, words: str | None) -> None:
    rows = said(reads=[read], got_at=Element(array="in", index=[3]))
    assert rows[1].endswith("wrote in[3] = 3.5 there in line 12.")
    assert rows[2:] == ([words] if words else [])


def test_circumstances() -> None:
    unset = said(Circumstances(axes=2, is_own=True))
    assert unset[2] == "It is what a variable or an array of the thread's own held before anything was stored there."
    assert said(Circumstances(axes=2, unwritten=True), writer=None, traced=False)[1].endswith("but no thread wrote it.")
    nan = said(Circumstances(axes=2, got=verbatim("nan")), got=None)
    assert "wrote nan there" in nan[1]
    flat = said(Circumstances(axes=1))
    assert "thread 2 of block 0 wrote" in flat[1]
    assert "thread (2, 1, 0) of block (0, 0, 0) wrote" in said(Circumstances())[1]


@pytest.mark.parametrize(("got", "is_outside"), [(0, True), (0.0, True), (3.5, False)])
def test_a_zero_may_come_from_outside_an_array(got: float, is_outside: bool) -> None:
    rows = said(Circumstances(axes=2, outside_lines=(8, 9)), read=[], got=got)
    outside = "It came from no element of the inputs; in line 8 threads read outside an array."
    assert rows[2] == (outside if is_outside else "This value was computed without reading any input element.")


def test_a_race_is_told_unless_its_writers_are() -> None:
    race = Circumstances(axes=2, race=RACE)
    assert said(race)[-1].startswith("Data race in line 7: Thread (1, 0, 0) of block (0, 0, 0) writes the element of t")
    assert not any("Data race" in row for row in said(race, writers=2))


@pytest.mark.parametrize(
    ("region", "values", "copied", "rows"),
    [
        (
            WrongPattern("first_row", 5, 5, {"index": 0, "size": 5}),
            None,
            "",
            ["Exactly these elements are wrong: the first row."],
        ),
        (
            WrongPattern("first_row", 5, 5, {"index": 0, "size": 8}),
            None,
            "in",
            [
                "All 5 wrong elements are among the 8 of this part: the first row.",
                "There the right value is the element of in at the same index, as it is.",
            ],
        ),
        # Of all of them there is nothing to say but that.
        (WrongPattern("all", 64, 64, {"size": 64}), None, "in", []),
        (None, WrongPattern("constant", 5, 5, {"value": 0}), "", ["In all wrong elements the result is 0."]),
        (None, WrongPattern("constant", 4, 5, {"value": 0}), "", ["In 4 of 5 wrong elements the result is 0."]),
        (None, WrongPattern("constant_columns", 5, 5), "", ["All elements of a column are the same."]),
        (None, WrongPattern("constant_rows", 5, 5), "", ["All elements of a row are the same."]),
    ],
)
def test_all_wrong_elements_together(
    region: WrongPattern | None, values: WrongPattern | None, copied: str, rows: list[str]
) -> None:
    around = Circumstances(axes=2, copied=copied)
    assert said(around, region=region, values=values)[3:] == rows


def test_elements_that_nobody_wrote_are_counted_beside_another_rule() -> None:
    rule = WrongPattern("constant", 5, 5, {"value": 0})
    assert said(values=rule, unwritten=2)[-1] == "2 of the wrong elements were written by no thread."
    assert "no thread" not in said(values=rule, unwritten=0)[-1]
    assert said(values=WrongPattern("unwritten", 5, 5), unwritten=5)[-1] != (
        "5 of the wrong elements were written by no thread."
    )


def test_an_output_that_nobody_touched_is_one_sentence() -> None:
    assert said(values=WrongPattern("untouched", 64, 64), writer=None) == ["The kernel wrote nothing to out."]


@pytest.mark.parametrize(("count", "end"), [(3, "in[2]"), (4, "in[2], …")])
def test_three_ranges_are_enough(count: int, end: str) -> None:
    found = text(ranges_msg([ElementRange(array="in", ranges=[(n, n)]) for n in range(count)]))
    assert found == f"in[0], in[1], {end}"


def test_a_range_of_one_is_no_range() -> None:
    ends: dict[str, int | float | str] = {"low_0": 3, "high_0": 3, "low_1": 2, "high_1": 5, "size": 4}
    box = WrongPattern(id="box", holds=4, of=4, data=ends)
    assert text(region_msg(box, 2)) == "Exactly these elements are wrong: row 3, columns 2…5."
    assert text(values_msg(WrongPattern(id="offset", holds=1, of=1, data={"value": -2.0}), 1)) == (
        "There the result is the right value minus 2."
    )


def test_of_a_single_element_nothing_is_counted() -> None:
    only: dict[str, Any] = {
        "traced": False,
        "total": 1,
        "wrong": 1,
        "shape": [1],
        "first": [0],
        "writer": None,
        "region": None,
        "values": None,
    }
    assert said(**only) == ["out[0] should be 17, got 3.5."]
    kept = {"got_at": Element(array="out", index=[0])}
    assert said(**only | kept) == ["out[0] should be 17, but still has its old value, 3.5."]
    assert said(Circumstances(unwritten=True, is_on_host=True), **only) == [
        "out[0] should be 17, but nothing was stored or copied there."
    ]
