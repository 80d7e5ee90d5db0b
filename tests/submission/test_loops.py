"""By how much loops are unrolled: by hand and by pragma, and what only looks like it."""

from __future__ import annotations

import pytest

from grader.submission.loops import FULLY, unroll_factor
from tests.submission.labs import parsed

PLAIN = "for (int k = 0; k < n; ++k) s += a[k] * b[k];"
BY_HAND = "for (int k = 0; k < n; k += 4) { s += a[k] * b[k]; s += a[k + 1] * b[k + 1]; s += a[k + 2] * b[k + 2]; }"


def factor(body: str, before: str = "", templates: dict[str, str] | None = None) -> int:
    file = parsed(f"{before}\n__global__ void k(const float *a, const float *b, float *c, int n)\n{{\n{body}\n}}\n")
    return unroll_factor(file, file.functions["k"], templates or {})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PLAIN, 1),
        (BY_HAND, 4),
        (f"#pragma unroll\n{PLAIN}", FULLY),
        (f"#pragma unroll 8\n{PLAIN}", 8),
        (f"#pragma unroll (2 * 8)\n{PLAIN}", 16),
        (f"#pragma unroll 1\n{PLAIN}", 1),
        (f"#pragma unroll U\n{PLAIN}", 6),
        (f"for (int m = 0; m < n; m += 16) {{\n#pragma unroll\n{PLAIN}\n__syncthreads(); }}", FULLY),
        (f"// s += a[k] * b[k];\n/* #pragma unroll 4 */\n{PLAIN}", 1),
        ("for (int k = 0; k < n; k += 2) s = fmaf(a[k + 1], b[k + 1], fmaf(a[k], b[k], s));", 2),
        ("for (int k = 0; k < n; k += 4) { STEP(k) STEP(k + 1) STEP(k + 2) STEP(k + 3) }", 4),
        ("for (int k = 0; k < n; k += 4) s += a[INDEX(k, n)] * b[INDEX(k, n)];", 1),
        # Steps of a tile and of a block: each does one thing at a time.
        (f"for (int m = 0; m < n; m += 16) {{ {PLAIN} }}", 1),
        ("for (int k = threadIdx.x; k < n; k += 32) t[k] = a[k * n + 1];", 1),
        ("for (int k = threadIdx.x; k < n; k += blockDim.x) s += a[k] * b[k];", 1),
        ("for (int k = 0; k < n; k += 4) t[k * n + 1] = a[k * n + 2 * k];", 1),
    ],
)
def test_factor(body: str, expected: int) -> None:
    macros = "#define STEP(k) s += a[(k) * n] * b[k];\n#define INDEX(i, j) ((i) * (j))\n"
    assert factor(body, before=macros + "const int U = 6;") == expected


def test_a_template_argument_and_a_function_that_is_called() -> None:
    assert factor(f"#pragma unroll U\n{PLAIN}", templates={"U": "12"}) == 12
    helper = "__device__ float dot(const float *a, const float *b, int n) { float s = 0;\n" + BY_HAND + " return s; }"
    assert factor("c[0] = dot(a, b, n);", before=helper) == 4
    assert factor(PLAIN, before=helper) == 1
