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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.compiler.worker import header_folders
from grader.files import user_cache, write_atomically

MOST_COMPILERS = 4


def at_once(processes: int) -> int:
    """Compilers that are worth having where so many processes may be at work."""
    return max(1, min(MOST_COMPILERS, processes))


class Compilers:
    """Several compilers of one student's files, each in a process of its own: what is asked for by several threads is
    compiled at the same time, and what two of them ask for once.

    The processes belong to the thread that makes this: they end with it.

    first: one that is there already, and stays open.  at_once: how many there are then, the first among them.
    """

    def __init__(self, first: CompilerProcess, at_once: int) -> None:
        self._first = first
        self._started = [first]
        self._free = [first]
        self._condition = threading.Condition()
        self._made: dict[tuple[object, ...], Future[CompileResult]] = {}
        self.widen(at_once)

    def widen(self, at_once: int) -> None:
        """Have so many processes, started at once, where there are fewer."""
        with self._condition:
            more = [CompilerProcess() for _more in range(at_once - len(self._started))]
            self._started += more
            self._free += more

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

    def nvrtc_version(self) -> str:
        """See `CompilerProcess.nvrtc_version`."""
        return self._first.nvrtc_version()

    def compile(
        self, sources: Mapping[str, str], names: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        """As `CompilerProcess.compile`; where machine code was asked for before, PTX is what that was made of."""
        program = tuple(sources.items()), tuple(names), tuple(options)
        key = (*program, architecture)
        with self._condition:
            as_code = self._made.get((*program, architecture.replace("compute_", "sm_")))
        if as_code is not None and architecture.startswith("compute_"):
            with contextlib.suppress(Exception):
                if as_code.result().ok:
                    return as_code.result()
        with self._condition:
            is_first = key not in self._made
            future = self._made.setdefault(key, Future())
        if is_first:
            try:
                with self._taken() as process:
                    future.set_result(process.compile(sources, names, architecture, options=options))
            except BaseException as error:
                self._made.pop(key, None)
                future.set_exception(error)
        result = future.result()
        # A process that was killed may have been somebody else's victim: who asks later, asks anew.
        if not result.ok:
            self._made.pop(key, None)
        return result

    @contextlib.contextmanager
    def _taken(self) -> Iterator[CompilerProcess]:
        with self._condition:
            while not self._free:
                self._condition.wait()
            # The one that has been there longest is ready soonest.
            process = self._free.pop(0)
        try:
            yield process
        finally:
            with self._condition:
                self._free.append(process)
                self._condition.notify()


MAX_KEPT = 500
"""Programs; each is some ten kilobytes."""


class KeptCompiler:
    """Compiles for a GPU what is not a student's, and never sees a student's file.

    The process that does it is started at once.  What does not compile is not kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """folder: where programs are kept; None for `compiled` in the user's cache."""
        self._folder = folder if folder is not None else user_cache() / "compiled"
        self._first = CompilerProcess()
        self._process = Compilers(self._first, 1)
        self._toolkits = sorted(map(str, header_folders(os.environ, sys.path)))

    def widen(self, at_once: int) -> None:
        """Have so many processes: see `Compilers`."""
        self._process.widen(at_once)

    def close(self) -> None:
        self._process.close()
        self._first.close()

    def nvrtc_version(self) -> str:
        """NVRTC's version, "13.5".

        Raises InternalError: NVRTC cannot be loaded.
        """
        return self._process.nvrtc_version()

    def compile(
        self, sources: Mapping[str, str], names: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        """As `CompilerProcess.compile`.

        Raises InternalError: NVRTC cannot be loaded, or does not know `architecture`.
        """
        place = self._folder / f"{self._key(sources, [*names, *options], architecture)}.msgpack"
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.msgpack.decode(place.read_bytes(), type=CompileResult)
        result = self._process.compile(sources, names, architecture, options=options)
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
