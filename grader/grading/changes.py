"""What a result says of the smallest changes: those that make what was handed in right, and those that make it faster.

No mark depends on them; they are looked for when the marks stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from grader.grading.options import GradeOptions
from grader.grading.predictions import stores_of
from grader.lab.records import Lab
from grader.launching.trial import Trials
from grader.measured import PredictedTime
from grader.message import Message
from grader.repair.faster import Prediction, Stopwatch, faster, with_faster
from grader.repair.program import Rerun
from grader.repair.search import search
from grader.repair.verified import with_repairs, without_answers
from grader.result import Check, Result
from grader.running.evidence import Evidence
from grader.submission.changes import Original

if TYPE_CHECKING:
    from grader.compiler.process import CompilerProcess
    from grader.gpu.part import Gpu
    from grader.running.function_runs import Called
    from grader.timing.instructions import Processor


@dataclass(frozen=True, slots=True)
class Changing:
    """Kernels of which changed ones are run and graded; found: the evidence by variant, on the emulator."""

    original: Original
    trials: Trials
    drawn_trials: Trials
    found: Mapping[str, Evidence]
    rerun: Rerun


def prediction_of(
    foretold: Mapping[str, PredictedTime | Message],
    processor: Processor | None,
    trials: Trials,
    compiler: CompilerProcess,
    gpu: Gpu | None,
    device: str | None,
) -> Prediction | None:
    """What tells how fast a changed kernel is; None where no times are foretold.

    gpu, device: what times kernels, and the name it has in a result; None where there is none.
    """
    if processor is None:
        return None
    stopwatch = None
    if gpu is not None and device is not None:
        stopwatch = Stopwatch(device, lambda kernels, sizes: gpu.gains(kernels, sizes, trials.oracle, compiler))
    return Prediction(foretold, processor, stores_of(processor, trials.programs, compiler), stopwatch)


def with_changes(result: Result, of: Changing, prediction: Prediction | None) -> Result:
    """`result` with the smallest changes that make wrong kernels right, and right ones faster."""
    if result.status != "passed":
        found = search(of.original, of.trials, of.drawn_trials, of.found, result.checks, of.rerun)
        result = with_repairs(result, *found)
    if prediction is None:
        return result
    changes = faster(of.original, of.trials, of.drawn_trials, of.found, result.checks, prediction, of.rerun)
    return with_faster(result, changes)


def with_function_changes(result: Result, called: Called | None, found: Mapping[str, Evidence]) -> Result:
    """`result` with the smallest change that makes a wrong function, or a program, right.

    called: how it was run, None where it was not.  found: evidence by variant.
    """
    if called is None:
        return result
    from grader.repair.of_function import function_repairs

    result = with_repairs(result, function_repairs(called, found, result.checks))
    return structs.replace(result, checks=[_at_its_place(c, found[c.variant]) for c in result.checks])


def _at_its_place(check: Check, evidence: Evidence) -> Check:
    """A check with the line of the change that mends it, where it named only what was called."""
    places = {("", evidence.bound.kernel.line), (evidence.bound.kernel.file, evidence.bound.kernel.line)}
    places |= {evidence.suspect} if evidence.suspect is not None else set()
    if check.repair is None or (check.file or "", check.line) not in places:
        return check
    return structs.replace(check, file=evidence.file_of(check.repair.file), line=check.repair.line)


def with_answers(result: Result, lab: Lab, options: GradeOptions) -> Result:
    """`result` with no change to be read from it, unless the student, or who grades, is to see them."""
    is_shown = lab.repairs == "student" or options.answers or options.view == "teacher"
    return result if is_shown else without_answers(result)
