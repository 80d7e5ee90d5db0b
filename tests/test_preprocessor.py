"""`#line` in every disguise: gone from what is compiled, while lines and everything else stay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compiler.process import CompilerProcess
from grader.preprocessor import without_dollars, without_line_directives
from grader.submission.device_code import device_source
from tests.pace import at_most
from tests.submission.labs import parsed

DISGUISES = [
    '#line 500 "other.cu"',
    "#line 500",
    "  #\tline 500",
    '# 500 "other.cu"',
    '# 500 "other.cu" 3 4',
    "%:line 500",
    "#/* a */line/* b */500",
    "#li\\\nne 500",
    "#\\\nline 500",
    "\\\n#line 500",
    "/* a */ #line 500",
    "/* a\n*/ #line 500",
    "#line \\\n500",
    "#if 1\n#line 500\n#endif",
    "#define N 500\n#line N",
    'const char *r = R"(/*)"; /* */\n#line 500 // )"',
    "// joined \\\n\n#line 500",
]


@pytest.fixture(scope="module")
def compiler() -> Iterator[CompilerProcess]:
    with CompilerProcess() as process:
        yield process


@pytest.mark.parametrize("directive", DISGUISES)
def test_errors_and_line_tables_bear_the_files_own_lines(compiler: CompilerProcess, directive: str) -> None:
    program = f"{directive}\n__global__ void k(float *a)\n{{\n{directive}\n    a[0] = WRONG;\n}}\n"
    line = program[: program.index("WRONG")].count("\n") + 1
    failed = compiler.compile({"a.cu": device_source(parsed(program))}, ["k"], "compute_75")
    assert [(d.file, d.line) for d in failed.diagnostics if "WRONG" in str(d.message)] == [("a.cu", line)]
    result = compiler.compile({"a.cu": device_source(parsed(program.replace("WRONG", "1")))}, ["k"], "compute_75")
    assert result.ok, result.log
    lines = {int(row.split()[2]) for row in result.ptx.splitlines() if row.strip().startswith(".loc")}
    assert line in lines and max(lines) <= program.count("\n")
    assert "other.cu" not in result.ptx


@pytest.mark.parametrize(
    "text",
    [
        "#define line 5\n",
        "#lines 4\n",
        "#pragma unroll 4\n",
        "x = 1; // #line 4\n",
        "#define A \\\n#line 5\n",
        "int line = 4;\n",
        "#include <line>\n",
        "a = b %:line;\n",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert without_line_directives(text) == text


@given(st.text(alphabet='#line 5/*\\\n%:?="R()x', max_size=60))
def test_lines_and_columns_stay(text: str) -> None:
    after = without_line_directives(text)
    assert [len(line) for line in after.split("\n")] == [len(line) for line in text.split("\n")]
    assert all(new in (old, " ") for old, new in zip(text, after, strict=True))
    assert without_line_directives(after) == after


@pytest.mark.parametrize(
    "piece", ["#/*", "/*", "*/", "#/**/", "/**/", "#\\\n", "\\\n", " #", "*/#/*", "\n#line 4", "#l\\\n"]
)
def test_goes_through_a_text_once(piece: str) -> None:
    with at_most(5):
        without_line_directives("#" + piece * (400_000 // len(piece)) + "*/")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('#define $(x) x "a $"\nint a$b = $(1); // $', '#define _(x) x "a $"\nint a_b = _(1); // $'),
        # Two names stay two.
        ("int a$b, a_b;", "int a$b, a_b;"),
        ("int a$, a_$, $;", "int a_, a__, _;"),
        ("int a$$, a_$;", "int a$$, a_$;"),
    ],
)
def test_names_with_a_dollar(text: str, after: str) -> None:
    assert without_dollars(text) == after


def test_a_macro_called_by_a_dollar_compiles(compiler: CompilerProcess) -> None:
    text = "#define $(x) (x)\n__global__ void k(float *a) { a[0] = $(1); }\n"
    assert compiler.compile({"k.cu": text}, ["k"], "compute_75").ok


def test_a_kernel_with_a_dollar_in_its_name_is_found_by_it(compiler: CompilerProcess) -> None:
    text = "template <int N> __global__ void k$1(float *a) { a[0] = N; }\n"
    result = compiler.compile({"k.cu": text}, ["k$1<2>", "k$1<3>", "other$"], "compute_75")
    assert (sorted(result.entries), result.missing) == (["k$1<2>", "k$1<3>"], ("other$",))
