"""How a kernel is launched at other sizes than those at which a run showed its launches."""

from __future__ import annotations

import msgspec
import pytest

from grader.lab.formula import integer
from grader.lab.labs import find
from grader.submission.kernels.records import ObservedRuns, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import Interpretation, VariantBinding
from tests.submission.binding.kernels import binding
from tests.submission.labs import bound

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
