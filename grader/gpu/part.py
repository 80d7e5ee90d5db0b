"""The GPU's part in grading a submission: opened at once, asked for results and times, closed whatever happened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np
from msgspec.structs import replace as replace_fields

from grader.errors import InternalError
from grader.files import read_kept, write_atomically
from grader.gpu import bench
from grader.gpu.messages import HELPERS_MODULE, NoDevice, Prepared
from grader.gpu.process import GpuProcess
from grader.gpu.runs import GpuRunner, compute_case, compute_cases, pools, results
from grader.gpu.session import GpuBackend, GpuFault, GpuSession, TimedKernel, compile_helpers
from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import BufferArgument, LaunchOutcome, LaunchRequest
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore
from grader.launching.trial import Run, Trials
from grader.measured import HostMemory, Ratio, Timing, Witness
from grader.message import Message, msg
from grader.result import Environment
from grader.running.evidence import Evidence
from grader.submission.records import Submission
from grader.timing import CpuTime, Measurement, lock
from grader.timing.sampling import BUDGET_US, WARM_UP_MS, series_plan
from grader.timing.summary import Store, folder, key_of, reference, size_key, student, timings

if TYPE_CHECKING:
    from grader.compiler.process import CompilerProcess
    from grader.compiler.several import KeptCompiler


class Gpu:
    """A GPU process and a `compiler` for the lab's own kernels, both started at once; closed as a context manager.

    in_use: held by the thread that asks the device, of several.
    """

    def __init__(self) -> None:
        from grader.compiler.several import KeptCompiler

        self._process = GpuProcess()
        self.compiler: KeptCompiler = KeptCompiler()
        self.in_use = threading.Lock()
        self._session: GpuSession | None = None
        self._oracle: Oracle | None = None
        self.measurement: Measurement | None = None
        self._has_run = False
        self._cpu: Future[list[CpuTime]] | None = None
        # One thread for what waits for the device and the compiler, one for what computes.
        self._waiting, self._computing = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._opened = self._waiting.submit(self._process.ready)
        self._helpers = self._waiting.submit(self._compiled_helpers)
        self._cases: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.close()
        self._process.close()
        # Whoever waits for the device is told by now that it is gone; a compiler that is closed under work starts anew.
        for threads in (self._waiting, self._computing):
            threads.shutdown(cancel_futures=True)
        self.compiler.close()

    def begin(self, lab: Lab) -> None:
        """Make ready what is needed of a lab, whatever is graded, while the caller does other things.

        Raises FileError: the lab's oracle cannot be run.
        """
        self._oracle = Oracle(lab)
        self._waiting.submit(self._compile_references, lab)
        types = {p.name: p.dtype for p in lab.parameters if p.is_array}
        cases = lab.cases["gpu"]
        for sizes in (*cases.correct, cases.observe, *cases.ragged):
            self._cases.append(self._computing.submit(compute_case, self._oracle, sizes, types))

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

    def prepare(self, lab: Lab, submission: Submission, evidence_of: Mapping[str, Evidence]) -> None:
        """Compute what `measure` compares with; the device need not be open yet.

        Raises FileError: the lab's oracle cannot say what has to come out.
        """
        wait(self._cases)
        # The oracle has kept what it has computed.
        self._oracle = self._oracle or Oracle(lab)
        compute_cases(lab, self._oracle, _kernels(lab, submission, evidence_of), evidence_of)

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
        if self._session is None:
            ready = self._opened.result()
            if isinstance(ready, NoDevice):
                raise InternalError(ready.reason)
            self._session = GpuSession(self._process, self._helpers.result(), {})
        return self._session

    def measure(
        self,
        lab: Lab,
        submission: Submission,
        evidence_of: Mapping[str, Evidence],
        compiler: CompilerProcess,
        remeasure: bool,
        profilers: Sequence[str] = (),
    ) -> dict[str, Evidence]:
        """The evidence of all variants with results and times from the GPU added; `with_cpu_times` has the CPU's."""
        try:
            return self._graded(lab, submission, evidence_of, compiler, remeasure, profilers)
        except lock.Busy:
            # What the emulator found stands.
            return _untimed(evidence_of, _in_use())

    def _graded(
        self,
        lab: Lab,
        submission: Submission,
        evidence_of: Mapping[str, Evidence],
        compiler: CompilerProcess,
        remeasure: bool,
        profilers: Sequence[str],
    ) -> dict[str, Evidence]:
        session = self.session()
        oracle = self._oracle or Oracle(lab)
        backend = GpuBackend(session)
        programs = ProgramStore(compiler, session.device.architecture)
        kernels = _kernels(lab, submission, evidence_of)
        runner = GpuRunner(Trials(lab, oracle, programs, backend), backend, session.device, kernels)
        for evidence in evidence_of.values():
            runner.prepare(evidence)
        graded = results(session, runner, evidence_of)
        self._has_run = True
        try:
            if profilers:
                with lock.exclusive(session.device.uuid):
                    graded = {name: _witnessed(session, runner, e, profilers) for name, e in graded.items()}
            return self._with_times(lab, submission, graded, runner, oracle, remeasure)
        except lock.Busy:
            return _untimed(graded, _in_use())
        except GpuFault as fault:
            return _untimed(graded, msg("runs.gpu_failed", reason=fault.reason))

    def _with_times(
        self,
        lab: Lab,
        submission: Submission,
        graded: Mapping[str, Evidence],
        runner: GpuRunner,
        oracle: Oracle,
        remeasure: bool,
    ) -> dict[str, Evidence]:
        candidates = [c for evidence in graded.values() for c in runner.timed(evidence)]
        if not candidates:
            reason = msg("runs.no_timed_sizes") if lab.timing is None else None
            return _untimed(graded, reason)
        store = Store(folder())
        key = self._key(lab, submission, graded)
        measurement = None if remeasure else store.get(key)
        if measurement is None or not measurement.cpu:
            # This process waits for the GPU's most of the time.
            sizes = [candidate.sizes for candidate in candidates]
            self._cpu = self._computing.submit(bench.cpu_times_of, lab, oracle, sizes, store)
        if measurement is None:
            measurement = self._measure(lab, submission, graded, candidates, oracle)
            store.put(key, measurement)
        self.measurement = measurement
        return {name: _timed(lab, evidence, measurement) for name, evidence in graded.items()}

    def with_cpu_times(
        self, lab: Lab, submission: Submission, graded: Mapping[str, Evidence]
    ) -> Mapping[str, Evidence]:
        """`graded`, as `measure` has left it, with what the same work takes on the CPU; no mark depends on that."""
        if self._cpu is None or self.measurement is None:
            return graded
        # It was kept before: a grading that is ended by now has told its marks.
        self.measurement = replace_fields(self.measurement, cpu=self._cpu.result())
        Store(folder()).put(self._key(lab, submission, graded), self.measurement)
        return {
            name: replace(evidence, timing=_timings(lab, name, self.measurement)) for name, evidence in graded.items()
        }

    def _measure(
        self,
        lab: Lab,
        submission: Submission,
        graded: Mapping[str, Evidence],
        candidates: list[bench.KernelAtSize],
        oracle: Oracle,
    ) -> Measurement:
        session = self.session()
        sizes = [c.sizes for c in candidates]
        wanted = {v for name in graded for v in (name, bench.baseline_of(lab, name)[0])}
        programs = ProgramStore(self.compiler, session.device.architecture)
        compiled = bench.compile_references(programs, [v for v in lab.variants if v.name in wanted], sizes)
        for name, program in compiled.items():
            session.add(reference(name), program.built.result.cubin)
        types = [kernel.dtypes for kernel in _kernels(lab, submission, graded).values()]
        lab_types = {p.name: p.dtype for p in lab.parameters if p.is_array}
        values = pools(lab, oracle, [*types, lab_types])
        order = bench.SpeedOrder(
            lab=lab,
            candidates=candidates,
            references={name: _launcher(lab, program) for name, program in compiled.items()},
            baselines={name: bench.baseline_of(lab, name) for name in graded},
            pools=values,
            nvrtc=self.compiler.nvrtc_version(),
            host_memory=_host_candidates(lab, candidates, values),
        )
        session.reopen()
        with lock.exclusive(session.device.uuid):
            session.forget()
            return bench.measure_speed(session, order)

    def gains(
        self, kernels: Sequence[BoundKernel], sizes: Sizes, oracle: Oracle, compiler: CompilerProcess
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

    def _key(self, lab: Lab, submission: Submission, graded: Mapping[str, Evidence]) -> str:
        launches = repr(
            [(name, e.bound.expression, e.interpretation) for name, e in graded.items() if e.interpretation is not None]
        )
        return self._key_of(lab, submission.device_source, launches)

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


def _in_use() -> Message:
    return msg("runs.gpu_in_use")


def _kernels(lab: Lab, submission: Submission, evidence_of: Mapping[str, Evidence]) -> dict[str, BoundKernel]:
    """Return the kernels that were run, by variant; a file is compiled once for all of its kernels."""
    together: dict[str, list[str]] = {}
    run = {name: e for name, e in evidence_of.items() if e.interpretation is not None}
    for evidence in run.values():
        together.setdefault(evidence.bound.kernel.file, []).append(evidence.bound.expression)
    return {
        name: BoundKernel(
            lab, submission, e.bound, e.interpretation, tuple(dict.fromkeys(together[e.bound.kernel.file]))
        )
        for name, e in run.items()
        if e.interpretation is not None
    }


def _launcher(lab: Lab, compiled: bench.CompiledReference) -> Callable[[Sizes], tuple[str, LaunchRequest] | None]:
    def launch(sizes: Sizes) -> tuple[str, LaunchRequest] | None:
        if not compiled.variant.reference.fits(sizes):
            return None
        return reference(compiled.variant.name), bench.reference_request(lab, compiled, sizes)

    return launch


def _inputs_for(candidate: bench.KernelAtSize, values: Mapping[str, Array]) -> dict[str, Array]:
    return {
        a.name: np.resize(values[f"{a.name}:{a.dtype}"], a.shape)
        for a in candidate.request.arguments
        if isinstance(a, BufferArgument) and not a.is_output
    }


def _host_candidates(
    lab: Lab, candidates: list[bench.KernelAtSize], values: Mapping[str, Array]
) -> dict[str, bench.KernelAtSize]:
    """Return each variant's kernel at the largest timed size, for labs that compare host memory."""
    if lab.timing is None or not lab.timing.host_memory:
        return {}
    largest: dict[str, bench.KernelAtSize] = {}
    for candidate in candidates:
        other = largest.get(candidate.variant)
        if other is None or np.prod(size_key(candidate.sizes)) > np.prod(size_key(other.sizes)):
            largest[candidate.variant] = candidate
    return {name: replace(c, request=bench.with_data(c.request, _inputs_for(c, values))) for name, c in largest.items()}


def _timed(lab: Lab, evidence: Evidence, measurement: Measurement) -> Evidence:
    """Return times of one variant; a wrong timed launch becomes a run, so that the checks see it."""
    name = evidence.variant.name
    runs = [*evidence.runs]
    for row in measurement.sizes:
        for wrong in row.wrong:
            if wrong.name == student(name):
                runs.append(_repeated(row.size, f"repeat_{wrong.kind}", evidence))
    reason = measurement.failure.get(student(name), "")
    if reason and all(run.outcome.status == "ok" for run in runs):
        runs.append(_repeated(next(iter(work_sizes(measurement))), reason, evidence))
    unmeasured = dict(evidence.unmeasured)
    throttled = [row for row in measurement.sizes if not row.valid]
    if throttled:
        unmeasured["time"] = msg("runs.throttled", dropped=throttled[-1].dropped, rounds=throttled[-1].rounds)
    host = [
        HostMemory(size=dict(measurement.host_memory_size), **msgspec.structs.asdict(row))
        for row in measurement.host_memory.get(name, [])
    ]
    return replace(
        evidence,
        timing=_timings(lab, name, measurement),
        runs=tuple(runs),
        unmeasured=unmeasured,
        host_memory=tuple(host),
    )


def _timings(lab: Lab, variant: str, measurement: Measurement) -> tuple[Timing, ...]:
    work = {size_key(row.size): bench.work_at(lab, row.size) for row in measurement.sizes}
    return tuple(timings(measurement, variant, bench.baseline_of(lab, variant)[0], lab.variants[0].name, work))


def work_sizes(measurement: Measurement) -> list[Sizes]:
    """The sizes that were measured; one without values when there is none."""
    return [row.size for row in measurement.sizes] or [{}]


def _repeated(sizes: Sizes, reason: str, evidence: Evidence) -> Run:
    """Return a timed launch that failed or was wrong, of a kernel that was right when it ran alone."""
    outcome = LaunchOutcome("fault", reason=reason, line=evidence.bound.kernel.line)
    return Run("correct", sizes, outcome, None, backend="gpu")


def _witnessed(session: GpuSession, runner: GpuRunner, evidence: Evidence, tools: Sequence[str]) -> Evidence:
    """Return what other tools say of a variant's kernel at the size that was observed on the emulator."""
    launch = runner.profiled_launch(evidence)
    if launch is None:
        return evidence
    from grader.gpu import profilers
    from grader.gpu.profilers import ToolFailed

    module = launch[0]
    code = {name: session.code()[name] for name in (HELPERS_MODULE, module)}
    witnesses: list[Witness] = []
    for tool in tools:
        with TemporaryDirectory(prefix="grader-") as folder:
            try:
                if tool == "ncu":
                    witnesses += profilers.witnesses(
                        profilers.measure(Path(folder), code, [launch])[0], evidence.counters
                    )
                else:
                    witnesses += profilers.check(Path(folder), code, [launch]) or [_clean(tool)]
            except ToolFailed as failure:
                witnesses.append(Witness(tool=tool, name="failed", text=str(failure)[:300]))
    return replace(evidence, witnesses=tuple(witnesses))


def _clean(tool: str) -> Witness:
    return Witness(tool=tool, name="clean", text_said=msg("runs.found_nothing"))


def _untimed(graded: Mapping[str, Evidence], reason: Message | None) -> dict[str, Evidence]:
    if reason is None:
        return dict(graded)
    return {
        name: replace(evidence, unmeasured={**evidence.unmeasured, "time": reason}) for name, evidence in graded.items()
    }
