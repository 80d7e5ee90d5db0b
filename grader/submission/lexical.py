"""C++ as characters, before it is parsed, and the counted steps that bound all reading of it.

Reading is bounded by counted work, not by a clock: the same file is read, or refused, on any machine.  Whoever walks a
tree or goes through a text says so to `spend`.  A program of a course takes some ten thousand steps; what takes a
thousand times as many is made to take long, by chance or on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from grader.errors import UsageError
from grader.message import msg
from grader.preprocessor import COMMENT, LITERAL, STRING

MAX_STEPS = 8_000_000
"""About ten seconds of processor time."""
CHARACTERS_PER_STEP = 64
"""Characters of text that are copied or searched in one step."""
_RUN = re.compile(r"[\w\s.:*&\\]++")
_PAIRS_PER_STEP = 10


class _Spent(Exception):
    """No steps are left."""


_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def limited(path: Path, steps: int = MAX_STEPS) -> Iterator[None]:
    """Reading within takes at most so many steps; within another limit, that one holds.

    Raises UsageError: it would take more; names `path`.
    """
    if _left.get() is not None:
        yield
        return
    token = _left.set([steps])
    try:
        yield
    except _Spent:
        raise UsageError(msg("submission.too_large", path=path)) from None
    finally:
        _left.reset(token)


def refuse_long_runs(path: Path, text: str) -> None:
    """A pattern may go to the end of a word, of blanks or of names in a row from each place in it.

    So what counts is the square of such a run's length: a program of a course takes a few hundred steps for it.
    Raises UsageError: it would take more steps than all reading may.
    """
    if sum((match.end() - match.start()) ** 2 for match in _RUN.finditer(text)) > MAX_STEPS * _PAIRS_PER_STEP:
        raise UsageError(msg("submission.too_large", path=path))


def spend(steps: int) -> None:
    """Count `steps`, each about a microsecond."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise _Spent


def spend_on(characters: int) -> None:
    """Count the work of going once through so much text."""
    spend(1 + characters // CHARACTERS_PER_STEP)


SKIPPED = rf"""{COMMENT} | R"([^()\\\s]{{0,16}})\(.*?(?:\)\1"|\Z) | {LITERAL}"""
"""Comments and literals, raw and unclosed ones included."""
_BRACKET = re.compile(
    rf"{SKIPPED} | (?P<open>[(\[{{]) | (?P<close>[)\]}}]) | (?P<end>;) | (?P<less><)", re.VERBOSE | re.DOTALL
)

# As an argument or an element: `dim3 grid{unsigned(n) / 16}`.  A pointer to a function is none.
_CAST = re.compile(r"([{(,]\s*+)(unsigned|signed|long|short)(?=\s*+\(\s*+[^\s*&)])")
_TYPE_OF_ONE_WORD = {"unsigned": "uint32_t", "signed": "Signed", "long": "Long", "short": "Short"}

# ASCII alone, where blanks are as many characters: the tree counts bytes.
_ALIGNMENT = re.compile(r"\b__(?:builtin_)?align__[ \t]*+\((?:[^()\x80-\U0010ffff]|\([^()\x80-\U0010ffff]*+\))*+\)")

# The grammar takes the next line for the body of a macro that has none, where blanks end its line.
_NO_BODY = re.compile(r"^([ \t]*+#[ \t]*+define[ \t]++\w++(?:\([^()\n]*+\))?)[ \t]([ \t]*+\r?)$", re.MULTILINE)

_SKIPPED = re.compile(SKIPPED, re.VERBOSE | re.DOTALL)
# As a compiler has them: a backslash at the end of a line counts with blanks behind it, and no literal begins with the
# mark between a number's digits.
_AS_COMPILED = re.compile(
    rf"""(?P<comment>//(?:\\[ \t\r]*\n|[^\n])* | /\*.*?(?:\*/|\Z))
    | R"(?P<tag>[^()\\\s]{{0,16}})\(.*?(?:\)(?P=tag)"|\Z)
    | {STRING} | (?<![\w.])\.?\d(?:[\w.]|'\w)*+ | '(?:\\.|[^'\\\n])*+'?
    | (?P<splice>\\[ \t\r]*\n[ \t]*+) | (?P<end>[ \t\r\f\v]*+\n[ \t]*+) | (?P<blank>[ \t\r\f\v]++)""",
    re.VERBOSE | re.DOTALL,
)
_NOTHING_MORE = re.compile(r"(?:[ \t\r\f\v]++|//(?:\\[ \t\r]*\n|[^\n])*+|/\*.*?\*/){0,20}(?:\n|\Z)", re.DOTALL)
MOST_SPLICED = 100
"""Lines of one directive."""
_NOT_LINE_END = re.compile(r"[^\n]")
# Windows' name for it among them.
_MAIN = re.compile(r"\b(?:_t)?main\s*\([^;{}]{0,200}\)\s*(?:try\s*)?\{")


@lru_cache(maxsize=8)
def without_comments(text: str) -> str:
    """`text` with blanks in place of its comments; every line keeps its number, every character its column."""
    return _SKIPPED.sub(lambda m: blanked(m[0]) if m[0].startswith(("//", "/*")) else m[0], text)


def as_compiled(text: str) -> str:
    """`text` as a compiler reads it: a blank in place of each comment and of each row of blanks, none at ends of lines.

    Every line keeps its number, and stays one text with the line after it where it was: a comment over several lines
    is no end of a directive.
    """

    def kept(match: re.Match[str]) -> str:
        match match.lastgroup:
            case "comment" if not _is_unclosed(match[0]):
                lines = match[0].count("\n")
                goes_on = lines and not _NOTHING_MORE.match(text, match.end()) and _may_direct(text, match.start())
                return " " + ("\\\n" if goes_on else "\n") * lines + " "
            case "splice":
                return "\\\n" + " " * match[0].endswith((" ", "\t"))
            case "end":
                return "\n"
            case "blank":
                return " "
        return match[0]

    without = _AS_COMPILED.sub(lambda m: kept(m) if m.lastgroup == "comment" else m[0], text)
    return _AS_COMPILED.sub(kept, without).strip(" \t")


def _may_direct(text: str, at: int) -> bool:
    """Whether a place may lie in a directive, which ends with its line."""
    start = at
    for _line in range(MOST_SPLICED):
        start = text.rfind("\n", 0, start) + 1
        if "#" in text[start:at]:
            return True
        start -= 1
        if start < 0 or not text[max(0, start - 200) : start].rstrip(" \t\r").endswith("\\"):
            return False
    return True


def blanked(text: str) -> str:
    """The text as blanks, with its line ends kept."""
    return _NOT_LINE_END.sub(" ", text) if "\n" in text else " " * len(text)


def line_of_main(text: str) -> int:
    """The 1-based line on which a text without comments begins `main`, 0 where it does not."""
    match = _MAIN.search(text)
    return text.count("\n", 0, match.start()) + 1 if match is not None else 0


def deepest_nesting(text: str) -> tuple[int, int, int]:
    """How many brackets stand in each other at most, the line of the innermost, and the most "<" of one statement.

    A "<" may be a template's: it counts until the statement or the bracket around it ends.
    """
    deepest = position = most_less = 0
    opened: list[int] = [0]
    depth = 0
    for match in _BRACKET.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            opened.append(0)
            depth += 1
        elif kind == "close":
            if len(opened) > 1:
                depth -= opened.pop() + 1
        elif kind == "end":
            depth -= opened[-1]
            opened[-1] = 0
        elif kind == "less":
            opened[-1] += 1
            most_less = max(most_less, opened[-1])
            depth += 1
        else:
            continue
        if depth > deepest:
            deepest, position = depth, match.start()
        spend(1)
    return deepest, text.count("\n", 0, position) + 1, most_less


def _is_unclosed(piece: str) -> bool:
    return piece.startswith("/*") and (len(piece) < 4 or not piece.endswith("*/"))


def without_unclosed_comment(text: str) -> str:
    """`text` with blanks from a comment on that nothing closes: the grammar looks for its end again and again."""
    unclosed = next((m for m in _SKIPPED.finditer(text) if _is_unclosed(m.group())), None)
    if unclosed is None:
        return text
    return text[: unclosed.start()] + blanked(text[unclosed.start() :])


def without_alignments(text: str) -> str:
    """`text` with blanks in place of CUDA's `__align__(16)`, which the grammar takes for the head of a function."""
    return _ALIGNMENT.sub(lambda match: blanked(match.group()), text)


def with_plain_casts(text: str) -> str:
    """`text` with names of as many letters in place of `unsigned` and its kin where they cast what is in parentheses.

    To the grammar such a word begins a declaration, and the brace before it a function's body.
    """
    return _CAST.sub(lambda match: match[1] + _TYPE_OF_ONE_WORD[match[2]], text)


def with_bodies_of_macros(text: str) -> str:
    """`text` with a `;` in place of the first of the blanks that end the line of a macro without a body."""
    return _NO_BODY.sub(lambda match: f"{match[1]};{match[2]}", text)


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` to `end` of a file's device code, and what takes their place.

    constant: the name of the constant whose value comes after `text`; "" for an edit that is always made.
    unset: the value where none is chosen; None: the edit is left out then.
    """

    start: int
    end: int
    text: str
    constant: str = ""
    unset: int | None = None


def apply(text: str, edits: Sequence[Edit], values: Mapping[str, int]) -> str:
    """`text` with the edits made; those of constants that `values` does not name are left out."""
    for edit in sorted(edits, key=lambda e: -e.start):
        value = values.get(edit.constant, edit.unset)
        if edit.constant and value is None:
            continue
        new = f"{edit.text}{value}" if edit.constant else edit.text
        # The number of lines must stay.
        lines = text.count("\n", edit.start, edit.end) - new.count("\n")
        text = text[: edit.start] + new + "\n" * max(0, lines) + text[edit.end :]
    return text


def lines_of_macros(text: str) -> set[int]:
    """Return the lines that define macros, which may be used in any function behind them."""
    lines: set[int] = set()
    goes_on = False
    for number, row in enumerate(text.split("\n"), 1):
        if goes_on or re.match(r"\s*#\s*define\b", row):
            lines.add(number)
            goes_on = row.rstrip().endswith("\\")
    return lines
