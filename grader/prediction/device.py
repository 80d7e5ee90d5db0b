"""What a time follows from on a GPU, read from a data file of this folder's `devices`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from grader.devices import GPUS, gpus
from grader.errors import UsageError
from grader.message import msg


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


OTHER_MODELS = frozenset(["ti", "super", "laptop", "max", "pcie", "nvl"])
"""Words of names that tell another device from the one that is called the same without them."""


def named_like(full_name: str) -> str:
    """The device that a driver calls by its full name ("NVIDIA GeForce RTX 4090"); "" where there is no file of it."""
    words = [word for word in re.split(r"[^a-z0-9]+", full_name.lower()) if word not in ("nvidia", "geforce", "tesla")]
    name = "".join(words[: 2 if words[:1] == ["rtx"] else 1])
    return name if name in gpus() and not OTHER_MODELS & set(words) else ""


def read_device(name: str) -> Processor:
    """The device of that name.

    Raises
    ------
    UsageError : there is no such file.
    """
    path = GPUS / f"{name.lower()}.yaml"
    if path.stem not in gpus():
        raise UsageError(msg("predict.unknown_device", name=name, allowed=", ".join(gpus())))
    return Processor(**yaml.safe_load(path.read_text("utf-8")))
