"""A warp followed at some lines: which warp, which of its requests, and where each lane goes."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx.observers.interface import Enough
from grader.ptx.observers.warp_steps import MOST_REQUESTS, WarpFollower
from grader.ptx.records import Site, WarpSteps
from tests.ptx.running import run

TILE = """
extern "C" __global__ void k(const float* a, float* out) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 32; i += 8) {
        out[(threadIdx.y + i) * 32 + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y + i];
    }
}
"""


def followed(source: str, grid: int, block: tuple[int, int], *sites: Site) -> tuple[WarpSteps, ...]:
    follower = WarpFollower(sites)
    zeros = np.zeros(4096, np.float32)
    with pytest.raises(Enough):
        run(source, grid, block, zeros, zeros, observe=False, observers=[follower])
    return follower.steps()


def test_a_column_of_a_tile_request_by_request() -> None:
    (steps,) = followed(TILE, 2, (32, 8), Site(8, "shared", "load", 4))
    assert (steps.block, steps.warp, steps.first, steps.total) == ((0, 0, 0), 0, 1, 4)
    assert [(r.cost, r.ideal, r.at_once) for r in steps.requests] == [(32, 1, 32)] * 4
    column = steps.requests[1]
    (start,) = {lane.start for lane in column.lanes}
    assert [lane.lane for lane in column.lanes] == list(range(32))
    assert {lane.array for lane in column.lanes} == {"tile"}
    assert [lane.offset_bytes for lane in column.lanes] == [4 * (32 * lane + 8) for lane in range(32)]
    assert start % 128 == 0


def test_sectors_of_a_strided_access_by_the_worst_warp() -> None:
    source = """
extern "C" __global__ void k(const float* a, float* out) {
    int t = blockIdx.x * 64 + threadIdx.x;
    out[t < 32 ? t : (t - 32) * 8 + 1] = 1;
    if (t == 5) out[4000] = 2;
}
"""
    strided, single = followed(source, 2, (64, 1), Site(4, "global", "store", 4), Site(5, "global", "store", 4))
    assert (strided.warp, strided.block, strided.total) == (1, (0, 0, 0), 1)
    (request,) = strided.requests
    assert (request.cost, request.ideal) == (32, 4)
    assert [lane.offset_bytes for lane in request.lanes] == [4 * (8 * lane + 1) for lane in range(32)]
    (alone,) = single.requests
    assert (alone.cost, alone.ideal, [lane.lane for lane in alone.lanes]) == (1, 1, [5])


def test_of_many_requests_those_up_to_the_worst() -> None:
    source = """
extern "C" __global__ void k(const float* a, volatile float* out) {
    for (int i = 0; i < 20; ++i)
        out[threadIdx.x * (i == 11 ? 32 : 1)] = i;
}
"""
    (steps,) = followed(source, 1, (32, 1), Site(4, "global", "store", 4))
    assert (steps.first, steps.total, len(steps.requests)) == (12 - MOST_REQUESTS + 1, 20, MOST_REQUESTS)
    assert [r.cost for r in steps.requests] == [4] * 7 + [32]


def test_a_site_that_is_never_reached_is_not_told() -> None:
    follower = WarpFollower([Site(7, "global", "store", 4), Site(99, "shared", "load", 4)])
    zeros = np.zeros(4096, np.float32)
    run(TILE, 1, (32, 8), zeros, zeros, observe=False, observers=[follower])
    assert [steps.site.line for steps in follower.steps()] == [7]
