"""Kernels that launch kernels: what is launched, with which arguments, and in what order."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx.limits import LimitExceeded, Limits
from tests.ptx.running import run

OPTIONS = ("--relocatable-device-code=true",)
NOTE = "__device__ void note(int* out, int what) { out[atomicAdd(out, 1) + 1] = what; }\n"


def noted(source: str, grid: int = 1, block: int = 1, **more: object) -> list[int]:
    """What a kernel `k` and its descendants `note`, in order."""
    result = run(NOTE + source, grid, block, np.zeros(256, np.int32), entry="k", options=OPTIONS, **more)  # type: ignore[arg-type]
    assert not result.hazards
    return result[0][1 : result[0][0] + 1].tolist()


def test_arguments_of_all_sizes_and_the_shape_arrive() -> None:
    source = """struct S { double x; char c; };
    __global__ void child(char a, S s, short b, int* out) {
        extern __shared__ int room[];
        room[threadIdx.x] = a + b + s.c + (int)s.x;
        note(out, room[threadIdx.x] + 1000 * (gridDim.y * 10 + blockDim.x));
    }
    extern "C" __global__ void k(int* out) { child<<<dim3(1, 2), 2, 8>>>(1, S{20, 3}, 400, out); }"""
    assert noted(source) == [22424] * 4


def test_each_thread_launches_and_descendants_run_after_the_grid_that_launched_them() -> None:
    source = """__global__ void child(int depth, int who, int* out) {
        note(out, 10 * depth + who);
        if (depth < 2) child<<<1, 1>>>(depth + 1, who, out);
    }
    extern "C" __global__ void k(int* out) {
        child<<<1, 1>>>(1, threadIdx.x, out);
        __syncthreads();
        note(out, threadIdx.x);
    }"""
    # Both launches of the block are of one stream: the second waits for all that the first has launched.
    assert noted(source, block=2) == [0, 1, 10, 20, 11, 21]


@pytest.mark.parametrize(
    ("streams", "order"),
    [
        (("0", "0"), [1, 11, 2, 12]),
        (("one", "two"), [1, 2, 11, 12]),
        (("cudaStreamFireAndForget", "cudaStreamFireAndForget"), [1, 2, 11, 12]),
        (("cudaStreamTailLaunch", "0"), [2, 12, 1, 11]),
    ],
)
def test_streams_order_what_is_launched(streams: tuple[str, str], order: list[int]) -> None:
    source = """__global__ void leaf(int what, int* out) { note(out, what); }
    __global__ void child(int what, int* out) { note(out, what); leaf<<<1, 1>>>(10 + what, out); }
    extern "C" __global__ void k(int* out) {
        cudaStream_t one, two;
        cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
        child<<<1, 1, 0, FIRST>>>(1, out);
        child<<<1, 1, 0, SECOND>>>(2, out);
        cudaStreamDestroy(one);
        cudaStreamDestroy(two);
    }"""
    assert noted(source.replace("FIRST", streams[0]).replace("SECOND", streams[1])) == order


def test_a_launch_that_no_device_allows_is_an_error_of_who_made_it() -> None:
    source = """__global__ void child(int* out) { note(out, 1); }
    extern "C" __global__ void k(int* out) {
        child<<<1, 2048>>>(out);
        note(out, cudaPeekAtLastError());
        note(out, cudaGetLastError());
        note(out, cudaGetLastError());
    }"""
    assert noted(source) == [9, 9, 0]


def test_faults_and_prints_of_what_was_launched_are_told() -> None:
    source = """__global__ void child(int* out) {
        char text[4] = {'a', (char)('0' + threadIdx.x), 0};
        printf("%s ", text);
        if (threadIdx.x) out[100] = 1;
    }
    extern "C" __global__ void k(int* out) { printf("first "); child<<<1, 2>>>(out); }"""
    result = run(source, 1, 1, np.zeros(4, np.int32), entry="k", options=OPTIONS)
    assert result.report.printf == "first a0 a1 "
    assert [(hazard.kind, hazard.line) for hazard in result.hazards] == [("out_of_bounds", 4)]


def test_who_launches_for_ever_comes_to_the_limit() -> None:
    source = 'extern "C" __global__ void k(int* out) { k<<<1, 1>>>(out); }'
    with pytest.raises(LimitExceeded, match="instructions were issued"):
        run(source, 1, 1, np.zeros(4, np.int32), entry="k", options=OPTIONS, limits=Limits(issued=200_000))
