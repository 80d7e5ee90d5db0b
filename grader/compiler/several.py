"""Compilers side by side for one student's files, and programs of the grader's own that were compiled before, kept.

What is kept lies in the user's cache, each program under a hash of all that its machine code follows from.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.compiler.worker import header_folders
from grader.files import user_cache, write_atomically

MOST_COMPILERS = 4


def at_once(processes: int) -> int:
    """Compilers that are worth having where so many processes may be at work."""
    return max(1, min(MOST_COMPILERS, processes))


class _Program(NamedTuple):
    """What is compiled, but for the kernels that are named, and what for."""

    sources: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    architecture: str

    def as_machine_code(self) -> _Program:
        """The same for the device whose PTX is asked for."""
        return self._replace(architecture=self.architecture.replace("compute_", "sm_"))


class Compilers:
    """Several compilers of one student's files, each in a process of its own: what is asked for by several threads is
    compiled at the same time, and what two of them ask for once.  Kernels that are no templates are compiled with any
    of their file: what was compiled for more of them serves for fewer.

    The processes belong to the thread that makes this: they end with it.

    first: one that is there already, and stays open.  at_once: how many there are then, the first among them.
    waiting: who waits for one of them, in turn.  waiting_behind: who goes on with other things meanwhile (`bulk`).
    predicted_for: the architecture ("sm_75") of the device that times are predicted for; "": of none.
    """

    def __init__(self, first: CompilerProcess, at_once: int) -> None:
        self._first = first
        self._started = [first]
        self._free = [first]
        self._condition = threading.Condition()
        self.waiting: deque[object] = deque()
        self.waiting_behind: deque[object] = deque()
        self._made: dict[_Program, dict[frozenset[str], Future[CompileResult]]] = {}
        self._expected: set[tuple[_Program, frozenset[str]]] = set()
        self.predicted_for = ""
        self._kept: KeptCompiler | None = None
        self.widen(at_once)

    def widen(self, at_once: int) -> None:
        """Have so many processes, started at once, where there are fewer."""
        with self._condition:
            more = [CompilerProcess() for _more in range(at_once - len(self._started))]
            self._started += more
            self._free += more
            self._condition.notify_all()

    @property
    def at_once(self) -> int:
        """How many programs may be compiled at the same time."""
        return len(self._started)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, but the first."""
        for process in self._started[1:]:
            process.close()
        if self._kept is not None:
            self._kept.close()

    @property
    def of_lab(self) -> KeptCompiler:
        """What compiles the lab's own kernels; its process is started when one has to be compiled."""
        with self._condition:
            self._kept = self._kept or KeptCompiler(nvrtc_version=self.nvrtc_version)
            return self._kept

    def nvrtc_version(self) -> str:
        """See `CompilerProcess.nvrtc_version`."""
        return self._first.nvrtc_version()

    def expect(self, sources: Mapping[str, str], names: Sequence[str]) -> None:
        """Machine code of a program will be asked for, as of all that are predicted: where PTX of it is asked for
        before, both are made at once."""
        with self._condition:
            self._expected.add((_Program(tuple(sources.items()), (), self.predicted_for), frozenset(names)))

    @property
    def bulk(self) -> Bulk:
        """The same for programs that are compiled long before they are needed: who waits for one goes before them."""
        return Bulk(self)

    def compile(
        self,
        sources: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        *,
        options: Sequence[str] = (),
        in_bulk: bool = False,
    ) -> CompileResult:
        """As `CompilerProcess.compile`; where machine code is asked for too, PTX is what that is made of.

        in_bulk: see `bulk`.
        """
        program = _Program(tuple(sources.items()), tuple(options), architecture)
        wanted = frozenset(names)
        with self._condition:
            code = program.as_machine_code()
            is_code_asked = wanted in self._made.get(code, {}) or self._that_serves(code, wanted) is not None
            is_code_asked = is_code_asked or (code, wanted) in self._expected
        if is_code_asked and code != program:
            with contextlib.suppress(Exception):
                result = self.compile(sources, names, code.architecture, options=options, in_bulk=in_bulk)
                if result.ok:
                    return result
        with self._condition:
            of_more = self._that_serves(program, wanted)
        if of_more is not None:
            with contextlib.suppress(Exception):
                result = of_more.result()
                if result.ok:
                    return replace(result, entries={name: result.entries[name] for name in wanted})
        return self._compiled(program, list(names), in_bulk)

    def _compiled(self, program: _Program, names: Sequence[str], in_bulk: bool) -> CompileResult:
        wanted = frozenset(names)
        with self._condition:
            made = self._made.setdefault(program, {})
            is_first = wanted not in made
            future = made.setdefault(wanted, Future())
        if is_first:
            try:
                with self._taken(in_bulk) as process:
                    sources, options = dict(program.sources), program.options
                    future.set_result(process.compile(sources, names, program.architecture, options=options))
            except BaseException as error:
                made.pop(wanted, None)
                future.set_exception(error)
        result = future.result()
        # A process that was killed may have been somebody else's victim: who asks later, asks anew.
        if not result.ok:
            made.pop(wanted, None)
        return result

    def _that_serves(self, program: _Program, wanted: frozenset[str]) -> Future[CompileResult] | None:
        """Return what was asked for more kernels than these, all of which are compiled in any case."""
        made = {} if any("<" in name for name in wanted) else self._made.get(program, {})
        return next((f for names, f in made.items() if wanted < names and not any("<" in n for n in names)), None)

    @contextlib.contextmanager
    def _taken(self, in_bulk: bool) -> Iterator[CompilerProcess]:
        with self._condition:
            # Who has much to be compiled lets others in between.
            ticket, waiting = object(), self.waiting_behind if in_bulk else self.waiting
            waiting.append(ticket)
            try:
                while not self._free or (self.waiting or waiting)[0] is not ticket:
                    self._condition.wait()
            finally:
                waiting.remove(ticket)
                self._condition.notify_all()
            # The one that has been there longest is ready soonest.
            process = self._free.pop(0)
        try:
            yield process
        finally:
            with self._condition:
                self._free.append(process)
                self._condition.notify_all()


class Bulk:
    """Compiles behind others: see `Compilers.bulk`."""

    def __init__(self, compilers: Compilers) -> None:
        self._compilers = compilers

    def compile(
        self, sources: Mapping[str, str], names: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        """See `Compilers.compile`."""
        return self._compilers.compile(sources, names, architecture, options=options, in_bulk=True)


MAX_KEPT = 500
"""Programs; each is some ten kilobytes."""


class KeptCompiler:
    """Compiles what is not a student's, and never sees a student's file.  What does not compile is not kept."""

    def __init__(self, folder: Path | None = None, nvrtc_version: Callable[[], str] | None = None) -> None:
        """folder: where programs are kept; None for `compiled` in the user's cache.

        nvrtc_version: who knows NVRTC's version already: the process is then started when something is to be compiled;
        None: it is started at once.
        """
        self._folder = folder if folder is not None else user_cache() / "compiled"
        self._told_version = nvrtc_version
        self._lock = threading.Lock()
        self._process: Compilers | None = None
        if nvrtc_version is None:
            self._running()
        self._toolkits = sorted(map(str, header_folders(os.environ, sys.path)))

    def _running(self) -> Compilers:
        with self._lock:
            if self._process is None:
                self._first = CompilerProcess()
                self._process = Compilers(self._first, 1)
            return self._process

    def widen(self, at_once: int) -> None:
        """Have so many processes: see `Compilers`."""
        self._running().widen(at_once)

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._first.close()

    def nvrtc_version(self) -> str:
        """NVRTC's version, "13.5".

        Raises InternalError: NVRTC cannot be loaded.
        """
        return self._told_version() if self._told_version is not None else self._running().nvrtc_version()

    def compile(
        self, sources: Mapping[str, str], names: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        """As `CompilerProcess.compile`.

        Raises InternalError: NVRTC cannot be loaded, or does not know `architecture`.
        """
        place = self._folder / f"{self._key(sources, [*names, *options], architecture)}.msgpack"
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.msgpack.decode(place.read_bytes(), type=CompileResult)
        result = self._running().compile(sources, names, architecture, options=options)
        if result.ok:
            # Where it cannot be kept it is compiled the next time.
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomically(place, msgspec.msgpack.encode(result))
                self._drop_oldest()
        return result

    def _key(self, sources: Mapping[str, str], names: Sequence[str], architecture: str) -> str:
        parts = list(sources.items()), list(names), architecture, self.nvrtc_version()
        return hashlib.sha256(repr((_own_code(), parts, self._toolkits)).encode()).hexdigest()[:40]

    def _drop_oldest(self) -> None:
        kept = list(self._folder.glob("*.msgpack"))
        if len(kept) > MAX_KEPT:
            for path in sorted(kept, key=lambda path: path.stat().st_mtime)[: MAX_KEPT // 4]:
                path.unlink(missing_ok=True)


@functools.cache
def _own_code() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix != ".pyc" and path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
