"""An export unpacked: a folder for each student, and what is known of them, kept until the archive changes."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from pathlib import Path

import msgspec

from grader.course.roster import Person
from grader.errors import UsageError, describe_os_error
from grader.files import write_atomically
from grader.intake.archives import File, Problem, read_archive, read_nested, stem_of
from grader.intake.systems import SOURCES, Attempt, attempts
from grader.message import Message, msg
from grader.naming import folder_names
from grader.result import Record

LIST_NAME = ".handed-in.json"
FORMAT = 5
"""Raised when archives are read otherwise than before."""

_HIDDEN_TEXT = re.compile(r"(?P<name>.+\.(?:cuh?|ipynb|h|hpp|c|cc|cpp|cxx))\.txt", re.IGNORECASE)


class HandedIn(Record, frozen=True):
    """One student's work in an export; folder: its name below the unpacked export; refusal: why there is nothing."""

    person: Person
    folder: str
    refusal: Message | None = None
    problems: list[Message] = msgspec.field(default_factory=list)


class Unpacked(Record, frozen=True):
    """An export; source: what it was unpacked from; problems: what could not be read that is nobody's."""

    source: str
    works: list[HandedIn]
    problems: list[Message] = msgspec.field(default_factory=list)


def unpack(archive: Path, below: Path) -> tuple[Path, Unpacked]:
    """An export, unpacked to a folder `below`; what was unpacked of the same archive before is used again.

    Raises
    ------
    UsageError : the archive cannot be read, or nothing can be written.
    """
    folder = below / (archive.name.split(".")[0] or "archive")
    try:
        source = f"{FORMAT} {_hash(archive)}"
        known = _known(folder)
        if known is None or known.source != source:
            known = _unpack(archive, folder, source)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    return folder, known


def _hash(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _known(folder: Path) -> Unpacked | None:
    try:
        return msgspec.json.decode((folder / LIST_NAME).read_bytes(), type=Unpacked)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _unpack(archive: Path, folder: Path, source: str) -> Unpacked:
    with archive.open("rb") as file:
        found = list(read_archive(file, archive.name))
    lost = [item.message for item in found if isinstance(item, Problem) and not item.parts]
    if lost and len(found) == len(lost):
        raise UsageError(msg("intake.no_archive", path=str(archive), reason=lost[0]))
    handed_in, nobodys = attempts(found, whole=stem_of(archive.name))
    if not handed_in:
        raise UsageError(msg("intake.nobody", path=str(archive)))
    students = _told_apart([_with_nested(attempt) for attempt in handed_in])
    names = folder_names(attempt.person.id for attempt in students)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        works = []
        for attempt in students:
            name = names[attempt.person.id]
            (fresh / name).mkdir()
            for parts, data in attempt.files.items():
                if not _write(fresh / name, parts, data):
                    attempt.problems.append(msg("intake.name_taken", name="/".join(parts)))
            works.append(_handed_in(attempt, name))
        unpacked = Unpacked(source=source, works=works, problems=nobodys)
        # Last of all: a folder without it was left by a run that was ended.
        write_atomically(fresh / LIST_NAME, msgspec.json.encode(unpacked))
        fresh.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return unpacked


def _handed_in(attempt: Attempt, folder: str) -> HandedIn:
    has_source = any(parts[-1].lower().endswith(SOURCES) for parts in attempt.files)
    refusal = None if has_source or not attempt.problems else attempt.problems[0]
    return HandedIn(person=attempt.person, folder=folder, refusal=refusal, problems=attempt.problems)


def _told_apart(students: list[Attempt]) -> list[Attempt]:
    """Two of one name by their numbers."""
    ids = [attempt.person.id for attempt in students]
    for attempt in students:
        person = attempt.person
        number = person.participant or person.canvas_id or person.number or person.email
        if ids.count(person.id) > 1 and number:
            attempt.person = msgspec.structs.replace(person, id=f"{person.id} {number}")
    return sorted(students, key=lambda attempt: attempt.person.id)


def _with_nested(attempt: Attempt) -> Attempt:
    """What a student handed in with the archives in it unpacked, without folders that hold everything."""
    files: dict[tuple[str, ...], bytes] = {}
    for item in read_nested(File(parts, data) for parts, data in attempt.files.items()):
        if isinstance(item, Problem):
            attempt.problems.append(item.message)
        elif isinstance(item, File):
            files[item.parts] = item.data
    while len({parts[0] for parts in files}) == 1 and all(len(parts) > 1 for parts in files):
        files = {parts[1:]: data for parts, data in files.items()}
    attempt.files = {}
    for parts, data in files.items():
        # Editors of a system that hides the ends of names add this one.
        match = _HIDDEN_TEXT.fullmatch(parts[-1])
        meant = (*parts[:-1], match["name"]) if match else parts
        if meant in files:
            meant = parts
        if meant != parts:
            attempt.problems.append(msg("intake.renamed", name=parts[-1], meant=meant[-1]))
        attempt.files[meant] = data
    return attempt


def _write(folder: Path, parts: tuple[str, ...], data: bytes) -> bool:
    """A file below `folder`; False where its name is a folder's already, another file's but for capitals, or none."""
    file = folder.joinpath(*parts)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as out:
            out.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError, ValueError, UnicodeEncodeError):
        return False
    return True
