"""Cooperative launches: the group of the whole grid, how many blocks there may be, and launches that are not such."""

from __future__ import annotations

import re

import numpy as np
import pytest

from grader.ptx.limits import DeviceTrap, LaunchError, LimitExceeded, resident_blocks
from grader.ptx.observers import happens_before
from tests.ptx.nvrtc import header_options
from tests.ptx.running import Run, run

GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
REVERSE = (
    GROUPS
    + """extern "C" __global__ void k(int* data, int* out) {
    cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = grid.thread_rank();
    grid.sync();
    out[grid.thread_rank()] = data[grid.size() - 1 - grid.thread_rank()];
}"""
)


def launched(source: str, grid: int | tuple[int, ...], block: int, cooperative: bool, n: int) -> Run:
    arrays = np.zeros(n, np.int32), np.zeros(n, np.int32)
    return run(source, grid, block, *arrays, options=header_options(), cooperative=cooperative)


@pytest.mark.parametrize("grid", [1, 3, (3, 2, 2), 300])
@pytest.mark.parametrize("block", [1, 50, 64])
def test_all_blocks_meet(grid: int | tuple[int, ...], block: int) -> None:
    n = int(np.prod(grid)) * block
    result = launched(REVERSE, grid, block, True, n)
    assert result[1].tolist() == list(range(n - 1, -1, -1))
    assert not result.hazards


def test_in_any_other_launch_there_is_no_such_group() -> None:
    with pytest.raises(DeviceTrap) as caught:
        launched(REVERSE, 2, 32, False, 64)
    assert (caught.value.kind, caught.value.line) == ("grid_sync", 6)
    asks = GROUPS + 'extern "C" __global__ void k(int* a, int* out) { out[threadIdx.x] = cg::this_grid().is_valid(); }'
    assert [launched(asks, 1, 1, cooperative, 1)[1][0] for cooperative in (True, False)] == [1, 0]
    traps = GROUPS + 'extern "C" __global__ void k(int* a, int* out) { __trap(); }'
    with pytest.raises(DeviceTrap) as caught:
        launched(traps, 1, 1, False, 1)
    assert caught.value.kind == "trap"


def test_a_block_that_does_not_come_is_waited_for_in_vain() -> None:
    source = REVERSE.replace("    grid.sync();", "    if (blockIdx.x) grid.sync();")
    with pytest.raises(LimitExceeded, match=r"repeats without changing anything|never be complete"):
        launched(source, 3, 32, True, 96)


@pytest.mark.parametrize(
    ("padded", "shared_bytes", "blocks"),
    # 132 multiprocessors, each of 2048 threads, 32 blocks and 228 KiB, of which every block takes 1 KiB for itself.
    [(32, 0, 132 * 32), (64, 0, 132 * 32), (96, 0, 132 * 21), (1024, 0, 132 * 2), (64, 48 << 10, 132 * 4)],
)
def test_more_blocks_than_can_be_resident_are_refused(padded: int, shared_bytes: int, blocks: int) -> None:
    assert resident_blocks(padded, shared_bytes) == blocks
    source = 'extern "C" __global__ void k(int* data, int* out) { }'
    arrays = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(source, blocks, padded, *arrays, shared_bytes=shared_bytes, cooperative=True, observe=False)
    with pytest.raises(LaunchError, match=re.escape(f"at most {blocks} can be resident")) as caught:
        run(source, blocks + 1, padded, *arrays, shared_bytes=shared_bytes, cooperative=True)
    assert (caught.value.kind, caught.value.got, caught.value.limit) == ("cooperative", blocks + 1, blocks)
    run(source, blocks + 1, padded, *arrays, shared_bytes=shared_bytes, observe=False)


def test_order_of_many_blocks_in_many_steps_costs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block follows its neighbours in each step: a search for each pair would take minutes."""
    monkeypatch.setattr(happens_before, "Walk", None)
    steps = """extern "C" __global__ void k(int* data, int* out) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int step = 0; step < 60; ++step) {
        out[i] = data[(i + 1) % n] + 1;
        grid.sync();
        int* other = data; data = out; out = other;
    }
}"""
    result = launched(GROUPS + steps, 128, 64, True, 128 * 64)
    assert set(result[0].tolist()) == {60} and not result.hazards
    assert {h.kind for h in launched(GROUPS + steps.replace("grid.sync", "__syncthreads"), 128, 64, True, 8192).hazards}
