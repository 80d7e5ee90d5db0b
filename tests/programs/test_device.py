"""Device code by the host's compiler: its names, its lines, and the functions that it takes from NVRTC."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.message import Message
from grader.programs import sources
from grader.programs.kernels import DevicePtx, compile_device, complaint, joined, missing
from grader.programs.toolchain.zig import build
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.frontend.parser import parse
from grader.words import text

LAMBDA = """
#include <curand_kernel.h>
template <class F> __global__ void each(F f) { f(threadIdx.x); }
__device__ float wave(float x) {
    return sinf(x) + __expf(x);
}
int main() {
    float *p = nullptr;
    void **q = nullptr;
    curandStatePhilox4_32_10_t *state = nullptr;
    each<<<1, 32>>>([=] __device__ (int i) {
        float s, c;
        p[i] = sinf(curand_uniform(&state[i]));
        q[i] = malloc(i);
        sincosf(p[i], &s, &c);
        p[i] = wave(s) + pow(c, 2.5f) + sqrtf(c);
    });
}
"""


def made(text: str, header: str = "") -> DevicePtx:
    program = sources.Program(("a.cu",), {}, {}, {}, {}, whole={"a.cu": text, "own.h": header})
    return compile_device(program, "a.cu", build(), "compute_75")


def test_what_arithmetic_lacks_is_what_nvrtc_gives() -> None:
    ptx = made(LAMBDA).ptx
    wanted = re.findall(r"auto (\w+)\(([^)]*)\)", missing(ptx))
    assert sorted(wanted) == [
        ("__expf", "float a0"),
        ("powf", "float a0, float a1"),
        ("sincosf", "float a0, float * a1, float * a2"),
        ("sinf", "float a0"),
    ]
    with CompilerProcess() as compiler:
        functions = compiler.compile(
            {"functions.cu": missing(ptx)}, [], "compute_75", options=("--relocatable-device-code=true",)
        )
    whole = joined(ptx, functions.ptx)
    assert missing(whole) == ""
    # Each is there once, with a body; of the emulator's own nothing else is left open.
    assert parse(whole).entries() == ("_Z4eachIZ4mainEUliE_EvT_",)
    assert set(re.findall(r"^\.extern \.func .*?\b(\w+)\n", whole, re.M)) <= {"vprintf", "malloc", "free"}


def test_one_instruction_is_one() -> None:
    text = """__global__ void k(float *a, int *b) {
        a[0] = sqrtf(a[1]); a[2] = fmaf(a[3], a[4], a[5]); a[6] = rsqrtf(a[7]); a[8] = __fdividef(a[9], a[10]);
        b[0] = __popc(b[1]); b[2] = __clz(b[3]); b[4] = __ffs(b[5]); b[6] = __shfl_xor_sync(0xffffffff, b[7], 1);
        b[8] = __ballot_sync(0xffffffff, b[9]); atomicAdd(&a[11], 1.f); b[10] = __float2int_rn(a[12]);
        b[11] = min(b[12], 3); b[13] = clock();
    }"""
    ptx = made(text).ptx
    assert missing(ptx) == ""
    for instruction in (
        *("sqrt.rn.f32", "fma.rn.f32", "rsqrt.approx.f32", "div.approx.f32", "popc.b32", "clz.b32"),
        *("shfl.sync.bfly.b32", "vote.sync.ballot.b32", "atom.global.add.f32", "cvt.rni.s32.f32", "min.s32", "%clock"),
    ):
        assert instruction in ptx, instruction


@pytest.mark.parametrize(
    "header", ["__device__ __forceinline__ void put(float *p, float v) {\n\n    p[threadIdx.x] = v;\n}\n"]
)
def test_what_a_header_does_is_on_the_line_that_calls_it(header: str) -> None:
    ptx = made('#include "own.h"\n\n__global__ void k(float *p) {\n    put(p, p[5]);\n}\n', header).ptx
    body = parse(ptx).functions["_Z1kPf"].body
    lines = {step.location.line for step in body if isinstance(step, Instruction) and step.opcode == "st"}
    assert lines == {4}


def test_what_is_wrong_with_device_code_is_told_at_its_line() -> None:
    done = made("__global__ void k(int *p) {\n    p[0] = nowhere(3);\n}\n")
    assert (done.ptx, done.reason) == ("", "errors")
    assert (done.diagnostics[0].file, done.diagnostics[0].line) == ("a.cu", 2)


@pytest.mark.parametrize(("words", "told"), [("bad", "a.cu:1: bad"), (Message("compiler.error_elsewhere"),) * 2])
def test_an_error_that_has_no_place_is_told_as_a_message(words: str | Message, told: str | Message) -> None:
    assert complaint(CompileResult(False, diagnostics=(Diagnostic("a.cu", 1, "error", words),))) == told


def test_a_program_with_thrust_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "a.cu"
    program.write_text("#include <thrust/sort.h>\nint main() { int a[2] = {2, 1}; thrust::sort(a, a + 2); }\n")
    monkeypatch.setattr(sources, "thrust_folder", lambda: None)
    obstacle = sources.read_program([program]).obstacle
    assert obstacle is not None and "pip install 'cuda-lab-grader[thrust]'" in text(obstacle)
    monkeypatch.setattr(sources, "thrust_folder", lambda: tmp_path)
    assert sources.read_program([program]).obstacle is None


def test_a_file_of_somebody_else_s_is_not_read() -> None:
    done = made('#include "/etc/passwd"\n__global__ void k() { }\n')
    assert done.reason == "errors"
    assert "root:" not in str(done.diagnostics)
