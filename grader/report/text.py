"""How text, numbers and statuses are written wherever a result is shown.

A student's text must not steer a terminal or mislead a reader: control characters (escape sequences begin with one)
become their pictures ("␛"), bidirectional controls, which can make code read otherwise than it compiles, become their
numbers ("⟨U+202E⟩"), and so does what is no character.  Russian writes 6,06 % and 63 488, English 6.06 % and 63,488.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from grader.errors import system_reason
from grader.i18n import _, form_of, ngettext

MOST_BYTES = 4000
"""The most of one text that services are sent, which have limits of their own: a student's name may be of any
length."""
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SEPARATORS = (0x2028, 0x2029)
_PICTURES: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **{code: f"⟨U+{code:04X}⟩" for code in (*_BIDI, *_SEPARATORS)},
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
    # Bytes of a name that are no text, as Python keeps them.
    **{0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)},
}
_ACTING = re.compile("[" + "".join(re.escape(chr(code)) for code in _PICTURES) + "]")


def visible(text: str) -> str:
    """`text` with nothing in it that acts; tabs and line ends stay."""
    return text.translate(_PICTURES) if _ACTING.search(text) else text


def visible_line(text: str) -> str:
    """`text` as one line with nothing in it that acts: a name must not begin a line of its own."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def clipped(text: str, limit_bytes: int = MOST_BYTES) -> str:
    """`text`, or its beginning with an ellipsis where it takes more than `limit_bytes` in UTF-8."""
    data = text.encode("utf-8", errors="replace")
    return text if len(data) <= limit_bytes else f"{data[:limit_bytes].decode('utf-8', errors='ignore')} …"


def visible_all(view: Any) -> Any:
    """A view (strings in lists and dicts) with every string made visible."""
    if isinstance(view, str):
        return visible(view)
    if isinstance(view, dict):
        return {key: visible_all(value) for key, value in view.items()}
    if isinstance(view, list | tuple):
        return [visible_all(value) for value in view]
    return view


# A stream whose reader may go away: what is done besides printing goes on.

READER_GONE = (errno.EPIPE, errno.EIO, errno.ECONNRESET)


def prepare_standard_streams() -> None:
    """Have both take whatever is written to them: a closed one takes it to nowhere, an old encoding shows `?`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Open until the process ends, as the one that it stands for would be.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if name == "stdout" else "backslashreplace")


def speak_utf8() -> None:
    """Have standard output be UTF-8 whatever the locale: what reads JSON or a service's format expects no other."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


class LastingStream:
    """A text stream that is silent once it cannot be written to: the rest of the work does not depend on it.

    A reader that has seen enough (`| head`) or a terminal that was closed is nothing to tell; a disk that is full is,
    on standard error.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.is_gone = False

    def write(self, text: str) -> int:
        """Write `text`, unless an earlier write failed."""
        if not self.is_gone:
            try:
                return self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        if not self.is_gone:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        self.is_gone = True
        # What the stream still holds would fail again when the interpreter closes it, with a message of Python's.
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return
        if error.errno not in READER_GONE:
            print(f"grade: {system_reason(error)}", file=sys.stderr)


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
        """What was possible, to follow a mark: "of 91 points", "из 91 балла"."""
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


def digits_needed(values: Iterable[float]) -> int:
    """Decimals with which all of some numbers are written alike: none for whole ones, at most 2."""
    rounded = [f"{value:.2f}".rstrip("0").partition(".")[2] for value in values]
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


def check_status(status: str, skip_reason: str = "", *, is_partly: bool = False) -> Status:
    """How a check's status is shown; skip_reason: of one that is skipped, as results have it.

    is_partly: of one that is passed, that another check found what this one looks for, off the tile.
    """
    if status == "pass" and is_partly:
        return Status("pass", "(✓)", _("at whole tiles"))
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
"""Colour of grid lines."""


def lines_of(text: str) -> list[str]:
    """The lines of a source, without their ends."""
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    return lines
