"""Grades one submission in this process: its marks on the screen as soon as they stand, its report after that."""

from __future__ import annotations

import contextlib
import traceback

from grader.course.decisions import Decider, write_ledger
from grader.course.roster import Person
from grader.errors import UsageError, describe_os_error
from grader.grading.output.cache import with_person
from grader.grading.output.paths import Outputs
from grader.grading.output.reporting import Announcer
from grader.grading.task import GradeTask, grade_here, memory_bytes
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.processes import limits
from grader.processes.pool import Pool, wait
from grader.report import terminal
from grader.report.job import ReportJob, make_job
from grader.report.rendering.worker import Reply
from grader.report.summary import summary
from grader.report.visible import visible_line
from grader.result import Result, exit_code, weightier
from grader.words import text


def grade_with_report(
    task: GradeTask,
    lab: Lab,
    outputs: Outputs,
    rendering: Pool[ReportJob, Reply],
    pdf: bool,
    notices: tuple[Message, ...],
    decider: Decider,
    person: Person | None,
) -> int:
    """Grade and say so on standard output; returns the exit code.

    decider, person: what the teacher decided, and what a roster knows of the student: the mark is the group's.

    Raises
    ------
    UsageError : the submission's layout is wrong, or an output cannot be written.
    """
    out = terminal.console()
    language = task.options.language
    announced = Announcer(outputs)
    for notice in notices:
        out.print(visible_line(text(notice)), soft_wrap=True)
    marks: list[Result] = []

    def written(result: Result) -> ReportJob:
        result = decider.decided(with_person(result, person), person)
        try:
            folder = outputs.write_result(result)
        except OSError as error:
            raise UsageError(describe_os_error(error)) from error
        return make_job(result, lab, language, str(folder), pdf)

    def judged(result: Result) -> None:
        # Nobody needs to wait for graphs to see the marks.
        terminal.show_result(out, summary(written(result)))
        out.print()
        out.file.flush()
        marks.append(result)

    try:
        with limits.bounded_memory(memory_bytes()):
            result = grade_here(task, lab, judged)
    except Exception as error:
        if not marks:
            raise
        # The marks stand, and on the graphs no mark depends.
        result = marks[0]
        for line in announced.fails(task.student, msg("session.no_graphs"), str(error), traceback.format_exc()):
            out.print(line, soft_wrap=True)
    if marks:
        terminal.show_found_out(
            out, summary(make_job(marks[0], lab, language, "", pdf)), summary(make_job(result, lab, language, "", pdf))
        )
    job = written(result)
    with contextlib.suppress(OSError):
        write_ledger(decider, outputs.out, lab.id)
    rendering.submit(job, job)
    while rendering.unfinished:
        for event in rendering.events():
            for line in announced.lines(event):
                out.print(line, soft_wrap=True)
                out.file.flush()
        if rendering.unfinished:
            wait(rendering)
    return weightier((exit_code([result]), announced.code))
