"""Grades one submission or a group: results written as they come, reports rendered beside, a summary at the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.files import write_atomically
from grader.grading import workers
from grader.grading.workers import Failed, Graded, GradeTask, Outcome, Refused
from grader.i18n import _
from grader.lab.records import Lab
from grader.lab_files import labs
from grader.report.gradebook import gradebook, gradebook_line, refused_line
from grader.report.group import failed_row, group_row, student_line
from grader.report.job import ReportJob, in_language, make_job
from grader.report.renderer import Renderer
from grader.report.view import View, summary, variant_columns
from grader.report.visible import visible
from grader.report.worker import Reply
from grader.result import Result, encode, exit_code
from grader.submission.folder import find_students

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

RESULT_NAME = "result.json"
LOG_NAME = "grade-error.log"


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for; jobs: submissions at the same time, None for one per core."""

    paths: Sequence[Path]
    lab: str
    backend: str
    out: Path
    language: str
    pdf: bool = True
    jobs: int | None = None
    labs_folders: Sequence[Path] = ()
    remeasure: bool = False
    witnesses: Sequence[str] = ()


def grade(order: Order) -> int:
    """Carry out an order; returns the exit code.

    Raises
    ------
    UsageError : a path, the lab, or (of a single submission) the layout is wrong.
    KeyboardInterrupt : Ctrl-C; everything finished by then is on disk and shown.
    """
    _check_out(order.out)
    # Started first of all: while this process grades, that one imports what drawing needs.
    with Renderer(pdf=order.pdf) as renderer:
        lab = labs.find(order.lab, order.labs_folders)
        students = _students(order)
        tasks = [_task(order, path) for path in students]
        if len(tasks) == 1 and len(order.paths) == 1 and students[0] == order.paths[0]:
            return _grade_single(order, lab, tasks[0], renderer)
        jobs = workers.job_count(len(tasks), order.jobs)
        # A report takes longer than a grading.
        renderer.grow(jobs)
        return _grade_group(order, lab, tasks, jobs, renderer)


def _check_out(out: Path) -> None:
    """Refuse a folder that cannot be written to before anything is graded."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UsageError(_("--out {path}: {reason}").format(path=out, reason=error.strerror)) from error


def _students(order: Order) -> list[Path]:
    known = list(labs.folders(order.labs_folders))
    students = [student for path in order.paths for student in find_students(path, order.lab, known)]
    return list(dict.fromkeys(students))


def _task(order: Order, path: Path) -> GradeTask:
    return GradeTask(
        path=str(path),
        lab=order.lab,
        labs_folders=[str(folder) for folder in order.labs_folders],
        backend=order.backend,
        language=order.language,
        command=_command(order, path),
        remeasure=order.remeasure,
        witnesses=list(order.witnesses),
    )


def _command(order: Order, path: Path) -> str:
    """The command that grades this one submission again, in the same way."""
    words = ["grade", str(path), "--lab", order.lab]
    words += ["--backend", order.backend] if order.backend != "auto" else []
    for folder in order.labs_folders:
        words += ["--labs", str(folder)]
    return shlex.join(words)


def _grade_single(order: Order, lab: Lab, task: GradeTask, renderer: Renderer) -> int:
    from grader.report import terminal

    out = terminal.console()

    def judged(result: Result) -> None:
        # Nobody needs to wait for graphs to see the marks.
        terminal.show_result(out, summary(_write_result(order, lab, result)))
        out.print()
        out.file.flush()

    result = workers.grade_here(task, lab, judged)
    renderer.submit(_write_result(order, lab, result))
    code = exit_code([result])
    announced = _Announcer(order.out)
    for reply in renderer.replies():
        for line in announced.lines(reply):
            out.print(line, soft_wrap=True)
            out.file.flush()
    return 3 if announced.failed else code


def _grade_group(order: Order, lab: Lab, tasks: list[GradeTask], jobs: int, renderer: Renderer) -> int:
    from grader.report import terminal

    out = terminal.console()
    group = _Group(order, lab, renderer)
    announced = _Announcer(order.out)
    try:
        with _account(out, len(tasks)) as account:
            for task, outcome in workers.grade_all(tasks, jobs):
                account.graded(group.take(task, outcome))
                if not isinstance(outcome, Graded):
                    account.rendered()
                _collect(renderer, announced, account, wait=False)
            _collect(renderer, announced, account)
    finally:
        # After Ctrl-C too: what is finished is worth seeing.
        if group.rows:
            rows = [group.rows[task.path] for task in tasks if task.path in group.rows]
            terminal.show_group(out, rows, group.variants)
            missing = [Path(task.path).name for task in tasks if task.path not in group.rows]
            if missing:
                out.print(_("Not graded: {students}").format(students=visible(", ".join(missing))), soft_wrap=True)
            for line in group.write_marks(tasks):
                out.print(line, soft_wrap=True)
            out.print(_("Results and reports: {folder}").format(folder=order.out), soft_wrap=True)
            for line in announced.notices:
                out.print(line, soft_wrap=True)
            out.file.flush()
    return 3 if announced.failed else group.code


def _collect(renderer: Renderer, announced: _Announcer, account: _Account, wait: bool = True) -> None:
    """Take note of the reports that are finished; with `wait`, of all."""
    for reply in renderer.replies(wait):
        announced.lines(reply)
        if reply.event == "done":
            account.rendered()


class _Group:
    """The rows of a group's summary, as its outcomes come in."""

    def __init__(self, order: Order, lab: Lab, renderer: Renderer) -> None:
        self.rows: dict[str, View] = {}
        self.variants: list[View] = []
        self.code = 0
        self._lines: dict[str, View] = {}
        self._order = order
        self._lab = lab
        self._renderer = renderer
        self._paths: dict[str, str] = {}

    def take(self, task: GradeTask, outcome: Outcome) -> str:
        """Write a result, have its report rendered, note its row; returns a line that says how it went."""
        if isinstance(outcome, Graded):
            student = outcome.result.student.id
            earlier = self._paths.setdefault(student, task.path)
            if earlier == task.path:
                return self._graded(task, outcome.result)
            outcome = Refused(message=_("{path} has the same name").format(path=earlier))
        reason, code = _reason(self._order, outcome)
        self.code = max(self.code, code)
        name = Path(task.path).name
        reason = reason.removeprefix(f"{task.path}: ")
        self.rows[task.path] = failed_row(name, reason)
        self._lines[task.path] = refused_line(name, reason)
        return visible(f"! {name}: {reason}")

    def _graded(self, task: GradeTask, result: Result) -> str:
        job = _write_result(self._order, self._lab, result)
        self._renderer.submit(job)
        self.variants = variant_columns(job)
        self.code = max(self.code, exit_code([result]))
        row = self.rows[task.path] = group_row(job)
        self._lines[task.path] = gradebook_line(job, row["fault"])
        return student_line(job)

    def write_marks(self, tasks: Sequence[GradeTask]) -> list[str]:
        """Write the marks of all that are graded by now, in the order of `tasks`; returns lines that name the files."""
        from grader.report.html import group_page

        language, names = self._order.language, [v.name for v in self._lab.variants]
        graded = [task.path for task in tasks if task.path in self.rows]
        table, page = (self._order.out / f"{self._lab.id}.{kind}" for kind in ("csv", "html"))
        write_atomically(table, gradebook([self._lines[path] for path in graded], names, language))
        title = in_language(self._lab.title, language)
        write_atomically(page, group_page([self.rows[path] for path in graded], names, title, language).encode())
        return [_("Marks as a table: {path}").format(path=table), _("Marks as a page: {path}").format(path=page)]


def _reason(order: Order, outcome: Outcome) -> tuple[str, int]:
    if isinstance(outcome, Refused):
        return outcome.message, 2
    assert isinstance(outcome, Failed)
    log = order.out / LOG_NAME
    write_atomically(log, outcome.details.encode())
    if outcome.message:
        return _("the grader failed ({error}); details are in {log}").format(error=outcome.message, log=log), 3
    return _("the grader failed; details are in {log}").format(log=log), 3


def _write_result(order: Order, lab: Lab, result: Result) -> ReportJob:
    folder = order.out / result.student.id / lab.id
    write_atomically(folder / RESULT_NAME, encode(result))
    return make_job(result, lab, order.language, str(folder), order.pdf)


class _Announcer:
    """Turns the renderer's replies into lines; what holds for all reports is said once."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self.notices: list[str] = []
        self.failed = False

    def lines(self, reply: Reply) -> list[str]:
        """Lines to print for a reply of a single grading; `notices` keeps those that a group prints in the end."""
        if reply.event == "html":
            return [_("Report: {path}").format(path=reply.text)]
        if reply.event == "pdf":
            return [_("PDF:    {path}").format(path=reply.text)]
        if reply.event == "no_pdf":
            from grader.report.pdf import DEBIAN_PACKAGES

            line = _("No PDF: Pango is missing; install it with: apt install {packages}")
            return self._notice(line.format(packages=" ".join(DEBIAN_PACKAGES)))
        if reply.event == "failed":
            self.failed = True
            log = self._out / LOG_NAME
            write_atomically(log, reply.text.encode())
            return self._notice(_("The report could not be rendered; details are in {log}").format(log=log))
        return []

    def _notice(self, line: str) -> list[str]:
        if line in self.notices:
            return []
        self.notices.append(line)
        return [line]


class _Account:
    """Tells how far a group is, in a pipe: a numbered line for each submission."""

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


class _Bars(_Account):
    """The same on a terminal: a line each, and bars below."""

    def __init__(self, out: Console, total: int, progress: Progress) -> None:
        super().__init__(out, total)
        self._progress = progress
        self._grading = progress.add_task(_("grading"), total=total)
        self._reports = progress.add_task(_("reports"), total=total)

    def graded(self, line: str) -> None:
        self._progress.console.print(line, soft_wrap=True)
        self._progress.advance(self._grading)

    def rendered(self) -> None:
        self._progress.advance(self._reports)


@contextmanager
def _account(out: Console, total: int) -> Iterator[_Account]:
    if not out.is_terminal:
        yield _Account(out, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        yield _Bars(out, total, progress)
