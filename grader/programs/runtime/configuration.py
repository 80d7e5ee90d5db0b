"""A launch as it is configured, and what a device allows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.device_limits import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, SHARED_BYTES, WARP_LANES
from grader.message import msg
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import Kernel, State

INVALID_VALUE = 1
"""Of every refused configuration, as measured with CUDA 13.0 on an H200 (before, cudaErrorInvalidConfiguration)."""


@dataclass
class Configured:
    """A `<<<…>>>` whose arguments are being set up: (offset, bytes) each."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    place: Place
    arguments: list[tuple[int, bytes]] = field(default_factory=list)
    is_cooperative: bool = False


def refusal(state: State, kernel: Kernel, entry: str, asked: Configured) -> tuple[int, Any]:
    """The error that a device refuses a launch with, and why; (0, None) where it does not."""
    model = state.model
    for axis, size, limit in zip("xyz", asked.grid, MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            return INVALID_VALUE, msg("programs.grid_limit", axis=axis, size=size, limit=limit)
    for axis, size, limit in zip("xyz", asked.block, MAX_BLOCK, strict=True):
        if not 1 <= size <= limit:
            return INVALID_VALUE, msg("programs.block_limit", axis=axis, size=size, limit=limit)
    threads = asked.block[0] * asked.block[1] * asked.block[2]
    if threads > MAX_THREADS_PER_BLOCK:
        return INVALID_VALUE, msg("programs.thread_limit", block=sizes_text(asked.block), threads=threads)
    # A module that nothing has asked for is not compiled where no kernel is run.
    static = state.gpu.static_shared_bytes(kernel.unit, entry) if state.gpu.is_loaded(kernel.unit) else 0
    total = static + asked.shared_bytes
    if asked.shared_bytes < 0 or total > max(SHARED_BYTES, min(kernel.max_dynamic_bytes + static, model.shared_opt_in)):
        return INVALID_VALUE, msg(
            "programs.shared_limit", bytes=total, limit=max(SHARED_BYTES, kernel.max_dynamic_bytes)
        )
    if asked.is_cooperative:
        resident = blocks_per_multiprocessor(state, kernel.unit, entry, threads, asked.shared_bytes)
        resident *= model.multiprocessors
        blocks = asked.grid[0] * asked.grid[1] * asked.grid[2]
        if blocks > resident:
            return 720, msg("programs.cooperative_limit", blocks=blocks, limit=resident)
    return 0, None


def sizes_text(sizes: tuple[int, int, int]) -> str:
    """As "16×16", with the third size where it is not 1."""
    return "×".join(str(size) for size in (sizes if sizes[2] != 1 else sizes[:2]))


def blocks_per_multiprocessor(state: State, unit: int, entry: str, threads: int, shared_bytes: int) -> int:
    """Resident blocks by threads, shared memory and their own limit; registers are not known of PTX."""
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        return 0
    m = state.model
    warps = -(-threads // WARP_LANES)
    found = min(m.blocks_per_multiprocessor, m.threads_per_multiprocessor // (warps * WARP_LANES))
    shared = state.gpu.static_shared_bytes(unit, entry) + shared_bytes
    shared += 1024 if m.capability >= (8, 0) else 0
    return min(found, m.shared_per_multiprocessor // shared) if shared else found
