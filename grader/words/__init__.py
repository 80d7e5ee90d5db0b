"""Messages in words: the one place where a sentence that is not part of a page or of the command line is written.

The rule: whoever finds something out makes a `grader.message.Message`, an id with data.  Only this package, `report`
and `cli` know a language.  A result carries both, text in the language that was asked for and message, so it can be
said again in another one (`told`).

An id says where its words stand: those of "checks.races.none" under "none" in the `TEXTS` of `checks/races.py` in
this folder.  Words are one of three things (`texts.py`):

- an English text with placeholders, marked for translation: `N_("{who} waits at a barrier …")`;
- `Plural("{n} byte", "{n} bytes")`, whose form the number `n` chooses;
- a function of the data, for what a text cannot do; it calls `_` and `ngettext` itself.

Parts of sentences that are messages come as text, numbers with a fraction print with the language's decimal mark.

A new sentence takes: `msg("area.name", …)` where it is found out, an entry in `area.py` here, its Russian in the
catalogue (`make messages`).  A test compares ids and placeholders of both sides, over the whole code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import msgspec

from grader import i18n
from grader.message import Message, msg
from grader.words.texts import Texts, Words, put_in

Record = TypeVar("Record", bound=msgspec.Struct)

CellAt = Callable[[int], tuple[int, int] | None]
"""The cell that a line of a text stands in, and its number there; None where there are none."""
_CELL_AT: ContextVar[CellAt | None] = ContextVar("cell_at", default=None)
_LINES = frozenset({"line", "other_line", "put_line"})
_ID = re.compile(r"[a-z_]+(\.[a-z_]+)*\.[A-Za-z0-9_]+")


class LineOfCell(int):
    """A line of a text, which is shown as its cell's line: `14 of cell 3`."""

    cell: int
    row: int

    def __new__(cls, line: int, cell: int, row: int) -> LineOfCell:
        made = super().__new__(cls, line)
        made.cell, made.row = cell, row
        return made

    def __str__(self) -> str:
        return i18n._("{line} of cell {cell}").format(line=self.row, cell=self.cell)

    def __format__(self, how: str) -> str:
        return format(str(self), how) if how in ("", "s") else super().__format__(how)


class NoWordsError(LookupError):
    """A message that this version has no words for, or whose data do not fit them."""


def text(message: Message | None) -> str:
    """The message in the language in use; "" for None.

    Raises
    ------
    NoWordsError : unknown id, or data that do not fit it.
    """
    if message is None:
        return ""
    words = _words(message.id)
    try:
        return put_in(words, {name: _part(_in_cell(name, value)) for name, value in message.data.items()})
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise NoWordsError(f"{message.id}: {error}") from error


def said(what: Message | str) -> str:
    """A message in words; words as they are."""
    return what if isinstance(what, str) else text(what)


def told(record: Record) -> Record:
    """A record and all in it, with every text made from its message in the language in use.

    Beside a text `x` its message stands as `x_said`; a text without one, or whose message has no words here (it
    comes from another version), stays as it is.  Of a result whose text is taken from a notebook, lines are told as
    those of their cells.
    """
    sources: Sequence[Any] = getattr(record, "sources", ())
    if len(sources) != 1 or not getattr(sources[0], "cells", ()):
        return _told(record)
    token = _CELL_AT.set(sources[0].cell_at)
    try:
        return _told(record)
    finally:
        _CELL_AT.reset(token)


def _told(record: Record) -> Record:
    changes: dict[str, object] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name.endswith("_said"):
            shown = name.removesuffix("_said")
            if value:
                changes[shown] = _shown(value, getattr(record, shown))
        elif isinstance(value, msgspec.Struct):
            changes[name] = _told(value)
        elif isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
            changes[name] = [_told(item) for item in value]
        elif isinstance(value, dict) and value and isinstance(next(iter(value.values())), msgspec.Struct):
            changes[name] = {key: _told(item) for key, item in value.items()}
    return msgspec.structs.replace(record, **changes) if changes else record


def check_title(check: str) -> str:
    """A check's name in words; a check that this version does not know keeps its own name."""
    try:
        return text(msg(f"checks.{check}.title"))
    except NoWordsError:
        return check


def fault_title(check: str, message: Message | None) -> str:
    """What went wrong where a check fails, in a few words: "data race", where the check itself is "no data races".

    A kind of fault may have a title of its own, `fault_` and the last part of the id of a message within `message`.
    """
    kinds = [f"fault_{id.rpartition('.')[2]}" for id in _ids_within(message)] if message else []
    for name in [*kinds, "fault"]:
        try:
            return text(msg(f"checks.{check}.{name}"))
        except NoWordsError:
            continue
    return check_title(check)


def _ids_within(message: Message) -> Iterator[str]:
    """The ids of a message and of the messages put into it, in their order."""
    yield message.id
    for value in message.data.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Message):
                yield from _ids_within(part)


def language() -> str:
    """The language in use."""
    return i18n.language()


def speak(language: str) -> None:
    """Say everything in `language` ("en", "ru", …) from now on, in this process."""
    i18n.use(language)


def _shown(said: object, stored: object) -> object:
    """The texts of a message, a list of them or a dictionary."""
    if isinstance(said, list):
        old = stored if isinstance(stored, list) and len(stored) == len(said) else [""] * len(said)
        return [_shown(one, was) for one, was in zip(said, old, strict=True)]
    if isinstance(said, dict):
        old_texts = stored if isinstance(stored, dict) else {}
        return {key: _shown(one, old_texts.get(key, "")) for key, one in said.items()}
    assert isinstance(said, Message)
    try:
        return text(said)
    except NoWordsError:
        if not stored:
            raise
        return stored


def _in_cell(name: str, value: object) -> object:
    """A line of a notebook's text as that of its cell, any other datum as it is."""
    cell_at = _CELL_AT.get()
    if cell_at is None or name not in _LINES or not isinstance(value, int):
        return value
    cell = cell_at(value)
    return value if cell is None else LineOfCell(value, cell[0], cell[1])


def _part(value: object) -> object:
    if isinstance(value, Message):
        return text(value)
    if isinstance(value, float):
        return i18n.decimal(value)
    if isinstance(value, list):
        return [_part(item) for item in value]
    return value


@cache
def _words(id: str) -> Words:
    """Where an id's words stand, by its name: no list has to know all areas."""
    if not _ID.fullmatch(id):
        raise NoWordsError(f"{id!r} is no message")
    area, _dot, name = id.rpartition(".")
    try:
        texts: Texts = import_module(f"{__name__}.{area}").TEXTS
        return texts[name]
    except (ModuleNotFoundError, AttributeError, KeyError) as error:
        raise NoWordsError(f"{id!r}: this version has no such message") from error
