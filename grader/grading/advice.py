"""What a result says when the marks stand: the smallest changes that make what was handed in right, or faster, and what
checks count of the lab's own solutions where a limit is exceeded.  No mark depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from grader.checks import checks_with
from grader.errors import InternalError, UsageError
from grader.grading.options import GradeOptions
from grader.grading.predictions import stores_of
from grader.lab.records import Drawn, Lab, Variant
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
from grader.submission.records import VariantBinding

if TYPE_CHECKING:
    from grader.compiler.process import CompilerProcess
    from grader.gpu.part import Gpu
    from grader.running.function_runs import Called
    from grader.timing.instructions import Processor
    from grader.timing.model import Prediction as ModelTime
    from grader.timing.prediction import FollowedLaunch


@dataclass(frozen=True, slots=True)
class Changing:
    """Kernels of which changed ones are run and graded; evidence: by variant, on the emulator."""

    original: Original
    trials: Trials
    drawn_trials: Trials
    evidence: Mapping[str, Evidence]
    rerun: Rerun


def prediction_of(
    predicted: Mapping[str, PredictedTime | Message],
    processor: Processor | None,
    trials: Trials,
    compiler: CompilerProcess,
    gpu: Gpu | None,
    device: str | None,
    predict: Callable[[Sequence[FollowedLaunch]], Sequence[ModelTime | None]],
) -> Prediction | None:
    """What tells how fast a changed kernel is; None where no times are predicted.

    predict: as of `Prediction`.  gpu, device: what times kernels, and its name in a result; None where there is none.
    """
    if processor is None:
        return None
    stopwatch = None
    if gpu is not None and device is not None:
        stopwatch = Stopwatch(device, lambda kernels, sizes: gpu.gains(kernels, sizes, trials.oracle, compiler))
    return Prediction(predicted, processor, stores_of(processor, trials.programs, compiler), predict, stopwatch)


def with_changes(result: Result, of: Changing, prediction: Prediction | None) -> Result:
    """`result` with the smallest changes that make wrong kernels right, and right ones faster."""
    if result.status != "passed":
        repairs = search(of.original, of.trials, of.drawn_trials, of.evidence, result.checks, of.rerun)
        result = with_repairs(result, *repairs)
        result = structs.replace(result, checks=[_at_its_place(c, of.evidence.get(c.variant)) for c in result.checks])
    if prediction is None:
        return result
    changes = faster(of.original, of.trials, of.drawn_trials, of.evidence, result.checks, prediction, of.rerun)
    return with_faster(result, changes)


def with_function_changes(result: Result, called: Called | None, evidence: Mapping[str, Evidence]) -> Result:
    """`result` with the smallest change that makes a wrong function, or a program, right.

    called: how it was run, None where it was not.  evidence: evidence by variant.
    """
    if called is None:
        return result
    from grader.repair.of_function import function_repairs

    result = with_repairs(result, function_repairs(called, evidence, result.checks))
    return structs.replace(result, checks=[_at_its_place(c, evidence.get(c.variant)) for c in result.checks])


def _at_its_place(check: Check, evidence: Evidence | None) -> Check:
    """Return a check with the line of the change that mends it, where it named only what was called, or no kernel."""
    if check.repair is None or evidence is None or not isinstance(evidence.binding, VariantBinding):
        return check
    places = {("", evidence.bound.kernel.line), (evidence.bound.kernel.file, evidence.bound.kernel.line)}
    places |= {evidence.suspect} if evidence.suspect is not None else set()
    if check.repair is None or (check.file or "", check.line) not in places:
        return check
    return structs.replace(check, file=evidence.file_of(check.repair.file), line=check.repair.line)


def with_answers(result: Result, lab: Lab, options: GradeOptions) -> Result:
    """`result` with no change to be read from it, unless the student, or who grades, is to see them."""
    is_shown = lab.repairs == "student" or options.answers or options.view == "teacher"
    return result if is_shown else without_answers(result)


Grade = Callable[[Path, Lab, GradeOptions], Result]
Figures = Mapping[str, Mapping[str, object]]
"""The data of checks, by check."""

OF_LIMITS = frozenset(checks_with("limit"))
RESTED_ON = frozenset({"present", "compiles", "launch", "correct"})
"""Checks that those with limits rest on."""

_counted: dict[tuple[object, ...], Figures] = {}
"""By what it follows from."""


def beside_own(
    lab: Lab, by_variant: Mapping[str, Evidence], checks: Sequence[Check], grade: Grade
) -> dict[str, Evidence] | None:
    """The evidence with what those checks of `OF_LIMITS` that failed count of the lab's own solutions; None: none did.

    grade: the pipeline's.  Nothing stands beside a number where the lab's own solution does not pass the check itself.
    """
    evidence = dict(by_variant)
    is_beside = False
    for variant in lab.variants:
        failed = [c.check for c in checks if c.variant == variant.name and c.status == "fail" and c.check in OF_LIMITS]
        if failed:
            is_beside, own = True, _figures(lab, variant, grade)
            evidence[variant.name] = replace(
                evidence[variant.name], right={name: own[name] for name in failed if name in own}
            )
    return evidence if is_beside else None


def _figures(lab: Lab, variant: Variant, grade: Grade) -> Figures:
    """Return what is counted of a variant's reference kernel, for the checks that it passes."""
    own = variant.reference.file
    key = (variant.name, repr(lab), *(file.read_bytes() for file in (own, lab.oracle, *lab.files.values())))
    if key not in _counted:
        kept = tuple(spec for spec in variant.checks if spec.check in OF_LIMITS | RESTED_ON)
        cases = {**lab.cases, "emulator": replace(lab.cases["emulator"], ragged=())}
        alone = replace(lab, variants=(replace(variant, checks=kept),), cases=cases, drawn=Drawn(), sweeps=())
        try:
            checks = grade(own, alone, GradeOptions(backend="emulator", repairs=False)).checks
        except (UsageError, InternalError):
            # What is wrong with the lab's own file is told where a lab is tried out.
            checks = []
        _counted[key] = {check.check: check.data for check in checks if check.status == "pass"}
    return _counted[key]
