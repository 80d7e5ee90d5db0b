"""Comparisons changed: which sign is likely to be meant."""

from __future__ import annotations

import pytest

from grader.repair.changes.expressions import expression_changes
from tests.repair.changes.kernels import changes


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
