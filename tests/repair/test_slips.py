"""Changes of what differs from its like: limits, numbers of groups, exclusive ors, squared constants."""

from __future__ import annotations

import pytest

from grader.repair.barriers import barrier_changes
from grader.repair.conditions import guard_changes, surplus_changes
from grader.repair.expressions import expression_changes
from grader.repair.loops import loop_changes
from grader.repair.several_places import array_changes
from grader.repair.slips import slip_changes
from grader.repair.statements import value_changes
from grader.repair.terms import term_changes
from tests.repair.kernels import Make, changes

LIMITS = "int x = threadIdx.x, r = 1;\nint b = min(x + r, n), c = min(x - r, {other});\nout[b] = out[c];"
TILES = "__shared__ float x[32], y[32];\nx[n] = a[0];\ny[n] = a[1];\n"
QUADS = "int x = threadIdx.x;\nint q = n / 4;\n"


@pytest.mark.parametrize(
    ("body", "old", "new", "fields"),
    [
        # Beside one that ends at the last element.
        (LIMITS.format(other="r - 1"), "x + r, n)", "x + r, n - 1)", ("index", "limit", 0.4, 3)),
        (LIMITS.format(other="9"), "x + r, n)", "x + r, n - 1)", ("index", "limit", 1.8, 3)),
        ("int x = clamp(n + 1, 0, n);\nout[x] = 1;", "0, n)", "0, n - 1)", ("index", "limit", 1.8, 2)),
        (
            "int x = 9, b = x + 1 < n ? x + 1 : n;\nout[b] = 1;",
            "x + 1 < n ? x + 1 : n",
            "x + 1 < n - 1 ? x + 1 : n - 1",
            ("index", "limit", 1.2, 2),
        ),
        (
            "int x = 9;\nif (x > n)\nx = n;\nout[x] = 1;",
            "if (x > n)\nx = n;",
            "if (x > n - 1)\nx = n - 1;",
            ("index", "limit", 1.2, 4),
        ),
        ("int x = 9;\nif (x > n) x = 1;\nout[x] = 1;", "x = 1", "", None),
        # The last element again in place of none.
        ("out[2] = a[min(n, 9 - 1)];", "a[min(n, 9 - 1)]", "n < 9 ? a[n] : 0", ("guard", "clamped", 0.9, 2)),
        ("out[2] = a[max(n, 9 - 1)];", "a[max(n, 9 - 1)]", "n < 9 ? a[n] : 0", None),
        (
            "__shared__ float4 t[8];\nout[2] = 1;\nt[n] = t[min(n - 1, n)];",
            "= t[min(n - 1, n)]",
            "= n < n ? t[n] : make_float4(0, 0, 0, 0)",
            ("guard", "clamped", 0.9, 4),
        ),
        # Fewer lanes than a shuffle names.
        (
            "if (n < 8) {\nout[n] = __shfl_down_sync(~0u, n, 4); }",
            "n < 8",
            "n < 32",
            ("guard", "warp", 0.3, 2),
        ),
        ("if (n < 32)\nout[n] = __shfl_sync(~0u, n, 4);", "n < 32", "n < 31", None),
        # Of single elements, and of what an index of them starts from.
        (f"{QUADS}out[q + x] = a[x];", "[q + x]", "[4 * q + x]", ("index", "groups", 1.2, 4)),
        (f"{QUADS}int i = q + x;\nout[i] = a[x];", "i = q + x", "i = 4 * q + x", ("index", "groups", 1.2, 4)),
        (
            f"{QUADS.replace('/ 4', '>> 3')}for (int i = q; i < n; i++)\nout[i] = 1;",
            "i = q;",
            "i = 8 * q;",
            ("index", "groups", 1.2, 4),
        ),
        # A row of the tile is mixed by what it was stored by.
        ("int x = threadIdx.x, y = threadIdx.y;\nout[x] = a[(y + 1) ^ y];", "^ y", "", None),
        (
            "int x = threadIdx.x, y = threadIdx.y;\n__shared__ float t[8][8];\nout[x] = t[x][(y + 1) ^ y];",
            "^ y",
            "^ x",
            ("index", "", 0.9, 4),
        ),
        (
            "int x = threadIdx.x, y = threadIdx.y;\n__shared__ float t[8][8];\nt[y + n][x ^ y] = a[x];",
            "x ^ y",
            "x ^ (y + n)",
            ("index", "", 0.9, 4),
        ),
        ("out[0] = a[0] + EPS * EPS;", "EPS * EPS", "EPS", ("expression", "squared", 1.0, 2)),
        ("float x = a[0];\nout[0] = x * x;", "x * x", "", None),
        ("out[0] = n * n;", "n * n", "", None),
    ],
)
def test_what_differs_from_its_like(body: str, old: str, new: str, fields: tuple[str, str, float, int] | None) -> None:
    made = {text: (c.kind, c.detail, c.cost, c.line) for text, c in changes(slip_changes, body).items()}
    if fields is None:
        assert not made
    else:
        assert made[body.replace(old, new)] == fields


@pytest.mark.parametrize("index", ["4 * q + x", "x", "x * q"])
def test_groups_that_are_multiplied_are_left_alone(index: str) -> None:
    assert not changes(slip_changes, f"{QUADS}out[{index}] = a[x];\nfor (int i = x; i < q; i++) out[0] = 1;")


@pytest.mark.parametrize(("value", "is_tried"), [("0.1f", True), ("3", False)])
def test_the_square_of_a_constant_may_be_meant(value: str, is_tried: bool) -> None:
    made = changes(slip_changes, "out[0] = a[0] + EPS;", f"const float EPS = {value};\n")
    assert list(made) == ["out[0] = a[0] + EPS * EPS;"] * is_tried


TILE = "__shared__ float s[1024];\nint x = threadIdx.x, y = threadIdx.y;\n"
TREE = "__shared__ float s[64];\nint t = threadIdx.x;\n"


@pytest.mark.parametrize(
    ("make", "body", "old", "new", "cost"),
    [
        # What a builtin variable stands beside tells which one is meant.
        (
            expression_changes,
            "int i = blockIdx.x * blockDim.x + blockIdx.x;\nout[i] = 1;",
            "+ blockIdx.x",
            "+ threadIdx.x",
            0.5,
        ),
        (
            expression_changes,
            "int i = threadIdx.x * blockDim.x + n;\nout[i] = 1;",
            "threadIdx.x *",
            "blockIdx.x *",
            0.5,
        ),
        (
            expression_changes,
            "int i = blockIdx.x * blockDim.x + threadIdx.y;\nout[i] = 1;",
            "threadIdx.y",
            "threadIdx.x",
            0.5,
        ),
        # An array that is filled and never read is meant where another one is read.
        (expression_changes, f"{TILES}out[n] = y[n];", "= y[n]", "= x[n]", 0.4),
        (expression_changes, f"{TILES}out[n] = y[n];\nout[0] = x[0];", "= y[n]", "= x[n]", 3.5),
        # Two tests of which one lets in what the other turns away.
        (expression_changes, "int i = 1, j = 2;\nif (i < n || j < n) out[i] = 1;", "||", "&&", 0.9),
        (expression_changes, "int i = 1, j = 2;\nif (i >= n && j >= n) return;\nout[i] = 1;", "&&", "||", 0.9),
        (expression_changes, "int i = 1, j = 2;\nif (i < n && j < n) out[i] = 1;", "&&", "||", 2.4),
        # Functions and shuffles the other way.
        (expression_changes, "int i = max(threadIdx.x, n - 1);\nout[i] = 1;", "max", "min", 0.5),
        (expression_changes, "int i = max(threadIdx.x, n);\nout[i] = 1;", "max", "min", 1.8),
        (expression_changes, "float v = a[0];\nv += __shfl_up_sync(~0u, v, 4);", "_up_", "_down_", 0.9),
        (
            expression_changes,
            "for (int i = 0; i < n; ++i) {\nif (i == 3) break;\nout[i] = 1;\n}",
            "break;",
            "continue;",
            1.5,
        ),
        # A block steps by its own threads.
        (
            loop_changes,
            "for (int i = threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = 1;",
            "blockDim.x * gridDim.x",
            "blockDim.x",
            0.8,
        ),
        (
            expression_changes,
            "float s = 0;\nfor (int i = 0; i < n; ++i) s = a[i];\nout[0] = s;",
            "s = a",
            "s += a",
            0.5,
        ),
        (expression_changes, "float s = 0;\nfor (int i = 0; i < n; ++i) out[i] = s = a[i];", "s = a", "s += a", 0.5),
        (
            expression_changes,
            "float s = 1;\nfor (int i = 0; i < n; ++i) s = a[i];\nout[0] = s;",
            "s = a",
            "s += a",
            2.0,
        ),
        (expression_changes, "int h = n / 3;\nout[h] = 1;", "3", "2", 1.3),
        # Each thread of a block begins at its own number.
        (loop_changes, "for (int k = 0; k < n; k += blockDim.x) out[k] = 1;", "k = 0", "k = threadIdx.x", 0.9),
        (
            loop_changes,
            "int t = threadIdx.x;\nfor (int k = 0; k < n; k += 256) out[k] = t;",
            "k = 0",
            "k = t",
            0.9,
        ),
        (
            loop_changes,
            "for (int k = blockIdx.x * blockDim.x; k < n; k += blockDim.x * gridDim.x) out[k] = 1;",
            "= blockIdx.x * blockDim.x",
            "= blockIdx.x * blockDim.x + threadIdx.x",
            0.6,
        ),
        (loop_changes, "for (int k = threadIdx.x; k < n; ++k) out[k] = 1;", "++k", "k += blockDim.x", 1.2),
        (loop_changes, "for (int k; k < n; ++k) out[k] = 1;", "int k", "int k = 0", -0.5),
        # Members of vectors, two values of a choice.
        (
            slip_changes,
            "float4 v;\nv.x = 1;\nv.y = 2;\nv.z = 3;\nv.z = 4;\nout[0] = v.x;",
            "v.z = 4",
            "v.w = 4",
            -0.8,
        ),
        (slip_changes, "float2 v = make_float2(1, 2);\nout[0] = v.x * v.x;", "* v.x", "* v.y", 1.6),
        (slip_changes, "int i = threadIdx.x;\nout[i] = i < n ? 0 : a[i];", "0 : a[i]", "a[i] : 0", 0.4),
        (slip_changes, "int i = threadIdx.x;\nout[i] = i < n ? a[i] : 0;", "a[i] : 0", "0 : a[i]", 2.0),
        # A row that other indices have, and a part of a thread's number.
        (term_changes, "int i = 1, k = 2;\nout[i * n + k] = a[k];", "a[k]", "a[i * n + k]", 2.0),
        (term_changes, "int i = blockIdx.x * blockDim.x;\nout[i] = 1;", "blockDim.x", "blockDim.x + threadIdx.x", 1.8),
        (
            term_changes,
            "int i = blockDim.x + threadIdx.x;\nout[i] = 1;",
            "blockDim.x",
            "blockIdx.x * blockDim.x",
            0.4,
        ),
        (
            term_changes,
            "int first = blockIdx.x * 64 * 8;\nint k = threadIdx.x;\nint g = k;\nout[g] = first;",
            "g = k",
            "g = first + k",
            2.4,
        ),
        # A tree's other half has no partner.
        (
            loop_changes,
            f"{TREE}for (int d = 32; d > 0; d /= 2) {{\ns[t] += s[t + d];\n__syncthreads();\n}}",
            "s[t] +=",
            "if (t < d) s[t] +=",
            0.8,
        ),
        (
            loop_changes,
            f"{TREE}for (int d = 1; d < 64; d *= 2) {{\ns[t] = s[t] + s[t - d];\n__syncthreads();\n}}",
            "s[t] =",
            "if (t >= d) s[t] =",
            0.8,
        ),
        (
            lambda function: barrier_changes(function, shares=True),
            f"{TREE}s[t] = a[t];\nfloat v = s[63 - t];\nint w = 1;\n__syncthreads();\nout[t] = v;",
            "float v = s[63 - t];\nint w = 1;\n__syncthreads();",
            "int w = 1;\n__syncthreads();\nfloat v = s[63 - t];",
            0.6,
        ),
        (expression_changes, "int i = max((int)blockDim.x, n - 3);\nout[i] = 1;", "max", "min", 0.5),
        (expression_changes, "int i = max(n - 3, 0);\nout[i] = 1;", "max", "min", 1.8),
        (expression_changes, "int x = 3, i = x & 15;\nout[i] = 1;", "& 15", "& 31", 1.6),
        (expression_changes, "int i = threadIdx.x;\nout[i ^ (i << 1)] = 1;", "(i << 1)", "(i)", 1.6),
        # A swizzled tile is read by the index that it is stored by, turned.
        (
            slip_changes,
            f"{TILE}s[y * 32 + (x + y) % 32] = a[x];\n__syncthreads();\nout[y] = s[x * 32 + (y - x + 32) % 32];",
            "s[x * 32 + (y - x + 32) % 32]",
            "s[x * 32 + (y + x) % 32]",
            1.0,
        ),
        # What an unrolled loop leaves over.
        (
            loop_changes,
            "float s = 0;\nfor (int k = 0; k < n; k += 2) {\ns += a[k];\ns += a[k + 1];\n}\nout[0] = s;",
            "k < n; k += 2) {\ns += a[k];\ns += a[k + 1];\n}",
            "k + 1 < n; k += 2) {\ns += a[k];\ns += a[k + 1];\n}\nfor (int k = n / 2 * 2; k < n; ++k) s += a[k];",
            0.3,
        ),
        (slip_changes, "int i = n & 1, j = n & 1;\nout[i] = out[j];", "j = n & 1", "j = (n + 1) & 1", -3.5),
        (expression_changes, "int i = n * sizeof(float);\nout[i] = 1;", "n * sizeof(float)", "n", -0.6),
        (
            lambda function: guard_changes(function, {}),
            "int f = 8, i = 1;\nif (i < n)\nout[i] = a[f + i];",
            "if (i < n)",
            "if (f + i < n)",
            0.7,
        ),
        (
            loop_changes,
            "float s = 0;\nint k = 0;\nfor (; k + 1 < n; k += 2) {\ns += a[k];\ns += a[k + 1];\n}\nout[0] = s;",
            "\nout",
            "\nfor (; k < n; ++k) s += a[k];\nout",
            0.5,
        ),
        (
            loop_changes,
            "float s = 0;\nfor (int k = 0; k < n - 1; k += 2) s += a[k] + a[k + 1];\nout[0] = s;",
            "\nout",
            "\nfor (int k = n / 2 * 2; k < n; ++k) s += a[k];\nout",
            0.5,
        ),
        (slip_changes, "out[0] = out[1] = 3;", "out[0] = out[1] = 3", "out[0] = 3", 0.9),
        (slip_changes, "out[0] = out[1] = 3;", "out[0] = out[1] = 3", "out[1] = 3", 1.2),
        (
            value_changes,
            "for (int k = 0; k < n; ++k) {\nfor (int j = 0; j < n; ++j)\nout[j] += a[k];\n}",
            "for (int k",
            "for (int j = 0; j < n; ++j) out[j] = 0;\nfor (int k",
            0.6,
        ),
        (value_changes, "float v = 0;\n{\nfloat v = a[0];\n}\nout[0] = v;", "float v = a", "v = a", 0.4),
        (value_changes, "float v = 0;\n{\nfloat v = a[0];\n}\nout[0] = v;", "float v = a", "v += a", 0.6),
        (value_changes, "for (int k = 0; k < n; ++k)\nout[n] += a[k];", "for", "out[n] = 0;\nfor", 0.6),
        (loop_changes, "for (int j = n; j >= 0; --j) out[j] = 1;", "j = n;", "j = n - 1;", 0.6),
        (
            loop_changes,
            f"{TREE}for (int d = blockDim.x; d > 0; d /= 2) s[t] += s[t + d];",
            "blockDim.x;",
            "blockDim.x / 2;",
            1.0,
        ),
        (slip_changes, "int p = 4 * n + 1, q = 3 * n + 2;\nout[3 * p] = out[3 * q];", "4 * n", "3 * n", 1.2),
        (slip_changes, "__shared__ int s[9];\nint v = a[n];\nif (v >= 0) ++s[v];", "v >= 0", "v >= 0 && v < 9", 1.0),
        (slip_changes, "__shared__ int s[9];\nint v = a[n];\n++s[v];", "++s[v]", "if (v < 9) ++s[v]", 2.0),
        (slip_changes, "int x = 9, b = x >= n ? n : x;\nout[b] = 1;", "? n", "? n - 1", 1.1),
        (array_changes, "__shared__ float s[N / 2];\ns[0] = 1;", "N / 2", "N", 1.8),
        (value_changes, "float v = 0;\nif (n) float v = a[0];\nout[0] = v;", "if (n) float v", "if (n) v", 0.2),
        (
            value_changes,
            "float s = 0;\nfor (int i = 0; i < n; ++i) {\nint p = i;\nfor (; p < n; ++p) s += a[p];\nout[i] = s;\n}",
            "int p = i;",
            "s = 0;\nint p = i;",
            1.0,
        ),
        (
            lambda function: barrier_changes(function, shares=True),
            f"{TREE}__syncthreads();\ns[t] = a[t];\nout[t] = s[n - t];",
            "__syncthreads();\ns[t] = a[t];",
            "s[t] = a[t];\n__syncthreads();",
            1.2,
        ),
        # What is handed over says how far the indices of the grid may go.
        (
            lambda function: surplus_changes(function, ()),
            "int i = blockIdx.x * blockDim.x + threadIdx.x;\nout[i] = 1;",
            "\nout",
            "\nif (i >= n) return;\nout",
            1.3,
        ),
        (
            lambda function: guard_changes(function, {}),
            "int r = 1, c = 2;\nif (r < 4) out[r * n + c] = 1;",
            "(r < 4)",
            "(r < 4 && c < n)",
            2.0,
        ),
        (
            lambda function: guard_changes(function, {"out": ["4", "n"]}),
            "int r = 1, c = 2, x = 3;\nif (x) out[(size_t)(r + 1) * n + c + x] = 1;",
            "(x)",
            "(x && r + 1 < 4 && c + x < n)",
            2.0,
        ),
        (
            lambda function: guard_changes(function, {}),
            f"{TREE}if (t < n)\ns[t] = a[t];",
            "if (t < n)\ns[t] = a[t]",
            "for (int e = t; e < n; e += blockDim.x)\ns[e] = a[e]",
            1.8,
        ),
    ],
)
def test_what_students_slip_on(make: Make, body: str, old: str, new: str, cost: float) -> None:
    assert changes(make, body)[body.replace(old, new)].cost == pytest.approx(cost)


@pytest.mark.parametrize("counter", ["*p", "a[n - 1]", "(k)"])
def test_loops_that_no_name_counts_are_left_as_they_are(counter: str) -> None:
    body = f"int k = 0, *p = &k;\nfor (int i = 0; {counter} < n; {counter} += 4)\nout[0] += a[0] * a[3];"
    assert not [change for change in changes(loop_changes, body).values() if change.detail == "tail"]


TAIL = "for (int k = n / 4 * 4; k < n; ++k, ++p, q += n) s += p[0] * q[0];"


@pytest.mark.parametrize(
    ("update", "tail"),
    [("p += 4, q += 4 * n", TAIL), ("p += 4, q += n * 4", TAIL), ("p += 4, q += 3", ""), ("p++", "")],
)
def test_the_rest_of_an_unrolled_loop_moves_its_pointers_by_one_element(update: str, tail: str) -> None:
    head = f"float s = 0;\nconst float *p = a, *q = b;\nfor (int k = 0; k + 3 < n; k += 4, {update}) {{\n"
    found = changes(loop_changes, f"{head}s += p[0] * q[0];\ns += p[3] * q[3 * n];\n}}\nout[0] = s;")
    made = [line.strip() for text, c in found.items() if c.detail == "tail" for line in text.split("\n")]
    assert [line for line in made if line.startswith("for (int k = n")] == [tail] * bool(tail)
