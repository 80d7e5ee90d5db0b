"""Programs that fix their sizes when they are compiled are compiled anew for every size that is graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.grading import pipeline
from grader.lab.expected import Oracle
from grader.launching.emulator import Emulator
from grader.launching.kernel import BoundKernel
from grader.launching.programs import DeviceProgram, ProgramStore
from grader.launching.trial import Trials
from grader.result import Check, Result
from grader.submission.kernels.records import Kernel, KernelParameter
from grader.submission.lexical import Edit
from grader.submission.records import Interpretation, LaunchPlan, Submission, VariantBinding
from grader.words import text
from tests.marks_only import marks_only

LAB = marks_only("transpose")
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
    assert [c.size for c in record.cases if not c.drawn] == [{"rows": 64, "cols": 64}, {"rows": 256, "cols": 256}]
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
    assert [c.size for c in result.variants["naive"].cases if not c.drawn] == [{"rows": 512, "cols": 512}]


PTX = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"


class Compiler:
    """Compiles nothing but the program as it was handed in; remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, str], list[str], str]] = []

    def compile(
        self, sources: Mapping[str, str], expressions: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        self.asked.append((dict(sources), list(expressions), architecture))
        if "64" in sources["x.cu"]:
            return CompileResult(ok=False, reason="errors")
        return CompileResult(ok=True, ptx=PTX, cubin=b"code", entries={"k": "_k"})


SUBMISSION = Submission(
    "", "", "", (), {"x.cu": "#define N 9"}, (), (), {}, edits={"x.cu": (Edit(10, 11, "", constant="N"),)}
)


def test_a_program_is_compiled_once_for_each_value_of_its_constants() -> None:
    compiler = Compiler()
    programs = ProgramStore(compiler, "compute_75")
    plain = DeviceProgram(SUBMISSION, "x.cu", ("k",))
    built = programs.get(plain)
    assert programs.get(plain) is built and built.code.ptx == PTX and built.result.entries == {"k": "_k"}
    seven = programs.get(DeviceProgram(SUBMISSION, "x.cu", ("k",), (("N", 7),)))
    assert seven.key != built.key
    assert [sources["x.cu"] for sources, _names, _target in compiler.asked] == ["#define N 9", "#define N 7"]
    assert {target for _sources, _names, target in compiler.asked} == {"compute_75"}


def test_what_is_ordered_is_compiled_beside() -> None:
    compiler = Compiler()
    with ThreadPoolExecutor(1) as pool:
        programs = ProgramStore(compiler, "compute_75", pool)
        programs.order(DeviceProgram(SUBMISSION, "x.cu", ("k",)))
        pool.submit(lambda: None).result()
        assert len(compiler.asked) == 1
        assert programs.get(DeviceProgram(SUBMISSION, "x.cu", ("k",))).result.ok
    assert len(compiler.asked) == 1


@pytest.mark.parametrize(
    ("architecture", "status", "reason"),
    [
        ("compute_75", "unsupported", "the program does not compile as k with N = 64"),
        ("sm_90", "impossible", "the program does not compile for this GPU: errors"),
    ],
)
def test_a_program_that_cannot_be_compiled_anew_blames_nobody(architecture: str, status: str, reason: str) -> None:
    compiler = Compiler()
    interpretation = Interpretation(("in", "out"), LaunchPlan((32, 1, 1), (32, 1), ("cols", "rows"), False))
    interpretation = replace(interpretation, constants=(("rows", "N"),))
    parameters = tuple(KernelParameter(n, "float *", True, n == "in", "float32") for n in ("in", "out"))
    kernel = Kernel("k", "x.cu", 1, 9, parameters, (), (), False)
    binding = VariantBinding("naive", kernel, "k", (interpretation,), None, takes_sizes=False)
    trials = Trials(LAB, Oracle(LAB), ProgramStore(compiler, architecture), Emulator())
    for _twice in range(2):
        bound = BoundKernel(LAB, SUBMISSION, binding, interpretation)
        outcome = trials.run(bound, "correct", {"rows": 64, "cols": 64}).outcome
        assert (outcome.status, outcome.reason, text(outcome.said)) == (status, "not_compiled", reason)
    assert len(compiler.asked) == 1


@pytest.mark.parametrize(
    ("text", "architecture", "wanted"),
    [
        ("wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;", "compute_75", "80"),
        ("nvcuda::wmma::fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a;", "compute_75", "80"),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a; __nv_bfloat16 b;", "compute_75", "75"),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;", "sm_90", "90"),
        ("__reduce_add_sync(~0u, threadIdx.x);", "compute_75", "80"),
        ("__nv_bfloat16 a = 1; a = __hfma(a, a, a);", "compute_75", "80"),
        ("float2* a = nullptr; atomicAdd(a, make_float2(1, 2));", "compute_75", "90"),
    ],
)
def test_what_the_oldest_target_lacks(text: str, architecture: str, wanted: str) -> None:
    with CompilerProcess() as compiler:
        head = "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda; using namespace nvcuda::wmma;\n"
        source = {"k.cu": f"{head}__global__ void k() {{ {text} }}\n"}
        built = ProgramStore(compiler, architecture).get_text(source, ["k"])
    assert built.result.ok, built.result.log
    assert f".target sm_{wanted}" in built.result.ptx


def test_what_no_target_has_is_told_as_the_oldest_one_tells_it() -> None:
    with CompilerProcess() as compiler:
        source = {"k.cu": "__global__ void k() { __reduce_ad_sync(~0u, 1); }\n"}
        built = ProgramStore(compiler, "compute_75").get_text(source, ["k"])
    assert not built.result.ok and "__reduce_ad_sync" in str(built.error)
