"""How a kernel is launched: block, what a block covers, dynamic shared memory."""

from __future__ import annotations

import pytest

from grader.lab.formula import integer
from grader.lab.labs import find
from grader.submission.records import VariantBinding
from tests.submission.binding.kernels import binding, kernel
from tests.submission.labs import LINE, bound, bound_file


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
    ("configuration", "grid"),
    [
        ("dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)", ()),
        # A grid that is rounded down covers less than it might: it is launched as it is.
        ("dim3(w / 16, h / 16), dim3(16, 16)", ("(cols // 16)", "(rows // 16)")),
        # So many blocks may be right at the program's own size.
        ("dim3(4, (h + 15) / 16), dim3(16, 16)", ()),
        # Of a block that no device takes the lab's stands in, and what the grid was divided by says nothing.
        ("dim3(w / 128, h / 128), dim3(128, 128)", ()),
        ("", ()),
    ],
)
def test_the_grid_is_the_program_s_where_its_block_is(configuration: str, grid: tuple[str, ...]) -> None:
    text = kernel("naive", "naive", "const float *a, float *b, int rows, int cols")
    launch = f"naive<<<{configuration}>>>(p, q, h, w);" if configuration else ""
    plan = binding(bound(f"{text}int main() {{ {launch} }}"), "naive").interpretations[0].launch
    assert plan.grid_formula == grid


@pytest.mark.parametrize(
    ("before", "x", "y", "n", "grid"),
    [
        # Rounded down, whatever the side is.
        ("", "n / block.x", "n / block.y", "n", ("((n) // 16)", "((n) // 16)")),
        ("", "1024 / block.x", "1024 / block.y", "1024", ("((n) // 16)", "((n) // 16)")),
        ("", "n / side", "n / side", "n", ("((n) // 16)", "((n) // 16)")),
        # Rounded up, or of what is no size, or may be rounded before.
        ("", "(n + block.x - 1) / block.x", "(n + side - 1) / side", "n", ()),
        ("", "n / block.x", "(n + side - 1) / side", "n", ()),
        ("", "4096 / block.x", "4096 / block.y", "1024", ()),
        ("int m = (n + side - 1) / side * side;", "m / side", "m / side", "n", ()),
        ("int m = padded(n);", "m / side", "m / side", "n", ()),
    ],
)
def test_a_grid_that_is_divided_by_a_side_that_nobody_tells_is_rounded_as_it_is_written(
    before: str, x: str, y: str, n: str, grid: tuple[str, ...]
) -> None:
    text = (
        "template <int B> __global__ void tile(float *a, float *b, float *c, int n) { __shared__ float s[B][B];"
        " int x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y; s[threadIdx.y][threadIdx.x] ="
        " a[y * n + x] * b[y * n + x]; __syncthreads(); c[y * n + x] = s[threadIdx.x][threadIdx.y]; }"
        "void run(float *a, float *b, float *c, int side, int n) {"
        f" dim3 block(side, side); {before} dim3 grid({x}, {y}); tile<16><<<grid, block>>>(a, b, c, {n}); }}"
    )
    plan = binding(bound(text, find("matmul", ())), "block").interpretations[0].launch
    assert (plan.grid_formula, plan.line > 0) == (grid, grid != ())


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
    ("launch", "name", "shared_bytes", "tiles"),
    [
        # Nobody says how many tiles a kernel puts there.
        ("", "tile", 32 * 32 * 8, (1, 2, 3, 4)),
        ("", "tilePad", 32 * 33 * 8, (1, 2, 3, 4)),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16), 16 * 16 * sizeof(double)>>>(a, b);", "tile", 2048, (1,)),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16), unknown>>>(a, b);", "tile", 2048, (1, 2, 3, 4)),
        ("K<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b);", "tile", 2048, (1, 2, 3, 4)),
    ],
)
def test_dynamic_shared_memory(launch: str, name: str, shared_bytes: int, tiles: tuple[int, ...]) -> None:
    head = f"__global__ void {name}(const double *a, double *b)"
    text = head + "{ extern __shared__ double t[]; t[0] = a[0]; b[0] = t[0]; }"
    submission = bound(f"{text}\nint main() {{ {launch.replace('K', name)} }}")
    found = next(b for b in submission.bindings.values() if isinstance(b, VariantBinding))
    assert sorted({c.launch.shared_bytes for c in found.interpretations}) == [shared_bytes * count for count in tiles]
    assert found.interpretations[0].launch.shared_bytes == shared_bytes


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


@pytest.mark.parametrize("launch", ["dim3(N / 16, N / 16), dim3(16, 16)", "N * N / 256, 256"])
def test_of_a_size_that_is_a_constant_of_the_program_only_multiples_are_asked(launch: str) -> None:
    """Be its grid one over each side, or one over all elements."""
    text = (
        "const int N = 512;\n"
        "__global__ void naive(const float *a, float *b) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; b[i % N * N + i / N] = a[i]; }\n"
    )
    found = binding(bound(f"{text}int main() {{ naive<<<{launch}>>>(p, q); }}"), "naive")
    assert (found.takes_sizes, found.interpretations[0].constants != ()) == (False, True)


@pytest.mark.parametrize(("source", "bytes_at_ten"), [("n", 80), ("other", 40)])
def test_what_the_host_copies_into_constant_memory_is_that_size(source: str, bytes_at_ten: int) -> None:
    text = (
        "__constant__ int order;\n"
        "__global__ void mulRow(const float *A, const float *B, float *C) {\n"
        "  extern __shared__ float line[]; int i = blockIdx.x;\n"
        "  for (int k = threadIdx.x; k < order; k += blockDim.x) line[k] = A[i * order + k];\n"
        "  __syncthreads();\n"
        "  for (int j = threadIdx.x; j < order; j += blockDim.x) { float s = 0;\n"
        "    for (int k = 0; k < order; k++) s += line[k] * B[k * order + j]; C[i * order + j] = s; } }\n"
        "int main(int argc, char **argv) { int n = atoi(argv[1]), other = n + 1; float *a, *b, *c;\n"
        f"  cudaMemcpyToSymbol(order, &{source}, sizeof(int));\n"
        "  mulRow<<<n, 32, 2 * n * sizeof(float)>>>(a, b, c); }\n"
    )
    plan = binding(bound(text, find("matmul", ())), "row").interpretations[0].launch
    # Of another variable nobody knows what it is: there the lab's rule stands in.
    assert integer(plan.shared_formula, {"n": 10, "threads": 32}) == bytes_at_ten


@pytest.mark.parametrize(
    ("parameters", "launch", "roles"),
    [
        # The block's side, which the program takes from elsewhere: no size, and the lab's block then.
        ("int n, int bs", "dim3 block(bs, bs); naive<<<grid, block>>>(a, b, n, bs)", ("rows", "=32")),
        ("int rows, int q", "dim3 block(bs, bs); naive<<<grid, block>>>(a, b, n, bs)", ("rows", "=32")),
        # As many threads as the block has, and none.
        ("int busy_threads, int idle", "int t = 16 * 8, o = 0; naive<<<g, dim3(16, 8)>>>(a, b, t, o)", ("=128", "=0")),
        # One block as large as the data: its side is the size.
        ("int s", "int s = atoi(argv[1]); naive<<<1, dim3(s, s)>>>(a, b, s)", ("rows",)),
    ],
)
def test_numbers_of_a_launch_that_are_no_sizes_are_read_in_its_text(
    parameters: str, launch: str, roles: tuple[str, ...]
) -> None:
    text = kernel("naive", "naive", f"const float *a, float *b, {parameters}")
    main = f"void run(int n, int bs, dim3 grid, dim3 g, char **argv) {{ {launch}; }}"
    assert binding(bound(f"{text}{main}"), "naive").interpretations[0].roles == ("in", "out", *roles)


@pytest.mark.parametrize(("index", "grid"), [("threadIdx.x", ("1", "1")), ("blockIdx.x", ())])
def test_a_kernel_that_knows_of_no_block_gets_the_one_that_it_is_launched_with(
    index: str, grid: tuple[str, ...]
) -> None:
    text = (
        f"__global__ void naive(const float *a, float *b, int n) {{ int i = {index}; b[i] = a[i]; }}\n"
        "void run(float *a, float *b, int n) { naive<<<1, 25>>>(a, b, n); }"
    )
    assert binding(bound(text), "naive").interpretations[0].launch.grid_formula == grid


@pytest.mark.parametrize(
    ("grid", "index", "formula", "tile"),
    [
        # The number of matrices, which the kernel does not know: a block for each.
        ("BATCH", "blockIdx.x", ("count",), (1,)),
        ("(BATCH + 63) / 64", "blockIdx.x * 64 + threadIdx.x", (), (64,)),
        # A block too many for each matrix, and a name that is no size's.
        ("BATCH", "blockIdx.x * blockDim.x + threadIdx.x", ("count",), (64,)),
        ("blocks", "blockIdx.x", (), (64,)),
    ],
)
def test_the_grid_s_size_is_told_by_its_name_where_the_kernel_is_not_handed_it(
    grid: str, index: str, formula: tuple[str, ...], tile: tuple[int, ...]
) -> None:
    text = (
        f"__global__ void simple(const float *in, float *out, int n) {{ int m = {index}; in += m * n * n;"
        " for (int i = threadIdx.x; i < n * n; i += 64) out[m * n * n + i] = in[i]; }\n"
        f"void solve(float *in, float *out, int BATCH, int blocks, int n) {{ simple<<<{grid}, 64>>>(in, out, n); }}"
    )
    launch = binding(bound(text, find("batch-square", ())), "simple").interpretations[0].launch
    assert (launch.grid_formula, launch.tile) == (formula, tile)


@pytest.mark.parametrize("side", ["K", "w"])
def test_a_block_s_side_is_no_size_whatever_it_is_called(side: str) -> None:
    text = (
        "const int N = 64, K = 16; __global__ void naive(const float *a, float *b) {"
        " int i = blockIdx.x * K + threadIdx.x, j = blockIdx.y * K + threadIdx.y; b[j + i * N] = a[i + j * N]; }\n"
        f"void run(float *a, float *b, int w) {{ naive<<<dim3(N / K, N / K), dim3({side}, {side})>>>(a, b); }}"
    )
    assert binding(bound(text), "naive").interpretations[0].launch.block_formula == ()


@pytest.mark.parametrize(
    ("before", "body", "radii"),
    [
        ("", "out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;", [1, 2]),
        ("", "for (int k = -3; k <= 3; k++) s += in[i + k]; out[i] = s / 7;", [3, 2]),
        ("#define K 4", "for (int k = -K; k <= K; k++) s += in[i + k]; out[i] = s / (2 * K + 1);", [4, 2]),
        ("#define W 7", "for (int k = 0; k < W; k++) s += in[i + k - W / 2]; out[i] = s / W;", [2, 7, 3]),
        ("#define RADIUS 4", "out[i] = (in[i - 1] + in[i + 1]) / RADIUS;", [None]),
        # One side alone, as of the last element.
        ("", "out[i] = in[n - 1] + in[i - 1];", [2]),
        ("", "for (int k = -12345; k < 99; k++) s += in[i + k]; out[i] = s;", [2]),
    ],
)
def test_the_radius_of_a_kernel_that_does_not_name_it_is_read_in_its_text(
    before: str, body: str, radii: list[int | None]
) -> None:
    text = (
        f"{before}\n__global__ void blur(const float *in, float *out, int n) {{ float s = 0;"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
        "void run(float *in, float *out, int n) { blur<<<(n + 63) / 64, 64>>>(in, out, n); }\n"
    )
    found = binding(bound(text, find("box-blur", ())), "naive").interpretations
    assert [dict(one.pinned).get("radius") for one in found] == radii
