"""Writes the tables of a group and of a whole course, as results come and again from stored ones; nothing is graded.

Similar submissions are looked for in what is stored of a group, and in what other years left.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from grader.course.decisions import read_ledger
from grader.errors import GraderError, UsageError, describe_os_error
from grader.exports.entries import CourseExport, Entry, Export, StudentExport, Table, brief, source_of
from grader.exports.pages import SIMILAR
from grader.exports.registry import FORMATS
from grader.files import read_kept, write_atomically
from grader.grading.output.identity import code_hash
from grader.grading.output.paths import Outputs
from grader.grading.output.stored import StoredRun, group_lists, linked, stored_group, stored_groups
from grader.grading.students import find_works
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import msg
from grader.report.visible import visible_line
from grader.similarity import Similar, similar
from grader.submission.files.folder import find_sources, read_sources
from grader.words import text, told


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


# Looks for similar submissions of a group, in what is stored of it, and in what other years left.

STARTER_NAMES = ("*.cu", "*.cuh", "*.h")


class _Known(msgspec.Struct, frozen=True):
    """What was found; key: of everything that it follows from."""

    key: str
    found: Similar


def compare_once(lab: Lab, entries: Sequence[Entry], out: Path) -> Similar:
    """The same as `compare`, kept in `out` until a source changes: comparing hundreds takes seconds."""
    file = out / f".{lab.id}.similar.json"
    digest = hashlib.sha256(code_hash())
    works = _works(entries)
    for part in (*_starters(lab), *(part for name, source in works.items() for part in (name, source))):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    key = digest.hexdigest()
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        known = msgspec.json.decode(read_kept(file), type=_Known)
        if known.key == key:
            return known.found
    found = compare(lab, entries)
    with contextlib.suppress(OSError):
        write_atomically(file, msgspec.json.encode(_Known(key, found)))
    return found


def compare(lab: Lab, entries: Sequence[Entry], archive: dict[str, str] | None = None) -> Similar:
    """What the entries' sources have in common beyond the lab's starter."""
    return similar(_works(entries), _starters(lab), archive)


def _works(entries: Sequence[Entry]) -> dict[str, str]:
    """The sources by student; what a team handed in together is one work, the first of them stands for it."""
    found, teams = {}, set()
    for entry in entries:
        team = entry.person.team if entry.person is not None else ""
        if entry.source and (not team or team not in teams):
            found[entry.student] = entry.source
            teams.add(team)
    return found


def _starters(lab: Lab) -> list[str]:
    return [
        file.read_text("utf-8", errors="replace")
        for pattern in STARTER_NAMES
        for file in sorted(lab.path.parent.glob(pattern))
    ]


def compare_stored(folder: Path, language: str, archives: Sequence[Path], labs_folders: Sequence[Path]) -> int:
    """Write the pages of similar submissions for the groups in `folder`; returns the exit code.

    archives: folders of other years: of outputs, or of submissions.

    Raises
    ------
    UsageError : no group was graded there, or a folder cannot be read.
    """
    known_labs = list(labs.folders(labs_folders))
    for place in archives:
        if not place.is_dir():
            raise UsageError(msg("session.no_such_path", path=str(place)))
        if place.resolve() == folder.resolve():
            raise UsageError(msg("session.own_archive", path=str(place)))
    try:
        runs = list(stored_groups(folder))
        if not runs:
            raise UsageError(msg("session.no_group", path=str(folder)))
        writer, lines = Tables(language), []
        for run in runs:
            lab = labs.find(run.lab, labs_folders)
            entries = [replace(e, source=source_of(e.result)) if e.result is not None else e for e in run.entries]
            older: dict[str, str] = {}
            for place in archives:
                works = _archive(place, lab, known_labs)
                if not works:
                    lines.append(text(msg("session.empty_archive", path=str(place), lab=run.lab)))
                older |= works
            table = Table(lab, entries, similar=compare(lab, entries, older))
            lines += writer.of_lab([SIMILAR], table, run.outputs)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    for line in (*lines, *writer.problems):
        print(visible_line(line))
    return 2 if writer.problems else 0


def _archive(folder: Path, lab: Lab, known_labs: Collection[str]) -> dict[str, str]:
    """The works for a lab in a folder of outputs or of submissions, by the path that each is found at."""
    with contextlib.suppress(UsageError):
        for run in stored_groups(folder):
            if run.lab == lab.id:
                return {str(folder / e.student): source_of(e.result) for e in run.entries if e.result is not None}
    found = {}
    for work in find_works([folder], lab.id, known_labs, folder / "reports", lab.variants).works:
        # What could not be graded then is nothing to compare with now.
        with contextlib.suppress(UsageError):
            sources = read_sources(find_sources(work.path, lab.id, known_labs, lab.variants))
            found[str(folder / work.student)] = "\n".join(source.text for source in sources)
    return found
