"""Whether a program uses what the device still writes: its memory watched while its own code runs.

The pages of what the device still writes are closed while the program's own code runs, and open while we serve one of
its calls.  An access to a closed page is a fault of the processor's, which comes to us first: one that touches nothing
of importance goes on, and one that does is handed to wasmtime as a trap, whose backtrace says where it was.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.message import Message, msg
from grader.programs.runtime.ordering import NOWHERE, Place, Unwaited
from grader.programs.runtime.silent import PAGE
from grader.programs.runtime.state import State

_SA_SIGINFO, _SA_ONSTACK, _SA_NODEFER = 4, 0x08000000, 0x40000000
_ADDRESS = 16
"""Where a `siginfo_t` of a 64-bit Linux holds the address of a fault."""
_COUNTERS = {"x86_64": 168, "aarch64": 440}
"""Where an `ucontext_t` holds the address of the instruction that did it."""
_CLOSED, _OPEN = 0, mmap.PROT_READ | mmap.PROT_WRITE

_LIBC = ctypes.CDLL(None)
_MACHINE = platform.machine()
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """`struct sigaction`, as large as any C library has it."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class WatchedMemory:
    """The memory of one run; at most one is in force in a process.

    base: where it begins in the process.
    find: what an access to an address of the program's must wait for, None where for nothing; it is asked within a
        signal handler, and may only look.
    early: what the first such access should have waited for, None as long as there was none.
    went_on: the program did not end there.
    crossed: the address of its first access to a page behind a fence, None as long as there was none.  passed: the same
        of one that went on, as it filled or copied many bytes at once, which the engine has a function for.
    is_served: a function of ours is at work.
    """

    def __init__(self, base: int, find: Callable[[int], Any]) -> None:
        self._base = base
        self._find = find
        self._closed: list[tuple[int, int]] = []
        self._fences: set[int] = set()
        self.crossed: int | None = None
        self.passed: int | None = None
        self.is_served = False
        self.early: Any = None
        self.went_on = False

    def close(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Close pages: (address, bytes), both multiples of a page."""
        for address, size in ranges:
            if _protect(self._base + address, size, _CLOSED):
                self._closed.append((address, size))

    def open(self) -> None:
        """Every page is the program's own again."""
        self.went_on = self.early is not None
        self._reopen()

    def _reopen(self) -> None:
        for address, size in self._closed:
            _protect(self._base + address, size, _OPEN)
        self._closed = []

    def fence(self, address: int, size: int) -> None:
        """Close pages, multiples of a page, for good, as far as the program's own code goes."""
        if _protect(self._base + address, size, _CLOSED):
            self._fences.update(range(address, address + size, PAGE))

    def unfence(self, address: int, size: int) -> None:
        """Open them again."""
        self._fences.difference_update(range(address, address + size, PAGE))
        _protect(self._base + address, size, _OPEN)

    def open_fences(self) -> None:
        """Open all that are left."""
        for page in self._fences:
            _protect(self._base + page, PAGE, _OPEN)
        self._fences = set()

    def crosses(self, address: int, *, is_own: bool) -> bool:
        """Whether a fault at an address of the process is behind a fence, which that opens; is_own: the program's own
        code did it, no function of ours."""
        own = address - self._base
        page = own - own % PAGE
        if page not in self._fences:
            return False
        self.unfence(page, PAGE)
        if is_own and self.crossed is None:
            self.crossed = own
        elif not is_own and not self.is_served and self.passed is None:
            self.passed = own
        return True

    def meets(self, address: int) -> bool:
        """Whether a fault at an address of the process is ours; `early` says whether it came too early."""
        own = address - self._base
        if not any(start <= own < start + size for start, size in self._closed):
            return False
        if self.early is None:
            self.early = self._find(own)
        self._reopen()
        return True


_current: WatchedMemory | None = None
_kept: list[Any] = []
"""The handler, and what was there before it: as long as the process lives."""


def watch(memory: WatchedMemory | None) -> bool:
    """Have faults in this memory seen from now on, in none if None; False where this machine cannot."""
    global _current
    _current = memory
    if memory is None or _kept:
        return True
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    before = _Action()
    ours = _Action()
    handler = _Handler(_on_fault)
    ours.handler = ctypes.cast(handler, ctypes.c_void_p).value
    ours.flags = _SA_SIGINFO | _SA_ONSTACK | _SA_NODEFER
    if _LIBC.sigaction(signal.SIGSEGV, ctypes.byref(ours), ctypes.byref(before)) or not before.handler:
        return False
    _kept.extend([handler, ours, _Handler(before.handler)])
    return True


def _on_fault(number: int, information: int, context: int) -> None:
    address = ctypes.c_uint64.from_address(information + _ADDRESS).value
    memory = _current
    if memory is not None and memory.meets(address) and (memory.early is None or not _is_in_program(context)):
        # What was tried goes on, with the pages open.
        return
    if memory is not None:
        is_own = _is_in_program(context)
        if memory.crosses(address, is_own=is_own) and not is_own:
            return
    _kept[2](number, information, context)


def _is_in_program(context: int) -> bool:
    """Whether the program's own code did it, of which wasmtime makes a trap: no function of a library's copied it."""
    offset = _COUNTERS.get(_MACHINE)
    if offset is None:
        return False
    counter = ctypes.c_uint64.from_address(context + offset).value
    return not _LIBC.dladdr(ctypes.c_void_p(counter), ctypes.byref((ctypes.c_void_p * 4)()))


def _protect(address: int, size: int, rights: int) -> bool:
    done: int = _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(rights))
    return done == 0


class TooEarly(Exception):
    """The program has ended as it used what the device still writes: what is said of it, and where."""

    def __init__(self, message: Message, place: Place) -> None:
        self.message = message
        self.place = place
        super().__init__()


class EarlyUse:
    """The watch over one run, whose `state` knows what is still written.

    Between `begin` and `end` each of our functions that the program calls stands between `enter` and `leave`.
    """

    def __init__(self, state: State, memory: Any, store: Any) -> None:

        base = ctypes.cast(memory.data_ptr(store), ctypes.c_void_p).value or 0
        self._state = state
        self._depth = 0
        self._pages: tuple[Any, list[tuple[int, int]]] = (None, [])
        self._memory = WatchedMemory(base, lambda address: _covering(state.unwaited, address))
        state.watches = watch(self._memory)

    @property
    def memory(self) -> WatchedMemory | None:
        """What closes pages; None where this machine cannot see who comes to them."""
        return self._memory if self._state.watches else None

    def end(self) -> None:
        """Stop watching, with all memory open."""
        watch(None)
        self._memory.open()
        self._memory.open_fences()

    def enter(self) -> None:
        """Begin a function of ours, which may use all memory."""
        if not self._depth:
            self._memory.open()
        self._memory.is_served = True
        self._depth += 1

    def leave(self) -> None:
        """End it: where the program goes on, what the device still writes is not its own."""

        self._depth -= 1
        self._memory.is_served = self._depth > 0
        items = self._state.unwaited
        if self._depth or not items or self._memory.early is not None:
            return
        if self._pages[0] is not items:
            self._pages = items, _pages(items)
        self._memory.close(self._pages[1])

    def look(self, place_of_trap: Callable[[], Place] | None) -> None:
        """Tell of what was seen; place_of_trap: where the program came to a sudden end, None where it did not.

        Raises TooEarly: that is why it ended.
        """

        if self._memory.early is None:
            return
        if place_of_trap is not None and not self._memory.went_on:
            raise TooEarly(*_early_use(self._state, self._memory.early, place_of_trap()))
        message, place = _early_use(self._state, self._memory.early, NOWHERE)
        self._state.tell("not_waited", "error", message, place)


def _pages(items: Sequence[Unwaited]) -> list[tuple[int, int]]:
    wanted: set[int] = set()
    for item in items:
        allocation = item.allocation
        low, high = allocation.host, allocation.host + allocation.size
        # Memory that we have handed out has its pages for itself.
        first, last = (low // PAGE, -(-high // PAGE)) if allocation.block else (-(-low // PAGE), high // PAGE)
        begin, end = item.address // PAGE, -(-(item.address + item.size) // PAGE)
        covered: Sequence[int] = range(begin, end)
        if item.changed is not None:
            every = np.zeros((end - begin) * PAGE, np.uint8)
            start = item.address - begin * PAGE
            every[start : start + item.size] = item.changed
            covered = [begin + int(page) for page in np.flatnonzero(every.reshape(-1, PAGE).any(axis=1))]
        wanted.update(page for page in covered if first <= page < last)
    ranges: list[tuple[int, int]] = []
    for page in sorted(wanted):
        if ranges and sum(ranges[-1]) == page * PAGE:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + PAGE)
        else:
            ranges.append((page * PAGE, PAGE))
    return ranges


def _covering(items: Sequence[Unwaited], address: int) -> Unwaited | None:
    """Return what may still write at an address of the program's."""
    return next((item for item in reversed(items) if item.covers(address)), None)


def _early_use(state: State, item: Unwaited, place: Place) -> tuple[Message, Place]:
    """Return the message about an access at `place`, line 0 where that is unknown, and the place to report it at.

    Memory that a function of the program's allocates has its name there, not where it is used: the kernel's for it is
    taken then.
    """
    name = item.allocation.name
    rows = state.sources.numbered(place.file, place.line, 1)
    is_named = (
        not (item.kernel and item.parameter and rows) or re.search(rf"\b{re.escape(name)}\b", rows[0][1]) is not None
    )
    form = "" if place.line and is_named else "_somewhere"
    data: dict[str, str | int] = {"array": name if is_named else item.parameter}
    if place.line:
        # Of the launch: what waits for it is looked for behind that, also where the message does not say it.
        data["line"] = item.place.line
    if item.kernel:
        data["kernel"] = item.kernel
    by = "kernel" if item.kernel else "copy"
    reported = place if place.line else item.place
    if item.waited is not None and item.waited.file == reported.file:
        return msg(f"programs.read_before_other.{by}{form}", **data, waited=item.waited.line), reported
    return msg(f"programs.read_before_{by}{form}", **data), reported
