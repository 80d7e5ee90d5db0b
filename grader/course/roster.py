"""A roster: who belongs to a group, from a CSV file or a workbook, in whatever columns a system writes it.

Moodle's grading worksheet and GitHub Classroom's list are rosters too: they say when the work was handed in.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from grader.course.people import Person
from grader.course.times import parse_time
from grader.errors import UsageError
from grader.files import TooLarge, read_plain
from grader.message import msg

MAX_BYTES = 8 << 20
MAX_ROWS = 20_000

# By the heading of a column, in small letters: what a person's record calls it.
_HEADINGS = {
    "id": ("id", "login", "username", "user", "folder", "github_username", "студент", "логин", "папка"),
    "name": (
        *("name", "full name", "student", "roster_identifier", "фио", "ф.и.о.", "ф. и. о.", "полное имя"),
        *("имя и фамилия", "фамилия и имя", "фамилия имя", "фамилия имя отчество", "фамилия, имя, отчество"),
        *("фио студента", "фио обучающегося"),
    ),
    "first": ("first name", "имя"),
    "last": ("last name", "surname", "фамилия"),
    "middle": ("middle name", "отчество"),
    "group": ("group", "section", "группа", "учебная группа"),
    "email": (
        *("email", "e-mail", "mail", "email address", "e-mail address", "почта", "адрес электронной почты"),
        *("эл. почта", "электронная почта", "электронный адрес"),
    ),
    "number": (
        *("number", "id number", "student id", "student number", "sis user id", "sid", "индивидуальный номер", "номер"),
        *("зачетка", "зачетная книжка", "№ зачетки", "номер зачетки", "№ зачетной книжки", "номер зачетной книжки"),
        *("студенческий билет", "№ студенческого билета", "номер студенческого билета"),
    ),
    "participant": ("identifier", "идентификатор"),
    "handed_in": (
        *("handed_in", "handed in", "submitted", "submission_timestamp", "last modified (submission)", "сдано"),
        *("дата сдачи", "последнее изменение (ответ)", "последнее изменение (представленный ответ)"),
    ),
    "extra_days": ("extra_days", "extra days", "extra time", "доп. дни", "дополнительные дни", "продление"),
}
_FIELDS = {heading: name for name, headings in _HEADINGS.items() for heading in headings}
_SEPARATOR = re.compile(r"sep=([;,\t])\r?\n", re.IGNORECASE)
"""A first line for spreadsheets alone."""
_TELL_WHO = frozenset({"id", "name", "last", "email", "number", "participant"})
MAX_TITLE_ROWS = 30
"""That may stand above the headings: what the list is of, who has made it."""
_NOTHING = ("", "-", "–", "—")
_PATRONYMIC = re.compile(r"\w{2,}(?:ич|[вшч]на)|оглы|кызы")


def read_roster(path: Path) -> list[Person]:
    """The students in a roster, in its order.

    Raises
    ------
    UsageError : it cannot be read, has no column that tells who a student is, or a line of it is wrong.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".xlsx":
            rows: Iterable[Sequence[str]] = list(_workbook(path))
        elif suffix in (".csv", ".tsv", ".txt"):
            rows = list(_csv(read_plain(path, MAX_BYTES)))
        else:
            raise UsageError(msg("course.roster_kind", path=str(path)))
    except TooLarge as error:
        raise UsageError(msg("course.roster_unread", path=str(path), reason=f"> {MAX_BYTES >> 20} MiB")) from error
    except (OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(msg("course.roster_unread", path=str(path), reason=reason)) from error
    return _students(path, rows)


def _students(path: Path, rows: Iterable[Sequence[str]]) -> list[Person]:
    lines = enumerate(rows, 1)
    tables = (_columns(row) for _line, row in islice(lines, MAX_TITLE_ROWS))
    columns = next((table for table in tables if table.keys() & _TELL_WHO), None)
    if columns is None:
        raise UsageError(msg("course.roster_columns", path=str(path)))
    found: list[Person] = []
    known: set[str] = set()
    for line, row in lines:
        cells = {name: row[index].strip() for name, index in columns.items() if index < len(row)}
        if not any(cells.values()):
            continue
        try:
            listed = _listed(cells)
        except UsageError as error:
            raise UsageError(msg("course.roster_line", path=str(path), line=line, what=error.message)) from error
        if not listed.id:
            # A line below the table.
            continue
        apart = listed.number or listed.email or listed.participant
        if listed.id in known and not cells.get("id") and apart:
            # Two of one name.
            listed = msgspec.structs.replace(listed, id=f"{listed.id} {apart}")
        if listed.id in known:
            raise UsageError(msg("course.roster_twice", path=str(path), line=line, student=listed.id))
        known.add(listed.id)
        found.append(listed)
    return found


def _columns(headings: Sequence[str]) -> dict[str, int]:
    """Where what is known of a person stands, by the headings of a table: of two columns alike the first."""
    named = [_FIELDS.get(_folded(heading.strip("\ufeff").rstrip(" :*"))) for heading in headings]
    return {name: index for index, name in reversed(list(enumerate(named))) if name is not None}


def _folded(text: str) -> str:
    """A text in small letters with single blanks, and without ё, which half of the writers of a name leave out."""
    return " ".join(text.lower().replace("ё", "е").split())


def _listed(cells: dict[str, str]) -> Person:
    given = [cells.get(name, "") for name in ("last", "first", "middle")]
    name = cells.get("name", "") or " ".join(filter(None, given))
    participant = "".join(filter(str.isdigit, cells.get("participant", "")))
    when = cells.get("handed_in", "")
    extra = cells.get("extra_days", "")
    try:
        days = float(extra.replace(",", ".")) if extra not in _NOTHING else 0.0
    except ValueError as error:
        raise UsageError(msg("course.no_days", text=extra[:40])) from error
    return Person(
        id=cells.get("id") or name or cells.get("email") or cells.get("number") or participant,
        name=name,
        group=cells.get("group", ""),
        email=cells.get("email", ""),
        number=cells.get("number", ""),
        participant=participant,
        handed_in=parse_time(when).isoformat() if when not in _NOTHING else "",
        extra_days=days,
    )


def _csv(data: bytes) -> Iterator[list[str]]:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        # "Unicode text", as spreadsheets call it.
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1251", errors="replace")
    told = _SEPARATOR.match(text)
    if told:
        return csv.reader(io.StringIO(text[told.end() :], newline=""), delimiter=told[1])
    first = "\n".join(text.split("\n", MAX_TITLE_ROWS)[:MAX_TITLE_ROWS])
    delimiter = max(";,\t", key=first.count)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _workbook(path: Path) -> Iterator[list[str]]:
    from zipfile import BadZipFile

    from openpyxl import load_workbook

    if path.stat().st_size > MAX_BYTES:
        raise TooLarge(path.stat().st_size)
    try:
        sheet = load_workbook(path, read_only=True, data_only=True).worksheets[0]
        for row in sheet.iter_rows(values_only=True, max_row=MAX_ROWS):
            yield [_shown(value) for value in row]
    except (BadZipFile, KeyError, ValueError, IndexError, AttributeError) as error:
        raise UsageError(msg("course.roster_unread", path=str(path), reason=str(error))) from error


def _shown(value: object) -> str:
    """A cell as text: numbers of students come as 123.0."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Matching:
    """Finds a student's line in a roster by whatever both know of them."""

    def __init__(self, roster: Sequence[Person]) -> None:
        self._by_key: dict[tuple[str, str], Person | None] = {}
        for listed in roster:
            for key in _keys(listed):
                # Two of one name are told apart by something else, or not at all.
                self._by_key[key] = listed if self._by_key.get(key, listed) is listed else None

    def find(self, person: Person) -> Person | None:
        """The student's line; None where there is none, or several could be meant."""
        for key in _keys(person):
            listed = self._by_key.get(key)
            if listed is not None:
                return listed
        return None


def _keys(person: Person) -> Iterator[tuple[str, str]]:
    """What tells who a student is, surest first."""
    for name in ("participant", "number", "email", "id", "name"):
        value = _folded(str(getattr(person, name)))
        if value:
            # A folder is called by any of them.
            yield ("participant" if name == "participant" else "any", value)
    words = sorted(_folded(person.name).split())
    if len(words) > 1:
        yield "words", " ".join(words)
        # Lists have patronymics, and systems often not.
        yield "short", " ".join(words)
        for word in words if len(words) > 2 else []:
            if _PATRONYMIC.fullmatch(word):
                yield "short", " ".join(other for other in words if other != word)
        # Canvas writes a name as one word, and in Moodle the folder may be called "Имя Фамилия".
        yield "letters", "".join(sorted("".join(words)))
    yield "letters", "".join(sorted("".join(_folded(person.id).split())))


def merged(person: Person, listed: Person) -> Person:
    """What an export and the roster know of one student; the roster's word counts, but for the id of the results."""
    known = {name: getattr(listed, name) or getattr(person, name) for name in Person.__struct_fields__}
    known["handed_in"] = person.handed_in or listed.handed_in
    return msgspec.structs.replace(person, **{**known, "id": person.id})
