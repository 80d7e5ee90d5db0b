"""Carries out what the command line asks for: one submission with its report, or a group, in a folder.

Or its result and nothing else, for whoever shows it in a form of their own.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from grader.course.decisions import Decider, find_decider, write_ledger
from grader.course.roster import Person, read_roster
from grader.errors import UsageError, describe_os_error
from grader.grading import workers
from grader.grading.cache import with_person
from grader.grading.options import GradeOptions, Warm
from grader.grading.paths import Announcer, Outputs, command, find_stored, writable
from grader.grading.students import Gathered, Work, course_folders, find_works, gather
from grader.grading.workers import GradeTask, grade_here, memory_bytes
from grader.lab import labs
from grader.lab.records import Lab, Variant
from grader.message import Message, msg
from grader.processes import fork_server, limits
from grader.processes.limits import cores
from grader.processes.pool import Lost, Pool, wait
from grader.report import terminal
from grader.report.job import ReportJob, make_job
from grader.report.rendering import Reply, rendering_pool
from grader.report.summary import summary
from grader.report.text import visible_line
from grader.result import Result, exit_code, gravest_code
from grader.submission.folder import find_sources
from grader.submission.search import SUFFIXES
from grader.words import text, told

if TYPE_CHECKING:
    from rich.console import Console

    from grader.grading.group import GradingPool


def grade_with_report(
    task: GradeTask,
    lab: Lab,
    outputs: Outputs,
    rendering: Pool[ReportJob, Reply],
    pdf: bool,
    gathered: Gathered,
    decider: Decider,
) -> int:
    """Grade and say so on standard output; returns the exit code.

    gathered, decider: what a roster knows of the student, and what the teacher decided: the mark is the group's.

    Raises UsageError: the submission's layout is wrong, or an output cannot be written.
    """
    out = terminal.console()
    language = task.options.language
    announced = Announcer(outputs)
    (person,) = (work.person for work in gathered.works if not work.refusal)
    for notice in gathered.notices:
        out.print(visible_line(text(notice)), soft_wrap=True)
    marks: list[Result] = []
    early: list[ReportJob] = []
    is_sought = task.options.repairs and lab.repairs != "off"

    def written(result: Result) -> ReportJob:
        result = decider.decided(with_person(result, person), person)
        try:
            folder = outputs.write_result(result, is_again=bool(early))
        except OSError as error:
            raise UsageError(describe_os_error(error)) from error
        return make_job(result, lab, language, str(folder), pdf)

    def judged(result: Result) -> None:
        # Nobody needs to wait for graphs to see the marks, on the page either: it is written now, and once more with
        # all that follows.
        job = written(result)
        early.append(structs.replace(job, pdf=False))
        rendering.submit(early[0], early[0])
        tell_news()
        view = summary(job)
        waits = is_sought and bool(view["faults"])
        terminal.show_result(out, view, is_sought=waits)
        if not waits:
            out.print()
        out.file.flush()
        marks.append(result)

    def swept(result: Result) -> None:
        # Graphs are on the page while changes of kernels are looked for.
        early.append(structs.replace(written(result), pdf=False))
        rendering.submit(early[-1], early[-1])
        tell_news()
        marks.append(result)

    def show_late(result: Result) -> None:
        view = summary(make_job(result, lab, language, "", pdf))
        if is_sought and view["faults"]:
            terminal.show_findings(out, view)
        elif view["predicted_table"] is not None:
            terminal.show_predicted(out, view["predicted_table"])
        else:
            return
        out.print()
        out.file.flush()

    def tell_news() -> None:
        for event in rendering.events():
            # A page that lacks something is not the one to be opened by now.
            is_early = any(event.task is job for job in early)
            if not is_early or isinstance(event, Lost) or event.reply.event not in ("html", "done"):
                _tell(out, announced.lines(event))

    try:
        with limits.bounded_memory(memory_bytes()):
            result = grade_here(task, lab, judged, swept=swept, processes=cores())
    except KeyboardInterrupt:
        if marks:
            show_late(marks[-1])
        raise
    except Exception as error:
        if not marks:
            raise
        # The marks stand, and on what follows them no mark depends.
        result = marks[-1]
        lacking = msg("session.no_graphs") if len(marks) == 1 else msg("session.no_changes")
        for line in announced.fails(task.student, lacking, str(error), traceback.format_exc()):
            out.print(line, soft_wrap=True)
    if marks:
        show_late(result)
    job = written(result)
    with contextlib.suppress(OSError):
        write_ledger(decider, outputs.out, lab.id)
    rendering.submit(job, job)
    while rendering.unfinished:
        tell_news()
        if rendering.unfinished:
            wait(rendering)
    return gravest_code((exit_code([result]), announced.code))


def _tell(out: Console, lines: Sequence[str]) -> None:
    for line in lines:
        out.print(line, soft_wrap=True)
        out.file.flush()


# One submission's result and nothing else: for whoever shows it in a form of their own.


def graded_result(path: Path, options: GradeOptions, warm: Warm | None = None) -> tuple[Result, float]:
    """The result of the one submission at `path`, graded in this process, and the seconds that it took.

    warm: see `grader.grading.pipeline.grade`.

    Raises UsageError: the lab or the submission's layout is wrong, or `path` is a group's folder.
    """
    started = time.monotonic()
    task = task_of(path, options)
    lab = labs.find(options.lab, [Path(folder) for folder in options.labs_folders])
    with limits.bounded_memory(memory_bytes()):
        result = grade_here(task, lab, warm=warm)
    return result, time.monotonic() - started


def task_of(path: Path, options: GradeOptions) -> GradeTask:
    """What is to be done to grade the one submission at `path`.  Raises UsageError: see `graded_result`."""
    folders = [Path(folder) for folder in options.labs_folders]
    variants = labs.find(options.lab, folders).variants
    lab_ids = list(labs.folders(folders))
    gathered = find_works([path], options.lab, lab_ids, Path("reports"), variants)
    if not gathered.is_single:
        # Here a folder is one student's, unless several in it have work in them.
        fault = _fault_of(path, options.lab, lab_ids, variants)
        if fault is not None:
            is_group = sum(_fault_of(work.path, options.lab, lab_ids, variants) is None for work in gathered.works) > 1
            raise UsageError(msg("session.one_submission", path=str(path))) if is_group else fault
        gathered = find_works([path], options.lab, lab_ids, Path("reports"), variants, is_single=True)
    (work,) = gathered.works
    again = command(path, options.lab, options.backend, options.labs_folders)
    return GradeTask(path=bytes(path), options=options, student=work.student, command=again)


def _fault_of(path: Path, lab: str, known_labs: Sequence[str], variants: Sequence[Variant]) -> UsageError | None:
    try:
        find_sources(path, lab, known_labs, variants)
    except UsageError as error:
        return error
    return None


def lab_of(path: Path, labs_folders: Sequence[str] = ()) -> str:
    """The lab that a path speaks of: `lab.cu`, a folder `lab`, a folder with one lab's file in it.

    Raises UsageError: it speaks of none, or of several, or is not there.
    """
    if not path.exists():
        raise UsageError(msg("session.no_such_path", path=str(path)))
    lab_ids = sorted(labs.folders([Path(folder) for folder in labs_folders]))
    by_name = {name.lower(): name for name in lab_ids}
    own = path if path.name not in ("", "..") else path.resolve()
    names = [by_name[n] for n in (own.stem.lower(), own.absolute().parent.name.lower()) if n in by_name]
    if not names and path.is_dir():
        names = [name for name in lab_ids if any((path / f"{name}{end}").exists() for end in ("", *SUFFIXES))]
        names = names if len(names) == 1 else []
    if not names:
        raise UsageError(msg("session.which_lab", path=str(path), labs=", ".join(lab_ids)))
    return names[0]


def stored_result(path: Path) -> Result:
    """The one result that lies at `path`, a `result.json` or a folder, in the language in use.

    Raises UsageError: there is none, or several.
    """
    results = [entry.result for run in find_stored(path) for entry in run.entries if entry.result is not None]
    if len(results) != 1:
        raise UsageError(msg("session.one_result", path=str(path), n=len(results)))
    return told(results[0])


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for.

    jobs: submissions at the same time, None for one per core.  is_fresh: a group is graded and rendered anew, whatever
    is kept of an earlier run.  roster: a file that says who belongs to the group.
    cluster: address of a Dask scheduler whose workers grade, "" for this machine.
    is_single: each path is one student's work, whatever folders it holds.
    """

    paths: Sequence[Path]
    out: Path
    options: GradeOptions
    pdf: bool = True
    jobs: int | None = None
    is_fresh: bool = False
    roster: Path | None = None
    cluster: str = ""
    is_single: bool = False


def carry_out(order: Order) -> int:
    """Carry out an order; returns the exit code.

    Raises UsageError: a path, the lab, or (of a single submission) the layout is wrong.
    Raises KeyboardInterrupt: Ctrl-C or a like signal; everything finished by then is on disk and shown.
    """
    options, started_s = order.options, time.time()
    is_group = not order.is_single and _looks_like_a_group(order.paths)
    with (
        writable(order.out),
        fork_server.kept() if is_group else contextlib.nullcontext(),
        rendering_pool(order.pdf) as rendering,
    ):
        if order.is_fresh or not (is_group and _has_kept(order.out)):
            # Started first of all: while this process grades, that one imports what drawing needs.
            rendering.warm()
            if is_group and not order.cluster:
                workers.warm()
        folders = [Path(folder) for folder in options.labs_folders]
        lab = replace(labs.find(options.lab, folders), view=options.view)
        known_labs = list(labs.folders(folders))
        places = course_folders(order.paths, options.lab, known_labs, order.out, lab.variants, order.is_single)
        decider = find_decider(places, order.out)
        decider.overrides.validate(lab)
        roster = order.roster or decider.rules.roster
        listed = read_roster(roster) if roster is not None else None
        gathered = gather(order.paths, options.lab, known_labs, order.out, listed, lab.variants, order.is_single)
        people = [work.person or Person(id=work.student) for work in gathered.works]
        decider = decider.for_people(people)
        outputs = Outputs(order.out, options.lab, (work.student for work in gathered.works))
        outputs.discard_all_partial(started_s)
        tasks = {work.student: _task(work, options) for work in gathered.works if not work.refusal}
        if gathered.is_single:
            (task,) = tasks.values()
            return grade_with_report(task, lab, outputs, rendering, order.pdf, gathered, decider)
        from grader.gpu.process import several_gpus
        from grader.grading.cache import Identity, ResultCache
        from grader.grading.group import Group, at_once_on
        from grader.report import terminal

        jobs = workers.job_count(len(tasks), order.jobs)
        # A report takes longer than a grading.
        rendering.size = min(jobs, cores())
        if order.cluster and order.jobs is None:
            # Its workers are as many as they are, whatever this machine has.
            jobs = len(tasks)
        is_fresh = order.is_fresh or options.remeasure
        identity = Identity(lab, options, known_labs)
        cache = ResultCache(outputs, lab, identity, options.language, order.pdf, is_fresh)
        is_timed = identity.with_gpu and not order.cluster
        # What students are not shown stays with whoever grades a group.
        tasks = {name: structs.replace(t, options=structs.replace(options, answers=True)) for name, t in tasks.items()}
        gpus = several_gpus(identity.gpus) if is_timed else []
        if is_timed and order.jobs is None:
            memory_bytes = min((gpu.memory_bytes for gpu in identity.gpus or ()), default=0)
            used = max(1, len(gpus))
            jobs = min(jobs, used * at_once_on(memory_bytes, used, len(tasks)))
        group = Group(
            works=gathered.works,
            tasks=tasks,
            lab=lab,
            language=options.language,
            outputs=outputs,
            rendering=rendering,
            pdf=order.pdf,
            cache=cache,
            decider=decider,
            open_pool=partial(_grading, order, lab),
            # Sweeps take most of a GPU's time, and no mark depends on them; those of functions and programs take less
            # than to run all of that twice.
            marks_first=is_timed and options.sweeps and bool(lab.sweeps) and not lab.makes_launches,
            gpus=gpus,
        )
        ignored = decider.of_nobody(options.lab, people, known_labs)
        return group.carry_out(terminal.console(), jobs, (*gathered.notices, *ignored))


def _looks_like_a_group(paths: Sequence[Path]) -> bool:
    """Whether it is worth starting as for many; what `gather` returns decides what is graded."""
    return len(paths) != 1 or (paths[0].is_dir() and not any(paths[0].glob("*.cu")))


def _has_kept(out: Path) -> bool:
    """Whether an earlier run has left results in a folder: then there may be nothing to draw."""
    from grader.grading.cache import STAMP_NAME

    return next(out.glob(f"*/*/{STAMP_NAME}"), None) is not None


def _grading(order: Order, lab: Lab, jobs: int, tell: Callable[[Message], None]) -> GradingPool:
    if not order.cluster:
        return workers.grading_pool(jobs)
    from grader.grading.cluster import cluster_pool

    return cluster_pool(order.cluster, lab, order.options.backend == "gpu", tell)


def _task(work: Work, options: GradeOptions) -> GradeTask:
    return GradeTask(
        path=bytes(work.path),
        options=options,
        student=work.student,
        command=command(work.path, options.lab, options.backend, options.labs_folders),
    )
