"""Messages in words: the one place where a sentence that is not part of a page or of the command line is written.

The rule: whoever finds something out makes a `grader.message.Message`, an id with data.  Only this package, `report`
and `cli` know a language.  A result carries both, text in the language that was asked for and message, so it can be
said again in another one (`told`).

An id says where its words stand: those of "checks.races.none" under "none" in the area "checks.races", which a file
here lists in its `AREAS`.  Words are one of three things:

- an English text with placeholders, marked for translation: `N_("{who} waits at a barrier …")`;
- `Plural("{n} byte", "{n} bytes")`, whose form the number `n` chooses;
- a function of the data, for what a text cannot do; it calls `_` and `ngettext` itself.

Parts of sentences that are messages come as text, numbers with a fraction print with the language's decimal mark.

A new sentence takes: `msg("area.name", …)` where it is found out, an entry in its area here, its Russian in the
catalogue (`make messages`).  A test compares ids and placeholders of both sides, over the whole code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Protocol, Self, TypeVar

import msgspec

from grader import i18n
from grader.i18n import _, ngettext
from grader.message import Message, msg


@dataclass(frozen=True, slots=True)
class Plural:
    """A text whose form the number `by` of the data chooses."""

    one: str
    many: str
    by: str = "n"


Words = str | Plural | Callable[..., str]
Texts = Mapping[str, Words]


def N_(text: str) -> str:
    """`text`, marked for the catalogues; `put_in` translates it."""
    return text


def put_in(words: Words, data: Mapping[str, object]) -> str:
    """The words in the language in use, with `data` put in.

    Raises whatever `str.format` or the function raises when the data do not fit.
    """
    if isinstance(words, str):
        return _(words).format(**data)
    if isinstance(words, Plural):
        count = data[words.by]
        if not isinstance(count, int):
            raise TypeError(f"{words.by} is no whole number")
        return ngettext(words.one, words.many, count).format(**data)
    return words(**data)


def as_handed_in(reason: str, path: str) -> str:
    """Why the work at `path` is not graded, with its files called as in the student's folder.

    Where that lies on this machine is nothing to the student, nor to who reads the table.
    """
    folders = "|".join(re.escape(folder) for folder in (str(Path(path).absolute()), path))
    within = rf"(?<![\w./-])(?:{folders})(/|: |(?![\w/-]))"
    return re.sub(within, lambda match: "" if match[1] else Path(match[0]).name, reason)


# Lines of a notebook's text in words, as lines of its cells: `14 of cell 3`.
#
# A notebook's programs are texts of joined cells, whose lines nobody sees but us.  While a result is told, this knows
# the texts that it is about, and which of them is spoken of just now.

_LINE = re.compile(r"(?:\b[Ll]ines? |\{file\}:)\{(\w+)\}")
"""What stands before a line in English words; a function of the data calls its lines so, too."""
_OF_FUNCTIONS = frozenset({"line", "lines"})
_CELL_SOURCES = ("file", "in_file")


class Text(Protocol):
    """A graded file (`grader.result.Source`)."""

    @property
    def file(self) -> str: ...
    @property
    def notebook(self) -> str: ...
    def cell_at(self, line: int) -> tuple[int, int] | None: ...


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The texts by file, and the file that is spoken of."""

    texts: Mapping[str, Text] = field(default_factory=dict)
    file: str = ""

    def cell_at(self, line: int) -> tuple[int, int] | None:
        """The cell that a line of the file stands in, and its number there; None where there are none."""
        text = self.texts.get(self.file)
        return text.cell_at(line) if text is not None else None


_NOTHING = _Spoken()
_SPOKEN: ContextVar[_Spoken] = ContextVar("spoken", default=_NOTHING)


class LineOfCell(int):
    """A line of a text, which is shown as its cell's line: `14 of cell 3`."""

    cell: int
    row: int

    def __new__(cls, line: int, cell: int, row: int) -> Self:
        instance = super().__new__(cls, line)
        instance.cell, instance.row = cell, row
        return instance

    def __str__(self) -> str:
        return _of_cell(str(self.row), self.cell)

    def __format__(self, how: str) -> str:
        return format(str(self), how) if how in ("", "s") else super().__format__(how)


@contextmanager
def speaking_of(texts: Sequence[Text]) -> Iterator[None]:
    """What is said within is about these texts; where there is only one, about that."""
    file = texts[0].file if len(texts) == 1 else ""
    token = _SPOKEN.set(_Spoken({text.file: text for text in texts if text.notebook}, file))
    try:
        yield
    finally:
        _SPOKEN.reset(token)


@contextmanager
def speaking_of_file(file: object) -> Iterator[None]:
    """What is said within is about this file; about the same one as before where it is none of a notebook's texts."""
    spoken = _SPOKEN.get()
    if not isinstance(file, str) or file not in spoken.texts:
        yield
        return
    token = _SPOKEN.set(replace(spoken, file=file))
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def in_cells(words: Words, data: Mapping[str, object]) -> Mapping[str, object]:
    """The data of a message with the lines of a notebook's text as those of its cells, and its file as the notebook."""
    spoken = _SPOKEN.get()
    if not spoken.texts:
        return data
    placed = dict(data)
    for name in _lines_in(words) & data.keys():
        placed[name] = _placed(data[name], spoken)
    for name in _CELL_SOURCES:
        text = spoken.texts.get(str(data.get(name, "")))
        if text is not None:
            placed[name] = text.notebook
    return placed


def file_of(data: Mapping[str, object]) -> object:
    """The file that a message speaks of, None where it says nothing of one."""
    return next((data[name] for name in _CELL_SOURCES if data.get(name)), None)


@cache
def _lines_in(words: Words) -> frozenset[str]:
    if callable(words):
        return _OF_FUNCTIONS
    english = f"{words.one} {words.many}" if isinstance(words, Plural) else words
    return frozenset(_LINE.findall(english))


def _placed(value: object, spoken: _Spoken) -> object:
    if isinstance(value, int):
        cell = spoken.cell_at(value)
        return value if cell is None else LineOfCell(value, *cell)
    if isinstance(value, str) and re.fullmatch(r"\d+(?:, \d+)*", value):
        cells = [(line, spoken.cell_at(int(line))) for line in value.split(", ")]
        parts = []
        for cell, group in groupby(cells, key=lambda entry: entry[1] and entry[1][0]):
            rows = ", ".join(str(at[1]) if at else line for line, at in group)
            parts.append(_of_cell(rows, cell) if cell else rows)
        return ", ".join(parts)
    return value


def _of_cell(rows: str, cell: int) -> str:
    return i18n._("{line} of cell {cell}").format(line=rows, cell=cell)


Record = TypeVar("Record", bound=msgspec.Struct)

_FILES = (
    *("labs", "programs", "figures", "diagnosis", "grading", "advice"),
    *("checks", "counted_checks", "work_checks", "repairs"),
)


class NoWordsError(LookupError):
    """A message that this version has no words for, or whose data do not fit them."""


def text(message: Message | None) -> str:
    """The message in the language in use; "" for None.

    Raises NoWordsError: unknown id, or data that do not fit it.
    """
    if message is None:
        return ""
    words = _words(message.id)
    try:
        with speaking_of_file(file_of(message.data)):
            return put_in(words, {name: _part(value) for name, value in in_cells(words, message.data).items()})
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise NoWordsError(f"{message.id}: {error}") from error


def said(what: Message | str) -> str:
    """A message in words; words as they are."""
    return what if isinstance(what, str) else text(what)


def told(record: Record, sources: Sequence[Text] = (), file: str = "") -> Record:
    """A record and all in it, with every text made from its message in the language in use.

    Beside a text `x` its message stands as `x_said`; a text without one, or whose message has no words here (it
    comes from another version), stays as it is.  Of a text that is taken from a notebook, lines are told as those of
    its cells: of a result's own sources, or of `sources` for a record of one, which speaks of `file`.
    """
    with speaking_of(getattr(record, "sources", ()) or sources), speaking_of_file(file):
        return _told(record, record)


def _told(record: Record, result: msgspec.Struct) -> Record:
    with speaking_of_file(_file_of(record, result)):
        changes = {name: new for name in record.__struct_fields__ for name, new in _retold(record, name, result)}
    return msgspec.structs.replace(record, **changes) if changes else record


def _retold(record: msgspec.Struct, name: str, result: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """Yield what a field of a record says anew, by the field's name."""
    value = getattr(record, name)
    if name.endswith("_said"):
        shown = name.removesuffix("_said")
        if value:
            yield shown, _shown(value, getattr(record, shown))
    elif isinstance(value, msgspec.Struct):
        yield name, _told(value, result)
    elif isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
        yield name, [_told(item, result) for item in value]
    elif isinstance(value, dict) and value and isinstance(next(iter(value.values())), msgspec.Struct):
        yield name, {key: _told(item, result) for key, item in value.items()}


def _file_of(record: msgspec.Struct, result: msgspec.Struct) -> object:
    """Return the file that a record's lines are in: its own, or that of its variant."""
    own = getattr(record, "file", None)
    if own:
        return own
    variant = getattr(result, "variants", {}).get(getattr(record, "variant", None))
    return getattr(variant, "file", None)


def check_title(check: str) -> str:
    """A check's name in words; a check that this version does not know keeps its own name."""
    kind, _dot, name = check.partition(".")
    try:
        return text(msg(f"checks.{kind}.named", name=name) if name else msg(f"checks.{kind}.title"))
    except NoWordsError:
        return check


def fault_title(check: str, message: Message | None) -> str:
    """What went wrong where a check fails, in a few words: "data race", where the check itself is "no data races".

    A kind of fault may have a title of its own, `fault_` and the last part of the id of a message within `message`.
    """
    kind, _dot, name = check.partition(".")
    if name:
        return text(msg(f"checks.{kind}.fault_named", name=name))
    kinds = [f"fault_{id.rpartition('.')[2]}" for id in _ids_within(message)] if message else []
    for name in [*kinds, "fault"]:
        try:
            return text(msg(f"checks.{check}.{name}"))
        except NoWordsError:
            continue
    return check_title(check)


def _ids_within(message: Message) -> Iterator[str]:
    yield message.id
    for value in message.data.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Message):
                yield from _ids_within(part)


def language() -> str:
    return i18n.language()


def speak(language: str) -> None:
    """Say everything in `language` ("en", "ru", …) from now on, in this process."""
    i18n.use(language)


def _shown(message: object, stored: object) -> object:
    """Return the texts of a message, a list of messages or a dictionary of them."""
    if isinstance(message, list):
        old = stored if isinstance(stored, list) and len(stored) == len(message) else [""] * len(message)
        return [_shown(one, was) for one, was in zip(message, old, strict=True)]
    if isinstance(message, dict):
        old_texts = stored if isinstance(stored, dict) else {}
        return {key: _shown(one, old_texts.get(key, "")) for key, one in message.items()}
    assert isinstance(message, Message)
    try:
        return text(message)
    except NoWordsError:
        if not stored:
            raise
        return stored


def _part(value: object) -> object:
    if isinstance(value, Message):
        return text(value)
    if isinstance(value, float):
        return i18n.decimal(value)
    if isinstance(value, list):
        return [_part(item) for item in value]
    return value


@cache
def areas() -> Mapping[str, Texts]:
    """The words of all messages, by the first parts of their ids: "checks.races" for "checks.races.none"."""
    modules = [import_module(f"{__name__}.{name}") for name in _FILES]
    return {area: texts for module in modules for area, texts in module.AREAS.items()}


def _words(id: str) -> Words:
    area, _dot, name = id.rpartition(".")
    try:
        return areas()[area][name]
    except KeyError:
        raise NoWordsError(f"{id!r}: this version has no such message") from None
