"""Memory of every kind: allocated, freed, asked about."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grader.devices import UNSET_BYTE
from grader.message import msg
from grader.programs.device_memory import Allocation, TooManyAllocations
from grader.programs.moved import end_of_block
from grader.programs.runtime.ordering import Place, StreamAccess
from grader.programs.runtime.state import CudaError, Handlers, ProgramEnded, State
from grader.programs.sandbox.guest import MARK_BEFORE, SHARED_ALIGNMENT, SHARED_MARK

_TARGET = re.compile(r"&\s*([A-Za-z_]\w*(?:(?:\.|->)\w+|\[\w+\])*)")
# The same of what is plainly an allocation: on its line other calls may take addresses too.
_ALLOCATED = re.compile(
    r"\b\w*(?:[Mm]alloc|Alloc)\w*\s*(?:<[^<>()]*>)?\s*\(\s*(?:\([^()]*\)\s*|\w+_cast\s*<[^<>]*>\s*\(\s*)?"
    + _TARGET.pattern
)
# A pointer to a pointer that a function was handed: `cudaMalloc((void **)dev, size)`.
_HANDED_ON = re.compile(
    r"\bcuda\w*(?:Malloc|Alloc)\w*\s*\(\s*(?:\([^()]*\)\s*|reinterpret_cast\s*<[^<>]*>\s*\(\s*)?([A-Za-z_]\w*)\s*[,)]"
)
_DESTRUCTOR = re.compile(r"~\s*(\w+)\s*\(\s*(?:void\s*)?\)[\s\w]{0,40}\{")
_FUNCTION = re.compile(r"\b(\w+)\s*\(([^(){};]{1,2000})\)[\s\w]{0,40}\{")
MAX_SOURCE_CHARS = 200_000
"""Characters of a file in which functions that take objects by value are looked for."""
PITCH = 512
MAX_FILLED_BYTES = 64 << 20
"""Largest allocation filled with a pattern; a larger one takes no room where nobody touches it."""
MAX_WITH_PAGES = 256
HOST_MAPPED = 2
"""`cudaHostAllocMapped`."""
GRAPH = "graph"
"""The kind of memory that nodes of graphs allocate: its address is theirs for good."""


MIN_ROUNDS = 3


def name_at(state: State, place: Place) -> str:
    """What the program calls the memory it allocates at `place`: `d_a` of `cudaMalloc(&d_a, …)`, `*p` of
    `cudaMalloc(p, …)`; "?" if nothing.  A line with several is taken to make all of them each time it is come to."""
    lines = state.sources.at(place.file, place.line, 2)
    text = " ".join(lines)
    names = _ALLOCATED.findall("".join(lines[:1])) or _TARGET.findall("".join(lines[:1])) or _TARGET.findall(text)
    names = names or [f"*{name}" for name in _HANDED_ON.findall(text)]
    if not names:
        return "?"
    used = state.texts.get((place.file, place.line), 0)
    state.texts[place.file, place.line] = used + 1
    return str(names[used % len(names)])


def _room(state: State, size: int) -> None:
    if size < 0 or state.allocated_bytes + size > state.model.memory_bytes:
        raise CudaError(2)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn a lack of memory into CUDA's error, and one of addresses into the program's end."""
    try:
        yield
    except TooManyAllocations as error:
        raise ProgramEnded(msg("programs.too_many_allocations")) from error
    except MemoryError as error:
        raise CudaError(2) from error


def allocate(state: State, pointer: int, size: int, place: Place, kind: str = "device") -> Allocation:
    """Memory of the device whose address is written to `pointer`.  Raises CudaError 2 where there is no room."""
    _room(state, size)
    state.guest.pack("Q", pointer, 0)
    with memory_errors():
        allocation = state.memory.allocate(name_at(state, place), size, kind, place.line, place.file)
    state.allocated_bytes += size
    state.ask("allocate", place, size=size)
    state.guest.pack("Q", pointer, allocation.base)
    if state.limits.fills and kind == "device" and size <= MAX_FILLED_BYTES:
        state.memory.fill(allocation, 0, [(0, size)], bytes((UNSET_BYTE,)), state.streams[0])
    return allocation


def _allocate(state: State, pointer: int, size: int, place: Place, pitch: int = 0, row_bytes: int = 0) -> None:
    if size == 0:
        state.guest.pack("Q", pointer, 0)
    else:
        allocation = allocate(state, pointer, size, place)
        allocation.pitch, allocation.row_bytes = pitch, row_bytes


def malloc(state: State, place: Place, pointer: int, size: int) -> None:
    _allocate(state, pointer, size, place)


def malloc_pitch(state: State, place: Place, pointer: int, pitch: int, width: int, height: int) -> None:
    if width < 0 or height < 0:
        raise CudaError(1)
    row = -(-width // PITCH) * PITCH
    state.guest.pack("Q", pitch, row)
    _allocate(state, pointer, row * height, place, row, width)


def malloc_3d(state: State, place: Place, pitched: int, extent: int) -> None:
    width, height, depth = state.guest.unpack("qqq", extent)
    if min(width, height, depth) < 0:
        raise CudaError(1)
    row = -(-width // PITCH) * PITCH
    _allocate(state, pitched, row * height * depth, place)
    state.guest.pack("QQQ", pitched + 8, row, width, height)


def _shared(state: State, pointer: int, size: int, kind: str, place: Place) -> None:
    if size <= 0:
        raise CudaError(1)
    _room(state, size)
    # Pages of its own, in which nothing else lies; not for each of a great many small ones.
    has_pages = (state.watches or state.memory.needs_pages) and len(state.host_memory) < MAX_WITH_PAGES
    is_fenced = has_pages and state.guest.heap.is_fenced
    pages = -(-(size + is_fenced * SHARED_ALIGNMENT) // mmap.PAGESIZE) * mmap.PAGESIZE
    taken = pages + (1 + is_fenced) * mmap.PAGESIZE if has_pages else size
    block = int(state.call_guest("grader_malloc", taken))
    if not block:
        raise CudaError(2)
    host = begin = -(-block // mmap.PAGESIZE) * mmap.PAGESIZE if has_pages else block
    if is_fenced:
        # It ends where a page ends, and the next one is closed to the program.
        host += pages - -(-size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
    state.guest.view(host, size)[:] = 0
    if is_fenced:
        state.guest.pack("Q", host - MARK_BEFORE, host ^ SHARED_MARK)
    try:
        with memory_errors():
            allocation = state.memory.share(name_at(state, place), size, kind, place.line, place.file, host)
    except CudaError:
        state.call_guest("grader_free", block)
        raise
    state.host_memory[host] = allocation
    allocation.block = block if has_pages else 0
    if is_fenced:
        state.guest.heap.shared(host, size, begin, pages + mmap.PAGESIZE, place.line, place.file)
    state.allocated_bytes += size
    state.ask("allocate", place, size=size)
    state.guest.pack("Q", pointer, host)


def malloc_managed(state: State, place: Place, pointer: int, size: int, flags: int) -> None:
    if flags not in (1, 2):
        raise CudaError(1)
    _shared(state, pointer, size, "managed", place)


def malloc_host(state: State, place: Place, pointer: int, size: int, flags: int) -> None:
    if size == 0:
        state.guest.pack("Q", pointer, 0)
        return
    _shared(state, pointer, size, "pinned", place)
    state.host_memory[state.guest.unpack("Q", pointer)[0]].flags = flags


def shared_at(state: State, address: int) -> Allocation | None:
    """Managed, pinned or registered memory that a host address lies in."""
    state.meter.walk(len(state.host_memory))
    for host, allocation in state.host_memory.items():
        if host <= address < host + max(1, allocation.size):
            return allocation
    return None


def free(state: State, place: Place, pointer: int) -> None:
    if pointer == 0:
        return
    state.wait_for_all()
    allocation = state.memory.live.get(pointer) or state.host_memory.get(pointer)
    if allocation is not None and allocation.kind == GRAPH:
        state.graphs.memory.give_back(pointer, None)
        return
    if allocation is None or allocation.kind not in ("device", "managed", "handed"):
        raise CudaError(1, _wrong_free(state, pointer, allocation, place))
    release(state, allocation, place)


def free_late(state: State, place: Place, pointer: int, stream: int) -> None:
    """Free memory in the order of a stream."""
    queue = state.stream(stream)
    if pointer == 0:
        return
    allocation = state.memory.live.get(pointer)
    if allocation is not None and allocation.kind == GRAPH:
        state.graphs.memory.give_back(pointer, stream)
        return
    if allocation is None or allocation.kind not in ("device", "handed"):
        raise CudaError(1, _wrong_free(state, pointer, allocation, place))
    state.access(
        allocation, queue, StreamAccess(queue.number, state.begin(queue), 0, allocation.size, place, is_write=True)
    )
    release(state, allocation, place)


def freed_by_copy(state: State, freed: Allocation) -> tuple[dict[str, str | int], Place] | None:
    """Return what is said of a function that takes by value the object whose destructor freed an array, and where it
    does so; None where the array was not freed at the end of such a function, or the class says how it is copied."""
    file = freed.freed_file
    text = state.sources.whole(file)[:MAX_SOURCE_CHARS]
    last_line, last_file = freed.freed_after
    if last_file != file:
        return None

    def line_of(at: int) -> int:
        return text.count("\n", 0, at) + 1

    for destructor in _DESTRUCTOR.finditer(text):
        if line_of(destructor.start()) <= freed.freed_line <= line_of(end_of_block(text, destructor.end()) - 1):
            owner = destructor[1]
            break
    else:
        return None
    if re.search(rf"(?<![~\w]){owner}\s*\(\s*(?:const\s+)?{owner}\b[^(){{}};]{{0,80}}&", text):
        return None
    if re.search(rf"\boperator\s*=\s*\(\s*{owner}\b[^(){{}};]{{0,80}}&&", text):
        return None
    by_value = re.compile(rf"(?:const\s+)?{owner}(?:\s*<[^<>]*>)?(?:\s+const)?\s+\w+")
    row = "".join(state.sources.at(file, last_line, 1))
    for function in _FUNCTION.finditer(text):
        name, start = function[1], function.start(2)
        is_last = line_of(function.start()) <= last_line <= line_of(end_of_block(text, function.end()) - 1)
        if not is_last and not re.search(rf"\b{name}\s*(?:<[^;{{}}]{{0,80}}>)?\s*<<<", row):
            continue
        for parameter in function[2].split(","):
            if by_value.fullmatch(parameter.strip()):
                at = start + len(parameter) - len(parameter.lstrip())
                data = {"function": name, "type": owner, "array": freed.name, "at": freed.freed_line}
                return data, Place(line_of(at), file)
            start += len(parameter) + 1
    return None


def _wrong_free(state: State, pointer: int, allocation: Allocation | None, place: Place) -> Any:
    freed = state.memory.find_freed(pointer)
    if freed is not None and freed.is_told:
        # It was freed too early: the call that comes too late now is the right one.
        return None
    if freed is not None:
        before = Place(freed.freed_line, freed.freed_file)
        message = msg("programs.double_free", array=freed.name)
        if before == place:
            message = msg("programs.double_free_again", array=freed.name)
            copied = freed_by_copy(state, freed)
            if copied is not None:
                data, taken = copied
                freed.is_told = True
                return state.tell("double_free", "error", msg("programs.freed_by_copy", **data), taken)
        elif before.line and before.file == place.file:
            message = msg("programs.double_free_of", array=freed.name, at=before.line)
        return state.tell("double_free", "error", message, place)
    if allocation is not None and allocation.kind in ("pinned", "registered"):
        return state.tell("wrong_free", "error", msg("programs.free_pinned", array=allocation.name), place)
    if state.memory.find(pointer) is not None:
        return state.tell("wrong_free", "error", msg("programs.free_inside"), place)
    return state.tell("wrong_free", "error", msg("programs.free_host"), place)


def release(state: State, allocation: Allocation, place: Place) -> None:
    """Give memory back."""
    state.ask("free", place, size=allocation.size)
    state.allocated_bytes -= allocation.size
    state.resident_bytes -= allocation.resident_bytes
    state.forget(allocation)
    if allocation.host:
        state.host_memory.pop(allocation.host, None)
        if allocation.block:
            state.guest.heap.shared_freed(-(-allocation.block // mmap.PAGESIZE) * mmap.PAGESIZE)
        if allocation.kind != "registered":
            state.call_guest("grader_free", allocation.block or allocation.host)
    if allocation.pool is not None:
        allocation.pool.give_back(allocation.size)
    allocation.freed_line, allocation.freed_file = place.line, place.file
    allocation.freed_after = state.called_before.line, state.called_before.file
    state.memory.free(allocation)


def tell_left(state: State) -> None:
    """Tell of what a program that was stopped had allocated in round after round and never freed, as its text frees
    nothing of that name, while it freed other memory of these rounds."""
    rounds: dict[Place, list[Allocation]] = {}
    for allocation in state.memory.live.values():
        if allocation.kind in ("device", "managed", "pinned"):
            rounds.setdefault(Place(allocation.line, allocation.file), []).append(allocation)
    freed = list(state.memory.freed.values())
    for place, left in rounds.items():
        serials = sorted(allocation.serial for allocation in left)
        between = [x for x in freed if serials[0] < x.serial < serials[-1]]
        is_kept_apart = all((x.line, x.file) != (place.line, place.file) for x in freed)
        # One variable: what a list or an array holds may be freed behind the loop.
        match = re.fullmatch(r"(?:\w+(?:\.|->))*(\w+)", left[0].name)
        name = match[1] if match is not None else ""
        line = "".join(state.sources.at(place.file, place.line, 2))
        if (
            len(left) < MIN_ROUNDS
            or len(between) < MIN_ROUNDS - 1
            or not is_kept_apart
            or not name
            or re.search(rf"\b{name}\s*[\[(]", line)
        ):
            continue
        frees = rf"(?i:free|destroy|release|delete|reset|clear)\w*\W[^;{{}}]{{0,80}}\b{name}\b"
        kept = rf"(?:\breturn\s+|(?<![=!<>])=\s*|_back\s*\(\s*|\binsert\s*\(\s*)(?:\w+(?:\.|->))*{name}\s*[;,)}}]"
        if not any(re.search(rf"{frees}|{kept}", text) for text in state.sources.texts.values()):
            first = min(left, key=lambda allocation: allocation.serial)
            state.tell("leak", "remark", msg("programs.leak", array=first.name, bytes=first.size), place)


def free_host(state: State, place: Place, pointer: int) -> None:
    if pointer == 0:
        return
    state.wait_for_all()
    allocation = state.host_memory.get(pointer)
    if allocation is None or allocation.kind != "pinned":
        is_device = state.memory.find(pointer) is not None
        message = msg("programs.free_host_device") if is_device else msg("programs.free_host_plain")
        raise CudaError(1, state.tell("wrong_free", "error", message, place))
    release(state, allocation, place)


def host_register(state: State, place: Place, pointer: int, size: int, flags: int) -> None:
    if size <= 0:
        raise CudaError(1)
    if shared_at(state, pointer) is not None:
        raise CudaError(712)
    state.guest.lent(pointer, size)
    allocation = state.memory.share(name_at(state, place), size, "registered", place.line, place.file, pointer)
    state.host_memory[pointer] = allocation
    allocation.flags = flags


def host_unregister(state: State, place: Place, pointer: int) -> None:
    allocation = state.host_memory.get(pointer)
    if allocation is None or allocation.kind != "registered":
        raise CudaError(713)
    del state.host_memory[pointer]
    state.forget(allocation)
    state.memory.free(allocation)


def host_get_device_pointer(state: State, place: Place, pointer: int, host: int, flags: int) -> None:
    allocation = shared_at(state, host)
    if allocation is None:
        raise CudaError(1)
    # The same address names it on both sides, as unified addressing has it.
    state.guest.pack("Q", pointer, host)


def pointer_attributes(state: State, place: Place, attributes: int, pointer: int) -> None:
    shared = shared_at(state, pointer)
    device = state.memory.find(pointer)
    kind = 3 if shared and shared.kind in ("managed", "variable") else 1 if shared else 2 if device else 0
    state.guest.pack("iiQQ", attributes, kind, 0 if kind else -2, pointer if kind else 0, pointer if shared else 0)


def host_get_flags(state: State, place: Place, flags: int, pointer: int) -> None:
    """Write the flags of page-locked memory, which is mapped on a 64-bit system whether or not it was asked to be."""
    allocation = state.host_memory.get(pointer)
    if allocation is None or allocation.kind not in ("pinned", "registered"):
        raise CudaError(1)
    state.guest.pack("I", flags, allocation.flags | HOST_MAPPED)


def mem_get_info(state: State, place: Place, free_bytes: int, total: int) -> None:
    """Either pointer may be null, as on an H200."""
    if free_bytes:
        state.guest.pack("Q", free_bytes, max(0, state.model.memory_bytes - state.allocated_bytes - (300 << 20)))
    if total:
        state.guest.pack("Q", total, state.model.memory_bytes)


def nothing(state: State, place: Place, *_arguments: int) -> None:
    """Accept what makes no difference here."""


def mem_prefetch(state: State, place: Place, pointer: int, size: int, device: int, stream: int) -> None:
    queue = state.stream(stream)
    if shared_at(state, pointer) is None or size <= 0 or device not in (-1, 0):
        raise CudaError(101 if device not in (-1, 0) else 1)
    state.begin(queue)


def mem_advise(state: State, place: Place, pointer: int, size: int, advice: int, device: int) -> None:
    if shared_at(state, pointer) is None:
        raise CudaError(1)


HANDLERS: Handlers = {
    "cudaMalloc": ("ii", malloc),
    "cudaMallocPitch": ("iiii", malloc_pitch),
    "cudaMalloc3D": ("ii", malloc_3d),
    "cudaMallocManaged": ("iii", malloc_managed),
    "cudaMallocHost": ("iii", malloc_host),
    "cudaHostAlloc": ("iii", malloc_host),
    "cudaFree": ("i", free),
    "cudaFreeHost": ("i", free_host),
    "cudaHostRegister": ("iii", host_register),
    "cudaHostUnregister": ("i", host_unregister),
    "cudaHostGetDevicePointer": ("iii", host_get_device_pointer),
    "cudaHostGetFlags": ("ii", host_get_flags),
    "cudaPointerGetAttributes": ("ii", pointer_attributes),
    "cudaMemGetInfo": ("ii", mem_get_info),
    "cudaMemPrefetchAsync": ("iiii", mem_prefetch),
    "cudaMemAdvise": ("iiii", mem_advise),
    "cudaStreamAttachMemAsync": ("iiii", nothing),
}
