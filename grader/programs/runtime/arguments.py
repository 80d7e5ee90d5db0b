"""The arguments of a launch: what each is, what had come into it before, what the device gets, and pointers that lie in
memory.

A program's memory of both sides has one address for the host and another for kernels.  Arguments are translated
(`translated`).  What lies in memory cannot be told from numbers, so from the launch on before which the address of such
memory is found in any, kernels are given all of it where the host has it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from grader.programs.device import plain_name
from grader.programs.device_memory import Allocation, Bytes, DeviceMemory
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.ordering import Place, Stream, StreamAccess, note_stored, of_race
from grader.programs.runtime.registration import split_list
from grader.programs.runtime.state import Kernel, State
from grader.submission.kernels.records import Contents, SeenArgument, SeenLaunch

MAX_HASHED_BYTES = 256 << 20
"""Bytes hashed of all buffers together, each as often as it is filled."""
MAX_STRUCT_BYTES = 64
MAX_FILLED_BYTES = 4096
_PLAIN_TYPE = r"(?:(?:unsigned|signed|short|long|int|char|bool|size_t|u?int\d+_t)\s?)+"
MAX_FILLED = 32
"""Small variables of the device that the host fills."""

_FORMATS = {
    "int": "i",
    "unsigned int": "I",
    "unsigned": "I",
    "float": "f",
    "double": "d",
    "long": "q",
    "unsigned long": "Q",
    "long long": "q",
    "unsigned long long": "Q",
    "short": "h",
    "unsigned short": "H",
    "char": "b",
    "signed char": "b",
    "unsigned char": "B",
    "bool": "B",
}


class _Parameter(NamedTuple):
    """A parameter of a kernel as its launches are described; number: how its value is read, None of what is none."""

    name: str
    type_text: str
    number: struct.Struct | None
    is_pointer: bool
    may_be_written: bool


def is_number(type_text: str) -> bool:
    """Whether a parameter of this type is a number by itself."""
    return type_text.removesuffix(" const") in _FORMATS


@lru_cache(maxsize=1000)
def number_layout(type_text: str) -> struct.Struct | None:
    """How a number of this type is read; None of what is none."""
    layout = _FORMATS.get(type_text.removesuffix(" const"))
    return struct.Struct("<" + layout) if layout else None


@lru_cache(maxsize=1000)
def _parameters(types: tuple[str, ...], names: tuple[str, ...]) -> tuple[_Parameter, ...]:
    parameters = []
    for name, type_text in zip(names, types, strict=True):
        argument = SeenArgument(name, type_text)
        layout = number_layout(type_text)
        parameters.append(_Parameter(name, type_text, layout, argument.is_pointer, argument.may_be_written))
    return tuple(parameters)


def described(state: State, kernel: Kernel, raw: list[bytes]) -> tuple[SeenArgument, ...]:
    """Name, type, value or memory of each argument, whose bytes are `raw`."""
    types = kernel.types if len(kernel.types) == len(raw) else ("?",) * len(raw)
    names = state.parameter_names.get(name_parts(kernel.display)[0], ())
    names = tuple(names) if len(names) == len(raw) else ("",) * len(raw)
    arguments = []
    for value, (name, type_text, number, is_pointer, may_be_written) in zip(
        raw, _parameters(types, names), strict=True
    ):
        if number is not None and number.size == len(value):
            arguments.append(SeenArgument(name, type_text, number.unpack(value)[0]))
            continue
        argument = SeenArgument(name, type_text)
        if is_pointer and len(value) == 8:
            allocation = _allocation_at(state, value)
            if allocation is not None:
                argument = _pointing(state, argument, allocation, value)
                if may_be_written:
                    allocation.origins.add("kernel")
        elif len(value) <= MAX_STRUCT_BYTES:
            inside = tuple(
                (start, _pointing(state, SeenArgument("", "void*"), allocation, word))
                for start in range(0, len(value) - 7, 8)
                if (allocation := _allocation_at(state, word := value[start : start + 8])) is not None
            )
            argument = msgspec.structs.replace(argument, raw=value, inside=inside)
        arguments.append(argument)
    return tuple(arguments)


def _allocation_at(state: State, value: bytes) -> Allocation | None:
    address = int.from_bytes(value, "little")
    return state.memory.find(address) or (shared_at(state, address) if state.host_memory else None)


def _pointing(state: State, argument: SeenArgument, allocation: Allocation, value: bytes) -> SeenArgument:
    """Return the argument with a description of the memory that its address lies in."""
    address = int.from_bytes(value, "little")
    before, digest = _contents(state, allocation)
    origins = allocation.origins
    return SeenArgument(
        argument.name,
        argument.type_text,
        buffer=allocation.name,
        buffer_bytes=allocation.size,
        offset_bytes=address - (allocation.host or allocation.base),
        before=before,
        digest=digest,
        serial=allocation.serial,
        origins=tuple([origin for origin in ("copied", "zeroed", "kernel") if origin in origins]),
    )


def note_read_back(launch: SeenLaunch, buffer: str) -> bool:
    """Mark a buffer as read back by the host; return whether the launch was handed it."""
    pointers = (p for a in launch.arguments for p in (a, *(pointer for _start, pointer in a.inside)))
    if all(pointer.buffer != buffer for pointer in pointers):
        return False

    def noted(argument: SeenArgument) -> SeenArgument:
        inside = tuple((start, noted(pointer)) for start, pointer in argument.inside)
        read_back = argument.read_back or argument.buffer == buffer
        return msgspec.structs.replace(argument, read_back=read_back, inside=inside)

    launch.arguments = tuple(noted(argument) for argument in launch.arguments)
    return True


@lru_cache(maxsize=1000)
def name_parts(display: str) -> tuple[str, tuple[str, ...]]:
    """ "lab::tiled<16, float>" as "tiled" and ("16", "float")."""
    head, bracket, tail = display.partition("<")
    plain = head.rpartition("::")[2]
    if not bracket:
        return plain, ()
    return plain, tuple(map(_literal, split_list(tail.rpartition(">")[0])))


def _literal(text: str) -> str:
    """ "(int)16" and "16u" as "16"; the value of an enumeration keeps its type."""
    match = re.fullmatch(rf"(?:\({_PLAIN_TYPE}\))?(-?\d+)[uUlL]*", text)
    return match[1] if match else text


def _contents(state: State, allocation: Allocation) -> tuple[Contents, str]:
    """Return what a buffer holds, and the digest of the host's data in it."""
    is_copied = "copied" in allocation.origins
    unseen: Contents = "data" if is_copied else ""
    if state.limits.looks and allocation.host and allocation.array.data.size != allocation.size:
        state.memory.refresh(allocation, state.guest.lent(allocation.host, allocation.size))
    if "kernel" in allocation.origins:
        return "kernel", ""
    if not state.limits.looks:
        return unseen, ""
    if not (allocation.host or is_copied):
        return "zeros" if "zeroed" in allocation.origins else "", ""
    digest = allocation.digest
    if digest is None:
        if state.hashed_bytes + allocation.size > MAX_HASHED_BYTES:
            return unseen, ""
        state.hashed_bytes += allocation.size
        data = np.ascontiguousarray(allocation.seen())
        digest = blake2b(data.data, digest_size=16).hexdigest() if data.any() else ""
        # Memory of both sides changes without a call that could be noticed.
        allocation.digest = None if allocation.host else digest
    return "data" if digest else "zeros", digest


def filled(state: State) -> tuple[tuple[str, bytes], ...]:
    """Return what the host has copied into small device variables, by names without namespaces."""
    values: dict[str, bytes] = {}
    if not state.limits.looks:
        return ()
    for (_unit, name), variable in state.variables.items():
        if variable is not None and variable.origins == {"copied"} and variable.size <= MAX_FILLED_BYTES:
            values[plain_name(name)] = bytes(variable.seen())
    return tuple(sorted(values.items())) if len(values) <= MAX_FILLED else ()


def translated(state: State, raw: bytes, type_text: str) -> bytes:
    """Return an argument as the device takes it: shared memory has another address there."""
    if not state.host_memory or len(raw) != 8 or not type_text.endswith("*"):
        return raw
    (address,) = struct.unpack("<Q", raw)
    shared = shared_at(state, address)
    return raw if shared is None else struct.pack("<Q", shared.base + address - shared.host)


def memory_of(state: State, record: SeenLaunch, raw: list[bytes]) -> list[Allocation | None]:
    """Return the allocation that each argument points to; None for what points to no memory of the device."""
    allocations: list[Allocation | None] = []
    for value, argument in zip(raw, record.arguments, strict=True):
        allocations.append(_allocation_at(state, value) if argument.buffer and len(value) == 8 else None)
    return allocations


def put_in_order(
    state: State, record: SeenLaunch, buffers: list[Allocation | None], stream: Stream, ticket: int, place: Place
) -> None:
    """Look for other streams' work on the same arrays; what is `const` is read only.

    buffers: see `memory_of`.
    """
    if len(state.streams) == 1 and not any(buffer.accesses for buffer in buffers if buffer is not None):
        return
    # The same kernel with another number or another place in an array works on another part of it.
    part = (record.display, *((argument.value, argument.offset_bytes) for argument in record.arguments))
    for allocation, argument in zip(buffers, record.arguments, strict=True):
        if allocation is not None:
            start, is_write = argument.offset_bytes, argument.may_be_written
            access = StreamAccess(stream.number, ticket, start, allocation.size, place, is_write, part)
            state.access(allocation, stream, access)


def before_stores(
    state: State, record: SeenLaunch, buffers: Sequence[Allocation | None]
) -> list[tuple[Allocation, Bytes]]:
    """Return what is in the device's arrays that a kernel may write, where several streams may use them: small ones,
    before the first launches at a place."""
    key = ("stores", record.file, record.line, record.symbol)
    if len(state.streams) == 1 or not state.limits.looks or not isinstance(state.memory, DeviceMemory):
        return []
    count = state.seen_launches[key] = state.seen_launches.get(key, 0) + 1
    pairs = zip(buffers, record.arguments, strict=True)
    own = [a for a, argument in pairs if a is not None and not a.host and a.array and argument.may_be_written]
    if count > OBSERVED_STORES or sum(allocation.size for allocation in own) > MAX_COMPARED_BYTES:
        return []
    return [(allocation, allocation.seen().copy()) for allocation in own]


def put_stores_in_order(state: State, before: list[tuple[Allocation, Bytes]], stream: Stream, ticket: int) -> None:
    """Look for copies, in other streams, of what a kernel was seen to change; before: from `before_stores`."""
    for allocation, old in before:
        changed = np.flatnonzero(allocation.seen() != old)
        if len(changed):
            ends = int(changed[0]), int(changed[-1])
            for own, other in note_stored(allocation, stream.clock, (stream.number, ticket), ends):
                state.tell("stream_race", "error", *of_race(allocation.name, own, other))


OBSERVED_STORES, MAX_COMPARED_BYTES = 3, 16 << 20
"""Launches at a place whose arrays are compared with what was in them, and bytes of these."""
LOOKED_AT_BYTES = 64 << 10
"""Bytes from the start of each array in which pointers are looked for."""

Words = npt.NDArray[np.uint64]


class _Ranges:
    """Disjoint pieces of an address space, by start and size."""

    def __init__(self, pieces: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(pieces)
        self.starts: Words = np.array([start for start, _size in ordered], np.uint64)
        self.ends: Words = np.array([start + size for start, size in ordered], np.uint64)

    def holding(self, words: Words) -> npt.NDArray[np.intp]:
        """(n,) the number of the piece that each word is an address in; -1 where there is none."""
        index = np.searchsorted(self.starts, words, "right") - 1
        return np.where((index >= 0) & (words < self.ends[index]), index, -1)


def _words(raw: npt.NDArray[np.uint8], size: int = LOOKED_AT_BYTES) -> Words:
    return raw[: min(len(raw), size) // 8 * 8].view(np.uint64)


def _of_the_device(state: State) -> Iterator[Words]:
    """Yield the first words of arrays and variables that the host has copied into."""
    for allocation in state.memory.live.values():
        if not allocation.host and "copied" in allocation.origins and allocation.size >= 8:
            yield _words(allocation.seen(0, min(allocation.size, LOOKED_AT_BYTES)))


def pointers_are_kept(state: State, raw: Sequence[bytes], types: Sequence[str]) -> bool:
    """Whether memory that a kernel can reach, or a structure it is handed, holds an address of memory of both sides."""
    if not state.host_memory or not state.memory.takes_host_addresses:
        return False
    ranges = _Ranges([(host, allocation.size) for host, allocation in state.host_memory.items()])
    for value, type_text in zip(raw, types, strict=True):
        words = _words(np.frombuffer(value, np.uint8))
        if not type_text.endswith("*") and not is_number(type_text) and (ranges.holding(words) >= 0).any():
            return True
    for host, allocation in state.host_memory.items():
        words = _words(state.guest.view(host, min(allocation.size, LOOKED_AT_BYTES)))
        if (ranges.holding(words) >= 0).any():
            return True
    # Some numbers in an array of the device may well look like addresses, but hardly like those of whole arrays.
    return any(np.isin(words, ranges.starts).any() for words in _of_the_device(state))


def give_back_pointers(state: State, everywhere: bool = False) -> None:
    """Addresses of the device's that kernels have left in memory of both sides become the host's.

    everywhere: those in the device's own memory as well, before kernels are given host addresses.
    """
    if not state.host_memory or not state.memory.takes_host_addresses:
        return
    shared = sorted(state.host_memory.values(), key=lambda allocation: allocation.base)
    ranges = _Ranges([(allocation.base, allocation.size) for allocation in shared])
    hosts: Words = np.array([allocation.host for allocation in shared], np.uint64)
    arrays = [(state.guest.view(a.host, a.size), LOOKED_AT_BYTES) for a in shared]
    if everywhere:
        arrays += [(data, len(data)) for data in state.memory.own_arrays()]
    for data, looked_at in arrays:
        if (ranges.holding(_words(data, looked_at)) < 0).all():
            continue
        words = _words(data, len(data))
        index = ranges.holding(words)
        moved = index >= 0
        words[moved] += hosts[index[moved]] - ranges.starts[index[moved]]
