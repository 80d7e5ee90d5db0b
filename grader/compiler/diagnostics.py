"""The compiler's messages about the student's own file, out of its log, and what lies behind them.

A message may mean something else than its words say, or stand in another line than the mistake.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.message import Message, msg
from grader.preprocessor import COMMENT, LITERAL

_UNREAD = re.compile(rf"{COMMENT}|{LITERAL}", re.DOTALL)
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_EXPECTED = re.compile(r'expected an? "(?P<what>[;)\]])"')
_UNDEFINED = re.compile(r'identifier "(?P<name>\w+)" is undefined')
_NO_MEMBER = re.compile(r'has no member "(?P<name>[XYZ])"')
_FUNCTION = re.compile(r"\b(?:__global__|__device__|__host__)\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[^\n]*;[ \t]*$", re.MULTILINE)
_NOT_IN_STD = re.compile(r'namespace "std" has no member "(?P<name>\w+)"')
_DEVICE_FUNCTIONS = frozenset(
    ["abs", "ceil", "cos", "exp", "fabs", "floor", "fmax", "fmin", "log", "max", "min", "pow", "round", "sin", "sqrt"]
)
_HOST_ONLY = re.compile(
    r'identifier "(?P<name>cuda[A-Z]\w*|cout|cin|cerr|endl|exit|rand|srand|fprintf|scanf|calloc|vector|string)"'
    r" is undefined"
)
_BUILT_IN = frozenset(
    re.findall(
        r"\w+",
        "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __shfl_sync __shfl_down_sync atomicAdd "
        "__shared__ __global__ __device__ __constant__ __restrict__ float int double char bool void unsigned const "
        "size_t float4 for while return if else sqrtf fabsf fminf fmaxf min max printf true false",
    )
)
_NEAR = 0.7
"""How alike a misspelt name and the right one are, as `difflib` counts it."""
_LOOKED_BACK = 3
"""Lines before an error in which a function may begin that stands within another one's braces."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What to do about an error.  line: where the mistake is, 0 where that is the error's own line."""

    hint: Message
    line: int = 0


def cause_of(message: str, line: int, is_first: bool, text: str, undefined: Iterable[str]) -> Cause | None:
    """The cause of an error, None where nothing is known.

    is_first: whether the error is at the line's first word.  text: of the file.
    undefined: names of the file that the compiler does not know.
    """
    hint = _meant(message)
    if hint is not None:
        return Cause(hint)
    rows = _UNREAD.sub(_blank, text).split("\n")
    if not 1 <= line <= len(rows):
        return None
    if _FENCE.match(text.split("\n")[line - 1]):
        return Cause(msg("compiler.fence"))
    causes = (_open_function(rows, line), _macro(message, line, rows), _missing_sign(message, line, is_first, rows))
    return next(filter(None, causes), None) or _misspelt(message, line, rows, set(undefined))


def closing_line(text: str, line: int) -> int:
    """The line in which the first brace is closed that opens in `line` or later; the last line where none is."""
    rows = _UNREAD.sub(_blank, text).split("\n")
    depth, was_open = 0, False
    for number, row in enumerate(rows[line - 1 :], start=line):
        depth += row.count("{") - row.count("}")
        was_open = was_open or "{" in row
        if was_open and depth <= 0:
            return number
    return len(rows)


def names_undefined(messages: Iterable[str]) -> set[str]:
    """The names that some errors say to be undefined."""
    return {match["name"] for match in map(_UNDEFINED.search, messages) if match is not None}


def never_closed(line: int) -> Message:
    """What to do about the brace of a line that is open at the end of the file."""
    return msg("compiler.never_closed", line=line)


def _meant(message: str) -> Message | None:
    """Return the plain cause behind a message that means something else to a beginner."""
    of_std = _NOT_IN_STD.search(message)
    if of_std and of_std["name"] in _DEVICE_FUNCTIONS:
        return msg("compiler.std_in_device", name=of_std["name"])
    if of_std:
        return msg("compiler.std_for_host", name=of_std["name"])
    of_host = _HOST_ONLY.search(message)
    if of_host:
        return msg("compiler.host_only", name=of_host["name"])
    if "device-side kernel launch" in message:
        return msg("compiler.nested_launch")
    if message.startswith("A namespace scope variable without memory space annotations"):
        return msg("compiler.host_variable")
    return None


def _open_function(rows: list[str], line: int) -> Cause | None:
    """A function that begins at the error, or a little before it, while the braces of another one are open."""
    for number in range(line, max(0, line - 1 - _LOOKED_BACK), -1):
        if not _FUNCTION.search(rows[number - 1]):
            continue
        opened = _opened(rows[: number - 1])
        if opened is None:
            return None
        return Cause(msg("compiler.brace_before", line=number, opened=opened), _code_before(rows, number))
    return None


def _opened(rows: list[str]) -> int | None:
    """The line of the outermost brace that is open after some lines; None where none is."""
    open_lines: list[int] = []
    for number, row in enumerate(rows, start=1):
        if row.lstrip().startswith("#"):
            continue
        for sign in row:
            if sign == "{":
                open_lines.append(number)
            elif sign == "}" and open_lines:
                open_lines.pop()
    return open_lines[0] if open_lines else None


def _macro(message: str, line: int, rows: list[str]) -> Cause | None:
    """A macro that ends in a semicolon, used where the compiler expects something else."""
    if not message.startswith("expected"):
        return None
    used = set(_WORD.findall(rows[line - 1]))
    for macro in _MACRO.finditer("\n".join(rows)):
        if macro["name"] in used:
            number = "\n".join(rows).count("\n", 0, macro.start()) + 1
            return Cause(msg("compiler.macro_semicolon", name=macro["name"], line=number), number)
    return None


def _missing_sign(message: str, line: int, is_first: bool, rows: list[str]) -> Cause | None:
    """Find a sign missing at the end of the line before: the compiler notices it only at the next word."""
    expected = _EXPECTED.search(message)
    before = _code_before(rows, line)
    if expected is None or not is_first or not before:
        return None
    if expected["what"] == ";":
        return Cause(msg("compiler.semicolon", line=before, noticed=line), before)
    return Cause(msg("compiler.bracket", sign=expected["what"], line=before, noticed=line), before)


def _misspelt(message: str, line: int, rows: list[str], undefined: set[str]) -> Cause | None:
    """Find a known name that is nearly the one written."""
    axis = _NO_MEMBER.search(message)
    if axis is not None:
        return Cause(msg("compiler.did_you_mean", name=axis["name"], near=axis["name"].lower()))
    match = _UNDEFINED.search(message)
    if match is None:
        return None
    name = match["name"]
    words = {*_words_near(rows, line), *_BUILT_IN} - undefined - {name}
    same = sorted(word for word in words if word.casefold() == name.casefold())
    alike = difflib.get_close_matches(name, sorted(words), n=1, cutoff=_NEAR) if len(name) > 2 else []
    near = next(iter(same or alike), None)
    return Cause(msg("compiler.did_you_mean", name=name, near=near)) if near is not None else None


def _words_near(rows: list[str], line: int) -> Iterator[str]:
    depth, start, end = 0, 0, len(rows)
    for number, row in enumerate(rows, start=1):
        before = depth
        depth = max(0, depth + row.count("{") - row.count("}"))
        if before == 0:
            yield from _WORD.findall(row)
            if number <= line:
                start = number
        if number >= line and depth == 0:
            end = number
            break
    for row in rows[max(0, start - 1) : end]:
        yield from _WORD.findall(row)


def _code_before(rows: list[str], line: int) -> int:
    """The last line before `line` that is more than blanks, comments or a directive; 0 where there is none."""
    for number in range(line - 1, 0, -1):
        if rows[number - 1].strip() and not rows[number - 1].lstrip().startswith("#"):
            return number
    return 0


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


MAX_LOG_CHARACTERS = 32 * 1024
MAX_MESSAGE_CHARACTERS = 500
MAX_DIAGNOSTICS = 100
MAX_STATIC_BYTES = 128 << 20
"""As much as the emulator has for the variables of a module (`ptx/limits.py`): a test holds them together."""

_HEAD = re.compile(
    r"^(?P<file>[^\n]*?)\((?P<line>\d{1,9})\): (?P<severity>catastrophic error|error|warning|remark)"
    r"(?: #[\w-]+)?: (?P<message>.*)$"
)
_ASSEMBLER_ERROR = re.compile(
    r"^ptxas (?:application ptx input, line (?P<line>\d{1,9}); )?error\s*: (?P<message>[^\n]+)", re.MULTILINE
)
_STATIC_ARRAY = re.compile(
    r"^[^\n;{]{0,60}\.(?:global|const)\b[^\n;=]{0,80}?"
    r"\.[busf](?P<bits>\d{1,3}) (?P<name>[\w$]+)\[(?P<count>\d{1,18})\]",
    re.MULTILINE,
)
_LOCATION = re.compile(r"\s*\.loc\s+1\s+(?P<line>\d{1,9})\s")
_END = re.compile(r"^At end of source: error(?: #[\w-]+)?: (?P<message>.*)$")
_TO_MATCH = re.compile(r"^(?P<file>[^\n]*?)\((?P<line>\d{1,9})\): note[^:\n]*: to match this \"\{\"$")
_QUOTED_KERNEL = re.compile(r"'(?P<name>[\w$]+)'")
# Whether a file is forbidden, no plain file or not there must not be told apart.
_NOT_OPENED = re.compile(r"(cannot open source file \"[^\"\n]*\"): [^\n]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: `line` is 1-based in `file`, `severity` "error", "warning" or "remark".

    message: the compiler's own words, or a message where it gave none.
    hint: what to do about it, where that is known.  cause: another line, where the mistake is; 0 where that is `line`.
    """

    file: str
    line: int
    severity: str
    message: str | Message
    hint: Message | None = None
    cause: int = 0


def assembler_errors(log: str, ptx: str, file: str, source: str) -> tuple[Diagnostic, ...]:
    """What the assembler refuses, at the lines of the `source` that it was made of.

    ptx: what was given to the assembler, with a line table; "" where it is not known.  An error without a line of its
    own (too much shared memory) stands where its kernel does, or in line 1.
    """
    places: list[int] = []
    line = 1
    for row in ptx.split("\n"):
        place = _LOCATION.match(row)
        if place is not None:
            line = min(int(place["line"]), source.count("\n") + 1)
        places.append(line)
    errors: dict[Diagnostic, None] = {}
    for match in _ASSEMBLER_ERROR.finditer(log):
        at = int(match["line"] or 0)
        if 0 < at <= len(places):
            line = places[at - 1]
        else:
            named = _QUOTED_KERNEL.search(match["message"])
            line = _line_of_entry(named["name"], ptx, places) if named else 1
        errors[Diagnostic(file, line, "error", f"ptxas: {match['message'].strip()[:MAX_MESSAGE_CHARACTERS]}")] = None
    return tuple(errors)[:MAX_DIAGNOSTICS]


def static_arrays_too_large(ptx: str, file: str, source: str) -> Diagnostic | None:
    """An error at the largest global array where all of them take more than `MAX_STATIC_BYTES`; else None.

    Said before anything is allocated: what runs PTX without a device keeps more than the arrays themselves.
    """
    arrays = [(int(match["bits"]) // 8 * int(match["count"]), match["name"]) for match in _STATIC_ARRAY.finditer(ptx)]
    if sum(size for size, _name in arrays) <= MAX_STATIC_BYTES:
        return None
    size, name = max(arrays)
    declared = re.search(rf"\b{re.escape(name)}\s*\[", source)
    line = source.count("\n", 0, declared.start()) + 1 if declared is not None else 1
    return Diagnostic(
        file,
        line,
        "error",
        msg("compiler.static_arrays", array=name, megabytes=size >> 20, limit=MAX_STATIC_BYTES >> 20),
    )


def _line_of_entry(symbol: str, ptx: str, places: list[int]) -> int:
    """The first line of the source that a kernel of the PTX is made of; 1 where that is not to be seen."""
    start = ptx.find(f".entry {symbol}(")
    after = ptx.count("\n", 0, start) if start >= 0 else len(places)
    before = places[after] if after < len(places) else 1
    return next((place for place in places[after:] if place != before), before)


def diagnostics_of(log: str, sources: Mapping[str, str]) -> tuple[tuple[Diagnostic, ...], str]:
    """The messages in `log` about `sources` (text by file name) at lines they have, and their part of the log.

    A message about any other file is dropped with its excerpt: it may quote that file.
    """
    log = _NOT_OPENED.sub(r"\1", log)
    lines_of = {name: text.split("\n") for name, text in sources.items()}
    diagnostics: dict[Diagnostic, bool] = {}
    shown: list[str] = []
    rows = log.split("\n")
    index = 0
    while index < len(rows):
        head, ended = _HEAD.match(rows[index]), _END.match(rows[index])
        index += 1
        if ended is not None:
            index += _end_of_source(rows[index:], ended["message"], lines_of, diagnostics)
            continue
        if head is None:
            continue
        body: list[str] = []
        while index < len(rows) and rows[index].strip() and not _HEAD.match(rows[index]):
            body.append(rows[index])
            index += 1
        file, line = _known(head["file"], lines_of), int(head["line"])
        if not file or not 1 <= line <= len(lines_of[file]):
            continue
        excerpt = lines_of[file][line - 1].strip()
        message = [head["message"].strip()]
        for row in body:
            if row.strip() == excerpt or row.strip() == "^":
                break
            message.append(row.strip())
        text = " ".join(message)[:MAX_MESSAGE_CHARACTERS]
        severity = "error" if head["severity"].endswith("error") else head["severity"]
        shown += [rows[index - len(body) - 1], *body, ""]
        if len(diagnostics) < MAX_DIAGNOSTICS:
            diagnostics.setdefault(Diagnostic(file, line, severity, text), _is_first(body))
    undefined = names_undefined(d.message for d in diagnostics if isinstance(d.message, str))
    explained = tuple(_explained(d, is_first, sources, undefined) for d, is_first in diagnostics.items())
    return explained, "\n".join(shown)[:MAX_LOG_CHARACTERS]


def _known(name: str, lines_of: Mapping[str, list[str]]) -> str:
    return next((candidate for candidate in (name, name.rpartition("/")[2]) if candidate in lines_of), "")


def _end_of_source(
    rows: list[str], message: str, lines_of: Mapping[str, list[str]], errors: dict[Diagnostic, bool]
) -> int:
    """Put an error at the end of a source at the brace that it is about; how many rows that took."""
    opened = _TO_MATCH.match(rows[0]) if rows else None
    file = _known(opened["file"], lines_of) if opened is not None else ""
    if opened is None or not file or not 1 <= int(opened["line"]) <= len(lines_of[file]):
        return 0
    line = int(opened["line"])
    errors.setdefault(Diagnostic(file, line, "error", f"at end of source: {message}", never_closed(line)), False)
    return 1


def _is_first(body: list[str]) -> bool:
    """Whether an error's caret is at the first word of the line that is quoted above it."""
    for quoted, caret in pairwise(body):
        if caret.strip() == "^":
            return len(quoted) - len(quoted.lstrip()) == len(caret) - len(caret.lstrip())
    return False


def _explained(diagnostic: Diagnostic, is_first: bool, sources: Mapping[str, str], undefined: set[str]) -> Diagnostic:
    if diagnostic.hint is not None or not isinstance(diagnostic.message, str) or diagnostic.severity != "error":
        return diagnostic
    cause = cause_of(diagnostic.message, diagnostic.line, is_first, sources[diagnostic.file], undefined)
    return replace(diagnostic, hint=cause.hint, cause=cause.line) if cause is not None else diagnostic
