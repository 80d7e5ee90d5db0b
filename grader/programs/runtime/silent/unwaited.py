"""Memory that both sides use, touched by the host before it has waited for what the device still writes there.

Certain are a copy into page-locked memory, which `cudaMemcpyAsync` only queues, and the bytes that a kernel was seen to
change.  A copy into pageable memory returns when it is done.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.message import Message, msg
from grader.programs.device_memory import Allocation, Bytes
from grader.programs.records import ObservedLaunch
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

PAGE = mmap.PAGESIZE
MAX_KEPT = 64
MAX_LOOKED_AT = 64 << 20
"""Bytes that both sides use, of all that a kernel may write: beyond them nobody looks what it has changed."""
# Kernels and the host may speak to each other by these while the kernel runs.
_AGREED = re.compile(r"__threadfence_system|\bvolatile\b|\batomic_ref\b|\bcuda::(?:std::)?atomic|atomic\w+_system")
_WIDTHS = {"double": 8, "long": 8, "long long": 8, "unsigned long": 8, "unsigned long long": 8, "char": 1, "bool": 1}
_WIDTHS |= {"signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2}


@dataclass(frozen=True, slots=True)
class Unwaited:
    """What the device writes into memory of both sides, as far as the host knows: which step of which stream.

    address, size: in the program's memory.  changed: which of these bytes a kernel changed, None for all.
    width: of an element.  kernel: its name, "" for a copy.
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

    def covers(self, address: int) -> bool:
        """Whether the element at an address is one of those written."""
        at = address - self.address
        if not 0 <= at < self.size:
            return False
        first = at // self.width * self.width
        return self.changed is None or bool(self.changed[first : first + self.width].any())


def copied(state: State, allocation: Allocation, rows: Sequence[tuple[int, int]], at: tuple[int, int, Place]) -> None:
    """A copy into page-locked memory was queued: rows of (address, bytes); at: stream, its step, place."""
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


def before_kernel(state: State, record: ObservedLaunch, found: Sequence[Allocation | None]) -> list[Bytes | None]:
    """What lies in the memory of both sides that a kernel may write, by argument; None for any other."""
    ours = [
        allocation if allocation is not None and _is_written(allocation, argument.type) else None
        for allocation, argument in zip(found, record.arguments, strict=True)
    ]
    total = sum(allocation.size for allocation in ours if allocation is not None)
    if not state.watches or not total or total > MAX_LOOKED_AT:
        return [None] * len(ours)
    if any(_AGREED.search(text) for text in state.sources.texts.values()):
        return [None] * len(ours)
    return [None if a is None else state.guest.view(a.host, a.size).copy() for a in ours]


def _is_written(allocation: Allocation, type_text: str) -> bool:
    return bool(allocation.host) and allocation.kind != "variable" and " const*" not in type_text


def after_kernel(
    state: State,
    record: ObservedLaunch,
    found: Sequence[Allocation | None],
    before: Sequence[Bytes | None],
    at: tuple[int, int, Place],
) -> None:
    """Keep what a kernel has changed; before: from `before_kernel`, at: stream, its step, place."""
    for allocation, argument, old in zip(found, record.arguments, before, strict=True):
        if allocation is None or old is None:
            continue
        changed = (state.guest.view(allocation.host, allocation.size) != old).view(np.uint8)
        if changed.any():
            width = _WIDTHS.get(argument.type.removesuffix("*").strip(), 4)
            _keep(state, Unwaited(allocation, allocation.host, allocation.size, *at, record.kernel, changed, width))


def _keep(state: State, item: Unwaited) -> None:
    if state.watches:
        state.unwaited = [*state.unwaited[-MAX_KEPT + 1 :], item]


def pages(items: Sequence[Unwaited]) -> list[tuple[int, int]]:
    """The pages, (address, bytes), in which something of that lies and nothing of anybody else's."""
    wanted: set[int] = set()
    for item in items:
        allocation = item.allocation
        low, high = allocation.host, allocation.host + allocation.size
        # Memory that we have handed out has its pages for itself.
        first, last = (low // PAGE, -(-high // PAGE)) if allocation.block else (-(-low // PAGE), high // PAGE)
        begin, end = item.address // PAGE, -(-(item.address + item.size) // PAGE)
        found: Sequence[int] = range(begin, end)
        if item.changed is not None:
            every = np.zeros((end - begin) * PAGE, np.uint8)
            start = item.address - begin * PAGE
            every[start : start + item.size] = item.changed
            found = [begin + int(page) for page in np.flatnonzero(every.reshape(-1, PAGE).any(axis=1))]
        wanted.update(page for page in found if first <= page < last)
    ranges: list[tuple[int, int]] = []
    for page in sorted(wanted):
        if ranges and sum(ranges[-1]) == page * PAGE:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + PAGE)
        else:
            ranges.append((page * PAGE, PAGE))
    return ranges


def covering(items: Sequence[Unwaited], address: int) -> Unwaited | None:
    """What still writes at an address of the program's, for all that the host knows."""
    return next((item for item in reversed(items) if item.covers(address)), None)


def told(item: Unwaited, place: Place) -> tuple[Message, Place]:
    """What is said of an access at `place`, line 0 where that is not known, and where."""
    form = "" if place.line else "_somewhere"
    data: dict[str, str | int] = {"array": item.allocation.name}
    if place.line:
        data["line"] = item.place.line
    if item.kernel:
        return msg(
            f"programs.read_before_kernel{form}", kernel=item.kernel, **data
        ), place if place.line else item.place
    return msg(f"programs.read_before_copy{form}", **data), place if place.line else item.place
