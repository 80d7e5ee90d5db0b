"""Mistakes that go wrong in one known way, and what is tried of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import Change, changed, functions_of
from grader.repair.pitfalls import pitfall_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

SHUFFLES = """#define GROUP 8
__global__ void k(const int *a, int *out, int n) {{
    int v = a[threadIdx.x];
    {}
        v += {};
    out[threadIdx.x] = v;
}}
"""
DOWN, UP = "__shfl_down_sync(~0u, v, d{})", "__shfl_up_sync(~0u, v, d{})"
ORDER = """__device__ int order(int a, int b) {{ return {}; }}
__global__ void k(const int *a, int *out, int n) {{
    const int i = threadIdx.x;
    int gap = {};
    if ({}) out[i] = a[i + 1];
}}
"""
REST = """__global__ void k(const float *a, float *out, int n) {{
    const int i = threadIdx.x, pairs = n / 3;
    if (i < pairs) out[i] = a[i];
    {}
}}
"""


def made(text: str) -> dict[str, Change]:
    parsed = parse(SourceText(Path("k.cu"), text, "utf-8"))
    return {changed(text, c): c for function in functions_of(parsed, "k") for c in pitfall_changes(function)}


@pytest.mark.parametrize(
    ("text", "wrong", "right", "detail"),
    [
        (SHUFFLES, ("for (int d = GROUP; d > 0; d /= 2)", DOWN.format("")), ("GROUP; d", "GROUP / 2; d"), "shuffle"),
        (SHUFFLES, ("for (int d = 8; d; d >>= 1)", DOWN.format("")), ("d = 8", "d = 16"), "shuffle"),
        (SHUFFLES, ("for (int d = GROUP / 2; d; d /= 2)", DOWN.format("")), ("GROUP / 2;", "GROUP;"), "shuffle"),
        (SHUFFLES, ("for (int d = 1; d < 16; d *= 2)", UP.format("")), ("d < 16", "d < 32"), "shuffle"),
        (SHUFFLES, ("for (d = 4; d > 0; d /= 2)", DOWN.format(", 32")), ("v, d, 32", "v, d, 16"), "shuffle_width"),
        (SHUFFLES, ("for (d = 1; d < GROUP; ++d)", UP.format("")), ("v, d)", "v, d, GROUP)"), "shuffle_width"),
        (ORDER, ("a - b", "order(a[i], a[n])", "gap > 0"), ("a - b", "(a > b) - (a < b)"), "overflow"),
        (ORDER, ("0", "a[i] - a[n]", "gap < 0"), ("a[i] - a[n]", "(a[i] > a[n]) - (a[i] < a[n])"), "overflow"),
        (ORDER, ("0", "0", "(a[i] - a[n]) >= 0"), ("(a[i] - a[n]) >= 0", "a[i] >= a[n]"), "overflow"),
        (
            REST,
            ("if (i == 0 && n % 3 > 0) out[n - 1] = a[n - 1];",),
            ("out[n - 1] = a[n - 1]", "for (int rest = n / 3 * 3; rest < n; ++rest) out[rest] = a[rest]"),
            "remainder",
        ),
        (
            REST,
            ("if (i == pairs) { out[3 * pairs] = a[3 * pairs]; }", "n"),
            ("{ out[3 * pairs] = a[3 * pairs]", "for (int rest = n / 3 * 3; rest < n; ++rest) { out[rest] = a[rest]"),
            "remainder",
        ),
    ],
)
def test_what_is_meant_is_tried_soon(text: str, wrong: tuple[str, ...], right: tuple[str, str], detail: str) -> None:
    before = text.format(*wrong)
    change = made(before)[before.replace(*right)]
    assert change.detail == detail and change.cost < 1.3


@pytest.mark.parametrize(
    "text",
    [
        # No shuffle by what the loop counts, no sign that is asked for, no whole numbers, an index of the thread's own.
        SHUFFLES.format("for (int d = 8; d > 0; d /= 2)", "a[d]"),
        ORDER.format("a - b", "order(a[i], a[n])", "gap > 7"),
        ORDER.format("a - b", "order(a[i], a[n])", "gap > 0").replace("int a, int b", "unsigned a, float b"),
        REST.format("if (i < n % 3) out[n - 1 - i] = a[n - 1 - i];"),
        REST.format("if (i == 0) for (int e = n / 3 * 3; e < n; ++e) out[n - 1] = a[n - 1];"),
    ],
)
def test_what_is_no_such_mistake_is_left_as_it_is(text: str) -> None:
    assert made(text) == {}
