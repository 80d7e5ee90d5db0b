"""How a program is started and what was observed of it, as plain records, and its streams as a picture."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from grader.message import Message
from grader.ptx.records import Counters, Hazard, LineCounter, LineWork
from grader.submission.kernels.records import SeenCopy, SeenLaunch

NO_LIMIT = 1 << 62
LIBRARY = "Thrust/CUB"
"""Said in place of a file where a library's code makes a call: of what it does itself nobody is told."""
MODULE_OF_SOURCE = "// module of "
"""What begins a file that stands for a module; the name of its source follows, in a line of its own, and the source."""
MAX_LAUNCHES = 2000
MAX_COPIES = 2000
MAX_STEPS = 2000
"""How many of a run are kept."""
LIMITS = frozenset(
    {"programs.launch_limit", "programs.launch_seconds", "programs.device_memory", "programs.host_limit"}
    | {"programs.host_memory", "programs.no_host_memory", "programs.too_long", "programs.too_much_copied"}
    | {"programs.too_much_computed", "programs.went_on_without_memory"}
    | {"programs.hangs_on_card"}
)
"""Ids of causes that are limits of a run, not of the program."""
CRASHES = frozenset(
    {"programs.segmentation_fault", "programs.bad_address", "programs.division_by_zero"}
    | {"programs.crash_in_free", "programs.crash_in_free_pinned"}
)
"""Ids of causes that are the host code's own doing, whatever there is to call."""


def is_limit(cause: Message | None) -> bool:
    """Whether a run ended at a limit of ours, counted or by the clock."""
    return cause is not None and (cause.id in LIMITS or cause.id == "programs.hangs")


class RunLimits(msgspec.Struct, frozen=True):
    """What a run may take, all of it counted, so that every machine comes to the same end.

    executes: kernels are run on the emulator; else their launches are recorded only.
    passes_over: a launch that cannot be run to its end here is recorded, with memory as it was before it, and the
    program goes on: for who wants to know what it launches, and not what it prints.  Else it ends there.
    host_instructions, host_bytes: of the host's code.  device_bytes: of the device's memory that is touched.
    launch_instructions, kernel_instructions: of one launch's threads, and of all launches' together.
    launch_issued: of one launch, counted once for all threads that execute an instruction together.
    watched_instructions: of blocks that are watched, of all launches together; of those that follow a few are.
    kernel_steps, steps_after_fault: of all launches together, and of one, see `grader.ptx.limits.Limits`.
    counts_work: what threads execute by line, and what the host asks of the device, is kept.
    keeps_steps: of that what streams do, the first `MAX_STEPS`, with their times where a GPU does them.
    order: in which blocks and warps have their turns, see `grader.ptx.affine.Order`.
    undoes_bytes: after each launch all arrays of at least so many bytes are as before it, as if the kernel had
    done nothing: what comes out right all the same, no kernel has computed.  0: nothing is undone.
    fills: what the device hands out begins with bytes that nobody means, as on a device that others used before:
    a result that hangs on it is seen to be wrong.  Else it is zero, as a driver hands it out.
    looks: what goes into launches and copies is looked at, for what can be told of it.
    forgives: a call that fails for a fault which is told does nothing, and the program hears of no error: for who wants
    to know what it would launch.
    marks_times: each launch and each copy takes a time of its own, a long or a short one, by which a figure that the
    program prints is known.
    falsifies: floating-point results of kernels are others when the host gets them: all larger ("up") or smaller
    ("down"), those of each copy's second half smaller ("half"), three of each larger ("some"), none of them a number
    ("nan"): for who wants to know whether that is noticed.
    falsified_kernels: whose results, as they are displayed; (): all kernels'.
    launch_seconds: of processor time; on a GPU, that the host waits for it.
    wall_seconds: of the whole run, by the clock on the wall: ends what hangs.
    """

    executes: bool = True
    passes_over: bool = False
    host_instructions: int = 200_000_000_000
    host_bytes: int = 3 << 30
    device_bytes: int = 2 << 30
    launch_instructions: int = 20_000_000_000
    launch_issued: int = 1_000_000_000
    steps_after_fault: int = NO_LIMIT
    launch_seconds: float = 600.0
    wall_seconds: float = 600.0
    kernel_instructions: int = NO_LIMIT
    watched_instructions: int = NO_LIMIT
    kernel_steps: int = NO_LIMIT
    counts_work: bool = False
    keeps_steps: bool = False
    order: int = 0
    undoes_bytes: int = 0
    fills: bool = False
    looks: bool = True
    forgives: bool = False
    marks_times: Literal["", "long", "short"] = ""
    falsifies: Literal["", "half", "up", "down", "some", "nan"] = ""
    falsified_kernels: tuple[str, ...] = ()


def for_gpu(limits: RunLimits, seconds: float) -> RunLimits:
    """Limits of a run whose kernels a GPU runs, which has memory of its own: each may take so many seconds."""
    return msgspec.structs.replace(limits, looks=False, fills=False, device_bytes=NO_LIMIT, launch_seconds=seconds)


MAX_TIMES = 400


class TimedSpan(msgspec.Struct, frozen=True):
    """A time that two events took: how long, and which launches and copies of the run lie in it, from and to.

    line: in which the program asks for it.  begin_line: of the first event, 0 if unknown.
    """

    nanoseconds: float
    launches: tuple[int, int]
    copies: tuple[int, int]
    file: str = ""
    line: int = 0
    begin_line: int = 0


class ClockRead(msgspec.Struct, frozen=True):
    """What the host read off its clock, and how many launches and copies there were before.

    pending: of the launches, how many the host had not waited for.
    """

    nanoseconds: int
    launches: int
    copies: int
    pending: int


class Times(msgspec.Struct):
    """The first `MAX_TIMES` times that a program took by events, and as many readings of its clock."""

    spans: list[TimedSpan] = []
    reads: list[ClockRead] = []


class ProgramFinding(msgspec.Struct, frozen=True):
    """Something worth telling about a run.

    severity: "error" (the program is wrong), "warning" (it may be), "remark" (worth knowing).
    line: 1-based in `file`; 0 where it has none.
    """

    kind: str
    severity: str
    message: Message
    line: int = 0
    file: str = ""


class DeviceCall(msgspec.Struct):
    """Something that the host asked of the device, or waited for: in the order in which it asked.

    kind: "kernel"; "copy_in" (from the host), "copy_out" (to the host), "copy" (on the device), "fill"; "allocate",
      "free"; "wait" (for the device, a stream or an event); "library" (of cuBLAS or cuRAND).
    name: the kernel, or the function that was called.  size: bytes.
    stream, ticket: which step of which stream it is, 0 where it is in none; 1 is the default stream.
    after: by stream, how many of its steps have ended before this one begins, whatever runs beside it.
    is_blocking: the host goes on when it is done.  is_pageable: a copy from or to memory that is not page-locked.
    file: `LIBRARY` for what Thrust and CUB do by themselves.
    began_us, ended_us: since the first step, on a GPU; None on the emulator, and of what nobody has waited for.
    """

    kind: str
    name: str
    file: str
    line: int
    size: int = 0
    stream: int = 0
    ticket: int = 0
    after: dict[int, int] = {}
    is_blocking: bool = False
    is_pageable: bool = False
    began_us: float | None = None
    ended_us: float | None = None

    @property
    def is_of_library(self) -> bool:
        """Whether a library does it, or is called for it: Thrust, CUB, cuBLAS or cuRAND."""
        return self.kind == "library" or self.file == LIBRARY

    def is_beside(self, other: DeviceCall) -> bool:
        """Whether nothing puts the two steps in order, so that they may run at the same time."""
        is_after = self.after.get(other.stream, 0) >= other.ticket
        return bool(self.ticket and other.ticket) and not is_after and other.after.get(self.stream, 0) < self.ticket


class CallArgument(msgspec.Struct, frozen=True):
    """An argument that a function is called with.

    raw: eight bytes that begin with a number's own; b"" for an array.
    data: an array's bytes.  is_set: whether they may be read; else they only show what is not written.
    is_output: whether its bytes are wanted afterwards.  width_bytes: of an element.
    """

    name: str
    raw: bytes = b""
    data: bytes = b""
    is_set: bool = True
    is_output: bool = False
    width_bytes: int = 1


class FunctionCall(msgspec.Struct, frozen=True):
    """A call that the harness makes; on_device: its pointers lead to the device's memory.

    is_whole: it is no call but the whole program, from its first line to its last.
    copied_bytes: sizes of copies from the device whose contents are wanted.
    is_timed: how long a GPU takes for it is wanted.
    """

    arguments: list[CallArgument]
    on_device: bool
    is_whole: bool = False
    copied_bytes: list[int] = []
    is_timed: bool = False


MAX_TOLD_BYTES = 4096
"""Bytes of standard input in which names of files are looked for."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a program is started: its arguments, its standard input and the calls of its harness.

    files: contents by name, in place of the program's own files of the same names.
    wanted: names of files whose contents are read after the run, with how many bytes of each.
    """

    arguments: Sequence[str] = ()
    stdin: bytes = b""
    calls: Sequence[FunctionCall] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """Arguments, and what may be names of files in the first lines of the input: a program is told them there."""
        input_words = self.stdin[:MAX_TOLD_BYTES].decode("utf-8", errors="replace").split()
        return [*self.arguments, *(word for word in input_words if not word.lstrip("+-").replace(".", "").isdigit())]


class CallLaunch(msgspec.Struct, frozen=True):
    """A launch that a called function made, or the grader of a bare kernel, with all that the emulator saw of it.

    status, reason, line: as of `grader.programs.device.Outcome`; "refused" where it was not run at all.
    file: that the kernel stands in, or `LIBRARY`; what is counted of a line has the file of that.
    symbol: its name in PTX.
    shared_bytes: of a block, static and dynamic.  is_of_library: Thrust or CUB made it, not the program.
    work: by line, where that was asked for.  remarks: as of `grader.ptx.records.LaunchReport`.
    """

    kernel: str
    file: str
    status: str
    reason: str = ""
    line: int = 0
    hazards: list[Hazard] = []
    remarks: list[tuple[str, int, int]] = []
    counters: Counters | None = None
    thread_instructions: int = 0
    symbol: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    is_of_library: bool = False
    work: list[LineWork] = []

    @property
    def atomics(self) -> list[LineCounter]:
        """What was counted of its atomic operations."""
        return [c for c in self.counters.by_line if c.op == "atomic"] if self.counters is not None else []


class CallTimes(msgspec.Struct, frozen=True):
    """How long a GPU took for a call.

    work_us: at least one of its launches, fills and copies within the device's memory was under way, `works` in all;
    copies_us: one of its `copies` between host and device was.
    empty_us: an empty kernel, measured in the same way.
    sm_mhz, max_sm_mhz: the clock before the call, and the highest that there is.
    """

    work_us: float
    copies_us: float
    works: int
    copies: int
    empty_us: float
    sm_mhz: float
    max_sm_mhz: float


class CallSeen(msgspec.Struct):
    """What came of a call.

    has_returned: it came back to the harness; else all below is what was seen until then.
    outputs: bytes of arrays that are wanted.  changed: arrays that it may only read, and changed.
    freed: arrays of the harness's that it gave back, with file and line.
    strayed: arrays with "before" or "after": the host wrote there.
    by_host: outputs that the host filled, after it had copied the inputs out of the device's memory.
    not_of_device: outputs in the host's memory of which most did not come from the device.
    asked: what it had the device do, where that was asked for.
    copied: by the array's name what was copied out of it last, of the sizes that are wanted.
    times: where they are wanted, and a GPU has taken them; None also of a call that does too much.
    """

    launches: list[CallLaunch] = []
    has_returned: bool = False
    outputs: dict[str, bytes] = {}
    changed: list[str] = []
    freed: list[tuple[str, str, int]] = []
    strayed: list[tuple[str, str]] = []
    by_host: list[str] = []
    not_of_device: list[str] = []
    asked: list[DeviceCall] = []
    copied: dict[str, bytes] = {}
    times: CallTimes | None = None


class Observation(msgspec.Struct):
    """A run of a program.

    exit: the program's exit code; None where it did not come to its own end.
    cause: why it did not run or not to its end.
    stdout: its first bytes, as they were printed.
    printed_after: what of `stdout` (1) and `stderr` (2) had been printed before which launch, as (descriptor, bytes so
      far, launches so far), where kernels are run.
    smaller: which number was made smaller for this run, where the program was beyond the limits ("name", "file",
      "line", "before", "after").
    calls: of the function that it was run for.
    asked: what the whole program had the device do, where that was asked for.
    files: those that were wanted and are there at the end, cut off at the length that was asked for.
    opened: what the program did first with each file that it opened, and with standard input ("/dev/stdin"): "read",
      "written", "missing" where none is there to be read.
    device: the name of the GPU that kernels ran on, "" for the emulator.
    copies: between host and device, the first `MAX_COPIES` in their order.
    checked: of a run on a GPU, how many launches the emulator has run after it, see `grader.programs.card_times`;
      check_ended: why not all of them, or why it did not come to the program's end.
    times: that it took, of a run that marks them.
    falsified: kernels whose results the host got falsified, see `RunLimits`.
    largest: absolute value of the floating-point numbers of kernels' results that were copied to the host.
    """

    exit: int | None
    launches: list[SeenLaunch]
    findings: list[ProgramFinding]
    cause: Message | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    printed_after: list[tuple[int, int, int]] = []
    smaller: dict[str, str | int] = {}
    calls: list[CallSeen] = []
    asked: list[DeviceCall] = []
    files: dict[str, bytes] = {}
    opened: dict[str, str] = {}
    device: str = ""
    copies: list[SeenCopy] = []
    times: Times | None = None
    falsified: list[str] = []
    largest: float = 0.0
    checked: int | None = None
    check_ended: Message | None = None


# What streams do as a picture: a row a stream, steps from left to right, by a GPU's clock or by their order alone.

CELLS = 64
"""The most cells of a row."""
MOST_CELLS_OF_STEP = 4
"""Where only the order is known."""
DEFAULT_STREAM = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a stream, from `begin` to `end`: microseconds, or places in the order."""

    call: DeviceCall
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps in the order in which they were asked for; is_timed: begin and end are times of a GPU.

    Of an order: each step is as far to the left as what it comes after lets it, so that those above one another may
    run at the same time.
    """

    steps: tuple[Step, ...]
    is_timed: bool

    @property
    def streams(self) -> list[int]:
        """Numbers of streams, the default one first."""
        return sorted({step.call.stream for step in self.steps})

    @property
    def length(self) -> float:
        """From the first step to the last."""
        return max(step.end for step in self.steps) - min(step.begin for step in self.steps)

    def took(self, *kinds: str) -> float:
        """Return how long steps of some kinds were under way, those at the same time counted once."""
        return covered((step.begin, step.end) for step in self.steps if step.call.kind in kinds)

    def rows(self) -> dict[int, list[str]]:
        """The kinds of each stream's steps, cell by cell, "" where it does nothing.

        Of an order it is the first `CELLS` places at most: steps in one column may run at the same time.
        """
        origin, length = min(step.begin for step in self.steps), self.length
        scale = CELLS / length if length else 0.0
        if not self.is_timed:
            scale = min(max(1, int(scale)), MOST_CELLS_OF_STEP)
        cells = CELLS if self.is_timed else min(CELLS, int(length * scale))
        rows = {number: [""] * cells for number in self.streams}
        # A short step is seen beside a long one.
        for step in sorted(self.steps, key=lambda step: step.begin - step.end):
            first = int((step.begin - origin) * scale)
            first = min(first, cells - 1) if self.is_timed else first
            count = max(1, round((step.end - step.begin) * scale))
            # One after another can be told apart where there is room.
            count -= not self.is_timed and scale >= 3
            for cell in range(first, min(first + count, cells)):
                rows[step.call.stream][cell] = step.call.kind
        return rows


def timeline(asked: Sequence[DeviceCall]) -> Timeline | None:
    """Return the steps of streams, of a GPU those that were timed; None where there are none."""
    calls = [call for call in asked if call.ticket]
    timed = [
        Step(call, call.began_us, call.ended_us)
        for call in calls
        if call.began_us is not None and call.ended_us is not None
    ]
    steps = timed or _ordered(calls)
    return Timeline(tuple(steps), is_timed=bool(timed)) if steps else None


def _ordered(calls: Sequence[DeviceCall]) -> list[Step]:
    tickets: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    """By stream, of its steps so far."""
    steps = []
    for call in calls:
        begin = 0
        for number, ticket in call.after.items():
            # What a stream has come to counts the step itself.
            before = bisect_left(tickets.get(number, []), ticket + (number != call.stream))
            begin = max(begin, ends[number][before - 1] if before else 0)
        tickets.setdefault(call.stream, []).append(call.ticket)
        ends.setdefault(call.stream, []).append(begin + 1)
        steps.append(Step(call, begin, begin + 1))
    return steps


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of some spans lasts, each from its begin to its end.

    >>> covered([(0.0, 2.0), (5.0, 6.0), (1.0, 3.0)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
