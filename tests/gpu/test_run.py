"""`grade run` on a GPU: times of launches, copies and streams, and beside them what the emulator tells."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from grader.cli.main import run
from tests.programs.expected import PROGRAMS, expected_of, files_of

PIPELINE = r"""
#include <cstdio>
__global__ void work(float *a, int n, int rounds) {
    __shared__ float tile[32][32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float x = i < n ? a[i] : 0;
    for (int k = 0; k < rounds; k++) { tile[t % 32][t / 32] = x; __syncthreads(); x += tile[t % 32][0]; }
    if (i < n) a[i] = x;
}
int main(int argc, char **argv) {
    const int n = 1 << 22, parts = 4;
    float *d, *h;
    cudaMalloc(&d, n * sizeof(float)); cudaMallocHost(&h, n * sizeof(float));
    for (int i = 0; i < n; i++) h[i] = 1;
    work<<<4, 256>>>(d, 1024, 2);
    cudaStream_t s[2];
    for (auto &one : s) cudaStreamCreate(&one);
    for (int p = 0; p < parts; p++) {
        size_t at = (size_t)p * n / parts, bytes = n / parts * sizeof(float);
        cudaMemcpyAsync(d + at, h + at, bytes, cudaMemcpyHostToDevice, s[p % 2]);
        work<<<n / parts / 256, 256, 0, s[p % 2]>>>(d + at, n / parts, argc > 1 ? 200 : 20);
        cudaMemcpyAsync(h + at, d + at, bytes, cudaMemcpyDeviceToHost, s[p % 2]);
    }
    cudaDeviceSynchronize();
    printf("%s\n", h[n - 1] > 1 ? "done" : "nothing");
    cudaFree(d); cudaFreeHost(h);
}
"""


@pytest.fixture(autouse=True)
def no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "main.cu").write_text(PIPELINE, "utf-8")
    return ["run", str(tmp_path / "main.cu"), "--backend", "gpu", "--lang", "en"]


def test_copies_and_streams_have_real_times(program: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(program) == 0
    printed = capfd.readouterr()
    assert printed.out == "done\n"
    assert "\nTimeline: a row a stream, " in printed.err and "both at the same time " in printed.err
    assert run([*program, "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    steps = record["timeline"]
    assert [step["kind"] for step in steps] == ["kernel", *["copy_in", "kernel", "copy_out"] * 4]
    assert all(step["ended_us"] > step["began_us"] >= 0 for step in steps)
    for stream in (1, 2):
        own = [step for step in steps if step["stream"] == stream]
        assert len(own) == 6
        assert all(a["ended_us"] <= b["began_us"] + 1 for a, b in pairwise(own))
    copies = [step for step in steps if step["kind"] == "copy_in"]
    # Page-locked memory over PCI Express: 1 to 100 GB/s.
    assert all(1 < step["bytes"] / (step["ended_us"] - step["began_us"]) / 1e3 < 100 for step in copies)
    for launch, step in zip(record["launches"], [s for s in steps if s["kind"] == "kernel"], strict=True):
        assert launch["microseconds"] == pytest.approx(step["ended_us"] - step["began_us"], rel=0.01, abs=0.1)
    assert record["checked"] is None


def test_the_emulator_tells_counters_beside_times(program: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*program, "--check"]) == 0
    told = capfd.readouterr().err
    assert "32-way bank conflict" in told and "ran 5 of 5 launches" in told and "µs" in told
    assert run([*program, "--check", "--json", "--limit", "3e8", "--", "long"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["checked"] == 1 and record["check_ended"].startswith("What comes next is beyond")
    assert record["launches"][0]["counters"] and not record["launches"][1]["counters"]
    assert all(launch["microseconds"] for launch in record["launches"])
    # The first launch reads what nobody wrote, which the device does not tell.
    assert {finding["kind"] for finding in record["findings"]} >= {"uninitialized", "race"}


FAULT_AMONG_MANY = r"""
#include <cstdio>
__global__ void count(int *a, int by) { a[threadIdx.x] += by; }
__global__ void stray(int *a) { a[1ll << 40] = 1; }
int main() {
    int *a, h[32];
    cudaMalloc(&a, sizeof h);
    for (int i = 0; i < 2500; i++) count<<<1, 32>>>(a, i % 3);
    cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d\n", h[31]);
    for (int i = 0; i < 50; i++) {
        count<<<1, 32>>>(a, 1);
        if (i == 40) stray<<<1, 1>>>(a);
    }
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


def test_a_fault_among_queued_launches_is_told_at_its_launch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.cu").write_text(FAULT_AMONG_MANY, "utf-8")
    run(["run", str(tmp_path / "main.cu"), "--backend", "gpu", "--lang", "en", "--json"])
    record = json.loads(capfd.readouterr().out)
    assert record["stdout"] == "2499\ncudaErrorIllegalAddress\n"
    [message] = [finding["message"] for finding in record["findings"] if finding["kind"] == "fault"]
    assert "stray" in message


AGAIN = r"""
#include <cstdio>
#include <utility>
struct Two { float *a; int n; };
__global__ void step(const float *from, float *to, int n, float by) {
    int i = threadIdx.x;
    if (i < n) to[i] = from[i] + by;
}
__global__ void whole(Two two) { if (threadIdx.x < two.n) two.a[threadIdx.x] *= 2; }
__global__ void nothing(float *) {}
int main() {
    const int n = 32;
    float *a, *b, h[n] = {};
    cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    for (int i = 0; i < 8; i++) { step<<<1, n>>>(a, b, n, i * 0.5f); std::swap(a, b); }
    for (int i = 0; i < 4; i++) {
        whole<<<1, n>>>(Two{a, n});
        nothing<<<1, 32>>>(nullptr);
        nothing<<<1, 32>>>(b + i % 2);
    }
    for (int i = 0; i < 4; i++) {
        cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
        step<<<1, n>>>(a, b, n, i);
        step<<<1, n>>>(b, a, n, 1);
    }
    cudaStream_t s[2];
    for (auto &one : s) cudaStreamCreate(&one);
    for (int i = 0; i < 6; i++) {
        step<<<1, n, 0, s[i % 2]>>>(a, i % 2 ? a : b, n, 1);
        cudaStreamSynchronize(s[i % 2]);
    }
    cudaFree(b);
    cudaMalloc(&b, 2 * n * sizeof(float));
    for (int i = 0; i < 6; i++) step<<<1 + i / 3, n>>>(a, b, n, i);
    for (int i = 0; i < 3; i++) step<<<1, 4096>>>(a, b, n, 1);
    printf("%d ", cudaGetLastError() != cudaSuccess);
    for (int i = 0; i < 3000; i++) step<<<1, n>>>(b, b, n, i % 2);
    cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g\n", h[3]);
    cudaFree(a); cudaFree(b);
}
"""


def test_launches_of_a_loop_are_what_they_are_on_the_emulator(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "main.cu").write_text(AGAIN, "utf-8")
    records = []
    for backend in ("gpu", "emulator"):
        run(["run", str(tmp_path / "main.cu"), "--backend", backend, "--json"])
        records.append(json.loads(capfd.readouterr().out))
    own = {"microseconds", "thread_instructions", "watched_blocks", "hazards", "counters"}
    on_gpu, emulated = ([{k: v for k, v in x.items() if k not in own} for x in r["launches"]] for r in records)
    assert on_gpu == emulated and len(on_gpu) == 2000
    assert records[0]["stdout"] == records[1]["stdout"] == "1 1742\n"
    assert all(launch["microseconds"] > 0 for launch in records[0]["launches"] if launch["status"] == "ran")


@pytest.mark.parametrize("name", ["linked_device_code", "linked_lambda"])
def test_device_code_of_several_files_is_linked(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    folder = next(folder for folder in PROGRAMS if folder.name == name)
    expected = expected_of(folder)
    files = [str(path) for path in files_of(folder, expected)]
    assert run(["run", *files, "--backend", "gpu", "--json"]) == expected["exit"]
    assert json.loads(capfd.readouterr().out)["stdout"] == expected["stdout"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kernels_launch_kernels", "Kernels that launch kernels cannot be run with --backend gpu"),
        ("managed_list", "p holds the address of memory that both sides use"),
        ("managed_links", "The host follows an address that a kernel has stored in first"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_name(name: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    folder = next(folder for folder in PROGRAMS if folder.name == name)
    files = [str(path) for path in files_of(folder, expected_of(folder))]
    run(["run", *files, "--backend", "gpu", "--lang", "en", "--json"])
    assert said in json.loads(capfd.readouterr().out)["cause"]
