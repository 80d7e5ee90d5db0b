"""Whose work a file of an export is, by the ways in which learning systems name what they export.

Moodle: `Фамилия Имя_123456_assignsubmission_file_` and then a folder's files, or the file's name.
Gradescope: folders `submission_456`, and `submission_metadata.yml` which says whose they are and when they came.
Canvas: `ivanovivan_123_456_main.cu`, numbers of the user and of the file, "LATE" before them.
GitHub Classroom: `lab-submissions/lab-username/`, a repository each.
Anything else: a folder for each student.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.course.people import Person
from grader.course.times import parse_time
from grader.errors import UsageError
from grader.intake.archives import File, Problem
from grader.message import Message

METADATA_NAME = "submission_metadata.yml"

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


def attempts(found: Sequence[File | Problem]) -> tuple[list[Attempt], list[Message]]:
    """What each student handed in, in the order of the export; by the export's own metadata or its names.

    And what could not be read that is nobody's.

    Raises
    ------
    UsageError : the export's metadata cannot be understood.
    """
    found = _without_common_folder(found)
    metadata = next((f for f in found if isinstance(f, File) and f.parts == (METADATA_NAME,)), None)
    if metadata is not None:
        return _gradescope(found, metadata)
    readers = (_moodle, _canvas, _classroom)
    known: dict[str, Attempt] = {}
    nobodys: list[Message] = []
    names = [item.parts for item in found if item.parts]
    reader = next(
        (r for r in readers if names and sum(r(parts) is not None for parts in names) * 2 > len(names)), _folders
    )
    for item in found:
        where = reader(item.parts) if item.parts else None
        if where is not None:
            _add(known, where, item)
        elif isinstance(item, Problem):
            nobodys.append(item.message)
    return list(known.values()), nobodys


def _add(known: dict[str, Attempt], where: Where, item: File | Problem) -> None:
    person, rest = where
    attempt = known.setdefault(person.participant or person.canvas_id or person.id, Attempt(person))
    if isinstance(item, Problem):
        attempt.problems.append(item.message)
    elif rest:
        attempt.files[rest] = item.data


def _without_common_folder(found: Sequence[File | Problem]) -> list[File | Problem]:
    """The same without folders that hold everything, as when a folder was packed with its name."""
    items = list(found)
    while True:
        files = [item for item in items if isinstance(item, File)]
        tops = {file.parts[0] for file in files}
        holds_folders = all(len(file.parts) > 2 or file.parts[1:] == (METADATA_NAME,) for file in files)
        if len(tops) != 1 or not holds_folders:
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
    return Person(id=name, canvas_id=match["user"]), (_CANVAS_COPY.sub("", match["rest"]),)


def _classroom(parts: tuple[str, ...]) -> Where | None:
    """A repository called `<assignment>-<username>` in the folder `<assignment>-submissions`."""
    if len(parts) < 3 or not parts[0].endswith("-submissions"):
        return None
    prefix = parts[0].removesuffix("submissions")
    if not parts[1].startswith(prefix) or parts[1] == prefix:
        return None
    return Person(id=parts[1].removeprefix(prefix)), parts[2:]


def _folders(parts: tuple[str, ...]) -> Where | None:
    return (Person(id=parts[0]), parts[1:]) if len(parts) > 1 else None


def _gradescope(found: Sequence[File | Problem], metadata: File) -> tuple[list[Attempt], list[Message]]:
    known: list[Attempt] = []
    told: set[int] = set()
    for folder, people in _submitters(metadata):
        items = [item for item in found if item.parts[:1] == (folder,)]
        told.update(map(id, items))
        for person in people:
            attempt = Attempt(person)
            attempt.files = {item.parts[1:]: item.data for item in items if isinstance(item, File)}
            attempt.problems = [item.message for item in items if isinstance(item, Problem)]
            known.append(attempt)
    return known, [item.message for item in found if isinstance(item, Problem) and id(item) not in told]


def _submitters(metadata: File) -> Iterator[tuple[str, list[Person]]]:
    """The folders that the metadata name, with whose they are."""
    import yaml

    try:
        data = yaml.safe_load(metadata.data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_NAME}: {str(error).splitlines()[0]}") from error
    if not isinstance(data, Mapping):
        raise UsageError(f"{METADATA_NAME}: no mapping of submissions")
    for folder, said in data.items():
        if not isinstance(folder, str) or not isinstance(said, Mapping):
            continue
        people = said.get(":submitters") or []
        created = said.get(":created_at")
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
