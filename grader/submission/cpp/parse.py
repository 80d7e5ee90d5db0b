"""Reading a CUDA file within limits of memory and time: its text made readable to the grammar, and the tree of it."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.message import msg
from grader.submission import effort
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.file_level import FileLevel
from grader.submission.cpp.kernel_macros import with_kernels_shown
from grader.submission.cpp.tree import Item, ParsedFile, remembered
from grader.submission.files.source import SourceText
from grader.submission.lexical import (
    Edit,
    deepest_nesting,
    with_bodies_of_macros,
    with_plain_casts,
    without_alignments,
    without_unclosed_comment,
)

if TYPE_CHECKING:
    from tree_sitter import Node


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
    """How many characters stand before the byte at `place`."""
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
CHUNK = 1 << 12
_PAGE_BYTES = mmap.PAGESIZE
_kept: ContextVar[dict[object, ParsedFile | UsageError] | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def parsed_once() -> Iterator[None]:
    """Within, each text is parsed once, or refused once: a program is read to be run, and again to be bound."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def parse(
    source: SourceText, macros: Mapping[str, Macro] | None = None, defined: tuple[tuple[str, str], ...] = ()
) -> ParsedFile:
    """Read `source`: what the grammar cannot make sense of is left for the compiler to judge.

    macros: those of its headers that stand for device code.  Where such macros are used, the text that is read, and
    the parsed file's `source`, have what they stand for instead.
    defined: macros of a compiler's command line, with what they stand for.

    Raises
    ------
    UsageError : more than `MAX_KERNELS` kernels; brackets nested too deep; too much work to read.
    """
    kept = _kept.get()
    key = (source, frozenset((macros or {}).items()), defined)
    known = kept.get(key) if kept is not None else None
    if known is None:
        try:
            with effort.limited(source.path):
                known = _parse(source, macros, defined)
        except UsageError as refused:
            known = refused
        if kept is not None:
            kept[key] = known
    if isinstance(known, UsageError):
        raise known
    return known


def _parse(source: SourceText, macros: Mapping[str, Macro] | None, defined: tuple[tuple[str, str], ...]) -> ParsedFile:
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
    walk.container(root, active=True, namespace="")
    functions: dict[str, Item] = {}
    for item in walk.items:
        if item.kind == "function" and item.active:
            functions.setdefault(item.name, item)
    parsed = ParsedFile(source, data, root, tuple(walk.items), walk.constants, functions)
    if len(parsed.kernels) > MAX_KERNELS:
        raise UsageError(msg("submission.kernels", path=source.path, count=len(parsed.kernels), limit=MAX_KERNELS))
    return parsed


def _tree(data: bytes, source: SourceText) -> Node:
    """The root of the tree of `data`."""
    from tree_sitter import Language, Parser
    from tree_sitter_cuda import language

    deadline = time.thread_time() + MAX_PARSE_S
    limit = _resident_bytes() + MAX_PARSE_BYTES
    calls = itertools.count()
    is_cancelled = False

    def cancel(_offset: int, _has_error: bool) -> bool:
        nonlocal is_cancelled
        if next(calls) % 64 == 0:
            is_cancelled = time.thread_time() > deadline or _resident_bytes() > limit
        return is_cancelled

    parser = Parser(Language(language()))
    view = memoryview(data)
    tree = None
    with contextlib.suppress(ValueError):
        # Cancelled: some versions of the bindings raise, some return nothing.
        tree = parser.parse(
            lambda offset, _point: bytes(view[offset : offset + CHUNK]),
            progress_callback=cancel,
        )
    if tree is None or is_cancelled:
        raise UsageError(msg("submission.too_large", path=source.path))
    return tree.root_node


def _resident_bytes() -> int:
    """Memory that this process really uses; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    return 0
