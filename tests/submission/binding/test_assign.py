"""Which kernel is which variant: by names first, then by structure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.lab.labs import find
from grader.message import verbatim
from grader.submission.binding.assign import Candidate, Pair, assign, rule_of
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import ObservedRuns, SeenArgument, SeenHazard, SeenLaunch, SeenRun
from grader.submission.records import Missing
from tests.submission.binding.kernels import kernel, names
from tests.submission.labs import FLIP, bound, bound_file, parsed


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
        ([("shared", "padded"), ("best", "padded")], ("no_candidate", "shared", "best")),
        # A tile without padding that is called padded stays what it is called: the conflicts are a fault to show.
        ([("padded", "shared")], ("no_candidate", "no_candidate", "padded")),
        ([("flipNaive", "shared")], ("flipNaive", "no_candidate", "no_candidate")),
        # Helpers are nobody's.
        ([("initialize", "naive"), ("copyKernel", "naive"), ("warmup", "naive")], ("no_candidate",) * 3),
        ([("copyNaive", "naive"), ("flipNaive", "naive")], ("flipNaive", "no_candidate", "no_candidate")),
        ([("copyNaive", "naive")], ("copyNaive", "no_candidate", "no_candidate")),
        # A number says little: what a kernel does comes before it, whatever number the count starts with.
        ([("k1", "naive"), ("k2", "shared"), ("k3", "padded")], ("k1", "k2", "k3")),
        ([("k0", "naive"), ("k11", "shared"), ("k2", "padded")], ("k0", "k11", "k2")),
        ([("k", "naive"), ("k2", "shared"), ("k3", "padded")], ("k", "k2", "k3")),
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
        # The same with a name, and of no padding.
        ("extern __shared__ float t[]; int ld = blockDim.x + 1;", "t[threadIdx.y * ld + threadIdx.x]", "padded"),
        ("extern __shared__ float t[]; int ld = blockDim.x;", "t[threadIdx.y * ld + threadIdx.x]", "shared"),
        # Rows that are turned, as exclusive or turns them; a tile that is walked through in a circle is not.
        ("__shared__ float t[32][32];", "t[threadIdx.y][(threadIdx.x + threadIdx.y) & 31]", "padded"),
        ("__shared__ float t[32][32];", "t[threadIdx.y][(threadIdx.x + threadIdx.y) % 32]", "padded"),
        ("__shared__ float t[32][32];", "t[threadIdx.y][(threadIdx.x + 1) % 32]", "shared"),
    ],
)
def test_padding_is_seen(shared: str, use: str, variant: str) -> None:
    text = f"__global__ void work(const float *a, float *b) {{ {shared} {use} = a[0]; __syncthreads(); b[0] = {use}; }}"
    assert [v for v, name in names(bound(text)).items() if name == "work"] == [variant]


@pytest.mark.parametrize(
    ("name", "kind", "facts", "variant", "rule"),
    [
        ("k2", "padded", {}, "padded", "number"),
        ("k2", "shared", {}, "padded", "another number"),
        ("k2", "naive", {}, "padded", "built otherwise"),
        ("k2", "shared", {"likeness": {"padded": -7.0}}, "padded", "unlike"),
        ("k", "padded", {"likeness": {"padded": -4.0}}, "padded", "structure"),
        ("padNaive", "shared", {"likeness": {"padded": -7.0}}, "padded", "name"),
        ("copyNaive", "naive", {"is_helper": True}, "naive", "helper's name"),
        ("padNaive", "shared", {}, "padded", "name"),
        ("padNaive", "shared", {"threads": 1, "share": 0.01}, "padded", "built otherwise"),
        ("k", "shared", {"claims": frozenset({"shared"})}, "shared", "printed"),
        ("k", "shared", {"claims": frozenset({"shared", "padded"})}, "shared", "structure"),
        ("k", "", {"is_skeleton": True}, "naive", "empty"),
        ("k", "", {}, "naive", "nobody's"),
        ("initialize", "naive", {"is_helper": True}, "naive", "nobody's"),
        ("k", "naive", {"fits": False}, "naive", "nobody's"),
        ("k", "naive", {"is_idle": True}, "naive", "nobody's"),
        ("k", "shared", {"pads_rows": True}, "padded", "wrong padding"),
        ("k", "shared", {}, "padded", "built otherwise"),
        ("k", "padded", {}, "padded", "structure"),
    ],
)
def test_the_first_rule_that_holds_decides(
    name: str, kind: str, facts: dict[str, Any], variant: str, rule: str
) -> None:
    text = kernel(name, kind) if kind else f"__global__ void {name}(const float *a, float *b) {{}}"
    plain = Candidate(kernels_in(parsed(text))[0], is_padded=kind == "padded", fits=True, name=name)
    candidate = replace(plain, **facts)
    own = next(v for v in FLIP.variants if v.name == variant)
    assert rule_of(Pair(own, candidate, FLIP.variants, several_files=False)).name == rule


def test_a_skeleton_that_nothing_launches_is_judged_where_no_kernel_has_a_body() -> None:
    assert names(bound("__global__ void k(const float *a, float *b) {}"))["naive"] == "empty"
    both = "__global__ void k(const float *a, float *b) {}" + kernel("work", "naive")
    assert names(bound(both))["naive"] == "work"


def test_a_kernel_that_is_called_as_another_task_is_no_variant() -> None:
    matmul = find("matmul", ())
    text = (
        "__global__ void KERNEL(const float *a, const float *b, float *c, int n) { int i = blockIdx.x * blockDim.x +"
        " threadIdx.x; for (int k = 0; k < n; k++) c[i] += a[i + k] * b[k]; }"
    )
    for name, variant in (
        ("convolutionGPU", "no_candidate"),
        ("naiveReduce", "no_candidate"),
        ("work", "work"),
        ("mulByFilter", "mulByFilter"),
        # How it is done, and no task.
        ("plain_transposed", "plain_transposed"),
        ("naive_reduced_traffic", "naive_reduced_traffic"),
        ("reduceBankConflicts", "reduceBankConflicts"),
        ("reduce_global_loads", "reduce_global_loads"),
    ):
        assert names(bound(text.replace("KERNEL", name), matmul))["naive"] == variant
    square_tiles = (
        "__global__ void squareTile(const float *src, float *dst, int rows, int cols) { int c = blockIdx.x * 32 +"
        " threadIdx.x, r = blockIdx.y * 32 + threadIdx.y; if (r < rows && c < cols) dst[c * rows + r] = src[r * cols"
        " + c]; }"
    )
    assert names(bound(square_tiles, find("transpose", ())))["shared"] == "squareTile"


def test_the_size_of_a_block_among_a_template_s_arguments_is_no_name() -> None:
    text = (
        "template <int BLOCK_SIZE> __global__ void gemm(const float *a, const float *b, float *c, int n) {"
        " int i = blockIdx.x * BLOCK_SIZE + threadIdx.x; float s = 0; for (int k = 0; k < n; k++) s += a[k] * b[k];"
        " c[i] = s; } void run(float *a, float *b, float *c, int n) { gemm<16><<<n, 256>>>(a, b, c, n); }"
    )
    assert names(bound(text, find("matmul", ())))["naive"] == "gemm"


@pytest.mark.parametrize(("numbers", "variant"), [("int width, int height", "rows_and_columns"), ("int n", "work")])
def test_a_kernel_that_goes_through_rows_and_columns_is_no_variant_where_there_are_vectors(
    numbers: str, variant: str
) -> None:
    text = (
        f"__global__ void work(const float *in, float *out, {numbers}) {{"
        " int x = blockIdx.x * blockDim.x + threadIdx.x;"
        " int i = (blockIdx.y * blockDim.y + threadIdx.y) * 64 + x; out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3; }"
    )
    assert names(bound(text, find("box-blur", ())))["naive"] == variant


COLUMN = "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"


@pytest.mark.parametrize(
    ("numbers", "body", "variant"),
    [
        # An image, whatever its sides are called, and if only one is handed in.
        ("int h_img, int w_img", "if (y < h_img) out[y * w_img + x] = in[(y + 1) * w_img + x];", "rows_and_columns"),
        ("int n", "for (int j = y - 1; j <= y + 1; j++) out[y] += in[j * n + x];", "rows_and_columns"),
        ("int n", "out[(y + 1) * (n + 2) + x] = in[x];", "rows_and_columns"),
        ("int n", "out[y * SIDE + x] = in[x];", "rows_and_columns"),
        # A vector that a grid of two axes goes through.
        ("int n", "int i = y * (gridDim.x * blockDim.x) + x; if (i < n) out[i] = in[i - 1] + in[i + 1];", "work"),
        ("int n", "int i = y * BLOCK_DIM + x; if (i < n) out[i] = in[i - 1] + in[i + 1];", "work"),
        # Blocks of two axes, or so many of them that the grid has two: threads of a vector, numbered with constants.
        ("int n", "int i = blockIdx.x * (BX * BY) + threadIdx.y * BX + threadIdx.x; out[i] = in[i - 1];", "work"),
        ("int n", "int i = (blockIdx.x * BY + threadIdx.y) * BX + threadIdx.x; out[i] = in[i - 1];", "work"),
        (
            "int n",
            "int ty = threadIdx.y; int i = blockIdx.x * 256 + ty * BX + threadIdx.x; out[i] = in[i - 1];",
            "work",
        ),
        ("int n", "int b = blockIdx.y * gridDim.x + blockIdx.x; int i = b * BX + threadIdx.x; out[i] = in[i];", "work"),
        (
            "int n, int per",
            "int i = y * 64 + blockIdx.x; for (int k = 0; k < per; k++) out[i * per + k] = in[i * per + k + 1];",
            "work",
        ),
        ("int n", "out[(blockIdx.y * BY + threadIdx.y) * SIDE + x] = in[x];", "rows_and_columns"),
        ("int n", "int row = threadIdx.y; out[row * n + x] = in[x];", "rows_and_columns"),
    ],
)
def test_rows_and_columns_of_a_kernel_are_told_by_what_their_number_is_multiplied_by(
    numbers: str, body: str, variant: str
) -> None:
    text = (
        "#define SIDE 64\n#define BLOCK_DIM 16\n#define BX 32\n#define BY 8\n"
        f"__global__ void work(const float *in, float *out, {numbers}) {{ {COLUMN} {body} }}"
    )
    assert names(bound(text, find("box-blur", ())))["naive"] == variant


@pytest.mark.parametrize(
    ("numbers", "body", "variant"),
    [
        # An image of which one axis of the grid numbers the elements.
        (
            "int w, int h",
            "int y = i / (w), x = i % (w); if (y > 0 && x > 0) out[i] = in[i - w - 1];",
            "rows_and_columns",
        ),
        ("int size", "int n = size; int y = i / n, x = i % n; out[y * n + x] = in[x];", "rows_and_columns"),
        ("int n", "int y = i / WIDTH, x = i % WIDTH; if (i < n) out[i] = in[(y + 1) * WIDTH + x];", "rows_and_columns"),
        # A vector: in pieces, in a ring, by warps.
        ("int n", "int piece = i / ITEMS, at = i % ITEMS; if (i < n) out[i] = in[piece * ITEMS + at];", "work"),
        ("int n, int tile", "int t = i / tile, at = i % tile; if (i < n) out[i] = in[t * tile + at];", "work"),
        ("int n", "for (int k = -2; k <= 2; k++) out[i] += in[(i + k + n) % n] / n;", "work"),
        (
            "int n",
            "int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize; out[i] = in[lane + warp];",
            "work",
        ),
    ],
)
def test_rows_and_columns_are_told_where_one_axis_numbers_all_elements(numbers: str, body: str, variant: str) -> None:
    text = (
        "#define WIDTH 64\n#define ITEMS 4\n"
        f"__global__ void work(const float *in, float *out, {numbers}) {{"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"
    )
    assert names(bound(text, find("box-blur", ())))["naive"] == variant


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        # Each element of the two in its place.
        ("vecMul", "place_by_place"),
        ("hadamard", "place_by_place"),
        # Called as the variant, it is a wrong one.
        ("naive", "naive"),
    ],
)
def test_a_product_element_by_element_is_no_product_of_matrices(name: str, variant: str) -> None:
    text = (
        f"__global__ void {name}(const float *x, const float *y, float *z, int n) {{ int i = blockIdx.x * blockDim.x +"
        " threadIdx.x; if (i < n) z[i] = x[i] * y[i]; }"
    )
    assert names(bound(text, find("matmul", ())))["naive"] == variant


def test_a_sum_over_a_window_is_a_blur_though_it_is_called_a_reduction() -> None:
    text = (
        "__global__ void windowReduce(const float *in, float *out, int n) { int i = blockIdx.x * blockDim.x +"
        " threadIdx.x; float s = 0; for (int k = -2; k <= 2; k++) s += in[i + k]; out[i] = s / 5; }"
    )
    assert names(bound(text, find("box-blur", ())))["naive"] == "windowReduce"


@pytest.mark.parametrize(
    ("elements", "hazards", "variant"),
    [
        (20, 0, "unequal_lengths"),
        # As one who asks for elements where bytes are counted has it, and a halo.
        (160, 0, "work"),
        (632, 0, "work"),
        # An array that is too short for the kernel.
        (20, 1, "work"),
    ],
)
def test_an_output_of_another_length_is_another_task_s(elements: int, hazards: int, variant: str) -> None:
    text = "__global__ void work(const float *in, float *out) { out[blockIdx.x] = in[threadIdx.x] + in[blockIdx.x]; }"
    arguments = tuple(SeenArgument(n, "float *", buffer_bytes=4 * k) for n, k in (("in", 640), ("out", elements)))
    strays = [SeenHazard("out_of_bounds", 1, verbatim("out"))] * hazards
    launch = SeenLaunch("work", (), "main.cu", 1, (20, 1, 1), (32, 1, 1), 0, arguments, hazards=strays)
    run = SeenRun(("main.cu",), (launch,), ended=True)
    seen = ObservedRuns((run, replace(run, results=True)))
    assert names(bound(text, find("batch-square", ()), observed=seen))["simple"] == variant


@pytest.mark.parametrize(
    ("count", "offset", "variant"),
    [
        (None, 0, "unequal_lengths"),
        (640, 0, "unequal_lengths"),
        # One of many vectors in an array, and all results in one: the kernel is for as many as it is told.
        (20, 0, "work"),
        (640, 4, "work"),
        # Room for the largest of several sizes.
        (10, 0, "work"),
    ],
)
def test_an_array_with_room_for_more_is_no_longer_than_another(count: int | None, offset: int, variant: str) -> None:
    number = ", int n" if count is not None else ""
    text = (
        f"__global__ void work(const float *in, float *out{number}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " out[i] = in[i] + in[i + 1]; }"
    )
    arrays = (("in", 640, 0), ("out", 20, offset))
    arguments = [SeenArgument(n, "float *", buffer_bytes=4 * k, offset_bytes=at) for n, k, at in arrays]
    arguments += [SeenArgument("n", "int", value=count)] * (count is not None)
    launch = SeenLaunch("work", (), "main.cu", 1, (20, 1, 1), (32, 1, 1), 0, tuple(arguments))
    run = SeenRun(("main.cu",), (launch,), ended=True)
    seen = ObservedRuns((run, replace(run, results=True)))
    assert names(bound(text, find("box-blur", ()), observed=seen))["naive"] == variant


TILED = (
    "__global__ void NAME(float *C, float *A, float *B, int n) { __shared__ float As[16][16], Bs[16][16];"
    " int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float sum = 0;"
    " for (int t = 0; t < n; t += 16) { As[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];"
    " Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + x]; __syncthreads();"
    " for (int k = 0; k < 16; k++) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x]; __syncthreads(); }"
    " C[y * n + x] = sum; }\n"
)


def test_a_second_tile_of_both_matrices_is_no_row_or_column() -> None:
    for others in (("matrixMul3", "matrixMul5"), ("work", "other"), ("mulSharedBlock", "other")):
        text = "".join(TILED.replace("NAME", name) for name in others)
        found = names(bound(text, find("matmul", ())))
        assert [found[v] for v in ("row", "column")] == ["no_candidate"] * 2
        assert found["block"] in others
    short = "#define ty threadIdx.y\n#define by blockIdx.y\n"
    text = "".join(TILED.replace("NAME", name) for name in ("work", "other"))
    text = short + text.replace("threadIdx.y", "ty").replace("blockIdx.y", "by")
    assert names(bound(text, find("matmul", ())))["column"] == "no_candidate"


def test_a_tile_with_padding_is_no_other_one_of_the_variant_without() -> None:
    text = kernel("flipSmem", "shared") + kernel("flipSmemPad", "padded") + kernel("flipSmemPadTwice", "padded")
    found = bound(text)
    others = {
        name: [o.kernel.name for o in b.others] for name, b in found.bindings.items() if not isinstance(b, Missing)
    }
    assert others == {"shared": [], "padded": ["flipSmemPadTwice"]}


def test_a_tile_with_padding_is_the_variant_with_whatever_tile_it_is_called() -> None:
    found = names(bound(kernel("flipTiled", "padded")))
    assert (found["shared"], found["padded"]) == ("no_candidate", "flipTiled")
    found = names(bound(kernel("flipTiled", "padded") + kernel("flipPadded", "padded")))
    assert (found["shared"], found["padded"]) == ("flipTiled", "flipPadded")


def test_a_kernel_of_few_threads_is_tried_beside_one_with_a_thread_for_each_element() -> None:
    text = kernel("flipNaive", "naive") + kernel("work", "naive")
    naive, other = (Candidate(k, is_padded=False, fits=True, name=k.name) for k in kernels_in(parsed(text)))
    for share, others in ((0.01, [other]), (1.0, [])):
        found = assign(FLIP.variants, [replace(naive, share=share), other], {})
        assert found.chosen["naive"].name == "flipNaive"
        assert found.others["naive"] == others
