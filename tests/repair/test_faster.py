"""The smallest change that makes a right kernel faster: found by prediction, graded in full, shown as the lab wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.options import GradeOptions, Warm
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.measured import FasterChange, Ratio
from grader.repair.faster import fastest
from grader.repair.faster_changes import (
    axis_changes,
    block_changes,
    padding_changes,
    sized_padding_changes,
    unrolled_changes,
)
from grader.repair.faster_elements import element_changes, tile_changes
from grader.repair.faster_values import arithmetic_changes, register_changes, restrict_changes
from grader.repair.function import Change, Function, changed, functions_of
from grader.repair.launch_sites import launches_of
from grader.repair.verified import answers, without_answers
from grader.result import Result
from grader.submission.cpp.parse import parse
from grader.submission.source import decode
from tests.repair.conftest import KERNELS

TEXT = """
__global__ void transpose_shared(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[32][32];
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    if (r < rows && c < cols) out[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
__global__ void transpose_padded(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
"""


def graded(path: Path, lab: str = "transpose", repairs: str = "teacher") -> Result:
    with Warm() as warm:
        plain = replace(find(lab, ()), sweeps=(), repairs=repairs)
        return grade(path, plain, GradeOptions(backend="emulator", answers=True, predict="t4"), warm=warm)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("work") / "transpose.cu"
    file.write_text(TEXT, "utf-8")
    return graded(file)


def found(result: Result, variant: str) -> FasterChange:
    made = result.variants[variant].faster
    assert made is not None
    predicted = result.variants[variant].predicted
    assert predicted is not None
    assert made.size == predicted.size
    assert made.device == "T4"
    assert made.predicted_times.value == pytest.approx(predicted.predicted_us / made.predicted_us, abs=1e-3)
    assert made.predicted_times.low < made.predicted_times.value < made.predicted_times.high
    return made


def test_stores_become_coalesced_by_indices_made_anew_behind_the_barrier(result: Result) -> None:
    made = found(result, "shared")
    assert (made.kind, made.line) == ("axes", 6)
    assert made.predicted_times.value > 1.5
    assert [row for row in made.diff if row[0] in "+-"] == [
        "-    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;",
        "+    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;",
        "-    if (r < rows && c < cols) out[c * rows + r] = tile[threadIdx.y][threadIdx.x];",
        "+    c = blockIdx.x * 32 + threadIdx.y;",
        "+    r = blockIdx.y * 32 + threadIdx.x;",
        "+    if (r < rows && c < cols) out[c * rows + r] = tile[threadIdx.x][threadIdx.y];",
    ]


def test_a_tile_is_padded_and_the_counted_effect_is_told(result: Result) -> None:
    made = found(result, "padded")
    assert (made.kind, made.line) == ("padding", 10)
    assert [row for row in made.diff if row[0] in "+-"] == [
        "-    __shared__ float tile[32][32];",
        "+    __shared__ float tile[32][32 + 1];",
    ]
    assert made.effect == "With tile[32][32 + 1] line 15 takes 1 wavefront per request instead of 32."
    assert 1.15 <= made.predicted_times.value < 1.5


def test_who_may_not_see_the_change_is_told_line_kind_and_gain(result: Result) -> None:
    shown = found(without_answers(result), "padded")
    assert (shown.line, shown.kind, shown.diff, shown.effect) == (10, "padding", [], "")
    text = answers(result)
    told = "padded: bank_conflicts, predicted 1.24 times as fast on T4 (0.84 to 1.9) · transpose.cu:10 · padding"
    assert told in text
    assert "+    __shared__ float tile[32][32 + 1];" in text


def test_no_mark_depends_on_it_and_nothing_is_looked_for_where_the_lab_wants_none(
    result: Result, tmp_path: Path
) -> None:
    file = tmp_path / "transpose.cu"
    file.write_text(TEXT, "utf-8")
    plain = graded(file, repairs="off")
    assert plain.score == result.score
    assert all(variant.faster is None for variant in plain.variants.values())


@pytest.mark.slow
def test_a_block_is_made_larger_where_the_grid_follows_its_constant() -> None:
    # On an H200 it gains 3.75, and 3.11 with 16.
    made = found(graded(KERNELS / "matmul/good/blocks_4x4.cu", "matmul"), "naive")
    assert (made.kind, [row for row in made.diff if row[0] in "+-"]) == ("launch", ["-#define S 4", "+#define S 32"])
    assert made.predicted_times.value > 1.8


@pytest.mark.slow
def test_what_spoils_another_check_or_gains_too_little_is_not_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = KERNELS.parents[1] / "submissions" / "ivanov" / "transpose.cu"
    kinds = {name: v.faster.kind if v.faster else None for name, v in graded(file).variants.items()}
    # Blocks of 16 x 16 are predicted to be faster for all three, and bring back the padded tile's bank conflicts;
    # padding would make the plain tile that of another variant.
    assert kinds == {"naive": None, "shared": None, "padded": None}
    monkeypatch.setattr("grader.repair.faster.LEAST_GAIN", 3.0)
    (tmp_path / "transpose.cu").write_text(TEXT, "utf-8")
    assert graded(tmp_path / "transpose.cu").variants["padded"].faster is None


def test_of_changes_that_a_gpu_timed_the_one_is_told_that_gains_most_there(result: Result) -> None:
    changes = [found(result, "shared"), found(result, "padded")]

    def told(*values: tuple[float, float, float] | None) -> tuple[str, Ratio | None] | None:
        one = fastest(changes, [Ratio(*value) if value else None for value in values], "H100")
        return (one.kind, one.measured_times) if one else None

    assert told((1.1, 1.05, 1.2), (1.5, 1.4, 1.6)) == ("padding", Ratio(1.5, 1.4, 1.6))
    assert told((1.7, 1.6, 1.8), None) == ("axes", Ratio(1.7, 1.6, 1.8))
    # Predicted to be faster, and not: neither is told.
    assert told((1.04, 1.03, 1.05), (1.2, 0.9, 1.5)) is None
    assert told(None, None) is None
    # Where nothing could be timed, what was predicted stands.
    assert told() == ("axes", None)


def texts(tmp_path: Path, text: str, of: str) -> list[str]:
    file = tmp_path / "k.cu"
    file.write_text(text, "utf-8")
    functions = functions_of(parse(decode(file), {}), "k")
    launches = launches_of(functions[0].parsed)
    made: dict[str, Callable[[list[Function]], Iterable[Change]]] = {
        "padding": padding_changes,
        "axes": lambda all_: axis_changes(all_[0]),
        "loops": unrolled_changes,
        "elements": lambda all_: element_changes(all_[0], launches[0], (32, 32, 1)),
        "sized": lambda all_: sized_padding_changes(all_[0], launches[0]),
        "restrict": lambda all_: restrict_changes(all_[0], launches),
        "tiles": lambda all_: tile_changes(all_[0], launches[0], (32, 32, 1)),
        "blocks": lambda all_: block_changes(launches[0], all_[0].parsed, (16, 1, 1)),
        "register": lambda all_: register_changes(all_[0], launches),
        "arithmetic": arithmetic_changes,
    }
    changes = made[of](functions)
    return [changed(text, change) for change in changes]


def test_another_block_is_tried_where_a_variable_of_the_host_has_its_size(tmp_path: Path) -> None:
    text = """__global__ void k(float *a) { a[threadIdx.x] = 0; }
void run(float *a, int n) {
    int threads = 16, blocks = (n + threads - 1) / threads;
    k<<<blocks, threads>>>(a);
}
"""
    wide = [text.replace("threads = 16", f"threads = {size}") for size in (256, 128)]
    assert texts(tmp_path, text, "blocks") == wide
    assert texts(tmp_path, text.replace("threads = 16", "threads = n"), "blocks") == []


def test_rows_that_lie_one_after_another_in_one_axis_get_longer_everywhere(tmp_path: Path) -> None:
    text = "__global__ void k(float *a) { __shared__ float t[8 * T]; t[threadIdx.y * T + threadIdx.x] = a[0]; }"
    (padded,) = texts(tmp_path, text, "padding")
    assert padded == text.replace("8 * T", "8 * (T + 1)").replace("y * T", "y * (T + 1)")
    # What was made longer along the wrong axis is not made so twice.
    wrong = "__global__ void k(float *a) { __shared__ float t[8 + 1][8]; t[threadIdx.y][threadIdx.x] = a[0]; }"
    assert set(texts(tmp_path, wrong, "padding")) == {
        wrong.replace("t[8 + 1][8]", "t[8][8 + 1]"),
        wrong.replace("t[8 + 1][8]", "t[8 + 1][8 + 1]"),
    }
    # One element that is addressed another way would lie elsewhere.
    assert texts(tmp_path, text.replace("a[0]; }", "a[0]; a[1] = t[threadIdx.x]; }"), "padding") == []


def test_of_several_arrays_each_is_padded_alone_and_all_together(tmp_path: Path) -> None:
    text = "__global__ void k(float *a) { __shared__ float s[8][T], t[T][T]; }"
    assert texts(tmp_path, text, "padding") == [
        text.replace("s[8][T]", "s[8][T + 1]"),
        text.replace("t[T][T]", "t[T][T + 1]"),
        text.replace("s[8][T]", "s[8][T + 1]").replace("t[T][T]", "t[T][T + 1]"),
    ]


def test_axes_are_exchanged_of_threads_and_of_blocks_too(tmp_path: Path) -> None:
    text = "__global__ void k(float *a) { a[blockIdx.x * 8 + threadIdx.x] = blockIdx.y * 8 + threadIdx.y; }"
    threads = text.replace("dIdx.x", "dIdx.?").replace("dIdx.y", "dIdx.x").replace("?", "y")
    assert texts(tmp_path, text, "axes") == [
        threads,
        threads.replace("kIdx.x", "kIdx.?").replace("kIdx.y", "kIdx.x").replace("?", "y"),
    ]
    assert texts(tmp_path, "__global__ void k(float *a) { a[threadIdx.x] = 0; }", "axes") == []


def test_innermost_loops_are_unrolled_unless_something_is_said_of_them(tmp_path: Path) -> None:
    text = """__global__ void k(float *a, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i] += j;
    #pragma unroll 2
    for (int j = 0; j < n; ++j) a[j] = 0;
    if (n) for (int j = 0; j < n; ++j) a[j] = 1;
}
"""
    inner = "        for (int j = 0; j < n; ++j) a[i] += j;"
    assert texts(tmp_path, text, "loops") == [text.replace(inner, f"        #pragma unroll 8\n{inner}")]


TILE = """#define T 32
__global__ void k(const float *in, float *out, int rows, int cols) {
    extern __shared__ float tile[];
    const int width = T;
    int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y * width + threadIdx.x] = in[r * cols + c];
    __syncthreads();
    r = blockIdx.x * T + threadIdx.y;
    if (r >= cols)
        return;
    out[r * rows + threadIdx.x] = tile[threadIdx.x * width + threadIdx.y];
}
void run(float *a, float *b) {
    dim3 block(T, T);
    k<<<dim3(4, 4), block, T * T * sizeof(float)>>>(a, b, 128, 128);
}
"""


def test_threads_of_a_smaller_block_take_several_rows_between_the_barriers(tmp_path: Path) -> None:
    (text,) = texts(tmp_path, TILE, "elements")
    assert texts(tmp_path, TILE.replace("__syncthreads();", "__syncthreads();\n    ;"), "elements")
    assert text == TILE.replace(
        """    int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y * width + threadIdx.x] = in[r * cols + c];
""",
        """    for (int j = 0; j < 32; j += 8) {
        int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * blockDim.y * 4 + threadIdx.y + j;
        if (r < rows && c < cols)
            tile[(threadIdx.y + j) * width + threadIdx.x] = in[r * cols + c];
    }
""",
    ).replace(
        """    r = blockIdx.x * T + threadIdx.y;
    if (r >= cols)
        return;
    out[r * rows + threadIdx.x] = tile[threadIdx.x * width + threadIdx.y];
""",
        """    for (int j = 0; j < 32; j += 8) {
        int r = blockIdx.x * T + threadIdx.y + j;
        if (r >= cols)
            continue;
        out[r * rows + threadIdx.x] = tile[threadIdx.x * width + threadIdx.y + j];
    }
""",
    ).replace(", block, T * T", ", dim3(block.x, block.y / 4), T * T")
    # What a thread read before the barrier is its own row's; a loop holds the barrier.
    kept = TILE.replace("    __syncthreads();\n", "    float mine = in[r];\n    __syncthreads();\n")
    assert (
        texts(tmp_path, kept.replace("= tile[threadIdx.x * width", "= mine + tile[threadIdx.x * width"), "elements")
        == []
    )
    assert texts(tmp_path, TILE.replace("    __syncthreads", "    for (;;) __syncthreads"), "elements") == []


def test_rows_that_the_launch_sizes_get_longer_there_too(tmp_path: Path) -> None:
    longer = TILE.replace("* width +", "* (width + 1) +").replace("T * T * s", "T * (T + 1) * s")
    assert texts(tmp_path, TILE, "sized") == [longer]
    assert texts(tmp_path, TILE.replace("tile[threadIdx.x * width + threadIdx.y]", "tile[r]"), "sized") == []


def test_pointers_are_restricted_where_a_loop_stores_and_loads_unless_a_launch_hands_one_over_twice(
    tmp_path: Path,
) -> None:
    assert texts(tmp_path, TILE, "restrict") == []
    sums = TILE.replace("    out[r * rows + threadIdx.x] =", "    for (; c < cols; c += T)\n        out[c] = in[c] +")
    restricted = sums.replace("float *in, float *out", "float *__restrict__ in, float *__restrict__ out")
    assert texts(tmp_path, sums, "restrict") == [restricted]
    assert texts(tmp_path, sums.replace("(a, b, 128", "(a, a, 128"), "restrict") == []
    assert texts(tmp_path, restricted, "restrict") == []


def test_what_a_loop_adds_up_is_kept_in_a_variable_and_stored_behind_it(tmp_path: Path) -> None:
    text = """__global__ void k(const float *a, float *c, int n) {
    int i = threadIdx.x;
    if (i < n) c[i] = 0;
    for (int t = 0; t < n; ++t) {
        __syncthreads();
        if (i < n)
            for (int j = 0; j < n; ++j) c[i] += a[j];
    }
}
"""
    (kept,) = texts(tmp_path, text, "register")
    assert kept == text.replace("if (i < n) c[i] = 0;", "float sum = 0;").replace("c[i] +=", "sum +=").replace(
        "a[j];\n    }\n", "a[j];\n    }\n    if (i < n) c[i] = sum;\n"
    )
    # What is there before is added to; what is done with the sum behind the loop is done before it is stored.
    onto = text.replace("    if (i < n) c[i] = 0;\n", "").replace("    }\n}", "    }\n    c[i] /= n;\n}")
    (kept,) = texts(tmp_path, onto, "register")
    assert "    float sum = c[i];\n    for (int t" in kept
    assert kept.endswith("    }\n    sum /= n;\n    c[i] = sum;\n}\n")
    # The same array twice: another thread's sum may be wanted in the middle.
    assert texts(tmp_path, text + "void run(float *a) { k<<<1, 32>>>(a, a, 32); }", "register") == []
    # Another element in every pass; one that others go to between barriers; an array of the block.
    assert texts(tmp_path, text.replace("c[i] +=", "c[j] +="), "register") == []
    assert texts(tmp_path, text.replace("c[i] += a[j]", "c[i] += c[j]"), "register") == []
    shared = text.replace("int i =", "__shared__ float c[32]; int i =").replace(", float *c", "")
    assert texts(tmp_path, shared, "register") == []


def test_arithmetic_is_made_cheaper_where_the_text_has_doubles_powers_or_the_same_divisor(tmp_path: Path) -> None:
    text = """#define SOFT 0.01
__global__ void k(const float *a, float *c, int n) {
    float x = a[0], d = pow(x, 2) + SOFT, y = 1.0 / sqrt(d);
    c[0] = x / (d * y) + n / 2;
    c[1] = y / (d * y);
}
"""
    single = text.replace("0.01", "0.01f").replace("1.0 /", "1.0f /")
    powers = text.replace("pow(x, 2)", "(x * x)").replace("1.0 / sqrt(d)", "rsqrtf(d)")
    once = text.replace("    c[0] = x / (d * y)", "    const float inverse = 1.0f / (d * y);\n    c[0] = x * inverse")
    once = once.replace("y / (d * y)", "y * inverse")
    assert texts(tmp_path, text, "arithmetic") == [single, powers, powers.replace("0.01", "0.01f"), once]
    # A power under a root is one within the other.
    under = text.replace("1.0 / sqrt(d)", "2 * (1.0 / (sqrt(pow(x, 2) + d)))")
    assert "y = 2 * (rsqrtf((x * x) + d));" in texts(tmp_path, under, "arithmetic")[1]
    # Where the kernel is handed doubles they are what it is for; whole numbers have no inverse.
    doubles = "__global__ void k(double *c, int n, int m) { c[0] = 0.5; c[1] = m / n; c[2] = 7 / n; }"
    assert texts(tmp_path, doubles, "arithmetic") == []


PRODUCT = """#define T 32
__global__ void k(const float *a, const float *b, float *c, int n) {
    __shared__ float s[T][T], t[T][T];
    int y = threadIdx.y, row = blockIdx.y * T + y, at = row * n;
    float sum = 0;
    for (int first = 0; first < n; first += T) {
        s[y][threadIdx.x] = a[at + first + threadIdx.x];
        t[y][threadIdx.x] = b[(first + y) * n + blockIdx.x * T + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < T; ++i)
            sum += s[y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n)
        c[at + blockIdx.x * T + threadIdx.x] = sum;
}
void run(float *a, float *b, float *c, int n) {
    k<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
}
"""


def test_threads_of_a_smaller_block_sum_up_several_elements_of_a_tile(tmp_path: Path) -> None:
    (text,) = texts(tmp_path, PRODUCT, "tiles")
    assert [line for line in text.splitlines() if line not in PRODUCT.splitlines()] == [
        "    float sum[4] = {};",
        "        for (int j = 0; j < 4; ++j)",
        "            s[y + 8 * j][threadIdx.x] = a[(row + 8 * j) * n + first + threadIdx.x];",
        "        for (int j = 0; j < 4; ++j)",
        "            t[y + 8 * j][threadIdx.x] = b[(first + y + 8 * j) * n + blockIdx.x * T + threadIdx.x];",
        "            for (int j = 0; j < 4; ++j)",
        "                sum[j] += s[y + 8 * j][i] * t[i][threadIdx.x];",
        "    for (int j = 0; j < 4; ++j)",
        "        if (row + 8 * j < n)",
        "            c[(row + 8 * j) * n + blockIdx.x * T + threadIdx.x] = sum[j];",
        "    k<<<dim3(n / T, n / T), dim3(T, T / 4)>>>(a, b, c, n);",
    ]
    # What is declared beside the barriers is another for each element, too.
    named = PRODUCT.replace("        t[y]", "        const int from = first + y;\n        t[y]").replace(
        "(first + y) *", "from *"
    )
    assert texts(tmp_path, named, "tiles") == [
        text.replace(
            "        for (int j = 0; j < 4; ++j)\n            t[y",
            "        const int from = first + y;\n        for (int j = 0; j < 4; ++j)\n            t[y",
        ).replace("(first + y + 8 * j) *", "(from + 8 * j) *")
    ]
    # Rows that end early, a loop of another length for each row, what is kept over a barrier that is no sum.
    assert texts(tmp_path, PRODUCT.replace("    float sum", "    if (row >= n) return;\n    float sum"), "tiles") == []
    assert texts(tmp_path, PRODUCT.replace("first < n;", "first < row;"), "tiles") == []
    assert texts(tmp_path, PRODUCT.replace("sum = 0;", "sum = a[at];"), "tiles") == []


@pytest.mark.slow
def test_a_padded_tile_of_1024_threads_gets_a_smaller_block_that_is_launched_as_it_is_graded() -> None:
    made = found(graded(KERNELS / "transpose/good/macros.cu"), "padded")
    assert made.kind == "elements"
    assert "+    paddedTranspose<<<dim3(32, 32), dim3(BDIM, BDIM / 4)>>>(b, a, 1024, 1024);" in made.diff
    assert made.predicted_times.value > 1.3


@pytest.mark.slow
def test_no_loop_is_unrolled_that_the_assembler_unrolls_itself(tmp_path: Path) -> None:
    file = tmp_path / "matmul.cu"
    file.write_text(
        """__global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    if (x < n && y < n) {
        for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
        c[y * n + x] = sum;
    }
}
""",
        "utf-8",
    )
    # Measured, such a change gained 1.01.
    assert graded(file, "matmul").variants["naive"].faster is None
