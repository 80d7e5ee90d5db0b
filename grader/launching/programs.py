"""Programs in the form that a device runs: compiled as they are asked for, each once.

`RememberedCompiler` is for who compiles one source again and again while it is written: most saves change no device
code at all, and the same code gives the same code, whatever stands in its comments, on any lines.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult, for_oldest
from grader.launching.backend import Code
from grader.message import Message
from grader.submission.lexical import without_comments
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


MOST_BYTES = 24 << 20
"""Of all that is kept."""
# Where the number of a line may be more than a place in the table of lines, or an empty line something.
_COUNTS_LINES = re.compile(
    r"__LINE__|\bassert|source_location|__builtin_(?:LINE|COLUMN)|__PRETTY_FUNCTION__|##|%:|\?\?|R\"|\basm\b|__asm"
    r"|^[ \t]*#[ \t]*(?:line\b|\d)",
    re.M,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:.*\\\n)*.*", re.M)
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"', re.M)
_PLACE = re.compile(r"(?m)(^[ \t]*\.loc[ \t]+|\binlined_at[ \t]+)(\d{1,9})([ \t]+)(\d{1,9})")


@dataclass(frozen=True, slots=True)
class _Kept:
    """The result of a source, and the 1-based numbers of its lines that are not blank."""

    text: str
    lines: tuple[int, ...]
    result: CompileResult

    @property
    def bytes(self) -> int:
        return len(self.result.ptx) + len(self.result.cubin) + len(self.text) + 8 * len(self.lines)


class RememberedCompiler(CompilerProcess):
    """A compiler process that is not asked a second time for what compiled, the latest ones, in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._bytes = 0

    def compile(
        self,
        sources: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        wall_limit_s: float | None = None,
        options: Sequence[str] = (),
    ) -> CompileResult:
        (file, text), *headers = sources.items()
        counts_lines = _counts_lines(text)
        kept = list(_lines(text if counts_lines else without_comments(text)))
        lines = tuple(number for number, _line in kept)
        # What stands on the lines; of a text that may do more with them than stand there, where it stands, too.
        held = tuple(line for _number, line in kept), lines if counts_lines else ()
        request = repr((file, held, headers, tuple(names), architecture, tuple(options)))
        key = hashlib.blake2b(request.encode("utf-8", "surrogatepass"), digest_size=20).digest()
        stored = self._kept.get(key)
        if stored is not None:
            adapted = _on_lines(stored, file, text, lines)
            if adapted is not None:
                self._kept.move_to_end(key)
                return adapted
        result = super().compile(sources, names, architecture, wall_limit_s, options)
        if result.ok:
            self._keep(key, _Kept(text, lines, result))
        return result

    def _keep(self, key: bytes, kept: _Kept) -> None:
        before = self._kept.pop(key, None)
        self._kept[key] = kept
        self._bytes += kept.bytes - (before.bytes if before is not None else 0)
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].bytes


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines of a text that are not blank or end a continued line, with their numbers."""
    goes_on = False
    for number, line in enumerate(text.split("\n"), 1):
        if goes_on or line.strip():
            yield number, line.rstrip()
            goes_on = line.endswith("\\")


def _counts_lines(text: str) -> bool:
    # A macro that the host alone used says nothing.
    said = _MACRO.sub(lambda macro: "" if len(re.findall(rf"\b{macro[1]}\b", text)) == 1 else macro[0], text)
    return _COUNTS_LINES.search(said) is not None


def _on_lines(kept: _Kept, file: str, text: str, now: Sequence[int]) -> CompileResult | None:
    """Return a result with the lines of another text of the same code; None where it depends on more than the code."""
    result = kept.result
    if kept.text == text:
        return result
    if result.diagnostics or result.log.strip() or result.cubin:
        return None
    if kept.lines == tuple(now):
        return result
    # The compiler says 0 of what has no line.
    at = {0: 0, **dict(zip(kept.lines, now, strict=True))}
    # The prelude and headers keep theirs.
    own = {number for number, name in _FILE.findall(result.ptx) if name.rpartition("/")[2] == file}

    def moved(place: re.Match[str]) -> str:
        line = at.get(int(place[4])) if place[2] in own else int(place[4])
        return f"{place[1]}{place[2]}{place[3]}{line}"

    if not own or any(place[2] in own and int(place[4]) not in at for place in _PLACE.finditer(result.ptx)):
        return None
    return replace(result, ptx=_PLACE.sub(moved, result.ptx))
