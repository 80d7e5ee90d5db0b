"""Runs a submission's kernels on the GPU: results at the lab's sizes for it, then times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.gpu.bench import KernelAtSize, pool_of
from grader.gpu.messages import Ready
from grader.gpu.session import GpuBackend, GpuSession
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import NEVER_ENDS, LaunchOutcome, LaunchRequest, reason_msg
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run, Trials
from grader.measured import Resources
from grader.message import Message, msg, sizes_msg
from grader.result import CaseKind
from grader.running.evidence import Evidence
from grader.running.explain import untraced
from grader.timing import lock


class GpuRunner:
    """Adds to a variant's evidence what the GPU shows.

    trials: on `backend`.  kernels: those that were graded on the emulator, by variant.
    """

    def __init__(self, trials: Trials, backend: GpuBackend, device: Ready, kernels: Mapping[str, BoundKernel]) -> None:
        self._lab = trials.lab
        self._trials = trials
        self._backend = backend
        self._device = device
        self._kernels = kernels
        self._taken: dict[str, Resources | None] = {}

    def prepare(self, evidence: Evidence) -> None:
        """Compile and compute what `run` needs beside the device, which others may use meanwhile."""
        kernel = self._runnable(evidence)
        if kernel is not None:
            for _kind, sizes in _planned(self._lab, evidence, kernel):
                self._trials.prepare(kernel, sizes)

    def find_resources(self, evidence: Evidence) -> None:
        """Learn by a small launch what a kernel takes; before any other of its launches can break the process."""
        kernel = self._runnable(evidence)
        if kernel is not None:
            self._taken[evidence.variant.name] = self._resources(evidence, kernel)

    def run(self, evidence: Evidence) -> Evidence:
        """`evidence` with the runs on the GPU after the emulator's, and what was found of the kernel's resources."""
        kernel = self._runnable(evidence)
        if kernel is None:
            return evidence
        runs: list[Run] = []
        diagnoses = evidence.diagnoses
        for kind, sizes in _planned(self._lab, evidence, kernel):
            run = self._trials.run(kernel, kind, sizes)
            if not diagnoses and run.difference is not None and run.difference.mismatches:
                # What the emulator has not shown is told by the output alone.
                diagnosis = untraced(self._trials.oracle, kernel, run)
                diagnoses = {"ragged" if kind == "ragged" else "correct": diagnosis} if diagnosis is not None else {}
            # What was compared is not needed any more, and may be hundreds of megabytes.
            outcome = replace(run.outcome, outputs={}, line=run.outcome.line or _line_of_fault(evidence, run))
            hazards = tuple(replace(h, line=h.line or _line_of_fault(evidence, run)) for h in outcome.hazards)
            runs.append(replace(run, outcome=replace(outcome, hazards=hazards)))
            if run.outcome.status != "ok":
                break
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
        is_right = failed is None and all(run.is_right for run in emulated)
        return replace(
            evidence,
            runs=(*emulated, *runs),
            diagnoses=diagnoses,
            unmeasured=unmeasured,
            resources=self._taken.get(evidence.variant.name),
            larger=tuple(self._larger(evidence, kernel)) if is_right and evidence.hard_coded_sizes is None else (),
            untimed=untimed,
        )

    def _runnable(self, evidence: Evidence) -> BoundKernel | None:
        return _runnable(self._kernels, evidence)

    def _larger(self, evidence: Evidence, kernel: BoundKernel) -> Iterator[Run]:
        """Return runs at the lab's large sizes that the kernel takes."""
        cases = self._lab.cases["gpu"]
        wanted = kernel.sizes.planned(replace(cases, correct=cases.large, ragged=()), takes_sizes=False)
        done = [run.sizes for run in evidence.runs]
        for kind, sizes in wanted:
            threads = kernel.geometry(sizes).threads
            if kind != "correct" or sizes in done:
                continue
            if threads > MAX_THREADS_PER_BLOCK:
                said = msg("launches.threads", threads=threads, limit=MAX_THREADS_PER_BLOCK)
                outcome = LaunchOutcome("impossible", reason="threads", said=said)
                yield Run("large", sizes, outcome, None, backend="gpu")
                continue
            run = self._trials.run(kernel, "large", sizes)
            yield replace(run, outcome=replace(run.outcome, outputs={}))

    def timed(self, evidence: Evidence) -> list[KernelAtSize]:
        """The kernel at each size at which it can be timed; [] when its results are wrong or nothing is timed."""
        kernel, rule = self._kernels.get(evidence.variant.name), self._lab.timing
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
            loaded = kernel.load(self._trials.programs, sizes)
            if loaded.entry is None:
                continue
            launch = kernel.launch_without_data(loaded, sizes)
            module = self._backend.load(loaded.built.code)
            candidates.setdefault(
                tuple(sizes.values()),
                KernelAtSize(evidence.variant.name, sizes, module, launch, kernel.is_comparable),
            )
        return list(candidates.values())

    def profiled_launch(self, evidence: Evidence) -> tuple[str, LaunchRequest] | None:
        """The launch that the emulator's counters are of, with its module; None where there is none."""
        kernel, counters = self._kernels.get(evidence.variant.name), evidence.counters
        if kernel is None or counters is None:
            return None
        inputs, outputs = self._trials.oracle.case(counters.size, kernel.dtypes)
        loaded = kernel.load(self._trials.programs, counters.size)
        if loaded.entry is None:
            return None
        module = self._backend.load(loaded.built.code)
        return module, kernel.launch(loaded, counters.size, inputs, outputs)

    def _resources(self, evidence: Evidence, kernel: BoundKernel) -> Resources | None:
        """Return the resources of the kernel at the size that doubtful interpretations are tried at."""
        sizes = evidence.hard_coded_sizes or kernel.sizes.probe(self._lab.cases["gpu"].probe)
        inputs, outputs = self._trials.oracle.case(sizes, kernel.dtypes)
        loaded = kernel.load(self._trials.programs, sizes)
        if loaded.entry is None or loaded.entry not in loaded.built.result.resources:
            return None
        static = loaded.built.result.resources[loaded.entry]
        launch = kernel.launch(loaded, sizes, inputs, outputs)
        _outcome, facts = self._backend.run_with_facts(loaded.built.code, launch)
        return Resources(
            architecture=self._device.architecture,
            registers=static.registers,
            shared_bytes=static.shared_bytes + launch.shared_bytes,
            local_bytes=facts.local_bytes if facts else static.stack_bytes,
            spill_store_bytes=static.spill_store_bytes,
            spill_load_bytes=static.spill_load_bytes,
            blocks_per_sm=facts.blocks_per_sm if facts else None,
            occupancy_pct=facts.occupancy_pct if facts else None,
        )


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

    Whoever wants to time waits for all who are at this, and they for each other's timing: nobody returns to the queue
    between two launches, but where a kernel broke the process, which takes longer to replace than most take in all.
    Raises Busy: the GPU was timed on all the time.
    """
    graded: dict[str, Evidence] = {}

    def run(name: str, evidence: Evidence) -> None:
        graded[name] = runner.run(evidence)

    # Each breaks the process once at most, at its end.
    steps = deque[Callable[[], None]]()
    for name, evidence in evidence_of.items():
        steps += partial(runner.find_resources, evidence), partial(run, name, evidence)
    while steps:
        session.reopen()
        with lock.shared(session.device.uuid):
            while steps:
                steps.popleft()()
                if session.is_broken:
                    break
            session.release()
    return graded


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
