"""Functions and programs on a GPU, as far as the host goes: what is timed beside what, and what becomes of times.

The emulator stands in for the GPU; how long it takes is made up.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.gpu import functions, process
from grader.grading import called, pipeline
from grader.grading.options import GradeOptions
from grader.lab.records import Lab, TimingRule
from grader.message import msg
from grader.programs.execution import OF_GRADING, CompiledProgram
from grader.programs.records import CallTimes, Observation, ProgramFinding, RunLimits, Start
from grader.programs.sandbox.process import CardInfo
from grader.result import Check, Result
from tests.grading import test_program_labs as program_labs
from tests.grading.function_labs import lab_of

ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": (rng.integers(1, 129, sizes["n"]) / 256).astype(np.float32)}
def expected(inputs, sizes):
    return {"out": inputs["in"] * 2}
"""
SOLVE = """
__global__ void twice(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
void solve(const float *in, float *out, int n) { twice<<<(n + 255) / 256, 256>>>(in, out, n); }
"""
TIMING = "timing: {sizes: [{n: 500}, {n: 3000}]}\nsizes:"
CHECKS = {"correct": 50, "speedup": {"points": 50, "against": "solve", "minimum": 0.1, "full": 1.0}}
TIMES = CallTimes(work_us=100.0, copies_us=20.0, works=1, copies=2, empty_us=2.0, sm_mhz=1900.0, max_sm_mhz=1980.0)


TOLD = msg("programs.fault_on_card", kernel="twice", error="cudaErrorIllegalAddress")


class Card:
    """What a made-up GPU takes for a program whose text has a word, and how it ends one."""

    def __init__(self) -> None:
        self.times: dict[str, Any] = {}
        self.ends: dict[str, str] = {}
        self.seen: list[tuple[str, int]] = []

    def look(self, text: str, calls: list[Any], observation: Observation) -> Observation:
        observation.device = "Paper"
        if not calls[0].is_timed:
            return observation
        self.seen.append((text, len(calls)))
        changed: Any = next((fields for word, fields in self.times.items() if word in text), {})
        for call in observation.calls:
            call.times = None if changed is None else msgspec.structs.replace(TIMES, **changed)
        for word, kind in self.ends.items():
            if word in text:
                observation.findings.append(ProgramFinding(kind, "error", TOLD, 7, "s.cu"))
        return observation


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Card:
    made = Card()

    class OnPaper(CompiledProgram):
        def __post_init__(self) -> None:
            self.setting = OF_GRADING
            super().__post_init__()
            self.card = CardInfo("Paper", "uuid", (9, 0), "580")

        def run(self, run: Start, limits: RunLimits) -> Observation | None:
            text = "".join(self.program.host.values()) + "".join(
                "".join(t.values()) for t in self.program.device.values()
            )
            # The emulator has limits of its own.
            found = super().run(run, msgspec.structs.replace(limits, device_bytes=1 << 28))
            return None if found is None else made.look(text, list(run.calls), found)

    monkeypatch.setattr(functions, "CompiledProgram", OnPaper)
    monkeypatch.setattr(called, "CompiledProgram", OnPaper)
    monkeypatch.setattr(process, "has_driver", lambda: True)
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))
    return made


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = lab_of(tmp_path, CHECKS, ORACLE, **{"sizes:": TIMING, "shape: [1]": "shape: [n]", ", initial: 0": ""})
    made.variants[0].reference.file.write_text(SOLVE)
    return made


def graded(lab: Lab, folder: Path, source: str, backend: str = "gpu") -> Result:
    path = folder / "student" / "solve.cu"
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    return pipeline.grade(path, lab, GradeOptions(backend=backend, repairs=False))


def check_of(result: Result, name: str) -> Check:
    return next(check for check in result.checks if check.check == name)


def test_points_follow_the_time_beside_the_reference(lab: Lab, card: Card, tmp_path: Path) -> None:
    card.times["slower"] = {"work_us": 182.0, "copies_us": 7.0}
    got = graded(lab, tmp_path, SOLVE.replace("twice", "slower"))
    assert got.environment.backend == "gpu"
    assert (got.environment.device, got.environment.driver, got.environment.architecture) == ("Paper", "580", "sm_90")
    assert [row.size for row in got.variants["solve"].timing] == [{"n": 500}, {"n": 3000}]
    row = got.variants["solve"].timing[-1]
    assert (row.median_us, row.reference_us, row.copies_us, row.reference_copies_us) == (182.0, 100.0, 7.0, 20.0)
    assert row.speedup == pytest.approx(100 / 182) and not row.launch_bound
    speedup = check_of(got, "speedup")
    assert speedup.status == "pass" and 20 < speedup.earned < 30
    # A call in each run, as many of the one as of the other.
    calls = [(("slower" in text), count) for text, count in card.seen]
    assert {count for _text, count in calls} == {1}
    assert calls.count((True, 1)) == calls.count((False, 1)) >= 2 * 9
    # Nothing is measured a second time.
    card.seen.clear()
    assert graded(lab, tmp_path, SOLVE.replace("twice", "slower")).variants["solve"].timing[-1] == row
    assert card.seen == []


@pytest.mark.parametrize(
    ("changed", "source", "told"),
    [
        ({"works": 0}, SOLVE, "runs.nothing_to_time"),
        (None, SOLVE, "runs.too_much_to_time"),
        ({"sm_mhz": 600.0}, SOLVE, "runs.throttled"),
    ],
    ids=["nothing", "too_much", "throttled"],
)
def test_without_a_time_points_are_pending(
    changed: Any, source: str, told: str, lab: Lab, card: Card, tmp_path: Path
) -> None:
    card.times["solve"] = changed
    got = graded(lab, tmp_path, source)
    speedup = check_of(got, "speedup")
    assert (speedup.status, speedup.pending) == ("skip", 50) and check_of(got, "correct").status == "pass"
    assert speedup.message_said is not None and told in repr(speedup.message_said)


def test_what_is_wrong_at_a_timed_size_alone_loses_the_points_of_the_result(
    lab: Lab, card: Card, tmp_path: Path
) -> None:
    got = graded(lab, tmp_path, SOLVE.replace("out[i] = 2", "out[i] = (n == 3000 && i == 2999 ? 3 : 2)"))
    assert check_of(got, "correct").status == "fail"
    assert check_of(got, "speedup").earned == 0


SWEEP = """
sweeps:
  elements:
    title: {en: n, ru: n}
    x: {name: n, label: {en: n, ru: n}, sizes: {n: n}, values: [100, 700]}
variants:"""


def test_a_point_that_is_wrong_on_the_gpu_alone_is_no_fault_of_the_labs_own(card: Card, tmp_path: Path) -> None:
    changes = {"sizes:": TIMING, "shape: [1]": "shape: [n]", ", initial: 0": "", "\nvariants:": SWEEP}
    lab = lab_of(tmp_path, CHECKS, ORACLE, **changes)
    lab.variants[0].reference.file.write_text(SOLVE)
    card.times["slower"] = {"work_us": 182.0}
    wrong = SOLVE.replace("twice", "slower").replace("out[i] = 2", "out[i] = (n == 700 ? 3 : 2)")
    (record,) = graded(lab, tmp_path, wrong).sweeps
    assert record.backend == "gpu"
    points = {(p.of, p.x): (p.status, p.values["time"].value if p.values else None) for p in record.points}
    assert points == {
        ("submission", 100): ("ok", 182.0),
        ("reference", 100): ("ok", 100.0),
        ("submission", 700): ("wrong", None),
        ("reference", 700): ("failed", None),
    }


def test_a_fault_of_the_gpu_is_told_at_its_launch(lab: Lab, card: Card, tmp_path: Path) -> None:
    card.ends["strays"] = "fault"
    correct = check_of(graded(lab, tmp_path, SOLVE.replace("twice", "strays")), "correct")
    assert (correct.status, correct.line) == ("fail", 7)


def test_of_what_the_gpu_side_lacks_points_are_pending(lab: Lab, card: Card, tmp_path: Path) -> None:
    card.ends["textures"] = "unsupported"
    got = graded(lab, tmp_path, SOLVE.replace("twice", "textures"))
    assert check_of(got, "correct").status == "pass" and check_of(got, "speedup").status == "skip"


HOST_WHERE_TIMED = "if (n == 500) for (int i = 0; i < n; i++) x[i] *= 2; else doubled(x.data(), x.data(), n);"


def test_a_program_that_computes_on_the_host_where_it_is_timed_is_found(card: Card, tmp_path: Path) -> None:
    lab = replace(program_labs.lab_of(tmp_path, "standard input"), timing=TimingRule(sizes=({"n": 500},)))
    right = graded(lab, tmp_path, program_labs.STANDARD_INPUT)
    assert right.status == "passed"
    assert [(row.size, row.median_us) for row in right.variants["main"].timing] == [({"n": 500}, 100.0)]
    wrong = program_labs.STANDARD_INPUT.replace("doubled(x.data(), x.data(), n);", HOST_WHERE_TIMED)
    correct = check_of(graded(lab, tmp_path, wrong), "correct")
    assert correct.status == "fail" and "launches.undone" in repr(correct.message_said)


def test_what_is_wrong_on_the_emulator_is_not_run(lab: Lab, card: Card, tmp_path: Path) -> None:
    got = graded(lab, tmp_path, SOLVE.replace("2 * in[i]", "in[i]"))
    assert check_of(got, "correct").status == "fail" and card.seen == []
