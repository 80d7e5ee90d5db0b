"""Programs whose comments, blanks and lines have changed: what a compiler makes of them, and what was seen of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader.programs import execution
from grader.programs.execution import Setting, run_each
from grader.programs.moved import lines_of
from grader.programs.records import Observation, RunLimits, Start
from grader.programs.remembered import RememberedPrograms
from grader.programs.runtime.devices import GRADING
from grader.programs.sources import Sources
from grader.programs.toolchain import zig
from grader.programs.toolchain.compile import HostProgram, compile_program
from grader.submission.lexical import as_compiled

TRACED = RunLimits(executes=False)
PROGRAM = """#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \\
    fprintf(stderr, "%s:%d: %s\\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
void say(int code, const char *file, int line) { if (code) printf("%s:%d %d\\n", file, line, code); }
#define SAY(call) say((call), __FILE__, __LINE__)
__global__ void twice(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
int main()
{
    float *d_x, *d_lost, h_x[64] = {1};
    CHECK(cudaMalloc(&d_x, sizeof(h_x)));
    SAY(cudaMalloc(&d_lost, 128));
    CHECK(cudaMemcpy(d_x, h_x, sizeof(h_x), cudaMemcpyHostToDevice));
    twice<<<2, 32>>>(d_x, 64);
    CHECK(cudaMemcpy(h_x, d_x, sizeof(h_x), cudaMemcpyDeviceToHost));
    cudaFree(d_x);
    return 0;
}
"""

ODD = {
    "in a directive": '#define A 1 /* one\n or two */ + 1\nint a = A;\n',
    "before a directive": '/* a\n b */ #define B 2\nint b = B;\n',
    "stringified": '#define S(x) #x\nconst char *s = S(a /* c */ + /**/ b   -c) S( x/**/y );\n',
    "in literals": 'const char *s = "/* no */ // no   \\" //"; char c = \'"\'; int d = 1; // yes "\n',
    "raw": 'const char *s = R"x(  // no\n\n   /* no */ )" )x"; int d; /* yes */\n',
    "marks in numbers": "int n = 1'000'000; const char *s = \"a'b // no\"; // it's\nint m = 0x1'F; // '\n",
    "spliced": '#define L(x) one(x); \\\n   two(x)   \\  \n  /* and */ three(x)\nL(1) L(2)\n',
    "a comment that goes on": 'int a; // path C:\\labs\\\nint hidden;\n// and so \\  \nint too;\nint b;\n',
    "pasted by a splice": 'int lo\\\nng_name; int a\\\n  b;\n',
    "divided": 'int a = b /c/ d; int e = f/ *g; int h = i /**/ / j;\n',
    "tabs": '\tint\ta\t;\t// x\t\n\t#\tdefine\tT\t1\t\n\tint b = T;\v\f\n',
    "windows": 'int a; // x\r\n#define W 1 /* a\r\n b */ + 2\r\nint w = W;\r\n',
    "quotes where nothing is compiled": "#if 0\nit isn't /* said\n#endif\n*/\n#endif\nint a;\n",
    "no comment's end": 'int a; /* open // \n int b;\n',
    "a header's name": '#if 0\n#include <a/*b>\n#endif\nint a; /* c */ int b;\n',
    "lines": 'int a = __LINE__; /* \n\n */ int b = __LINE__;\n#define Q __LINE__ /*\n*/ + __LINE__\nint c = Q;\n',
}  # fmt: skip


def preprocessed(text: str, folder: Path) -> tuple[str, list[str]]:
    """What the compiler makes of a text before it reads it as C++: its tokens; and what is wrong."""
    file = folder / "text.cu"
    file.write_bytes(text.encode())
    command = [str(zig.executable()), "clang", "-E", "-P", "-x", "c++", "-std=gnu++17", "-nostdinc", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    literals = re.split(r'(R"x\(.*?\)x"|"(?:\\.|[^"\\])*")', done.stdout, flags=re.S)
    plain = "".join(part if index % 2 else " ".join(f"_ {part} _".split()) for index, part in enumerate(literals))
    return plain, re.findall(r"error: (.*)", done.stderr)


@pytest.mark.parametrize("name", ODD)
def test_a_compiler_makes_the_same_of_a_text_without_comments(name: str, tmp_path: Path) -> None:
    text = ODD[name]
    made = as_compiled(text)
    assert preprocessed(made, tmp_path) == preprocessed(text, tmp_path)
    assert made.count("\n") == text.count("\n")
    assert as_compiled(made) == made


def seen(text: str, folder: Path, remembered: RememberedPrograms | None) -> list[Observation]:
    (folder / "main.cu").write_text(text, "utf-8")
    return run_each(Sources([folder / "main.cu"]), [Start()], TRACED, Setting(GRADING, remembered=remembered))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, compiled_anew: None) -> list[str]:
    """Grows by one with each program that is compiled."""
    made: list[str] = []

    def counted(*arguments: Any) -> HostProgram:
        made.append("compiled")
        return compile_program(*arguments)

    monkeypatch.setattr(execution, "compile_program", counted)
    return made


MOVED = {
    "a line above": "// a line\n\n" + PROGRAM,
    "blank lines everywhere": PROGRAM.replace(";\n", ";\n\n").replace("\\\n\n", "\\\n"),
    "comments everywhere": re.sub(r"([;{])\n", r"\1 /* so\nit is */ // and goes on\n", PROGRAM).replace("\\ /*", "\\"),
    "in the kernel": PROGRAM.replace("if (i < n)", "\n\n    if (i >= n) return;\n    if (i < n)"),
    "spaces": PROGRAM.replace("    ", "\t  ").replace(", ", ",    "),
}


@pytest.mark.slow
def test_of_a_program_whose_lines_have_moved_the_same_is_seen_there(tmp_path: Path, compiled: list[str]) -> None:
    remembered = RememberedPrograms()
    (first,) = seen(PROGRAM, tmp_path, remembered)
    assert [(x.kernel, x.line) for x in first.launches] == [("twice", 18)]
    assert [(x.kind, x.line) for x in first.findings] == [("leak", 16)]
    for name, text in MOVED.items():
        compiled.clear()
        known = seen(text, tmp_path, remembered)
        assert compiled == [], name
        assert known == seen(text, tmp_path, None), name


def test_of_kernels_that_were_run_what_was_counted_is_told_of_their_lines(tmp_path: Path, compiled: list[str]) -> None:
    remembered = RememberedPrograms()

    def run(text: str, remembered: RememberedPrograms | None) -> list[Observation]:
        (tmp_path / "main.cu").write_text(text, "utf-8")
        return run_each(
            Sources([tmp_path / "main.cu"]), [Start()], RunLimits(), Setting(GRADING, remembered=remembered)
        )

    def counted(text: str) -> set[int]:
        (one,) = run(text, remembered)
        return {counter.line for launch in one.launches for counter in launch.counters}

    assert counted(PROGRAM) == {10}
    compiled.clear()
    above = "// above\n" + PROGRAM
    assert (counted(above), compiled) == ({11}, [])
    # A line of the kernel alone: the host's stay where they are.
    lower = PROGRAM.replace("    int i", "\n    int i").replace("int main()\n", "int main() ")
    assert counted(lower) == {11}
    assert run(above, remembered) == run(above, None)


MATTERS = {
    "a size": PROGRAM.replace("128", "__LINE__ * 4"),
    "a size by a macro": PROGRAM.replace("128", "HERE * 4").replace("__global__", "#define HERE __LINE__\n__global__"),
    "a size by a pasted name": PROGRAM.replace("128", "CAT(__LI, NE__) * 4").replace(
        "__global__", "#define CAT(a, b) a##b\n__global__"
    ),
    "a size by a builtin": PROGRAM.replace("128", "__builtin_LINE() * 4"),
    "a size by a function": PROGRAM.replace("128", "four(__LINE__)").replace(
        "__global__", "int four(int line) { return line * 4; }\n__global__"
    ),
    "a size by a function that says it too": PROGRAM.replace("128", "four(0, __LINE__)").replace(
        "__global__", 'int four(int, int at) { printf("%d", at); return at * 4; }\n__global__'
    ),
    "a shift": PROGRAM.replace("128", "4 << __LINE__ / 8"),
    "a directive of lines": PROGRAM.replace("int main", "#line 100\nint main"),
}


@pytest.mark.parametrize("name", MATTERS)
def test_a_program_to_which_its_lines_matter_is_known_by_all_of_them(name: str) -> None:
    assert lines_of({"main.cu": MATTERS[name]}).exact


def test_a_program_to_which_its_lines_matter_is_run_anew(tmp_path: Path, compiled: list[str]) -> None:
    text = MATTERS["a size by a function"]
    remembered = RememberedPrograms()
    (first,) = seen(text, tmp_path, remembered)
    assert (seen(text, tmp_path, remembered), len(compiled)) == ([first], 1)
    (moved,) = seen("\n" + text, tmp_path, remembered)
    assert [f.message.data["bytes"] for run in (first, moved) for f in run.findings] == [68, 72]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ('std::cerr << __FILE__ << ":" << __LINE__ << std::endl;', False),
        ("int x = 1 << __LINE__;", True),
        ('template <class T> void check(T r, const char *f, int const l = 0) { std::cerr << f << l; }\n'
         "#define C(x) check((x), __FILE__, __LINE__)", False),
        ('inline void die(int l);\ninline void die(int l) { exit(l); }\n#define C(x) die(__LINE__)', True),
        ('const char *s = "__LINE__";  // said, not asked for', False),
        ('#define P(...) printf("%d", ## __VA_ARGS__)\nvoid f() { P(__LINE__); }', True),
        ("void f(int n) { f(n); } void g() { f(__LINE__); }", True),
        ("int a[3]; int b = a[__LINE__ % 3];", True),
        ("if (fits(x, __LINE__)) exit(1);", True),
    ],
)  # fmt: skip
def test_where_a_line_goes_is_followed(text: str, exact: bool) -> None:
    assert lines_of({"main.cu": text}).exact is exact


def test_a_text_of_many_lines_that_are_asked_for_is_read_in_time() -> None:
    for piece in ("f(__LINE__", "void f(int l) { f(l, __LINE__); }", "__LINE__,", "#define f(x) f(x, __LINE__)\n"):
        assert lines_of({"main.cu": piece * 20_000}).exact
