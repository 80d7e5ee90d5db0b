"""What runs kernels, the emulator or a GPU, is the same to a program: its calls, their order, its faults."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from grader.gpu.process import has_driver
from grader.programs.execution import Setting, run_program
from grader.programs.records import Observation, RunLimits, Start, for_gpu, timeline
from grader.programs.runtime import queries
from grader.programs.runtime.devices import NAMES, CudaError, model_of
from grader.programs.runtime.ordering import NOWHERE
from grader.programs.runtime.state import State
from grader.programs.sources import Sources

LIMITS = RunLimits(wall_seconds=60, keeps_steps=True)
ON_GPU = for_gpu(LIMITS, 5.0)
DEVICES = ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)]

STREAMS = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(int *a, int n, int x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += x; }
int main() {
    const int n = 1 << 14;
    int *d, *h;
    cudaStream_t one, two;
    cudaEvent_t begin, mid, end;
    cudaStreamCreate(&one);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreate(&begin); cudaEventCreate(&mid); cudaEventCreate(&end);
    cudaMalloc(&d, n * sizeof(int));
    cudaMallocHost(&h, n * sizeof(int));
    for (int i = 0; i < n; i++) h[i] = i;
    cudaEventRecord(begin, one);
    cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, one);
    add<<<n / 256, 256, 0, one>>>(d, n, 1);
    cudaEventRecord(mid, one);
    cudaStreamWaitEvent(two, mid, 0);
    add<<<n / 256, 256, 0, two>>>(d, n, 10);
    cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, two);
    cudaEventRecord(end, two);
    cudaEventSynchronize(end);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += h[i] != i + 11;
    float ms = -1;
    cudaEventElapsedTime(&ms, begin, end);
    printf("%d wrong, %s, %s\n", wrong, ms > 0 ? "some time" : "no time", cudaGetErrorString(cudaStreamQuery(two)));
    cudaFree(d); cudaFreeHost(h);
    cudaStreamDestroy(one); cudaStreamDestroy(two);
    return 0;
}
"""
FAULT = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void fill(int *a, int x) { a[threadIdx.x] = x; }
__global__ void stray(int *a) { a[1 << 28] = 1; }
int main() {
    int *d;
    cudaMalloc(&d, 32 * sizeof(int));
    fill<<<1, 32>>>(d, 1);
    stray<<<1, 1>>>(d);
    cudaError_t said = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(said));
    fill<<<1, 32>>>(d, 2);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaFree(d)));
    return 3;
}
"""
QUEUED_FAULT = FAULT.replace("    cudaError_t said =", "    fill<<<1, 32>>>(d, 2);\n    cudaError_t said =")
MANAGED = r"""
#include <cstdio>
#include <cuda_runtime.h>
__managed__ int total = 5;
__global__ void add(int *a, int n) { if (threadIdx.x < n) { a[threadIdx.x] *= 2; atomicAdd(&total, 1); } }
int main() {
    int *a;
    cudaMallocManaged(&a, 100 * sizeof(int));
    for (int i = 0; i < 100; i++) a[i] = i;
    add<<<1, 128>>>(a, 100);
    add<<<1, 128>>>(a, 100);
    cudaDeviceSynchronize();
    a[7] += 1000;
    add<<<1, 128>>>(a, 50);
    cudaDeviceSynchronize();
    printf("%d %d %d %d\n", a[7], a[49], a[99], total);
    cudaMemset(a, 0, 100 * sizeof(int));
    cudaDeviceSynchronize();
    printf("%d\n", a[99]);
    cudaFree(a);
}
"""
INITIALISED = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void init(int *x, int *y) { x[threadIdx.x] = 1; y[threadIdx.x] = 2; }
__global__ void add(int *x, int *y) { y[threadIdx.x] += x[threadIdx.x]; }
int main() {
    int *x, *y;
    cudaMallocManaged(&x, 64 * sizeof(int));
    cudaMallocManaged(&y, 64 * sizeof(int));
    init<<<1, 64>>>(x, y);
    add<<<1, 64>>>(x, y);
    cudaDeviceSynchronize();
    printf("%d %d\n", x[63], y[63]);
    cudaFree(x); cudaFree(y);
}
"""
MAPPED = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice(float *a, int n) { int i = threadIdx.x; if (i < n) a[i] *= 2; }
int main() {
    float *h, *d, own[300];
    cudaHostAlloc(&h, 300 * sizeof(float), cudaHostAllocMapped);
    cudaHostGetDevicePointer(&d, h, 0);
    for (int i = 0; i < 300; i++) h[i] = own[i] = i;
    twice<<<1, 512>>>(d, 300);
    cudaDeviceSynchronize();
    cudaHostRegister(own, sizeof own, cudaHostRegisterMapped);
    cudaHostGetDevicePointer(&d, own, 0);
    twice<<<1, 512>>>(d, 300);
    cudaDeviceSynchronize();
    printf("%g %g\n", h[299], own[298]);
    cudaHostUnregister(own);
    cudaFreeHost(h);
}
"""
PRINTED = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void say(int n) { printf("device %d\n", n); }
int main() {
    printf("first\n");
    say<<<1, 1>>>(1);
    cudaDeviceSynchronize();
    printf("second\n");
    say<<<1, 1>>>(2);
    say<<<1, 1>>>(3);
    cudaDeviceSynchronize();
    printf("third\n");
}
"""
SYMBOLS = r"""
#include <cstdio>
#include <cuda_runtime.h>
__constant__ float weights[4];
__device__ int counter;
static __device__ int hidden = 4;
namespace { __device__ int deep[2] = {8, 9}; }
__global__ void use(float *out) {
    out[threadIdx.x] = weights[threadIdx.x] + hidden + deep[1];
    atomicAdd(&counter, 1);
}
int main() {
    float w[4] = {1, 2, 3, 4}, *d, r[4];
    int n = 100, h = 40;
    cudaMemcpyToSymbol(weights, w, sizeof w);
    cudaMemcpyToSymbol(counter, &n, sizeof n);
    cudaMemcpyToSymbol(hidden, &h, sizeof h);
    cudaMemcpyToSymbol(deep, &h, sizeof h, sizeof h);
    cudaMalloc(&d, sizeof r);
    use<<<1, 4>>>(d);
    cudaMemcpy(r, d, sizeof r, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&n, counter, sizeof n);
    int *where; cudaGetSymbolAddress((void **)&where, hidden);
    cudaMemcpy(&h, where, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g %g %d %d\n", r[0], r[3], n, h);
    cudaFree(d);
}
"""
PITCHED = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void mark(char *p, size_t pitch, int w, int h) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < w && y < h) p[y * pitch + x] += y;
}
int main() {
    char *d, host[20][30] = {}; size_t pitch;
    for (int y = 0; y < 20; y++) for (int x = 0; x < 30; x++) host[y][x] = x;
    cudaMallocPitch(&d, &pitch, 30, 20);
    cudaMemcpy2D(d, pitch, host, 30, 30, 20, cudaMemcpyHostToDevice);
    cudaMemset2D(d, pitch, 5, 10, 3);
    mark<<<20, 32>>>(d, pitch, 30, 20);
    cudaMemcpy2D(host[0] + 1, 30, d, pitch, 29, 20, cudaMemcpyDeviceToHost);
    printf("%d %d %d %d\n", host[0][0], host[2][1], host[2][11], host[19][29]);
    cudaFree(d);
}
"""
OUTPUTS = {
    "streams": (STREAMS, "0 wrong, some time, no error\n"),
    "managed": (MANAGED, "2056 392 396 255\n0\n"),
    "initialised": (INITIALISED, "1 3\n"),
    "mapped": (MAPPED, "598 596\n"),
    "printed": (PRINTED, "first\ndevice 1\nsecond\ndevice 2\ndevice 3\nthird\n"),
    "symbols": (SYMBOLS, "81 84 104 40\n"),
    "pitched": (PITCHED, "0 7 12 47\n"),
}
ENDLESS = r"""
#include <cuda_runtime.h>
__global__ void quick(int *a) { *a = 1; }
__global__ void waits(volatile int *a) { while (*a != 2) { } }
int main() {
    int *d;
    cudaMalloc(&d, sizeof(int));
    quick<<<1, 1>>>(d);
    waits<<<1, 1>>>(d);
    cudaDeviceSynchronize();
    return 0;
}
"""
LINKED = r"""
#include <cuda_runtime.h>
struct Node { int value; Node *next; };
__global__ void walk(Node *node) { for (; node; node = node->next) node->value *= 2; }
int main() {
    Node *first, *second;
    cudaMallocManaged(&first, sizeof(Node));
    cudaMallocManaged(&second, sizeof(Node));
    first->value = 1; first->next = second;
    second->value = 2; second->next = nullptr;
    walk<<<1, 1>>>(first);
    cudaDeviceSynchronize();
    return second->value;
}
"""
LEFT = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
int main(int argc, char **argv) {
    size_t size = 64 << 20;
    unsigned char *d, *h = (unsigned char *)malloc(size);
    cudaMalloc(&d, size);
    cudaMemcpy(h, d, size, cudaMemcpyDeviceToHost);
    size_t left = 0;
    for (size_t i = 0; i < size; i++) left += h[i] != 0;
    memset(h, 7, size);
    cudaMemcpy(d, h, size, cudaMemcpyHostToDevice);
    printf("%zu\n", left);
    cudaFree(d);
    cudaMalloc(&d, size);
    cudaMemcpy(h, d, size, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < size; i++) left += h[i] != 0;
    printf("%zu\n", left);
}
"""
BEHIND = r"""
#include <cstdio>
#include <cuda_runtime.h>
__global__ void spin(long long cycles) { long long begin = clock64(); while (clock64() - begin < cycles) {} }
int main() {
    const size_t size = 1 << 20;
    char *d, *h;
    cudaStream_t one;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaMalloc(&d, size);
    cudaMallocHost(&h, size);
    spin<<<1, 1, 0, one>>>(1000000000LL);
    for (int i = 0; i < 8; i++) {
        cudaMemcpyAsync(d, h, size, cudaMemcpyHostToDevice, one);
        cudaMemcpyAsync(h, d, size, cudaMemcpyDeviceToHost, one);
    }
    puts(cudaGetErrorName(cudaStreamQuery(one)));
    cudaStreamSynchronize(one);
    puts(cudaGetErrorName(cudaStreamQuery(one)));
    cudaFree(d); cudaFreeHost(h);
    cudaStreamDestroy(one);
    return 0;
}
"""
ALL = {name: source for name, (source, _output) in OUTPUTS.items()}
ALL |= {
    "fault": FAULT,
    "queued_fault": QUEUED_FAULT,
    "endless": ENDLESS,
    "left": LEFT,
    "linked": LINKED,
    "behind": BEHIND,
}


def run(source: str, device: str, folder: Path, host_cache: Path) -> Observation:
    if device == "gpu" and not has_driver():
        pytest.skip("no NVIDIA driver")
    (folder / "main.cu").write_text(source)
    on_gpu = device == "gpu"
    limits = ON_GPU if on_gpu else LIMITS
    return run_program(Sources([folder / "main.cu"]), Start(), limits, Setting(host_cache=host_cache, on_gpu=on_gpu))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", OUTPUTS)
def test_prints(name: str, device: str, tmp_path: Path, host_cache: Path) -> None:
    source, output = OUTPUTS[name]
    got = run(source, device, tmp_path, host_cache)
    assert got.cause is None and got.exit == 0, got
    assert got.stdout.decode() == output
    assert [finding for finding in got.findings if finding.severity == "error"] == []
    assert {launch.status for launch in got.launches} <= {"ran"}
    assert all((launch.microseconds is not None) is (device == "gpu") for launch in got.launches)
    line = timeline(got.asked)
    if name == "streams":
        assert line is not None
        assert [step.call.kind for step in line.steps] == ["copy_in", "kernel", "kernel", "copy_out"]
        assert [line.streams.index(step.call.stream) for step in line.steps] == [0, 0, 1, 1]
        assert all(step.end <= later.begin for step, later in pairwise(line.steps))
    if line is not None:
        assert line.is_timed is (device == "gpu")
        # What is filled where it lies in the host's memory takes the device no time.
        assert device != "gpu" or all(call.ended_us is not None for call in got.asked if call.kind != "fill")


@pytest.mark.parametrize("device", DEVICES)
def test_a_fault_is_told_at_its_launch_and_ends_what_follows(device: str, tmp_path: Path, host_cache: Path) -> None:
    got = run(FAULT, device, tmp_path, host_cache)
    assert got.stdout.decode() == "cudaErrorIllegalAddress\n" * 3
    assert got.exit == 3
    assert [launch.status for launch in got.launches] == ["ran", "faulted", "failed"]
    assert got.launches[1].error == got.launches[2].error == "cudaErrorIllegalAddress"
    told = [finding for finding in got.findings if finding.severity == "error"]
    # On the emulator where the kernel does it, on a GPU where the kernel is launched.
    assert [(f.kind, f.line) for f in told] == [("out_of_bounds", 5) if device == "emulator" else ("fault", 10)]


@pytest.mark.gpu
def test_of_queued_launches_the_one_is_told_that_did_it(tmp_path: Path, host_cache: Path) -> None:
    got = run(QUEUED_FAULT, "gpu", tmp_path, host_cache)
    assert [(launch.kernel, launch.status) for launch in got.launches[:3]] == [
        ("fill", "ran"),
        ("stray", "faulted"),
        ("fill", "ran"),
    ]
    # The next program has a context that works.
    assert run(PITCHED, "gpu", tmp_path, host_cache).stdout.decode() == OUTPUTS["pitched"][1]


@pytest.mark.gpu
def test_a_kernel_that_never_ends_ends_the_program(tmp_path: Path, host_cache: Path) -> None:
    got = run(ENDLESS, "gpu", tmp_path, host_cache)
    assert got.exit is None
    assert got.cause is not None and got.cause.id == "programs.hangs_on_card"
    assert got.cause.data == {"kernel": "waits", "seconds": 5}
    assert run(PITCHED, "gpu", tmp_path, host_cache).stdout.decode() == OUTPUTS["pitched"][1]


@pytest.mark.gpu
def test_a_pointer_that_is_stored_in_managed_memory_is_refused_by_name(tmp_path: Path, host_cache: Path) -> None:
    got = run(LINKED, "gpu", tmp_path, host_cache)
    assert got.exit is None
    assert got.cause is not None and got.cause.id == "programs.pointers_on_card"
    assert got.cause.data == {"kernel": "walk", "error": "cudaErrorIllegalAddress", "array": "first"}
    assert [(finding.kind, finding.line) for finding in got.findings if finding.severity == "error"] == [
        ("unsupported", 11)
    ]


@pytest.mark.gpu
def test_copies_are_queued_behind_a_kernel_and_nobody_waits(tmp_path: Path, host_cache: Path) -> None:
    assert run(BEHIND, "gpu", tmp_path, host_cache).stdout.decode() == "cudaErrorNotReady\ncudaSuccess\n"


@pytest.mark.gpu
def test_memory_holds_nothing_of_another_program(tmp_path: Path, host_cache: Path) -> None:
    for _time in range(2):
        assert run(LEFT, "gpu", tmp_path, host_cache).stdout.decode() == "0\n0\n"


@pytest.mark.gpu
def test_the_device_is_the_program_s(tmp_path: Path, host_cache: Path) -> None:
    got = run(PITCHED, "gpu", tmp_path, host_cache)
    assert re.match(r"NVIDIA|Tesla|Quadro|GeForce", got.device), got.device


@pytest.mark.parametrize(("name", "code"), [("t4", 0), ("h100", queries.UNSUPPORTED_LIMIT)])
def test_how_deep_kernels_wait_for_kernels_is_no_limit_of_later_devices(name: str, code: int) -> None:
    state = cast("State", SimpleNamespace(model=model_of(name), device_limits={}))
    answer = 0
    try:
        queries.set_limit(state, NOWHERE, queries.SYNC_DEPTH, 4)
    except CudaError as error:
        answer = error.code
    assert answer == code
    assert answer in NAMES
