"""A kernel run once and compared: what is prepared is neither compiled nor computed again."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from grader.compiler.process import CompilerProcess
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.launching.backend import Code, LaunchOutcome, LaunchRequest
from grader.launching.emulator import Emulator
from grader.launching.kernel import bound_kernels
from grader.launching.programs import ProgramStore
from grader.launching.trial import Trials
from tests.submission.labs import bound

LAB = labs.find("transpose")

SIZES = {"rows": 33, "cols": 65}
TEXT = """\
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = in[r * cols + c];
}
"""


def test_what_is_prepared_runs_without_compiler_and_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = bound_kernels(LAB, bound(TEXT, LAB))["naive"]
    oracle = Oracle(LAB)
    with CompilerProcess() as compiler:
        trials = Trials(LAB, oracle, ProgramStore(compiler, "compute_75"), Emulator())
        trials.prepare(kernel, SIZES)

        def no_more(*_arguments: object) -> None:
            raise AssertionError("prepared already")

        monkeypatch.setattr(compiler, "compile", no_more)
        monkeypatch.setattr(oracle, "_given", no_more)
        monkeypatch.setattr(oracle, "_outputs", no_more)
        assert trials.run(kernel, "ragged", SIZES).is_right
        with pytest.raises(AssertionError, match="prepared already"):
            trials.run(kernel, "ragged", {"rows": 34, "cols": 65})


class Slow(Emulator):
    """Is through with few blocks alone."""

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        many = LaunchOutcome("fault", reason="instructions", line=4)
        return many if prod(request.grid) > 100 else super().run(code, request)


@pytest.mark.parametrize(("guard", "is_right"), [("r < rows && c < cols", True), ("r < rows", False)])
def test_blocks_that_find_nothing_to_do_are_left_out_where_they_take_too_long(guard: str, is_right: bool) -> None:
    kernel = bound_kernels(LAB, bound(TEXT.replace("r < rows && c < cols", guard), LAB))["naive"]
    plan = replace(kernel.interpretation.launch, grid_formula=("rows * cols", "rows * cols"))
    kernel = kernel.read_as(replace(kernel.interpretation, launch=plan))
    with CompilerProcess() as compiler:
        run = Trials(LAB, Oracle(LAB), ProgramStore(compiler, "compute_75"), Slow()).run(kernel, "ragged", SIZES)
    # One block too many is among those that are left.
    assert (run.outcome.status, run.is_right and not run.outcome.hazards) == ("ok", is_right)
