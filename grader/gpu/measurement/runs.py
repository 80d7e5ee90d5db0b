"""Runs a submission's kernels on the GPU: results at the lab's sizes for it, then times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from grader.backends.base import LaunchOutcome, LaunchRequest
from grader.compiler.process import CompileResult
from grader.gpu.host.session import GpuSession
from grader.gpu.measurement.bench import pool_of
from grader.gpu.measurement.speed import Candidate as TimedCandidate
from grader.i18n import _
from grader.lab.records import Lab
from grader.message import Message, msg, sizes_msg
from grader.oracle.expected import Oracle
from grader.result import Resources
from grader.running.cases import ProgramRequest, block_of, dtypes_of, fits, planned, probe_sizes, request
from grader.running.evidence import Evidence, Run
from grader.running.references import placeholder, shape_at
from grader.running.runs import Runner
from grader.submission.records import Candidate

Compile = Callable[[str, str, Mapping[str, int]], CompileResult]
"""Compiles a file for the device: file, name expression, values of its constants."""

MAX_THREADS = 1024
"""Of a block, on every GPU."""

NEVER_ENDS = ("time", "instructions", "endless", "deadlock")
"""Reasons of the emulator for which a kernel is not tried on the device: it would only be waited for."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A student's kernel in machine code: module of the session, symbol, and what came of compiling it."""

    module: str
    entry: str
    result: CompileResult


class GpuPrograms:
    """The student's programs as a backend on the GPU, compiled for it as they are asked for.

    expressions: of every kernel of a file, so that a file is compiled once for all of them.
    """

    name = "gpu"
    measures = frozenset({"results", "time"})

    def __init__(self, session: GpuSession, compile_for_device: Compile) -> None:
        self._session = session
        self._compile = compile_for_device
        self._loaded: dict[tuple[str, str, tuple[tuple[str, int], ...]], Loaded | str] = {}

    def run(self, launch: LaunchRequest) -> LaunchOutcome:
        """Run one launch; "impossible" where the program does not compile for what the launch asks for."""
        loaded = self.load(launch)
        if isinstance(loaded, str):
            return LaunchOutcome("impossible", reason=loaded)
        return self._session.run(loaded.module, replace(launch, entry=loaded.entry))

    def load(self, launch: LaunchRequest, expression: str = "") -> Loaded | str:
        """The program that a launch is of, or why it does not compile."""
        if not isinstance(launch, ProgramRequest):
            raise TypeError(f"not a launch of a program: {type(launch).__name__}")
        expression = launch.expression or expression or launch.entry
        key = (launch.file, expression, launch.constants)
        if key not in self._loaded:
            self._loaded[key] = self._make(launch, expression)
        return self._loaded[key]

    def _make(self, launch: ProgramRequest, expression: str) -> Loaded | str:
        result = self._compile(launch.file, expression, dict(launch.constants))
        entry = result.entries.get(expression)
        if entry is None:
            error = next((d.message for d in result.diagnostics if d.severity == "error"), result.reason)
            return _("the program does not compile for this GPU: {error}").format(error=error)
        module = f"student:{launch.file}:{expression}:{launch.constants}"
        self._session.add(module, result.cubin)
        return Loaded(module, entry, result)


class GpuRunner:
    """Adds to a variant's evidence what the GPU shows."""

    def __init__(self, lab: Lab, session: GpuSession, programs: GpuPrograms, oracle: Oracle) -> None:
        self._lab = lab
        self._session = session
        self._programs = programs
        self._oracle = oracle
        self._runner = Runner(lab, programs, oracle)

    def run(self, evidence: Evidence) -> Evidence:
        """`evidence` with the runs on the GPU after the emulator's, and what the kernel takes there."""
        candidate = evidence.candidate
        if candidate is None or any(run.outcome.reason in NEVER_ENDS for run in evidence.runs):
            return evidence
        binding = evidence.bound
        runs: list[Run] = []
        sizes_of_kind = planned(self._lab, self._lab.cases["gpu"], binding, candidate)
        if evidence.wired_sizes is not None:
            sizes_of_kind = [("observe", evidence.wired_sizes)]
        for kind, sizes in sizes_of_kind:
            run = self._runner.run_once(binding, candidate, binding.expression, kind, sizes, observe=False)
            # What was compared is not needed any more, and may be hundreds of megabytes.
            outcome = replace(run.outcome, outputs={}, line=run.outcome.line or _line_of_fault(evidence, run))
            hazards = tuple(replace(h, line=h.line or _line_of_fault(evidence, run)) for h in outcome.hazards)
            runs.append(replace(run, outcome=replace(outcome, hazards=hazards), backend="gpu"))
            if run.outcome.status != "ok":
                break
        failed = next((run for run in runs if not _is_right(run)), None)
        untimed: Message | str = ""
        if failed is not None and evidence.hazards("race", "barrier_divergence", "out_of_bounds", "uninitialized"):
            # The emulator goes on after such a fault, and its result may be right; here it shows.  It is paid for once.
            untimed = msg("runs.fails_on_gpu", sizes=sizes_msg(failed.sizes))
            runs = [run for run in runs if _is_right(run)]
        emulated = evidence.runs
        unmeasured = {name: text for name, text in evidence.unmeasured.items() if name != "time"}
        unsupported = next((run.outcome.reason for run in emulated if run.outcome.status == "unsupported"), None)
        if unsupported is not None and runs:
            # The GPU can do what the emulator cannot; only counters and hazards are missing then.
            emulated = tuple(run for run in emulated if run.outcome.status != "unsupported")
            text = _("the emulator cannot run this kernel: {reason}").format(reason=unsupported)
            unmeasured |= {"counters": text, "hazards": text}
        is_right = failed is None and all(_is_right(run) for run in emulated)
        return replace(
            evidence,
            runs=(*emulated, *runs),
            unmeasured=unmeasured,
            resources=self._resources(evidence),
            larger=tuple(self._larger(evidence, candidate)) if is_right and evidence.wired_sizes is None else (),
            untimed=untimed,
        )

    def _larger(self, evidence: Evidence, candidate: Candidate) -> Iterator[Run]:
        """Runs at the lab's large sizes, as far as the kernel takes such."""
        cases, binding = self._lab.cases["gpu"], evidence.bound
        wanted = planned(self._lab, replace(cases, correct=cases.large, ragged=()), binding, candidate)
        known = [run.sizes for run in evidence.runs]
        for kind, sizes in wanted:
            threads = prod(block_of(candidate.launch, sizes))
            if kind != "correct" or sizes in known:
                continue
            if threads > MAX_THREADS:
                reason = _("{threads} threads a block, at most {limit} are possible")
                outcome = LaunchOutcome("impossible", reason=reason.format(threads=threads, limit=MAX_THREADS) + ".")
                yield Run("large", sizes, outcome, None, backend="gpu")
                continue
            run = self._runner.run_once(binding, candidate, binding.expression, "large", sizes, observe=False)
            yield replace(run, outcome=replace(run.outcome, outputs={}), backend="gpu")

    def timed(self, evidence: Evidence) -> list[TimedCandidate]:
        """The kernel at each size at which it can be timed; [] when its results are wrong or nothing is timed."""
        candidate, rule = evidence.candidate, self._lab.timing
        gpu_runs = [run for run in evidence.runs if run.backend == "gpu"]
        if (
            rule is None
            or candidate is None
            or evidence.untimed
            or not gpu_runs
            or any(not _is_right(run) for run in evidence.runs_of("correct", "observe"))
        ):
            return []
        binding = evidence.bound
        dtypes = dtypes_of(self._lab, binding, candidate)
        comparable = all(dtype == self._lab.parameter(name).dtype for name, dtype in dtypes.items())
        found: dict[tuple[int, ...], TimedCandidate] = {}
        for wanted in rule.sizes:
            cases = replace(self._lab.cases["gpu"], probe=wanted)
            sizes = evidence.wired_sizes or probe_sizes(self._lab, cases, candidate)
            if not fits(self._lab, sizes, candidate):
                continue
            arrays = {
                p.name: placeholder(shape_at(self._lab, p.name, sizes), dtypes.get(p.name, p.dtype))
                for p in self._lab.parameters
                if p.kind != "size"
            }
            inputs = {name: a for name, a in arrays.items() if self._lab.parameter(name).kind == "input"}
            outputs = {name: a for name, a in arrays.items() if name not in inputs}
            launch = request(self._lab, binding, candidate, binding.expression, sizes, inputs, outputs, observe=False)
            loaded = self._programs.load(launch)
            if isinstance(loaded, str):
                continue
            plain = _plain(launch, loaded.entry)
            found.setdefault(
                tuple(sizes.values()),
                TimedCandidate(evidence.variant.name, sizes, loaded.module, plain, comparable),
            )
        return list(found.values())

    def observed_launch(self, evidence: Evidence) -> tuple[str, LaunchRequest] | None:
        """The launch that the emulator's counters are of, with its module; None where there is none."""
        candidate, counters = evidence.candidate, evidence.counters
        if candidate is None or counters is None:
            return None
        binding = evidence.bound
        inputs, outputs = self._oracle.case(counters.size, dtypes_of(self._lab, binding, candidate))
        launch = request(
            self._lab, binding, candidate, binding.expression, counters.size, inputs, outputs, observe=False
        )
        loaded = self._programs.load(launch)
        return None if isinstance(loaded, str) else (loaded.module, _plain(launch, loaded.entry))

    def _resources(self, evidence: Evidence) -> Resources | None:
        """Of the kernel at the observed size."""
        candidate = evidence.candidate
        assert candidate is not None
        binding = evidence.bound
        sizes = evidence.wired_sizes or probe_sizes(self._lab, self._lab.cases["gpu"], candidate)
        inputs, outputs = self._oracle.case(sizes, dtypes_of(self._lab, binding, candidate))
        launch = request(self._lab, binding, candidate, binding.expression, sizes, inputs, outputs, observe=False)
        loaded = self._programs.load(launch)
        if isinstance(loaded, str) or loaded.entry not in loaded.result.resources:
            return None
        static = loaded.result.resources[loaded.entry]
        _outcome, facts = self._session.run_with_facts(loaded.module, replace(launch, entry=loaded.entry))
        return Resources(
            architecture=self._session.device.architecture,
            registers=static.registers,
            shared_bytes=static.shared_bytes + launch.shared_bytes,
            local_bytes=facts.local_bytes if facts else static.stack_bytes,
            spill_store_bytes=static.spill_store_bytes,
            spill_load_bytes=static.spill_load_bytes,
            blocks_per_sm=facts.blocks_per_sm if facts else None,
            occupancy_pct=facts.occupancy_pct if facts else None,
        )


def _plain(launch: LaunchRequest, entry: str) -> LaunchRequest:
    """A launch of a loaded kernel, rid of what it was compiled for."""
    return LaunchRequest(entry, launch.grid, launch.block, launch.shared_bytes, launch.arguments)


def _is_right(run: Run) -> bool:
    return run.difference is not None and run.difference.mismatches == 0 and not run.changed_inputs


def _line_of_fault(evidence: Evidence, run: Run) -> int:
    """Where the emulator saw what the GPU only shows to have gone wrong; the kernel's own line when it did not."""
    kinds = {run.kind} if run.kind == "ragged" else {"correct", "observe"}
    same = [r for r in evidence.runs if r.kind in kinds]
    for seen in (same, evidence.runs):
        for emulated in seen:
            if emulated.outcome.line:
                return emulated.outcome.line
            for hazard in emulated.outcome.hazards:
                if hazard.kind == "out_of_bounds":
                    return hazard.line
    return evidence.bound.kernel.line


def pools(lab: Lab, oracle: Oracle, dtypes: list[Mapping[str, str]]) -> dict[str, np.ndarray]:
    """Values to fill inputs with, by "name:dtype": those of the lab's own inputs at the size that observers watch."""
    found: dict[str, np.ndarray] = {}
    for types in dtypes:
        inputs, _expected = oracle.case(lab.cases["emulator"].observe, types)
        found |= {f"{name}:{array.dtype}": pool_of(array) for name, array in inputs.items()}
    return found
