"""Who belongs to a group, in order, and why some have no result: what a later `grade report` needs to show it again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grader.course.people import Person
from grader.exports.entries import Entry, Export
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


class Roster(Record, frozen=True):
    """A group that was graded together, in the order of its table."""

    lab: str
    members: list[Member]


def roster(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as JSON; reasons are in the language in use."""
    members = [
        Member(student=e.student, reason_said=as_message(e.reason) if e.reason else None, person=e.person)
        for e in entries
    ]
    made = told(Roster(lab=lab.id, members=members))
    return msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"


EXPORT = Export(SUFFIX, roster, lambda path: "")
