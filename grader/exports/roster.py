"""Who belongs to a group, in order, and why some have no result: what a later `grade report` needs to show it again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from grader.course.people import Person
from grader.exports.entries import Entry, Export, of_entries
from grader.lab.checks import NO_SETTINGS
from grader.lab.records import Lab
from grader.message import Message, as_message
from grader.result import Record
from grader.words import told

SUFFIX = ".json"


class Member(Record, frozen=True):
    """One student of a group; reason: why there is no result, "" where there is one; person: what a roster knows."""

    student: str
    reason: str = ""
    reason_said: Message | None = None
    person: Person | None = None


class CheckRule(Record, frozen=True):
    """A check as the lab file had it: its points, and its settings as plain data."""

    points: float
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


class Roster(Record, frozen=True):
    """A group that was graded together, in the order of its table.

    checks: how the lab's checks were marked, by id; rest: the hash of everything else that the lab file says.
    """

    lab: str
    members: list[Member]
    checks: dict[str, CheckRule] = msgspec.field(default_factory=dict)
    rest: str = ""


def rules_of(lab: Lab) -> dict[str, CheckRule]:
    """How a lab's checks are marked, by their ids; settings as they are when read back: lists, no tuples."""
    return {
        f"{variant.name}.{check.check}": CheckRule(
            points=check.points, settings=msgspec.json.decode(msgspec.json.encode(check.settings))
        )
        for variant in lab.variants
        for check in variant.checks
    }


def rest_of(lab: Lab) -> str:
    """The hash of what a lab file says beyond its texts and the points and thresholds of its checks."""
    variants = tuple(
        replace(variant, title={}, checks=tuple(replace(c, points=0.0, settings=NO_SETTINGS) for c in variant.checks))
        for variant in lab.variants
    )
    bare = replace(
        lab, title={}, aim={}, task={}, variants=variants, path=Path(lab.path.name), sweeps=(), selftest=None
    )
    return hashlib.sha256(repr(bare).encode()).hexdigest()


def roster(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as JSON; reasons are in the language in use."""
    members = [
        Member(student=e.student, reason_said=as_message(e.reason) if e.reason else None, person=e.person)
        for e in entries
    ]
    made = told(Roster(lab=lab.id, members=members, checks=rules_of(lab), rest=rest_of(lab)))
    return msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"


EXPORT = Export(SUFFIX, of_entries(roster), lambda path: "")
