"""A student's function or program on the GPU of this machine: its results, and its times beside the lab's reference's.

Each of the two has a process of its own, where every run begins anew: no state, and nothing of the device's memory,
goes from one run to the next.  What is timed is what the device does; copies between it and the host are told apart.
What the reference makes of the same data is what the student's results are compared with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from math import prod

import msgspec

from grader.errors import UsageError
from grader.gpu.bench import baseline_of, lab_files, questions_of, work_at
from grader.gpu.unmarked import cpu_times_of
from grader.lab.records import Sizes, Tolerance
from grader.launching.backend import reason_msg
from grader.launching.trial import Run
from grader.message import Message, msg
from grader.programs.execution import CompiledProgram, Setting
from grader.programs.records import CallSeen, CallTimes, Observation, RunLimits, for_gpu
from grader.programs.sandbox.process import CardInfo
from grader.programs.sources import Program
from grader.result import Environment
from grader.running.evidence import Evidence
from grader.running.function_runs import Case, FunctionRuns
from grader.timing import Measurement, Problem, SizeTimes, lock, sampling
from grader.timing.sampling import Question, Sample, quantile, sample
from grader.timing.summary import Store, folder, key_of, reference, size_key, student, timings

LAUNCH_SECONDS = 10.0
"""How long the host waits for the device."""
LIMITS = for_gpu(RunLimits(host_instructions=20_000_000_000, wall_seconds=120.0, counts_work=True), LAUNCH_SECONDS)
ROUNDS_BUDGET_US = 6_000_000.0
"""For the first stage at one size: each round takes two runs from their beginning."""
SWEEP_BUDGET_US = 2_000_000.0
"""The same of a point of a sweep, on which no mark depends."""


class Untimed(Exception):
    """Why there are no times."""

    def __init__(self, reason: Message) -> None:
        self.reason = reason
        super().__init__(reason.id)


@dataclass
class FunctionGpu:
    """Grades on the first GPU that there is; its absence is an error where it is asked for by name."""

    is_wanted: bool
    remeasure: bool = False
    card: CardInfo | None = None
    _failed: dict[str, Run] = field(default_factory=dict)

    def measure(
        self,
        runs: FunctionRuns,
        program: Program,
        references: Callable[[str], Program],
        by_variant: Mapping[str, Evidence],
        digest: Mapping[str, str],
    ) -> dict[str, Evidence]:
        """The evidence of all variants with results and times from the GPU added.

        references: of a variant.  digest: all of the submission's text, by name.
        Raises UsageError: there is no GPU that can be used, and one was asked for.  Raises FileError: the oracle cannot
        say what has to come out.
        """
        first = next(iter(by_variant.values()))
        if not first.runs or any(not run.is_right for run in first.runs):
            return _untimed(by_variant, None)
        try:
            own = CompiledProgram(program, Setting(on_gpu=True))
        except UsageError:
            if self.is_wanted:
                raise
            return dict(by_variant)
        with closing(own):
            self.card = own.card
            assert own.card is not None
            try:
                graded = dict(by_variant)
                with lock.shared(own.card.uuid):
                    more = _results(runs, own)
                graded = {name: replace(e, runs=(*e.runs, *more)) for name, e in by_variant.items()}
                if any(not run.is_right for run in more):
                    return graded
                if runs.lab.timing is None:
                    return _untimed(graded, msg("runs.no_timed_sizes"))
                measurement = self._measurement(runs, own, references, graded, digest)
            except lock.Busy:
                return _untimed(by_variant, msg("runs.gpu_in_use"))
            except Untimed as untimed:
                return _untimed(graded, untimed.reason)
        return {name: self._timed(runs, evidence, measurement) for name, evidence in graded.items()}

    def environment(self, plain: Environment) -> Environment:
        """What a result was made with, with the device in it; `plain` where nothing ran on the device."""
        if self.card is None:
            return plain
        major, minor = self.card.capability
        return msgspec.structs.replace(
            plain, backend="gpu", device=self.card.name, driver=self.card.driver, architecture=f"sm_{major}{minor}"
        )

    # -- times -------------------------------------------------------------------------------

    def _measurement(
        self,
        runs: FunctionRuns,
        own: CompiledProgram,
        references: Callable[[str], Program],
        by_variant: Mapping[str, Evidence],
        digest: Mapping[str, str],
    ) -> Measurement:
        """Return the measurement kept of the same work, or make it.  Raises Busy, Untimed."""
        lab, card = runs.lab, own.card
        assert lab.timing is not None and card is not None
        store = Store(folder())
        key = key_of(digest, f"function {runs.drawn_lab.seed}", lab_files(lab), "", card.name, card.driver)
        stored = None if self.remeasure else store.get(key)
        if stored is not None:
            return stored
        baselines = {name: baseline_of(lab, name) for name in by_variant}
        wanted = dict.fromkeys(v for name, (against, _least) in baselines.items() for v in (name, against))
        with ExitStack() as stack:
            programs = {student(next(iter(by_variant))): own}
            for variant in wanted:
                other = CompiledProgram(references(variant), Setting(on_gpu=True))
                programs[reference(variant)] = stack.enter_context(closing(other))
            stack.enter_context(lock.exclusive(card.uuid))
            rows = []
            for sizes in sorted(lab.timing.sizes, key=lambda one: (prod(size_key(one)), size_key(one))):
                is_largest = sizes == max(lab.timing.sizes, key=lambda one: (prod(size_key(one)), size_key(one)))
                rows.append(self._row(runs, programs, sizes, baselines if is_largest else {}))
                if self._failed:
                    break
        measurement = Measurement(
            device=card.name, driver=card.driver, nvrtc="", l2="cold", copy_gb_s=0.0, fp32_gflop_s=0.0, sizes=rows
        )
        measurement = msgspec.structs.replace(
            measurement, cpu=cpu_times_of(lab, runs.oracle, list(lab.timing.sizes), store)
        )
        if not self._failed:
            store.put(key, measurement)
        return measurement

    def _row(
        self,
        runs: FunctionRuns,
        programs: Mapping[str, CompiledProgram],
        sizes: Sizes,
        baselines: Mapping[str, tuple[str, float | None]],
    ) -> SizeTimes:
        """Time everything at one size."""
        bench = _Bench(runs, programs, runs.timed(sizes))
        own = next(iter(programs))
        began = time.monotonic()
        failed = bench.first_round()
        if failed is not None:
            self._failed[own] = failed
            return bench.row(own, baselines, None)
        round_us = 1e6 * (time.monotonic() - began)
        questions = [
            Question(own, baseline, least) for name in baselines for baseline, least in questions_of(runs.lab, name)
        ]
        if questions:
            plan = sampling.plan_for(round_us, ROUNDS_BUDGET_US)
        else:
            plan = sampling.series_plan(round_us, ROUNDS_BUDGET_US)
        samples = sample(bench.round, list(programs), questions, plan)
        if bench.failed is not None:
            self._failed[own] = bench.failed
        return bench.row(own, baselines, samples)

    def _timed(self, runs: FunctionRuns, evidence: Evidence, measurement: Measurement) -> Evidence:
        """Return times of one variant; a wrong timed run becomes a run, so that the checks see it."""
        lab, name = runs.lab, evidence.variant.name
        # All variants of such a lab are the one function.
        own = student(lab.variants[0].name)
        rows = [
            msgspec.structs.replace(row, times_us={**row.times_us, student(name): row.times_us.get(own, [])})
            for row in measurement.sizes
        ]
        work = {size_key(row.size): work_at(lab, row.size) for row in rows}
        measurement = msgspec.structs.replace(measurement, sizes=rows)
        records = timings(measurement, name, baseline_of(lab, name)[0], name, work)
        unmeasured = {what: why for what, why in evidence.unmeasured.items() if what != "time"}
        throttled = [row for row in rows if not row.valid]
        if throttled:
            unmeasured["time"] = msg("runs.throttled", dropped=throttled[-1].dropped, rounds=throttled[-1].rounds)
        return replace(
            evidence,
            runs=(*evidence.runs, *self._failed.values()),
            timing=tuple(records) if not self._failed else (),
            unmeasured=unmeasured,
        )


def series_at(runs: FunctionRuns, programs: Mapping[str, CompiledProgram], sizes: Sizes) -> sampling.Samples | Run:
    """Times of programs at one size, in turns: the first is the student's, the others are the lab's; the student's run
    where that is wrong.
    Raises Untimed: there are no times, or none that are the device's.
    """
    bench = _Bench(runs, programs, runs.timed(sizes))
    began = time.monotonic()
    failed = bench.first_round()
    if failed is not None:
        return failed
    plan = sampling.series_plan(1e6 * (time.monotonic() - began), SWEEP_BUDGET_US)
    samples = sample(bench.round, list(programs), [], plan)
    return bench.failed or samples


class _Bench:
    """Runs at one size: the first program is the student's, the others are the lab's."""

    def __init__(self, runs: FunctionRuns, programs: Mapping[str, CompiledProgram], case: Case) -> None:
        lab = runs.lab
        # Between two that may each be off by the lab's tolerance.
        self._runs = replace(runs, lab=replace(lab, tolerance=_doubled(lab.tolerance)))
        self._compiled = programs
        self._case = case
        self._begun = self._runs.begun(case, LIMITS)
        self._own = next(iter(programs))
        self._empty_us: list[float] = []
        self._sm_mhz: list[float] = []
        self._copies_us: dict[str, list[float]] = {name: [] for name in programs}
        self.failed: Run | None = None

    def first_round(self) -> Run | None:
        """Run everything once to check results; what the student's program did wrong, None where nothing."""
        others = [name for name in self._compiled if name != self._own]
        for name in others:
            observation = self._observation(name)
            outputs = self._runs.outputs(self._case, observation)
            if outputs is None:
                cause = observation.cause or msg("launches.left_early", number=1)
                raise Untimed(msg("runs.reference_fails", what=cause))
            _times_of(observation)
            if not self._case.data[0][1]:
                self._case = replace(self._case, data=((self._case.data[0][0], outputs),))
        observation = self._observation(self._own)
        self.failed = self._wrong(observation)
        if self.failed is None:
            _times_of(observation)
            self.failed = self._by_host()
        return self.failed

    def round(self, names: list[str]) -> Sample:
        """Run each program once."""
        times: dict[str, float] = {}
        problems = []
        is_throttled = False
        for name in names:
            observation = self._observation(name)
            if name == self._own and (wrong := self._wrong(observation)) is not None:
                self.failed = wrong
                difference = wrong.difference
                count, total = (difference.mismatches, difference.total) if difference is not None else (0, 0)
                problems.append(Problem(name, "wrong", count, total))
                continue
            took = _times_of(observation)
            times[name] = took.work_us
            self._copies_us[name].append(took.copies_us)
            self._empty_us.append(took.empty_us)
            self._sm_mhz.append(took.sm_mhz)
            is_throttled |= sampling.is_throttled(took.sm_mhz, 0, took.max_sm_mhz)
        return Sample(times, is_throttled, tuple(problems))

    def row(
        self, own: str, baselines: Mapping[str, tuple[str, float | None]], samples: sampling.Samples | None
    ) -> SizeTimes:
        """The times measured at this size."""
        return SizeTimes(
            size=dict(self._case.sizes),
            times_us=samples.times_us if samples is not None else {},
            batch={},
            empty_us=quantile(self._empty_us, 0.5) if self._empty_us else 0.0,
            rounds=samples.rounds if samples is not None else 0,
            dropped=samples.dropped if samples is not None else 0,
            valid=samples is not None and samples.valid,
            sm_mhz=quantile(self._sm_mhz, 0.5) if self._sm_mhz else 0.0,
            copies_us={name: quantile(times, 0.5) for name, times in self._copies_us.items() if any(times)},
            undecided=[student(name) for name in baselines]
            if samples is not None and any(question.name == own for question in samples.undecided)
            else [],
        )

    def _observation(self, name: str) -> Observation:
        observation = self._compiled[name].run(*self._begun)
        if observation is None:
            raise Untimed(msg("runs.reference_fails", what=msg("checks.compiles.refused")))
        return observation

    def _by_host(self) -> Run | None:
        """Return what is right at this size without a kernel; each run shows the devices that pointers lead to."""
        if self._runs.is_on_device:
            return None
        case = replace(self._case, undone=True, is_timed=False)
        observation = self._compiled[self._own].run(*self._runs.begun(case, LIMITS))
        run = self._runs.judged(case, observation) if observation is not None else None
        return replace(run, backend="gpu") if run is not None else None

    def _wrong(self, observation: Observation) -> Run | None:
        run = self._runs.judged(self._case, observation)
        if run is not None and run.outcome.status == "unsupported":
            raise Untimed(reason_msg(run.outcome))
        return None if run is None or run.is_right else replace(run, backend="gpu")


def _times_of(observation: Observation) -> CallTimes:
    """Return how long the one call took.  Raises Untimed where that is not known."""
    call = observation.calls[0] if observation.calls else CallSeen()
    if any(asked.kind == "library" for asked in call.asked):
        raise Untimed(msg("runs.library_on_host"))
    if call.times is None:
        raise Untimed(msg("runs.too_much_to_time"))
    if not call.times.works:
        raise Untimed(msg("runs.nothing_to_time"))
    return call.times


def _results(runs: FunctionRuns, own: CompiledProgram) -> list[Run]:
    """Return runs at the lab's sizes for a GPU, up to the first that is wrong."""
    results: list[Run] = []
    for case in runs.named("gpu") if "gpu" in runs.lab.cases else ():
        observation = own.run(*runs.begun(case, LIMITS))
        run = runs.judged(case, observation) if observation is not None else None
        if run is not None:
            results.append(replace(run, backend="gpu"))
            if not run.is_right:
                break
    if results and results[-1].outcome.status == "unsupported":
        raise Untimed(reason_msg(results[-1].outcome))
    return results


def _doubled(tolerance: Tolerance) -> Tolerance:
    growth = f"2 * ({tolerance.growth})" if tolerance.growth else ""
    return replace(tolerance, absolute=2 * tolerance.absolute, relative=2 * tolerance.relative, growth=growth)


def _untimed(by_variant: Mapping[str, Evidence], reason: Message | None) -> dict[str, Evidence]:
    if reason is None:
        return dict(by_variant)
    return {name: replace(e, unmeasured={**e.unmeasured, "time": reason}) for name, e in by_variant.items()}
