"""Changes of what differs from its like: limits, numbers of groups, exclusive ors, squared constants."""

from __future__ import annotations

import pytest

from grader.repair.slips import slip_changes
from tests.repair.kernels import changes

LIMITS = "int x = threadIdx.x, r = 1;\nint b = min(x + r, n), c = min(x - r, {other});\nout[b] = out[c];"
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
