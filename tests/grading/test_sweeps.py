"""Sweeps on a GPU, as far as no GPU is needed, and which of their results are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from grader import i18n
from grader.compiler.result import CompileResult
from grader.gpu.messages import HostCopiesDone, HostTimes, KernelFacts, Prepared, Problem, Ready, RoundDone, WarmedUp
from grader.gpu.session import GpuFault, TimedKernel
from grader.grading import sweeps
from grader.grading.sweep_plan import Owner, Target, reference_target
from grader.grading.sweeps import GpuSweeps
from grader.lab import labs
from grader.lab.records import Lab, Sweep, SweepParameter
from grader.launching.backend import BufferArgument, LaunchRequest
from grader.launching.programs import ProgramStore
from grader.measured import Estimate, SweepPoint, SweepRecord
from grader.message import msg, verbatim
from grader.words import told

DEVICE = Ready("Paper", "uuid", "sm_90", "580", 132, 1 << 30, 1 << 20, 2000.0, 1 << 16)
FACTS = KernelFacts(32, 4224, 0, 2, 100.0)
TEXT = {"en": "…", "ru": "…"}
SQUARE = {"rows": 64, "cols": 64}


def sweep_of(metrics: tuple[str, ...] = ("time", "gb_per_s"), **more: object) -> Sweep:
    values = {"emulator": (8, 16, 32, 64), "gpu": (8, 16, 32, 64)}
    x = SweepParameter("t", TEXT, values, constants=("tile",))
    base = {"emulator": SQUARE, "gpu": SQUARE}
    made = Sweep("tile", TEXT, ("naive", "shared"), x, base, {"emulator": ("sectors",), "gpu": metrics})
    return replace(made, **more)  # type: ignore[arg-type]


def replace_device(**changes: Any) -> Ready:
    return structs.replace(DEVICE, **changes)


@dataclass
class PaperBench:
    """Every kernel takes as many µs as its block has threads, give or take a tenth."""

    problems: dict[str, str] = field(default_factory=dict)
    late_problems: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    sm_mhz: float = 1990.0
    device: Ready = DEVICE
    prepared: list[list[TimedKernel]] = field(default_factory=list)
    rounds: list[list[str]] = field(default_factory=list)
    copied: list[LaunchRequest] = field(default_factory=list)

    def warm_up(self, busy_ms: float) -> WarmedUp:
        return WarmedUp(4000.0, 60_000.0, 1990.0)

    def prepare(
        self,
        kernels: Sequence[TimedKernel],
        pools: Mapping[str, Any],
        l2: str,
        clock_share: float,
        max_batch: int,
        tolerance: tuple[float, float],
    ) -> Prepared:
        for kernel in kernels:
            if kernel.name in self.faults:
                raise GpuFault(self.faults[kernel.name], kernel.name)
        self.prepared.append(list(kernels))
        self._times = {k.name: float(np.prod(k.request.block)) for k in kernels}
        found = [Problem(name, kind, 1, 2) for name, kind in self.problems.items() if name in self._times]
        ones = dict.fromkeys(self._times, 1)
        return Prepared(ones, self._times, 1.0, dict.fromkeys(self._times, FACTS), found)

    def round(self, names: Sequence[str], key: int) -> RoundDone:
        self.rounds.append(list(names))
        factor = (0.9, 1.0, 1.1)[len(self.rounds) % 3]
        found = [Problem(name, kind, 1, 2) for name, kind in self.late_problems.items() if name in names]
        return RoundDone({n: self._times[n] * factor for n in names}, found, self.sm_mhz, 0)

    def host_copies(self, module: str, request: LaunchRequest, modes: Sequence[str], repeats: int) -> HostCopiesDone:
        self.copied.append(request)
        return HostCopiesDone([HostTimes(mode, 1.0, 2.0, 3.0, 6.5, 4.0) for mode in modes if mode != "mapped"])


@dataclass
class Compiler:
    """Every kernel that is asked for is there; remembers what it compiled for which device."""

    made: list[tuple[str, str]] = field(default_factory=list)
    refuses: str = "no such text"

    def compile(
        self, sources: Mapping[str, str], expressions: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        text = "".join(sources.values())
        self.made.append((architecture, text))
        if self.refuses in text:
            return CompileResult(ok=False, reason="errors")
        return CompileResult(ok=True, cubin=text.encode(), entries={e: f"_{e}" for e in expressions})


def run(
    bench: PaperBench, sweep: Sweep | None = None, compiler: Compiler | None = None, reader: Executor | None = None
) -> list[SweepPoint]:
    lab: Lab = replace(labs.find("transpose"), sweeps=(sweep or sweep_of(),))
    targets: list[Target] = [reference_target(lab, v) for v in lab.variants if v.name in lab.sweeps[0].variants]
    known: dict[str, bytes] = {}
    pools = {"in:float32": np.arange(8, dtype=np.float32)}
    # The architecture tells for whom was compiled.
    owners: dict[Owner, str] = {"submission": "sm_1", "reference": "sm_2"}
    asked = compiler or Compiler()
    programs = {owner: ProgramStore(asked, architecture) for owner, architecture in owners.items()}
    sweeps = GpuSweeps(lab, bench, known.__setitem__, programs, pools, reader)
    sweeps.plan(targets)
    record = told(sweeps.run({"padded": verbatim("nobody asked")})[0])
    assert record.backend == "gpu" and record.left_out == {}
    return record.points


def test_times_with_intervals_and_rates_that_fall_as_times_grow() -> None:
    points = run(PaperBench())
    point = next(p for p in points if (p.variant, p.x) == ("shared", 16))
    time, rate = point.values["time"], point.values["gb_per_s"]
    assert (time.value, time.low, time.high) == pytest.approx((256.0, 256 * 0.9, 256 * 1.1))
    moved = 2 * 64 * 64 * 4
    assert rate.value == pytest.approx(moved / 256 / 1000)
    assert rate.low == pytest.approx(moved / (256 * 1.1) / 1000)
    assert rate.high == pytest.approx(moved / (256 * 0.9) / 1000)


def test_programs_that_are_read_while_others_run_give_the_same_points() -> None:
    with ThreadPoolExecutor(1) as reader:
        points = run(PaperBench(), reader=reader)
    assert points == run(PaperBench()) and "ok" in {p.status for p in points}


def sized(*sides: int) -> Sweep:
    """A sweep of square matrices of these sides."""
    x = SweepParameter("n", TEXT, {"emulator": (8,), "gpu": sides}, sizes={"rows": "n", "cols": "n"})
    return sweep_of(x=x)


def test_arrays_that_the_gpu_has_no_memory_for() -> None:
    # 4 GiB each way, and as much again to compare with: 16 GiB, of which a device of 17 lends 15.3.
    bench = PaperBench(device=replace_device(memory_bytes=17 << 30))
    points = run(bench, sized(16384, 32768))
    assert [(p.x, p.status) for p in points] == [(16384, "ok"), (32768, "impossible")] * 2
    assert points[1].reason == "16.0 GiB of GPU memory are needed, 15.3 GiB are available"
    assert {k.request.grid for kernels in bench.prepared for k in kernels} == {(512, 512, 1)}
    assert [p.status for p in run(PaperBench(device=replace_device(memory_bytes=18 << 30)), sized(32768))] == ["ok"] * 2


def test_memory_that_others_hold() -> None:
    class Full(PaperBench):
        def prepare(self, kernels: Sequence[TimedKernel], *more: Any) -> Prepared:
            if kernels[0].request.grid[0] > 1:
                raise GpuFault("CUDA_ERROR_OUT_OF_MEMORY", is_submissions=False)
            return super().prepare(kernels, *more)

    points = run(Full(), sized(32, 64))
    assert [(p.x, p.status) for p in points] == [(32, "ok"), (64, "impossible")] * 2
    assert points[1].reason == "not enough GPU memory is free"


def test_points_stand_in_the_sweep_s_order_with_those_that_cannot_be() -> None:
    points = run(PaperBench())
    assert [(p.variant, p.x, p.status) for p in points] == [
        (variant, x, "impossible" if x == 64 else "ok") for variant in ("naive", "shared") for x in (8, 16, 32, 64)
    ]


def test_points_are_timed_side_by_side_and_checked_by_the_kernel_as_it_stands() -> None:
    bench = PaperBench()
    run(bench)
    naive, shared = bench.prepared
    assert [k.name for k in shared] == [*(f"reference:shared@{x},None" for x in (8, 16, 32)), "check"]
    assert {k.checked_by for k in shared[:-1]} == {"check"} and shared[-1].request.block == (32, 32, 1)
    assert all("check" not in names for names in bench.rounds)
    assert len(naive) == 4


def test_a_changed_program_is_another_module_and_is_compiled_once() -> None:
    compiler = Compiler()
    bench = PaperBench()
    run(bench, compiler=compiler)
    # The naive kernel has no constant: one program for all its blocks.
    assert len(compiler.made) == 1 + 3
    assert {architecture for architecture, _text in compiler.made} == {"sm_2"}
    modules = [k.module for k in bench.prepared[1]]
    assert len(set(modules)) == 3 and modules[2] == modules[3]


@pytest.mark.parametrize("when", ["problems", "late_problems"])
def test_wrong_results_have_no_times(when: str) -> None:
    bench = PaperBench()
    setattr(bench, when, {"reference:shared@16,None": "wrong"})
    points = {p.x: p for p in run(bench) if p.variant == "shared"}
    assert (points[16].status, points[16].values) == ("wrong", {})
    assert points[8].status == points[32].status == "ok"


def test_a_kernel_that_fails_takes_no_other_with_it() -> None:
    bench = PaperBench(
        faults={"reference:shared@8,None": "illegal_address", "reference:shared@16,None": "CUDA_ERROR_X"}
    )
    points = {p.x: p for p in run(bench) if p.variant == "shared"}
    assert [points[x].status for x in (8, 16, 32)] == ["failed", "impossible", "ok"]
    assert "CUDA_ERROR_X" in points[16].reason


def test_a_fault_of_nobody_known_is_the_device_s() -> None:
    with pytest.raises(GpuFault):
        run(PaperBench(faults={"check": "illegal_address"}))


def test_a_slow_clock_is_no_measurement() -> None:
    points = run(PaperBench(sm_mhz=900.0))
    assert {p.status for p in points if p.x < 64} == {"failed"}
    assert points[0].reason == "the GPU ran below its usual clock rate"


def test_a_program_that_does_not_compile_for_the_device() -> None:
    points = {p.x: p for p in run(PaperBench(), compiler=Compiler(refuses="TILE 16")) if p.variant == "shared"}
    assert points[16].status == "impossible" and points[16].reason.startswith("it does not compile")
    assert points[32].status == "ok"


def test_kinds_of_host_memory() -> None:
    bench = PaperBench()
    points = run(bench, sweep_of(("total_time",), host_memory=("pinned", "mapped"), variants=("naive",)))
    found = {(p.x, p.line): p for p in points}
    assert found[8, "pinned"].values["total_time"].value == 6.5
    assert found[8, "mapped"].status == "impossible" and found[64, "pinned"].status == "impossible"
    # The launch has its data: the pool over and over.
    (buffer,) = [a for a in bench.copied[0].arguments if isinstance(a, BufferArgument) and not a.is_output]
    assert buffer.initial is not None and buffer.initial.shape == (64, 64)
    assert buffer.initial.reshape(-1)[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]


WRONG = {"b": msg("sweeps.results_wrong")}


def record() -> SweepRecord:
    threads = msg("launches.threads", threads=4096, limit=1024)
    memory = msg("sweeps.gpu_memory", needed=16.5, most=14.4)
    error = verbatim("CUDA_ERROR_MISALIGNED_ADDRESS")
    points = [
        SweepPoint(variant="a", of="submission", x=8, values={"time": Estimate(value=1.5, low=1.0, high=2.0)}),
        SweepPoint(variant="a", of="submission", x=64, status="impossible", reason_said=threads),
        SweepPoint(variant="a", of="submission", x=99, status="impossible", reason_said=memory),
        SweepPoint(variant="a", of="reference", x=64, status="failed", reason_said=error),
    ]
    return SweepRecord(id="block", backend="gpu", x="S", lines="", metrics=["time"], points=points, left_out_said=WRONG)


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    sweeps.keep(tmp_path / "k.json", [record()])
    found = sweeps.find(tmp_path / "k.json", WRONG)
    assert found == [record()]
    assert [point.reason for point in told(found[0]).points] == [
        "",
        "4096 threads per block, at most 1024 are allowed",
        "16.5 GiB of GPU memory are needed, 14.4 GiB are available",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]


def test_reasons_are_said_in_the_language_of_the_day(tmp_path: Path) -> None:
    sweeps.keep(tmp_path / "k.json", [told(record())])
    i18n.use("ru")
    found = sweeps.find(tmp_path / "k.json", WRONG)
    assert found is not None
    russian = told(found[0])
    assert [point.reason for point in russian.points] == [
        "",
        "потоков в блоке — 4096, допустимо не больше 1024",
        "нужно 16,5 ГиБ памяти GPU, доступно 14,4 ГиБ",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]
    assert russian.left_out == {"b": "результаты неверны"}
    assert russian.points[0].values == record().points[0].values


def test_why_variants_are_left_out_is_this_run_s(tmp_path: Path) -> None:
    sweeps.keep(tmp_path / "k.json", [record()])
    found = sweeps.find(tmp_path / "k.json", {"b": msg("sweeps.no_kernel")})
    assert found is not None
    assert found[0].left_out_said == {"b": msg("sweeps.no_kernel")}


def test_nothing_and_rubbish_are_not_found(tmp_path: Path) -> None:
    assert sweeps.find(tmp_path / "none.json", {}) is None
    (tmp_path / "old.json").write_text('{"records": [], "reasons": {}}')
    assert sweeps.find(tmp_path / "old.json", {}) is None


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sweeps.keep(tmp_path / "file" / "k.json", [record()])
    assert (tmp_path / "file").read_text() == ""
