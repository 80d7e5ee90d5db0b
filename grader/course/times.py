"""Times as people and systems write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from grader.errors import UsageError
from grader.message import msg

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

    Raises
    ------
    UsageError : it is none of these.
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
