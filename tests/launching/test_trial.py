"""A kernel run once and compared: what is prepared is neither compiled nor computed again."""

from __future__ import annotations

import pytest

from grader.compiler.process import CompilerProcess
from grader.lab import labs
from grader.lab.expected import Oracle
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
