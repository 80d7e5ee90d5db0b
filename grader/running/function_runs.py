"""Runs a student's function: a process a case, in which it is called twice, by a harness of the grader's own.

What was found of a call is what a launch's outcome is of a kernel, so that everything after it judges both alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

import msgspec
import numpy as np

from grader.compiler.result import CompileResult
from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.lab.compare import Difference, compare, first_wrong, sentinel
from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, Parameter, Sizes
from grader.launching.backend import (
    GAVE_UP,
    INSTRUCTIONS_PER_LAUNCH,
    STEPS_AFTER_FAULT,
    STEPS_PER_LAUNCH,
    LaunchOutcome,
)
from grader.launching.kernel import SizeRules, shape_at
from grader.launching.trial import Run
from grader.measured import Diagnosis
from grader.message import Message, joined, msg
from grader.programs.execution import CompiledProgram, run_calls
from grader.programs.records import CallArgument, CallSeen, FunctionCall, Observation, RunLimits, Start
from grader.programs.sources import Program
from grader.result import CaseKind
from grader.running.calls import (
    hazards_of,
    is_one_launch,
    living_on,
    not_brought,
    one_block,
    remarks_of,
    stopped_call,
    stopped_launch,
    suspects,
    together,
    uncombined_blocks,
)
from grader.running.cases import drawn_cases, drawn_shapes
from grader.running.evidence import Evidence, library_at, work_of_call
from grader.running.explain import MAX_EXPLAINED
from grader.running.host_code import of_call
from grader.running.reordered import ORDERS, is_asked, of_calls, rounding
from grader.running.runs import counters_of
from grader.submission.cpp.tree import ParsedFile
from grader.submission.records import Interpretation, LaunchPlan

CALLS = 2
"""In one process: a second one must not live on what the first has left."""
LIMITS = RunLimits(
    host_instructions=1_000_000_000,
    host_bytes=512 << 20,
    device_bytes=256 << 20,
    launch_instructions=INSTRUCTIONS_PER_LAUNCH,
    steps_after_fault=STEPS_AFTER_FAULT,
    kernel_instructions=2 * INSTRUCTIONS_PER_LAUNCH,
    kernel_steps=STEPS_PER_LAUNCH,
)
MAX_KEPT = 4
"""Variables that live on from call to call and are named."""
FLAG_SHARE = 16
"""Arrays that are smaller than the output by more than this are no part of it, but what a program decides by."""
_RETURNS_TO_HOST = re.compile(r"cublas\w*?(dot|nrm2|asum|am(?:ax|in))")
SECOND_CALL = ("second_call", "second_call_with")
"""Reasons of calls that follow one that was right."""
_PLAN = LaunchPlan((1, 1, 1), (), (), exact=False)
"""A function takes any size: nothing is rounded."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a process is started for; again: of each call, inputs and expected outputs."""

    kind: CaseKind
    sizes: Sizes
    data: tuple[tuple[Mapping[str, Array], Mapping[str, Array]], ...]
    drawn: bool = False
    test: str = ""
    """The id of a test's check: no other one looks at it."""
    undone: bool = False
    """What kernels do is undone: what is right all the same was computed by the host."""
    is_timed: bool = False


@dataclass
class FunctionRuns:
    """The runs of a program with a harness, for a lab's cases and, where it is right at all of these, for drawn ones.

    drawn: the lab with the seed that is drawn for the submission, and its oracle.
    observations: of each case, in order; observed: at the observed size.
    suspects: plain names of kernels, see `suspects`.
    texts: of the program's files, by name.
    is_one_launch: whether every wrong call makes one launch and nothing else that a result may come out wrong by.
    """

    lab: Lab
    oracle: Oracle
    drawn_lab: Lab
    drawn_oracle: Oracle
    observations: list[Observation] = field(default_factory=list)
    observed: Observation | None = None
    suspects: frozenset[str] = frozenset()
    is_one_launch: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    calls: ClassVar[int] = CALLS

    def of(self, program: Program, evidence: Evidence, compiled: CompiledProgram | None = None) -> Evidence:
        """`evidence` with the runs, what was counted at the observed size, and what the host code does wrong.

        compiled: the program, which is left open; None: it is compiled for this alone.

        Raises InternalError: no program can be run here.
        Raises FileError: the oracle cannot say what has to come out.
        """
        cases = [*self.named(), *self._tests()]
        self.texts = program.original
        runs: list[Run] = []
        tests: dict[str, Run] = {}
        shown: list[tuple[Case, Run, Observation]] = []

        limits = msgspec.structs.replace(LIMITS, counts_work=self.lab.counts_work)

        def after(observations: Sequence[Observation]) -> tuple[Start, RunLimits] | None:
            others = len(observations) - len(cases)
            if others > 0:
                return self._in_order(others, limits)
            run = self.judged(cases[len(observations) - 1], observations[-1])
            test = cases[len(observations) - 1].test
            if run is not None and test:
                tests[test], run = run, None
            # A drawn shape may be too much for what is right at the lab's own sizes: that is no fault.
            if run is not None and not (run.drawn and run.outcome.reason in GAVE_UP):
                runs.append(run)
                shown.append((cases[len(observations) - 1], run, observations[-1]))
            if len(observations) == len(cases) and all(run.outcome.status == "ok" and run.is_right for run in runs):
                is_named = not any(run.drawn for run in runs)
                cases.extend(self.drawn_cases(replace(evidence, runs=tuple(runs))) if is_named else self._last(cases))
            if len(observations) < len(cases):
                return self.begun(cases[len(observations)], limits)
            return self._in_order(0, limits) if is_asked(replace(evidence, runs=tuple(runs))) else None

        observations = run_calls(program, *self.begun(cases[0], limits), after, compiled)
        self.observations, reordered = observations[: len(cases)], observations[len(cases) :]
        if not runs:
            # It was not compiled.
            return evidence
        profiled = next(i for i, case in enumerate(cases) if case.kind == "observe")
        judged = [(run, observation) for _case, run, observation in shown]
        self.suspects = suspects(judged)
        self.is_one_launch = is_one_launch(judged)
        evidence = replace(
            evidence,
            runs=tuple(runs),
            tests=tests,
            diagnoses=self._diagnoses(shown),
            one_block=one_block(judged),
            uncombined_blocks=uncombined_blocks(judged, "\n".join(program.whole.values())),
            unmeasured={"time": msg("runs.not_timed")},
            host=of_call(
                [
                    (case.sizes, observation)
                    for observation, case in zip(self.observations, cases, strict=False)
                    if not case.undone and not case.test
                ],
                self.lab.files,
                not_brought(self.lab, judged),
            ),
        )
        observed = self.observed = self.observations[profiled] if profiled < len(self.observations) else None
        # What the first of two calls did is known also where the second went wrong.
        is_seen = runs[profiled].outcome.status == "ok" or runs[profiled].outcome.reason in SECOND_CALL
        if not is_seen or observed is None:
            return evidence
        launches = observed.calls[0].launches
        counted = together(launches, evidence.bound.kernel.file)
        instructions = sum(launch.thread_instructions for launch in launches)
        sizes = cases[profiled].sizes
        return replace(
            evidence,
            launches=len(launches),
            library_at=library_at(program.host),
            work=tuple(
                work_of_call(self.lab, run, observation.calls[0])
                for _case, run, observation in shown
                if self.lab.counts_work and run.outcome.status == "ok"
            ),
            reordered=of_calls(sizes, reordered, cases[profiled].data[0][1]) if reordered else None,
            counters=counters_of(counted, sizes, instructions) if launches else None,
            array_bytes={p.name: self._bytes(p, sizes) for p in self.lab.parameters if p.is_array},
        )

    def _diagnoses(self, shown: Sequence[tuple[Case, Run, Observation]]) -> dict[str, Diagnosis]:
        """Diagnose the outputs of the smallest wrong cases: where they are wrong, and by what rule."""
        diagnoses: dict[str, Diagnosis] = {}
        wrong = [row for row in shown if row[1].difference is not None and row[1].difference.mismatches]
        for case, run, observation in sorted(wrong, key=lambda row: prod(row[0].sizes.values())):
            kind, outputs = "ragged" if case.kind == "ragged" else "correct", self.outputs(case, observation)
            inputs, expected = case.data[0]
            name = run.difference.name if run.difference is not None else ""
            if kind in diagnoses or outputs is None or outputs[name].size > MAX_EXPLAINED:
                continue
            if np.ma.isMaskedArray(expected[name]):  # Of elements that may be anything no rule speaks.
                continue
            tolerance = self.lab.tolerance.at(case.sizes, str(expected[name].dtype))
            arrays = {key: array for key, array in inputs.items() if array.ndim}
            hazards = run.outcome.hazards
            explained = WrongCase(
                case.sizes,
                name,
                outputs[name],
                expected[name],
                tolerance,
                arrays,
                hazards=hazards,
                is_on_host=not self.is_on_device,
            )
            diagnoses[kind] = diagnose(explained)
        return diagnoses

    @property
    def is_on_device(self) -> bool:
        """Whether the pointers of a function lead to the device's memory."""
        return self.lab.function is not None and self.lab.function.memory == "device"

    def begun(self, case: Case, limits: RunLimits) -> tuple[Start, RunLimits]:
        """Return how a case is begun, and within which limits."""
        limits = msgspec.structs.replace(limits, fills=True)
        if not case.undone:
            return self._start(case), limits
        largest = max(prod(shape_at(self.lab, p.name, case.sizes)) for p in self.lab.parameters if p.is_output)
        undoes_bytes = max(1, largest // FLAG_SHARE)
        return self._start(case), msgspec.structs.replace(limits, undoes_bytes=undoes_bytes, counts_work=True)

    def _in_order(self, number: int, limits: RunLimits) -> tuple[Start, RunLimits] | None:
        """Begin one call at the observed size with blocks in one of `ORDERS`; None where there are no more of these."""
        if number >= len(ORDERS):
            return None
        case = self._case("observe", self.lab.cases["emulator"].observe, self.oracle)
        ((inputs, expected), *_others) = case.data
        once = replace(case, data=((rounding(inputs, self.lab.seed), expected),))
        return self._start(once), msgspec.structs.replace(limits, order=ORDERS[number])

    def _last(self, cases: Sequence[Case]) -> Iterator[Case]:
        """For a function that is right at all cases, one of them again without what its kernels do.

        Where pointers lead to the device's memory, each call shows by itself who has filled it.
        """
        if not self.is_on_device and not any(case.undone for case in cases):
            yield replace(next((case for case in cases if case.drawn), cases[0]), undone=True)

    def named(self, backend: str = "emulator") -> Iterator[Case]:
        """Yield the lab's own cases."""
        cases = self.lab.cases[backend]
        rows: list[tuple[CaseKind, Sizes]] = [("correct", sizes) for sizes in cases.correct if sizes != cases.observe]
        rows += [("observe", cases.observe), *(("ragged", sizes) for sizes in cases.ragged)]
        rows += [("correct", sizes) for sizes in cases.large]
        for kind, sizes in rows:
            yield self._case(kind, sizes, self.oracle)

    def _tests(self) -> Iterator[Case]:
        for variant in self.lab.variants:
            for name, test in variant.tests.items():
                if not test.is_secret(self.lab.view):
                    case = self._case("correct", test.sizes, self.oracle.of_test(test))
                    yield replace(case, test=f"{variant.name}.{name}")

    def once(self, sizes: Sizes) -> Case:
        """One call at any sizes, with the lab's data."""
        return Case("correct", sizes, (self.oracle.case(sizes, self._dtypes),))

    def timed(self, sizes: Sizes) -> Case:
        """One call with data of the submission's own; what has to come out the lab's reference is to say."""
        return Case("correct", sizes, ((self.drawn_oracle.inputs(sizes, self._dtypes), {}),), is_timed=True)

    def outputs(self, case: Case, observation: Observation) -> dict[str, Array] | None:
        """Return the outputs of the one call of a case; None where it did not come to its end."""
        returned = next((call for call in observation.calls if call.has_returned), None)
        if returned is None or stopped_launch(observation) is not None:
            return None
        shapes = {name: shape_at(self.lab, name, case.sizes) for name in returned.outputs}
        return {
            name: np.frombuffer(data, self.lab.parameter(name).dtype).reshape(shapes[name])
            for name, data in returned.outputs.items()
        }

    def drawn_cases(self, evidence: Evidence) -> Iterator[Case]:
        """Yield drawn cases, and one whose data are all equal where the lab asks for it."""
        rules = SizeRules(self.drawn_lab, Interpretation((), _PLAN))
        rows = [*drawn_cases(self.drawn_lab, evidence, rules), *drawn_shapes(self.drawn_lab, evidence, rules)]
        for kind, sizes in rows:
            yield replace(self._case(kind, sizes, self.drawn_oracle), drawn=True)
        if self.lab.drawn.equal_values:
            sizes = self.lab.cases["emulator"].probe
            yield replace(self._case("correct", sizes, self.drawn_oracle.of_equal_values()), drawn=True)

    def _case(self, kind: CaseKind, sizes: Sizes, oracle: Oracle) -> Case:
        data = (oracle.case(sizes, self._dtypes, again=bool(call)) for call in range(self.calls))
        return Case(kind, sizes, tuple(data))

    @property
    def _dtypes(self) -> dict[str, str]:
        return {p.name: p.dtype for p in self.lab.parameters if p.is_array}

    def _bytes(self, parameter: Parameter, sizes: Sizes) -> int:
        return prod(shape_at(self.lab, parameter.name, sizes)) * np.dtype(parameter.dtype).itemsize

    def _start(self, case: Case) -> Start:
        """Return what the harness is told of a case: everything but the expected outputs."""
        assert self.lab.function is not None
        on_device = self.lab.function.memory == "device"
        calls = []
        names = [a.name for a in self.lab.function.signature.arguments]
        if self.lab.function.harness:
            names = [p.name for p in self.lab.parameters]
        for inputs, _expected in case.data:
            given = [self._argument(name, case.sizes, inputs) for name in names]
            calls.append(FunctionCall(given, on_device, is_timed=case.is_timed))
        return Start(calls=calls)

    def _argument(self, name: str, sizes: Sizes, inputs: Mapping[str, Array]) -> CallArgument:
        parameter = self.lab.parameter(name)
        if parameter.is_size:
            return CallArgument(name, _raw(np.asarray(sizes[name]).astype(parameter.dtype)))
        if parameter.kind.is_number:
            return CallArgument(name, _raw(inputs[name]))
        if not parameter.is_input:
            shape = shape_at(self.lab, name, sizes)
            is_set = parameter.initial is not None
            array = np.full(shape, parameter.initial, parameter.dtype) if is_set else sentinel(shape, parameter.dtype)
            is_output = parameter.is_output
            return CallArgument(name, b"", array.tobytes(), is_set, is_output, width_bytes=array.itemsize)
        array = inputs[name]
        return CallArgument(name, b"", array.tobytes(), is_output=parameter.is_output, width_bytes=array.itemsize)

    def _of_second_call(self, reason: str, message: Message) -> LaunchOutcome:
        """Return the outcome of a call that is wrong after a right one, with the variables that have lived on."""
        kept = list(living_on(self.texts))
        if not 0 < len(kept) <= MAX_KEPT:
            return LaunchOutcome("fault", reason=reason, said=message)
        names = [msg("pieces.in_line", name=name, line=line) for name, _file, line in kept]
        lives = msg("launches.lives_on", n=len(names), names=msg("pieces.listed", items=names, more=False))
        file, line = kept[0][1:] if len(kept) == 1 else ("", 0)
        return LaunchOutcome("fault", reason=reason, said=joined(message, lives), line=line, file=file)

    # -- what came of a case ------------------------------------------------------------------

    def judged(self, case: Case, observation: Observation) -> Run | None:
        """Return the run of a case; None where that says nothing of the function."""
        if case.undone:
            (inputs, expected), *_others = case.data
            returned = next((call for call in observation.calls if call.has_returned), None)
            if returned is None:
                return None
            return self._undone(case, self._differences(case.sizes, returned, inputs, expected), observation)
        outcome = stopped_call(observation, len(case.data))
        difference: Difference | None = None
        changed: tuple[str, ...] = ()
        if outcome is None:
            outcome = LaunchOutcome("ok")
            for number, (call, (inputs, expected)) in enumerate(zip(observation.calls, case.data, strict=True)):
                wrong = first_wrong(self._differences(case.sizes, call, inputs, expected))
                if number and wrong.mismatches:
                    # The first call was right, or this would not be looked at.
                    what = msg("launches.elements_wrong", n=wrong.mismatches, total=wrong.total, name=wrong.name)
                    if wrong.total == 1:
                        what = msg("outputs.only_one", name=wrong.name)
                    values = ", ".join(f"{key} = {value:g}" for key, value in inputs.items() if not value.ndim)
                    reason = "second_call_with" if values else "second_call"
                    with_values = {"values": values} if values else {}
                    message = msg(f"launches.{reason}", what=what, **with_values)
                    outcome = self._of_second_call(reason, message)
                    difference = None
                    break
                difference, changed = wrong, tuple(dict.fromkeys((*changed, *call.changed)))
                if wrong.mismatches:
                    break
                if call.not_of_device:
                    message = msg("launches.not_of_device", name=call.not_of_device[0])
                    outcome, difference = LaunchOutcome("fault", reason="by_host", said=message), None
                    break
        return Run(
            case.kind,
            case.sizes,
            replace(outcome, hazards=hazards_of(observation), remarks=remarks_of(observation)),
            difference,
            changed,
            drawn=case.drawn,
        )

    def _undone(self, case: Case, differences: Sequence[Difference], observation: Observation) -> Run | None:
        """Return a failed run where a large output is right though all kernels were undone; else None."""
        if any(_RETURNS_TO_HOST.match(call.name) for call in observation.asked):
            # What a library has computed on the device reaches the host by no array there.
            return None
        ((_inputs, expected), *_others) = case.data
        most = max(difference.total for difference in differences)
        for output in differences:
            # Zeros may be what nobody wrote.
            if not output.mismatches and output.total * FLAG_SHARE >= most and np.any(expected[output.name]):
                message = msg("launches.undone", name=output.name)
                return Run(
                    case.kind, case.sizes, LaunchOutcome("fault", reason="undone", said=message), None, drawn=True
                )
        return None

    def _differences(
        self, sizes: Sizes, call: CallSeen, inputs: Mapping[str, Array], expected: Mapping[str, Array]
    ) -> list[Difference]:
        arrays = {name: array for name, array in inputs.items() if array.ndim}
        differences = []
        for name, data in call.outputs.items():
            right = expected[name]
            got = np.frombuffer(data, right.dtype).reshape(right.shape)
            tolerance = self.lab.tolerance.at(sizes, str(right.dtype))
            differences.append(compare(name, got, right, tolerance, arrays))
        return differences


@dataclass(frozen=True)
class Called:
    """How a function, or a program, was run, and how it is with a change.

    compiled: the program as it is; whoever graded it closes it.
    built: its device code for an architecture; a template's kernel is compiled where it is named ("tiled<16>").
    files: of the submission.  changed: the program with a file's text replaced, by its name.
    graded: the evidence of every variant of such a program.

    changed and graded raise UsageError: it cannot be read.  InternalError: no program can be run.
    """

    runs: FunctionRuns
    program: Program
    compiled: CompiledProgram
    built: Callable[[str, str], CompileResult]
    files: Sequence[ParsedFile]
    changed: Callable[[str, str], Program]
    graded: Callable[[Program], Mapping[str, Evidence]]


def _raw(value: Array) -> bytes:
    """Return a number padded to eight bytes."""
    return value.tobytes().ljust(8, b"\0")
