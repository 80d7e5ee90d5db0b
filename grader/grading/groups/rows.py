"""The rows of a group's tables, as they come to stand, and the tables written of them."""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import replace

from grader.course.decisions import Decider
from grader.course.roster import Person
from grader.exports import pages
from grader.exports.entries import Entry, Table, brief, source_of
from grader.exports.registry import COURSE_EXPORTS, EXPORTS
from grader.grading.output.cache import with_person
from grader.grading.output.comparing import compare_once
from grader.grading.output.paths import Outputs
from grader.grading.output.tables import Tables, course_tables
from grader.grading.students import Work
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Result, exit_code, weightier

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
