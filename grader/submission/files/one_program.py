"""Which files make up one program, by what each defines and calls."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from grader.files import read_plain
from grader.submission.files.entries import HOST_SUFFIXES, PROGRAM
from grader.submission.lexical import line_of_main, without_comments

MAX_SOURCES = 32
"""Of one submission."""
# Bytes of a file that are looked at to tell whose it is.
MAX_LOOKED_AT = 1 << 20

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,100}>\s*)?(?:<<<|\()")
_KERNEL = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")
_WORDS_OF_C = frozenset({"if", "for", "while", "switch", "catch"})
_DEFINED = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")


def has_main(file: Path) -> bool:
    """Whether a file's text defines `main`; a notebook's cells are not looked at."""
    return line_of_main(_plain(file)) > 0


def are_one_program(files: list[Path]) -> bool:
    """Whether one of the files has `main`, so that the others can only be parts of its program."""
    return 1 < len(files) <= MAX_SOURCES and sum(has_main(file) for file in files) == 1


def are_parts(files: list[Path], known_labs: Collection[str]) -> bool:
    """Whether the files are kernels and what launches them, without a `main`, nothing defined in two of them."""
    if not 1 < len(files) <= MAX_SOURCES or any(f.suffix.lower() != PROGRAM or has_main(f) for f in files):
        return False
    labs = {name.lower() for name in known_labs}
    if any(file.stem.lower() in labs for file in files):
        return False
    texts = [_plain(file) for file in files]
    defined = [name for text in texts for name in set(_KERNEL.findall(text))]
    called = [set(_CALLED.findall(text)) for text in texts]
    # They belong together where one calls what another one defines.
    is_joined = any(
        name in called[other]
        for i, text in enumerate(texts)
        for name in set(_DEFINED.findall(text)) - _WORDS_OF_C
        for other in range(len(texts))
        if other != i
    )
    return len(defined) == len(set(defined)) and is_joined


def with_callees(main: Path, others: list[Path], known_labs: Collection[str]) -> list[Path]:
    """A file and those beside it, without `main` and no other lab's, that define what it calls and does not define."""
    text = _plain(main)
    called = set(_CALLED.findall(text)) - set(_DEFINED.findall(text))
    labs = {name.lower() for name in known_labs}
    found = [main]
    for other in others[:MAX_SOURCES]:
        defined = _plain(other)
        is_part = other.stem.lower() not in labs and not line_of_main(defined)
        if is_part and called & set(_DEFINED.findall(defined)):
            found.append(other)
    return sorted(found)


def _plain(file: Path) -> str:
    """A program's text without comments, as far as it matters here; "" of what cannot be read."""
    if file.suffix.lower() not in {PROGRAM, *HOST_SUFFIXES}:
        return ""
    try:
        # What waits for a writer, or never ends, is no file to look into.
        data = read_plain(file, MAX_LOOKED_AT)
    except OSError:
        return ""
    return without_comments(data.decode("utf-8", errors="replace"))
