"""Checks that any lab may ask for, of what was executed: small labs, right and wrong solutions, exact verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.errors import FileError
from tests.grading.function_labs import (
    ATOMIC_SUM,
    FUNCTION,
    KERNEL,
    SCAN_ORACLE,
    SHARED_SUM,
    SHUFFLE_SUM,
    judged,
    lab_of,
    line_of,
)

IN_STREAM = SHUFFLE_SUM.replace(
    "{ add<<<(n + 255) / 256, 256>>>(in, out, n); }",
    "{\n    cudaStream_t s;\n    cudaStreamCreate(&s);\n    add<<<(n + 255) / 256, 256, 0, s>>>(in, out, n);\n"
    "    cudaStreamSynchronize(s);\n    cudaStreamDestroy(s);\n}",
)
DECOY = ATOMIC_SUM.replace(
    "    if (i < n)\n",
    "    __shared__ float s[32];\n    if (n < 0)\n        s[i] = in[i], out[1] = s[n];\n    if (i < n)\n",
)
THRUST_SUM = """#include <thrust/device_ptr.h>
#include <thrust/reduce.h>
__global__ void put(float *out, float sum) { *out = sum; }
void solve(const float *in, float *out, int n)
{
    thrust::device_ptr<const float> first(in);
    float sum = thrust::reduce(first, first + n);
    put<<<1, 1>>>(out, sum);
}
"""


@pytest.mark.parametrize(
    ("text", "must", "must_not", "words", "at"),
    [
        (SHUFFLE_SUM, ["shuffles", "float_atomics"], ["shared_memory", "several_launches", "streams"], [], ""),
        (SHARED_SUM, ["shared_memory", "several_launches"], ["shuffles", "atomics"], [], ""),
        (SHARED_SUM, ["shuffles"], [], ["asks for: warp shuffles"], ""),
        (DECOY, ["shared_memory"], [], ["asks for: shared memory"], ""),
        (ATOMIC_SUM, [], ["float_atomics"], ["Line 5", "atomic operations on floating-point numbers"], "atomicAdd"),
        (SHARED_SUM, [], ["several_launches"], ["more than one launch"], "parts<<<1"),
        (IN_STREAM, ["streams"], [], [], ""),
        (IN_STREAM, [], ["streams"], ["streams other than the default one"], "0, s>>>"),
        pytest.param(THRUST_SUM, [], ["library"], ["a library"], "thrust::reduce(", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_uses(tmp_path: Path, text: str, must: list[str], must_not: list[str], words: list[str], at: str) -> None:
    lab = lab_of(tmp_path, {"uses": {"points": 100, "must": must, "must_not": must_not}})
    check = judged(tmp_path, lab, text, "uses")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(text, at) if at else None)
    assert all(word in check.message for word in words), check.message


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        (SHUFFLE_SUM, {"max_lanes": 1, "max_global": "1 / 32"}, []),
        (SHUFFLE_SUM, {"max_global": "1 / 256"}, ["on global memory per element: now 0.0312, needed at most 0.0039"]),
        (ATOMIC_SUM, {"max_lanes": 4}, ["in line 5: now 32, needed at most 4"]),
        (ATOMIC_SUM, {"max_global": 0.5}, ["on global memory per element: now 1, needed at most 0.5"]),
        (ATOMIC_SUM, {"max_shared": 0.5}, []),
    ],
)
def test_atomics(tmp_path: Path, text: str, settings: dict[str, Any], words: list[str]) -> None:
    lab = lab_of(tmp_path, {"atomics": {"points": 100, **settings}})
    check = judged(tmp_path, lab, text, "atomics")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(text, "atomicAdd") if words else None)
    assert all(word in check.message for word in words), check.message


@pytest.mark.parametrize(("own", "words"), [(SHUFFLE_SUM, "a right one has 1, "), (ATOMIC_SUM, "")])
def test_what_a_right_one_has(tmp_path: Path, own: str, words: str) -> None:
    lab = lab_of(tmp_path, {"atomics": {"points": 100, "max_lanes": 4}})
    lab.variants[0].reference.file.write_text(own, "utf-8")
    check = judged(tmp_path, lab, ATOMIC_SUM, "atomics", repairs=True)
    assert f"now 32, {words}needed at most 4 (" in check.message


BINS = """__global__ void solve(const float *in, float *out, int n)
{
    __shared__ int bins[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[(int)(in[i] * 256) PICKED], 1);
    __syncthreads();
    out[i] = bins[threadIdx.x % 2];
}
"""
BINS_ORACLE = (
    SCAN_ORACLE.split("def expected", maxsplit=1)[0]
    + """
def expected(inputs, sizes):
    bins = (inputs["in"] * 256).astype(int).reshape(-1, 256) PICKED
    counts = np.stack([(bins == b).sum(axis=1) for b in (0, 1)], axis=1)
    return {"out": np.tile(counts, (1, 128)).reshape(-1).astype(np.float32)}
"""
)


@pytest.mark.parametrize(("bins", "is_good"), [("% 64", True), ("% 2", False)])
def test_atomics_on_shared_memory_of_a_kernel(tmp_path: Path, bins: str, is_good: bool) -> None:
    checks = {"atomics": {"points": 100, "max_lanes": 8, "max_global": 0, "max_shared": 1}}
    lab = lab_of(tmp_path, checks, BINS_ORACLE.replace("PICKED", bins), KERNEL)
    text = BINS.replace("PICKED", bins)
    check = judged(tmp_path, lab, text, "atomics")
    assert (check.status, check.line) == (("pass", None) if is_good else ("fail", line_of(text, "atomicAdd")))
    assert (check.data["global_per_element"], check.data["shared_per_element"]) == (0, 1)


BRANCHES = """__global__ void solve(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    if (PICKED)
        for (int k = 0; k < 64; k++)
            x = x * in[(i + k) % n] + 0.5f;
    out[i] = x;
}
"""
BRANCHES_ORACLE = (
    SCAN_ORACLE.split("def expected", maxsplit=1)[0]
    + """
def expected(inputs, sizes):
    i = np.arange(sizes["n"])
    x = inputs["in"].copy()
    for k in range(64):
        x = np.where(PICKED, x * inputs["in"][(i + k) % sizes["n"]] + np.float32(0.5), x).astype(np.float32)
    return {"out": x}
"""
)


@pytest.mark.parametrize(("picked", "is_good"), [("i / 32 % 2 == 0", True), ("i % 2 == 0", False)])
def test_divergence_of_a_kernel(tmp_path: Path, picked: str, is_good: bool) -> None:
    oracle = BRANCHES_ORACLE.replace("PICKED", picked.replace(" / ", " // "))
    lab = lab_of(
        tmp_path, {"divergence": {"points": 100, "max_idle": 0.1}}, oracle, KERNEL, **{"absolute: 0": "absolute: 1e-4"}
    )
    text = BRANCHES.replace("PICKED", picked)
    check = judged(tmp_path, lab, text, "divergence")
    if is_good:
        assert (check.status, check.data["idle"]) == ("pass", 0)
        return
    assert (check.status, check.line) == ("fail", line_of(text, "x * in"))
    assert "of 32 lanes 16 execute it together" in check.message
    assert check.data["idle"] == pytest.approx(0.5, abs=0.05)


SCAN_STEPS = """__global__ void step(const float *in, float *out, int n, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = i < d ? in[i] : in[i] + in[i - d];
}
void solve(const float *in, float *out, int n)
{
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, in, n * sizeof(float), cudaMemcpyDeviceToDevice);
    for (int d = 1; d < n; d *= 2) {
        step<<<(n + 255) / 256, 256>>>(a, b, n, d);
        float *t = a; a = b; b = t;
    }
    cudaMemcpy(out, a, n * sizeof(float), cudaMemcpyDeviceToDevice);
    cudaFree(a);
    cudaFree(b);
}
"""
SCAN_CHUNKS = """__global__ void scan(const float *in, float *out, int n)
{
    __shared__ float s[128];
    int t = threadIdx.x, each = (n + 127) / 128;
    float sum = 0;
    for (int i = t * each; i < n && i < (t + 1) * each; i++)
        sum += in[i];
    s[t] = sum;
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        float left = t < d ? 0 : s[t - d];
        __syncthreads();
        s[t] += left;
    }
    __syncthreads();
    sum = t == 0 ? 0 : s[t - 1];
    for (int i = t * each; i < n && i < (t + 1) * each; i++)
        out[i] = sum += in[i];
}
void solve(const float *in, float *out, int n) { scan<<<1, 128>>>(in, out, n); }
"""


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        (SCAN_CHUNKS, {"max_per_element": 3, "growth": "n"}, []),
        # 11 steps at n = 2048, in which all but the first 1, 2, 4, … elements are added: (11·2048 − 2047) / 2048.
        (SCAN_STEPS, {"max_per_element": 3}, ["additions per element: now 10, needed at most 3 (n = 2048)"]),
        (SCAN_STEPS, {"growth": "n"}, ["at n = 2048 as at n = 256: now 11", "needed at most 8.8"]),
        (SCAN_STEPS, {"growth": "n * log2(n)"}, []),
        (SCAN_STEPS, {"max_per_element": "log2(n)"}, []),
        (SCAN_STEPS, {"of": "instructions", "max_per_element": 20}, ["instructions per element"]),
    ],
)  # fmt: skip
def test_work(tmp_path: Path, text: str, settings: dict[str, Any], words: list[str]) -> None:
    lab = lab_of(tmp_path, {"work": {"points": 100, **settings}}, SCAN_ORACLE)
    check = judged(tmp_path, lab, text, "work")
    assert check.status == ("fail" if words else "pass"), check.message
    assert all(word in check.message for word in words), check.message
    if words and settings.get("of") is None:
        assert check.line == line_of(text, "in[i - d]")


@pytest.mark.parametrize(
    ("checks", "template", "at", "words"),
    [
        ({"uses": {"points": 100}}, FUNCTION, "uses", ["asks for nothing", "must, must_not"]),
        ({"uses": {"points": 100, "must": ["magic"]}}, FUNCTION, "uses.must", ["magic"]),
        (
            {"uses": {"points": 100, "must": ["atomics"], "must_not": ["atomics"]}},
            FUNCTION,
            "uses",
            ["atomics", "both"],
        ),
        ({"uses": {"points": 100, "must": ["streams"]}}, KERNEL, "uses", ["streams", "the grader makes"]),
        ({"divergence": {"points": 100}}, KERNEL, "divergence", ["max_idle"]),
        ({"divergence": {"points": 100, "max_idle": 30}}, KERNEL, "divergence.max_idle", ["0 to 1", "30"]),
        (
            {"divergence": {"points": 100, "max_idle": 0.3, "unless_below": "m"}},
            KERNEL,
            "divergence.unless_below",
            ["'m'", "allowed: n"],
        ),
        ({"work": {"points": 100}}, KERNEL, "work", ["max_per_element, growth"]),
        ({"work": {"points": 100, "growth": "m"}}, KERNEL, "work.growth", ["'m'", "allowed: n"]),
        ({"work": {"points": 100, "growth": "7"}}, KERNEL, "work.growth", ["different values", "'7'"]),
        ({"work": {"points": 100, "max_per_element": "1 / (n - 256)"}}, KERNEL, "work.max_per_element", ["no value"]),
        ({"work": {"points": 100, "max_per_element": -1}}, KERNEL, "work.max_per_element", ["from 0 on", "-1"]),
        ({"work": {"points": 100, "growth": "n", "slack": 0.5}}, KERNEL, "work.slack", ["at least 1", "0.5"]),
        ({"atomics": {"points": 100}}, KERNEL, "atomics", ["asks for nothing", "max_lanes, max_global, max_shared"]),
        ({"atomics": {"points": 100, "max_lanes": 32}}, KERNEL, "atomics.max_lanes", ["1 to 31", "32"]),
        ({"atomics": {"points": 100, "max_global": "k / 2"}}, KERNEL, "atomics.max_global", ["'k'"]),
        ({"occupancy": {"points": 100, "min_share": 0.5}}, KERNEL, "occupancy", ["device"]),
        (
            {"occupancy": {"points": 100, "min_share": 0.5, "device": "k80"}},
            KERNEL,
            "occupancy.device",
            ["k80", "h100"],
        ),
        ({"occupancy": {"points": 100, "min_share": 0, "device": "t4"}}, KERNEL, "occupancy.min_share", ["> 0"]),
        ({"launches": {"points": 100}}, FUNCTION, "launches", ["asks for nothing", "max_launches"]),
        ({"launches": {"points": 100, "max_waits": 1}}, KERNEL, "launches", ["another `interface`"]),
        ({"launches": {"points": 100, "max_copied": "n -"}}, FUNCTION, "launches.max_copied", ["'n -'"]),
        ({"overlap": {"points": 100, "min_share": 1.5}}, FUNCTION, "overlap.min_share", ["0 to 1", "1.5"]),
        ({"overlap": {"points": 100, "min_share": 0}}, FUNCTION, "overlap.min_share", ["min_share > 0"]),
        ({"overlap": {"points": 100, "min_share": 0.5}}, KERNEL, "overlap", ["another `interface`"]),
        ({"deterministic": {"points": 100, "runs": 3}}, KERNEL, "deterministic.runs", ["unknown key"]),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    tmp_path: Path, checks: dict[str, Any], template: str, at: str, words: list[str]
) -> None:
    with pytest.raises(FileError) as caught:
        lab_of(tmp_path, checks, template=template)
    for word in (f"variants.solve.checks.{at}", *words):
        assert word in str(caught.value), str(caught.value)
