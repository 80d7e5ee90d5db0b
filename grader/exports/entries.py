"""What an export is made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.course.people import Person, sorted_as
from grader.lab.records import Lab
from grader.message import Message
from grader.result import Result
from grader.similarity.pairs import Similar


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
