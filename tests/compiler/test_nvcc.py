"""Programs see what nvcc would show them, and NVRTC's headers work all the same."""

from __future__ import annotations

import pytest

from grader.compiler.process import CompilerProcess

pytestmark = pytest.mark.started

KERNEL = "\n__global__ void k(float *a) { a[threadIdx.x] = 1; }\n"
HIDDEN = """
#define PASTE(a, b) a##b
#if defined(__CUDACC_RTC__) || PASTE(__CUDACC_, RTC__)
#error it shows
#endif
#if !defined(__NVCC__) || !defined(__CUDACC__)
#error no nvcc
#endif
"""


@pytest.mark.parametrize("include", ["", "#include <math_constants.h>", '#include "cuda_fp16.h"', "#include <mma.h>"])
def test_nvrtc_does_not_show(include: str) -> None:
    with CompilerProcess() as compiler:
        for text in (HIDDEN + include + KERNEL, include + HIDDEN + KERNEL):
            result = compiler.compile({"a.cu": text}, ["k"], "compute_75")
            assert result.ok, result.log


def test_limits_have_the_names_that_the_host_s_compiler_gives_them() -> None:
    """GCC's own `float.h` and `limits.h` are made of these names, and programs use them without."""
    text = """
#include <cfloat>
#include <climits>
static_assert(__FLT_MAX__ == FLT_MAX && __FLT_MIN__ == FLT_MIN && __FLT_EPSILON__ == FLT_EPSILON, "float");
static_assert(__DBL_MAX__ == DBL_MAX && __DBL_MIN__ == DBL_MIN && __DBL_EPSILON__ == DBL_EPSILON, "double");
static_assert(__INT_MAX__ == INT_MAX && __LONG_LONG_MAX__ == LLONG_MAX && __CHAR_BIT__ == 8, "whole numbers");
"""
    with CompilerProcess() as compiler:
        result = compiler.compile({"a.cu": text + KERNEL}, ["k"], "compute_75")
    assert result.ok, result.log


def test_own_headers_are_shown_the_same() -> None:
    with CompilerProcess() as compiler:
        result = compiler.compile({"a.cu": '#include "own.cuh"' + KERNEL, "own.cuh": HIDDEN}, ["k"], "compute_75")
    assert result.ok, result.log


@pytest.mark.parametrize("name", ["stdio.h", "iostream", "cuda_runtime.h", "vector"])
def test_headers_of_nvcc_are_there_to_ask_for(name: str) -> None:
    with CompilerProcess() as compiler:
        text = f"#if !__has_include(<{name}>)\n#error it shows\n#endif" + KERNEL
        assert compiler.compile({"a.cu": text}, ["k"], "compute_75").ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ["cuda_bf16.h", "cuda_fp16.h", "cooperative_groups.h", "mma.h"],
        ["cooperative_groups/reduce.h", "cooperative_groups.h"],
        ["cuda/std/array", "cuda_pipeline.h"],
        ["cub/block/block_reduce.cuh"],
        ["cuda_fp8.h", "cuda_fp4.h", "cuda_awbarrier.h", "cuComplex.h", "cuda_tf32.h", "vector_types.h"],
    ],
)
def test_headers_that_include_each_other_find_the_macro(names: list[str]) -> None:
    includes = "".join(f"#include <{name}>\n" for name in names)
    with CompilerProcess() as compiler:
        result = compiler.compile({"a.cu": includes + HIDDEN + KERNEL}, ["k"], "compute_75")
    assert result.ok, result.log
