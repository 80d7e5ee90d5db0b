"""Messages in words: the one place where a sentence that is not part of a page or of the command line is written.

The rule: whoever finds something out makes a `grader.message.Message`, an id with data.  Only this package, `report`
and `cli` know a language.  A result carries both, text in the language that was asked for and message, so it can be
said again in another one (`told`).

An id says where its words stand: those of "checks.races.none" under "none" in the area "checks.races", which a file
here lists in its `AREAS`.  Words are one of three things (`texts.py`):

- an English text with placeholders, marked for translation: `N_("{who} waits at a barrier …")`;
- `Plural("{n} byte", "{n} bytes")`, whose form the number `n` chooses;
- a function of the data, for what a text cannot do; it calls `_` and `ngettext` itself.

Parts of sentences that are messages come as text, numbers with a fraction print with the language's decimal mark.

A new sentence takes: `msg("area.name", …)` where it is found out, an entry in its area here, its Russian in the
catalogue (`make messages`).  A test compares ids and placeholders of both sides, over the whole code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TypeVar

import msgspec

from grader import i18n
from grader.message import Message, msg
from grader.words.texts import Text, Texts, Words, file_of, in_cells, put_in, speaking_of, speaking_of_file

Record = TypeVar("Record", bound=msgspec.Struct)

_FILES = (
    "labs",
    "programs",
    "diagnosis",
    "grading",
    "checks",
    "counted_checks",
    "work_checks",
    "repairs",
)


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
    """What a field of a record says anew, by the field's name."""
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
    """The file that a record's lines are in: its own, or that of its variant."""
    own = getattr(record, "file", None)
    if own:
        return own
    variant = getattr(result, "variants", {}).get(getattr(record, "variant", None))
    return getattr(variant, "file", None)


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
