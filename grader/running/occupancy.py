"""How many warps of a kernel a named device holds side by side: by threads, registers, shared memory and blocks.

The arithmetic is that of NVIDIA's cuda_occupancy.h for compute capability 7.5 and later; registers are those of the
machine code that the assembler makes for the device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

from grader.devices import WARP_LANES
from grader.lab.checks import OccupancySettings
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.programs.runtime.devices import Model, model_of
from grader.running.evidence import Evidence
from grader.running.work import LaunchWork, Occupancy, Work

if TYPE_CHECKING:
    from grader.compiler.result import Resources

SUB_PARTITIONS = 4
"""Of a multiprocessor: each has its own part of the registers."""
REGISTERS_AT_A_TIME = 256
"""What a warp's registers are rounded up to."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Blocks that fit on a multiprocessor, and what keeps more from fitting."""

    blocks: int
    limit: Literal["threads", "blocks", "shared", "registers"]


def fit(model: Model, threads: int, registers: int, shared_bytes: int) -> Fit:
    """Of blocks of so many threads, with so many registers a thread and so much shared memory."""
    warps = -(-threads // WARP_LANES)
    of_warp = _rounded(registers * WARP_LANES, REGISTERS_AT_A_TIME)
    per_partition = model.attributes["MaxRegistersPerMultiprocessor"] // SUB_PARTITIONS
    limits = {
        "threads": model.threads_per_multiprocessor // WARP_LANES // warps,
        "blocks": model.blocks_per_multiprocessor,
        "registers": per_partition // max(1, of_warp) * SUB_PARTITIONS // warps,
    }
    if of_warp * _rounded(warps, SUB_PARTITIONS) > model.attributes["MaxRegistersPerBlock"]:
        limits["registers"] = 0
    at_a_time = 128 if model.capability >= (8, 0) else 256
    allocated = _rounded(shared_bytes + model.attributes["ReservedSharedMemoryPerBlock"], at_a_time)
    if allocated:
        limits["shared"] = model.shared_per_multiprocessor // allocated
    limit = min(limits, key=lambda name: limits[name])
    return Fit(limits[limit], limit)  # type: ignore[arg-type]  # a key of the above


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step


def heaviest(work: Work) -> LaunchWork | None:
    """The launch whose threads execute the most instructions; None where there is none of the program's own."""
    own = [launch for launch in work.launches if not launch.is_of_library]
    return max(own, key=lambda launch: sum(row.instructions for row in launch.lines), default=None)


def with_occupancy(evidence: Evidence, compiled: Callable[[str, LaunchWork], Resources | None]) -> Evidence:
    """`evidence` with the occupancy of its heaviest launch at the observed size, where a check asks for it.

    compiled: what a launch's kernel takes in machine code for an architecture ("sm_90"); None where that is not known.
    """
    settings = next((s.settings for s in evidence.variant.checks if isinstance(s.settings, OccupancySettings)), None)
    work = evidence.observed_work
    launch = heaviest(work) if work is not None else None
    if settings is None or work is None or launch is None:
        return evidence
    model = model_of(settings.device)
    taken = compiled("sm_{}{}".format(*model.capability), launch)
    if taken is None:
        return evidence
    threads = prod(launch.block)
    found = fit(model, threads, taken.registers, launch.shared_bytes)
    warps = -(-threads // WARP_LANES)
    share = found.blocks * warps * WARP_LANES / model.threads_per_multiprocessor
    called = next((c for c in work.asked or () if c.kind == "kernel" and c.name == launch.kernel), None)
    kernel = evidence.bound.kernel
    file, line = (called.file, called.line) if called is not None else (kernel.file, kernel.line)
    if work.asked is None and evidence.interpretation is not None and evidence.interpretation.launch.line:
        line = evidence.interpretation.launch.line
    return replace(
        evidence,
        occupancy=Occupancy(
            model.name, launch.kernel, file, line, threads, taken.registers, launch.shared_bytes, found.blocks,
            found.limit, share,
        ),
    )  # fmt: skip


def with_occupancy_of_kernel(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """The same of a bare kernel."""

    def compiled(architecture: str, _launch: LaunchWork) -> Resources | None:
        work = evidence.observed_work
        if work is None:
            return None
        loaded = replace(kernel, target=architecture).load(trials.programs, work.sizes)
        return loaded.built.result.resources.get(loaded.entry or "")

    return with_occupancy(evidence, compiled)
