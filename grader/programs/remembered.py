"""Programs that were compiled and run before: the same host code, given the same, does the same.

Bodies of kernels are no part of it, nor comments and empty lines, so of a program in which these alone have changed
nothing is done again.  For who looks at one program again and again while it is written.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from grader.programs.moved import Lines, lines_of, on_lines
from grader.programs.records import Observation, RunLimits
from grader.programs.sources import Program
from grader.programs.toolchain.compile import HostProgram

MOST_MODULES = 8
MOST_RUNS = 32
_BY_CHANCE = frozenset({"programs.hangs", "programs.process_died"})
"""Why a run was ended that may come to another end next time."""

Answer = Callable[[int, Sequence[str]], tuple[str, str]]
"""Device code for a program: see `grader.programs.kernels.DeviceCompiler.ptx`."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run came to, on which lines, and the device code that it had asked for."""

    lines: Lines
    asked: tuple[tuple[int, tuple[str, ...], bytes], ...]
    observation: Observation


class RememberedPrograms:
    """The latest ones, in memory."""

    def __init__(self) -> None:
        self._modules: OrderedDict[bytes, HostProgram] = OrderedDict()
        self._runs: OrderedDict[bytes, _Run] = OrderedDict()

    def module(self, program: Program) -> HostProgram | None:
        """A program's host code, compiled; None where it was not."""
        key = _host(program)
        found = self._modules.get(key)
        if found is not None:
            self._modules.move_to_end(key)
        return found

    def put_module(self, program: Program, host: HostProgram) -> None:
        """Keep host code that compiles; what the compiler says of other code is asked for again."""
        if host.module:
            self._modules[_host(program)] = host
            if len(self._modules) > MOST_MODULES:
                self._modules.popitem(last=False)

    def runs(self, program: Program, model: str, limits: RunLimits) -> RememberedRuns:
        """Those of one program on one model of device."""
        return RememberedRuns(self._runs, program, model, limits)


class RememberedRuns:
    """Runs of one program, however it was started; made by `RememberedPrograms.runs`."""

    def __init__(self, runs: OrderedDict[bytes, _Run], program: Program, model: str, limits: RunLimits) -> None:
        self._runs = runs
        self._lines = lines_of(program.host)
        parts = (self._lines.known_by, program.units, sorted(program.data.items()), sorted(program.parameters.items()))
        self._program = repr((parts, model, msgspec.structs.astuple(limits)))

    def get(self, arguments: Sequence[str], stdin: bytes, answer: Answer) -> Observation | None:
        """What a run comes to: known, where it was made before and all device code that it asked for is the same."""
        key = self._key(arguments, stdin)
        known = self._runs.get(key)
        if known is None or any(_answered(answer(unit, names)) != code for unit, names, code in known.asked):
            return None
        self._runs.move_to_end(key)
        if known.lines.numbers == self._lines.numbers:
            return known.observation
        return on_lines(known.observation, known.lines.to(self._lines))

    def made(
        self, arguments: Sequence[str], stdin: bytes, answer: Answer, run: Callable[[Answer], Observation]
    ) -> Observation:
        """A run that is made now, and kept."""
        asked: list[tuple[int, tuple[str, ...], bytes]] = []

        def heard(unit: int, names: Sequence[str]) -> tuple[str, str]:
            answered = answer(unit, names)
            asked.append((unit, tuple(names), _answered(answered)))
            return answered

        observation = run(heard)
        if observation.cause is None or observation.cause.id not in _BY_CHANCE:
            self._runs[self._key(arguments, stdin)] = _Run(self._lines, tuple(asked), observation)
            if len(self._runs) > MOST_RUNS:
                self._runs.popitem(last=False)
        return observation

    def _key(self, arguments: Sequence[str], stdin: bytes) -> bytes:
        return _digest(repr((tuple(arguments), stdin, self._program)).encode("utf-8", "surrogatepass"))


def _host(program: Program) -> bytes:
    return _digest(repr((program.units, sorted(program.host.items()))).encode("utf-8", "surrogatepass"))


def _answered(answer: tuple[str, str]) -> bytes:
    return _digest(repr(answer).encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=20).digest()
