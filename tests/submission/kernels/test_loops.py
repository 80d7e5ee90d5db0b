"""By how much loops are unrolled: by hand and by pragma, and what only looks like it."""

from __future__ import annotations

import pytest

from grader.submission.kernels.loops import FULLY, unroll_factor
from tests.submission.labs import parsed

PLAIN = "for (int k = 0; k < n; ++k) s += a[k] * b[k];"
BY_HAND = "for (int k = 0; k < n; k += 4) { s += a[k] * b[k]; s += a[k + 1] * b[k + 1]; s += a[k + 2] * b[k + 2]; }"

FEW = "for (int q = 0; q < 4; ++q) c[q] += a[m] * b[m + q];"

TWO = "{ s += a[k] * p[0]; s += a[k + 1] * p[1]; }"


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
        (f"const float *p = b; for (int k = 0; k <= n - 2; k += 2, p += 2) {TWO}", 2),
        (f"const float *p = b; for (int k = 0; k < n; p += 2, k = k + 2) {TWO}", 2),
        (f"int k = 0; const float *p = b; while (k + 1 < n) {{ {TWO} p += 2; k += 2; }}", 2),
        (f"int k = n; const float *p = b; do {{ {TWO} p += 2; k -= 2; }} while (k > 0);", 2),
        ("int k = 0; while (k < n) { s += a[k] * b[k]; k++; s += a[k] * b[k]; k++; }", 2),
        ("int k = 0; while (k < n) { s += a[k] * b[k]; ++k; }", 1),
        ("int k = 0; while (k < n) { s += a[k] * b[k]; k += blockDim.x; }", 1),
        (f"const float *p = b; for (int k = 0; k < n; ++k, p += 2) {TWO}", 1),
        # One that holds a loop over a thread's few elements; a loop over tiles is none.
        (f"#pragma unroll 8\nfor (int m = 0; m < n; ++m) {FEW}", 8),
        (f"for (int m = 0; m < n; ++m) {FEW}", 1),
        (f"#pragma unroll 8\nfor (int m = 0; m < n; ++m) {{ {FEW} __syncthreads(); }}", 1),
        (f"#pragma unroll 8\nfor (int m = 0; m < n; ++m)\n#pragma unroll 1\n{FEW}", 1),
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


EMPTY = "#pragma unroll 8\nfor (int i = 0; i < 8; i++) { }"
JUNK = "#pragma unroll 8\nfor (int i = 0; i < 8; i++) q += a[i] * b[i] * a[i + 1] * b[i + 1];"


@pytest.mark.parametrize(
    "body",
    [
        f"{EMPTY}\n{PLAIN} c[0] = s;",
        f"{PLAIN} c[0] = s;\n{EMPTY}",
        f"#pragma unroll 8\nfor (int i = 0; i < 8; i++) ;\n{PLAIN} c[0] = s;",
        # Sums that nobody uses, loops that never run, and a step at a time.
        f"float q = 0, s = 0; {JUNK}\n{PLAIN} c[0] = s;",
        f"float s = 0; {PLAIN} c[0] = s;\n#pragma unroll 8\nfor (int k = n; k < n; ++k) s += a[k] * b[k] * a[k];",
        f"float s = 0; {PLAIN} c[0] = s;\n#pragma unroll 8\nfor (int k = 0; k < 0; ++k) s += a[k] * b[k] * a[k];",
        "float s = 0; for (int k = 0; k < n; ++k) {\n"
        "#pragma unroll 8\nfor (int i = 0; i < 1; i++) s += a[k] * b[k]; } c[0] = s;",
        # A pragma that is none.
        f"// #pragma unroll 8\n{PLAIN} c[0] = s;",
        f"/*\n#pragma unroll 8\n*/ {PLAIN} c[0] = s;",
        f'/* #pragma unroll 8 */ // _Pragma("unroll 8")\n{PLAIN} c[0] = s;',
        f'const char *t = "_Pragma(\\"unroll 8\\")";\n{PLAIN} c[0] = s;',
        f"#if 0\n#pragma unroll 8\n#endif\n{PLAIN} c[0] = s;",
        f"for (int m = 0; m < n; m++) {{ // #pragma unroll\n{PLAIN} }} c[0] = s;",
    ],
)
def test_only_the_loop_that_does_the_work_counts(body: str) -> None:
    assert factor(body) == 1


def test_the_rest_of_a_loop_by_hand_needs_no_unrolling() -> None:
    rest = "for (int k = n - n % 4; k < n; ++k) s += a[k] * b[k];"
    assert factor(f"float s = 0; {BY_HAND} {rest} c[0] = s;") == 4
    assert factor(f'float s = 0;\n_Pragma("unroll 4") {PLAIN} c[0] = s;') == 4


def test_a_template_argument_and_a_function_that_is_called() -> None:
    assert factor(f"#pragma unroll U\n{PLAIN}", templates={"U": "12"}) == 12
    helper = "__device__ float dot(const float *a, const float *b, int n) { float s = 0;\n" + BY_HAND + " return s; }"
    assert factor("c[0] = dot(a, b, n);", before=helper) == 4
    assert factor(PLAIN, before=helper) == 1


@pytest.mark.parametrize(("call", "expected"), [("<8>", 8), ("<2 * U>", 24), ("<V>", 1), ("", 1)])
def test_what_a_function_is_given_by_its_call(call: str, expected: int) -> None:
    helper = "template <int U> __device__ void dot(const float *a, const float *b, float *c, int n) { float s = 0;\n"
    helper += f"#pragma unroll U\n{PLAIN} c[0] = s; }}"
    assert factor(f"dot{call}(a, b, c, n);", before=helper, templates={"U": "12"} if "U" in call else None) == expected


def test_what_a_function_is_given_by_another_that_the_kernel_calls() -> None:
    head = "template <int U> __device__ float dot(const float *a, const float *b, int n) { float s = 0;\n"
    inner = f"{head}#pragma unroll U\n{PLAIN} return s; }}"
    outer = "template <int V> __device__ void tiled(const float *a, const float *b, float *c, int n)"
    assert factor("tiled<8>(a, b, c, n);", before=f"{inner}\n{outer} {{ c[0] = dot<V>(a, b, n); }}") == 8


def test_a_template_argument_that_no_call_gives_is_its_default() -> None:
    helper = (
        "template <int U = 4> __device__ void dot(const float *a, const float *b, float *c, int n) { float s = 0;\n"
        f"#pragma unroll U\n{PLAIN}\nc[0] = s; }}"
    )
    assert factor("dot(a, b, c, n);", before=helper) == 4
