"""The order of what a program queues: streams and events as vector clocks, accesses that nothing puts in order, and
graphs, which streams keep instead of doing it, with the memory that they allocate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from grader.message import Message, msg
from grader.programs.device_memory import Allocation, Bytes
from grader.programs.runtime.devices import CudaError


class Place(msgspec.Struct, frozen=True):
    """Where in the program's text a call stands."""

    line: int
    file: str


NOWHERE = Place(0, "")


@dataclass(frozen=True, slots=True)
class Raised:
    """A call that asked for more shared memory, or for a larger part of the cache as such (`is_carveout`)."""

    kernel: str
    value: int
    place: Place
    is_carveout: bool


@dataclass
class Stream:
    """A queue: `clock` holds, by stream, how far that stream had come before what is queued now (0 is the host).

    attributes: values that the program has set, by number.
    """

    number: int
    blocking: bool = True
    clock: dict[int, int] = field(default_factory=dict)
    ready_ns: int = 0
    priority: int = 0
    attributes: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Event:
    """A mark in a stream: `launches` counts those made before it was recorded.

    copies: the same of copies.  at_ns: the host's time then.  handle: the device's own, if any.
    timed: the event that ended the last time which began with it, since it was recorded, and the launches before that.
    """

    recorded: bool = False
    clock: dict[int, int] = field(default_factory=dict)
    ready_ns: int = 0
    launches: int = 0
    copies: int = 0
    at_ns: int = 0
    place: Place = NOWHERE
    timing: bool = True
    handle: Any = None
    timed: tuple[Any, int] = None, 0


class Pending(msgspec.Struct, frozen=True):
    """A launch that the host has not waited for: which step of which stream, and where it stands."""

    kernel: str
    stream: int
    ticket: int
    place: Place
    number: int


@dataclass(frozen=True, slots=True)
class Text:
    """What a kernel has printed: it comes out when the host waits for that step of that stream."""

    text: bytes
    kernel: str
    stream: int
    ticket: int
    place: Place


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


GOLDEN = 0.618034
"""Its multiples, whole parts left out, lie far from each other, however many there are."""


def marked_ns(least_ns: int, kind: int, number: int) -> int:
    """Return a time that no other step of a run takes, nor any few of them together: up to four times the least.

    Those of one kind are a sixth apart at most.  number: of the step.
    """
    of_kind = least_ns * (1 + 2.3 * (kind * GOLDEN % 1))
    return int(of_kind * (1 + crc32(number.to_bytes(8, "little")) % 100_000 / 600_000))


def join(into: dict[int, int], other: Mapping[int, int]) -> None:
    """Merge a vector clock into another: the later step of each stream."""
    for number, ticket in other.items():
        if into.get(number, 0) < ticket:
            into[number] = ticket


class StreamAccess(NamedTuple):
    """What a step of a stream reads or writes of an array, from byte `low` to `high`, at a place in the program.

    part: of a kernel, which may use less than that: what tells its part of the array from others.
    stored: the first and the last byte that such a kernel was seen to change; none where nobody looked.
    """

    stream: int
    ticket: int
    low: int
    high: int
    place: Place
    is_write: bool
    part: tuple[object, ...] | None = None
    stored: tuple[int, ...] = ()


def unordered(allocation: Allocation, clock: Mapping[int, int], access: StreamAccess) -> list[StreamAccess]:
    """Other streams' accesses that nothing puts in order with this one, which is kept beside them.

    clock: its stream's, before it.
    """
    _stream, _ticket, low, high, _place, is_write, part, _stored = access
    kept, found = [], []
    for other in allocation.accesses:
        number, other_ticket, other_low, other_high, _other_place, other_write, other_part, stored = other
        if clock.get(number, 0) >= other_ticket:
            if not (is_write and number == access.stream and low <= other_low and other_high <= high):
                kept.append(other)
            continue
        kept.append(other)
        overlap = low < other_high and other_low < high
        if part is not None and other_part is not None:
            # The same kernel with another offset works on another part of the array.
            overlap = overlap and (part == other_part or part[0] != other_part[0])
        elif part is not None or other_part is not None:
            # Whoever copies a part has a kernel work on that part; which one that is, a pointer into the array says.
            start, copied = (low, (other_low, other_high)) if part is not None else (other_low, (low, high))
            is_there = start > 0 and copied[0] <= start < copied[1]
            is_there = is_there or any(copied[0] <= byte < copied[1] for byte in stored)
            overlap = overlap and (is_there or copied[1] - copied[0] >= allocation.size)
        if (is_write or other_write) and overlap:
            found.append(other)
    allocation.accesses = kept[-64:]
    allocation.accesses.append(access)
    return found


def note_stored(
    allocation: Allocation, clock: Mapping[int, int], launch: tuple[int, int], stored: tuple[int, int]
) -> list[tuple[StreamAccess, StreamAccess]]:
    """Keep the first and the last byte that a kernel was seen to change, and return it with those copies of that
    byte, if there are any, that nothing puts in order with it.

    clock: its stream's.  launch: that stream and its step there.
    """
    found = []
    for index, own in enumerate(allocation.accesses):
        if (own.stream, own.ticket) == launch and own.is_write and own.part is not None:
            own = allocation.accesses[index] = own._replace(stored=stored)
            found += [
                (own, other)
                for other in allocation.accesses
                if other.part is None
                and clock.get(other.stream, 0) < other.ticket
                and any(other.low <= byte < other.high for byte in stored)
            ]
    return found


DEFAULT_STREAM = 1


def of_race(array: str, access: StreamAccess, other: StreamAccess) -> tuple[Message, Place]:
    """Return what is told of two accesses that nothing puts in order, and where.

    The default stream waits for all but those that were made not to be waited for, as they do not wait for it.
    """
    for own, there in ((access, other), (other, access)):
        if own.stream == DEFAULT_STREAM:
            return msg("programs.stream_race_with_default", array=array, line=there.place.line), own.place
    return msg("programs.stream_race", array=array, line=other.place.line), access.place


MAX_NODES = 20_000
KERNEL = 0
"""A kernel's node, as `cudaGraphNodeType` has it."""


Work = Callable[[int], int | None]
"""What a node does in a stream: returns CUDA's error, None for success."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph.  after: the nodes that come before it.  is_enabled: a launch makes it.

    work_of: of a conditional node, its work as its bodies are then, which are filled after it was added.
    """

    run: Work
    kind: int
    after: frozenset[int] = frozenset()
    work_of: Callable[[], Work] | None = None
    is_enabled: bool = True

    def ready(self) -> Node:
        return self if self.work_of is None else replace(self, run=self.work_of(), work_of=None)


@dataclass
class Graph:
    """nodes: by handle, in the order in which they were added.  freed: by address, the node that frees that memory.

    allocates: addresses that its nodes allocate.  frees_first: a launch frees what the one before it has left of them.
    conditions: by the handle of each condition, what a launch sets it to first, None where it leaves it.
    origin: of a clone, the nodes of the graph that it was made of, in the order of its own.
    """

    nodes: dict[int, Node] = field(default_factory=dict)
    freed: dict[int, int] = field(default_factory=dict)
    allocates: set[int] = field(default_factory=set)
    frees_first: bool = False
    conditions: dict[int, int | None] = field(default_factory=dict)
    origin: dict[int, int] = field(default_factory=dict)

    def before(self, last: Collection[int]) -> set[int]:
        """Return these nodes and all that come before them."""
        earlier: set[int] = set()
        queue = list(last)
        while queue:
            handle = queue.pop()
            if handle not in earlier:
                earlier.add(handle)
                queue += self.nodes[handle].after
        return earlier


@dataclass
class Capture:
    """graph: what is captured into, by the stream `origin`.  last: the nodes that the next one comes after."""

    graph: Graph
    origin: int
    last: frozenset[int] = frozenset()


CHUNK_BYTES = 32 << 20
"""What a pool or a graph takes from the device at once."""
USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)
"""`cudaGraphMemAttributeType`."""


def in_chunks(size: int) -> int:
    """Return bytes rounded up to whole chunks."""
    return -(-size // CHUNK_BYTES) * CHUNK_BYTES


@dataclass
class GraphMemory:
    """Memory that nodes of graphs allocate: an address for good, and behind it what the device has, node by node.

    held: by address, bytes of what is allocated now.  kept: what was freed and not trimmed, as bytes and the stream
    that may have them next, None where any may.  high: the most that was used, and reserved, since that was reset.
    """

    held: dict[int, int] = field(default_factory=dict)
    kept: list[tuple[int, int | None]] = field(default_factory=list)
    high: dict[int, int] = field(default_factory=lambda: {USED_HIGH: 0, RESERVED_HIGH: 0})

    def take(self, address: int, size: int, stream: int) -> None:
        """Allocate for a node.  Raises CudaError 1 where what it allocated before was not freed."""
        if address in self.held:
            raise CudaError(1)
        taken = in_chunks(size)
        reused = next((block for block in self.kept if block[0] == taken and block[1] in (stream, None)), None)
        if reused is not None:
            self.kept.remove(reused)
        self.held[address] = taken
        for attribute in self.high:
            self.high[attribute] = max(self.high[attribute], self.value(attribute - 1))

    def give_back(self, address: int, stream: int | None) -> None:
        """Free in the order of a stream, None of everything.  Raises CudaError 1 where it was not allocated."""
        if address not in self.held:
            raise CudaError(1)
        self.kept.append((self.held.pop(address), stream))

    def value(self, attribute: int) -> int:
        """Return the bytes of an attribute.  Raises CudaError 1 where there is no such attribute."""
        if attribute in self.high:
            return self.high[attribute]
        if attribute not in (USED, RESERVED):
            raise CudaError(1)
        used = sum(self.held.values())
        return used if attribute == USED else used + sum(size for size, _stream in self.kept)

    def reset(self, attribute: int) -> None:
        """Count the most from now on.  Raises CudaError 1 where the attribute is no such one."""
        if attribute not in self.high:
            raise CudaError(1)
        self.high[attribute] = self.value(attribute - 1)


@dataclass
class Graphs:
    """graphs: by handle, those that can be launched, too.  captures: by stream.  events: recorded in such streams.

    numbers: what the host had, by address, when the call of a library that a graph makes now was captured.
    memory: what their nodes allocate.
    """

    graphs: dict[int, Graph] = field(default_factory=dict)
    captures: dict[int, Capture] = field(default_factory=dict)
    events: dict[int, Capture] = field(default_factory=dict)
    numbers: Mapping[int, bytes] = field(default_factory=dict)
    memory: GraphMemory = field(default_factory=GraphMemory)

    def append(self, handle: int, held: Capture, run: Work, kind: int) -> None:
        """Append a capturing stream's next node."""
        add(handle, held.graph, Node(run, kind, held.last))
        held.last = frozenset({handle})


def add(handle: int, graph: Graph, node: Node) -> None:
    """Raises CudaError 2 where a graph has as many nodes as are kept."""
    if len(graph.nodes) >= MAX_NODES:
        raise CudaError(2)
    graph.nodes[handle] = node


@dataclass(frozen=True, slots=True)
class Unwaited:
    """What the device writes into memory of both sides, as far as the host knows: which step of which stream.

    address, size: in the program's memory.  changed: which of these bytes a kernel changed, None for all.
    width: of an element.  kernel: its name, "" for a copy.  waited: where the host has waited for another stream since.
    parameter: what the kernel calls the memory.
    """

    allocation: Allocation
    address: int
    size: int
    stream: int
    ticket: int
    place: Place
    kernel: str = ""
    changed: Bytes | None = None
    width: int = 1
    waited: Place | None = None
    parameter: str = ""

    def covers(self, address: int) -> bool:
        """Whether the element at an address is one of those written."""
        at = address - self.address
        if not 0 <= at < self.size:
            return False
        first = at // self.width * self.width
        return self.changed is None or bool(self.changed[first : first + self.width].any())
