"""Causes outside the kernels: one change of a launch, a macro or a helper that mends every failing variant."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.lab.labs import find
from grader.repair import ranking
from grader.repair.ranking import _takes_any_block, ranked
from grader.repair.search import _failing
from grader.report.job import make_job
from grader.report.summary import summary
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.source import SourceText
from tests.repair.conftest import Grade
from tests.repair.test_search import check

SAMPLES = Path(__file__).parents[2] / "submissions" / "ivanov"
TOGETHER = "One change there makes {} pass every check; it was compiled and run."

BODY = """
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols) t[threadIdx.y][threadIdx.x] = in[IDX(r, c, cols)];
    __syncthreads();
    int oc = blockIdx.y * TILE + threadIdx.x, orow = blockIdx.x * TILE + threadIdx.y;
    if (orow < cols && oc < rows) out[IDX(orow, oc, rows)] = t[threadIdx.x][threadIdx.y];
}
"""
PROGRAM = f"""#include <cstdio>
#include <cuda_runtime.h>
#define TILE 32
#define IDX(r, c, w) ((r) * (w) + (c))
__global__ void transposeNaive(const float *in, float *out, int rows, int cols) {{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[IDX(c, r, rows)] = in[IDX(r, c, cols)];
}}
__global__ void transposeShared(const float *in, float *out, int rows, int cols) {{
    __shared__ float t[TILE][TILE];{BODY}
__global__ void transposePadded(const float *in, float *out, int rows, int cols) {{
    __shared__ float t[TILE][TILE + 1];{BODY}
int main() {{
    const int rows = 100, cols = 72, bytes = rows * cols * sizeof(float);
    static float h[rows * cols], back[rows * cols];
    for (int i = 0; i < rows * cols; i++) h[i] = i;
    float *d, *e;
    cudaMalloc(&d, bytes);
    cudaMalloc(&e, bytes);
    cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    int across = (cols + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
    dim3 grid(across, down);
    transposeNaive<<<grid, block>>>(d, e, rows, cols);
    transposeShared<<<grid, block>>>(d, e, rows, cols);
    transposePadded<<<grid, block>>>(d, e, rows, cols);
    cudaMemcpy(back, e, bytes, cudaMemcpyDeviceToHost);
    for (int i = 0; i < rows * cols; i++)
        if (back[i] != h[i % rows * cols + i / rows]) return printf("wrong at %d\\n", i);
    return 0;
}}
"""
ALL = "naive, shared, padded"

SHARED = [
    (
        "dim3 grid(across, down)",
        "dim3 grid(down, across)",
        "launch",
        "The two axes of the grid are swapped in line 38.",
    ),
    (
        "(cols + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE",
        "cols / TILE, down = rows / TILE",
        "launch",
        "Line 37 rounds the number of blocks down",
    ),
    (
        "block(TILE, TILE)",
        "block(16, 16)",
        "launch",
        "The block size in line 36 is not the one that the kernel is written for.",
    ),
    ("block(TILE, TILE)", "block(TILE * TILE)", "launch", "The block in line 36 has all of its threads along x"),
    ("((r) * (w) + (c))", "((c) * (w) + (r))", "index", "The macro defined in line 4 uses its parameters"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong", "kind", "hint"), SHARED, ids=[row[1] for row in SHARED])
def test_one_change_mends_all_variants(
    graded: Grade, tmp_path: Path, right: str, wrong: str, kind: str, hint: str
) -> None:
    assert right in PROGRAM
    file = tmp_path / "transpose.cu"
    file.write_text(PROGRAM.replace(right, wrong), "utf-8")
    failed = [c for c in graded("transpose", file).checks if c.status == "fail"]
    assert {c.variant for c in failed} == {"naive", "shared", "padded"}
    for one in failed:
        assert one.repair is not None and one.repair.kind == kind
        assert one.hint.startswith(hint) and one.hint.endswith(TOGETHER.format(ALL))
    assert len({tuple(one.repair.diff) for one in failed if one.repair is not None}) == 1


def subject(parsed: ParsedFile, name: str, *failed: str) -> Any:
    """A variant of a file by its kernel, with the checks that it fails."""
    kernel = SimpleNamespace(name=name, file=parsed.file, parameters=(), shared_arrays=())
    evidence = SimpleNamespace(hazards=lambda *_kinds: (), bound=SimpleNamespace(requested=None))
    checks = [SimpleNamespace(check=check, status="fail", message_said=None) for check in failed]
    known = {"lab": SimpleNamespace(parameters=()), "interpretation": SimpleNamespace(roles=())}
    bound = SimpleNamespace(binding=SimpleNamespace(kernel=kernel), **known)
    return SimpleNamespace(kernel=bound, parsed=parsed, evidence=evidence, checks=checks)


@pytest.mark.parametrize(
    ("fails", "passes", "is_tried"),
    [
        ("correct", "padded", False),
        # No other kernel is written with it; what makes conflicts may be right elsewhere.
        ("correct", "naive", True),
        ("bank_conflicts", "padded", True),
        # What is right wherever tiles are whole has a guard that is wrong, and another value may hide that.
        ("ragged_sizes", "naive", False),
    ],
)
def test_a_constant_that_others_are_right_with_is_no_cause_of_wrong_results(
    fails: str, passes: str, *, is_tried: bool
) -> None:
    text = "#define T 32\n__global__ void shared() { int a = T; }\n__global__ void padded() { int b = T; }\n"
    parsed = parse(SourceText(Path("k.cu"), text + "__global__ void naive() { int c = 0; }\n", "utf-8"))
    original: Any = SimpleNamespace(files=lambda: [parsed])
    right = subject(parsed, passes)
    rows = ranked(original, [subject(parsed, "shared", fails)], [(right.kernel, right.evidence)])
    assert any(change.kind == "constant" for _file, change, _is_read in rows) == is_tried


@pytest.mark.parametrize(("arrays", "tried"), [((), 2), (("tile",), 1)])
def test_a_block_that_a_right_kernel_shares_a_tile_in_is_not_changed(
    arrays: tuple[str, ...], tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block is wrong, perhaps, where the kernel that is right with it would be so with any other."""
    launches = "dim3 block(T, 8);\npadded<<<1, block>>>(a);\nshared<<<1, block>>>(a);\nshared<<<1, dim3(T, 8)>>>(a);\n"
    text = f"#define T 32\n__global__ void shared() {{ int a = T; }}\nint main() {{\n{launches}}}\n"
    parsed = parse(SourceText(Path("k.cu"), f"{text}__global__ void padded() {{ }}\n", "utf-8"))
    monkeypatch.setattr(ranking, "kernels_at", lambda _original, _parsed, launch: [launch.callee])
    right = subject(parsed, "padded")
    right.kernel.binding.kernel.shared_arrays = arrays
    original: Any = SimpleNamespace(files=lambda: [parsed])
    rows = ranked(original, [subject(parsed, "shared", "correct")], [(right.kernel, right.evidence)])
    blocks = {change.line for _file, change, _is_read in rows if change.detail == "block"}
    assert len(blocks) == tried and 7 in blocks


@pytest.mark.parametrize(
    ("loop", "takes_any"),
    [
        ("for (int k = threadIdx.x; k < n; k += blockDim.x)", True),
        # Of the whole grid; by a constant that the block has to have.
        ("for (int k = threadIdx.x; k < n; k += blockDim.x * gridDim.x)", False),
        ("for (int k = threadIdx.x; k < n; k += 32)", False),
        ("for (int k = 0; k < n; k += blockDim.x)", False),
    ],
)
def test_threads_that_go_on_by_their_block_take_any(loop: str, *, takes_any: bool) -> None:
    text = f"__global__ void k(int *a, int n) {{ {loop} a[k] = 0; }}\n"
    parsed = parse(SourceText(Path("k.cu"), text, "utf-8"))
    assert _takes_any_block(subject(parsed, "k")) == takes_any


@pytest.mark.parametrize(("seen", "is_searched"), [({"seen": True}, False), ({}, True)])
def test_a_fault_of_a_launch_that_a_run_showed_is_mended_by_runs_alone(
    seen: dict[str, bool], *, is_searched: bool
) -> None:
    check: Any = SimpleNamespace(check="launch", status="fail", data=seen)
    bound: Any = SimpleNamespace(binding=SimpleNamespace(kernel=""))
    bound.read_as = lambda _interpretation: bound
    original: Any = SimpleNamespace(file_of=lambda _kernel: "parsed")
    evidence: Any = SimpleNamespace(interpretation=1, other_input=None, halo=None)
    assert (_failing(original, {"shared": bound}, "shared", evidence, [check]) is not None) == is_searched


@pytest.mark.slow
def test_a_grid_of_kernels_launched_by_pointers_is_judged_where_its_sizes_differ(graded: Grade, tmp_path: Path) -> None:
    made = """    void (*kernels[])(const float *, float *, int, int) =
        {transposeNaive, transposeShared, transposePadded};
    for (auto kernel : kernels) {
        kernel<<<grid, block>>>(d, e, rows, cols);
        kernel<<<dim3(2, 2), block>>>(d, e, 64, 64);
    }
"""
    start, end = PROGRAM.index("    transposeNaive<<<"), PROGRAM.index("    cudaMemcpy(back")
    text = (PROGRAM[:start] + made + PROGRAM[end:]).replace("dim3 grid(across, down)", "dim3 grid(down, across)")
    file = tmp_path / "transpose.cu"
    file.write_text(text, "utf-8")
    failed = [c for c in graded("transpose", file).checks if c.status == "fail" and c.check == "correct"]
    assert [c.variant for c in failed] == ["naive", "shared", "padded"]
    for one in failed:
        assert one.hint.startswith("The two axes of the grid are swapped in line 38.") and one.hint.endswith(
            TOGETHER.format(ALL)
        )


def test_a_cause_is_told_once_and_what_follows_stands_below_it(graded: Grade, tmp_path: Path) -> None:
    file = tmp_path / "transpose.cu"
    file.write_text(PROGRAM.replace("dim3 grid(across, down)", "dim3 grid(down, across)"), "utf-8")
    result = graded("transpose", file)
    (fault,) = summary(make_job(result, find("transpose", ()), "en", "", False))["faults"]
    assert fault["message"].startswith("The two axes of the grid are swapped in line 38.")
    assert (fault["where"], fault["code"]) == ("transpose.cu:38", "dim3 grid(down, across);")
    lines = {"naive": 39, "shared": 40, "padded": 41}
    assert [follows.partition(" launches")[0] for follows in fault["follows"]] == [
        f"wrong {what} · {name}: Line {line}" for name, line in lines.items() for what in ("launch", "result")
    ]


@pytest.mark.slow
def test_a_launch_that_counts_elements_is_mended_where_it_stands(graded: Grade, tmp_path: Path) -> None:
    text = (SAMPLES / "batch-square.cu").read_text("utf-8")
    right = "const int shared = threads * n * n * sizeof(float);"
    assert right in text
    (tmp_path / "batch-square.cu").write_text(text.replace(right, "const int shared = threads * n * n;"), "utf-8")
    found = check(graded("batch-square", tmp_path / "batch-square.cu").checks, "shared.correct")
    assert found.repair is not None and found.repair.kind == "launch"
    assert "is given in elements: it has to be in bytes." in found.hint


@pytest.mark.slow
def test_a_helper_is_mended_once_for_all_that_call_it(graded: Grade, tmp_path: Path) -> None:
    text = (SAMPLES / "batch-square.cu").read_text("utf-8")
    right = "acc += m[row * n + k] * m[k * n + col];"
    assert right in text
    (tmp_path / "batch-square.cu").write_text(text.replace(right, "acc += m[row * n + k] * m[col * n + k];"), "utf-8")
    checks = graded("batch-square", tmp_path / "batch-square.cu").checks
    for name in ("simple", "shared"):
        assert check(checks, f"{name}.correct").hint.endswith(TOGETHER.format("simple, shared"))


SLIDING = """#define R 2
__global__ void blurNaive(const float *in, float *out, int n) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    float sum = 0;
    for (int i = first; i < first + 4 && i < n; i++) {
        if (i < R || i >= n - R) { out[i] = in[i]; continue; }
        if (i == first || i == R) { sum = 0; for (int k = -R; k <= R; k++) sum += in[i + k]; }
        else sum += in[i + R] - in[i - R];
        out[i] = sum / (2 * R + 1);
    }
}
"""


def test_of_a_value_carried_in_a_register_nothing_is_said_that_inputs_do_not_show(
    graded: Grade, tmp_path: Path
) -> None:
    (tmp_path / "box-blur.cu").write_text(SLIDING, "utf-8")
    found = check(graded("box-blur", tmp_path / "box-blur.cu").checks, "naive.correct")
    # out[3] is made of the sum for out[2], of which the thread's last reads know nothing.
    assert "out[3] should be" in found.message and "computed from" not in found.message
    assert found.diagnosis is not None and found.diagnosis.writer is not None and found.diagnosis.read == []


@pytest.mark.slow
def test_arguments_exchanged_for_all_variants_cost_their_launches_alone(graded: Grade, tmp_path: Path) -> None:
    file = tmp_path / "transpose.cu"
    file.write_text(PROGRAM.replace("(d, e, rows, cols)", "(d, e, cols, rows)"), "utf-8")
    failed = [c for c in graded("transpose", file).checks if c.status == "fail"]
    assert sorted(c.id for c in failed) == ["naive.launch", "padded.launch", "shared.launch"]
    assert sorted(c.line or 0 for c in failed) == [39, 40, 41]
    for one in failed:
        assert "has cols for rows and rows for cols" in one.message
        assert one.hint.startswith(f"Two arguments of the launch in line {one.line} are swapped.")
        assert one.repair is not None
        assert [row.endswith("(d, e, rows, cols);") for row in one.repair.diff if row.startswith("+")] == [True]


OF_ONE_LINE = [
    # The smallest that is right, whichever was tried first.
    (
        "batch-square",
        """#define MAX_N 8
__global__ void square_simple(const float *in, float *out, int n, int count) {
    int own = blockIdx.x * blockDim.x + threadIdx.x;
    if (own >= count) return;
    float m[MAX_N * MAX_N];
    for (int e = 0; e < n * n; e++) m[e] = in[own * n * n + e];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += m[r * n + k] * m[k * n + c];
            out[own * n * n + r * n + c] = sum;
        }
}
""",
        "simple.correct",
        "+#define MAX_N 10",
    ),
    # Only what is drawn has more elements than the type has values.
    (
        "transpose",
        """__global__ void transpose_naive(const float *in, float *out, int rows, int cols) {
    const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row < rows && col < cols) {
        const unsigned short from = row * cols + col;
        out[col * rows + row] = in[from];
    }
}
""",
        "naive.correct",
        "+        const int from = row * cols + col;",
    ),
    # What takes too long is told why.
    (
        "batch-square",
        """__global__ void square_simple(const float *in, float *out, int n, int count) {
    for (int m = blockIdx.x * blockDim.x + threadIdx.x; m < count; m += gridDim.x)
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++) {
                float sum = 0;
                for (int k = 0; k < n; k++) sum += in[m * n * n + r * n + k] * in[m * n * n + k * n + c];
                out[m * n * n + r * n + c] = sum;
            }
}
""",
        "simple.correct",
        "+    for (int m = blockIdx.x * blockDim.x + threadIdx.x; m < count; m += gridDim.x * blockDim.x)",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "text", "id", "row"), OF_ONE_LINE, ids=["constant", "type", "step"])
def test_what_one_line_mends(graded: Grade, tmp_path: Path, lab: str, text: str, id: str, row: str) -> None:
    (tmp_path / "a.cu").write_text(text)
    wrong = check(graded(lab, tmp_path).checks, id)
    assert wrong.repair is not None and [r for r in wrong.repair.diff if r.startswith("+")] == [row]
