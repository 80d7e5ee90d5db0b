"""Where everything that a run writes lies, and results of an earlier run found there again.

And what becomes of the reports of a run, in words.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from urllib.parse import quote

import msgspec

from grader.errors import LOG_NAME, UsageError, describe_os_error, system_reason
from grader.exports import tables
from grader.exports.entries import ROSTER_SUFFIX, CheckRule, Entry, Roster
from grader.files import KEPT_BYTES, PARTIAL_SUFFIX, NotPlain, TooLarge, discard_partial, read_kept, write_atomically
from grader.grading.workers import no_process
from grader.message import Message, msg, verbatim
from grader.naming import folder_names, quoted
from grader.processes.pool import Answer, Lost
from grader.report.job import ReportJob
from grader.report.rendering import DEADLINE_S, HTML_NAME, PDF_NAME, Reply
from grader.report.text import visible_line
from grader.result import Result, decode, encode
from grader.words import text

RESULT_NAME = "result.json"


@contextlib.contextmanager
def writable(out: Path) -> Iterator[None]:
    """Refuse a folder that cannot be written to before anything is graded; a refused order leaves none behind.

    Raises UsageError: it cannot be made, or takes no files.
    """
    created = [folder for folder in (out, *out.parents) if not folder.exists()]
    _check_writable(out)
    try:
        yield
    except UsageError:
        with contextlib.suppress(OSError):
            for folder in created:
                folder.rmdir()
        raise


def _check_writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UsageError(msg("session.out", path=str(out), reason=system_reason(error))) from error


class Outputs:
    """The outputs of a run for one lab below `out`; students: all of them, in order."""

    def __init__(self, out: Path, lab_id: str, students: Iterable[str]) -> None:
        self.out = out
        self._lab_id = lab_id
        self._names = folder_names(students, _capitals_differ(out))

    def folder(self, student: str) -> Path:
        """The folder of a student's result and reports."""
        return self.out / self._names[student] / self._lab_id

    def export(self, suffix: str) -> Path:
        """The file of a kind of export."""
        return self.out / f"{self._lab_id}{suffix}"

    def report_link(self, student: str) -> str:
        """The address of a student's report for a page in `out`."""
        return "/".join(quote(part) for part in (self._names[student], self._lab_id, HTML_NAME))

    def write_result(self, result: Result, is_again: bool = False) -> Path:
        """Write `result.json`; what an earlier run left beside it must not pass for this one's.  Returns the folder.

        is_again: more is known of the result than when this run wrote it before; what it left beside it stays.

        Raises OSError: it cannot be written.
        """
        folder = self.folder(result.student.id)
        for stale in () if is_again else (HTML_NAME, PDF_NAME, LOG_NAME):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                (folder / stale).unlink()
        write_atomically(folder / RESULT_NAME, encode(result))
        return folder

    @property
    def answers_folder(self) -> Path:
        """The teacher's folder for changes that students are not shown; it has no student's name."""
        return self.out / f"{self._lab_id}.repairs"

    def write_answers(self, student: str, text: str) -> None:
        """Write what a student is not shown; "" for nothing, and then nothing of an earlier run is left.

        Raises OSError: it cannot be written.
        """
        file = self.answers_folder / f"{self._names[student]}.diff"
        if text:
            write_atomically(file, text.encode("utf-8", errors="backslashreplace"))
        else:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                file.unlink()

    def discard_all_partial(self, before: float) -> None:
        """Remove what runs that were killed before `before`, in seconds since the epoch, left half written."""
        for folder in (self.out, self.answers_folder, *map(self.folder, self._names)):
            discard_partial(folder, before)

    def write_log(self, student: str, text: str) -> str:
        """Write what is known of a failure that concerns one student; returns the file, or why there is none."""
        file = self.folder(student) / LOG_NAME
        try:
            write_atomically(file, text.encode("utf-8", errors="backslashreplace"))
        except OSError as error:
            return f"{file}: {system_reason(error)}"
        return str(file)

    def discard_partial(self, student: str) -> None:
        """Remove what a renderer that was killed left half written."""
        discard_partial(self.folder(student))


def _capitals_differ(folder: Path) -> bool:
    with NamedTemporaryFile(dir=folder, prefix=".capitals-", suffix=PARTIAL_SUFFIX) as file:
        return not Path(file.name.replace(".capitals-", ".CAPITALS-")).exists()


def command(path: Path, lab_id: str, backend: str, labs_folders: Iterable[str]) -> str:
    """The command line that grades one submission again, in the same way."""
    words = ["grade", quoted(path), "--lab", lab_id]
    words += ["--backend", backend] if backend != "auto" else []
    for folder in labs_folders:
        words += ["--labs", quoted(Path(folder))]
    return " ".join(words)


RenderingEvent = Answer[ReportJob, Reply] | Lost[ReportJob]


class Announcer:
    """Turns what the renderers tell into lines; what holds for all reports is said once.

    notices: the lines that a group prints in the end.  code: the exit code that the reports ask for.
    rendered: the students whose page is written; files: the names of the reports that were written, by student.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.notices: list[str] = []
        self.code = 0
        self.rendered: set[str] = set()
        self.files: dict[str, set[str]] = {}
        self._outputs = outputs

    def lines(self, event: RenderingEvent) -> list[str]:
        """Lines to print for an event of a single grading."""
        student = event.task.result.student.id
        if isinstance(event, Lost):
            return self._lost(event, student)
        reply = event.reply
        if reply.event == "html":
            self.rendered.add(student)
            self.files.setdefault(student, set()).add(HTML_NAME)
            return [text(msg("session.report", path=visible_line(reply.text)))]
        if reply.event == "pdf":
            self.files.setdefault(student, set()).add(PDF_NAME)
            return [text(msg("session.pdf", path=visible_line(reply.text)))]
        if reply.event == "no_pdf":
            from grader.report.pdf import DEBIAN_PACKAGES

            return self._notice(msg("session.no_pdf", packages=" ".join(DEBIAN_PACKAGES)))
        if reply.event == "unwritable":
            self.code = max(self.code, 2)
            return self._notice(msg("session.unwritable", student=student, reason=reply.text))
        if reply.event == "failed":
            return self._failed(student, None, reply.text)
        return []

    def _lost(self, event: Lost[ReportJob], student: str) -> list[str]:
        self._outputs.discard_partial(student)
        if event.reason == "deadline":
            reason: Message = msg("session.deadline", seconds=f"{DEADLINE_S:.0f}")
        elif event.reason == "unstarted":
            reason = no_process(event.detail)
        elif event.ending is not None and event.ending.by_signal:
            reason = msg("session.signal", signal=str(event.ending))
        else:
            reason = verbatim(str(event.ending or event.detail))
        output = event.ending.output if event.ending is not None else ""
        return self._failed(student, reason, f"{student}: the report: {text(reason)}\n{output}")

    def _failed(self, student: str, reason: Message | None, details: str) -> list[str]:
        self.code = 3
        log = self._outputs.write_log(student, details)
        if reason:
            return self._notice(msg("session.not_rendered_why", student=student, reason=reason, log=log))
        return self._notice(msg("session.not_rendered", student=student, log=log))

    def fails(self, student: str, what: Message, message: Message | str | None, details: str) -> list[str]:
        """Lines about something else that the grader could not do for a student."""
        self.code = 3
        log = self._outputs.write_log(student, details)
        if message:
            return self._notice(msg("session.failed_why", student=student, what=what, error=message, log=log))
        return self._notice(msg("session.failed", student=student, what=what, log=log))

    def _notice(self, notice: Message) -> list[str]:
        line = visible_line(text(notice))
        if line in self.notices:
            return []
        self.notices.append(line)
        return [line]


NAMES_BELOW = (RESULT_NAME, f"*/{RESULT_NAME}", f"*/*/{RESULT_NAME}")
"""Where results lie below a folder: of one lab, of one student's labs, of many students."""


class StoredOutputs(Outputs):
    """The outputs of an earlier run, where they lie; folders: by student."""

    def __init__(self, out: Path, lab_id: str, folders: dict[str, Path]) -> None:
        super().__init__(out, lab_id, folders)
        self._folders = folders

    def folder(self, student: str) -> Path:
        return self._folders[student]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What an earlier run left for one lab.

    entries: in the order of its table.  is_group: whether it has a table, be it of one student.
    checks, rest: how the lab was marked (`grader.exports.entries`).
    """

    lab: str
    entries: tuple[Entry, ...]
    outputs: StoredOutputs
    is_group: bool
    checks: Mapping[str, CheckRule] = field(default_factory=dict)
    rest: str = ""


def find_stored(path: Path) -> list[StoredRun]:
    """What lies at `path`: a `result.json`, a student's folder, or the folder that a run wrote to.

    Raises UsageError: nothing of the kind is there, or it cannot be read.
    """
    try:
        runs = list(stored_groups(path)) if path.is_dir() else []
        in_groups = {(run.lab, entry.student) for run in runs for entry in run.entries}
        files = sorted(file for name in NAMES_BELOW for file in path.glob(name)) if path.is_dir() else [path]
        alone: dict[str, list[tuple[Path, Entry]]] = {}
        for file in files:
            lab, entry = _entry(file, is_alone=len(files) == 1)
            if (lab, entry.student) not in in_groups:
                alone.setdefault(lab, []).append((file.parent, entry))
        for lab, graded in alone.items():
            # A group that was graded before groups were listed has its table of marks.
            if (path / f"{lab}{tables.TABLE.suffix}").exists():
                runs.append(_run(path, lab, graded, is_group=True))
            else:
                runs += [_run(one[0], lab, [one], is_group=False) for one in graded]
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    if not runs:
        raise UsageError(msg("session.no_results", path=path))
    return runs


def linked(entry: Entry, outputs: Outputs) -> Entry:
    """The entry with the address of its report, where one lies beside its result."""
    if entry.result is None or not (outputs.folder(entry.student) / HTML_NAME).exists():
        return entry
    return replace(entry, report=outputs.report_link(entry.student))


def _entry(file: Path, is_alone: bool) -> tuple[str, Entry]:
    """The lab and the entry of a result's file; one that cannot be read is told beside those that can.

    Raises UsageError: it cannot be read, and `is_alone`.
    """
    try:
        result = _read(file)
    except UsageError as error:
        if is_alone:
            raise
        return file.parent.name, Entry(file.parent.parent.name, reason=error.message)
    return result.lab, Entry(result.student.id, result)


def _run(out: Path, lab: str, placed: list[tuple[Path, Entry]], is_group: bool) -> StoredRun:
    entries = tuple(entry for _folder, entry in placed)
    outputs = StoredOutputs(out, lab, {entry.student: folder for folder, entry in placed if entry.result is not None})
    return StoredRun(lab, entries, outputs, is_group)


def stored_groups(folder: Path) -> Iterator[StoredRun]:
    """The groups that are listed in a folder of outputs.

    Raises UsageError: a list or a result cannot be understood.
    Raises OSError: it cannot be read.
    """
    for file in group_lists(folder):
        yield stored_group(file)


def group_lists(folder: Path, skipped: Collection[str] = ()) -> list[Path]:
    """The lists of the groups in a folder of outputs, called as the labs, but those of the labs in `skipped`."""
    return [
        file
        for file in sorted(folder.glob(f"*{ROSTER_SUFFIX}"))
        if file.stem not in skipped
        and any(True for _result in folder.glob(f"*/{glob.escape(file.stem)}/{RESULT_NAME}"))
    ]


def stored_group(file: Path) -> StoredRun:
    """The group that is listed in `file`; raises as `stored_groups`."""
    try:
        group = msgspec.json.decode(read_kept(file), type=Roster)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(msg("session.no_roster", path=file, reason=str(error))) from error
    outputs = Outputs(file.parent, group.lab, (member.student for member in group.members))
    entries, folders = [], {}
    for member in group.members:
        place = outputs.folder(member.student)
        if member.reason:
            entries.append(Entry(member.student, reason=member.reason_said or member.reason, person=member.person))
        elif (place / RESULT_NAME).exists():
            try:
                result = _read(place / RESULT_NAME)
            except UsageError as error:
                # Nobody else's marks wait for it.
                entries.append(Entry(member.student, reason=error.message, person=member.person))
            else:
                entries.append(Entry(member.student, result, person=member.person))
                folders[member.student] = place
        else:
            gone = msg("session.result_gone", path=str(place / RESULT_NAME))
            entries.append(Entry(member.student, reason=gone, person=member.person))
    placed = StoredOutputs(file.parent, group.lab, folders)
    return StoredRun(group.lab, tuple(entries), placed, is_group=True, checks=group.checks, rest=group.rest)


def _read(file: Path) -> Result:
    """Raises UsageError: the file holds no result, or is no plain file."""
    try:
        return decode(read_kept(file), file)
    except (NotPlain, TooLarge) as error:
        raise UsageError(msg("session.result_not_plain", path=str(file), limit=KEPT_BYTES >> 20)) from error
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
