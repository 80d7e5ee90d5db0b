"""Grades a group: several submissions at the same time, reports rendered beside, a table of marks at the end.

One thread listens to all processes; whatever becomes of one of them is one student's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.errors import describe_os_error
from grader.exports.entries import Entry
from grader.exports.registry import EXPORTS
from grader.files import write_atomically
from grader.grading.outputs import Outputs
from grader.grading.progress import Account, account
from grader.grading.reporting import Announcer
from grader.grading.students import Work
from grader.grading.workers import Failed, Graded, GradeTask, Judged, Outcome, Refused, grading_pool, lost
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.processes.pool import Lost, Pool, wait
from grader.report.group import failed_row, group_row, student_line
from grader.report.job import ReportJob, make_job
from grader.report.rendering.worker import Reply
from grader.report.visible import visible_line
from grader.result import Result, exit_code
from grader.words import said, text

if TYPE_CHECKING:
    from rich.console import Console


class Group:
    """A group while it is graded.

    Parameters
    ----------
    works : in the order of the table; those with a refusal are rows only.
    tasks : what to grade, by student.
    rendering : renders reports; ended with the group.
    pdf : whether reports are wanted as PDF too.
    """

    def __init__(
        self,
        works: Sequence[Work],
        tasks: Mapping[str, GradeTask],
        lab: Lab,
        language: str,
        outputs: Outputs,
        rendering: Pool[ReportJob, Reply],
        pdf: bool,
    ) -> None:
        self._works = works
        self._tasks = tasks
        self._lab = lab
        self._language = language
        self._outputs = outputs
        self._rendering = rendering
        self._pdf = pdf
        self._announced = Announcer(outputs)
        # By place in the table: a work that is refused may have the name of another.
        self._entries: dict[int, Entry] = {}
        self._places = {work.student: place for place, work in enumerate(works) if not work.refusal}
        self._judged: dict[str, Result] = {}
        self._code = 0

    def grade(self, out: Console, jobs: int, notices: Sequence[Message] = ()) -> int:
        """Grade everything and say so on `out`, `notices` first; returns the exit code."""
        for notice in notices:
            out.print(visible_line(text(notice)), soft_wrap=True)
        try:
            with account(out, len(self._works)) as told, grading_pool(jobs) as grading:
                for place, work in enumerate(self._works):
                    if work.refusal:
                        self._refuse(place, work.student, work.refusal, 2, told)
                for task in self._tasks.values():
                    grading.submit(task, task)
                while grading.unfinished or self._rendering.unfinished:
                    for event in grading.events():
                        if isinstance(event, Lost):
                            self._take(event.task, lost(event), told)
                        elif isinstance(event.reply, Judged):
                            # In case that the sweeps, on which no mark depends, come to nothing.
                            self._judged[event.task.student] = event.reply.result
                        else:
                            self._take(event.task, event.reply, told)
                    self._collect(told)
                    if grading.unfinished or self._rendering.unfinished:
                        wait(grading, self._rendering)
        finally:
            # After an interruption too: what is finished is worth seeing.
            self._collect(None)
            under_way = [job.result.student.id for job in self._rendering.unfinished]
            self._rendering.close()
            for student in under_way:
                self._outputs.discard_partial(student)
            if self._entries:
                self._conclude(out)
        return max(self._code, self._announced.code)

    def _take(self, task: GradeTask, outcome: Outcome, told: Account) -> None:
        """Write a result and have its report rendered, or note why there is none."""
        student, place = task.student, self._places[task.student]
        judged = self._judged.pop(student, None)
        if isinstance(outcome, Failed) and judged is not None:
            self._announced.fails(student, msg("session.no_graphs"), outcome.message, outcome.details)
            outcome = Graded(result=judged)
        if isinstance(outcome, Refused):
            self._refuse(place, student, msg("session.refused", reason=outcome.message, path=str(task.file)), 2, told)
            return
        if isinstance(outcome, Failed):
            self._refuse(place, student, self._failure(student, outcome), 3, told)
            return
        result = outcome.result
        try:
            folder = self._outputs.write_result(result)
        except OSError as error:
            reason = msg("session.result_unwritable", reason=describe_os_error(error))
            self._refuse(place, student, reason, 2, told)
            return
        self._entries[place] = Entry(student, result)
        self._code = max(self._code, exit_code([result]))
        job = make_job(result, self._lab, self._language, str(folder), self._pdf)
        self._rendering.submit(job, job)
        told.graded(student_line(result, self._language))

    def _refuse(self, place: int, student: str, reason: Message, code: int, told: Account) -> None:
        self._entries[place] = Entry(student, reason=reason)
        self._code = max(self._code, code)
        told.graded(visible_line(f"! {student}: {text(reason)}"))
        told.rendered()

    def _failure(self, student: str, outcome: Failed) -> Message:
        log = self._outputs.write_log(student, outcome.details)
        if outcome.message:
            return msg("session.grader_failed_why", error=outcome.message, log=log)
        return msg("session.grader_failed", log=log)

    def _collect(self, told: Account | None) -> None:
        """Take note of the reports that are finished."""
        for event in self._rendering.events():
            self._announced.lines(event)
            if told is not None and (isinstance(event, Lost) or event.is_last):
                told.rendered()

    def _conclude(self, out: Console) -> None:
        """Write the marks of all that are graded by now, then show them."""
        from grader.report import terminal

        entries = [self._linked(self._entries[place]) for place in sorted(self._entries)]
        lines = []
        for export in EXPORTS:
            path = self._outputs.export(export.suffix)
            try:
                write_atomically(path, export.write(entries, self._lab, self._language))
                lines.append(export.announce(path))
            except OSError as error:
                self._code = max(self._code, 2)
                lines.append(describe_os_error(error))
        names = [variant.name for variant in self._lab.variants]
        rows = [
            failed_row(e.student, said(e.reason)) if e.result is None else group_row(e.result, names, self._language)
            for e in entries
        ]
        terminal.show_group(out, rows, names)
        missing = [work.student for place, work in enumerate(self._works) if place not in self._entries]
        if missing:
            line = text(msg("session.not_graded", students=visible_line(", ".join(missing))))
            out.print(line, soft_wrap=True)
        lines.append(text(msg("session.results", folder=str(self._outputs.out))))
        for line in filter(None, (*lines, *self._announced.notices)):
            out.print(visible_line(line), soft_wrap=True)
        out.file.flush()

    def _linked(self, entry: Entry) -> Entry:
        """An entry with the address of its report, if there is one."""
        if entry.result is None or entry.student not in self._announced.rendered:
            return entry
        return Entry(entry.student, entry.result, report=self._outputs.report_link(entry.student))
