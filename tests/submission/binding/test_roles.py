"""What kernels' parameters stand for: by name, by value, rows that lie apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.lab.labs import find
from grader.submission.binding.pitches import pitched
from grader.submission.binding.roles import agreeing, by_value, role_assignments, sizes_in
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import KernelParameter, SeenArgument
from grader.submission.records import Missing
from grader.submission.source import SourceText
from tests.submission.binding.kernels import binding, kernel
from tests.submission.labs import FLIP, PRODUCT, bound, bound_file


@pytest.mark.parametrize(
    ("parameters", "body", "roles"),
    [
        ("float *p, float *q", "q[0] = p[0];", ("in", "out")),
        ("float *p, float *q", "p[0] = q[0];", ("out", "in")),
        ("float *q, const float *p", "f(p, q);", ("out", "in")),
        ("float *dst, float *src", "f(dst, src);", ("out", "in")),
        ("float *p, float *q", "f(p, q);", ("in", "out")),
        ("int w, int h, float *p, float *q", "q[w] = p[h];", ("cols", "rows", "in", "out")),
        ("float *p, unsigned rows, float *q, size_t cols", "q[rows] = p[cols];", ("in", "rows", "out", "cols")),
        ("float *p, float *q, int n", "q[n] = p[n];", ("in", "out", "rows")),
        ("float *p, float *q, int width", "q[width] = p[0];", ("in", "out", "cols")),
        ("float *p, float *q, int first, int second", "q[0] = p[0];", ("in", "out", "rows", "cols")),
    ],
)
def test_roles(parameters: str, body: str, roles: tuple[str, ...]) -> None:
    found = binding(bound(f"__global__ void naive({parameters}) {{ {body} }}"), "naive")
    assert found.interpretations[0].roles == roles


def test_doubtful_roles_are_all_offered() -> None:
    found = binding(bound("__global__ void naive(float *p, float *q, int x, int y) { f(p, q); }"), "naive")
    assert {c.roles for c in found.interpretations} == {
        ("in", "out", "rows", "cols"),
        ("in", "out", "cols", "rows"),
        ("out", "in", "rows", "cols"),
        ("out", "in", "cols", "rows"),
    }


def test_a_pitch_may_be_either_size() -> None:
    text = (
        "__global__ void base(const float *src, size_t ip, float *dst, size_t op, int width, int height)"
        " { dst[op] = src[ip]; }"
    )
    found = [interpretation.roles for interpretation in binding(bound(text), "naive").interpretations]
    assert found[0] == ("in", "rows", "out", "rows", "cols", "rows")
    assert ("in", "cols", "out", "rows", "cols", "rows") in found
    assert {(roles[4], roles[5]) for roles in found} == {("cols", "rows")}


def test_sizes_that_are_called_as_in_the_task_are_what_it_says() -> None:
    head = "__global__ void base(const float *a, float *b, int {}, int {}) {{ b[0] = a[0]; }}"
    sizes = [
        {interpretation.roles[2:] for interpretation in binding(bound(head.format(*names)), "naive").interpretations}
        for names in (("rows", "cols"), ("cols", "Rows"), ("height", "width"))
    ]
    assert sizes == [{("rows", "cols")}, {("cols", "rows")}, {("rows", "cols"), ("cols", "rows")}]


def test_clear_roles_are_the_only_ones() -> None:
    found = binding(bound("__global__ void naive(float *p, float *q) { q[0] = p[0]; }"), "naive")
    assert [c.roles for c in found.interpretations] == [("in", "out")]


@pytest.mark.parametrize(
    ("parameters", "takes_sizes", "exact", "square_only"),
    [
        ("const float *a, float *b", False, True, False),
        ("const float *a, float *b, int n", True, False, True),
        ("const float *a, float *b, int h, int w", True, False, False),
        ("const float *a, float *b, int h, int w, int extra", True, False, False),
    ],
)
def test_sizes(parameters: str, takes_sizes: bool, exact: bool, square_only: bool) -> None:
    found = binding(bound(kernel("naive", "naive", parameters)), "naive")
    assert found.takes_sizes is takes_sizes
    assert {(c.launch.exact, c.square_only) for c in found.interpretations} == {(exact, square_only)}


def test_six_sizes_and_a_template_of_one() -> None:
    submission = bound_file("six_sizes.cu", PRODUCT)
    block = binding(submission, "block")
    assert block.kernel.name == "matrixMultiplyShared"
    assert block.interpretations[0].roles == ("a", "b", "c", *("n",) * 6)
    assert block.interpretations[0].launch.tile == (16, 16)
    naive = binding(submission, "naive")
    assert (naive.expression, naive.interpretations[0].roles) == ("multiply<8>", ("n", "a", "b", "c"))
    # What blockIdx is multiplied by, where the grid says nothing.
    assert (naive.interpretations[0].launch.block, naive.interpretations[0].launch.tile) == ((8, 8, 1), (8, 8))
    assert submission.remarks == ()
    assert submission.missing_headers == (("six_sizes.cu", "wb.h", 1),)


@pytest.mark.parametrize(
    ("parameters", "detail"),
    [
        ("float **p, float **q", "rows"),
        ("float *const *p, float *__restrict__ *q", "rows"),
        ("const Matrix *p, Matrix *q", "handle"),
    ],
)
def test_arrays_of_addresses_are_refused_by_name(parameters: str, detail: str) -> None:
    struct = "struct Matrix { int rows; int cols; float *data; };\n"
    missing = bound(f"{struct}__global__ void naive({parameters}) {{ f(p, q); }}").bindings["naive"]
    assert isinstance(missing, Missing) and missing.data["detail"] == detail
    assert missing.data["parameter"] == "p"


@pytest.mark.parametrize("parameters", ["float p[8][8], float q[8][8]", "const float (*p)[8], float (*q)[8]"])
def test_arrays_whose_rows_lie_one_after_the_other_are_bound(parameters: str) -> None:
    text = f"__global__ void naive({parameters}) {{ q[threadIdx.x][threadIdx.y] = p[threadIdx.y][threadIdx.x]; }}"
    assert not isinstance(bound(text).bindings["naive"], Missing)


@pytest.mark.parametrize(
    ("name", "value", "elements", "role"),
    [
        # 1000 matrices of 4 by 4: 1000 is no side of theirs, whatever the number is called.
        ("m", 1000, 16000, "count"),
        ("howmany", 1000, 16000, "count"),
        ("n", 1000, 16000, "count"),
        ("howmany", 8, 1024 * 64, "n"),
        # Of neither the arrays can be made: the name tells.
        ("m", 1000, 999, "n"),
        ("batch", 1000, 999, "count"),
    ],
)
def test_one_number_of_two_sizes_is_the_one_that_the_arrays_allow(
    name: str, value: int, elements: int, role: str
) -> None:
    lab = find("batch-square")
    text = f"__global__ void naive(const float *p, float *q, int {name}) {{ q[0] = p[0]; }}"
    source = SourceText(Path("x.cu"), text, "utf-8")
    (found,) = kernels_in(parse(source))
    arrays = [SeenArgument(p, "float*", buffer=p, buffer_bytes=4 * elements) for p in ("p", "q")]
    orders = role_assignments(found, lab, [*arrays, SeenArgument(name, "int", value)])
    assert orders[0] == ("in", "out", role)


def test_members_of_one_name_of_structs_for_arrays_of_one_shape_are_one_size() -> None:
    text = (
        "const int RADIUS = 2;\nstruct Vec { float *data; int size; };\n"
        "__global__ void naive(Vec in, Vec out) { int i = threadIdx.x; out.data[i] = in.data[i + RADIUS] + in.size; }"
    )
    found = binding(bound(text, find("box-blur")), "naive").interpretations[0]
    assert found.roles == ("in", "count", "out", "count")
    assert found.constants == (("radius", "RADIUS"),)


def test_arrays_that_no_size_explains_do_not_make_a_radius_of_a_length() -> None:
    """The input is longer than its output by the halo."""
    text = "__global__ void naive(const float *p, float *q, int n) { q[0] = p[0]; }"
    (naive,) = kernels_in(parse(SourceText(Path("x.cu"), text, "utf-8")))
    arrays = [SeenArgument(p, "float*", buffer=p, buffer_bytes=4 * n) for p, n in (("p", 1004), ("q", 1000))]
    orders = role_assignments(naive, find("box-blur"), [*arrays, SeenArgument("n", "int", 1000)])
    assert orders[0] == ("in", "out", "count")


POINTERS = [
    KernelParameter("in", "const float *", True, True, "float32"),
    KernelParameter("out", "float *", True, False, "float32"),
]


@pytest.mark.parametrize(
    ("numbers", "bytes_in", "bytes_out", "expected"),
    [
        # In bytes, whatever they are called; in elements, where they are called so.
        (
            {"p": 1024, "q": 1536, "rows": 300, "cols": 200},
            1024 * 300,
            1536 * 200,
            ("=cols * 4", "=rows * 4", "rows", "cols"),
        ),
        ({"h": 300, "w": 200, "pitch": 256, "stride": 384}, 1024 * 300, 1536 * 200, ("rows", "cols", "=cols", "=rows")),
        # Of one matrix alone: the other has no gaps.
        ({"rows": 300, "cols": 200, "ld": 256}, 1024 * 300, 800 * 300, ("rows", "cols", "=cols")),
        # Without gaps, as at 256 by 256, each array has its own, by name or in order; one side is a square's.
        ({"rows": 256, "cols": 256, "lda": 256, "ldb": 256}, 1 << 18, 1 << 18, ("rows", "cols", "=cols", "=rows")),
        ({"ld_out": 256, "ldIn": 256, "h": 256, "w": 256}, 1 << 18, 1 << 18, ("=rows", "=cols", "rows", "cols")),
        ({"n": 500, "ldA": 512, "ldB": 528}, 2048 * 500, 2112 * 500, ("rows", "=cols", "=rows")),
        ({"n": 500, "pitch": 2048}, 2048 * 500, 2048 * 500, ("rows", "=cols * 4")),
        # Room for more rows, as in whole tiles.
        (
            {"rows": 300, "cols": 200, "lda": 256, "ldb": 320},
            1024 * 320,
            1280 * 256,
            ("rows", "cols", "=cols", "=rows"),
        ),
        # No pitch, a shorter one than a row, and one that does not make the matrix as large as it is.
        ({"rows": 300, "cols": 200}, 800 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "steps": 7}, 800 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "ld": 128}, 512 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "ld": 256}, 2048 * 300, 800 * 300, None),
    ],
)
def test_a_pitch_is_known_by_what_it_makes_of_the_matrix(
    numbers: dict[str, int], bytes_in: int, bytes_out: int, expected: tuple[str, ...] | None
) -> None:
    scalars = [KernelParameter(name, "int", False, False, "int32") for name in numbers]
    seen = {name: SeenArgument(name, "int", value) for name, value in numbers.items()}
    seen["in"] = SeenArgument("in", "const float *", buffer="a", buffer_bytes=bytes_in)
    seen["out"] = SeenArgument("out", "float *", buffer="b", buffer_bytes=bytes_out)
    assert next(iter(pitched(scalars, POINTERS, ("in", "out"), [seen], FLIP)), None) == expected


def test_what_names_leave_open_of_pitches_is_decided_by_other_launches() -> None:
    numbers = {"rows": (256, 100), "cols": (256, 200), "pitch1": (256, 128), "pitch2": (256, 224)}
    scalars = [KernelParameter(name, "int", False, False, "int32") for name in numbers]
    launches = []
    for index, (bytes_in, bytes_out) in enumerate([(1 << 18, 1 << 18), (224 * 4 * 100, 128 * 4 * 200)]):
        seen = {name: SeenArgument(name, "int", values[index]) for name, values in numbers.items()}
        seen["in"] = SeenArgument("in", "const float *", buffer="a", buffer_bytes=bytes_in)
        seen["out"] = SeenArgument("out", "float *", buffer="b", buffer_bytes=bytes_out)
        launches.append(seen)
    found = pitched(scalars, POINTERS, ("in", "out"), launches[:1], FLIP)
    assert found[0] == ("rows", "cols", "=cols", "=rows") and len(found) > 1
    assert pitched(scalars, POINTERS, ("in", "out"), launches, FLIP) == [("rows", "cols", "=rows", "=cols")]


BLUR = find("box-blur")
BATCH = find("batch-square")


def scalar(name: str, dtype: str = "int32") -> KernelParameter:
    return KernelParameter(name, dtype, False, False, dtype)


@pytest.mark.parametrize(
    ("names", "values", "first", "also"),
    [
        (["radius", "n"], [2, 4096], ("radius", "count"), None),
        (["a", "b"], [4096, 3], ("count", "radius"), None),
        # What no name tells is tried both ways.
        (["window", "len"], [5, 4096], ("radius", "count"), ("=2 * radius + 1", "count")),
        (["len", "block"], [4096, 256], ("count", "radius"), ("count", "=256")),
        (["n", "scale"], [4096, 0.2], ("count", "=1 / (2 * radius + 1)"), None),
        (["r", "threads", "len"], [2, 128, 4096], ("radius", "=128", "count"), None),
    ],
)
def test_no_size_has_two_values_and_arrays_have_their_lengths(
    names: list[str], values: list[float], first: tuple[str, ...], also: tuple[str, ...] | None
) -> None:
    arrays = [(BLUR.parameter("in"), 4096), (BLUR.parameter("out"), 4096)]
    types = ["float32" if isinstance(value, float) else "int32" for value in values]
    found = by_value([scalar(n, t) for n, t in zip(names, types, strict=True)], values, arrays, BLUR)
    assert found[0] == first
    assert also is None or also in found


def test_a_length_is_told_by_its_formula() -> None:
    arrays = [(BATCH.parameter("in"), 9 * 512), (BATCH.parameter("out"), 9 * 512)]
    found = by_value([scalar("n"), scalar("batch"), scalar("total")], [3, 512, 9 * 512], arrays, BATCH)
    assert found[0] == ("n", "count", "=count * n * n")
    assert sizes_in(found[0], BATCH) == {"n", "count"}


def test_names_that_contradict_the_values_are_dropped() -> None:
    arrays = [(BLUR.parameter("in"), 64)]
    orders = [("count", "radius"), ("radius", "count"), ("count", "count")]
    assert agreeing(orders, [2, 64], arrays) == [("radius", "count")]


@pytest.mark.parametrize(
    ("lab", "numbers", "elements", "roles"),
    [
        # Rows of a square matrix that lie a whole number of 32 apart.
        ("transpose", {"n": 1000, "pitch": 1024}, (1024000, 1024000), ("rows", "rows")),
        # `cudaMallocPitch` of 500 by 300 and of 300 by 500.
        (
            "transpose",
            {"pitchIn": 2048, "pitchOut": 1536, "rows": 300, "cols": 500},
            (153600, 192000),
            ("=cols * 4", "=rows * 4", "rows", "cols"),
        ),
    ],
)
def test_numbers_that_follow_from_sizes_are_told_by_what_was_seen(
    lab: str, numbers: dict[str, int], elements: tuple[int, int], roles: tuple[str, ...]
) -> None:
    declared = ", ".join(f"int {name}" for name in numbers)
    text = f"__global__ void naive(const float *in, float *out, {declared}) {{ out[1] = in[0]; }}"
    (naive,) = kernels_in(parse(SourceText(Path("x.cu"), text, "utf-8")))
    pairs = zip(("in", "out"), elements, strict=True)
    arrays = [SeenArgument(name, "float*", buffer=name, buffer_bytes=4 * count) for name, count in pairs]
    scalars = [SeenArgument(name, "int", value) for name, value in numbers.items()]
    assert role_assignments(naive, find(lab), [*arrays, *scalars])[0] == ("in", "out", *roles)


@pytest.mark.parametrize(
    ("name", "value", "is_offered"),
    [
        # As wide as the window of the usual radius, and not called a radius; as wide as another's, and called a window.
        ("w", 5, True),
        ("window", 11, True),
        ("kernelSize", 7, True),
        ("window", 10, False),
        ("halo", 5, False),
        ("len2", 11, False),
    ],
)
def test_a_number_may_be_the_width_of_a_window(name: str, value: int, is_offered: bool) -> None:
    text = f"__global__ void naive(const float *in, float *out, int n, int {name}) {{ out[1] = in[0]; }}"
    (naive,) = kernels_in(parse(SourceText(Path("x.cu"), text, "utf-8")))
    arrays = [SeenArgument(array, "float*", buffer=array, buffer_bytes=40000) for array in ("in", "out")]
    numbers = SeenArgument("n", "int", 10000), SeenArgument(name, "int", value)
    orders = role_assignments(naive, find("box-blur"), [*arrays, *numbers])
    assert (("in", "out", "count", "=2 * radius + 1") in orders) is is_offered
    assert orders[0] == ("in", "out", "count", "radius")


@pytest.mark.parametrize(
    ("index", "first"),
    [
        ("#define IDX(row, col, ld) (((col) * (ld)) + (row))", ("b", "a", "c", "n")),
        ("#define IDX(i, j, ld) (i + j * ld)", ("b", "a", "c", "n")),
        ("#define IDX(r, c, ld) ((size_t)(c) * (ld) + (r))", ("b", "a", "c", "n")),
        ("#define IDX(r, c, ld) (static_cast<std::size_t>(ld) * (c) + (r))", ("b", "a", "c", "n")),
        (
            "__device__ inline size_t IDX(int row, int col, int ld) { return (size_t)col * ld + row; }",
            ("b", "a", "c", "n"),
        ),
        ("constexpr auto IDX = [](int r, int c, int ld) noexcept -> int { return r + c * ld; };", ("b", "a", "c", "n")),
        ("#define IDX(row, col, ld) ((row) * (ld) + (col))", ("a", "b", "c", "n")),
        ("#define IDX(x, y, w) ((y) * (w) + (x))", ("a", "b", "c", "n")),
        ("__device__ int IDX(int row, int col, int ld) { return row * ld + col; }", ("a", "b", "c", "n")),
    ],
)
def test_matrices_that_are_indexed_by_columns_change_places_in_a_product(index: str, first: tuple[str, ...]) -> None:
    text = (
        f"{index}\n__global__ void mul(const float *a, const float *b, float *c, int n) {{"
        " int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
        " for (int k = 0; k < n; k++) s += a[IDX(i, k, n)] * b[IDX(k, j, n)]; c[IDX(i, j, n)] = s; }\n"
    )
    found = [one.roles for one in binding(bound(text, find("matmul", ())), "naive").interpretations]
    assert found[0] == first
    assert (("a", "b", "c", "n") in found) and len(found) == 1 + (first[0] == "b")


@pytest.mark.parametrize(
    ("index", "sum_of_host", "first"),
    [
        # A reference by rows shows that the kernel's index is a mistake; one by columns, that its matrices lie so.
        ("i + j * n", "a[i * n + k] * b[k * n + j]", "a"),
        ("i + j * n", "hB[k * n + j] * hA[(size_t)i * n + k]", "a"),
        ("IDX(i, j)", "a[i * n + k] * b[k * n + j]", "a"),
        ("IDX(i, j)", "a[IDX(i, k)] * b[IDX(k, j)]", "b"),
        ("j * n + i", "A[(k) * n + i] * B[(j) * n + k]", "b"),
        ("j * n + i", "B[j * n + k] * A[k * n + i]", "b"),
        # B times A by rows, by the names of its rows and columns.
        ("i * n + j", "a[k * n + j] * b[i * n + k]", "a"),
        ("i * n + j", "x[i] * y[i]", "a"),
    ],
)
def test_what_the_host_multiplies_shows_how_matrices_lie(index: str, sum_of_host: str, first: str) -> None:
    def at(row: str, column: str) -> str:
        return re.sub(r"\b[ij]\b", lambda name: row if name[0] == "i" else column, index)

    text = (
        "#define IDX(i, j) ((size_t)(j) * n + (i))\n"
        "__global__ void mul(const float *a, const float *b, float *c, int n) {"
        " int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
        f" for (int k = 0; k < n; k++) s += a[{at('i', 'k')}] * b[{at('k', 'j')}]; c[{index}] = s; }}\n"
        "void host(const float *a, const float *b, const float *x, const float *y, float *c, int n) {"
        f" for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
        f" c[0] += {sum_of_host}; }}\n"
    )
    found = [one.roles for one in binding(bound(text, find("matmul", ())), "naive").interpretations]
    assert found == [("b", "a", "c", "n"), ("a", "b", "c", "n")][first == "a" :]
