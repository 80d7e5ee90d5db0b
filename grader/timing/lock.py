"""One user at a time of a GPU, or of the processor where that is timed, across processes and users of this machine.

Who waits here does no work: `tell_of_waiting` lets a process that works against a clock have that clock stopped.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:
    # Windows, where nothing is timed.
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.01
PATIENCE_S = 0.3
"""After how long a wait for a GPU of one's own nobody else is let in to share it: else who comes and goes beside others
could keep it shared for ever.  Those who share it wait meanwhile, and come in together."""
WAIT_S = 900.0
"""How long a grading waits for the GPU before it goes on without."""

Listener = Callable[[bool], None]
_listeners: list[Listener] = []


class Busy(Exception):
    """The GPU was held by others for as long as the caller was willing to wait."""


def tell_of_waiting(listener: Listener) -> None:
    """Have `listener` called with True whenever this process begins to wait for a GPU, with False when it has ended."""
    _listeners.append(listener)


def lock_path(uuid: str) -> Path:
    """The lock file of a GPU, by its UUID, or of "cpu"; the same for all users."""
    return Path(tempfile.gettempdir()) / f"cuda-lab-grader-{re.sub(r'[^0-9A-Za-z-]', '_', uuid)}.lock"


def lock_file(name: str) -> int:
    """An open descriptor of a lock file, for a child to lock: the lock ends with the child.

    Raises OSError: it cannot be made or opened.
    """
    return _open(lock_path(name))


@contextmanager
def exclusive(uuid: str, wait_s: float | None = None, still_wanted: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the GPU while the block runs: nobody else does, with whatever intent.

    still_wanted: called again and again while this waits; what it raises ends that.
    Raises Busy: it was not free within `wait_s` seconds (None: `WAIT_S`).
    """
    with _held(uuid, wait_s, still_wanted, alone=True):
        yield


@contextmanager
def shared(uuid: str, wait_s: float | None = None, still_wanted: Callable[[], None] | None = None) -> Iterator[None]:
    """Use the GPU while the block runs, beside others who do not time anything.

    still_wanted: as `exclusive` has it.
    Raises Busy: somebody timed for longer than `wait_s` seconds (None: `WAIT_S`).
    """
    with _held(uuid, wait_s, still_wanted, alone=False):
        yield


@contextmanager
def _held(uuid: str, wait_s: float | None, still_wanted: Callable[[], None] | None, *, alone: bool) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    # Closing unlocks, and so does the death of this process.
    with _opened(lock_path(uuid)) as room:
        with _opened(lock_path(f"{uuid}-gate")) as gate:
            enter = _enter_alone if alone else _enter_beside
            if not enter(room, gate, patient=True):
                _tell(waits=True)
                try:
                    began = time.monotonic()
                    limit_s = WAIT_S if wait_s is None else wait_s
                    while not enter(room, gate, patient=time.monotonic() - began < PATIENCE_S):
                        if time.monotonic() - began >= limit_s:
                            raise Busy
                        if still_wanted is not None:
                            still_wanted()
                        time.sleep(POLL_S)
                finally:
                    _tell(waits=False)
        yield


def _enter_alone(room: int, gate: int, patient: bool) -> bool:
    """Lock the room alone; a caller that has run out of patience closes the gate to others first."""
    if not patient:
        _taken(gate, fcntl.LOCK_EX)
    return _taken(room, fcntl.LOCK_EX)


def _enter_beside(room: int, gate: int, patient: bool) -> bool:
    """Share the room if the gate is open."""
    if not _taken(gate, fcntl.LOCK_SH):
        return False
    entered = _taken(room, fcntl.LOCK_SH)
    fcntl.flock(gate, fcntl.LOCK_UN)
    return entered


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = _open(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _tell(*, waits: bool) -> None:
    for listener in _listeners:
        listener(waits)


def _open(path: Path) -> int:
    """Open the lock file, creating it if need be; never follow a link."""
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
