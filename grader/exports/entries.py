"""What exports are made of: the students of a group with their results, and what their marks come to.

`roster.json` keeps who belongs to a group, in order, and why some have no result: what a later `grade report` needs to
show it again.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from grader.course.roster import Person, sorted_as
from grader.lab.checks import NO_SETTINGS
from grader.lab.records import Lab
from grader.measured import Record
from grader.message import Message, as_message
from grader.result import Result
from grader.similarity import Similar
from grader.words import told


@dataclass(frozen=True, slots=True)
class Entry:
    """One student of a group: their result, or why there is none.

    report: address of the report for a page in the folder of outputs, "" where there is no report.
    person: what a roster or a learning system's export knows of the student.
    source: the text of what was handed in, "" where it is not known.
    """

    student: str
    result: Result | None = None
    reason: Message | str = ""
    report: str = ""
    person: Person | None = None
    source: str = ""

    @property
    def who(self) -> Person:
        """The student: what the roster knows, completed by what the submission says of itself."""
        person = self.person or Person(id=self.student)
        if self.result is None:
            return person
        own = self.result.student
        return msgspec.structs.replace(person, name=person.name or own.name, group=person.group or own.group)


def shown_names(entries: Sequence[Entry]) -> dict[str, str]:
    """What each student is called where people read it, by id: their name, with the id where others are called so."""
    names = {entry.student: entry.who.name or entry.student for entry in entries}
    counts = Counter(names.values())
    return {
        student: name if counts[name] == 1 else student if student.startswith(name) else f"{name} ({student})"
        for student, name in names.items()
    }


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """The entries as people look for them: in the roster's order, who is in none after it by the names shown."""
    names = shown_names(entries)

    def place(entry: Entry) -> tuple[float, str, str]:
        return entry.who.place or math.inf, sorted_as(names[entry.student]), entry.student

    return sorted(entries, key=place)


def source_of(result: Result) -> str:
    """All text of a submission, file after file."""
    return "\n".join(source.text for source in result.sources)


def of_entries(write: Callable[[Sequence[Entry], Lab, str], bytes]) -> Callable[[Table, str], bytes]:
    """A writer of entries as a writer of a table."""
    return lambda table, language: write(table.entries, table.lab, language)


def brief(result: Result) -> Result:
    """The result without what no export shows and what takes most of the memory of a group."""
    variants = {
        name: msgspec.structs.replace(variant, cases=[], hazards=[], witnesses=[], host_memory=[])
        for name, variant in result.variants.items()
    }
    checks = [msgspec.structs.replace(check, diagnosis=None) for check in result.checks]
    return msgspec.structs.replace(result, sources=[], sweeps=[], variants=variants, checks=checks)


def gpu_models(entries: Sequence[Entry]) -> list[str]:
    """The models of GPU that the entries' results were timed on, by name."""
    devices = (entry.result.environment.device for entry in entries if entry.result is not None)
    return sorted({device for device in devices if device})


@dataclass(frozen=True, slots=True)
class Table:
    """A lab's group.

    weight: of the lab in the course, None where the teacher named none.  similar: pairs that are alike, None where
    nobody looked for them.
    """

    lab: Lab
    entries: Sequence[Entry]
    weight: float | None = None
    similar: Similar | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """A kind of file: `<lab><suffix>` in the folder of outputs, one for each lab.

    write: the file's bytes, from a group and the language of its words.
    announce: the line that names the file, "" for one that nobody needs to look at.
    """

    suffix: str
    write: Callable[[Table, str], bytes]
    announce: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class CourseExport:
    """A kind of file: `name` in the folder of outputs, one for all labs that were graded into it."""

    name: str
    write: Callable[[Sequence[Table], str], bytes]
    announce: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class StudentExport:
    """A kind of file: `name` beside each student's result."""

    name: str
    write: Callable[[Entry, Lab, str], bytes]


# What marks come to beyond points: per cent, since what is possible differs between students.


def percent(result: Result) -> float | None:
    """Points earned of those possible for this student, 0 to 100; None where none are possible, or too little was
    judged for a mark."""
    possible = result.score.possible
    return round(100 * result.score.earned / possible, 2) if possible and result.status != "not_judged" else None


def lab_points(lab: Lab) -> float:
    return round(sum(check.points for variant in lab.variants for check in variant.checks), 2)


def scaled(result: Result, lab: Lab) -> float | None:
    """The mark on the scale of the whole lab, for systems that know one maximum for all students."""
    share = percent(result)
    return None if share is None else round(share * lab_points(lab) / 100, 2)


def course_percent(tables: Sequence[Table], entries: Sequence[Entry | None]) -> float | None:
    """Per cent of a course: by the labs' weights, work that is not there counting nothing and work without a verdict
    not at all; without weights of what was possible in the labs that were graded.

    entries: a student's entry in each table.  None where nothing was judged."""
    of_labs = [entry.result if entry is not None else None for entry in entries]
    results = [result for result in of_labs if result is not None and result.status != "not_judged"]
    weights = [
        0.0 if result is not None and result.status == "not_judged" else 1.0 if table.weight is None else table.weight
        for table, result in zip(tables, of_labs, strict=True)
    ]
    if results and sum(weights) > 0 and any(table.weight is not None for table in tables):
        shares = [(percent(result) or 0.0) if result is not None else 0.0 for result in of_labs]
        weighted = [weight * share for weight, share in zip(weights, shares, strict=True)]
        return round(sum(weighted) / sum(weights), 2)
    possible = sum(result.score.possible for result in results)
    return round(100 * sum(result.score.earned for result in results) / possible, 2) if possible else None


# Who belongs to a group, in order, and why some have no result: what a later `grade report` needs to show it again.

ROSTER_SUFFIX = ".json"


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
    record = told(Roster(lab=lab.id, members=members, checks=rules_of(lab), rest=rest_of(lab)))
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


ROSTER = Export(ROSTER_SUFFIX, of_entries(roster), lambda path: "")
