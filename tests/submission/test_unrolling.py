"""Unroll pragmas set, changed and left alone; what comes of them is asked of the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.submission.changes import has_pragma, unroll_edits
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.lexical import apply
from grader.submission.source import SourceText

ROW_SUMS = """__device__ float element(const float *a, int i) { return a[i]; }
__global__ void sums(const float *a, float *out, int n)
{
    extern __shared__ float row[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        row[k] = element(a, blockIdx.x * n + k);
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float sum = 0;
        // The loop that counts.
        for (int k = 0; k < n; ++k)
            sum += row[k] * a[k * n + c];
        out[c] = sum;
    }
}
"""


def parsed(text: str) -> ParsedFile:
    return parse(SourceText(Path("a.cu"), text, "utf-8"))


def changed(text: str, kernel: str, factor: int) -> str:
    file = parsed(text)
    return apply(text, unroll_edits(file, file.functions[kernel], factor), {})


def test_the_deepest_loop_gets_the_pragma_and_lines_stay() -> None:
    after = changed(ROW_SUMS, "sums", 4)
    expected = ROW_SUMS.replace("for (int k = 0; k < n", '_Pragma("unroll 4") for (int k = 0; k < n')
    assert after == expected


@pytest.mark.parametrize(
    "pragma", ["#pragma unroll", "#pragma unroll 8", "#pragma unroll (STEPS)", "# pragma unroll 2"]
)
def test_a_pragma_that_is_there_is_changed(pragma: str) -> None:
    text = ROW_SUMS.replace("        // The loop that counts.", pragma)
    after = changed(text, "sums", 2)
    assert after == text.replace(pragma, "#pragma unroll 2")
    assert has_pragma(parsed(text), parsed(text).functions["sums"])


def test_an_operator_is_changed_too() -> None:
    text = ROW_SUMS.replace("for (int k = 0;", '_Pragma("unroll 8") for (int k = 0;')
    assert changed(text, "sums", 1) == text.replace("unroll 8", "unroll 1")


def test_kernels_without_pragmas_and_without_loops() -> None:
    text = "__global__ void k(float *a) { a[threadIdx.x] = 1; }"
    assert changed(text, "k", 4) == text
    assert not has_pragma(parsed(ROW_SUMS), parsed(ROW_SUMS).functions["sums"])


def test_loops_of_functions_that_are_called_count() -> None:
    text = (
        "__device__ float total(const float *a, int n)\n"
        "{ float s = 0; for (int i = 0; i < n; ++i) s += a[i]; return s; }\n"
        "__global__ void k(const float *a, float *b, int n) { b[0] = total(a, n); }\n"
    )
    assert changed(text, "k", 4).count('_Pragma("unroll 4") for') == 1


def test_other_kernels_are_left_alone() -> None:
    text = ROW_SUMS + ROW_SUMS.replace("sums", "others").replace("element", "item")
    assert changed(text, "others", 4).startswith(ROW_SUMS)


def test_characters_beyond_ascii_move_nothing() -> None:
    text = ROW_SUMS.replace("The loop that counts.", "Цикл, который считает, — вот он.")
    assert 'он.\n        _Pragma("unroll 4") for (int k = 0' in changed(text, "sums", 4)


def test_the_compiler_unrolls_by_the_factor() -> None:
    with CompilerProcess() as compiler:
        loads = []
        for factor in (1, 4, 8):
            result = compiler.compile({"a.cu": changed(ROW_SUMS, "sums", factor)}, ["sums"], "compute_75")
            assert result.ok, result.log
            loads.append(result.ptx.count("fma.rn.f32"))
    # The loop's body as often as it is unrolled, and once more for the rest.
    assert loads[0] == 1 and loads[1] >= 4 and loads[2] >= 8
    assert loads[1] < loads[2]
