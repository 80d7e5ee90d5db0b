"""Whether a kernel whose blocks grow with the sizes is right with a block that is smaller than they are.

A block has at most 1024 threads.  Where a lab wants a kernel to go on from there, one that computes an element a thread
shows what it lacks at a small size already, with a small block.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from grader.launching.geometry import geometry
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.running.evidence import Evidence


def with_smaller_block(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with the run that the variant asks for, of a kernel that is right at all sizes.

    Shared memory stays what the host code asks for at these sizes.  Nothing is run where the block is the same at all
    sizes, where the grid depends on it, or where the size is a constant of the program: one that the block can have.
    """
    asked, plan = evidence.variant.smaller_block, kernel.interpretation.launch
    runs = evidence.runs_of("correct", "observe")
    is_told = not kernel.interpretation.constants and not kernel.interpretation.template
    if (
        asked is None
        or not is_told
        or not plan.block_formula
        or prod(plan.tile) != 1
        or not kernel.sizes.fits(asked.sizes)
    ):
        return evidence
    if not runs or not all(run.is_right for run in runs):
        return evidence
    usual = geometry(plan, asked.sizes)
    smaller = replace(
        plan,
        block=(asked.threads, 1, 1),
        block_formula=(),
        shared_bytes=usual.shared_bytes,
        shared_formula="",
    )
    if usual.block[0] <= asked.threads or usual.block[1:] != (1, 1):
        return evidence
    interpretation = replace(kernel.interpretation, launch=smaller)
    return replace(evidence, smaller_block=trials.run(kernel.read_as(interpretation), "correct", asked.sizes))
