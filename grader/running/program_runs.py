"""Runs a student's whole program: a process a case, its arguments and files made by the grader, its outputs read after.

What it prints of its own results counts for nothing; what counts stands in the files that it leaves, among the numbers
that it prints, or in what it copied back from the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from grader.lab.compare import Difference, compare, first_wrong
from grader.lab.expected import Array
from grader.lab.file_formats import from_file, longest, numbers_text, to_file
from grader.lab.interfaces import filled_in
from grader.lab.records import COPIED, STDOUT, Parameter, ProgramRule, Sizes
from grader.launching.backend import LaunchOutcome
from grader.launching.kernel import shape_at
from grader.launching.trial import Run
from grader.message import Message, msg
from grader.programs.records import FunctionCall, Observation, Start
from grader.running.calls import hazards_of, stopped_launch
from grader.running.function_runs import Case, FunctionRuns

TEXTS = (".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp")
"""Of the lab's own files, those that are compiled and not opened."""


@dataclass
class ProgramRuns(FunctionRuns):
    """The runs of a program, for a lab's cases and, where it is right at all of these, for drawn ones."""

    calls: ClassVar[int] = 1

    def _outputs(self) -> list[Parameter]:
        return [p for p in self.lab.parameters if p.is_output]

    def _rule(self) -> ProgramRule:
        assert self.lab.program is not None
        return self.lab.program

    def _start(self, case: Case) -> Start:
        ((inputs, _expected),) = case.data
        values = {p.name: self._word(p, case.sizes, inputs) for p in self.lab.parameters}
        files = {
            p.file.name: to_file(p, inputs[p.name], case.sizes)
            for p in self.lab.parameters
            if p.file is not None and p.is_input
        }
        files |= {name: path.read_bytes() for name, path in self.lab.files.items() if path.suffix not in TEXTS}
        sized = [(p, p.file, shape_at(self.lab, p.name, case.sizes)) for p in self._outputs() if p.file is not None]
        return Start(
            arguments=[filled_in(word, values) for word in self._rule().arguments],
            stdin=filled_in(self._rule().stdin, values).encode(),
            calls=[
                FunctionCall(
                    [],
                    on_device=False,
                    is_whole=True,
                    is_timed=case.is_timed,
                    copied_bytes=[_bytes(p, shape) for p, rule, shape in sized if rule.name == COPIED],
                )
            ],
            files=files,
            wanted={
                rule.name: longest(rule, prod(shape), np.dtype(p.dtype).itemsize) + 1
                for p, rule, shape in sized
                if rule.name not in (STDOUT, COPIED)
            },
        )

    def _word(self, parameter: Parameter, sizes: Sizes, inputs: Mapping[str, Array]) -> str:
        """Return what stands for a parameter in a command line or in standard input."""
        if parameter.is_size:
            return str(sizes[parameter.name])
        if parameter.file is not None:
            return parameter.file.name
        return numbers_text(inputs[parameter.name]).rstrip("\n") if parameter.name in inputs else ""

    def outputs(self, case: Case, observation: Observation) -> dict[str, Array] | None:
        """Return the program's outputs; None where it did not come to its end, or an output cannot be read."""
        if stopped_launch(observation) is not None or _ended(observation) is not None:
            return None
        shapes = {p.name: shape_at(self.lab, p.name, case.sizes) for p in self._outputs()}
        outputs = {p.name: _output(p, shapes[p.name], case.sizes, observation) for p in self._outputs()}
        arrays = {name: one for name, one in outputs.items() if not isinstance(one, Message)}
        return arrays if len(arrays) == len(outputs) else None

    # -- what came of a case ------------------------------------------------------------------

    def judged(self, case: Case, observation: Observation) -> Run | None:
        ((inputs, expected),) = case.data
        if case.undone:
            differences = self._compared(case.sizes, observation, inputs, expected)
            return None if isinstance(differences, Message) else self._undone(case, differences, observation)
        outcome = stopped_launch(observation) or _ended(observation)
        difference: Difference | None = None
        if outcome is None:
            differences = self._compared(case.sizes, observation, inputs, expected)
            if isinstance(differences, Message):
                outcome = LaunchOutcome("fault", reason="no_output", said=differences)
            else:
                outcome, difference = LaunchOutcome("ok"), first_wrong(differences)
        return Run(
            case.kind, case.sizes, replace(outcome, hazards=hazards_of(observation)), difference, drawn=case.drawn
        )

    def _compared(
        self, sizes: Sizes, observation: Observation, inputs: Mapping[str, Array], expected: Mapping[str, Array]
    ) -> list[Difference] | Message:
        arrays = {name: array for name, array in inputs.items() if array.ndim}
        differences = []
        for parameter in self._outputs():
            got = _output(parameter, shape_at(self.lab, parameter.name, sizes), sizes, observation)
            if isinstance(got, Message):
                return got
            tolerance = self.lab.tolerance.at(sizes, parameter.dtype)
            differences.append(
                compare(parameter.name, got, expected[parameter.name], tolerance, arrays, is_marked=False)
            )
        return differences


def _bytes(parameter: Parameter, shape: tuple[int, ...]) -> int:
    return prod(shape) * np.dtype(parameter.dtype).itemsize


def _output(parameter: Parameter, shape: tuple[int, ...], sizes: Sizes, observation: Observation) -> Array | Message:
    rule = parameter.file
    assert rule is not None
    if rule.name == STDOUT:
        return from_file(parameter, observation.stdout, shape, sizes)
    if rule.name == COPIED:
        wanted = _bytes(parameter, shape)
        copied = {name: d for call in observation.calls for name, d in call.copied.items() if len(d) == wanted}
        ranked = sorted((rank, name) for name in copied if (rank := parameter.rank_of(name.lstrip("*"))) is not None)
        names = [name for _rank, name in ranked] or (list(copied) if len(copied) == 1 else [])
        if not names:
            return msg("outputs.not_copied", name=parameter.name, bytes=wanted)
        return np.frombuffer(copied[names[0]], parameter.dtype).reshape(shape)
    data = observation.files.get(rule.name)
    if data is not None:
        return from_file(parameter, data, shape, sizes)
    if observation.exit:
        return msg("outputs.no_file_left", file=rule.name, code=observation.exit)
    return msg("outputs.no_file", file=rule.name)


def _ended(observation: Observation) -> LaunchOutcome | None:
    """Return why the program did not come to its own end; None where it did."""
    cause = observation.cause
    if cause is None:
        return None
    place = next((f for f in reversed(observation.findings) if f.message == cause), None)
    said = msg("launches.program_ended", what=cause)
    line, file = (place.line, place.file) if place is not None else (0, "")
    return LaunchOutcome("fault", reason="program_ended", said=said, line=line, file=file)
