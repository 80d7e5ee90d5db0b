"""Sizes that are constants of a program, template arguments, and matrices that are global arrays."""

from __future__ import annotations

import struct

import msgspec
import pytest

from grader.lab.labs import find
from grader.lab.parameters import KINDS
from grader.submission.kernels.records import ObservedRuns, SeenArgument, SeenChange, SeenLaunch, SeenRun
from grader.submission.lexical import Edit, apply
from grader.submission.records import Submission, VariantBinding
from tests.submission.labs import LINE, PRODUCT, bound

BODY = "{ int i = blockIdx.x * 16 + threadIdx.x; c[i] = a[i] * b[i] + N; }"


def binding(submission: Submission, variant: str = "naive") -> VariantBinding:
    found = submission.bindings[variant]
    assert isinstance(found, VariantBinding), found
    return found


def product(text: str, variant: str = "naive") -> tuple[Submission, VariantBinding]:
    submission = bound(text, PRODUCT)
    return submission, binding(submission, variant)


@pytest.mark.parametrize(
    ("definition", "changed"),
    [
        ("#define N 1024 // rows", "#define N 64 // rows"),
        ("#define N (1 << 10)", "#define N 64"),
        ("const int N = 1024;", "const int N = 64;"),
        ("static constexpr unsigned N = 4 * 256;", "static constexpr unsigned N = 64;"),
        ("enum { M = 3, N = 1024 };", "enum { M = 3, N = 64 };"),
        ("#ifndef N\n#define N 1024\n#endif", "#ifndef N\n#define N 64\n#endif"),
    ],
)
def test_constants_are_changed_where_they_are_defined(definition: str, changed: str) -> None:
    submission, naive = product(f"{definition}\n__global__ void naive(float *a, float *b, float *c) {BODY}\n")
    assert naive.interpretations[0].constants == (("n", "N"),)
    before, after = submission.program("main.cu"), submission.program("main.cu", {"N": 64})
    assert after["main.cu"] == before["main.cu"].replace(definition, changed)


@pytest.mark.parametrize(
    ("declared", "name", "changed"),
    [
        ("__constant__ int c_n;", "c_n", "__constant__ int c_n = 64;"),
        ("__constant__ unsigned other, N;", "N", "__constant__ unsigned other, N = 64;"),
        ("__device__ int N;", "N", "__constant__ int N = 64;"),
        ("__device__ __managed__ unsigned N;", "N", "__constant__  unsigned N = 64;"),
        ("__managed__ int g_n, other;", "g_n", "__constant__ int g_n = 64, other;"),
    ],
)
def test_constants_that_the_host_copies_to_the_device(declared: str, name: str, changed: str) -> None:
    body = BODY.replace("N", name)
    host = f"int main() {{ int n = 64; cudaMemcpyToSymbol({name}, &n, 4); }}\n"
    submission, naive = product(f"{declared}\n__global__ void naive(float *a, float *b, float *c) {body}\n{host}")
    assert (naive.interpretations[0].constants, naive.interpretations[0].declared) == ((("n", name),), ())
    assert submission.program("main.cu", {name: 64})["main.cu"].split("\n")[0] == changed


def test_lines_stay_true_where_a_definition_takes_several() -> None:
    text = "#define N \\\n  1024\n__global__ void naive(float *a, float *b, float *c) " + BODY
    submission, _naive = product(text)
    program = submission.program("main.cu", {"N": 64})["main.cu"]
    assert program.count("\n") == submission.program("main.cu")["main.cu"].count("\n")
    assert program.index("__global__") > program.index("64")


def test_positions_hold_behind_blanked_text_of_several_bytes_a_character() -> None:
    text = (
        'void печать() { printf("размер"); } /* комментарий */\n#define N 1024\n'
        "__global__ void naive(float *a, float *b, float *c) " + BODY
    )
    submission, _naive = product(text)
    assert "#define N 64\n" in submission.program("main.cu", {"N": 64})["main.cu"]


def test_a_size_that_the_kernel_takes_is_no_constant() -> None:
    _submission, naive = product("#define N 1024\n__global__ void naive(float *a, float *b, float *c, int n) " + BODY)
    assert naive.interpretations[0].constants == ()
    assert "n" in naive.interpretations[0].roles


def test_a_constant_is_found_through_macros_and_functions() -> None:
    text = """#define SIZE 512
#define AT(m, r, c) m[(r) * SIZE + (c)]
__device__ float get(const float *m, int r, int c) { return AT(m, r, c); }
__global__ void naive(float *a, float *b, float *c)
{ c[threadIdx.x] = get(a, blockIdx.x * 16, 0) * get(b, 0, 0); }
"""
    _submission, naive = product(text)
    assert naive.interpretations[0].constants == (("n", "SIZE"),)


def test_the_side_of_a_tile_is_no_size_of_the_problem() -> None:
    text = """#define SIZE 16
__global__ void tiled(float *a, float *b, float *c)
{ __shared__ float t[SIZE][SIZE + 1]; t[threadIdx.y][threadIdx.x] = a[0] + b[0]; c[0] = t[0][0]; }
"""
    _submission, tiled = product(text, "block")
    assert tiled.interpretations[0].constants == ()


@pytest.mark.parametrize(
    "step", ["blockIdx.%s * N + threadIdx.%s", "threadIdx.%s + (blockIdx.%s * N)", "threadIdx.%s + N * blockIdx.%s"]
)
def test_what_blocks_cover_along_both_axes_is_no_size_of_the_problem(step: str) -> None:
    x, y = (step.replace("%s", axis) for axis in "xy")
    body = f"{{ int i = {x}, j = {y}; c[i + j] = a[i] * b[j]; }}"
    _submission, naive = product(f"#define N 16\n__global__ void naive(float *a, float *b, float *c) {body}\n")
    assert naive.interpretations[0].constants == ()


def test_an_array_of_two_different_extents_may_hold_the_size() -> None:
    text = """#define N 5
#define THREADS 64
__global__ void tiled(float *a, float *b, float *c)
{ __shared__ float t[THREADS][N * N]; t[threadIdx.x][0] = a[N] + b[0]; c[0] = t[0][0]; }
"""
    _submission, tiled = product(text, "block")
    assert tiled.interpretations[0].constants == (("n", "N"),)


def test_a_value_that_stands_nowhere_in_the_file_is_fixed() -> None:
    text = "const int N(1024);\n__global__ void naive(float *a, float *b, float *c) " + BODY
    _submission, naive = product(text)
    assert (naive.interpretations[0].constants, naive.interpretations[0].pinned) == ((), (("n", 1024),))


def test_a_template_argument_named_like_a_size_follows_it() -> None:
    text = (
        "template <typename T, int N, int S> __global__ void naive(T *a, T *b, T *c) "
        + BODY
        + "\nint main() { float *x; naive<float, 512, 8><<<1, 16>>>(x, x, x); }"
    )
    _submission, naive = product(text)
    assert naive.interpretations[0].template == (("float", ""), ("512", "n"), ("8", ""))


def test_global_arrays_become_parameters_that_hide_them() -> None:
    text = """#define N 256
__device__ float A[N][N], B[N][N];
__device__ float C[N][N];
__device__ float unused[N];
__global__ void naive();
__global__ void naive(void)
{ C[threadIdx.y][threadIdx.x] = A[0][blockIdx.x * 16] * B[0][0]; }
"""
    submission, naive = product(text)
    assert [(p.name, p.is_global) for p in naive.kernel.parameters] == [("A", True), ("B", True), ("C", True)]
    assert naive.interpretations[0].roles == ("a", "b", "c")
    program = submission.program("main.cu", {"N": 32})["main.cu"]
    assert "__global__ void naive(float A[N][N], float B[N][N], float C[N][N])\n" in program
    assert program.count("naive") == 1  # a prototype would declare another kernel
    assert "#define N 32\n" in program


def test_global_arrays_come_before_the_kernel_s_own_parameters() -> None:
    text = """__device__ float a[64][64], b[64][64];
__global__ void naive(float *c, int n) { c[blockIdx.x * 16] = a[0][0] + b[0][n]; }
"""
    submission, naive = product(text)
    assert naive.interpretations[0].roles == ("a", "b", "c", "n")
    assert "naive(float a[64][64], float b[64][64], float *c, int n)" in submission.program("main.cu")["main.cu"]


def test_arrays_beside_those_of_the_lab_stay_global() -> None:
    text = """__device__ float table[16];
__global__ void naive(float *a, float *b, float *c, int n) { c[blockIdx.x * 16] = a[0] + b[0] + table[n]; }
"""
    _submission, naive = product(text)
    assert [p.name for p in naive.kernel.parameters] == ["a", "b", "c", "n"]


def test_what_a_lab_calls_usual_is_fixed_where_a_kernel_neither_takes_nor_names_it() -> None:
    from dataclasses import replace

    from grader.lab.records import Parameter

    lab = replace(
        LINE, parameters=(*LINE.parameters, Parameter("radius", KINDS["size"], "int32", names=("r",), usual=2))
    )
    text = (
        "__global__ void shared(float *in, float *out, int n) { __shared__ float s[8]; s[0] = in[n]; out[0] = s[0]; }"
    )
    found = bound(text, lab).bindings["shared"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].pinned == (("radius", 2),)
    named = bound("#define R 3\n" + text.replace("s[8]", "s[8 + R]"), lab).bindings["shared"]
    assert isinstance(named, VariantBinding)
    assert (named.interpretations[0].constants, named.interpretations[0].pinned) == ((("radius", "R"),), ())


def test_edits_of_constants_that_are_not_asked_for_are_left_out() -> None:
    edits = [Edit(0, 1, "A"), Edit(2, 3, "", "N"), Edit(4, 5, "", "M")]
    assert apply("a b c", edits, {"M": 7}) == "A b 7"


ARGUMENTS = (SeenArgument("in", "const float *"), SeenArgument("out", "float *"))
SCALED = "{ out[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x] * %s; }"


def seen(**filled: bytes) -> ObservedRuns:
    launch = SeenLaunch("naive", (), "main.cu", 3, (2, 2, 1), (32, 32, 1), 0, ARGUMENTS, filled=tuple(filled.items()))
    return ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))


def made(declaration: str, use: str, **filled: bytes) -> str:
    text = f"{declaration}\n__global__ void naive(const float *in, float *out) {SCALED % use}\n"
    submission: Submission = bound(text, observed=seen(**filled))
    assert isinstance(submission.bindings["naive"], VariantBinding)
    return submission.program("main.cu")["main.cu"].split("\n")[0]


@pytest.mark.parametrize(
    ("declaration", "use", "content", "expected"),
    [
        (
            "__constant__ float w[2];",
            "w[0]",
            struct.pack("<2f", 0.5, -2),
            " = {0x1.0000000000000p-1f, -0x1.0000000000000p+1f}",
        ),
        ("static __constant__ double w;", "w", struct.pack("<d", 0.5), " = 0x1.0000000000000p-1"),
        ("__constant__ unsigned bias;", "bias", struct.pack("<I", 7), " = 7"),
        # Memory of another kind, numbers that C++ does not write, bytes that are no such numbers, a value that it has.
        ("__device__ float w[2];", "w[0]", struct.pack("<2f", 1, 2), ""),
        ("__constant__ float w;", "w", struct.pack("<f", float("nan")), ""),
        ("__constant__ float w;", "w", b"123", ""),
        ("__constant__ float w = 3;", "w", struct.pack("<f", 1), ""),
        # Of a kernel that does not look at it.
        ("__constant__ float w[2];", "2", struct.pack("<2f", 1, 2), ""),
        # A whole number may be a size, which is not what it was in the program's own run.
        ("__constant__ int rows;", "rows", struct.pack("<i", 7), None),
        # What no size of the lab is chosen for.
        ("__constant__ int w[2];", "w[1]", struct.pack("<2i", 7, 8), " = {7, 8}"),
        ("__constant__ int w[17];", "w[1]", struct.pack("<17i", *range(17)), ""),
    ],
)
def test_what_was_seen_stands_where_it_is_declared(
    declaration: str, use: str, content: bytes, expected: str | None
) -> None:
    name = use.partition("[")[0] if use != "2" else "w"
    assert made(declaration, use, **{name: content}) == declaration.replace(";", f"{expected or ''};")


def test_of_several_contents_the_first_is_taken() -> None:
    launches = []
    for line, (name, number) in enumerate([("naive", 1), ("base", 2)], 4):
        filled = (("w", struct.pack("<f", number)),)
        launches.append(SeenLaunch(name, (), "main.cu", line, (2, 2, 1), (32, 32, 1), 0, ARGUMENTS, filled=filled))
    kernels = "".join(f"__global__ void {k}(const float *in, float *out) {SCALED % 'w'}\n" for k in ("naive", "base"))
    seen_run = SeenRun(("main.cu",), tuple(launches))
    submission = bound(f"__constant__ float w;\n{kernels}", observed=ObservedRuns((seen_run,)))
    assert submission.program("main.cu")["main.cu"].startswith("__constant__ float w = 0x1.0000000000000p+0f;\n")


# Whole numbers as well: as many as a size says are weights.
@pytest.mark.parametrize(("dtype", "content"), [("float", "<4f"), ("int", "<4i")])
def test_what_the_memory_is_made_of_stays_as_it_is(dtype: str, content: str) -> None:
    declaration = f"#define COLS 2\n#define ROWS 4\n__constant__ {dtype} w[COLS * 2];"
    text = f"{declaration}\n__global__ void naive(const float *in, float *out) {SCALED % 'w[ROWS - COLS]'}\n"
    submission = bound(text, observed=seen(w=struct.pack(content, 1, 2, 3, 4)))
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].constants == (("rows", "ROWS"),)
    assert dict(found.interpretations[0].pinned) == {"cols": 2}


def test_a_struct_with_a_fraction_is_filled_whole() -> None:
    lab = find("box-blur")
    text = (
        "struct Settings { int radius; float factor; };\n__constant__ Settings settings;\n"
        "__global__ void naive(const float *in, float *out, int n) "
        "{ int i = threadIdx.x; if (i < n) out[i] = in[i] * settings.factor + settings.radius; }\n"
    )
    launch = SeenLaunch(
        "naive", (), "main.cu", 9, (1, 1, 1), (32, 1, 1), 0, (), filled=(("settings", struct.pack("<if", 2, 0.5)),)
    )
    submission = bound(text, lab, observed=ObservedRuns((SeenRun(("main.cu",), (launch,)),)))
    made = submission.program("main.cu")["main.cu"].split("\n")
    assert made[:2] == [
        "struct Settings { int radius; float factor; };",
        "__constant__ Settings settings = {2, 0x1.0000000000000p-1f};",
    ]


def settings_made(fields: str, content: bytes, **sizes: int) -> str:
    """The declaration of a struct in constant memory that a box blur reads, as it is compiled for some sizes."""
    text = (
        f"struct Settings {{ {fields} }};\n__constant__ Settings settings;\n"
        "__global__ void naive(const float *in, float *out) "
        "{ int i = threadIdx.x; if (i < settings.count) out[i] = in[i] * settings.factor; }\n"
    )
    launch = SeenLaunch("naive", (), "main.cu", 9, (1, 1, 1), (32, 1, 1), 0, (), filled=(("settings", content),))
    seen_run = SeenRun(("main.cu",), (launch,))
    submission = bound(text, find("box-blur"), observed=ObservedRuns((seen_run,)))
    return submission.program("main.cu", sizes)["main.cu"].split("\n")[1]


@pytest.mark.parametrize(
    ("fields", "content", "expected"),
    [
        ("int count, radius; float factor;", struct.pack("<iif", 64, 2, 0.25), " = {99, 2, 0x1.0000000000000p-2f}"),
        ("float factor; int radius, count;", struct.pack("<fii", 0.25, 2, 64), " = {0x1.0000000000000p-2f, 2, 99}"),
        # What comes of the size is not known at another one.
        ("int count, radius; float factor;", struct.pack("<iif", 64, 2, 1 / 64), ""),
        ("int count, radius; float factor;", struct.pack("<iif", 64, 2, 1 / 63), ""),
        ("float count; int radius; float factor;", struct.pack("<fif", 64, 2, 0.25), ""),
    ],
)
def test_a_struct_of_sizes_and_a_fraction_is_given_those_of_each_case(
    fields: str, content: bytes, expected: str
) -> None:
    assert settings_made(fields, content, count=99) == f"__constant__ Settings settings{expected};"


def test_a_struct_of_sizes_is_given_those_of_each_case() -> None:
    text = (
        "typedef struct { int rows, cols; } Shape;\n__constant__ Shape shape;\n"
        "__global__ void naive(const float *in, float *out) { out[0] = in[shape.rows * shape.cols - 1]; }\n"
    )
    submission = bound(text, observed=seen(shape=struct.pack("<2i", 3, 5)))
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding) and dict(found.interpretations[0].constants) == {
        "rows": "rows",
        "cols": "cols",
    }
    made = submission.program("main.cu", {"rows": 7, "cols": 9})["main.cu"]
    assert made.startswith("typedef struct { int rows = 7, cols = 9; } Shape;\n__constant__ Shape shape;\n")


@pytest.mark.parametrize(
    "written",
    [
        "N += 2",
        "N = 1",
        "N++",
        "--N",
        "atomicAdd(&N, 1)",
        "N <<= 1",
        "atomicAdd(&own::N, 1)",
        "own :: N = 1",
        "(N)++",
        "atomicAdd(&(N), 1)",
        "int &count = N",
        "RAISE(N)",
    ],
)
def test_what_a_kernel_writes_is_no_size(written: str) -> None:
    text = f"#define RAISE(x) ++x\n__device__ int N;\n__device__ void next() {{ {written}; }}\n"
    host = "int main() { int n = 64; cudaMemcpyToSymbol(N, &n, 4); }\n"
    _submission, naive = product(f"{text}__global__ void naive(float *a, float *b, float *c) {BODY}\n{host}")
    assert naive.interpretations[0].constants == ()


def test_what_the_host_does_not_speak_of_is_no_size() -> None:
    _submission, naive = product(f"__device__ int N;\n__global__ void naive(float *a, float *b, float *c) {BODY}\n")
    assert naive.interpretations[0].constants == ()


@pytest.mark.parametrize(
    ("declaration", "rows", "cols", "changed"),
    [
        ("__constant__ int dims[2];", "dims[0]", "dims[1]", "__constant__ int dims[2] = {7, 9};"),
        (
            "enum { D = 2 };__constant__ unsigned s[D];",
            "s[0]",
            "s[1]",
            "enum { D = 2 };__constant__ unsigned s[D] = {7, 9};",
        ),
        ("struct S { int p, q; };__constant__ S s;", "s.p", "s.q", "struct S { int p = 7, q = 9; };__constant__ S s;"),
    ],
)
def test_sizes_without_a_name_are_given_those_of_each_case(
    declaration: str, rows: str, cols: str, changed: str
) -> None:
    text = (
        f"{declaration}\n__global__ void naive(const float *in, float *out) "
        f"{{ int i = threadIdx.x; if (i < {rows}) out[i] = in[i * {cols}]; }}\n"
    )
    arguments = tuple(msgspec.structs.replace(a, buffer=f"{k}", buffer_bytes=60) for k, a in enumerate(ARGUMENTS, 1))
    name = "dims" if "dims" in declaration else "s"
    filled = ((name, struct.pack("<2i", 3, 5)),)
    launch = SeenLaunch("naive", (), "main.cu", 3, (2, 2, 1), (32, 32, 1), 0, arguments, filled=filled)
    submission = bound(text, observed=ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),)))
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding)
    constants = dict(found.interpretations[0].constants)
    assert dict(found.interpretations[0].declared) == {"rows": 3, "cols": 5}
    values = {constants["rows"]: 7, constants["cols"]: 9}
    assert submission.program("main.cu", values)["main.cu"].split("\n")[0] == changed


def test_how_many_sizes_there_are_is_no_size() -> None:
    # N is what a size of the lab may be called, too.
    text = (
        "#define N 2\n__constant__ int shape[N];\n__global__ void naive(const float *in, float *out) "
        "{ int i = threadIdx.x; if (i < shape[0]) out[i] = in[i * shape[1]]; }\n"
    )
    arguments = tuple(msgspec.structs.replace(a, buffer=f"{k}", buffer_bytes=60) for k, a in enumerate(ARGUMENTS, 1))
    filled = (("shape", struct.pack("<2i", 3, 5)),)
    launch = SeenLaunch("naive", (), "main.cu", 3, (2, 2, 1), (32, 32, 1), 0, arguments, filled=filled)
    found = bound(text, observed=ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].constants == (("rows", "shape[0]"), ("cols", "shape[1]"))


def test_sizes_in_an_array_that_nothing_was_seen_in_are_taken_in_order() -> None:
    text = (
        "__constant__ int s[3];\n__global__ void naive(const float *in, float *out) "
        "{ int i = threadIdx.x; if (i < s[0]) out[i] = in[i * s[1]]; }\n"
    )
    found = bound(text).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].constants == (("rows", "s[0]"), ("cols", "s[1]"), ("rows", "s[2]"))
    second = found.interpretations[1].constants
    assert second == (("rows", "s[1]"), ("cols", "s[0]"), ("cols", "s[2]"))


def test_what_no_size_is_in_an_array_of_sizes_stays_what_was_seen() -> None:
    text = (
        "__constant__ int s[3];\n__global__ void naive(const float *in, float *out) "
        "{ int i = threadIdx.x; if (i < s[1]) out[i] = in[i * s[2]] + s[0]; }\n"
    )
    arguments = tuple(msgspec.structs.replace(a, buffer=f"{k}", buffer_bytes=60) for k, a in enumerate(ARGUMENTS, 1))
    filled = (("s", struct.pack("<3i", 8, 3, 5)),)
    launch = SeenLaunch("naive", (), "main.cu", 2, (1, 1, 1), (32, 1, 1), 0, arguments, filled=filled)
    submission = bound(text, observed=ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),)))
    assert submission.program("main.cu", {"s[1]": 7, "s[2]": 9})["main.cu"].startswith(
        "__constant__ int s[3] = {8, 7, 9};"
    )


def test_a_constant_of_any_name_is_the_size_also_where_it_was_made_smaller_to_be_run() -> None:
    text = f"#define MATRIX_DIMENSION 1024\n__global__ void naive(float *a, float *b, float *c) {BODY}".replace(
        "+ N", "+ MATRIX_DIMENSION"
    )
    arguments = tuple(SeenArgument(name, "float *", buffer_bytes=4 * 128 * 128) for name in "abc")
    change = SeenChange("main.cu", 1, "MATRIX_DIMENSION", "1024", "128", 128)
    launch = SeenLaunch("naive", (), "main.cu", 2, (64, 1, 1), (256, 1, 1), 0, arguments, change=change)
    found = bound(text, PRODUCT, observed=ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),)))
    assert binding(found).interpretations[0].constants == (("n", "MATRIX_DIMENSION"),)


@pytest.mark.parametrize(("handed_in", "constants"), [("N", (("n", "N"),)), ("M", ()), ("2 * N", ())])
def test_a_constant_that_is_handed_in_and_used_beside_it_is_that_size_in_both_places(
    handed_in: str, constants: tuple[tuple[str, str], ...]
) -> None:
    text = (
        f"#define N 64\n#define M 64\n__global__ void naive(float *a, float *b, float *c, int n) {BODY}\n"
        f"void run(float *a, float *b, float *c) {{ naive<<<4, 16>>>(a, b, c, {handed_in}); }}"
    )
    _submission, found = product(text)
    assert found.interpretations[0].constants == constants
    # It has to be right at other sizes than the program's, too.
    assert (found.takes_sizes, found.interpretations[0].declared) == (True, ())


def test_a_constant_that_is_declared_beside_one_of_the_kernel_s_is_none_of_its() -> None:
    text = (
        "const int N = 64, M = 4; __global__ void naive(float *a, float *b, float *c, int n)"
        " { c[threadIdx.x] = a[threadIdx.x] * b[n] + M; }\n"
        "void run(float *a, float *b, float *c) { naive<<<4, 16>>>(a, b, c, N); }"
    )
    _submission, found = product(text)
    assert found.interpretations[0].constants == ()
