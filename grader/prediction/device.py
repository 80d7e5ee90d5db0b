"""What a time follows from on a GPU, read from a data file of this folder's `devices`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from grader.errors import UsageError
from grader.message import msg

FOLDER = Path(__file__).resolve().parent / "devices"


@dataclass(frozen=True, slots=True)
class Processor:
    """One GPU.

    clock_ghz: of the multiprocessors under load.  rates: warp instructions that a multiprocessor begins in a cycle,
    by pipe. latency: cycles, by class.  architecture: what it is compiled
    for.  most_warps, most_blocks, shared_bytes: of a multiprocessor.  l1_bytes: of shared memory and L1 cache
    together.  l2_bytes_per_second, dram_bytes_per_second: what a streaming kernel gets.  dram_fetch_bytes: least that
    memory is read by.  block_cycles: between the starts of two blocks on one multiprocessor.  launch_us: of a kernel
    that does nothing.  measured: whether times were compared. sources: where each figure is from.
    """

    name: str
    measured: bool
    architecture: str
    multiprocessors: int
    clock_ghz: float
    most_warps: int
    most_blocks: int
    shared_bytes: int
    rates: dict[str, float]
    latency: dict[str, float]
    l1_bytes: int
    l2_bytes: int
    l2_bytes_per_second: float
    dram_bytes_per_second: float
    dram_fetch_bytes: int
    block_cycles: float
    launch_us: float
    sources: dict[str, str]

    def cache_bytes(self, resident: int, shared_bytes: int) -> int:
        """What is left of a multiprocessor's memory as L1 cache, beside the shared memory of so many blocks."""
        return max(self.l1_bytes - self.shared_bytes, self.l1_bytes - resident * (shared_bytes + 1024))


REGISTERS = 65536
"""Of a multiprocessor, on every supported device."""


def resident_blocks(processor: Processor, threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks that a multiprocessor holds at once (0: it cannot hold one); registers: of a thread."""
    warps = -(-threads // 32)
    # Registers are a quadrant's, and given to warps by 256.
    of_warp = max(256, -(-registers * 32 // 256) * 256)
    by_registers = 4 * (REGISTERS // 4 // of_warp) // warps
    # From capability 8.0 on the system takes 1 KB of each block's shared memory.
    reserved = 0 if processor.architecture == "sm_75" else 1024
    by_shared = processor.shared_bytes // max(1, shared_bytes + reserved)
    return min(processor.most_blocks, processor.most_warps // warps, by_registers, by_shared)


def names() -> list[str]:
    """Of the devices that there are files of."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read_device(name: str) -> Processor:
    """The device of that name.

    Raises
    ------
    UsageError : there is no such file.
    """
    path = FOLDER / f"{name.lower()}.yaml"
    if path.stem not in names():
        raise UsageError(msg("predict.unknown_device", name=name, allowed=", ".join(names())))
    return Processor(**yaml.safe_load(path.read_text("utf-8")))
