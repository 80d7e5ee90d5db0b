"""How much the emulated device holds at a time: multiprocessors, and the blocks that reside on them."""

from __future__ import annotations

MULTIPROCESSORS = 132
WARPS = 64
BLOCKS = 32
SHARED_BYTES = 228 * 1024
BLOCK_SHARED_BYTES = 1024
"""Of an H100 or H200: multiprocessors; warps, blocks and shared memory of one of them; what a block takes of that
besides its own (CUDA C++ programming guide, technical specifications)."""


def resident_blocks(padded: int, shared_bytes: int) -> int:
    """How many blocks the device holds side by side.

    Registers are not counted: PTX has as many as it likes.

    padded : threads of a block, in whole warps; shared_bytes : its shared memory.
    """
    by_shared = SHARED_BYTES // (shared_bytes + BLOCK_SHARED_BYTES)
    return MULTIPROCESSORS * min(BLOCKS, WARPS // (padded // 32), by_shared)
