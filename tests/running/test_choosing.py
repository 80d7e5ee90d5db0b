"""Which interpretation of a kernel is graded: by trying, also unwritten grids and sizes that are constants."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.lab.compare import Difference
from grader.lab.records import Sizes
from grader.launching.backend import LaunchOutcome
from grader.launching.trial import Run
from grader.result import Result
from grader.running.cases import choose, hard_coded_sizes, interpretations_of
from grader.submission.records import Interpretation
from tests.launching.test_kernel import CASES, LAB, binding, interpretation
from tests.marks_only import marks_only


def graded(tmp_path: Path, text: str) -> Result:
    file = tmp_path / "transpose.cu"
    file.write_text(text)
    return pipeline.grade(file, marks_only("transpose"))


def status(result: Result, check: str = "naive.correct") -> str:
    return next(c.status for c in result.checks if c.id == check)


ONE_DIMENSIONAL = {
    "a thread for every element": """
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < rows * cols) out[i % cols * rows + i / cols] = in[i];""",
    "a block for every row": """
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            out[c * rows + blockIdx.x] = in[blockIdx.x * cols + c];""",
    "a block for every column": """
        for (int r = threadIdx.x; r < rows; r += blockDim.x)
            out[blockIdx.x * rows + r] = in[r * cols + blockIdx.x];""",
}


@pytest.mark.parametrize("body", ONE_DIMENSIONAL.values(), ids=list(ONE_DIMENSIONAL))
def test_one_dimensional_grids(tmp_path: Path, body: str) -> None:
    kernel = f"__global__ void naive(const float *in, float *out, int rows, int cols)\n{{{body}\n}}\n"
    host = "int main() { float *a, *b; int n = 0; naive<<<n, 256>>>(a, b, n, n); }\n"
    result = graded(tmp_path, kernel + host)
    assert status(result) == "pass"
    assert status(result, "naive.ragged_sizes") == "pass"
    assert result.variants["naive"].launch.block == (256, 1, 1)  # type: ignore[union-attr]


SWAPPED = """
__global__ void naive(const float *A, float *B, int M, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < M && j < N) BODY;
}
int main() {
    float *a, *b; int M = 10, N = 10;
    dim3 block(16, 16), grid((X + block.x - 1) / block.x, (Y + block.y - 1) / block.y);
    naive<<<grid, block>>>(a, b, M, N);
}
"""


@pytest.mark.parametrize(
    ("x", "y", "body", "said"),
    [
        ("M", "N", "B[j * M + i] = A[i * N + j]", ""),
        # Right with the grid's axes the other way, whatever the numbers are called: the launch is to blame.
        ("N", "M", "B[j * M + i] = A[i * N + j]", "checks.grids.left_out"),
        # Wrong with either grid: the kernel is.
        ("N", "M", "B[j * N + i] = A[i * M + j]", "pieces.sentences"),
    ],
)
def test_of_a_grid_whose_axes_are_swapped_the_launch_is_told(
    tmp_path: Path, x: str, y: str, body: str, said: str
) -> None:
    result = graded(tmp_path, SWAPPED.replace("BODY", body).replace("X", x).replace("Y", y))
    check = next(c for c in result.checks if c.id == "naive.correct")
    assert check.status == ("fail" if said else "pass")
    if said == "checks.grids.left_out":
        assert check.hint_said is not None and check.hint_said.id == "checks.grids.hint_swapped"
    assert not said or (check.message_said is not None and check.message_said.id == said)


@pytest.mark.parametrize("constant", ["#define SIDE 512", "const int SIDE = 512;", "constexpr int SIDE = 1 << 9;"])
def test_a_size_that_is_a_constant(tmp_path: Path, constant: str) -> None:
    kernel = """
__global__ void naive(float *in, float *out)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[x * SIDE + y] = in[y * SIDE + x];
}
int main() { float *a, *b; naive<<<dim3(SIDE / 16, SIDE / 16), dim3(16, 16)>>>(a, b); }
"""
    result = graded(tmp_path, constant + kernel)
    assert status(result) == "pass"
    record = result.variants["naive"]
    assert [c.size for c in record.cases if not c.drawn] == [{"rows": 512, "cols": 512}]
    assert record.remarks == [
        "The kernel works only at rows = 512, cols = 512: the size is a constant in the program. Make it a parameter."
    ]


def test_hard_coded_sizes_suit_the_tile_and_the_emulator() -> None:
    source = "#define A 64\n#define B 100\n#define C (1 << 7)\nconst int D = 256;\n#define E 4096\nint f = 512;\n"
    exact = interpretation(exact=True)
    assert hard_coded_sizes(LAB, exact, source) == [{"rows": n, "cols": n} for n in (256, 128, 64)]
    assert hard_coded_sizes(LAB, interpretation("rows", "cols"), source) == []


def test_readings_of_a_two_dimensional_block_are_the_binding_s_own() -> None:
    given = interpretation("rows", "cols")
    assert interpretations_of(LAB, CASES, binding(given)) == [given]


def test_the_first_reading_that_works_is_taken_and_the_likeliest_when_none_does() -> None:
    from dataclasses import replace

    wrong, right = interpretation("cols", "rows"), interpretation("rows", "cols")
    both = replace(binding(wrong), interpretations=(wrong, right))
    tried: list[Interpretation] = []

    def trial(given: Interpretation, sizes: Sizes) -> Run:
        tried.append(given)
        return Run("correct", sizes, LaunchOutcome("ok"), Difference(4, 0 if given is right else 1))

    assert choose(LAB, CASES, both, {}, trial).interpretation is right
    assert tried == [wrong, right]
    hopeless = Run("correct", {}, LaunchOutcome("fault", reason="endless"), None)
    chosen = choose(LAB, CASES, both, {}, lambda given, _sizes: tried.append(given) or hopeless)  # type: ignore[func-returns-value]
    assert chosen.interpretation is wrong
    assert tried == [wrong, right, wrong]


def test_a_wrong_kernel_is_graded_on_its_own_grid_not_on_one_that_was_tried_on_suspicion() -> None:
    from dataclasses import replace

    given = interpretation("rows", "cols")
    line = replace(given, launch=replace(given.launch, block=(64, 1, 1), tile=(1,), covers=("cols",)))
    assert interpretations_of(LAB, CASES, binding(line))[0] != line

    def trial(_candidate: Interpretation, sizes: Sizes) -> Run:
        return Run("correct", sizes, LaunchOutcome("ok"), Difference(4, 1))

    assert choose(LAB, CASES, binding(line), {}, trial).interpretation == line


BLUR = """#define RADIUS 2
__global__ void naive(const float *in, float *out, int count)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += i >= RADIUS && i < count - RADIUS ? in[i + k] : 0;
    out[i] = i < RADIUS || i >= count - RADIUS ? in[i] : sum / {divisor};
}}
"""


@pytest.mark.parametrize(
    ("divisor", "verdict", "remarks"),
    [
        ("(2 * RADIUS + 1)", "pass", 0),
        ("5", "pass", 1),
        ("(RADIUS < 4 ? 2 * RADIUS + 1 : 5)", "pass", 1),
        ("4", "fail", 0),
    ],
)
def test_a_constant_whose_value_stands_in_the_program_twice(
    tmp_path: Path, divisor: str, verdict: str, remarks: int
) -> None:
    (tmp_path / "box-blur.cu").write_text(BLUR.format(divisor=divisor))
    result = pipeline.grade(tmp_path / "box-blur.cu", marks_only("box-blur"))
    assert status(result) == verdict
    told = [r for r in result.variants["naive"].remarks if r.startswith("Graded only at radius = 2")]
    assert len(told) == remarks
