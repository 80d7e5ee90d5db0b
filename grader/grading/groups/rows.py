"""The rows of a group's tables, as they come to stand, the tables written of them, and how far the group is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.course.decisions import Decider
from grader.course.roster import Person
from grader.exports import pages
from grader.exports.entries import Entry, Table, brief, source_of
from grader.exports.registry import COURSE_EXPORTS, EXPORTS
from grader.grading.output.cache import with_person
from grader.grading.output.paths import Outputs
from grader.grading.output.tables import Tables, compare_once, course_tables
from grader.grading.students import Work
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Result, exit_code, weightier
from grader.words import text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


TABLES_EVERY_S = 5.0
"""The tables show how far a group is; they are written no more often than this, and in 2 % of the time at most."""


class Rows:
    """One row for each work, in the order of the table.

    Parameters
    ----------
    works : those with a refusal are rows only.
    decider : what the teacher decided.
    rendered : who has a report by now; read whenever tables are written.
    """

    def __init__(
        self,
        works: Sequence[Work],
        lab: Lab,
        language: str,
        outputs: Outputs,
        decider: Decider,
        rendered: Set[str],
    ) -> None:
        self._works = works
        self._lab = lab
        self._language = language
        self._outputs = outputs
        self._decider = decider
        self._rendered = rendered
        # By place in the table: a work that is refused may have the name of another.
        self._entries: dict[int, Entry] = {}
        self._places = {work.student: place for place, work in enumerate(works) if not work.refusal}
        self._code = 0
        self._is_unwritten = False
        # When the tables are to be written again, on the clock of `time.monotonic`.
        self._stale_s = 0.0

    @property
    def code(self) -> int:
        """The exit code that the rows come to, 2 where a table could not be written."""
        return weightier((self._code, 2 if self._is_unwritten else 0))

    @property
    def missing(self) -> list[str]:
        """Who has no row yet."""
        return [work.student for place, work in enumerate(self._works) if place not in self._entries]

    @property
    def are_due(self) -> bool:
        """Whether it is time to write the tables again."""
        return time.monotonic() >= self._stale_s

    def shown(self, student: str, result: Result) -> Result:
        """A result as it is shown: with what a roster and the teacher say."""
        person = self._person(student)
        return self._decider.decided(with_person(result, person), person)

    def put(self, student: str, result: Result) -> None:
        """A student's marks; `result` as it is shown."""
        entry = Entry(student, brief(result), person=self._person(student), source=source_of(result))
        self._entries[self._places[student]] = entry
        self._code = weightier((self._code, exit_code([result])))

    def put_refused(self) -> None:
        """The rows of all works that are none to be graded."""
        for place, work in enumerate(self._works):
            if work.refusal:
                self._refuse(place, work.refusal, 2)

    def refuse(self, student: str, reason: Message, code: int) -> None:
        """Why a student has no marks; code: the exit code that this is worth."""
        self._refuse(self._places[student], reason, code)

    def _refuse(self, place: int, reason: Message, code: int) -> None:
        work = self._works[place]
        self._entries[place] = Entry(work.student, reason=reason, person=work.person)
        self._code = weightier((self._code, code))

    def _person(self, student: str) -> Person | None:
        return self._works[self._places[student]].person

    def write(self, is_last: bool = False) -> tuple[list[Entry], list[str]]:
        """Write the marks of all that are graded by now; returns the rows, and lines that name the files."""
        began_s = time.monotonic()
        nothing = msg("session.not_yet")
        entries = [
            self._linked(self._entries.get(place) or Entry(work.student, reason=nothing, person=work.person))
            for place, work in enumerate(self._works)
        ]
        tables = Tables(self._language)
        table, exports = Table(self._lab, entries), EXPORTS
        if is_last:
            # Who is like whom shows when all are there.
            table, exports = (
                replace(table, similar=compare_once(self._lab, entries, self._outputs.out)),
                (*EXPORTS, pages.SIMILAR),
            )
        lines = tables.of_lab(exports, table, self._outputs)
        self._is_unwritten = bool(tables.problems)
        lines += tables.problems
        now_s = time.monotonic()
        self._stale_s = now_s + max(TABLES_EVERY_S, 50 * (now_s - began_s))
        return entries, lines

    def write_course(self, entries: list[Entry]) -> list[str]:
        """Write the marks of all labs in the folder of outputs; returns lines that name the files."""
        writer = Tables(self._language)
        known = {self._lab.id: Table(self._lab, entries)}
        tables, left_out = course_tables(self._outputs.out, known, [self._lab.path.parent.parent])
        lines = writer.of_course(COURSE_EXPORTS, tables, self._outputs.out)
        self._is_unwritten = self._is_unwritten or bool(writer.problems)
        return lines + left_out + writer.problems

    def _linked(self, entry: Entry) -> Entry:
        """An entry with the address of its report, if there is one."""
        if entry.result is None or entry.student not in self._rendered:
            return entry
        return replace(entry, report=self._outputs.report_link(entry.student))


# Tells how far a group is: a numbered line for each submission in a pipe, bars on a terminal.


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
