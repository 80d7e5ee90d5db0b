"""What gradings of one user's files leave for the next one: no grading comes out otherwise for it, only sooner."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from grader.launching.programs import RememberedCompiler
from grader.launching.remembered import RememberedLaunches
from grader.processes import fork_server
from grader.processes.pool import Beside
from grader.programs.observed_before import LastSeen
from grader.programs.remembered import RememberedPrograms


class Warm:
    """Processes that have started, and what was found out before, by what it follows from.

    For the files of one user: what a source did to the compiler's memory must not meet another's.  A context manager
    for the thread that grades; leaving it ends the processes.
    """

    def __init__(self) -> None:
        self.launches = RememberedLaunches()
        self.programs = RememberedPrograms()
        self.seen = LastSeen()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(fork_server.kept())
        self.compiler = self._stack.enter_context(RememberedCompiler())
        self.beside = Beside()
        self._stack.callback(self.beside.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
