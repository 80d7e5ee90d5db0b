"""What the words of a message can be: a text, a text with plural forms, or a function of its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.i18n import _, ngettext


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
