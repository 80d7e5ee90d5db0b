"""What is said of whole programs with the faults that students make: two at once, or a wrong idea."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repair.conftest import Grade
from tests.repair.test_search import EVERY, check

SAMPLES = Path(__file__).parents[2] / "submissions" / "ivanov"
GONE = "One change there removes this fault; it was compiled and run."

Edit = tuple[str, str, str]
"""A function ("": the whole file), a text in it, and what a student writes in its place."""

BORDER = "    if (i < RADIUS || i >= count - RADIUS) {\n        out[i] = in[i];\n        return;\n    }\n"

WRONG: list[tuple[str, str, str, str, list[Edit]]] = [
    (
        "transpose",
        "shared.ragged_sizes",
        "The return in line 40 ends threads that are still needed below: let the condition guard the statement after "
        f"it alone. {EVERY}",
        "6 of 15 elements are wrong.",
        [("transposeShared", "    if (r < rows && c < cols)\n", "    if (r >= rows || c >= cols)\n        return;\n")],
    ),
    (
        "transpose",
        "padded.correct",
        f"An index in line 67 is wrong. The wrong part there is TILE. {EVERY}",
        "It read tile[32] in line 67, which no thread ever writes.",
        [
            ("transposePadded", "tile[TILE][TILE + 1]", "tile[TILE * (TILE + 1)]"),
            ("transposePadded", "tile[threadIdx.y][threadIdx.x]", "tile[threadIdx.y * (TILE + 1) + threadIdx.x]"),
            ("transposePadded", "tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.x * TILE + threadIdx.y]"),
        ],
    ),
    (
        "transpose",
        "naive.launch",
        "The constant set in line 9 has the wrong value. One change there makes naive, shared, padded pass every check",
        "The program launches 64×64 = 4096 threads per block; the limit is 1024.",
        [("", "#define TILE 32", "#define TILE 64")],
    ),
    (
        "matmul",
        "block.correct",
        "The variable declared in line 88 hides one of the same name that is declared before it: what the inner one is "
        f"given never reaches the outer one. {EVERY}",
        "In all wrong elements the result is 0.",
        [
            (
                "mulBlock",
                "        for (int k = 0; k < S; ++k)\n",
                "        float acc = 0;\n        for (int k = 0; k < S; ++k)\n",
            )
        ],
    ),
    (
        "matmul",
        "block.races",
        f"Two barriers are missing in the loop body: after line 86, and at its end. {EVERY}",
        "with no barrier between them.",
        [
            ("mulBlock", "        __syncthreads();\n        for", "        for"),
            ("mulBlock", "        __syncthreads();\n    }", "    }"),
        ],
    ),
    (
        "matmul",
        "block.correct",
        f"The variable declared in line 83 has the type int: each addition to it drops the fraction. {EVERY}",
        "In all wrong elements the result is a whole number: its fraction is lost,",
        [("mulBlock", "float acc = 0;", "int acc = 0;")],
    ),
    (
        "matmul",
        "block.ragged_sizes",
        "This thread stores its result without having read anything for it: find out by hand",
        "This value was computed without reading any input element.",
        [("mulBlock", "z < n; z += S", "z + S <= n; z += S")],
    ),
    (
        "matmul",
        "block.ragged_sizes",
        "The return in line 83 comes too early: the threads that it ends have to reach the barrier in line 93 first. "
        f"{EVERY}",
        "which no thread ever writes.",
        [("mulBlock", "    float acc = 0;\n", "    if (i >= n || j >= n)\n        return;\n    float acc = 0;\n")],
    ),
    (
        "box-blur",
        "naive.correct",
        "Work out by hand what this thread reads for the element, pass by pass where it has a loop: what is not needed",
        "There the right value is the element of in at the same index, as it is.",
        [("blurNaive", BORDER, ""), ("blurNaive", "sum += in[i + k];", "sum += in[min(max(i + k, 0), count - 1)];")],
    ),
    (
        "box-blur",
        "shared.correct",
        f"What is computed in line 67 is wrong. The wrong part there is sum / (2 * RADIUS). {EVERY} 5 elements are "
        "summed, and the result is as if their sum were divided by 4 instead of 5.",
        "the right value times 1.25",
        [("blurShared", "sum / (2 * RADIUS + 1)", "sum / (2 * RADIUS)")],
    ),
    (
        "box-blur",
        "naive.correct",
        f"The constant set in line 12 has the wrong value. {EVERY}",
        "the right value times 1.25",
        [
            ("", "#define BLOCK_SIZE 512\n\n", "#define BLOCK_SIZE 512\n#define WINDOW 4\n"),
            ("blurNaive", "sum / (2 * RADIUS + 1)", "sum / WINDOW"),
        ],
    ),
    (
        "transpose",
        "shared.correct",
        f"The array declared in line 36 is private to each thread: __shared__ is missing before its type. {EVERY}",
        "In all wrong elements the result is uninitialised memory.",
        [("transposeShared", "    __shared__ float tile", "    float tile")],
    ),
    (
        "matmul",
        "block.races",
        f"A barrier is missing after line 89. {GONE} Nothing orders these two accesses",
        "with no barrier between them.",
        [("mulBlock", "        __syncthreads();\n    }", "    }"), ("mulBlock", "b[k][x]", "b[x][k]")],
    ),
]


def written(lab: str, edits: list[Edit]) -> str:
    """The sample's program with the edits."""
    text = (SAMPLES / f"{lab}.cu").read_text("utf-8")
    for function, old, new in edits:
        start = text.index(f"{function}(") if function else 0
        end = text.index("\n}\n", start) if function else len(text)
        assert old in text[start:end]
        text = text[:start] + text[start:end].replace(old, new, 1) + text[end:]
    return text


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "name", "hint", "message", "edits"), WRONG, ids=[f"{w[0]}-{w[2][:30]}" for w in WRONG])
def test_what_is_said_is_true_of_the_program(
    graded: Grade, tmp_path: Path, lab: str, name: str, hint: str, message: str, edits: list[Edit]
) -> None:
    (tmp_path / f"{lab}.cu").write_text(written(lab, edits), "utf-8")
    found = check(graded(lab, tmp_path / f"{lab}.cu").checks, name)
    assert found.status == "fail"
    assert found.hint.startswith(hint)
    assert message in found.message


@pytest.mark.slow
def test_of_two_faults_one_may_be_mended(graded: Grade, tmp_path: Path) -> None:
    edits: list[Edit] = [
        ("transposeShared", "\n    __syncthreads();\n", "\n    if (r < rows && c < cols) __syncthreads();\n"),
        ("transposeShared", "    c = blockIdx.y", "    c = blockIdx.x"),
        ("transposeShared", "    r = blockIdx.x", "    r = blockIdx.y"),
    ]
    text = written("transpose", edits)
    (tmp_path / "transpose.cu").write_text(text, "utf-8")
    found = check(graded("transpose", tmp_path / "transpose.cu").checks, "shared.correct")
    assert found.hint.startswith(f"x and y are swapped in line 46 and in the next one. {GONE}")
    assert found.repair is None


NARROW = """__global__ void naive(const float *A, const float *B, float *C, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || col >= n) return;
    short p = row * n;
    float s = 0;
    for (int k = 0; k < n; k++) s += A[p + k] * B[k * n + col];
    C[p + col] = s;
}
int main() {
    int n = 192;
    float *h = (float *)calloc(n * n, 4), *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    cudaMemcpy(a, h, n * n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, n * n * 4, cudaMemcpyHostToDevice);
    naive<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
    cudaMemcpy(h, c, n * n * 4, cudaMemcpyDeviceToHost);
}
"""


@pytest.mark.slow
def test_a_kernel_that_is_wrong_at_its_programs_size_alone_is_no_fault_of_its_arrays(
    graded: Grade, tmp_path: Path
) -> None:
    # At sizes of the lab every product fits into a short.
    path = tmp_path / "matmul.cu"
    path.write_text(NARROW, "utf-8")
    result = graded("matmul", path)
    correct = check(result.checks, "naive.correct")
    assert (correct.status, correct.message.partition(" elements")[0]) == ("fail", "4032 of 36864")
    assert check(result.checks, "naive.memory_safety").status == "fail"
    assert correct.repair is not None and "+    int p = row * n;" in correct.repair.diff
    assert not any("too small" in c.message for c in result.checks if c.check == "host_code")


@pytest.mark.slow
def test_a_grid_of_one_axis_is_not_short_of_another(graded: Grade, tmp_path: Path) -> None:
    # Without the block's number every block does what the first one does: the kernel speaks of no y at all.
    text = (Path(__file__).parents[1] / "kernels" / "matmul" / "good" / "size_first.cu").read_text("utf-8")
    path = tmp_path / "matmul.cu"
    path.write_text(text.replace("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"), "utf-8")
    correct = check(graded("matmul", path).checks, "naive.correct")
    assert (correct.status, correct.line) == ("fail", 4)
    assert correct.repair is not None
    assert "+    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;" in correct.repair.diff


@pytest.mark.slow
def test_who_stores_a_part_of_a_vector_was_not_turned_away(graded: Grade, tmp_path: Path) -> None:
    # One member is set twice, so another is never stored: no condition around is to blame.
    text = (Path(__file__).parents[1] / "kernels" / "transpose" / "good" / "shuffled_stores.cu").read_text("utf-8")
    path = tmp_path / "transpose.cu"
    path.write_text(text.replace("four.w =", "four.z ="), "utf-8")
    correct = check(graded("transpose", path).checks, "padded.correct")
    assert "turns away" not in correct.hint
    assert correct.repair is not None and any(row.startswith("+") and "four.w =" in row for row in correct.repair.diff)
