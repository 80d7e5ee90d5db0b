"""CUDA code in files that are called otherwise than `.cu`: which of them is the program, to be named in a refusal."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from grader.errors import UsageError
from grader.files import read_plain
from grader.message import Message, msg
from grader.submission.files.entries import HOST_SUFFIXES, entries, kind_at
from grader.submission.files.one_program import MAX_SOURCES, has_main

_PROSE = (".md",)
_MAY_HOLD_CODE = (".txt", ".cuh", ".h", ".hpp", ".bak", ".old", *_PROSE, *HOST_SUFFIXES)
_MOST_BYTES = 1 << 20
_KERNEL, _LAUNCH = b"__global__", b"<<<"
_PROGRAM = 4
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*[/\\])?([^"/\\\n]+)"', re.MULTILINE)


def misnamed(path: Path, folder: Path, lab_id: str) -> Message | None:
    """Which file in `folder`, of the student's folder `path`, has to be renamed; None where none holds CUDA code.

    Renamed, it must be the whole program: a header that another file includes is needed by its name, and a file that
    only prints `<<<` launches nothing.
    """
    texts = _texts(folder)
    if not any(_KERNEL in text for text in texts.values()):
        return None
    reached = {file: _reached(file, texts) for file in texts}
    included = {other for file, others in reached.items() for other in others if other != file}
    ranks = {file: _rank(reached[file], texts) for file in texts if file not in included or len(included) == len(texts)}
    programs = [file for file, rank in ranks.items() if rank == _PROGRAM and file.suffix.lower() in HOST_SUFFIXES]
    if programs:
        names = ", ".join(str(file.relative_to(path)) for file in programs[:8])
        suffix = programs[0].suffix
        if len(programs) > 1:
            return msg("submission.no_cuda_suffixes", path=path, files=names, suffix=suffix)
        return msg("submission.no_cuda_suffix", path=path, file=names, suffix=suffix, lab=lab_id)
    best = max(ranks, key=lambda file: (ranks[file], file.suffix.lower() not in _PROSE))
    return msg("submission.other_name", path=path, file=str(best.relative_to(path)), lab=lab_id)


def _rank(files: list[Path], texts: dict[Path, bytes]) -> int:
    """How likely a file, with what it includes, is the program that is graded."""
    launches, kernels = (any(sign in texts[file] for file in files) for sign in (_LAUNCH, _KERNEL))
    if launches and kernels:
        return _PROGRAM if any(has_main(file) for file in files) else 3
    return 2 if launches else 1 if kernels else 0


def _texts(folder: Path) -> dict[Path, bytes]:
    if kind_at(folder) != "folder":
        return {}
    texts = {}
    for file in entries(folder)[:MAX_SOURCES]:
        if file.suffix.lower() in _MAY_HOLD_CODE and not file.name.startswith(".") and kind_at(file) == "file":
            with suppress(UsageError, OSError):
                texts[file] = read_plain(file, _MOST_BYTES)
    return texts


def _reached(file: Path, texts: dict[Path, bytes]) -> list[Path]:
    """The file and those that it includes, themselves or by others."""
    by_name = {other.name: other for other in texts}
    found, waiting = [file], [file]
    while waiting:
        for name in _INCLUDE.findall(texts[waiting.pop()]):
            other = by_name.get(name.decode("utf-8", "replace"))
            if other is not None and other not in found:
                found.append(other)
                waiting.append(other)
    return found
