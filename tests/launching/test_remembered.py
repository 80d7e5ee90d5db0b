"""What is compiled and launched once only comes out as if it were done anew, whatever was edited in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.compiler.process import CompilerProcess
from grader.launching.backend import BufferArgument, Code, LaunchOutcome, LaunchRequest, ScalarArgument
from grader.launching.emulator import Emulator
from grader.launching.remembered import RememberedCompiler, RememberedLaunches
from tests.ptx.nvrtc import compile_ptx

HELPER = """\
__device__ float doubled(float x)
{
    return 2 * x;
}
"""
CONFLICT = """\
extern "C" __global__ void conflict(float *out, int n)
{
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = doubled(threadIdx.x);
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
FAULTS = """\
extern "C" __global__ void faults(float *out, int n)
{
    __shared__ float last;
    if (threadIdx.x == 0)
        last = n;
    out[threadIdx.x] = last;
    out[n + threadIdx.x] = (float)(clock64() ^ (long long)out);
}
"""
ENDLESS = """\
extern "C" __global__ void endless(float *out, int n)
{
    while (n)
        out[threadIdx.x] = n;
}
"""
VARIABLE = "__device__ float more[3];\n\n"
ANOTHER = """\
__constant__ int first[5];
extern "C" __global__ void other(int *x) { __shared__ int a[9]; a[*x] = 1; *x = a[first[2]]; }
"""
KERNELS = {"conflict": CONFLICT, "faults": FAULTS, "endless": ENDLESS}


@cache
def code(text: str) -> Code:
    return Code(text, compile_ptx(text))


def request(entry: str, n: int = 1000) -> LaunchRequest:
    out = BufferArgument("out", (1024,), "float32", np.zeros(1024, np.float32), True)
    return LaunchRequest(entry, (1, 1, 1), (32, 8, 1), 0, (out, ScalarArgument(n, "int32")), observe=True)


def plain(outcome: LaunchOutcome) -> object:
    """All of an outcome, to be compared."""
    outputs = {name: array.tobytes() for name, array in outcome.outputs.items()}
    return outputs, dataclasses.replace(outcome, outputs={})


def shifted(text: str, lines: int) -> str:
    return "\n" * lines + text


EDITS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: shifted(text, 1),
    lambda text: shifted(text, 7),
    lambda text: text.replace("__syncthreads();\n", "__syncthreads();\n\n"),
    lambda text: text.replace("out[threadIdx.x] = last;\n    out", "out[threadIdx.x] = last; out"),
    lambda text: text.replace("return 2 * x", "return 3 * x"),
    lambda text: text.replace("return 2 * x;", "\n return 2 * x;"),
    lambda text: text.replace("tile[32][32]", "tile[32][33]"),
    lambda text: text.replace("clock64()", "clock64() + 1"),
    lambda text: text.replace("while (n)", "while (n > 1)"),
    lambda text: text.replace('extern "C" __global__ void faults', VARIABLE + 'extern "C" __global__ void faults'),
    lambda text: ANOTHER + text,
    lambda text: HELPER.replace("doubled", "unused") + text,
)
ORDERS = st.permutations(list(KERNELS))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ORDERS, st.sampled_from(EDITS), st.sampled_from([1000, 0])), min_size=2, max_size=5))
def test_an_edit_shows_nothing_of_what_was_before(edits: list[tuple[list[str], Callable[[str], str], int]]) -> None:
    remembered = RememberedLaunches()
    for order, edit, n in edits:
        text = edit(HELPER + "".join(KERNELS[name] for name in order))
        warm, fresh = Emulator(remembered), Emulator()
        for entry in (*order, "conflict", "faults"):
            given_twice = [emulator.run(code(text), request(entry, n)) for emulator in (warm, fresh)]
            assert plain(given_twice[0]) == plain(given_twice[1]), text


def test_what_did_not_change_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.launching.emulator import _Launches

    made: list[str] = []
    run = _Launches.run

    def counted(self: _Launches, request: LaunchRequest) -> LaunchOutcome:
        made.append(request.entry)
        return run(self, request)

    monkeypatch.setattr(_Launches, "run", counted)
    remembered = RememberedLaunches()
    text = HELPER + CONFLICT + FAULTS

    def again(changed: str) -> tuple[list[str], dict[str, LaunchOutcome]]:
        made.clear()
        emulator = Emulator(remembered)
        found = {entry: emulator.run(code(changed), request(entry)) for entry in ("conflict", "faults")}
        return list(made), found

    launched, before = again(text)
    assert launched == ["conflict", "faults"]
    launched, after = again("// above\n\n" + text)
    assert launched == []
    counted_lines = [
        [counter.line for counter in found["conflict"].counters.by_line]  # type: ignore[union-attr]
        for found in (before, after)
    ]
    assert counted_lines == [[8, 10, 10], [10, 12, 12]]
    assert [h.line for h in after["faults"].hazards] == [h.line + 2 for h in before["faults"].hazards] != []
    # A kernel between the others, and one that is changed.
    assert again(HELPER + CONFLICT + ENDLESS + FAULTS)[0] == []
    assert again(text.replace("tile[32][32]", "tile[32][33]"))[0] == ["conflict"]
    assert again(text.replace("2 * x", "3 * x"))[0] == ["conflict"]
    # Another number, another launch.
    emulator = Emulator(remembered)
    made.clear()
    emulator.run(code(text), request("conflict", 7))
    assert made == ["conflict"]


def test_what_is_kept_is_bounded() -> None:
    remembered = RememberedLaunches(most_bytes=3 * 4096)
    emulator = Emulator(remembered)
    for n in range(8):
        emulator.run(code(HELPER + CONFLICT), request("conflict", n))
        assert remembered._kept.bytes <= 3 * 4096
    assert 1 <= len(remembered._kept) <= 3


SOURCE = """\
#define CHECK(call) do { if (call) report(__FILE__, __LINE__); } while (0)
#define SIZE 32
__device__ float doubled(float x)
{
    return 2 * x; // twice
}

__global__ void scale(float *out, int n)
{
    /* of one
       thread */ int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = doubled(out[i]) + SIZE;
}
"""
SAME = {
    "nothing": SOURCE,
    "lines above": "\n// more\n\n" + SOURCE,
    "lines below": SOURCE + "\n\n// the end\n",
    "a comment changed": SOURCE.replace("// twice", "// by two, and more"),
    "a comment longer": SOURCE.replace("of one\n", "of one\n\n\n"),
    "a line between": SOURCE.replace("    if", "\n    if"),
    "blanks at an end": SOURCE.replace("(i < n)\n", "(i < n)   \n"),
}
OTHER = {
    "code": SOURCE.replace("2 * x", "3 * x"),
    "a macro": SOURCE.replace("SIZE 32", "SIZE 16"),
    "a column": SOURCE.replace("return 2", "return  2"),
    "a line broken": SOURCE.replace("int i = ", "int i =\n"),
    "a comment that hides code": SOURCE.replace("return 2 * x;", "return x; // 2 * x;"),
}
SAYS_LINES = {
    "a line's number": SOURCE.replace("+ SIZE", "+ __LINE__"),
    "a macro that says it": SOURCE.replace("SIZE 32", "SIZE (__LINE__)"),
    "an assertion": "#include <cassert>\n" + SOURCE.replace("    if", "    assert(n);\n    if"),
}


@pytest.fixture(scope="module")
def unremembered() -> Iterator[CompilerProcess]:
    with CompilerProcess() as compiler:
        yield compiler


@pytest.fixture
def compiler() -> Iterator[RememberedCompiler]:
    with RememberedCompiler() as compiler:
        yield compiler


def test_the_same_code_is_compiled_once(unremembered: CompilerProcess, compiler: RememberedCompiler) -> None:
    asked: list[str] = []
    ask = CompilerProcess.compile
    with pytest.MonkeyPatch.context() as patch:

        def counted(self: CompilerProcess, sources: Mapping[str, str], *rest: object) -> object:
            asked.append(next(iter(sources.values())))
            return ask(self, sources, *rest)  # type: ignore[arg-type]

        patch.setattr(CompilerProcess, "compile", counted)
        found = {name: compiler.compile({"a.cu": text}, ["scale"], "compute_75") for name, text in SAME.items()}
        assert asked == [SOURCE]
        others = {name: compiler.compile({"a.cu": text}, ["scale"], "compute_75") for name, text in OTHER.items()}
        assert asked[1:] == list(OTHER.values())
    # What an editor is told by line and what is launched is as if it were compiled now.
    for name, source in {**SAME, **OTHER}.items():
        assert {**found, **others}[name] == unremembered.compile({"a.cu": source}, ["scale"], "compute_75"), name


@pytest.mark.parametrize("name", SAYS_LINES)
def test_code_that_says_on_which_line_it_stands_is_told_the_line(
    name: str, unremembered: CompilerProcess, compiler: RememberedCompiler
) -> None:
    text = SAYS_LINES[name]
    for moved in (text, "\n" + text, text, "// above\n\n" + text):
        now = compiler.compile({"a.cu": moved}, ["scale"], "compute_75")
        assert now == unremembered.compile({"a.cu": moved}, ["scale"], "compute_75")


def test_what_is_included_and_what_is_asked_for_count(
    unremembered: CompilerProcess, compiler: RememberedCompiler
) -> None:
    text = '#include "mine.cuh"\n__global__ void scale(float *out) { out[0] = mine(); }\n'
    headers = ["__device__ int mine() { return 1; }\n", "\n__device__ int mine() { return 1; }\n"]
    for names in (["scale"], []):
        for header in headers:
            sources = {"a.cu": text, "mine.cuh": header}
            assert compiler.compile(sources, names, "compute_75") == unremembered.compile(sources, names, "compute_75")
    compute_80 = compiler.compile({"a.cu": SOURCE}, ["scale"], "compute_80")
    assert ".target sm_80" in compute_80.ptx
    assert ".target sm_75" in compiler.compile({"a.cu": SOURCE}, ["scale"], "compute_75").ptx


def test_what_does_not_compile_is_told_of_its_lines(
    unremembered: CompilerProcess, compiler: RememberedCompiler
) -> None:
    for code in (SOURCE.replace("2 * x", "y"), "\n" + SOURCE.replace("2 * x", "y"), SOURCE, "int unused;\n" + SOURCE):
        for source in (code, "\n" + code, code.replace("float *out, int n)", "float *out, int n, int m)")):
            now = compiler.compile({"a.cu": source}, ["scale"], "compute_75")
            assert now == unremembered.compile({"a.cu": source}, ["scale"], "compute_75")


def test_compiled_programs_that_are_kept_are_bounded(compiler: RememberedCompiler) -> None:
    compiler._kept.most_bytes = 20_000
    for number in range(12):
        compiler.compile({"a.cu": SOURCE.replace("SIZE 32", f"SIZE {number}")}, ["scale"], "compute_75")
        assert 0 < compiler._kept.bytes <= 20_000
    assert compiler._kept.bytes == sum(size for _, size in compiler._kept._entries.values())
