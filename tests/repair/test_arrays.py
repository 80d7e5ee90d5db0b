"""Sizes of shared arrays changed: padding, and room for what is put there."""

from __future__ import annotations

import pytest

from grader.repair.several_places import array_changes
from tests.repair.kernels import changes


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The fastest axis of several is padded; any other is given room.
        (
            "__shared__ float t[8][32];",
            {
                "t[8][32 + 1]": ("padding", 2.2),
                "t[8][8]": ("padding", 2.6),
                "t[8][32 + 2]": ("padding", 3.6),
                "t[8][32 + 4]": ("padding", 3.8),
                "t[8 + 1][32]": ("array_size", 2.2),
                "t[32][32]": ("array_size", 2.6),
                "t[8 + 2][32]": ("array_size", 3.6),
                "t[8 + 4][32]": ("array_size", 3.8),
            },
        ),
        # What is padded may be padded too much.
        (
            "__shared__ float t[4][B + 1];",
            {
                "t[4][B + 1 + 1]": ("padding", 2.2),
                "t[4][B]": ("padding", 2.6),
                "t[4][4]": ("padding", 2.6),
                "t[4 + 1][B + 1]": ("array_size", 2.2),
                "t[B + 1][B + 1]": ("array_size", 2.6),
                "t[4 + 2][B + 1]": ("array_size", 3.6),
                "t[4 + 4][B + 1]": ("array_size", 3.8),
            },
        ),
        # One axis has no rows to pad; arrays of one declaration may be as large as each other.
        (
            "__shared__ float t[B], u[C];",
            {
                "t[B + 1], u[C]": ("array_size", 2.2),
                "t[C], u[C]": ("array_size", 2.6),
                "t[B], u[C + 1]": ("array_size", 2.2),
                "t[B], u[B]": ("array_size", 2.6),
            },
        ),
        # What is padded along the wrong axis is padded along the other one first.
        (
            "__shared__ float t[B + 1][B];",
            {
                "t[B][B + 1]": ("padding", 1.8),
                "t[B + 1][B + 1]": ("padding", 2.2),
                "t[B + 1 + 1][B]": ("array_size", 2.2),
                "t[B][B]": ("array_size", 2.6),
            },
        ),
        ("float t[8][32];", {}),
        ("extern __shared__ float t[];", {}),
        ("__shared__ float t;", {}),
    ],
)
def test_sizes(body: str, expected: dict[str, tuple[str, float]]) -> None:
    found = changes(array_changes, body)
    declared = body.removeprefix("__shared__ float ").removesuffix(";")
    assert {after: (c.kind, c.cost) for after, c in found.items()} == {
        body.replace(declared, sizes): expected for sizes, expected in expected.items()
    }
    assert {(c.group, c.line) for c in found.values()} <= {("array", 2)}


def test_a_margin_is_a_constant_of_the_file() -> None:
    text = "t[T][T + R]"
    found = changes(array_changes, f"__shared__ float {text};\nt[0][0] = T + R;", before="#define T 16\n#define R 2\n")
    sizes = {after.split(";")[0].removeprefix("__shared__ float "): c.cost for after, c in found.items()}
    assert sizes == {
        "t[T][T + R + 1]": 2.2,
        "t[T][T]": 2.6,
        "t[T + 1][T + R]": 2.2,
        # On both sides, as a halo is; the size's own name adds nothing new.
        "t[T + 2 * R][T + R]": 2.4,
        "t[T + R][T + R]": 3.2,
    }


def test_a_margin_may_be_named_by_a_letter_of_the_size() -> None:
    found = changes(array_changes, "__shared__ float t[TILE];\nt[0] = L;", before="#define TILE 16\n#define L 2\n")
    assert found["__shared__ float t[TILE + 2 * L];\nt[0] = L;"].cost == 2.4
