"""What the search takes for a size, and calls of a file's own macros and functions: places that are indices, guards."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.conditions import guard_changes
from grader.repair.expressions import expression_changes
from grader.repair.function import Function, functions_of, host_functions
from grader.repair.several_places import idea_changes
from grader.repair.terms import term_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText
from tests.repair.kernels import changes

MACRO = "#define AT(M, r, c) M[(r) * n + (c)]\n"
HELPER = "__device__ int place(int r, int c, int pitch) { return r * pitch + c; }\n"
READER = "__device__ float get(const float *m, int r, int c, int pitch) { return m[r * pitch + c]; }\n"
INDICES = "int i = threadIdx.x, k = threadIdx.y;\n"


@pytest.mark.parametrize(
    ("before", "body", "after", "kind"),
    [
        (MACRO, "float s = AT(a, i, k);", "float s = AT(a, k, i);", "index"),
        (MACRO, "AT(out, i, k) = 1;", "AT(out, k, i) = 1;", "index"),
        (HELPER, "out[place(i, k, n)] = 1;", "out[place(k, i, n)] = 1;", "index"),
        (READER, "out[0] = get(a, i, k, n);", "out[0] = get(a, k, i, n);", "index"),
        (HELPER, "int p = place(i, k, n);", "int p = place(k, i, n);", "index"),
        ("#define SUM(x, y) ((x) + (y))\n", "out[0] = SUM(i, k);", "out[0] = SUM(k, i);", "expression"),
    ],
)
def test_two_arguments_are_exchanged(before: str, body: str, after: str, kind: str) -> None:
    change = changes(expression_changes, INDICES + body, before)[INDICES + after]
    assert (change.group, change.cost, change.kind) == ("exchange", 1.8, kind)


def test_arrays_are_exchanged_with_arrays_alone_and_what_is_farther_apart_later() -> None:
    found = changes(expression_changes, INDICES + "out[0] = get(a, i, k, n) + get(out, i, i, n);", READER)
    given = {text.split("get(")[1].split(")")[0]: c.cost for text, c in found.items() if c.group == "exchange"}
    assert given["a, n, k, i"] == pytest.approx(2.1)
    assert not any(first in ("i", "k", "n") for first in (text.partition(",")[0] for text in given))


def test_functions_of_the_toolkit_have_nothing_to_exchange() -> None:
    found = changes(expression_changes, INDICES + "out[0] = min(i, k) + max(i, k);")
    assert not [c for c in found.values() if c.group == "exchange" and "i" in "".join(e.text for e in c.edits)]


def test_what_a_macro_does_not_index_by_is_no_index() -> None:
    before = "#define ADD(M, r, v) M[r] += (v)\n"
    found = changes(expression_changes, INDICES + "ADD(out, i + 1, k + 2);", before)
    kinds = {text.split("ADD(")[1]: c.kind for text, c in found.items() if "ADD(" in text}
    assert kinds["out, i - 1, k + 2);"] == "index"
    assert kinds["out, i + 1, k - 2);"] == "expression"


@pytest.mark.parametrize("macro", [MACRO, "#define AT(M, r, c) M[r][c]\n", "#define AT(M, r, c) (M[(c) + (r) * n])\n"])
def test_an_access_by_a_macro_is_guarded(macro: str) -> None:
    found = changes(lambda f: guard_changes(f, {"out": ("n", "w")}), INDICES + "AT(out, k, i) = 1;", macro)
    change = found[INDICES + "if (k < n && i < w) AT(out, k, i) = 1;"]
    assert (change.kind, change.detail) == ("guard", "missing")


def test_a_macro_that_is_no_element_is_not_guarded() -> None:
    assert not changes(lambda f: guard_changes(f, {"out": ("n", "n")}), "CHECK(out);", "#define CHECK(x) (x)\n")


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


def test_functions_of_classes_are_the_host_s_too() -> None:
    text = "struct Q {\n  void go() { cudaFree(x); }\n  __device__ void of(int i) { x[i] = 1; }\n  float *x;\n};\n"
    parsed = parse(SourceText(Path("q.cu"), f"{text}void solve() {{ Q().go(); }}\n", "utf-8"))
    assert [one.item.name for one in host_functions(parsed)] == ["go", "solve"]
