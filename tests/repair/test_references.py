"""Changes of what results are compared with: in which order they are tried, and that many stand in one program."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from grader.programs.own_check import references_in
from grader.repair.function import changed, host_functions
from grader.repair.references import _compares_shifted, in_likely_order
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

TRANSPOSED = "for (int r = 0; r < rows; r++) for (int c = 0; c < cols; c++) w[c * rows + r] = h[r * cols + c];"
MEMBERS = "for (int i = 0; i < n; i++) {\na[i].x = s * b[i].x;\na[i].y = s * b[i].y;\na[i].z = s * b[i].z;\n}"
SUMMED = (
    "for (int i = 0; i < n; i++) {\nfloat t = 0;\nfor (int k = 0; k < n; k++) t += a[i * n + k] * b[k * n];\n"
    "if (fabs(t - c[i]) > 1e-3) bad++;\n}"
)


@pytest.mark.parametrize(
    ("loop", "right", "wrong"),
    [
        (TRANSPOSED, "w[c * rows", "w[c * cols"),
        (MEMBERS, "s * b[i].z", "s * b[i].y"),
        (SUMMED, "a[i * n + k]", "a[k * n + i]"),
    ],
    ids=["a size", "a member as its neighbours have it", "a sum that is compared at once"],
)
def test_the_mistake_is_among_the_first(loop: str, right: str, wrong: str) -> None:
    text = f"int f(float *w, float *h, V *a, V *b, float *c, float s, int n, int rows, int cols) {{\n{loop}\n}}\n"
    source = SourceText(Path("p.cu"), text.replace(right, wrong), "utf-8")
    parsed = parse(source)
    assert len(references_in(parsed)) == 1
    original = SimpleNamespace(files=lambda: [parsed])
    rows = in_likely_order(cast(Any, original), cast(Any, SimpleNamespace(files=("p.cu",))))
    made = ["".join(changed(source.text, change).split()) for _parsed, (_reference, change) in rows[:24]]
    assert "".join(text.split()) in made


@pytest.mark.parametrize("is_shifted", [False, True])
def test_comments_in_cyrillic_move_no_place(is_shifted: bool) -> None:
    reference = "for (int i = 0; i + 1 < n; i++) c[i] = b[i] - b[i + 1];"
    compared = "for (int i = 0; i < n; i++) if (a[i] != c[i + 1]) bad++;\n" if is_shifted else ""
    text = f"int f(float *a, float *b, float *c, int n) {{\nint bad = 0;\n// {'ы' * 300}\n{reference}\n{compared}}}\n"
    (function,) = host_functions(parse(SourceText(Path("p.cu"), text, "utf-8")))
    references = references_in(function.parsed)
    assert len(references) == 1
    assert _compares_shifted(function, references) == is_shifted


FUSED = (
    "for (int i = 2; i < n - 2; i++) {\nw[i] = (h[i - 1] + h[i] + h[i + 1]) * 0.5f;\nif (w[i] != c[i]) ok = false;\n}"
)
RETURNS = "for (int i = 0; i < n; i++) {\nw[i] = h[i] * s;\nif (!(fabsf(w[i] - c[i]) < 1e-9f)) return 0;\n}"


@pytest.mark.parametrize("loop", [FUSED, RETURNS])
def test_no_comparison_in_a_reference_is_changed(loop: str) -> None:
    text = f"int f(float *w, float *h, float *c, float s, int n, int ok) {{\n{loop}\n}}\n"
    parsed = parse(SourceText(Path("p.cu"), text, "utf-8"))
    original = SimpleNamespace(files=lambda: [parsed])
    rows = in_likely_order(cast(Any, original), cast(Any, SimpleNamespace(files=("p.cu",))))
    assert rows
    store = next(number for number, line in enumerate(text.split("\n"), 1) if "w[i] = " in line)
    lines = {text.count("\n", 0, edit.start) + 1 for _parsed, (_reference, change) in rows for edit in change.edits}
    assert lines == {store}
