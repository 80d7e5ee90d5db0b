"""Series of runs that graphs are drawn of."""

from __future__ import annotations

from typing import Literal

from grader.message import Message
from grader.result.record import Record
from grader.result.variant import BackendName


class Estimate(Record, frozen=True):
    """A measured number with its 99 % confidence interval; low and high are null for what was counted."""

    value: float
    low: float | None = None
    high: float | None = None


class SweepPoint(Record, frozen=True):
    """One run of a sweep.

    of: whose kernel ran, the submission's or the lab's own.
    x: value of what is swept; line: value of the second parameter, or the kind of host memory, null without either.
    status: "ok"; "impossible" (no device can run it: too many threads or too much shared memory), "fixed" (the program
    cannot be changed that way), "wrong" (it ran, with a wrong result), "failed" (it did not end well).
    reason: why there are no values, "" when there are.
    values: by metric.
    conflict_ways: the worst bank conflict of the run, 1 without any; null where shared memory is not used, or on a GPU.
    """

    variant: str
    of: Literal["submission", "reference"]
    x: int
    line: int | str | None = None
    size: dict[str, int] = {}
    block: tuple[int, int, int] | None = None
    status: Literal["ok", "impossible", "fixed", "wrong", "failed"] = "ok"
    reason: str = ""
    reason_said: Message | None = None
    values: dict[str, Estimate] = {}
    conflict_ways: int | None = None


class SweepRecord(Record, frozen=True):
    """A series of runs that a graph is drawn of, as the lab file declares it.

    backend: "gpu" when times were measured, "emulator" when work was counted.
    x, lines: names of what is swept and of the second parameter ("" without one, "host_memory" for kinds of memory).
    metrics: what each point has values of: on a GPU "time" and "total_time" (with the copies), µs, "gflop_per_s",
    "gb_per_s"; on the emulator, for each element of the output: "sectors" of global memory, "wavefronts" of shared
    memory, "instructions" of threads, "bus_bytes" between host and device.
    left_out: variants of the submission that were not swept, and why.
    """

    id: str
    backend: BackendName
    x: str
    lines: str
    metrics: list[str]
    points: list[SweepPoint]
    left_out: dict[str, str] = {}
    left_out_said: dict[str, Message] = {}
