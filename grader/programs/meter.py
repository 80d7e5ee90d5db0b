"""What our functions do for a program counts as its own work: bytes and rows, charged before they are moved.

Host code is bounded by counted instructions.  All memory of the program's and of its device is reached through `Guest`
and `Allocation`, which charge the `Meter` of the run with what is asked of them, so that a handler need not think of
it.  One that works more than once through what it reads, or makes what lies in no memory yet, charges that by itself.
"""

from __future__ import annotations

from collections.abc import Callable

BYTES_PER_INSTRUCTION = 4
"""Of the host's instructions: about what both take here."""
ROW_INSTRUCTIONS = 2_000
"""A row of a copy, or another piece that is served by itself, however short it is."""
RANDOM_INSTRUCTIONS = 10
"""A pseudorandom number."""
PRODUCTS_PER_INSTRUCTION = 2
"""Multiplications within a library."""
ITEM_INSTRUCTIONS = 100
"""A look at one item of a list that grows with the program's calls: streams, allocations, work under way."""
RANDOM_BYTE_INSTRUCTIONS = 64
"""A byte of `/dev/urandom`."""


class Meter:
    """The work of one run: `spend` takes instructions off what is left to it, and raises where there is not so much."""

    def __init__(self, spend: Callable[[int], None] = lambda _instructions: None) -> None:
        self.spend = spend

    def charge(self, size_bytes: int = 0, rows: int = 0) -> None:
        """Count bytes that are about to be moved, and pieces that they lie in."""
        self.spend(max(0, size_bytes) // BYTES_PER_INSTRUCTION + max(0, rows) * ROW_INSTRUCTIONS)

    def walk(self, items: int) -> None:
        """Count items that are about to be looked at one by one."""
        self.spend(items * ITEM_INSTRUCTIONS)
