"""Sources that are not compiled a second time: what comes of them is what the compiler would make of them now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from grader.compiler.process import CompilerProcess
from grader.launching import compiled_before
from grader.launching.compiled_before import RememberedCompiler

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
def plain() -> Iterator[CompilerProcess]:
    with CompilerProcess() as compiler:
        yield compiler


@pytest.fixture
def compiler() -> Iterator[RememberedCompiler]:
    with RememberedCompiler() as compiler:
        yield compiler


def test_the_same_code_is_compiled_once(plain: CompilerProcess, compiler: RememberedCompiler) -> None:
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
    for name, text in {**SAME, **OTHER}.items():
        assert {**found, **others}[name] == plain.compile({"a.cu": text}, ["scale"], "compute_75"), name


@pytest.mark.parametrize("name", SAYS_LINES)
def test_code_that_says_on_which_line_it_stands_is_told_the_line(
    name: str, plain: CompilerProcess, compiler: RememberedCompiler
) -> None:
    text = SAYS_LINES[name]
    for moved in (text, "\n" + text, text, "// above\n\n" + text):
        now = compiler.compile({"a.cu": moved}, ["scale"], "compute_75")
        assert now == plain.compile({"a.cu": moved}, ["scale"], "compute_75")


def test_what_is_included_and_what_is_asked_for_count(plain: CompilerProcess, compiler: RememberedCompiler) -> None:
    text = '#include "mine.cuh"\n__global__ void scale(float *out) { out[0] = mine(); }\n'
    headers = ["__device__ int mine() { return 1; }\n", "\n__device__ int mine() { return 1; }\n"]
    for names in (["scale"], []):
        for header in headers:
            sources = {"a.cu": text, "mine.cuh": header}
            assert compiler.compile(sources, names, "compute_75") == plain.compile(sources, names, "compute_75")
    compute_80 = compiler.compile({"a.cu": SOURCE}, ["scale"], "compute_80")
    assert ".target sm_80" in compute_80.ptx
    assert ".target sm_75" in compiler.compile({"a.cu": SOURCE}, ["scale"], "compute_75").ptx


def test_what_does_not_compile_is_told_of_its_lines(plain: CompilerProcess, compiler: RememberedCompiler) -> None:
    for text in (SOURCE.replace("2 * x", "y"), "\n" + SOURCE.replace("2 * x", "y"), SOURCE, "int unused;\n" + SOURCE):
        for source in (text, "\n" + text, text.replace("float *out, int n)", "float *out, int n, int m)")):
            now = compiler.compile({"a.cu": source}, ["scale"], "compute_75")
            assert now == plain.compile({"a.cu": source}, ["scale"], "compute_75")


def test_what_is_kept_is_bounded(compiler: RememberedCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_before, "MOST_BYTES", 20_000)
    for number in range(12):
        compiler.compile({"a.cu": SOURCE.replace("SIZE 32", f"SIZE {number}")}, ["scale"], "compute_75")
        assert 0 < compiler._bytes <= 20_000
    assert compiler._bytes == sum(kept.bytes for kept in compiler._kept.values())
