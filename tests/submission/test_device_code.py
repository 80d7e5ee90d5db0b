"""What is compiled of a file: kernels and what they need stay, host code is blank, lines stay true."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.device_code import device_code, device_source, find_header, header_kind, includes_of
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import decode
from tests.submission.labs import SOURCES, parsed

FILES = sorted(SOURCES.glob("*.cu"))


def read(path: Path) -> ParsedFile:
    return parse(decode(path))


def kept_lines(text: str) -> list[str]:
    """The lines of `text`'s device source that are not blank."""
    return [line for line in device_source(parsed(text)).split("\n") if line.strip()]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_lines_and_columns_stay(path: Path) -> None:
    before = read(path)
    after = device_source(before)
    old, new = before.source.text.split("\n"), after.split("\n")
    assert [len(line) for line in new] == [len(line) for line in old]
    for kernel in kernels_in(before):
        assert new[kernel.line - 1 : kernel.end_line] == old[kernel.line - 1 : kernel.end_line]
    # Whatever stays is the student's own character.
    assert all(n in (o, " ") for a, b in zip(old, new, strict=True) for o, n in zip(a, b, strict=True))


def test_the_end_of_a_condition_within_a_declaration_stays() -> None:
    linkage = ["#ifdef __cplusplus", 'extern "C"', "#endif", "void twice(int *p, int n);"]
    kernel = "__global__ void k(int *p) { p[0] *= 2; }"
    plain = ["void once(int *p)", "{", "#ifdef SLOW", "    wait();", "#endif", "}"]
    assert kept_lines("\n".join([*linkage, *plain, kernel])) == [*linkage, kernel]


def test_a_template_goes_with_the_method_of_the_host_that_it_is_of() -> None:
    text = """
struct Log {
    int level;
    template <typename T> static void info(T v) { std::cout << v; }
    template <typename... T>
    static void warn(T... v) { (std::cout << ... << v); }
    __device__ int of() const { return level; }
};
__global__ void k(int *p, Log l) { *p = l.of(); }
"""
    assert [line.strip() for line in kept_lines(text)] == [
        "struct Log {",
        "int level;",
        "__device__ int of() const { return level; }",
        "};",
        "__global__ void k(int *p, Log l) { *p = l.of(); }",
    ]


def test_what_stays_of_a_samples_program() -> None:
    text = device_source(read(SOURCES / "samples_style.cu"))
    assert [line for line in text.split("\n") if line.strip()][:4] == [
        "const int TILE_DIM = 32;",
        "constexpr int BLOCK_ROWS = TILE_DIM / 4;",
        "typedef float dtype;",
        "__global__ void copySharedTile(dtype *odata, const dtype *idata)",
    ]
    assert not any(word in text for word in ("include", "vector", "repeats", "must", "verify", "main", "cudaMalloc"))


@pytest.mark.parametrize(
    "host",
    [
        "#include <stdio.h>",
        '#include "helper_cuda.h"',
        "#include <thrust/device_vector.h>",
        "using namespace std;",
        "using std::cout;",
        "void prototype(float *, int);",
        "static int counter = 5, *pointer;",
        "std::vector<float> values;",
        "float host[100];",
        "struct Only { std::string name; };",
        "int main() { k<<<1, 1>>>(0); }",
        'extern "C" void exported(int x) { exit(x); }',
        "template <typename T> void show(T x) { std::cout << x; }",
        "template <class T> void show(T x) { std::cout << x; } template void show<int>(int);",
        "template <typename T> struct Timer { T start; };",
        "inline void check(cudaError_t e) { if (e) exit(1); }",
        "enum Mode { FAST, SLOW };",
        "auto compare = [](int a, int b) { return a < b; };",
        "class Reader { public: Reader(); void go() { } };",
    ],
)
def test_host_code_is_blank(host: str) -> None:
    kernel = "__global__ void k(float *a) { a[0] = 1; }"
    lines = kept_lines(f"{host}\n{kernel}\n{host}\n")
    assert [line for line in lines if line.strip() != ";"] == [kernel]


@pytest.mark.parametrize(
    "device",
    [
        "#define T 4",
        "#define ADD(a, b) \\\n    ((a) + (b))",
        "#include <cuda_fp16.h>",
        "#include <cooperative_groups.h>",
        "#include <cuda/barrier>",
        "__device__ float f(float x) { return x; }",
        "__host__ __device__ float f(float x) { return x; }",
        "__device__ float f(float x);",
        "__constant__ float weights[5];",
        "__device__ int counter = 3, table[4];",
        'extern "C" __global__ void other(float *a) { a[0] = 2; }',
        "template <int N> __global__ void other(float *a) { a[0] = N; }\ntemplate __global__ void other<3>(float *);",
        "template <class T> __device__ T one(T x) { return x; }\ntemplate __device__ int one<int>(int);",
        "template <class T> struct Box { T x; };\ntemplate struct Box<int>;",
        "extern __shared__ float pool[];",
        "#pragma unroll",
        "// комментарий",
        "п",
        "#define SIDE = 512",
        "#error wrong",
    ],
)
def test_device_code_stays(device: str) -> None:
    text = f"{device}\n__global__ void k(float *a) {{ a[0] = 1; }}\n"
    assert device_source(parsed(text)) == text


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("const int side = 4;", "side"),
        ("constexpr int side = 4, unused = 2;", "side"),
        ("typedef float real;", "(real)1"),
        ("using real = float;", "(real)1"),
        ("enum { ONE = 1, TWO };", "TWO"),
        ("struct Pair { int x, y; };", "sizeof(Pair)"),
        ("struct Pair { int x, y; } global;", "sizeof(Pair)"),
        ("template <int N> struct Holder { static const int value = N; };", "Holder<3>::value"),
        ("constexpr int twice(int x) { return 2 * x; }", "twice(2)"),
        ("int plain(int x) { return x + 1; }", "plain(2)"),
        ("const int deep = 3;\n#define THROUGH deep", "THROUGH"),
        ("const int first = 1;\nconst int second = first + 1;", "second"),
        ("namespace mine { const int inside = 3; }", "mine::inside"),
    ],
)
def test_what_kernels_mention_stays(declaration: str, use: str) -> None:
    text = f"{declaration}\n__global__ void k(float *a) {{ a[0] = {use}; }}\n"
    assert device_source(parsed(text)) == text
    unused = f"{declaration}\n__global__ void k(float *a) {{ a[0] = 0; }}\n"
    if "#define" not in declaration and "namespace" not in declaration:
        assert kept_lines(unused)[-1].startswith("__global__")
        assert len([line for line in kept_lines(unused) if line.strip() != ";"]) == 1


def test_a_host_variable_that_a_kernel_reads_is_blank_as_nvcc_refuses_it() -> None:
    assert len(kept_lines("int n = 4;\n__global__ void k(int *a) { a[0] = n; }\n")) == 1


def test_methods_for_the_host_only_are_blank() -> None:
    text = """struct Grid {
    int w;
    __device__ int wide() { return w; }
    void print() { std::cout << w; }
    int area() { return w * w; }
};
__global__ void k(Grid g, int *a) { a[0] = g.wide(); }
"""
    lines = device_source(parsed(text)).split("\n")
    assert lines[3].strip() == ""
    assert lines[4].strip() == "int area() { return w * w; }"


def test_a_method_that_calls_a_method_of_the_host_is_blank() -> None:
    text = """struct Stream {
    Stream(bool is_new) { s = is_new ? made() : 0; }
    int id() { return 1; }
    __device__ int one() { return 1; }
    cudaStream_t made() { cudaStream_t t; cudaStreamCreate(&t); return t; }
    cudaStream_t s;
};
"""
    lines = [line.strip() for line in device_source(parsed(text)).split("\n")]
    assert lines[1] == lines[4] == ""
    assert lines[2] == "int id() { return 1; }"


def test_a_comment_or_a_headers_name_uses_nothing(tmp_path: Path) -> None:
    (tmp_path / "lab.cu").write_text('#include "Timer.h"\n__global__ void k(int *a) { a[0] = 1; /* begin() */ }\n')
    (tmp_path / "Timer.h").write_text(
        "int begun;\n// begin\ninline void begin() { begun = clock(); }\nstruct Timer { int t; };\n#define TWO 2\n"
    )
    code = device_code(read(tmp_path / "lab.cu"), tmp_path, read)
    lines = [line.strip() for line in code.sources["Timer.h"].split("\n")]
    assert lines == ["", "// begin", "", ";", "#define TWO 2", ""]


def test_namespaces_of_device_headers_stay() -> None:
    text = """#include <cooperative_groups.h>
using namespace cooperative_groups;
namespace cg = cooperative_groups;
using namespace std;
__global__ void k(int *a) { auto g = this_thread_block(); g.sync(); a[0] = 1; }
"""
    assert [line.strip() for line in device_source(parsed(text)).split("\n")] == [
        *text.split("\n")[:3],
        "",
        *text.split("\n")[4:],
    ]


def test_a_kernel_inside_an_unclosed_host_function_stays() -> None:
    text = 'int main() { if (x) {\n  printf("x");\n}\n__global__ void k(int *a) { a[0] = 1; }\n'
    lines = device_source(parsed(text)).split("\n")
    assert lines[3] == "__global__ void k(int *a) { a[0] = 1; }"
    assert "printf" not in lines[1]


def test_local_headers_are_compiled_too(tmp_path: Path) -> None:
    (tmp_path / "lab.cu").write_text(
        '#include "sizes.h"\n#include "../secret.h"\n#include "missing.h"\n'
        "__global__ void k(int *a) { a[0] = WIDTH + low; }\n"
    )
    (tmp_path / "sizes.h").write_text(
        '#pragma once\n#include <stdio.h>\n#include "deeper.h"\nvoid hello() { exit(0); }\n#define WIDTH 4\n'
    )
    (tmp_path / "deeper.h").write_text("const int low = 1;\nconst int other = 2;\n")
    (tmp_path.parent / "secret.h").write_text("#define SECRET 1\n")
    code = device_code(read(tmp_path / "lab.cu"), tmp_path, read)
    assert list(code.sources) == ["lab.cu", "sizes.h", "deeper.h"]
    assert code.missing_headers == (("../secret.h", 2), ("missing.h", 3))
    assert code.sources["lab.cu"].split("\n")[:3] == ['#include "sizes.h"', " " * 22, " " * 20]
    assert [line.strip() for line in code.sources["sizes.h"].split("\n")] == [
        "#pragma once",
        "",
        '#include "deeper.h"',
        "",
        "#define WIDTH 4",
        "",
    ]
    assert code.sources["deeper.h"].split("\n")[0] == "const int low = 1;"


def test_a_header_has_what_the_file_defines_before_it_is_included(tmp_path: Path) -> None:
    """As nvcc takes it: of the file's own declarations those stay that only the header mentions."""
    (tmp_path / "lab.cu").write_text(
        "const int side = 32;\nconst int rows = side * 2, unused = 7;\n#define ROWS rows\n"
        "struct Cell { float value; };\n"
        "const char *names[] = {0};\nfloat *total(int n) { return (float *)malloc(n); }\n"
        '#include "kernels.cuh"\nint main() { k<<<1, side>>>(); }\n'
    )
    (tmp_path / "kernels.cuh").write_text(
        "// total of names\n__global__ void k() { __shared__ Cell tile[side][ROWS]; tile[0][0].value = 1; }\n"
    )
    code = device_code(read(tmp_path / "lab.cu"), tmp_path, read)
    lines = [line.strip() for line in code.sources["lab.cu"].split("\n")]
    assert lines[:4] == [
        "const int side = 32;",
        "const int rows = side * 2, unused = 7;",
        "#define ROWS rows",
        "struct Cell { float value; };",
    ]
    assert lines[5:8] == ["", '#include "kernels.cuh"', ""]


PIECES = st.sampled_from(
    [
        "#include <stdio.h>",
        "#define SIDE 16",
        "const int limit = SIDE * 2;",
        "int main(int argc, char **argv)\n{\n    // привет\n    return 0;\n}",
        "void show(float *m);",
        'void show(float *m) { printf("%f", m[0]); }',
        "struct Pair { float x; };",
        "__device__ float twice(float v)\n{ return 2 * v; }",
        "/* several\nlines */",
        "std::vector<int> numbers;",
    ]
)
KERNELS = st.integers(0, 99).map(lambda i: f"__global__ void kernel{i}(float *a)\n{{\n    a[{i}] = {i};\n}}")


@given(st.lists(st.one_of(PIECES, KERNELS), min_size=1, max_size=8))
def test_programs_keep_their_lines_and_kernels(pieces: list[str]) -> None:
    text = "\n".join(pieces) + "\n"
    after = device_source(parsed(text)).split("\n")
    assert len(after) == text.count("\n") + 1
    line = 0
    for piece in pieces:
        lines = piece.split("\n")
        if piece.startswith("__global__"):
            assert after[line : line + len(lines)] == lines
        if piece.startswith(("int main", "void", "std", "#include")):
            assert not "".join(after[line : line + len(lines)]).strip()
        line += len(lines)


@given(st.data())
def test_damaged_programs_never_break_the_reader(data: st.DataObject) -> None:
    text = (SOURCES / data.draw(st.sampled_from(["samples_style.cu", "six_sizes.cu"]))).read_text()
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(len(text), start + 200)))
    damaged = text[:start] + data.draw(st.sampled_from(["", "{", "}", "«<", '"', "(", "#if X\n"])) + text[end:]
    after = device_source(parsed(damaged))
    assert after.count("\n") == damaged.count("\n")
    assert len(after) == len(damaged)


SPECIALISED = """#include <vector>
template <class T>
struct SharedMemory {
    __device__ inline operator T*() { extern __shared__ int raw[]; return (T*)raw; }
};
template <>
struct SharedMemory<double> {
    __device__ inline operator double*() { extern __shared__ double raw_d[]; return (double*)raw_d; }
};
template <class A, class B> struct Pair { A a; };
template <typename A> struct Pair<A, int> { A a; int b; };
namespace tools { template <class T> struct Zero { static const int value = 0; }; }
template <> struct tools::Zero<float> { static const int value = 1; };
template <class T> struct Host { std::vector<T> all; };
template <> struct Host<int> { std::vector<int> all; };
template <class T> __global__ void k(T* out) {
    T* s = SharedMemory<T>();
    Pair<T, int> pair = {s[0], tools::Zero<T>::value};
    out[0] = pair.a + pair.b;
}
int main() { Host<int> host; k<double><<<1, 1, 64>>>(nullptr); }
"""


SPECIALISED_FUNCTIONS = """
template <class T> const char *said(T x) { return cudaGetErrorString((cudaError_t)x); }
template <> const char *said(CUresult x) { return "of the driver"; }
template <class T> T twice(T x) { return 2 * x; }
template <> double twice(double x) { return x + x; }
#define check(x) said(x)
#define both(x) twice(x); check(x)
__global__ void k(double *out) { out[0] = twice(1.0); /* as both */ }
int main() { both(0); k<<<1, 1>>>(nullptr); }
"""


def test_specialisations_of_class_templates_stay_with_their_template() -> None:
    kept = "\n".join(kept_lines(SPECIALISED))
    for name in ("SharedMemory<double>", "Pair<A, int>", "tools::Zero<float>"):
        assert f"struct {name}" in kept
    assert "Host" not in kept and "vector" not in kept


def test_specialisations_of_functions_of_the_host_go_with_their_template() -> None:
    kept = "\n".join(kept_lines(SPECIALISED_FUNCTIONS))
    assert "const char" not in kept
    assert "double twice(double x)" in kept


@pytest.mark.parametrize("text", ["__global__ void oops() { x }", "__global__ void oops() { x };"])
def test_a_kernel_of_one_broken_statement_is_no_prototype(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(text + "\n__global__ void later(float *out);\n")
    compiled = device_source(parse(decode(tmp_path / "a.cu")))
    assert "oops" in compiled and "later" not in compiled


def test_headers_outside_the_folder_are_not_found(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.h").write_text("#define X 1\n")
    (inside / "link.h").symlink_to(tmp_path / "outside.h")
    (inside / "own.h").write_text("#define Y 1\n")
    assert find_header("own.h", inside, inside) == inside / "own.h"
    assert find_header("../outside.h", inside, inside) is None
    assert find_header("link.h", inside, inside) is None
    assert find_header(str(tmp_path / "outside.h"), inside, inside) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cuda_fp16.h", "device"),
        ("cuda/std/array", "device"),
        ("cuda/../own.h", "local"),
        ("cub/block/block_reduce.cuh", "device"),
        ("cub/cub.cuh", "host"),
        ("thrust/sort.h", "host"),
        ("cuda_runtime.h", "host"),
        ("stdio.h", "host"),
        ("iostream", "host"),
        ("anything.h", "local"),
        ("utils.h", "local"),
        ("inc/matrix.cuh", "local"),
        ("helper_cuda.h", "host"),
        ("helper_math.h", "local"),
    ],
)
def test_kinds_of_headers(name: str, kind: str) -> None:
    assert header_kind(name) == kind


def test_includes_in_dead_branches_do_not_count() -> None:
    found = includes_of(parsed('#if 0\n#include "gone.h"\n#endif\n#include <stdio.h>\n#include MACRO\n'))
    assert [(i.name, i.line, i.kind) for i in found] == [("stdio.h", 4, "host")]


def test_headers_lie_where_builds_look_for_them(tmp_path: Path) -> None:
    for name in ("include/check.cuh", "other/far.cuh", "src/main.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert find_header("check.cuh", tmp_path / "src", tmp_path) == tmp_path / "include/check.cuh"
    assert find_header("far.cuh", tmp_path / "src", tmp_path) is None
