"""How many tokens macros stand for: counted in no time, however many; and never held against a program of a course."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.message import msg
from grader.preprocessor import MAX_TOKENS, too_many_tokens
from grader.programs.toolchain.compile import compile_program
from grader.programs.toolchain.zig import Library
from tests.pace import at_most

pytestmark = pytest.mark.started

CHAIN = "#define A0 1\n" + "".join(f"#define A{i} A{i - 1} + A{i - 1}\n" for i in range(1, 40))
CALLS = "#define G0(x) x x\n" + "".join(f"#define G{i}(x) G{i - 1}(x) G{i - 1}(x)\n" for i in range(1, 40))
NESTED = "#define T(x) x x\n"
SOURCES = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("text", "line", "macro"),
    [
        (f"{CHAIN}int a;\nint b = A39;", 42, "A39"),
        (f"{CHAIN}int a[A39\n];", 41, "A39"),
        (f"{CHAIN}#if A39\n#endif", 41, "A39"),
        (f"{CHAIN}#define Z \\\n  A39\n__global__ void k() {{\n\n  Z\n}}", 45, "Z"),
        (f"{CALLS}G39(int a;)", 41, "G39"),
        (f"{NESTED}int b = {'T(' * 40}1{')' * 40};", 2, "T"),
        (f"#define V(...) __VA_ARGS__ __VA_ARGS__\nint b = {'V(' * 40}1, 2{')' * 40};", 2, "V"),
        (f"#define N(args...) args args\nint b = {'N(' * 40}1, 2{')' * 40};", 2, "N"),
        ("#ifdef X\n#define L 1\n#endif\n" + f"{CHAIN}#define L A39\nint b = L;\n", 45, "L"),
        (f"#define A39 1\n{CHAIN}// A39 here\nint b = /* and here */ A39;", 43, "A39"),
    ],
)
def test_what_doubles_and_doubles_is_too_much(text: str, line: int, macro: str) -> None:
    with at_most(2):
        found = too_many_tokens({"a.cu": text})
    assert found is not None and (found.file, found.line, found.macro) == ("a.cu", line, macro)


def test_a_header_counts_as_part_of_the_program() -> None:
    assert too_many_tokens({"a.cu": '#include "a.h"\n', "a.h": f"{CHAIN}int x = A39;"}) is not None
    found = too_many_tokens({"a.cu": '#include "a.h"\nint x = A39;', "a.h": CHAIN})
    assert found is not None and (found.file, found.line) == ("a.cu", 2)


@pytest.mark.parametrize(
    "text",
    [
        CHAIN,
        f'{CHAIN}// A39\n/* A39 */ const char *s = "A39";',
        f"{CHAIN}int x = B39;",
        "#define A A A A\n#define B A B\nA B\n" * 50,
        "#define F(x) F(F(x))\nint y = F(F(F(1)));",
        f"#define G(x) x x\n{'G(' * 5000}",
        f"{NESTED}int T = 1; int y = T;",
        "#define X4(x) x x x x\n#define X16(x) X4(X4(x))\n#define X256(x) X16(X16(x))\nX256(a += b;)\n" * 100,
    ],
)
def test_what_is_not_used_or_stands_for_little_is_left_alone(text: str) -> None:
    assert too_many_tokens({"a.cu": text}) is None


def test_the_limit_is_the_number_of_tokens() -> None:
    thousand = "#define X10(x) x x x x x x x x x x\n#define K(x) X10(X10(X10(x)))\n"
    assert too_many_tokens({"a.cu": thousand + "K(;) " * (MAX_TOKENS // 1000)}) is None
    found = too_many_tokens({"a.cu": thousand + "K(;) " * (MAX_TOKENS // 1000) + "\n;"})
    assert found is not None and found.line == 4


def test_no_program_of_this_project_comes_near_it() -> None:
    files = [*SOURCES.glob("submissions/*/*.cu"), *SOURCES.glob("tests/kernels/**/*.cu")]
    assert len(files) > 100
    for file in files:
        assert too_many_tokens({file.name: file.read_text(encoding="utf-8", errors="replace")}) is None, file


def test_the_compilers_are_not_asked() -> None:
    text = f"{CHAIN}__global__ void k(int *a) {{ a[0] = A39; }}\nint main() {{ return 0; }}\n"
    with CompilerProcess() as compiler:
        result = compiler.compile({"a.cu": text}, ["k"], "compute_75")
    assert (result.ok, result.reason) == (False, "errors")
    (found,) = result.diagnostics
    assert (found.file, found.line, found.message) == (
        "a.cu",
        41,
        msg("compiler.macros", macro="A39", limit=MAX_TOKENS),
    )
    program = compile_program(["a.cu"], {"a.cu": text}, Library(Path("nowhere")))
    assert (program.module, program.reason) == (b"", "long")
