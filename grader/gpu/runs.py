"""Runs a submission's kernels on the GPU: results at the lab's sizes for it, then times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import numpy as np

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.gpu import bench
from grader.gpu.bench import KernelAtSize, pool_of
from grader.gpu.messages import Ready
from grader.gpu.session import GpuBackend, GpuSession
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import NEVER_ENDS, BufferArgument, LaunchOutcome, LaunchRequest, reason_msg
from grader.launching.kernel import BoundKernel
from grader.launching.programs import DeviceProgram
from grader.launching.trial import Run, Trials
from grader.measured import HostMemory, Resources, Timing
from grader.message import Message, msg, sizes_msg
from grader.result import CaseKind
from grader.running.evidence import Evidence
from grader.running.explain import untraced
from grader.submission.records import Submission
from grader.timing import Measurement, lock
from grader.timing.summary import size_key, student, timings


@dataclass(frozen=True, slots=True)
class OnDevice:
    """What a kernel did on the device; runs are compared in other threads.

    resources: what it takes, None where that is not known.
    runs: at the sizes that it is graded by, up to the first launch that failed.
    larger: at the lab's large sizes, where all of `runs` are right.
    """

    resources: Resources | None
    runs: tuple[Future[Run], ...]
    larger: tuple[Future[Run], ...]


Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class GpuRunner:
    """Adds to a variant's evidence what the GPU shows.

    trials: on `backend`.  kernels: those that were graded on the emulator, by variant.  comparing: threads.
    What a kernel did is found again where the same code is to be launched in the same ways.
    """

    trials: Trials
    backend: GpuBackend
    device: Ready
    kernels: Mapping[str, BoundKernel]
    comparing: Executor
    known: dict[Key, OnDevice] = field(default_factory=dict)
    taken: dict[Key, Resources | None] = field(default_factory=dict)

    def prepare(self, evidence: Evidence) -> None:
        """Compile and compute what `launch` needs beside the device, which others may use meanwhile."""
        kernel = self._runnable(evidence)
        if kernel is not None:
            for _kind, sizes in _planned(self.trials.lab, evidence, kernel):
                self.trials.prepare(kernel, sizes)

    def find_resources(self, evidence: Evidence) -> None:
        """Learn by a small launch what a kernel takes; before any other of its launches can break the process."""
        kernel = self._runnable(evidence)
        if kernel is not None and (key := self._key(evidence, kernel)) not in self.taken:
            self.taken[key] = self._resources(evidence, kernel)

    def is_known(self, evidence: Evidence) -> bool:
        """Whether all launches that `graded` tells of have been made, if there are any."""
        kernel = self._runnable(evidence)
        return kernel is None or self._key(evidence, kernel) in self.known

    def launch(self, evidence: Evidence) -> None:
        """Make all launches that `graded` tells of."""
        kernel = self._runnable(evidence)
        if kernel is None or (key := self._key(evidence, kernel)) in self.known:
            return
        runs: list[Future[Run]] = []
        for kind, sizes in _planned(self.trials.lab, evidence, kernel):
            outcome, compared = self.trials.launch(kernel, kind, sizes)
            runs.append(self.comparing.submit(_compared, compared))
            if outcome.status != "ok":
                break
        large = self._large(evidence, kernel) if runs else []
        # Nobody who wants to time waits for comparisons that no launch hangs on.
        is_right = bool(large) and all(run.result().is_right for run in runs)
        larger = tuple(self._larger(kernel, large)) if is_right else ()
        self.known[key] = OnDevice(self.taken.get(key), tuple(runs), larger)

    def graded(self, evidence: Evidence) -> Evidence:
        """`evidence` with the runs on the GPU after the emulator's, and what was found of the kernel's resources."""
        kernel = self._runnable(evidence)
        if kernel is None:
            return evidence
        on_device = self.known[self._key(evidence, kernel)]
        runs: list[Run] = []
        diagnoses = evidence.diagnoses
        for run in (one.result() for one in on_device.runs):
            if not diagnoses and run.difference is not None and run.difference.mismatches:
                # What the emulator has not shown is told by the output alone.
                diagnosis = untraced(self.trials.oracle, kernel, run)
                diagnoses = (
                    {"ragged" if run.kind == "ragged" else "correct": diagnosis} if diagnosis is not None else {}
                )
            outcome = replace(run.outcome, outputs={}, line=run.outcome.line or _line_of_fault(evidence, run))
            hazards = tuple(replace(h, line=h.line or _line_of_fault(evidence, run)) for h in outcome.hazards)
            runs.append(replace(run, outcome=replace(outcome, hazards=hazards)))
        failed = next((run for run in runs if not run.is_right), None)
        untimed: Message | None = None
        if failed is not None and evidence.hazards("race", "barrier_divergence", "out_of_bounds", "uninitialized"):
            # The emulator goes on after such a fault, and its result may be right; here it shows.  It is paid for once.
            untimed = msg("runs.fails_on_gpu", sizes=sizes_msg(failed.sizes))
            runs = [run for run in runs if run.is_right]
        emulated = evidence.runs
        unmeasured = {name: text for name, text in evidence.unmeasured.items() if name != "time"}
        unsupported = next((reason_msg(run.outcome) for run in emulated if run.outcome.status == "unsupported"), None)
        if unsupported is not None and runs:
            # The GPU can do what the emulator cannot; only counters and hazards are missing then.
            emulated = tuple(run for run in emulated if run.outcome.status != "unsupported")
            text = msg("runs.emulator_cannot", reason=unsupported)
            unmeasured |= {"counters": text, "hazards": text}
        return replace(
            evidence,
            runs=(*emulated, *runs),
            diagnoses=diagnoses,
            unmeasured=unmeasured,
            resources=on_device.resources,
            larger=tuple(one.result() for one in on_device.larger),
            untimed=untimed,
        )

    def _runnable(self, evidence: Evidence) -> BoundKernel | None:
        return _runnable(self.kernels, evidence)

    def _key(self, evidence: Evidence, kernel: BoundKernel) -> Key:
        """What all launches of a kernel follow from."""
        launches = [("probe", self._probe(evidence, kernel)), *_planned(self.trials.lab, evidence, kernel)]
        launches += [("large", sizes) for sizes in self._large(evidence, kernel)]
        return tuple((kind, *sizes.items(), *self._launched(kernel, sizes)) for kind, sizes in launches)

    def _launched(self, kernel: BoundKernel, sizes: Sizes) -> Iterator[object]:
        loaded = kernel.load(self.trials.programs, sizes)
        yield loaded.built.key
        if loaded.entry is None:
            yield kernel.geometry(sizes)
        else:
            yield from identity(kernel.launch_without_data(loaded, sizes))

    def _probe(self, evidence: Evidence, kernel: BoundKernel) -> Sizes:
        return evidence.hard_coded_sizes or kernel.sizes.probe(self.trials.lab.cases["gpu"].probe)

    def _large(self, evidence: Evidence, kernel: BoundKernel) -> list[Sizes]:
        """The lab's large sizes that the kernel takes, where it is right on the emulator."""
        emulated = [run for run in evidence.runs if run.outcome.status != "unsupported"]
        if evidence.hard_coded_sizes is not None or not all(run.is_right for run in emulated):
            return []
        cases = self.trials.lab.cases["gpu"]
        wanted = kernel.sizes.planned(replace(cases, correct=cases.large, ragged=()), takes_sizes=False)
        done = [run.sizes for run in evidence.runs]
        return [sizes for kind, sizes in wanted if kind == "correct" and sizes not in done]

    def _larger(self, kernel: BoundKernel, large: Sequence[Sizes]) -> Iterator[Future[Run]]:
        """Make the launches at the lab's large sizes."""
        for sizes in large:
            threads = kernel.geometry(sizes).threads
            if threads > MAX_THREADS_PER_BLOCK:
                message = msg("launches.threads", threads=threads, limit=MAX_THREADS_PER_BLOCK)
                outcome = LaunchOutcome("impossible", reason="threads", said=message)
                refused = partial(Run, "large", sizes, outcome, None, backend="gpu")
                yield self.comparing.submit(_compared, refused)
            else:
                _outcome, compared = self.trials.launch(kernel, "large", sizes)
                yield self.comparing.submit(_compared, compared)

    def timed(self, evidence: Evidence) -> list[KernelAtSize]:
        """The kernel at each size at which it can be timed; [] when its results are wrong or nothing is timed."""
        kernel, rule = self.kernels.get(evidence.variant.name), self.trials.lab.timing
        gpu_runs = [run for run in evidence.runs if run.backend == "gpu"]
        if (
            rule is None
            or kernel is None
            or evidence.untimed
            or not gpu_runs
            or any(not run.is_right for run in evidence.runs_of("correct", "observe"))
        ):
            return []
        candidates: dict[tuple[int, ...], KernelAtSize] = {}
        for wanted in rule.sizes:
            sizes = evidence.hard_coded_sizes or kernel.sizes.probe(wanted)
            if not kernel.sizes.fits(sizes):
                continue
            loaded = kernel.load(self.trials.programs, sizes)
            if loaded.entry is None:
                continue
            launch = kernel.launch_without_data(loaded, sizes)
            module = self.backend.load(loaded.built.code)
            candidates.setdefault(
                tuple(sizes.values()),
                KernelAtSize(evidence.variant.name, sizes, module, launch, kernel.is_comparable),
            )
        return list(candidates.values())

    def profiled_launch(self, evidence: Evidence) -> tuple[str, LaunchRequest] | None:
        """The launch that the emulator's counters are of, with its module; None where there is none."""
        kernel, counters = self.kernels.get(evidence.variant.name), evidence.counters
        if kernel is None or counters is None:
            return None
        inputs, outputs = self.trials.oracle.case(counters.size, kernel.dtypes)
        loaded = kernel.load(self.trials.programs, counters.size)
        if loaded.entry is None:
            return None
        module = self.backend.load(loaded.built.code)
        return module, kernel.launch(loaded, counters.size, inputs, outputs)

    def _resources(self, evidence: Evidence, kernel: BoundKernel) -> Resources | None:
        """Return the resources of the kernel at the size that doubtful interpretations are tried at."""
        sizes = self._probe(evidence, kernel)
        inputs, outputs = self.trials.oracle.case(sizes, kernel.dtypes)
        loaded = kernel.load(self.trials.programs, sizes)
        if loaded.entry is None or loaded.entry not in loaded.built.result.resources:
            return None
        static = loaded.built.result.resources[loaded.entry]
        launch = kernel.launch(loaded, sizes, inputs, outputs)
        _outcome, facts = self.backend.run_with_facts(loaded.built.code, launch)
        return Resources(
            architecture=self.device.architecture,
            registers=static.registers,
            shared_bytes=static.shared_bytes + launch.shared_bytes,
            local_bytes=facts.local_bytes if facts else static.stack_bytes,
            spill_store_bytes=static.spill_store_bytes,
            spill_load_bytes=static.spill_load_bytes,
            blocks_per_sm=facts.blocks_per_sm if facts else None,
            occupancy_pct=facts.occupancy_pct if facts else None,
        )


def is_sound(evidence: Evidence) -> bool:
    """Whether all that a kernel did on the emulator is right."""
    return bool(evidence.runs) and all(run.is_right and not run.outcome.hazards for run in evidence.runs)


def identity(request: LaunchRequest) -> Iterator[object]:
    """What a launch of a program follows from but for its data, which sizes and types tell."""
    yield request.entry, request.grid, request.block, request.shared_bytes, request.cooperative
    for argument in request.arguments:
        if isinstance(argument, BufferArgument):
            yield replace(argument, initial=None), argument.initial is not None
        else:
            # Equal numbers need not be the same: 0.0 and -0.0.
            yield repr(argument)


def _compared(compare: Callable[[], Run]) -> Run:
    run = compare()
    # What was compared and is right is not needed any more, and may be hundreds of megabytes.
    return replace(run, outcome=replace(run.outcome, outputs={})) if run.output_is_right else run


def kernels_of(
    lab: Lab,
    submission: Submission,
    evidence_of: Mapping[str, Evidence],
    programs: Mapping[str, DeviceProgram] | None = None,
) -> dict[str, BoundKernel]:
    """Return the kernels that were run, by variant; a file is compiled once for all of its kernels.

    programs: the files with all of these; None: with those that were run.
    """
    together: dict[str, list[str]] = {file: list(one.expressions) for file, one in (programs or {}).items()}
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


def compute_cases(
    lab: Lab, oracle: Oracle, kernels: Mapping[str, BoundKernel], evidence_of: Mapping[str, Evidence]
) -> None:
    """Have an oracle compute what `GpuRunner` compares with, while the device is being opened.

    Raises FileError: the oracle cannot say what has to come out.
    """
    for evidence in evidence_of.values():
        kernel = _runnable(kernels, evidence)
        if kernel is None:
            continue
        for _kind, sizes in _planned(lab, evidence, kernel):
            compute_case(oracle, sizes, kernel.dtypes)


def compute_case(oracle: Oracle, sizes: Sizes, dtypes: Mapping[str, str]) -> None:
    """The same at some sizes, for kernels on arrays of these types."""
    if oracle.projected(sizes, dtypes) is None:
        oracle.case(sizes, dtypes)


def _runnable(kernels: Mapping[str, BoundKernel], evidence: Evidence) -> BoundKernel | None:
    """Return a variant's kernel if there is one that ends and can run on a GPU."""
    ends = not any(run.outcome.reason in NEVER_ENDS for run in evidence.runs)
    # Inputs with a halo are made for the emulator only.
    return kernels.get(evidence.variant.name) if ends and evidence.halo is None else None


def _planned(lab: Lab, evidence: Evidence, kernel: BoundKernel) -> Sequence[tuple[CaseKind, Sizes]]:
    if evidence.hard_coded_sizes is not None:
        return [("observe", evidence.hard_coded_sizes)]
    return kernel.sizes.planned(lab.cases["gpu"], kernel.binding.takes_sizes)


def results(session: GpuSession, runner: GpuRunner, evidence_of: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """What every variant's kernel does on the device, others launching theirs beside it.

    Raises Busy: the GPU was timed on all the time.
    """
    launch_all(session, runner, evidence_of.values())
    graded = {name: runner.graded(evidence) for name, evidence in evidence_of.items()}
    runner.known.clear()
    return graded


def launch_all(session: GpuSession, runner: GpuRunner, every: Iterable[Evidence]) -> None:
    """Make the launches of all these variants, each kernel's on modules that are loaded anew.

    Whoever wants to time waits for all who are at this, and they for each other's timing: nobody returns to the queue
    between two launches, but where a kernel broke the process, which takes longer to replace than most take in all.
    Raises Busy: the GPU was timed on all the time.  Raises Needless: the session was closed meanwhile.
    """
    # Each breaks the process once at most, at its end.
    steps = deque[Callable[[], None]]()
    for evidence in every:
        steps += session.forget, partial(runner.find_resources, evidence), partial(runner.launch, evidence)
    while steps:
        session.reopen()
        with lock.shared(session.device.uuid, still_wanted=session.check_open):
            while steps:
                steps.popleft()()
                if session.is_broken:
                    break
            session.release()


def _line_of_fault(evidence: Evidence, run: Run) -> int:
    """Return the line where the emulator saw the fault that the GPU shows, else the kernel's own."""
    kinds = {run.kind} if run.kind == "ragged" else {"correct", "observe"}
    same = [r for r in evidence.runs if r.kind in kinds]
    for runs in (same, evidence.runs):
        for emulated in runs:
            if emulated.outcome.line:
                return emulated.outcome.line
            for hazard in emulated.outcome.hazards:
                if hazard.kind == "out_of_bounds":
                    return hazard.line
    return evidence.bound.kernel.line


def pools(lab: Lab, oracle: Oracle, dtypes: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
    """Values to fill inputs with, by "name:dtype": those of the lab's own inputs at the size that observers watch."""
    values: dict[str, np.ndarray] = {}
    for types in dtypes:
        inputs, _expected = oracle.case(lab.cases["emulator"].observe, types)
        values |= {f"{name}:{array.dtype}": pool_of(array) for name, array in inputs.items()}
    return values


def with_times(lab: Lab, evidence: Evidence, measurement: Measurement) -> Evidence:
    """Return times of one variant; a wrong timed launch becomes a run, so that the checks see it."""
    name = evidence.variant.name
    runs = [*evidence.runs]
    for row in measurement.sizes:
        for wrong in row.wrong:
            if wrong.name == student(name):
                runs.append(_repeated(row.size, f"repeat_{wrong.kind}", evidence))
    reason = measurement.failure.get(student(name), "")
    if reason and all(run.outcome.status == "ok" for run in runs):
        runs.append(_repeated(next((row.size for row in measurement.sizes), {}), reason, evidence))
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
        timing=times_of(lab, name, measurement),
        runs=tuple(runs),
        unmeasured=unmeasured,
        host_memory=tuple(host),
    )


def times_of(lab: Lab, variant: str, measurement: Measurement) -> tuple[Timing, ...]:
    work = {size_key(row.size): bench.work_at(lab, row.size) for row in measurement.sizes}
    return tuple(timings(measurement, variant, bench.baseline_of(lab, variant)[0], lab.variants[0].name, work))


def _repeated(sizes: Sizes, reason: str, evidence: Evidence) -> Run:
    """Return a timed launch that failed or was wrong, of a kernel that was right when it ran alone."""
    outcome = LaunchOutcome("fault", reason=reason, line=evidence.bound.kernel.line)
    return Run("correct", sizes, outcome, None, backend="gpu")


def untimed(graded: Mapping[str, Evidence], reason: Message | None) -> dict[str, Evidence]:
    """Return the evidence with the reason why there are no times, if there is one to be told."""
    if reason is None:
        return dict(graded)
    return {
        name: replace(evidence, unmeasured={**evidence.unmeasured, "time": reason}) for name, evidence in graded.items()
    }
