"""Ctrl-C, a closed terminal and a plain `kill` end a command in the same way: what is finished is kept and shown."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_asked: list[int] = []
"""The signals that asked this process to end."""


class Interrupted(KeyboardInterrupt):
    """A signal asks this process to end.  code: the exit code, as shells have it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


@contextmanager
def interruptible() -> Iterator[None]:
    """Have signals that ask to end raise `Interrupted` in the block.

    The first one ends the work; another Ctrl-C ends the keeping of what is finished as well, further signals of the
    other kinds (a closing terminal sends several) are passed over.  What was ignored before (`nohup`) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    _asked.clear()

    def end(number: int, _frame: FrameType | None) -> None:
        _asked.append(number)
        for other in ENDING:
            if before[other] is not signal.SIG_IGN:
                signal.signal(other, signal.default_int_handler if other == signal.SIGINT else signal.SIG_IGN)
        raise Interrupted(number)

    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_if_asked() -> None:
    """Raise `Interrupted` where a signal came whose exception was lost: Python drops what is raised in a finaliser."""
    if _asked:
        raise Interrupted(_asked[0])
