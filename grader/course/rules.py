"""The rules of a course, `group.yaml`: when work is due, what lateness costs, what labs weigh; and the course's
secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from functools import cache
from math import ceil
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from grader import yaml_file
from grader.course.roster import composed, parse_time, zoned
from grader.errors import UsageError
from grader.files import read_plain, user_cache
from grader.message import msg

GROUP_NAME = "group.yaml"

_Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_NotNegative = Annotated[float, msgspec.Meta(ge=0, le=10_000)]


class Penalty(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What each begun day costs, in per cent of the points; of which at least `floor` per cent stay."""

    percent_per_day: _Percent
    floor: _Percent = 0.0


class _Lab(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    deadline: str = ""
    weight: _NotNegative = 1.0
    penalty: Penalty | None = None


class _Student(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    extra_days: _NotNegative = 0.0
    handed_in: dict[str, str] = {}


class _Document(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    timezone: str = ""
    roster: str = ""
    penalty: Penalty | None = None
    labs: dict[str, _Lab] = {}
    students: dict[str, _Student] = {}


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a lab's work is due, and what lateness costs."""

    time: datetime
    penalty: Penalty


@dataclass(frozen=True, slots=True)
class Rules:
    """A course's rules; without a file there are none.

    deadlines: by lab, in UTC.  weights: by lab.  extra_days, handed_in: by student, the latter by lab as well.
    roster: a file beside `group.yaml`, None where none is named.
    """

    path: Path | None = None
    zone: tzinfo | None = None
    roster: Path | None = None
    deadlines: Mapping[str, Deadline] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    extra_days: Mapping[str, float] = field(default_factory=dict)
    handed_in: Mapping[tuple[str, str], datetime] = field(default_factory=dict)

    def due(self, lab: str, student: str, extra_days: float) -> Deadline | None:
        """A student's deadline; extra_days: beside those of the file.  None where the lab has none."""
        deadline = self.deadlines.get(lab)
        if deadline is None:
            return None
        extra = self.extra_days.get(student, 0.0) + extra_days
        # Days as a calendar has them: where clocks are set, one lasts 23 or 25 hours.
        later = _on_a_clock(deadline.time, self.zone) + timedelta(days=extra)
        return Deadline(zoned(later, self.zone) if extra else deadline.time, deadline.penalty)


def _to_its_end(deadline: datetime) -> datetime:
    """Return the end of the minute or second that is named: work handed in within it is in time."""
    return deadline.replace(second=deadline.second or 59, microsecond=999_999)


def days_late(handed_in: datetime, due: datetime, zone: tzinfo | None) -> int:
    """Begun days after the deadline, by a clock in `zone` (None for this machine's); 0 for work in time."""
    if handed_in <= due:
        return 0
    return max(1, ceil((_on_a_clock(handed_in, zone) - _on_a_clock(due, zone)) / timedelta(days=1)))


def _on_a_clock(time: datetime, zone: tzinfo | None) -> datetime:
    return time.astimezone(zone).replace(tzinfo=None)


def penalty_pct(days: int, penalty: Penalty) -> float:
    """Per cent of the points that so many days cost."""
    return min(days * penalty.percent_per_day, 100 - penalty.floor)


def read_rules(path: Path) -> Rules:
    """The rules in `path`.

    Raises FileError: it cannot be read, or says something that is not known; names file, line and key.
    """
    file = yaml_file.read(path)
    document = file.decode(_Document, data={} if file.data is None else file.data)
    try:
        zone = ZoneInfo(document.timezone) if document.timezone else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise file.error(msg("course.no_zone", zone=document.timezone), ("timezone",)) from error

    def time(text: str, *keys: str) -> datetime:
        try:
            return zoned(parse_time(text), zone)
        except UsageError as error:
            raise file.error(error.message, keys) from error

    none = Penalty(0.0)
    return Rules(
        path=path,
        zone=zone,
        roster=path.parent / document.roster if document.roster else None,
        deadlines={
            name: Deadline(
                _to_its_end(time(lab.deadline, "labs", name, "deadline")), lab.penalty or document.penalty or none
            )
            for name, lab in document.labs.items()
            if lab.deadline
        },
        weights={name: lab.weight for name, lab in document.labs.items()},
        extra_days={composed(name): student.extra_days for name, student in document.students.items()},
        handed_in={
            (composed(name), lab): time(text, "students", name, "handed_in", lab)
            for name, student in document.students.items()
            for lab, text in student.handed_in.items()
        },
    )


SECRET = "CUDA_LAB_GRADER_SECRET"
SECRET_FILE = "CUDA_LAB_GRADER_SECRET_FILE"
KEY_BYTES = 32
SHORTEST = 16
"""Characters of a secret: fewer could be tried out."""


def secret() -> str:
    """The secret of the course, "" where none is set.

    Raises UsageError: its file cannot be read, or it is too short.
    """
    value, path = os.environ.get(SECRET, ""), os.environ.get(SECRET_FILE, "")
    if path:
        try:
            value = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or msg("session.no_utf8")
            raise UsageError(msg("errors.at", where=f"{SECRET_FILE}: {path}", what=reason)) from error
    value = value.strip()
    if (value or path) and len(value) < SHORTEST:
        name = SECRET_FILE if path else SECRET
        raise UsageError(msg("session.secret_short", name=name, got=len(value), least=SHORTEST))
    return value


def signature(data: bytes) -> str:
    """What only this user can make of `data`, or whoever knows the course's secret where one is set.

    Raises OSError: there is no secret, and the user's key can be neither read nor made.
    Raises UsageError: see `secret`.
    """
    course_secret = secret()
    key = hashlib.sha256(course_secret.encode()).digest() if course_secret else _own_key(user_cache() / "key")
    return hmac.new(key, b"kept result\0" + data, hashlib.sha256).hexdigest()


@cache
def _own_key(path: Path) -> bytes:
    """Return the user's key, made at its first use; nobody else may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        key = read_plain(path, KEY_BYTES)
        if len(key) == KEY_BYTES:
            return key
        path.unlink()
    # Whole before it has its name; of several that make one the first counts.
    temporary = path.with_name(f".{secrets.token_hex(8)}.key")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return read_plain(path, KEY_BYTES)
