"""What every device of the supported compute capabilities (7.5 and later) allows a launch, and how it reaches memory.

CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and "Shared Memory" there.
"""

from __future__ import annotations

MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
"""Threads of a block along x, y, z."""
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks of a grid along x, y, z."""
SHARED_BYTES = 48 * 1024
"""Shared memory of a block, unless the program asks for more (cudaFuncSetAttribute)."""
OPT_IN_SHARED_BYTES = 227 * 1024
"""The most that a program may ask for on any of them (capability 9.0)."""
WARP_LANES = 32
BANKS = 32
"""Of shared memory: words of 4 bytes that follow each other lie in one after another."""
SECTOR_BYTES = 32
"""What global memory is moved by, aligned to as many."""


def is_possible_block(block: tuple[int, int, int]) -> bool:
    """Whether a device can run blocks of this shape, threads along x, y, z."""
    threads = block[0] * block[1] * block[2]
    fits = all(0 < side <= most for side, most in zip(block, MAX_BLOCK, strict=True))
    return threads <= MAX_THREADS_PER_BLOCK and fits
