"""Runs a lab's sweeps on the emulator: the work of each point is counted, its result compared with the oracle's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from grader.backends.base import LaunchOutcome, LaunchRequest
from grader.i18n import _, say
from grader.lab.records import Lab, Sizes, Sweep
from grader.oracle.expected import Oracle
from grader.result import Estimate, SweepPoint, SweepRecord
from grader.running.cases import ProgramRequest
from grader.running.evidence import Evidence, Run
from grader.running.references import shape_at
from grader.running.runs import Runner
from grader.submission.changes import Program
from grader.submission.records import VariantBinding
from grader.sweeps.plan import (
    Place,
    Ready,
    Subject,
    places,
    ready,
    reference_subject,
    replace_point,
    unfit,
    without_data,
)
from grader.sweeps.programs import ChangedLaunch, CompileProgram, Programs

if TYPE_CHECKING:
    pass

SECTOR_BYTES = 32
COPIES = ("pageable", "pinned", "write_combined")
"""Kinds of host memory that a kernel's arrays are copied from and to; in the other it works on them where they are."""

MOST_HOPELESS = 2
"""So many launches of one kernel that do not end, and it is not launched again, in any sweep."""

MOST_CHARACTERS = 100_000
"""Of source text: every change of it is read anew."""

_SHARED = re.compile(r"(\d+) bytes of shared memory a block, at most (\d+)")
"""The emulator's words for what only the compiled kernel shows."""

HOPELESS = ("time", "instructions", "endless", "deadlock")
"""Ends of a launch after which the kernel's other points are not tried: each would take seconds."""

KnownPoints = MutableMapping[tuple[str, str], list[SweepPoint]]
"""Points of the lab's own kernels by sweep and variant."""


def _is_known(known: KnownPoints, sweep: Sweep, subject: Subject) -> bool:
    return subject.of == "reference" and (sweep.id, subject.variant) in known


class EmulatorSweeps:
    """Runs sweeps on the emulator.

    oracle: the lab's.  compile_program: compiles a changed program for the emulator.
    known: points of the lab's own kernels by sweep and variant, from an earlier run; those that lack are added.
    """

    def __init__(
        self, lab: Lab, oracle: Oracle, compile_program: CompileProgram, known: KnownPoints | None = None
    ) -> None:
        self._lab = lab
        self._oracle = oracle
        self._compile = compile_program
        self._known = known if known is not None else {}
        self._runs: dict[tuple[object, ...], Run] = {}
        self._endless: Counter[tuple[str, str]] = Counter()

    def run(self, subjects: Sequence[Subject], left_out: Mapping[str, str]) -> list[SweepRecord]:
        """All of the lab's sweeps for some kernels; `left_out`: variants that are not swept, and why."""
        pool = ThreadPoolExecutor(1)
        try:
            programs = Programs(self._compile, pool)
            plans = [(sweep, self._plan(sweep, subjects, programs)) for sweep in self._lab.sweeps]
            runner = Runner(self._lab, programs, self._oracle)
            return [
                record_of(sweep, "emulator", self._sweep(sweep, planned, runner, subjects), left_out)
                for sweep, planned in plans
            ]
        finally:
            pool.shutdown(cancel_futures=True)

    def _plan(
        self, sweep: Sweep, subjects: Sequence[Subject], programs: Programs
    ) -> list[tuple[Subject, list[Ready | SweepPoint]]]:
        """Every point of a sweep, with its program on its way through the compiler."""
        found: list[tuple[Subject, list[Ready | SweepPoint]]] = []
        for subject in subjects:
            if subject.variant in sweep.variants and _is_known(self._known, sweep, subject):
                found.append((subject, []))
            elif subject.variant in sweep.variants:
                prepared = [ready(self._lab, sweep, subject, place) for place in places(sweep, "emulator")]
                for point in prepared:
                    if isinstance(point, Ready):
                        programs.order(_changed(point, subjects, without_data(self._lab, point)))
                found.append((subject, prepared))
        return found

    def _sweep(
        self,
        sweep: Sweep,
        planned: Sequence[tuple[Subject, Sequence[Ready | SweepPoint]]],
        runner: Runner,
        subjects: Sequence[Subject],
    ) -> list[SweepPoint]:
        points: list[SweepPoint] = []
        for subject, prepared in planned:
            if _is_known(self._known, sweep, subject):
                points += self._known[sweep.id, subject.variant]
                continue
            found = self._line(sweep, subject, prepared, runner, subjects)
            if subject.of == "reference":
                self._known[sweep.id, subject.variant] = found
            points += found
        return points

    def _line(
        self,
        sweep: Sweep,
        subject: Subject,
        prepared: Sequence[Ready | SweepPoint],
        runner: Runner,
        subjects: Sequence[Subject],
    ) -> list[SweepPoint]:
        """The points of one kernel."""
        points: list[SweepPoint] = []
        owner = (subject.variant, subject.of)
        hopeless = _("the kernel takes too long") if self._endless[owner] >= MOST_HOPELESS else ""
        for point in prepared:
            if isinstance(point, SweepPoint):
                points += for_each_mode(sweep, point)
            elif hopeless:
                points += for_each_mode(sweep, unfit(subject, point.place, "failed", hopeless))
            else:
                run = self._run(point, runner, subjects)
                if run.outcome.reason in HOPELESS:
                    hopeless = ended(run.outcome)
                    self._endless[owner] += 1
                points += self._points(sweep, point, run)
        return points

    def _run(self, point: Ready, runner: Runner, subjects: Sequence[Subject]) -> Run:
        """A point's run; the same one of another sweep serves again."""
        subject, sizes = point.subject, point.place.sizes
        key = (id(point.submission), subject.variant, subject.of, point.candidate, *sorted(sizes.items()))
        if key not in self._runs:

            def changed(launch: LaunchRequest) -> LaunchRequest:
                return _changed(point, subjects, launch)

            binding = point.binding
            run = runner.run_once(
                binding, point.candidate, binding.expression, "observe", sizes, observe=True, changed=changed
            )
            # What was compared is not needed any more.
            self._runs[key] = replace(run, outcome=replace(run.outcome, outputs={}))
        return self._runs[key]

    def _points(self, sweep: Sweep, prepared: Ready, run: Run) -> list[SweepPoint]:
        point = replace_point(judged(prepared.subject, prepared.place, run), prepared.block)
        if point.status != "ok":
            return for_each_mode(sweep, point)
        work = self._work(prepared.place.sizes, run.outcome)
        return [
            _with(row, {metric: Estimate(value=round(_metric(metric, row, work), 6)) for metric in metrics})
            for metrics in [sweep.metrics["emulator"]]
            for row in for_each_mode(sweep, point)
        ]

    def _work(self, sizes: Sizes, outcome: LaunchOutcome) -> dict[str, float]:
        """Counted work for each element of the output."""
        lab = self._lab
        arrays = {p.name: p for p in lab.parameters if p.kind != "size"}
        elements = sum(prod(shape_at(lab, name, sizes)) for name, p in arrays.items() if p.kind == "output")
        copied = sum(prod(shape_at(lab, name, sizes)) * np.dtype(p.dtype).itemsize for name, p in arrays.items())
        assert outcome.counters is not None
        sectors = outcome.counters.total("sectors", "global")
        totals = {
            "sectors": sectors,
            "wavefronts": outcome.counters.total("wavefronts", "shared"),
            "instructions": outcome.thread_instructions or 0,
            "copied": copied,
            "mapped": sectors * SECTOR_BYTES,
        }
        return {name: total / elements for name, total in totals.items()}


def _changed(point: Ready, subjects: Sequence[Subject], launch: LaunchRequest) -> ChangedLaunch:
    """A launch of the point's kernel, in the program that was changed for it."""
    assert isinstance(launch, ProgramRequest)
    others = [point.submission.bindings.get(s.variant) for s in subjects if s.of == point.subject.of]
    return ChangedLaunch(
        **{f.name: getattr(launch, f.name) for f in fields(launch)},
        submission=point.submission,
        others=tuple(
            b.expression for b in others if isinstance(b, VariantBinding) and b.kernel.file == point.binding.kernel.file
        ),
    )


def record_of(sweep: Sweep, backend: str, points: Sequence[SweepPoint], left_out: Mapping[str, str]) -> SweepRecord:
    """The record of a sweep that was run."""
    return SweepRecord(
        id=sweep.id,
        backend=backend,  # type: ignore[arg-type]  # one of the two that sweeps are declared for
        x=sweep.x.name,
        lines="host_memory" if sweep.host_memory else sweep.lines.name if sweep.lines else "",
        metrics=list(sweep.metrics[backend]),
        points=list(points),
        left_out={name: reason for name, reason in left_out.items() if name in sweep.variants},
    )


def judged(subject: Subject, place: Place, run: Run) -> SweepPoint:
    """A point after its run, without values yet: "ok" only where the result was right."""
    if run.outcome.status == "impossible":
        return unfit(subject, place, "impossible", _impossible(run.outcome.reason))
    if run.outcome.status != "ok":
        return unfit(subject, place, "failed", ended(run.outcome))
    if any(hazard.kind == "out_of_bounds" for hazard in run.outcome.hazards):
        return unfit(subject, place, "wrong", _("the kernel works outside its arrays there"))
    if run.difference is None or run.difference.mismatches:
        return unfit(subject, place, "wrong", _("the result is wrong there: the kernel is made for other values"))
    return SweepPoint(variant=subject.variant, of=subject.of, x=place.x, line=place.line, size=dict(place.sizes))


def _impossible(reason: str) -> str:
    """Why a launch is impossible, in the language of the run."""
    match = _SHARED.fullmatch(reason)
    if match is None:
        return reason
    text = _("{bytes} bytes of shared memory a block, at most {limit} are possible")
    return text.format(bytes=match.group(1), limit=match.group(2))


def ended(outcome: LaunchOutcome) -> str:
    """How a launch ended that did not end well."""
    texts = {
        "time": say("the kernel takes too long"),
        "instructions": say("the kernel takes too long"),
        "endless": say("the kernel never ends"),
        "deadlock": say("threads wait at a barrier for ever"),
        "trap": say("the kernel stops with an error"),
    }
    return texts.get(outcome.reason, outcome.reason)


def subjects_of(
    lab: Lab, program: Program | None, found: Mapping[str, Evidence]
) -> tuple[list[Subject], dict[str, str]]:
    """The kernels that are swept: the student's that are right, then the lab's own; and why others are not.

    program: the student's; None when there is nothing to be changed in it.
    """
    wanted = {name for sweep in lab.sweeps for name in sweep.variants}
    subjects: list[Subject] = []
    left_out: dict[str, str] = {}
    is_long = program is not None and sum(len(s.text) for s in program.submission.sources) > MOST_CHARACTERS
    for name, evidence in found.items():
        if name not in wanted:
            continue
        reason = _unswept(evidence) or (_("its file is too long") if is_long else "")
        if reason or program is None or evidence.candidate is None:
            left_out[name] = reason
        else:
            subjects.append(Subject(name, "submission", program, evidence.bound, evidence.candidate))
    subjects += [reference_subject(lab, variant) for variant in lab.variants if variant.name in wanted]
    return subjects, left_out


def _unswept(evidence: Evidence) -> str:
    """Why a kernel is not swept, "" when it is."""
    if not isinstance(evidence.binding, VariantBinding):
        return _("there is no kernel")
    runs = evidence.runs_of("correct", "observe")
    if not runs or evidence.candidate is None:
        return _("it was not run")
    right = all(r.difference is not None and not r.difference.mismatches for r in runs)
    if not right:
        return _("its results are wrong")
    if evidence.hazards("out_of_bounds"):
        return _("it works outside its arrays")
    if evidence.wired_sizes is not None:
        return _("its sizes are written into it")
    return ""


def _metric(metric: str, point: SweepPoint, work: Mapping[str, float]) -> float:
    if metric == "bus_bytes":
        return work["copied"] if point.line in COPIES else work["mapped"]
    return work[metric]


def for_each_mode(sweep: Sweep, point: SweepPoint) -> list[SweepPoint]:
    """The point, once for each kind of host memory where the sweep compares them."""
    return [structs.replace(point, line=mode) for mode in sweep.host_memory] or [point]


def _with(point: SweepPoint, values: dict[str, Estimate]) -> SweepPoint:
    return structs.replace(point, values=values)
