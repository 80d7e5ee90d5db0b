"""Whose work is to be graded: folders, exports of learning systems, and a roster that says who should be there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from grader.course.people import Person
from grader.course.roster import Matching, merged
from grader.course.times import parse_time, zoned
from grader.errors import UsageError
from grader.files import kind_of
from grader.grading.students import Found, Work, distinct, find_works, group_folder
from grader.intake.archives import UNREAD, is_archive
from grader.intake.handed_in import HandedIn, Unpacked, unpack
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
) -> Found:
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
    found = Found((), False)
    if others or not archives:
        found = find_works(others, lab_id, known_labs, out, variants, is_single)
    works, notices = list(found.works), list(found.notices)
    if archives:
        handed_in = [(archive, *unpack(archive, out / UNPACKED_NAME)) for archive in archives]
        latest, told = _latest(handed_in)
        works += latest
        notices += told
    if roster is not None:
        works, told = _listed(works, roster)
        notices += told
    return Found(distinct(works), found.is_single and not archives, tuple(notices))


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
            found = find_works([path], lab_id, known_labs, out, variants, is_single)
            folders.append(group_folder(path, lab_id) if found.is_single else path)
    return list(dict.fromkeys(folders))


def _latest(exports: Sequence[tuple[Path, Path, Unpacked]]) -> tuple[list[Work], list[Message]]:
    """Each student's last attempt of those in several exports, and what there is to tell."""
    by_student: dict[str, list[tuple[Path, Path, HandedIn]]] = {}
    notices: list[Message] = []
    for archive, folder, unpacked in exports:
        notices += [msg("intake.problem", student=archive.name, what=problem) for problem in unpacked.problems]
        for work in unpacked.works:
            by_student.setdefault(work.person.id, []).append((archive, folder / work.folder, work))
            for problem in work.problems:
                notices.append(msg("intake.problem", student=work.person.id, what=problem))
    found = []
    for student, attempts in by_student.items():
        archive, path, work = attempts[0]
        refusal = work.refusal
        if len(attempts) > 1:
            known = [zoned(parse_time(w.person.handed_in), None) for _a, _p, w in attempts if w.person.handed_in]
            if len(known) == len(attempts):
                archive, path, work = attempts[known.index(max(known))]
                refusal = work.refusal
                notices.append(msg("intake.earlier", student=student, archive=str(archive)))
            else:
                refusal = msg("intake.twice", archives=", ".join(str(a) for a, _p, _w in attempts))
        found.append(Work(path, student, refusal, work.person))
    return found, notices


def _listed(works: Sequence[Work], roster: Sequence[Person]) -> tuple[list[Work], list[Message]]:
    """The works with what the roster knows, those of nobody in it too, and who handed in nothing.

    In the roster's order; those of nobody in it come last.
    """
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
    found = []
    for listed in roster:
        if listed.id in by_line:
            found += by_line[listed.id]
        else:
            student = printable(listed.id)
            person = msgspec.structs.replace(listed, id=student)
            found.append(Work(Path(), student, msg("intake.nothing"), person))
    return found + others, notices
