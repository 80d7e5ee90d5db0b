"""Runs a student's function: a process a case, in which it is called twice, by a harness of the grader's own.

What was found of a call is what a launch's outcome is of a kernel, so that everything after it judges both alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import msgspec
import numpy as np

from grader.backends.base import INSTRUCTIONS_PER_LAUNCH, LaunchOutcome
from grader.lab.records import Lab, Parameter, Sizes
from grader.launching.geometry import SizeRules, shape_at
from grader.launching.trial import Run
from grader.message import msg
from grader.oracle.compare import Difference, compare, sentinel
from grader.oracle.expected import Array, Oracle
from grader.programs.observe import Start, observe_calls
from grader.programs.records import CallArgument, CallSeen, FunctionCall, Observation, RunLimits
from grader.programs.sources import Program
from grader.ptx.records import Counters, LineCounter
from grader.result import CaseKind
from grader.running.counting import counters_of
from grader.running.drawn import drawn_cases, drawn_shapes
from grader.running.evidence import Evidence
from grader.running.host_code import of_call
from grader.running.reordered import ORDERS, is_asked, of_calls, rounding
from grader.running.work import work_of_call
from grader.submission.records import Interpretation, LaunchPlan

CALLS = 2
"""In one process: a second one must not live on what the first has left."""
LIMITS = RunLimits(
    host_instructions=1_000_000_000,
    host_bytes=512 << 20,
    device_bytes=256 << 20,
    launch_instructions=INSTRUCTIONS_PER_LAUNCH,
    kernel_instructions=2 * INSTRUCTIONS_PER_LAUNCH,
)
NO_FAULTS = frozenset({"programs.hangs", "programs.process_died", "programs.launch_seconds"})
"""Ends that a clock or the machine has brought about."""
NOT_OURS = frozenset({"programs.kernel_not_emulated", "programs.emulator_cannot", "programs.kernel_keeps_pointer"})
"""Ends that come of what the emulator lacks."""
_PLAN = LaunchPlan((1, 1, 1), (), (), exact=False)
"""A function takes any size: nothing is rounded."""


@dataclass(frozen=True, slots=True)
class _Case:
    """What a process is started for; again: of each call, inputs and expected outputs."""

    kind: CaseKind
    sizes: Sizes
    data: tuple[tuple[Mapping[str, Array], Mapping[str, Array]], ...]
    drawn: bool = False


@dataclass
class FunctionRuns:
    """The runs of a program with a harness, for a lab's cases and, where it is right at all of these, for drawn ones.

    drawn: the lab with the seed that is drawn for the submission, and its oracle.
    observations: of each case, in order.
    """

    lab: Lab
    oracle: Oracle
    drawn_lab: Lab
    drawn_oracle: Oracle
    observations: list[Observation] = field(default_factory=list)

    def of(self, program: Program, evidence: Evidence) -> Evidence:
        """`evidence` with the runs, what was counted at the observed size, and what the host code does wrong.

        Raises
        ------
        InternalError : no program can be run here.
        FileError : the oracle cannot say what has to come out.
        """
        cases = list(self._named())
        runs: list[Run] = []

        limits = msgspec.structs.replace(LIMITS, counts_work=self.lab.counts_work)

        def after(found: Sequence[Observation]) -> tuple[Start, RunLimits] | None:
            others = len(found) - len(cases)
            if others > 0:
                return self._in_order(others, limits)
            runs.append(self._run(cases[len(found) - 1], found[-1]))
            is_named = len(found) == len(cases) and not any(run.drawn for run in runs)
            if is_named and all(run.outcome.status == "ok" and run.is_right for run in runs):
                cases.extend(self._drawn(replace(evidence, runs=tuple(runs))))
            if len(found) < len(cases):
                return self._start(cases[len(found)]), limits
            return self._in_order(0, limits) if is_asked(replace(evidence, runs=tuple(runs))) else None

        seen = observe_calls(program, self._start(cases[0]), limits, after)
        self.observations, reordered = seen[: len(cases)], seen[len(cases) :]
        if not runs:
            # It was not compiled.
            return evidence
        profiled = next(i for i, case in enumerate(cases) if case.kind == "observe")
        evidence = replace(
            evidence,
            runs=tuple(runs),
            unmeasured={"time": msg("runs.function_not_timed")},
            host=of_call(self.observations),
        )
        observed = self.observations[profiled] if profiled < len(self.observations) else None
        if runs[profiled].outcome.status != "ok" or observed is None:
            return evidence
        launches = observed.calls[0].launches
        counted = _together([launch.counters for launch in launches if launch.counters is not None])
        instructions = sum(launch.thread_instructions for launch in launches)
        sizes = cases[profiled].sizes
        return replace(
            evidence,
            launches=len(launches),
            work=tuple(
                work_of_call(self.lab, run, seen.calls[0])
                for run, seen in zip(runs, self.observations, strict=True)
                if self.lab.counts_work and run.outcome.status == "ok"
            ),
            reordered=of_calls(sizes, reordered, cases[profiled].data[0][1]) if reordered else None,
            counters=counters_of(counted, sizes, instructions) if launches else None,
            array_bytes={p.name: self._bytes(p, sizes) for p in self.lab.parameters if p.is_array},
        )

    def _in_order(self, number: int, limits: RunLimits) -> tuple[Start, RunLimits] | None:
        """One call at the observed size, with blocks in one of `ORDERS`; None where there are no more of these."""
        if number >= len(ORDERS):
            return None
        case = self._case("observe", self.lab.cases["emulator"].observe, self.oracle)
        ((inputs, expected), *_others) = case.data
        once = replace(case, data=((rounding(inputs, self.lab.seed), expected),))
        return self._start(once), msgspec.structs.replace(limits, order=ORDERS[number])

    def _named(self) -> Iterator[_Case]:
        """The lab's own cases."""
        cases = self.lab.cases["emulator"]
        rows: list[tuple[CaseKind, Sizes]] = [("correct", sizes) for sizes in cases.correct if sizes != cases.observe]
        rows += [("observe", cases.observe), *(("ragged", sizes) for sizes in cases.ragged)]
        for kind, sizes in rows:
            yield self._case(kind, sizes, self.oracle)

    def _drawn(self, evidence: Evidence) -> Iterator[_Case]:
        """Cases that nobody can know beforehand; those whose data are all equal where the lab asks for these."""
        rules = SizeRules(self.drawn_lab, Interpretation((), _PLAN))
        rows = [*drawn_cases(self.drawn_lab, evidence, rules), *drawn_shapes(self.drawn_lab, evidence, rules)]
        for kind, sizes in rows:
            yield replace(self._case(kind, sizes, self.drawn_oracle), drawn=True)
        if self.lab.drawn.equal_values:
            sizes = self.lab.cases["emulator"].probe
            yield replace(self._case("correct", sizes, self.drawn_oracle.of_equal_values()), drawn=True)

    def _case(self, kind: CaseKind, sizes: Sizes, oracle: Oracle) -> _Case:
        dtypes = {p.name: p.dtype for p in self.lab.parameters if p.is_array}
        return _Case(kind, sizes, tuple(oracle.case(sizes, dtypes, again=bool(call)) for call in range(CALLS)))

    def _bytes(self, parameter: Parameter, sizes: Sizes) -> int:
        return prod(shape_at(self.lab, parameter.name, sizes)) * np.dtype(parameter.dtype).itemsize

    def _start(self, case: _Case) -> Start:
        """What the harness is told of a case: everything but what has to come out."""
        assert self.lab.function is not None
        on_device = self.lab.function.memory == "device"
        calls = []
        for inputs, _expected in case.data:
            given = [self._argument(a.name, case.sizes, inputs) for a in self.lab.function.signature.arguments]
            calls.append(FunctionCall(given, on_device))
        return Start(calls=calls)

    def _argument(self, name: str, sizes: Sizes, inputs: Mapping[str, Array]) -> CallArgument:
        parameter = self.lab.parameter(name)
        if parameter.kind == "size":
            return CallArgument(name, _raw(np.asarray(sizes[name]).astype(parameter.dtype)))
        if parameter.kind == "scalar":
            return CallArgument(name, _raw(inputs[name]))
        if parameter.kind == "output":
            shape = shape_at(self.lab, name, sizes)
            is_set = parameter.initial is not None
            array = np.full(shape, parameter.initial, parameter.dtype) if is_set else sentinel(shape, parameter.dtype)
            return CallArgument(name, b"", array.tobytes(), is_set, is_output=True)
        return CallArgument(name, b"", inputs[name].tobytes(), is_output=parameter.kind == "in_out")

    # -- what came of a case ------------------------------------------------------------------

    def _run(self, case: _Case, observation: Observation) -> Run:
        hazards = tuple(h for call in observation.calls for launch in call.launches for h in launch.hazards)
        outcome = _stopped(observation)
        difference: Difference | None = None
        changed: tuple[str, ...] = ()
        if outcome is None:
            outcome = LaunchOutcome("ok")
            for number, (seen, (inputs, expected)) in enumerate(zip(observation.calls, case.data, strict=True)):
                found = self._difference(case.sizes, seen, inputs, expected)
                if number and found.mismatches:
                    # The first call was right, or this would not be looked at.
                    said = msg(
                        "launches.second_call",
                        what=msg("launches.elements_wrong", n=found.mismatches, total=found.total, name=found.name),
                    )
                    outcome = LaunchOutcome("fault", reason="second_call", said=said)
                    difference = None
                    break
                difference, changed = found, tuple(dict.fromkeys((*changed, *seen.changed)))
                if found.mismatches:
                    break
        return Run(case.kind, case.sizes, replace(outcome, hazards=hazards), difference, changed, drawn=case.drawn)

    def _difference(
        self, sizes: Sizes, seen: CallSeen, inputs: Mapping[str, Array], expected: Mapping[str, Array]
    ) -> Difference:
        """Of the first output that is wrong, else of the first output."""
        arrays = {name: array for name, array in inputs.items() if array.ndim}
        differences = []
        for name, data in seen.outputs.items():
            right = expected[name]
            got = np.frombuffer(data, right.dtype).reshape(right.shape)
            tolerance = self.lab.tolerance.at(sizes, str(right.dtype))
            differences.append(compare(name, got, right, tolerance, arrays))
        return next((d for d in differences if d.mismatches), differences[0])


def _raw(value: Array) -> bytes:
    """A number as eight bytes that begin with its own."""
    return value.tobytes().ljust(8, b"\0")


def _stopped(observation: Observation) -> LaunchOutcome | None:
    """Why there is nothing to be compared: a launch that stopped, a call that did not return; None where there is."""
    cause = observation.cause
    if cause is not None and cause.id in NO_FAULTS | NOT_OURS:
        return LaunchOutcome("unsupported", reason=cause.id, said=cause)
    for launch in (launch for call in observation.calls for launch in call.launches):
        if launch.status in ("trap", "grid_sync", "endless"):
            reason = launch.reason if launch.status == "endless" else launch.status
            return LaunchOutcome("fault", reason=reason, line=launch.line)
        if launch.status in ("too_large", "too_slow"):
            return LaunchOutcome("fault", reason="instructions", line=launch.line)
    last = observation.calls[-1] if observation.calls else CallSeen()
    if len(observation.calls) < CALLS or not last.has_returned:
        number = max(1, len(observation.calls))
        if cause is not None:
            place = next((f for f in reversed(observation.findings) if f.message == cause), None)
            said = msg("launches.call_ended", number=number, what=cause)
            return LaunchOutcome("fault", reason="call_ended", said=said, line=place.line if place is not None else 0)
        if not observation.calls:
            return LaunchOutcome("fault", reason="left_before", said=msg("launches.left_before"))
        return LaunchOutcome("fault", reason="left_early", said=msg("launches.left_early", number=number))
    for call in observation.calls:
        if call.by_host:
            return LaunchOutcome("fault", reason="by_host", said=msg("launches.by_host", name=call.by_host[0]))
        if call.freed:
            return LaunchOutcome("fault", reason="freed_array", said=msg("launches.freed_array", name=call.freed[0]))
        if call.strayed:
            name, side = call.strayed[0]
            return LaunchOutcome("fault", reason="strayed", said=msg(f"launches.strayed_{side}", name=name))
    return None


def _together(counters: Sequence[Counters]) -> Counters:
    """What was counted of several launches, as of one: what stands at one line is added."""
    rows: dict[tuple[int, str, str, int], LineCounter] = {}
    for counted in counters:
        for c in counted.by_line:
            key = (c.line, c.space, c.op, c.width_bytes)
            known = rows.get(key)
            if known is None:
                rows[key] = replace(c)
                continue
            for name in (
                "requests",
                "wavefronts",
                "sectors",
                "ideal",
                "unique_bytes",
                "lanes",
                "few_requests",
                "few_lanes",
            ):
                setattr(known, name, getattr(known, name) + getattr(c, name))
            if c.ways > known.ways:
                known.ways, known.worst_words = c.ways, c.worst_words
    return Counters(
        [rows[key] for key in sorted(rows)],
        sum(counted.sampled_blocks for counted in counters),
        sum(counted.total_blocks for counted in counters),
    )
