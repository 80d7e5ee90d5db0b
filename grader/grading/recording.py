"""What was found out about a variant, as the records of the result."""

from __future__ import annotations

from typing import Literal

from grader.checks.outcomes import fault_text, verdict_of_runs
from grader.diagnosis.faults import hazard_msg
from grader.i18n import _, ngettext
from grader.oracle.compare import Difference
from grader.ptx.records import Hazard as RawHazard
from grader.result import Case, Hazard, Launch, Variant
from grader.running.evidence import Evidence, Run
from grader.submission.records import Candidate, Missing, VariantBinding
from grader.wording import changed_text, difference_text, sizes_text
from grader.words import said

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def variant_record(evidence: Evidence) -> Variant:
    """The record of a variant."""
    binding = evidence.binding
    if isinstance(binding, Missing):
        return Variant()
    return Variant(
        kernel=binding.kernel.name,
        file=binding.kernel.file,
        line=binding.kernel.line,
        end_line=binding.kernel.end_line,
        launch=_launch(binding, evidence.candidate) if evidence.candidate else None,
        cases=[_case(run) for run in (*evidence.runs, *evidence.larger)],
        counters=evidence.counters,
        hazards=_hazards(evidence),
        remarks=_remarks(evidence),
        timing=list(evidence.timing),
        resources=evidence.resources,
        host_memory=list(evidence.host_memory),
        witnesses=list(evidence.witnesses),
    )


def remark_text(kind: str, line: int, count: int = 1) -> str:
    """A remark in words; an unknown kind is given as it is."""
    match kind:
        case "bidi_control":
            return _("Line {line}: an invisible character changes the order in which the line is shown.").format(
                line=line
            )
        case "host_function_called":
            return _(
                "Line {line}: device code calls this function, which lacks __device__: nvcc would refuse that. "
                "Here it was compiled for the device all the same."
            ).format(line=line)
        case "exited_before_barrier":
            return ngettext(
                "Line {line}: {n} thread had left the kernel before this barrier; "
                "allowed since compute capability 7.0.",
                "Line {line}: {n} threads had left the kernel before this barrier; "
                "allowed since compute capability 7.0.",
                count,
            ).format(line=line, n=count)
    return f"{kind} ({line})"


def _launch(binding: VariantBinding, candidate: Candidate) -> Launch:
    plan = candidate.launch
    requested = binding.requested.block if binding.requested else None
    origin: Literal["submission", "lab", "inferred"] = (
        "submission" if plan.origin == "submission" else "inferred" if plan.origin == "inferred" else "lab"
    )
    return Launch(
        block=plan.block,
        origin=origin,
        tile=list(plan.tile),
        shared_bytes=plan.shared_bytes,
        line=plan.line or None,
        requested=requested if requested != plan.block else None,
    )


def _case(run: Run) -> Case:
    difference = run.difference
    if run.outcome.status == "unsupported":
        return Case(
            backend=run.backend, size=dict(run.sizes), status="error", kind=run.kind, message=run.outcome.reason
        )
    if difference is None:
        return Case(
            backend=run.backend, size=dict(run.sizes), status="fail", kind=run.kind, message=fault_text(run.outcome)
        )
    if run.changed_inputs:
        return Case(
            backend=run.backend,
            size=dict(run.sizes),
            status="fail",
            kind=run.kind,
            message=changed_text(run.changed_inputs[0]),
        )
    return Case(
        backend=run.backend,
        size=dict(run.sizes),
        status="fail" if difference.mismatches else "pass",
        kind=run.kind,
        max_abs_error=difference.max_abs_error,
        mismatches=difference.mismatches,
        first_wrong=list(difference.first) if difference.first is not None else None,
        message=difference_text(difference) if difference.mismatches else _how(difference),
    )


def _how(difference: Difference) -> str:
    """How a right output was told to be right, where not by comparing every element."""
    if not difference.projections:
        return ""
    return ngettext(
        "checked by {n} random projection; it misses a wrong row with a probability of at most 2⁻{power}",
        "checked by {n} random projections; they miss a wrong row with a probability of at most 2⁻{power}",
        difference.projections,
    ).format(n=difference.projections, power=str(difference.projections).translate(_SUPERSCRIPT))


def _hazards(evidence: Evidence) -> list[Hazard]:
    """One record a kind and line over all runs, those at exact sizes first."""
    seen: dict[tuple[str, int, str], RawHazard] = {}
    for run in [*evidence.runs_of("correct", "observe"), *evidence.runs_of("ragged")]:
        for hazard in run.outcome.hazards:
            seen.setdefault((hazard.kind, hazard.line, hazard.detail), hazard)
    return [_hazard(seen[key]) for key in sorted(seen, key=lambda k: (k[1], k[0], k[2]))]


def _hazard(hazard: RawHazard) -> Hazard:
    return Hazard(
        kind=hazard.kind,  # type: ignore[arg-type]  # the emulator's names are the contract's
        line=hazard.line,
        message=said(hazard_msg(hazard)),
        thread=hazard.thread,
        block=hazard.block,
        detail=hazard.detail,
        array=hazard.array,
        count=hazard.count,
        other_line=hazard.other_line or None,
        other_thread=hazard.other_thread,
        other_block=hazard.other_block,
    )


def _remarks(evidence: Evidence) -> list[str]:
    remarks = []
    if evidence.wired_sizes is not None:
        remarks.append(
            _("The kernel works at {sizes} only: the size is a constant of the program. Make it a parameter.").format(
                sizes=sizes_text(evidence.wired_sizes)
            )
        )
    candidate = evidence.candidate
    if candidate is not None and candidate.own and not candidate.constants:
        remarks.append(
            _(
                "Graded at {sizes} only: with another value of this constant the kernel is wrong, so its value stands "
                "in the program a second time."
            ).format(sizes=sizes_text(dict(candidate.own)))
        )
    if evidence.untimed:
        remarks.append(evidence.untimed)
    remarks += [
        _("{what}. So large a size is tried beside the others and costs no points.").format(
            what=said(verdict.message).rstrip(".")
        )
        for run in evidence.larger
        if (verdict := verdict_of_runs([run])) is not None
    ]
    counts: dict[tuple[str, int], int] = {}
    for run in evidence.runs:
        for kind, line, count in run.outcome.remarks:
            counts[kind, line] = max(counts.get((kind, line), 0), count)
    return remarks + [
        remark_text(kind, line, count) for (kind, line), count in sorted(counts.items(), key=lambda i: i[0][1])
    ]
