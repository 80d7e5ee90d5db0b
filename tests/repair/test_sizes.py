"""What the search takes for a size: members of structs, and what is made of sizes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.conditions import guard_changes
from grader.repair.expressions import expression_changes
from grader.repair.function import Function, functions_of
from grader.repair.several_places import idea_changes
from grader.repair.terms import term_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

SHAPE = "struct Shape { int rows, cols; float scale; };\nstruct Matrix { int w; float *data; };\n"


def function(parameters: str, body: str, before: str = SHAPE) -> Function:
    text = f"{before}__global__ void k({parameters}) {{\n{body}\n}}\n"
    return functions_of(parse(SourceText(Path("k.cu"), text, "utf-8")), "k")[0]


def roles(one: Function) -> dict[str, str]:
    return {v.name: v.role for v in one.variables}


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        ("Shape s", "", {"s.rows": "size", "s.cols": "size", "s.scale": "value"}),
        ("const Shape &s", "", {"s.rows": "size", "s.cols": "size", "s.scale": "value"}),
        ("struct Shape s", "", {"s.rows": "size", "s.cols": "size", "s.scale": "value"}),
        (
            "const Shape *p",
            "int r = p->rows;",
            {"p->rows": "size", "p->cols": "size", "p->scale": "value", "r": "size"},
        ),
        ("Matrix m", "", {"m.w": "size", "m.data": "array"}),
        # Elements of an array have no sizes of the array's.
        ("const Shape *p", "int r = p[0].rows;", {"p": "array", "r": "index"}),
    ],
)
def test_members_of_structs(parameters: str, body: str, expected: dict[str, str]) -> None:
    assert roles(function(parameters, body)) == expected


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("size_t v = n * n;", "size"),
        ("int v = n * m + 1;", "size"),
        ("int half = n / 2, v = half * m;", "size"),
        ("int v = 0;", "index"),
        ("int v = n - 1; v--;", "index"),
        ("int v = n; v = v / 2;", "index"),
        ("for (int v = n; v > 0; v /= 2) {}", "index"),
        ("int t = threadIdx.x; int v = t * n;", "index"),
        ("int v = blockIdx.x * n;", "index"),
    ],
)
def test_what_is_made_of_sizes_alone(body: str, role: str) -> None:
    assert roles(function("int n, int m", body))["v"] == role


def changed_to(one: Function, line: str) -> set[str]:
    """What the changes of expressions make of a line that is one statement."""
    found = set()
    guards = guard_changes(one, {"out": ("s.cols", "s.rows")})
    for change in (*expression_changes(one), *term_changes(one), *idea_changes(one), *guards):
        text = one.parsed.source.text
        for edit in sorted(change.edits, key=lambda e: -e.start):
            text = text[: edit.start] + edit.text + text[edit.end :]
        found |= {row for row in text.split("\n") if row not in one.parsed.source.text.split("\n")}
    assert line in one.parsed.source.text
    return found


def test_a_member_stands_for_another_and_is_multiplied_by() -> None:
    line = "out[y * s.cols + x] = 1;"
    body = f"int x = threadIdx.x, y = threadIdx.y, area = s.rows * s.cols;\n{line}"
    found = changed_to(function("float *out, Shape s", body), line)
    assert {"out[y * s.rows + x] = 1;", "out[y * area + x] = 1;", "out[y * s.cols * s.cols + x] = 1;"} <= found
    assert "if (y < s.cols && x < s.rows) out[y * s.cols + x] = 1;" in found
    # What has no part in an array's length is put in no size's place.
    assert not any("s.scale" in row for row in found if row.startswith("out["))


def test_one_member_for_another_in_two_lines() -> None:
    body = "int r = threadIdx.x / s.rows;\nint c = threadIdx.x % s.rows;\nout[r] = c;"
    changes = [c for c in idea_changes(function("float *out, Shape s", body)) if c.detail == "names_next"]
    assert [[edit.text for edit in change.edits] for change in changes] == [["s.cols", "s.cols"]]
