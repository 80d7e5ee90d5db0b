"""Comparisons changed: which sign is likely to be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.comparisons import about_msg, with_code
from grader.repair.expressions import expression_changes
from grader.repair.function import Change
from grader.repair.loops import loop_changes
from grader.submission.cpp.parse import parse
from grader.submission.lexical import Edit
from grader.submission.source import SourceText
from grader.words import text
from tests.repair.kernels import Make, changes


@pytest.mark.parametrize(
    ("body", "both"),
    [
        ("int i = n; if (i <= n && i + 1 <= n) out[i] = 1;", "int i = n; if (i < n && i + 1 < n) out[i] = 1;"),
        ("int i = n; if (i > n || i + 1 > n) return;", "int i = n; if (i >= n || i + 1 >= n) return;"),
    ],
)
def test_one_too_many_along_both_axes_is_one_change(body: str, both: str) -> None:
    found = changes(expression_changes, body)[both]
    assert (found.kind, found.cost, len(found.edits)) == ("comparison", 1.2, 2)


@pytest.mark.parametrize(
    ("body", "number", "others"),
    [
        # A divisor is never 0, nothing is left of a remainder by 1, and the number of a warp is told by 32.
        ("out[threadIdx.x / 16] = 1;", "16", {"1", "8", "15", "17", "32"}),
        ("out[threadIdx.x % 4] = 1;", "4", {"2", "3", "5", "8", "32"}),
        ("out[n / 1] = 1;", "1", {"2"}),
        # A factor of 0 leaves nothing of its term, and words have 32 bits.
        ("out[threadIdx.x * 2] = 1;", "2", {"1", "3", "4"}),
        ("out[n >> 16] = 1;", "16", {"0", "1", "8", "15", "17"}),
    ],
)
def test_a_number_has_a_sense_where_it_stands(body: str, number: str, others: set[str]) -> None:
    found = [after for after, c in changes(expression_changes, body).items() if c.group == "number"]
    start, end = body.rindex(f" {number}]") + 1, body.rindex(f"{number}]") + len(number)
    tried = {after[start : len(after) - len(body) + end] for after in found if after.endswith(body[end:])}
    assert tried - {"0" if number == "1" else ""} == others


def test_what_leaves_out_the_rest_is_removed_sooner_than_asked_for_another_name() -> None:
    found = changes(expression_changes, "int i = n, j = n, k = n; if (i == j) return; if (i == j) out[0] = 1;")
    names = {after: c.cost for after, c in found.items() if "k ==" in after or "== k" in after}
    leaving = {cost for after, cost in names.items() if "k" in after.split("return")[0].split("if")[1]}
    assert min(leaving) == max(names.values()) > min(names.values())


def test_the_one_element_of_another_array_among_several_is_suspected() -> None:
    body = "out[n] = 0;\nfloat s = a[n] + a[n + 1] + {};"
    found = changes(expression_changes, body.format("out[n - 1]"))[body.format("a[n - 1]")]
    assert (found.cost, found.code) == (0.6, "out[n - 1]")
    other = body.replace("a[n] + ", "").format("out[n - 1]")
    assert changes(expression_changes, other)[other.replace("out[n - 1]", "a[n - 1]")].cost == 3.5


def test_a_branch_that_does_nothing_is_read() -> None:
    body = "int i = threadIdx.x; if (i >= n) {} out[i] = 1;"
    assert body.replace(">=", ">") in changes(expression_changes, body)


@pytest.mark.parametrize(
    ("body", "costs"),
    [
        ("if (threadIdx.x <= n) out[0] = 1;", {"<": 1.0, ">": 2.6, ">=": 2.6}),
        # What is as large as a size is turned away: letting it in is hardly right.
        ("int i = threadIdx.x; if (i < n) out[i] = 1;", {"<=": 2.2, ">": 1.2, ">=": 1.2}),
        ("int i = threadIdx.x; if (i >= n) return; out[i] = 1;", {">": 2.2, "<": 1.2, "<=": 1.0}),
    ],
)
def test_a_near_miss_is_likelier_than_another_direction(body: str, costs: dict[str, float]) -> None:
    found = changes(expression_changes, body)
    sign = "<=" if "<=" in body else ">=" if ">=" in body else "<"
    of_signs = {
        other: found[body.replace(f" {sign} ", f" {other} ")].cost
        for other in costs
        if body.replace(f" {sign} ", f" {other} ") in found
    }
    straight = {"<": {"<=": 2.2, ">": 2.6, ">=": 2.6}, ">=": {">": 2.2, "<": 2.6, "<=": 2.6}}.get(sign, costs)
    assert of_signs == straight


@pytest.mark.parametrize(
    ("body", "other", "cost"),
    [
        ("for (int i = 0; i > n; i++) out[i] = 1;", "<", 1.0),
        ("for (int i = 0; i > n; i++) out[i] = 1;", "<=", 1.8),
        ("for (int i = 0; i >= n; i += 2) out[i] = 1;", "<", 1.2),
        ("for (int i = n; i < 0; i--) out[i] = 1;", ">", 1.0),
        ("for (int i = n; i <= 0; i -= 2) out[i] = 1;", ">=", 1.0),
        # It points to where the loop goes.
        ("for (int i = 0; i < n; i++) out[i] = 1;", ">", 2.6),
        ("for (int i = n; i > 0; i--) out[i] = 1;", "<", 2.6),
        # A guard that lets through what is larger than a size, or turns away what is smaller.
        ("if (threadIdx.x > n) out[0] = 1;", "<", 1.0),
        ("if (threadIdx.x > n) return;", "<", 2.6),
        ("if (threadIdx.x < n) return;", ">", 1.0),
        ("if (threadIdx.x < n) { return; }", ">=", 1.2),
        ("out[0] = threadIdx.x > n ? a[0] : 0;", "<", 1.0),
        ("out[0] = threadIdx.x < n ? a[0] : 0;", ">", 2.6),
        # A number is no size.
        ("if (threadIdx.x > 2) out[0] = 1;", "<", 2.6),
    ],
)
def test_a_comparison_that_points_the_wrong_way_is_suspected(body: str, other: str, cost: float) -> None:
    sign = next(s for s in (" <= ", " >= ", " < ", " > ") if s in body)
    change = changes(expression_changes, body)[body.replace(sign, f" {other} ", 1)]
    assert (change.kind, change.cost, change.line) == ("comparison", cost, 2)


def test_either_side_may_be_one_more_or_less() -> None:
    found = changes(expression_changes, "for (int i = 0; i < n; i++) out[i] = 1;")
    for condition in ("i + 1 < n", "i - 1 < n", "i < n + 1", "i < n - 1"):
        change = found[f"for (int i = 0; {condition}; i++) out[i] = 1;"]
        assert (change.kind, change.group, change.cost) == ("bound", "off_by_one", 3.6)


@pytest.mark.parametrize(
    ("body", "after", "kind"),
    [
        ("out[n + 1] = 1;", "out[n - 1] = 1;", "index"),
        ("int i = n * 2; out[i] = 1;", "int i = n / 2; out[i] = 1;", "index"),
        ("float v = n * 2; out[0] = v;", "float v = n / 2; out[0] = v;", "expression"),
        ("const float *p = a + 4; out[0] = p[0];", "const float *p = a + 3; out[0] = p[0];", "index"),
        ("int i = 0; i = n + 4; out[i] = 1;", "int i = 0; i = n + 3; out[i] = 1;", "index"),
        ("float v; v = n + 4; out[0] = v;", "float v; v = n + 3; out[0] = v;", "expression"),
        ("if (n - 4 > 0) out[0] = 1;", "if (n - 3 > 0) out[0] = 1;", "guard"),
        ("out[0] = n - 4 > 0 ? 1 : 0;", "out[0] = n - 3 > 0 ? 1 : 0;", "guard"),
        ("out[0] = n > 0 ? n - 4 : 0;", "out[0] = n > 0 ? n - 3 : 0;", "expression"),
        ("while (n - 4 > 0) out[0] = 1;", "while (n - 3 > 0) out[0] = 1;", "bound"),
        ("for (int i = 4; i < n; i++) out[i] = 1;", "for (int i = 3; i < n; i++) out[i] = 1;", "bound"),
        ("for (int i = 0; i < n; i += 4) out[i] = 1;", "for (int i = 0; i < n; i += 3) out[i] = 1;", "bound"),
        ("for (int i = 0; i < n; i++) out[i] = 4;", "for (int i = 0; i < n; i++) out[i] = 3;", "expression"),
        ("__shared__ float t[16]; out[0] = t[0];", "__shared__ float t[15]; out[0] = t[0];", "array_size"),
    ],
)
def test_the_kind_of_a_place(body: str, after: str, kind: str) -> None:
    found = changes(expression_changes, body)
    assert after in found, list(found)
    assert found[after].kind == kind


PARTS = "int parts = {};\nfor (int t = 0; t < parts; t++) out[t] = 1;"


@pytest.mark.parametrize(
    ("count", "near", "rounded"),
    [
        # One pass more would be one too many wherever the parts are whole: the number is to be rounded up.
        ("n / 16", 3.2, 1.4),
        ("(n + 15) / 16", 1.0, 2.2),
        ("n / 16.0", 1.0, 2.2),
        ("n", 1.0, None),
    ],
)
def test_a_number_of_parts_that_is_rounded_down_is_rounded_up(count: str, near: float, rounded: float | None) -> None:
    body = PARTS.format(count)
    found = changes(expression_changes, body)
    assert found[body.replace("t < parts", "t <= parts")].cost == near
    costs = [c.cost for c in found.values() if c.group == "round_up"]
    assert costs == ([rounded] if rounded else [])


def test_a_bound_that_divides_itself_is_rounded_up() -> None:
    body = "for (int t = 0; t < n / 16; t++) out[t] = 1;"
    found = changes(expression_changes, body)
    assert found[body.replace("n / 16", "(n + 16 - 1) / 16")].cost == 1.4
    assert found[body.replace("<", "<=")].cost == 3.2


def test_a_loop_that_goes_as_far_as_it_reaches_goes_as_others_do() -> None:
    body = "for (int j = 0; j < TILE; j += TILE) out[j] = 1;\nfor (int j = 0; j < TILE; j += ROWS) out[j] = a[j];"
    before = "#define TILE 32\n#define ROWS 8\n"
    of_step = {b: c for b, c in changes(loop_changes, body, before).items() if c.group == "step"}
    assert of_step[body.replace("j += TILE", "j += ROWS")].cost == 0.8
    assert of_step[body.replace("j += ROWS", "j += TILE")].cost == 1.6
    assert {c.kind for c in of_step.values()} == {"bound"} and len(of_step) == 6
    assert not [
        c for c in changes(loop_changes, "for (int j = 0; j < n; j++) out[j] = 1;").values() if c.group == "step"
    ]


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        ("int i = threadIdx.x;\nif (i < n) out[i] = 1;", 2.2),
        # Not of a loop, of another number than the caller's, or of what is no index.
        ("for (int i = 0; i < n; i++) out[i] = 1;", 1.0),
        ("int i = threadIdx.x, m = n - 1;\nif (i < m) out[i] = 1;", 1.0),
        ("if (a[0] < n) out[0] = 1;", 1.0),
        ("int i = threadIdx.x;\nif (i < 8) out[i] = 1;", 1.0),
    ],
)
def test_an_index_as_large_as_a_size_is_hardly_let_in(body: str, cost: float) -> None:
    assert changes(expression_changes, body)[body.replace(" < ", " <= ")].cost == cost


def test_what_is_subtracted_goes_before_a_comparison_lets_in_more() -> None:
    body = "int i = threadIdx.x;\nout[i] = i + 4 < n - 1 ? a[i] : 0;"
    found = changes(expression_changes, body)
    assert found[body.replace("n - 1", "n")].cost < found[body.replace("<", "<=")].cost


@pytest.mark.parametrize(
    ("make", "body", "after", "said"),
    [
        (expression_changes, "out[0] = a[0] / (n - 1);", "out[0] = a[0] / n;", "The wrong part there is n - 1."),
        (expression_changes, "out[n + 2] = 1;", "out[n + 3] = 1;", "The wrong number there is 2 in n + 2."),
        (expression_changes, "out[n + 2] = 1;", "out[n - 2] = 1;", "The wrong operator there is + in n + 2."),
        (
            expression_changes,
            "out[n] = a[n + n / 2];",
            "out[n] = a[n + n / 2 + 1];",
            "The wrong part there is n + n / 2.",
        ),
        (expression_changes, "int i = 0; out[n] = 1;", "int i = 0; out[i] = 1;", "The wrong name there is n."),
        (
            expression_changes,
            "if (n < 1) out[0] = 1;",
            "if (n <= 1) out[0] = 1;",
            "There n < 1 also has to hold where both sides are equal.",
        ),
    ],
)
def test_what_is_wrong_in_a_line_is_named(make: Make, body: str, after: str, said: str) -> None:
    change = changes(make, body)[after]
    head = "__global__ void k(const float *a, float *out, int n) {\n"
    about = about_msg(with_code(parse(SourceText(Path("k.cu"), head + body + "\n}\n", "utf-8")), change))
    assert about is not None and text(about) == said


@pytest.mark.parametrize(
    ("body", "after", "limited"),
    [
        ("int i = threadIdx.x;\nout[i] = 1;", "int i = threadIdx.x;\nif (i < n) out[i] = 1;", "i"),
        # What a condition around it limits already is not what is missing.
        (
            "int i = threadIdx.x, j = i + 1;\nif (j < n)\nout[i * n + j] = 1;",
            "int i = threadIdx.x, j = i + 1;\nif (j < n)\nif (i < n && j < n) out[i * n + j] = 1;",
            "i",
        ),
    ],
)
def test_a_missing_condition_names_what_nothing_limits(body: str, after: str, limited: str) -> None:
    head = "__global__ void k(const float *a, float *out, int n) {\n"
    parsed = parse(SourceText(Path("k.cu"), head + body + "\n}\n", "utf-8"))
    row = next(number for number, (one, other) in enumerate(zip(body + "\n", after, strict=False)) if one != other)
    edit = Edit(len(head) + row, len(head) + row, after[row : row + len(after) - len(body)])
    found = with_code(parsed, Change("guard", 3, (edit,), 1.0, "wrap", "missing"))
    assert found.code == limited
