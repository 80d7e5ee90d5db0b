"""How a kernel is launched: block, what a block covers, dynamic shared memory."""

from __future__ import annotations

import msgspec
import pytest

from grader.lab.formula import integer
from grader.lab.labs import find
from grader.submission.kernels.records import ObservedRuns, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import Interpretation, VariantBinding
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


PROGRAM = """\
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float cells[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) for (int k = 0; k < n * n; k++) { cells[threadIdx.x * n * n + k] = in[i * n * n + k];
        out[i * n * n + k] = cells[threadIdx.x * n * n + k]; }
}
int main()
{
    for (int n = 2; n < 11; n++) square_shared<<<4, 32, plan.bytes(n)>>>(d_in, d_out, n, 128);
}
"""


def launch(n: int, held: int) -> SeenLaunch:
    arrays = [SeenArgument(name, "float*", buffer=f"d_{name}", buffer_bytes=512 * n * n) for name in ("in", "out")]
    given = (*arrays, SeenArgument("n", "int", n), SeenArgument("count", "int", 128))
    return SeenLaunch("square_shared", (), "batch.cu", 10, (4, 1, 1), (32, 1, 1), held, given)


def seen_in_turn(*launches: SeenLaunch, source: str = PROGRAM) -> Interpretation:
    """The kernel's likeliest interpretation where its program makes these launches."""
    made = tuple(msgspec.structs.replace(one, file="main.cu") for one in launches)
    seen = ObservedRuns((SeenRun(("main.cu",), made, ended=True),))
    found = bound(source, find("batch-square"), observed=seen).bindings["shared"]
    assert isinstance(found, VariantBinding)
    return found.interpretations[0]


@pytest.mark.parametrize(
    ("at_five", "others", "formula", "pinned", "is_unsure"),
    [
        # As the lab's formula, and as no text tells: seen at one size, it may be anything at others.  Nor is the
        # grid of four blocks known there.
        (3200, [], "4 * threads * n * n", {}, True),
        (6401, [], "", {"n": 5, "count": 128}, True),
        # Seen at others, it is one number, or follows from them, or follows in no known way.
        (6401, [(6, 6401), (7, 6401)], "", {"count": 128}, True),
        (6400, [(6, 9216), (7, 12544)], "256 * n * n", {}, False),
        (6400, [(6, 9217), (7, 12544)], "", {"n": 5, "count": 128}, True),
    ],
)
def test_what_was_seen_at_one_size_is_no_launch_at_another(
    at_five: int, others: list[tuple[int, int]], formula: str, pinned: dict[str, int], is_unsure: bool
) -> None:
    found = seen_in_turn(launch(5, at_five), *(launch(n, held) for n, held in others))
    assert (found.launch.shared_formula, dict(found.pinned), found.unsure) == (formula, pinned, is_unsure)


@pytest.mark.parametrize("threads", ["const int THREADS = 32;", "#define THREADS 32"])
def test_the_text_of_shared_memory_is_true_of_what_was_seen_at_another_size(threads: str) -> None:
    source = PROGRAM.replace("32, plan.bytes(n)", "THREADS, 257 * n * n").replace("main()\n{", "main() {")
    source = source.replace("for (int n = 2; n < 11; n++)", "int n = argc > 1 ? atoi(argv[1]) : 9;")
    found = seen_in_turn(launch(5, 257 * 25), source=f"{threads}\n{source}")
    assert found.launch.shared_formula == "((257 * n) * n)"


@pytest.mark.parametrize(
    ("block", "others", "formula", "pinned"),
    [
        # As many threads as the matrix has rows, or by chance.
        (96, [], (), {"n": 96}),
        (96, [(93, 93)], ("n", "1", "1"), {}),
        (96, [(93, 96)], (), {}),
        (96, [(93, 64)], (), {"n": 96}),
        (64, [], (), {}),
    ],
)
def test_a_block_that_was_seen_at_one_size_is_none_at_another(
    block: int, others: list[tuple[int, int]], formula: tuple[str, ...], pinned: dict[str, int]
) -> None:
    text = (
        "__global__ void mul_row(const float *a, const float *b, float *c, int n)\n"
        "{ for (int i = blockIdx.x; i < n; i += gridDim.x) c[i * n + threadIdx.x] = a[i] * b[i]; }\n"
        "void run() { mul_row<<<plan.grid, plan.block>>>(a, b, c, n); }"
    )

    def made(n: int, threads: int) -> SeenLaunch:
        arrays = [SeenArgument(name, "float*", buffer=name, buffer_bytes=4 * n * n) for name in "abc"]
        return SeenLaunch(
            "mul_row", (), "main.cu", 3, (8, 1, 1), (threads, 1, 1), 0, (*arrays, SeenArgument("n", "int", n))
        )

    launches = tuple(made(*one) for one in ((96, block), *others))
    seen = ObservedRuns((SeenRun(("main.cu",), launches, ended=True),))
    found = binding(bound(text, find("matmul"), observed=seen), "row").interpretations[0]
    assert (found.launch.block_formula, dict(found.pinned)) == (formula, pinned)


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


@pytest.mark.parametrize(("at_five", "at_lab"), [(1064, 1040), (1032, 1032)], ids=["grows", "stays"])
def test_the_lab_s_shared_memory_is_the_program_s_where_it_is_that_at_all_of_its_sizes(
    at_five: int, at_lab: int
) -> None:
    text = (
        "__global__ void blurShared(const float *in, float *out, int count, int radius) {\n"
        "  extern __shared__ float t[]; int i = blockIdx.x * blockDim.x + threadIdx.x; t[threadIdx.x] = in[i];\n"
        "  if (i < count) out[i] = t[threadIdx.x] / radius; }\n"
        "void run(const float *a, float *b, int n, int r, int m) {\n"
        "  blurShared<<<(n + 255) / 256, 256, bytes(r)>>>(a, b, n, r); }\nint main() {}\n"
    )

    def seen(radius: int, shared_bytes: int) -> SeenLaunch:
        arrays = [SeenArgument(name, "float *", buffer=name, buffer_bytes=40000) for name in ("in", "out")]
        numbers = SeenArgument("count", "int", 10000), SeenArgument("radius", "int", radius)
        launched = (*arrays, *numbers)
        return SeenLaunch("blurShared", (), "main.cu", 5, (40, 1, 1), (256, 1, 1), shared_bytes, launched)

    run = SeenRun(("main.cu",), (seen(1, 1032), seen(5, at_five)), ended=True)
    submission = bound(text, find("box-blur", ()), observed=ObservedRuns((run,)))
    assert binding(submission, "shared").interpretations[0].launch.shared_bytes == at_lab


def test_a_number_of_bytes_that_is_written_of_constants_may_follow_the_lab_s_rule() -> None:
    text = (
        "#define RADIUS 2\n__global__ void blurShared(const float *in, float *out, int count, int radius) {\n"
        "  extern __shared__ float t[]; int i = blockIdx.x * blockDim.x + threadIdx.x; t[threadIdx.x] = in[i];\n"
        "  if (i < count) out[i] = t[threadIdx.x] / radius; }\n"
        "void run(const float *a, float *b, int n) {\n"
        "  blurShared<<<(n + 255) / 256, 256, (256 + 2 * RADIUS) * sizeof(float)>>>(a, b, n, RADIUS); }\n"
        "int main() {}\n"
    )
    arrays = [SeenArgument(name, "float *", buffer=name, buffer_bytes=40000) for name in ("in", "out")]
    launched = (*arrays, SeenArgument("count", "int", 10000), SeenArgument("radius", "int", 2))
    launch = SeenLaunch("blurShared", (), "main.cu", 6, (40, 1, 1), (256, 1, 1), 1040, launched)
    seen = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    plan = binding(bound(text, find("box-blur", ()), observed=seen), "shared").interpretations[0].launch
    assert integer(plan.shared_formula, {"radius": 3, "threads": 256}) == 1048


def test_the_order_of_the_axes_follows_from_a_launch_at_two_sizes_whose_text_is_not_read() -> None:
    text = (
        "__global__ void flip(const float *a, float *b, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x,"
        " j = blockIdx.y * blockDim.y + threadIdx.y; if (i < n && j < m) b[j * n + i] = a[i * m + j]; }\n"
        "void run(void (*k)(const float *, float *, int, int), float *a, float *b, dim3 g, dim3 t)"
        " { k<<<g, t>>>(a, b, 100, 200); }\n"
    )
    arrays = [SeenArgument(name, "float *", buffer_bytes=80000) for name in ("a", "b")]
    numbers = [SeenArgument("n", "int", value=100), SeenArgument("m", "int", value=200)]
    launch = SeenLaunch("flip", (), "main.cu", 2, (4, 7, 1), (32, 32, 1), 0, (*arrays, *numbers))
    observed = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    found = binding(bound(text, find("transpose", ()), observed=observed), "naive").interpretations[0]
    assert (found.roles[2:], found.launch.covers) == (("rows", "cols"), ("rows", "cols"))


@pytest.mark.parametrize(("threads", "formula"), [(9, ("cols*rows", "1", "1")), (3, ("cols", "1", "1")), (8, ())])
def test_one_block_of_a_thread_for_each_element_is_as_large_as_the_data(threads: int, formula: tuple[str, ...]) -> None:
    text = (
        "#define N 9\n#define WIDTH 3\n"
        "__global__ void flip(int *m, int *t) { int i = threadIdx.x; t[i % WIDTH * WIDTH + i / WIDTH] = m[i]; }\n"
        "int main() { flip<<<1, threads()>>>(m, t); }\n"
    )
    arrays = tuple(SeenArgument(name, "int *", buffer=name, buffer_bytes=36) for name in "mt")
    launch = SeenLaunch("flip", (), "main.cu", 4, (1, 1, 1), (threads, 1, 1), 0, arrays)
    seen = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    found = binding(bound(text, find("transpose", ()), observed=seen), "naive").interpretations[0]
    assert found.launch.block_formula == formula


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


def test_one_block_as_large_as_the_data_grows_with_it_whatever_its_text_says() -> None:
    text = (
        "__global__ void blur(const float *in, float *out, int n, int radius)"
        " { int i = threadIdx.x; out[i] = in[i]; }\n"
        "void run(const float *a, float *b, int n, int threads) { blur<<<1, threads>>>(a, b, n, 2); }\nint main() {}\n"
    )
    arrays = [SeenArgument(name, "float *", buffer=name, buffer_bytes=2048) for name in ("in", "out")]
    numbers = SeenArgument("n", "int", 512), SeenArgument("radius", "int", 2)
    launch = SeenLaunch("blur", (), "main.cu", 2, (1, 1, 1), (512, 1, 1), 0, (*arrays, *numbers))
    observed = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    plan = binding(bound(text, find("box-blur", ()), observed=observed), "naive").interpretations[0].launch
    assert (plan.block_formula, plan.grid_formula) == (("count", "1", "1"), ("1",))


def test_blocks_of_a_square_in_one_row_are_those_of_both_sides() -> None:
    text = (
        "__global__ void flip(const float *a, float *b, int cols, int rows) { int per_row = cols / 32,"
        " x = (blockIdx.x % per_row) * 32 + threadIdx.x, y = (blockIdx.x / per_row) * 32 + threadIdx.y;"
        " b[x * rows + y] = a[y * cols + x]; }\n"
        "void run(const float *a, float *b, int n)"
        " { flip<<<(n / 32) * (n / 32), dim3(32, 32)>>>(a, b, n, n); }\nint main() {}\n"
    )
    arrays = [SeenArgument(name, "float *", buffer=name, buffer_bytes=4 << 20) for name in ("a", "b")]
    numbers = SeenArgument("cols", "int", 1024), SeenArgument("rows", "int", 1024)
    launch = SeenLaunch("flip", (), "main.cu", 2, (1024, 1, 1), (32, 32, 1), 0, (*arrays, *numbers))
    observed = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    plan = binding(bound(text, find("transpose", ()), observed=observed), "naive").interpretations[0].launch
    assert integer(plan.grid_formula[0], {"rows": 64, "cols": 128}) == 8


def test_a_grid_over_an_oblong_matrix_is_rounded_up() -> None:
    text = (
        "__global__ void mul(float *a, float *b, float *c, int rows, int inner, int cols) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * cols) { float s = 0;"
        " for (int k = 0; k < inner; k++) s += a[i / cols * inner + k] * b[k * cols + i % cols]; c[i] = s; } }\n"
        "void run(M a, M b, M c) { mul<<<blocks(a), 256>>>(a.d, b.d, c.d, a.rows, a.cols, b.cols); }\n"
    )
    sizes = {"a": 50 * 60, "b": 60 * 70, "c": 50 * 70}
    arrays = [SeenArgument(name, "float *", buffer=name, buffer_bytes=4 * count) for name, count in sizes.items()]
    numbers = [SeenArgument(name, "int", value) for name, value in (("rows", 50), ("inner", 60), ("cols", 70))]
    launch = SeenLaunch("mul", (), "main.cu", 2, (14, 1, 1), (256, 1, 1), 0, (*arrays, *numbers))
    seen = ObservedRuns((SeenRun(("main.cu",), (launch,), ended=True),))
    found = binding(bound(text, find("matmul", ()), observed=seen), "naive").interpretations[0]
    assert (found.launch.covers, found.launch.grid_formula) == (("n*n",), ())


@pytest.mark.parametrize(
    ("index", "blocks", "pinned"),
    [
        # As many blocks as it takes, whatever they are: what it was seen with in earnest is as good elsewhere.
        ("blockIdx.x * blockDim.x + threadIdx.x", (4, 32768), {}),
        # A number of blocks, or of threads, that nothing tells of other sizes.
        ("blockIdx.x * blockDim.x + threadIdx.x", (4, 32767), {"n": 1 << 24, "r": 2}),
        ("blockIdx.x * 16 + threadIdx.x", (4, 32768), {"n": 1 << 24, "r": 2}),
    ],
)
def test_a_kernel_that_was_seen_with_several_blocks_and_covers_the_data_with_each_takes_any(
    index: str, blocks: tuple[int, int], pinned: dict[str, int]
) -> None:
    text = (
        "__global__ void blur_naive(const float *in, float *out, int count, int radius)\n"
        f"{{ int i = {index}; if (i < count) out[i] = in[i] + radius; }}\n"
        "void run(int threads) { blur_naive<<<plan.grid, threads>>>(in, out, count, radius); }"
    )

    def made(n: int, grid: int, threads: int) -> SeenLaunch:
        arrays = [SeenArgument(name, "float*", buffer=name, buffer_bytes=4 * n) for name in ("in", "out")]
        given = (*arrays, SeenArgument("count", "int", n), SeenArgument("radius", "int", 2))
        return SeenLaunch("blur_naive", (), "main.cu", 3, (grid, 1, 1), (threads, 1, 1), 0, given)

    launches = made(64, blocks[0], 16), made(1 << 24, blocks[1], 512)
    seen = ObservedRuns((SeenRun(("main.cu",), launches, ended=True),))
    found = binding(bound(text, find("box-blur"), observed=seen), "naive").interpretations[0]
    own = {"n": "count", "r": "radius"}
    assert (found.launch.block, dict(found.pinned)) == ((512, 1, 1), {own[key]: value for key, value in pinned.items()})
