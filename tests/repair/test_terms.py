"""What an index or a sum lacks: terms, factors, neighbours, parameters, arrays of indices; and integer divisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.clues import Clues
from grader.repair.expressions import expression_changes
from grader.repair.function import changed, functions_of
from grader.repair.several_places import macro_changes
from grader.repair.statements import value_changes
from grader.repair.terms import left_out_changes, term_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText
from tests.repair.kernels import changes

INDEX = "int i = threadIdx.x, k = threadIdx.y;\n"
HALO = "#define R 2\n"


@pytest.mark.parametrize(
    ("body", "after", "group"),
    [
        # What the other side of the assignment has, and another access of the same array.
        ("out[i - R] = a[i];", "out[i - R] = a[i - R];", "halo"),
        ("out[i] = a[i + 2 * R];", "out[i + 2 * R] = a[i + 2 * R];", "halo"),
        ("out[i] = a[i + R + k];\nout[0] = a[i + k];", "out[i] = a[i + R + k];\nout[0] = a[i + k + R];", "halo"),
        # A factor that the index is multiplied by elsewhere, along whatever axis.
        ("int r = i * n + k;\nout[r] = a[i + k];", "int r = i * n + k;\nout[r] = a[i * n + k];", "times"),
        ("out[blockIdx.x * 4] = a[blockIdx.y];", "out[blockIdx.x * 4] = a[blockIdx.y * 4];", "times"),
        (
            "const float *m = a + i;\nfloat *o = out + i * n * n;",
            "const float *m = a + i * n * n;\nfloat *o = out + i * n * n;",
            "times",
        ),
    ],
)
def test_what_another_index_has_comes_first(body: str, after: str, group: str) -> None:
    found = changes(term_changes, INDEX + body + HALO_USED, HALO)
    change = found[INDEX + after + HALO_USED]
    assert (change.kind, change.group, change.cost) == ("index", group, 1.3)
    assert change.cost < min(c.cost for c in found.values() if c.group in ("add_term", "subtract"))


HALO_USED = "\nif (n > R) return;"


@pytest.mark.parametrize(
    ("body", "after", "group"),
    [
        ("out[0] = a[i];", "out[0] = a[i - R];", "subtract"),
        ("out[0] = a[i];", "out[0] = a[i + n];", "add_term"),
        ("int first = i;", "int first = i - R;", "subtract"),
        ("out[0] = a[min(i + k, n - 1)];", "out[0] = a[min(i + k - R, n - 1)];", "subtract"),
        ("out[0] = a[(i + k) * n];", "out[0] = a[(i + k - R) * n];", "subtract"),
        ("out[0] = a[i];", "out[0] = a[i * n];", "times"),
        ("out[0] = a[i * n];", "out[0] = a[i * n * n];", "times"),
        ("out[0] = a[i];", "out[0] = a[i + k];", "add_term"),
    ],
)
def test_sizes_are_added_taken_away_and_multiplied_by(body: str, after: str, group: str) -> None:
    change = changes(term_changes, INDEX + body + HALO_USED, HALO)[INDEX + after + HALO_USED]
    assert change.group == group and change.cost > 3


def test_no_value_that_is_stored_gets_a_term() -> None:
    found = changes(term_changes, INDEX + "float s = a[i] * n;\nout[i] = s;" + HALO_USED, HALO)
    assert found and all("* n;\nout" in text and "= s;" in text for text in found)


def test_what_is_as_long_as_the_values_are_moved_by_comes_sooner() -> None:
    found = changes(term_changes, INDEX + "out[0] = a[i];" + HALO_USED, HALO)
    clues = Clues({}, (), (), frozenset({"R"}))
    costs = {c.edits[0].text: clues.cost(c) for c in found.values() if c.group in ("add_term", "subtract")}
    assert costs[" - R"] == costs[" + R"] < min(cost for text, cost in costs.items() if " R" not in text) - 1


INDEX_OF_SUM = "int i = threadIdx.x;\n"


@pytest.mark.parametrize(
    ("body", "after", "group"),
    [
        # A neighbour that is added twice, and one that is not added.
        (
            "out[i] = a[i - n] + a[i - n] + a[i - 1] + a[i + 1];",
            "out[i] = a[i + n] + a[i - n] + a[i - 1] + a[i + 1];",
            "mirrored",
        ),
        (
            "out[i] = a[i - n] + a[i - 1] + a[i + 1];",
            "out[i] = a[i - n] + a[i + n] + a[i - 1] + a[i + 1];",
            "neighbour",
        ),
        (
            "out[i] = 2 * a[i - 1] + 2 * a[i + 1] - 3 * a[i + n];",
            "out[i] = 2 * a[i - 1] + 2 * a[i + 1] - 3 * a[i + n] - 3 * a[i - n];",
            "neighbour",
        ),
        ("out[i] = a[i - 1] + a[i + 1] - a[i];", "out[i] = a[i - 1] + a[i + 1] - 2 * a[i];", "factor"),
    ],
)
def test_sums_of_neighbours(body: str, after: str, group: str) -> None:
    assert changes(left_out_changes, INDEX_OF_SUM + body)[INDEX_OF_SUM + after].group == group


def test_neighbours_of_both_sides_are_complete() -> None:
    found = changes(left_out_changes, INDEX_OF_SUM + "out[i] = a[i - 1] + a[i + 1] - n * a[i];")
    assert {change.group for change in found.values()} <= {"unused"}


@pytest.mark.parametrize(
    ("signature", "body", "after"),
    [
        ("const int *of", "out[i] = a[i];", "out[i] = a[of[i]];"),
        ("const float *w", "out[i] = a[i];", "out[i] = a[i] * w[i];"),
        ("const float *w", "for (int k = 0; k < n; k++) s += a[i];", "for (int k = 0; k < n; k++) s += a[i] * w[k];"),
        ("float rate", "out[i] = a[i] + (a[0] - a[1]);", "out[i] = a[i] + rate * (a[0] - a[1]);"),
        ("float rate", "out[i] = a[i];", "out[i] = rate * a[i];"),
        ("float rate", "out[i] = a[i];", "out[i] = a[i] + rate;"),
    ],
)
def test_a_parameter_that_is_used_nowhere_is_put_in(signature: str, body: str, after: str) -> None:
    head = f"__global__ void k(const float *a, float *out, int n, {signature}) {{\nfloat s = 0;\n{INDEX_OF_SUM}"
    text = f"{head}{body}\n}}\n"
    (function,) = functions_of(parse(SourceText(Path("k.cu"), text, "utf-8")), "k")
    made = {changed(text, change): change for change in left_out_changes(function)}
    assert made[f"{head}{after}\n}}\n"].detail == "unused"


@pytest.mark.parametrize(
    ("body", "after", "cost"),
    [
        ("out[i] = powf(a[i], 3 / 2);", "out[i] = powf(a[i], 3.0f / 2);", -2.0),
        ("out[i] = 1 / 2 * a[i];", "out[i] = 1.0f / 2 * a[i];", -2.0),
        ("out[i] = a[i] * (1 / n);", "out[i] = a[i] * (1.0f / n);", 0.8),
        ("out[i] = (float)(i / n);", "out[i] = (float)((float)i / n);", 0.8),
    ],
)
def test_divisions_of_integers(body: str, after: str, cost: float) -> None:
    change = changes(expression_changes, INDEX_OF_SUM + body)[INDEX_OF_SUM + after]
    assert (change.kind, change.detail, change.cost) == ("expression", "division", cost)


def test_an_octal_number_is_divided_as_it_is() -> None:
    made = changes(expression_changes, INDEX_OF_SUM + "out[i] = 010 / 3;")
    assert not [change for change in made.values() if change.detail == "division"]


@pytest.mark.parametrize(
    ("body", "after", "detail"),
    [
        ("float m = FLT_MIN;", "float m = -FLT_MAX;", "positive"),
        (
            "float m = 0;\nm = fmaxf(m, i < n ? a[i] : 0.0f);",
            "float m = 0;\nm = fmaxf(m, i < n ? a[i] : -INFINITY);",
            "zero",
        ),
        (
            "const char4 *q = (const char4 *)a;\nunsigned char c;",
            "const uchar4 *q = (const uchar4 *)a;\nunsigned char c;",
            "signed",
        ),
    ],
)
def test_what_a_value_starts_from_and_bytes_without_a_sign(body: str, after: str, detail: str) -> None:
    assert changes(value_changes, INDEX_OF_SUM + body)[INDEX_OF_SUM + after].detail == detail


@pytest.mark.parametrize(
    ("macro", "after"),
    [
        ("W 2 * R + 1", "(2 * R + 1)"),
        ("AT(r, c) r * n + c", "((r) * n + (c))"),
        ("AT(r, c) (r * n + c)", "((r) * n + (c))"),
        ("SQUARE(x) (x) * (x)", "((x) * (x))"),
    ],
)
def test_macros_get_their_parentheses(macro: str, after: str) -> None:
    text = f"#define {macro}\n"
    file = parse(SourceText(Path("k.cu"), text, "utf-8"))
    name = macro.partition(" ")[0].partition("(")[0]
    made = [c for c in macro_changes(file, [name], []) if c.detail == "parentheses"]
    assert any(changed(text, c).rstrip().endswith(f" {after}") for c in made)
