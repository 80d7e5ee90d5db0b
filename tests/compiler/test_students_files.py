"""Real students' ways of writing, from the file's bytes to every kernel in the PTX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.device_code import device_code
from grader.submission.source import decode

pytestmark = pytest.mark.started

SOURCES = Path(__file__).parent.parent / "data" / "sources"
TEMPLATES = {"multiply": "multiply<8>"}


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompilerProcess]:
    with CompilerProcess(headers=tmp_path_factory.mktemp("headers")) as process:
        yield process


def read(path: Path) -> ParsedFile:
    return parse(decode(path))


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.cu")), ids=lambda p: p.name)
def test_every_kernel_is_in_the_ptx(compiler: CompilerProcess, path: Path) -> None:
    parsed = read(path)
    code = device_code(parsed, path.parent, read)
    names = [TEMPLATES.get(kernel.name, kernel.name) for kernel in parsed.kernels]
    result = compiler.compile(code.sources, names, "compute_75")
    assert result.ok, result.log
    assert list(result.entries) == names
    assert result.diagnostics == ()


def test_lines_in_the_ptx_are_the_files_own(compiler: CompilerProcess) -> None:
    path = SOURCES / "lecture_cp1251.cu"
    parsed = read(path)
    ptx = compiler.compile(device_code(parsed, path.parent, read).sources, ["gFlip12"], "compute_75").ptx
    text = parsed.source.text.split("\n")
    (barrier,) = [i for i, line in enumerate(text, 1) if "__syncthreads" in line and i > 35 and i < 48]
    body = ptx[ptx.index(".entry _Z7gFlip12") :]
    before_barrier = body[: body.index("bar.sync")]
    assert before_barrier.rstrip().splitlines()[-1].split()[:3] == [".loc", "1", str(barrier)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("#define SIDE = 512\n__global__ void k(float *a) { a[SIDE] = 1; }\n", 2),
        ("int main() { return 0; }\n%%cuda\n__global__ void k(float *a) { a[0] = 1; }\n", 2),
        ("__global__ void k(float *a) { int i = 2 \u2736 3; a[i] = 1; }\n", 1),
        ("\n\u043f\n__global__ void k(float *a) { a[0] = 1; }\n", 2),
        ("int n = 4;\n__global__ void k(float *a) { a[n] = 1; }\n", 2),
    ],
)
def test_what_nvcc_refuses_is_refused_at_its_line(
    compiler: CompilerProcess, tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "lab.cu"
    path.write_text(text, encoding="utf-8")
    result = compiler.compile(device_code(read(path), tmp_path, read).sources, ["k"], "compute_75")
    assert result.reason == "errors"
    assert line in {d.line for d in result.diagnostics if d.severity == "error"}
