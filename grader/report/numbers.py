"""Numbers as text in the language of the report, and the words, symbols and colours that every view shares.

Russian writes 6,06 % and 63 488, English 6.06 % and 63,488.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from grader.i18n import _, form_of, ngettext

NO_BREAK_SPACE = "\u00a0"
NARROW_NO_BREAK_SPACE = "\u202f"
FIGURE_SPACE = "\u2007"
PUNCTUATION_SPACE = "\u2008"


class Numbers:
    """Formats numbers for one language; in sentences trailing zeros are dropped, in tables `fixed` keeps them."""

    def __init__(self, language: str) -> None:
        self._russian = russian = language == "ru"
        self._microseconds = "мкс" if russian else "µs"
        self._milliseconds = "мс" if russian else "ms"
        self._decimal = "," if russian else "."
        self._thousands = NARROW_NO_BREAK_SPACE if russian else ","

    def count(self, value: int) -> str:
        """An integer, digits grouped by thousands: from four digits on, so that 4,096 stands above 67,584 like it."""
        return f"{value:,}".replace(",", self._thousands)

    def decimal(self, value: float, digits: int = 2) -> str:
        """`value` with at most `digits` decimals."""
        text = f"{value:.{digits}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        whole, _, rest = text.partition(".")
        if whole.lstrip("-").isdigit():
            whole = self.count(int(whole)) if whole != "-0" else whole
        text = f"{whole}{self._decimal}{rest}" if rest else whole
        return "0" if text == "-0" else text

    def fixed(self, value: float, digits: int) -> str:
        """`value` with exactly `digits` decimals: a number of a table, under others like it."""
        whole, _, rest = f"{abs(value):.{digits}f}".partition(".")
        sign = "-" if value < 0 and (int(whole) or rest.strip("0")) else ""
        whole = self.count(int(whole))
        return f"{sign}{whole}{self._decimal}{rest}" if rest else f"{sign}{whole}"

    def times(self, value: float, digits: int = 1) -> str:
        """How many times more, with at most so many decimals: "4.2 times", "4,2 раза", "13 раз"."""
        return ngettext("{n} time", "{n} times", form_of(round(value, digits))).format(n=self.decimal(value, digits))

    def sectors(self, value: float) -> str:
        """Sectors of memory, on average: "8.12 sectors", "8,12 сектора"."""
        return ngettext("{n} sector", "{n} sectors", form_of(round(value, 2))).format(n=self.decimal(value))

    def points(self, value: float) -> str:
        """Points of a mark: at most two decimals."""
        return self.decimal(value, 2)

    def mark(self, earned: float, possible: float) -> str:
        """A mark with what was possible: "76 of 91 points", "76 из 91 балла"."""
        text = ngettext("{earned} of {possible} point", "{earned} of {possible} points", self._after_of(possible))
        return text.format(earned=self.points(earned), possible=self.points(possible))

    def out_of(self, possible: float) -> str:
        """What was possible, to stand behind a mark: "of 91 points", "из 91 балла"."""
        text = ngettext("of {possible} point", "of {possible} points", self._after_of(possible))
        return text.format(possible=self.points(possible))

    def _after_of(self, value: float) -> int:
        """The whole number whose form a noun takes behind "of" and `value`.

        A Russian fraction takes there what 1 does: "из 90,5 балла".
        """
        return 1 if self._russian and not float(value).is_integer() else form_of(value)

    def percent(self, value: float) -> str:
        """`value` per cent, with a space that does not break."""
        return f"{self.decimal(value, 2)}{NO_BREAK_SPACE}%"

    def microseconds(self, value: float) -> str:
        """A time in µs with three significant digits or so."""
        return f"{self.fixed(value, time_digits(value))}{NO_BREAK_SPACE}{self._microseconds}"

    def about(self, value_us: float) -> str:
        """A time that is known roughly, with two significant digits, from a millisecond on in ms."""
        text = f"{value_us:.1e}"
        rounded, digits = float(text), 1 - int(text.rpartition("e")[2])
        if rounded >= 1000:
            return f"{self.fixed(rounded / 1000, max(0, digits + 3))}{NO_BREAK_SPACE}{self._milliseconds}"
        return f"{self.fixed(rounded, max(0, digits))}{NO_BREAK_SPACE}{self._microseconds}"

    def error(self, value: float) -> str:
        """A numerical error: 0 as 0, else one significant decimal in powers of ten."""
        if value == 0:
            return "0"
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.replace('.', self._decimal)}e{int(exponent)}"

    def aligned(self, cells: Sequence[str]) -> list[str]:
        """Numbers of a column, padded on the right by spaces as wide as digits, so that their decimal marks stand one
        below another in cells that are flush right; a text without a decimal mark ends where whole numbers do.
        """
        decimals = [len(cell.rpartition(self._decimal)[2]) if self._decimal in cell else 0 for cell in cells]
        longest = max(decimals, default=0)
        return [
            cell + ("" if own else PUNCTUATION_SPACE) + FIGURE_SPACE * (longest - own) if longest > own else cell
            for cell, own in zip(cells, decimals, strict=True)
        ]


def time_digits(value: float) -> int:
    """Decimals of a time in µs: four significant digits or so."""
    return 2 if value < 100 else 1 if value < 10_000 else 0


def ratio_digits(value: float) -> int:
    """Decimals of a speed-up in a table."""
    return 2 if value < 100 else 1 if value < 1000 else 0


def digits_needed(values: Iterable[float], most: int = 2) -> int:
    """Decimals with which all of some numbers are written alike: none for whole ones, at most `most`."""
    rounded = [f"{value:.{most}f}".rstrip("0").partition(".")[2] for value in values]
    return max((len(decimals) for decimals in rounded), default=0)


# Words, symbols and colours that every view of a result shares.

# Ordered so that neighbours differ in lightness too: a grey print still tells them apart.
VARIANT_COLOURS = ("#3a5a8c", "#d08a2e", "#2f8068", "#8a4a78", "#7f93a8", "#5d4a2f")


class Status(NamedTuple):
    """How a status is shown; never by colour alone."""

    key: str
    symbol: str
    word: str


def variant_colour(index: int) -> str:
    """The colour of the lab's `index`-th variant, the same in every table and figure."""
    return VARIANT_COLOURS[index % len(VARIANT_COLOURS)]


def check_status(status: str, skip_reason: str = "") -> Status:
    """How a check's status is shown; skip_reason: of one that is skipped, as results have it."""
    if status == "skip" and skip_reason == "not_applicable":
        return Status("none", "·", _("does not apply"))
    if status == "skip" and skip_reason == "prerequisite":
        return Status("blocked", "–", _("not reached"))
    if status == "skip" and skip_reason == "later":
        return Status("skip", "…", _("shown later"))
    shown = {
        "pass": Status("pass", "✓", _("passed")),
        "fail": Status("fail", "✗", _("failed")),
        "borderline": Status("borderline", "≈", _("borderline")),
        "skip": Status("skip", "…", _("not measured")),
        "error": Status("error", "!", _("grader error")),
    }
    return shown[status]


def result_status(status: str) -> Status:
    """How the status of a whole result is shown."""
    shown = {
        "passed": Status("pass", "✓", _("passed")),
        "failed": Status("fail", "✗", _("needs work")),
        "not_judged": Status("unjudged", "?", _("not judged")),
        "error": Status("error", "!", _("grading incomplete")),
    }
    return shown[status]


INK = "#1f2933"
"""Letters, axes, and what is pointed out."""
FAINT = "#d5dbe1"
"""Grids."""
