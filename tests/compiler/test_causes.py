"""What lies behind a compiler's error: programs with one mistake, compiled, and the lines and words that follow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.compiler.diagnostics import Diagnostic, closing_line
from grader.compiler.process import CompilerProcess
from grader.words import text

pytestmark = pytest.mark.started

GOOD = """\
#define TILE 32
__global__ void other(float *a, int n)
{
    if (threadIdx.x < n) {
        a[threadIdx.x] = 1;
    }
}
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x;
    if (c < cols)
        out[c] = in[c]; // a brace { here
    __syncthreads();
}
"""


@pytest.fixture(scope="module")
def compiler() -> Iterator[CompilerProcess]:
    with CompilerProcess() as process:
        yield process


def first_error(compiler: CompilerProcess, source: str) -> Diagnostic:
    result = compiler.compile({"lab.cu": source}, ["transpose"], "compute_75")
    return next(d for d in result.diagnostics if d.severity == "error")


@pytest.mark.parametrize(
    ("was", "now", "line", "cause", "hint"),
    [
        # The compiler notices at the next word.
        ("threadIdx.x;", "threadIdx.x", 12, 11, "A semicolon seems to be missing at the end of line 11"),
        ("in[c]; //", "in[c] //", 14, 13, "A semicolon seems to be missing at the end of line 13"),
        ("__syncthreads();", "__syncthreads()", 15, 14, "A semicolon seems to be missing at the end of line 14"),
        ("(c < cols)", "(c < cols", 13, 12, "A closing ) seems to be missing at the end of line 12"),
        # A brace: the next function stands within the one before it, or the file ends.
        ("1;\n    }", "1;", 8, 6, "A closing brace is missing before line 7: a function begins there"),
        ("__syncthreads();\n}", "__syncthreads();", 9, 0, "The brace that opens in line 9 is never closed"),
        ("TILE 32", "TILE 32;", 10, 1, "The macro TILE ends in a semicolon (line 1)"),
        # A name that is nearly another one.
        ("= in[c]", "= imput[c]", 13, 0, ""),
        ("c < cols", "c < clos", 12, 0, "Nothing here is called clos. Did you mean cols?"),
        ("TILE + thr", "TIEL + thr", 11, 0, "Nothing here is called TIEL. Did you mean TILE?"),
        ("* TILE + threadIdx", "* TILE + threadidx", 11, 0, "Did you mean threadIdx?"),
        ("__syncthreads", "__syncthread", 14, 0, "Did you mean __syncthreads?"),
        ("c < cols", "c < std::max(cols, 1)", 12, 0, "Device code has a built-in max: write it without std::."),
        # Another function's name is none of this one's.
        ("c < cols", "c < nn", 12, 0, ""),
    ],
)
def test_the_cause_of_an_error(compiler: CompilerProcess, was: str, now: str, line: int, cause: int, hint: str) -> None:
    assert GOOD.count(was) == 1
    found = first_error(compiler, GOOD.replace(was, now))
    assert (found.line, found.cause) == (line, cause)
    assert hint in text(found.hint)
    assert bool(hint) == (found.hint is not None)


def test_a_word_in_the_middle_of_a_line_has_its_cause_there(compiler: CompilerProcess) -> None:
    found = first_error(compiler, GOOD.replace("a[threadIdx.x] = 1;", "a[threadIdx.x] = 1 n = 2;"))
    assert (found.line, found.cause, found.hint) == (5, 0, None)


def test_names_that_are_unknown_themselves_are_not_proposed(compiler: CompilerProcess) -> None:
    """`total` is misspelt in two ways: neither is what the other means."""
    found = first_error(compiler, GOOD.replace("__syncthreads();", "totel = 1; totil = 2;"))
    assert (found.line, found.hint) == (14, None)


def test_where_the_first_brace_is_closed() -> None:
    assert closing_line(GOOD, 2) == 7
    assert closing_line(GOOD, 8) == 15
    assert closing_line("void f() {\n  {\n}\n", 1) == 4
