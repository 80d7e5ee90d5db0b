"""Whose work is to be graded: folders, exports of learning systems, and a roster that says who should be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from grader.course.archives import UNREAD, is_archive
from grader.course.handed_in import HandedIn, Unpacked, unpack
from grader.course.roster import Matching, Person, merged, parse_time, zoned
from grader.errors import UsageError
from grader.files import kind_of
from grader.grading.students import Gathered, Work, distinct, find_works, group_folder
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.naming import printable

UNPACKED_NAME = ".handed-in"
"""The folder, among the outputs, that exports are unpacked to."""


def gather(
    paths: Sequence[Path],
    lab_id: str,
    known_labs: Collection[str],
    out: Path,
    roster: Sequence[Person] | None,
    variants: Sequence[Variant] = (),
    is_single: bool = False,
) -> Gathered:
    """The works that `paths` stand for, archives among them, by students' ids.

    variants: the lab's.  is_single: a folder is one student's work, whatever folders it holds.
    roster: with it, names come from there, and who handed in nothing is a work that is refused.

    Raises
    ------
    UsageError : a path or an archive cannot be read; see `find_works`.
    """
    for path in paths:
        if path.name.lower().endswith(UNREAD) and kind_of(path) == "file":
            raise UsageError(msg("intake.unread", name=str(path)))
    archives = [path for path in dict.fromkeys(paths) if is_archive(path.name) and kind_of(path) == "file"]
    others = [path for path in paths if path not in archives]
    gathered = Gathered((), is_single=False)
    if others or not archives:
        gathered = find_works(others, lab_id, known_labs, out, variants, is_single)
    works, notices = list(gathered.works), list(gathered.notices)
    if archives:
        handed_in = [(archive, *unpack(archive, out / UNPACKED_NAME)) for archive in archives]
        latest, further = _latest(handed_in)
        works += latest
        notices += further
    if roster is not None:
        works, further = _listed(works, roster)
        notices += further
    return Gathered(distinct(works), gathered.is_single and not archives, tuple(notices))


def course_folders(
    paths: Sequence[Path],
    lab_id: str,
    known_labs: Collection[str],
    out: Path,
    variants: Sequence[Variant] = (),
    is_single: bool = False,
) -> list[Path]:
    """Where what holds for a whole group is looked for: in the group's folder, never in a student's own.

    Raises
    ------
    UsageError : see `find_works`.
    """
    folders = []
    for path in paths:
        if is_archive(path.name) and kind_of(path) == "file":
            folders.append(path.parent)
        else:
            gathered = find_works([path], lab_id, known_labs, out, variants, is_single)
            folders.append(group_folder(path, lab_id) if gathered.is_single else path)
    return list(dict.fromkeys(folders))


def _latest(exports: Sequence[tuple[Path, Path, Unpacked]]) -> tuple[list[Work], list[Message]]:
    """Each student's last attempt of those in several exports, and what there is to tell."""
    by_student: dict[str, list[_Attempt]] = {}
    notices: list[Message] = []
    for archive, folder, unpacked in exports:
        notices += [msg("intake.problem", student=archive.name, what=problem) for problem in unpacked.problems]
        for work in unpacked.works:
            by_student.setdefault(work.person.key, []).append(_Attempt(archive, folder / work.folder, work))
            for problem in work.problems:
                notices.append(msg("intake.problem", student=work.person.id, what=problem))
    works = []
    lasts = {key: _last(attempts) for key, attempts in by_student.items()}
    people = {key: (lasts[key] or attempts[0]).work.person for key, attempts in by_student.items()}
    names = Counter(person.id for person in people.values())
    for key, attempts in by_student.items():
        last, person = lasts[key], people[key]
        if names[person.id] > 1 and key != person.id:
            # Two of one name, in one export each.
            person = msgspec.structs.replace(person, id=f"{person.id} {key}")
        if last is None:
            archives = ", ".join(str(attempt.archive) for attempt in attempts)
            works.append(Work(attempts[0].path, person.id, msg("intake.twice", archives=archives), person))
            continue
        if len(attempts) > 1 and not _are_the_same(attempts):
            notices.append(msg("intake.earlier", student=person.id, archive=str(last.archive)))
        works.append(Work(last.path, person.id, last.work.refusal, person))
    return works, notices


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a student handed in, as one of several exports has it; path: where it is unpacked."""

    archive: Path
    path: Path
    work: HandedIn

    @property
    def time(self) -> datetime | None:
        text = self.work.person.handed_in
        return zoned(parse_time(text), None) if text else None


def _last(attempts: Sequence[_Attempt]) -> _Attempt | None:
    """The last in time, the earlier of two that are the same; None where nobody can tell which it is."""
    times = [attempt.time for attempt in attempts]
    given = [time for time in times if time is not None]
    if len(given) == len(attempts):
        latest = max(given)
        attempts = [attempt for attempt, time in zip(attempts, times, strict=True) if time == latest]
    return attempts[0] if _are_the_same(attempts) else None


def _are_the_same(attempts: Sequence[_Attempt]) -> bool:
    """Whether they hold the same files: an export that was downloaded twice."""
    if len(attempts) == 1:
        return True
    held = [
        {path.relative_to(attempt.path): path.read_bytes() for path in attempt.path.rglob("*") if path.is_file()}
        for attempt in attempts
    ]
    return all(files == held[0] for files in held)


def _listed(works: Sequence[Work], roster: Sequence[Person]) -> tuple[list[Work], list[Message]]:
    """The works with what the roster knows, those of nobody in it too, and who handed in nothing.

    In the roster's order; those of nobody in it come last.
    """
    roster = [msgspec.structs.replace(person, place=place) for place, person in enumerate(roster, 1)]
    matching = Matching(roster)
    people = [work.person or Person(id=work.student, name="") for work in works]
    lines = [matching.find(person) for person in people]
    claims: dict[str, list[int]] = {}
    for place, listed in enumerate(lines):
        if listed is not None:
            claims.setdefault(listed.id, []).append(place)
    by_line: dict[str, list[Work]] = {}
    others, notices = [], []
    for place, (work, person, listed) in enumerate(zip(works, people, lines, strict=True)):
        if listed is None:
            notices.append(msg("course.not_in_roster", student=work.student))
            others.append(work)
            continue
        rivals = claims[listed.id]
        if len(rivals) > 1:
            # One line is one student: marks of two must not go to the same number.
            if place == rivals[0]:
                students = ", ".join(works[other].student for other in rivals)
                notices.append(msg("course.one_line_for_many", students=students, listed=listed.id))
            by_line.setdefault(listed.id, []).append(work)
        else:
            by_line[listed.id] = [replace(work, person=merged(person, listed))]
    listed_works = []
    for listed in roster:
        if listed.id in by_line:
            listed_works += by_line[listed.id]
        else:
            student = printable(listed.id)
            person = msgspec.structs.replace(listed, id=student)
            listed_works.append(Work(Path(), student, msg("intake.nothing"), person))
    return listed_works + others, notices
