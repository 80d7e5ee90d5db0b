"""Programs that never end: what is counted ends them the same way on every machine; a clock blames nobody."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.programs import observation
from grader.programs.execution import run_program
from grader.programs.records import RunLimits
from grader.programs.remembered import Stored
from grader.programs.sources import Sources
from grader.result import Result, exit_code
from tests.marks_only import marks_only

ROOT = Path(__file__).parents[3]
SAMPLE = (ROOT / "submissions" / "ivanov" / "transpose.cu").read_text("utf-8")
FEW = RunLimits(executes=False, host_instructions=60_000_000, host_bytes=64 << 20, device_bytes=1 << 20)
KERNEL = """#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
__global__ void k(float *a) { a[threadIdx.x] = 1; }
int deeper(int n) { volatile int a[16]; a[n & 15] = n; return deeper(n + 1) + a[3]; }
int main() {
    float *d, h = 0, *more; volatile int *flag; int n; cudaEvent_t e;
    cudaMalloc(&d, 128); cudaHostAlloc((void **)&flag, 4, cudaHostAllocMapped); *flag = 0; cudaEventCreate(&e);
    k<<<1, 32>>>(d);
    %s
}
"""


@pytest.mark.parametrize(
    ("loop", "cause", "line"),
    [
        ("while (1);", "too_long", 11),
        ("while (*flag == 0);", "too_long", 11),
        ("cudaMemset(d, 0, 4); while (h != 7) cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);", "too_long", 11),
        ("while (cudaEventQuery(e) != cudaErrorNotReady);", "too_long", 11),
        ('while (scanf("%%d", &n) != 1 || n != 5);', "too_long", 11),
        ("for (;;) k<<<1, 32>>>(d);", "too_long", 0),
        ("for (;;) cudaMalloc(&more, 128);", "too_long", 0),
        ("for (;;) { volatile char *p = (char *)malloc(1 << 20); *p = 1; }", "no_host_memory", 0),
        ('return printf("%%d", deeper(0));', "stack_overflow", 6),
    ],
)
def test_what_never_ends_is_ended_by_what_is_counted(tmp_path: Path, loop: str, cause: str, line: int) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KERNEL % loop.replace("%%", "%"))
    found = run_program(Sources([path]), limits=FEW)
    assert found.exit is None and found.cause is not None
    assert found.cause.id == f"programs.{cause}"
    assert found.launches[0].kernel == "k"
    told = [finding.line for finding in found.findings if finding.message == found.cause]
    assert not line or told == [line]


@pytest.mark.parametrize("loop", ['for (;;) { puts("x"); fflush(stdout); }', "while (time(0) < 0x7fffffffff);"])
def test_nor_do_calls_of_the_system_go_on_for_ever(tmp_path: Path, loop: str) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KERNEL % loop)
    assert run_program(Sources([path]), limits=FEW).cause.id == "programs.too_long"  # type: ignore[union-attr]


def graded(folder: Path, text: str) -> Result:
    path = folder / "transpose.cu"
    path.write_text(text, "utf-8")
    return grade(path, marks_only("transpose"), GradeOptions(backend="emulator"))


@pytest.mark.slow
def test_an_endless_loop_is_told_with_its_line_and_costs_what_is_known_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = graded(tmp_path, SAMPLE)
    last = SAMPLE.rindex("    return 0;")
    endless = graded(tmp_path, SAMPLE[:last] + "    while (rows)\n        ;\n" + SAMPLE[last:])
    assert endless.score == whole.score
    (told,) = [message for message in endless.remarks_said if message.id == "observation.cut"]
    assert told.data["line"] == SAMPLE[:last].count("\n") + 1

    # The same in a time in which it cannot be done: no mark at all, and nothing of it is kept.
    for name in ("TRACED", "EXECUTED"):
        monkeypatch.setattr(observation, name, msgspec.structs.replace(getattr(observation, name), wall_seconds=0.01))
    monkeypatch.setattr(Stored, "get", lambda *_anything: None)
    kept: list[object] = []
    monkeypatch.setattr(Stored, "put", lambda *anything: kept.append(anything))
    hung = graded(tmp_path, SAMPLE[:last] + "    while (rows)\n        ;\n" + SAMPLE[last:])
    assert {check.status for check in hung.checks} == {"error"}
    assert (hung.score.earned, hung.score.pending) == (0, hung.score.possible)
    assert exit_code([hung]) == 3 and not kept
    said = hung.checks[0].message_said
    assert said is not None and said.id == "observation.not_graded"
