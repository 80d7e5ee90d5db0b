"""Grades a group: several submissions at the same time, reports and tables of marks written beside.

One thread listens to all processes; whatever becomes of one of them is one student's row.  What an earlier run has
left and still holds is neither graded nor rendered again.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import structs
from msgspec.structs import replace as replace_fields

from grader.course.decisions import Decider, write_ledger
from grader.errors import describe_os_error
from grader.exports.entries import gpu_models
from grader.exports.pages import rows_of
from grader.grading.cache import ResultCache
from grader.grading.cluster import ExecutorPool
from grader.grading.paths import Announcer, Outputs
from grader.grading.students import Work
from grader.grading.tables import Account, Rows, account
from grader.grading.workers import Checked, Failed, Graded, GradeTask, Judged, Outcome, Refused, lost
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.processes.pool import Answer, Lost, Pool, wait
from grader.repair.verified import answers, without_answers
from grader.report.job import ReportJob, make_job
from grader.report.rendering import Reply
from grader.report.summary import student_line
from grader.report.text import visible_line
from grader.result import Decisions, Result, gravest_code
from grader.words import text

if TYPE_CHECKING:
    from rich.console import Console


MOST_AT_ONCE = 16
"""Gradings side by side for each GPU: one is timed there, others are getting ready or wait for it.

Before a kernel is timed its results are looked at, beside others but with nobody timing: whoever is ready when it comes
to that does it in the same second, and the fewer such pauses there are, the more is timed.
"""
LEAST_AT_ONCE = 4
BYTES_AT_ONCE = 1 << 30
"""GPU memory for each submission graded at once: its context takes half of it, arrays the rest."""


def at_once_on(memory_bytes: int, gpus: int, tasks: int) -> int:
    """How many gradings there are side by side on each of some GPUs with so much memory (0: nobody knows how much).

    A third of the tasks is left for later, and goes to whichever GPU is done with its own.
    """
    early = -(-2 * tasks // (3 * gpus))
    return max(LEAST_AT_ONCE, min(memory_bytes // BYTES_AT_ONCE, early, MOST_AT_ONCE))


class Grading(Protocol):
    """What tasks are handed to."""

    def submit(self, task: GradeTask, message: object) -> None:
        """Have a task done."""


class Feeder:
    """The tasks of a group that are not graded yet.

    at_once: how many tasks are worked on at the same time.
    gpus: what a task is timed on, () where that is not to be chosen.  A student's second task goes where the first
        went.
    """

    def __init__(self, grading: Grading, at_once: int, gpus: Sequence[str] = ()) -> None:
        self._grading = grading
        self._at_once = at_once
        self._waiting: deque[GradeTask] = deque()
        self._running = 0
        self._load = dict.fromkeys(gpus, 0)
        self._gpu_of: dict[str, str] = {}

    def __bool__(self) -> bool:
        """Whether anything is still to be graded."""
        return bool(self._running or self._waiting)

    def submit(self, tasks: Iterable[GradeTask]) -> None:
        """Have tasks graded, in this order as far as they begin one after another."""
        self._waiting.extend(tasks)
        self._hand_out()

    def ended(self, task: GradeTask) -> None:
        """Note that there is nothing more to come of a task."""
        self._running -= 1
        if task.gpu in self._load:
            self._load[task.gpu] -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._running < self._at_once:
            task = self._waiting.popleft()
            if self._load:
                gpu = self._gpu_of.setdefault(task.student, min(self._load, key=lambda name: self._load[name]))
                self._load[gpu] += 1
                task = structs.replace(task, gpu=gpu)
            self._running += 1
            self._grading.submit(task, task)


GradingPool = Pool[GradeTask, Checked | Judged | Outcome] | ExecutorPool


@dataclass(kw_only=True, eq=False)
class Group:
    """A group while it is graded.

    works: in the order of the table; those with a refusal are rows only.
    tasks: what to grade, by student.
    rendering: renders reports; ended with the group.
    pdf: whether reports are wanted as PDF too.
    cache: results of an earlier run that hold still.
    decider: what the teacher decided.
    open_pool: makes what grades so many at a time, processes or a cluster, and says what there is to tell of these.
    marks_first: whether everybody's marks come before anybody's sweeps; then a submission is graded twice, the second
      time with the times of the first.
    gpus: those that submissions are timed on, each wholly on one; () for the first that there is.
    """

    works: Sequence[Work]
    tasks: Mapping[str, GradeTask]
    lab: Lab
    language: str
    outputs: Outputs
    rendering: Pool[ReportJob, Reply]
    pdf: bool
    cache: ResultCache
    decider: Decider
    open_pool: Callable[[int, Callable[[Message], None]], GradingPool]
    marks_first: bool = False
    gpus: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._announced = Announcer(self.outputs)
        self._rows = Rows(self.works, self.lab, self.language, self.outputs, self.decider, self._announced.rendered)
        self._judged: dict[str, Result] = {}
        self._code = 0

    def carry_out(self, out: Console, jobs: int, notices: Sequence[Message] = ()) -> int:
        """Grade everything and say so on `out`, `notices` first; returns the exit code."""
        for notice in notices:
            _tell(out, notice)
        try:
            changed = [task for task in self.tasks.values() if not self._keep(task)]
            unchanged = len(self.tasks) - len(changed)
            if unchanged:
                out.print(text(msg("session.unchanged", n=unchanged)), soft_wrap=True)
            self._rows.put_refused()
            if changed:
                # An earlier run's tables would link to what is about to go.
                self._rows.write()
                self._grade(changed, out, jobs)
            else:
                self._render_missing()
        finally:
            # After an interruption too: what is finished is worth seeing.
            self._collect(None)
            under_way = [job.result.student.id for job in self.rendering.unfinished]
            self.rendering.close()
            for student in under_way:
                self.outputs.discard_partial(student)
            self._conclude(out)
        return gravest_code((self._code, self._announced.code, self._rows.code))

    def _keep(self, task: GradeTask) -> bool:
        """Take over the result of an earlier run; return False if none holds."""
        student = task.student
        try:
            result = self.cache.find(task, partial(self._rows.shown, student))
        except OSError:
            # Told when it is written anew.
            return False
        if result is None:
            return False
        self._rows.put(student, result)
        if self.cache.has_reports(student):
            self._announced.rendered.add(student)
        else:
            self._render(result, self.outputs.folder(student))
        return True

    def _render_missing(self) -> None:
        while self.rendering.unfinished:
            wait(self.rendering)
            self._collect(None)

    def _grade(self, tasks: Sequence[GradeTask], out: Console, jobs: int) -> None:
        refused = [(work.name, work.refusal) for work in self.works if work.refusal]
        at_once = min(jobs, len(tasks))
        tell = partial(_tell, out)
        with account(out, len(tasks) + len(refused)) as tally, self.open_pool(at_once, tell) as grading:
            for name, reason in refused:
                _tell_refused(name, reason, tally)
            feeder = Feeder(grading, jobs, self.gpus)
            feeder.submit(_for_marks(task) if self.marks_first else task for task in tasks)
            # Who has no marks yet of those that get them first, and who is to be graded once more.
            unmarked = {task.student for task in tasks} if self.marks_first else set()
            marked: list[GradeTask] = []
            # Whose process was killed, be it for the memory that others took beside it: once more, after all others.
            killed: set[str] = set()
            while feeder or self.rendering.unfinished:
                for event in grading.events():
                    if isinstance(event, Lost) or event.is_last:
                        feeder.ended(event.task)
                    if isinstance(event, Lost) and event.reason == "ended" and event.task.student not in killed:
                        killed.add(event.task.student)
                        self._judged.pop(event.task.student, None)
                        feeder.submit([event.task])
                        continue
                    is_marked = event.task.student in unmarked and (isinstance(event, Lost) or event.is_last)
                    if is_marked:
                        unmarked.discard(event.task.student)
                    if isinstance(event, Lost):
                        self._take(event.task, lost(event), tally)
                    elif isinstance(event.reply, Judged):
                        # In case that the sweeps, on which no mark depends, come to nothing; where these take long
                        # the marks stand in the table before.
                        self._judged[event.task.student] = event.reply.result
                        if self.lab.makes_launches and self.lab.sweeps:
                            self._mark(event.task, Graded(result=event.reply.result))
                    elif isinstance(event.reply, Checked):
                        continue
                    elif isinstance(event.reply, Graded) and is_marked:
                        # Its marks; the rest comes when everybody has theirs.
                        self._judged[event.task.student] = event.reply.result
                        self._mark(event.task, event.reply)
                        marked.append(self.tasks[event.task.student])
                    else:
                        self._take(event.task, event.reply, tally)
                if marked and not unmarked:
                    feeder.submit(marked)
                    marked.clear()
                self._collect(tally)
                if self._rows.are_due:
                    self._rows.write()
                if feeder or self.rendering.unfinished:
                    wait(grading, self.rendering)

    def _take(self, task: GradeTask, outcome: Outcome, account: Account) -> None:
        student = task.student
        judged = self._judged.pop(student, None)
        is_whole = True
        if isinstance(outcome, Failed) and judged is not None:
            self._announced.fails(student, msg("session.no_graphs"), outcome.message, outcome.details)
            outcome = Graded(result=judged)
            is_whole = False
        if isinstance(outcome, Refused):
            self._refuse(student, msg("session.refused", reason=outcome.message, path=str(task.file)), 2, account)
            return
        if isinstance(outcome, Failed):
            self._refuse(student, self._failure(student, outcome), 3, account)
            return
        try:
            result, folder = self._written(student, outcome)
        except OSError as error:
            reason = msg("session.result_unwritable", reason=describe_os_error(error))
            self._refuse(student, reason, 2, account)
            return
        if is_whole:
            self.cache.put(task, without_answers(outcome.result) if self._hides_answers else outcome.result)
        self._render(result, folder)
        account.graded(student_line(result, self.language, self._rows.name(student)))

    @property
    def _hides_answers(self) -> bool:
        return self.lab.repairs != "student" and self.lab.view != "teacher"

    def _mark(self, task: GradeTask, outcome: Graded) -> None:
        """Write a result whose sweeps are still to come; what goes wrong is reported when they have."""
        with contextlib.suppress(OSError):
            self._written(task.student, outcome)

    def _written(self, student: str, outcome: Graded) -> tuple[Result, Path]:
        """Write a result and put it into the tables; returns it as it is shown, and its folder.

        Raises OSError: it cannot be written.
        """
        shown = outcome.result
        if self._hides_answers:
            # Before anything of it is written where the student may read it.
            self.outputs.write_answers(student, answers(shown))
            shown = without_answers(shown)
        result = self._rows.shown(student, shown)
        folder = self.outputs.write_result(result)
        self._rows.put(student, result)
        return result, folder

    def _render(self, result: Result, folder: Path) -> None:
        job = make_job(result, self.lab, self.language, str(folder), self.pdf)
        self.rendering.submit(job, job)

    def _refuse(self, student: str, reason: Message, code: int, account: Account) -> None:
        self._rows.refuse(student, reason, code)
        _tell_refused(self._rows.name(student), reason, account)

    def _failure(self, student: str, outcome: Failed) -> Message:
        log = self.outputs.write_log(student, outcome.details)
        if outcome.message:
            return msg("session.grader_failed_why", error=outcome.message, log=log)
        return msg("session.grader_failed", log=log)

    def _collect(self, account: Account | None) -> None:
        for event in self.rendering.events():
            self._announced.lines(event)
            if isinstance(event, Answer) and event.is_last:
                student = event.task.result.student.id
                self.cache.put_reports(student, self._announced.files.pop(student, set()))
            if account is not None and (isinstance(event, Lost) or event.is_last):
                account.rendered()

    def _conclude(self, out: Console) -> None:
        """Write the marks of everyone graded so far, then show them."""
        from grader.report import terminal

        entries, lines = self._rows.write(is_last=True)
        with contextlib.suppress(OSError):
            write_ledger(self.decider, self.outputs.out, self.lab.id)
        lines += self._rows.write_course(entries)
        names = [variant.name for variant in self.lab.variants]
        rows = rows_of(entries, names, self.language)
        terminal.show_group(out, rows, names)
        shown = {entry.student: row.student for entry, row in zip(entries, rows, strict=True)}
        missing = self._rows.missing
        if missing:
            line = text(msg("session.not_graded", students=", ".join(shown[name] for name in missing)))
            out.print(line, soft_wrap=True)
        models = gpu_models(entries)
        if len(models) > 1:
            self._code = gravest_code((self._code, 2))
            lines.append(text(msg("session.several_models", models=", ".join(models))))
        if any(self.outputs.answers_folder.glob("*.diff")):
            lines.append(text(msg("session.repairs", folder=str(self.outputs.answers_folder))))
        if self.lab.secret_tests:
            lines.append(text(msg("session.later_tests", tests=", ".join(self.lab.secret_tests))))
        rules = self.decider.rules.path
        timeless = [shown[e.student] for e in entries if e.result and (e.result.decisions or Decisions()).asks_time]
        if timeless:
            lines.append(text(msg("course.asks_time", students=", ".join(timeless), file=str(rules))))
        overrides = self.decider.overrides
        decided = overrides.by_lab.get(self.lab.id, {})
        unapplied = [shown[e.student] for e in entries if e.result is None and e.student in decided]
        if unapplied:
            students, file = ", ".join(unapplied), str(overrides.path)
            lines.append(text(msg("course.not_applied", students=students, file=file)))
        lines.append(text(msg("session.results", folder=str(self.outputs.out))))
        for line in filter(None, (*lines, *self._announced.notices)):
            out.print(visible_line(line), soft_wrap=True)
        out.file.flush()


def _tell(out: Console, notice: Message) -> None:
    out.print(visible_line(text(notice)), soft_wrap=True)


def _tell_refused(name: str, reason: Message, account: Account) -> None:
    account.graded(visible_line(f"! {name}: {text(reason)}"))
    account.rendered()


def _for_marks(task: GradeTask) -> GradeTask:
    return replace_fields(task, options=replace_fields(task.options, sweeps=False, repairs=False))
