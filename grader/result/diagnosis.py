"""Why an output is wrong, as records."""

from __future__ import annotations

from typing import Literal

from grader.message import Message
from grader.result.record import Record


class Element(Record, frozen=True):
    """An element of an array; index: slowest axis first."""

    array: str
    index: list[int]


class ElementRange(Record, frozen=True):
    """Elements of an array: for each axis, slowest first, the first and the last index."""

    array: str
    ranges: list[tuple[int, int]]


class ElementWriter(Record, frozen=True):
    """A thread that wrote an element, and the source line at which it did."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    op: Literal["store", "atomic"] = "store"


class ElementRead(Record, frozen=True):
    """An element that a thread read, and how it had come there.

    origin: "input" (it was there before the launch), "written" (by `put_by`, who had made it from `put_from`), or
    "nothing" (nobody had written it by then; `put_by` is who wrote it later, null when nobody ever did).
    """

    array: str
    space: Literal["shared", "global"]
    index: list[int]
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    origin: Literal["input", "written", "nothing"]
    put_by: ElementWriter | None = None
    put_from: list[Element] = []


class WrongPattern(Record, frozen=True):
    """A rule that the wrong elements follow: it holds for `holds` of `of` of them; `data` are its numbers.

    docs/result.md lists the ids.
    """

    id: str
    holds: int
    of: int
    data: dict[str, int | float | str] = {}


class Diagnosis(Record, frozen=True):
    """Why an output is wrong, told of its first wrong element at the smallest size that goes wrong.

        shape, tile: of the output, slowest axis first (tile: elements that a block covers; [] when unknown).
        inputs: shapes of the inputs by name.
        total, wrong, unwritten: counts of elements; unwritten ones still hold what was there before the launch.
        first: index of the first wrong element; expected, got: its values, null where they are no finite number.
        expected_at, got_at: where these values stand in an input, null when nowhere or in several places.
        writer: who wrote it last, null when nobody did or it is not known (`traced` tells which).  writers: how many
        threads wrote it.  overwritten: who had written the right value there before, else null.
        reads: what the writer had read to make it (at most 64).  read: the input elements that it came to be made from
        (at most 64 ranges, like the next two).  uses: how many readings of them it was made from.
        missing, surplus: those that it should have been made from as well, or should not have been; found out from the
        oracle where `compared`.
        values: the rule of the wrong values.  region: where they lie.
        sentences: all of this in words; sentences_said: as ids and data.
    picture: a string for each row along the last axis, a character for each element: "." right, "x" wrong, "o" wrong
    because nobody wrote it; [] for large outputs.
    """

    size: dict[str, int]
    output: str
    shape: list[int]
    total: int
    wrong: int
    unwritten: int
    first: list[int]
    expected: float | int | None
    got: float | int | None
    tile: list[int] = []
    inputs: dict[str, list[int]] = {}
    expected_at: Element | None = None
    got_at: Element | None = None
    traced: bool = False
    writer: ElementWriter | None = None
    writers: int = 0
    overwritten: ElementWriter | None = None
    reads: list[ElementRead] = []
    read: list[ElementRange] = []
    uses: int = 0
    compared: bool = False
    missing: list[ElementRange] = []
    surplus: list[ElementRange] = []
    values: WrongPattern | None = None
    region: WrongPattern | None = None
    sentences: list[str] = []
    sentences_said: list[Message] = []
    picture: list[str] = []
