"""Where data go: results that nobody ever reads, and sizes that are a pointer's or lack their sizeof.

None of it fails in CUDA; all of it makes results wrong without a word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from grader.message import msg
from grader.programs.emulated import Allocation
from grader.programs.records import ObservedLaunch
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

MAX_STEPS = 20_000
POINTER_BYTES = 8
VECTOR_BYTES = 24
_WIDTHS = {"double": 8, "long": 8, "float": 4, "int": 4, "unsigned int": 4, "short": 2, "unsigned short": 2}
_WIDTHS |= {"unsigned long": 8, "long long": 8, "unsigned long long": 8}
_DEVICE_CODE = re.compile(r"\b__(?:global|device)__\b[^;{]*\{")
_DEVICE_VARIABLE = re.compile(r"\b__(?:device|managed)__\b[^(;{]*[;=\[{]")
_TELLS = re.compile(r"\b(?:printf|assert|__trap|tex\w+|surf\w+)\s*[(<]")
_SIZE_OF = re.compile(r"\s*\(?\s*sizeof\s*(?:\(\s*(\w+)\s*\)|\s(\w+))\s*\)?\s*")
_CALLED = "cudaMemcpy", "cudaMemcpyAsync"


# -- results that nobody reads


def read(state: State, allocation: Allocation | None, into: Allocation | None = None) -> None:
    """Somebody read an allocation: the host, or whoever will read the one that it was copied into."""
    if allocation is not None and len(state.flow) <= MAX_STEPS:
        state.flow.append((None, (allocation,), (into,) if into is not None and not into.host else ()))


def launched(state: State, record: ObservedLaunch, found: Sequence[Allocation | None]) -> None:
    """A launch, with the allocation that each of its arguments lies in, None for a number or what is not known."""
    if len(state.flow) > MAX_STEPS:
        return
    reads = [allocation for allocation in found if allocation is not None]
    writes = [a for a, x in zip(found, record.arguments, strict=True) if a is not None and " const*" not in x.type]
    # What goes where it cannot be followed, or where the host reads without a call, counts as read.
    is_open = not writes or any(allocation.host for allocation in writes)
    for allocation, argument in zip(found, record.arguments, strict=True):
        is_open |= allocation is None and argument.value is None
        is_open |= argument.type.count("*") > 1
    state.flow.append((record, tuple(reads), () if is_open else tuple(writes)))


def tell_unread(state: State, code: int) -> None:
    """Tell of kernels no launch of which computes anything that is read in the end; `code`: the program's exit code."""
    if len(state.flow) > MAX_STEPS or state.objects_made or state.arrays or state.failures:
        return
    if code and state.hollow and _has_seen_results(state):
        # Without its kernels having run they are wrong, and it may have given up.
        return
    for lines in state.sources.values():
        text = "\n".join(lines)
        if _DEVICE_VARIABLE.search(text) or any(_TELLS.search(body) for body in _device_code(text)):
            return
    wanted: set[int] = set()
    dead: dict[str, ObservedLaunch] = {}
    live: set[str] = set()
    for record, reads, writes in reversed(state.flow):
        if writes and not any(id(allocation) in wanted for allocation in writes):
            if record is not None:
                dead[record.kernel] = dead.get(record.kernel, record)
            continue
        wanted |= {id(allocation) for allocation in reads}
        if record is not None:
            live.add(record.kernel)
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
    for match in _DEVICE_CODE.finditer(text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        yield text[match.end() : at]


# -- sizes


def check_size(state: State, allocation: Allocation | None, size: int, place: Place) -> None:
    """Tell of a copy whose size is that of a pointer to the data."""
    if allocation is None or size not in (POINTER_BYTES, VECTOR_BYTES):
        return
    text = "\n".join(state.sources.get(place.file, ()))
    for arguments in _calls(state.sources, place, _CALLED):
        name = _sized_by(arguments[2], text) if len(arguments) > 2 else ""
        if name and _is_handle(name, arguments[:2], size, allocation, text):
            message = msg("programs.copy_of_pointer", array=allocation.name, name=name, bytes=size, of=allocation.size)
            state.tell("copy_size", "warning", message, place)
            return


def _sized_by(size: str, text: str) -> str:
    """X of `sizeof(X)`, also where that has a name of its own."""
    found = _SIZE_OF.fullmatch(size)
    if found is None and re.fullmatch(r"\s*\w+\s*", size):
        given = re.findall(rf"\b{size.strip()}\s*=([^;,]*)[;,]", text)
        found = next((match for match in map(_SIZE_OF.fullmatch, given) if match), None)
    return (found[1] or found[2]) if found is not None else ""


def _is_handle(name: str, pointers: Sequence[str], size: int, allocation: Allocation, text: str) -> bool:
    """Whether `name` is a pointer to what is copied, or an object that holds it."""
    ends = [pointer.strip() for pointer in pointers]
    if re.search(rf"\b(?!return\b|else\b|case\b)\w+\s+{name}\s*\[", text) or re.search(rf"\]\s*,\s*{name}\s*\[", text):
        # An array has the size of its data.
        return False
    if size == POINTER_BYTES and name in ends:
        declared = re.findall(rf"(\w+)\s*(?:const\s*)?\*[^;(){{}}]*?\b{name}\s*[,;=)({{]", text)
        return bool(declared) and (allocation.size > size or not set(declared) & {"double", "long", "int64_t"})
    of_object = rf"{name}\s*\.\s*(?:data|get)\s*\(\s*\)|&\s*{name}\s*\[\s*0\s*\]"
    is_object = re.search(rf"\b(?:vector|unique_ptr|shared_ptr)\s*<[^;{{}}]*>\s*[^;{{}}]*\b{name}\b", text)
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
        text = "\n".join(state.sources.get(place.file, ()))
        sizes = [a[1] for a in _calls(state.sources, place, ("cudaMalloc",)) if len(a) == 2 and allocation.name in a[0]]
        if sizes and not any(_has_width(size, text) for size in sizes):
            message = msg("programs.count_of_bytes", array=allocation.name, bytes=allocation.size, kernel=record.kernel)
            state.tell("alloc_size", "warning", message, place)


def _has_width(size: str, text: str) -> bool:
    """Whether a size says how large an element is: by `sizeof`, a number, or a name for such a size."""
    for name in re.findall(r"[A-Za-z_]\w*", size):
        given = re.findall(rf"(?:#[ \t]*define[ \t]+{name}[ \t]|\b{name}\s*[=({{])([^;\n]*)", text)
        # Of what it is handed nobody knows whether bytes or elements are counted.
        if name != "sizeof" and (not given or any("sizeof" in value for value in given)):
            return True
    return "sizeof" in size or re.search(r"<<|[*/]\s*\d|\d\s*\*", size) is not None


def _calls(sources: Mapping[str, Sequence[str]], place: Place, names: Sequence[str]) -> Iterator[list[str]]:
    """The arguments of each call of those functions that begins in a line."""
    lines = sources.get(place.file, ())
    if not 0 < place.line <= len(lines):
        return
    first = lines[place.line - 1]
    text = "\n".join([first, *lines[place.line : place.line + 5]])
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
