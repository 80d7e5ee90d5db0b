"""How much the runs point to a place: to a line, and to one access or one declaration of several in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.measured import Diagnosis, Element, ElementRange, ElementRead, ElementWriter
from grader.ptx.records import Hazard
from grader.repair.clues import RIGHT, UNLIKELY, Clues, clues_of
from grader.repair.function import Change, functions_of
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
