"""What the tree of a file tells: kernels, parameters, uses, shared arrays, branches of the preprocessor."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.launches import find_launches
from grader.submission.kernels.records import Kernel, KernelParameter, SharedArray
from grader.submission.source import decode, decode_bytes
from tests.pace import at_most
from tests.submission.labs import SOURCES, parsed


def kernel(text: str) -> Kernel:
    (found,) = kernels_in(parsed(text))
    return found


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("lecture_cp1251.cu", ["gInit", "gFlip0", "gFlip11", "gFlip12", "gFlip2"]),
        ("report_bom_crlf.cu", ["kBase", "kShared_Bad", "kShared"]),
        ("samples_style.cu", ["copySharedTile", "flipNaive", "flipCoalesced", "flipNoBankConflicts"]),
        ("six_sizes.cu", ["matrixMultiplyShared", "multiply"]),
        ("pasted_from_pdf.cu", ["before", "after"]),
    ],
)
def test_finds_every_kernel(file: str, names: list[str]) -> None:
    assert [k.name for k in parse(decode(SOURCES / file)).kernels] == names


@pytest.mark.parametrize("end", ["", " ", "\t\t", " \r", "()", "() ", "(a, b)\t"])
def test_a_macro_without_a_body_ends_with_its_line(end: str) -> None:
    text = f"#define CHECK{end}\nvoid check() {{ int error = 0; }}\n__global__ void k(int *a) {{ *a = 1; }}\n"
    parsed = parse(decode_bytes(Path("a.cu"), text.encode()))
    assert [(item.kind, item.name) for item in parsed.items] == [
        *[("macro", "CHECK"), ("function", "check"), ("function", "k")]
    ]
    assert parsed.constants.macros["CHECK"].body == ""


@pytest.mark.parametrize(
    "text",
    [
        "struct __align__(16) A { volatile int a; int b; };",
        "typedef struct __align__(128) a_t { volatile int a; /* é */ int b; } A;",
        "typedef struct __align__(8) { int a; int b; } A;",
        "__align__(sizeof(int)) struct A { int a; int b; };",
        "struct A { int a; int b; } __align__(16);",
    ],
)
def test_a_struct_that_is_aligned_is_a_type(text: str) -> None:
    items = parse(decode_bytes(Path("a.cu"), f"{text}\n__global__ void k() {{}}\n".encode())).items
    assert [(item.kind, item.name) for item in items] == [("type", "A"), ("function", "k")]


def test_a_kernel_knows_its_lines_and_parameters() -> None:
    found = kernels_in(parse(decode(SOURCES / "six_sizes.cu")))[1]
    assert (found.line, found.end_line, found.template_parameters) == (25, 30, ("W",))
    assert found.parameters == (
        KernelParameter("n", "index_t ", False, False, "uint32"),
        KernelParameter("x", "const float *", True, True, "float32", is_read=True),
        KernelParameter("y", "const float *", True, True, "float32", is_read=True),
        KernelParameter("z", "float *", True, False, "float32", is_written=True),
    )


@pytest.mark.parametrize(
    ("declaration", "is_pointer", "is_const", "dtype"),
    [
        ("float const *__restrict__ p", True, True, "float32"),
        ("float *const p", True, False, "float32"),
        ("int p[]", True, False, "int32"),
        ("double p[][64]", True, False, "float64"),
        ("float (*p)[64]", True, False, "float32"),
        ("float **p", True, False, None),
        ("float4 *p", True, False, None),
        ("struct Matrix p", False, False, None),
        ("const unsigned long long p", False, True, "uint64"),
        ("int &p", False, False, None),
        ("size_t p = 4", False, False, "uint64"),
    ],
)
def test_parameters(declaration: str, is_pointer: bool, is_const: bool, dtype: str | None) -> None:
    (parameter,) = kernel(f"__global__ void k({declaration}) {{}}").parameters
    assert (parameter.name, parameter.is_pointer, parameter.is_const, parameter.dtype) == (
        "p",
        is_pointer,
        is_const,
        dtype,
    )


def test_no_parameters() -> None:
    assert kernel("__global__ void k(void) { f(); }").parameters == ()


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void k",
        "void __global__ k",
        "static __global__ void k",
        'extern "C" __global__ void k',
        "__global__ void __launch_bounds__(256) k",
        "__global__ __launch_bounds__(256, 2) void k",
        "template <typename T, int N> __global__ void k",
        "__global__\nvoid\nk",
    ],
)
def test_heads_of_kernels(head: str) -> None:
    assert kernel(head + "(float *a) { a[0] = 1; }").name == "k"


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("b[i] = a[i];", "a", "b"),
        ("*(b + i) = *(a + i);", "a", "b"),
        ("float *p = b + i; const float *q = &a[i]; p[0] = *q;", "a", "b"),
        ("float *p; p = b; p = p + 1; p[0] = a[0];", "a", "b"),
        ("b[i] += a[i];", "ab", "b"),
        ("b[i]++; c = a[b[0]];", "ab", "b"),
        ("atomicAdd(&b[i], a[i]);", "ab", "b"),
        ("tile[0] = a[0]; b[i] = tile[1];", "a", "b"),
        ("load(a, b);", "ab", "ab"),
        ("((float *)b)[0] = reinterpret_cast<float *>(a)[0];", "a", "b"),
        ("if (a) return;", "", ""),
    ],
)
def test_what_a_kernel_reads_and_writes(body: str, reads: str, writes: str) -> None:
    found = kernel(f"__global__ void k(float *a, float *b) {{ int i = 0, c; __shared__ float tile[2]; {body} }}")
    assert "".join(p.name for p in found.parameters if p.is_read) == reads
    assert "".join(p.name for p in found.parameters if p.is_written) == writes


def test_shared_arrays() -> None:
    found = kernel(
        """#define T 16
        extern __shared__ double outside[];
        __device__ float helper(int i) { __shared__ float inner[T]; return inner[i]; }
        template <int N> __global__ void k(float *a) {
            const int half = T / 2;
            __shared__ float tile[T][T + 1], row[half];
            static __shared__ int counts[N];
            __shared__ float one;
            a[0] = helper(0) + outside[0];
        }"""
    )
    assert found.shared_arrays == (
        SharedArray("tile", 6, "float32", (16, 17), False, 4),
        SharedArray("row", 6, "float32", (8,), False, 4),
        SharedArray("counts", 7, "int32", (None,), False, 4),
        SharedArray("one", 8, "float32", (), False, 4),
        SharedArray("outside", 2, "float64", (None,), True, 8),
        SharedArray("inner", 3, "float32", (16,), False, 4),
    )


@pytest.mark.parametrize(
    ("body", "is_empty"),
    [
        ("", True),
        ("// TODO", True),
        ("return;", True),
        ("int x = threadIdx.x; if (x > 3) return;", True),
        ("a[0] = 1;", False),
        ("__syncthreads();", False),
        # A template's call that the compiler refuses: an empty body would be said of it.
        ("through<=T, 0>(a, 1);", False),
    ],
)
def test_empty_kernels(body: str, is_empty: bool) -> None:
    assert kernel(f"__global__ void k(float *a) {{ {body}\n}}").is_empty is is_empty


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        ("#if 0\nONE\n#else\nTWO\n#endif", ["two"]),
        ("#ifdef NO\nONE\n#else\nTWO\n#endif", ["two"]),
        ("#define YES\n#ifdef YES\nONE\n#else\nTWO\n#endif", ["one"]),
        ("#ifndef NO\nONE\n#endif\nTWO", ["one", "two"]),
        ("#define V 2\n#if V == 1\nONE\n#elif V == 2\nTWO\n#endif", ["two"]),
        ("#ifdef __CUDACC__\nONE\n#endif", ["one"]),
        ("#if defined(NO) || !defined(YES)\nONE\n#endif", ["one"]),
        # Not known: both may be there, the compiler decides.
        ("#if SOMETHING(3)\nONE\n#else\nTWO\n#endif", ["one", "two"]),
    ],
)
def test_branches(directives: str, expected: list[str]) -> None:
    text = directives.replace("ONE", "__global__ void one(int *a) { a[0] = 1; }")
    text = text.replace("TWO", "__global__ void two(int *a) { a[0] = 1; }")
    assert [k.name for k in parsed(text).kernels] == expected


def test_an_unclosed_brace_hides_no_kernel() -> None:
    found = kernels_in(parsed("int main() { if (x) {\n}\n__global__ void k(int *a) { a[0] = 1; }\n"))
    assert [(k.name, k.line) for k in found] == [("k", 3)]


@pytest.mark.parametrize("cast", ["unsigned(n + 15) / 16", "long(n) / 16", " short (n)", "(unsigned)n", "signed(1)"])
@pytest.mark.parametrize("object_", ["dim3 grid{%s, 2};", "dim3 grid(1, %s);", "f({%s, 1}, 2);"])
def test_a_cast_by_a_type_s_name_ends_no_function(cast: str, object_: str) -> None:
    text = "namespace a {\nvoid f(int n)\n{\n    " + object_ % cast + "\n}\n}\n__global__ void k() {}\nint after;\n"
    items = [(i.kind, i.names, i.node.end_point.row) for i in parsed(text).items]
    assert items == [("function", ("f",), 4), ("function", ("k",), 6), ("variable", ("after",), 7)]


@pytest.mark.parametrize(
    ("use", "value"),
    [
        ("void set(int n) { N = n; }", None),
        ("void set() {\n    cin >> N; }", None),
        ('void set() { scanf("%d", &N); }', None),
        ("void count() { if (x) N++; }", None),
        ("void other() { int N = 4; f(N); if (N == 1) g(); }", 0),
    ],
)
def test_what_is_set_later_is_no_constant(use: str, value: int | None) -> None:
    assert parsed(f"int N = 0;\n{use}\n").constants.evaluate("N") == value
    assert parsed(f"const int N = 0;\n{use}\n").constants.evaluate("N") == 0
    # A usual size that an argument may replace tells more than nothing.
    assert parsed(f"int N = 64;\n{use}\n").constants.evaluate("N") == 64


def test_namespaces_and_linkage_blocks() -> None:
    found = parsed('namespace a { namespace b { __global__ void k(int *p) {} } } extern "C" { __global__ void m() {} }')
    assert [k.name for k in found.kernels] == ["k", "m"]
    assert found.functions["k"].namespace == "a::b::"


def test_a_program_of_hundreds_of_kernels_is_refused() -> None:
    one = "__global__ void k{0}(float *a) {{ a[0] = 1; }}\n"
    assert len(parsed("".join(one.format(i) for i in range(256))).kernels) == 256
    with pytest.raises(UsageError, match=r"main\.cu: 257 kernels; at most 256"):
        parsed("".join(one.format(i) for i in range(257)))


@pytest.mark.parametrize("text", ["#if 1\n" * 3000 + "#endif\n" * 3000, "namespace a {" * 3000, "(" * 50_000])
def test_nesting_without_end_is_left_to_the_compiler(text: str) -> None:
    assert [k.name for k in parsed("__global__ void k(int *a) { a[0] = 1; }\n" + text).kernels] == ["k"]


@pytest.mark.parametrize(
    "text",
    [
        "int main() {" + "unknown<<<n / 16, 16>>>(a, b);\n" * 1000 + "}",
        "".join(f"void w{i}(int n) {{ w{i + 1}(n); k<<<n / 16, 16>>>(a); }}\n" for i in range(500)),
        "int main() { int t = 3;" + "t = t + 1; t = 5;\n" * 2000 + "k<<<n / t, t>>>(a); }",
    ],
)
def test_long_programs_are_read_in_time_that_grows_with_their_length(text: str) -> None:
    program = parsed("__global__ void k(int *a) { a[0] = 1; }\n" + text)
    # Tens of times what it takes; what grows with the square of the length takes far longer.
    with at_most(5):
        find_launches(program)
