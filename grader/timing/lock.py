"""One user of a GPU at a time, across processes and users of this machine."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.05


class Busy(Exception):
    """Somebody else held the GPU all the time."""


def lock_path(uuid: str) -> Path:
    """The lock file of a GPU, by its UUID; the same for all users."""
    return Path(tempfile.gettempdir()) / f"cuda-lab-grader-{re.sub(r'[^0-9A-Za-z-]', '_', uuid)}.lock"


@contextmanager
def exclusive(uuid: str, wait_s: float) -> Iterator[None]:
    """Hold the GPU while the block runs: nobody else does, with whatever intent.

    Raises
    ------
    Busy : it was not free within `wait_s` seconds.
    """
    with _held(uuid, fcntl.LOCK_EX, wait_s):
        yield


@contextmanager
def shared(uuid: str, wait_s: float) -> Iterator[None]:
    """Use the GPU while the block runs, beside others who do not time anything.

    Raises
    ------
    Busy : somebody timed for longer than `wait_s` seconds.
    """
    with _held(uuid, fcntl.LOCK_SH, wait_s):
        yield


@contextmanager
def _held(uuid: str, kind: int, wait_s: float) -> Iterator[None]:
    descriptor = _open(lock_path(uuid))
    try:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy from None
                time.sleep(POLL_S)
        yield
    finally:
        # Closing unlocks, and so does the death of this process.
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open the lock file, made by whoever comes first; never through a link."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        # Without O_CREAT: in a sticky folder the kernel may refuse that for another user's file.
        return os.open(path, flags)
    except FileNotFoundError:
        mask = os.umask(0)
        try:
            return os.open(path, flags | os.O_CREAT, 0o666)
        finally:
            os.umask(mask)
