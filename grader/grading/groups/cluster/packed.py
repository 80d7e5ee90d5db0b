"""A grading as bytes that can travel: the student's files, the lab with its references, options and secret.

It needs no shared disk.  Where it arrives, a process of its own grades it, as on one machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from grader.errors import UsageError
from grader.files import read_plain
from grader.grading.groups.workers import grade_all
from grader.grading.output.identity import LARGEST_BYTES, code_hash, files_below, lab_files
from grader.grading.secret import SECRET, SECRET_FILE, secret
from grader.grading.task import Failed, Graded, GradeTask, Outcome, Refused
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Record

OTHER_VERSION = msg("session.other_version")


class Packed(Record, frozen=True):
    """A grading.

    folder: name of the student's folder; path: what is graded, below it ("." for the folder itself).
    files, lab_files: contents by their names below the student's folder and below the lab's.  labs: the folder of labs
    below the latter.  code: the hash of the grader's code, which has to be the same where it is graded.
    """

    task: GradeTask
    folder: bytes
    path: bytes
    files: dict[bytes, bytes]
    lab_files: dict[bytes, bytes]
    labs: bytes
    secret: str
    code: bytes


def pack_lab(lab: Lab) -> tuple[dict[bytes, bytes], bytes]:
    """A lab's files by their names below a common folder, and there the folder of labs."""
    files = lab_files(lab)
    lab_folder = lab.path.resolve().parent
    common = Path(os.path.commonpath([lab_folder.parent, *files]))
    packed = {os.fsencode(file.relative_to(common)): file.read_bytes() for file in files}
    return packed, os.fsencode(lab_folder.parent.relative_to(common))


def pack(task: GradeTask, lab: Lab, packed_lab: tuple[dict[bytes, bytes], bytes]) -> bytes:
    """A grading to be sent.

    Raises
    ------
    UsageError : the submission's layout is wrong.
    OSError : a file of it cannot be read.
    """
    from grader.submission.files.folder import find_sources

    found = find_sources(task.file, lab.id, (), lab.variants)
    files: dict[bytes, bytes] = {}
    for file in {*files_below(found.folder), *found.files}:
        if file.stat().st_size <= LARGEST_BYTES:
            files[os.fsencode(file.relative_to(found.folder))] = read_plain(file, LARGEST_BYTES)
    named, labs = packed_lab
    whole = Packed(
        task=task,
        folder=os.fsencode(found.folder.resolve().name),
        path=os.fsencode(os.path.relpath(task.file.resolve(), found.folder.resolve())),
        files=files,
        lab_files=named,
        labs=labs,
        secret=secret(),
        code=code_hash(),
    )
    return msgspec.msgpack.encode(whole)


def grade_packed(data: bytes) -> bytes:
    """Grade what was sent, in a process of its own below this one; returns the outcome, encoded."""
    return msgspec.msgpack.encode(_grade(msgspec.msgpack.decode(data, type=Packed)))


def outcome_of(data: bytes) -> Outcome:
    """The outcome that came back."""
    return msgspec.msgpack.decode(data, type=Graded | Refused | Failed)


def _grade(packed: Packed) -> Outcome:
    if packed.code != code_hash():
        return Failed(details="another version of the grader", message=OTHER_VERSION)
    # Everything that runs in this process belongs to one course.
    os.environ.pop(SECRET_FILE, None)
    os.environ[SECRET] = packed.secret
    with tempfile.TemporaryDirectory(prefix="grade-") as name:
        root = Path(name)
        _write(root / "labs", packed.lab_files)
        student = root / "work" / os.fsdecode(packed.folder)
        student.mkdir(parents=True)
        _write(student, packed.files)
        path = (student / os.fsdecode(packed.path)).resolve()
        options = msgspec.structs.replace(
            packed.task.options, labs_folders=(str(root / "labs" / os.fsdecode(packed.labs)),)
        )
        task = msgspec.structs.replace(packed.task, path=bytes(path), options=options)
        ((_task, outcome),) = grade_all([task], 1)
        return _as_at_home(outcome, str(path), str(packed.task.file))


def _write(folder: Path, files: Mapping[bytes, bytes]) -> None:
    for name, content in files.items():
        file = folder / os.fsdecode(name)
        if not file.resolve().is_relative_to(folder.resolve()):
            raise UsageError(msg("submission.outside", path=str(file), folder=str(folder)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _as_at_home(outcome: Outcome, there: str, here: str) -> Outcome:
    """An outcome that names the submission by its path at home."""

    def named(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(there, here)
        if isinstance(value, dict):
            return {key: named(inner) for key, inner in value.items()}
        return [named(inner) for inner in value] if isinstance(value, list) else value

    def renamed(message: Message) -> Message:
        return msgspec.convert(named(msgspec.to_builtins(message)), Message)

    match outcome:
        case Refused(message=message):
            return Refused(message=renamed(message))
        case Failed(details=details, message=message):
            return Failed(details=named(details), message=renamed(message) if message is not None else None)
    return outcome
