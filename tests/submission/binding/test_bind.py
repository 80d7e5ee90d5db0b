"""Which kernel is which variant, what its parameters mean, how it is launched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from grader.errors import FileError
from grader.lab.records import Lab
from grader.launching.geometry import grid_of
from grader.submission.binding.bind import bind
from grader.submission.files.folder import find_sources
from grader.submission.files.source import decode
from grader.submission.files.submission_yaml import LabSettings, VariantSettings
from grader.submission.records import Missing, Origins, Submission, VariantBinding
from tests.submission.labs import FLIP, LINE, PRODUCT, SOURCES, bound, bound_file

PLAIN = "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
NAIVE = "b[x * 64 + y] = a[y * 64 + x];"
STAGED = "t[threadIdx.y][threadIdx.x] = a[y * 64 + x]; __syncthreads(); b[x * 64 + y] = t[threadIdx.x][threadIdx.y];"


def kernel(name: str, kind: str, parameters: str = "const float *a, float *b") -> str:
    shared = {"naive": "", "shared": "__shared__ float t[32][32];", "padded": "__shared__ float t[32][33];"}[kind]
    return f"__global__ void {name}({parameters}) {{ {shared} {PLAIN} {NAIVE if kind == 'naive' else STAGED} }}\n"


def names(submission: Submission) -> dict[str, str]:
    return {v: b.reason if isinstance(b, Missing) else b.kernel.name for v, b in submission.bindings.items()}


def binding(submission: Submission, variant: str) -> VariantBinding:
    found = submission.bindings[variant]
    assert isinstance(found, VariantBinding), found
    return found


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("lecture_cp1251.cu", {"naive": "gFlip0", "shared": "gFlip12", "padded": "gFlip2"}),
        ("report_bom_crlf.cu", {"naive": "kBase", "shared": "kShared_Bad", "padded": "kShared"}),
        ("samples_style.cu", {"naive": "flipNaive", "shared": "flipCoalesced", "padded": "flipNoBankConflicts"}),
    ],
)
def test_kernels_of_real_programs(file: str, expected: dict[str, str]) -> None:
    assert names(bound_file(file)) == expected


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        # Names first, even where they lie.
        ([("padNaive", "shared"), ("tile", "padded"), ("base", "shared")], ("base", "tile", "padNaive")),
        # Without names, what a kernel does.
        ([("one", "padded"), ("two", "naive"), ("three", "shared")], ("two", "three", "one")),
        # Without names, in order of the file.
        ([("one", "naive"), ("two", "naive")], ("one", "no_candidate", "no_candidate")),
        # A name for one, the structure for the other.
        ([("myShared", "shared"), ("best", "padded")], ("no_candidate", "myShared", "best")),
        ([("sharedFirst", "shared"), ("sharedSecond", "padded")], ("no_candidate", "sharedFirst", "sharedSecond")),
        # One kernel is not two variants.
        ([("sharedPadded", "padded")], ("no_candidate", "no_candidate", "sharedPadded")),
        # What is padded is the padded variant, whatever it is called, unless another kernel is that.
        ([("shared", "padded")], ("no_candidate", "no_candidate", "shared")),
        ([("shared", "padded"), ("best", "padded")], ("no_candidate", "shared", "best")),
        # A tile without padding that is called padded stays what it is called: the conflicts are a fault to show.
        ([("padded", "shared")], ("no_candidate", "no_candidate", "padded")),
        # Helpers are nobody's.
        ([("initialize", "naive"), ("copyKernel", "naive"), ("warmup", "naive")], ("no_candidate",) * 3),
        ([("copyNaive", "naive"), ("flipNaive", "naive")], ("flipNaive", "no_candidate", "no_candidate")),
        ([("copyNaive", "naive")], ("copyNaive", "no_candidate", "no_candidate")),
        # A number says little: what a kernel does comes before it, whatever number the count starts with.
        ([("k1", "naive"), ("k2", "shared"), ("k3", "padded")], ("k1", "k2", "k3")),
        ([("k0", "naive"), ("k11", "shared"), ("k2", "padded")], ("k0", "k11", "k2")),
        ([("k", "naive"), ("k2", "shared"), ("k3", "padded")], ("k", "k2", "k3")),
        # Counted from 1: the first of two tiles is the plain one.
        ([("k1", "naive"), ("k2", "shared"), ("k3", "shared")], ("k1", "k2", "k3")),
        # Nor is it nothing: the second of two tiles without padding is the one that should have it.
        ([("k0", "naive"), ("k12", "shared"), ("k2", "shared")], ("k0", "k12", "k2")),
    ],
)
def test_names_come_first_then_structure(kernels: list[tuple[str, str]], expected: tuple[str, ...]) -> None:
    text = "".join(kernel(name, kind) for name, kind in kernels)
    assert tuple(names(bound(text)).values()) == expected


@pytest.mark.parametrize(
    ("shared", "use", "variant"),
    [
        ("__shared__ float t[16][17];", "t[threadIdx.y][threadIdx.x]", "padded"),
        ("__shared__ float t[32][32];", "t[threadIdx.y][threadIdx.x]", "shared"),
        ("__shared__ float t[8][32];", "t[threadIdx.y][threadIdx.x]", "shared"),
        ("__shared__ float t[32 * 33];", "t[threadIdx.y * 33 + threadIdx.x]", "padded"),
        ("__shared__ float t[1024];", "t[threadIdx.y * 32 + threadIdx.x]", "shared"),
        ("__shared__ float t[32][32];", "t[threadIdx.y][threadIdx.x ^ threadIdx.y]", "padded"),
        ("extern __shared__ float t[];", "t[threadIdx.y * (blockDim.x + 1) + threadIdx.x]", "padded"),
        ("extern __shared__ float t[];", "t[threadIdx.y * blockDim.x + threadIdx.x]", "shared"),
    ],
)
def test_padding_is_seen(shared: str, use: str, variant: str) -> None:
    text = f"__global__ void work(const float *a, float *b) {{ {shared} {use} = a[0]; __syncthreads(); b[0] = {use}; }}"
    assert [v for v, name in names(bound(text)).items() if name == "work"] == [variant]


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


def test_a_grid_that_numbers_tiles_along_one_axis_is_the_programs_own() -> None:
    text = kernel("shared", "shared", "const float *a, float *b, int n, int m").replace("blockIdx.y", "blockIdx.x / m")
    text += (
        "int main() { int n = 500, m = 700, T = 32; int blocks = ((n + T - 1) / T) * ((m + T - 1) / T);"
        " shared<<<blocks, 1024>>>(p, q, n, m); }"
    )
    plan = binding(bound(text), "shared").interpretations[0].launch
    assert plan.covers == ("cols*rows",)
    assert grid_of(plan, {"rows": 1, "cols": 40}) == (2, 1, 1)
    assert grid_of(plan, {"rows": 64, "cols": 128}) == (8, 1, 1)


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
    assert submission.remarks == (("host_function_called", 8),)
    assert submission.missing_headers == (("six_sizes.cu", "wb.h", 1),)


def test_templates_without_a_launch_get_plausible_arguments() -> None:
    text = (
        "template <typename T, int TILE, int BLOCK_ROWS> __global__ void padded(const T *a, T *b) {"
        " __shared__ T t[TILE][TILE + 1]; for (int j = 0; j < TILE; j += BLOCK_ROWS) t[j][0] = a[j]; b[0] = t[0][1]; }"
    )
    found = binding(bound(text), "padded")
    assert found.expression == "padded<float, 32, 8>"
    assert found.kernel.shared_arrays[0].dims == (32, 33)
    assert [p.dtype for p in found.kernel.parameters] == ["float32", "float32"]
    assert (found.interpretations[0].launch.block, found.interpretations[0].launch.tile) == ((32, 8, 1), (32, 32))


@pytest.mark.parametrize(
    ("head", "launch", "variant", "expression", "dims"),
    [
        ("int S, int PAD = 1", "tile<16>", "padded", "tile<16, 1>", (16, 17)),
        ("int S = 8, int PAD = S / 4", "tile<>", "padded", "tile<8, 2>", (8, 10)),
        ("int S = 8, int PAD = 1", "tile<32, 0>", "shared", "tile<32, 0>", (32, 32)),
    ],
)
def test_templates_take_their_default_arguments(
    head: str, launch: str, variant: str, expression: str, dims: tuple[int, int]
) -> None:
    text = (
        f"template <{head}> __global__ void tile(const float *a, float *b) {{"
        " __shared__ float t[S][S + PAD]; t[0][0] = a[0]; b[0] = t[0][0]; }\n"
        f"int main() {{ {launch}<<<1, 32>>>(p, q); }}"
    )
    found = binding(bound(text), variant)
    assert found.expression == expression
    assert found.kernel.shared_arrays[0].dims == dims


def test_templates_take_the_arguments_they_are_launched_with() -> None:
    text = (
        "template <class T, int S> __global__ void tile(const T *a, T *b) { __shared__ T t[S][S]; t[0][0] = a[0];"
        " b[0] = t[0][0]; } int main() { tile<double, 2 * 8><<<1, dim3(16, 16)>>>(a, b); }"
    )
    found = binding(bound(text), "shared")
    assert found.expression == "tile<double, 16>"
    assert found.kernel.shared_arrays[0].dims == (16, 16)
    assert found.kernel.parameters[0].dtype == "float64"


TILES = (
    "template <int S, int PAD> __global__ void tile(const float *a, float *b, int rows, int cols) {"
    " __shared__ float t[S][S + PAD]; t[0][0] = a[0]; b[0] = t[0][0]; }\n"
    "const int SIDE = 32;\nint main() {%s}"
)
LAUNCHES = " tile<SIDE, 2><<<g, dim3(32, 8)>>>(p, q, r, c); tile<SIDE, 1><<<g, dim3(32, 32)>>>(p, q, r, c); "


@pytest.mark.parametrize(
    ("launches", "shared", "padded", "expressions", "blocks"),
    [
        # Two of one kind, which nothing but the student tells apart.
        (LAUNCHES, "tile<32, 2>", "tile<SIDE,1>", ("tile<32, 2>", "tile<32, 1>"), ((32, 8), (32, 32))),
        (LAUNCHES, "tile<32, 1>", "tile<32, 2>", ("tile<32, 1>", "tile<32, 2>"), ((32, 32), (32, 8))),
        # One that the program does not launch; what is left out is as it is launched.
        (LAUNCHES, "tile<16, 0>", "tile<32>", ("tile<16, 0>", "tile<32, 2>"), (None, (32, 8))),
        ("", "tile<16, 0>", "a::tile< 16, 1 >", ("tile<16, 0>", "tile<16, 1>"), (None, None)),
    ],
)
def test_a_template_may_be_two_variants_by_its_arguments(
    launches: str,
    shared: str,
    padded: str,
    expressions: tuple[str, str],
    blocks: tuple[tuple[int, int] | None, tuple[int, int] | None],
) -> None:
    chosen = settings(shared=VariantSettings(kernel=shared), padded=VariantSettings(kernel=padded))
    submission = bound(TILES % launches, settings=chosen)
    found = [binding(submission, name) for name in ("shared", "padded")]
    assert tuple(b.expression for b in found) == expressions
    assert [b.interpretations[0].origins.kernel for b in found] == ["stated", "stated"]
    for one, block in zip(found, blocks, strict=True):
        assert block is None or one.interpretations[0].launch.block == (*block, 1)


def test_one_instance_is_one_variant(tmp_path: Path) -> None:
    (tmp_path / "flip.cu").write_text(TILES % LAUNCHES)
    (tmp_path / "submission.yaml").write_text("labs: {flip: {variants: {shared: tile, padded: 'tile<32, 2>'}}}\n")
    found = find_sources(tmp_path, "flip")
    with pytest.raises(FileError, match="template arguments tell two"):
        bind(found, [decode(file) for file in found.files], FLIP)


def test_other_instances_of_a_named_one_are_other_variants() -> None:
    text = TILES % " tile<32, 0><<<g, dim3(32, 8)>>>(p, q, r, c); tile<32, 1><<<g, dim3(32, 8)>>>(p, q, r, c); "
    submission = bound(text, settings=settings(padded=VariantSettings(kernel="tile<32, 1>")))
    assert [binding(submission, name).expression for name in ("shared", "padded")] == ["tile<32, 0>", "tile<32, 1>"]


TYPED = (
    "#define FLIP(T) __global__ void flip_##T(const T *a, T *b) "
    "{ __shared__ T t[8][PITCH]; t[0][0] = a[0]; b[0] = t[0][0]; }\n"
)


def typed(*types: str, pitch: int = 9) -> str:
    return TYPED.replace("PITCH", str(pitch)) + "".join(f"FLIP({name})\n" for name in types)


@pytest.mark.parametrize(
    ("types", "chosen"),
    [(("int", "float"), "flip_float"), (("float", "int"), "flip_float"), (("int", "double"), "flip_int")],
)
def test_of_one_kernel_for_several_types_the_labs_is_taken(types: tuple[str, ...], chosen: str) -> None:
    assert names(bound(typed(*types))) == {"naive": "no_candidate", "shared": "no_candidate", "padded": chosen}


def test_one_kernel_for_several_types_is_one_variant() -> None:
    variants = tuple(replace(v, padded=None) for v in FLIP.variants)
    lab = replace(FLIP, variants=variants)
    alone = {"naive": "no_candidate", "shared": "no_candidate", "padded": "flip_float"}
    assert names(bound(typed("int", "float"), lab)) == alone
    # Written out by hand it is the same kernel.
    by_hand = [typed(name).replace("FLIP", f"FLIP_{name}") for name in ("int", "float")]
    assert names(bound("".join(by_hand), lab)) == alone
    # Kernels that differ in more than their types are two, and so are copies for one type.
    assert names(bound(typed("int") + typed("float", pitch=10).replace("FLIP", "OTHER"), lab)) == {
        "naive": "no_candidate",
        "shared": "flip_int",
        "padded": "flip_float",
    }
    # So are those whose names say so.
    called = TYPED.replace("PITCH", "9").replace("(T)", "(name, T)").replace("flip_##T", "name")
    assert names(bound(called + "FLIP(shared_int, int)\nFLIP(padded_float, float)\n", lab)) == {
        "naive": "no_candidate",
        "shared": "shared_int",
        "padded": "padded_float",
    }
    copies = kernel("first", "shared") + kernel("second", "shared")
    assert names(bound(copies, lab)) == {"naive": "no_candidate", "shared": "first", "padded": "second"}


def test_a_kernel_named_for_a_variant_is_not_taken_for_another_type_too() -> None:
    chosen = settings(padded=VariantSettings(kernel="flip_int"))
    assert names(bound(typed("int", "float"), settings=chosen)) == {
        "naive": "no_candidate",
        "shared": "no_candidate",
        "padded": "flip_int",
    }
    variants = tuple(replace(v, padded=None) for v in FLIP.variants)
    assert names(bound(typed("int", "float"), replace(FLIP, variants=variants), chosen))["shared"] == "no_candidate"


def test_of_a_templates_launches_the_one_with_the_labs_type_counts() -> None:
    text = (
        "template <class T, int S> __global__ void tile(const T *a, T *b) { __shared__ T t[S][S]; t[0][0] = a[0];"
        " b[0] = t[0][0]; } int main() { tile<int, 8><<<1, dim3(8, 8)>>>(a, b);"
        " tile<float, 16><<<1, dim3(16, 16)>>>(c, d); }"
    )
    found = binding(bound(text), "shared")
    assert found.expression == "tile<float, 16>"
    assert (found.kernel.parameters[0].dtype, found.interpretations[0].launch.block) == ("float32", (16, 16, 1))


@pytest.mark.parametrize(
    ("configuration", "origin", "block", "tile", "covers"),
    [
        ("dim3(w / 16, h / 16), dim3(16, 16)", "read", (16, 16, 1), (16, 16), ("cols", "rows")),
        ("dim3(h / 16, w / 8), dim3(16, 8)", "read", (16, 8, 1), (16, 8), ("rows", "cols")),
        ("dim3(4, 4), dim3(8, 4)", "read", (8, 4, 1), (8, 4), ("cols", "rows")),
        ("dim3(w / 128, h / 128), dim3(128, 128)", "lab", (32, 32, 1), (32, 32), ("cols", "rows")),
        ("", "lab", (32, 32, 1), (32, 32), ("cols", "rows")),
    ],
)
def test_launch_of_a_plain_kernel(
    configuration: str, origin: str, block: tuple[int, ...], tile: tuple[int, ...], covers: tuple[str, ...]
) -> None:
    text = kernel("naive", "naive", "const float *a, float *b, int rows, int cols")
    launch = f"naive<<<{configuration}>>>(p, q, h, w);" if configuration else ""
    first = binding(bound(f"{text}int main() {{ {launch} }}"), "naive").interpretations[0]
    plan = first.launch
    assert (first.origins.block, plan.block, plan.tile, plan.covers) == (origin, block, tile, covers)
    assert (plan.line > 0) is (origin == "read")


@pytest.mark.parametrize(
    ("before", "body", "block", "tile"),
    [
        ("", "__shared__ float t[16][16]; t[0][0] = a[0]; b[0] = t[0][0];", (16, 16, 1), (16, 16)),
        ("", "__shared__ float t[16][17]; t[0][0] = a[0]; b[0] = t[0][0];", (16, 16, 1), (16, 16)),
        ("", "__shared__ float t[16 * 17]; t[0] = a[0]; b[0] = t[0];", (16, 16, 1), (16, 16)),
        (
            "#define T 32\n#define R 8\n",
            "__shared__ float t[T][T]; for (int j = 0; j < T; j += R) t[j][0] = a[j]; b[0] = t[0][0];",
            (32, 8, 1),
            (32, 32),
        ),
        # 64×64 threads are too many, and no loop says how many rows go at a time.
        ("", "__shared__ float t[64][64]; t[0][0] = a[0]; b[0] = t[0][0];", (32, 32, 1), (32, 32)),
        (
            "#define T 64\n",
            "__shared__ float t[T][T]; int x = blockIdx.x * T, y = blockIdx.y * T;"
            " for (int j = 0; j < T; j += 16) t[j][0] = a[x + y + j]; b[0] = t[0][0];",
            (64, 16, 1),
            (64, 64),
        ),
    ],
)
def test_launch_is_inferred_from_the_tile(
    before: str, body: str, block: tuple[int, ...], tile: tuple[int, ...]
) -> None:
    submission = bound(f"{before}__global__ void tiledPad(const float *a, float *b) {{ {body} }}")
    found = next(b for b in submission.bindings.values() if isinstance(b, VariantBinding))
    plan = found.interpretations[0].launch
    assert (plan.block, plan.tile) == (block, tile)
    assert found.interpretations[0].origins.block == ("lab" if block == (32, 32, 1) and "64" in body else "inferred")


def test_launch_in_one_dimension_is_inferred_from_the_blocks_macro() -> None:
    text = """#define BLOCK_SIZE 128
#define RADIUS 2
__global__ void shared(const float *in, float *out, int n) {
    __shared__ float cache[BLOCK_SIZE + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cache[threadIdx.x] = in[i]; out[i] = cache[threadIdx.x];
}"""
    first = binding(bound(text, LINE), "shared").interpretations[0]
    plan = first.launch
    assert (plan.block, plan.tile, plan.covers, first.origins.block) == ((128, 1, 1), (128,), ("n",), "inferred")


@pytest.mark.parametrize(
    ("main", "block", "origin"),
    [
        ("naive<<<(n * n + 127) / 128, 128>>>(p, q, n);", (128, 1, 1), "read"),
        ("int t = atoi(s); naive<<<n * n / t, t>>>(p, q, n);", (256, 1, 1), "inferred"),
        ("", (256, 1, 1), "inferred"),
    ],
)
def test_a_kernel_that_numbers_all_elements_runs_over_the_product(
    main: str, block: tuple[int, int, int], origin: str
) -> None:
    text = (
        "__global__ void naive(const float *a, float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n * n) b[i % n * n + i / n] = a[i]; }"
    )
    (interpretation,) = binding(bound(f"{text} int main() {{ {main} }}"), "naive").interpretations
    plan = interpretation.launch
    assert (plan.block, plan.tile, plan.covers) == (block, block[:1], ("cols*rows",))
    assert interpretation.origins.block == origin


def test_a_row_for_each_block_is_no_product() -> None:
    text = "__global__ void naive(const float *a, float *b) { b[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }"
    (interpretation,) = binding(
        bound(text + " int main() { naive<<<dim3(n, 1), 64>>>(p, q); }"), "naive"
    ).interpretations
    assert interpretation.launch.covers == ("cols", "rows")


@pytest.mark.parametrize(
    ("launch", "name", "shared_bytes"),
    [
        ("", "tile", 32 * 32 * 8),
        ("", "tilePad", 32 * 33 * 8),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16), 16 * 16 * sizeof(double)>>>(a, b);", "tile", 2048),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16), unknown>>>(a, b);", "tile", 2048),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b);", "tile", 2048),
    ],
)
def test_dynamic_shared_memory(launch: str, name: str, shared_bytes: int) -> None:
    head = f"__global__ void {name}(const double *a, double *b)"
    text = head + "{ extern __shared__ double t[]; t[0] = a[0]; b[0] = t[0]; }"
    submission = bound(f"{text}\nint main() {{ {launch.replace('K', name)} }}")
    found = next(b for b in submission.bindings.values() if isinstance(b, VariantBinding))
    assert {c.launch.shared_bytes for c in found.interpretations} == {shared_bytes}


def test_an_impossible_launch_is_kept_as_what_was_asked_for() -> None:
    found = binding(bound_file("report_bom_crlf.cu"), "padded")
    assert found.requested is not None
    assert (found.requested.block, found.requested.line) == ((128, 128, 1), 49)
    assert (found.interpretations[0].launch.block, found.interpretations[0].origins.block) == ((32, 32, 1), "inferred")
    # The grid's own division tells that x runs over K, the columns.
    assert [c.launch.covers for c in found.interpretations] == [("cols", "rows"), ("rows", "cols")]
    assert [c.roles for c in found.interpretations] == [("in", "out", "rows", "cols"), ("in", "out", "cols", "rows")]


def test_a_launch_whose_block_comes_from_the_command_line_is_not_known() -> None:
    found = binding(bound_file("lecture_cp1251.cu"), "naive")
    assert found.requested is None
    assert (found.takes_sizes, found.interpretations[0].launch.exact) == (False, True)


def missing(submission: Submission, variant: str) -> Missing:
    found = submission.bindings[variant]
    assert isinstance(found, Missing), found
    return found


def test_why_a_variant_is_missing() -> None:
    submission = bound(
        """__global__ void init(float *a) { a[0] = 1; }
__global__ void naive(const float *a, float *b) { /* TODO */ }
__global__ void tile(const float *a, float *b, float scale) { __shared__ float t[32][32]; b[0] = a[0] * scale; }
"""
    )
    kernels = ["init", "naive", "tile"]
    assert missing(submission, "naive") == Missing("naive", "empty", {"kernel": "naive", "file": "main.cu", "line": 2})
    assert missing(submission, "shared") == Missing(
        "shared",
        "unbindable",
        {"kernel": "tile", "file": "main.cu", "line": 3, "detail": "parameter", "parameter": "scale", "type": "float"},
    )
    assert missing(submission, "padded") == Missing("padded", "no_candidate", {"kernels": kernels})


def test_a_kernel_with_too_few_arrays_is_unbindable() -> None:
    found = missing(bound("__global__ void naive(float *a) { a[0] = 1; }"), "naive")
    assert (found.reason, found.data["detail"], found.data["expected"], found.data["got"]) == (
        "unbindable",
        "pointers",
        2,
        1,
    )


def test_a_file_without_kernels() -> None:
    assert set(names(bound("int main() { return 0; }")).values()) == {"no_global"}


def settings(**variants: VariantSettings) -> LabSettings:
    return LabSettings(variants=variants)


def test_settings_overrule_what_is_found_out() -> None:
    text = kernel("naive", "naive") + kernel("odd", "naive", "float *a, float *b, int p, int q")
    chosen = settings(
        naive=VariantSettings(
            kernel="odd", arguments=["out", "in", "cols", "rows"], block=[16, 4], tile=[32, 32], shared_bytes=64
        )
    )
    found = binding(bound(text, settings=chosen), "naive")
    assert found.kernel.name == "odd"
    assert {c.roles for c in found.interpretations} == {("out", "in", "cols", "rows")}
    plan = found.interpretations[0].launch
    assert (plan.block, plan.tile, plan.shared_bytes) == ((16, 4, 1), (32, 32), 64)
    assert found.interpretations[0].origins == Origins(
        kernel="stated", arguments="stated", block="stated", tile="stated", covers="lab", shared_bytes="stated"
    )


def test_a_named_kernel_is_no_other_variant() -> None:
    assert names(bound(kernel("padded", "padded"), settings=settings(shared=VariantSettings(kernel="padded")))) == {
        "naive": "no_candidate",
        "shared": "padded",
        "padded": "no_candidate",
    }


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("naive: nobody", r"labs\.flip\.variants\.naive.*no such kernel: nobody.*allowed: naive"),
        ("naive: naive\n      padded: naive", "named for the variant naive already"),
        ("naive: naive<32>", "1 template arguments for the kernel naive, which has 0 template parameters"),
        ("naive: {arguments: [in, out, rows]}", "3 roles for the kernel naive, which has 2 parameters"),
        ("naive: {arguments: [in, uot]}", r"arguments\[1\]: no such parameter of the lab: uot; did you mean `out`"),
        ("naive: {arguments: [in, rows]}", "the parameter b of the kernel naive cannot be rows"),
        ("naive: {arguments: [in, in]}", "no parameter is out"),
        ("naive: {block: [0, 8]}", r"block\[0\]"),
        ("naive: {block: [1, 2, 3, 4]}", "length <= 3"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, entry: str, words: str) -> None:
    (tmp_path / "flip.cu").write_text(kernel("naive", "naive"))
    (tmp_path / "submission.yaml").write_text(f"labs:\n  flip:\n    variants:\n      {entry}\n")
    with pytest.raises(FileError, match=words) as error:
        found = find_sources(tmp_path, "flip")
        bind(found, [decode(file) for file in found.files], FLIP)
    assert error.value.path == tmp_path / "submission.yaml"
    assert error.value.line in (4, 5)


def bound_folder(folder: Path, lab: Lab = FLIP) -> Submission:
    found = find_sources(folder, lab.id)
    return bind(found, [decode(file) for file in found.files], lab)


def test_a_file_for_each_variant(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    (folder / "flip").mkdir(parents=True)
    for kind in ("naive", "shared", "padded"):
        launch = f"int main() {{ run<<<dim3(n / 16, n / 16), dim3(16, {4 if kind == 'naive' else 16})>>>(a, b); }}"
        (folder / "flip" / f"{kind}.cu").write_text(kernel("run", kind) + launch)
    submission = bound_folder(folder)
    files = {name: binding(submission, name).kernel.file for name in submission.bindings}
    assert files == {"naive": "naive.cu", "shared": "shared.cu", "padded": "padded.cu"}
    # Each kernel has the launch of its own file.
    assert binding(submission, "naive").interpretations[0].launch.block == (16, 4, 1)
    assert binding(submission, "padded").interpretations[0].launch.block == (16, 16, 1)


def test_constants_in_a_header_of_the_submission(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov" / "flip"
    folder.mkdir(parents=True)
    (folder / "common.h").write_text("#define TILE 16\n#define H 4096\ntypedef double real;\n")
    body = "{ __shared__ real t[TILE][TILE + 1]; t[0][0] = a[H]; b[0] = t[0][0]; }"
    (folder / "pad.cu").write_text(f'#include "common.h"\n__global__ void pad(const real *a, real *b) {body}\n')
    (folder / "main.cu").write_text(
        '#include "common.h"\nint main() { dim3 block(TILE, TILE); pad<<<dim3(4, 4), block>>>(p, q); }\n'
    )
    found = find_sources(tmp_path / "ivanov", FLIP.id)
    submission = bind(found, [decode(file) for file in found.files], FLIP)
    padded = binding(submission, "padded")
    assert [array.dims for array in padded.kernel.shared_arrays] == [(16, 17)]
    assert [p.dtype for p in padded.kernel.parameters] == ["float64", "float64"]
    assert padded.requested is not None
    assert padded.requested.block == (16, 16, 1)
    # A size that stands in the header can be another one for each run.
    assert padded.interpretations[0].constants == (("rows", "H"),)
    assert "#define H 33" in submission.program("pad.cu", {"H": 33})["common.h"]


def test_kernels_in_a_header_of_the_submission(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    (folder / "kernels.cuh").write_text("#pragma once\n" + kernel("flipNaive", "naive"))
    (folder / "flip.cu").write_text(
        '#include "kernels.cuh"\nint main() { flipNaive<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(a, b); }\n'
    )
    submission = bound_folder(folder)
    found = binding(submission, "naive")
    assert (found.kernel.file, found.kernel.line) == ("kernels.cuh", 2)
    assert found.interpretations[0].launch.block == (8, 8, 1)
    # It is compiled as nvcc does it: with what stands before its inclusion.
    assert list(submission.program("kernels.cuh")) == ["flip.cu", "kernels.cuh"]
    assert list(submission.program("flip.cu")) == ["flip.cu", "kernels.cuh"]
    assert submission.missing_headers == ()


def test_kernels_in_namespaces_are_named_in_full() -> None:
    found = binding(bound("namespace lab { " + kernel("naive", "naive") + " }"), "naive")
    assert (found.expression, found.kernel.name) == ("lab::naive", "naive")


def test_what_a_submission_holds() -> None:
    submission = bound("// \u202e\n" + kernel("naive", "naive") + "int main() { naive<<<1, dim3(8, 8)>>>(a, b); }\n")
    assert (submission.student, submission.name, submission.group) == ("ivanov", "", "")
    assert submission.remarks == (("bidi_control", 1),)
    assert [k.name for k in submission.kernels] == ["naive"]
    assert [(s.kernel, s.line) for s in submission.launches] == [("naive", 3)]
    assert submission.device_source["main.cu"].split("\n")[2].strip() == ""


@hypothesis_settings(deadline=None)
@given(st.data())
def test_damaged_programs_are_bound_or_missing(data: st.DataObject) -> None:
    names_of_files = ["samples_style.cu", "six_sizes.cu", "pasted_from_pdf.cu"]
    text = (SOURCES / data.draw(st.sampled_from(names_of_files))).read_text(encoding="utf-8")
    for _cut in range(2):
        start = data.draw(st.integers(0, len(text) - 2))
        end = data.draw(st.integers(start, min(len(text) - 1, start + 80)))
        text = (
            text[:start] + data.draw(st.sampled_from(["", "{", "}", "(", "<<<", "[", '"', "#else\n", "n"])) + text[end:]
        )
    for lab in (FLIP, PRODUCT):
        submission = bound(text, lab)
        assert set(submission.bindings) == {variant.name for variant in lab.variants}
        assert submission.device_source["main.cu"].count("\n") == text.count("\n")


FLIP_WITH = """
#define TILE {tile}
__global__ void padded_tile(const float *in, float *out, int rows, int cols) {{
    {inner}
    __shared__ float tile[32][33];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    if (x < cols && y < rows) out[x * rows + y] = tile[threadIdx.y][threadIdx.x];
}}
int main() {{
    int rows = 100, cols = 100;
    dim3 block({block}, {block}), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    padded_tile<<<grid, block>>>(0, 0, rows, cols);
}}
"""


@pytest.mark.parametrize(("tile", "block"), [("0", (0, 0, 1)), ("-5", (-5, -5, 1)), ("(16 - 16)", (0, 0, 1))])
def test_a_block_of_no_threads_is_asked_for_and_not_launched(tile: str, block: tuple[int, int, int]) -> None:
    binding = bound(FLIP_WITH.format(tile=tile, inner="", block="TILE")).bindings["padded"]
    assert isinstance(binding, VariantBinding)
    assert binding.requested is not None and binding.requested.block == block
    for interpretation in binding.interpretations:
        assert min(interpretation.launch.block) > 0 and min(interpretation.launch.tile) > 0


@pytest.mark.parametrize(
    "inner",
    [
        "#ifdef OLD\n__shared__ float s[TILE - 64];\n#endif",
        "#if 0\n__shared__ float s[TILE - 64][TILE - 80], u[-1], v[0], w[0][1];\n#endif",
        "__shared__ float s[-1][-1];",
    ],
)
def test_arrays_of_no_size_tell_nothing(inner: str) -> None:
    binding = bound(FLIP_WITH.format(tile="16", inner=inner, block="TILE")).bindings
    kernel = next(b.kernel for b in binding.values() if isinstance(b, VariantBinding))
    assert all(extent is None or extent > 0 for array in kernel.shared_arrays for extent in array.dims)
    assert kernel.shared_arrays[-1].dims == (32, 33)


def test_a_variable_that_is_handed_in_for_both_sizes_means_each_axis_s_own() -> None:
    text = kernel("naive", "naive", "const float *a, float *b, int rows, int cols")
    main = "int main() { naive<<<dim3((n + 31) / 32, (n + 31) / 32), dim3(32, 32)>>>(p, q, n, n); }"
    for interpretation in binding(bound(f"{text}{main}"), "naive").interpretations:
        # Nothing but rounding up over each axis: no grid that leaves rows out where there are more rows than columns.
        assert (interpretation.launch.grid_formula, interpretation.launch.tile) == ((), (32, 32))
