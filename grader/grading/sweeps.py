"""Sweeps of a submission that has been graded: its right kernels and the lab's own, on the GPU or counted.

Timed sweeps are kept on disk, and found again by their key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from grader.files import read_kept, write_atomically
from grader.gpu.bench import (
    Bench,
    CompiledReference,
    Conditions,
    compile_references,
    lab_files,
    metric_of,
    reference_request,
    sample_rounds,
    side_by_side,
    tolerance_between,
    with_data,
)
from grader.gpu.messages import Prepared
from grader.gpu.process import nbytes_of
from grader.gpu.session import FAULTS, GpuFault, TimedKernel
from grader.grading import counted_sweeps
from grader.grading.sweep_plan import Owner, Place, PreparedPoint, Target, infeasible, places, planned_of
from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, ReferenceKernel, Sweep
from grader.launching.backend import ARCHITECTURE, BufferArgument, LaunchOutcome, LaunchRequest
from grader.launching.programs import Compiler, ProgramStore
from grader.measured import Estimate, SweepPoint, SweepRecord
from grader.message import Message, msg
from grader.running.evidence import Evidence
from grader.submission.binding.bind import bind
from grader.submission.changes import Original
from grader.submission.folder import FoundSubmission
from grader.submission.kernels.records import ObservedRuns
from grader.submission.records import Submission
from grader.submission.source import SourceText, decode
from grader.timing import lock, sampling
from grader.timing.sampling import Samples
from grader.timing.summary import folder, key_of

if TYPE_CHECKING:
    from grader.compiler.several import Compilers
    from grader.gpu.part import Gpu


BUDGET_US = 250_000.0
"""Time for the rounds of one kernel at one size."""

HOST_REPEATS = 3

COPIES_OF_ARRAYS = 2
"""Copies of a launch's arrays on the device: one to work on, one with the expected values."""

MEMORY_SHARE = 0.9
"""The share of the device's memory that is taken at most: the rest is the context's, the driver's and other
programs'."""

GIB = 1 << 30
OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"

Plan = Sequence[PreparedPoint | SweepPoint]
"""Points of one kernel in a sweep."""
Add = Callable[[str, bytes], None]
"""Makes machine code known to the bench under a name."""


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """A point with its machine code at hand."""

    point: PreparedPoint
    module: str
    launch: LaunchRequest

    @property
    def name(self) -> str:
        """What the point is called while it is timed."""
        place = self.point.place
        return f"{self.point.target.of}:{self.point.target.variant}@{place.x},{place.line}"


class GpuSweeps:
    """Runs sweeps on a GPU, each point when its program is compiled: the others are read and compiled meanwhile.

    bench: what times kernels.  add: makes code known to it.
    programs: compiled for the device, the student's and the lab's.
    pools: values to fill inputs with, by "name:dtype".
    reader: a thread that reads changed programs while others run; None: all are read before the device is used.
    """

    def __init__(
        self,
        lab: Lab,
        bench: Bench,
        add: Add,
        programs: Mapping[Owner, ProgramStore],
        pools: Mapping[str, Array],
        reader: Executor | None = None,
    ) -> None:
        self._lab = lab
        self._bench = bench
        self._add = add
        self._programs = programs
        self._pools = pools
        self._reader = reader
        self._added: set[str] = set()
        self._references: dict[str, Target] = {}
        self._targets: Sequence[Target] = ()
        self._best: list[tuple[ReferenceKernel, Future[dict[str, CompiledReference]]]] = []
        self._plans: dict[tuple[str, str, Owner], Plan | Future[Plan]] = {}

    def plan(self, targets: Sequence[Target]) -> None:
        """Say what is to be run: its programs are on their way through the compilers then.  The device is not used."""
        self._references = {s.variant: s for s in targets if s.of == "reference"}
        self._targets = targets
        self._order_best()
        for sweep in self._lab.sweeps:
            order = partial(self._order, sweep)
            for target in targets:
                read = partial(planned_of, self._lab, sweep, target, targets, "gpu", order)
                place = sweep.id, target.variant, target.of
                self._plans[place] = self._reader.submit(read) if self._reader is not None else read()

    def _order_best(self) -> None:
        """Hand the lab's fastest kernels to the compiler: they compute what is expected, once they are there."""
        lab, programs = self._lab, self._programs["reference"]
        timed = [sweep for sweep in lab.sweeps if not sweep.host_memory]
        sizes = {tuple(place.sizes.items()): place.sizes for sweep in timed for place in places(sweep, "gpu")}
        for kernel in lab.best if programs.pool is not None else ():
            fitting = [one for one in sizes.values() if kernel.fits(one)]
            as_variant = replace(lab.variants[0], reference=kernel)
            if fitting and programs.pool is not None:
                at_once = ProgramStore(programs.compiler, programs.architecture)
                compiling = programs.pool.submit(compile_references, at_once, [as_variant], fitting)
                self._best.append((kernel, compiling))

    def _order(self, sweep: Sweep, point: PreparedPoint) -> SweepPoint | None:
        """Hand a point's program to the compiler, and the lab's own; return why it does not fit the device, if so."""
        too_large = self._too_large(point)
        if too_large is None:
            plain = None if sweep.host_memory else self._as_it_stands(point)
            for one in (point, *([plain] if plain else [])):
                self._programs[one.target.of].order(one.kernel.program(one.place.sizes))
        return too_large

    def run(self, left_out: Mapping[str, Message]) -> list[SweepRecord]:
        """All of the lab's sweeps as planned; `left_out`: variants that are not swept, and why.

        Raises GpuFault: the device itself is not usable.
        """
        self._bench.warm_up(sampling.WARM_UP_MS)
        return [self._sweep(sweep, left_out) for sweep in self._lab.sweeps]

    def _sweep(self, sweep: Sweep, left_out: Mapping[str, Message]) -> SweepRecord:
        points: list[SweepPoint] = []
        for target in self._targets:
            loaded: list[LoadedPoint] = []
            plan = self._plans[sweep.id, target.variant, target.of]
            for point in plan.result() if isinstance(plan, Future) else plan:
                outcome = self._load(point) if isinstance(point, PreparedPoint) else point
                if isinstance(outcome, LoadedPoint):
                    loaded.append(outcome)
                else:
                    points += counted_sweeps.for_each_mode(sweep, outcome)
            if sweep.host_memory:
                points += [row for one in loaded for row in self._host_copies(sweep, one)]
            else:
                by_size: dict[tuple[int, ...], list[LoadedPoint]] = {}
                for one in loaded:
                    by_size.setdefault(tuple(one.point.place.sizes.values()), []).append(one)
                points += [point for group in by_size.values() for point in self._timed(sweep, group)]
        order: dict[tuple[int | str | None, int], int] = {
            (place.line, place.x): i for i, place in enumerate(places(sweep, "gpu"))
        }
        rank = {(s.variant, s.of): i for i, s in enumerate(self._targets)}
        points.sort(key=lambda p: (rank[p.variant, p.of], order.get((p.line, p.x), 0)))
        return counted_sweeps.record_of(sweep, "gpu", points, left_out)

    def _too_large(self, point: PreparedPoint) -> SweepPoint | None:
        """Return the point without values where its arrays do not fit into the device's memory, else None."""
        arrays = sum(nbytes_of(array) for array in point.kernel.array_arguments(point.place.sizes))
        needed, most = arrays * COPIES_OF_ARRAYS, int(self._bench.device.memory_bytes * MEMORY_SHARE)
        if needed <= most:
            return None
        reason = msg("sweeps.gpu_memory", needed=needed / GIB, most=most / GIB)
        return point.infeasible("impossible", reason)

    def _load(self, point: PreparedPoint) -> LoadedPoint | SweepPoint:
        """Compile a point's program; return the point without values where it does not compile."""
        sizes = point.place.sizes
        loaded = point.kernel.load(self._programs[point.target.of], sizes)
        if loaded.entry is None:
            return point.infeasible("impossible", msg("sweeps.not_compiled", error=loaded.built.error))
        module = f"sweep:{loaded.built.key}"
        if module not in self._added:
            self._add(module, loaded.built.code.cubin)
            self._added.add(module)
        return LoadedPoint(point, module, point.kernel.launch_without_data(loaded, sizes))

    def _timed(self, sweep: Sweep, group: Sequence[LoadedPoint]) -> list[SweepPoint]:
        loaded = {one.name: one for one in group}
        failures: dict[str, str] = {}
        check = self._check(group[0])

        def kernels(names: Sequence[str]) -> list[TimedKernel]:
            here = [loaded[name] for name in names]
            checked_by = {o.name: check.name if check and o.point.kernel.is_comparable else "" for o in here}
            timed = [TimedKernel(o.name, o.module, o.launch, checked_by[o.name]) for o in here]
            return [*timed, *([check] if check else [])]

        def measure(timed: Sequence[TimedKernel], prepared: Prepared) -> list[SweepPoint]:
            wrong = {problem.name for problem in prepared.problems}
            here = [loaded[kernel.name] for kernel in timed if kernel.name in loaded]
            names = [o.name for o in here if o.name not in wrong]
            round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
            samples, _mhz = sample_rounds(self._bench, names, [], sampling.series_plan(2 * round_us, BUDGET_US))
            wrong |= {problem.name for problem in samples.problems}
            return [self._point(sweep, one, samples, one.name in wrong) for one in here]

        l2 = self._lab.timing.l2 if self._lab.timing else "cold"
        conditions = Conditions(self._pools, l2, tolerance_between(self._lab, group[0].point.place.sizes))
        try:
            points = side_by_side(self._bench, list(loaded), kernels, conditions, measure, failures) or []
        except GpuFault as fault:
            if fault.reason != OUT_OF_MEMORY or fault.is_submissions:
                raise
            reason = msg("sweeps.memory_not_free")
            points = [o.point.infeasible("impossible", reason) for name, o in loaded.items() if name not in failures]
        return [*(_failed(loaded[name].point, reason) for name, reason in failures.items()), *points]

    def _check(self, one: LoadedPoint) -> TimedKernel | None:
        """Return what computes what is expected: the lab's fastest kernel, if it is compiled, else the variant's; None
        where that cannot run."""
        sizes = one.point.place.sizes
        best = next((compiling for kernel, compiling in self._best if kernel.fits(sizes)), None)
        if best is not None and best.done() and best.exception() is None:
            (compiled,) = best.result().values()
            module = f"sweep:{compiled.built.key}"
            if module not in self._added:
                self._add(module, compiled.built.code.cubin)
                self._added.add(module)
            return TimedKernel("check", module, reference_request(self._lab, compiled, sizes))
        plain = self._as_it_stands(one.point)
        loaded = self._load(plain) if plain is not None else None
        return TimedKernel("check", loaded.module, loaded.launch) if isinstance(loaded, LoadedPoint) else None

    def _as_it_stands(self, point: PreparedPoint) -> PreparedPoint | None:
        target = self._references.get(point.target.variant)
        if target is None:
            return None
        place = Place(0, None, point.place.sizes)
        kernel = next(v.reference for v in self._lab.variants if v.name == target.variant)
        plain = PreparedPoint(target, place, target.kernel, target.kernel.interpretation.launch.block)
        return plain if kernel.fits(place.sizes) else None

    def _point(self, sweep: Sweep, one: LoadedPoint, samples: Samples, is_wrong: bool) -> SweepPoint:
        point = one.point
        if is_wrong:
            reason = msg("sweeps.wrong")
            return point.infeasible("wrong", reason)
        interval = samples.median(one.name)
        if interval is None or not samples.valid:
            reason = msg("sweeps.throttled")
            return point.infeasible("failed", reason)
        time = Estimate(value=interval.median, low=interval.low, high=interval.high)
        values = {metric: metric_of(self._lab, metric, point.place.sizes, time) for metric in sweep.metrics["gpu"]}
        return structs.replace(point.point(), values=values)

    def _host_copies(self, sweep: Sweep, one: LoadedPoint) -> list[SweepPoint]:
        """Return a point for each kind of host memory; kinds that the device lacks are impossible."""
        inputs = {
            a.name: np.resize(self._pools[f"{a.name}:{a.dtype}"], a.shape)
            for a in one.launch.arguments
            if isinstance(a, BufferArgument) and not a.is_output
        }
        try:
            done = self._bench.host_copies(one.module, with_data(one.launch, inputs), sweep.host_memory, HOST_REPEATS)
        except GpuFault as fault:
            if not fault.is_submissions:
                raise
            return counted_sweeps.for_each_mode(sweep, _failed(one.point, fault.reason))
        totals = {row.mode: row.total_us for row in done.rows}
        lacking = infeasible(one.point.target, one.point.place, "impossible", msg("sweeps.no_such_memory"))
        return [
            structs.replace(one.point.point(), line=mode, values={"total_time": Estimate(value=totals[mode])})
            if mode in totals
            else structs.replace(lacking, line=mode)
            for mode in sweep.host_memory
        ]


def _failed(point: PreparedPoint, reason: str) -> SweepPoint:
    if reason in FAULTS.values():
        return point.infeasible("failed", counted_sweeps.ended(LaunchOutcome("fault", reason=reason)))
    return point.infeasible("impossible", msg("sweeps.refused", reason=reason))


def keep(file: Path, records: Sequence[SweepRecord]) -> None:
    """Write records as they come from a run; a folder that cannot be written to is no reason to stop grading."""
    with suppress(OSError):
        write_atomically(file, msgspec.json.encode(records))


def find(file: Path, left_out: Mapping[str, Message]) -> list[SweepRecord] | None:
    """The records in `file`, None where there are none; `left_out`: variants that are not swept, and why."""
    try:
        kept = msgspec.json.decode(read_kept(file), type=list[SweepRecord])
    except (OSError, msgspec.DecodeError):
        return None
    return [
        structs.replace(
            record, left_out_said={name: left_out.get(name, reason) for name, reason in record.left_out_said.items()}
        )
        for record in kept
    ]


_known: dict[str, counted_sweeps.KeptPoints] = {}
"""Counts of the labs' own kernels, which are the same for every student that this process grades."""


def sweep(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compilers: Compilers,
    gpu: Gpu | None,
    remeasure: bool,
) -> list[SweepRecord]:
    """All of the lab's sweeps: timed where there is a GPU, else counted on the emulator."""
    if gpu is not None:
        from grader.gpu.session import GpuFault

        with suppress(GpuFault, lock.Busy):
            return measure_time(lab, original, evidence, oracle, compilers, gpu, remeasure)
    return count_work(lab, original, evidence, oracle, compilers, ARCHITECTURE)


def original_of(lab: Lab, submitted: FoundSubmission, submission: Submission) -> Original:
    """A submission of which changed copies can be made: its texts are read and bound anew."""
    # Not so many as there are files: a notebook may hold several programs.
    main = submission.sources[: len(submission.sources) - submission.header_sources]

    def reread(texts: Mapping[Path, SourceText], observed: ObservedRuns) -> Submission:
        def header(path: Path) -> SourceText:
            return texts.get(path) or decode(path)

        sources = [texts.get(source.path, source) for source in main]
        return bind(submitted, sources, lab, header, observed, submission.read_true)

    def rebind(texts: Mapping[Path, SourceText]) -> Submission:
        return reread(texts, submission.observed)

    return Original(submission, rebind, reread)


def count_work(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compilers: Compilers,
    architecture: str,
) -> list[SweepRecord]:
    """All of the lab's sweeps on the emulator; `evidence` by variant tells which kernels are right."""

    targets, left_out = counted_sweeps.targets_of(lab, original, evidence)
    key = key_of({}, "", lab_files(lab), compilers.nvrtc_version(), architecture, "")
    cached = _known.setdefault(key, {})
    sweeps = counted_sweeps.EmulatorSweeps(
        lab, oracle, compilers.bulk, cached, compilers.at_once, compilers.expect, compilers.of_lab
    )
    return sweeps.run(targets, left_out)


def measure_time(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compilers: Compilers,
    gpu: Gpu,
    remeasure: bool,
) -> list[SweepRecord]:
    """All of the lab's sweeps on the GPU; kept, and found again for the same programs on the same device.

    Raises GpuFault: the device is not usable.
    Raises Busy: somebody else had it all the time.
    """
    from grader.gpu.runs import pools
    from grader.gpu.session import prompt

    session = gpu.session()
    device = session.device
    targets, left_out = counted_sweeps.targets_of(lab, original, evidence)
    key = key_of(
        dict(original.submission.device_source),
        repr([(t.variant, t.of, t.kernel.interpretation) for t in targets]),
        lab_files(lab),
        gpu.compiler.nvrtc_version(),
        f"{device.name} {device.architecture} {device.multiprocessors} {device.memory_bytes}",
        device.driver,
    )
    file = folder() / f"{key}.sweeps.json"
    stored = None if remeasure else find(file, left_out)
    if stored is not None:
        return stored

    types = [target.kernel.dtypes for target in targets]
    own_types = {p.name: p.dtype for p in lab.parameters if p.is_array}
    # The lab's kernels are compiled in a process that never saw a student's file.
    gpu.compiler.widen(compilers.at_once)
    by_owner: dict[Owner, Compiler] = {"submission": compilers.bulk, "reference": gpu.compiler}
    threads = {owner: ThreadPoolExecutor(compilers.at_once) for owner in by_owner}
    # No grading keeps others beside it from the device while it reads.
    reader = ThreadPoolExecutor(1) if compilers.at_once > 1 else None
    try:
        programs = {o: ProgramStore(c, device.architecture, threads[o]) for o, c in by_owner.items()}
        sweeps = GpuSweeps(lab, session, session.add, programs, pools(lab, oracle, [*types, own_types]), reader)
        sweeps.plan(targets)
        with gpu.in_use, lock.exclusive(device.uuid), prompt():
            session.forget()
            records = sweeps.run(left_out)
    finally:
        for thread in (*([reader] if reader is not None else []), *threads.values()):
            thread.shutdown(cancel_futures=True)
    keep(file, records)
    return records
