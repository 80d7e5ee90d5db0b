"""One launch on the device: results, faults, guard zones, limits."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from grader.gpu.session import GpuSession
from tests.gpu.conftest import Loader
from tests.gpu.requests import vector

DOUBLE = """
extern "C" __global__ void twice(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
"""

FAULTY = """
extern "C" __global__ void wild(const float *in, float *out, int n) { out[n * 1000000000ll] = 1; }
extern "C" __global__ void trap(const float *in, float *out, int n) { __trap(); }
extern "C" __global__ void odd(const float *in, float *out, int n) { *(double *)(out + 1) = 1; }
extern "C" __global__ void endless(const float *in, float *out, int n) { while (atomicAdd(out, 0.0f) != -1) ; }
extern "C" __global__ void beside(float *in, float *out, int n) { out[n] = 1; out[-1] = 1; }
extern "C" __global__ void changes(float *in, float *out, int n) { in[n - 1] = 0; out[0] = 1; }
extern "C" __global__ void peeks(const float *in, float *out, int n) { out[threadIdx.x] = in[n + threadIdx.x]; }
extern "C" __global__ void prints(const float *in, float *out, int n)
{
    for (int i = 0; i < 100000; i++) printf("line %d\\n", i);
}
extern "C" __global__ void shared(const float *in, float *out, int n)
{
    extern __shared__ float memory[];
    memory[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = memory[threadIdx.x];
}
"""
NAMES = ("wild", "trap", "odd", "endless", "beside", "changes", "peeks", "prints", "shared")


def test_a_right_kernel(session: GpuSession, load: Loader) -> None:
    load(DOUBLE, "twice")
    outcome = session.run("test", vector("twice", 1000, blocks=4))
    assert outcome.status == "ok"
    np.testing.assert_array_equal(outcome.outputs["out"], np.arange(2, 2002, 2, dtype=np.float32))
    assert list(outcome.outputs) == ["out"] and not outcome.hazards


def test_elements_that_nothing_wrote_hold_the_sentinel(session: GpuSession, load: Loader) -> None:
    load(DOUBLE, "twice")
    outcome = session.run("test", vector("twice", 1000, blocks=1))
    assert set(outcome.outputs["out"].view(np.uint32)[256:]) == {0xFFFFFFFF}


@pytest.mark.parametrize(
    ("entry", "reason"), [("wild", "illegal_address"), ("trap", "launch_failure"), ("odd", "misaligned_address")]
)
def test_a_fault_is_an_outcome_and_the_next_launch_runs(
    session: GpuSession, load: Loader, entry: str, reason: str
) -> None:
    load(FAULTY, *NAMES)
    outcome = session.run("test", vector(entry, 64))
    assert (outcome.status, outcome.reason) == ("fault", reason)
    assert session.run("test", vector("shared", 64, threads=64)).status in ("ok", "fault")
    load(DOUBLE, "twice", module="other")
    assert session.run("other", vector("twice", 64)).outputs["out"][63] == 128


def test_an_endless_kernel_is_killed_and_the_next_runs_at_once(
    session: GpuSession, load: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.gpu.session.RUN_LIMIT_S", 1.0)
    load(FAULTY, *NAMES)
    load(DOUBLE, "twice", module="other")
    began = time.monotonic()
    outcome = session.run("test", vector("endless", 64, threads=1))
    assert (outcome.status, outcome.reason) == ("fault", "time")
    assert session.run("other", vector("twice", 64)).status == "ok"
    assert time.monotonic() - began < 5


def test_writes_beside_an_array_are_seen(session: GpuSession, load: Loader) -> None:
    load(FAULTY, *NAMES)
    outcome = session.run("test", vector("beside", 64, threads=1))
    assert [(h.kind, h.array) for h in outcome.hazards] == [("out_of_bounds", "out")]


def test_a_changed_input_comes_back(session: GpuSession, load: Loader) -> None:
    load(FAULTY, *NAMES)
    outcome = session.run("test", vector("changes", 64, threads=1))
    assert outcome.outputs["in"][63] == 0 and outcome.outputs["in"][62] == 63


def test_nothing_stands_behind_an_array_but_the_guard(session: GpuSession, load: Loader) -> None:
    load(FAULTY, *NAMES)
    outcome = session.run("test", vector("peeks", 64, threads=64))
    assert set(outcome.outputs["out"].view(np.uint32)) == {0x5C5C5C5C}


def test_what_a_kernel_prints_is_capped(session: GpuSession, load: Loader) -> None:
    load(FAULTY, *NAMES)
    outcome = session.run("test", vector("prints", 64, threads=1))
    assert outcome.status == "ok" and 0 < len(outcome.printf) <= 4096 and "line " in outcome.printf
    assert session.run("test", vector("shared", 64, threads=64)).printf == ""


def test_dynamic_shared_memory_up_to_what_the_device_has(session: GpuSession, load: Loader) -> None:
    load(FAULTY, *NAMES)
    launch = vector("shared", 64, threads=64)
    most = session.device.shared_optin_bytes
    assert session.run("test", replace(launch, shared_bytes=most)).status == "ok"
    assert session.run("test", replace(launch, shared_bytes=most + 1)).status == "impossible"


def test_a_block_that_is_too_large_is_impossible(session: GpuSession, load: Loader) -> None:
    load(DOUBLE, "twice")
    assert session.run("test", vector("twice", 64, threads=1025)).status == "impossible"


def test_facts_of_a_kernel(session: GpuSession, load: Loader) -> None:
    result = load(FAULTY, *NAMES)
    _outcome, facts = session.run_with_facts("test", replace(vector("shared", 64, threads=64), shared_bytes=1024))
    assert facts is not None
    assert facts.registers == result.resources["shared"].registers
    assert facts.shared_bytes == 1024 and facts.local_bytes == 0
    assert facts.blocks_per_sm > 0 and 0 < facts.occupancy_pct <= 100
