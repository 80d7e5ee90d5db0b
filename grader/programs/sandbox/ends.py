"""How a program comes to a sudden end: why it was trapped, and what it does beyond its arrays or with freed ones.

Each block of some size that malloc() gives out, which `new` and std::vector ask for one, ends where a page ends
(`toolchain/support/support.c`), and the page behind it is closed to the program's own code; all pages of one that was
freed are, and its addresses are not given out again while there is room.  An access to such a page ends the run, which
is then done anew: once up to where the block was allocated, for the line of that, once up to where it was freed, and
once as if nothing had been seen.  Our own functions go on, as a copy beyond its array does on a PC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from grader.message import Message, msg
from grader.programs.runtime.ordering import NOWHERE, Place
from grader.programs.runtime.outcomes import of_device_in_shared
from grader.programs.runtime.state import State
from grader.programs.sandbox.early import WatchedMemory
from grader.programs.sandbox.guest import Heap, HostBlock, Stop

OUT_OF_MEMORY = 2
"""CUDA's error for an allocation that is refused."""
_MISMATCH = "signature_mismatch:"
_FREE = re.compile(r"(?:^|\.)free$")
"""The functions of the C library that give memory back."""
OWN_ENDS = frozenset(
    {
        "programs.segmentation_fault",
        "programs.pointers_of_card",
        "programs.stack_overflow",
        "programs.division_by_zero",
        "programs.aborted",
    }
    | {
        "programs.crash_in_free",
        "programs.crash_in_free_pinned",
        "programs.crash",
        "programs.bad_function",
        "programs.uncaught",
        "programs.pointers_of_card",
    }
)
"""Ends that the program brought about itself."""


def cause_of_trap(state: State, error: Any, card: object) -> Message | None:
    """Return why the host code was trapped; None where it had no instructions left."""
    import wasmtime

    codes = wasmtime.TrapCode
    kind = error.trap_code
    if kind == codes.OUT_OF_FUEL:
        return None
    if kind == codes.MEMORY_OUT_OF_BOUNDS and any(_FREE.search(f.func_name or "") for f in error.frames[:2]):
        is_pinned = any(allocation.kind == "pinned" for allocation in state.host_memory.values())
        return msg("programs.crash_in_free_pinned" if is_pinned else "programs.crash_in_free")
    refused = next((failure for failure in state.failures if failure.code == OUT_OF_MEMORY), None)
    if kind == codes.MEMORY_OUT_OF_BOUNDS and refused is not None:
        return msg("programs.went_on_without_memory", call=refused.call, at=refused.place.line)
    if kind == codes.MEMORY_OUT_OF_BOUNDS:
        array = of_device_in_shared(state) if card is not None else ""
        return msg("programs.pointers_of_card", array=array) if array else msg("programs.segmentation_fault")
    if kind == codes.STACK_OVERFLOW:
        return msg("programs.stack_overflow")
    if kind == codes.INTEGER_DIVISION_BY_ZERO:
        return msg("programs.division_by_zero")
    if kind == codes.UNREACHABLE:
        # What the linker makes of a call whose types are not those of the function that it finds.
        stub = (error.frames[0].func_name or "") if error.frames else ""
        if stub == "__wrap_free":
            return msg("programs.crash_in_free_pinned")
        if stub.startswith(_MISMATCH):
            return msg("programs.mismatched_call", function=stub.removeprefix(_MISMATCH))
        return msg("programs.aborted")
    if kind in (codes.INDIRECT_CALL_TO_NULL, codes.BAD_SIGNATURE, codes.TABLE_OUT_OF_BOUNDS):
        return msg("programs.bad_function")
    # The last line says what it was; before it comes where.
    return msg("programs.crash", reason=str(error).strip().split("\n")[-1].strip()[:200])


@dataclass(frozen=True, slots=True)
class Crossing:
    """An access to what lies behind a block, or to a freed one; offset: of its first byte, from the block's begin."""

    block: HostBlock
    offset: int
    place: Place

    @property
    def freed(self) -> int:
        """The how many-th free it was; 0 of what lies behind a block, which may have been freed since."""
        return self.block.freed if self.offset < self.block.size else 0


def told(crossing: Crossing, allocated: Place, freed: Place) -> Message:
    """Return what is said of a crossing; allocated, freed: where its block was, line 0 where that is unknown."""
    block = crossing.block
    if crossing.freed:
        again = crossing.offset < 0
        return msg("programs.host_freed_again" if again else "programs.host_freed", at=allocated.line, freed=freed.line)
    form = "" if crossing.place.line else "_somewhere"
    return msg(f"programs.host_beyond{form}", at=allocated.line, bytes=block.size, offset=crossing.offset)


class Crossed(Exception):
    """The program has ended as it left an array of its own, or came to one that is freed."""

    def __init__(self, crossing: Crossing) -> None:
        self.crossing = crossing
        super().__init__()


class Stopped(Exception):
    """The run has come to where it was to end."""

    def __init__(self, place: Place) -> None:
        self.place = place
        super().__init__()


def look_for_crossing(heap: Heap, address: int | None, place: Place) -> None:
    """Raises Crossed: an access to `address`, behind a fence, is why the program ended."""
    block = heap.at(address) if address is not None else None
    if address is not None and block is not None and place.line:
        raise Crossed(Crossing(block, address - block.address, place))


def look_for_passed(heap: Heap, memory: WatchedMemory | None) -> None:
    """Raises Crossed: the program has filled or copied bytes beyond a block at once, nobody knows in which line."""
    address = memory.passed if memory is not None else None
    block = heap.at(address) if address is not None else None
    if address is not None and block is not None and address >= block.end:
        raise Crossed(Crossing(block, address - block.address, NOWHERE))


class Crossings:
    """What the tries of one run have found out of a crossing; stop: where the next one is to end, None for nowhere."""

    def __init__(self) -> None:
        self._crossing: Crossing | None = None
        self._allocated = self._freed = NOWHERE
        self.stop: Stop | None = None

    @property
    def short(self) -> int:
        """The number of the block that is left, which has room for more once that is told: 0 for none."""
        is_left = self._crossing is not None and self.stop is None and not self._crossing.freed
        return self._crossing.block.number if is_left and self._crossing is not None else 0

    @property
    def is_open(self) -> bool:
        """Whether none was seen yet: one is told."""
        return self._crossing is None

    def note(self, crossing: Crossing) -> None:
        """Keep a crossing; where its block was allocated the next try is to tell."""
        block, self._crossing = crossing.block, crossing
        self._allocated = Place(block.line, block.file)
        self.stop = Stop(number=block.number) if block.number else None

    def note_stop(self, place: Place) -> None:
        """Keep where the block was allocated, or freed."""
        if self._crossing is None or self.stop is None:
            return
        if self.stop.number:
            self._allocated = place
            self.stop = Stop(freed=self._crossing.freed) if self._crossing.freed else None
        else:
            self._freed, self.stop = place, None

    def tell(self, state: State) -> None:
        """Tell of it once all is known."""
        if self._crossing is not None and self.stop is None:
            message = told(self._crossing, self._allocated, self._freed)
            place = self._crossing.place if self._crossing.place.line else self._allocated
            state.tell("host_memory", "error", message, place)
