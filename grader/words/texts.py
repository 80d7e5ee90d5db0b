"""What the words of a message can be: a text, a text with plural forms, or a function of its data.

In a notebook a line is spoken of with its cell: which one is put in here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from typing import Protocol, Self

from grader import i18n
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


# Lines of a notebook's text in words, as lines of its cells: `14 of cell 3`.
#
# A notebook's programs are texts of joined cells, whose lines nobody sees but us.  While a result is told, this knows
# the texts that it is about, and which of them is spoken of just now.

_LINE = re.compile(r"(?:\b[Ll]ines? |\{file\}:)\{(\w+)\}")
"""What stands before a line in English words; a function of the data calls its lines so, too."""
_OF_FUNCTIONS = frozenset({"line", "lines"})
_FILES = ("file", "in_file")


class Text(Protocol):
    """A graded file (`grader.result.Source`)."""

    @property
    def file(self) -> str: ...
    @property
    def notebook(self) -> str: ...
    def cell_at(self, line: int) -> tuple[int, int] | None: ...


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The texts by their files, and the file that is spoken of."""

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
    for name in _FILES:
        text = spoken.texts.get(str(data.get(name, "")))
        if text is not None:
            placed[name] = text.notebook
    return placed


def file_of(data: Mapping[str, object]) -> object:
    """The file that a message speaks of, None where it says nothing of one."""
    return next((data[name] for name in _FILES if data.get(name)), None)


@cache
def _lines_in(words: Words) -> frozenset[str]:
    """The names of what words put in as a line or several."""
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
