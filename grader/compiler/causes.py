"""What lies behind a compiler's error whose words mean something else, or stand in another line than the mistake."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.message import Message, msg

_UNREAD = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.DOTALL)
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

    Parameters
    ----------
    is_first : whether the error is at the line's first word.  text : of the file.
    undefined : names of the file that the compiler does not know.
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
    return {found["name"] for found in map(_UNDEFINED.search, messages) if found is not None}


def never_closed(line: int) -> Message:
    """What to do about the brace of a line that is open at the end of the file."""
    return msg("compiler.never_closed", line=line)


def _meant(message: str) -> Message | None:
    """What a message means that says something else to a beginner."""
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
    for found in _MACRO.finditer("\n".join(rows)):
        if found["name"] in used:
            number = "\n".join(rows).count("\n", 0, found.start()) + 1
            return Cause(msg("compiler.macro_semicolon", name=found["name"], line=number), number)
    return None


def _missing_sign(message: str, line: int, is_first: bool, rows: list[str]) -> Cause | None:
    """A sign that is missing where the line before ends: the compiler notices that at the next word."""
    expected = _EXPECTED.search(message)
    before = _code_before(rows, line)
    if expected is None or not is_first or not before:
        return None
    if expected["what"] == ";":
        return Cause(msg("compiler.semicolon", line=before, noticed=line), before)
    return Cause(msg("compiler.bracket", sign=expected["what"], line=before, noticed=line), before)


def _misspelt(message: str, line: int, rows: list[str], undefined: set[str]) -> Cause | None:
    """A name that is nearly one that is known there."""
    axis = _NO_MEMBER.search(message)
    if axis is not None:
        return Cause(msg("compiler.did_you_mean", name=axis["name"], near=axis["name"].lower()))
    found = _UNDEFINED.search(message)
    if found is None:
        return None
    name = found["name"]
    known = {*_words_near(rows, line), *_BUILT_IN} - undefined - {name}
    same = sorted(word for word in known if word.casefold() == name.casefold())
    alike = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_NEAR) if len(name) > 2 else []
    near = next(iter(same or alike), None)
    return Cause(msg("compiler.did_you_mean", name=name, near=near)) if near is not None else None


def _words_near(rows: list[str], line: int) -> Iterator[str]:
    """The words of the function that a line stands in, and those at file level."""
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


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())
