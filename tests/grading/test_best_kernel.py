"""Of several kernels that may be a variant the best counts, and the others are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.grading.reading import with_best
from grader.running.evidence import Compilation, Evidence
from grader.submission.records import Submission, VariantBinding
from tests.checks.evidence_factory import RIGHT, evidence, run
from tests.submission.labs import bound


@pytest.mark.parametrize(("line", "failure", "named"), [(1, "", []), (9, "", [("naive", 9)]), (9, "errors", [])])
def test_another_kernel_is_named_that_is_none_of_the_same_template_and_was_graded(
    line: int, failure: str, named: list[tuple[str, int]]
) -> None:
    submission = bound("__global__ void naive(const float *in, float *out, int rows, int cols) { out[0] = in[0]; }\n")
    likeliest = submission.bindings["naive"]
    assert isinstance(likeliest, VariantBinding)
    other = replace(likeliest, expression="naive<2>", kernel=replace(likeliest.kernel, line=line))
    submission = replace(submission, bindings={"naive": replace(likeliest, others=(other,))})
    wrong = replace(RIGHT, mismatches=9)

    def graded(one: Submission) -> dict[str, Evidence]:
        binding = one.bindings["naive"]
        assert isinstance(binding, VariantBinding)
        difference = wrong if binding.expression == "naive<2>" else RIGHT
        found = evidence("naive", runs=(run("correct", difference),))
        return {"naive": replace(found, binding=binding, compilation=Compilation(failure))}

    best, by_variant = with_best(submission, graded(submission), graded)
    chosen = best.bindings["naive"]
    assert isinstance(chosen, VariantBinding)
    assert chosen.expression == likeliest.expression
    assert [(other.kernel, other.line) for other in by_variant["naive"].others] == named
