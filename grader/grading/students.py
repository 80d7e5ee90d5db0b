"""Whose work is to be graded: what folders and exports of learning systems hold, one student's work or a group's, and a
roster that says who should be there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import msgspec

from grader.course.archives import UNREAD, is_archive
from grader.course.handed_in import HandedIn, Unpacked, unpack
from grader.course.roster import Matching, Person, composed, merged, parse_time, zoned
from grader.errors import UsageError, describe_os_error
from grader.files import kind_of
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.naming import printable
from grader.submission.search import HOST_SUFFIXES, SETTINGS_NAME, SUFFIXES

RESULT_PATTERN = "*/*/result.json"
"""Below a folder of outputs: student, lab, result."""

# Beside students' folders there is no code.
_OF_PROGRAMS = (*HOST_SUFFIXES, ".h", ".hpp", ".cuh")
_PART = re.compile(
    r"src|sources?|code|include|inc|headers?|libs?|utils?|common|helpers?|kernels?|cuda|gpu|cpu|host|device|data|images?"
    r"|img|docs?|tests?|scripts?|build|bin|out|outputs?|results?|reports?"
)
_VERSION = re.compile(
    r"(v|ver|version|var|variant|lab|task|attempt|try|part|step|hw|ex|лр|лаб|лаба|задание|задача|попытка|вариант|часть)?"
    r"[ _.-]*\d+|(old|new|final|backup|copy|draft|done|fixed|старое|новое|итог|копия)([ _.-]*\d+)?"
)


@dataclass(frozen=True, slots=True)
class Work:
    """One student's work.

    student: their id; refusal: why it is not graded, None when it is; person: what an export or a roster knows of them.
    """

    path: Path
    student: str
    refusal: Message | None = None
    person: Person | None = None

    @property
    def name(self) -> str:
        """What the student is called where people read it."""
        return self.person.name if self.person is not None and self.person.name else self.student


@dataclass(frozen=True, slots=True)
class Gathered:
    """Works in order, whether they are one student's work only, and what to tell of the rest."""

    works: tuple[Work, ...]
    is_single: bool
    notices: tuple[Message, ...] = ()


def find_works(
    paths: Sequence[Path],
    lab_id: str,
    known_labs: Collection[str],
    out: Path,
    variants: Sequence[Variant] = (),
    is_single: bool = False,
) -> Gathered:
    """The works that `paths` stand for; `out`, the folder of outputs, is none, wherever it lies.

    variants: the lab's, after which one student's folders may be called.
    is_single: each path is one student's work, whatever folders it holds.

    Raises UsageError: no such path, one that cannot be read, or a folder with nothing in it that could be a student's
    work.
    """
    try:
        by_path = [_find(path, lab_id, {lab_id, *known_labs}, out, variants, is_single) for path in paths]
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    works = tuple(dict.fromkeys(work for one in by_path for work in one.works))
    notices = tuple(notice for one in by_path for notice in one.notices)
    return Gathered(distinct(works), len(by_path) == 1 and by_path[0].is_single, notices)


def _find(
    path: Path, lab_id: str, labs: Collection[str], out: Path, variants: Sequence[Variant], is_single: bool
) -> Gathered:
    # Unlike `exists`, this tells "not there" from "must not be looked at".
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(msg("session.no_such_path", path=str(path))) from error
    if is_single or not path.is_dir():
        return Gathered((_lone(path, lab_id),), is_single=True)
    folder = _Folder(path, lab_id, labs, out, variants)
    if not folder.is_group:
        return Gathered((_lone(path, lab_id),), is_single=True, notices=tuple(folder.passed_over(folder.students)))
    entries = folder.entries
    groups = folder.groups_below()
    if groups:
        return _of_groups(path, [_find(group, lab_id, labs, out, variants, is_single) for group in groups], groups)
    if not entries:
        return Gathered((_lone(path, lab_id),), is_single=True)
    notices = [
        *folder.passed_over(folder.sources),
        *(msg("session.results_folder", path=str(report)) for report in folder.outputs),
    ]
    return Gathered(tuple(_work(entry, entries) for entry in entries), is_single=False, notices=tuple(notices))


def _of_groups(path: Path, gathered: Sequence[Gathered], groups: Sequence[Path]) -> Gathered:
    """Return the works of a course's groups; students of one name are told apart by their groups."""
    counts = Counter(work.student for one in gathered for work in one.works)
    works = []
    for one, group in zip(gathered, groups, strict=True):
        name = _student(group.name)
        for work in one.works:
            student = work.student if counts[work.student] == 1 else f"{work.student} ({name})"
            works.append(replace(work, student=student, person=Person(id=student, group=name)))
    summary = msg("session.groups", path=str(path), groups=", ".join(group.name for group in groups))
    return Gathered(
        tuple(works), is_single=False, notices=(summary, *(notice for one in gathered for notice in one.notices))
    )


def _student(name: str) -> str:
    return composed(printable(name))


def _lone(path: Path, lab_id: str) -> Work:
    """Return a work that is named by itself, under its student's name."""
    owner = _owner(path, lab_id)
    return Work(path, _student(owner.name if owner.is_dir() else owner.stem))


def group_folder(path: Path, lab_id: str) -> Path:
    """Return the folder of the group that the work at `path`, which is named by itself, belongs to."""
    return _owner(path.resolve() if path.is_dir() else path, lab_id).parent


def _owner(path: Path, lab_id: str) -> Path:
    """Return the student's folder that the work at `path` lies in or is, or the file itself where it lies in none."""
    if path.is_dir():
        named = path if path.name not in ("", "..") else path.resolve()
        return named.resolve().parent if named.name == lab_id and _sources_in(named) else named
    parent = path.parent.resolve()
    if parent.name == lab_id:
        return parent.parent
    is_own_folder = path.stem == lab_id or _exists(parent / SETTINGS_NAME)
    return parent if is_own_folder else parent / path.name


def _work(entry: Path, entries: Sequence[Path]) -> Work:
    """A folder of a group; a link to another of its folders would have that one's owner graded twice.

    And one that leads out of the group's folder would have graded what nobody handed in.
    """
    student = _student(entry.name)
    if entry.is_symlink():
        target = entry.resolve()
        if not target.is_relative_to(entry.parent.resolve()):
            return Work(entry, student, msg("session.link_out"))
        same = next((other for other in entries if not other.is_symlink() and other.resolve() == target), None)
        if same is not None:
            return Work(entry, student, msg("session.link", other=same.name))
    return Work(entry, student)


def distinct(works: Sequence[Work]) -> tuple[Work, ...]:
    """The works with those refused that have the id of an earlier one; names that only read alike are told apart."""
    by_student: dict[str, Work] = {}
    result = []
    for work in works:
        first = by_student.get(work.student)
        if first is None:
            by_student[work.student] = work
        elif first.path.parent == work.path.parent:
            number = next(n for n in range(2, len(works) + 2) if f"{work.student} ({n})" not in by_student)
            work = replace(work, student=f"{work.student} ({number})")
            by_student[work.student] = work
        else:
            work = replace(work, refusal=msg("session.same_name", path=str(first.path)))
        result.append(work)
    return tuple(result)


@dataclass(slots=True)
class _Folder:
    """A folder that is a student's or a group's.

    A student's holds sources, `submission.yaml`, or folders named after labs.  A group's holds students' folders; where
    both are there, two of them tell a group, and one does if it holds what the lab asks for and the folder does not.
    """

    path: Path
    lab_id: str
    labs: Collection[str]
    out: Path
    variants: Sequence[Variant]
    sources: list[Path] = field(init=False)
    students: list[Path] = field(init=False)
    outputs: list[Path] = field(init=False)
    is_group: bool = field(init=False)
    _folders: list[Path] = field(init=False)

    def __post_init__(self) -> None:
        folders = [p for p in sorted(self.path.iterdir()) if _is_folder(p) and not p.name.startswith((".", "__"))]
        self.outputs = [p for p in folders if self._is_output(p)]
        self._folders = [p for p in folders if p not in self.outputs]
        self.sources = _sources_in(self.path)
        others = [p for p in self._folders if p.name not in self.labs]
        self.students = [p for p in others if self._is_work(p)]
        named_after_labs = [p for p in self._folders if p.name in self.labs]
        if _exists(self.path / SETTINGS_NAME) or (self.path.resolve().name == self.lab_id and self.sources):
            self.is_group = False
        elif not self.sources and not named_after_labs:
            self.is_group = not self._is_one_program()
        elif len(self.students) == 1:
            self.is_group = self._is_clear(self.students[0]) and not self._is_named(self.sources)
        else:
            self.is_group = len(self.students) > 1

    @property
    def entries(self) -> list[Path]:
        """A group's students: every folder, and of those named after a lab those with sources in them."""
        return [p for p in self._folders if p.name not in self.labs or _sources_in(p)]

    def groups_below(self) -> list[Path]:
        """The groups' folders of a course's folder; [] where the folders here are students'.

        Each of them holds nothing but folders, in one at least two or more hold what the lab asks for, and these are
        called after people: neither like parts, versions or labs nor the same in several folders.
        """
        # Parts of one program at different depths, a course's other papers: whatever holds files is no group's folder.
        folders = [folder for folder in self._folders if not self._is_empty(folder)]
        if any(folder.name in self.labs or folder.is_symlink() or self._is_work(folder) for folder in folders):
            return []
        below = [[p for p in _children(folder) if _is_folder(p) and self._is_clear(p)] for folder in folders]
        names = [p.name.lower() for students in below for p in students]
        if max(map(len, below), default=0) < 2 or len(set(names)) * 2 <= len(names):
            return []
        are_people = not any(
            _PART.fullmatch(name) or _VERSION.fullmatch(name) or _is_called_after(name, self.variants) for name in names
        )
        return folders if are_people else []

    def _is_empty(self, folder: Path) -> bool:
        return not any(_is_folder(p) or p.suffix.lower() in SUFFIXES for p in _children(folder))

    def passed_over(self, paths: Sequence[Path]) -> list[Message]:
        """What to tell of works that lie where none are graded."""
        return [msg("session.passed_over", path=str(path), lab=self.lab_id) for path in paths]

    def _is_one_program(self) -> bool:
        """Whether the folders below are parts of one student's work: `src` and `include`, `naive` and `tiled`."""
        names = [folder.name.lower() for folder in self.students]
        if not names:
            return False
        has_files = any(path.suffix.lower() in _OF_PROGRAMS and not _is_folder(path) for path in _children(self.path))
        if has_files or all(_PART.fullmatch(name) for name in names):
            return True
        return len(names) > 1 and all(_is_called_after(name, self.variants) for name in names)

    def _is_output(self, folder: Path) -> bool:
        if _exists(self.out) and folder.samefile(self.out):
            return True
        return not _sources_in(folder) and any(True for _result in folder.glob(RESULT_PATTERN))

    def _is_work(self, folder: Path) -> bool:
        if _sources_in(folder) or _exists(folder / SETTINGS_NAME):
            return True
        return any(_sources_in(p) for p in _children(folder) if p.name in self.labs)

    def _is_clear(self, folder: Path) -> bool:
        """Whether a folder holds what the lab asks for, under the name that it asks for."""
        if _exists(folder / SETTINGS_NAME) or _sources_in(folder / self.lab_id):
            return True
        return self._is_named(_sources_in(folder))

    def _is_named(self, sources: Sequence[Path]) -> bool:
        return any(p.stem.lower() == self.lab_id.lower() for p in sources)


def _is_called_after(name: str, variants: Sequence[Variant]) -> bool:
    """Whether a whole word of a folder's name is a variant's: `tiled`, `row_buffer`, not `caroline`."""
    for variant in variants:
        for pattern in (re.escape(variant.name), *variant.names):
            for match in re.finditer(pattern, name, re.IGNORECASE):
                begins = not name[: match.start()][-1:].isalnum()
                if begins and not name[match.end() :][:1].isalpha() and match[0] and not match[0].isdigit():
                    return True
    return False


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        # Told when this student is graded.
        return []


def _sources_in(folder: Path) -> list[Path]:
    return [p for p in _children(folder) if p.suffix.lower() in SUFFIXES and p.name[0] != "." and not _is_folder(p)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


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

    Raises UsageError: a path or an archive cannot be read; see `find_works`.
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

    Raises UsageError: see `find_works`.
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
    """Return each student's last attempt of those in several exports, and notices."""
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
    """Return the latest attempt, the first of equal ones; None where it cannot be determined."""
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
