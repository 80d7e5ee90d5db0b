"""What launches of one shape know of each other changes nothing that comes of them."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from grader.ptx import affine
from grader.ptx.affine import geometry_of
from grader.ptx.native import engine
from tests.ptx.random_kernels import Program
from tests.ptx.running import Bytes, run

HEAD = 'extern "C" __global__ void k(const float* a, float* b, int n) {\n'
KERNELS = {
    "guard and stencil": HEAD + "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i] * 2 + a[i + 1]; else if (i < n) b[i] = a[i]; }",
    "tree": HEAD + "__shared__ float s[96]; int t = threadIdx.x; s[t] = a[t] + blockIdx.x; __syncthreads();\n"
    "for (int d = 48; d >= 3; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }\n"
    "if (t == 0) b[blockIdx.x] = s[0] + s[1] + s[2]; }",
    "tree without its barriers": HEAD + "__shared__ float s[96]; int t = threadIdx.x; s[t] = a[t];\n"
    "for (int d = 48; d >= 3; d /= 2) if (t < d) s[t] += s[t + d];\nb[blockIdx.x * 96 + t] = s[t]; }",
    "columns": HEAD + "__shared__ float s[32][32]; int t = threadIdx.x;\n"
    "s[t % 32][t / 32] = a[t]; __syncthreads(); b[blockIdx.x * 96 + t] = s[t / 32][t % 32]; }",
    "past the end": HEAD + "int i = blockIdx.x * 96 + threadIdx.x; b[i + 2] = a[i * 2]; if (i % 7 == 3) b[0] = i; }",
    "written twice": HEAD + "int i = blockIdx.x * 96 + threadIdx.x; b[i] = i; b[i ^ 1] = a[i % 5]; }",
    "written twice, apart": HEAD + "int i = blockIdx.x * 48 + threadIdx.x / 2; if (threadIdx.x % 2) b[i] = i;\n"
    "else b[i + 300] = a[i]; if (blockIdx.x == 2 && threadIdx.x < 4) b[threadIdx.x] = 1; }",
    "read after it was written": HEAD + "int i = blockIdx.x * 96 + threadIdx.x; b[i] = i; b[i + 300] = b[i ^ n]; }",
    "votes": HEAD + "int i = threadIdx.x; unsigned m = __ballot_sync(~0u, i % 3 == 0);\n"
    "if (i % 3 == 0) b[i] = __popc(__activemask()) + m % 8; for (int k = 0; k < i % 4; ++k) b[i] += a[k]; }",
    "dozens of shifts": HEAD + "int i = blockIdx.x * 96 + threadIdx.x; float s = 0;\n"
    "#pragma unroll 1\nfor (int k = 0; k < 200; ++k) s += a[(i * k + k) % 288]; b[i] = s; }",
}
INPUT = np.arange(288, dtype=np.float32)


def _outcome(source: str) -> dict[str, Any]:
    launched = run(source, 3, 96, INPUT, Bytes(4 * 600), 288)
    return asdict(launched.report) | {"memory": launched[1].tobytes()}


def test_results_counters_and_hazards_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as alone:
        alone.setattr(affine, "KEPT_SHAPES", 0)
        expected = {name: _outcome(source) for name, source in KERNELS.items()}
        assert not affine._kept
    assert sum(bool(outcome["hazards"]) for outcome in expected.values()) >= 4
    for _ in range(3):
        for name, source in KERNELS.items():
            assert _outcome(source) == expected[name], name
    assert affine._kept


@pytest.mark.parametrize("block", [96, 50])
def test_parts_of_one_grid_stay_what_they_are(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    # Nobody watches, and two blocks run at a time: the next two find what the first have found out.
    def outcome(source: str) -> dict[str, Any]:
        launched = run(source, 4, block, INPUT, Bytes(4 * 600), 288, observe=False)
        return asdict(launched.report) | {"memory": launched[1].tobytes()}

    launching = sys.modules["grader.ptx.launch"]
    monkeypatch.setattr(engine, "FEW_LANES", -1)
    monkeypatch.setattr(launching, "side_by_side", lambda *_, **__: 2)
    with monkeypatch.context() as alone:
        alone.setattr(affine, "KEPT_SHAPES", 0)
        expected = {name: outcome(source) for name, source in KERNELS.items()}
    affine._kept.clear()
    for name, source in KERNELS.items():
        assert outcome(source) == expected[name], name
    assert any(known.is_shared for known in affine._kept.values())


@pytest.mark.parametrize("seed", range(60, 75))
def test_random_kernels_stay_what_they_are(seed: int) -> None:
    program = Program(seed)
    a = np.random.default_rng(seed).integers(0, 1 << 32, 64).astype(np.uint32)
    for _ in range(3):
        result = run(program.source, 2, program.threads, a, np.zeros(2 * program.threads, np.uint32))
        assert result[1].tolist() == program.expected(2, a.tolist()), program.source
        assert result.hazards == [], program.source


def test_launches_of_many_shapes_run_side_by_side() -> None:
    """Shapes are kept for the next launch by every thread; none may look at them while another drops one."""
    every_us = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def launch_all(seed: int) -> bool:
        shapes = np.random.default_rng(seed).permutation(np.arange(1, 400)).tolist()
        return all(geometry_forgotten((width, 1, 1)) for width in shapes)

    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(launch_all, range(8)))
    finally:
        sys.setswitchinterval(every_us)


def geometry_forgotten(block: tuple[int, int, int]) -> bool:
    """Whether the geometry of a launch is its own, and that of the block asked for, until it is given back."""
    geometry = geometry_of(block, 1, 0, (1, 1, 1))
    is_right = geometry.layout.block == block
    geometry.forget()
    return is_right
