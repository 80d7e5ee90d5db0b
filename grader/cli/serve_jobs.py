"""What was handed in on the page: a queue that grades a few at a time, and what has become of each.

One thread drives the processes that grade and render; the page's own thread asks what is known by now.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import shutil
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from grader.errors import UsageError
from grader.grading.options import GradeOptions
from grader.grading.session import task_of
from grader.grading.workers import Checked, Failed, Graded, GradeTask, Judged, Outcome, Refused, grading_pool, lost
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.processes.pool import Lost, Pool, wait
from grader.report.job import ReportJob, make_job
from grader.report.rendering import HTML_NAME, Reply, rendering_pool
from grader.result import Check, Result, encode

GradingPool = Pool[GradeTask, Checked | Judged | Outcome]
State = Literal["waiting", "grading", "judged", "done", "refused", "failed"]
LOOK_S = 0.05
"""How soon a file that was handed in is noticed while others are graded."""
HANDED_IN = "handed-in"
"""The part of a job's folder where the file lies until it is graded."""
MOST_KEPT = 500
LONGEST_KEPT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a job is.

    state: "waiting", "grading", "judged" (the marks stand, the report is rendered), "done", "refused" (nothing there
    that could be graded), "failed" (the grader did; no mark).
    checks: those that are judged by now, by their id.  reason: why there is no result.
    """

    state: State = "waiting"
    checks: Mapping[str, Check] = field(default_factory=dict)
    result: Result | None = None
    reason: Message | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ("done", "refused", "failed")


@dataclass(slots=True)
class Job:
    """One file that was handed in.

    standings: one for every change, so that who follows it sees each, however fast they come.
    """

    id: str
    lab: str
    language: str
    folder: Path
    file: Path
    created: float = field(default_factory=time.monotonic)
    standings: list[Standing] = field(default_factory=lambda: [Standing()])

    @property
    def now(self) -> Standing:
        return self.standings[-1]

    def change(self, **parts: Any) -> None:
        """Go on from how it stands now with these parts of a `Standing` changed."""
        self.standings.append(replace(self.now, **parts))

    @property
    def report(self) -> Path:
        """The page of its report, once it is done."""
        return self.folder / HTML_NAME


class Full(Exception):
    """The queue is full: as many files wait as are allowed."""


class Jobs:
    """The queue.  A context manager: leaving it ends the processes and removes what was handed in.

    folder: where files and reports are kept.
    at_once: gradings at the same time.
    most_waiting: files that may wait.
    """

    def __init__(
        self, folder: Path, backend: str, labs_folders: tuple[str, ...], at_once: int, most_waiting: int
    ) -> None:
        self._folder = folder
        self._backend = backend
        self._labs_folders = labs_folders
        self._at_once = at_once
        self._most_waiting = most_waiting
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._labs: dict[str, Lab] = {}
        self._orders: queue.Queue[Job | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drive, name="jobs", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._orders.put(None)
        self._thread.join(10)

    def hand_in(self, name: str, content: bytes, lab: str, language: str) -> Job:
        """Queue a file under a name that says what it is.

        Raises Full: too many wait.
        Raises OSError: it cannot be written.
        """
        with self._lock:
            if sum(not job.now.is_over for job in self._jobs.values()) >= self._most_waiting:
                raise Full
            id = secrets.token_urlsafe(16)
            folder = self._folder / id
            # A report calls the student by the folder: here by what the file is called, since nobody says who they are.
            # One folder more, as what lies in a lab's folder is called by the one around that.
            stem = Path(name).stem
            job = Job(id, lab, language, folder, folder / HANDED_IN / stem / stem / name)
            self._jobs[id] = job
            self._forget()
        try:
            job.file.parent.mkdir(parents=True)
            job.file.write_bytes(content)
        except OSError:
            # It takes nobody's place.
            with self._lock:
                del self._jobs[id]
            raise
        self._orders.put(job)
        return job

    def get(self, id: str) -> Job | None:
        """A job by its id; None for one that is not known (any more)."""
        return self._jobs.get(id)

    def _forget(self) -> None:
        for id, job in list(self._jobs.items()):
            is_old = time.monotonic() - job.created > LONGEST_KEPT_S
            if job.now.is_over and (is_old or len(self._jobs) > MOST_KEPT):
                del self._jobs[id]
                shutil.rmtree(job.folder, ignore_errors=True)

    def lab(self, name: str) -> Lab:
        """A lab that is served, read once.  Raises UsageError: it is wrong, or there is none of the name."""
        if name not in self._labs:
            self._labs[name] = labs.find(name, [Path(folder) for folder in self._labs_folders])
        return self._labs[name]

    def _drive(self) -> None:
        while True:
            try:
                self._work()
                return
            except Exception:
                # Nobody waits for ever, and who hands in next is served.
                traceback.print_exc()
                for job in list(self._jobs.values()):
                    if job.now.state in ("waiting", "grading", "judged"):
                        self._end(job, "failed", msg("session.grader_slip"))

    def _work(self) -> None:
        by_task: dict[int, Job] = {}
        with grading_pool(self._at_once) as grading, rendering_pool(pdf=False, size=1) as rendering:
            grading.warm()
            rendering.warm()
            while True:
                busy = bool(grading.unfinished or rendering.unfinished)
                try:
                    while True:
                        order = self._orders.get(block=not busy)
                        if order is None:
                            return
                        if order.now.is_over:
                            continue
                        self._start(order, grading, by_task)
                        busy = True
                except queue.Empty:
                    pass
                wait(grading, rendering, limit_s=LOOK_S)
                for event in grading.events():
                    job = by_task[id(event.task)]
                    reply = lost(event) if isinstance(event, Lost) else event.reply
                    if not isinstance(reply, Checked | Judged):
                        del by_task[id(event.task)]
                    self._take(job, reply, rendering)
                for shown in rendering.events():
                    self._rendered(shown.task, None if isinstance(shown, Lost) else shown.reply)

    def _start(self, job: Job, grading: GradingPool, by_task: dict[int, Job]) -> None:
        options = GradeOptions(
            lab=job.lab,
            backend=self._backend,
            language=job.language,
            labs_folders=self._labs_folders,
            sweeps=False,
            stepwise=True,
            predict="auto",
        )
        try:
            task = task_of(job.file, options)
        except UsageError as error:
            self._refuse(job, error.message)
            return
        by_task[id(task)] = job
        job.change(state="grading")
        grading.submit(task, task)

    def _take(self, job: Job, reply: object, rendering: Pool[ReportJob, Reply]) -> None:
        match reply:
            case Checked(checks=checks):
                job.change(checks={**job.now.checks, **{check.id: check for check in checks}})
            case Graded(result=result):
                self._graded(job, result, rendering)
            case Refused(message=message):
                self._refuse(job, message)
            case Failed(message=message):
                self._end(job, "failed", message or msg("session.grader_slip"))

    def _graded(self, job: Job, result: Result, rendering: Pool[ReportJob, Reply]) -> None:
        try:
            (job.folder / "result.json").write_bytes(encode(result))
            lab = self.lab(job.lab)
        except (OSError, UsageError) as error:
            message = error.message if isinstance(error, UsageError) else msg("session.grader_slip")
            self._end(job, "failed", message)
            return
        job.change(state="judged", checks={check.id: check for check in result.checks}, result=result)
        report = make_job(result, lab, job.language, str(job.folder), pdf=False)
        rendering.submit(report, report)

    def _rendered(self, report: ReportJob, reply: Reply | None) -> None:
        job = self._jobs.get(Path(report.directory).name)
        if job is None or job.now.is_over:
            return
        if reply is None or reply.event == "done":
            # Without a report the marks stand all the same.
            job.change(state="done")

    def _refuse(self, job: Job, reason: Message) -> None:
        self._end(job, "refused", msg("session.refused", reason=reason, path=str(job.file.parent)))

    def _end(self, job: Job, state: State, reason: Message) -> None:
        job.change(state=state, reason=reason)
        with contextlib.suppress(OSError):
            shutil.rmtree(job.folder / HANDED_IN)
