"""Conditions that accesses stand under: what is put before an access that has none, and what becomes of a weak one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from grader.repair.conditions import MAX_GUARDS, clip_changes, guard_changes, surplus_changes
from grader.repair.function import Change, Function, functions_of
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText
from tests.repair.kernels import Make, changes

OF_N = {"a": ["n"], "out": ["n"]}


def guards(**extents: list[str]) -> Make:
    def make(function: Function) -> Iterable[Change]:
        return guard_changes(function, extents)

    return make


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The array's axis is the likeliest; a statement is guarded before a whole thread returns.
        (
            "int i = threadIdx.x;\nout[i] = 1;",
            {
                "int i = threadIdx.x;\nif (i < n) out[i] = 1;": (1.5, "wrap", "missing", 3),
                "int i = threadIdx.x;\nif (i >= n) return;\nout[i] = 1;": (1.7, "return", "missing", 2),
                "int i = threadIdx.x;\nif (i >= 0 && i < n) out[i] = 1;": (2.3, "wrap", "missing", 3),
                "int i = threadIdx.x;\nif (!(i >= 0 && i < n)) return;\nout[i] = 1;": (2.5, "return", "missing", 2),
            },
        ),
        # What is read may be 0 instead; a thread that a barrier waits for does not return.
        (
            "int i = threadIdx.x;\nfloat s;\ns = a[i];\n__syncthreads();",
            {
                "int i = threadIdx.x;\nfloat s;\ns = (i < n ? a[i] : 0);\n__syncthreads();": (
                    1.9,
                    "ternary",
                    "missing",
                    4,
                ),
                "int i = threadIdx.x;\nfloat s;\nif (i < n) s = a[i];\n__syncthreads();": (1.5, "wrap", "missing", 4),
                "int i = threadIdx.x;\nfloat s;\ns = (i >= 0 && i < n ? a[i] : 0);\n__syncthreads();": (
                    2.7,
                    "ternary",
                    "missing",
                    4,
                ),
                "int i = threadIdx.x;\nfloat s;\nif (i >= 0 && i < n) s = a[i];\n__syncthreads();": (
                    2.3,
                    "wrap",
                    "missing",
                    4,
                ),
            },
        ),
        # A declaration cannot be guarded: what it declares would be gone.
        ("int i = threadIdx.x;\nfloat s = a[i];", {}),
    ],
)
def test_an_access_without_a_guard(body: str, expected: dict[str, tuple[float, str, str, int]]) -> None:
    found = changes(guards(**OF_N), body)
    assert {after: (round(c.cost, 9), c.group, c.detail, c.line) for after, c in found.items()} == expected
    assert {c.kind for c in found.values()} <= {"guard"}


@pytest.mark.parametrize(
    ("extents", "index", "conditions"),
    [
        (["n"], "i", ["i < n", "i >= 0 && i < n"]),
        (["n"], "(i)", ["i < n", "i >= 0 && i < n"]),
        # What binds more loosely than the comparison is put into brackets.
        (["n"], "i & 31", ["(i & 31) < n", "(i & 31) >= 0 && (i & 31) < n"]),
        (["n"], "i >> 1", ["i >> 1 < n", "i >> 1 >= 0 && i >> 1 < n"]),
        (["r", "c"], "i * n + j", ["i < r && j < c", "i < r", "j < c"]),
        (["r", "c"], "j + (i * n)", []),
        (["r", "c"], "j + i * n", ["i < r && j < c", "i < r", "j < c"]),
        (["r", "c"], "(i ^ 1) * n + (j + 1)", ["(i ^ 1) < r && j + 1 < c", "(i ^ 1) < r", "j + 1 < c"]),
        # Neither a row nor a column is to be seen.
        (["r", "c"], "i", []),
        (["r", "c"], "i + j", []),
        (["p", "q", "r"], "i", ["i < p * q * r"]),
    ],
)
def test_what_keeps_an_access_within_its_array(extents: list[str], index: str, conditions: list[str]) -> None:
    body = f"int i = threadIdx.x, j = threadIdx.y;\nout[{index}] = 1;"
    found = changes(guards(out=extents), body)
    likely = {after for after, c in found.items() if c.group == "wrap" and c.cost < 2.5}
    assert likely == {body.replace("out[", f"if ({condition}) out[") for condition in conditions}


@pytest.mark.parametrize(("y", "first"), [("threadIdx.y", "x < w"), ("threadIdx.y - 1", "y >= 0 && y < h && x < w")])
def test_rows_and_columns_of_an_array_of_unknown_shape(y: str, first: str) -> None:
    body = f"int y = {y}, x = threadIdx.x; out[3 * (y * w + x) + 1] = 1;"
    text = f"__global__ void k(float *out, int h, int w) {{ {body} }}"
    function = functions_of(parse(SourceText(Path("k.cu"), text, "utf-8")), "k")[0]
    wraps = sorted((c for c in guard_changes(function, {}) if c.group == "wrap"), key=lambda c: c.cost)
    assert wraps[0].edits[0].text == f"if ({first}) "


@pytest.mark.parametrize(
    ("extents", "body", "weak", "strong", "cost", "group"),
    [
        # Replaced by what the array's axis says, or made stricter by it.
        (OF_N, "int i = threadIdx.x;\nif (i <= n) out[i] = 1;", "(i <= n)", "(i < n)", 1.2, "derived_guard"),
        (OF_N, "int i = threadIdx.x;\nif (i <= n) out[i] = 1;", "(i <= n)", "(i <= n && i < n)", 2.0, "conjunct"),
        (
            OF_N,
            "int i = threadIdx.x;\nif (i < 4 || n) out[i] = 1;",
            "(i < 4 || n)",
            "((i < 4 || n) && i < n)",
            2.0,
            "conjunct",
        ),
        (OF_N, "int i = threadIdx.x;\nout[0] = n ? a[i] : 0;", "n ?", "i < n ?", 1.3, "derived_guard"),
        (OF_N, "int i = threadIdx.x;\nout[0] = n ? a[i] : 0;", "n ?", "n && i < n ?", 2.0, "conjunct"),
        # Of an array that the kernel is not handed nothing is known: other branches' conditions are.
        (
            {},
            "int i = threadIdx.x;\nif (i < 4 || i > n) out[0] = 1;\nif (n) out[i] = 1;",
            "(n)",
            "(n && (i < 4 || i > n))",
            3.4,
            "conjunct",
        ),
        # What keeps from one end of an array keeps as far from the other.
        ({}, "int i = threadIdx.x;\nif (i >= 3) out[i] = 1;", "(i >= 3)", "(i >= 3 && i < n - 3)", 3.4, "conjunct"),
        (
            {},
            "int i = threadIdx.x;\nif (i < n - 3) out[i] = 1;",
            "(i < n - 3)",
            "(i < n - 3 && i >= 3)",
            3.4,
            "conjunct",
        ),
        # A branch may not be meant at all, and neither may an early return.
        ({}, "int i = threadIdx.x;\nif (i < 4) out[i] = 1;", "if (i < 4) ", "", 3.2, "unguarded"),
        ({}, "int i = threadIdx.x;\nif (i >= 4) return;\nout[i] = 1;", "if (i >= 4) return;\n", "", 3.0, "returns"),
        (
            {},
            "int i = threadIdx.x;\nif (i >= 4) return;\n__syncthreads();\nout[i] = 1;",
            "if (i >= 4) return;\n",
            "",
            1.4,
            "returns",
        ),
        (
            {},
            "int i = threadIdx.x;\nif (i >= 4) return;\nout[i] = 1;\n__syncthreads();",
            "if (i >= 4) return;",
            "if (i < 4)",
            1.4,
            "returns",
        ),
        (
            {},
            "int i = threadIdx.x;\nif (i >= 4) return;\nout[i] = 1;",
            "(i >= 4)",
            "(i >= 4 || !(i < n))",
            3.0,
            "conjunct",
        ),
    ],
)
def test_a_guard_that_is_too_weak(
    extents: dict[str, list[str]], body: str, weak: str, strong: str, cost: float, group: str
) -> None:
    found = changes(guards(**extents), body)
    after = body.replace(weak, strong)
    assert after in found, list(found)
    assert (round(found[after].cost, 9), found[after].group) == (cost, group)


@pytest.mark.parametrize(
    ("body", "group"),
    [
        # In the condition itself, or in the other half, a branch guards nothing.
        ("int i = threadIdx.x;\nfloat s;\nif (a[i] > 0) s = 1;", "derived_guard"),
        ("int i = threadIdx.x;\nfloat s;\nif (n) s = 1; else out[i] = 1;", "derived_guard"),
        # What is stored to cannot be replaced by 0, nor what is counted up.
        ("int i = threadIdx.x;\nout[i] = 1;", "ternary"),
        ("int i = threadIdx.x;\nout[i]++;", "ternary"),
        # A barrier that not all reach is worse than what is mended.
        ("int i = threadIdx.x;\nout[i] = 1;\n__syncthreads();", "return"),
        ("for (int i = 0; i < n; i++) {\n__syncthreads();\n}", "wrap"),
        # A branch with another half is no guard that could be left out.
        ("int i = threadIdx.x;\nif (i < 4) out[i] = 1; else out[0] = 1;", "unguarded"),
    ],
)
def test_what_would_not_help_is_not_tried(body: str, group: str) -> None:
    assert group not in {change.group for change in changes(guards(**OF_N), body).values()}


def test_a_loop_with_a_barrier_is_not_guarded_but_what_stands_in_it_is() -> None:
    body = "for (int i = 0; i < 4; i++) {\nout[i] = 1;\n__syncthreads();\n}"
    found = {after for after, c in changes(guards(**OF_N), body).items() if c.group == "wrap"}
    assert {body.replace("out[", f"if ({c}) out[") for c in ("i < n", "i >= 0 && i < n")} <= found
    assert all(after.startswith("for") for after in found)


def test_a_condition_stands_where_its_names_are_known() -> None:
    body = "for (int i = 0; i < 4; i++) {\nout[i] = 1;\n}"
    found = [after for after, c in changes(guards(**OF_N), body).items() if c.group == "wrap"]
    assert found
    assert all(after.startswith("for (int i = 0; i < 4; i++) ") for after in found)


def test_at_one_place_no_more_conditions_are_tried_than_the_limit() -> None:
    branches = "".join(f"if (n > {k}) out[0] = {k};\n" for k in range(2 * MAX_GUARDS))
    found = changes(guards(), f"int i = threadIdx.x;\n{branches}out[i] = 1;")
    last = [c for after, c in found.items() if c.group == "wrap" and c.line == 3 + 2 * MAX_GUARDS]
    assert len(last) == MAX_GUARDS


def around(body: str) -> set[str]:
    return {text for text, change in changes(guards(**OF_N), body).items() if change.group == "wrap_all"}


def test_conditions_are_put_on_both_sides_of_a_barrier() -> None:
    head = "__shared__ float t[64];\nint i = threadIdx.x + blockIdx.x * 64;\n"
    wrapped = f"{head}if (i < n) t[threadIdx.x] = a[i];\n__syncthreads();\nif (i < n) out[i] = t[0];"
    assert around(f"{head}t[threadIdx.x] = a[i];\n__syncthreads();\nout[i] = t[0];") == {wrapped}
    # With a condition on one side a change of one place is enough; a barrier in a branch is moved first.
    assert not around(f"{head}t[threadIdx.x] = a[i];\n__syncthreads();\nif (i < n) out[i] = t[0];")
    assert not around(f"{head}t[threadIdx.x] = a[i];\nif (i) {{ __syncthreads(); }}\nout[i] = t[0];")


@pytest.mark.parametrize(
    ("covers", "body", "returns"),
    [
        (["n"], "int m = blockIdx.x * blockDim.x + threadIdx.x;\nout[m * 4] = 1;", "m >= n"),
        (
            ["w", "n"],
            "int y = blockIdx.y * 8 + threadIdx.y;\nint x = blockIdx.x * 8 + threadIdx.x;\nout[0] = 1;",
            "x >= w || y >= n",
        ),
        # One axis is guarded already.
        (
            ["w", "n"],
            "int y = blockIdx.y * 8 + threadIdx.y;\nint x = blockIdx.x * 8 + threadIdx.x;\nif (x < w) out[0] = 1;",
            "y >= n",
        ),
    ],
)
def test_surplus_threads_return(covers: list[str], body: str, returns: str) -> None:
    ((text, change),) = changes(lambda f: surplus_changes(f, covers), body).items()
    assert f"if ({returns}) return;" in text.split("\n")
    assert (change.kind, change.detail, change.cost) == ("guard", "missing", 1.2)


@pytest.mark.parametrize(
    ("covers", "body"),
    [
        (["n"], "int m = blockIdx.x * blockDim.x + threadIdx.x;\nif (m < n) out[m] = 1;"),
        (["n"], "int m = blockIdx.x * blockDim.x + threadIdx.x;\nout[m] = m < n ? 1 : 0;"),
        # What a barrier waits for does not return; of a size without a name nothing can be said.
        (["n"], "int m = blockIdx.x * blockDim.x + threadIdx.x;\n__syncthreads();\nout[m] = 1;"),
        ([""], "int m = blockIdx.x * blockDim.x + threadIdx.x;\nout[m] = 1;"),
        (["n"], "int m = threadIdx.x;\nout[m] = 1;"),
    ],
)
def test_who_needs_no_return_gets_none(covers: list[str], body: str) -> None:
    assert not changes(lambda f: surplus_changes(f, covers), body)


@pytest.mark.parametrize("whole", ["blockDim.x", "(int)blockDim.x", "T"])
@pytest.mark.parametrize("begin", ["blockIdx.x * blockDim.x", "T * blockIdx.x"])
def test_what_a_block_takes_on_is_limited_to_what_is_left(whole: str, begin: str) -> None:
    body = f"int first = {begin};\nint here = {whole};\nif (threadIdx.x < here) out[first] = T;"
    ((text, change),) = changes(clip_changes, body, "#define T 8\n").items()
    limited = whole if whole.startswith("(") else f"(int){whole}"
    assert text == body.replace(f"here = {whole}", f"here = min({limited}, n - first)")
    assert (change.kind, change.line) == ("expression", 4)


@pytest.mark.parametrize(
    "body",
    [
        "int first = threadIdx.x;\nint here = blockDim.x;\nout[first] = here;",  # No block begins there.
        "int here = blockDim.x;\nint first = blockIdx.x * here;\nout[first] = here;",  # It begins behind it.
        "int first = blockIdx.x * 8;\nint here = n;\nout[first] = here;",
        "int first = blockIdx.x * 8;\nint here = blockDim.x - 1;\nout[first] = here;",
    ],
)
def test_what_is_no_part_of_a_block_is_not_limited(body: str) -> None:
    assert not changes(clip_changes, body)


@pytest.mark.parametrize(
    ("body", "after", "fields"),
    [
        (
            "if (threadIdx.x < n) out[threadIdx.x] = 0;",
            "for (int e = threadIdx.x; e < n; e += blockDim.x) out[e] = 0;",
            ("loop", "loop"),
        ),
        (
            "int e = 1;\nif (threadIdx.x < n) {\nout[threadIdx.x] = e; }",
            "int e = 1;\nfor (int el = threadIdx.x; el < n; el += blockDim.x) {\nout[el] = e; }",
            ("loop", "loop"),
        ),
        ("if (n < 4) atomicAdd(out, 1);", "if (n == 0) atomicAdd(out, 1);", ("by_one", "")),
    ],
)
def test_a_guard_is_a_loop_or_lets_one_thread_through(body: str, after: str, fields: tuple[str, str]) -> None:
    change = changes(guards(), body)[after]
    assert (change.kind, change.group, change.detail) == ("guard", *fields)


@pytest.mark.parametrize(
    "body",
    [
        "if (threadIdx.x < n) { out[threadIdx.x] = 0; __syncthreads(); }",
        "if (threadIdx.x <= n) out[threadIdx.x] = 0;",
        "if (threadIdx.x < n) out[0] = 0;",
        "if (threadIdx.x < n) out[threadIdx.x] = 0; else out[1] = 0;",
    ],
)
def test_what_is_no_element_of_its_own_is_no_loop(body: str) -> None:
    assert not {c.group for c in changes(guards(), body).values()} & {"loop", "by_one"}


R, C = "int r = threadIdx.y - 2, c = threadIdx.x - 2;\n", "out[c] = r;"


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("r >= 0 && r < n && c < n", "r >= 0 && r < n && c < n && c >= 0"),
        ("r >= 0 && c < n && r < n", "r >= 0 && c < n && r < n && c >= 0"),
        ("r >= 0 && c >= 0 && r < n && c < n", None),
        # Where no index has a lower end, none needs one.
        ("r < n && c < n", None),
    ],
)
def test_an_index_has_the_lower_end_that_another_has(condition: str, after: str | None) -> None:
    found = changes(guards(), f"{R}if ({condition}) {C}")
    made = [text for text, c in found.items() if c.group == "lower_end"]
    assert made == ([f"{R}if ({after}) {C}"] if after else [])


def test_one_thread_of_a_pair_exchanges() -> None:
    pair = "int i = threadIdx.x, j = i ^ n;\n"
    found = changes(guards(), f"{pair}if (i < n) {{ out[i] = 1; out[j] = 2; }}")
    assert [text for text, c in found.items() if c.group == "pair"] == [
        f"{pair}if (i < n && j > i) {{ out[i] = 1; out[j] = 2; }}"
    ]
    assert "pair" not in {c.group for c in changes(guards(), f"{pair}if (j > i) out[i] = 1;").values()}


@pytest.mark.parametrize(
    ("body", "after", "detail"),
    [
        (
            "for (int i = 0; i < n; i++) {\nif (i > 4) return;\nout[i] = 1;\n}",
            "for (int i = 0; i < n; i++) {\nif (i > 4) break;\nout[i] = 1;\n}",
            "returns_break",
        ),
        (
            "int i = threadIdx.x;\nif (i >= n) return;\nout[i] = 1;\n__syncthreads();\nout[i] = 2;",
            "int i = threadIdx.x;\nout[i] = 1;\n__syncthreads();\nif (i >= n) return;\nout[i] = 2;",
            "returns_late",
        ),
        # All that stands before the barrier gets the condition, each part for itself; also where a loop holds it.
        (
            "int i = threadIdx.x;\nif (i >= n) return;\nfloat v = a[i];\nout[i] = v;\nout[1] = v;\n__syncthreads();\n"
            "out[i] = 2;",
            "int i = threadIdx.x;\nfloat v = i < n ? a[i] : 0;\nif (i < n) { out[i] = v;\nout[1] = v; }\n"
            "__syncthreads();\nif (i >= n) return;\nout[i] = 2;",
            "returns_around",
        ),
        (
            "int i = threadIdx.x;\nif (i >= n || i < 1) return;\nfor (int k = 0; k < 4; k++) {\nout[i] = k;\n"
            "__syncthreads();\n}",
            "int i = threadIdx.x;\nfor (int k = 0; k < 4; k++) {\nif (i < n && i >= 1) out[i] = k;\n"
            "__syncthreads();\n}",
            "returns_around",
        ),
        # What others fill by their own place is filled by all.
        (
            "int i = threadIdx.x;\nif (i >= n) return;\nfloat v = a[i];\nfor (int k = 0; k < 4; k++) {\nif (k < n)\n"
            "out[threadIdx.x] = k;\n__syncthreads();\n}\nout[i] = v;",
            "int i = threadIdx.x;\nfloat v = i < n ? a[i] : 0;\nfor (int k = 0; k < 4; k++) {\nif (k < n)\n"
            "out[threadIdx.x] = k;\n__syncthreads();\n}\nif (i >= n) return;\nout[i] = v;",
            "returns_around",
        ),
        # What is done before returning stays with it.
        (
            "int i = threadIdx.x;\nif (i >= n) { out[0] = 1; return; }\nout[i] = 1;\n__syncthreads();\nout[i] = 2;",
            "int i = threadIdx.x;\nout[i] = 1;\n__syncthreads();\nif (i >= n) { out[0] = 1; return; }\nout[i] = 2;",
            "returns_late",
        ),
        (
            "int k = 0;\nfor (; k + 4 <= n; k += 4) out[k] = 1;\nif (k < n) out[k] = 1;",
            "int k = 0;\nfor (; k + 4 <= n; k += 4) out[k] = 1;\nfor (; k < n; ++k) out[k] = 1;",
            "remainder",
        ),
        (
            "for (int i = 0; i < n; i++) {\nif (i > 4)\ncontinue; // nothing to add\nout[i] = 1;\n}",
            "for (int i = 0; i < n; i++) {\nout[i] = 1;\n}",
            "continues",
        ),
    ],
)
def test_what_ends_too_much_or_does_too_little(body: str, after: str, detail: str) -> None:
    assert changes(guards(**OF_N), body)[after].detail == detail
