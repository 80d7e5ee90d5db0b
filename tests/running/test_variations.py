"""Programs that fix their sizes when they are compiled are compiled anew for every size that is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.backends.base import LaunchRequest
from grader.compiler.process import CompileResult
from grader.grading import pipeline
from grader.lab_files import labs
from grader.result import Check, Result
from grader.running.cases import ProgramRequest
from grader.running.variations import Variations

LAB = labs.find("transpose")
NAIVE = """
__global__ void naive(float *in, float *out)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[x * N + y] = in[y * N + x];
}
int main() { float *a, *b; naive<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(a, b); }
"""


def graded(tmp_path: Path, text: str) -> tuple[Result, Check]:
    (tmp_path / "transpose.cu").write_text(text)
    result = pipeline.grade(tmp_path / "transpose.cu", LAB)
    return result, next(c for c in result.checks if c.id == "naive.correct")


@pytest.mark.parametrize(
    "definition", ["#define N 8192", "const int N = 8192;", "constexpr unsigned N = 1 << 13;", "enum { N = 8192 };"]
)
def test_a_size_that_is_a_constant_is_given_the_lab_s_values(tmp_path: Path, definition: str) -> None:
    result, correct = graded(tmp_path, definition + NAIVE)
    assert correct.status == "pass", correct
    record = result.variants["naive"]
    assert [c.size for c in record.cases] == [{"rows": 64, "cols": 64}, {"rows": 256, "cols": 256}]
    assert record.counters and record.counters.global_store_sectors_per_request == 16.0
    assert record.line == 2  # lines stay true


def test_matrices_that_are_global_arrays(tmp_path: Path) -> None:
    text = "#define N 512\n__device__ float in[N][N], out[N][N];\n" + NAIVE.replace(
        "float *in, float *out", ""
    ).replace("out[x * N + y] = in[y * N + x]", "out[x][y] = in[y][x]").replace("(a, b)", "()")
    _result, correct = graded(tmp_path, text)
    assert correct.status == "pass", correct


def test_a_size_that_is_a_template_argument(tmp_path: Path) -> None:
    text = "template <int N>" + NAIVE.replace("float *a, *b; naive", "float *a, *b; const int N = 512; naive<512>")
    _result, correct = graded(tmp_path, text)
    assert correct.status == "pass", correct


def test_a_program_that_allows_one_size_only_is_graded_at_that(tmp_path: Path) -> None:
    result, correct = graded(tmp_path, "#define N 512\nstatic_assert(N == 512);\n" + NAIVE)
    assert correct.status == "pass", correct
    assert [c.size for c in result.variants["naive"].cases] == [{"rows": 512, "cols": 512}]


def test_a_program_that_cannot_be_compiled_anew_blames_nobody() -> None:
    ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"
    asked: list[tuple[str, str, dict[str, int]]] = []

    def compile_anew(file: str, expression: str, constants: object) -> CompileResult:
        assert isinstance(constants, dict)
        asked.append((file, expression, constants))
        return CompileResult(ok=False, reason="errors")

    programs = Variations({"x.cu": CompileResult(ok=True, ptx=ptx, entries={"k": "k"})}, compile_anew)
    plain = ProgramRequest("k", (1, 1, 1), (32, 1, 1), 0, (), file="x.cu")
    assert programs.run(plain).status == "ok"
    assert asked == []
    other = ProgramRequest("k", (1, 1, 1), (32, 1, 1), 0, (), file="x.cu", expression="k", constants=(("N", 64),))
    for _twice in range(2):
        outcome = programs.run(other)
        assert (outcome.status, outcome.reason) == ("unsupported", "the program does not compile as k with N = 64")
    assert asked == [("x.cu", "k", {"N": 64})]
    with pytest.raises(TypeError, match="does not say which file"):
        programs.run(LaunchRequest("k", (1, 1, 1), (32, 1, 1), 0, ()))
