"""What was found out about a variant and host code, as the records of the result; and what these say when the marks
stand: the smallest changes that make what was handed in right, or faster, and what checks count of the lab's own
solutions where a limit is exceeded.  No mark depends on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import structs

from grader.checks import checks_with
from grader.checks.correct import own_check_msg
from grader.checks.outcomes import fault_msg, verdict_of_runs
from grader.diagnosis.text import difference_msg, hazard_msg, projections_msg
from grader.errors import InternalError, UsageError
from grader.grading.options import GradeOptions
from grader.lab.checks import HostCodeSettings, RacesSettings
from grader.lab.records import Drawn, Lab
from grader.lab.records import Variant as LabVariant
from grader.launching.backend import reason_msg
from grader.launching.trial import Run, Trials
from grader.measured import PredictedTime
from grader.message import Message, msg, sizes_msg, verbatim
from grader.ptx.records import Hazard as RawHazard
from grader.result import Case, Check, Hazard, Launch, Result, Variant
from grader.running.data_flow import reached_text
from grader.running.evidence import Evidence
from grader.submission.cpp.scopes import branch_around, uneven_loop_around
from grader.submission.kernels.records import ObservedRuns, SeenRun
from grader.submission.lexical import without_comments
from grader.submission.records import Interpretation, Missing, Origin, VariantBinding

if TYPE_CHECKING:
    from grader.compiler.several import Compilers
    from grader.gpu.part import Gpu
    from grader.launching.programs import DeviceProgram
    from grader.repair.faster import Prediction
    from grader.repair.program import Rerun
    from grader.running.function_runs import Called
    from grader.submission.changes import Original
    from grader.timing.instructions import Processor
    from grader.timing.model import Prediction as ModelTime
    from grader.timing.prediction import FollowedLaunch


def variant_record(evidence: Evidence) -> Variant:
    binding = evidence.binding
    if isinstance(binding, Missing):
        return Variant()
    return Variant(
        kernel=binding.kernel.name,
        file=binding.kernel.file,
        line=binding.kernel.line,
        end_line=binding.kernel.end_line,
        launch=_launch(binding, evidence.interpretation) if evidence.interpretation else None,
        cases=[_case(run) for run in (*evidence.runs, *evidence.larger)],
        counters=evidence.counters,
        hazards=_hazards(evidence),
        remarks_said=_remarks(evidence),
        timing=list(evidence.timing),
        resources=evidence.resources,
        host_memory=list(evidence.host_memory),
        witnesses=list(evidence.witnesses),
    )


def remark_msg(kind: str, line: int, count: int = 1) -> Message:
    """A remark; an unknown kind is given as it is."""
    match kind:
        case "bidi_control":
            return msg("remarks.bidi_control", line=line)
        case "cell_magic":
            return msg("remarks.cell_magic", line=line)
        case "unknown_lab":
            return msg("remarks.unknown_lab", line=line)
        case "block_contradicted":
            return msg("remarks.block_contradicted", line=line)
        case "block_overruled":
            return msg("remarks.block_overruled", line=line)
        case "swapped_launch":
            return msg("remarks.swapped_launch", line=line)
        case "exited_before_barrier":
            return msg("remarks.exited_before_barrier", line=line, n=count)
        case "returned_in_mask":
            return msg("remarks.returned_in_mask", line=line, n=count)
    return verbatim(f"{kind} ({line})")


def observation_remarks(observed: ObservedRuns) -> list[Message]:
    """Why programs were not run, or not as they are."""
    if observed.absent is not None:
        return [msg("observation.absent", why=observed.absent)]
    remarks = []
    for file, kernel, line in observed.uncommented:
        remarks.append(msg("observation.uncommented", file=file, kernel=kernel, line=line))
    for run in (run for run in observed.runs if not run.probe and not run.forgiven):
        if not run.launches and any(other.forgiven and other.files == run.files for other in observed.runs):
            remarks.append(msg("checks.host_code.forgiven", file=run.files[0]))
        elif run.cause is not None and not run.launches and run.cause.id != "observation.no_main":
            if len({other.files for other in observed.runs}) > 1:
                remarks.append(msg("observation.read_file", file=run.files[0], why=run.cause, **_place(run)))
            else:
                remarks.append(msg("observation.read", why=run.cause, **_place(run)))
        elif run.cause is not None and run.cause.id == "programs.too_long" and not observed.ended(run.files[0]):
            remarks.append(msg("observation.cut", why=run.cause, **_place(run)))
        elif run.change is not None and run.launches:
            change = run.change
            remarks.append(msg("observation.smaller", name=change.name, before=change.before, after=change.after))
    return remarks


def _place(run: SeenRun) -> dict[str, str | int]:
    """Return where a program stopped; its file is named where it is not the one with `main`."""
    elsewhere = {"in_file": run.cause_file} if run.cause_file not in ("", run.files[0]) else {}
    return {"line": run.cause_line, **elsewhere}


_LAUNCH_ORIGINS: Mapping[Origin, Literal["submission", "lab", "inferred"]] = {
    "stated": "submission",
    "observed": "submission",
    "read": "submission",
    "inferred": "inferred",
    "lab": "lab",
}


def _launch(binding: VariantBinding, interpretation: Interpretation) -> Launch:
    plan = interpretation.launch
    requested = binding.requested.block if binding.requested else None
    return Launch(
        block=plan.block,
        origin=_LAUNCH_ORIGINS[interpretation.origins.block],
        by=interpretation.origins.block,
        tile=list(plan.tile),
        shared_bytes=plan.shared_bytes,
        line=plan.line or None,
        requested=requested if requested != plan.block else None,
    )


def _case(run: Run) -> Case:
    return msgspec.structs.replace(_plain_case(run), drawn=run.drawn)


def _plain_case(run: Run) -> Case:
    difference = run.difference
    if run.outcome.status == "unsupported":
        return Case(
            backend=run.backend,
            size=dict(run.sizes),
            status="error",
            kind=run.kind,
            message_said=reason_msg(run.outcome),
        )
    if difference is None:
        return Case(
            backend=run.backend, size=dict(run.sizes), status="fail", kind=run.kind, message_said=fault_msg(run.outcome)
        )
    if run.changed_inputs:
        return Case(
            backend=run.backend,
            size=dict(run.sizes),
            status="fail",
            kind=run.kind,
            message_said=msg("outputs.input_changed", name=run.changed_inputs[0]),
        )
    return Case(
        backend=run.backend,
        size=dict(run.sizes),
        status="fail" if difference.mismatches else "pass",
        kind=run.kind,
        max_abs_error=difference.max_abs_error,
        mismatches=difference.mismatches,
        first_wrong=list(difference.first) if difference.first is not None else None,
        message_said=difference_msg(difference) if difference.mismatches else projections_msg(difference),
    )


def _hazards(evidence: Evidence) -> list[Hazard]:
    """Return one record for each kind and line over all runs, those at exact sizes first."""
    by_place: dict[tuple[str, str, int, str], RawHazard] = {}
    for run in [*evidence.runs_of("correct", "observe"), *evidence.runs_of("ragged")]:
        for hazard in run.outcome.hazards:
            file = evidence.file_of(hazard.file)
            by_place.setdefault((file, hazard.kind, hazard.line, hazard.detail), evidence.as_written(hazard))
    return [_hazard(by_place[key], key[0]) for key in sorted(by_place, key=lambda k: (k[0], k[2], k[1], k[3]))]


def _hazard(hazard: RawHazard, file: str) -> Hazard:
    return Hazard(
        kind=hazard.kind,  # type: ignore[arg-type]  # the emulator's names are the contract's
        line=hazard.line,
        message_said=hazard_msg(hazard),
        thread=hazard.thread,
        block=hazard.block,
        detail=hazard.detail,
        array=hazard.array,
        count=hazard.count,
        other_line=hazard.other_line or None,
        other_thread=hazard.other_thread,
        other_block=hazard.other_block,
        file=file,
    )


def _is_right(evidence: Evidence) -> bool:
    return all(run.is_right and run.outcome.status == "ok" for run in evidence.runs)


def _remarks(evidence: Evidence) -> list[Message]:
    remarks: list[Message] = []
    interpretation = evidence.interpretation
    if evidence.hard_coded_sizes is not None:
        remarks.append(msg("remarks.wired_sizes", sizes=sizes_msg(evidence.hard_coded_sizes)))
    elif (
        interpretation is not None and interpretation.declared and not interpretation.constants and _is_right(evidence)
    ):
        remarks.append(msg("remarks.own_sizes", sizes=sizes_msg(dict(interpretation.declared))))
    if interpretation is not None:
        remarks += _handed_twice(evidence, interpretation)
    if evidence.halo is not None:
        remarks.append(evidence.halo)
    if evidence.needs:
        remarks.append(msg("remarks.needs_device", device=evidence.needs))
    for other in evidence.others:
        where: dict[str, str | int] = {"kernel": other.kernel, "file": other.file, "line": other.line}
        remarks.append(
            msg("remarks.one_thread", **where)
            if other.points is None
            else msg("remarks.other_kernel", **where, points=other.points)
        )
    own = evidence.own_check
    if own is not None and not own.is_right and own.case_is_right is not False and not own.is_explained:
        remarks.append(own_check_msg(own))
    remarks += [msg("remarks.unset", variable=name, line=line) for name, line in evidence.compilation.unset]
    if evidence.untimed:
        remarks.append(evidence.untimed)
    remarks += [
        msg("remarks.large", what=verdict.message)
        for run in evidence.larger
        if (verdict := verdict_of_runs([run])) is not None
    ]
    races = evidence.variant.settings_of(RacesSettings)
    # What costs points is told by the check.
    judged = {"exited_before_barrier"} if races is not None and races.all_reach else set()
    counts = {place: count for place, count in evidence.remarks().items() if place[0] not in judged}
    for run in evidence.runs:
        for hazard in run.outcome.hazards:
            # A fault that is told there already: it is read from them.
            if hazard.detail == "inactive_source":
                counts.pop(("returned_in_mask", hazard.line), None)
    rows = sorted(counts.items(), key=lambda i: i[0][1])
    return remarks + [
        (_left_before(evidence, line, n) if kind == "exited_before_barrier" else None) or remark_msg(kind, line, n)
        for (kind, line), n in rows
    ]


def _handed_twice(evidence: Evidence, interpretation: Interpretation) -> list[Message]:
    """Return remarks on kernels of two inputs that are graded with the lab's only one for both."""
    pairs = zip(interpretation.roles, evidence.bound.kernel.parameters, strict=True)
    pointers = [(role, p.name) for role, p in pairs if p.is_pointer]
    remarks = []
    for role in dict.fromkeys(role for role, _name in pointers):
        names = [name for other, name in pointers if other == role]
        if len(names) > 1:
            remarks.append(msg("remarks.handed_twice", first=names[0], second=names[1], role=role))
    return remarks


def _left_before(evidence: Evidence, line: int, count: int) -> Message | None:
    """Return the remark on threads that ended before a barrier within an `if`, or within a loop that begins at the
    thread's number; None outside of both."""
    file = evidence.bound.kernel.file
    branch, loop = (around(file, evidence.source.get(file, ""), line) for around in (branch_around, uneven_loop_around))
    if loop is not None:
        return msg("remarks.exited_before_barrier_in_loop", line=line, loop=loop)
    return msg("remarks.exited_before_barrier_in_if", line=line, branch=branch, n=count) if branch else None


_OF_NAN = frozenset({"checks.host_code.not_noticed_nan", "checks.host_code.not_noticed_nan_by_max"})
_MAKES_NAN = re.compile(
    r"(?:\b|__f?)(?:r?sqrt|log(?:2|10|1p|b)?|exp(?:2|10|m1)?|pow|asin|acos|acosh|atanh|[lt]gamma|fdivide|fmod)f?"
    r"(?:_r[nzud])?\s*\("
    # A quotient of elements.
    r"|/=?\s*(?:\([^()]*\)\s*)?\(*\s*\w+\s*\["
)
_IS_NAN = re.compile(r"\bNAN\b|\bnan[fl]?\s*\(|_NaN\b")


def _may_be_nan(evidence: Evidence) -> bool:
    """Whether a program's check may meet NaN: a wrong kernel's, for that is what memory holds that nobody has set, or
    one that roots, logarithms and quotients make, or the data hold.  Of other right programs it says nothing that
    matters."""
    if any(not run.is_right for run in evidence.runs):
        return True
    kernel, texts = evidence.bound.kernel, {file: without_comments(text) for file, text in evidence.source.items()}
    text = reached_text(kernel.name, texts.get(kernel.file, ""))
    return _MAKES_NAN.search(text) is not None or any(map(_IS_NAN.search, texts.values()))


def host_remarks(by_variant: Mapping[str, Evidence]) -> list[Message]:
    """Return remarks on untidy host code, and on faults in it that no check of the lab judges."""
    faults = []
    for evidence in by_variant.values():
        asked = (spec.settings for spec in evidence.variant.checks if spec.check == "host_code")
        judged = [f for s in asked if isinstance(s, HostCodeSettings) for f in evidence.host.counted(s.of)]
        faults += [fault for fault in evidence.host.untidy if fault.message.id not in _OF_NAN or _may_be_nan(evidence)]
        faults += [fault for fault in evidence.host.faults if fault not in judged]
    places: dict[tuple[str, Message], list[int]] = {}
    for fault in faults:
        lines = places.setdefault((fault.file, fault.message), [])
        # That nothing is compared is a fault of the program, wherever its kernels are launched.
        if fault.line not in lines and not (lines and fault.kind == "not_compared"):
            lines.append(fault.line)
    return [_host_remark(file, sorted(lines), message) for (file, message), lines in places.items()]


def _host_remark(file: str, lines: Sequence[int], fault: Message) -> Message:
    several = {"lines": ", ".join(map(str, lines))} if len(lines) > 1 else {}
    return msg("remarks.host_code", file=file, line=lines[0], fault=fault, **several)


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
    compiler: Compilers,
    gpu: Gpu | None,
    device: str | None,
    predict: Callable[[Sequence[FollowedLaunch]], Sequence[ModelTime | Message]],
) -> Prediction | None:
    """What tells how fast a changed kernel is; None where no times are predicted.

    predict: as of `Prediction`.  gpu, device: what times kernels, and its name in a result; None where there is none.
    """
    if processor is None:
        return None
    from grader.grading.predictions import stores_of
    from grader.repair.faster import Prediction, Stopwatch

    stopwatch = None
    if gpu is not None and device is not None:
        stopwatch = Stopwatch(device, lambda kernels, sizes: gpu.gains(kernels, sizes, trials.oracle, compiler))

    def expect(program: DeviceProgram) -> None:
        compiler.expect(trials.programs.texts(program), program.expressions)

    stores = stores_of(processor, trials.programs, compiler)
    return Prediction(predicted, processor, stores, predict, expect, stopwatch)


def with_changes(result: Result, of: Changing, prediction: Prediction | None) -> Result:
    """`result` with the smallest changes that make wrong kernels right, and right ones faster."""
    from grader.repair.faster import faster, with_faster
    from grader.repair.search import search
    from grader.repair.verified import with_repairs

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
    from grader.repair.verified import with_repairs

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
    if is_shown:
        return result
    from grader.repair.verified import without_answers

    return without_answers(result)


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


def _figures(lab: Lab, variant: LabVariant, grade: Grade) -> Figures:
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
