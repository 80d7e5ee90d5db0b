"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path`, making its folder; whoever looks sees the old file or the new one, never a part.

    Raises
    ------
    OSError : the folder cannot be made or written to; names `path`, nothing is left behind.
    """
    try:
        _write(path, data)
    except OSError as error:
        # The name of the file that was to become `path` tells nobody anything.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        # mkstemp lets only the owner read; a report is for whoever may read its folder.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def discard_partial(path: Path) -> None:
    """Remove what a process that was killed while it wrote `path` left of it."""
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
            left.unlink(missing_ok=True)
