"""Results of an earlier run that hold still: nobody's work is graded or rendered twice.

Beside a student's `result.json` lies a stamp: what the result follows from, and what the reports were made from.  It
is written after them, so whatever a killed run or a full disk left, a stamp never speaks for what is not whole.

The folder of outputs may lie where others write.  A stamp is signed, so that nobody's result is taken for the grader's
own; one that is not, is as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from grader.course.decisions import undone
from grader.course.roster import Person
from grader.errors import UsageError
from grader.files import read_kept, write_atomically
from grader.grading.output.identity import Identity, made_from
from grader.grading.output.paths import RESULT_NAME, Outputs
from grader.grading.secret import signature
from grader.grading.task import GradeTask
from grader.lab.records import Lab
from grader.report.rendering import HTML_NAME, PDF_NAME
from grader.result import Record, Result, Student, decode, encode
from grader.words import told

STAMP_NAME = ".kept.json"


class RenderedFile(Record, frozen=True):
    """A report: the hash of what it was made from, and its size in bytes."""

    made_from: str
    size: int


class Stamp(Record, frozen=True):
    """What lies beside it: `result` is the SHA-256 of the result's file, `follows_from` of what it follows from.

    backend: where the result comes from.  name, group: what the submission says of its student, whatever a roster does.
    signature: of all the rest, by `grading.secret.signature`.
    """

    follows_from: str
    result: str
    backend: str = ""
    language: str = ""
    name: str = ""
    group: str = ""
    reports: dict[str, RenderedFile] = msgspec.field(default_factory=dict)
    signature: str = ""


class ResultCache:
    """The kept results of a run.

    pdf: whether reports are wanted as PDF too.  is_fresh: nothing that was kept before is to be used.
    """

    def __init__(
        self,
        outputs: Outputs,
        lab: Lab,
        identity: Identity,
        language: str,
        pdf: bool,
        is_fresh: bool,
    ) -> None:
        self._outputs = outputs
        self._lab = lab
        self._identity = identity
        self._language = language
        self._wanted = (HTML_NAME, PDF_NAME) if pdf else (HTML_NAME,)
        self._is_fresh = is_fresh
        self._follows_from: dict[str, str] = {}

    def find(self, task: GradeTask, present: Callable[[Result], Result]) -> Result | None:
        """The result of an earlier run that holds for `task`, in the language in use, on disk too; None without one.

        present: adds to a result, as it was graded, what a roster and the teacher say.

        Raises
        ------
        OSError : it has to be written in another language, and cannot be.
        """
        student = task.student
        folder = self._outputs.folder(student)
        self._follows_from[student] = key = self._identity.of(task)
        stamp = None if self._is_fresh or not key else read_stamp(folder)
        if stamp is None or stamp.follows_from != key:
            return None
        if stamp.backend != ("gpu" if self._identity.with_gpu else "emulator"):
            # The GPU was not to be had then.
            return None
        try:
            data = read_kept(folder / RESULT_NAME)
            if _digest(data) != stamp.result:
                return None
            result = decode(data, folder / RESULT_NAME)
        except (OSError, UsageError):
            return None
        environment = msgspec.structs.replace(result.environment, command=task.command)
        own = Student(id=result.student.id, name=stamp.name, group=stamp.group)
        again = present(msgspec.structs.replace(undone(result), environment=environment, student=own))
        if stamp.language != self._language:
            again = told(again)
        if again != result:
            data = encode(again)
            write_atomically(folder / RESULT_NAME, data)
            stamp = msgspec.structs.replace(stamp, result=_digest(data), language=self._language)
            _write(folder, stamp)
        return again

    def put(self, task: GradeTask, result: Result) -> None:
        """Note that `result`, as it was graded, has been written; not if the work was changed while it was graded."""
        key = self._identity.of(task)
        if not key or key != self._follows_from.get(task.student):
            return
        folder = self._outputs.folder(task.student)
        with contextlib.suppress(OSError):
            data = read_kept(folder / RESULT_NAME)
            stamp = Stamp(
                follows_from=key,
                result=_digest(data),
                backend=result.environment.backend,
                language=self._language,
                name=result.student.name,
                group=result.student.group,
            )
            _write(folder, stamp)

    def has_reports(self, student: str) -> bool:
        """Whether all reports that are wanted of a student's result lie there."""
        return has_reports(self._outputs.folder(student), self._lab, self._language, self._wanted)

    def put_reports(self, student: str, names: set[str]) -> None:
        """Note that the reports of these names have just been made of a student's result."""
        put_reports(self._outputs.folder(student), self._lab, self._language, names)


def with_person(result: Result, person: Person | None) -> Result:
    """The result with the name and the group that a roster or an export knows of its student."""
    if person is None:
        return result
    own = result.student
    return msgspec.structs.replace(
        result, student=Student(id=own.id, name=person.name or own.name, group=person.group or own.group)
    )


def read_stamp(folder: Path) -> Stamp | None:
    """The stamp in a student's folder, None where there is none that can be read and was signed here."""
    try:
        stamp = msgspec.json.decode(read_kept(folder / STAMP_NAME), type=Stamp)
        return stamp if hmac.compare_digest(stamp.signature, _signature(stamp)) else None
    except (OSError, msgspec.DecodeError, UnicodeError, TypeError, RecursionError):
        return None


def _signature(stamp: Stamp) -> str:
    """Raises OSError where there is no key to sign with."""
    return signature(msgspec.json.encode(msgspec.structs.replace(stamp, signature="")))


def retold(folder: Path, before: bytes, after: bytes, language: str) -> None:
    """Note that the result in `folder` was written again in another language: it still follows from the same."""
    stamp = read_stamp(folder)
    if stamp is not None and stamp.result == _digest(before):
        stamp = msgspec.structs.replace(stamp, result=_digest(after), language=language, reports={})
        _write(folder, stamp)


def rescored(folder: Path, before: bytes, after: bytes, is_as_graded: bool) -> None:
    """Note that the result in `folder` was marked again.

    is_as_graded: by the rules that it was graded by, so that it still follows from the same; else it is graded anew
    when grading is asked for.
    """
    stamp = read_stamp(folder)
    if stamp is not None and stamp.result == _digest(before):
        follows_from = stamp.follows_from if is_as_graded else ""
        _write(folder, msgspec.structs.replace(stamp, follows_from=follows_from, result=_digest(after), reports={}))


def has_reports(folder: Path, lab: Lab, language: str, wanted: Collection[str]) -> bool:
    """Whether the reports of these names in `folder` are those that would be made of the result beside them."""
    stamp = read_stamp(folder)
    if stamp is None or not stamp.reports:
        return False
    follows_from = made_from(lab, language, stamp.result)
    return all(
        stamp.reports.get(name) == RenderedFile(made_from=follows_from, size=_size(folder / name)) for name in wanted
    )


def is_rendered(folder: Path, lab: Lab, language: str, pdf: bool) -> bool:
    """Whether the result in `folder` is the one that the stamp beside it speaks of, and has all its reports."""
    stamp = read_stamp(folder)
    try:
        is_whole = stamp is not None and stamp.result == _digest(read_kept(folder / RESULT_NAME))
    except OSError:
        return False
    return is_whole and has_reports(folder, lab, language, (HTML_NAME, PDF_NAME) if pdf else (HTML_NAME,))


def put_reports(folder: Path, lab: Lab, language: str, names: set[str]) -> None:
    """Note that the reports of these names in `folder` have just been made of the result beside them."""
    stamp = read_stamp(folder)
    if stamp is not None:
        follows_from = made_from(lab, language, stamp.result)
        reports = {name: RenderedFile(made_from=follows_from, size=_size(folder / name)) for name in sorted(names)}
        _write(folder, msgspec.structs.replace(stamp, reports=reports))


def _write(folder: Path, stamp: Stamp) -> None:
    # Without a stamp the work is graded again, no more.
    with contextlib.suppress(OSError):
        signed = msgspec.structs.replace(stamp, signature=_signature(stamp))
        write_atomically(folder / STAMP_NAME, msgspec.json.encode(signed))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1
