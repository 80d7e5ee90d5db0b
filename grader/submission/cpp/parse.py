"""Reading a CUDA file within limits of memory and time: macros that stand for kernels replaced, its text made readable
to the grammar, and the tree of it.

`#define KERNEL extern "C" __global__ void` and `#define DEFINE_KERNEL(T) __global__ void add_##T(T *x) { … }` hide
kernels from a reader of the text.  Only such macros are replaced, each on the line where it is used; all others are
left to the compiler.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import re
import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.message import msg
from grader.preprocessor import COMMENT, LITERAL
from grader.submission import lexical
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.tree import FileLevel, Item, ParsedFile, Scope, remembered
from grader.submission.lexical import (
    Edit,
    deepest_nesting,
    spend,
    with_bodies_of_macros,
    with_plain_casts,
    without_alignments,
    without_comments,
    without_unclosed_comment,
)
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_TEXT = 1 << 20
MAX_NESTING = 8

_PIECE = re.compile(
    rf"""{COMMENT} | {LITERAL} | \d[\w'.]*
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


def device_macros(text: str, macros: Mapping[str, Macro] | None = None) -> dict[str, Macro]:
    """The macros defined in `text` that stand for device code, by name, beside those `macros` from headers."""
    return _Expansion(macros or {}).run(text)[1]


def with_kernels_shown(text: str, macros: Mapping[str, Macro] | None = None) -> str:
    """`text` with macros that stand for device code replaced; every line keeps its number.

    macros: such macros of the file's headers.
    """
    return _Expansion(macros or {}).run(text)[0]


class _TooLong(Exception):
    """The expansion of macros grows beyond `MAX_TEXT`."""


class _Expansion:
    def __init__(self, macros: Mapping[str, Macro]) -> None:
        self.macros = dict(macros)
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
        body = without_comments(body.replace("\\\n", " ")).strip()
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
            arguments = arguments_in(text, opening.end(), after)
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


def arguments_in(text: str, start: int, end: int) -> list[str]:
    """What stands between `start` and `end`, parted at the commas that are in no brackets."""
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
    text = re.sub(r'"(?:\\.|[^"\\])*+"?|[^\W\d]\w*', lambda m: arguments.get(m.group(), m.group()), text)
    return re.sub(r"(?<!\s)\s*##\s*", "", text)


# Every byte of a character in UTF-8 but the first.
_FOLLOWING = re.compile(rb"[\x80-\xbf]")


def blank(parsed: ParsedFile, start: int, end: int) -> Edit:
    """The edit that makes the bytes from `start` to `end` spaces."""
    first, last = characters(parsed, start, end)
    return Edit(first, last, re.sub(r"[^\n]", " ", parsed.source.text[first:last]))


def characters(parsed: ParsedFile, start: int, end: int) -> tuple[int, int]:
    """Positions in bytes as positions in characters, which device code and the student's text have in common."""
    return _character(parsed, start), _character(parsed, end)


def _character(parsed: ParsedFile, place: int) -> int:
    following = remembered(parsed, "following bytes", lambda: [m.start() for m in _FOLLOWING.finditer(parsed.data)])
    return place - bisect_left(following, place)


MAX_KERNELS = 256
# Brackets in each other: the grammar takes kilobytes for each.  The compiler judges what is less deep.
MAX_BRACKETS = 65536
# "<" in a statement, each of which may begin a template's arguments: what the grammar takes for them grows with their
# square, at 60,000 twelve seconds and five gigabytes, at this limit a fifth of a second.
MAX_TEMPLATES = 4096
# For what the grammar's own recovery from errors makes of a text: it takes no steps that could be counted.
MAX_PARSE_S = 30.0
MAX_PARSE_BYTES = 384 << 20
BETWEEN_LOOKS_S = 0.005
"""From one look at the memory to the next: it takes as long as a tenth of a small file."""
CHUNK = 1 << 12
_PAGE_BYTES = mmap.PAGESIZE


def parse(
    source: SourceText, macros: Mapping[str, Macro] | None = None, defined: tuple[tuple[str, str], ...] = ()
) -> ParsedFile:
    """Read `source`: what the grammar cannot make sense of is left for the compiler to judge.

    macros: those of its headers that stand for device code.  Where such macros are used, the text that is read, and
    the parsed file's `source`, have what they stand for instead.
    defined: macros of a compiler's command line, with what they stand for.
    Raises UsageError: more than `MAX_KERNELS` kernels; brackets nested too deep; too much work to read.
    """
    with lexical.limited(source.path):
        shown = with_kernels_shown(source.text, macros)
        source = source if shown == source.text else replace(source, text=shown)
        depth, line, templates = deepest_nesting(source.text)
        for reached, limit in ((depth, MAX_BRACKETS), (templates, MAX_TEMPLATES)):
            if reached > limit:
                raise UsageError(msg("submission.nested", path=source.path, line=line, depth=reached, limit=limit))
        data = source.text.encode("utf-8", errors="replace")
        readable = with_bodies_of_macros(with_plain_casts(without_alignments(without_unclosed_comment(source.text))))
        root = _tree(readable.encode("utf-8", errors="replace"), source)
        walk = FileLevel(data, defined)
        walk.container(root, Scope())
        functions: dict[str, Item] = {}
        for item in walk.items:
            if item.kind == "function" and item.active:
                functions.setdefault(item.name, item)
        parsed = ParsedFile(source, data, root, tuple(walk.items), walk.constants, functions)
        if len(parsed.kernels) > MAX_KERNELS:
            raise UsageError(msg("submission.kernels", path=source.path, count=len(parsed.kernels), limit=MAX_KERNELS))
        return parsed


def _tree(data: bytes, source: SourceText) -> Node:
    from tree_sitter import Language, Parser
    from tree_sitter_cuda import language

    looked = time.thread_time()
    deadline = looked + MAX_PARSE_S
    limit = _resident_bytes() + MAX_PARSE_BYTES
    calls = itertools.count()
    is_cancelled = False

    def cancel(_offset: int, _has_error: bool) -> bool:
        nonlocal is_cancelled, looked
        if next(calls) % 64 == 0 and (now := time.thread_time()) > looked + BETWEEN_LOOKS_S:
            looked, is_cancelled = now, now > deadline or _resident_bytes() > limit
        return is_cancelled

    parser = Parser(Language(language()))
    view = memoryview(data)
    tree = None
    with contextlib.suppress(ValueError):
        # Cancelled: some versions of the bindings raise, some return nothing.
        tree = parser.parse(lambda offset, _point: bytes(view[offset : offset + CHUNK]), progress_callback=cancel)
    if tree is None or is_cancelled:
        raise UsageError(msg("submission.too_large", path=source.path))
    return tree.root_node


def _resident_bytes() -> int:
    """Memory that this process really uses; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    return 0
