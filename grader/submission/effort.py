"""Reading is bounded by counted work, not by a clock: the same file is read, or refused, on any machine.

Whoever walks a tree or goes through a text says so to `spend`.  A program of a course takes some ten thousand steps;
what takes a thousand times as many is made to take long, by chance or on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from grader.errors import UsageError
from grader.message import msg

MAX_STEPS = 8_000_000
"""About ten seconds of processor time."""
CHARACTERS_PER_STEP = 64
"""Of text that is copied or searched."""
_RUN = re.compile(r"[\w\s.:*&\\]++")
_PAIRS_PER_STEP = 10


class _Spent(Exception):
    """No steps are left."""


_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def limited(path: Path, steps: int = MAX_STEPS) -> Iterator[None]:
    """Reading within takes at most so many steps; within another limit, that one holds.

    Raises
    ------
    UsageError : it would take more; names `path`.
    """
    if _left.get() is not None:
        yield
        return
    token = _left.set([steps])
    try:
        yield
    except _Spent:
        raise UsageError(msg("submission.too_large", path=path)) from None
    finally:
        _left.reset(token)


def refuse_long_runs(path: Path, text: str) -> None:
    """A pattern may go to the end of a word, of blanks or of names in a row from each place in it.

    So what counts is the square of such a run's length: a program of a course takes a few hundred steps for it.

    Raises
    ------
    UsageError : it would take more steps than all reading may.
    """
    if sum((match.end() - match.start()) ** 2 for match in _RUN.finditer(text)) > MAX_STEPS * _PAIRS_PER_STEP:
        raise UsageError(msg("submission.too_large", path=path))


def spend(steps: int) -> None:
    """Count `steps`, each about a microsecond."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise _Spent


def spend_on(characters: int) -> None:
    """Count the work of going once through so much text."""
    spend(1 + characters // CHARACTERS_PER_STEP)
