"""A backend for the programs of one submission: as handed in, and anew for other values of their own constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.backends.base import Backend, LaunchOutcome, LaunchRequest
from grader.backends.emulator import open_emulator
from grader.i18n import _
from grader.running.cases import ProgramRequest

if TYPE_CHECKING:
    from grader.compiler.process import CompileResult

Compile = Callable[[str, str, Mapping[str, int]], "CompileResult"]
"""Compiles a file for one name expression, with other values of its constants."""


class Variations:
    """Runs every kernel of a submission on the emulator.

    results: what compiling the files as handed in gave, by file.
    """

    name = "emulator"
    measures = frozenset({"results", "counters", "hazards"})

    def __init__(self, results: Mapping[str, CompileResult], compile_anew: Compile) -> None:
        self._results = results
        self._compile = compile_anew
        self._built: dict[tuple[object, ...], tuple[Backend | None, str]] = {}

    def run(self, request: LaunchRequest) -> LaunchOutcome:
        """Run one launch; where the request names constants or an expression, of a program compiled for them."""
        if not isinstance(request, ProgramRequest):
            raise TypeError(f"a {type(request).__name__} does not say which file it is for")
        key = (request.file, request.expression, request.constants)
        if key not in self._built:
            self._built[key] = self._build(request)
        backend, entry = self._built[key]
        if backend is None:
            values = ", ".join(f"{name} = {value}" for name, value in request.constants)
            reason = _("the program does not compile as {expression} with {constants}").format(
                expression=request.expression, constants=values or _("its own constants")
            )
            return LaunchOutcome("unsupported", reason=reason)
        return backend.run(request.of_entry(entry or request.entry))

    def _build(self, request: ProgramRequest) -> tuple[Backend | None, str]:
        """The backend and the kernel's symbol there ("" for the request's own); None when it does not compile."""
        if not request.expression:
            return open_emulator(self._results[request.file].ptx), ""
        result = self._compile(request.file, request.expression, dict(request.constants))
        entry = result.entries.get(request.expression)
        return (open_emulator(result.ptx), entry) if entry is not None else (None, "")
