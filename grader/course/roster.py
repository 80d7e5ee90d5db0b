"""Who belongs to a group: from a CSV file or a workbook, in whatever columns a system writes it.

Moodle's grading worksheet and GitHub Classroom's list are rosters too: they say when the work was handed in.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, tzinfo
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from grader.errors import UsageError
from grader.files import TooLarge, read_plain
from grader.measured import Record
from grader.message import Message, msg

if TYPE_CHECKING:
    from openpyxl.cell import Cell, MergedCell
    from openpyxl.worksheet.worksheet import Worksheet


def composed(text: str) -> str:
    """A text as people type it: a Mac takes the letters of names apart (`й` is `и` and a breve; NFC, UAX #15)."""
    return unicodedata.normalize("NFC", text)


def sorted_as(name: str) -> str:
    """What a name is sorted by: capitals as small letters, ё as е, Latin letters without their accents."""
    whole = composed(name).casefold().replace("ё", "е")
    # The breve of й is no accent: it is a letter of its own.
    return "".join(
        unicodedata.normalize("NFD", letter)[0] if unicodedata.name(letter, "").startswith("LATIN") else letter
        for letter in whole
    )


class Person(Record, frozen=True):
    """A student as a roster or a learning system's export knows them; "" where nothing is known.

    id: their folder's name, by which results go.  login: what the roster calls them, where that is something else.
    number: the university's (a record book's, an SIS id).
    participant: Moodle's number of a participant, as its exports write it.  canvas_id: Canvas's number of a user.
    team: what those have in common who handed in one work together.
    place: in the roster, from 1; 0 for who is in none.
    handed_in: when the work that counts was handed in, ISO 8601.  extra_days: by how much its deadline is later.
    """

    id: str
    login: str = ""
    name: str = ""
    group: str = ""
    email: str = ""
    number: str = ""
    participant: str = ""
    canvas_id: str = ""
    handed_in: str = ""
    extra_days: float = 0.0
    team: str = ""
    place: int = 0

    @property
    def key(self) -> str:
        """What tells two of one name apart in the exports of a system."""
        return self.participant or self.canvas_id or self.id


_ENGLISH = "january february march april may june july august september october november december"
_RUSSIAN = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
_MONTHS = {name: number for names in (_ENGLISH, _RUSSIAN) for number, name in enumerate(names.split(), 1)}
_NUMBERS = re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?:,? +(?P<clock>.+))?")
_WORDS = re.compile(
    r"(?:\w+, )?(?P<day>\d{1,2}) (?P<month>[^\W\d]+) (?P<year>\d{4})(?: г\.)?(?:,? +(?:at )?(?P<clock>.+))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))? ?(?P<half>am|pm)?", re.IGNORECASE)
_RUBY = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)")


def parse_time(text: str) -> datetime:
    """A time: ISO 8601, `05.09.2026 18:14`, and Moodle's "Saturday, 5 September 2026, 6:14 PM", in Russian too.

    Without a zone where none is written.  A day alone means its end.

    Raises UsageError: it is none of these.
    """
    text = " ".join(text.replace("\u202f", " ").replace("\u00a0", " ").split())
    ruby = _RUBY.fullmatch(text)
    if ruby:
        # Python 3.11 knows six digits, and of more the first six.
        text = ruby[1] + (ruby[2] or "") + ("+00:00" if ruby[3] in ("Z", "UTC") else ruby[3])
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.fromisoformat(text).replace(hour=23, minute=59, second=59)
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    match = _NUMBERS.fullmatch(text) or _WORDS.fullmatch(text)
    if match is not None:
        month = match["month"]
        number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
        clock = _CLOCK.fullmatch(match["clock"]) if match["clock"] else None
        if number and (clock is not None or not match["clock"]):
            hour, minute, second = 23, 59, 59
            if clock is not None:
                hour, minute, second = int(clock["hour"]), int(clock["minute"]), int(clock["second"] or 0)
                if clock["half"]:
                    hour = hour % 12 + (12 if clock["half"].lower() == "pm" else 0)
            try:
                return datetime(int(match["year"]), number, int(match["day"]), hour, minute, second)
            except ValueError:
                pass
    raise UsageError(msg("course.no_time", text=text[:60]))


def zoned(time: datetime, zone: tzinfo | None) -> datetime:
    """`time` in UTC; one without a zone is of `zone`, None for that of this machine."""
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone) if zone is not None else time.astimezone()
    return time.astimezone(UTC)


# A roster: who belongs to a group, from a CSV file or a workbook, in whatever columns a system writes it.
#
# Moodle's grading worksheet and GitHub Classroom's list are rosters too: they say when the work was handed in.

MAX_BYTES = 8 << 20
MAX_UNPACKED_BYTES = 128 << 20
"""Largest size of an unpacked workbook (which is an archive)."""
MAX_ROWS = 20_000
MAX_COLUMNS = 200
MAX_GAP_ROWS = 200

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
"""How many rows may stand above the headings: what the list is of, who has made it."""
_NOTHING = ("", "-", "–", "—")
_PATRONYMIC = re.compile(r"\w{2,}(?:ич|[вшч]на)|оглы|кызы")


def read_roster(path: Path) -> list[Person]:
    """The students in a roster, in its order.

    Raises UsageError: it cannot be read, has no column that tells who a student is, or a line of it is wrong.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".xlsx":
            sheets = _workbook(path)
            # Before the table there may be a sheet with a title.
            rows = next((sheet for sheet in sheets if any(map(_tells_who, sheet[:MAX_TITLE_ROWS]))), [])
        elif suffix in (".csv", ".tsv", ".txt"):
            rows = _csv(path)
        else:
            raise UsageError(msg("course.roster_kind", path=str(path)))
    except TooLarge as error:
        raise UsageError(msg("course.roster_unread", path=str(path), reason=f"> {MAX_BYTES >> 20} MiB")) from error
    except OSError as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(msg("course.roster_unread", path=str(path), reason=reason)) from error
    return _students(path, rows)


def _tells_who(row: Sequence[str]) -> bool:
    return bool(_columns(row).keys() & _TELL_WHO)


def _students(path: Path, rows: Iterable[Sequence[str]]) -> list[Person]:
    lines = enumerate(rows, 1)
    headings = next((row for _line, row in islice(lines, MAX_TITLE_ROWS) if _tells_who(row)), None)
    if headings is None:
        raise UsageError(msg("course.roster_columns", path=str(path)))
    columns = _columns(headings)
    people: list[Person] = []
    ids: set[str] = set()
    for line, row in lines:
        for index in columns.values():
            cell = row[index] if index < len(row) else ""
            if isinstance(cell, _NoText):
                raise UsageError(msg("course.roster_line", path=str(path), line=line, what=cell.why))
        cells = {name: composed(row[index].strip()) for name, index in columns.items() if index < len(row)}
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
        if listed.id in ids and not cells.get("id") and apart:
            # Two of one name.
            listed = msgspec.structs.replace(listed, id=f"{listed.id} {apart}")
        if listed.id in ids:
            raise UsageError(msg("course.roster_twice", path=str(path), line=line, student=listed.id))
        ids.add(listed.id)
        people.append(listed)
    return people


def _columns(headings: Sequence[str]) -> dict[str, int]:
    """Return the column of each field by a table's headings; the first of two with the same heading."""
    named = [_FIELDS.get(_folded(heading.strip("\ufeff").rstrip(" :*"))) for heading in headings]
    return {name: index for index, name in reversed(list(enumerate(named))) if name is not None}


def _folded(text: str) -> str:
    """Return a text in small letters with single blanks and without ё, which half of all writers leave out."""
    return " ".join(composed(text).lower().replace("ё", "е").split())


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


def _csv(path: Path) -> list[list[str]]:
    data = read_plain(path, MAX_BYTES)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        # "Unicode text", as spreadsheets call it.
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1251", errors="replace")
    separator = _SEPARATOR.match(text)
    if separator:
        text, delimiter = text[separator.end() :], separator[1]
    else:
        first = "\n".join(text.split("\n", MAX_TITLE_ROWS)[:MAX_TITLE_ROWS])
        delimiter = max(";,\t", key=first.count)
    # Strict: a quote without its other one would make one cell of all students that follow.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    try:
        rows.extend(reader)
    except csv.Error as error:
        if "limit" in str(error):
            raise UsageError(msg("course.roster_unread", path=str(path), reason=str(error))) from error
        what = msg("course.open_quotes")
        raise UsageError(msg("course.roster_line", path=str(path), line=len(rows) + 1, what=what)) from error
    return rows


def _workbook(path: Path) -> list[list[list[str]]]:
    """Return the cells of each sheet as text; a cell merged of several is in each of them."""
    from zipfile import BadZipFile, ZipFile

    from openpyxl import load_workbook

    if path.stat().st_size > MAX_BYTES:
        raise TooLarge(path.stat().st_size)
    try:
        with ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_UNPACKED_BYTES:
            raise TooLarge(size)
        # What is shown, and what was written there.
        shown, written = (load_workbook(path, data_only=values) for values in (True, False))
        return [_sheet(one, other) for one, other in zip(shown.worksheets, written.worksheets, strict=True)]
    except (BadZipFile, KeyError, ValueError, IndexError, AttributeError, TypeError, EOFError) as error:
        raise UsageError(msg("course.roster_unread", path=str(path), reason=str(error))) from error


class _NoText(str):
    """A cell whose text cannot be determined, and why."""

    __slots__ = ("why",)
    why: Message

    def __new__(cls, why: Message) -> Self:
        self = super().__new__(cls, "?")
        self.why = why
        return self


def _sheet(shown: Worksheet, written: Worksheet) -> list[list[str]]:
    last_row, last_column = min(shown.max_row, MAX_ROWS), min(shown.max_column, MAX_COLUMNS)
    rows: list[list[str]] = []
    empty = 0
    for cells in shown.iter_rows(max_row=last_row, max_col=last_column):
        row: list[str] = []
        for cell in cells:
            is_unknown = cell.value is None and written.cell(cell.row, cell.column).data_type == "f"
            if is_unknown or cell.data_type == "e":
                problem = msg("course.no_value", cell=cell.coordinate)
                if not is_unknown:
                    problem = msg("course.error_value", cell=cell.coordinate, value=str(cell.value))
                row.append(_NoText(problem))
            else:
                row.append(_shown(cell))
        rows.append(row)
        empty = 0 if any(row) else empty + 1
        if empty > MAX_GAP_ROWS:
            # What stands below is a slip of the mouse.
            break
    for merged in shown.merged_cells.ranges:
        for row in rows[merged.min_row - 1 : merged.max_row]:
            # A title above the table would make each column one.
            if merged.min_col == merged.max_col <= last_column:
                row[merged.min_col - 1] = rows[merged.min_row - 1][merged.min_col - 1]
    return rows


def _shown(cell: Cell | MergedCell) -> str:
    """Return a cell as text: numbers of students come as 123.0, days as their midnight."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time() and "h" not in cell.number_format.lower():
        return str(value.date())
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
    for name in ("participant", "number", "email", "id", "login", "name"):
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
    fields = {name: getattr(listed, name) or getattr(person, name) for name in Person.__struct_fields__}
    fields["handed_in"] = person.handed_in or listed.handed_in
    login = listed.id if listed.id != person.id else ""
    return msgspec.structs.replace(person, **{**fields, "id": person.id, "login": login})
