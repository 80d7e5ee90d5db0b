"""Grades one submission in this process: its marks on the screen as soon as they stand, its report after that.

Or its result and nothing else, for whoever shows it in a form of their own.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.decisions import Decider, write_ledger
from grader.course.roster import Person
from grader.errors import UsageError, describe_os_error
from grader.grading.options import GradeOptions
from grader.grading.output.cache import with_person
from grader.grading.output.paths import Announcer, Outputs, command
from grader.grading.output.stored import find_stored
from grader.grading.students import find_works
from grader.grading.task import GradeTask, grade_here, memory_bytes
from grader.lab import labs
from grader.lab.records import Lab, Variant
from grader.message import Message, msg
from grader.processes import limits
from grader.processes.pool import Pool, wait
from grader.report import terminal
from grader.report.job import ReportJob, make_job
from grader.report.rendering import Reply
from grader.report.summary import summary
from grader.report.visible import visible_line
from grader.result import Result, exit_code, weightier
from grader.submission.files.folder import find_sources
from grader.submission.files.search import SUFFIXES
from grader.words import text, told

if TYPE_CHECKING:
    from grader.grading.warm import Warm


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
        before, after = (summary(make_job(one, lab, language, "", pdf)) for one in (marks[0], result))
        terminal.show_found_out(out, before, after)
        if after["predicted_table"] is not None:
            terminal.show_predicted(out, after["predicted_table"])
            out.print()
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


# One submission's result and nothing else: for whoever shows it in a form of their own.


def graded_result(path: Path, options: GradeOptions, warm: Warm | None = None) -> tuple[Result, float]:
    """The result of the one submission at `path`, graded in this process, and the seconds that it took.

    warm: see `grader.grading.pipeline.grade`.

    Raises
    ------
    UsageError : the lab or the submission's layout is wrong, or `path` is a group's folder.
    """
    started = time.monotonic()
    task = task_of(path, options)
    lab = labs.find(options.lab, [Path(folder) for folder in options.labs_folders])
    with limits.bounded_memory(memory_bytes()):
        result = grade_here(task, lab, warm=warm)
    return result, time.monotonic() - started


def task_of(path: Path, options: GradeOptions) -> GradeTask:
    """What is to be done to grade the one submission at `path`.

    Raises
    ------
    UsageError : see `graded_result`.
    """
    folders = [Path(folder) for folder in options.labs_folders]
    variants = labs.find(options.lab, folders).variants
    known = list(labs.folders(folders))
    found = find_works([path], options.lab, known, Path("reports"), variants)
    if not found.is_single:
        # Here a folder is one student's, unless several in it have work in them.
        fault = _fault_of(path, options.lab, known, variants)
        if fault is not None:
            is_group = sum(_fault_of(work.path, options.lab, known, variants) is None for work in found.works) > 1
            raise UsageError(msg("session.one_submission", path=str(path))) if is_group else fault
        found = find_works([path], options.lab, known, Path("reports"), variants, is_single=True)
    (work,) = found.works
    again = command(path, options.lab, options.backend, options.labs_folders)
    return GradeTask(path=bytes(path), options=options, student=work.student, command=again)


def _fault_of(path: Path, lab: str, known: Sequence[str], variants: Sequence[Variant]) -> UsageError | None:
    """Why a folder is no submission, None for one that is."""
    try:
        find_sources(path, lab, known, variants)
    except UsageError as error:
        return error
    return None


def lab_of(path: Path, labs_folders: Sequence[str] = ()) -> str:
    """The lab that a path speaks of: `lab.cu`, a folder `lab`, a folder with one lab's file in it.

    Raises
    ------
    UsageError : it speaks of none, or of several, or is not there.
    """
    if not path.exists():
        raise UsageError(msg("session.no_such_path", path=str(path)))
    known = sorted(labs.folders([Path(folder) for folder in labs_folders]))
    by_name = {name.lower(): name for name in known}
    own = path if path.name not in ("", "..") else path.resolve()
    found = [by_name[n] for n in (own.stem.lower(), own.absolute().parent.name.lower()) if n in by_name]
    if not found and path.is_dir():
        found = [name for name in known if any((path / f"{name}{end}").exists() for end in ("", *SUFFIXES))]
        found = found if len(found) == 1 else []
    if not found:
        raise UsageError(msg("session.which_lab", path=str(path), labs=", ".join(known)))
    return found[0]


def stored_result(path: Path) -> Result:
    """The one result that lies at `path`, a `result.json` or a folder, in the language in use.

    Raises
    ------
    UsageError : there is none, or several.
    """
    results = [entry.result for run in find_stored(path) for entry in run.entries if entry.result is not None]
    if len(results) != 1:
        raise UsageError(msg("session.one_result", path=str(path), n=len(results)))
    return told(results[0])
