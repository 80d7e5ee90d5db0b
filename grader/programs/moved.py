"""A program whose lines have moved: recognised by what stands on them, and what was observed of it on its new lines.

Calls are looked up in its text by the lines that hold something, wherever those stand.  That what a program does
follows from what stands on its lines, not from their numbers, is so as long as it only ever says the numbers
(`__LINE__` in a message); what does anything else with them is recognised by its whole text only.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import msgspec

from grader.message import Message
from grader.programs.records import Observation, TimedSpan
from grader.submission.kernels.records import SeenChange, SeenRun


def is_empty(line: str) -> bool:
    """Whether a line holds nothing: no more than the mark that it goes on in the next one."""
    return line.strip(" \t\r\\") == ""


def end_of_block(text: str, at: int) -> int:
    """Return where the block ends whose opening brace stands before `at`; the text's end where it is not closed."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return at


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program's files as its run needs them: their lines, names of units, names of kernels' parameters by kernel, and
    file and line of calls whose results nobody looks at.
    """

    sources: SourceLines
    unit_names: Sequence[str]
    parameter_names: Mapping[str, Sequence[str]]
    unused_results: frozenset[tuple[str, int]]
    speaks: bool = False
    """Whether kernels may speak to the host while they run, as far as their own text tells."""


class SourceLines:
    """texts: by file, as in `grader.programs.sources.Program.host`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {file: text.split("\n") for file, text in texts.items()}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Return texts by file, without the lines that hold nothing."""
        return {file: "\n".join(line for line in lines if not is_empty(line)) for file, lines in self._lines.items()}

    def whole(self, file: str) -> str:
        """Return the text of a file with all its lines; "" where there is no such file."""
        return "\n".join(self._lines.get(file, ()))

    def has(self, file: str) -> bool:
        return file in self._lines

    def at(self, file: str, line: int, count: int) -> list[str]:
        """Return the line and those after it that hold something, `count` in all; [] where there is no such line."""
        return [text for _line, text in self.numbered(file, line, count)]

    def numbered(self, file: str, line: int, count: int) -> list[tuple[int, str]]:
        """Return the same lines, each with its number."""
        lines = self._lines.get(file, [])
        if not 0 < line <= len(lines):
            return []
        following = ((number, text) for number, text in enumerate(lines[line:], line + 1) if not is_empty(text))
        return [(line, lines[line - 1]), *islice(following, count - 1)]


MOST_CALLS = 4
"""Through as many functions a line's number is followed to where it is said."""
MOST_USES = 60
MOST_CHARACTERS = 2000
"""How far before a place in a call its beginning is looked for."""
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*+"?|(?<!\w)\'(?:\\.|[^\'\\\n])*+\'?', re.S)
_LINE = re.compile(r"\b__LINE__\b")
# Other ways to a number of a line; a name that is pasted of parts may be any.
_OTHERS = re.compile(
    r"__builtin_(?:LINE|COLUMN|source_location)|source_location|__PRETTY_FUNCTION__|typeid|^#[ ]?(?:line\b|\d)"
    r"|##(?![ ]?__VA_ARGS__)|%:|\?\?",
    re.M,
)
_SAYS = frozenset({"printf", "fprintf"})
_STREAM = re.compile(r"\b(?:cout|cerr|clog)\b")
_NAME = re.compile(r"(\w+)\s*\Z")
_LAST_WORD = re.compile(r"(\w+)(?:\s*=[^=].*)?\s*\Z", re.S)
_LOGICAL_LINE = re.compile(r"(?:\\\n|[^\n])*")


@dataclass(frozen=True, slots=True)
class Lines:
    """A program's host code by the lines that hold something: their texts, and their 1-based numbers, by file.

    exact: whether the program may depend on numbers of lines, which are part of its key then.
    """

    texts: tuple[tuple[str, tuple[str, ...]], ...]
    numbers: tuple[tuple[int, ...], ...]
    exact: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for two programs that do the same."""
        return (self.texts, self.numbers if self.exact else ())

    def to(self, now: Lines) -> dict[tuple[str, int], int]:
        """Return where each line has gone, by file, in a program of the same key."""
        return {
            (file, old): new
            for (file, _texts), olds, news in zip(self.texts, self.numbers, now.numbers, strict=True)
            for old, new in zip(olds, news, strict=True)
        }


def lines_of(host: Mapping[str, str]) -> Lines:
    """Return the lines of `grader.programs.sources.Program.host`."""
    kept = [(file, list(_kept(text))) for file, text in sorted(host.items())]
    return Lines(
        tuple((file, tuple(text for _number, text in lines)) for file, lines in kept),
        tuple(tuple(number for number, _text in lines) for _file, lines in kept),
        not _only_says_lines([_LITERAL.sub('""', text) for text in host.values()]),
    )


def _kept(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines without which the program would mean something else."""
    goes_on = False
    # In a raw literal an empty line is one.
    all_count = 'R"' in text
    for number, line in enumerate(text.split("\n"), 1):
        if all_count or not is_empty(line) or (goes_on and not line.endswith("\\")):
            yield number, line
            goes_on = line.endswith("\\")


def observation_on_lines(
    observation: Observation, lines: Mapping[tuple[str, int], int], kernels: Mapping[int, int]
) -> Observation | None:
    """Return what was observed of a program on other lines; None where it names lines that are not among those.

    lines: of the host code, by file.  kernels: of kernels, in whatever file.
    """
    launches, findings = observation.launches, observation.findings
    places = [(launch.file, launch.line) for launch in launches]
    places += [(finding.file, finding.line) for finding in findings if finding.line]
    places += [(copy.file, copy.line) for copy in observation.copies]
    times = observation.times
    spans = times.spans if times is not None else []
    places += [(span.file, line) for span in spans for line in (span.line, span.begin_line) if line]
    messages = [finding.message for finding in findings] + ([observation.cause] if observation.cause else [])
    if any(place not in lines for place in places) or any(_names_a_line(message) for message in messages):
        return None
    if any(launch.hazards or any(c.line not in kernels for c in launch.counters) for launch in launches):
        return None
    at = {**lines, **{(finding.file, 0): 0 for finding in findings}}
    return msgspec.structs.replace(
        observation,
        launches=[
            msgspec.structs.replace(
                launch,
                line=at[launch.file, launch.line],
                counters=[msgspec.structs.replace(c, line=kernels[c.line]) for c in launch.counters],
            )
            for launch in launches
        ],
        findings=[msgspec.structs.replace(finding, line=at[finding.file, finding.line]) for finding in findings],
        copies=[dataclasses.replace(copy, line=at[copy.file, copy.line]) for copy in observation.copies],
        times=times and msgspec.structs.replace(times, spans=[_span_on_lines(span, at) for span in spans]),
    )


def _span_on_lines(span: TimedSpan, at: Mapping[tuple[str, int], int]) -> TimedSpan:
    line, begin_line = (at[span.file, one] if one else 0 for one in (span.line, span.begin_line))
    return msgspec.structs.replace(span, line=line, begin_line=begin_line)


def _names_a_line(said: object) -> bool:
    match said:
        case Message():
            return any("line" in name or _names_a_line(value) for name, value in said.data.items())
        case list():
            return any(_names_a_line(part) for part in said)
    return False


ALIKE = 0.5
"""The share of a file's lines that must be unchanged; else it counts as another file."""


def lines_now(before: Sequence[str], now: Sequence[str]) -> dict[int, int] | None:
    """Return where each line has gone that is still there, from 1 on; None where too few are."""
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    lines: dict[int, int] = {}
    unchanged = 0
    for kind, start, end, first, last in matcher.get_opcodes():
        unchanged += (end - start) * (kind == "equal")
        # Lines of which each was changed where it stands are those that they were.
        if kind == "equal" or (kind == "replace" and end - start == last - first):
            lines |= {start + offset + 1: first + offset + 1 for offset in range(end - start)}
    return lines if unchanged >= ALIKE * len(before) else None


def in_order(lines: Iterable[tuple[int, int]]) -> dict[int, int] | None:
    """Return where lines have gone, from pairs of before and now; None where not each to one line, in their order."""
    moved = {0: 0}
    for before, now in lines:
        if moved.setdefault(before, now) != now:
            return None
    ordered = [moved[line] for line in sorted(moved)]
    return moved if all(a < b for a, b in itertools.pairwise(ordered)) else None


def run_on_lines(run: SeenRun, lines: Mapping[tuple[str, int], int]) -> SeenRun:
    """Return a run as binding takes it on other lines; a line that is not among these keeps its number."""

    def now(file: str, line: int) -> int:
        return lines.get((file, line), line)

    def changed(change: SeenChange | None) -> SeenChange | None:
        return None if change is None else dataclasses.replace(change, line=now(change.file, change.line))

    file_of = {(launch.kernel, launch.line): launch.file for launch in run.launches}
    return dataclasses.replace(
        run,
        said=tuple(
            dataclasses.replace(word, line=now(file_of.get((word.kernel, word.line), run.files[0]), word.line))
            for word in run.said
        ),
        launches=tuple(
            msgspec.structs.replace(launch, line=now(launch.file, launch.line), change=changed(launch.change))
            for launch in run.launches
        ),
        unnoticed=tuple(dataclasses.replace(one, line=now(one.file, one.line)) for one in run.unnoticed),
        faults=tuple(dataclasses.replace(fault, line=now(fault.file, fault.line)) for fault in run.faults),
        copies=tuple(dataclasses.replace(copy, line=now(copy.file, copy.line)) for copy in run.copies),
        cause_line=now(run.cause_file, run.cause_line),
        change=changed(run.change),
    )


def _only_says_lines(texts: Sequence[str]) -> bool:
    """Whether texts, literals removed, only ever print the numbers of their lines."""
    if any(_OTHERS.search(text) for text in texts):
        return False
    # Between two files as between two functions.
    whole = "\n}\n".join(texts)
    uses = [match.start() for match in itertools.islice(_LINE.finditer(whole), MOST_USES + 1)]
    return len(uses) <= MOST_USES and all(_is_only_said(whole, at, MOST_CALLS) for at in uses)


def _is_only_said(text: str, at: int, calls: int) -> bool:
    """Whether the value at `at` is printed and used nowhere else, followed through at most `calls` functions."""
    start = max(text.rfind(mark, 0, at) for mark in ";{}")
    if text[:at].rstrip().endswith("<<") and _STREAM.search(text, start + 1, at):
        return True
    called, argument = _call_around(text, at)
    if called in _SAYS:
        return True
    bodies = list(_bodies(text, called)) if called and calls else []
    return bool(bodies) and all(
        argument < len(names) and all(_is_only_said(text, use, calls - 1) for use in _uses(text, names[argument], body))
        for names, body in bodies
    )


def _uses(text: str, name: str, body: slice) -> list[int]:
    return [match.start() for match in re.compile(rf"\b{re.escape(name)}\b").finditer(text, body.start, body.stop)]


def _call_around(text: str, at: int) -> tuple[str, int]:
    """Return the function whose call encloses `at`, "" for none, and the index of the argument there."""
    depth = argument = 0
    for index in range(at - 1, max(0, at - MOST_CHARACTERS), -1):
        character = text[index]
        if character in ")]}":
            depth += 1
        elif character in "([{" and depth:
            depth -= 1
        elif character in "([{;":
            name = _NAME.search(text, max(0, index - 200), index) if character == "(" else None
            return (name[1] if name is not None else ""), argument
        elif character == "," and not depth:
            argument += 1
    return "", 0


def _bodies(text: str, name: str) -> Iterator[tuple[list[str], slice]]:
    """Yield the parameters' names and the extent of the body of each function or macro of that name."""
    for match in re.finditer(
        rf"(#[ ]?define[ ])?\b{re.escape(name)}[ ]?\(([^(){{}};]*)\)(\s*(?:noexcept\s*)?\{{)?", text
    ):
        names = [word[1] if (word := _LAST_WORD.search(part)) else "" for part in match[2].split(",")]
        if match[1]:
            rest = _LOGICAL_LINE.match(text, match.end(2))
            assert rest is not None, "it matches the empty text too"
            yield names, slice(match.end(2), rest.end())
        elif match[3]:
            yield names, slice(match.end(), end_of_block(text, match.end()))
