"""Variables that are added to before they have a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import SourceText


def found(body: str) -> list[tuple[str, int]]:
    text = SourceText(Path("a.cu"), f"__global__ void k(float *a, int n)\n{{\n{body}\n}}\n", "utf-8")
    (kernel,) = kernels_in(parse(text))
    return list(kernel.unset)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int i, j, sum;\nfor (j = 0; j < n; j++)\n  sum += a[j];\na[0] = sum;", [("sum", 5)]),
        ("float s;\ns = s + a[0];", [("s", 4)]),
        ("unsigned int x, y = 1;\nx <<= y;", [("x", 4)]),
        ("float s;\n++s;", [("s", 4)]),
    ],
)
def test_what_is_added_to_nothing_is_told_where_that_happens(body: str, expected: list[tuple[str, int]]) -> None:
    assert found(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "float s = 0;\ns += a[0];",
        "float s;\nif (n) s = 0; else s = 1;\ns += 1;",
        "float s; f(&s);\ns += 1;",
        "__shared__ float s;\ns += 1;",
        "float s[4];\ns[0] += 1;",
        "float4 v;\nv.x = 1; v.y += 2;",
        "int i, k;\nk = i = 0;",
        "int i;\nfor (i = 0; i < n; i++) a[i] = i;",
        "int done; done = a[0] == n;",
    ],
)
def test_what_may_have_a_value_is_not_told(body: str) -> None:
    assert found(body) == []
