"""Macros that stand for a kernel's head, or for whole kernels, replaced before a file is read.

`#define KERNEL extern "C" __global__ void` and `#define DEFINE_KERNEL(T) __global__ void add_##T(T *x) { … }` hide
kernels from a reader of the text.  Only such macros are replaced, each on the line where it is used; all others are
left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.submission.cpp.constants import Macro
from grader.submission.effort import spend

MAX_TEXT = 1 << 20
MAX_NESTING = 8

_PIECE = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'? | \d[\w'.]*
    | ^[ \t]*\#(?:\\\n|[^\n])* | [^\W\d]\w*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"\s*#\s*define\s+([^\W\d]\w*)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_BRACKETS = re.compile(r"[()\[\]{}]")
_SEPARATORS = re.compile(r"[()\[\]{},]")
_OPENING = re.compile(r"\s*\(")
_UNDEF = re.compile(r"\s*#\s*undef\s+([^\W\d]\w*)")
_WORD = re.compile(r"[^\W\d]\w*")
_DEVICE_WORDS = frozenset(["__global__", "__device__"])


def device_macros(text: str, known: Mapping[str, Macro] | None = None) -> dict[str, Macro]:
    """The macros defined in `text` that stand for device code, by name, beside those `known` from headers."""
    return _Expansion(known or {}).run(text)[1]


def with_kernels_shown(text: str, known: Mapping[str, Macro] | None = None) -> str:
    """`text` with macros that stand for device code replaced; every line keeps its number.

    known: such macros of the file's headers.
    """
    return _Expansion(known or {}).run(text)[0]


class _TooLong(Exception):
    """What macros stand for grows beyond `MAX_TEXT`."""


class _Expansion:
    def __init__(self, known: Mapping[str, Macro]) -> None:
        self.macros = dict(known)
        self.length = 0

    def run(self, text: str) -> tuple[str, dict[str, Macro]]:
        """The text with its macros replaced, and the macros that it leaves behind."""
        if not self.macros and not _DEVICE_WORDS & set(_WORD.findall(text)):
            return text, {}
        try:
            return self.replaced(text), self.macros
        except _TooLong:
            return text, self.macros

    def replaced(self, text: str) -> str:
        pieces: list[str] = []
        done = 0
        closing = _Closing(text)
        while (match := _PIECE.search(text, done)) is not None:
            piece = match.group()
            pieces.append(text[done : match.start()])
            done = match.end()
            if piece.lstrip(" \t").startswith("#"):
                self.learn(piece)
            elif piece in self.macros:
                new, done = self.used(text, piece, done, closing)
                piece = new + "\n" * max(0, text.count("\n", match.start(), done) - new.count("\n"))
            pieces.append(piece)
            self.grow(len(piece))
        return "".join([*pieces, text[done:]])

    def grow(self, characters: int) -> None:
        """Count text that was made, that of macros within macros too: each level may double it."""
        spend(1)
        self.length += characters
        if self.length > MAX_TEXT:
            raise _TooLong

    def learn(self, directive: str) -> None:
        """Keep a `#define` that stands for device code.  Of two, in branches of an `#ifdef`, the first is kept."""
        undefined = _UNDEF.match(directive)
        if undefined is not None:
            self.macros.pop(undefined.group(1), None)
        defined = _DEFINE.match(directive)
        if defined is None or defined.group(1) in self.macros:
            return
        name, listed, body = defined.groups()
        body = re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", body.replace("\\\n", " "), flags=re.DOTALL).strip()
        words = set(_WORD.findall(body))
        if words & _DEVICE_WORDS or words & self.macros.keys():
            parameters = None if listed is None else tuple(p.strip() for p in listed.split(",") if p.strip())
            self.macros[name] = Macro(body, parameters)

    def used(self, text: str, name: str, end: int, closing: _Closing, depth: int = 0) -> tuple[str, int]:
        """What stands in place of the macro `name`, used in `text` before `end`, and where that use ends.

        closing: where each parenthesis of `text` is closed.
        """
        macro = self.macros[name]
        body = macro.body
        if macro.parameters is not None:
            opening = _OPENING.match(text, end)
            after = closing.get(opening.end() - 1) if opening is not None else None
            if opening is None or after is None:
                return name, end
            self.grow(after - end)
            arguments = _arguments(text, opening.end(), after)
            body, end = _substituted(body, dict(zip(macro.parameters, arguments, strict=False))), after + 1
        self.grow(len(body))
        if depth < MAX_NESTING:
            body = self.within(body, name, depth)
        return body, end

    def within(self, body: str, own: str, depth: int) -> str:
        """Macros of device code within a macro's body replaced."""
        pieces = []
        done = 0
        closing = _Closing(body)
        while (match := _PIECE.search(body, done)) is not None:
            spend(1)
            pieces.append(body[done : match.start()])
            piece, done = match.group(), match.end()
            if piece in self.macros and piece != own:
                piece, done = self.used(body, piece, done, closing, depth + 1)
            pieces.append(piece)
        return "".join([*pieces, body[done:]])


class _Closing:
    """Where the parentheses of a text are closed; looked for when first asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[int, int] | None = None

    def get(self, start: int) -> int | None:
        """Where the "(" at `start` is closed; None where no ")" closes it."""
        if self.places is None:
            self.places = self.found()
        return self.places.get(start)

    def found(self) -> dict[int, int]:
        closing: dict[int, int] = {}
        opened: list[int] = []
        for match in _BRACKETS.finditer(self.text):
            spend(1)
            if match.group() in "([{":
                opened.append(match.start())
            elif opened:
                start = opened.pop()
                if match.group() == ")" and self.text[start] == "(":
                    closing[start] = match.start()
        return closing


def _arguments(text: str, start: int, end: int) -> list[str]:
    """A macro's arguments, which stand between `start` and `end`."""
    arguments = []
    depth, begin = 0, start
    for match in _SEPARATORS.finditer(text, start, end):
        spend(1)
        mark = match.group()
        if mark == "," and not depth:
            arguments.append(text[begin : match.start()])
            begin = match.end()
        depth += (mark in "([{") - (mark in ")]}")
    return [" ".join(argument.split()) for argument in [*arguments, text[begin:end]]]


def _substituted(body: str, arguments: Mapping[str, str]) -> str:
    """A macro's body with its parameters replaced: `#T` a string, `add_##T` one word."""
    text = re.sub(
        r"(?<!#)#\s*([^\W\d]\w*)",
        lambda m: f'"{arguments[m.group(1)]}"' if m.group(1) in arguments else m.group(),
        body,
    )
    text = re.sub(
        r'"(?:\\.|[^"\\])*+"?|[^\W\d]\w*',
        lambda m: arguments.get(m.group(), m.group()),
        text,
    )
    return re.sub(r"(?<!\s)\s*##\s*", "", text)
