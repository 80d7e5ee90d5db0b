"""Races: found at the right line with a right thread, and never where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.ptx.records import Hazard
from tests.ptx.running import Run, run

HEAD = (
    'extern "C" __global__ void k(const float* in, float* out, int n) {\n'
    "    __shared__ float s[256];\n    int t = threadIdx.x;\n"
)


def races(body: str, grid: int = 1, block: int = 64, n: int = 64, head: str = HEAD, **more: Any) -> list[Hazard]:
    """Races of a kernel whose body starts at line 4."""
    result = run(head + body + "\n}", grid, block, np.ones(4096, np.float32), np.zeros(4096, np.float32), n, **more)
    return [hazard for hazard in result.hazards if hazard.kind == "race"]


def brief(hazard: Hazard) -> tuple[str, bool, int, str, int, str]:
    """Of two branches either may come first: the later line is named first."""
    mine, other = (hazard.line, hazard.op), (hazard.other_line, hazard.other_op)
    if hazard.detail.startswith("write_write"):
        mine, other = max(mine, other), min(mine, other)
    return hazard.detail, hazard.within_warp, *mine, *other


BAD = {
    "missing_barrier": ("    s[t] = in[t];\n    out[t] = s[63 - t];", [("read_write", False, 5, "load", 4, "store")]),
    "missing_barrier_between_iterations": (
        "    float x = 0;\n"
        "    for (int k = 0; k < n; ++k) {\n"
        "        s[t] = in[t + k];\n"
        "        __syncthreads();\n"
        "        x += s[63 - t];\n"
        "    }\n"
        "    out[t] = x;",
        [("read_write", False, 6, "store", 8, "load")],
    ),
    "missing_syncwarp": (
        "    s[t] = in[t];\n    __syncwarp();\n    s[t] += s[t ^ 1];\n    __syncwarp();\n    out[t] = s[t ^ 2];",
        [("read_write", True, 6, "store", 6, "load")],
    ),
    "syncwarp_is_not_enough_across_warps": (
        "    s[t] = in[t];\n    __syncwarp();\n    out[t] = s[63 - t];",
        [("read_write", False, 6, "load", 4, "store")],
    ),
    "all_write_one_place": (
        "    s[0] = in[t] + t;\n    __syncthreads();\n    out[t] = s[0];",
        [("write_write", False, 4, "store", 4, "store"), ("write_write", True, 4, "store", 4, "store")],
    ),
    "all_write_the_same_value": (
        "    s[0] = n;\n    __syncthreads();\n    out[t] = s[0];",
        [
            ("write_write_same_value", False, 4, "store", 4, "store"),
            ("write_write_same_value", True, 4, "store", 4, "store"),
        ],
    ),
    "two_lines_write_one_place": (
        "    if (t < 32) s[t] = 1.0f;\n    else\n        s[t - 32] = in[t] * 3;\n"
        "    __syncthreads();\n    out[t] = s[t & 31];",
        [("write_write", False, 6, "store", 4, "store")],
    ),
    "atomic_beside_a_plain_read": (
        "    s[t] = 0;\n    __syncthreads();\n    atomicAdd(&s[t & 7], 1.0f);\n    out[t] = s[t & 7];",
        [("read_write", False, 7, "load", 6, "atomic"), ("read_write", True, 7, "load", 6, "atomic")],
    ),
    "atomic_beside_a_plain_write": (
        "    if (t < 32)\n        atomicAdd((int*)&out[0], 1);\n    else if (t == 40)\n        out[0] = 5.0f;",
        [("write_write", False, 7, "store", 5, "atomic")],
    ),
    "a_scan_in_place": (
        "    s[t] = in[t];\n    __syncthreads();\n    if (t >= 1) s[t] += s[t - 1];\n"
        "    __syncthreads();\n    out[t] = s[t];",
        [("read_write", False, 6, "store", 6, "load"), ("read_write", True, 6, "store", 6, "load")],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_known_bad(name: str) -> None:
    body, expected = BAD[name]
    assert sorted(
        {brief(h) for h in races(body, n=5) if h.detail != "write_write_same_value" or "same" in name}
    ) == sorted(expected)


def test_the_first_thread_is_named_and_the_others_are_counted() -> None:
    (hazard,) = races("    s[t] = in[t];\n    out[t] = s[63 - t];")
    assert (hazard.block, hazard.thread, hazard.count) == ((0, 0, 0), (0, 0, 0), 64)
    assert (hazard.other_block, hazard.other_thread) == ((0, 0, 0), (63, 0, 0))
    assert (hazard.space, hazard.array, hazard.offset_bytes, hazard.width_bytes, hazard.array_bytes) == (
        "shared",
        "s",
        252,
        4,
        1024,
    )


def test_only_some_threads_race() -> None:
    (hazard,) = races("    if (t != 40) s[t] = in[t];\n    else s[3] = 7;\n    __syncthreads();\n    out[t] = s[3];")
    assert (hazard.detail, hazard.count, hazard.within_warp) == ("write_write", 1, False)
    assert {hazard.thread, hazard.other_thread} == {(3, 0, 0), (40, 0, 0)}
    assert {hazard.line, hazard.other_line} == {4, 5}


def test_a_race_in_a_late_iteration_only() -> None:
    body = (
        "    float x = 0;\n"
        "    for (int k = 0; k < 50; ++k) {\n"
        "        s[t] = k;\n"
        "        if (k != 37) __syncthreads();\n"
        "        x += s[63 - t];\n"
        "        __syncthreads();\n"
        "    }\n"
        "    out[t] = x;"
    )
    assert {brief(h) for h in races(body)} == {("read_write", False, 8, "load", 6, "store")}


def test_the_same_load_one_element_further_on_races_in_the_second_iteration_only() -> None:
    body = (
        "    float x = 0;\n    s[t] = 1;\n    #pragma unroll 1\n    for (int k = 0; k < n; ++k)\n"
        "        x += s[t + k];\n    s[64 + t] = x;"
    )
    assert {brief(h) for h in races(body, block=32, n=1)} == set()
    assert {brief(h) for h in races(body, block=32, n=2)} == {("read_write", True, 8, "load", 5, "store")}


def test_the_same_load_behind_a_syncwarp_is_looked_at_again() -> None:
    body = (
        "    s[t] = t;\n    __syncwarp();\n    #pragma unroll 1\n    for (int k = 0; k < n; ++k) {\n"
        "        float x = s[t ^ 1];\n        __syncwarp();\n        s[t] = x;\n    }"
    )
    assert races(body, n=1) == []
    assert {brief(h) for h in races(body, n=2)} == {("read_write", True, 8, "load", 10, "store")}


def test_a_syncwarp_in_another_place_makes_another_interval() -> None:
    body = (
        "    float x = 0;\n    #pragma unroll 1\n    for (int k = 0; k < n; ++k) {\n        s[t] = t;\n"
        "        if (k % 2 == 0) __syncwarp();\n        x += s[t ^ 1];\n        if (k % 2) __syncwarp();\n"
        "        __syncthreads();\n    }\n    out[t] = x;"
    )
    assert races(body, n=1) == []
    assert {brief(h) for h in races(body, n=2)} == {("read_write", True, 9, "load", 7, "store")}


def test_arrays_of_one_block_are_told_apart() -> None:
    body = "    __shared__ float other[256];\n    s[t] = t;\n    out[t] = other[63 - t];\n    other[255 - t] = s[t];"
    assert races(body) == []


def test_only_one_block_races_and_it_is_named() -> None:
    body = (
        "    s[t] = in[t];\n    if (blockIdx.x != 70) __syncthreads();\n    out[blockIdx.x * 32 + t] = s[63 - t] + t;"
    )
    hazards = races(body, grid=100, block=64)
    shared = [h for h in hazards if h.space == "shared"]
    assert [(h.block, h.count) for h in shared] == [((70, 0, 0), 64)]


# -- global memory ----

PLAIN = (
    'extern "C" __global__ void k(const float* in, float* out, int n) {\n'
    "    int t = threadIdx.x;\n    int i = blockIdx.x * blockDim.x + t;\n"
)


def test_read_then_write_by_another_block() -> None:
    (hazard,) = races("    out[i] = out[(i + 64) % 256] + 1;", grid=4, head=PLAIN)
    assert (hazard.detail, hazard.space, hazard.array) == ("read_write", "global", "arg1")
    assert hazard.block != hazard.other_block
    assert (hazard.op, hazard.other_op) == ("store", "load")


def test_write_then_read_by_another_block_in_another_chunk() -> None:
    (hazard,) = races(
        "    out[i] = t;\n    __syncthreads();\n    if (i == 0) out[4000] = out[3000];", grid=47, head=PLAIN
    )
    assert (hazard.line, hazard.other_line) == (6, 4) or (hazard.line, hazard.other_line) == (4, 6)
    assert {hazard.block, hazard.other_block} == {(0, 0, 0), (3000 // 64, 0, 0)}


def test_neighbours_of_one_block_without_a_barrier() -> None:
    hazards = races("    out[i] = t;\n    out[1000 + i] = out[i ^ 1];", head=PLAIN)
    assert {brief(h) for h in hazards} == {("read_write", True, 5, "load", 4, "store")}
    hazards = races("    out[i] = t;\n    out[1000 + i] = out[63 - i];", head=PLAIN)
    assert {brief(h) for h in hazards} == {("read_write", False, 5, "load", 4, "store")}
    assert races("    out[i] = t;\n    __syncthreads();\n    out[1000 + i] = out[63 - i];", head=PLAIN) == []


def test_a_histogram_without_atomics() -> None:
    hazards = races("    out[(int)in[i] & 7] += 1;", grid=4, head=PLAIN)
    assert {(h.detail, h.line) for h in hazards} >= {("write_write", 4), ("read_write", 4)} or {
        (h.detail, h.line) for h in hazards
    } >= {("write_write_same_value", 4), ("read_write", 4)}
    assert races("    atomicAdd(&out[(int)in[i] & 7], 1.0f);", grid=4, head=PLAIN) == []


def test_same_values_across_blocks_are_told_apart() -> None:
    assert {h.detail for h in races("    out[0] = 1.0f;", grid=4, head=PLAIN)} == {"write_write_same_value"}
    assert {h.detail for h in races("    out[0] = blockIdx.x;", grid=4, block=1, head=PLAIN)} == {"write_write"}


def test_narrow_accesses_race_by_the_byte() -> None:
    source = """
extern "C" __global__ void k(unsigned char* a, unsigned char* out) {
    __shared__ unsigned char s[64];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""
    bytes_ = np.zeros(64, np.uint8)
    assert run(source, 1, 64, bytes_, bytes_.copy()).hazards == []
    broken = source.replace("    __syncthreads();\n", "")
    (hazard,) = run(broken, 1, 64, bytes_, bytes_.copy()).hazards
    assert (hazard.kind, hazard.line, hazard.width_bytes) == ("race", 6, 1)


def test_a_wide_access_races_with_a_narrow_one_inside_it() -> None:
    source = """
extern "C" __global__ void k(float4* a, float* b) {
    if (threadIdx.x < 8) a[threadIdx.x] = make_float4(1, 2, 3, 4);
    else b[threadIdx.x - 8] = 5;
}
"""
    device_array = np.zeros(64, np.float32)
    from grader.ptx.launch import Launch, launch
    from grader.ptx.memory import Device
    from tests.ptx.running import compiled

    device = Device()
    buffer = device.buffer("both", device_array)
    report = launch(compiled(source), Launch("k", (1,), (40,), [buffer, buffer], device=device, observe=True))
    assert {h.detail for h in report.hazards} == {"write_write"}
    assert {h.within_warp for h in report.hazards} == {False, True}
    # Whichever branch runs second notices: 24 and 8 narrow stores, or the wide ones of 6 and of 2 lanes.
    assert {h.within_warp: h.count for h in report.hazards} in ({True: 24, False: 8}, {True: 6, False: 2})


# -- no false alarm ----

GOOD = {
    "own_element": "    s[t] = in[t];\n    s[t] += 1;\n    out[t] = s[t];",
    "barrier_between": "    s[t] = in[t];\n    __syncthreads();\n    out[t] = s[63 - t];",
    "two_buffers": (
        "    for (int k = 0; k < 8; ++k) {\n        s[(k & 1) * 64 + t] = in[t + k];\n"
        "        __syncthreads();\n        out[t] += s[(k & 1) * 64 + 63 - t];\n    }"
    ),
    "reads_only": "    out[t] = in[0] + in[63 - t];",
    "atomics_only": "    atomicAdd(&out[t & 3], 1.0f);\n    atomicExch(&out[t & 3], 2.0f);",
    "atomics_then_barrier": (
        "    s[t] = 0;\n    __syncthreads();\n    atomicAdd(&s[t & 7], 1.0f);\n    __syncthreads();\n    out[t] = s[t];"
    ),
    "one_writer": "    if (t == 0) s[0] = in[0];\n    __syncthreads();\n    out[t] = s[0];",
    "warp_steps": (
        "    s[t] = in[t];\n    for (int d = 16; d > 0; d /= 2) {\n        __syncwarp();\n"
        "        float x = s[t ^ d];\n        __syncwarp();\n        s[t] += x;\n    }\n    out[t] = s[t];"
    ),
    "different_halves": "    if (t < 32) s[t] = 1;\n    else s[t + 32] = 2;\n    out[t] = s[t < 32 ? t : t + 32];",
    "barrier_counts": "    s[t] = in[t];\n    int c = __syncthreads_count(t > 3);\n    out[t] = s[63 - t] + c;",
    "own_element_now_others_before": (
        "    s[t] = t;\n    s[128 + t] = t;\n    __syncthreads();\n    s[t] = 5;\n"
        "    out[t] = s[t < 32 ? t : 128 + 63 - t];"
    ),
    "shuffles_need_no_barrier": "    out[t] = __shfl_xor_sync(0xffffffffu, in[t], 1);",
    "divergent_branches": (
        "    if (t % 2) s[t] = 1;\n    else s[t] = 2;\n    __syncthreads();\n"
        "    if (t % 3) out[t] = s[t ^ 1];\n    else out[t] = s[63 - t];"
    ),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("block", [64, 48])
def test_known_good(name: str, block: int) -> None:
    body = GOOD[name].replace("63 - t", f"{block - 1} - t").replace("0xffffffffu", "__activemask()")
    if block == 48 and name == "warp_steps":
        pytest.skip("reads elements of threads that are not there")
    result: Run = run(HEAD + body + "\n}", 1, block, np.ones(256, np.float32), np.zeros(256, np.float32), 5)
    assert [h for h in result.hazards if h.kind != "uninitialized"] == []


def test_blocks_do_not_race_in_their_own_shared_memory() -> None:
    body = "    s[t] = blockIdx.x;\n    __syncthreads();\n    out[blockIdx.x * 64 + t] = s[63 - t];"
    result = run(HEAD + body + "\n}", 60, 64, np.ones(4096, np.float32), np.zeros(4096, np.float32), 0)
    assert result.hazards == []
    assert result[1][: 60 * 64].reshape(60, 64).tolist() == [[b] * 64 for b in range(60)]


def test_threads_that_left_early_do_not_race_with_those_that_stay() -> None:
    body = "    if (t >= 50) { s[t] = 1; return; }\n    s[t] = in[t];\n    __syncthreads();\n    out[t] = s[49 - t];"
    assert races(body) == []


def test_accesses_ordered_by_a_lock_are_beyond_the_detector_which_keeps_quiet() -> None:
    body = (
        "    bool done = false;\n"
        "    while (!done)\n"
        "        if (atomicCAS((int*)&out[1], 0, 1) == 0) {\n"
        "            out[0] += 1;\n"
        "            __threadfence();\n"
        "            atomicExch((int*)&out[1], 0);\n"
        "            done = true;\n"
        "        }"
    )
    assert races(body, grid=2, head=PLAIN) == []


# -- lanes that a warp-wide instruction waits for ----


def test_a_mask_that_names_lanes_on_another_path() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x, x = t;
    if (t < 20)
        x = __shfl_down_sync(0xffffffffu, t, 1);
    out[t] = x;
}
"""
    result = run(source, 1, 32, np.zeros(32, np.int32))
    hazards = result.hazards
    # What an H200 gives for a lane that is not there.
    assert result[0].tolist() == [*range(1, 20), 0, *range(20, 32)]
    missing = [h for h in hazards if h.detail == "missing_lanes"]
    assert [(h.kind, h.line, h.thread, h.count) for h in missing] == [("warp_sync", 5, (0, 0, 0), 20)]
    assert [(h.kind, h.line, h.thread, h.count) for h in hazards if h.detail == "inactive_source"] == [
        ("warp_sync", 5, (19, 0, 0), 1)
    ]


def test_a_lane_that_its_own_mask_leaves_out() -> None:
    source = 'extern "C" __global__ void k(int* out) { out[threadIdx.x] = __ballot_sync(0xffffu, 1); }'
    hazards = run(source, 1, 32, np.zeros(32, np.int32)).hazards
    assert [(h.kind, h.detail, h.thread, h.count) for h in hazards] == [("warp_sync", "not_a_member", (16, 0, 0), 16)]


def test_lanes_that_have_returned_are_not_waited_for() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    out[t] = __any_sync(0xffffffffu, t == 3);
    __syncwarp();
}
"""
    assert run(source, 1, 40, np.zeros(40, np.int32), 36).hazards == []


def test_a_block_of_48_threads_has_half_a_warp_at_its_end() -> None:
    source = 'extern "C" __global__ void k(int* out) { out[threadIdx.x] = __reduce(threadIdx.x); }'
    source = source.replace("__reduce(threadIdx.x)", "__popc(__ballot_sync(0xffffffffu, 1))")
    result = run(source, 1, 48, np.zeros(48, np.int32))
    assert result.hazards == []
    assert result[0].tolist() == [32] * 32 + [16] * 16


def test_syncwarps_on_both_sides_of_a_branch_meet() -> None:
    """Every lane that the mask names executes *a* __syncwarp(): legal since compute capability 7.0, and it orders."""
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = t;
        __syncwarp();
        out[t] = s[31 - t];
    } else {
        s[t] = 2 * t;
        __syncwarp();
        out[t] = s[31 - t];
    }
}
"""
    result = run(source, 1, 32, np.zeros(32, np.int32))
    assert result.hazards == []
    assert result[0].tolist() == [2 * (31 - t) if t < 16 else 31 - t for t in range(32)]


def test_a_syncwarp_that_some_lanes_never_come_to() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    if (t < 20)
        __syncwarp();
    __syncthreads();
    out[t] = t;
}
"""
    hazards = run(source, 1, 64, np.zeros(64, np.int32)).hazards
    assert [(h.kind, h.detail, h.line, h.thread, h.count) for h in hazards] == [
        ("warp_sync", "missing_lanes", 5, (0, 0, 0), 20)
    ]


def test_lanes_that_do_something_else_before_they_return_are_waited_for() -> None:
    source = """
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    if (t >= n) {
        atomicAdd(&out[63], 1);
        return;
    }
    out[t] = __shfl_sync(0xffffffffu, t, 3);
}
"""
    result = run(source, 2, 32, np.zeros(64, np.int32), 20, observe=False)
    assert result.hazards == []
    assert result[0].tolist() == [3] * 20 + [0] * 43 + [24]


def test_a_lane_that_the_mask_of_its_syncwarp_leaves_out() -> None:
    source = 'extern "C" __global__ void k(int* out) { __syncwarp(0x0f0f0f0fu); out[threadIdx.x] = 1; }'
    hazards = run(source, 1, 32, np.zeros(32, np.int32)).hazards
    assert [(h.kind, h.detail, h.thread, h.count) for h in hazards] == [("warp_sync", "not_a_member", (4, 0, 0), 16)]
