"""The tables of a group and of a whole course: their rows as results come, and all of it written again from stored
ones.

Similar submissions are looked for in what is stored of a group, and in what other years left.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader.course.decisions import Decider, read_ledger
from grader.course.roster import Person
from grader.errors import GraderError, UsageError, describe_os_error
from grader.exports import COURSE_EXPORTS, EXPORTS, FORMATS, pages
from grader.exports.entries import CourseExport, Entry, Export, StudentExport, Table, brief, source_of
from grader.exports.pages import SIMILAR
from grader.files import read_kept, write_atomically
from grader.grading.cache import code_hash, with_person
from grader.grading.paths import Outputs, StoredRun, group_lists, linked, stored_group, stored_groups
from grader.grading.students import Work, find_works
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.report.text import visible_line
from grader.result import Result, exit_code, gravest_code
from grader.similarity import Similar, similar
from grader.submission.folder import find_sources, read_sources
from grader.words import text, told

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


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


def course_tables(out: Path, fresh: Mapping[str, Table], labs_folders: Sequence[Path]) -> tuple[list[Table], list[str]]:
    """The tables of all labs that were graded into `out`, by their names; those in `fresh` are not read again.

    A lab that is not known here any more, or whose results cannot be read, is left out; a line for each says so.
    """
    by_lab, left_out = dict(fresh), []
    for file in group_lists(out, skipped=fresh):
        try:
            run = stored_group(file)
            entries = [_brief(linked(entry, run.outputs)) for entry in run.entries]
            by_lab[run.lab] = Table(labs.find(run.lab, labs_folders), entries)
        except OSError as error:
            left_out.append(text(msg("session.left_out", lab=file.stem, reason=describe_os_error(error))))
        except UsageError as error:
            left_out.append(text(msg("session.left_out", lab=file.stem, reason=str(error))))
    return weighted([by_lab[name] for name in sorted(by_lab)], out), left_out


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

    Raises UsageError: no group was graded there, a lab is not known, or a file cannot be written.
    """
    try:
        stored = list(stored_groups(folder))
    except OSError as error:
        raise UsageError(msg("session.no_group", path=str(folder))) from error
    if not stored:
        raise UsageError(msg("session.no_group", path=str(folder)))
    graded = [run.lab for run in stored]
    for lab in lab_ids:
        if lab not in graded:
            raise UsageError(msg("session.not_graded_here", path=str(folder), lab=lab, known=", ".join(graded)))
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
    """Return the run's results in the language in use, linked where there are reports."""
    entries = [e if e.result is None else replace(linked(e, run.outputs), result=told(e.result)) for e in run.entries]
    return Table(labs.find(run.lab, labs_folders), entries)


# Looks for similar submissions of a group, in what is stored of it, and in what other years left.

STARTER_NAMES = ("*.cu", "*.cuh", "*.h")


class _Comparison(msgspec.Struct, frozen=True):
    """A comparison with the key of everything that it follows from."""

    key: str
    similar: Similar


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
        kept = msgspec.json.decode(read_kept(file), type=_Comparison)
        if kept.key == key:
            return kept.similar
    similar = compare(lab, entries)
    with contextlib.suppress(OSError):
        write_atomically(file, msgspec.json.encode(_Comparison(key, similar)))
    return similar


def compare(lab: Lab, entries: Sequence[Entry], archive: dict[str, str] | None = None) -> Similar:
    """What the entries' sources have in common beyond the lab's starter."""
    return similar(_works(entries), _starters(lab), archive)


def _works(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the sources by student; a team's work counts once, under its first member."""
    sources, teams = {}, set()
    for entry in entries:
        team = entry.person.team if entry.person is not None else ""
        if entry.source and (not team or team not in teams):
            sources[entry.student] = entry.source
            teams.add(team)
    return sources


def _starters(lab: Lab) -> list[str]:
    return [
        file.read_text("utf-8", errors="replace")
        for pattern in STARTER_NAMES
        for file in sorted(lab.path.parent.glob(pattern))
    ]


def compare_stored(folder: Path, language: str, archives: Sequence[Path], labs_folders: Sequence[Path]) -> int:
    """Write the pages of similar submissions for the groups in `folder`; returns the exit code.

    archives: folders of other years: of outputs, or of submissions.

    Raises UsageError: no group was graded there, or a folder cannot be read.
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
    """Return the works for a lab in a folder of outputs or of submissions, by path."""
    with contextlib.suppress(UsageError):
        for run in stored_groups(folder):
            if run.lab == lab.id:
                return {str(folder / e.student): source_of(e.result) for e in run.entries if e.result is not None}
    texts = {}
    for work in find_works([folder], lab.id, known_labs, folder / "reports", lab.variants).works:
        # What could not be graded then is nothing to compare with now.
        with contextlib.suppress(UsageError):
            sources = read_sources(find_sources(work.path, lab.id, known_labs, lab.variants))
            texts[str(folder / work.student)] = "\n".join(source.text for source in sources)
    return texts


TABLES_EVERY_S = 5.0
"""The tables show how far a group is; they are written no more often than this, and in 2 % of the time at most."""


class Rows:
    """One row for each work, in the order of the table.

    works: those with a refusal are rows only.
    decider: what the teacher decided.
    rendered: who has a report by now; read whenever tables are written.
    """

    def __init__(
        self, works: Sequence[Work], lab: Lab, language: str, outputs: Outputs, decider: Decider, rendered: Set[str]
    ) -> None:
        self._works = works
        self._lab = lab
        self._language = language
        self._outputs = outputs
        self._decider = decider
        self._rendered = rendered
        # By place in the table: a work that is refused may have the name of another.
        self._entries: dict[int, Entry] = {}
        self._places = {work.student: place for place, work in enumerate(works) if not work.refusal}
        self._code = 0
        self._is_unwritten = False
        # When the tables are to be written again, on the clock of `time.monotonic`.
        self._stale_s = 0.0

    @property
    def code(self) -> int:
        """The exit code that the rows come to, 2 where a table could not be written."""
        return gravest_code((self._code, 2 if self._is_unwritten else 0))

    @property
    def missing(self) -> list[str]:
        return [work.student for place, work in enumerate(self._works) if place not in self._entries]

    @property
    def are_due(self) -> bool:
        """Whether it is time to write the tables again."""
        return time.monotonic() >= self._stale_s

    def shown(self, student: str, result: Result) -> Result:
        """A result as it is shown: with what a roster and the teacher say."""
        person = self._person(student)
        return self._decider.decided(with_person(result, person), person)

    def put(self, student: str, result: Result) -> None:
        """A student's marks; `result` as it is shown."""
        entry = Entry(student, brief(result), person=self._person(student), source=source_of(result))
        self._entries[self._places[student]] = entry
        self._code = gravest_code((self._code, exit_code([result])))

    def put_refused(self) -> None:
        """The rows of all works that are none to be graded."""
        for place, work in enumerate(self._works):
            if work.refusal:
                self._refuse(place, work.refusal, 2)

    def refuse(self, student: str, reason: Message, code: int) -> None:
        """Why a student has no marks; code: the exit code that this is worth."""
        self._refuse(self._places[student], reason, code)

    def _refuse(self, place: int, reason: Message, code: int) -> None:
        work = self._works[place]
        self._entries[place] = Entry(work.student, reason=reason, person=work.person)
        self._code = gravest_code((self._code, code))

    def name(self, student: str) -> str:
        """What a student is called where people read it."""
        return self._works[self._places[student]].name

    def _person(self, student: str) -> Person | None:
        return self._works[self._places[student]].person

    def write(self, is_last: bool = False) -> tuple[list[Entry], list[str]]:
        """Write the marks of all that are graded by now; returns the rows, and lines that name the files."""
        began_s = time.monotonic()
        nothing = msg("session.not_yet")
        entries = [
            self._linked(self._entries.get(place) or Entry(work.student, reason=nothing, person=work.person))
            for place, work in enumerate(self._works)
        ]
        tables = Tables(self._language)
        table, exports = Table(self._lab, entries), EXPORTS
        if is_last:
            # Who is like whom shows when all are there.
            table, exports = (
                replace(table, similar=compare_once(self._lab, entries, self._outputs.out)),
                (*EXPORTS, pages.SIMILAR),
            )
        lines = tables.of_lab(exports, table, self._outputs)
        self._is_unwritten = bool(tables.problems)
        lines += tables.problems
        now_s = time.monotonic()
        self._stale_s = now_s + max(TABLES_EVERY_S, 50 * (now_s - began_s))
        return entries, lines

    def write_course(self, entries: list[Entry]) -> list[str]:
        """Write the marks of all labs in the folder of outputs; returns lines that name the files."""
        writer = Tables(self._language)
        own = {self._lab.id: Table(self._lab, entries)}
        tables, left_out = course_tables(self._outputs.out, own, [self._lab.path.parent.parent])
        lines = writer.of_course(COURSE_EXPORTS, tables, self._outputs.out)
        self._is_unwritten = self._is_unwritten or bool(writer.problems)
        return lines + left_out + writer.problems

    def _linked(self, entry: Entry) -> Entry:
        if entry.result is None or entry.student not in self._rendered:
            return entry
        return replace(entry, report=self._outputs.report_link(entry.student))


# Tells how far a group is: a numbered line for each submission in a pipe, bars on a terminal.


class Account:
    """In a pipe: a numbered line for each submission."""

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


class _Bars(Account):
    def __init__(self, out: Console, total: int, progress: Progress) -> None:
        super().__init__(out, total)
        self._progress = progress
        self._grading = progress.add_task(text(msg("session.grading")), total=total)
        self._reports = progress.add_task(text(msg("session.reports")), total=total)

    def graded(self, line: str) -> None:
        self._progress.console.print(line, soft_wrap=True)
        self._progress.advance(self._grading)

    def rendered(self) -> None:
        self._progress.advance(self._reports)


@contextmanager
def account(out: Console, total: int) -> Iterator[Account]:
    """The account of a group of `total` submissions, while the block runs."""
    if not out.is_terminal:
        yield Account(out, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        yield _Bars(out, total, progress)
