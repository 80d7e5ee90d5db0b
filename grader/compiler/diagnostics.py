"""The compiler's messages about the student's own file, out of its log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.compiler.causes import cause_of, names_undefined, never_closed
from grader.message import Message, msg

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
    found: dict[Diagnostic, None] = {}
    for match in _ASSEMBLER_ERROR.finditer(log):
        at = int(match["line"] or 0)
        if 0 < at <= len(places):
            line = places[at - 1]
        else:
            named = _QUOTED_KERNEL.search(match["message"])
            line = _line_of_entry(named["name"], ptx, places) if named else 1
        found[Diagnostic(file, line, "error", f"ptxas: {match['message'].strip()[:MAX_MESSAGE_CHARACTERS]}")] = None
    return tuple(found)[:MAX_DIAGNOSTICS]


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
    found: dict[Diagnostic, bool] = {}
    shown: list[str] = []
    rows = log.split("\n")
    index = 0
    while index < len(rows):
        head, ended = _HEAD.match(rows[index]), _END.match(rows[index])
        index += 1
        if ended is not None:
            index += _end_of_source(rows[index:], ended["message"], lines_of, found)
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
        if len(found) < MAX_DIAGNOSTICS:
            found.setdefault(Diagnostic(file, line, severity, text), _is_first(body))
    undefined = names_undefined(d.message for d in found if isinstance(d.message, str))
    explained = tuple(_explained(d, is_first, sources, undefined) for d, is_first in found.items())
    return explained, "\n".join(shown)[:MAX_LOG_CHARACTERS]


def _known(name: str, lines_of: Mapping[str, list[str]]) -> str:
    """The source that a log means by a name; "" for any other file."""
    return next((known for known in (name, name.rpartition("/")[2]) if known in lines_of), "")


def _end_of_source(
    rows: list[str], message: str, lines_of: Mapping[str, list[str]], found: dict[Diagnostic, bool]
) -> int:
    """Put an error at the end of a source at the brace that it is about; how many rows that took."""
    opened = _TO_MATCH.match(rows[0]) if rows else None
    file = _known(opened["file"], lines_of) if opened is not None else ""
    if opened is None or not file or not 1 <= int(opened["line"]) <= len(lines_of[file]):
        return 0
    line = int(opened["line"])
    found.setdefault(Diagnostic(file, line, "error", f"at end of source: {message}", never_closed(line)), False)
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
