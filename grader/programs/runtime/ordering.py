"""The order of what a program queues: streams and events as vector clocks, and accesses that nothing puts in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.programs.device_memory import Allocation


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the program's text a call stands."""

    line: int
    file: str


NOWHERE = Place(0, "")


@dataclass
class Stream:
    """A queue: `clock` holds, by stream, how far that stream had come before what is queued now (0 is the host)."""

    number: int
    blocking: bool = True
    clock: dict[int, int] = field(default_factory=dict)
    ready_ns: int = 0


@dataclass
class Event:
    """A mark in a stream: `launches` counts those made before it was recorded."""

    recorded: bool = False
    clock: dict[int, int] = field(default_factory=dict)
    time_ns: int = 0
    launches: int = 0
    place: Place = NOWHERE
    timing: bool = True


@dataclass(frozen=True, slots=True)
class Pending:
    """A launch that the host has not waited for: which step of which stream, and where it stands."""

    kernel: str
    stream: int
    ticket: int
    place: Place
    number: int


@dataclass(frozen=True, slots=True)
class Underway:
    """A copy out of page-locked memory that the host has not waited for: which step of which stream, and what it took.

    digest: of the bytes at `address` in the host's memory when the copy was queued.
    """

    allocation: Allocation
    address: int
    size: int
    digest: int
    stream: int
    ticket: int
    place: Place


def join(into: dict[int, int], other: Mapping[int, int]) -> None:
    """The later of both for each stream."""
    for number, ticket in other.items():
        if into.get(number, 0) < ticket:
            into[number] = ticket


def unordered(
    allocation: Allocation,
    stream: Stream,
    ticket: int,
    low: int,
    high: int,
    is_write: bool,
    place: Place,
    part: tuple[object, ...] | None,
) -> list[Place]:
    """Places of other streams' accesses that nothing puts in order with this one, which is kept beside them.

    low, high: bytes of the array.  part: see `State.access`.
    """
    kept, found = [], []
    for other in allocation.accesses:
        number, other_ticket, other_low, other_high, other_write, other_place, other_part = other
        if stream.clock.get(number, 0) >= other_ticket:
            if not (is_write and number == stream.number and low <= other_low and other_high <= high):
                kept.append(other)
            continue
        kept.append(other)
        overlap = low < other_high and other_low < high
        if part is not None and other_part is not None:
            # The same kernel with another offset works on another part of the array.
            overlap = overlap and (part == other_part or part[0] != other_part[0])
        elif part is not None or other_part is not None:
            # Whoever copies a part has a kernel work on that part.
            copied = other_high - other_low if part is not None else high - low
            overlap = overlap and copied >= allocation.size
        if (is_write or other_write) and overlap:
            found.append(other_place)
    allocation.accesses = kept[-64:]
    allocation.accesses.append((stream.number, ticket, low, high, is_write, place, part))
    return found
