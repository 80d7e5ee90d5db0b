"""Requests of warps whose lanes go to several arrays at once: one instruction is one request, wherever its lanes go."""

from __future__ import annotations

import numpy as np

from grader.ptx.records import LineCounter
from tests.ptx.running import run


def counter(source: str, line: int, space: str, op: str, block: int, *arguments: object) -> LineCounter:
    result = run(source, 1, block, *arguments)
    assert result.hazards == []
    (found,) = [c for c in result.report.counters.by_line if (c.line, c.space, c.op) == (line, space, op)]
    return found


TWO_SHARED = """
extern "C" __global__ void k(float* out) {
    __shared__ float a[64], b[64];
    int t = threadIdx.x;
    a[t] = t;
    b[t] = 2 * t;
    __syncthreads();
    float* p = t & 1 ? a : b;
    out[t] = p[INDEX];
}
"""


def test_two_shared_arrays_in_one_request() -> None:
    c = counter(TWO_SHARED.replace("INDEX", "t"), 9, "shared", "load", 48, np.zeros(64, np.float32))
    assert (c.requests, c.wavefronts, c.ideal, c.ways, c.lanes, c.unique_bytes) == (2, 2, 2, 1, 48, 4 * 48)
    # Lanes 2k and 2k + 1 want element k of different arrays, whose starts lie 64 words apart: two words in each bank.
    c = counter(TWO_SHARED.replace("INDEX", "t / 2"), 9, "shared", "load", 64, np.zeros(64, np.float32))
    assert (c.requests, c.wavefronts, c.ideal, c.ways, c.unique_bytes) == (2, 4, 2, 2, 4 * 64)
    assert sorted(c.worst_words) == [*range(16), *range(64, 80)]


def test_two_buffers_in_one_request() -> None:
    source = """
extern "C" __global__ void k(const float* a, const float* b, float* out) {
    int t = threadIdx.x;
    const float* p = t % 32 < 16 ? a : b;
    float x =
        p[t];
    (t < 40 ? out : out + 64)[t] = x;
}
"""
    zeros = np.zeros(128, np.float32)
    c = counter(source, 6, "global", "load", 64, zeros, zeros, zeros)
    assert (c.requests, c.sectors, c.ideal, c.lanes, c.unique_bytes) == (2, 8, 8, 64, 256)


def test_one_address_read_narrow_and_wide() -> None:
    source = """
extern "C" __global__ void k(float* out) {
    __shared__ __align__(16) float s[128];
    int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) s[t + 32 * i] = t;
    __syncthreads();
    float x = *(volatile float*)(s + 4 * t);
    float4 y = *(float4*)(s + 4 * t);
    out[t] = x + y.x + y.y + y.z + y.w;
}
"""
    narrow = counter(source, 7, "shared", "load", 32, np.zeros(32, np.float32))
    wide = counter(source, 8, "shared", "load", 32, np.zeros(32, np.float32))
    assert (narrow.wavefronts, narrow.ideal, narrow.unique_bytes) == (4, 1, 128)
    assert (wide.wavefronts, wide.ideal, wide.unique_bytes) == (4, 4, 512)


def test_a_conflict_in_one_half_of_a_warp_is_two_way() -> None:
    source = """
extern "C" __global__ void k(float* out) {
    __shared__ float2 s[64];
    int t = threadIdx.x;
    s[t] = s[t + 32] = make_float2(t, t);
    __syncthreads();
    float2 v = s[t < 16 ? t : 2 * (t - 16)];
    out[t] = v.x + v.y;
}
"""
    c = counter(source, 7, "shared", "load", 32, np.zeros(32, np.float32))
    assert (c.requests, c.wavefronts, c.ideal, c.ways) == (1, 3, 2, 2)
