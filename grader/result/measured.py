"""What was measured on a GPU: times, copies, resources, and what other tools say."""

from __future__ import annotations

from typing import Literal

from grader.message import Message
from grader.result.record import Record


class Ratio(Record, frozen=True):
    """How many times as fast as something else, with its interval."""

    value: float
    low: float
    high: float


class Timing(Record, frozen=True):
    """Time of a kernel at one size: median with its 99 % confidence interval, µs.

    speedup: over what the lab's check measures it by.  Ratios are medians of ratios taken within a round, in which
    all kernels ran next to one another.
    over_baseline: over the student's own kernel of the lab's first variant; over_reference: over the reference kernel
    of the same variant; over_cpu: over the lab's NumPy oracle, which kept `cpu_threads` threads busy.
    gb_per_s: bytes that have to be moved over the time; gflop_per_s: likewise operations (one of the two is null);
    pct_of_device: that over the most the device was seen to do.
    launch_bound: hardly longer than the launch of an empty kernel takes: shown, not marked.
    rounds: those that count; dropped: others, in which the device ran below its usual clock.  batch: launches in one.
    undecided: the interval straddles what is asked for, after all the rounds that were allowed.
    """

    size: dict[str, int]
    median_us: float | None = None
    ci_low_us: float | None = None
    ci_high_us: float | None = None
    quartile_low_us: float | None = None
    quartile_high_us: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    reference_us: float | None = None
    over_baseline: Ratio | None = None
    over_reference: Ratio | None = None
    over_cpu: float | None = None
    cpu_us: float | None = None
    cpu_threads: int | None = None
    gb_per_s: float | None = None
    gflop_per_s: float | None = None
    pct_of_device: float | None = None
    launch_bound: bool = False
    rounds: int = 0
    dropped: int = 0
    batch: int = 1
    undecided: bool = False


class Resources(Record, frozen=True):
    """What a kernel takes on the GPU it was compiled for, by compiler and driver.

    shared_bytes: of a block, static and dynamic.  local_bytes: of a thread, its stack and spills included.
    blocks_per_sm: blocks that fit on a multiprocessor; occupancy_pct: their warps, of those it can hold.
    """

    architecture: str
    registers: int
    shared_bytes: int
    local_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    blocks_per_sm: int | None = None
    occupancy_pct: float | None = None


class HostMemory(Record, frozen=True):
    """A launch with its copies, for one kind of host memory; medians, µs.

    cpu_read_us: the CPU reading up to 1 MiB of the output's buffer.
    """

    mode: Literal["pageable", "pinned", "write_combined", "mapped"]
    size: dict[str, int]
    copy_in_us: float
    kernel_us: float
    copy_out_us: float
    total_us: float
    cpu_read_us: float


class Witness(Record, frozen=True):
    """What another tool says of the kernel; never part of a mark.

    tool: "ncu" or "compute-sanitizer".  name: the metric or the kind of finding; value: null for a finding.
    emulator: the emulator's figure for the same thing, null where it has none.
    """

    tool: str
    name: str
    value: float | None = None
    emulator: float | None = None
    text: str = ""
    text_said: Message | None = None
    line: int | None = None
