"""Files without kernels that a program is made of besides: `main.cpp`, and what it calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.submission.files.entries import HOST_SUFFIXES, PROGRAM, entries
from grader.submission.files.one_program import MAX_SOURCES, has_main

MAX_HOST_FILES = 24
MAX_FOLDERS = 64
DEPTH = 2

_MADE = re.compile(r"build|cmake\S*|bin|obj|out|debug|release|x64|x86|node_modules|venv|_?tests?", re.IGNORECASE)
"""Folders of what was made, or of other programs."""


def host_files(folder: Path, files: Sequence[Path]) -> list[Path]:
    """The host files in `folder` of the program whose `.cu` files are `files`; none where these have a `main` already,
    or where it is not clear which of several it is."""
    if not files or len(files) > MAX_SOURCES or any(f.suffix.lower() != PROGRAM or has_main(f) for f in files):
        return []
    found, folders = [], [(folder, 0)]
    while folders:
        here, depth = folders.pop(0)
        for path in entries(here):
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_dir():
                if depth < DEPTH and len(folders) < MAX_FOLDERS and not _MADE.fullmatch(path.name):
                    folders.append((path, depth + 1))
            elif path.suffix.lower() in HOST_SUFFIXES:
                found.append(path)
    mains = [path for path in found if has_main(path)]
    return found if len(mains) == 1 and len(found) <= MAX_HOST_FILES else []
