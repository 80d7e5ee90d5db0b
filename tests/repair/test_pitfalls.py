"""Mistakes that go wrong in one known way, and what is tried of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.clues import Clues
from grader.repair.function import Change, changed, functions_of
from grader.repair.pitfalls import pitfall_changes
from grader.repair.ranking import in_order
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


STEPS = """#define ROWS 8
template <int STEP> __device__ void load(float *t, int n) {{ for (int i = 0; i < n; i += STEP) t[i] = 0; }}
__global__ void j(float *t, int n) {{ load<{}>(t, n); }}
__global__ void k(float *t, int n) {{ load<{}>(t, n); }}
"""


PLACE = """__global__ void k(float *a, float *b, int n) {{
    for (int i = 0; i < n; i++) {{
        float line[10];
        for (int j = 0; j < n; j++) line[j] = a[i * n + j] * a[j * n + i];
        for (int j = 0; j < n; j++) {}
    }}
}}
"""
WRAPS = """__global__ void k(const float *a, float *out, int n, unsigned r) {{
    const size_t y = blockIdx.x;
    out[y] = {};
}}
"""
ONWARD = "(threadIdx.x > n ? threadIdx.x - n : 0)"
BORDER = """__global__ void k(const float *a, float *out, int rows, int cols, int n) {{
    const int r = threadIdx.y - 1, c = threadIdx.x - 1;
    const int p = r * cols + c;
    out[threadIdx.x] = {} ? a[p] : 0;
}}
"""
EACH = "r >= 0 && c >= 0 && r < rows && c < cols"
MORE = f"{EACH} && (0 < n)"


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
        (STEPS, ("16", "2 * ROWS"), ("2 * ROWS>", "ROWS>"), "template"),
        (STEPS, ("8", "int"), ("int>", "float>"), "template"),
        (WRAPS, ("a[max(y - r, 0)]",), ("max(y - r, 0)", "(y > r ? y - r : 0)"), "wrapped"),
        (WRAPS, ("a[max(0u, threadIdx.x - n)]",), ("max(0u, threadIdx.x - n)", ONWARD), "wrapped"),
        (WRAPS, ("y - r >= 0",), ("y - r >= 0", "y >= r"), "wrapped"),
        (BORDER, ("p >= 0 && p < rows * cols",), ("p >= 0 && p < rows * cols", EACH), "flattened"),
        (
            BORDER,
            ("(0 < n) && (p >= 0) && p < cols * rows",),
            ("(0 < n) && (p >= 0) && p < cols * rows", MORE),
            "flattened",
        ),
        (
            BORDER,
            ("n > 0 && p < rows * cols",),
            ("n > 0 && p < rows * cols", "r < rows && c < cols && n > 0"),
            "flattened",
        ),
        (STEPS, ("16", "2 * ROWS"), ("2 * ROWS>", "16>"), "template"),
    ],
)
def test_what_is_meant_is_tried_soon(text: str, wrong: tuple[str, ...], right: tuple[str, str], detail: str) -> None:
    before = text.format(*wrong)
    change = made(before)[before.replace(*right)]
    assert change.detail == detail and change.cost < 1.3


@pytest.mark.parametrize(
    "text",
    [
        PLACE.format("b[i * n + j] = line[j];"),
        WRAPS.format("a[max(n - 1, 0)]"),
        WRAPS.format("a[max(y - r, 1)] + (y - r > 1)"),
        # No shuffle by what the loop counts, no sign that is asked for, no whole numbers, an index of the thread's own.
        SHUFFLES.format("for (int d = 8; d > 0; d /= 2)", "a[d]"),
        BORDER.format("p >= 0 && p < n"),
        BORDER.format("p >= 0 && p < rows * n"),
        BORDER.format("p >= 0 && p < rows * cols").replace("r * cols + c", "r + c"),
        ORDER.format("a - b", "order(a[i], a[n])", "gap > 7"),
        ORDER.format("a - b", "order(a[i], a[n])", "gap > 0").replace("int a, int b", "unsigned a, float b"),
        REST.format("if (i < n % 3) out[n - 1 - i] = a[n - 1 - i];"),
        REST.format("if (i == 0) for (int e = n / 3 * 3; e < n; ++e) out[n - 1] = a[n - 1];"),
    ],
)
def test_what_is_no_such_mistake_is_left_as_it_is(text: str) -> None:
    assert made(text) == {}


def test_results_that_replace_what_others_are_made_of_are_kept_elsewhere() -> None:
    before = PLACE.format("a[i * n + j] = line[j];")
    after = before.replace("a[i * n + j] = ", "kept[i * n + j] = ").replace(
        "{\n    for", "{\n    float kept[100];\n    for"
    )
    after = after.replace("    }\n}", "    }\n    for (int e = 0; e < n * n; ++e)\n        a[e] = kept[e];\n}")
    change = made(before)[after]
    assert (change.detail, change.line) == ("in_place", 5)


def test_the_mask_of_a_shuffle_names_the_lanes_that_a_condition_lets_in() -> None:
    before = SHUFFLES.format("if (threadIdx.x < GROUP)", DOWN.format("").replace(", d", ", 4"))
    after = before.replace("~0u, v, 4", "(1u << GROUP) - 1, v, 4, GROUP")
    assert made(before)[after].detail == "shuffle_mask"
    assert after not in made(before.replace("if (threadIdx.x < GROUP)", "if (threadIdx.x < n)"))


SUMS = """__global__ void k(const float *a, float *out, int n) {{
    __shared__ float part[2];
    float s = 0, t = 0;
    for (int i = 0; i < n; ++i) {{ s += a[i]; t += a[i] * a[i]; }}
    const float mean = s / n;
    part[0] = t;
    out[0] = {};
}}
"""


@pytest.mark.parametrize(
    ("stored", "line", "detail"),
    [
        ("t / n - mean * mean", 7, "cancellation"),
        ("part[0] / n - mean * mean", 7, "cancellation"),
        ("n - part[0]", 4, "digits"),
        ("t + s", 4, "digits"),
    ],
)
def test_sums_in_double_where_results_are_nearly_right(stored: str, line: int, detail: str) -> None:
    before = SUMS.format(stored)
    single = before.replace("float s", "double s").replace("float mean", "double mean")
    found = {text: change for text, change in made(before).items() if change.group == "precision"}
    assert list(found) == [single, single.replace("__shared__ float", "__shared__ double")]
    assert {(change.line, change.detail) for change in found.values()} == {(line, detail)}
    function = functions_of(parse(SourceText(Path("k.cu"), before, "utf-8")), "k")[0]
    for symptoms, count in (((), 0), (("close",), 2)):
        ranked = in_order(Clues({}, (), symptoms), [(function, change) for change in found.values()])
        assert len(ranked) == count


def test_nothing_is_made_double_where_nothing_is_added_up() -> None:
    assert made("__global__ void k(float *a) {\n    float s = a[0], t = a[1] - s;\n    a[2] = t - s;\n}\n") == {}
