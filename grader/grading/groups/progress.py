"""Tells how far a group is: a numbered line for each submission in a pipe, bars on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.message import msg
from grader.words import text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class Account:
    """In a pipe: a numbered line for each submission."""

    def __init__(self, out: Console, total: int) -> None:
        self._out = out
        self._total = total
        self._done = 0

    def graded(self, line: str) -> None:
        """One more submission is graded; `line` says how it went."""
        self._done += 1
        self._out.print(f"{self._done}/{self._total} {line}", soft_wrap=True)
        self._out.file.flush()

    def rendered(self) -> None:
        """One more report is finished."""


class _Bars(Account):
    """On a terminal: a line each, and bars below."""

    def __init__(self, out: Console, total: int, progress: Progress) -> None:
        super().__init__(out, total)
        self._progress = progress
        self._grading = progress.add_task(text(msg("session.grading")), total=total)
        self._reports = progress.add_task(text(msg("session.reports")), total=total)

    def graded(self, line: str) -> None:
        self._progress.console.print(line, soft_wrap=True)
        self._progress.advance(self._grading)

    def rendered(self) -> None:
        self._progress.advance(self._reports)


@contextmanager
def account(out: Console, total: int) -> Iterator[Account]:
    """The account of a group of `total` submissions, while the block runs."""
    if not out.is_terminal:
        yield Account(out, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        yield _Bars(out, total, progress)
