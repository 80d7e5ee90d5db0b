"""What is said to people, as data: which sentence, and what is put into it.

    msg("checks.races.none")
    msg("faults.barrier", who=msg("pieces.Thread", thread=(1, 0, 0), block=(0, 0, 0)))

Whoever finds something out makes messages; `grader.words` turns them into English or Russian when they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import PurePath

import msgspec

SENTENCES = "pieces.sentences"
"""The id of several sentences one after another."""

Scalar = str | int | float | bool | None


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence or a part of one.

    id: where its words stand: those of "checks.races.none" under "none" in `RACES`, `grader/words/counted_checks.py`.
    data: what is put in, by name: numbers as numbers (the language chooses plural and decimal mark), names and
    program text as strings, parts of sentences as messages, or lists of these.
    """

    id: str
    data: dict[str, str | int | float | bool | Message | list[Scalar | Message | list[Scalar]] | None] = {}

    def __hash__(self) -> int:
        return hash((self.id, repr(self.data)))


def msg(id: str, /, **data: Scalar | Message | PurePath | Sequence[object]) -> Message:
    """The message `id` with its data; tuples become lists, as JSON has them, and paths text."""
    return Message(id, {name: _plain(value) for name, value in data.items()})  # type: ignore[misc]  # as deep as that


def joined(*parts: Message | None) -> Message | None:
    """Several sentences one after another, those left out that are None; None when nothing is left."""
    sentences = [sentence for part in parts for sentence in sentences_of(part)]
    if len(sentences) < 2:
        return sentences[0] if sentences else None
    return Message(SENTENCES, {"parts": list(sentences)})


def sentences_of(message: Message | None) -> list[Message]:
    """The sentences that `joined` put together."""
    parts = message.data.get("parts") if message is not None and message.id == SENTENCES else None
    if not isinstance(parts, list):
        return [] if message is None else [message]
    return [part for part in parts if isinstance(part, Message)]


def as_message(text: str | Message) -> Message:
    """A message; a string is what no language changes."""
    return verbatim(text) if isinstance(text, str) else text


def verbatim(text: str) -> Message:
    """Words that are not ours, which no language changes: a compiler's, a driver's."""
    return Message("pieces.verbatim", {"text": text})


def sizes_msg(sizes: Mapping[str, int]) -> Message:
    """{"rows": 33, "cols": 31}, said as "rows = 33, cols = 31"."""
    return Message("pieces.sizes", dict(sizes))


def number(value: float | int | None) -> Message:
    """A number as short as it is exact enough to tell; one that is not finite by its name, which JSON lacks."""
    if isinstance(value, float) and not isfinite(value):
        return Message("pieces.verbatim", {"text": str(value)})
    return Message("pieces.number", {"value": value})


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, PurePath) else value
