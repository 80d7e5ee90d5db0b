"""Sources that were compiled before: the same code gives the same code, whatever stands in its comments, on any lines.

For who compiles one source again and again while it is written: most saves change no device code at all.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.submission.lexical import without_comments

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
    """What came of a source, and the lines of it that hold something: their 1-based numbers."""

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
        """As `CompilerProcess.compile`."""
        (file, text), *headers = sources.items()
        counts_lines = _counts_lines(text)
        kept = list(_lines(text if counts_lines else without_comments(text)))
        lines = tuple(number for number, _line in kept)
        # What stands on the lines; of a text that may do more with them than stand there, where it stands, too.
        held = tuple(line for _number, line in kept), lines if counts_lines else ()
        asked = repr((file, held, headers, tuple(names), architecture, tuple(options)))
        key = hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=20).digest()
        known = self._kept.get(key)
        if known is not None:
            told = _told_of(known, file, text, lines)
            if told is not None:
                self._kept.move_to_end(key)
                return told
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
    """The lines of a text that hold something, or end what goes on."""
    goes_on = False
    for number, line in enumerate(text.split("\n"), 1):
        if goes_on or line.strip():
            yield number, line.rstrip()
            goes_on = line.endswith("\\")


def _counts_lines(text: str) -> bool:
    # A macro that the host alone used says nothing.
    said = _MACRO.sub(lambda macro: "" if len(re.findall(rf"\b{macro[1]}\b", text)) == 1 else macro[0], text)
    return _COUNTS_LINES.search(said) is not None


def _told_of(kept: _Kept, file: str, text: str, now: Sequence[int]) -> CompileResult | None:
    """A result told of the text that its code stands in now; None where it says more of that than the code does."""
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
