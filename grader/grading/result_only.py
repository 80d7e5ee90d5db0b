"""One submission's result and nothing else: for whoever shows it in a form of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.grading.options import GradeOptions
from grader.grading.output.paths import command
from grader.grading.output.stored import find_stored
from grader.grading.students import find_works
from grader.grading.task import GradeTask, grade_here, memory_bytes
from grader.lab import labs
from grader.lab.records import Variant
from grader.message import msg
from grader.processes import limits
from grader.result import Result
from grader.submission.files.entries import SUFFIXES
from grader.submission.files.folder import find_sources
from grader.words import told

if TYPE_CHECKING:
    from grader.grading.warm import Warm


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
