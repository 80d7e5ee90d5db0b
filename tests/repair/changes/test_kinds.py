"""What is wrong at a place, as hints name it: an index, a guard, a loop's bound, an array's size, an expression."""

from __future__ import annotations

import pytest

from grader.repair.changes.expressions import expression_changes
from tests.repair.changes.kernels import changes


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
