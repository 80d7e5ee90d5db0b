"""What was found out about the kernel of one variant."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.message import Message
from grader.result.counters import Counters
from grader.result.measured import HostMemory, Resources, Timing, Witness
from grader.result.record import Record

BackendName = Literal["emulator", "gpu"]
CaseKind = Literal["correct", "ragged", "observe", "large"]

HazardKind = Literal["race", "out_of_bounds", "uninitialized", "barrier_divergence", "warp_sync"]


class Launch(Record, frozen=True):
    """The launch a kernel was graded with; `from` tells who said so.

    tile: elements that one block covers along x, y; shared_bytes: dynamic shared memory.
    line: where the student's host code says so, null where it does not.
    requested: the block that the host code asks for where it is impossible, else null.
    by: how it is known: "stated" in submission.yaml, "observed" when the program was run, "read" from its text,
      "inferred" from the kernel, or the "lab"'s own; "" in results of before there was this field.
    """

    block: tuple[int, int, int]
    origin: Literal["submission", "lab", "inferred"] = msgspec.field(name="from")
    tile: list[int] = []
    shared_bytes: int = 0
    line: int | None = None
    requested: tuple[int, int, int] | None = None
    by: Literal["", "stated", "observed", "read", "inferred", "lab"] = ""


class Case(Record, frozen=True):
    """One run of a kernel at one size; numbers are null where the run gave no output.

    first_wrong: index of the first wrong element of the output, slowest axis first.
    backend: what ran it.
    drawn: its sizes and data were drawn from the submission, and from the course's secret where there is one.
    """

    size: dict[str, int]
    status: Literal["pass", "fail", "error"]
    kind: CaseKind = "correct"
    backend: BackendName = "emulator"
    max_abs_error: float | None = None
    mismatches: int | None = None
    first_wrong: list[int] | None = None
    message: str = ""
    message_said: Message | None = None
    drawn: bool = False


class Hazard(Record, frozen=True):
    """A fault seen while the kernel ran: the first thread that did it; `count` says how many times it was seen.

    other_*: the access that it collides with (races).
    """

    kind: HazardKind
    line: int
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    message: str = ""
    message_said: Message | None = None
    detail: str = ""
    array: str = ""
    count: int = 1
    other_line: int | None = None
    other_thread: tuple[int, int, int] | None = None
    other_block: tuple[int, int, int] | None = None


class Variant(Record, frozen=True):
    """What was found out about the kernel of one variant; `kernel` is null when none was found."""

    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    launch: Launch | None = None
    cases: list[Case] = []
    counters: Counters | None = None
    hazards: list[Hazard] = []
    remarks: list[str] = []
    remarks_said: list[Message] = []
    timing: list[Timing] = []
    resources: Resources | None = None
    host_memory: list[HostMemory] = []
    witnesses: list[Witness] = []
