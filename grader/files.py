"""Files read within limits, and written whole or not at all; where our own and the user's cache lie.

Names come from students: too long, a link to itself, a FIFO in a file's place.  Every question about a path is asked
here, so that each of these is "not there" or an `OSError` with its reason, and nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import secrets
import stat
from pathlib import Path
from typing import Literal

# Windows lacks most of these and needs another.
_FLAGS = ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
KEPT_BYTES = 64 << 20
"""Largest file of our own that is read back; a result has about 100 kB."""
PARTIAL_SUFFIX = ".partial"
"""Suffix of a file that is still being written."""
_READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in _FLAGS)
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | sum(getattr(os, name, 0) for name in _FLAGS)
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}


class NotPlain(OSError):
    """What lies there is no plain file: a folder, a FIFO, a device."""


class TooLarge(OSError):
    """The file is larger than allowed; `size` is in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EFBIG, os.strerror(errno.EFBIG))
        self.size = size


def kind_of(path: Path) -> Literal["file", "folder", "other", ""]:
    """What lies at `path`, links followed; "" where there is nothing.

    Raises OSError: that cannot be found out, e.g. for want of permission.
    """
    try:
        mode = path.stat().st_mode
    except ValueError:
        # A NUL in the name, or half of a surrogate pair: no file is called so.
        return ""
    except OSError as error:
        if error.errno in _NOT_THERE:
            return ""
        raise
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def real(path: Path) -> Path:
    """`path` without links and `..`.  Raises OSError: a link leads to itself; no file can be called so."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
    except ValueError as error:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error


def read_plain(path: Path, limit: int) -> bytes:
    """The content of the plain file at `path`.  It never waits: a FIFO is not opened for long enough to block.

    Raises NotPlain: no plain file.
    Raises TooLarge: more than `limit` bytes; no more than these are read.
    Raises OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, _READING)
    except ValueError as error:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT)) from error
    try:
        information = os.fstat(descriptor)
        if not stat.S_ISREG(information.st_mode):
            raise NotPlain(errno.EINVAL, os.strerror(errno.EINVAL))
        if information.st_size > limit:
            raise TooLarge(information.st_size)
        pieces, length = [], 0
        # It may grow while it is read.
        while length <= limit and (piece := os.read(descriptor, limit + 1 - length)):
            pieces.append(piece)
            length += len(piece)
    finally:
        os.close(descriptor)
    data = b"".join(pieces)
    if len(data) > limit:
        raise TooLarge(len(data))
    return data


def read_kept(path: Path) -> bytes:
    """What an earlier run wrote to `path`; others may have put there what is no file, or has no end.

    Raises OSError: as `read_plain`.
    """
    return read_plain(path, KEPT_BYTES)


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path`, making its folder; whoever looks sees the old file or the new one, never a part.

    It is on the disk before it has its name: what is there after a power failure is whole, too.

    Raises OSError: the folder cannot be made or written to; names `path`, nothing is left behind.
    """
    try:
        _write(path, data)
    except OSError as error:
        # The name of the file that was to become `path` tells nobody anything.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not called after `path`, whose name may be as long as names can be.  The system lets read it who may read what is
    # made here: to ask for the mask of that would take it off for a moment, for other threads too.
    temporary = path.parent / f".{secrets.token_hex(8)}{PARTIAL_SUFFIX}"
    descriptor = os.open(temporary, _MAKING, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Have a folder's names written to disk; some file systems cannot."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def discard_partial(folder: Path, before: float = math.inf) -> None:
    """Remove what processes that were killed while they wrote into `folder` left of their files.

    before: seconds since the epoch; what was written to since then may be somebody's who writes still.
    """
    with contextlib.suppress(OSError):
        for left in folder.glob(f".*{PARTIAL_SUFFIX}"):
            if left.stat().st_mtime < before:
                left.unlink(missing_ok=True)


PACKAGE = Path(__file__).resolve().parent
"""The grader's own code."""


def data_root() -> Path:
    """The folder that holds `assignments`, `reference` and `templates`: in the package, or the checkout round it."""
    installed = PACKAGE / "data"
    return installed if installed.is_dir() else PACKAGE.parent


def user_cache() -> Path:
    """The user's folder for what can be made again: `~/.cache/cuda-lab-grader`."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if cache.startswith("/") else home() / ".cache"
    return base / "cuda-lab-grader"


def home() -> Path:
    """The user's home; `/` for one without a name in a container that says nothing of a home."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
