"""Variables in the device's memory: a size is what the host speaks of and no kernel changes."""

from __future__ import annotations

import pytest

from tests.submission.test_compile_time import BODY, product


@pytest.mark.parametrize(
    "written",
    [
        "N += 2",
        "N = 1",
        "N++",
        "--N",
        "atomicAdd(&N, 1)",
        "N <<= 1",
        "atomicAdd(&own::N, 1)",
        "own :: N = 1",
        "(N)++",
        "atomicAdd(&(N), 1)",
        "int &count = N",
        "RAISE(N)",
    ],
)
def test_what_a_kernel_writes_is_no_size(written: str) -> None:
    text = f"#define RAISE(x) ++x\n__device__ int N;\n__device__ void next() {{ {written}; }}\n"
    host = "int main() { int n = 64; cudaMemcpyToSymbol(N, &n, 4); }\n"
    _submission, naive = product(f"{text}__global__ void naive(float *a, float *b, float *c) {BODY}\n{host}")
    assert naive.interpretations[0].constants == ()


def test_what_the_host_does_not_speak_of_is_no_size() -> None:
    _submission, naive = product(f"__device__ int N;\n__global__ void naive(float *a, float *b, float *c) {BODY}\n")
    assert naive.interpretations[0].constants == ()
