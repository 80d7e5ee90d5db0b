"""How long kernels take: measured by a device that is handed in (plan, clock, statistics, verdict, store), and
predicted without one from what a kernel executes and addresses (`prediction`).

The records here are what is measured of a submission, as it is stored: raw times, from which everything else is worked
out.  The GPU process speaks in them too, so nothing but msgspec is imported here.
"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records."""


class Problem(msgspec.Struct, frozen=True):
    """What was wrong with the results of a timed launch of a kernel: `count` elements of `total`.

    kind: "unwritten" (elements that no thread wrote), "wrong", "input_changed", "guard" (wrote beside an array).
    """

    name: str
    kind: str
    count: int = 0
    total: int = 0


class SizeTimes(Record, frozen=True):
    """Times at one size.

    times_us: by kernel ("student:…", "reference:…"), one a round, null where it took no part.
    batch: launches in one sample.  empty_us: time of an empty kernel, measured in the same way.
    copies_us: by function or program, what its copies between host and device took, at the median.
    dropped: rounds that did not count, of `rounds`; valid: few enough of them.
    undecided: kernels whose speed-up straddles what is asked for, after the last stage.
    """

    size: dict[str, int]
    times_us: dict[str, list[float | None]]
    batch: dict[str, int]
    empty_us: float
    rounds: int
    dropped: int
    valid: bool
    sm_mhz: float
    wrong: list[Problem] = []
    undecided: list[str] = []
    copies_us: dict[str, float] = {}


class CpuTime(Record, frozen=True):
    """The oracle on the CPU: best time, and threads that were busy on average."""

    size: dict[str, int]
    best_us: float
    threads: int


class KernelFacts(msgspec.Struct, frozen=True):
    """What the driver knows of a loaded kernel, for one block size.

    blocks_per_sm: blocks that fit on a multiprocessor at once; occupancy_pct: their warps over the most it can hold.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    blocks_per_sm: int
    occupancy_pct: float


class HostTimes(msgspec.Struct, frozen=True):
    """Medians, µs, for one kind of host memory; cpu_read_us: the CPU reading the output's buffer once."""

    mode: str
    copy_in_us: float
    kernel_us: float
    copy_out_us: float
    total_us: float
    cpu_read_us: float


class Measurement(Record, frozen=True):
    """Everything measured of one submission.

    copy_gb_s, fp32_gflop_s: what the device can do.  host_memory: by variant.
    failure: why a kernel could not be timed, by kernel.
    """

    device: str
    driver: str
    nvrtc: str
    l2: str
    copy_gb_s: float
    fp32_gflop_s: float
    sizes: list[SizeTimes]
    cpu: list[CpuTime] = []
    host_memory: dict[str, list[HostTimes]] = {}
    host_memory_size: dict[str, int] = {}
    failure: dict[str, str] = {}
