"""How much a compiler has to do for a program's host code, counted before it is asked to.

Some of its passes take time with the square of a function's length, some with that of the number of kernels: a thousand
times the length of a course's program is a million times its work.  What is beyond the bounds here is not compiled, on
any machine; what is within them takes a few seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.compiler.expansion import token_sizes

MAX_IN_FUNCTION = 10_000
"""Tokens of one function, its macros written out; a `main` of five hundred lines has about as many as four thousand."""
MAX_IN_PROGRAM = 150_000
"""Tokens of all files; one of a thousand lines has about ten thousand."""
_WEIGHTS = {"__global__": 150}
"""Each kernel is registered beside all others."""
_DATA = re.compile(r"[\d,]|\.\d")
_ROWS = frozenset("{}-+")
"""Numbers, the commas between them, and in an initialiser these: tables take no time."""
_HEAD = 64
"""Tokens of a declaration that tell what it declares."""
_SCOPES = frozenset({"namespace", "class", "struct", "union", "enum", "extern"})


@dataclass(frozen=True, slots=True)
class TooLong:
    """Where files go beyond a bound: file, line, counted from 1, of the function or of the last token; the bound."""

    file: str
    line: int
    limit: int
    in_function: bool


def too_long(files: Mapping[str, str]) -> TooLong | None:
    """Where the files of a program, its macros written out, go beyond what is compiled; None where they do not."""
    total = here = start = depth = 0
    file = last = ""
    is_table = False
    head: list[str] = []
    for name, offset, token, size in token_sizes(files, _WEIGHTS):
        if name != file:
            file, here, start, depth, head = name, 0, offset, 0, []
        if _DATA.match(token):
            continue
        before, last = last, token
        if not (depth and is_table and token in _ROWS):
            total += size
            here += size
        if here > MAX_IN_FUNCTION:
            return TooLong(file, _line(files[file], start), MAX_IN_FUNCTION, in_function=True)
        if total > MAX_IN_PROGRAM:
            return TooLong(file, _line(files[file], offset), MAX_IN_PROGRAM, in_function=False)
        if depth:
            depth += (token == "{") - (token == "}")
            if depth:
                continue
        elif token == "{" and not _opens_scope(head):
            depth = 1
            is_table = before in {"=", "]"}
            continue
        elif token not in {"{", "}", ";"}:
            if not head:
                # What comes before it is another declaration.
                here, start = size, offset
            if len(head) < _HEAD:
                head.append(token)
            continue
        head = []
    return None


def _opens_scope(head: list[str]) -> bool:
    """Whether what a brace after `head` opens holds declarations: a namespace, a class, `extern "C"`."""
    words = _SCOPES.intersection(head)
    return bool(words) and "(" not in head and "=" not in head


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
