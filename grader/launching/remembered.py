"""Programs compiled and launches made before, for grading one work again and again while it is written.

Most saves change no device code at all: the same code compiles to the same code, and the same kernel, given the same,
does the same, whatever stands in comments, on whatever lines.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.launching.backend import BufferArgument, LaunchOutcome, LaunchRequest
from grader.ptx.frontend.nodes import SourceLocation
from grader.ptx.lowering.program import Part
from grader.ptx.records import Counters
from grader.submission.lexical import without_comments

COMPILED_BYTES = 24 << 20
LAUNCHED_BYTES = 128 << 20
"""Of all programs, and of all outcomes, that are kept."""
RECORD_BYTES = 400
"""What a counter or a hazard takes, about."""


V = TypeVar("V")


class _Latest(Generic[V]):
    """Values by key; those used least recently go first when all take more than `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._entries: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> V | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def use(self, key: Hashable) -> None:
        self._entries.move_to_end(key)

    def put(self, key: Hashable, value: V, size: int) -> None:
        _, earlier_size = self._entries.pop(key, (None, 0))
        self._entries[key] = value, size
        self.bytes += size - earlier_size
        while self.bytes > self.most_bytes:
            self.bytes -= self._entries.popitem(last=False)[1][1]


@dataclass(frozen=True, slots=True)
class _Launched:
    """An outcome, and the places of its kernel's instructions."""

    places: tuple[SourceLocation, ...]
    outcome: LaunchOutcome


class RememberedLaunches:
    """Outcomes of launches, the latest ones, in memory."""

    def __init__(self, most_bytes: int = LAUNCHED_BYTES) -> None:
        self._kept: _Latest[_Launched] = _Latest(most_bytes)

    def get(self, part: Part, number: int, request: LaunchRequest) -> LaunchOutcome | None:
        """What came of a launch, told of the lines that its kernel stands on now; None where it was not made.

        number: which launch of the part's kernels it is in its grading: each has other addresses.
        """
        key = _key(part, number, request)
        kept = self._kept.get(key)
        if kept is None:
            return None
        lines = _moved(kept.places, part.places)
        if lines is None:
            return None
        self._kept.use(key)
        return _on_lines(kept.outcome, lines)

    def put(self, part: Part, number: int, request: LaunchRequest, outcome: LaunchOutcome) -> None:
        """Keep what came of a launch, if that is all there is to it, and let go of what was not asked for lately."""
        if not _is_repeatable(request, outcome) or not _lines_of(outcome) <= {0, *(at.line for at in part.places)}:
            return
        for array in outcome.outputs.values():
            array.flags.writeable = False
        self._kept.put(_key(part, number, request), _Launched(part.places, outcome), _bytes_of(outcome))


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
class _Compiled:
    """The result of a source, and the 1-based numbers of its lines that are not blank."""

    text: str
    lines: tuple[int, ...]
    result: CompileResult


class RememberedCompiler(CompilerProcess):
    """A compiler process that is not asked a second time for what compiled, the latest ones, in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: _Latest[_Compiled] = _Latest(COMPILED_BYTES)

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
            adapted = _at_lines(stored, file, text, lines)
            if adapted is not None:
                self._kept.use(key)
                return adapted
        result = super().compile(sources, names, architecture, wall_limit_s, options)
        if result.ok:
            size = len(result.ptx) + len(result.cubin) + len(text) + 8 * len(lines)
            self._kept.put(key, _Compiled(text, lines, result), size)
        return result


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


def _at_lines(kept: _Compiled, file: str, text: str, now: Sequence[int]) -> CompileResult | None:
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
