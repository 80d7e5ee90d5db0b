"""Changed programs of a sweep as one backend: compiled in a process of their own while others run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.backends.base import Backend, LaunchOutcome, LaunchRequest
from grader.backends.emulator import open_emulator
from grader.i18n import _
from grader.running.cases import ProgramRequest
from grader.submission.records import Submission

if TYPE_CHECKING:
    from grader.compiler.process import CompileResult

CompileProgram = Callable[[Mapping[str, str], Sequence[str]], "CompileResult"]
"""Compiles sources, the main file first, for some name expressions."""


@dataclass(frozen=True, slots=True)
class ChangedLaunch(ProgramRequest):
    """A launch of a program that was changed; others: expressions of the same file's kernels that are swept too."""

    submission: Submission | None = None
    others: tuple[str, ...] = ()


class Programs:
    """Changed programs as one backend; each is compiled once, for all kernels that are swept.

    The compiler is a process of its own: while it works at one program, another is run here.
    """

    name = "emulator"
    measures = frozenset({"results", "counters"})

    def __init__(self, compile_program: CompileProgram, pool: Executor) -> None:
        self._compile = compile_program
        self._pool = pool
        self._ordered: dict[tuple[object, ...], Future[CompileResult]] = {}
        self._built: dict[tuple[object, ...], Backend] = {}

    def order(self, launch: ChangedLaunch) -> tuple[object, ...]:
        """Have the program of a launch compiled, if it is not yet; returns its key."""
        assert launch.submission is not None
        expression = launch.expression or launch.entry
        sources = launch.submission.program(launch.file, dict(launch.constants))
        # A template's arguments are those of this kernel; other programs serve all their kernels.
        is_template = launch.expression not in ("", launch.entry)
        wanted = [expression] if is_template else sorted({expression, *launch.others})
        key = (*sources.items(), *wanted)
        if key not in self._ordered:
            self._ordered[key] = self._pool.submit(self._compile, sources, wanted)
        return key

    def run(self, request: LaunchRequest) -> LaunchOutcome:
        """Run one launch; "impossible" where its program does not compile."""
        assert isinstance(request, ChangedLaunch)
        key = self.order(request)
        result = self._ordered[key].result()
        entry = result.entries.get(request.expression or request.entry)
        if entry is None:
            error = next((d.message for d in result.diagnostics if d.severity == "error"), result.reason)
            return LaunchOutcome("impossible", reason=_("it does not compile: {error}").format(error=error))
        if key not in self._built:
            self._built[key] = open_emulator(result.ptx)
        return self._built[key].run(request.of_entry(entry))
