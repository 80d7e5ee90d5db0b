"""Carries out what the command line asks for: one submission or a group, results and reports in a folder."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from grader.course.decisions import find_decider
from grader.course.roster import read_roster
from grader.grading.groups import workers
from grader.grading.groups.gathering import course_folders, gather
from grader.grading.options import GradeOptions
from grader.grading.output.paths import Outputs, command, writable
from grader.grading.students import Work
from grader.grading.task import GradeTask
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import Message
from grader.processes import fork_server
from grader.processes.system import cores
from grader.report.rendering import rendering_pool

if TYPE_CHECKING:
    from grader.grading.groups.group import GradingPool


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


def grade(order: Order) -> int:
    """Carry out an order; returns the exit code.

    Raises
    ------
    UsageError : a path, the lab, or (of a single submission) the layout is wrong.
    KeyboardInterrupt : Ctrl-C or a like signal; everything finished by then is on disk and shown.
    """
    options, started_s = order.options, time.time()
    is_group = not order.is_single and _looks_like_a_group(order.paths)
    with (
        writable(order.out),
        fork_server.kept() if is_group else contextlib.nullcontext(),
        rendering_pool(order.pdf, is_forked=is_group) as rendering,
    ):
        if order.is_fresh or not (is_group and _has_kept(order.out)):
            # Started first of all: while this process grades, that one imports what drawing needs.
            rendering.warm()
            if is_group and not order.cluster:
                workers.warm()
        folders = [Path(folder) for folder in options.labs_folders]
        lab = labs.find(options.lab, folders)
        known_labs = list(labs.folders(folders))
        places = course_folders(order.paths, options.lab, known_labs, order.out, lab.variants, order.is_single)
        decider = find_decider(places, order.out)
        decider.overrides.validate(lab)
        roster = order.roster or decider.rules.roster
        listed = read_roster(roster) if roster is not None else None
        found = gather(order.paths, options.lab, known_labs, order.out, listed, lab.variants, order.is_single)
        outputs = Outputs(order.out, options.lab, (work.student for work in found.works))
        outputs.discard_all_partial(started_s)
        tasks = {work.student: _task(work, options) for work in found.works if not work.refusal}
        if found.is_single:
            from grader.grading.with_report import grade_with_report

            (task,) = tasks.values()
            (person,) = (work.person for work in found.works if not work.refusal)
            return grade_with_report(task, lab, outputs, rendering, order.pdf, found.notices, decider, person)
        from grader.gpu.process import several_gpus
        from grader.grading.groups.group import Group, at_once_on
        from grader.grading.output.cache import ResultCache
        from grader.grading.output.identity import Identity
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
            found.works,
            tasks,
            lab,
            options.language,
            outputs,
            rendering,
            order.pdf,
            cache,
            decider,
            partial(_grading, order, lab),
            # Sweeps take most of a GPU's time, and no mark depends on them.
            marks_first=is_timed and options.sweeps and bool(lab.sweeps),
            gpus=gpus,
        )
        ignored = decider.of_nobody(options.lab, {work.student for work in found.works}, known_labs)
        return group.grade(terminal.console(), jobs, (*found.notices, *ignored))


def _looks_like_a_group(paths: Sequence[Path]) -> bool:
    """Whether it is worth while to start as for many; what `gather` finds decides what is graded."""
    return len(paths) != 1 or (paths[0].is_dir() and not any(paths[0].glob("*.cu")))


def _has_kept(out: Path) -> bool:
    """Whether an earlier run has left results in a folder: then there may be nothing to draw."""
    from grader.grading.output.cache import STAMP_NAME

    return next(out.glob(f"*/*/{STAMP_NAME}"), None) is not None


def _grading(order: Order, lab: Lab, jobs: int, tell: Callable[[Message], None]) -> GradingPool:
    """What grades a group: processes of this machine, or a cluster's."""
    if not order.cluster:
        return workers.grading_pool(jobs)
    from grader.grading.groups.cluster import cluster_pool

    return cluster_pool(order.cluster, lab, order.options.backend == "gpu", tell)


def _task(work: Work, options: GradeOptions) -> GradeTask:
    return GradeTask(
        path=bytes(work.path),
        options=options,
        student=work.student,
        command=command(work.path, options.lab, options.backend, options.labs_folders),
    )
