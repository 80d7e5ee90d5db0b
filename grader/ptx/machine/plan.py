"""How many blocks of a grid run side by side."""

from __future__ import annotations

from collections.abc import Collection

BATCH_LANES = 16_384
"""Lanes executed side by side: large enough that Python's overhead vanishes, small enough for the L2 cache."""

CONTENDING_LANES = 1024
"""The same for kernels with locks or loops of compare-and-swap."""

LOCAL_BYTES = 128 * 1024 * 1024
"""Local memory of all lanes that run side by side, as far as it is known before the launch (recursion is not)."""

SHARED_BYTES = 8 * 1024 * 1024
"""Shared memory of all blocks that run side by side; what watches it takes twenty times as much."""


def side_by_side(blocks: int, padded: int, *, waits: bool, contends: bool, local_bytes: int, shared_bytes: int) -> int:
    """How many of a grid's blocks run at a time.

    Parameters
    ----------
    blocks, padded : of the grid, and lanes of each.
    waits : blocks may wait for each other.
    contends : threads try an atomic update until they get through.
    local_bytes, shared_bytes : of a thread, and of a block.
    """
    together = max(1, BATCH_LANES // padded)
    if waits:
        # Blocks that wait for each other must run side by side, as far as memory allows.
        together = max(together, min(blocks, 16 * BATCH_LANES // padded))
    elif contends:
        # Of those who want one place in one step all but one have to try again: n threads take n² / 2 attempts.
        together = max(1, CONTENDING_LANES // padded)
    # Local memory has a copy for every lane.
    together = min(together, LOCAL_BYTES // (padded * max(1, local_bytes)))
    return max(1, min(together, SHARED_BYTES // max(1, shared_bytes)))


def spread(count: int, wanted: int | None) -> Collection[int]:
    """Which of `count` batches to watch: the first, the last, and evenly between."""
    if wanted is None or wanted >= count:
        return range(count)
    if wanted <= 0:
        return set()
    return {round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)}
