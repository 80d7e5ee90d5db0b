"""Predicted times in a result: what they go to, by line, and a mark that goes by them where the lab says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.errors import FileError, UsageError
from grader.grading import pipeline, predictions
from grader.grading.options import GradeOptions
from grader.grading.predictions import device_for, predict_launches, stores_of
from grader.grading.sweep_plan import reference_target
from grader.lab import labs
from grader.lab.checks import SpeedupSettings
from grader.lab.file import load
from grader.lab.records import Lab
from grader.launching.backend import ARCHITECTURE
from grader.launching.programs import ProgramStore
from grader.measured import PredictedTime
from grader.message import Message, msg
from grader.ptx.limits import PtxSyntaxError
from grader.result import Check, Result
from grader.timing.instructions import named_like, read_device
from grader.timing.prediction import FollowedLaunch, predict_kernel
from tests.marks_only import marks_only, put_marks_only
from tests.timing.test_prediction import COPY, H200

LAB = marks_only("transpose")
TEXT = """
__global__ void transpose_naive(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}
__global__ void transpose_shared(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
__global__ void transpose_padded(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
"""
NAIVE_ONLY = TEXT[: TEXT.index("__global__ void transpose_shared")]
WITHOUT_SHARED = NAIVE_ONLY + TEXT[TEXT.index("__global__ void transpose_padded") :]
STORE, SHARED_STORE, SHARED_LOAD = 4, 9, 12
"""Lines of `TEXT`: the naive kernel's accesses, and those of the one with bank conflicts."""


def graded(folder: Path, predict: str, lab: Lab = LAB, text: str = TEXT) -> Result:
    file = folder / "transpose.cu"
    file.write_text(text, "utf-8")
    return pipeline.grade(file, lab, GradeOptions(backend="emulator", predict=predict, repairs=False))


def predicted(result: Result, variant: str) -> PredictedTime:
    made = result.variants[variant].predicted
    assert made is not None
    return made


@pytest.fixture(scope="module")
def on_h200(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return graded(tmp_path_factory.mktemp("work"), "h200")


def test_a_result_says_what_the_time_of_each_kernel_goes_to(on_h200: Result) -> None:
    assert LAB.timing is not None
    for name, limiter in (("naive", "l2"), ("shared", "shared")):
        made = predicted(on_h200, name)
        assert (made.device, made.size, made.is_checked) == ("H200", LAB.timing.sizes[-1], True)
        assert made.limiter == limiter
        assert made.predicted_low_us < made.predicted_us < made.predicted_high_us
        assert sum(made.shares.values()) == pytest.approx(1, abs=0.03)
    assert predicted(on_h200, "naive").predicted_us > 2 * predicted(on_h200, "padded").predicted_us


MUL = """
__global__ void mul_naive(const float *a, const float *b, float *c, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) { float s = 0; for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }
}
void run(float *a, float *b, float *c, int n) { mul_naive<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n); }
"""


@pytest.mark.parametrize(("across", "causes"), [("x", set()), ("y", {"uncoalesced"})])
def test_an_element_that_a_row_of_threads_shares_lies_no_further_apart(
    across: str, causes: set[str], tmp_path: Path
) -> None:
    text = MUL if across == "x" else MUL.replace(".x", ".z").replace(".y", ".x").replace(".z", ".y")
    result = graded(tmp_path, "t4", marks_only("matmul"), text)
    assert set(predicted(result, "naive").predicted_without_us) == causes


BLUR = """
__global__ void blur_naive(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i < 2 || i >= n - 2) out[i] = in[i];
    else { float s = 0; for (int k = -2; k <= 2; k++) s += in[i + k]; out[i] = s / 5; }
}
template <int BLOCK> void run(float *a, float *b, int n) { blur_naive<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, b, n); }
"""


def test_a_prediction_has_the_block_of_the_programs_largest_size(tmp_path: Path) -> None:
    mains = ("run<32>(a, b, 64); run<512>(a, b, 1 << 24);", "run<512>(a, b, 64); run<512>(a, b, 1 << 24);")
    times = []
    for number, main in enumerate(mains):
        (tmp_path / str(number)).mkdir()
        text = f"{BLUR}void both(float *a, float *b) {{ {main} }}"
        times.append(predicted(graded(tmp_path / str(number), "t4", marks_only("box-blur"), text), "naive"))
    assert times[0] == times[1]


def test_what_need_not_be_is_told_with_the_time_without_it(on_h200: Result) -> None:
    naive, shared, padded = (predicted(on_h200, name) for name in ("naive", "shared", "padded"))
    assert set(naive.predicted_without_us) == {"uncoalesced"}
    assert set(shared.predicted_without_us) == {"bank_conflicts"}
    assert padded.predicted_without_us == {}
    # The padded kernel is the other one without its conflicts.
    assert shared.predicted_without_us["bank_conflicts"] == pytest.approx(padded.predicted_us, rel=0.1)


def test_lines_have_their_parts_of_the_time(on_h200: Result) -> None:
    naive, shared = predicted(on_h200, "naive"), predicted(on_h200, "shared")
    assert naive.by_line[0].line == STORE
    assert naive.by_line[0].share > 0.95
    conflict = shared.by_line[0]
    assert conflict.line == SHARED_LOAD
    # A conflict of 32 at this line, none at the other: the wavefronts are 32 to 1.
    others = {row.line: row for row in shared.by_line}
    assert conflict.shares["shared"] > 20 * others[SHARED_STORE].shares["shared"]
    assert sum(row.share for row in shared.by_line) <= 1
    assert conflict.predicted_us == pytest.approx(conflict.share * shared.predicted_us, rel=0.01)


def test_how_many_times_as_fast_as_the_own_first_variant_and_as_the_measure(on_h200: Result) -> None:
    padded, naive = predicted(on_h200, "padded"), predicted(on_h200, "naive")
    assert naive.predicted_over_baseline is None
    assert naive.predicted_speedup is None
    over = padded.predicted_over_baseline
    assert over is not None
    assert over.value == pytest.approx(naive.predicted_us / padded.predicted_us, rel=0.01)
    assert padded.predicted_speedup is not None
    assert (naive.against, padded.against) == ("", "naive")
    assert over.low < over.value < over.high
    # Two kernels of one program are surer to differ than one and a reference.
    speedup_there = padded.predicted_speedup
    assert over.high / over.value < speedup_there.high / speedup_there.value
    # Marks wait for a measured time.
    assert speedup(on_h200).skip_reason == "not_measured"


def test_wrong_kernels_get_no_time_and_none_is_told_unasked(tmp_path: Path) -> None:
    wrong = graded(tmp_path, "t4", text=WITHOUT_SHARED.replace("out[c * rows + r]", "out[r * cols + c]"))
    assert wrong.variants["naive"].predicted is None
    assert predicted(wrong, "padded").device == "T4"
    assert all(
        v.predicted is None and not v.unpredicted for v in graded(tmp_path, "off", text=NAIVE_ONLY).variants.values()
    )


OWN = "out[c * rows + r] = in[r * cols + c]"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # A store that depends on a value; an address that does; what only chooses between two values is followed.
        ("float v = in[r * cols + c]; if (v > -1e38f) out[c * rows + r] = v", "values in"),
        ("float v = in[r * cols + c]; out[c * rows + r + (v != v)] = v", "values in"),
        ("out[c * rows + r] = fmaxf(in[r * cols + c], -3e38f)", ""),
        ("float v[9]; v[r % 9] = in[r * cols + c]; v[(r + 1) % 9] = 0; out[c * rows + r] = v[r % 9]", "local"),
        ("for (int k = 0; k < rows; k++) if (in[k % 7] != 7.5f) OWN", "values in"),
        ("for (int k = 0; k < rows; k++) if (k * c != rows * cols + 1) OWN", "40000"),
    ],
)
def test_why_there_is_no_time(tmp_path: Path, body: str, reason: str) -> None:
    text = NAIVE_ONLY.replace(OWN, "{ " + body.replace("OWN", OWN) + "; }")
    changed = graded(tmp_path, "t4", text=text).variants["naive"]
    assert (changed.predicted is None) == (reason != "")
    assert reason in changed.unpredicted
    assert (changed.unpredicted == "") == (reason == "")


def speedup(result: Result) -> Check:
    return next(c for c in result.checks if c.check == "speedup" and c.variant == "padded")


def by_prediction(minimum: float) -> Lab:
    settings = SpeedupSettings("naive", full=2 * minimum, minimum=minimum, predicted=True)
    variants = tuple(
        replace(v, checks=tuple(replace(c, settings=settings) if c.check == "speedup" else c for c in v.checks))
        for v in LAB.variants
    )
    return replace(LAB, variants=variants)


@pytest.mark.parametrize(
    ("device", "minimum", "status"),
    [("h200", 1.2, "pass"), ("h200", 4.0, "borderline"), ("h200", 20.0, "fail"), ("t4", 2.5, "borderline")],
)
def test_a_mark_by_prediction_goes_by_its_interval(tmp_path: Path, device: str, minimum: float, status: str) -> None:
    check = speedup(graded(tmp_path, device, by_prediction(minimum), WITHOUT_SHARED))
    assert check.status == status
    assert device.upper() in check.message
    assert check.data["predicted_for"] == device.upper()


def test_without_a_device_such_a_mark_waits(tmp_path: Path) -> None:
    without = graded(tmp_path, "off", by_prediction(1.2), WITHOUT_SHARED)
    assert speedup(without).skip_reason == "not_measured"


def test_which_device_is_meant() -> None:
    assert LAB.timing is not None
    of_lab = replace(LAB, timing=replace(LAB.timing, predict="a100"))
    without = replace(LAB, timing=replace(LAB.timing, predict="off"))
    names = [
        device_for(asked, lab, at_hand)
        for asked, lab, at_hand in (
            ("auto", LAB, None),
            ("auto", LAB, "NVIDIA H200"),
            ("auto", of_lab, "NVIDIA H200"),
            ("l40", of_lab, "NVIDIA H200"),
            ("off", of_lab, "NVIDIA H200"),
            ("auto", without, "NVIDIA H200"),
            ("l40", without, "NVIDIA H200"),
        )
    ]
    assert [processor and processor.name for processor in names] == ["T4", "H200", "A100", "L40", None, None, "L40"]
    with pytest.raises(UsageError, match="l40"):
        device_for("gt9000", LAB, None)


@pytest.mark.parametrize(
    ("full_name", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", ""),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 3080", "rtx3080"),
        ("NVIDIA GeForce RTX 3080 Ti", ""),
        ("NVIDIA L40S", ""),
        ("", ""),
    ],
)
def test_a_card_is_known_by_its_full_name(full_name: str, name: str) -> None:
    assert named_like(full_name) == name


def test_a_device_that_a_lab_names_has_to_be_there(tmp_path: Path) -> None:
    file = put_marks_only(tmp_path)
    for name in ("off", "a100"):
        file.write_text(file.read_text("utf-8").replace('predict: "off"', f'predict: "{name}"'), "utf-8")
        timing = load(file.parent).timing
        assert timing is not None
        assert timing.predict == name
    file.write_text(file.read_text("utf-8").replace("a100", "gt9000"), "utf-8")
    with pytest.raises(FileError, match=r"gt9000.*off.*t4"):
        load(file.parent)


def test_sweeps_have_times_at_the_values_that_a_gpu_is_asked_for(tmp_path: Path) -> None:
    size, tile = labs.find("transpose", ()).sweeps
    values = {**size.x.values, "emulator": (32,), "gpu": (512, 1024, 32768)}
    lab = replace(LAB, sweeps=(replace(size, x=replace(size.x, values=values)), tile))
    wrong = TEXT.replace("tile[32][33]", "tile[32][32]").replace("out[c * rows + r]", "out[r * cols + c]")
    by_size, by_tile = graded(tmp_path, "h200", lab, wrong).sweeps
    assert (by_size.predicted_device, by_size.metrics) == ("H200", ["sectors", "wavefronts"])
    # A kernel that is wrong has none, and the lab's own stand beside counted work.
    assert {(p.variant, p.of) for p in by_size.predicted} == {("shared", "submission"), ("padded", "submission")}
    first, second, large = (p for p in by_size.predicted if p.variant == "shared")
    assert [p.size["rows"] for p in (first, second, large)] == [512, 1024, 32768]
    time = first.values["predicted_time"]
    assert time.low is not None
    assert time.low < time.value < second.values["predicted_time"].value / 2
    assert first.values["predicted_gb_per_s"].value == pytest.approx(2 * 4 * 512 * 512 / time.value / 1000, rel=0.01)
    assert (large.status, large.values) == ("failed", {})
    assert "GiB" in large.reason
    by_side = {p.x: p.status for p in by_tile.predicted if p.variant == "shared"}
    assert by_side == {8: "ok", 16: "ok", 32: "ok", 64: "impossible"}
    assert [s.predicted for s in graded(tmp_path, "off", lab, wrong).sweeps] == [[], []]


def test_a_size_that_its_parameter_cannot_hold_has_no_predicted_time(tmp_path: Path) -> None:
    size = labs.find("transpose", ()).sweeps[0]
    values = {**size.x.values, "emulator": (32,), "gpu": (512, 32768)}
    lab = replace(LAB, sweeps=(replace(size, x=replace(size.x, values=values)),))
    text = TEXT.replace("int rows, int cols", "short rows, short cols")
    assert text != TEXT
    (sweep,) = graded(tmp_path, "h200", lab, text).sweeps
    told = {(p.size["rows"], bool(p.values)) for p in sweep.predicted if p.of == "submission"}
    assert told == {(512, True), (32768, False)}


def test_a_grid_that_no_device_launches_has_no_predicted_time() -> None:
    with CompilerProcess() as compiler:
        stores = stores_of(read_device("t4"), ProgramStore(compiler, ARCHITECTURE), compiler)
        kernel = reference_target(LAB, LAB.variants[0]).kernel
        made = predict_kernel(kernel, {"rows": 65536 * 32, "cols": 1}, read_device("t4"), stores)
    assert made == msg("predict.grid_limit", axis="y", blocks=65536, most=65535)


def launch_of(stride: int, ptx: str = COPY) -> FollowedLaunch:
    arguments = ((1 << 22, "", b""), (1 << 22, "", b""), (0, "<u4", stride.to_bytes(4, "little")))
    return FollowedLaunch(ptx, "copy", (64, 1, 1), (256, 1, 1), 0, arguments, 8, 200 << 10, H200, 4000)


def test_many_launches_are_followed_in_several_processes_with_the_same_outcome(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    launches = [launch_of(stride) for stride in (1, 2, 4, 8, 16, 32)]
    alone = predict_launches(launches, 1)
    monkeypatch.setattr(predictions, "ALONE_S", 0.0)
    assert predict_launches(launches, 3) == alone
    times = [prediction.time_us for prediction in alone if not isinstance(prediction, Message)]
    assert len(times) == 6 and times == sorted(times) and times[-1] > times[0]


def test_a_slip_in_one_of_the_processes_is_told_where_it_was_asked_for(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(predictions, "ALONE_S", 0.0)
    with pytest.raises(PtxSyntaxError, match="nonsense"):
        predict_launches([*(launch_of(1) for _ in range(6)), launch_of(1, ".nonsense")], 2)
