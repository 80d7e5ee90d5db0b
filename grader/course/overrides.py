"""`overrides.yaml`: points that a teacher decided, each with a reason, which outlive every grading."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from grader import yaml_file
from grader.course.people import composed
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Check, Override, Result

OVERRIDES_NAME = "overrides.yaml"

_Points = Annotated[float, msgspec.Meta(ge=0, le=10_000)]
_Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class Decided(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Points and why."""

    points: _Points
    reason: _Reason


class StudentOverrides(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What was decided of one student's work for one lab; checks: by their ids, `<variant>.<check>`."""

    checks: dict[str, Decided] = {}
    total: Decided | None = None
    note: str = ""


@dataclass(slots=True)
class Overrides:
    """The decisions of a course, by lab and student, and what they replaced when they were made."""

    path: Path | None = None
    by_lab: Mapping[str, Mapping[str, StudentOverrides]] = field(default_factory=dict)
    seen: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, result: Result) -> StudentOverrides:
        """What was decided of a result."""
        return self.by_lab.get(result.lab, {}).get(result.student.id, StudentOverrides())

    def validate(self, lab: Lab) -> None:
        """See that decisions for `lab` speak of its checks, and give no more points than these have.

        Raises
        ------
        FileError : one does not; names file, line and key.
        """
        points = {f"{v.name}.{check.check}": check.points for v in lab.variants for check in v.checks}
        most = round(sum(points.values()), 2)
        for student, wanted in self.by_lab.get(lab.id, {}).items():
            if wanted.total is not None and wanted.total.points > most:
                what = _too_many(wanted.total.points, most)
                assert self.path is not None
                raise yaml_file.read(self.path).error(what, (lab.id, student, "total", "points"))
            for name, decided in wanted.checks.items():
                if name not in points:
                    what = msg("course.no_check", check=name, allowed=", ".join(points))
                elif decided.points > points[name]:
                    what = _too_many(decided.points, points[name])
                else:
                    continue
                assert self.path is not None
                raise yaml_file.read(self.path).error(what, (lab.id, student, "checks", name))

    def is_outdated(self, result: Result, check: Check | None, decided: Decided) -> bool:
        """Whether what `decided` replaces (a check's points, or the total) has changed since it was first seen."""
        place = self.seen.setdefault(f"{result.lab}/{result.student.id}", {})
        if check is not None:
            state: object = (check.status, check.earned, check.pending, check.possible)
        else:
            state = [(c.id, c.status, c.earned, c.pending, c.possible) for c in result.checks]
        key = f"{check.id if check else ''} {_digest((decided.points, decided.reason))}"
        return place.setdefault(key, _digest(state)) != _digest(state)


def _too_many(got: float, most: float) -> Message:
    whole = [int(points) if float(points).is_integer() else points for points in (got, most)]
    return msg("course.too_many", got=whole[0], most=whole[1])


def read_overrides(path: Path, seen: dict[str, dict[str, str]]) -> Overrides:
    """The decisions in `path`; seen: what earlier runs saw them replace.

    Raises
    ------
    FileError : it cannot be read or is wrong; names file, line and key.
    """
    file = yaml_file.read(path)
    document = {} if file.data is None else file.data
    by_lab = file.decode(dict[str, dict[str, StudentOverrides]], data=document)
    return Overrides(
        path, {lab: {composed(who): it for who, it in found.items()} for lab, found in by_lab.items()}, seen
    )


def overridden(check: Check, decided: Decided, outdated: bool) -> Check:
    """The check with the points that were decided."""
    override = Override(
        points=decided.points,
        was=check.earned,
        was_pending=check.pending,
        was_possible=check.possible,
        reason=decided.reason,
        outdated=outdated,
    )
    # What did not apply counts for who is given points for it.
    possible = max(check.possible, decided.points)
    return msgspec.structs.replace(check, earned=decided.points, pending=0.0, possible=possible, override=override)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
