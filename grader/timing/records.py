"""What is measured of a submission, as it is stored: raw times, from which everything else is worked out."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records."""


class Wrong(Record, frozen=True):
    """A timed launch whose result was wrong: kernel, kind, elements wrong of all."""

    name: str
    kind: str
    count: int = 0
    total: int = 0


class SizeTimes(Record, frozen=True):
    """Times at one size.

    times_us: by kernel ("student:…", "reference:…"), one a round, null where it took no part.
    batch: launches in one sample.  empty_us: time of an empty kernel, measured in the same way.
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
    wrong: list[Wrong] = []
    undecided: list[str] = []


class CpuTime(Record, frozen=True):
    """The oracle on the CPU: best time, and threads that were busy on average."""

    size: dict[str, int]
    best_us: float
    threads: int


class Facts(Record, frozen=True):
    """What compiler and driver say of a kernel."""

    registers: int
    shared_bytes: int
    local_bytes: int
    blocks_per_sm: int
    occupancy_pct: float


class HostRow(Record, frozen=True):
    """One kind of host memory: medians, µs."""

    mode: str
    copy_in_us: float
    kernel_us: float
    copy_out_us: float
    total_us: float
    cpu_read_us: float


class Measurement(Record, frozen=True):
    """Everything measured of one submission.

    copy_gb_s, fp32_gflop_s: what the device can do.  facts, host_memory: by variant.
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
    facts: dict[str, Facts] = {}
    host_memory: dict[str, list[HostRow]] = {}
    host_memory_size: dict[str, int] = {}
    failure: dict[str, str] = {}
