"""Device code of a program, compiled by NVRTC's confined process: at once, and again for the templates asked for.

The only part of the package that knows that compiler.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.newer import for_oldest
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult


class DeviceCompiler:
    """PTX of a program's files; each is compiled once, in a thread beside whatever goes on, and again for templates.

    at_once: before anything asks for it, as something will.
    """

    def __init__(self, sources: Mapping[str, Mapping[str, str]], architecture: str, at_once: bool) -> None:
        self._units = list(sources.values())
        self._architecture = architecture
        self._compiler: CompilerProcess | None = None
        self._first: dict[int, CompileResult] = {}
        self._compiled_for: dict[int, str] = {}
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._compile_all, daemon=True)
        self._is_started = False
        if at_once:
            self._start()

    def close(self) -> None:
        """End the compiler."""
        if self._is_started:
            self._thread.join()
        if self._compiler is not None:
            self._compiler.close()

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._compiler = CompilerProcess()
            self._thread.start()

    def _compile_all(self) -> None:
        try:
            assert self._compiler is not None
            for number, sources in enumerate(self._units):
                self._compiled_for[number], self._first[number] = for_oldest(
                    partial(self._compiler.compile, sources, []), self._architecture
                )
        except Exception as error:
            self._error = error

    def ptx(self, unit: int, names: Sequence[str]) -> tuple[str, str]:
        """PTX of a file with the instances `names` of its templates, or "" and why there is none.

        Raises
        ------
        InternalError : NVRTC cannot be used.
        """
        self._start()
        self._thread.join()
        if self._error is not None:
            raise self._error
        result = self._first[unit]
        if names and self._compiler is not None and (result.ok or result.reason == "missing_entry"):
            compile_for = partial(self._compiler.compile, self._units[unit], list(names))
            _, result = for_oldest(compile_for, self._compiled_for[unit])
        if result.ptx:
            return result.ptx, ""
        return "", complaint(result)

    def diagnostics(self, unit: int) -> tuple[Diagnostic, ...]:
        """What the compiler had to say of a file."""
        if self._is_started:
            self._thread.join()
        found = self._first.get(unit)
        return found.diagnostics if found is not None else ()


def complaint(result: CompileResult) -> str:
    """The first error, as "file:line: text"."""
    errors = [d for d in result.diagnostics if d.severity == "error"]
    if not errors:
        return result.reason
    return f"{errors[0].file}:{errors[0].line}: {errors[0].message}"
