"""The heap of device code: `malloc`, `free`, `new` and `delete` in a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded, Limits
from grader.ptx.memory import Device
from tests.ptx.running import compiled, run

KERNEL = 'extern "C" __global__ void k(int* out, int n) {\n'


def zeros(n: int = 64) -> np.ndarray:
    return np.zeros(n, np.int32)


def test_every_thread_keeps_a_list() -> None:
    source = """
struct Node { int value; Node* next; };
extern "C" __global__ void k(int* out, int n) {
    Node* list = nullptr;
    for (int i = 0; i <= (int)threadIdx.x % n; ++i) {
        Node* added = new Node;
        added->value = i * 3; added->next = list; list = added;
    }
    int sum = 0;
    while (list) { Node* next = list->next; sum += list->value; delete list; list = next; }
    out[threadIdx.x] = sum;
}
"""
    result = run(source, 1, 70, zeros(70), 9)
    assert result[0].tolist() == [sum(3 * i for i in range(t % 9 + 1)) for t in range(70)]
    assert not result.hazards


def test_memory_of_one_thread_is_shared_behind_a_barrier() -> None:
    body = """    __shared__ int* p;
    if (threadIdx.x == 0) p = new int[64];
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    {BARRIER}
    out[threadIdx.x] = p[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) delete[] p;
}"""
    good = run(KERNEL + body.replace("{BARRIER}", "__syncthreads();"), 1, 64, zeros(), 0)
    assert good[0].tolist() == list(range(63, -1, -1)) and not good.hazards
    bad = run(KERNEL + body.replace("{BARRIER}", ""), 1, 64, zeros(), 0)
    assert bad.kinds() == [("race", "read_write", 7)]


FAULTS = {
    "past its end": ("int* p = new int[n];\n    for (int i = 0; i <= n; ++i)\n        p[i] = i;\n}", "after", 4, 64),
    "before its start": ("int* p = new int[n];\n    p[-1] = 2;\n}", "before", 3, -4),
    "used after it was freed": ("int* p = new int[n]; p[3] = 7; delete[] p;\n    out[0] = p[3];\n}", "freed", 3, 12),
    "freed twice": ("int* p = new int[n]; delete[] p;\n    delete[] p;\n}", "freed", 3, 0),
    "freed, not allocated": ("free(out + 1);\n}", "not_allocated", 2, 0),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told_by_line(name: str) -> None:
    body, detail, line, offset = FAULTS[name]
    (hazard,) = run(KERNEL + "    " + body, 1, 1, zeros(), 16).hazards
    assert (hazard.kind, hazard.detail, hazard.line, hazard.offset_bytes) == ("out_of_bounds", detail, line, offset)
    assert hazard.array == ("" if detail == "not_allocated" else "malloc@2")
    assert hazard.array_bytes == (0 if detail == "not_allocated" else 64)


def test_what_was_never_written_is_told() -> None:
    (hazard,) = run(
        KERNEL + "    int* p = (int*)malloc(400);\n    out[threadIdx.x] = p[5];\n}", 1, 64, zeros(), 0
    ).hazards
    assert (hazard.kind, hazard.line, hazard.array, hazard.offset_bytes) == ("uninitialized", 3, "malloc@2", 20)
    assert hazard.count == 64


def test_an_exhausted_heap_gives_null() -> None:
    # 8 MiB in pieces of 64 KiB; a leak is no fault.
    result = run(
        KERNEL + "    int got = 0;\n    while (malloc(1 << 16)) ++got;\n    atomicAdd(out, got);\n}", 1, 64, zeros(), 0
    )
    assert result[0][0] == 128 and not result.hazards
    result = run(KERNEL + "    out[0] = malloc((8ull << 20) + 1) == nullptr;\n}", 1, 1, zeros(), 0)
    assert result[0][0] == 1


def test_what_was_freed_is_handed_out_again() -> None:
    body = """    for (int i = 0; i < 100; ++i) {
        int* p = (int*)malloc(1024);
        if (!p) return;
        p[threadIdx.x] = i; out[threadIdx.x] += p[threadIdx.x];
        free(p);
    }
}"""
    result = run(KERNEL + body, 1, 200, zeros(200), 0)
    assert (result[0] == 4950).all() and not result.hazards


def test_it_lives_from_launch_to_launch() -> None:
    source = """
__device__ int* kept;
extern "C" __global__ void make(int* out) { kept = new int[4]; kept[2] = 42; }
extern "C" __global__ void use(int* out) { out[0] = kept[2]; delete[] kept; }
"""
    device = Device()
    out = device.buffer("out", zeros(1))
    for entry in ("make", "use"):
        report = launch(compiled(source), Launch(entry, (1,), (1,), [out], device=device, observe=True))
        assert not report.hazards
    assert out.read(np.int32).tolist() == [42]


def test_the_heap_costs_what_its_lanes_cost() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    for (int i = 0; i < n; ++i) { void* p = malloc(64); out[threadIdx.x] += p != 0; free(p); }
}"""
    limits = Limits(issued=20_000)
    out = run(source, 1, 1, np.zeros(1, np.int32), np.int32(100), limits=limits)[0]
    assert out.tolist() == [100]
    with pytest.raises(LimitExceeded, match="more than 20000 instructions were issued"):
        run(source, 1, 64, np.zeros(64, np.int32), np.int32(100), limits=limits)
