"""Sizes of copies and arrays that are a pointer's, lack their sizeof, or leave a part of the array out."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from grader.message import msg
from grader.programs.device_memory import Allocation
from grader.programs.records import ObservedLaunch
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

MAX_COPIED = 2000
MAX_RANGES = 256
POINTER_BYTES = 8
VECTOR_BYTES = 24
_WIDTHS = {"double": 8, "long": 8, "float": 4, "int": 4, "unsigned int": 4, "short": 2, "unsigned short": 2}
_WIDTHS |= {"unsigned long": 8, "long long": 8, "unsigned long long": 8}
_SIZE_OF = re.compile(r"\(?\s*sizeof\s*(?:\(\s*(\w+)\s*\)|\s(\w+))\s*\)?")
# What may stand between two words is bounded: else a text of a few thousand characters keeps a search busy for hours.
_BETWEEN = "{0,80}"
_CALLED = "cudaMemcpy", "cudaMemcpyAsync"


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


def copied(
    state: State, allocation: Allocation | None, rows: Sequence[tuple[int, int]], place: Place, into: bool
) -> None:
    """Note a copy of rows, (offset, bytes), between an array of the device's and the host."""
    if allocation is None or allocation.kind != "device" or len(state.copied) > MAX_COPIED:
        return
    key = allocation.serial, into, 0 if into else allocation.written
    known = state.copied.setdefault(key, Copied(allocation, place, into))
    if len(known.ranges) < MAX_RANGES:
        known.ranges |= {(offset, offset + size) for offset, size in rows[:MAX_RANGES]}


def note_arrays(state: State, record: ObservedLaunch, found: Sequence[Allocation | None]) -> None:
    """Note how large the elements are that a kernel takes each of its arrays for, and what it may write."""
    for allocation, argument in zip(found, record.arguments, strict=True):
        if allocation is not None:
            width = _WIDTHS.get(argument.type.rstrip("*").strip().removesuffix(" const"), 1)
            # Of an array that is handed over in parts a copy may be of such a part.
            allocation.width = 1 if argument.offset_bytes or allocation.width == 1 else width
            allocation.written += " const*" not in argument.type


def tell_short(state: State) -> None:
    """Tell of arrays of which no more was copied than a byte for each element."""
    for known in state.copied.values():
        if _is_of_count(known):
            _tell_count(state, known)


def _is_of_count(known: Copied) -> bool:
    width, size = known.allocation.width, known.allocation.size
    return width > 1 and not size % width and known.ranges == {(0, size // width)}


def _tell_count(state: State, known: Copied) -> bool:
    """Tell of a copy of as many bytes as there are elements, unless its text says how large these are."""
    text = state.sources.texts.get(known.place.file, "")
    calls = [arguments for arguments in _calls(state, known.place, _CALLED) if len(arguments) > 2]
    if known.is_told or any(_has_width(arguments[2], text, unknown=False) for arguments in calls):
        return known.is_told
    known.is_told = True
    size, width = known.allocation.size, known.allocation.width
    told = msg(
        f"programs.copy_of_count_{'into' if known.is_into else 'out'}",
        array=known.allocation.name,
        bytes=size // width,
        size=size,
    )
    state.tell("copy_size", "error", told, known.place)
    return True


def tell_unfilled(state: State, allocation: Allocation, kernel: str, line: int) -> bool:
    """Tell of the copy that should have filled what a kernel reads of an array; whether there is one."""
    known = state.copied.get((allocation.serial, True, 0))
    if known is None or min(known.ranges)[0] or len(known.ranges) >= MAX_RANGES:
        return False
    filled = _bytes_in(known.ranges)
    if filled >= allocation.size or known.is_told or (_is_of_count(known) and _tell_count(state, known)):
        return bool(filled < allocation.size)
    known.is_told = True
    told = msg(
        "programs.copy_too_short",
        array=allocation.name,
        bytes=filled,
        size=allocation.size,
        kernel=kernel,
        kernel_line=line,
    )
    state.tell("copy_size", "error", told, known.place)
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
    for arguments in _calls(state, place, _CALLED):
        name = _sized_by(arguments[2], text) if len(arguments) > 2 else ""
        if name and _is_handle(name, arguments[:2], size, allocation, text):
            message = msg("programs.copy_of_pointer", array=allocation.name, name=name, bytes=size, of=allocation.size)
            state.tell("copy_size", "warning", message, place)
            return


def _sized_by(size: str, text: str) -> str:
    """X of `sizeof(X)`, also where that has a name of its own."""
    size = size.strip()
    found = _SIZE_OF.fullmatch(size)
    if found is None and re.fullmatch(r"\w+", size):
        given = re.findall(rf"\b{size}\s*=([^;,]{_BETWEEN})[;,]", text)
        found = next((match for match in (_SIZE_OF.fullmatch(value.strip()) for value in given) if match), None)
    return (found[1] or found[2]) if found is not None else ""


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


def check_counts(state: State, record: ObservedLaunch, found: Sequence[Allocation | None]) -> None:
    """Tell of arrays that have as many bytes as they should have elements."""
    numbers = [a.value for a in record.arguments if isinstance(a.value, int) and a.value > 1]
    counts = {math.prod(some) for k in (1, 2, 3) for some in combinations([*numbers, *numbers][:8], k)}
    for allocation, argument in zip(found, record.arguments, strict=True):
        width = _WIDTHS.get(argument.type.rstrip("*").strip().removesuffix(" const"), 1)
        if allocation is None or allocation.kind != "device" or width < 2 or allocation.size not in counts:
            continue
        place = Place(allocation.line, allocation.file)
        if (place, record.kernel) in state.counted:
            continue
        state.counted.add((place, record.kernel))
        text = state.sources.texts.get(place.file, "")
        sizes = [a[1] for a in _calls(state, place, ("cudaMalloc",)) if len(a) == 2 and allocation.name in a[0]]
        if sizes and not any(_has_width(size, text) for size in sizes):
            message = msg("programs.count_of_bytes", array=allocation.name, bytes=allocation.size, kernel=record.kernel)
            state.tell("alloc_size", "warning", message, place)


def _has_width(size: str, text: str, unknown: bool = True) -> bool:
    """Whether a size says how large an element is: by `sizeof`, a number, or a name for such a size.

    unknown: what is answered of a name whose value the text does not show.
    """
    for name in re.findall(r"[A-Za-z_]\w*", size):
        given = re.findall(rf"(?:#[ \t]*define[ \t]+{name}[ \t]|\b{name}\s*[=({{])([^;\n]*)", text)
        # Of what it is handed nobody knows whether bytes or elements are counted.
        if name != "sizeof" and ((not given and unknown) or any("sizeof" in value for value in given)):
            return True
    return "sizeof" in size or re.search(r"<<|[*/]\s*\d|\d\s*\*", size) is not None


def _calls(state: State, place: Place, names: Sequence[str]) -> Iterator[list[str]]:
    """The arguments of each call of those functions that begins in a line."""
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
