"""Macros that stand for a kernel's head, or for whole kernels, replaced before a file is read.

`#define KERNEL extern "C" __global__ void` and `#define DEFINE_KERNEL(T) __global__ void add_##T(T *x) { … }` hide
kernels from a reader of the text.  Only such macros are replaced, each on the line where it is used; all others are
left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.submission.macros import Macro

MAX_TEXT = 1 << 20
MAX_NESTING = 8

_PIECE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \d[\w'.]*
    | ^[ \t]*\#(?:\\\n|[^\n])* | [^\W\d]\w*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"\s*#\s*define\s+([^\W\d]\w*)(?:\(([^)]*)\))?(.*)", re.DOTALL)
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


class _Expansion:
    def __init__(self, known: Mapping[str, Macro]) -> None:
        self.macros = dict(known)

    def run(self, text: str) -> tuple[str, dict[str, Macro]]:
        """The text with its macros replaced, and the macros that it leaves behind."""
        if not self.macros and not _DEVICE_WORDS & set(_WORD.findall(text)):
            return text, {}
        pieces: list[str] = []
        done = length = 0
        while (match := _PIECE.search(text, done)) is not None:
            piece = match.group()
            pieces.append(text[done : match.start()])
            done = match.end()
            if piece.lstrip(" \t").startswith("#"):
                self.learn(piece)
            elif piece in self.macros:
                new, done = self.used(text, piece, done)
                piece = new + "\n" * max(0, text.count("\n", match.start(), done) - new.count("\n"))
            pieces.append(piece)
            length += len(piece)
            if length > MAX_TEXT:
                return text, self.macros
        return "".join([*pieces, text[done:]]), self.macros

    def learn(self, directive: str) -> None:
        """Keep a `#define` that stands for device code.  Of two, in branches of an `#ifdef`, the first is kept."""
        undefined = _UNDEF.match(directive)
        if undefined is not None:
            self.macros.pop(undefined.group(1), None)
        defined = _DEFINE.match(directive)
        if defined is None or defined.group(1) in self.macros:
            return
        name, listed, body = defined.groups()
        body = re.sub(r"//[^\n]*|/\*.*?\*/", " ", body.replace("\\\n", " "), flags=re.DOTALL).strip()
        words = set(_WORD.findall(body))
        if words & _DEVICE_WORDS or words & self.macros.keys():
            parameters = None if listed is None else tuple(p.strip() for p in listed.split(",") if p.strip())
            self.macros[name] = Macro(body, parameters)

    def used(self, text: str, name: str, end: int, depth: int = 0) -> tuple[str, int]:
        """What stands in place of the macro `name`, used in `text` before `end`, and where that use ends."""
        macro = self.macros[name]
        body = macro.body
        if macro.parameters is not None:
            opening = re.compile(r"\s*\(").match(text, end)
            arguments, after = _arguments(text, opening.end()) if opening is not None else (None, end)
            if arguments is None:
                return name, end
            body, end = _substituted(body, dict(zip(macro.parameters, arguments, strict=False))), after
        if depth < MAX_NESTING:
            body = self.within(body, name, depth)
        return body, end

    def within(self, body: str, own: str, depth: int) -> str:
        """Macros of device code within a macro's body replaced."""
        pieces = []
        done = 0
        while (match := _PIECE.search(body, done)) is not None:
            pieces.append(body[done : match.start()])
            piece, done = match.group(), match.end()
            if piece in self.macros and piece != own:
                piece, done = self.used(body, piece, done, depth + 1)
            pieces.append(piece)
        return "".join([*pieces, body[done:]])


def _arguments(text: str, start: int) -> tuple[list[str] | None, int]:
    """A macro's arguments from after its "(", and where they end; None where the ")" is missing."""
    arguments = [""]
    depth = 0
    for position in range(start, len(text)):
        character = text[position]
        if character == ")" and not depth:
            return [" ".join(argument.split()) for argument in arguments], position + 1
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += character
    return None, start


def _substituted(body: str, arguments: Mapping[str, str]) -> str:
    """A macro's body with its parameters replaced: `#T` a string, `add_##T` one word."""
    text = re.sub(
        r"(?<!#)#\s*([^\W\d]\w*)",
        lambda m: f'"{arguments[m.group(1)]}"' if m.group(1) in arguments else m.group(),
        body,
    )
    text = re.sub(
        r'"(?:\\.|[^"\\])*"|[^\W\d]\w*',
        lambda m: arguments.get(m.group(), m.group()),
        text,
    )
    return re.sub(r"\s*##\s*", "", text)
