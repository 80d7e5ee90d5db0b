"""Matrices that are handed over as structs: a parameter for each field, and the struct put together in the kernel."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal

import pytest

from grader.lab import labs
from grader.lab.labs import find
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources, read_sources
from grader.submission.kernels.records import Exchanged, ObservedRuns, SeenArgument, SeenLaunch, SeenRun
from grader.submission.lexical import apply
from grader.submission.records import Missing, Submission, VariantBinding
from tests.submission.labs import PRODUCT, bound

MATRIX = "struct Matrix { int width, height; float *elements; };\n"
FLIPPED = "out.elements[0] = in.elements[in.width];"


def kernel(structs: str, parameters: str, body: str, before: str = "") -> Submission:
    return bound(f"{structs}{before}__global__ void naive({parameters}) {{ {body} }}\n")


def naive(submission: Submission) -> VariantBinding:
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding), found
    return found


def test_the_device_code_takes_fields_and_keeps_its_lines() -> None:
    submission = kernel(
        MATRIX, "const Matrix in, Matrix out", FLIPPED, "__global__ void naive(const Matrix, Matrix);\n"
    )
    text = apply(submission.device_source["main.cu"], submission.edits["main.cu"], {})
    assert text.split("\n") == [
        MATRIX.strip(),
        " " * len("__global__ void naive(const Matrix, Matrix);"),
        "__global__ void naive(int in__width, int in__height, float * in__elements, int out__width, int out__height, "
        "float * out__elements) { Matrix in; in.width = in__width; in.height = in__height; in.elements = in__elements; "
        "Matrix out; out.width = out__width; out.height = out__height; out.elements = out__elements; " + FLIPPED + " }",
        "",
    ]


def test_height_and_width_are_those_of_the_matrix() -> None:
    found = naive(kernel(MATRIX, "Matrix in, Matrix out", FLIPPED))
    assert found.interpretations[0].roles == ("cols", "rows", "in", "rows", "cols", "out")
    # What is written is the output, whatever the order and the names.
    found = naive(kernel(MATRIX, "Matrix p, Matrix q", "p.elements[0] = q.elements[1];"))
    assert found.interpretations[0].roles == ("rows", "cols", "out", "cols", "rows", "in")


def test_structs_beside_plain_parameters() -> None:
    text = MATRIX + "__global__ void multiply(Matrix a, const float *b, float *c) { c[0] = a.elements[0] * b[0]; }\n"
    found = bound(text, PRODUCT).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].roles == ("n", "n", "a", "b", "c")


@pytest.mark.parametrize(
    "structs",
    [
        "struct Matrix { int width, height; float *elements; Matrix(int w) : width(w) {} int size() const; };",
        "class Matrix { public: int width; int height; float *elements; __device__ float at(int i) { return 0; } };",
    ],
)
def test_constructors_and_methods_are_no_hindrance(structs: str) -> None:
    found = naive(kernel(structs + "\n", "Matrix in, Matrix out", FLIPPED))
    assert found.interpretations[0].roles == ("cols", "rows", "in", "rows", "cols", "out")


@pytest.mark.parametrize(
    "structs",
    [
        "struct Matrix { int width; std::string name; float *elements; };",
        "struct Matrix { private: int width; float *elements; };",
        "class Matrix { int width; float *elements; };",
        "struct Matrix { float elements[4]; };",
        "class Matrix;",
    ],
)
def test_other_structs_are_none_of_a_labs_parameters(structs: str) -> None:
    found = kernel(structs + "\n", "Matrix in, Matrix out", FLIPPED).bindings["naive"]
    assert isinstance(found, Missing)
    assert (found.reason, found.data["parameter"], found.data["type"]) == ("unbindable", "in", "Matrix")


SAME = "struct Same { __device__ float operator()(float x) const { return x; } };\n"


@pytest.mark.parametrize(
    ("structs", "is_functor"),
    [
        (SAME, True),
        (SAME.replace("{ __device__", "{ template <class T> __device__", 1).replace("float", "T"), True),
        (SAME.replace("};", "float factor; };"), False),
        (SAME.replace("};", "Same(int factor) {} };"), False),
        (SAME.replace("operator()", "call"), False),
    ],
)
def test_a_functor_is_made_by_the_kernel(structs: str, is_functor: bool) -> None:
    head = "const float *in, float *out, int rows, int cols, "
    body = "out[0] = op(in[cols]);"
    plain = kernel(structs, head + "Same op", body)
    template = bound(
        f"{structs}template <class F> __global__ void naive({head}F op) {{ {body} }}\nint main() "
        "{ naive<Same><<<1, 32>>>(p, q, r, c, Same()); }"
    )
    for submission, made in ((plain, "Same op{};"), (template, "F op{};")):
        if is_functor:
            found = naive(submission)
            assert [p.name for p in found.kernel.parameters] == ["in", "out", "rows", "cols"]
            text = apply(submission.device_source["main.cu"], submission.edits["main.cu"], {})
            assert f"naive(const float *in, float *out, int rows, int cols) {{ {made} {body} }}" in text
        else:
            assert isinstance(submission.bindings["naive"], Missing)


def test_the_fields_of_a_struct_of_sizes_have_the_values_that_were_seen() -> None:
    text = (
        "struct Sizes { short kind; int rows; long long big; unsigned cols; };\n"
        "__global__ void naive(const float *in, float *out, Sizes s) { out[s.rows] = in[s.cols]; }\n"
    )
    content = struct.pack("<hxxiqIxxxx", 1, 40, 7, 30)
    seen = (
        SeenArgument("in", "const float *"),
        SeenArgument("out", "float *"),
        SeenArgument("s", "Sizes", raw=content),
    )
    launch = SeenLaunch("naive", (), "main.cu", 9, (1, 1, 1), (32, 1, 1), 0, seen)
    found = bound(text, observed=ObservedRuns((SeenRun(("main.cu",), (launch,)),))).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert [p.name for p in found.kernel.parameters] == ["in", "out", "kind", "rows", "big", "cols"]
    assert found.interpretations[0].roles == ("in", "out", "=1", "rows", "=7", "cols")
    assert found.requested is not None
    assert [(a.name, a.value) for a in found.requested.seen[2:]] == [
        ("kind", 1),
        ("rows", 40),
        ("big", 7),
        ("cols", 30),
    ]


def test_numbers_beside_arrays_have_the_values_that_were_seen_where_all_structs_agree() -> None:
    text = (
        "struct View { float *p; int rows, cols, kind; };\n"
        "__global__ void naive(View a, View b) { b.p[a.rows] = a.p[b.cols]; }\n"
    )
    seen = (
        SeenArgument("a", "View", raw=struct.pack("<Qiiixxxx", 4096, 40, 30, 7)),
        SeenArgument("b", "View", raw=struct.pack("<Qiiixxxx", 8192, 30, 40, 7)),
    )
    launch = SeenLaunch("naive", (), "main.cu", 9, (1, 1, 1), (32, 1, 1), 0, seen)
    found = bound(text, observed=ObservedRuns((SeenRun(("main.cu",), (launch,)),))).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.requested is not None
    assert [(a.name, a.value) for a in found.requested.seen] == [("a", None), ("b", None), ("kind", 7)]


def test_a_struct_of_arrays_and_sizes_is_taken_apart() -> None:
    text = (
        "struct Work { const float *in; float *out; int rows, cols; };\n"
        "__global__ void naive(Work w) { w.out[threadIdx.x] = w.in[threadIdx.y]; }\n"
    )
    found = bound(text).bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].roles == ("in", "out", "rows", "cols")
    assert [p.is_written for p in found.kernel.parameters] == [False, True, False, False]


def test_the_grid_of_a_loop_over_sizes_in_structs_follows_from_the_size_that_it_covers() -> None:
    text = (
        "struct Batch { int N, amount; };\n"
        "__global__ void simple(const float *in, float *out, Batch b) {\n"
        "  int m = blockIdx.x * blockDim.x + threadIdx.x; if (m < b.amount) out[m * b.N] = in[m * b.N]; }\n"
    )

    def launch(n: int) -> SeenLaunch:
        seen = (
            SeenArgument("in", "const float *", buffer="d", buffer_bytes=4000 * n * n),
            SeenArgument("out", "float *", buffer="e", buffer_bytes=4000 * n * n),
            SeenArgument("b", "Batch", raw=struct.pack("<ii", n, 1000)),
        )
        return SeenLaunch("simple", (), "main.cu", 9, (8, 1, 1), (128, 1, 1), 0, seen)

    observed = ObservedRuns((SeenRun(("main.cu",), tuple(launch(n) for n in range(2, 11))),))
    found = bound(text, find("batch-square", ()), observed=observed).bindings["simple"]
    assert isinstance(found, VariantBinding)
    # As many blocks at every n: they follow from the number of matrices, as far as all these launches show.
    assert found.interpretations[0].launch.grid_formula == ()


PROGRAM = """\
struct Task { const float *src; float *dst; int n; int count; };
__global__ void simple(Task t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < t.count) for (int k = 0; k < t.n * t.n; k++) t.dst[i * t.n * t.n + k] = t.src[i * t.n * t.n + k];
}
int main()
{
    int n = 5, count = 1000;
    GIVEN
    simple<<<4, 256>>>(t);
}
"""
READ = SeenArgument("", "void*", buffer="d_in", buffer_bytes=100_000, before="data")
WRITTEN = SeenArgument("", "void*", buffer="d_out", buffer_bytes=100_000, read_back=True)


@pytest.mark.parametrize(
    ("given", "arrays", "numbers", "wanted"),
    [
        ("Task t = {d_in, d_out, n, count};", (READ, WRITTEN), (5, 1000), None),
        (
            "Task t = {d_out, d_in, n, count};",
            (WRITTEN, READ),
            (5, 1000),
            Exchanged("src", "d_out", "dst", "d_in", "t", 10),
        ),
        ("Task t{d_in, d_out, count, n};", (READ, WRITTEN), (1000, 5), Exchanged("n", "count", "count", "n", "t", 10)),
        (
            "Task t; t.src = d_in; t.dst = d_out; t.n = count; t.count = n;",
            (READ, WRITTEN),
            (1000, 5),
            Exchanged("n", "count", "count", "n", "t", 10),
        ),
    ],
    ids=["in their places", "arrays", "numbers", "numbers that are assigned"],
)
def test_fields_in_each_others_place_are_told_where_the_struct_gets_them(
    given: str,
    arrays: tuple[SeenArgument, SeenArgument],
    numbers: tuple[int, int],
    wanted: Exchanged | None,
    tmp_path: Path,
) -> None:
    (tmp_path / "batch.cu").write_text(PROGRAM.replace("GIVEN", given))
    inside = tuple(zip((0, 8), arrays, strict=True))
    argument = SeenArgument("t", "Task", raw=struct.pack("<QQii", 1 << 40, 2 << 40, *numbers), inside=inside)
    launch = SeenLaunch("simple", (), "batch.cu", 11, (4, 1, 1), (256, 1, 1), 0, (argument,))
    lab = labs.find("batch-square")
    found = find_sources(tmp_path / "batch.cu", lab.id, {lab.id})
    observed = ObservedRuns((SeenRun(("batch.cu",), (launch,), ended=True),))
    submission = bind(found, read_sources(found), lab, observed=observed)
    binding = submission.bindings["simple"]
    assert isinstance(binding, VariantBinding)
    assert binding.requested is not None
    assert binding.requested.exchanged == wanted
    # The kernel is read as it means its fields.
    assert binding.interpretations[0].roles == ("in", "out", "n", "count")


COLUMN = """\
__device__ float first(const float *p) { return p[0]; }
__global__ void column(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++) {
        float s = 0;
        for (int k = 0; k < n; k++) s += first(a + i * n + k) * b[k * n + j];
        c[i * n + j] = s;
    }
}
int main()
{
    int n = 64;
    column<<<1, 64>>>(GIVEN, dC.get(), n);
}
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("dA.get(), dB.get()", None),
        ("dB.get(), dA.get()", Exchanged("a", "dB.get()", "b", "dA.get()")),
        ("first(), second()", None),
    ],
)
def test_arrays_that_one_function_allocates_are_called_as_the_launch_has_them(
    given: str, wanted: Exchanged | None, tmp_path: Path
) -> None:
    (tmp_path / "product.cu").write_text(COLUMN.replace("GIVEN", given))
    arrays = [SeenArgument(name, "float*", buffer="p", buffer_bytes=4 * 64 * 64, before="data") for name in "abc"]
    arguments = (*arrays, SeenArgument("n", "int", value=64))
    launch = SeenLaunch("column", (), "product.cu", 14, (1, 1, 1), (64, 1, 1), 0, arguments)
    lab = labs.find("matmul")
    found = find_sources(tmp_path / "product.cu", lab.id, {lab.id})
    observed = ObservedRuns((SeenRun(("product.cu",), (launch,), ended=True),))
    binding = bind(found, read_sources(found), lab, observed=observed).bindings["column"]
    assert isinstance(binding, VariantBinding) and binding.requested is not None
    assert binding.requested.exchanged == wanted


READERS = """\
__global__ void naive(float *a, float *b, float *c, int n) { c[threadIdx.x] = STORED a[0] * b[0]; }
__global__ void column(float *a, float *b, float *c, int n)
{
    for (int k = 0; k < n; k++) c[threadIdx.x] += a[k] * b[threadIdx.x];
}
int main()
{
    int n = 64;
    naive<<<1, 64>>>(dA, dB, dC, n);
    column<<<1, 64>>>(dB, dA, dC, n);
}
"""


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [("", Exchanged("a", "dB", "b", "dA")), ("b[1] = a[1] =", None)],
    ids=["only reads", "makes what the next one takes"],
)
def test_arrays_without_const_that_a_kernel_only_read_are_the_host_s_still(
    stored: str, wanted: Exchanged | None, tmp_path: Path
) -> None:
    (tmp_path / "product.cu").write_text(READERS.replace("STORED", stored))

    def seen(name: str, line: int, buffers: str, before: Literal["data", "kernel"]) -> SeenLaunch:
        arrays = [
            SeenArgument(name, "float*", buffer=f"d{buffer}", buffer_bytes=4 * 64 * 64, before=before)
            for name, buffer in zip("abc", buffers, strict=True)
        ]
        arguments = (*arrays, SeenArgument("n", "int", value=64))
        return SeenLaunch(name, (), "product.cu", line, (1, 1, 1), (64, 1, 1), 0, arguments)

    lab = labs.find("matmul")
    found = find_sources(tmp_path / "product.cu", lab.id, {lab.id})
    launches = (seen("naive", 9, "ABC", "data"), seen("column", 10, "BAC", "kernel"))
    observed = ObservedRuns((SeenRun(("product.cu",), launches, ended=True),))
    binding = bind(found, read_sources(found), lab, observed=observed).bindings["column"]
    assert isinstance(binding, VariantBinding) and binding.requested is not None
    assert binding.requested.exchanged == wanted
