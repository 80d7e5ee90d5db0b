"""Writes the tables of a group and of a whole course: every export that is asked for, where it belongs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.course.decisions import read_ledger
from grader.errors import GraderError, UsageError, describe_os_error
from grader.exports.entries import CourseExport, Entry, Export, StudentExport, Table, brief
from grader.files import write_atomically
from grader.grading.output.paths import Outputs
from grader.grading.output.stored import group_lists, linked, stored_group
from grader.lab import labs
from grader.message import msg
from grader.words import text


class Tables:
    """What is written of a group's marks; problems: what could not be, a line each."""

    def __init__(self, language: str) -> None:
        self.problems: list[str] = []
        self._language = language

    def of_lab(self, exports: Sequence[Export], table: Table, outputs: Outputs) -> list[str]:
        """Write a lab's tables; returns lines that name them."""
        lines = []
        for export in exports:
            path = outputs.export(export.suffix)
            if self._write(path, partial(export.write, table, self._language)):
                lines.append(export.announce(path))
        return [line for line in lines if line]

    def of_students(self, export: StudentExport, table: Table, outputs: Outputs) -> list[str]:
        """Write a file beside each result; returns a line that says how many."""
        count = 0
        for entry in table.entries:
            if entry.result is not None:
                path = outputs.folder(entry.student) / export.name
                count += self._write(path, partial(export.write, entry, table.lab, self._language))
        name = str(outputs.out / "*" / table.lab.id / export.name)
        return [text(msg("session.each_written", n=count, path=name))]

    def of_course(self, exports: Sequence[CourseExport], tables: Sequence[Table], out: Path) -> list[str]:
        """Write the tables of all labs; returns lines that name them."""
        return [
            export.announce(out / export.name)
            for export in exports
            if self._write(out / export.name, partial(export.write, tables, self._language))
        ]

    def _write(self, path: Path, make: Callable[[], bytes]) -> bool:
        try:
            write_atomically(path, make())
        except OSError as error:
            self.problems.append(describe_os_error(error))
            return False
        except GraderError as error:
            self.problems.append(str(error))
            return False
        except ImportError as error:
            self.problems.append(text(msg("session.no_library", path=str(path), library=str(error.name))))
            return False
        return True


def course_tables(out: Path, known: Mapping[str, Table], labs_folders: Sequence[Path]) -> tuple[list[Table], list[str]]:
    """The tables of all labs that were graded into `out`, by their names; those in `known` are not read again.

    A lab that is not known here any more, or whose results cannot be read, is left out; a line for each says so.
    """
    found, left_out = dict(known), []
    for file in group_lists(out, skipped=known):
        try:
            run = stored_group(file)
            entries = [_brief(linked(entry, run.outputs)) for entry in run.entries]
            found[run.lab] = Table(labs.find(run.lab, labs_folders), entries)
        except OSError as error:
            left_out.append(text(msg("session.left_out", lab=file.stem, reason=describe_os_error(error))))
        except UsageError as error:
            left_out.append(text(msg("session.left_out", lab=file.stem, reason=str(error))))
    return weighted([found[name] for name in sorted(found)], out), left_out


def weighted(tables: Sequence[Table], out: Path) -> list[Table]:
    """The tables with the weights of labs that hold in `out`."""
    weights = read_ledger(out).weights
    return [replace(table, weight=weights.get(table.lab.id)) for table in tables]


def _brief(entry: Entry) -> Entry:
    if entry.result is None:
        return entry
    return replace(entry, result=brief(entry.result))
