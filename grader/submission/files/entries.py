"""What lies in a student's folder; what the system says against looking is the user's to mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.errors import UsageError, system_reason
from grader.files import kind_of, real
from grader.message import msg

PROGRAM = ".cu"
NOTEBOOK = ".ipynb"
SUFFIXES = (PROGRAM, NOTEBOOK)
"""Of what is graded."""
HOST_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")
"""Of files without kernels that a program is made of besides."""
# Entries of a folder that are looked at; a course has hundreds of students, and a student dozens of files.
MAX_ENTRIES = 10_000


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What the system says against `path` is the user's to mend: a folder that nobody may look into."""
    try:
        yield
    except OSError as error:
        raise UsageError(msg("submission.unreadable", path=path, reason=system_reason(error))) from error


def kind_at(path: Path) -> str:
    """What lies there, as `grader.files.kind_of` calls it; "" for nothing.

    Raises
    ------
    UsageError : the system does not say, as in everything here.
    """
    with _reading(path):
        return kind_of(path)


def real_path(path: Path) -> Path:
    """`path` without links and `..`."""
    with _reading(path):
        return real(path)


def entries(folder: Path) -> list[Path]:
    """What lies in `folder`, sorted by name."""
    found = []
    with _reading(folder):
        for path in folder.iterdir():
            found.append(path)
            if len(found) > MAX_ENTRIES:
                raise UsageError(msg("submission.entries", path=folder, limit=MAX_ENTRIES))
    return sorted(found)


def sources_in(folder: Path) -> list[Path]:
    """The programs that lie in `folder`, without any its notebooks; sorted by name, none where it is no folder."""
    if kind_at(folder) != "folder":
        return []
    files = [p for p in entries(folder) if not p.name.startswith(".") and p.suffix.lower() in SUFFIXES]
    files = [p for p in files if kind_at(p) != "folder"]
    # Where a program lies beside a notebook, it is what was taken from that.
    return [p for p in files if p.suffix.lower() == PROGRAM] or files
