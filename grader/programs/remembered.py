"""Programs that were compiled and run before: the same host code, given the same, does the same.

Bodies of kernels are no part of it, nor comments and empty lines, so of a program in which these alone have changed
nothing is done again, unless it asked for device code: of that all but the lines it stands on is a part.  For who looks
at one program again and again while it is written.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from grader.programs.moved import Lines, lines_of, on_lines
from grader.programs.records import Observation, RunLimits
from grader.programs.sandbox.process import Code, Wanted
from grader.programs.sources import Program
from grader.programs.toolchain.compile import HostProgram

MOST_MODULES = 8
MOST_RUNS = 32
_BY_CHANCE = frozenset({"programs.hangs", "programs.process_died"})
"""Why a run was ended that may come to another end next time."""

_PLACE = re.compile(r"(?:^\s*\.loc\s+|\binlined_at\s+)(?P<file>\d+)\s+(?P<line>\d+)", re.M)
"""PTX ISA, "Debugging directives: .loc"."""

Kept = TypeVar("Kept")
Answer = Callable[[Wanted], Code]
"""Device code for a program: see `grader.programs.kernels.DeviceCompiler.code`."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """Device code that was handed out.

    content: equal where the same is computed, on whatever lines of the source it stands.  places: these lines, and the
    numbers of their files, in the order of the text.
    """

    content: bytes
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run came to, on which lines, and the device code that it had asked for."""

    lines: Lines
    asked: tuple[tuple[Wanted, _Answered], ...]
    observation: Observation


class _Latest(Generic[Kept]):
    """What was put or asked for last; for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: bytes, what: Kept) -> None:
        with self._lock:
            self._kept[key] = what
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class RememberedPrograms:
    """The latest ones, in memory."""

    def __init__(self) -> None:
        self._modules: _Latest[HostProgram] = _Latest(MOST_MODULES)
        self._runs: _Latest[_Run] = _Latest(MOST_RUNS)
        self._missed = threading.Event()

    def awaited(self) -> threading.Event:
        """What is set as soon as a run is asked for, from now on, that has to be made."""
        self._missed = threading.Event()
        return self._missed

    def module(self, program: Program) -> HostProgram | None:
        """A program's host code, compiled; None where it was not."""
        return self._modules.get(_host(program))

    def put_module(self, program: Program, host: HostProgram) -> None:
        """Keep host code that compiles; what the compiler says of other code is asked for again."""
        if host.module:
            self._modules.put(_host(program), host)

    def runs(self, program: Program, model: str, limits: RunLimits) -> RememberedRuns:
        """Those of one program on one model of device."""
        return RememberedRuns(self._runs, self._missed, program, model, limits)


class RememberedRuns:
    """Runs of one program, however it was started; made by `RememberedPrograms.runs`."""

    def __init__(
        self, runs: _Latest[_Run], missed: threading.Event, program: Program, model: str, limits: RunLimits
    ) -> None:
        self._runs = runs
        self._missed = missed
        self._lines = lines_of(program.host)
        parts = (self._lines.known_by, program.units, sorted(program.data.items()), sorted(program.parameters.items()))
        self._program = repr((parts, model, msgspec.structs.astuple(limits)))

    def get(self, arguments: Sequence[str], stdin: bytes, answer: Answer) -> Observation | None:
        """What a run comes to: known, where it was made before and all device code that it asked for is the same."""
        earlier = self._runs.get(self._key(arguments, stdin))
        observation = self._told(earlier, answer) if earlier is not None else None
        if observation is None:
            self._missed.set()
        return observation

    def _told(self, known: _Run, answer: Answer) -> Observation | None:
        now = [(code, _answered(answer(wanted))) for wanted, code in known.asked]
        if any(before.content != after.content for before, after in now):
            return None
        if known.lines.numbers == self._lines.numbers and all(before == after for before, after in now):
            return known.observation
        kernels = _moved([pair for before, after in now for pair in zip(before.places, after.places, strict=True)])
        return on_lines(known.observation, known.lines.to(self._lines), kernels) if kernels is not None else None

    def made(
        self, arguments: Sequence[str], stdin: bytes, answer: Answer, run: Callable[[Answer], Observation]
    ) -> Observation:
        """A run that is made now, and kept."""
        asked: list[tuple[Wanted, _Answered]] = []

        def heard(wanted: Wanted) -> Code:
            answered = answer(wanted)
            asked.append((wanted, _answered(answered)))
            return answered

        observation = run(heard)
        if observation.cause is None or observation.cause.id not in _BY_CHANCE:
            self._runs.put(self._key(arguments, stdin), _Run(self._lines, tuple(asked), observation))
        return observation

    def _key(self, arguments: Sequence[str], stdin: bytes) -> bytes:
        return _digest(repr((tuple(arguments), stdin, self._program)).encode("utf-8", "surrogatepass"))


def _host(program: Program) -> bytes:
    return _digest(
        repr((program.units, sorted(program.host.items()), program.is_linked)).encode("utf-8", "surrogatepass")
    )


def _answered(answer: Code) -> _Answered:
    places = tuple((int(match["file"]), int(match["line"])) for match in _PLACE.finditer(answer.ptx))
    placeless = _PLACE.sub(lambda match: match[0][: match.start("line") - match.start()], answer.ptx)
    content = repr((placeless, answer.reason, answer.compiler))
    return _Answered(_digest(content.encode("utf-8", "surrogatepass")), places)


def _moved(places: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> dict[int, int] | None:
    """Where each line of kernels has gone, whatever its file; None where that is not one line, in the same order."""
    lines = {0: 0}
    for (_file, before), (_same, now) in places:
        if lines.setdefault(before, now) != now:
            return None
    in_order = [lines[line] for line in sorted(lines)]
    return lines if all(a < b for a, b in itertools.pairwise(in_order)) else None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=20).digest()
