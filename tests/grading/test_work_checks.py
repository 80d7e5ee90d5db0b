"""Checks that any lab may ask for, of what was executed: small labs, right and wrong solutions, exact verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from grader.errors import FileError
from grader.grading import pipeline
from grader.lab.checks import Device
from grader.lab.file import load
from grader.lab.records import Lab
from grader.programs.runtime.devices import MODELS, model_of
from grader.result import Check
from grader.running.occupancy import fit

SUM_ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": (rng.integers(1, 129, sizes["n"]) / 256).astype(np.float32)}
def expected(inputs, sizes):
    return {"out": np.array([inputs["in"].sum(dtype=np.float64)], np.float32)}
"""
SCAN_ORACLE = SUM_ORACLE.replace(
    'np.array([inputs["in"].sum(dtype=np.float64)], np.float32)',
    'np.cumsum(inputs["in"], dtype=np.float64).astype(np.float32)',
)
FUNCTION = """
title: {{en: Numbers, ru: Числа}}
aim: {{en: To try a check., ru: Испытать проверку.}}
reference: .
seed: 1
tolerance: {{absolute: 0, relative: 0}}
interface: function
signature: 'void solve(const float *in, float *out, int n)'
memory: device
parameters:
  in: {{kind: input, shape: [n]}}
  out: {{kind: output, shape: [{extent}]{initial}}}
  n: {{kind: size}}
sizes: {{emulator: {{correct: [{{n: 256}}], observe: {{n: 2048}}}}}}
variants: {{solve: {{title: {{en: solve, ru: solve}}, reference: solve.cu, checks: {checks}}}}}
"""
KERNEL = """
title: {{en: Numbers, ru: Числа}}
aim: {{en: To try a check., ru: Испытать проверку.}}
reference: .
seed: 1
tolerance: {{absolute: 0, relative: 0}}
parameters:
  in: {{kind: input, names: [in], dtype: float32, shape: [n]}}
  out: {{kind: output, names: [out], dtype: float32, shape: [n]}}
  n: {{kind: size, names: [n]}}
launch: {{block: [256], covers: [n]}}
sizes:
  emulator: {{correct: [{{n: 256}}], observe: {{n: 2048}}, probe: {{n: 256}}}}
  gpu: {{correct: [{{n: 256}}], observe: {{n: 2048}}, probe: {{n: 256}}}}
variants:
  solve:
    title: {{en: solve, ru: solve}}
    names: [solve]
    reference: {{file: solve.cu, kernel: solve, arguments: [in, out, n], block: [256], tile: [256]}}
    checks: {checks}
"""


def lab_of(
    folder: Path, checks: dict[str, Any], oracle: str = SUM_ORACLE, template: str = FUNCTION, **changes: str
) -> Lab:
    """A lab with these checks, in which texts of `template` are replaced."""
    folder = folder / "numbers"
    folder.mkdir(exist_ok=True)
    is_sum = oracle is SUM_ORACLE
    text = template.format(
        checks=json.dumps(checks), extent="1" if is_sum else "n", initial=", initial: 0" if is_sum else ""
    )
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "lab.yaml").write_text(text, "utf-8")
    (folder / "oracle.py").write_text(oracle, "utf-8")
    text = "__global__ void solve(const float *in, float *out, int n) {}\nint main() {}\n"
    (folder / "solve.cu").write_text(text, "utf-8")
    for language in ("en", "ru"):
        (folder / f"task.{language}.md").write_text("", "utf-8")
    return load(folder)


def judged(folder: Path, lab: Lab, text: str, check: str) -> Check:
    """The verdict on a solution that is right."""
    path = folder / "numbers.cu"
    path.write_text(text, "utf-8")
    checks = {found.check: found for found in pipeline.grade(path, lab, backend="emulator").checks}
    assert checks["correct"].status == "pass", checks["correct"].message
    return checks[check]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


ATOMIC_SUM = """__global__ void add(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, in[i]);
}
void solve(const float *in, float *out, int n) { add<<<(n + 255) / 256, 256>>>(in, out, n); }
"""
SHARED_SUM = """__global__ void parts(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
void solve(const float *in, float *out, int n)
{
    int blocks = (n + 255) / 256;
    float *sums;
    cudaMalloc(&sums, blocks * sizeof(float));
    parts<<<blocks, 256>>>(in, sums, n);
    parts<<<1, 256>>>(sums, out, blocks);
    cudaFree(sums);
}
"""
SHUFFLE_SUM = """__global__ void add(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_down_sync(0xffffffff, x, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, x);
}
void solve(const float *in, float *out, int n) { add<<<(n + 255) / 256, 256>>>(in, out, n); }
"""
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
        pytest.param(THRUST_SUM, [], ["library"], ["a library"], "", marks=pytest.mark.slow),
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
        (SHUFFLE_SUM, {"max_global": "1 / 256"}, ["on global memory per element: 0.0312, at most 0.0039"]),
        (ATOMIC_SUM, {"max_lanes": 4}, ["Line 5".lower(), "32 lanes", "at most 4"]),
        (ATOMIC_SUM, {"max_global": 0.5}, ["on global memory per element: 1, at most 0.5"]),
        (ATOMIC_SUM, {"max_shared": 0.5}, []),
    ],
)
def test_atomics(tmp_path: Path, text: str, settings: dict[str, Any], words: list[str]) -> None:
    lab = lab_of(tmp_path, {"atomics": {"points": 100, **settings}})
    check = judged(tmp_path, lab, text, "atomics")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(text, "atomicAdd") if words else None)
    assert all(word in check.message for word in words), check.message


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
        (SCAN_STEPS, {"max_per_element": 3}, ["additions per element: 10 (n = 2048)", "at most 3"]),
        (SCAN_STEPS, {"growth": "n"}, ["from n = 256 to n = 2048", "at most 8.8 times"]),
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


ON_HOST = {"memory: device": "memory: host"}
COPIES = """__global__ void twice(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2 * in[i];
}
void solve(const float *in, float *out, int n)
{
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, in, n * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<(n + 255) / 256, 256>>>(a, b, n);
    cudaDeviceSynchronize();
    cudaMemcpy(out, b, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
}
"""
TWICE_ORACLE = SCAN_ORACLE.replace("np.cumsum(", "np.multiply(2, ")


@pytest.mark.parametrize(
    ("settings", "words", "at"),
    [
        ({"max_launches": 1, "max_allocated": "8 * n", "max_copied": "8 * n", "max_waits": 1}, [], ""),
        ({"max_allocated": "4 * n"}, ["Bytes allocated in one call: 16384, at most 8192"], "&a"),
        ({"max_copied": 10000}, ["between host and device in one call: 16384, at most 10000"], "HostToDevice"),
        ({"max_waits": 0}, ["waits in one call: 1 times, at most 0"], "Synchronize"),
        ({"max_waits": 0, "max_launches": 0}, ["Launches in one call: 1, at most 0", "waits in one call"], "twice<<<"),
    ],
)
def test_launches(tmp_path: Path, settings: dict[str, Any], words: list[str], at: str) -> None:
    lab = lab_of(tmp_path, {"launches": {"points": 100, **settings}}, TWICE_ORACLE, **ON_HOST)
    check = judged(tmp_path, lab, COPIES, "launches")
    assert (check.status, check.line) == ("fail" if words else "pass", line_of(COPIES, at) if at else None)
    assert all(word in check.message for word in words), check.message
    assert check.data == {"launches": 1, "allocated": 16384, "copied": 16384, "waits": 1}


IN_PARTS = (
    COPIES.split("void solve", maxsplit=1)[0]
    + """void solve(const float *in, float *out, int n)
{
    float *a, *b;
    int part = n / 4;
    size_t bytes = part * sizeof(float);
    cudaStream_t s[4];
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaHostRegister((void *)in, n * sizeof(float), 0);
    cudaHostRegister(out, n * sizeof(float), 0);
    for (int k = 0; k < 4; k++)
        cudaStreamCreate(&s[k]);
    for (int k = 0; k < 4; k++) {
        int i = k * part;
        cudaMemcpyAsync(a + i, in + i, bytes, cudaMemcpyHostToDevice, s[k]);
        twice<<<(part + 63) / 64, 64, 0, s[k]>>>(a + i, b + i, part);
        cudaMemcpyAsync(out + i, b + i, bytes, cudaMemcpyDeviceToHost, s[k]);
    }
    cudaDeviceSynchronize();
    for (int k = 0; k < 4; k++)
        cudaStreamDestroy(s[k]);
    cudaHostUnregister((void *)in);
    cudaHostUnregister(out);
    cudaFree(a);
    cudaFree(b);
}
"""
)
PAGEABLE = "\n".join(line for line in IN_PARTS.splitlines() if "egister" not in line)
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
        ({"launches": {"points": 100, "max_waits": 1}}, KERNEL, "launches", ["unknown check"]),
        ({"launches": {"points": 100, "max_copied": "n -"}}, FUNCTION, "launches.max_copied", ["'n -'"]),
        ({"overlap": {"points": 100, "min_share": 1.5}}, FUNCTION, "overlap.min_share", ["0 to 1", "1.5"]),
        ({"overlap": {"points": 100, "min_share": 0}}, FUNCTION, "overlap.min_share", ["min_share > 0"]),
        ({"overlap": {"points": 100, "min_share": 0.5}}, KERNEL, "overlap", ["unknown check"]),
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
