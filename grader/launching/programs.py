"""Programs in the form that a device runs: compiled as they are asked for, each once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from grader.compiler.result import CompileResult, for_oldest
from grader.launching.backend import Code
from grader.message import Message
from grader.submission.records import Submission, VariantBinding

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult


UNOPTIMISED = "--device-debug"


class Compiler(Protocol):
    """What compiles: `grader.compiler.process.CompilerProcess`."""

    def compile(
        self, sources: Mapping[str, str], expressions: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        """Compile sources, the main file first, for some name expressions; options: NVRTC's, beside the usual ones."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """What is compiled at a time: a file of a submission, for some kernels, with values for constants of its.

    expressions: what names the kernels to the compiler ("k", "k<16>").
    target: what it is compiled for; "": what its store compiles for.
    as_written: not optimised: every access of the text is one of the program.
    """

    submission: Submission
    file: str
    expressions: tuple[str, ...]
    constants: tuple[tuple[str, int], ...] = ()
    target: str = ""
    as_written: bool = False


def handed_in(submission: Submission) -> dict[str, DeviceProgram]:
    """Every file that holds a bound kernel, with all such kernels of it, as it was handed in; by file."""
    wanted: dict[str, list[str]] = {}
    for binding in submission.bindings.values():
        if isinstance(binding, VariantBinding):
            wanted.setdefault(binding.kernel.file, []).append(binding.expression)
    return {file: DeviceProgram(submission, file, tuple(dict.fromkeys(names))) for file, names in wanted.items()}


@dataclass(frozen=True, slots=True)
class Built:
    """What became of compiling a program; key: tells its code from any other.  target: what it was compiled for."""

    key: str
    result: CompileResult
    target: str = ""

    @property
    def code(self) -> Code:
        """What a backend loads."""
        return Code(self.key, self.result.ptx, self.result.cubin)

    @property
    def error(self) -> str | Message:
        """The compiler's first error, else why it did not come to an end; "" for neither."""
        return next((d.message for d in self.result.diagnostics if d.severity == "error"), self.result.reason)


@dataclass(slots=True)
class ProgramStore:
    """Programs compiled by `compiler` for `architecture`: "compute_75" gives PTX, "sm_90" machine code.

    A program that uses what "compute_75" has not is compiled for the next one that has it (`grader.compiler.result`).
    pool: compiles what was ordered beforehand while others run; None: compiled when asked for.
    """

    compiler: Compiler
    architecture: str
    pool: Executor | None = None
    _sources: dict[tuple[int, str, tuple[tuple[str, int], ...]], tuple[Submission, dict[str, str]]] = field(
        default_factory=dict
    )
    _built: dict[tuple[object, ...], Future[Built] | Built] = field(default_factory=dict)

    @property
    def makes_machine_code(self) -> bool:
        """Whether programs are compiled down to what one kind of device runs."""
        return self.architecture.startswith("sm_")

    def order(self, program: DeviceProgram) -> None:
        """Have a program compiled, if it is not yet."""
        self._ordered(self.texts(program), program.expressions, program.target, program.as_written)

    def get(self, program: DeviceProgram) -> Built:
        """A program, compiled."""
        return self.get_text(self.texts(program), program.expressions, program.target, program.as_written)

    def get_text(
        self, sources: Mapping[str, str], expressions: Sequence[str], target: str = "", as_written: bool = False
    ) -> Built:
        """The same of sources that are no submission's, the main file first."""
        built = self._ordered(sources, tuple(expressions), target, as_written)
        return built.result() if isinstance(built, Future) else built

    def texts(self, program: DeviceProgram) -> dict[str, str]:
        """What the compiler is given of a program, the main file first."""
        key = (id(program.submission), program.file, program.constants)
        if key not in self._sources:
            # The submission is kept beside its texts: its id is nobody else's then.
            texts = program.submission.program(program.file, dict(program.constants))
            self._sources[key] = program.submission, texts
        return self._sources[key][1]

    def _ordered(
        self, sources: Mapping[str, str], expressions: tuple[str, ...], target: str = "", as_written: bool = False
    ) -> Future[Built] | Built:
        key = (*sources.items(), *expressions, *([UNOPTIMISED] if as_written else []))
        target = target or self.architecture
        if (target, key) not in self._built:
            self._built[target, key] = (
                self.pool.submit(self._compile, key, sources, expressions, target, as_written)
                if self.pool
                else self._compile(key, sources, expressions, target, as_written)
            )
        return self._built[target, key]

    def _compile(
        self,
        key: tuple[object, ...],
        sources: Mapping[str, str],
        expressions: tuple[str, ...],
        target: str,
        as_written: bool,
    ) -> Built:
        def compile_for(architecture: str) -> CompileResult:
            if as_written:
                return self.compiler.compile(sources, list(expressions), architecture, options=[UNOPTIMISED])
            return self.compiler.compile(sources, list(expressions), architecture)

        architecture, result = for_oldest(compile_for, target, sources.values())
        digest = hashlib.sha256(repr((architecture, key)).encode()).hexdigest()
        return Built(digest, result, architecture)
