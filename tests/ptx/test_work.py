"""What threads executed by line: idle lanes, additions of data, what is used; alike in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.ptx.records import LaunchReport, LineWork
from tests.ptx.native.engines import both
from tests.ptx.running import Bytes, run

K = 'extern "C" __global__ void k'
FLOATS = np.random.default_rng(5).standard_normal(4096).astype(np.float32)
WHOLE = np.arange(4096, dtype=np.int32)


def work(source: str, grid: int, block: int, *arguments: Any) -> dict[int, LineWork]:
    """By line."""
    return {row.line: row for row in run(source, grid, block, *arguments, counts_work=True).report.work}


def idle(rows: dict[int, LineWork], line: int) -> float:
    """The share of lanes that stood idle at a line."""
    return 1 - rows[line].executed / rows[line].places


BRANCH = (
    K
    + """(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = b[i];
  if (threadIdx.x % 4 == 0) {
    for (int k = 0; k < n; k++)
      s = s * 1.5f + a[k];
  }
  b[i] = s;
}
"""
)


@pytest.mark.parametrize("block", [32, 64, 96, 100, 7])
def test_lanes_idle_in_a_branch(block: int) -> None:
    rows = work(BRANCH, 3, block, FLOATS, FLOATS.copy(), 5)
    # A block of 100 has 4 threads in its last warp: the other 28 are nobody's.
    assert idle(rows, 8) == 0
    taken = -(-block // 4)
    assert idle(rows, 6) == pytest.approx(1 - taken / block)
    assert rows[6].additions == 3 * taken * 5


def test_whole_warps_that_stay_away_are_not_idle() -> None:
    rows = work(BRANCH.replace("threadIdx.x % 4 == 0", "threadIdx.x < 32"), 1, 128, FLOATS, FLOATS.copy(), 3)
    assert idle(rows, 6) == 0
    assert rows[6].additions == 96


@pytest.mark.parametrize("block", [1, 20, 64, 100])
def test_both_engines_count_alike(block: int) -> None:
    report, launches = both(BRANCH, 1, block, FLOATS, FLOATS.copy(), 9, counts_work=True)
    assert launches == 1
    assert isinstance(report, LaunchReport)
    assert sum(row.instructions for row in report.work) == report.thread_instructions
    assert {row.line for row in report.work} >= {2, 4, 5, 6, 8}


def test_nothing_is_counted_where_nobody_asks() -> None:
    assert run(BRANCH, 1, 32, FLOATS, FLOATS.copy(), 1).report.work == []


SCANS = """
extern "C" __global__ void hillis(const T* in, T* out) {
  __shared__ T s[2][256];
  int t = threadIdx.x, w = 0;
  s[0][t] = in[t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (t >= d) s[1 - w][t] = s[w][t] + s[w][t - d];
    else s[1 - w][t] = s[w][t];
    w = 1 - w;
    __syncthreads();
  }
  out[t] = s[w][t];
}
extern "C" __global__ void blelloch(const T* in, T* out) {
  __shared__ T s[256];
  int t = threadIdx.x, d = 1;
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  for (int n = 128; n > 0; n /= 2, d *= 2) {
    __syncthreads();
    if (t < n) s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];
  }
  if (t == 0) s[255] = 0;
  for (int n = 1; n < 256; n *= 2) {
    d /= 2;
    __syncthreads();
    if (t < n) {
      T left = s[d * (2 * t + 1) - 1];
      s[d * (2 * t + 1) - 1] = s[d * (2 * t + 2) - 1];
      s[d * (2 * t + 2) - 1] += left;
    }
  }
  __syncthreads();
  out[2 * t] = s[2 * t];
  out[2 * t + 1] = s[2 * t + 1];
}
"""


@pytest.mark.parametrize(("of", "data"), [("float", FLOATS[:256]), ("int", WHOLE[:256])])
def test_additions_of_data_and_not_of_indices(of: str, data: np.ndarray) -> None:
    source = SCANS.replace("T*", f"{of}*").replace("T s[", f"{of} s[").replace("T left", f"{of} left")
    found = {}
    for entry, block in (("hillis", 256), ("blelloch", 128)):
        done = run(source, 1, block, data.copy(), Bytes(1024), entry=entry, counts_work=True)
        found[entry] = sum(row.additions for row in done.report.work)
    # n · log2(n) - (n - 1), and n - 1 on the way up and down each.
    assert found == {"hillis": 256 * 8 - 255, "blelloch": 510}


USES = (
    "__constant__ float weights[4];\n"
    + K
    + """(float* b, int* counts, double* d) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = b[t] * weights[t % 4];
  __syncthreads();
  float v = __shfl_down_sync(~0u, s[31 - t], 1);
  if (__any_sync(~0u, v > 0)) b[t] = v;
  atomicAdd(&counts[t % 8], 1);
  __threadfence();
  if (t == 0) atomicAdd(b, v);
}
"""
)


def test_what_is_used_at_which_line() -> None:
    done = run(USES, 2, 32, FLOATS[:32].copy(), WHOLE[:8].copy(), np.zeros(1), counts_work=True)
    rows = {row.line: row.uses for row in done.report.work if row.uses}
    assert rows == {
        5: {"shared": 64, "constant": 64},
        6: {"barriers": 64},
        7: {"shared": 64, "shuffles": 64},
        8: {"votes": 64},
        9: {"atomics": 64},
        10: {"fences": 64},
        11: {"atomics": 2, "float_atomics": 2},
    }
    atomics = [(c.line, c.requests, c.lanes, c.same_address) for c in done.report.counters.by_line if c.op == "atomic"]
    assert atomics == [(9, 2, 64, 4), (11, 2, 2, 1)]


@pytest.mark.parametrize(
    ("index", "most"), [("t", 1), ("t / 2", 2), ("0", 32), ("t % 3 ? t : 0", 11), ("b[t] < 0", 20)]
)
def test_the_most_lanes_at_one_address(index: str, most: int) -> None:
    source = K + f"(const float* b, int* c) {{ int t = threadIdx.x; atomicAdd(&c[{index}], 1); }}"
    data = np.where(np.arange(64) % 32 < 20, -1, 1).astype(np.float32)
    counters = run(source, 1, 64, data, np.zeros(64, np.int32)).report.counters
    assert [c.same_address for c in counters.by_line if c.op == "atomic"] == [most]
