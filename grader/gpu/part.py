"""The GPU's part in grading a submission: opened at once, asked for results and times, closed whatever happened."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace as replace_fields

from grader.errors import FileError, InternalError
from grader.files import read_kept, write_atomically
from grader.gpu import bench
from grader.gpu.messages import NoDevice, Prepared
from grader.gpu.process import GpuProcess
from grader.gpu.runs import (
    GpuRunner,
    compute_case,
    compute_cases,
    identity,
    is_sound,
    kernels_of,
    launch_all,
    pools,
    results,
    times_of,
    untimed,
    with_times,
)
from grader.gpu.session import GpuBackend, GpuFault, GpuSession, Needless, TimedKernel, compile_helpers, prompt
from grader.gpu.unmarked import cpu_times_beside
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import LaunchRequest
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore, handed_in
from grader.launching.trial import Trials
from grader.measured import Ratio
from grader.message import Message, msg
from grader.processes.limits import MANY
from grader.result import Environment, Result
from grader.running.evidence import Evidence
from grader.submission.records import Submission
from grader.timing import CpuTime, Measurement, lock
from grader.timing.sampling import BUDGET_US, WARM_UP_MS, series_plan
from grader.timing.summary import Store, folder, key_of, reference

if TYPE_CHECKING:
    from grader.compiler.several import KeptCompiler
    from grader.launching.programs import Compiler

MOST_COMPARING = 4
SWITCH_S = 0.0005
"""How long a thread computes while others want to go on: the one that asks the device has little to do each time, and
the device stands still until it has done that."""


def _key_of_launches(graded: Mapping[str, Evidence], candidates: Sequence[bench.KernelAtSize]) -> tuple[object, ...]:
    """What times follow from in one grading."""
    launches = ((c.variant, *c.sizes.items(), c.module, *identity(c.request), c.comparable) for c in candidates)
    return (*graded, *launches)


@dataclass(frozen=True, slots=True)
class GpuWork:
    """Kernels of a submission that are run and timed on the GPU.

    compiler: of the submission's programs for the device.  remeasure: what is kept of times is not believed.
    evidence: of each variant, as the emulator has left it.
    """

    lab: Lab
    compiler: Compiler
    remeasure: bool
    submission: Submission
    evidence: Mapping[str, Evidence]

    def kernels(self) -> dict[str, BoundKernel]:
        """The kernels that were run, by variant."""
        return kernels_of(self.lab, self.submission, self.evidence)

    def kernels_as_handed_in(self) -> dict[str, BoundKernel]:
        """The same while others of the submission may still be run: their programs hold all of its kernels."""
        return kernels_of(self.lab, self.submission, self.evidence, handed_in(self.submission))


class Gpu:
    """A GPU process and a `compiler` for the lab's own kernels, both started at once; closed as a context manager.

    own_compiler: of students' programs for the device, where they are launched ahead; None where they are not.
    in_use: held by the thread that asks the device, of several.
    """

    def __init__(self, processes: int = 1) -> None:
        """processes: that may be at work at once; where they are many, so are the threads that compare."""
        from grader.compiler.process import CompilerProcess
        from grader.compiler.several import KeptCompiler

        self._process = GpuProcess()
        self.compiler: KeptCompiler = KeptCompiler()
        self.own_compiler = CompilerProcess() if processes >= MANY else None
        self.in_use = threading.Lock()
        # One session and one runner, whichever thread asks for them first.
        self._making = threading.RLock()
        self._session: GpuSession | None = None
        self._oracle: Oracle | None = None
        self.measurement: Measurement | None = None
        self._has_run = False
        self._cpu: Future[list[CpuTime]] | None = None
        self._cpu_sizes: list[Sizes] = []
        # For what waits for the device and the compiler of the lab's kernels, what launches ahead, and what computes.
        self._waiting, self._launching, self._computing = (ThreadPoolExecutor(1) for _each in range(3))
        self._comparing = ThreadPoolExecutor(max(1, min(MOST_COMPARING, processes)))
        self._opened = self._waiting.submit(self._process.ready)
        self._helpers = self._waiting.submit(self._compiled_helpers)
        self._ahead: list[Future[None]] = []
        self._by_text: list[Future[None]] = []
        self._runner: GpuRunner | None = None
        self._is_timing, self._waited_for = False, ""
        self._measured: GpuWork | None = None
        self._times: dict[tuple[object, ...], Measurement] = {}
        self._switch_s = sys.getswitchinterval()

    def __enter__(self) -> Self:
        sys.setswitchinterval(SWITCH_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        sys.setswitchinterval(self._switch_s)
        if self._session is not None:
            self._session.close()
        self._process.close()
        # Whoever waits for the device is told by now that it is gone; a compiler that is closed under work starts anew.
        for threads in (self._waiting, self._launching, self._computing, self._comparing):
            threads.shutdown(cancel_futures=True)
        self.compiler.close()
        if self.own_compiler is not None:
            self.own_compiler.close()

    def begin(self, lab: Lab) -> None:
        """Make ready what is needed of a lab, whatever is graded, while the caller does other things.

        Raises FileError: the lab's oracle cannot be run.
        """
        self._oracle = Oracle(lab)
        self._waiting.submit(self._compile_references, lab)
        types = {p.name: p.dtype for p in lab.parameters if p.is_array}
        cases = lab.cases["gpu"]
        for sizes in (*cases.correct, cases.observe, *cases.ragged, *cases.large):
            self._computing.submit(compute_case, self._oracle, sizes, types)

    def _compiled_helpers(self) -> bytes:
        """Return the machine code of the grader's own kernels; none where there is no device."""
        ready = self._opened.result()
        return b"" if isinstance(ready, NoDevice) else compile_helpers(self.compiler, ready.architecture)

    def _compile_references(self, lab: Lab) -> None:
        """Have the lab's own kernels compiled, as they are timed; they are kept."""
        ready = self._opened.result()
        if lab.timing is not None and not isinstance(ready, NoDevice):
            programs = ProgramStore(self.compiler, ready.architecture)
            bench.compile_references(programs, lab.variants, lab.timing.sizes)

    def prepare(self, work: GpuWork) -> None:
        """Compute what `measure` compares with; the device need not be open yet.

        Raises FileError: the lab's oracle cannot say what has to come out.
        """
        if self._opened.done() and self.refusal():
            return
        self._oracle = self._oracle or Oracle(work.lab)
        compute_cases(work.lab, self._oracle, work.kernels(), work.evidence)

    def launch_ahead(self, work: GpuWork, by_text: bool) -> None:
        """Begin with the launches of one variant while others run on the emulator; `measure` finds what came of them.

        by_text: the launches are those that the text speaks of alone; only those of a right kernel are made.
        """
        if not by_text or all(map(is_sound, work.evidence.values())):
            if not by_text and self._is_timing:
                self._ahead.append(self._waiting.submit(self._end_timing, work))
            launching = self._launching.submit(self._launched, work)
            self._ahead.append(launching)
            if by_text:
                self._by_text.append(launching)

    def time_ahead(self, work: GpuWork) -> None:
        """Begin to time kernels that are launched as the text speaks of alone, if all are right; `measure` finds it."""
        if all(is_sound(evidence) for evidence in work.evidence.values() if evidence.interpretation is not None):
            self._is_timing = True
            self._ahead.append(self._launching.submit(self._timed_ahead, work))

    def _timed_ahead(self, work: GpuWork) -> None:
        if self.refusal() or self._waited_for:
            return
        with suppress(InternalError, FileError, GpuFault, Needless):
            runner = self._runner_of(work, work.kernels())
            if not all(runner.is_known(evidence) for evidence in work.evidence.values()):
                return
            graded = {name: runner.graded(evidence) for name, evidence in work.evidence.items()}
            work, candidates = replace(work, evidence=graded), _timed(runner, graded)
            is_right = all(run.is_right for evidence in graded.values() for run in evidence.runs)
            # By what the text tells; `measure` keeps them by what was seen of the program besides.
            store, key = Store(folder()), self._key(work)
            is_kept = not work.remeasure and store.get(key) is not None
            if candidates and is_right and not is_kept:
                self._time_cpu(work.lab, candidates)
                try:
                    times = self._measure(work, candidates, runner.trials.oracle)
                    self._times[_key_of_launches(graded, candidates)] = times
                    store.put(key, times)
                except lock.Busy:
                    self._waited_for = "times"

    def _end_timing(self, work: GpuWork) -> None:
        """Have timing ahead end where a program launches its kernel otherwise than the text tells."""
        wait(self._by_text)
        if not self.refusal():
            runner = self._runner_of(work, work.kernels_as_handed_in())
            if not all(map(runner.is_known, work.evidence.values())):
                self.session().needless.set()

    def _launched(self, work: GpuWork) -> None:
        if self.refusal() or self._waited_for:
            return
        # What goes wrong here is told by `measure`, which tries again.
        with suppress(InternalError, FileError, GpuFault, Needless):
            runner = self._runner_of(work, work.kernels_as_handed_in())
            for evidence in work.evidence.values():
                runner.prepare(evidence)
            try:
                launch_all(self.session(), runner, list(work.evidence.values()))
            except lock.Busy:
                self._waited_for = "launches"

    def _runner_of(self, work: GpuWork, kernels: Mapping[str, BoundKernel]) -> GpuRunner:
        """What runs kernels: it remembers what those before it did."""
        session = self.session()
        with self._making:
            if self._runner is None:
                self._oracle = self._oracle or Oracle(work.lab)
                backend = GpuBackend(session)
                programs = ProgramStore(work.compiler, session.device.architecture)
                trials = Trials(work.lab, self._oracle, programs, backend)
                self._runner = GpuRunner(trials, backend, session.device, {}, self._comparing)
            return replace(self._runner, kernels=kernels)

    def refusal(self) -> str:
        """Why there is no device after all, "" when there is one; waits until it is open."""
        ready = self._opened.result()
        return ready.reason if isinstance(ready, NoDevice) else ""

    def environment(self, plain: Environment) -> Environment:
        """What a result was made with, with the device in it; `plain` where nothing ran on the device after all."""
        if not self._has_run:
            return plain
        device = self.session().device
        measured = self.measurement
        return msgspec.structs.replace(
            plain,
            backend="gpu",
            device=device.name,
            driver=device.driver,
            architecture=device.architecture,
            copy_gb_s=round(measured.copy_gb_s, 1) if measured else None,
            fp32_gflop_s=round(measured.fp32_gflop_s, 1) if measured else None,
        )

    def session(self) -> GpuSession:
        """The session on the device, with the grader's own kernels compiled.

        Raises InternalError: there is no device, or the grader's kernels do not compile for it.
        """
        with self._making:
            if self._session is None:
                ready = self._opened.result()
                if isinstance(ready, NoDevice):
                    raise InternalError(ready.reason)
                self._session = GpuSession(self._process, self._helpers.result(), {})
            return self._session

    def measure(self, work: GpuWork, profilers: Sequence[str] = ()) -> dict[str, Evidence]:
        """The evidence of all variants with results and times from the GPU; `with_cpu_times` has the CPU's."""
        wait(self._ahead)
        self._measured = work
        self.session().needless.clear()
        try:
            if self._waited_for == "launches":
                raise lock.Busy
            return self._graded(work, profilers)
        except lock.Busy:
            # What the emulator found stands.
            return untimed(work.evidence, _in_use())

    def _graded(self, work: GpuWork, profilers: Sequence[str]) -> dict[str, Evidence]:
        session = self.session()
        runner = self._runner_of(work, work.kernels())
        for evidence in work.evidence.values():
            runner.prepare(evidence)
        graded = results(session, runner, work.evidence)
        self._has_run = True
        try:
            if profilers:
                from grader.gpu.unmarked import witnessed

                with lock.exclusive(session.device.uuid):
                    for name, evidence in graded.items():
                        launch = runner.profiled_launch(evidence)
                        if launch is not None:
                            graded[name] = witnessed(session, launch, evidence, profilers)
            if self._waited_for:
                raise lock.Busy
            return self._with_times(replace(work, evidence=graded), runner)
        except lock.Busy:
            return untimed(graded, _in_use())
        except GpuFault as fault:
            return untimed(graded, msg("runs.gpu_failed", reason=fault.reason))

    def _with_times(self, work: GpuWork, runner: GpuRunner) -> dict[str, Evidence]:
        candidates, oracle = _timed(runner, work.evidence), runner.trials.oracle
        if not candidates:
            reason = msg("runs.no_timed_sizes") if work.lab.timing is None else None
            return untimed(work.evidence, reason)
        store = Store(folder())
        key = self._key(work)
        measurement = None if work.remeasure else store.get(key)
        if measurement is None or not measurement.cpu:
            self._time_cpu(work.lab, candidates)
        if measurement is None:
            measurement = self._times.get(_key_of_launches(work.evidence, candidates))
            if measurement is None:
                measurement = self._measure(work, candidates, oracle)
            store.put(key, measurement)
        self.measurement = measurement
        return {name: with_times(work.lab, evidence, measurement) for name, evidence in work.evidence.items()}

    def _time_cpu(self, lab: Lab, candidates: Sequence[bench.KernelAtSize]) -> None:
        """Begin to time what the CPU takes for the same work, beside all that follows."""
        sizes = [candidate.sizes for candidate in candidates]
        if sizes != self._cpu_sizes:
            self._cpu_sizes = sizes
            self._cpu = self._computing.submit(cpu_times_beside, lab, sizes, Store(folder()))

    def with_cpu_times(self, result: Result) -> Result:
        """The result of what `measure` was given with what the same work takes on the CPU; no mark depends on that, and
        who asks waits for it."""
        work = self._measured
        if self._cpu is None or self.measurement is None or work is None:
            return result
        if not self.measurement.cpu:
            # It was kept before: a grading that is ended by now has told its marks.
            self.measurement = replace_fields(self.measurement, cpu=self._cpu.result())
            Store(folder()).put(self._key(work), self.measurement)
        timed = {
            name: replace_fields(variant, timing=list(times_of(work.lab, name, self.measurement)))
            for name, variant in result.variants.items()
            if variant.timing
        }
        return replace_fields(result, variants=result.variants | timed)

    def _measure(self, work: GpuWork, candidates: list[bench.KernelAtSize], oracle: Oracle) -> Measurement:
        lab = work.lab
        session = self.session()
        sizes = [c.sizes for c in candidates]
        wanted = {v for name in work.evidence for v in (name, bench.baseline_of(lab, name)[0])}
        programs = ProgramStore(self.compiler, session.device.architecture)
        compiled = bench.compile_references(programs, [v for v in lab.variants if v.name in wanted], sizes)
        for name, program in compiled.items():
            session.add(reference(name), program.built.result.cubin)
        types = [kernel.dtypes for kernel in work.kernels().values()]
        lab_types = {p.name: p.dtype for p in lab.parameters if p.is_array}
        values = pools(lab, oracle, [*types, lab_types])
        order = bench.SpeedOrder(
            lab=lab,
            candidates=candidates,
            references={name: _launcher(lab, program) for name, program in compiled.items()},
            baselines={name: bench.baseline_of(lab, name) for name in work.evidence},
            pools=values,
            nvrtc=self.compiler.nvrtc_version(),
            host_memory=bench.host_candidates(lab, candidates, values),
        )
        session.reopen()
        with lock.exclusive(session.device.uuid, still_wanted=session.check_wanted), prompt():
            session.forget()
            return bench.measure_speed(session, order)

    def gains(
        self, kernels: Sequence[BoundKernel], sizes: Sizes, oracle: Oracle, compiler: Compiler
    ) -> list[Ratio | None]:
        """How many times as fast as the first kernel each of the others is, timed in turns at some sizes; kept, and
        found again.  None for one that fails there or is wrong; empty where nothing can be timed.
        """
        session, lab = self.session(), kernels[0].lab
        sources = {f"{i}/{name}": t for i, k in enumerate(kernels) for name, t in k.submission.device_source.items()}
        launches = repr([(kernel.binding.expression, kernel.interpretation, sizes) for kernel in kernels])
        kept = folder() / f"{self._key_of(lab, sources, launches)}.changes.json"
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(read_kept(kept), type=list[Ratio | None])
        programs = ProgramStore(compiler, session.device.architecture)
        try:
            with self.in_use, lock.exclusive(session.device.uuid):
                session.forget()
                gains = self._timed_in_turns(lab, kernels, sizes, oracle, programs)
        except (GpuFault, lock.Busy):
            return []
        with suppress(OSError):
            write_atomically(kept, msgspec.json.encode(gains))
        return gains

    def _timed_in_turns(
        self, lab: Lab, kernels: Sequence[BoundKernel], sizes: Sizes, oracle: Oracle, programs: ProgramStore
    ) -> list[Ratio | None]:
        session = self.session()
        variant = next(v for v in lab.variants if v.name == kernels[0].binding.variant)
        compiled = bench.compile_references(
            ProgramStore(self.compiler, session.device.architecture), [variant], [sizes]
        )
        launch = _launcher(lab, compiled[variant.name])(sizes)
        check = TimedKernel("check", *launch) if launch is not None else None
        if check is not None:
            session.add(check.module, compiled[variant.name].built.result.cubin)
        timed: dict[str, TimedKernel] = {}
        for name, kernel in zip(map(str, range(len(kernels))), kernels, strict=True):
            loaded = kernel.load(programs, sizes)
            if loaded.entry is None:
                continue
            session.add(module := f"change:{loaded.built.key}", loaded.built.code.cubin)
            request = kernel.launch_without_data(loaded, sizes)
            timed[name] = TimedKernel(name, module, request, "check" if check and kernel.is_comparable else "")

        def measure(here: Sequence[TimedKernel], prepared: Prepared) -> list[Ratio | None]:
            wrong = {problem.name for problem in prepared.problems}
            names = [k.name for k in here if k is not check and k.name not in wrong]
            round_us = sum(prepared.estimate_us[name] * prepared.batch[name] for name in names)
            samples, _mhz = bench.sample_rounds(session, names, [], series_plan(2 * round_us, BUDGET_US))
            wrong |= {problem.name for problem in samples.problems}
            if "0" in wrong or not samples.valid:
                return []
            speedups = [samples.speedup(str(i), "0") if str(i) not in wrong else None for i in range(1, len(kernels))]
            return [Ratio(s.median, s.low, s.high) if s is not None else None for s in speedups]

        def together(names: Sequence[str]) -> list[TimedKernel]:
            return [*(timed[name] for name in names), *([check] if check else [])]

        types = [*(kernel.dtypes for kernel in kernels), {p.name: p.dtype for p in lab.parameters if p.is_array}]
        l2 = lab.timing.l2 if lab.timing else "cold"
        conditions = bench.Conditions(pools(lab, oracle, types), l2, bench.tolerance_between(lab, sizes))
        session.warm_up(WARM_UP_MS)
        return bench.side_by_side(session, list(timed), together, conditions, measure, {}) or []

    def _key(self, work: GpuWork) -> str:
        run = {name: e for name, e in work.evidence.items() if e.interpretation is not None}
        launches = repr([(name, e.bound.expression, e.interpretation) for name, e in run.items()])
        return self._key_of(work.lab, work.submission.device_source, launches)

    def _key_of(self, lab: Lab, sources: Mapping[str, str], launches: str) -> str:
        device = self.session().device
        return key_of(
            sources,
            launches,
            bench.lab_files(lab),
            self.compiler.nvrtc_version(),
            f"{device.name} {device.architecture} {device.multiprocessors} {device.memory_bytes}",
            device.driver,
        )


def _timed(runner: GpuRunner, graded: Mapping[str, Evidence]) -> list[bench.KernelAtSize]:
    return [candidate for evidence in graded.values() for candidate in runner.timed(evidence)]


def _in_use() -> Message:
    return msg("runs.gpu_in_use")


def _launcher(lab: Lab, compiled: bench.CompiledReference) -> Callable[[Sizes], tuple[str, LaunchRequest] | None]:
    def launch(sizes: Sizes) -> tuple[str, LaunchRequest] | None:
        if not compiled.variant.reference.fits(sizes):
            return None
        return reference(compiled.variant.name), bench.reference_request(lab, compiled, sizes)

    return launch
