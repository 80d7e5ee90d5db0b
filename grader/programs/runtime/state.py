"""What the runtime knows of a running program: device, streams, errors, launches, findings."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from grader.compiler.result import STAND_IN
from grader.message import Message, msg
from grader.programs.device import Device, LateEnd
from grader.programs.device_memory import Allocation
from grader.programs.moved import ProgramText
from grader.programs.records import LIBRARY, MAX_STEPS, DeviceCall, ProgramFinding, RunLimits, Times
from grader.programs.runtime import ordering
from grader.programs.runtime.devices import STICKY, Model, name_of
from grader.programs.runtime.devices import CudaError as CudaError
from grader.programs.sandbox.guest import Guest, Meter
from grader.programs.sandbox.process import Code, Wanted
from grader.submission.kernels.records import SeenCopy, SeenLaunch

MAX_FINDINGS = 200
MAX_ASKED = 20_000
"""Calls that are kept, where they are."""
MAX_TOUCHED_BYTES = 200 << 30
MAX_WATCHED = 64
MAX_WATCHED_BYTES = 16 << 20
"""Copies that are under way, and of each: beyond these nobody looks whether the host changes what is copied."""
CALL_NS = 2_000
NOT_READY = 600


Handler = tuple[str, Callable[..., int | None]]
"""Kinds of a call's parameters ("i" whole numbers and addresses, "f" floats), and what serves it.

That takes the state, the place of the call and the parameters, and returns CUDA's error, None for success.
"""
Handlers = dict[str, Handler]


class ProgramEnded(Exception):
    """The program cannot go on: `cause` says why.  `code`: its exit code where it exited by itself."""

    def __init__(self, cause: Message | None, code: int | None = None) -> None:
        self.cause = cause
        self.code = code
        super().__init__()


@dataclass
class Kernel:
    """A registered kernel: the mangled name, and its name as it is written in C++."""

    unit: int
    symbol: str
    display: str
    types: tuple[str, ...]
    max_dynamic_bytes: int = 0


@dataclass
class Failure:
    """A call that failed: noticed when its value is looked at, or the error is asked for later."""

    call: str
    code: int
    place: ordering.Place
    noticed: bool
    finding: ProgramFinding | None = None
    launch: SeenLaunch | None = None


class State:
    """Everything that handlers share.

    compile_unit: gives device code.
    print_text: what device code prints.
    device: makes what the program's kernels run on.
    """

    def __init__(
        self,
        model: Model,
        text: ProgramText,
        compile_unit: Callable[[Wanted], Code],
        print_text: Callable[[bytes], None],
        limits: RunLimits,
        device: Callable[[Meter], Device],
    ) -> None:
        self.guest: Guest
        """The program's module, from when there is one."""
        self.model = model
        self.sources = text.sources
        self.unit_names = [*text.unit_names]
        self.parameter_names = text.parameter_names
        self.unused_results = text.unused_results
        self.speaks = text.speaks
        self.compile_unit = compile_unit
        self.print_text = print_text
        self.limits = limits
        self.meter = Meter()
        self.gpu = device(self.meter)
        self.loads_first = limits.executes and not limits.looks
        """Whether device code is still to be loaded before the first call is served."""
        self.memory = self.gpu.memory
        self.call_guest: Callable[..., Any] = lambda *_arguments: 0
        self.is_linked = False
        """Device code of all files is one module, in which each may use what another defines."""
        self.host_fuel: Callable[[], int] = lambda: 0
        self.streams: dict[int, ordering.Stream] = {0: ordering.Stream(ordering.DEFAULT_STREAM)}
        self.events: dict[int, ordering.Event] = {}
        self.graphs = ordering.Graphs()
        self.objects_made: list[tuple[bytes, bytes]] = []  # Textures' and surfaces' descriptions, from handle 1 on.
        self.next_handle = 1
        self.host_clock: dict[int, int] = {}
        self.now_ns = 1_700_000_000_000_000_000
        self.fuel_seen = 0
        self.last_error = 0
        self.sticky = 0
        self.fault: tuple[int, SeenLaunch, ordering.Place] | None = None
        self.failures: list[Failure] = []
        self.unread: list[Failure] = []
        self.launches: list[SeenLaunch] = []
        self.launch_count = 0
        self.findings: list[ProgramFinding] = []
        self._told: set[tuple[Any, ...]] = set()
        self.kernels: dict[int, Kernel] = {}
        self.units: dict[int, int] = {}
        self.wanted: dict[int, dict[str, None]] = {}
        self.lacking: dict[int, ProgramEnded] = {}
        """Why a unit's kernels are in no device code, by unit."""
        self.symbols: dict[int, tuple[int, str, int]] = {}
        self._checked = 0
        self.arrays: dict[int, Any] = {}
        self.pending: list[ordering.Pending] = []
        self.texts_held: list[ordering.Text] = []
        """What device code has printed and the host has not waited for."""
        self.underway: list[ordering.Underway] = []
        self.unwaited: list[Any] = []
        self.watches = False
        """Whether it is seen when the host touches what the device still writes, `unwaited`."""
        self.raised: list[ordering.Raised] = []
        self.launches_at_clock = -1
        self.empty_times: dict[ordering.Place, Message] = {}
        """By where the event that ends it is recorded, what is said of a time between events with nothing between."""
        self.idle_times: dict[ordering.Place, tuple[int, Message]] = {}
        """The same of times behind which nothing was launched yet, with how many launches there were before."""
        self.timed_from: set[ordering.Place] = set()
        """Where events are recorded that other times begin at: what an empty time takes may be taken off these."""
        self.touched_bytes = self.resident_bytes = 0
        self.times = Times()
        self.allocated_bytes = 0
        self.instructions_left, self.steps_left = limits.kernel_instructions, limits.kernel_steps
        self.hollow = not limits.executes
        self.hashed_bytes = 0
        self.flow: list[tuple[SeenLaunch | None, tuple[Allocation, ...], tuple[Allocation, ...]]] = []
        """Launches and copies: which, what it reads, what it writes (nothing where who reads is known)."""
        self.results: dict[int, Any] = {}
        """What launches left in each allocation until somebody read it: see `runtime.silent.unread`."""
        self.counted: set[tuple[ordering.Place, str]] = set()
        """Where an array is made, and the kernel that is handed it: whose size was looked at."""
        self.copied: dict[tuple[int, bool, int], Any] = {}
        """What was copied into each array (True), or out of it after so many launches: see `runtime.silent.sizes`."""
        self.copies: list[SeenCopy] = []
        self.falsified: list[str] = []
        self.largest, self.device = 0.0, 0
        self.host_memory: dict[int, Allocation] = {}
        self.texts: dict[tuple[str, int], int] = {}
        self.libraries: dict[int, dict[str, Any]] = {}
        self.seen_launches: dict[tuple[Any, ...], int] = {}
        self.places: dict[tuple[int, int], ordering.Place] = {}
        """Places of calls, by their line and the address of their file's name."""
        self.plans: dict[tuple[Any, ...], Any] = {}
        """Launches that can be made again: see `runtime.launch_plans`."""
        self.allowed: set[tuple[Any, ...]] = set()
        """Launches, by all that decides it, that the device does not refuse."""
        self.managed: list[tuple[int, str, int, int]] = []
        self.variables: dict[tuple[int, str], Allocation | None] = {}
        self.device_flags = 0
        self.called_before = self.called_at = ordering.NOWHERE
        self.device_limits: dict[int, int] = {}
        """Limits that the program has set, by `cudaLimit`."""
        self.pools: dict[int, Any] = {}
        """Pools of memory by handle, the device's own first; `current_pool`: the handle of what memory comes from."""
        self.current_pool = 0
        self.keeps_pointers = False
        """Whether the program has been seen to keep pointers to memory of both sides: see `arguments`."""
        self.asked: list[DeviceCall] = []
        """What the host has asked of the device, where the run is to tell; `calling`: the function that it calls."""
        self.calling = ""
        self._late: LateEnd | None = None
        self.calls: Any = None
        """What its harness calls, and what came of that: `runtime.calls.Calls`."""

    def own_file(self, path: str) -> str:
        """Return what the program calls a file that a compiler names; `LIBRARY` where it is none of the program's.

        `STAND_IN` is whichever file was compiled: `outcomes.place_in` knows that.
        """
        name = posixpath.normpath(path.removeprefix("/"))
        return name if self.sources.has(name) or name == STAND_IN else LIBRARY

    # -- what is told ------------------------------------------------------------------------

    def tell(
        self, kind: str, severity: str, message: Message, place: ordering.Place = ordering.NOWHERE
    ) -> ProgramFinding:
        """Keep a finding, once for a place."""
        finding = ProgramFinding(kind, severity, message, place.line, place.file)
        key = (kind, place.line, place.file, message.id, str(sorted(message.data.items(), key=str))[:300])
        if key not in self._told and len(self.findings) < MAX_FINDINGS and place.file != LIBRARY:
            self._told.add(key)
            self.findings.append(finding)
        return finding

    def ask(
        self,
        kind: str,
        place: ordering.Place,
        queued: tuple[ordering.Stream, int] | None = None,
        name: str = "",
        size: int = 0,
        *,
        is_blocking: bool = False,
        is_pageable: bool = False,
    ) -> None:
        """Keep what the host asks of the device; queued: in a stream, with its ticket there; more: of `DeviceCall`."""
        self.gpu.step = None
        limits = self.limits
        is_step = limits.keeps_steps and queued is not None
        if len(self.asked) >= (MAX_ASKED if limits.counts_work else MAX_STEPS if is_step else 0):
            return
        stream, ticket = queued or (None, 0)
        after = dict(stream.clock) if stream is not None else {}
        number = stream.number if stream is not None else 0
        self.meter.walk(len(after))
        call = DeviceCall(
            *(kind, name or self.calling, place.file, place.line, size, number, ticket, after, is_blocking, is_pageable)
        )
        self.asked.append(call)
        if is_step:
            self.gpu.step = call

    def undone(self) -> contextlib.AbstractContextManager[None]:
        """Large arrays are what they were before, in a run that undoes what is computed on the device."""
        return self._undone() if self.limits.undoes_bytes else contextlib.nullcontext()

    @contextmanager
    def _undone(self) -> Iterator[None]:
        kept = self.memory.contents(self.limits.undoes_bytes)
        yield
        for array, data in kept:
            array.data[:] = data
            array.digest = None

    def fail(self, call: str, code: int, place: ordering.Place, finding: ProgramFinding | None = None) -> Failure:
        """Record that a call failed, and set the error that the program can ask for."""
        self.plans.clear()
        if self.limits.forgives and (finding is not None or call == "launch"):
            return Failure(call, code, place, noticed=True, finding=finding)
        self.last_error = code
        if code in STICKY:
            self.sticky = code
        looked_at = (place.file, place.line) not in self.unused_results and call != "launch"
        failure = Failure(call, code, place, looked_at, finding)
        if len(self.failures) < MAX_FINDINGS:
            self.failures.append(failure)
            if not looked_at:
                self.unread.append(failure)
        return failure

    def arrive(self) -> None:
        """Let a kernel's fault reach the host: the context is lost."""
        if self.fault is not None:
            code, record, place = self.fault
            self.fault = None
            if self.texts_held:
                self._print_held(self.texts_held)
            self.fail("launch", code, place).launch = record

    def checked(self) -> None:
        """Mark the launches so far as checked for errors."""
        for launch in self.launches[self._checked :]:
            launch.checked = True
        self._checked = len(self.launches)

    def noticed(self) -> None:
        """Mark failures so far as noticed by the program."""
        for failure in self.unread:
            failure.noticed = True
        self.unread.clear()

    def came_late(self, end: LateEnd) -> None:
        """Handle the bad end of a queued launch: the context is lost.  Raises ProgramEnded where it hangs."""
        if self._late is end:
            return
        self._late = end
        try:
            end.on_end(end.outcome)
        finally:
            if printed := self.gpu.printed():
                self.print_text(printed)
        self.arrive()

    def _wait_at_end(self) -> None:
        """What has been queued and nobody has waited for may come to a bad end yet."""
        try:
            self.gpu.wait([stream.number for stream in self.streams.values()])
        except LateEnd as end:
            with contextlib.suppress(ProgramEnded):
                self.came_late(end)

    def finish(self, code: int | None, crashed: bool = False) -> None:
        """Report what is known only once the program has ended.

        code: its exit code; None for a program that crashed, or that was stopped: of one that was stopped nobody knows
        what it would have looked at, or freed.
        """
        held, self.texts_held = self.texts_held, []
        for text in held:
            # A process that ends takes along what its device has printed and nobody has waited for.
            if code is None:
                self.print_text(text.text)
            else:
                self.tell("text_lost", "warning", msg("programs.text_lost", kernel=text.kernel), text.place)
        if code is not None and not self.sticky:
            self._wait_at_end()
        self.arrive()
        if not self.timed_from:
            # Where no event ends a time of something, no empty one is there to be taken off.
            later = {place: said for place, (before, said) in self.idle_times.items() if self.launch_count > before}
            self.empty_times = {**later, **self.empty_times}
        for place, message in self.empty_times.items() if code is not None or crashed else ():
            if place not in self.timed_from:
                self.tell("event_of_nothing", "warning", message, place)
        for failure in self.failures if code is not None or crashed else ():
            data = {"call": failure.call, "error": name_of(failure.code)}
            if failure.launch is not None:
                if not failure.noticed:
                    message = msg(
                        "programs.launch_unnoticed", kernel=failure.launch.display, error=name_of(failure.code)
                    )
                    self.tell("unnoticed_error", "error", message, failure.place)
            elif failure.noticed and failure.finding is not None:
                continue
            elif failure.noticed:
                self.tell("api_error", "warning", msg("programs.call_failed", **data), failure.place)
            else:
                self.tell("unnoticed_error", "error", msg("programs.call_failed_unnoticed", **data), failure.place)
        # A program that sees wrong results may give up early; without its kernels having run they are wrong.  One that
        # gives up because a call failed leaves to the system what it holds.
        is_own_way = code == 0 or (code is not None and not self.hollow and not self.failures)
        for allocation in self.memory.live.values():
            if is_own_way and allocation.kind in ("device", "managed", "pinned"):
                message = msg("programs.leak", array=allocation.name, bytes=allocation.size)
                self.tell("leak", "remark", message, ordering.Place(allocation.line, allocation.file))

    # -- time and order ----------------------------------------------------------------------

    def tick(self) -> None:
        """Let the modelled time of the host pass: what it computed since, and a call's own."""
        fuel = self.host_fuel()
        self.now_ns = self.gpu.now_ns(self.now_ns + max(0, fuel - self.fuel_seen) // 2 + CALL_NS)
        self.fuel_seen = fuel

    def stream(self, handle: int) -> ordering.Stream:
        """Return the stream of a handle; 1 and 2 name the default one.  Raises CudaError 400."""
        stream = self.streams.get(0 if handle in (0, 1, 2) else handle)
        if stream is None:
            raise CudaError(400)
        return stream

    def begin(self, stream: ordering.Stream) -> int:
        """Something is queued in a stream: what comes before it is known now.  Its number in the stream."""
        ordering.join(stream.clock, self.host_clock)
        default = self.streams[0]
        if len(self.streams) == 1:
            stream.clock[stream.number] = stream.clock.get(stream.number, 0) + 1
            stream.ready_ns = max(self.now_ns, stream.ready_ns)
            return stream.clock[stream.number]
        self.meter.walk(len(self.streams))
        if stream is default:
            self.meter.walk(sum(len(other.clock) for other in self.streams.values()))
            for other in self.streams.values():
                if other.blocking:
                    ordering.join(stream.clock, other.clock)
        elif stream.blocking:
            ordering.join(stream.clock, default.clock)
        stream.clock[stream.number] = stream.clock.get(stream.number, 0) + 1
        others = [s for s in self.streams.values() if s.blocking] if stream is default else [stream]
        if stream.blocking:
            others = [*others, default]
        stream.ready_ns = max([self.now_ns, stream.ready_ns, *(other.ready_ns for other in others)])
        return stream.clock[stream.number]

    def wait(self, clock: Mapping[int, int], until_ns: int, has_waited: bool = False) -> None:
        """Let the host wait for steps of streams, or note that it has waited."""
        self.meter.walk(len(clock) + len(self.pending))
        if not has_waited:
            self.gpu.wait([number for number, ticket in clock.items() if ticket > self.host_clock.get(number, 0)])
        if printed := self.gpu.printed():
            self.call_guest("fflush", 0)
            self.print_text(printed)
        ordering.join(self.host_clock, clock)
        self.now_ns = self.gpu.now_ns(max(self.now_ns, until_ns))
        self.pending = [item for item in self.pending if self.host_clock.get(item.stream, 0) < item.ticket]
        self.waited_for(self.host_clock)
        ended = [item for item in self.underway if self.host_clock.get(item.stream, 0) >= item.ticket]
        self.underway = [item for item in self.underway if item not in ended]
        for item in ended:
            if crc32(self.guest.view(item.address, item.size).data) != item.digest:
                message = msg("programs.host_changed", array=item.allocation.name)
                self.tell("host_changed", "error", message, item.place)

    def waited_for(self, clock: Mapping[int, int]) -> None:
        """Hand shared memory that was written by then to the host, and print what kernels have printed."""
        if any(clock.get(item.stream, 0) >= item.ticket for item in self.texts_held):
            self._print_held([item for item in self.texts_held if clock.get(item.stream, 0) >= item.ticket])
        if any(clock.get(item.stream, 0) >= item.ticket for item in self.unwaited):
            self.unwaited = [item for item in self.unwaited if clock.get(item.stream, 0) < item.ticket]

    def _print_held(self, items: Sequence[ordering.Text]) -> None:
        """Both sides print into one buffer: what the host has printed before comes first."""
        self.texts_held = [item for item in self.texts_held if item not in items]
        self.call_guest("fflush", 0)
        for item in items:
            self.print_text(item.text)

    def forget(self, allocation: Allocation) -> None:
        """Memory is nobody's, or the host's alone, from now on."""
        self.unwaited = [item for item in self.unwaited if item.allocation is not allocation]

    def leave(
        self,
        allocation: Allocation,
        address: int,
        size: int,
        stream: ordering.Stream,
        ticket: int,
        place: ordering.Place,
    ) -> None:
        """Note a queued copy out of page-locked memory, which the host must not change before it has waited."""
        if self.limits.looks and size <= MAX_WATCHED_BYTES and len(self.underway) < MAX_WATCHED:
            digest = crc32(self.guest.view(address, size).data)
            self.underway.append(ordering.Underway(allocation, address, size, digest, stream.number, ticket, place))

    def written(self, allocation: Allocation | None) -> None:
        """Note that the device writes into memory of the host's: changes there are not the host's doing."""
        self.underway = [item for item in self.underway if item.allocation is not allocation]

    def wait_for_all(self) -> None:
        for stream in self.streams.values():
            self.wait(stream.clock, stream.ready_ns)

    def touch(self, count: int) -> None:
        """Count bytes that the program has copied or filled.  Raises ProgramEnded beyond `MAX_TOUCHED_BYTES`."""
        self.touched_bytes += count
        if self.touched_bytes > MAX_TOUCHED_BYTES:
            raise ProgramEnded(msg("programs.too_much_copied"))

    def refresh_host_memory(self) -> None:
        """Tell the device where shared memory lies now."""
        if not self.memory.finds_host_memory:
            for allocation in self.host_memory.values():
                self.memory.refresh(allocation, self.guest.lent(allocation.host, allocation.size))

    def has_room(self, allocation: Allocation, end: int, place: ordering.Place) -> bool:
        """Whether the emulated device can hold an array as far as `end`; tells where it cannot, or ends the program.

        Memory that nobody touches takes no room here, so that a program may allocate as much as its device has.
        """
        grown = max(0, end - allocation.resident_bytes)
        if allocation.host or self.resident_bytes + grown <= self.limits.device_bytes:
            if not allocation.host:
                allocation.resident_bytes += grown
                self.resident_bytes += grown
            return True
        self.hollow = True
        if self.limits.executes and not self.limits.passes_over:
            ends = msg("programs.device_memory", array=allocation.name, limit=self.limits.device_bytes >> 20)
            self.tell("too_large", "error", ends, place)
            raise ProgramEnded(ends)
        self.tell("too_large", "warning", msg("programs.too_much_memory", array=allocation.name), place)
        return False

    def handle(self) -> int:
        """Return a new handle, which is no address of the program's nor of the device's."""
        self.next_handle += 1
        return self.next_handle * 16 + (1 << 34)

    def access(self, allocation: Allocation, stream: ordering.Stream, access: ordering.StreamAccess) -> None:
        """Look for an access of another stream's that nothing puts in order with this one, of `stream`."""
        if len(self.streams) == 1 and not allocation.accesses:
            return
        for other in ordering.unordered(allocation, stream.clock, access):
            self.tell("stream_race", "error", *ordering.of_race(allocation.name, access, other))
