"""Parameters of kernels whose types have names of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import functions_of
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import SourceText

KERNEL = "\n__global__ void k(In a, const Out b, Out c, int n) { c[0] = a[0]; }\n"


@pytest.mark.parametrize(
    "types",
    [
        "typedef const float *__restrict__ In; typedef float *Out;",
        "using In = const float *; using Out = float *__restrict__;",
        "typedef const float *In, *Other; typedef float plain, *Out;",
        "typedef float real; typedef const real *In; typedef real *Out;",
    ],
)
def test_a_pointer_by_another_name(types: str) -> None:
    parsed = parse(SourceText(Path("k.cu"), types + KERNEL, "utf-8"))
    parameters = kernels_in(parsed)[0].parameters
    assert [(p.is_pointer, p.is_const, p.dtype) for p in parameters] == [
        (True, True, "float32"),
        # A const of the name itself makes the pointer one, and not its data.
        (True, False, "float32"),
        (True, False, "float32"),
        (False, False, "int32"),
    ]
    assert {v.name: v.role for v in functions_of(parsed, "k")[0].variables} == {
        "a": "array",
        "b": "array",
        "c": "array",
        "n": "size",
    }


def test_a_name_that_stands_for_itself_is_no_endless_matter() -> None:
    parsed = parse(SourceText(Path("k.cu"), "typedef In *In; typedef float *Out;" + KERNEL, "utf-8"))
    assert kernels_in(parsed)[0].parameters[0].dtype is None


def test_a_struct_that_holds_a_pointer_is_no_pointer() -> None:
    types = "typedef struct { int width; float *elements; } Matrix;\n"
    parsed = parse(SourceText(Path("k.cu"), types + "__global__ void k(Matrix a) { a.elements[0] = 1; }", "utf-8"))
    (parameter,) = kernels_in(parsed)[0].parameters
    assert (parameter.is_pointer, parameter.dtype) == (False, None)


TILE = """template <bool UNROLL> __device__ void tile(const float *a, float *c, int n) {{ c[n] {sign} a[n]; }}
__global__ void k(const float *a, float *b, float *c, int n) {{ tile<true>(a, c, n); {call} }}
"""


@pytest.mark.parametrize(
    ("sign", "call", "uses"),
    [
        ("=", "", [(True, False), (False, False), (False, True)]),
        ("+=", "", [(True, False), (False, False), (True, True)]),
        # Nobody knows what that does.
        ("=", "other(b);", [(True, False), (True, True), (False, True)]),
    ],
)
def test_a_device_function_uses_what_it_is_handed(sign: str, call: str, uses: list[tuple[bool, bool]]) -> None:
    parsed = parse(SourceText(Path("k.cu"), TILE.format(sign=sign, call=call), "utf-8"))
    assert [(p.is_read, p.is_written) for p in kernels_in(parsed)[0].parameters[:3]] == uses


def test_functions_that_call_each_other_are_not_followed_for_ever() -> None:
    text = (
        "__device__ void f(float *a, int n) { if (n) g(a, n - 1); }\n__device__ void g(float *a, int n) { f(a, n); }\n"
        "__global__ void k(float *a, int n) { f(a, n); }\n"
    )
    (kernel,) = kernels_in(parse(SourceText(Path("k.cu"), text, "utf-8")))
    assert (kernel.parameters[0].is_read, kernel.parameters[0].is_written) == (True, True)
