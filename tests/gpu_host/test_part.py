"""The GPU's part of a grading, with a stand-in for the device's process: what is launched when, and how often."""

from __future__ import annotations

import mmap
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from grader.gpu import messages, part, session
from grader.gpu.messages import KernelFacts, Loaded, NoDevice, Ran, Ready, Released
from grader.grading import pipeline, sweeps
from grader.grading.options import GradeOptions
from grader.grading.reading import Reading
from grader.lab import labs
from grader.lab.records import Lab, Sizes
from grader.launching import emulator
from grader.result import Result
from grader.running.evidence import Evidence
from grader.submission.records import Missing, Submission
from grader.timing import CpuTime, lock
from grader.timing.summary import Store

READY = Ready("NVIDIA Test", "test", "sm_90", "13.0", 132, 1 << 37, 60 << 20, 1980.0, 227 << 10)
FACTS = KernelFacts(registers=16, shared_bytes=0, local_bytes=0, blocks_per_sm=8, occupancy_pct=100.0)
LONG_S = 20.0
PLAIN = """
#include <cstdlib>
__global__ void transposeNaive(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
"""
WITH_PROGRAM = (
    PLAIN
    + """
int main() {
    int rows = 64, cols = 96;
    float *in, *out;
    cudaMalloc(&in, rows * cols * sizeof(float));
    cudaMalloc(&out, rows * cols * sizeof(float));
    dim3 block(%s), grid((cols + 31) / 32, (rows + 31) / 32);
    transposeNaive<<<grid, block>>>(in, out, rows, cols);
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
}
"""
)


class Device:
    """What `GpuProcess` is to a session: it makes the transposition that each launch asks for."""

    launch_s = 0.0
    asked: ClassVar[list[tuple[bool, str, tuple[int | str, ...]]]] = []
    """Whether by the main thread, what, and a module's name or the sizes with the block."""
    ready_as: Ready | NoDevice = READY

    def __init__(self, in_turn: bool = True) -> None:
        self.is_lost = False

    def ready(self) -> Ready | NoDevice:
        return self.ready_as

    def ask(self, request: messages.Message, _limit_s: float, descriptors: Sequence[int] = ()) -> Any:
        if isinstance(request, messages.Load):
            self.asked.append((_in_main_thread(), "load", (request.module,)))
            return Loaded()
        if isinstance(request, messages.Release):
            return Released()
        if isinstance(request, messages.WarmUp):
            return messages.WarmedUp(4000.0, 60000.0, READY.max_sm_mhz)
        if isinstance(request, messages.Prepare):
            names = [target.name for target in request.targets]
            blocks = [target.launch.block for target in request.targets]
            self.asked.append((_in_main_thread(), "prepare", (*names, *map(str, blocks))))
            return messages.Prepared(dict.fromkeys(names, 1), dict.fromkeys(names, 100.0), 2.0, {}, [])
        if isinstance(request, messages.Round):
            return messages.RoundDone(dict.fromkeys(request.order, 100.0), [], READY.max_sm_mhz, 0)
        assert isinstance(request, messages.LaunchOnce)
        given, out, rows, cols = request.launch.arguments
        assert isinstance(given, messages.Array) and isinstance(out, messages.Array)
        assert isinstance(rows, messages.Scalar) and isinstance(cols, messages.Scalar)
        time.sleep(self.launch_s)
        shape = [int(np.frombuffer(one.value, np.int32)[0]) for one in (rows, cols)]
        self.asked.append((_in_main_thread(), "launch", (*shape, *request.launch.block)))
        with mmap.mmap(descriptors[0], 0) as memory:
            array = np.frombuffer(memory, np.float32, given.count, given.offset).reshape(shape).T.copy()
            memory[out.offset : out.offset + out.nbytes] = array.tobytes()
        return Ran(FACTS, [], [], 1.0)

    def close(self) -> None:
        self.is_lost = True


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[Device]:
    class Own(Device):
        asked: ClassVar[list[Any]] = []

    for module in (part, session):
        monkeypatch.setattr(module, "GpuProcess", Own)
    monkeypatch.setattr(part, "compile_helpers", lambda _compiler, _architecture: b"")
    monkeypatch.setattr("grader.gpu.process.has_driver", lambda: True)
    monkeypatch.setattr(part, "folder", lambda: tmp_path / "times")
    monkeypatch.setattr(part, "cpu_times_beside", lambda *_given: [])
    return Own


@pytest.fixture
def lab() -> Lab:
    """With small sizes for the GPU."""
    lab = labs.find("transpose")
    of_gpu = replace(
        lab.cases["gpu"], correct=({"rows": 64, "cols": 64},), ragged=({"rows": 50, "cols": 33},), large=()
    )
    assert lab.timing is not None
    timing = replace(lab.timing, sizes=({"rows": 64, "cols": 64},))
    return replace(lab, cases={**lab.cases, "gpu": of_gpu}, timing=timing, sweeps=())


def graded(text: str, folder: Path, lab: Lab, processes: int) -> Result:
    file = folder / "transpose.cu"
    file.write_text(text, "utf-8")
    return pipeline.grade(file, lab, GradeOptions(backend="gpu", repairs=False), processes=processes)


def run_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have programs take as long as it takes to run ahead what their text tells."""
    is_known = threading.Event()
    begin, look = part.Gpu.time_ahead, Reading._observed

    def begun(self: part.Gpu, *given: Any) -> None:
        begin(self, *given)
        is_known.set()

    def looked(self: Reading, store: Any) -> Any:
        is_known.wait(LONG_S)
        is_known.clear()
        return look(self, store)

    monkeypatch.setattr(part.Gpu, "time_ahead", begun)
    monkeypatch.setattr(Reading, "_observed", looked)


@pytest.mark.parametrize("block", ["32, 32", "32, 8", 'atoi("32"), 8'])
def test_launches_ahead_are_made_once_and_change_nothing(
    block: str, tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulated = 0
    run = emulator._Launches.run

    def counted(self: Any, request: Any) -> Any:
        nonlocal emulated
        emulated += 1
        return run(self, request)

    monkeypatch.setattr(emulator._Launches, "run", counted)
    results, asked, on_emulator = [], [], []
    for processes in (1, 4):
        device.asked.clear()
        shutil.rmtree(tmp_path / "times", ignore_errors=True)
        if processes > 1:
            run_slowly(monkeypatch)
        emulated = 0
        results.append(graded(WITH_PROGRAM % block, tmp_path, lab, processes))
        asked.append([one[1:] for one in device.asked])
        on_emulator.append(emulated)
        by_main = {is_main for is_main, _asked, _launch in device.asked}
        # Beside the emulator, where there are processors for that.
        assert by_main == {processes == 1}
    assert msgspec.json.encode(results[0]) == msgspec.json.encode(results[1])
    assert results[0].environment.device == READY.name and bool(results[0].variants["naive"].timing) == (
        "8" not in block
    )
    # What is told by the text alone is launched in vain where the program does otherwise.
    assert asked[0] == asked[1] or "atoi" in block
    if "8" not in block:
        # The program launches what its text speaks of, and nothing was run twice; why a wrong one is wrong is found out
        # by launches that are not remembered.
        assert on_emulator[0] == on_emulator[1]


def test_times_that_are_kept_are_not_taken_ahead_again(
    tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_slowly(monkeypatch)
    # By the time that the program has been run, what its text tells is not launched yet.
    device.launch_s = 0.3
    timed = []
    for _grading in range(2):
        device.asked.clear()
        graded(WITH_PROGRAM % "32, 32", tmp_path, lab, 4)
        timed.append([is_main for is_main, asked, _launch in device.asked if asked == "prepare"])
    assert timed == [[False], []]


def test_what_was_run_ahead_is_no_matter_where_there_is_no_gpu_after_all(
    tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_slowly(monkeypatch)
    device.ready_as = NoDevice("none")
    file = tmp_path / "transpose.cu"
    file.write_text(WITH_PROGRAM % "32, 32", "utf-8")
    result = pipeline.grade(file, lab, GradeOptions(backend="auto", repairs=False), processes=4)
    assert result.environment.backend == "emulator" and result.score.earned > 0


def test_threads_that_ask_at_once_have_one_session(device: type[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, sessions = threading.Event(), []
    monkeypatch.setattr(part, "compile_helpers", lambda *_given: go_on.wait(LONG_S) and b"")
    with part.Gpu() as gpu:
        threads = [threading.Thread(target=lambda: sessions.append(gpu.session())) for _each in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        go_on.set()
        for thread in threads:
            thread.join(LONG_S)
        assert sessions == [gpu.session()] * 2


@pytest.mark.parametrize("lacking", ["device", "kernels"])
def test_nothing_is_waited_for_where_nothing_is_to_be_run(
    lacking: str, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(part, "compute_case", lambda *_given: go_on.wait(LONG_S))
    if lacking == "device":
        device.ready_as = NoDevice("none")
    with part.Gpu() as gpu:
        gpu.begin(lab)
        assert bool(gpu.refusal()) == (lacking == "device")
        evidence = {v.name: Evidence(lab, v, Missing(v.name, "no_candidate")) for v in lab.variants}
        began = time.monotonic()
        gpu.prepare(part.GpuWork(lab, gpu.compiler, False, Submission("", "", "", (), {}, (), (), {}), evidence))
        assert time.monotonic() - began < LONG_S / 2
        go_on.set()


def test_a_gpu_that_others_hold_is_waited_for_once(
    tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(lock, "WAIT_S", 0.1)
    waits: list[bool] = []
    lock.tell_of_waiting(waits.append)
    three = PLAIN + PLAIN.replace("Naive", "Shared") + PLAIN.replace("Naive", "Padded")
    with lock.exclusive(READY.uuid):
        results = [graded(three, tmp_path, lab, processes) for processes in (1, 4)]
    assert msgspec.json.encode(results[0]) == msgspec.json.encode(results[1])
    assert results[0].environment.backend == "emulator"
    assert waits == [True, False] * 2


def test_a_grading_that_is_ended_waits_for_no_gpu(
    tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(part.Gpu, "prepare", end)
    began = time.monotonic()
    with lock.exclusive(READY.uuid), pytest.raises(KeyboardInterrupt):
        graded(PLAIN, tmp_path, lab, 4)
    assert time.monotonic() - began < LONG_S


@pytest.mark.parametrize("processes", [1, 4])
def test_the_cpu_is_timed_beside_sweeps(
    processes: int, tmp_path: Path, lab: Lab, device: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_swept = threading.Event()

    def timed(_lab: Lab, sizes: list[Sizes], _store: Store) -> list[CpuTime]:
        assert is_swept.wait(LONG_S), "sweeps wait for the CPU"
        return [CpuTime(dict(one), 500.0, 2) for one in sizes]

    ask = device.ask

    def asked(self: Device, request: messages.Message, *more: Any) -> Any:
        if isinstance(request, messages.Prepare) and "submission:naive@128,None" in {t.name for t in request.targets}:
            is_swept.set()
        return ask(self, request, *more)

    monkeypatch.setattr(device, "ask", asked)
    monkeypatch.setattr(part, "cpu_times_beside", timed)
    monkeypatch.setattr(sweeps, "folder", lambda: tmp_path / "sweeps")
    (sweep, *_more) = labs.find("transpose").sweeps
    along = replace(sweep.x, values={**sweep.x.values, "gpu": (128,)})
    swept: list[Result] = []
    file = tmp_path / "transpose.cu"
    file.write_text(WITH_PROGRAM % "32, 32", "utf-8")
    options = GradeOptions(backend="gpu", repairs=False)
    listeners = pipeline.Listeners(swept=swept.append)
    one_sweep = replace(lab, sweeps=(replace(sweep, x=along),))
    result = pipeline.grade(file, one_sweep, options, listeners=listeners, processes=processes)
    for made in (*swept, result):
        (timing,) = made.variants["naive"].timing
        assert (timing.cpu_us, timing.cpu_threads, timing.over_cpu) == (500.0, 2, 5.0)
