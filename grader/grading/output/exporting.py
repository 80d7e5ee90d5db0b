"""Writes tables of marks from stored results, in any format; nothing is graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import UsageError
from grader.exports.entries import CourseExport, Export, StudentExport, Table
from grader.exports.registry import FORMATS
from grader.grading.output.stored import StoredRun, linked, stored_groups
from grader.grading.output.tables import Tables, weighted
from grader.lab import labs
from grader.message import msg
from grader.report.visible import visible_line
from grader.words import told


def export(
    folder: Path, formats: Sequence[str], language: str, lab_ids: Sequence[str] = (), labs_folders: Sequence[Path] = ()
) -> int:
    """Write what is stored in `folder` in the `formats` (keys of `FORMATS`); returns the exit code.

    lab_ids: of these labs only; (): of all that lie there.  A file of all labs is of all that lie there even so.

    Raises
    ------
    UsageError : no group was graded there, a lab is not known, or a file cannot be written.
    """
    try:
        stored = list(stored_groups(folder))
    except OSError as error:
        raise UsageError(msg("session.no_group", path=str(folder))) from error
    if not stored:
        raise UsageError(msg("session.no_group", path=str(folder)))
    known = [run.lab for run in stored]
    for lab in lab_ids:
        if lab not in known:
            raise UsageError(msg("session.not_graded_here", path=str(folder), lab=lab, known=", ".join(known)))
    runs = [run for run in stored if not lab_ids or run.lab in lab_ids]
    # A course's file of one lab alone would take the place of that of all.
    has_course = any(isinstance(FORMATS[name], CourseExport) for name in formats)
    course = weighted([_table(run, labs_folders) for run in (stored if has_course else runs)], folder)
    tables = [table for table in course if not lab_ids or table.lab.id in lab_ids]
    writer, lines = Tables(language), []
    for name in formats:
        wanted = FORMATS[name]
        if isinstance(wanted, CourseExport):
            lines += writer.of_course([wanted], course, folder)
        for table, run in zip(tables, runs, strict=True):
            if isinstance(wanted, Export):
                lines += writer.of_lab([wanted], table, run.outputs)
            elif isinstance(wanted, StudentExport):
                lines += writer.of_students(wanted, table, run.outputs)
    for line in (*lines, *writer.problems):
        print(visible_line(line))
    return 2 if writer.problems else 0


def _table(run: StoredRun, labs_folders: Sequence[Path]) -> Table:
    """The run's results in the language in use, linked where there are reports."""
    entries = [e if e.result is None else replace(linked(e, run.outputs), result=told(e.result)) for e in run.entries]
    return Table(labs.find(run.lab, labs_folders), entries)
