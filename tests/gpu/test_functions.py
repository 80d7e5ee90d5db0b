"""Functions and programs with launches of their own on the GPU: what comes out, what is timed, what is no way out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.file import load
from grader.lab.records import Lab, Sweep
from grader.measured import Timing
from grader.result import Check, Result

ROOT = Path(__file__).parents[2]
Grade = Callable[[str], Result]
LARGEST = 1 << 23
TIMING = f"""timing: {{sizes: [{{n: 65536}}, {{n: {LARGEST}}}]}}
sizes:
  gpu: {{correct: [{{n: 100000}}], observe: {{n: 4096}}}}
"""
SPEEDUP = "    checks:\n      speedup: {points: 10, against: solve, minimum: 0.1, full: 0.83}\n"
KERNEL = """
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
SOLVE = (
    KERNEL
    + """
extern "C" void solve(float a, const float *x, float *y, int n) { saxpy<<<(n + 255) / 256, 256>>>(a, x, y, n); }
"""
)
SLOW = """
__global__ void saxpy(float a, const float *x, float *y, int n, int step) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int i = k % step * (n / step) + k / step;
    if (k < n) y[i] = a * x[i] + y[i];
}
__global__ void rest(float a, const float *x, float *y, int from, int n) {
    for (int i = from + threadIdx.x; i < n; i += blockDim.x) y[i] = a * x[i] + y[i];
}
extern "C" void solve(float a, const float *x, float *y, int n) {
    int step = 32, whole = n / step * step;
    if (whole) saxpy<<<(whole + 255) / 256, 256>>>(a, x, y, whole, step);
    if (whole < n) rest<<<1, 32>>>(a, x, y, whole, n);
}
"""
WRONG_WHERE_LARGE = SOLVE.replace("if (i < n)", "if (i < n && i < (1 << 22))")
STRAYS_WHERE_LARGE = SOLVE.replace("if (i < n)", "if (i >= (1 << 22)) y[(size_t)i << 24] = 1; if (i < n)")
ENDLESS_WHERE_LARGE = SOLVE.replace(
    "if (i < n)", "while (n > (1 << 22) && ((volatile float *)y)[0] < 1e30f) {} if (i < n)"
)
BY_HOST_WHERE_LARGE = (
    KERNEL
    + """
#include <vector>
extern "C" void solve(float a, const float *x, float *y, int n) {
    if (n < 1 << 22) { saxpy<<<(n + 255) / 256, 256>>>(a, x, y, n); return; }
    std::vector<float> hx(n), hy(n);
    cudaMemcpy(hx.data(), x, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hy.data(), y, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) hy[i] += a * hx[i];
    cudaMemcpy(y, hy.data(), n * 4, cudaMemcpyHostToDevice);
}
"""
)
BY_HOST = """
void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    on_gpu(in, mask, out, rows > 512 ? 32 : rows, cols);
    if (rows <= 512) return;
    // More there and back than is looked through.
    float *there;
    cudaMalloc(&there, (size_t)rows * cols * 4);
    cudaMemcpy(there, in, (size_t)rows * cols * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(out, there, (size_t)rows * cols * 4, cudaMemcpyDeviceToHost);
    cudaFree(there);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            float sum = 0;
            for (int i = -2; i <= 2; i++)
                for (int j = -2; j <= 2; j++)
                    if (r + i >= 0 && r + i < rows && c + j >= 0 && c + j < cols)
                        sum += mask[(i + 2) * 5 + j + 2] * in[(r + i) * (long)cols + c + j];
            out[r * (long)cols + c] = sum;
        }
    }
}
"""
KEEPS_ITS_ANSWER = (
    KERNEL
    + """
__device__ float kept[1 << 23];
__device__ int has_kept;
__global__ void again(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = kept[i]; }
__global__ void keep(const float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) kept[i] = y[i];
    if (i == 0) has_kept = 1;
}
extern "C" void solve(float a, const float *x, float *y, int n) {
    static int calls;
    int known = 0, blocks = (n + 255) / 256;
    if (n == 1 << 23) cudaMemcpyFromSymbol(&known, has_kept, sizeof known);
    if (known || calls++ > 1) { again<<<blocks, 256>>>(y, n); return; }
    saxpy<<<blocks, 256>>>(a, x, y, n);
    if (n == 1 << 23) keep<<<blocks, 256>>>(y, n);
}
"""
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The lab of saxpy, with points by time and sizes for a GPU."""
    folder = tmp_path_factory.mktemp("labs")
    for kind in ("assignments", "reference"):
        shutil.copytree(ROOT / kind / "saxpy", folder / kind / "saxpy")
    path = folder / "assignments" / "saxpy" / "lab.yaml"
    lines = [line for line in path.read_text("utf-8").splitlines(True) if not line.startswith("timing:")]
    text = "".join(lines).replace("sizes:\n", TIMING, 1).replace("    checks:\n", SPEEDUP, 1)
    path.write_text(text.replace("      host_code: {points: 10, of: data}\n", "", 1), "utf-8")
    return load(path.parent)


@pytest.fixture(scope="module")
def grade(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Grade:
    return lambda source: graded(lab, source, tmp_path_factory.mktemp("work"))


def graded(lab: Lab, source: str, folder: Path, sweeps: tuple[Sweep, ...] = ()) -> Result:
    lab = replace(lab, sweeps=sweeps)
    path = folder / "solve.cu"
    path.write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_LAB_GRADER_STORE", str(folder / "store"))
        return pipeline.grade(path, lab, GradeOptions(backend="gpu", repairs=False))


def check_of(result: Result, name: str) -> Check:
    return next(check for check in result.checks if check.id == f"solve.{name}")


def largest(result: Result) -> Timing:
    return result.variants["solve"].timing[-1]


def test_points_by_time(grade: Grade) -> None:
    right = grade(SOLVE)
    assert right.environment.backend == "gpu" and right.environment.device
    assert right.score.pending == 0
    time = largest(right)
    assert time.size == {"n": LARGEST} and not time.launch_bound
    assert time.speedup is not None and time.speedup > 0.83 and check_of(right, "speedup").earned == 10
    # Faster than memory would be a time of something else.
    assert time.gb_per_s is not None and 200 < time.gb_per_s < 10_000
    slow = grade(SLOW)
    assert slow.environment.backend == "gpu" and check_of(slow, "correct").status == "pass"
    late = largest(slow)
    assert late.speedup is not None and late.speedup < 0.8 * time.speedup
    assert 0 < check_of(slow, "speedup").earned < 10
    # Counters and hazards are the emulator's.
    assert right.variants["solve"].counters is not None


@pytest.mark.parametrize(
    "source",
    [WRONG_WHERE_LARGE, STRAYS_WHERE_LARGE, ENDLESS_WHERE_LARGE, BY_HOST_WHERE_LARGE],
    ids=["wrong", "strays", "endless", "by_host"],
)
def test_what_goes_wrong_at_a_timed_size_alone_is_found(source: str, grade: Grade) -> None:
    got = grade(source)
    assert check_of(got, "correct").status == "fail", check_of(got, "correct")
    assert check_of(got, "speedup").earned == 0
    # The next one has a device that works.
    assert check_of(grade(SOLVE), "speedup").earned == 10


def test_nothing_is_kept_from_one_run_to_the_next(grade: Grade) -> None:
    got = largest(grade(KEEPS_ITS_ANSWER))
    # It does all of the work each time, and more.
    assert got.speedup is not None and got.speedup < 0.8


def test_sweeps_are_timed_beside_the_labs_own(lab: Lab, tmp_path: Path) -> None:
    (sweep,) = lab.sweeps
    x = replace(sweep.x, values={**sweep.x.values, "gpu": (1 << 16, LARGEST)})
    (record,) = graded(lab, SLOW, tmp_path, (replace(sweep, x=x),)).sweeps
    assert record.backend == "gpu" and record.metrics == ["time", "gb_per_s"]
    times = {(p.of, p.x): p.values["time"] for p in record.points if p.status == "ok"}
    assert set(times) == {(of, n) for of in ("submission", "reference") for n in (1 << 16, LARGEST)}
    for of in ("submission", "reference"):
        assert times[of, LARGEST].value > 5 * times[of, 1 << 16].value
    own = times["submission", LARGEST].low
    assert own is not None and own > times["reference", LARGEST].value


@pytest.mark.parametrize("name", ["convolution-2d", "image-blur"])
def test_copies_are_told_apart(name: str, tmp_path: Path) -> None:
    lab = next(lab for lab in labs.all_labs() if lab.id == name)
    got = graded(lab, lab.variants[0].reference.file.read_text("utf-8"), tmp_path)
    assert got.environment.backend == "gpu"
    (record,) = got.variants.values()
    assert lab.timing is not None and len(record.timing) == len(lab.timing.sizes)
    for row in record.timing:
        assert row.copies_us and row.reference_copies_us and row.median_us
        assert row.median_us < row.copies_us


def test_a_host_that_computes_where_it_is_timed_is_found(tmp_path: Path) -> None:
    lab = next(lab for lab in labs.all_labs() if lab.id == "convolution-2d")
    source = lab.variants[0].reference.file.read_text("utf-8").replace("void solve(", "void on_gpu(", 1) + BY_HOST
    got = graded(lab, source, tmp_path)
    assert check_of(got, "correct").status == "fail"
    assert "launches.undone" in repr(check_of(got, "correct").message_said)
