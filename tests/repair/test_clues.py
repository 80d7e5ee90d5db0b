"""How much the runs point to a place: to a line, and to one access or one declaration of several in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader.measured import Diagnosis, Element, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.ptx.records import Hazard
from grader.repair.clues import RIGHT, UNLIKELY, Clues, clues_of
from grader.repair.function import Change, Kind, functions_of
from grader.submission.cpp.parse import parse
from grader.submission.lexical import Edit
from grader.submission.source import SourceText

TEXT = """__global__ void mul(const float *A, const float *B, float *C, int n) {
  __shared__ float a[16][16], b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  a[y][x] = A[y * n + x];
  b[y][x] = B[y * n + x];
  __syncthreads();
  float s = 0;
  for (int k = 0; k < 16; k += 2) {
    s += a[y][k] * b[k][x];
    s += a[y][k + 1] * b[k + 1][x];
  }
  C[y * n + x] = s;
}
"""
FUNCTIONS = functions_of(parse(SourceText(Path("mul.cu"), TEXT, "utf-8")), "mul")
NAMES = {"a": "A", "b": "B", "c": "C"}
FILLED = {"a": 4, "b": 5}


def read(array: str, line: int, index: tuple[int, int]) -> ElementRead:
    """An element of shared memory that was read, from the same element of the input of that name."""
    put = ElementWriter(block=(0, 0, 0), thread=(0, 0, 0), line=FILLED[array], op="store")
    source = [Element(array=array, index=list(index))]
    return ElementRead(array, "shared", list(index), line, (0, 0, 0), (0, 0, 0), "written", put, source)


def diagnosis(surplus: list[tuple[int, int]], missing: list[tuple[int, int]]) -> Diagnosis:
    """Of c[0][0], which was made of row 0 of a, and of `surplus` in place of `missing` in b's column 0."""
    reads = []
    for k in range(16):
        line = 9 + k % 2
        reads.append(read("a", line, (0, k)))
        wrong = next((one for one in surplus if one[0] == k), None)
        reads.append(read("b", line, wrong or (k, 0)))
    return Diagnosis(
        size={"n": 16},
        output="c",
        shape=[16, 16],
        total=256,
        wrong=256,
        unwritten=0,
        first=[0, 0],
        expected=1.0,
        got=2.0,
        traced=True,
        writer=ElementWriter(block=(0, 0, 0), thread=(0, 0, 0), line=12, op="store"),
        reads=reads,
        compared=True,
        missing=[ElementRange(array="b", ranges=[(r, r), (c, c)]) for r, c in missing],
        surplus=[ElementRange(array="b", ranges=[(r, r), (c, c)]) for r, c in surplus],
    )


def weight(clues: Clues, line: int, text: str) -> float:
    """Of a change of a text in a line."""
    start = sum(len(row) + 1 for row in TEXT.split("\n")[: line - 1])
    start = TEXT.index(text, start)
    return clues.weight(Change("index", line, (Edit(start, start + len(text), "0"),), 1.0, "index"))


def of_values(surplus: list[tuple[int, int]], missing: list[tuple[int, int]]) -> Clues:
    return clues_of(FUNCTIONS, "correct", (), diagnosis(surplus, missing), (), NAMES)


def test_where_one_of_the_lines_that_read_brought_in_what_is_wrong_it_is_to_blame() -> None:
    odd = range(1, 16, 2)
    clues = of_values([(k, 1) for k in odd], [(k, 0) for k in odd])
    assert weight(clues, 10, "b[k + 1][x]") == 1.0
    assert weight(clues, 10, "a[y][k + 1]") == RIGHT
    assert weight(clues, 9, "b[k][x]") == UNLIKELY
    assert max(clues.lines[4], clues.lines[5]) < UNLIKELY


def test_where_all_of_them_did_it_was_filled_wrongly() -> None:
    every = range(16)
    clues = of_values([(k, 1) for k in every], [(k, 0) for k in every])
    assert weight(clues, 5, "B[y * n + x]") == 1.0
    assert weight(clues, 5, "b[y][x]") == 1.0
    assert weight(clues, 9, "b[k][x]") == UNLIKELY
    assert clues.lines[4] < UNLIKELY


def test_what_is_missing_alone_tells_the_array_too() -> None:
    clues = of_values([], [(k, 0) for k in range(1, 16)])
    assert weight(clues, 5, "B[y * n + x]") == 1.0
    assert clues.lines[4] < UNLIKELY


@pytest.mark.parametrize(("array", "other"), [("a[y][k]", "b[k][x]"), ("b[k][x]", "a[y][k]")])
def test_what_leaves_its_array_comes_of_that_index(array: str, other: str) -> None:
    where = {"line": 9, "array": array[0], "space": "shared", "op": "load", "kind": "out_of_bounds", "detail": "after"}
    outside = Hazard(**where, offset_bytes=1024, width_bytes=4, array_bytes=1024, block=(0, 0, 0), thread=(0, 0, 0))  # type: ignore[arg-type]
    clues = clues_of(FUNCTIONS, "correct", [outside], diagnosis([(1, 1)], [(1, 0)]), (), NAMES)
    assert weight(clues, 9, array) == 1.0
    assert weight(clues, 9, other) == RIGHT
    # Of a line with several declarations the one whose name is in that index.
    assert (weight(clues, 3, "threadIdx.x") > weight(clues, 3, "threadIdx.y")) == (array[0] == "b")
    assert clues.lines[8] > max(clues.lines[5], clues.lines[4])
    assert clues.symptoms == ("exact", "shared_outside")


def test_a_text_that_reads_one_element_twice_is_suspected_where_another_one_is_lacking() -> None:
    text = TEXT.replace("b[k + 1][x]", "b[k][x]")
    parsed = parse(SourceText(Path("x.cu"), text, "utf-8"))
    functions = functions_of(parsed, "mul")
    found = clues_of(functions, "correct", (), diagnosis([], [(k, 0) for k in range(1, 16, 2)]), (), NAMES)
    assert found.symptoms == ("exact", "repeated")
    assert (found.lines[9], found.lines[10]) == (1.0, 1.0)
    assert max(found.lines[line] for line in (4, 5, 12)) <= UNLIKELY


def test_a_text_that_stores_one_element_twice_is_suspected() -> None:
    text = TEXT.replace("b[y][x] = B", "a[y] [x] = B")
    functions = functions_of(parse(SourceText(Path("x.cu"), text, "utf-8")), "mul")
    found = clues_of(functions, "correct", (), diagnosis([], [(0, 0)]), (), NAMES)
    assert found.symptoms == ("exact", "repeated")
    assert (found.lines[4], found.lines[5]) == (1.0, 1.0)
    # One of two branches stores it once.
    branches = text.replace("a[y][x] = A", "if (x) a[y][x] = A").replace("  a[y] [x]", "  else a[y][x]")
    functions = functions_of(parse(SourceText(Path("x.cu"), branches, "utf-8")), "mul")
    assert clues_of(functions, "correct", (), diagnosis([], [(0, 0)]), (), NAMES).symptoms == ("exact",)


@pytest.mark.parametrize(("leaves", "is_suspected"), [("return", True), ("n = 1", False)])
def test_a_condition_that_ends_threads_early_decides_who_comes_to_what_follows(leaves: str, is_suspected: bool) -> None:
    text = TEXT.replace("  a[y][x] = A", f"  if (x > n) {leaves};\n  a[y][x] = A")
    functions = functions_of(parse(SourceText(Path("x.cu"), text, "utf-8")), "mul")
    outside = Hazard("out_of_bounds", "after", 13, "global", "store", "C", 4096, 4, 4096, (0, 0, 0), (0, 0, 0))
    lines = clues_of(functions, "ragged_sizes", [outside], None, (), NAMES).lines
    assert (lines.get(4, 0.0) > 0.8) == is_suspected


def test_threads_that_write_one_element_have_a_wrong_index_and_lack_no_barrier() -> None:
    def race(detail: str) -> Hazard:
        return Hazard(
            "race",
            line=4,
            other_line=5,
            array="a",
            space="shared",
            op="store",
            detail=detail,
            offset_bytes=0,
            width_bytes=4,
            array_bytes=1024,
            block=(0, 0, 0),
            thread=(0, 0, 0),
        )

    one = clues_of(FUNCTIONS, "correct", [race("write_write")], None, (), NAMES)
    assert one.symptoms == ("exact", "collide")
    both = clues_of(FUNCTIONS, "correct", [race("write_write"), race("read_write")], None, (), NAMES)
    assert both.symptoms == ("exact", "race")


@pytest.mark.parametrize(
    ("expected", "got", "is_close"), [(15.6, 15.65, True), (-2.0, -2.01, True), (1.0, 1.1, False), (0.0, 1e-6, False)]
)
def test_a_value_that_is_nearly_right_may_have_lost_digits(expected: float, got: float, is_close: bool) -> None:
    seen = replace(diagnosis([], []), expected=expected, got=got)
    assert ("close" in clues_of(FUNCTIONS, "correct", [], seen, [], NAMES).symptoms) == is_close


def hazard(
    kind: str, detail: str = "", line: int = 4, space: str = "shared", array: str = "a", other_line: int = 0
) -> Hazard:
    place = (0, 0, 0)
    return Hazard(kind, detail, line, space, "store", array, 0, 4, 64, place, place, other_line=other_line)


@pytest.mark.parametrize(
    ("check", "hazards", "symptoms"),
    [
        ("correct", [], ("exact",)),
        ("ragged_sizes", [], ("ragged",)),
        # What costs too much is no wrong result.
        ("bank_conflicts", [], ("bank_conflicts",)),
        ("coalescing", [], ("coalescing",)),
        # Threads have ended before a barrier, and nothing went wrong.
        ("races", [], ("exact", "ended")),
        ("correct", [hazard("out_of_bounds", "before")], ("exact", "below")),
        ("correct", [hazard("out_of_bounds", "after")], ("exact", "shared_outside")),
        ("correct", [hazard("out_of_bounds", "after", space="global")], ("exact", "out_of_bounds")),
        ("correct", [hazard("uninitialized")], ("exact", "uninitialized")),
        # Of several the gravest, and each access outside.
        (
            "correct",
            [hazard("uninitialized"), hazard("out_of_bounds", "before", 9), hazard("out_of_bounds", "after", 5)],
            ("exact", "shared_outside", "below"),
        ),
        ("correct", [hazard("race", "write_write", other_line=4)], ("exact", "write_write")),
    ],
)
def test_what_was_seen_has_its_symptom(check: str, hazards: list[Hazard], symptoms: tuple[str, ...]) -> None:
    assert clues_of(FUNCTIONS, check, hazards, None, (), NAMES).symptoms == symptoms


def test_both_lines_of_a_race_are_suspected() -> None:
    lines = clues_of(FUNCTIONS, "races", [hazard("race", "read_write", 9, other_line=4)], None, (), NAMES).lines
    assert (lines[9], lines[4]) == (1.0, 1.0)


def test_where_two_threads_write_one_element_by_one_line_the_rest_follows_from_it() -> None:
    by_one_line = [hazard("race", "write_write", 4, other_line=4), hazard("race", "read_write", 9, other_line=10)]
    lines = clues_of(FUNCTIONS, "races", by_one_line, None, (), NAMES).lines
    assert lines[4] == 1.0 and lines[9] < 1.0 and lines[10] < 1.0


def test_an_array_that_is_left_may_be_too_small() -> None:
    left = clues_of(FUNCTIONS, "correct", [hazard("out_of_bounds", "after", 9)], None, (), NAMES)
    assert left.lines[2] == 1.0
    beyond = [hazard("out_of_bounds", "after", 9, "global", array="C")]
    assert clues_of(FUNCTIONS, "correct", beyond, None, (), NAMES).lines.get(2, 0.0) < 1.0


def test_what_nobody_wrote_should_have_been_filled_where_its_array_is() -> None:
    lines = clues_of(FUNCTIONS, "correct", [hazard("uninitialized", line=9, array="b")], None, (), NAMES).lines
    assert (lines[5], lines[9]) == (1.0, 1.0) and lines.get(4, 0.0) < 1.0


def test_costs_follow_group_then_kind_then_symptom_and_place() -> None:
    def cost(kind: Kind, group: str, line: int, text: str = "0") -> float:
        return round(clues.cost(Change(kind, line, (Edit(5000, 5001, text),), 1.0, group)), 2)

    clues = Clues({4: 1.0, 5: 0.5}, (), ("race",))
    # A group's own shift before its kind's, and that before any other's; lines that nothing points to come later.
    assert cost("barrier", "move_barrier", 4) == 0.4 and cost("barrier", "x", 4) == -0.7
    assert (cost("index", "index", 4), cost("index", "index", 5), cost("index", "index", 9)) == (1.8, 2.45, 3.1)
    moved = Clues({4: 1.0}, (), ("moved",), frozenset({"n"}))
    clues = moved
    # As long as the way by which the values are moved, and by the name that it has.
    assert (cost("index", "add_term", 4, " + n"), cost("index", "add_term", 4, " + m")) == (-2.5, -1.0)
    assert cost("index", "times", 4, " * n") == 1.0


@pytest.mark.parametrize(
    ("rule", "by", "distances"),
    [("shifted", 16, {"n", "S"}), ("shifted", -16, {"n", "S"}), ("shifted", 3, set()), ("offset", 16, set())],
)
def test_what_values_are_moved_by_may_have_a_name(rule: str, by: int, distances: set[str]) -> None:
    text = "const int S = 16;\n" + TEXT.replace("s = 0;", "s = S - S;")
    functions = functions_of(parse(SourceText(Path("mul.cu"), text, "utf-8")), "mul")
    seen = replace(diagnosis([], []), values=WrongPattern(id=rule, holds=1, of=1, data={"by": by}))
    assert clues_of(functions, "correct", (), seen, (), {**NAMES, "n": "n"}).distances == distances


@pytest.mark.parametrize(
    ("fields", "symptom"),
    [
        ({"unwritten": 3, "writer": None}, "unwritten"),
        ({"unwritten": 3}, "misplaced"),
        ({"rule": "nan"}, "garbage"),
        ({"got": None}, "garbage"),
        ({"rule": "transposed"}, "exchanged"),
        ({"region": "diagonal_blocks"}, "exchanged"),
        ({"rule": "scaled", "writer": None}, "too_many"),
        ({"rule": "offset"}, "off_by_one"),
        ({"rule": "shifted", "by": 1}, "moved"),
        ({"rule": "zero"}, "whole"),
    ],
)
def test_wrong_values_have_their_symptoms(fields: dict[str, Any], symptom: str) -> None:
    changes = {name: value for name, value in fields.items() if name not in ("rule", "region", "by")}
    by = {"by": fields["by"]} if "by" in fields else {}
    if "rule" in fields:
        changes["values"] = WrongPattern(id=fields["rule"], holds=1, of=1, data=by)
    if "region" in fields:
        changes["region"] = WrongPattern(id=fields["region"], holds=1, of=1, data={})
    plain = clues_of(FUNCTIONS, "correct", (), diagnosis([], []), (), NAMES).symptoms
    seen = clues_of(FUNCTIONS, "correct", (), replace(diagnosis([], []), **changes), (), NAMES).symptoms
    assert symptom in seen and symptom not in plain


def test_no_other_access_is_suspected_where_one_leaves_its_array() -> None:
    outside = hazard("out_of_bounds", "after", 4, "global", array="a")
    clues = clues_of(FUNCTIONS, "correct", [outside], diagnosis([(3, 5)], [(3, 0)]), (), NAMES)
    accesses = {TEXT[start:end] for start, end, _weight in clues.places if TEXT[end - 1] == "]"}
    assert accesses == {"a[y][x]", "A[y * n + x]"}


def test_what_is_read_too_often_or_without_need_has_its_symptom() -> None:
    def symptoms(seen: Diagnosis) -> tuple[str, ...]:
        return clues_of(FUNCTIONS, "correct", (), seen, (), NAMES).symptoms

    assert "too_many" in symptoms(diagnosis([(3, 5)], [])) and "too_many" not in symptoms(diagnosis([(3, 5)], [(3, 0)]))
    column = [ElementRange(array="b", ranges=[(0, 15), (0, 0)])]
    assert "again" in symptoms(replace(diagnosis([], []), read=column, uses=17))
    assert "again" not in symptoms(replace(diagnosis([], []), read=column, uses=16))
