"""What a program says of a kernel's results itself, held against what was found, and the case that it ran."""

from __future__ import annotations

from dataclasses import replace

from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run, Trials
from grader.result import CaseKind
from grader.running.evidence import Evidence, OwnCheck
from grader.submission.kernels.records import SeenLaunch, SeenRun, SeenWord


def with_own_check(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what the program says of the kernel where the runs so far say otherwise, and a run at its sizes.

    That run is one more of those that the kernel is graded by, unless the launch or the host code is known to be wrong.
    """
    statement = _said(kernel)
    if statement is None or not evidence.runs or kernel.target:
        return evidence
    run, word = statement
    is_right = all(one.is_right and one.outcome.status == "ok" for one in evidence.runs)
    if is_right == word.is_right:
        return evidence
    own = OwnCheck(word.text, word.is_right)
    if evidence.host.misleads and not word.is_right:
        return replace(evidence, own_check=replace(own, is_explained=True))
    case = _case(trials, evidence, kernel, run)
    if case is None:
        return replace(evidence, own_check=own)
    added = () if any(case.sizes == one.sizes and not one.drawn for one in evidence.runs) else (case,)
    own = replace(own, sizes=case.sizes, case_is_right=case.is_right)
    if case.is_right and not word.is_right and evidence.host.suspected:
        host = replace(evidence.host, faults=(*evidence.host.suspected, *evidence.host.faults), misleads=True)
        evidence, own = replace(evidence, host=host), replace(own, is_explained=True)
    return replace(evidence, own_check=own, runs=(*evidence.runs, *added))


def said_of(kernel: BoundKernel) -> SeenWord | None:
    """What the kernel's program says of it, None where that is nothing."""
    statement = _said(kernel)
    return statement[1] if statement is not None else None


def _said(kernel: BoundKernel) -> tuple[SeenRun, SeenWord] | None:
    """The run with kernels of the kernel's program, and the line about it: of several the first that calls it wrong."""
    name = kernel.binding.kernel.name
    lines = {launch.line for launch in _launches(kernel)}
    for run in kernel.submission.observed.runs:
        if not run.results or kernel.binding.kernel.file not in run.files:
            continue
        words = [word for word in run.said if word.kernel == name and (not lines or word.line in lines)]
        if words:
            return run, next((word for word in words if not word.is_right), words[-1])
    return None


def _launches(kernel: BoundKernel) -> list[SeenLaunch]:
    """The launches of this very instance, of a template that is several variants."""
    site = kernel.binding.requested
    own = [launch for launch in kernel.submission.observed.launches if launch.kernel == kernel.binding.kernel.name]
    if site is None or not site.template_arguments:
        return own
    return [launch for launch in own if launch.template_arguments == site.template_arguments]


def _case(trials: Trials, evidence: Evidence, kernel: BoundKernel, run: SeenRun) -> Run | None:
    """A run at the sizes that the program had in that run; None where they cannot be told."""
    lines = {launch.line for launch in _launches(kernel)}
    name = kernel.binding.kernel.name
    launches = [x for x in run.launches if x.kernel == name and x.line in lines and not x.refused]
    if not launches or evidence.interpretation is None:
        return None
    kernel = kernel.read_as(evidence.interpretation)
    values = {argument.name: argument.value for argument in launches[-1].arguments}
    sizes = dict(kernel.interpretation.pinned)
    if run.change is None:
        sizes |= dict(kernel.interpretation.declared)
    for role, parameter in zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True):
        value = values.get(parameter.name)
        if role in kernel.lab.size_names and isinstance(value, int):
            sizes[role] = value
    if set(sizes) != set(kernel.lab.size_names) or min(sizes.values()) < 1:
        return None
    earlier = next((one for one in evidence.runs if one.sizes == sizes and not one.drawn), None)
    kind: CaseKind = "correct" if kernel.sizes.rounded(sizes) == sizes else "ragged"
    return earlier or trials.run(kernel, kind, sizes)
