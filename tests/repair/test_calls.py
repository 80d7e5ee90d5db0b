"""Calls of a file's own macros and functions: arguments exchanged, places that are indices, missing guards."""

from __future__ import annotations

import pytest

from grader.repair.conditions import guard_changes
from grader.repair.expressions import expression_changes
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
