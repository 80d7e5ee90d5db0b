"""What is not done twice: programs in the form that a device runs, compiled as they are asked for, each once; and
launches made before, for grading one work again and again while it is written.

Most saves change no device code at all: the same kernel, given the same, does the same, whatever stands in comments, on
whatever lines.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from grader.compiler.result import CompileResult, for_oldest
from grader.launching.backend import BufferArgument, Code, LaunchOutcome, LaunchRequest
from grader.message import Message
from grader.ptx.frontend.nodes import SourceLocation
from grader.ptx.lowering.program import Part
from grader.ptx.records import Counters
from grader.submission.records import Submission, VariantBinding

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


# Launches that were made before.

LAUNCHED_BYTES = 128 << 20
"""Size of all outcomes kept, together."""
RECORD_BYTES = 400
"""What a counter or a hazard takes, about."""


@dataclass(frozen=True, slots=True)
class _Launched:
    """An outcome, and the places of its kernel's instructions."""

    places: tuple[SourceLocation, ...]
    outcome: LaunchOutcome


class RememberedLaunches:
    """Outcomes of launches in memory; those used least recently go first when all take more than `most_bytes`."""

    def __init__(self, most_bytes: int = LAUNCHED_BYTES) -> None:
        self._most_bytes = most_bytes
        self.bytes = 0
        self.is_ended = False
        self._kept: OrderedDict[Hashable, tuple[_Launched, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def end(self) -> None:
        """Let go of all, and remember nothing more."""
        self.is_ended, self.bytes = True, 0
        self._kept.clear()

    def get(self, part: Part, number: int, request: LaunchRequest) -> LaunchOutcome | None:
        """What came of a launch, told of the lines that its kernel stands on now; None where it was not made.

        number: which launch of the part's kernels it is in its grading: each has other addresses.
        """
        key = _key(part, number, request)
        launched, _size = self._kept.get(key, (None, 0))
        lines = _moved(launched.places, part.places) if launched is not None else None
        if launched is None or lines is None:
            return None
        self._kept.move_to_end(key)
        return _on_lines(launched.outcome, lines)

    def put(self, part: Part, number: int, request: LaunchRequest, outcome: LaunchOutcome) -> None:
        """Keep what came of a launch, if that is all there is to it, and let go of what was not asked for lately."""
        if not _is_repeatable(request, outcome) or not _lines_of(outcome) <= {0, *(at.line for at in part.places)}:
            return
        for array in outcome.outputs.values():
            array.flags.writeable = False
        key, size = _key(part, number, request), _bytes_of(outcome)
        self.bytes += size - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = _Launched(part.places, outcome), size
        while self.bytes > self._most_bytes:
            self.bytes -= self._kept.popitem(last=False)[1][1]


def _is_repeatable(request: LaunchRequest, outcome: LaunchOutcome) -> bool:
    """Whether an outcome is plain records that follow from what was launched.

    What a clock has ended is not; nor are histories, which are long, and sentences and names with lines in them.
    """
    if request.trace or request.followed or outcome.status not in ("ok", "fault") or outcome.said is not None:
        return False
    return not any("@" in hazard.array for hazard in outcome.hazards)


def _key(part: Part, number: int, request: LaunchRequest) -> Hashable:
    return part.content, number, _content(request)


def _content(request: LaunchRequest) -> Hashable:
    """Return all of a request in a form that can be compared."""
    values: dict[str, Any] = {field.name: getattr(request, field.name) for field in fields(request)}
    values["arguments"] = tuple(_argument(argument) for argument in request.arguments)
    # A row of launches may be the same one many times.
    before = {id(earlier): earlier for earlier in request.before}
    contents = {id: _content(earlier) for id, earlier in before.items()}
    values["before"] = tuple(contents[id(earlier)] for earlier in request.before)
    return tuple(values.items())


def _argument(argument: object) -> Hashable:
    if not isinstance(argument, BufferArgument):
        # Equal numbers need not be the same: 0.0 and -0.0.
        return repr(argument)
    if argument.initial is None:
        return argument
    initial = np.ascontiguousarray(argument.initial)
    held = hashlib.blake2b(initial.view(np.uint8).reshape(-1).data, digest_size=20).digest()
    return argument.name, argument.shape, argument.dtype, str(initial.dtype), held, argument.is_output, argument.start


def _moved(before: Sequence[SourceLocation], now: Sequence[SourceLocation]) -> dict[int, int] | None:
    """Where each line has gone; None where lines have changed places, or some are one that were two.

    Whatever is told line by line, in the order of the lines, is then told the same way.
    """
    lines = {0: 0}
    if len(before) != len(now):
        return None
    for old, new in zip(before, now, strict=True):
        if old.file != new.file or lines.setdefault(old.line, new.line) != new.line:
            return None
    in_order = [lines[line] for line in sorted(lines)]
    return lines if all(a < b for a, b in itertools.pairwise(in_order)) else None


def _lines_of(outcome: LaunchOutcome) -> set[int]:
    lines = {outcome.line, *(line for _kind, line, _count in outcome.remarks)}
    lines.update(row.line for row in (*(outcome.counters.by_line if outcome.counters else ()), *outcome.work))
    return lines.union(*((hazard.line, hazard.other_line) for hazard in outcome.hazards))


def _on_lines(outcome: LaunchOutcome, lines: dict[int, int]) -> LaunchOutcome:
    """Return the outcome with other lines, in records of its own."""
    counters = outcome.counters
    if counters is not None:
        by_line = [replace(counter, line=lines[counter.line]) for counter in counters.by_line]
        counters = Counters(by_line, counters.sampled_blocks, counters.total_blocks)
    return replace(
        outcome,
        counters=counters,
        hazards=tuple(
            replace(hazard, line=lines[hazard.line], other_line=lines[hazard.other_line]) for hazard in outcome.hazards
        ),
        remarks=tuple((kind, lines[line], count) for kind, line, count in outcome.remarks),
        line=lines[outcome.line],
        work=tuple(replace(row, line=lines[row.line]) for row in outcome.work),
    )


def _bytes_of(outcome: LaunchOutcome) -> int:
    arrays = [*outcome.outputs.values()]
    if outcome.earlier is not None:
        arrays += [array for outputs in outcome.earlier.outputs for array in outputs.values()]
    records: Sequence[object] = [*(outcome.counters.by_line if outcome.counters else ()), *outcome.hazards]
    records = [*records, *outcome.work]
    return sum(array.nbytes for array in arrays) + RECORD_BYTES * (4 + len(records)) + len(outcome.printf)
