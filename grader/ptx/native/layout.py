"""Where things lie in the linear memory of generated code: one table for the generator, the runtime and the host.

All offsets are in bytes.  The first page holds the context; then come regions whose size the function decides
(`Static`), then those that a launch decides (registers, lanes, arrays).
"""

from __future__ import annotations

CONTEXT: dict[str, int] = {
    "STATUS": 0,
    "BLOCK": 4,
    "BACK": 8,
    "N": 12,
    "LIST": 16,
    "WARPS": 20,
    "WARP_TABLE": 24,
    "TOKEN": 28,
    "FUEL": 32,
    "ISSUED": 40,
    "FRAMES": 48,
    "LANES": 52,
    "GLOBAL_TABLE": 56,
    "GLOBAL_SLOTS": 60,
    "SHARED_TABLE": 64,
    "SHARED_SLOTS": 68,
    "LOCAL_TABLE": 72,
    "LOCAL_SLOTS": 76,
    "RACES": 80,
    "ORIGIN": 88,
    "SCRATCH": 128,
}
"""Fields of the context.

N, LIST: how many lanes run, and where their numbers stand (i32 each, ascending).  WARPS, WARP_TABLE: the same by warp
(see WARP_BYTES).  TOKEN: a number that stands for the set of lanes.  FUEL: thread-instructions that may still be
executed (i64), ISSUED: instructions issued so far (i64).  RACES: 0 where one thread is alone.  ORIGIN: where global
memory's neighbourhoods begin (i64).
"""

SCRATCH_BYTES = 32 * 32 * 4 + 32 * 8 * 4
"""Room for one request's distinct words by bank, and distinct addresses."""

WARP_BYTES = 16
"""Of a participating warp: first position in the list, position past its last lane, mask of its lanes."""

LANE_BYTES = 16
"""Of a lane: block within the batch, number of the thread (`THREAD_BITS`), where its block's epoch stands, where its
block's row of shared memory begins."""

THREAD_BITS = 10
"""A thread's number is (block of the grid + 1) << THREAD_BITS | thread of the block; 0 is nobody."""

ARRAY_BYTES = 64
"""Of an array (i32 each): where row 0 lies, its size, where the flags of what was written lie (0: all was), where its
history lies (0: not kept), bytes from row to row, what numbers the rows (`ROWS`), 1 if read-only, offset in its block's
storage (1 for constant memory); its address on the device (i64)."""

ROWS = {"": 0, "block": 1, "lane": 2}

HISTORY_BYTES = 16
"""Of a unit of memory: last writer and its epoch; last reader, and its epoch << 2 | others read then << 1 | other
blocks read."""

COUNTER_BYTES = 200
"""Of a line counter: requests, lanes, wavefronts, sectors, ideal, unique bytes (i64), ways, whether there are words,
32 words (i32), requests of few lanes and their lanes (i64)."""

EVENT_BYTES = 144
"""Of an access under way: most wavefronts of a warp, most ways, that warp's 32 words (i32)."""

# Why generated code came back.
RETURNED, BARRIER, PARTED, STOPPED, SPENT = range(5)


class Static:
    """Hands out the regions whose size is known when a function is compiled."""

    def __init__(self) -> None:
        self.end = (CONTEXT["SCRATCH"] + SCRATCH_BYTES + 255) // 256 * 256

    def take(self, size: int, align: int = 16) -> int:
        """The offset of a new region."""
        start = -(-self.end // align) * align
        self.end = start + size
        return start
