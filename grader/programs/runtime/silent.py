"""Mistakes in a program that no call rejects.

Sizes of copies and arrays that are a pointer's, lack their sizeof, leave a part of the array, or go on behind the
host's; results that nobody ever reads, or that are overwritten before; memory that both sides use, touched by the host
before it has waited for what the device still writes.  Certain of the last are a copy into page-locked memory, which
`cudaMemcpyAsync` only queues, and the bytes that a kernel was seen to change; others return when they are done.
"""

from __future__ import annotations

import math
import mmap
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np

from grader.message import msg
from grader.programs.device_memory import Allocation, Bytes
from grader.programs.moved import end_of_block
from grader.programs.runtime.ordering import Place, Unwaited
from grader.programs.runtime.state import State
from grader.submission.kernels.records import SeenLaunch

MAX_COPIED, MAX_RANGES = 2000, 256
MAX_LOOKS = 64  # copies of a run whose host's side is looked at
POINTER_BYTES, VECTOR_BYTES = 8, 24
WIDTHS = {"double": 8, "long": 8, "float": 4, "int": 4, "unsigned int": 4, "short": 2, "unsigned short": 2}
WIDTHS |= {"unsigned long": 8, "long long": 8, "unsigned long long": 8}
_SIZE_OF = re.compile(r"\(?\s*sizeof\s*(?:\(\s*(\w+)\s*\)|\s(\w+))\s*\)?")
# What may stand between two words is bounded: else a text of a few thousand characters keeps a search busy for hours.
_BETWEEN = "{0,80}"
_CALLED = "cudaMemcpy", "cudaMemcpyAsync"
_OF_SYMBOLS = "cudaMemcpyToSymbol", "cudaMemcpyFromSymbol"


@dataclass(slots=True)
class Copied:
    """What was copied into an array, or out of it after a kernel had written it.

    ranges: first byte and the one past the last of each copy.  place: of the first copy.
    """

    allocation: Allocation
    place: Place
    is_into: bool
    ranges: set[tuple[int, int]] = field(default_factory=set)
    is_told: bool = False


def note_copied(
    state: State, allocation: Allocation | None, rows: Sequence[tuple[int, int]], place: Place, into: bool
) -> None:
    """Note a copy of rows, (offset, bytes), between an array of the device's and the host."""
    if allocation is None or allocation.kind not in ("device", "symbol") or len(state.copied) > MAX_COPIED:
        return
    key = allocation.serial, into, 0 if into else allocation.written
    copied = state.copied.setdefault(key, Copied(allocation, place, into))
    if len(copied.ranges) < MAX_RANGES:
        copied.ranges |= {(offset, offset + size) for offset, size in rows[:MAX_RANGES]}


def note_arrays(record: SeenLaunch, allocations: Sequence[Allocation | None]) -> None:
    """Note how large the elements of its arrays are to a kernel, and what it may write."""
    for allocation, argument in zip(allocations, record.arguments, strict=True):
        if allocation is not None:
            width = _width(argument.type_text)
            # If an array is handed over in parts, a copy may be of such a part.
            allocation.width = 1 if argument.offset_bytes or allocation.width == 1 else width
            allocation.written += argument.may_be_written


def tell_short(state: State, *, is_whole: bool = True) -> None:
    """Tell of arrays of which no more was copied than a byte for each element; where a function was called or a program
    run for its outputs, also of those of which the host got a part.  Of one that was stopped freed arrays count."""
    for copied in state.copied.values():
        if (is_whole or copied.allocation.freed_line) and _is_of_count(copied):
            _tell_count(state, copied)
    parts: dict[int, list[Copied]] = {}
    for (serial, is_into, _written), copied in state.copied.items() if is_whole and state.calls.results else ():
        if not is_into and copied.allocation.written:
            parts.setdefault(serial, []).append(copied)
    for rows in parts.values():
        array, got = rows[0].allocation, _bytes_in([one for row in rows for one in row.ranges])
        if got < array.size and not any(row.is_told or len(row.ranges) >= MAX_RANGES for row in rows):
            message = msg("programs.copied_back_short", array=array.name, bytes=got, size=array.size)
            state.tell("copied_back", "remark", message, rows[-1].place)


def _is_of_count(copied: Copied) -> bool:
    width, size = copied.allocation.width, copied.allocation.size
    return width > 1 and not size % width and copied.ranges == {(0, size // width)}


def _tell_count(state: State, copied: Copied) -> bool:
    """Tell of a copy of as many bytes as there are elements, unless its text says how large these are."""
    text = state.sources.texts.get(copied.place.file, "")
    calls = [arguments for arguments in _calls(state, copied.place, _CALLED + _OF_SYMBOLS) if len(arguments) > 2]
    if copied.is_told or any(_has_width(arguments[2], text, unknown=False) for arguments in calls):
        return copied.is_told
    copied.is_told = True
    array, size, count = (
        copied.allocation.name,
        copied.allocation.size,
        copied.allocation.size // copied.allocation.width,
    )
    way = "into" if copied.is_into else "out"
    message = msg(f"programs.copy_of_count_{way}", array=array, bytes=count, size=size)
    state.tell("copy_size", "error", message, copied.place)
    return True


def tell_unfilled(state: State, allocation: Allocation, kernel: str, line: int) -> bool:
    """Tell of the copy that should have filled what a kernel reads of an array; whether there is one."""
    copied = state.copied.get((allocation.serial, True, 0))
    if copied is None or min(copied.ranges)[0] or len(copied.ranges) >= MAX_RANGES:
        return False
    filled = _bytes_in(copied.ranges)
    if filled >= allocation.size or copied.is_told or (_is_of_count(copied) and _tell_count(state, copied)):
        return bool(filled < allocation.size)
    copied.is_told = True
    message = msg(
        "programs.symbol_too_short" if allocation.kind == "symbol" else "programs.copy_too_short",
        array=allocation.name,
        bytes=filled,
        size=allocation.size,
        kernel=kernel,
        kernel_line=line,
    )
    state.tell("copy_size", "error", message, copied.place)
    return True


def _bytes_in(ranges: Collection[tuple[int, int]]) -> int:
    """Bytes that lie in any of the ranges: rows of a pitched copy leave gaps, copies may overlap."""
    filled = reached = 0
    for begin, end in sorted(ranges):
        filled += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return filled


def check_size(state: State, allocation: Allocation | None, size: int, place: Place) -> None:
    """Tell of a copy whose size is that of a pointer to the data."""
    if allocation is None or size not in (POINTER_BYTES, VECTOR_BYTES):
        return
    text = state.sources.texts.get(place.file, "")
    called = _OF_SYMBOLS if allocation.kind == "symbol" else _CALLED
    for arguments in _calls(state, place, called):
        name = _sized_by(arguments[2], text) if len(arguments) > 2 else ""
        if name and _is_handle(name, arguments[:2], size, allocation, text):
            what = "symbol" if allocation.kind == "symbol" else "copy"
            message = msg(
                f"programs.{what}_of_pointer", array=allocation.name, name=name, bytes=size, of=allocation.size
            )
            state.tell("copy_size", "warning", message, place)
            if what == "symbol" and (copied := state.copied.get((allocation.serial, True, 0))) is not None:
                # That a kernel reads the rest says no more.
                copied.is_told = True
            return


# Where it is known how far before it the array begins: `h_out`, `v.data()`, `&v[0]`, `h_in + 1`.
_HOST_END = re.compile(
    r"(?:\(\w+ ?\*+\) ?)?(?:& ?(?P<of>\w+) ?\[ ?(?P<at>\d{1,9}) ?\]"
    r"|(?P<name>\w+)(?: ?\. ?(?:data|get) ?\( ?\))?(?: ?\+ ?(?P<by>\d{1,9}))?)"
)


def check_host_room(state: State, address: int, size: int, place: Place, *, into: bool) -> None:
    """Tell of a copy that goes on behind an array of the host's, as its block or malloc() tells, or of a freed one."""
    calls = _calls(state, place, _CALLED) if len(state.copies) < MAX_LOOKS else iter(())
    array = next((" ".join(parts[not into].split()) for parts in calls if len(parts) > 2), "")
    way, own = "to" if into else "from", state.guest.heap.at(address)
    left = own.address + own.size - address if own is not None else -1
    if own is None:
        end = _HOST_END.fullmatch(array)
        offsets = {int(end["at"] or end["by"] or 0) * width for width in (1, 2, 4, 8, 12, 16)} if end else ()
        lefts = [block - by for by in offsets if (block := state.guest.block_bytes(address - by)) is not None]
        text = re.sub(r"\b__global__\b[^{;]{0,1000}", "", state.sources.texts.get(place.file, ""))
        left = lefts[0] if end and len(lefts) == 1 and _is_of_heap(end["of"] or end["name"], text) else left
    is_freed = own is not None and own.freed
    if array and (is_freed or 0 <= left < size):
        said = msg(f"programs.copy_beyond_{way}", array=array, bytes=size, left=left)
        said = msg(f"programs.copy_freed_{way}", array=array) if is_freed else said
        state.tell("copy_size", "warning", said, place)


def _is_of_heap(name: str, text: str) -> bool:
    """Whether all that the host calls by a name begins where malloc(), new or a vector has it begin."""
    made = rf"(?:(?:\([^()]{_BETWEEN}\)|static_cast\s*<[^<>]{_BETWEEN}>\s*\()\s*)?(?:std::)?(?:malloc|calloc|new)\b"
    held = rf"\b(?:vector|unique_ptr)\s*<[^;{{}}()]{_BETWEEN}>\s*(?:[^;{{}}]{_BETWEEN}[\s,])?{name}\b"
    taken = rf"[(,][\w:<> ]{_BETWEEN}[*&]{{1,3}}\s*(?:const\s+)?{name}\s*[,)]"
    other = rf"\b{name}\s*(?:[+-]=|\+\+|--)|(?:\+\+|--)\s*{name}\b|{taken}"
    given, of_heap = (len(re.findall(rf"\b{name}\s*=(?!=){how}", text)) for how in ("", rf"\s*{made}"))
    is_known = given == of_heap if given else re.search(held, text)
    return bool(is_known) and not re.search(other, text)


def _sized_by(size: str, text: str) -> str:
    """X of `sizeof(X)`, also where that has a name of its own."""
    size = size.strip()
    size_of = _SIZE_OF.fullmatch(size)
    if size_of is None and re.fullmatch(r"\w+", size):
        given = re.findall(rf"\b{size}\s*=([^;,]{_BETWEEN})[;,]", text)
        size_of = next((match for match in (_SIZE_OF.fullmatch(value.strip()) for value in given) if match), None)
    return (size_of[1] or size_of[2]) if size_of is not None else ""


def _is_handle(name: str, pointers: Sequence[str], size: int, allocation: Allocation, text: str) -> bool:
    """Whether `name` is a pointer to what is copied, or an object that holds it."""
    ends = [pointer.strip() for pointer in pointers]
    if re.search(rf"\b(?!return\b|else\b|case\b)\w+\s+{name}\s*\[", text) or re.search(rf"\]\s*,\s*{name}\s*\[", text):
        # An array has the size of its data.
        return False
    if size == POINTER_BYTES and name in ends:
        declared = re.findall(rf"\b(\w+)\s*(?:const\s*)?\*[^;(){{}}]{_BETWEEN}?\b{name}\s*[,;=)({{]", text)
        return bool(declared) and (allocation.size > size or not set(declared) & {"double", "long", "int64_t"})
    of_object = rf"{name}\s*\.\s*(?:data|get)\s*\(\s*\)|&\s*{name}\s*\[\s*0\s*\]"
    handle = rf"\b(?:vector|unique_ptr|shared_ptr)\s*<[^;{{}}]{_BETWEEN}>[^;{{}}<>]{_BETWEEN}\b{name}\b"
    is_object = re.search(handle, text)
    return is_object is not None and allocation.size > size and any(re.fullmatch(of_object, end) for end in ends)


def check_counts(state: State, record: SeenLaunch, allocations: Sequence[Allocation | None]) -> None:
    """Tell of arrays that have as many bytes as they should have elements."""
    counts: frozenset[int] | None = None
    for allocation, argument in zip(allocations, record.arguments, strict=True):
        if allocation is None or allocation.kind != "device" or _width(argument.type_text) < 2:
            continue
        if counts is None:
            counts = _products(tuple([a.value for a in record.arguments if isinstance(a.value, int) and a.value > 1]))
        if allocation.size not in counts:
            continue
        place = Place(allocation.line, allocation.file)
        if (place, record.display) in state.counted:
            continue
        state.counted.add((place, record.display))
        if may_lack_size(state, allocation):
            kernel, size = record.display, allocation.size
            message = msg("programs.count_of_bytes", array=allocation.name, bytes=size, kernel=kernel)
            state.tell("alloc_size", "warning", message, place)


def may_lack_size(state: State, allocation: Allocation) -> bool:
    """Whether the call that makes an array does not say how large an element is."""
    place = Place(allocation.line, allocation.file)
    text = state.sources.texts.get(place.file, "")
    sizes = [a[1] for a in _calls(state, place, ("cudaMalloc",)) if len(a) == 2 and allocation.name in a[0]]
    return bool(sizes) and not any(_has_width(size, text) for size in sizes)


@lru_cache(maxsize=1000)
def _width(type_text: str) -> int:
    """Bytes of an element of an array of that type; 1 where that is not known."""
    return WIDTHS.get(type_text.rstrip("*").strip().removesuffix(" const"), 1)


@lru_cache(maxsize=1000)
def _products(numbers: tuple[int, ...]) -> frozenset[int]:
    """Products of one to three of some numbers, each of which may be used twice."""
    return frozenset(math.prod(some) for k in (1, 2, 3) for some in combinations([*numbers, *numbers][:8], k))


def _has_width(size: str, text: str, unknown: bool = True) -> bool:
    """Whether a size says how large an element is: by `sizeof`, a number, or a name for such a size.

    unknown: what is answered of a name whose value the text does not show.
    """
    for name in re.findall(r"[A-Za-z_]\w*", size):
        given = re.findall(rf"(?:#[ \t]*define[ \t]+{name}[ \t]|\b{name}\s*[=({{])([^;\n]*)", text)
        # Nobody knows whether its argument counts bytes or elements.
        if name != "sizeof" and ((not given and unknown) or any("sizeof" in _value(value) for value in given)):
            return True
    return "sizeof" in size or re.search(r"<<|[*/]\s*\d|\d\s*\*", size) is not None


def _value(text: str) -> str:
    """What stands before the comma that ends a declarator: the next one's value is not this one's."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if (character == "," and not depth) or depth < 0:
            return text[:at]
    return text


def _calls(state: State, place: Place, names: Sequence[str]) -> Iterator[list[str]]:
    lines = state.sources.at(place.file, place.line, 6)
    text = "\n".join(lines)
    first = lines[0] if lines else ""
    for match in re.finditer(rf"\b(?:{'|'.join(names)})\s*\(", first):
        depth, parts = 1, [""]
        for character in text[match.end() :]:
            depth += (character in "([{") - (character in ")]}")
            if not depth:
                yield parts
                break
            if character == "," and depth == 1:
                parts.append("")
            else:
                parts[-1] += character


MAX_STEPS = 20_000
# Not beyond the next such word: a text of them alone would be searched again from each.
_DEVICE_CODE = re.compile(r"\b__(?:global|device)__\b(?:(?!__(?:global|device)__)[^;{])*\{")
_DEVICE_VARIABLE = re.compile(r"\b__(?:device|managed)__\b(?:(?!__(?:device|managed)__)[^(;{\[=])*[;=\[{]")
_TELLS = re.compile(r"\b(?:printf|assert|__trap|tex\w+|surf\w+)\s*[(<]")


@dataclass(slots=True)
class Result:
    """What a launch has left in an allocation, and where all of it was overwritten; None: it is still there."""

    kernel: str
    overwritten: Place | None = None


def overwritten(state: State, allocation: Allocation | None, offset: int, size: int, place: Place) -> None:
    """Note that the host wrote `size` bytes of an allocation from `offset` on."""
    result = state.results.get(id(allocation))
    if allocation is not None and result is not None and offset == 0 and size >= allocation.size:
        result.overwritten = result.overwritten or place


def read(state: State, allocation: Allocation | None, place: Place, into: Allocation | None = None) -> None:
    """Somebody read an allocation: the host, or whoever will read the one that it was copied into."""
    result = state.results.pop(id(allocation), None)
    if allocation is not None and result is not None and result.overwritten is not None:
        state.tell(
            "overwritten",
            "error",
            msg("programs.overwritten", array=allocation.name, kernel=result.kernel, read_line=place.line),
            result.overwritten,
        )
    if allocation is not None and len(state.flow) <= MAX_STEPS:
        state.flow.append((None, (allocation,), (into,) if into is not None and not into.host else ()))


Step = tuple[SeenLaunch | None, tuple[Allocation, ...], tuple[Allocation, ...]]
"""A launch or a copy: what it reads, what it writes (nothing where who reads that is known)."""


def step_of(record: SeenLaunch, allocations: Sequence[Allocation | None]) -> Step:
    """Return a launch as a step, with the allocation of each argument, None for a number or what is unknown."""
    pairs = [(a, x) for a, x in zip(allocations, record.arguments, strict=True) if x.value is None]
    reads = [allocation for allocation, _argument in pairs if allocation is not None]
    writes = [allocation for allocation, argument in pairs if allocation is not None and argument.may_be_written]
    # What goes where it cannot be followed, or where the host reads without a call, counts as read.
    is_open = not writes or any(allocation.host for allocation in writes)
    is_open = is_open or any(a is None or argument.type_text.count("*") > 1 for a, argument in pairs)
    return record, tuple(reads), () if is_open else tuple(writes)


def took_step(state: State, step: Step) -> None:
    if len(state.flow) > MAX_STEPS:
        return
    state.flow.append(step)
    record, reads, writes = step
    for allocation in reads:
        state.results.pop(id(allocation), None)
    if record is not None:
        for allocation in writes:
            state.results[id(allocation)] = Result(record.display)


def tell_unread(state: State, code: int) -> None:
    """Tell of kernels no launch of which computes anything that is read in the end; `code`: the program's exit code.

    And of a program that ends with an error code, though all calls succeeded, before it launches anything.
    """
    if code and not state.launch_count and state.memory.live and not state.libraries and not state.failures:
        last = next(reversed(state.places.values()), Place(0, ""))
        if last.line:
            state.tell("gave_up", "warning", msg("programs.gave_up", call=state.calling, code=code), last)
    if len(state.flow) > MAX_STEPS or state.objects_made or state.arrays or state.failures:
        return
    if any(finding.kind == "event_not_reached" for finding in state.findings):
        # No failure that is kept, but an error that the program may have given up at, before it copied anything back.
        return
    if code and state.hollow and _has_seen_results(state):
        # Without its kernels having run they are wrong, and it may have given up.
        return
    for text in state.sources.texts.values():
        if _DEVICE_VARIABLE.search(text) or any(_TELLS.search(body) for body in _device_code(text)):
            return
    wanted: set[int] = set()
    dead: dict[str, SeenLaunch] = {}
    live: set[str] = set()
    for record, reads, writes in reversed(state.flow):
        if writes and not any(id(allocation) in wanted for allocation in writes):
            if record is not None:
                dead[record.display] = dead.get(record.display, record)
            continue
        wanted |= {id(allocation) for allocation in reads}
        if record is not None:
            live.add(record.display)
    for kernel, record in reversed(dead.items()):
        if kernel not in live:
            message = msg("programs.never_read", kernel=kernel)
            state.tell("never_read", "warning", message, Place(record.line, record.file))


def _has_seen_results(state: State) -> bool:
    """Whether anything that a kernel may have written has come to the host."""
    written: set[int] = set()
    for record, reads, writes in state.flow:
        if record is not None or any(id(allocation) in written for allocation in reads):
            if not writes:
                return True
            written |= {id(allocation) for allocation in writes}
    return False


def _device_code(text: str) -> Iterator[str]:
    """The bodies of functions for the device, as far as braces tell."""
    at = 0
    while match := _DEVICE_CODE.search(text, at):
        at = end_of_block(text, match.end())
        yield text[match.end() : at]


PAGE = mmap.PAGESIZE
MAX_KEPT = 64
STORED_SHARE = 0.75
MAX_LOOKED_AT = 64 << 20
"""Bytes that both sides use, of all that a kernel may write: beyond them nobody looks what it has changed."""
# By these in the host's code it may speak to kernels that run; kernels' own are `State.speaks`.
_AGREED = re.compile(r"\bvolatile\b|\batomic_ref\b|\bcuda::(?:std::)?atomic")
_TYPE_BYTES = WIDTHS | {"char": 1, "bool": 1, "signed char": 1, "unsigned char": 1}


def note_unwaited(
    state: State, allocation: Allocation, rows: Sequence[tuple[int, int]], at: tuple[int, int, Place]
) -> None:
    """Note a queued copy into page-locked memory: rows of (address, bytes); at: stream, its step, place."""
    if allocation.kind not in ("pinned", "registered"):
        return
    low = min(address for address, _size in rows)
    high = max(address + size for address, size in rows)
    changed = None
    if sum(size for _address, size in rows) < high - low:
        changed = np.zeros(high - low, np.uint8)
        for address, size in rows:
            changed[address - low : address - low + size] = 1
    _keep(state, Unwaited(allocation, low, high - low, *at, changed=changed))


def before_kernel(state: State, record: SeenLaunch, allocations: Sequence[Allocation | None]) -> list[Bytes | None]:
    """Return the contents of shared memory that a kernel may write, by argument; None for any other."""
    ours = [
        allocation if allocation is not None and _is_written(allocation, argument.type_text) else None
        for allocation, argument in zip(allocations, record.arguments, strict=True)
    ]
    total = sum(allocation.size for allocation in ours if allocation is not None)
    if not total or total > MAX_LOOKED_AT or may_speak(state):
        return [None] * len(ours)
    return [None if a is None else state.guest.view(a.host, a.size).copy() for a in ours]


def may_speak(state: State) -> bool:
    """Whether host and kernels may speak to each other while these run."""
    return state.speaks or any(_AGREED.search(text) for text in state.sources.texts.values())


def _is_written(allocation: Allocation, type_text: str) -> bool:
    return bool(allocation.host) and allocation.kind != "variable" and " const*" not in type_text


def after_kernel(
    state: State,
    record: SeenLaunch,
    allocations: Sequence[Allocation | None],
    before: Sequence[Bytes | None],
    at: tuple[int, int, Place],
) -> None:
    """Keep what a kernel has changed; before: from `before_kernel`, at: stream, its step, place."""
    for allocation, argument, old in zip(allocations, record.arguments, before, strict=True):
        if allocation is None or old is None:
            continue
        changed = (state.guest.view(allocation.host, allocation.size) != old).view(np.uint8)
        if changed.any():
            width = _TYPE_BYTES.get(argument.type_text.removesuffix("*").strip(), 4)
            elements = changed[: allocation.size // width * width].reshape(-1, width).any(axis=1)
            # Of an array that a kernel stores as good as all of, what is as before was stored as well: a 0 over a 0.
            whole = len(elements) > 0 and elements.mean() >= STORED_SHARE
            kept = None if whole else changed
            by = Unwaited(
                allocation, allocation.host, allocation.size, *at, record.display, kept, width, parameter=argument.name
            )
            _keep(state, by)


def _keep(state: State, item: Unwaited) -> None:
    if state.watches:
        state.unwaited = [*state.unwaited[-MAX_KEPT + 1 :], item]
