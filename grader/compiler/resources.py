"""What the assembler says a kernel takes: registers, shared memory, spills; out of its verbose log."""

from __future__ import annotations

import re
from dataclasses import dataclass

VERBOSE = "--ptxas-options=-v"

# A program may put such words into the log too (`#pragma message`), but not at the beginning of a line.
_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '([^'\n]+)' for '[^'\n]+'", re.MULTILINE)
_SPILLS = re.compile(
    r"^(?:ptxas)?[ .]*\b(\d{1,9}) bytes stack frame, (\d{1,9}) bytes spill stores, (\d{1,9}) bytes spill loads",
    re.MULTILINE,
)
_REGISTERS = re.compile(r"^ptxas info\s*: Used (\d{1,9}) registers([^\n]*)", re.MULTILINE)
_SHARED = re.compile(r"\b(\d{1,9}) bytes smem")


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one kernel.  shared_bytes: static ones; stack_bytes: of a thread, in local memory."""

    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def resources_of(log: str) -> dict[str, Resources]:
    """By the kernel's symbol, from a log that was made with `VERBOSE`; {} when the log tells nothing."""
    found = {}
    pieces = _ENTRY.split(log)
    for symbol, text in zip(pieces[1::2], pieces[2::2], strict=True):
        registers, spills = _REGISTERS.search(text), _SPILLS.search(text)
        if registers is None:
            continue
        shared = _SHARED.search(registers[2])
        stack, stores, loads = (int(n) for n in spills.groups()) if spills else (0, 0, 0)
        found[symbol] = Resources(int(registers[1]), int(shared[1]) if shared else 0, stack, stores, loads)
    return found
