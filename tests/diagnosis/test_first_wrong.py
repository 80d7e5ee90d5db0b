"""Real wrong kernels, small: the whole explanation is asserted, sentence by sentence."""

from __future__ import annotations

import numpy as np
import pytest

from grader import words
from grader.checks.base import remedy
from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.lab.records import Tolerance
from grader.measured import Element, ElementRange
from grader.words import told
from tests.diagnosis.tasks import Task, diagnosis, mean, product, transposition

NAIVE = """__global__ void k(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (GUARD)
        STATEMENT;
}"""


def naive(statement: str, guard: str = "x < cols && y < rows") -> str:
    return NAIVE.replace("STATEMENT", statement).replace("GUARD", guard)


TILED = """__global__ void k(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[8][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    OUTSIDE
    out[y * rows + x] = tile[INSIDE];
}"""


def tiled(outside: str, inside: str) -> str:
    return TILED.replace("OUTSIDE", outside).replace("INSIDE", inside)


SWAP_BLOCKS = "x = blockIdx.y * 8 + threadIdx.x; y = blockIdx.x * 8 + threadIdx.y;"

PRODUCT = """__global__ void k(const float *a, const float *b, double *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = START;
    for (int k = 0; k < END; ++k) s += TERM;
    out[y * n + x] = s;
}"""


def multiply(term: str = "a[y * n + k] * b[k * n + x]", end: str = "n", start: str = "0") -> str:
    return PRODUCT.replace("TERM", term).replace("END", end).replace("START", start)


TILED_PRODUCT = """__global__ void k(const float *a, const float *b, double *out, int n) {
    __shared__ float p[8][8], q[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
    float s = 0;
    for (int t = 0; t < n / 8; ++t) {
        p[ty][tx] = a[y * n + t * 8 + tx];
        q[ty][tx] = b[ROW * n + x];
        __syncthreads();
        for (int k = 0; k < 8; ++k) s += p[ty][k] * q[k][tx];
        __syncthreads();
    }
    out[y * n + x] = s;
}"""

MEAN = """__global__ void k(const float *in, float *out, int n) {
    __shared__ float t[20];
    int i = blockIdx.x * 16 + threadIdx.x, l = threadIdx.x + 2;
    t[l] = in[i];
    HALO
    __syncthreads();
    float s = 0;
    for (int d = -2; d <= 2; ++d) s += t[l + d];
    out[i] = i < 2 || i >= n - 2 ? in[i] : RESULT;
}"""
LEFT = "if (threadIdx.x < 2 && i >= 2) t[l - 2] = in[i - 2];"
RIGHT = "if (threadIdx.x < 2 && i + 16 < n) t[l + 16] = in[i + 16];"

WRONG_KERNELS: list[tuple[str, str, Task, list[str], str]] = [
    (
        "copied instead of transposed",
        naive("out[y * cols + x] = in[y * cols + x]"),
        transposition(8, 8),
        [
            "56 of 64 elements are wrong.",
            "out[0][1] should be in[1][0] = 9, but thread (1, 0) of block (0, 0) wrote in[0][1] = 2 there in line 4.",
            "Exactly these elements are wrong: all but the main diagonal.",
            "In all wrong elements the result is the element of in at the same index: nothing was rearranged.",
        ],
        "",
    ),
    (
        "row length of the input in the output's index",
        naive("out[x * cols + y] = in[y * cols + x]"),
        transposition(8, 16),
        [
            "120 of 128 elements are wrong.",
            "out[1][0] should be in[0][1] = 2, but no thread wrote it.",
            "Exactly these elements are wrong: the last 15 rows.",
            "In 56 of 120 wrong elements the result is the value that an index with a row length of 16 in place of 8 "
            "stores there.",
            "64 of the wrong elements were written by no thread.",
        ],
        "A row of out has 8 elements.",
    ),
    (
        "row length of the output in the input's index",
        naive("out[x * rows + y] = in[y * rows + x]"),
        transposition(8, 16),
        [
            "112 of 128 elements are wrong.",
            "out[0][1] should be in[1][0] = 17, but thread (0, 1) of block (0, 0) wrote in[0][8] = 9 there in line 4.",
            "Exactly these elements are wrong: the last 7 columns.",
            "In all wrong elements the result is the element of in that an index with a row length of 8 in place of 16 "
            "finds.",
        ],
        "A row of in has 16 elements.",
    ),
    (
        "guard one too small",
        naive("out[x * rows + y] = in[y * cols + x]", "x < cols - 1 && y < rows"),
        transposition(8, 8),
        [
            "8 of 64 elements are wrong.",
            "out[7][0] should be in[0][7] = 8, but no thread wrote it.",
            "Exactly these elements are wrong: the last row.",
            "In all wrong elements nothing was written.",
        ],
        "",
    ),
    (
        "index of the input off by one",
        naive("out[x * rows + y] = in[(y * cols + x + 1) % (rows * cols)]"),
        transposition(8, 8),
        [
            "Every element is wrong.",
            "out[0][0] should be in[0][0] = 1, but thread (0, 0) of block (0, 0) wrote in[0][1] = 2 there in line 4.",
            "In 56 of 64 wrong elements the result is the value that belongs 1 row below.",
        ],
        "",
    ),
    (
        "no guard at a size that is no multiple",
        naive("out[x * rows + y] = in[y * cols + x]", "true"),
        transposition(5, 3),
        [
            "6 of 15 elements are wrong.",
            "out[1][0] should be in[0][1] = 2, but thread (0, 5) of block (0, 0) wrote 0 there in line 4.",
            "The right value was there: thread (1, 0) of block (0, 0) had written it in line 4, and it was "
            "overwritten.",
            "It came from no element of the inputs; in line 4 threads read outside an array.",
            "Exactly these elements are wrong: rows 1…2, columns 0…2.",
        ],
        "Two threads write to the same element: only the one that makes its value may write it.",
    ),
    (
        "tile read the way it was written",
        tiled(SWAP_BLOCKS, "threadIdx.y][threadIdx.x"),
        transposition(8, 16),
        [
            "112 of 128 elements are wrong.",
            "out[0][1] should be in[1][0] = 17, but thread (1, 0) of block (0, 0) wrote in[0][1] = 2 there in line 7.",
            "It came from tile[0][1] (line 7), where the same thread had stored in[0][1] in line 4.",
            "In all wrong elements the result is the value that belongs at the mirrored position of the same tile.",
        ],
        "",
    ),
    (
        "tiles left where they were",
        tiled("", "threadIdx.x][threadIdx.y"),
        transposition(16, 16),
        [
            "128 of 256 elements are wrong.",
            "out[0][8] should be in[8][0] = 129, but thread (0, 0) of block (1, 0) wrote in[0][8] = 9 there in line 7.",
            "It came from tile[0][0] (line 7), where the same thread had stored in[0][8] in line 4.",
            "Exactly these elements are wrong: the blocks off the main diagonal.",
            "In all wrong elements the result is the value that belongs at the same position of the tile mirrored "
            "across the diagonal.",
        ],
        "",
    ),
    (
        "another thread's element by way of shared memory",
        tiled(SWAP_BLOCKS, "threadIdx.x][7 - threadIdx.y"),
        transposition(8, 8),
        [
            "Every element is wrong.",
            "out[0][0] should be in[0][0] = 1, but thread (0, 0) of block (0, 0) wrote in[0][7] = 8 there in line 7.",
            "It came from tile[0][7] (line 7), where thread (7, 0) of block (0, 0) had stored in[0][7] in line 4.",
            "In all wrong elements the result is the value that belongs in the row counted from the other end.",
        ],
        "",
    ),
    (
        "half the threads and no loop",
        tiled(SWAP_BLOCKS, "threadIdx.x][threadIdx.y"),
        transposition(8, 8, block=(8, 4, 1)),
        [
            "48 of 64 elements are wrong.",
            "out[0][4] should be in[4][0] = 33, but thread (4, 0) of block (0, 0) wrote uninitialised memory "
            "there in line 7.",
            "It read tile[4][0] in line 7, which no thread ever writes.",
            "In 16 of 48 wrong elements the result is uninitialised memory.",
            "32 of the wrong elements were written by no thread.",
        ],
        "Shared memory holds whatever the previous block left there. Every element that is read must first be "
        "written by some thread of this block, also where the data has ended.",
    ),
    (
        "last term left out",
        multiply(end="n - 1"),
        product(16),
        [
            "Every element is wrong.",
            "The value was computed from a[0][0…14], b[0…14][0].",
            "Missing from it: a[0][15], b[15][0].",
        ],
        "",
    ),
    (
        "second factor transposed",
        multiply("a[y * n + k] * b[x * n + k]"),
        product(16),
        [
            "Every element is wrong.",
            "The value was computed from a[0][0…15], b[0][0…15].",
            "Missing from it: b[1…15][0].",
            "Not needed in it: b[0][1…15].",
        ],
        "",
    ),
    (
        "sum that starts with one",
        multiply(start="1"),
        product(16),
        [
            "Every element is wrong.",
            "The value was computed from a[0][0…15], b[0…15][0].",
            "These are the right elements, so check what is computed from them.",
            "In all wrong elements the result is the right value plus 1.",
        ],
        "The right elements are read, so the fault is in what is computed from them.",
    ),
    (
        "always the first tile of a factor",
        TILED_PRODUCT.replace("ROW", "ty"),
        product(16),
        [
            "Every element is wrong.",
            "The value was computed from a[0][0…15], b[0…7][0].",
            "They came through p (filled in line 6), q (filled in line 7).",
            "Missing from it: b[8…15][0].",
        ],
        "",
    ),
    (
        "sum in place of mean",
        MEAN.replace("HALO", LEFT + RIGHT).replace("RESULT", "s"),
        mean(64),
        [
            "60 of 64 elements are wrong.",
            "The value was computed from in[0…4].",
            "They came through t (filled in line 4).",
            "These are the right elements, so check what is computed from them.",
            "Exactly these elements are wrong: all but the border (width 2).",
            "In all wrong elements the result is the right value times 5.",
        ],
        "Divided by 5 these values would be right: perhaps a sum is stored where its mean is asked for.",
    ),
    (
        "right neighbours missing at the end of a tile",
        MEAN.replace("HALO", LEFT).replace("RESULT", "s / 5"),
        mean(64),
        [
            "6 of 64 elements are wrong.",
            "It read t[18] in line 8, which no thread ever writes.",
            "All 6 wrong elements are among the 8 of this part: the last 2 elements of every tile.",
            "In all wrong elements the result is NaN.",
        ],
        "Shared memory holds whatever the previous block left there. Every element that is read must first be "
        "written by some thread of this block, also where the data has ended.",
    ),
]


@pytest.mark.parametrize(
    ("source", "task", "text", "hint"), [w[1:] for w in WRONG_KERNELS], ids=[w[0] for w in WRONG_KERNELS]
)
def test_wrong_kernels(source: str, task: Task, text: list[str], hint: str) -> None:
    found = diagnosis(source, task)
    assert found is not None
    # Sums are told in digits that are of no interest here.
    rest = [s for s in found.sentences if not (s.startswith("out[") and task.tolerance.absolute)]
    assert rest == text
    assert words.text(remedy(found)) == hint


@pytest.mark.parametrize(
    ("source", "task"),
    [
        (naive("out[x * rows + y] = in[y * cols + x]"), transposition(5, 11)),
        (tiled(SWAP_BLOCKS, "threadIdx.x][threadIdx.y"), transposition(16, 8)),
        (multiply(), product(8)),
        (TILED_PRODUCT.replace("ROW", "(t * 8 + ty)"), product(16)),
        (MEAN.replace("HALO", LEFT + RIGHT).replace("RESULT", "s / 5"), mean(64)),
    ],
)
def test_right_kernels_have_no_diagnosis(source: str, task: Task) -> None:
    assert diagnosis(source, task) is None


def test_the_record_says_the_same_as_the_words() -> None:
    found = diagnosis(tiled(SWAP_BLOCKS, "threadIdx.y][threadIdx.x"), transposition(8, 16))
    assert found is not None and found.writer is not None and found.values is not None
    assert (found.output, found.shape, found.tile, found.first) == ("out", [16, 8], [8, 8], [0, 1])
    assert (found.expected, found.got, found.total, found.wrong, found.unwritten) == (17, 2, 128, 112, 0)
    assert found.expected_at == Element(array="in", index=[1, 0])
    assert found.got_at == Element(array="in", index=[0, 1])
    assert (found.writer.thread, found.writer.block, found.writer.line) == ((1, 0, 0), (0, 0, 0), 7)
    assert (found.writers, found.overwritten, found.compared, found.traced) == (1, None, True, True)
    (read,) = found.reads
    assert (read.array, read.space, read.index, read.origin) == ("tile", "shared", [0, 1], "written")
    assert read.put_by is not None and read.put_by.line == 4
    assert read.put_from == [Element(array="in", index=[0, 1])]
    assert found.missing == [ElementRange(array="in", ranges=[(1, 1), (0, 0)])]
    assert found.surplus == found.read == [ElementRange(array="in", ranges=[(0, 0), (1, 1)])]
    assert (found.values.id, found.values.holds, found.values.of) == ("transposed_tiles", 112, 112)
    assert found.picture[:2] == [".xxxxxxx", "x.xxxxxx"]
    assert len(found.picture) == 16 and "".join(found.picture).count("x") == 112


def test_lost_updates_name_the_race() -> None:
    values = np.arange(64, dtype=np.int32) % 4
    task = Task(
        oracle=lambda inputs: np.bincount(inputs["in"] % 4, minlength=4).astype(np.int32),
        inputs={"in": values},
        other={"in": (values + 1) % 4},
        sizes={},
        tile=(4,),
        grid=(1, 1, 1),
        block=(64, 1, 1),
        dims={"h": (4,)},
        axes=1,
    )
    found = diagnosis(
        """__global__ void k(const int *in, int *out) {
    __shared__ int h[4];
    if (threadIdx.x < 4) h[threadIdx.x] = 0;
    __syncthreads();
    h[in[threadIdx.x]] += 1;
    __syncthreads();
    if (threadIdx.x < 4) out[threadIdx.x] = h[threadIdx.x];
}""",
        task,
    )
    assert found is not None
    assert (found.expected, found.got) == (16, 1)
    assert found.sentences[1] == "out[0] should be 16, but thread 0 of block 0 wrote 1 there in line 7."
    assert found.sentences[-1].startswith("Data race in line 5: Thread (0, 0, 0) of block (0, 0, 0)")
    assert "writes the element of h that thread" in found.sentences[-1]


def test_a_sum_onto_what_was_never_set() -> None:
    """Every addition reads the element first; at the first one nothing was there."""
    inputs = {"in": np.ones(8, np.int32)}
    task = Task(
        oracle=lambda arrays: 2 * arrays["in"],
        inputs=inputs,
        other={"in": np.full(8, 3, np.int32)},
        sizes={},
        tile=(8,),
        grid=(1, 1, 1),
        block=(8, 1, 1),
        axes=1,
    )
    found = diagnosis(
        "__global__ void k(const int *in, int *out) {\n    out[threadIdx.x] += 2 * in[threadIdx.x];\n}", task
    )
    assert found is not None
    assert found.sentences[2] == ("It adds to out[0], which was never given an initial value (line 2).")
    assert (
        words.text(remedy(found))
        == "Sum in a variable that starts at 0 and store it once, or set the output to 0 first."
    )


def test_without_a_history_the_values_are_told_all_the_same() -> None:
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = expected.copy()
    got[1, 2] = 9
    found = told(diagnose(WrongCase({"n": 2}, "out", got, expected, Tolerance(), {})))
    assert found.sentences == ["1 of 6 elements is wrong.", "out[1][2] should be 5, got 9."]
    assert (found.traced, found.writer, found.picture) == (False, None, ["...", "..x"])


def test_no_number_is_no_number() -> None:
    expected = np.ones((2, 2), np.float32)
    got = np.where(np.eye(2) == 1, np.nan, expected).astype(np.float32)
    found = told(diagnose(WrongCase({"n": 2}, "out", got, expected, Tolerance(0.1), {})))
    assert found.got is None
    assert found.sentences[1] == "out[0][0] should be 1, got nan."
    assert found.sentences[2:] == [
        "Exactly these elements are wrong: the main diagonal.",
        "In all wrong elements the result is NaN.",
    ]


def test_nothing_written_is_one_sentence() -> None:
    found = diagnosis(naive("out[x * rows + y] = in[y * cols + x]", "x < 0"), transposition(8, 8))
    assert found is not None
    assert found.sentences == ["The kernel wrote nothing to out."]


def test_told_is_an_element_like_most_wrong_ones() -> None:
    narrow = "(in[max(i - 1, 0)] + in[i] + in[min(i + 1, n - 1)]) / 3 + 1"
    kernel = f"__global__ void k(const float *in, float *out, int n) {{ int i = threadIdx.x; out[i] = {narrow}; }}"
    # The first element is made of one, as those at the border are.
    found = diagnosis(kernel, mean(16))
    assert found is not None
    assert (found.first, [list(range_of.ranges[0]) for range_of in found.missing]) == ([2], [[0, 0], [4, 4]])
    left_out = kernel.replace("out[i] =", "if (i > 0) out[i] =")
    found = diagnosis(left_out, mean(16))
    assert found is not None
    assert found.first == [1]
