"""All that is found out about one kernel on the emulator: every stage that runs it, in their order."""

from __future__ import annotations

from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.running.drawn import with_drawn_cases
from grader.running.evidence import Evidence
from grader.running.halos import halo_of, haloed
from grader.running.margins import with_margin
from grader.running.newer_devices import with_newer_devices
from grader.running.occupancy import with_occupancy_of_kernel
from grader.running.own_check import with_own_check
from grader.running.relaunched import with_later_launch, with_smaller_block
from grader.running.reordered import with_reordered
from grader.running.runs import run_variant
from grader.running.staging import with_staging


def run_kernel(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool = True
) -> Evidence:
    """`evidence` after a kernel that compiles was run at the lab's sizes and at the drawn case.

    Parameters
    ----------
    drawn_trials : of a lab whose seed is the drawn one.
    explained : whether it is also found out why an output is wrong.
    """

    def found_out(kernel: BoundKernel) -> Evidence:
        return _of_target(trials, drawn_trials, evidence, kernel, explained)

    return with_newer_devices(trials, found_out(kernel), kernel, found_out)


def _of_target(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool
) -> Evidence:
    """The same of its code for one target; with the halo that its program gives to its input, where it needs that."""

    def staged(trials: Trials, drawn_trials: Trials, explained: bool) -> Evidence:
        return _staged(trials, drawn_trials, evidence, kernel, explained)

    plain = staged(trials, drawn_trials, explained)
    halo = halo_of(plain, kernel)
    if halo is None:
        return plain
    # Where the kernel counts from behind the halo, elements are called otherwise than it calls them: then none is told.
    is_told = explained and not halo.is_before
    return halo.of(staged(haloed(trials, halo), haloed(drawn_trials, halo), is_told))


def _staged(trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool) -> Evidence:
    evidence, kernel = run_variant(trials, evidence, kernel, explained)
    evidence = with_smaller_block(trials, evidence, kernel)
    evidence = with_staging(trials, evidence, kernel)
    evidence = with_occupancy_of_kernel(trials, evidence, kernel)
    evidence = with_reordered(trials, evidence, kernel)
    evidence = with_drawn_cases(drawn_trials, evidence, kernel, explained)
    evidence = with_later_launch(trials, evidence, kernel, drawn_trials.oracle)
    evidence = with_own_check(trials, evidence, kernel)
    return with_margin(trials, evidence, kernel)
