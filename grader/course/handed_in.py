"""An export unpacked: a folder for each student, and what is known of them, kept until the archive changes.

Learning systems say whose work a file of an export is by how they name what they export.
Moodle: `Фамилия Имя_123456_assignsubmission_file_` and then a folder's files, or the file's name.
Gradescope: folders `submission_456`, and `submission_metadata.yml` which says whose they are and when they came.
Canvas: `ivanovivan_123_456_main.cu`, numbers of the user and of the file, "LATE" before them.
GitHub Classroom: `lab-submissions/lab-username/`, a repository each.
Anything else: a folder or an archive for each student; sources that lie in no folder are one student's work.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from grader.course.archives import File, Folder, Found, Problem, is_archive, read_archive, read_nested, stem_of
from grader.course.roster import Person, parse_time
from grader.errors import UsageError, describe_os_error
from grader.files import write_atomically
from grader.measured import Record
from grader.message import Message, msg
from grader.naming import folder_names

METADATA_NAME = "submission_metadata.yml"
SOURCES = (".cu", ".ipynb")
"""What is graded; all else is beside it."""

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>.*)", re.DOTALL)
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+)", re.DOTALL)
_CANVAS_COPY = re.compile(r"-\d+(?=\.\w+$)")
_WORDS_BEFORE_A_NAME = ("Participant", "Участник")


@dataclass(slots=True)
class Attempt:
    """What one student handed in at one time: files by the parts of their names, and what could not be read."""

    person: Person
    files: dict[tuple[str, ...], bytes] = field(default_factory=dict)
    problems: list[Message] = field(default_factory=list)


Where = tuple[Person, tuple[str, ...]]
"""A student, and the rest of a file's name."""


def attempts(entries: Sequence[Found], whole: str) -> tuple[list[Attempt], list[Message]]:
    """What each student handed in, in the order of the export; by the export's own metadata or its names.

    And what is nobody's: what could not be read, and sources that lie in no student's folder.

    whole: what the student is called whose work the whole of it is, where sources lie in it and no folders.

    Raises UsageError: the export's metadata cannot be understood.
    """
    entries = _without_common_folder(entries)
    metadata = next((f for f in entries if isinstance(f, File) and f.parts == (METADATA_NAME,)), None)
    if metadata is not None:
        return _gradescope(entries, metadata)
    readers = (_moodle, _canvas, _classroom)
    by_key: dict[str, Attempt] = {}
    names = [item.parts for item in entries if item.parts and not isinstance(item, Folder)]
    reader = next(
        (r for r in readers if names and sum(r(parts) is not None for parts in names) * 2 > len(names)), _folders
    )
    others = []
    for item in entries:
        # A folder is whose the files in it would be.
        parts = (*item.parts, "") if isinstance(item, Folder) and item.parts else item.parts
        where = reader(parts) if parts else None
        if where is not None:
            _add(by_key, where, item)
        else:
            others.append(item)
    sources = [item for item in others if isinstance(item, File) and item.parts[-1].lower().endswith(SOURCES)]
    if reader is _folders and sources and sum(map(_has_source, by_key.values())) < 2:
        # Its folders are its own: `include`, `src`.
        alone = Attempt(Person(id=whole))
        for item in entries:
            if item.parts:
                _add({alone.person.id: alone}, (alone.person, item.parts), item)
        return [alone], [item.message for item in others if isinstance(item, Problem) and not item.parts]
    nobodys = [msg("intake.nobodys", name=item.parts[-1]) for item in sources]
    nobodys += [item.message for item in others if isinstance(item, Problem)]
    for attempt in by_key.values() if reader is _canvas else ():
        _without_numbers_of_copies(attempt)
    return list(by_key.values()), nobodys


def _add(attempts_by_person: dict[str, Attempt], where: Where, item: Found) -> None:
    person, rest = where
    attempt = attempts_by_person.setdefault(person.key, Attempt(person))
    if isinstance(item, Problem):
        attempt.problems.append(item.message)
    elif isinstance(item, File) and rest:
        if attempt.files.get(rest, item.data) != item.data:
            attempt.problems.append(msg("intake.doubled", name="/".join(rest)))
        attempt.files[rest] = item.data


def _has_source(attempt: Attempt) -> bool:
    return any(parts[-1].lower().endswith(SOURCES) or is_archive(parts[-1]) for parts in attempt.files)


def _without_common_folder(entries: Sequence[Found]) -> list[Found]:
    """Return the files without folders that hold everything, as when a folder was packed with its name."""
    items = list(entries)
    while True:
        theirs = [i for i in items if not isinstance(i, Problem) and i.parts and not _is_a_tools(i.parts[0])]
        files = [item for item in theirs if isinstance(item, File)]
        tops = {item.parts[0] for item in theirs}
        holds_folders = all(len(file.parts) > 2 or file.parts[1:] == (METADATA_NAME,) for file in files)
        if len(tops) != 1 or not files or not holds_folders:
            return items
        (top,) = tops
        if _moodle((top,)) or top.endswith("-submissions"):
            return items
        items = [replace(item, parts=item.parts[1:] if item.parts[:1] == (top,) else item.parts) for item in items]


def _moodle(parts: tuple[str, ...]) -> Where | None:
    match = _MOODLE.fullmatch(parts[0])
    if match is None:
        return None
    name, number = match["name"].strip(), match["number"]
    # Names are hidden: the number is all there is.
    is_hidden = name in _WORDS_BEFORE_A_NAME
    person = Person(id=f"{name} {number}" if is_hidden else name, name="" if is_hidden else name, participant=number)
    rest = (match["rest"],) if match["rest"] else ()
    return person, (*rest, *parts[1:]) if match["kind"] == "file" else ()


def _canvas(parts: tuple[str, ...]) -> Where | None:
    match = _CANVAS.fullmatch(parts[0])
    if match is None or len(parts) > 1:
        return None
    name = match["name"]
    return Person(id=name, canvas_id=match["user"]), (match["rest"],)


def _without_numbers_of_copies(attempt: Attempt) -> None:
    """`main-1.cu` is the second attempt at `main.cu`, unless that is there as well: an export has the last attempt."""
    renamed = {parts: (_CANVAS_COPY.sub("", parts[0]),) for parts in attempt.files}
    counts = Counter(renamed.values())
    attempt.files = {
        (renamed[parts] if counts[renamed[parts]] == 1 else parts): data for parts, data in attempt.files.items()
    }


def _classroom(parts: tuple[str, ...]) -> Where | None:
    """Accept a repository called `<assignment>-<username>` in the folder `<assignment>-submissions`."""
    if len(parts) < 3 or not parts[0].endswith("-submissions"):
        return None
    prefix = parts[0].removesuffix("submissions")
    if not parts[1].startswith(prefix) or parts[1] == prefix:
        return None
    return Person(id=parts[1].removeprefix(prefix)), parts[2:]


def _folders(parts: tuple[str, ...]) -> Where | None:
    if _is_a_tools(parts[0]):
        return None
    if len(parts) == 1 and is_archive(parts[0]):
        return Person(id=stem_of(parts[0])), parts
    return (Person(id=parts[0]), parts[1:]) if len(parts) > 1 else None


def _is_a_tools(name: str) -> bool:
    """Whether a tool has made a folder for itself: `.idea`, `__pycache__`."""
    return name.startswith((".", "__"))


def _gradescope(entries: Sequence[Found], metadata: File) -> tuple[list[Attempt], list[Message]]:
    submitted: list[Attempt] = []
    reported: set[int] = set()
    for folder, people in _submitters(metadata):
        items = [item for item in entries if item.parts[:1] == (folder,)]
        reported.update(map(id, items))
        for person in people:
            attempt = Attempt(person)
            attempt.files = {item.parts[1:]: item.data for item in items if isinstance(item, File)}
            attempt.problems = [item.message for item in items if isinstance(item, Problem)]
            submitted.append(attempt)
    return submitted, [item.message for item in entries if isinstance(item, Problem) and id(item) not in reported]


def _submitters(metadata: File) -> Iterator[tuple[str, list[Person]]]:
    import yaml

    try:
        data = yaml.safe_load(metadata.data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_NAME}: {str(error).splitlines()[0]}") from error
    if not isinstance(data, Mapping):
        raise UsageError(f"{METADATA_NAME}: no mapping of submissions")
    for folder, entry in data.items():
        if not isinstance(folder, str) or not isinstance(entry, Mapping):
            continue
        people = entry.get(":submitters") or []
        created = entry.get(":created_at")
        handed_in = parse_time(str(created)).isoformat() if created else ""
        team = folder if len(people) > 1 else ""
        yield (
            folder,
            [
                Person(
                    id=str(one.get(":email") or one.get(":sid") or one.get(":name") or folder),
                    name=str(one.get(":name") or ""),
                    email=str(one.get(":email") or ""),
                    number=str(one.get(":sid") or ""),
                    handed_in=handed_in,
                    team=team,
                )
                for one in people
                if isinstance(one, Mapping)
            ]
            or [Person(id=folder, handed_in=handed_in)],
        )


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

    Raises UsageError: the archive cannot be read, or nothing can be written.
    """
    folder = below / (archive.name.split(".")[0] or "archive")
    try:
        source = f"{FORMAT} {_hash(archive)}"
        unpacked = _of_known_system(folder)
        if unpacked is None or unpacked.source != source:
            unpacked = _unpack(archive, folder, source)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    return folder, unpacked


def _hash(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_known_system(folder: Path) -> Unpacked | None:
    try:
        return msgspec.json.decode((folder / LIST_NAME).read_bytes(), type=Unpacked)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _unpack(archive: Path, folder: Path, source: str) -> Unpacked:
    with archive.open("rb") as file:
        items = list(read_archive(file, archive.name))
    lost = [item.message for item in items if isinstance(item, Problem) and not item.parts]
    if lost and len(items) == len(lost):
        raise UsageError(msg("intake.no_archive", path=str(archive), reason=lost[0]))
    handed_in, nobodys = attempts(items, whole=stem_of(archive.name))
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
    """Return two people of one name with their numbers added."""
    ids = [attempt.person.id for attempt in students]
    for attempt in students:
        person = attempt.person
        number = person.participant or person.canvas_id or person.number or person.email
        if ids.count(person.id) > 1 and number:
            attempt.person = msgspec.structs.replace(person, id=f"{person.id} {number}")
    return sorted(students, key=lambda attempt: attempt.person.id)


def _with_nested(attempt: Attempt) -> Attempt:
    """Return what a student handed in with nested archives unpacked, without folders that hold everything."""
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
        name = (*parts[:-1], match["name"]) if match else parts
        if name in files:
            name = parts
        if name != parts:
            attempt.problems.append(msg("intake.renamed", name=parts[-1], meant=name[-1]))
        attempt.files[name] = data
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
