"""The compiler process: what it makes, what it refuses to read, and that it always comes to an end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.process import CompilerProcess
from grader.errors import InternalError
from tests.compiler.processes import KERNEL, children, compiled, macro_bomb

pytestmark = pytest.mark.started


def test_compiles_to_ptx(compiler: CompilerProcess) -> None:
    result = compiled(compiler, KERNEL, "k")
    assert (result.ok, result.reason, result.missing, result.diagnostics, result.log) == (True, "", (), (), "")
    assert result.entries == {"k": "_Z1kPi"}
    assert ".target sm_75" in result.ptx
    assert ".entry _Z1kPi(" in result.ptx
    assert '.file\t1 "/main.cu"' in result.ptx
    assert result.cubin == b""
    assert result.nvrtc_version == compiler.nvrtc_version()


def test_threads_that_ask_at_the_same_time_get_each_its_own(compiler: CompilerProcess) -> None:
    def entries(number: int) -> list[str]:
        source = f"__global__ void own_{number}(int *a) {{ *a = {number}; }}"
        return list(compiler.compile({"lab.cu": source}, [f"own_{number}"], "compute_75").entries)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(entries, range(8))) == [[f"own_{number}"] for number in range(8)]


def test_who_asks_for_the_version_meanwhile_disturbs_nobody(headers: Path) -> None:
    done = threading.Event()

    def ask(compiler: CompilerProcess) -> set[str]:
        versions = {compiler.nvrtc_version()}
        while not done.is_set():
            versions.add(compiler.nvrtc_version())
        return versions

    with CompilerProcess(headers=headers) as compiler, ThreadPoolExecutor(1) as thread:
        version = compiler.nvrtc_version()
        before = children()
        asking = thread.submit(ask, compiler)
        try:
            for number in range(12):
                source = f"__global__ void own_{number}(int *a) {{ *a = {number}; }}"
                assert list(compiler.compile({"lab.cu": source}, [f"own_{number}"], "compute_75").entries)
        finally:
            done.set()
        assert asking.result(20) == {version}
        assert children() == before


def test_compiles_to_cubin(compiler: CompilerProcess) -> None:
    result = compiler.compile({"main.cu": KERNEL}, ["k"], "sm_90")
    assert result.ok
    assert result.cubin.startswith(b"\x7fELF")
    assert ".target sm_90" in result.ptx


def test_names_of_templates_and_namespaces(compiler: CompilerProcess) -> None:
    source = "template <int N> __global__ void t(int *a) { a[0] = N; }\nnamespace lab { " + KERNEL + " }"
    result = compiled(compiler, source, "t<3>", "t<2 * 4>", "lab::k")
    assert result.entries == {"t<3>": "_Z1tILi3EEvPi", "t<2 * 4>": "_Z1tILi8EEvPi", "lab::k": "_ZN3lab1kEPi"}


@pytest.mark.parametrize("name", ["nobody", "t<no>", "t", "k; int x", 'k>\n#include "/etc/passwd"', "", "a" * 5000])
def test_a_name_that_is_not_there_does_not_spoil_the_others(compiler: CompilerProcess, name: str) -> None:
    result = compiled(compiler, "template <int N> __global__ void t(int *a) { a[0] = N; }\n" + KERNEL, "k", name)
    assert (result.ok, result.reason, result.missing) == (False, "missing_entry", (name,))
    assert result.entries == {"k": "_Z1kPi"}
    assert ".entry _Z1kPi(" in result.ptx


def test_success_is_not_believed(compiler: CompilerProcess) -> None:
    # NVRTC ends the source at the NUL, and reports success.
    result = compiled(compiler, "__global__ void first(int *a) { a[0] = 1; }\n\0" + KERNEL, "first", "k")
    assert (result.reason, result.missing) == ("missing_entry", ("k",))


def test_a_device_function_is_no_entry(compiler: CompilerProcess) -> None:
    result = compiled(compiler, "__device__ __noinline__ int f(int a) { return a; }\n" + KERNEL, "k", "f")
    assert result.missing == ("f",)


def test_errors_are_told_with_file_line_and_message(compiler: CompilerProcess) -> None:
    result = compiled(compiler, "\n\n__global__ void k(int *a) { a[0] = undeclared; }\n", "k", file="lab.cu")
    assert (result.ok, result.reason, result.ptx) == (False, "errors", "")
    assert result.diagnostics == (Diagnostic("lab.cu", 3, "error", 'identifier "undeclared" is undefined'),)
    assert result.log.startswith('lab.cu(3): error: identifier "undeclared" is undefined')


def test_russian_file_names_and_comments(compiler: CompilerProcess) -> None:
    result = compiled(compiler, "// привет, я\n\n#error нет\n", file="лаба 1.cu")
    assert result.diagnostics == (Diagnostic("лаба 1.cu", 3, "error", "#error directive: нет"),)
    assert '.file\t1 "/_source_.cu"' in compiled(compiler, KERNEL, "k", file="лаба 1.cu").ptx


def test_what_only_host_code_used_gives_no_warning(compiler: CompilerProcess) -> None:
    assert compiled(compiler, "static const int unused = 3;\n" + KERNEL, "k").diagnostics == ()


def test_names_that_nvcc_knows_without_an_include(compiler: CompilerProcess) -> None:
    source = """__global__ void k(float *a, uint32_t n, int64_t m, uint u, size_t s) {
    a[0] = min(INT_MAX, 3) + max(1, 2) + FLT_MAX + M_PI + INFINITY + sinf(UINT_MAX);
    if (n > 3) printf("%d", threadIdx.x);
    assert(NULL == 0);
}
#define M_PI 3
typedef unsigned int uint;
"""
    result = compiled(compiler, source, "k")
    assert result.ok, result.log


@pytest.mark.parametrize(
    "body",
    [
        "cudaError_t e = cudaSuccess; a[0] = e;",
        # No word of the source says that it asks for the runtime's types.
        "\n#define PASTED(a, b) a##b\nPASTED(cu, daError_t) e = PASTED(cu, daSuccess); a[0] = e;",
        "a[0] = tex1D<float>(0, 0.5f);",
        "float4 v = make_float4(1, 2, 3, 4); a[0] = v.x + __ldg(a) + warpSize + dim3(2).y + float(clock64());",
    ],
    ids=["runtime", "pasted", "texture", "no more than a kernel needs"],
)
def test_what_the_runtime_declares_is_there_for_who_asks_for_it(compiler: CompilerProcess, body: str) -> None:
    result = compiler.compile({"lab.cu": f"__global__ void k(float *a) {{ {body} }}"}, ["k"], "compute_75")
    assert result.ok, result.diagnostics


def test_own_headers_are_served_from_memory(compiler: CompilerProcess) -> None:
    sources = {
        "main.cu": '#include "inc/sizes.h"\n#include "../more.cuh"\n'
        "__global__ void k(int *a) { a[0] = WIDE + more; }\n",
        "inc/sizes.h": "#define WIDE 4\n",
        "../more.cuh": "const int more = 2;\n",
    }
    assert compiler.compile(sources, ["k"], "compute_75").ok
    sources["inc/sizes.h"] = "\n\nbroken here;\n"
    result = compiler.compile(sources, ["k"], "compute_75")
    assert ("inc/sizes.h", 3) in [(d.file, d.line) for d in result.diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    "source",
    [
        "#include <cuda_fp16.h>\n__global__ void k(__half *a) { a[0] = __hadd(a[1], a[2]); }",
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void k(int *a) { auto g = cg::this_thread_block(); g.sync(); a[0] = g.size() + INT_MAX; }",
    ],
)
def test_headers_of_the_device_are_unpacked_when_first_needed(compiler: CompilerProcess, source: str) -> None:
    result = compiled(compiler, source, "k")
    assert result.ok, result.log


def test_a_crash_is_a_result_and_leaves_nothing_behind(headers: Path) -> None:
    before = children()
    with CompilerProcess(headers=headers) as compiler:
        compiler.nvrtc_version()
        with killed_again_and_again(before, signal.SIGABRT):
            assert compiled(compiler, macro_bomb(60), "k").reason == "crashed"
        assert compiled(compiler, KERNEL, "k").ok
    assert children() <= before


@contextlib.contextmanager
def killed_again_and_again(others: set[int], number: int, most: int = 100) -> Iterator[None]:
    """Send a signal to each of this process's children that is none of the `others` while it compiles.

    It has started one and used it for nothing yet: who has used several times the processor time of that compiles.
    """
    (first,) = children() - others
    busy_s = STARTS * processor_seconds(first)
    done = threading.Event()

    def run() -> None:
        known = set(others)
        while not done.wait(0.02) and len(known) < len(others) + most:
            for pid in children() - known:
                if processor_seconds(pid) > busy_s:
                    os.kill(pid, number)
                    known.add(pid)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


STARTS = 3
"""Ten is what the large source takes, a macro bomb hundreds."""


def processor_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSEGV, marks=pytest.mark.slow)])
def test_a_signal_of_somebody_elses_costs_nothing(headers: Path, number: int) -> None:
    before = children()
    # Large enough to be still at it when the signal comes; small enough to come to an end.
    source = KERNEL + "".join(f"__global__ void k{i}(float *a) {{ a[{i}] = sinf(a[0]) / a[1]; }}\n" for i in range(250))
    with CompilerProcess(headers=headers) as compiler:
        compiler.nvrtc_version()
        with killed_again_and_again(before, number, most=1):
            assert compiled(compiler, source, "k").ok
    assert children() <= before


def test_killed_twice_it_is_the_graders_failure(headers: Path) -> None:
    before = children()
    with CompilerProcess(headers=headers) as compiler:
        compiler.nvrtc_version()
        words = r"ended unexpectedly \(signal SIGKILL"
        with killed_again_and_again(before, signal.SIGKILL), pytest.raises(InternalError, match=words):
            compiled(compiler, macro_bomb(60), "k")
        assert compiled(compiler, KERNEL, "k").ok


def test_killed_between_two_programs(headers: Path) -> None:
    before = children()
    with CompilerProcess(headers=headers) as compiler:
        assert compiled(compiler, KERNEL, "k").ok
        (own,) = children() - before
        os.kill(own, signal.SIGKILL)
        assert compiled(compiler, KERNEL, "k").ok


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ('asm volatile("foo.bar %r1;");', {4}),
        ('a[1] = 3;\nasm volatile("add.s32 %0, %1, 99999999999999999999;" : "=r"(a[0]) : "r"(3));', {5}),
        ("__shared__ int t[20000]; t[threadIdx.x] = a[0]; __syncthreads(); a[1] = t[a[2]];", {2}),
    ],
)
def test_what_the_assembler_refuses_is_told_at_its_line(compiler: CompilerProcess, body: str, lines: set[int]) -> None:
    source = f"// one\n__global__ void k(int *a)\n{{\n{body}\n}}\n"
    result = compiler.compile({"main.cu": source}, ["k"], "sm_90")
    assert (result.ok, result.reason) == (False, "errors")
    assert {d.line for d in result.diagnostics if str(d.message).startswith("ptxas: ")} == lines
    # PTX for the emulator is asked about for the sake of what stands in `asm` alone.
    assert compiled(compiler, source, "k").ok is ("asm" not in body)


def test_an_unknown_architecture_is_the_graders_fault(compiler: CompilerProcess) -> None:
    with pytest.raises(InternalError, match="NVRTC"):
        compiler.compile({"main.cu": KERNEL}, ["k"], "compute_1")


def test_a_missing_library_is_said_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cuda" / "bindings"
    broken.mkdir(parents=True)
    (tmp_path / "cuda" / "__init__.py").write_text("")
    (broken / "__init__.py").write_text("")
    (broken / "nvrtc.py").write_text("raise ImportError('no libnvrtc')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with (
        CompilerProcess(headers=tmp_path) as compiler,
        pytest.raises(InternalError, match=r"no libnvrtc.*pip install nvidia-cuda-nvrtc"),
    ):
        compiled(compiler, KERNEL, "k")


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with CompilerProcess(headers=blocked / "nvrtc") as compiler:
        assert compiled(compiler, KERNEL, "k").ok
        with pytest.raises(InternalError, match=rf"{blocked}.*XDG_CACHE_HOME"):
            compiled(compiler, "#include <cuda_fp16.h>\n" + KERNEL, "k")


@pytest.mark.parametrize(
    ("text", "is_ptx"),
    [
        ("no.such.instruction;", False),
        ("}", False),
        ("add.u32 %0, 1;", False),
        ("this is not ptx;", False),
        ("mov.u32 %0, %%laneid;", True),
        ("bar.red.popc.u32 %0, 1, 32, 1;", True),
        ("// nothing", True),
    ],
)
def test_inline_assembly_is_what_the_assembler_takes(compiler: CompilerProcess, text: str, is_ptx: bool) -> None:
    source = (
        f'__global__ void k(unsigned* p)\n{{\n    unsigned x = 0;\n    asm("{text}" : "=r"(x));\n    p[0] = x;\n}}\n'
    )
    result = compiler.compile({"lab.cu": source}, ["k"], "compute_75")
    assert (result.ok, result.reason, bool(result.cubin)) == (is_ptx, "" if is_ptx else "errors", False)
    assert is_ptx or all(d.severity == "error" and d.line in range(1, 8) for d in result.diagnostics)


def test_steps_of_constant_evaluation_are_those_of_the_whole_program(compiler: CompilerProcess) -> None:
    walked = "constexpr unsigned walked(int n) { unsigned s = 0; for (int i = 0; i < n; ++i) s += i ^ n; return s; }\n"
    kernel = "__global__ void k(unsigned* p) { p[0] = w0; }\n"
    one = walked + "constexpr unsigned w0 = walked(100000);\n" + kernel
    assert compiler.compile({"lab.cu": one}, ["k"], "compute_75").ok
    many = walked + "".join(f"constexpr unsigned w{n} = walked(100000 + {n});\n" for n in range(200)) + kernel
    result = compiler.compile({"lab.cu": many}, ["k"], "compute_75")
    assert result.reason == "errors"
