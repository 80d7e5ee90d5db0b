"""`grade run` on the command line: output, report, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli.main import INTERRUPTED, run
from grader.cli.run import split
from grader.cli.run_report import text_of
from grader.gpu.process import has_driver
from grader.i18n import use
from grader.programs.records import DeviceCall, Observation
from grader.programs.toolchain.advance import thrust_folder

PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.fixture(autouse=True)
def nothing_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


def test_words_after_two_dashes_are_the_programs() -> None:
    assert split(["a.cu", "--json", "--", "-n", "--", "5"]) == (["a.cu", "--json"], ["-n", "--", "5"])
    assert split(["a.cu"]) == (["a.cu"], [])


def test_a_program_prints_then_the_report_follows(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = PROGRAMS / "several_files"
    code = run(["run", str(folder / "main.cu"), str(folder / "launch.cu"), "--lang", "en", "--", "100"])
    printed = capfdbinary.readouterr()
    assert code == 0
    assert printed.out == b"0\n625\n2500\n5625\n"
    told = printed.err.decode()
    assert "launch.cu:15  kernel <<<4, 32>>>, 128 bytes of dynamic shared memory" in told
    assert "x = d, n = 100" in told


@pytest.mark.slow
@pytest.mark.skipif(thrust_folder() is None, reason="the extra `thrust` is not installed")
def test_tensor_cores_of_a_later_device_beside_thrust(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = str(PROGRAMS / "thrust_tensor_cores" / "main.cu")
    assert run(["run", path, "-DAMPERE", "--device", "a100", "--lang", "en"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[4:7] == ["bfloat16 0 wrong", "bfloat16 32 x 8 0 wrong", "tf32 0 wrong"]
    assert len(lines) == 9


PAST = """#include <cstdio>
__global__ void fill(int *a) {
    a[threadIdx.x] = 1;
}
int main() {
    int *a; cudaMalloc(&a, 64); fill<<<1, 32>>>(a); printf("%d", cudaDeviceSynchronize()); cudaFree(a);
}
"""


@pytest.mark.parametrize("name", ["past.cu", "lab 1/past.cu", "лаба.cu"])
def test_a_kernels_fault_has_its_line_whatever_the_file_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(PAST)
    assert run(["run", name, "--lang", "en"]) == 0
    assert f"✗ {name}:3  Thread (16, 0, 0)" in capfdbinary.readouterr().err.decode()


def test_counters_of_another_file_are_told_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("strided.cuh").write_text("__device__ __noinline__ int strided(int *a, int i) {\n    return a[i * 32];\n}\n")
    text = PAST.replace("= 1;", "= 1 + strided(a, threadIdx.x) + a[8 * threadIdx.x];").replace("64)", "4096)")
    Path("a.cu").write_text('#include "strided.cuh"\n' + text)
    run(["run", "a.cu", "--lang", "en"])
    told = [line.strip() for line in capfdbinary.readouterr().err.decode().splitlines() if "sectors" in line]
    assert told == [
        "line 4: 32.0 sectors per request, minimum 4.0",
        "strided.cuh:2: 32.0 sectors per request, minimum 4.0",
    ]


@pytest.mark.skipif(has_driver(), reason="there is a GPU")
def test_where_there_is_no_gpu_a_program_does_not_run_on_one(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    program = str(PROGRAMS / "several_files" / "main.cu")
    code = run(["run", "--backend", "gpu", program, "--lang", "en"])
    printed = capfdbinary.readouterr()
    assert code == 2
    assert printed.out == b""
    assert "No GPU can be used here (" in printed.err.decode()


BEYOND = """#include <cstdio>
#define COUNT 65536
__global__ void add(int *sum) { for (int i = 0; i < 100; i++) atomicAdd(sum, i); }
int main() {
    int *sum, got;
    printf("%d threads\\n", COUNT);
    cudaMalloc(&sum, 4);
    cudaMemset(sum, 0, 4);
    add<<<COUNT / 32, 32>>>(sum);
    cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost);
    printf("%d\\n", got);
    cudaFree(sum);
    return 3;
}
"""


def test_a_program_ends_at_the_launch_that_is_beyond_the_limits(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "main.cu").write_text(BEYOND, "utf-8")
    words = ["run", str(tmp_path / "main.cu"), "--lang", "en", "--limit", "1e6"]
    assert run(words) == 4
    printed = capfdbinary.readouterr()
    assert printed.out == b"65536 threads\n"
    heading = printed.err.decode().strip().splitlines()[0]
    assert heading.startswith("✗ main.cu:9: add takes more than 0.001 billion thread-instructions")
    assert "--limit" in heading and "--shrink" in heading
    assert run([*words, "--json"]) == 4
    record = json.loads(capfdbinary.readouterr().out)
    assert record["exit"] is None and record["is_limit"] and record["cause"].startswith("add takes more")
    assert [launch["status"] for launch in record["launches"]] == ["traced"]

    assert run([*words, "--shrink"]) == 3
    printed = capfdbinary.readouterr()
    assert printed.out == f"512 threads\n{512 * 4950}\n".encode()
    assert "512 in place of 65536" in printed.err.decode().strip().splitlines()[0]


def test_options_of_nvcc_are_taken_and_folders_of_headers_are_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name, text in {
        "lib/deep/twice.h": "__host__ __device__ inline int twice(int i) { return 2 * i; }\n",
        "src/main.cu": '#include <cstdio>\n#include "deep/twice.h"\n#include "../kernels/k.h"\n'
        'int main() { k<<<1, 1>>>(twice(21)); cudaDeviceSynchronize(); printf("%s\\n", __FILE__); }\n',
        "kernels/k.h": '__global__ void k(int i) { printf("%d\\n", twice(i)); }\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ["-O3", "-arch=sm_90", "-Xcompiler", "-Wall", "-lineinfo", "--expt-extended-lambda", "-rdc=true", "-Ilib"]
    assert run(["run", *options, "src/main.cu", "-o", "main", "-lcublas", "--lang", "en"]) == 0
    assert capfdbinary.readouterr().out == b"84\nsrc/main.cu\n"
    assert run(["run", "-DF(x)=x", "src/main.cu", "--lang", "en"]) == 2
    assert "F(x)" in capfdbinary.readouterr().err.decode()


MACROS = """#include <cstdio>
#ifdef TILE
__global__ void k(int *p) { __shared__ int t[TILE]; t[threadIdx.x] = N; p[threadIdx.x] = t[0] * 100 + __LINE__; }
#endif
#ifndef GONE
int missing = NOWHERE;
#endif
#ifdef UNDONE
#error "it is not undone"
#endif
int main() {
    int *p, h[TILE];
    cudaMalloc(&p, sizeof h);
    k<<<1, TILE>>>(p);
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d %s\\n", h[TILE - 1], NAME);
    cudaFree(p);
}
"""


def test_macros_of_the_command_line_are_both_halves(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    program = tmp_path / "main.cu"
    program.write_text(MACROS)
    macros = ["-DTILE=8", "-D", "N=2*3", "--define-macro=GONE", '-DNAME="a b"', "-DUNDONE", "-UUNDONE"]
    assert run(["run", *macros, str(program), "--lang", "en"]) == 0
    printed = capfdbinary.readouterr()
    assert printed.out == b"603 a b\n"
    assert "main.cu:14  k <<<1, 8>>>" in printed.err.decode()


ROUNDED = """#include <cstdio>
__global__ void k(float a, float b, float *out) { out[0] = a * b - 1.0f; out[1] = a * 1e-39f; }
int main() {
    float *out, host[2];
    cudaMalloc(&out, sizeof host);
    k<<<1, 1>>>(3.7f, 0.3f, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("%a %a\\n", host[0], host[1]);
    cudaFree(out);
}
"""


def test_options_of_arithmetic_have_their_effect(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    program = tmp_path / "main.cu"
    program.write_text(ROUNDED)
    fused, rounded, small = b"0x1.c28f6cp-4", b"0x1.c28f6p-4", b"0x1.4250c8p-128"
    for options, printed in [
        ([], (fused, small)),
        (["-fmad=false"], (rounded, small)),
        (["--fmad", "false", "-ftz=true"], (rounded, b"0x0p+0")),
        (["-use_fast_math"], (fused, b"0x0p+0")),
        (["-use_fast_math", "--ftz=false"], (fused, small)),
    ]:
        assert run(["run", *options, str(program), "--lang", "en"]) == 0
        assert capfdbinary.readouterr().out == b"%s %s\n" % printed, options
    assert run(["run", "-fmad=maybe", str(program), "--lang", "en"]) == 2
    assert "maybe" in capfdbinary.readouterr().err.decode()


@pytest.mark.parametrize("text", ["0", "-5", "many", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(PROGRAMS / "struct_by_value" / "main.cu"), "--limit", text]) == 2
    assert "--limit" in capsys.readouterr().err


def test_who_has_read_enough_is_told_nothing_more(tmp_path: Path) -> None:
    printing = 'for (int i = 0; i < 200000; ++i) printf("line %d\\n", i);'
    text = f"#include <cstdio>\n__global__ void k() {{}}\nint main() {{ k<<<1, 1>>>(); {printing} return 0; }}\n"
    (tmp_path / "main.cu").write_text(text, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "run", "main.cu"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROGRAMS.parent.parent)},
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    with process.stderr as told:
        assert told.read() == b""
    assert process.wait() == INTERRUPTED
    assert [path.name for path in tmp_path.iterdir()] == ["main.cu"]


def test_json_is_one_record_with_what_is_documented(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(PROGRAMS / "struct_by_value" / "main.cu"), "--json", "--lang", "ru"]) == 7
    record = json.loads(capfd.readouterr().out)
    assert record["exit"] == 7
    assert record["stdout"].startswith("16 8\n")
    launch = record["launches"][0]
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("lab::transpose", [3, 2, 1], [16, 16, 1])
    assert launch["status"] == "ran" and launch["hazards"] == [] and launch["shared_bytes"] == 0
    assert [a["type"] for a in launch["arguments"]] == ["Matrix", "Matrix"]
    steps = [(step["kind"], step["stream"], step["order"], step["began_us"]) for step in record["timeline"]]
    assert steps == [("copy_in", 0, 0, None), ("kernel", 0, 1, None), ("copy_out", 0, 2, None)]
    kinds = {(f["kind"], f["line"]) for f in record["findings"]}
    assert ("copy_size", 36) in kinds
    assert "Копирование читает" in str(record["findings"])


@pytest.mark.parametrize(
    "words", [["run", "nowhere.cu"], ["run", "README.md"], ["run"], ["run", "a.cu", "--device", "x"]]
)
def test_a_wrong_command_line_is_one_line_and_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_files_with_one_name_in_two_folders_are_one_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (
        ("a", "int number();\nint main() { return number(); }\n"),
        ("b", "int number() { return 7; }\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.cu").write_text(text)
    assert run(["run", str(tmp_path / "a" / "main.cu"), str(tmp_path / "b" / "main.cu")]) == 7, capfd.readouterr().err


def test_headers_that_lie_above_are_found_from_wherever_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name, text in {
        "course/common/common.h": '#pragma once\n#include "../config/seven.h"\n',
        "course/config/seven.h": "#define SEVEN 7\n",
        "course/week1/main.cu": '#include <cstdio>\n#include "../common/common.h"\n'
        "__global__ void k(int *p) { *p = SEVEN; }\n"
        "int main() { int *p, h; cudaMalloc(&p, 4); k<<<1, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); "
        'cudaFree(p); printf("%d\\n", h); }\n',
        "course/week1/own.h": '#include "./../common/common.h"\n',
        "course/week1/by_own.cu": '#include "own.h"\nint main() { return SEVEN; }\n',
        "course/week1/secret.cu": '#include "../../secret.txt"\nint main() { return SECRET; }\n',
        "secret.txt": "#define SECRET 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    for folder, named in (("course/week1", "main.cu"), ("course", "week1/main.cu"), ("", "course/week1/main.cu")):
        monkeypatch.chdir(tmp_path / folder)
        assert run(["run", named, "--lang", "en"]) == 0
        assert capfdbinary.readouterr().out == b"7\n"
        assert run(["run", named.replace("main", "by_own"), "--lang", "en"]) == 7
        capfdbinary.readouterr()
    # What is no header is not read from elsewhere.
    monkeypatch.chdir(tmp_path / "course" / "week1")
    assert run(["run", "secret.cu", "--lang", "en"]) == 1
    assert b"secret.txt" in capfdbinary.readouterr().err


def test_a_program_that_cannot_run_says_why_and_fails(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(PROGRAMS / "uses_threads" / "main.cu"), "--lang", "en"]) == 1
    assert "main.cu:1: The program cannot run here: it uses threads (condition_variable)." in capfd.readouterr().err


def report(*calls: DeviceCall, device: str = "") -> str:
    use("en")
    return text_of(Observation(0, [], [], asked=list(calls), device=device))


def step(kind: str, stream: int, ticket: int, began_us: float | None = None, **fields: bool) -> DeviceCall:
    call = DeviceCall(kind, "cudaMemcpyAsync", "a.cu", 7, 1 << 20, stream, ticket, {stream: ticket}, **fields)
    call.began_us = began_us
    call.ended_us = None if began_us is None else began_us + 50
    return call


def test_in_order_streams_stand_above_one_another() -> None:
    told = report(step("copy_in", 33, 1), step("kernel", 33, 2), step("copy_in", 17, 1), step("kernel", 17, 2))
    assert "  stream 1  →→→ ███\n  stream 2  →→→ ███\n  → copies to the device   █ kernels\n" in told
    assert "Copies" not in told and "µs" not in told
    assert "Timeline" not in report(step("copy_in", 1, 1), step("kernel", 1, 2))


def test_a_gpus_copies_have_bandwidths_and_what_was_beside_them_is_told() -> None:
    calls = [step("copy_in", 17, 1, 0.0), step("copy_in", 17, 2, 50.0), step("kernel", 33, 1, 75.0)]
    told = report(*calls, step("copy_out", 1, 3, 125.0, is_pageable=True), device="NVIDIA H100")
    assert "  → a.cu:7  cudaMemcpyAsync 1 MiB  ×2  50 µs  21 GB/s\n" in told
    assert "  ← a.cu:7  cudaMemcpyAsync 1 MiB  (pageable memory)  50 µs  21 GB/s\n" in told
    assert "175 µs from left to right" in told
    assert "kernels 50 µs, copies between host and device 150 µs, both at the same time 25 µs" in told
