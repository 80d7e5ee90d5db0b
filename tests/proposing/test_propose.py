"""`grade new-lab --from`: what is told of a solution is what it does, and the lab that is written grades it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from grader.cli import main as cli
from grader.errors import FileError
from grader.grading.options import GradeOptions
from grader.grading.selftest import examine, specimens
from grader.grading.selftest import selftest as run_selftest
from grader.grading.workers import GradeTask, grade_here
from grader.lab.file import load
from grader.programs.observation import observed
from grader.proposing.probing import Probe, ProbedFunction, relation_of
from grader.proposing.solution import of_launches, of_source, read, with_const, with_parameters
from grader.proposing.writing import faults_of, propose
from grader.submission.source import decode

ROW_SUMS = """
__global__ void sums(const float *in, float *out, int rows, int cols) {
    __shared__ float part[64];
    float sum = 0;
    for (int col = threadIdx.x; col < cols; col += 64) sum += in[blockIdx.x * cols + col];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
void row_sums(const float *in, float *out, int rows, int cols) { sums<<<rows, 64>>>(in, out, rows, cols); }
"""
AXPY_IN_MAIN = """
__global__ void axpy(int n, float a, float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
    int n = 1000;
    float *x, *y, h[1000];
    for (int i = 0; i < n; i++) h[i] = i;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice);
    axpy<<<(n + 127) / 128, 128>>>(n, 3.0f, x, y);
    cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
}
"""
DOUBLES = """
__global__ void twice(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2 * in[i];
}
void doubles(const float *in, float *out, int n) { twice<<<(n + 127) / 128, 128>>>(in, out, n); }
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(text: str) -> Path:
    path = Path("solution.cu").absolute()
    path.write_text(text, "utf-8")
    return path


def test_a_function_is_told_by_what_it_touches() -> None:
    candidate = read(written(ROW_SUMS)).candidates[0]
    probed = Probe(candidate).run()
    assert (probed.memory, probed.sizes, probed.is_any_size) == ("device", ("rows", "cols"), True)
    assert probed.shapes == {"in": ("rows", "cols"), "out": ("rows",)}
    assert probed.kinds == {"in": "input", "out": "output"}
    relation = relation_of(probed, "out", [])
    assert relation is not None and relation.text == 'inputs["in"].astype(np.float64).sum(axis=-1)'


def test_an_array_that_is_not_written_everywhere_keeps_what_was_there() -> None:
    text = DOUBLES.replace("if (i < n)", "if (i > 0 && i < n)")
    probed = Probe(read(written(text)).candidates[0]).run()
    assert probed.kinds == {"in": "input", "out": "in_out"}


def test_what_is_only_read_is_made_const_where_the_file_did_not_say_so() -> None:
    text = DOUBLES.replace("void doubles(const float *in", "void doubles(float *in")
    candidate = read(written(text)).candidates[0]
    probed = Probe(candidate).run()
    assert probed.unchanged == ["in"]
    changed = with_const(candidate, probed.unchanged)
    assert changed.signature.spelled == "void doubles(const float *in, float *out, int n)"
    assert "void doubles(const float *in, float *out, int n) {" in changed.source.text


def test_arrays_of_the_host_are_told_by_what_is_copied() -> None:
    body = """
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, in, n * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<(n + 127) / 128, 128>>>(a, b, n);
    cudaMemcpy(out, b, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
"""
    probed = Probe(read(written(re.sub(r"{ twice<<<.*;", "{" + body, DOUBLES))).candidates[0]).run()
    assert (probed.memory, probed.shapes) == ("host", {"in": ("n",), "out": ("n",)})


def test_a_launch_in_main_becomes_a_function() -> None:
    solution = read(written(AXPY_IN_MAIN))
    assert solution.candidates == ()
    (candidate,) = of_launches(solution, observed([solution.source]))
    assert candidate.signature.spelled == "void solve(int n, float a, const float *x, float *y)"
    assert "dim3((n + 127) / 128), dim3(128)" in candidate.source.text
    assert (candidate.values, candidate.counts) == ({"n": 1000, "a": 3.0}, {"x": 1000, "y": 1000})


CONSTANT_SIZES = """const int ROWS = 20;
#define COLS 30
#define TILE 16
#define SIZE (ROWS * COLS)
__global__ void flip(const float *in, float *out)
{
    __shared__ float t[TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y;
    t[threadIdx.x] = x < COLS ? in[y * COLS + x] : 0;
    __syncthreads();
    if (x < COLS)
        out[(ROWS - 1 - y) * COLS + x] = t[threadIdx.x];
}
int main()
{
    static float h[SIZE];
    float *a, *b;
    cudaMalloc(&a, sizeof(h));
    cudaMalloc(&b, sizeof(h));
    cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
    flip<<<dim3((COLS + TILE - 1) / TILE, ROWS), TILE>>>(a, b);
    cudaMemcpy(h, b, sizeof(h), cudaMemcpyDeviceToHost);
}
"""


def test_sizes_that_are_constants_become_parameters() -> None:
    solution = read(written(CONSTANT_SIZES))
    candidates = of_launches(solution, observed([solution.source]))
    changed = with_parameters(solution, candidates)
    assert changed is not None
    source, sizes = changed
    assert sizes == ["ROWS", "COLS"]
    assert "flip(const float *in, float *out, int ROWS, int COLS)" in source.text
    assert "TILE>>>(a, b, ROWS, COLS);" in source.text
    assert len(source.text.split("\n")) == len(CONSTANT_SIZES.split("\n"))
    # What was made of it runs as before, and says how its grid covers the sizes.
    (candidate,) = of_launches(of_source(source), observed([source]))
    assert candidate.values == {"ROWS": 20, "COLS": 30}
    assert "dim3((COLS + 15) / 16, ROWS)" in candidate.source.text
    # A device function would have to be handed it too.
    text = CONSTANT_SIZES.replace("__global__", "__device__ int last() { return ROWS - 1; }\n__global__")
    assert with_parameters(read(written(text)), candidates) is None


@pytest.mark.parametrize(
    ("parameters", "change"), [("const float *y, float *x, int n", "x[i] = 2 * y[i]"), ("float *y, int n", "y[i] *= 2")]
)
def test_launches_that_hand_arrays_on_have_to_be_a_function(parameters: str, change: str) -> None:
    handed = "y, x, n" if "*x" in parameters else "y, n"
    text = AXPY_IN_MAIN.replace("    cudaMemcpy(h, y", f"    twice<<<8, 128>>>({handed});\n    cudaMemcpy(h, y")
    twice = f"__global__ void twice({parameters}) {{ int i = threadIdx.x; if (i < n) {change}; }}\n"
    solution = read(written(twice + text))
    with pytest.raises(FileError, match="hand arrays on to each other"):
        of_launches(solution, observed([solution.source]))


def test_no_relation_is_taken_that_one_call_contradicts() -> None:
    rng = np.random.default_rng(1)
    probed = ProbedFunction(sizes=("n",), shapes={"x": ("n",), "y": ("n",)}, kinds={"x": "input", "y": "output"})
    for n in (5, 9):
        x = rng.random(n)
        probed.samples.append(({"n": n}, {"x": x, "n": np.asarray(n)}, {"y": np.cumsum(x)}))
    found = relation_of(probed, "y", [])
    assert found is not None and found.text == 'np.cumsum(inputs["x"].astype(np.float64))'
    probed.samples[1][2]["y"][7] += 0.5
    assert relation_of(probed, "y", []) is None


def test_barriers_paddings_and_guards_are_taken_away_one_at_a_time() -> None:
    text = (
        "__global__ void k(float *a, int n) {\n  __shared__ float t[32][32 + 1];\n"
        "  int i = threadIdx.x;\n  if (i < n)\n    t[i][0] = a[i];\n  __syncthreads();\n"
        "  if (i >= n) return;\n  a[i] = t[31 - i][0];\n}\n"
    )
    faults = {fault.name: fault.text for fault in faults_of(decode(written(text)))}
    assert sorted(faults) == ["k_no_barrier_6", "k_no_guard_4", "k_no_guard_7", "k_no_padding_2"]
    assert "__syncthreads" not in faults["k_no_barrier_6"] and "t[32][32]" in faults["k_no_padding_2"]
    assert "if (true)" in faults["k_no_guard_4"] and "if (false) return" in faults["k_no_guard_7"]


@pytest.mark.slow
def test_the_proposed_lab_grades_the_solution_and_catches_what_is_taken_away(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said: list[object] = []
    folder = propose("rows", written(ROW_SUMS), Path("assignments"), None, said.append)
    lab = load(folder)
    assert sum(spec.points for variant in lab.variants for spec in variant.checks) == 100
    names = {specimen.name for specimen in specimens(lab)}
    assert "good/solution.cu" in names and {"bad/sums_no_barrier_7.cu", "bad/sums_no_barrier_10.cu"} <= names
    assert all(not outcome.problems for outcome in examine(specimens(lab), "emulator", 1))
    options = GradeOptions(lab="rows", backend="emulator")
    result = grade_here(GradeTask(path=bytes(folder / "reference/solution.cu"), options=options))
    assert (result.score.earned, result.score.pending) == (100, 0)


@pytest.mark.slow
def test_what_a_lab_lets_pass_is_told_with_the_check_that_would_catch_it(capsys: pytest.CaptureFixture[str]) -> None:
    folder = propose("doubles", written(DOUBLES), Path("assignments"), None, lambda _said: None)
    file = folder / "lab.yaml"
    text = file.read_text("utf-8").replace("ragged_sizes: 15", "launch: 15")
    file.write_text(re.sub(r"    ragged: .*\n", "", text), "utf-8")
    bad = folder / "kernels/bad/twice_no_guard_4.cu"
    table = folder / "kernels/verdicts.yaml"
    table.write_text("\n".join(row for row in table.read_text("utf-8").split("\n") if "bad/" not in row), "utf-8")
    assert run_selftest("doubles", "emulator", 1, [], recording=True) == 0
    printed = capsys.readouterr().out
    assert "wrong, but the lab does not catch it" in printed
    assert re.search(
        r"uncaught/twice_no_guard_4.cu: not caught; in function `\w+: 5` with the ragged size n = \d+", printed
    )
    assert (folder / "kernels/uncaught" / bad.name).is_file()


def test_from_says_what_other_options_would(capsys: pytest.CaptureFixture[str]) -> None:
    path = written(ROW_SUMS)
    assert cli.run(["new-lab", "rows", "--from", str(path), "--memory", "host", "--lang", "en"]) == 2
    assert "--memory is not for --from" in capsys.readouterr().err
