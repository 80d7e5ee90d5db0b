"""Runs of programs that are kept: the same program, given the same, does the same.

On disk (`Stored`) a run is found by all that decides it: files, arguments and the grader's own code.  In memory, for
whoever looks at one program again and again while it is written, runs are found by host code (`RememberedPrograms`):
bodies of kernels, comments and empty lines are no part of the key, so that nothing is done again where these alone have
changed.  A program that asked for device code is run again unless that is the same but for its lines.  `LastObserved`
says what a program that has changed, or does not compile just now, is expected to do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from grader.files import user_cache, write_atomically
from grader.programs import moved
from grader.programs.records import Observation, RunLimits, Start
from grader.programs.sandbox.process import Code, Wanted
from grader.programs.sources import Program
from grader.programs.toolchain.compile import HostProgram
from grader.submission.kernels.records import ObservedRuns, SeenRun
from grader.submission.source import SourceText

MOST_MODULES = 8
MOST_RUNS = 32
_BY_CHANCE = frozenset({"programs.hangs", "programs.process_died"})
"""Causes that need not end the same run another time."""

_PLACE = re.compile(r"(?:^\s*\.loc\s+|\binlined_at\s+)(?P<file>\d+)\s+(?P<line>\d+)", re.M)
"""PTX ISA, "Debugging directives: .loc"."""

Kept = TypeVar("Kept")
Answer = Callable[[Wanted], Code]
"""Device code for a program: see `grader.programs.kernels.DeviceCompiler.code`."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """Device code that a program was given.

    content: a digest that is the same where the same is computed, on whatever lines.  places: file number and line of
    each of its directives, in the order of the text.
    """

    content: bytes
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A run: the lines of its host code, the device code that it asked for, and what was observed."""

    lines: moved.Lines
    asked: tuple[tuple[Wanted, _Answered], ...]
    observation: Observation


class _Latest(Generic[Kept]):
    """The values that were put or asked for last; for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: bytes, value: Kept) -> None:
        with self._lock:
            self._kept[key] = value
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class RememberedPrograms:
    """The latest programs in memory: their compiled host code, and their runs."""

    def __init__(self) -> None:
        self._modules: _Latest[HostProgram] = _Latest(MOST_MODULES)
        self._runs: _Latest[_Run] = _Latest(MOST_RUNS)
        self._missed = threading.Event()

    def awaited(self) -> threading.Event:
        """An event that is set as soon as a run is asked for, from now on, that is not remembered."""
        self._missed = threading.Event()
        return self._missed

    def module(self, program: Program) -> HostProgram | None:
        """Return the compiled host code of a program; None where it is not remembered."""
        return self._modules.get(_host_key(program))

    def put_module(self, program: Program, host: HostProgram) -> None:
        """Keep host code that compiles; what the compiler says of other code is asked for again."""
        if host.module:
            self._modules.put(_host_key(program), host)

    def runs(self, program: Program, model: str, limits: RunLimits) -> RememberedRuns:
        return RememberedRuns(self._runs, self._missed, program, model, limits)


class RememberedRuns:
    """Runs of one program, however it was started; made by `RememberedPrograms.runs`."""

    def __init__(
        self, runs: _Latest[_Run], missed: threading.Event, program: Program, model: str, limits: RunLimits
    ) -> None:
        self._runs = runs
        self._missed = missed
        self._lines = moved.lines_of(program.host)
        parts = (self._lines.key, program.units, sorted(program.data.items()), sorted(program.parameters.items()))
        self._program = repr((parts, program.is_linked, model, msgspec.structs.astuple(limits)))

    def get(self, arguments: Sequence[str], stdin: bytes, answer: Answer) -> Observation | None:
        """Return what was observed of such a run; None where any device code that it asked for is another now."""
        earlier = self._runs.get(self._key(arguments, stdin))
        observation = self._on_own_lines(earlier, answer) if earlier is not None else None
        if observation is None:
            self._missed.set()
        return observation

    def _on_own_lines(self, earlier: _Run, answer: Answer) -> Observation | None:
        codes = [(code, _answered(answer(wanted))) for wanted, code in earlier.asked]
        if any(before.content != after.content for before, after in codes):
            return None
        if earlier.lines.numbers == self._lines.numbers and all(before == after for before, after in codes):
            return earlier.observation
        places = [pair for before, after in codes for pair in zip(before.places, after.places, strict=True)]
        kernel_lines = moved.in_order((before[1], after[1]) for before, after in places)
        if kernel_lines is None:
            return None
        return moved.observation_on_lines(earlier.observation, earlier.lines.to(self._lines), kernel_lines)

    def run(
        self, arguments: Sequence[str], stdin: bytes, answer: Answer, execute: Callable[[Answer], Observation]
    ) -> Observation:
        """Execute a run and keep what was observed."""
        asked: list[tuple[Wanted, _Answered]] = []

        def noting(wanted: Wanted) -> Code:
            code = answer(wanted)
            asked.append((wanted, _answered(code)))
            return code

        observation = execute(noting)
        if observation.cause is None or observation.cause.id not in _BY_CHANCE:
            self._runs.put(self._key(arguments, stdin), _Run(self._lines, tuple(asked), observation))
        return observation

    def _key(self, arguments: Sequence[str], stdin: bytes) -> bytes:
        return _digest((tuple(arguments), stdin, self._program))


def _host_key(program: Program) -> bytes:
    return _digest((program.units, sorted(program.host.items()), program.is_linked))


def _answered(code: Code) -> _Answered:
    places = tuple((int(match["file"]), int(match["line"])) for match in _PLACE.finditer(code.ptx))
    placeless = _PLACE.sub(lambda match: match[0][: match.start("line") - match.start()], code.ptx)
    return _Answered(_digest((placeless, code.reason, code.compiler)), places)


def _digest(parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=20).digest()


MAX_KEPT = 2000


class Stored:
    """A folder of runs.

    programs: parts of runs that are remembered in memory; None: every run is made whole.
    recalls: whether what lies there is looked at.
    recalled: whether any run was taken from there.
    """

    def __init__(self, folder: Path, programs: RememberedPrograms | None = None, recalls: bool = True) -> None:
        self._folder = folder
        self._recalls = recalls
        self.programs = programs
        self.recalled = False

    def get(self, program: Program, ways: Sequence[Start]) -> list[SeenRun] | None:
        """Return the runs of a program; None where they are not there."""
        if not self._recalls:
            return None
        try:
            runs = msgspec.msgpack.decode(self._place(program, ways).read_bytes(), type=list[SeenRun])
            self.recalled = True
            return runs
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, program: Program, ways: Sequence[Start], runs: Sequence[SeenRun]) -> None:
        """Keep a program's runs beside the newest others; nothing is said where that cannot be done."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._place(program, ways), msgspec.msgpack.encode(list(runs)))
            kept = list(self._folder.glob("*.msgpack"))
            if len(kept) > MAX_KEPT:
                for path in sorted(kept, key=lambda path: path.stat().st_mtime)[: MAX_KEPT // 4]:
                    path.unlink(missing_ok=True)

    def _place(self, program: Program, ways: Sequence[Start]) -> Path:
        data = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(program.data.items())}
        files = sorted(program.host.items()), sorted(program.original.items()), data, program.device
        digest = hashlib.sha256(_own_code().encode())
        digest.update(repr((list(ways), program.units, *files)).encode(errors="surrogatepass"))
        return self._folder / f"{digest.hexdigest()[:40]}.msgpack"


@functools.cache
def _own_code() -> str:
    """Return a hash of the code that runs programs and of the versions of the packages that it uses."""
    import importlib.metadata

    import grader

    digest = hashlib.sha256()
    for package in ("ziglang", "wasmtime"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            digest.update(importlib.metadata.version(package).encode())
    root = Path(grader.__file__).parent
    for part in ("programs", "ptx", "submission"):
        for path in sorted((root / part).rglob("*")):
            # Some of our headers have a name without a dot.
            if path.suffix != ".pyc" and path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()


def default_folder() -> Path:
    """The user's folder for runs: `~/.cache/cuda-lab-grader/observations`."""
    return user_cache() / "observations"


class LastObserved:
    """What was observed when the programs ran last."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._observed: ObservedRuns | None = None

    def put(self, sources: Sequence[SourceText], observed: ObservedRuns) -> None:
        """Keep what was observed of a submission's files, unless that is not all there is to see."""
        texts = {source.file: source.text for source in sources}
        had_launches = self._observed is not None and _has_launches(self._observed)
        is_whole = observed.failed is None and not observed.uncommented
        is_worse = had_launches and not _has_launches(observed) and texts.keys() == self._texts.keys()
        if is_whole and not is_worse:
            self._texts, self._observed = texts, observed

    def expected(self, sources: Sequence[SourceText]) -> ObservedRuns | None:
        """Return what is expected of files that have changed since; None where nothing can be said."""
        if self._observed is None or [source.file for source in sources] != list(self._texts):
            return None
        lines: dict[tuple[str, int], int] = {}
        for source in sources:
            of_file = moved.lines_now(self._texts[source.file].split("\n"), source.text.split("\n"))
            if of_file is None:
                return None
            lines |= {(source.file, before): now for before, now in of_file.items()}
        runs = tuple(moved.run_on_lines(run, lines) for run in self._observed.runs)
        return dataclasses.replace(self._observed, runs=runs)


def _has_launches(observed: ObservedRuns) -> bool:
    return any(run.launches for run in observed.runs)
