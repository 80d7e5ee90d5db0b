"""A program that was compiled beforehand runs where the compiler of host code is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.errors import InternalError
from grader.message import msg
from grader.programs.execution import SUFFIX
from grader.programs.toolchain import zig

pytestmark = pytest.mark.started

PROGRAM = """#include <cstdio>
#include <cstdlib>
#include "own.h"
template <typename F> __global__ void each(int *p, F f) { p[threadIdx.x] = f(threadIdx.x); }
__global__ void twice(int *p) { p[threadIdx.x] *= FACTOR; }
int main(int argc, char **argv) {
    int *d, h[32], add = atoi(argv[1]);
    FILE *file = fopen(argv[2], "r");
    char word[16] = "";
    if (file) fscanf(file, "%15s", word);
    cudaMalloc(&d, sizeof h);
    each<<<1, 32>>>(d, [=] __device__(int i) { return i + add; });
    twice<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d %s\\n", h[31], word);
    cudaFree(d);
    return 5;
}
"""


def not_installed() -> Path:
    raise InternalError(msg("programs.no_toolchain", version=zig.VERSION))


@pytest.mark.slow
def test_one_file_runs_without_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.cu").write_text(PROGRAM, "utf-8")
    (tmp_path / "src" / "own.h").write_text("#define FACTOR TWO\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["build", "-DTWO=2", "src/main.cu", "-o", "there/all.grade", "--lang", "en"]) == 0, capfd.readouterr()
    shutil.rmtree("src")
    Path("there/words.txt").write_text("hello", "utf-8")
    monkeypatch.setattr(zig, "package_folder", not_installed)
    capfd.readouterr()
    assert run(["run", "there/all.grade", "--lang", "en", "--", "10", "words.txt"]) == 5
    printed = capfd.readouterr()
    assert printed.out == "82 hello\n"
    assert "main.cu:13  twice <<<1, 32>>>" in printed.err and "(clang)" in printed.err
    assert run(["run", "there/all.grade", "--shrink", "--lang", "en"]) == 2
    assert "there/all.grade is compiled already" in capfd.readouterr().err


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"grade build 1\nno", b"grade build 1\nx\x9c\x03\x00\x00\x00\x00\x01"]
)
def test_what_is_no_such_file_is_refused(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"prog{SUFFIX}"
    path.write_bytes(data)
    assert run(["run", str(path), "--lang", "en"]) == 2
    assert capsys.readouterr().err.strip().endswith("build it again")


def test_what_cannot_run_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.cu").write_text("#include <mpi.h>\nint main() { MPI_Init(0, 0); }\n", "utf-8")
    assert run(["build", str(tmp_path / "main.cu"), "--lang", "en"]) == 2
    assert "main.cu:1: " in capsys.readouterr().err
