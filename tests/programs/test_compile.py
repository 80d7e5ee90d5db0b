"""Host code of a program compiled beside headers that were read in advance, which need not be its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.programs.execution import Setting, run_program
from grader.programs.observation import observed
from grader.programs.records import RunLimits
from grader.programs.sources import Sources
from grader.programs.toolchain import compile as compiling
from grader.programs.toolchain.compile import MAX_IN_FUNCTION, MAX_IN_PROGRAM, HostProgram, compile_program, too_long
from grader.programs.toolchain.zig import build
from grader.submission.source import decode, text_of_bytes
from tests.programs.expected import PROGRAMS

PROGRAM = """\
#include <vector>
#include <iostream>
using namespace std;
{before}
__global__ void k(float *out) {{ }}
int main()
{{
    vector<float> host(4);
    {statement}
    cout << host.size() << endl;
    return 0;
}}
"""


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many headers were read in advance, try by try."""
    made: list[int] = []
    real = compiling._compile

    def counted(compilation: compiling.Compilation, headers: Sequence[str]) -> list[HostProgram]:
        made.append(len(headers))
        return real(compilation, headers)

    monkeypatch.setattr(compiling, "_compile", counted)
    return made


def compiled(before: str = "", statement: str = "") -> HostProgram:
    return compile_program(["a.cu"], {"a.cu": PROGRAM.format(before=before, statement=statement)}, build())


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("int n = ;", "expected expression"),
        ("int n = 3", "expected ';' at end of declaration"),
        ("host.resize(m);", "use of undeclared identifier 'm'"),
    ],
)
def test_what_is_wrong_with_any_headers_is_told_at_once(statement: str, text: str, tries: list[int]) -> None:
    program = compiled(statement=statement)
    first = program.diagnostics[0]
    assert (program.reason, first.file, first.line, first.text) == ("errors", "a.cu", 9, text)
    assert len(tries) == 1


@pytest.mark.parametrize(
    ("before", "statement"),
    [("int map[3];", "map[0] = 1;"), ("void shuffle(vector<float> &v, int a, int b) { }", "shuffle(host, 1, 2);")],
)
def test_a_name_of_its_own_may_be_one_of_a_header_s_that_it_does_not_include(
    before: str, statement: str, tries: list[int]
) -> None:
    assert compiled(before, statement).reason == ""
    assert len(tries) <= 2


def test_a_name_that_two_declare_is_looked_at_twice(tries: list[int]) -> None:
    assert compiled("int map[3];", "map[0] = 1;").reason == ""
    assert len(tries) == 2


KERNEL = "__global__ void k(float *a, int n) {}\n"
MANY = 3000
FUNCTIONS = {
    "launches": KERNEL + "\nint main() {" + "k<<<1, 1>>>(0, 1);" * MANY + "}",
    "branches": KERNEL + "\nint main(int c, char **v) {" + "if (v[c]) c++;" * MANY + "}",
    "calls in a class in a namespace": "namespace a { struct S {\nvoid f() {" + "g(a, b);" * MANY + "} }; }",
    "a function that a macro makes": f"#define MAIN(x) int main() {{ x }}\n{'MAIN(' + 'f(a);' * MANY})",
    "a table of calls": "int n;\nint table[] = {" + "f(a, b)," * MANY + "};",
    "macros": "#define F f(a, a, a);\n#define G F F F F F F F F\n" + KERNEL + "int main() {" + "G " * 200 + "}",
}
PROGRAMS_TOO_LONG = {
    "kernels": "".join(f"__global__ void k{i}() {{}}\n" for i in range(1000)),
    "kernels by a macro": "#define K(n) __global__ void k##n() {}\n" + "".join(f"K({i});\n" for i in range(1000)),
    "functions": "".join(f"int f{i}(int a) {{ return a + a * a; }}\n" for i in range(12_000)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_is_too_long_is_named_by_its_line(name: str) -> None:
    found = too_long({"main.cu": FUNCTIONS[name]})
    assert found is not None and found.in_function and found.limit == MAX_IN_FUNCTION
    assert found.line == (3 if name in {"launches", "branches"} else 4 if name == "macros" else 2)


@pytest.mark.parametrize("name", PROGRAMS_TOO_LONG)
def test_a_program_may_be_too_long_without_such_a_function(name: str) -> None:
    found = too_long({"main.cu": PROGRAMS_TOO_LONG[name]})
    assert found is not None and not found.in_function and found.limit == MAX_IN_PROGRAM


@pytest.mark.parametrize(
    "text",
    [
        "const float table[][3] = {" + "{1.5f, -3, +5}," * 20_000 + "};",
        "float table[] = {" + "1.5f, -3, 0x1F, .5," * 50_000 + "};",
        "".join(f"int f{i}(int a) {{ return a + a * a; }}\n" for i in range(2000)),
        "namespace n {\n" + "int f(int a);\n" * 5000 + "}",
        '#define CHECK(x) do { int e = (x); if (e) { printf("%d", e); exit(1); } } while (0)\nint main() {'
        + "CHECK(cudaMalloc(&a, n));" * 250
        + "}",
    ],
)
def test_tables_and_long_files_are_none_of_it(text: str) -> None:
    assert too_long({"main.cu": text}) is None


@pytest.mark.parametrize("folder", PROGRAMS, ids=lambda folder: folder.name)
def test_no_program_of_a_course_comes_near(folder: Path) -> None:
    texts = {
        path.name: text_of_bytes(path.read_bytes())[0] for path in folder.iterdir() if path.suffix in {".cu", ".h"}
    }
    assert too_long({name: text + text.replace("main", "other") for name, text in texts.items()}) is None


def test_a_program_of_very_many_launches_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(FUNCTIONS["launches"])
    seen = observed([decode(path)])
    assert seen.failed is None
    (run,) = seen.runs
    assert run.cause is not None and run.cause.id == "programs.function_too_long"
    assert (run.cause_file, run.cause_line, run.launches) == ("a.cu", 3, ())


def test_a_header_in_angle_brackets_is_called_as_the_program_has_it(tmp_path: Path, host_cache: Path) -> None:
    (tmp_path / "own.h").write_text('inline void own() { printf("%s\\n", __FILE__); cudaSetDevice(9); }\n')
    (tmp_path / "main.cu").write_text("#include <stdio.h>\n#include <own.h>\nint main() { own(); }\n")
    got = run_program(
        Sources([tmp_path / "main.cu"]), setting=Setting(host_cache=host_cache), limits=RunLimits(wall_seconds=60)
    )
    assert got.stdout == b"own.h\n"
    # Who looks at the error is known by the place, which both halves of what is known of the call have to name alike.
    assert [(finding.kind, finding.file, finding.line) for finding in got.findings] == [("unnoticed_error", "own.h", 1)]
