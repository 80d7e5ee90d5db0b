"""`__syncwarp(mask)` orders whom it names and nobody else; barriers for so many threads let just so many go."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ptx.running import run

HEAD = (
    'extern "C" __global__ void k(const int* in, int* out) {\n__shared__ int s[64]; int t = threadIdx.x, l = t & 31;\n'
)
FINE = {
    "half a warp by itself": "unsigned m = 0xffffu << (l & 16); s[t] = in[t]; __syncwarp(m); out[t] = s[t ^ 7];",
    "one half, in a branch of its own": "s[t] = in[t]; if (l < 16) { __syncwarp(0xffff); out[t] = s[t ^ 15]; }",
    "tiles, then the warp": "unsigned m = 0xffu << (t & 24); s[t] = in[t]; __syncwarp(m); int a = s[t ^ 5];\n"
    "__syncwarp(); s[t] = a; __syncwarp(m); out[t] = s[t ^ 3];",
    "from one to the next": "s[t] = in[t]; if (l < 20) __syncwarp(0xfffff); if (l >= 10) __syncwarp(0xfffffc00);\n"
    "out[t] = l >= 20 ? s[t - 20] : 1;",
    "a barrier in between": "unsigned m = 0xfu << (t & 28); s[t] = in[t]; __syncwarp(m); int a = s[t ^ 3];\n"
    "__syncthreads(); s[t ^ 16] = a; __syncwarp(m); __syncthreads(); out[t] = s[63 - t];",
    "those who are left": "if (l >= 20) return; s[t] = in[t]; __syncwarp(); out[t] = s[t ^ 1];",
    "a warp with few threads": "if (t >= 40) return; s[t] = in[t]; __syncwarp(); out[t] = s[t ^ 3];",
}
RACES = {
    "from tile to tile": "unsigned m = 0xffffu << (l & 16); s[t] = in[t]; __syncwarp(m); out[t] = s[t ^ 16];",
    "the other half does, before": "s[t] = in[t]; if (l < 16) out[t] = s[t ^ 15];\n"
    "else { __syncwarp(0xffff0000); out[t] = s[t ^ 7]; }",
    "the other half does, after": "s[t] = in[t]; if (l >= 16) { __syncwarp(0xffff0000); out[t] = s[t ^ 7]; }\n"
    "else out[t] = s[t ^ 15];",
    "from one to the next, the wrong way": "s[t] = in[t]; if (l >= 10) __syncwarp(0xfffffc00);\n"
    "if (l < 20) __syncwarp(0xfffff); out[t] = l >= 20 ? s[t - 20] : 1;",
    "written anew too early": "unsigned m = 0xffu << (t & 24); s[t] = in[t]; __syncwarp(m); int a = s[t ^ 5];\n"
    "s[t] = a; __syncwarp(m); out[t] = s[t ^ 3];",
    "a barrier for each warp": 's[t] = in[t]; asm volatile("bar.sync 1, 32;" ::: "memory"); out[t] = s[t ^ 32];',
}


@pytest.mark.parametrize("name", FINE)
def test_those_who_meet_are_in_order(name: str) -> None:
    result = run(HEAD + FINE[name] + " }", 1, 64, np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert result.hazards == []


@pytest.mark.parametrize("name", RACES)
def test_those_who_do_not_are_in_a_race(name: str) -> None:
    result = run(HEAD + RACES[name] + " }", 1, 64, np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert {(hazard.kind, hazard.detail, hazard.array) for hazard in result.hazards} == {("race", "read_write", "s")}


def test_a_barrier_for_a_warp_orders_each_warp() -> None:
    text = 's[t] = in[t]; asm volatile("bar.sync 1, 32;" ::: "memory"); out[t] = s[t ^ 5]; }'
    result = run(HEAD + text, 1, 64, np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert result.hazards == []
    assert result[1].tolist() == [t ^ 5 for t in range(64)]
