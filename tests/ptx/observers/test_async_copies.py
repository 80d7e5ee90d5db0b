"""Copies that are given to a barrier in shared memory: they have come for whoever waits there, and for nobody else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ptx.running import Run, run

SOURCE = """
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int s[64];
    __shared__ unsigned long long barrier;
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(&barrier), to = __cvta_generic_to_shared(&s[t]), over = 0;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" ::"r"(b) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory");
    asm volatile("cp.async.mbarrier.arriveNOINC.shared.b64 [%0];" ::"r"(b) : "memory");
    ARRIVE
    WAIT
    out[t] = s[63 - t];
}
"""
ARRIVE = 'asm volatile("{.reg .b64 %%s; mbarrier.arrive.shared.b64 %%s, [%0];}" ::"r"(b) : "memory");'
WAIT = """while (!over)
        asm volatile("{.reg .pred %%p; mbarrier.test_wait.parity.shared.b64 %%p, [%1], 0; selp.u32 %0, 1, 0, %%p;}"
                     : "=r"(over) : "r"(b) : "memory");"""
COPY_LINE = 10


def launched(count: int, noinc: str, arrive: str, wait: str) -> Run:
    text = SOURCE.replace("COUNT", str(count)).replace("NOINC", noinc).replace("ARRIVE", arrive).replace("WAIT", wait)
    return run(text, 1, 64, np.arange(100, 164, dtype=np.int32), np.zeros(64, np.int32))


@pytest.mark.parametrize(("noinc", "arrive"), [(".noinc", ""), ("", ARRIVE)])
def test_who_waits_finds_the_copies(noinc: str, arrive: str) -> None:
    launch = launched(64, noinc, arrive, WAIT)
    assert launch.kinds() == []
    assert launch[1].tolist() == list(range(163, 99, -1))


@pytest.mark.parametrize(("noinc", "arrive"), [(".noinc", ""), ("", ARRIVE)])
def test_who_does_not_wait_reads_what_is_still_being_copied(noinc: str, arrive: str) -> None:
    found = launched(64, noinc, arrive, "__syncthreads();").hazards
    assert {(h.kind, h.detail, h.other_line) for h in found} == {("race", "unfinished_copy", COPY_LINE)}
    assert not any(h.kind == "uninitialized" for h in found)
