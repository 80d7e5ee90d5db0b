"""Runs a lab's sweeps on the emulator: the work of each point is counted, its result compared with the oracle's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod

import numpy as np
from msgspec import structs

from grader.devices import SECTOR_BYTES
from grader.grading.sweep_plan import Owner, PreparedPoint, Target, infeasible, planned, reference_target
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes, Sweep
from grader.launching.backend import ARCHITECTURE, TAKES_LONG, LaunchOutcome, reason_msg
from grader.launching.emulator import Emulator
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.programs import Compiler, ProgramStore
from grader.launching.trial import Run, Trials
from grader.measured import Estimate, SweepPoint, SweepRecord
from grader.message import Message, msg
from grader.running.evidence import Evidence
from grader.submission.changes import Original
from grader.submission.records import VariantBinding

COPIES = ("pageable", "pinned", "write_combined")
"""Kinds of host memory that a kernel's arrays are copied from and to; in the other it works on them where they are."""

MOST_HOPELESS = 2
"""After this many launches that do not end a kernel is not launched again, in any sweep."""

KeptPoints = MutableMapping[tuple[str, str], list[SweepPoint]]
"""Points of the lab's own kernels by sweep and variant."""


class EmulatorSweeps:
    """Runs sweeps on the emulator.

    oracle: the lab's.  compiler: compiles changed programs, in a process of its own while others run here.
    kept: points of the lab's own kernels by sweep and variant, from an earlier run; those that lack are added.
    at_once: programs that it may be given at the same time.
    expect: told what of the student's will be compiled to machine code too (`Compilers.expect`).
    of_lab: compiles the lab's own kernels; None: as the student's.
    """

    def __init__(
        self,
        lab: Lab,
        oracle: Oracle,
        compiler: Compiler,
        kept: KeptPoints | None = None,
        at_once: int = 1,
        expect: Callable[[Mapping[str, str], Sequence[str]], None] | None = None,
        of_lab: Compiler | None = None,
    ) -> None:
        self._lab = lab
        self._oracle = oracle
        self._compilers: dict[Owner, Compiler] = {"submission": compiler, "reference": of_lab or compiler}
        self._at_once = at_once
        self._expect = expect
        self._kept = kept if kept is not None else {}
        self._runs: dict[tuple[object, ...], Run] = {}
        self._endless: Counter[tuple[str, str]] = Counter()

    def run(self, targets: Sequence[Target], left_out: Mapping[str, Message]) -> list[SweepRecord]:
        """All of the lab's sweeps for some kernels; `left_out`: variants that are not swept, and why."""
        pools = {owner: ThreadPoolExecutor(self._at_once) for owner in self._compilers}
        try:
            programs = {o: ProgramStore(c, ARCHITECTURE, pools[o]) for o, c in self._compilers.items()}

            def order(point: PreparedPoint) -> None:
                store, program = programs[point.target.of], point.kernel.program(point.place.sizes)
                if self._expect is not None and point.target.of == "submission":
                    self._expect(store.texts(program), program.expressions)
                store.order(program)

            plans = {
                sweep.id: planned(
                    self._lab, sweep, [t for t in targets if not self._is_kept(sweep, t)], "emulator", order
                )
                for sweep in self._lab.sweeps
            }
            trials = {o: Trials(self._lab, self._oracle, store, Emulator()) for o, store in programs.items()}
            return [
                record_of(sweep, "emulator", self._sweep(sweep, targets, plans[sweep.id], trials), left_out)
                for sweep in self._lab.sweeps
            ]
        finally:
            for pool in pools.values():
                pool.shutdown(cancel_futures=True)

    def _is_kept(self, sweep: Sweep, target: Target) -> bool:
        return target.of == "reference" and (sweep.id, target.variant) in self._kept

    def _sweep(
        self,
        sweep: Sweep,
        targets: Sequence[Target],
        plans: Mapping[tuple[str, Owner], Sequence[PreparedPoint | SweepPoint]],
        trials: Mapping[Owner, Trials],
    ) -> list[SweepPoint]:
        points: list[SweepPoint] = []
        for target in targets:
            if self._is_kept(sweep, target):
                points += self._kept[sweep.id, target.variant]
            elif target.variant in sweep.variants:
                line = self._line(sweep, target, plans.get((target.variant, target.of), ()), trials[target.of])
                if target.of == "reference":
                    self._kept[sweep.id, target.variant] = line
                points += line
        return points

    def _line(
        self, sweep: Sweep, target: Target, prepared: Sequence[PreparedPoint | SweepPoint], trials: Trials
    ) -> list[SweepPoint]:
        points: list[SweepPoint] = []
        owner = (target.variant, target.of)
        hopeless = msg("sweeps.too_long") if self._endless[owner] >= MOST_HOPELESS else None
        for point in prepared:
            if isinstance(point, SweepPoint):
                points += for_each_mode(sweep, point)
            elif hopeless is not None:
                points += for_each_mode(sweep, infeasible(target, point.place, "failed", hopeless))
            else:
                points += self._counted(sweep, point, trials)
                run = self._runs.get(_key(point))
                # Each of its other points would take seconds as well.
                if run is not None and run.outcome.reason in TAKES_LONG:
                    hopeless = ended(run.outcome)
                    self._endless[owner] += 1
        return points

    def _counted(self, sweep: Sweep, point: PreparedPoint, trials: Trials) -> list[SweepPoint]:
        sizes = point.place.sizes
        loaded = point.kernel.load(trials.programs, sizes)
        if loaded.entry is None:
            reason = msg("sweeps.not_compiled", error=loaded.built.error)
            return for_each_mode(sweep, point.infeasible("impossible", reason))
        return self._points(sweep, point, self._run(point, trials))

    def _run(self, point: PreparedPoint, trials: Trials) -> Run:
        """Return a point's run; one that another sweep has made already serves again."""
        key = _key(point)
        if key not in self._runs:
            run = trials.run(point.kernel, "observe", point.place.sizes, observe=True)
            # What was compared is not needed any more.
            self._runs[key] = replace(run, outcome=replace(run.outcome, outputs={}))
        return self._runs[key]

    def _points(self, sweep: Sweep, prepared: PreparedPoint, run: Run) -> list[SweepPoint]:
        point = judged(prepared, run)
        if point.status != "ok":
            return for_each_mode(sweep, point)
        work = self._work(prepared.place.sizes, run.outcome)
        point = structs.replace(point, conflict_ways=_conflict_ways(run.outcome))
        return [
            _with(row, {metric: Estimate(value=round(_metric(metric, row, work), 6)) for metric in metrics})
            for metrics in [sweep.metrics["emulator"]]
            for row in for_each_mode(sweep, point)
        ]

    def _work(self, sizes: Sizes, outcome: LaunchOutcome) -> dict[str, float]:
        lab = self._lab
        arrays = {p.name: p for p in lab.parameters if p.is_array}
        elements = sum(prod(shape_at(lab, name, sizes)) for name, p in arrays.items() if p.is_output)
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


def _conflict_ways(outcome: LaunchOutcome) -> int | None:
    """Return the worst bank conflict of a run, None where shared memory is not used."""
    assert outcome.counters is not None
    return max((c.ways for c in outcome.counters.by_line if c.space == "shared" and c.requests), default=None)


def _key(point: PreparedPoint) -> tuple[object, ...]:
    target, kernel = point.target, point.kernel
    return (id(kernel.submission), target.variant, target.of, kernel.interpretation, *sorted(point.place.sizes.items()))


def record_of(sweep: Sweep, backend: str, points: Sequence[SweepPoint], left_out: Mapping[str, Message]) -> SweepRecord:
    return SweepRecord(
        id=sweep.id,
        backend=backend,  # type: ignore[arg-type]  # one of the two that sweeps are declared for
        x=sweep.x.name,
        lines="host_memory" if sweep.host_memory else sweep.lines.name if sweep.lines else "",
        metrics=list(sweep.metrics[backend]),
        points=list(points),
        left_out_said={name: reason for name, reason in left_out.items() if name in sweep.variants},
    )


def judged(point: PreparedPoint, run: Run) -> SweepPoint:
    """A point after its run, without values yet: "ok" only where the result was right."""
    if run.outcome.status == "impossible":
        return point.infeasible("impossible", reason_msg(run.outcome))
    if run.outcome.status != "ok":
        return point.infeasible("failed", ended(run.outcome))
    if run.leaves_its_arrays:
        return point.infeasible("wrong", msg("sweeps.outside"))
    if not run.output_is_right:
        return point.infeasible("wrong", msg("sweeps.wrong"))
    return point.point()


ENDS = {
    "time": msg("sweeps.too_long"),
    "instructions": msg("sweeps.too_long"),
    "steps": msg("sweeps.too_long"),
    "endless": msg("sweeps.endless"),
    "deadlock": msg("sweeps.deadlock"),
    "trap": msg("sweeps.trap"),
    "grid_sync": msg("sweeps.trap"),
}


def ended(outcome: LaunchOutcome) -> Message:
    """How a launch ended that did not end well."""
    return ENDS.get(outcome.reason) or reason_msg(outcome)


def targets_of(
    lab: Lab, original: Original | None, evidence_of: Mapping[str, Evidence]
) -> tuple[list[Target], dict[str, Message]]:
    """The kernels that are swept: the student's that are right, then the lab's own; and why others are not.

    original: the student's; None when there is nothing to be changed in it.
    """
    wanted = {name for sweep in lab.sweeps for name in sweep.variants}
    targets: list[Target] = []
    left_out: dict[str, Message] = {}
    is_long = original is not None and original.submission.is_long
    for name, evidence in evidence_of.items():
        if name not in wanted:
            continue
        reason = _unswept(evidence) or (msg("sweeps.file_too_long") if is_long else None)
        if reason is not None or original is None or evidence.interpretation is None:
            left_out[name] = reason or msg("sweeps.not_run")
        else:
            kernel = BoundKernel(lab, original.submission, evidence.bound, evidence.interpretation)
            targets.append(Target(name, "submission", original, kernel))
    targets += [reference_target(lab, variant) for variant in lab.variants if variant.name in wanted]
    return targets, left_out


def _unswept(evidence: Evidence) -> Message | None:
    if not isinstance(evidence.binding, VariantBinding):
        return msg("sweeps.no_kernel")
    runs = evidence.runs_of("correct", "observe")
    if not runs or evidence.interpretation is None:
        return msg("sweeps.not_run")
    if not all(run.output_is_right for run in runs):
        return msg("sweeps.results_wrong")
    if evidence.halo is not None:
        return msg("sweeps.has_halo")
    if evidence.hazards("out_of_bounds"):
        return msg("sweeps.works_outside")
    if evidence.hard_coded_sizes is not None:
        return msg("sweeps.sizes_written")
    return None


def _metric(metric: str, point: SweepPoint, work: Mapping[str, float]) -> float:
    if metric == "bus_bytes":
        return work["copied"] if point.line in COPIES else work["mapped"]
    return work[metric]


def for_each_mode(sweep: Sweep, point: SweepPoint) -> list[SweepPoint]:
    """The point, once for each kind of host memory where the sweep compares them."""
    return [structs.replace(point, line=mode) for mode in sweep.host_memory] or [point]


def _with(point: SweepPoint, values: dict[str, Estimate]) -> SweepPoint:
    return structs.replace(point, values=values)
