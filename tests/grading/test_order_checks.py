"""The checks of what the host asked for and of what devices hold: launches, order, determinism, occupancy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from grader.lab.checks import Device
from grader.programs.runtime.devices import MODELS, model_of
from grader.running.reordered import fit
from tests.grading.function_labs import (
    ATOMIC_SUM,
    COPIES,
    FUNCTION,
    IN_PARTS,
    KERNEL,
    PAGEABLE,
    SCAN_ORACLE,
    SHARED_SUM,
    SHUFFLE_SUM,
    judged,
    lab_of,
    line_of,
)

ON_HOST = {"memory: device": "memory: host"}
TWICE_ORACLE = SCAN_ORACLE.replace("np.cumsum(", "np.multiply(2, ")


@pytest.mark.parametrize(
    ("settings", "words", "at"),
    [
        ({"max_launches": 1, "max_allocated": "8 * n", "max_copied": "8 * n", "max_waits": 1}, [], ""),
        ({"max_allocated": "4 * n"}, ["Bytes allocated in one call: now 16384, needed at most 8192"], "&a"),
        (
            {"max_copied": 10000},
            ["between host and device in one call: now 16384, needed at most 10000"],
            "HostToDevice",
        ),
        ({"max_waits": 0}, ["waits in one call: now 1, needed at most 0"], "Synchronize"),
        (
            {"max_waits": 0, "max_launches": 0},
            ["Launches in one call: now 1, needed at most 0", "waits in one call"],
            "twice<<<",
        ),
    ],
)
def test_launches(tmp_path: Path, settings: dict[str, Any], words: list[str], at: str) -> None:
    lab = lab_of(tmp_path, {"launches": {"points": 100, **settings}}, TWICE_ORACLE, **ON_HOST)
    check = judged(tmp_path, lab, COPIES, "launches")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(COPIES, at) if at else None)
    assert all(word in check.message for word in words), check.message
    assert check.data == {"launches": 1, "allocated": 16384, "copied": 16384, "waits": 1}


ONE_STREAM = (
    IN_PARTS.replace("s[k]>>>", "s[0]>>>").replace("Host, s[k]", "Host, s[0]").replace("Device, s[k]", "Device, s[0]")
)
WAITING = IN_PARTS.replace("Host, s[k]);", "Host, s[k]);\n        cudaStreamSynchronize(s[k]);")
BLOCKING = IN_PARTS.replace(
    "Async(a + i, in + i, bytes, cudaMemcpyHostToDevice, s[k]", "(a + i, in + i, bytes, cudaMemcpyHostToDevice"
)


@pytest.mark.parametrize(
    ("text", "settings", "share", "hint", "at"),
    [
        (IN_PARTS, {"min_share": 0.9}, 1, "", ""),
        (IN_PARTS, {"min_share": 1, "of": "kernels"}, 1, "", ""),
        (COPIES, {"min_share": 0.5}, 0, "pageable", "HostToDevice"),
        (COPIES, {"min_share": 0.5, "of": "kernels"}, 0, "in different streams", "twice<<<"),
        (PAGEABLE, {"min_share": 0.5}, 0, "pageable", "HostToDevice"),
        (ONE_STREAM, {"min_share": 0.5}, 0, "with a stream for each", "HostToDevice"),
        (WAITING, {"min_share": 0.5}, 0, "with a stream for each", "HostToDevice"),
        (BLOCKING, {"min_share": 0.9}, 0, "cudaMemcpy() in line", "HostToDevice"),
    ],
)
def test_overlap(tmp_path: Path, text: str, settings: dict[str, Any], share: float, hint: str, at: str) -> None:
    lab = lab_of(tmp_path, {"overlap": {"points": 100, **settings}}, TWICE_ORACLE, **ON_HOST)
    check = judged(tmp_path, lab, text, "overlap")
    assert (check.status, check.data["share"]) == ("fail" if hint else "pass", share), check.message
    assert (check.line, hint in check.hint) == (line_of(text, at) if at else None, True), check.hint


PROGRAM = FUNCTION.replace("interface: function", "interface: program").replace(
    "signature: 'void solve(const float *in, float *out, int n)'\nmemory: device\n", 'stdin: "{{n}}\\n{{in}}\\n"\n'
)
WHOLE = (
    COPIES.replace("__global__", "#include <cstdio>\n#include <vector>\n__global__")
    + """int main()
{
    int n;
    scanf("%d", &n);
    std::vector<float> x(n);
    for (int i = 0; i < n; i++)
        scanf("%f", &x[i]);
    solve(x.data(), x.data(), n);
    for (int i = 0; i < n; i++)
        printf("%.9g\\n", x[i]);
}
"""
)


@pytest.mark.parametrize(
    ("checks", "fails", "at"),
    [
        ({"launches": {"max_launches": 1, "max_copied": "8 * n"}, "uses": {"must_not": ["atomics"]}}, False, ""),
        ({"launches": {"max_copied": "4 * n"}}, True, "HostToDevice"),
        ({"overlap": {"min_share": 0.5}}, True, "HostToDevice"),
        ({"occupancy": {"min_share": 1, "device": "t4"}, "work": {"of": "instructions", "growth": "n"}}, False, ""),
    ],
)
def test_of_a_program(tmp_path: Path, checks: dict[str, Any], fails: bool, at: str) -> None:
    pointed = {name: {"points": 100 / len(checks), **settings} for name, settings in checks.items()}
    output = "kind: output, shape: [n]"
    lab = lab_of(tmp_path, pointed, TWICE_ORACLE, PROGRAM, **{output: f"{output}, file: stdout", "[n], }": "[n]}"})
    for name in checks:
        check = judged(tmp_path, lab, WHOLE, name)
        assert (check.status, check.line) == (("fail", line_of(WHOLE, at)) if fails else ("pass", None)), check.message


LAST_WINS = (
    SHARED_SUM.replace(
        "    if (t == 0)\n        out[blockIdx.x] = s[0];\n",
        "    if (t == 0) {\n        out[blockIdx.x] = s[0];\n        if (gridDim.x > 1)\n"
        "            atomicExch((int *)out + gridDim.x, blockIdx.x);\n    }\n",
    )
    .replace("blocks * sizeof(float)", "(blocks + 1) * sizeof(float)")
    .replace("parts<<<1, 256>>>(sums, out, blocks);", "last<<<1, 1>>>(sums, out, blocks);")
    .replace(
        "void solve",
        """__global__ void last(const float *sums, float *out, int blocks)
{
    float sum = 0;
    for (int i = 0; i < blocks; i++)
        sum += sums[(i + (blocks > 1 ? ((const int *)sums)[blocks] : 0)) % blocks];
    *out = sum;
}
void solve""",
    )
)


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        (SHARED_SUM, [], ""),
        (ATOMIC_SUM, ["out[0] is"], "atomicAdd"),
        (SHUFFLE_SUM, ["out[0] is"], "atomicAdd"),
        (LAST_WINS, ["out[0] is"], ""),
    ],
)
def test_deterministic(tmp_path: Path, text: str, words: list[str], at: str) -> None:
    lab = lab_of(tmp_path, {"deterministic": 100})
    check = judged(tmp_path, lab, text, "deterministic")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(text, at) if at else None)
    assert all(word in check.message for word in words), check.message
    if at == "atomicAdd":
        assert f"line {check.line}" in check.hint


BLOCK_SUMS_ORACLE = SCAN_ORACLE.replace("np.cumsum(", "np.repeat(np.add.reduceat(").replace(
    ", dtype=np.float64)", ', range(0, sizes["n"], 256), dtype=np.float64), 256)'
)
BLOCK_SUMS = """__global__ void solve(const float *in, float *out, int n)
{
    __shared__ float s[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 2)
        s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[0], in[i]);
    __syncthreads();
    out[i] = s[0];
}
"""


@pytest.mark.parametrize("is_good", [True, False])
def test_deterministic_of_a_kernel(tmp_path: Path, is_good: bool) -> None:
    lab = lab_of(tmp_path, {"deterministic": 100}, BLOCK_SUMS_ORACLE, KERNEL)
    exact = "for (int k = 0; threadIdx.x == 0 && k < 256; k++)\n        s[0] += in[i + k];"
    text = BLOCK_SUMS.replace("atomicAdd(&s[0], in[i]);", exact) if is_good else BLOCK_SUMS
    check = judged(tmp_path, lab, text, "deterministic")
    assert (check.status, check.line) == (("pass", None) if is_good else ("fail", line_of(text, "atomicAdd")))
    assert ("3 orders" if is_good else "elements differ") in check.message


def test_the_devices_of_occupancy_are_those_that_programs_can_run_on() -> None:
    assert get_args(Device) == MODELS


@pytest.mark.parametrize(
    ("device", "threads", "registers", "shared_bytes", "blocks", "limit"),
    [
        # By the tables of the CUDA C++ Programming Guide: 64 warps, 32 blocks, 64 Ki registers, 228 KB on an H100.
        ("h100", 32, 16, 0, 32, "blocks"),
        ("h100", 256, 32, 0, 8, "threads"),
        ("h100", 1024, 32, 0, 2, "threads"),
        ("h100", 768, 32, 0, 2, "threads"),
        # 33 registers a thread are 1056 a warp, rounded up to 1280: 12 warps in each quarter of 16384.
        ("h100", 256, 33, 0, 6, "registers"),
        ("h100", 1024, 65, 0, 0, "registers"),
        # 48 KB and 1 KB of the system's: 4 times in 228 KB.
        ("h100", 256, 32, 48 * 1024, 4, "shared"),
        ("t4", 256, 32, 48 * 1024, 1, "shared"),
        ("t4", 64, 32, 0, 16, "threads"),
        ("rtx3060", 1024, 32, 0, 1, "threads"),
        ("rtx3060", 64, 32, 0, 16, "blocks"),
        ("rtx4090", 64, 32, 0, 24, "threads"),
        ("a100", 128, 40, 0, 12, "registers"),
    ],
)
def test_blocks_that_fit(device: str, threads: int, registers: int, shared_bytes: int, blocks: int, limit: str) -> None:
    found = fit(model_of(device), threads, registers, shared_bytes)
    assert (found.blocks, found.limit) == (blocks, limit)


TEMPLATE_SUM = SHARED_SUM.replace("__global__", "template <int N> __global__").replace("parts<<<", "parts<256><<<")


@pytest.mark.parametrize(
    ("text", "settings", "status", "data", "at"),
    [
        (SHARED_SUM, {"min_share": 1}, "pass", {"share": 1, "blocks": 8, "limit": "threads"}, ""),
        (TEMPLATE_SUM, {"min_share": 1}, "pass", {"share": 1, "blocks": 8, "limit": "threads"}, ""),
        (ATOMIC_SUM.replace("256", "32").replace("255", "31"), {"min_share": 0.75}, "fail",
         {"share": 0.5, "blocks": 32, "limit": "blocks"}, "add<<<"),
        (ATOMIC_SUM.replace("256>>>", "256, 40000>>>"), {"min_share": 0.75}, "fail",
         {"share": 0.625, "blocks": 5, "limit": "shared", "shared_bytes": 40000}, "add<<<"),
    ],
)  # fmt: skip
def test_occupancy(
    tmp_path: Path, text: str, settings: dict[str, Any], status: str, data: dict[str, Any], at: str
) -> None:
    lab = lab_of(tmp_path, {"occupancy": {"points": 100, "device": "h100", **settings}})
    check = judged(tmp_path, lab, text, "occupancy")
    assert (check.status, check.line) == (status, line_of(text, at) if at else None), check.message
    assert check.data | data == check.data


MANY_VALUES = """__global__ void solve(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[96];
    for (int k = 0; k < 96; k++)
        x[k] = in[(i + k) % n];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 96; k++)
        sum += x[k] * x[95 - k] * 0;
    out[i] = 2 * in[i] + sum;
}
"""


@pytest.mark.parametrize("is_good", [True, False])
def test_occupancy_of_a_kernel(tmp_path: Path, is_good: bool) -> None:
    checks = {"occupancy": {"points": 100, "device": "t4", "min_share": 0.75}}
    lab = lab_of(tmp_path, checks, TWICE_ORACLE, KERNEL)
    text = MANY_VALUES.replace("96", "2").replace("95", "1") if is_good else MANY_VALUES
    check = judged(tmp_path, lab, text, "occupancy")
    assert (check.status, check.line) == (("pass", None) if is_good else ("fail", 1)), check.message
    assert check.data["limit"] == ("threads" if is_good else "registers")
