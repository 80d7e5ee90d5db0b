"""The compiler process: what it makes, what it refuses to read, and that it always comes to an end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.compiler.diagnostics import MAX_STATIC_BYTES, Diagnostic
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.errors import InternalError
from grader.message import as_message, msg
from grader.processes.confinement import landlock_version
from grader.ptx.limits import Limits
from grader.words import text

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
needs_landlock = pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("headers") / "nvrtc"


@pytest.fixture(scope="module")
def compiler(headers: Path) -> Iterator[CompilerProcess]:
    with CompilerProcess(headers=headers) as process:
        yield process


@pytest.fixture(scope="module")
def filtered(headers: Path) -> Iterator[CompilerProcess]:
    with CompilerProcess(headers=headers, use_landlock=False) as process:
        yield process


def compiled(compiler: CompilerProcess, source: str, *names: str, file: str = "main.cu") -> CompileResult:
    return compiler.compile({file: source}, names, "compute_75")


def test_compiles_to_ptx(compiler: CompilerProcess) -> None:
    result = compiled(compiler, KERNEL, "k")
    assert (result.ok, result.reason, result.missing, result.diagnostics, result.log) == (True, "", (), (), "")
    assert result.entries == {"k": "_Z1kPi"}
    assert ".target sm_75" in result.ptx
    assert ".entry _Z1kPi(" in result.ptx
    assert '.file\t1 "/main.cu"' in result.ptx
    assert result.cubin == b""
    assert result.nvrtc_version == compiler.nvrtc_version()


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
    assert '.file\t1 "/source.cu"' in compiled(compiler, KERNEL, "k", file="лаба 1.cu").ptx


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


# -- what a source may not read ------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("const int the_solution = 42;\n")
    return path


LEAKS = [
    '#include "{secret}"\n',
    "#include <{secret}>\n",
    "#include_next <{secret}>\n",
    '%:include "{secret}"\n',
    '??=include "{secret}"\n',
    '#inc\\\nlude "{secret}"\n',
    '#/**/include/**/"{secret}"\n',
    '#define FILE "{secret}"\n#include FILE\n',
    '#define TEXT(x) #x\n__constant__ char text[] = TEXT(\n#include "{secret}"\n);\n',
    '#if __has_include("{secret}")\n__constant__ char text[] = "the_solution";\n#endif\n',
    '#ifdef __has_embed\n#if __has_embed("{secret}")\n__constant__ char text[] = "the_solution";\n#endif\n#endif\n',
    '__constant__ char text[] = {{\n#embed "{secret}"\n}};\n',
    '#pragma include_alias("a.h", "{secret}")\n#include "a.h"\n',
    '#import "{secret}"\n',
]
FORMS = ["plain", "angle", "next", "digraph", "trigraph", "splice", "comments", "macro", "string", "asks", "asks_embed",
         "embed", "alias", "import"]  # fmt: skip


@needs_landlock
@pytest.mark.parametrize("source", LEAKS, ids=FORMS)
def test_no_file_is_read(compiler: CompilerProcess, secret: Path, source: str) -> None:
    result = compiled(compiler, source.format(secret=secret) + KERNEL, "k")
    assert result.isolation == "landlock"
    assert "the_solution" not in result.ptx + result.log + repr(result.diagnostics)
    assert not (result.ok and "the_solution" in source and "text" in result.ptx)


@needs_landlock
def test_a_file_that_is_there_looks_like_one_that_is_not(compiler: CompilerProcess, secret: Path) -> None:
    there = compiled(compiler, f'#include "{secret}"\n', "k")
    gone = compiled(compiler, f'#include "{secret.with_suffix(".gone")}"\n', "k")
    seen = [[str(d.message).replace(".txt", ".gone") for d in one.diagnostics] for one in (there, gone)]
    assert seen[0] == seen[1]
    assert there.log.replace(".txt", ".gone").replace("^", "").split() == gone.log.replace("^", "").split()


@needs_landlock
@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/stdin"])
def test_the_systems_files_are_not_read(compiler: CompilerProcess, path: str) -> None:
    started = time.monotonic()
    result = compiled(compiler, f'#include "{path}"\n', "k")
    assert time.monotonic() - started < 2
    assert result.diagnostics == (Diagnostic("main.cu", 1, "error", f'cannot open source file "{path}"'),)


@pytest.mark.parametrize("source", LEAKS, ids=FORMS)
def test_without_landlock_such_a_source_is_not_compiled(filtered: CompilerProcess, secret: Path, source: str) -> None:
    result = compiled(filtered, source.format(secret=secret) + KERNEL, "k")
    assert (result.ok, result.reason, result.isolation, result.ptx) == (
        False,
        "forbidden_include",
        "include_filter",
        "",
    )
    assert [d.severity for d in result.diagnostics] == ["error"]


def test_without_landlock_ordinary_sources_are_compiled(filtered: CompilerProcess) -> None:
    source = "#include <cuda_fp16.h>\n" + KERNEL
    assert compiled(filtered, source, "k").ok
    assert filtered.compile(
        {"main.cu": '#include "own.h"\n' + KERNEL, "own.h": "#define X 1\n"}, ["k"], "compute_75"
    ).ok


def test_messages_about_other_files_are_dropped(compiler: CompilerProcess) -> None:
    result = compiled(compiler, '#line 7 "/etc/<script>.h"\nint f() { return undeclared; }\n', "k")
    assert result.diagnostics == (Diagnostic("main.cu", 1, "error", msg("compiler.error_elsewhere")),)
    assert "script" not in result.log


# -- that it ends --------------------------------------------------------------------------------------------------


def macro_bomb(levels: int) -> str:
    """Names put together by ##, so that nobody can count beforehand what they stand for."""
    lines = ["#define A0 x=x+1;"]
    lines += [f"#define P{i}(a) A##a\n#define A{i} P{i}({i - 1}) P{i}({i - 1})" for i in range(1, levels)]
    return "\n".join(lines) + f"\n__global__ void k(int x) {{ A{levels - 1} }}\n"


def test_a_macro_bomb_is_killed_and_the_next_source_compiles(headers: Path) -> None:
    with CompilerProcess(wall_limit_s=0.7, headers=headers) as compiler:
        compiler.nvrtc_version()
        started = time.monotonic()
        result = compiled(compiler, macro_bomb(60), "k")
        elapsed = time.monotonic() - started
        assert (result.ok, result.reason, result.ptx) == (False, "timeout", "")
        assert 0.6 < elapsed < 5
        assert compiler.compile({"main.cu": KERNEL}, ["k"], "compute_75", wall_limit_s=20).ok


def children() -> set[int]:
    """This process's own child processes."""
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in text.split()}


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
    """Send a signal to each of this process's children that is none of the `others` while it uses the processor."""
    done = threading.Event()

    def run() -> None:
        known = set(others)
        while not done.wait(0.02) and len(known) < len(others) + most:
            for pid in children() - known:
                if processor_seconds(pid) > BUSY_S:
                    os.kill(pid, number)
                    known.add(pid)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# Of processor time: more than a start takes, less than a macro bomb.
BUSY_S = 1.0


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
    ("limit", "said"),
    [
        ("-v 150000", "within the limits of this shell .ulimit -v 150000"),
        ("-n 8", "within the limits of this shell .ulimit -n 8"),
        ("-d 20000", "within the limits of this shell .ulimit -d 20000"),
        # More than enough.
        ("-v 8000000", "ok"),
        ("-n 200", "ok"),
        ("-t 60", "ok"),
        ("-f 1000", "ok"),
        ("-t 1", "ok|ulimit -t 1"),
    ],
)
def test_the_shells_own_limits(headers: Path, limit: str, said: str) -> None:
    program = (
        "from grader.compiler.process import CompilerProcess\n"
        "from grader.errors import InternalError\n"
        "from pathlib import Path\n"
        "import resource\n"
        f"option, value = {limit.split()!r}\n"
        "kind, unit = {'-v': (resource.RLIMIT_AS, 1024), '-n': (resource.RLIMIT_NOFILE, 1),"
        " '-t': (resource.RLIMIT_CPU, 1), '-d': (resource.RLIMIT_DATA, 1024),"
        " '-f': (resource.RLIMIT_FSIZE, 1024)}[option]\n"
        "resource.setrlimit(kind, (int(value) * unit, int(value) * unit))\n"
        "try:\n"
        f"    with CompilerProcess(headers=Path({str(headers)!r})) as compiler:\n"
        f"        result = compiler.compile({{'main.cu': {KERNEL!r}}}, ['k'], 'compute_75')\n"
        "        print('ok' if result.ok else result.reason)\n"
        "except InternalError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert re.search(said, done.stdout), (done.stdout, done.stderr)
    assert "pip install" not in done.stdout


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
    # The emulator's PTX is none of the assembler's business.
    assert compiled(compiler, source, "k").ok


@pytest.mark.parametrize(
    "declared",
    [
        "__device__ char x[1 << 29];",
        "__device__ float x[1 << 10][1 << 17];",
        "__device__ double y[1000];\n__device__ int4 x[1ull << 40];",
        "__device__ int y[1 << 25], x[1 << 26];",
    ],
)
def test_global_arrays_beyond_memory_are_refused_at_their_line(compiler: CompilerProcess, declared: str) -> None:
    source = f"// one\n{declared}\n{KERNEL}"
    result = compiled(compiler, source, "k")
    assert (result.ok, result.reason) == (False, "errors")
    (error,) = (d for d in result.diagnostics if d.severity == "error")
    assert error.line == 2 + declared.count("\n") and text(as_message(error.message)).startswith("the array x takes ")
    assert compiled(compiler, f"__device__ float x[1 << 24];\n{KERNEL}", "k").ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "__device__ char x[1 << 26] = {1};",
        "template <int N> struct A { A<N - 1> a; A<N - 2> b; char c[N]; }; __device__ A<1 << 20> big;",
    ],
)
def test_memory_is_bounded(headers: Path, source: str) -> None:
    with CompilerProcess(headers=headers) as compiler:
        result = compiled(compiler, f"{source}\n{KERNEL}", "k")
        assert not result.ok and result.reason in {"crashed", "timeout", "errors"}
        assert compiled(compiler, KERNEL, "k").ok


def test_processor_time_is_a_limit_too(headers: Path) -> None:
    before = children()
    with CompilerProcess(headers=headers) as compiler:
        compiler.nvrtc_version()
        (own,) = children() - before
        threading.Timer(0.2, os.kill, (own, signal.SIGXCPU)).start()
        assert compiled(compiler, macro_bomb(60), "k").reason == "timeout"


def test_a_flood_of_messages_is_capped(compiler: CompilerProcess) -> None:
    source = "\n".join(f"__device__ int f{i}() {{ return missing_{i} + another_{i}; }}" for i in range(3000))
    result = compiled(compiler, source, "k")
    assert result.reason == "errors"
    assert len(result.diagnostics) <= 100
    assert len(result.log) <= 32 * 1024


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


def test_the_arrays_of_a_program_may_take_as_much_as_the_emulator_has() -> None:
    assert Limits().variable_bytes == MAX_STATIC_BYTES
