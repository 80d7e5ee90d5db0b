"""Streams and events: what is in order with what, and how long it took on the modelled device."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from grader.message import msg
from grader.programs.moved import end_of_block
from grader.programs.records import MAX_TIMES, ClockRead, TimedSpan
from grader.programs.runtime.memory import nothing
from grader.programs.runtime.ordering import Event, Pending, Place, Stream, join, marked_ns
from grader.programs.runtime.state import NOT_READY, CudaError, Handlers, Kernel, State

MAX_HANDLES = 10_000
HIGHEST_PRIORITY = -5
POLL_NS = 1_000_000
LEAST_TIMED_NS = 5000
"""Host time between two events with nothing between them: less than any work takes."""
_ELAPSED = re.compile(r"\bcudaEventElapsedTime\s*\(\s*&?\s*(\w+)")
_OF_ALL = re.compile(r"total|overall|cumul|whole|all|sum", re.IGNORECASE)
ACCESS_POLICY, SYNCHRONIZATION, PRIORITY, DOMAIN_MAP, DOMAIN = 1, 3, 8, 9, 10
ATTRIBUTES = {ACCESS_POLICY: 32, SYNCHRONIZATION: 4, PRIORITY: 4, DOMAIN_MAP: 2, DOMAIN: 4}
"""Attributes of streams by `cudaLaunchAttributeID`: sizes of their values in bytes."""


LAUNCH_NS = 5_000
"""What a launch takes beside its threads' time."""
MARKED_NS = {"long": (20_000_000, 4_000_000), "short": (100_000, 20_000)}
"""What a launch, and any other step, takes at least in a run that marks times: with long ones times show many digits,
with short ones rates do."""


def takes(state: State, stream: Stream, usual_ns: int, kernel: Kernel | None = None) -> None:
    """Let a step of a stream take its time: one of its own in a run that marks times."""
    if marks := state.limits.marks_times:
        # Means of several launches are told from another kernel's, too.
        of_kernel = next((at for at, one in enumerate(state.kernels.values(), 1) if one is kernel), 0)
        least_ns = MARKED_NS[marks][kernel is None]
        usual_ns = marked_ns(least_ns, of_kernel, state.launch_count + (len(state.copies) << 32))
    stream.ready_ns += usual_ns


def stream_create(state: State, place: Place, stream: int, flags: int = 0, priority: int = 0) -> None:
    if len(state.streams) + len(state.events) > MAX_HANDLES:
        raise CudaError(2)
    if flags not in (0, 1):
        raise CudaError(1)
    handle = state.handle()
    state.guest.pack("Q", stream, handle)
    state.streams[handle] = Stream(handle, blocking=flags == 0, priority=min(0, max(priority, HIGHEST_PRIORITY)))


def _attribute_bytes(which: int) -> int:
    """How large an attribute's value is that a stream has.  Raises CudaError 1."""
    if which not in ATTRIBUTES:
        raise CudaError(1)
    return ATTRIBUTES[which]


def set_stream_attribute(state: State, place: Place, stream: int, which: int, value: int) -> None:
    """Keep an attribute, which changes times on a device and nothing else."""
    queue, raw = state.stream(stream), state.guest.read(value, _attribute_bytes(which))
    if which == PRIORITY:
        (queue.priority,) = struct.unpack("<i", raw)
    if which == ACCESS_POLICY:
        (size,) = struct.unpack("<Q", raw[8:16])
        if size > state.model.attributes["MaxAccessPolicyWindowSize"]:
            raise CudaError(1)
    queue.attributes[which] = raw


def get_stream_attribute(state: State, place: Place, stream: int, which: int, value: int) -> None:
    queue, size = state.stream(stream), _attribute_bytes(which)
    raw = struct.pack("<i", queue.priority) if which == PRIORITY else queue.attributes.get(which, bytes(size))
    state.guest.write(value, raw)


def copy_attributes(state: State, place: Place, to: int, source: int) -> None:
    state.stream(to).attributes = dict(state.stream(source).attributes)


def stream_priority(state: State, place: Place, stream: int, priority: int) -> None:
    state.guest.pack("i", priority, state.stream(stream).priority)


def stream_flags(state: State, place: Place, stream: int, flags: int) -> None:
    state.guest.pack("I", flags, int(not state.stream(stream).blocking))


def stream_id(state: State, place: Place, stream: int, number: int) -> None:
    state.guest.pack("Q", number, state.stream(stream).number)


def stream_device(state: State, place: Place, stream: int, device: int) -> None:
    state.stream(stream)
    state.guest.pack("i", device, 0)


def stream_destroy(state: State, place: Place, stream: int) -> None:
    if stream in (0, 1, 2) or stream not in state.streams:
        raise CudaError(400)
    gone = state.streams.pop(stream)
    # What was queued in it still runs, and nothing waits for it but the whole device.
    join(state.streams[0].clock, gone.clock)


def stream_synchronize(state: State, place: Place, stream: int) -> None:
    queue = state.stream(stream)
    state.ask("wait", place)
    if queue is state.streams[0]:
        for other in state.streams.values():
            if other.blocking:
                state.wait(other.clock, other.ready_ns)
    state.wait(queue.clock, queue.ready_ns)
    state.unwaited = [replace(item, waited=place) for item in state.unwaited]
    _after_fault(state)


def _after_fault(state: State) -> None:
    if state.sticky:
        raise CudaError(state.sticky)


def _not_ready(state: State, until_ns: int) -> int:
    """Let time pass for a host that asks again and again, where steps take longer than they need to."""
    if state.limits.marks_times:
        state.now_ns = max(state.now_ns, min(until_ns, state.now_ns + POLL_NS))
    return NOT_READY


def stream_query(state: State, place: Place, stream: int) -> int:
    queue = state.stream(stream)
    if not state.gpu.has_done(queue, state.now_ns):
        return _not_ready(state, queue.ready_ns)
    state.wait(queue.clock, queue.ready_ns)
    return 0


def stream_wait_event(state: State, place: Place, stream: int, event: int, flags: int) -> None:
    queue, mark = state.stream(stream), _event(state, event)
    join(queue.clock, mark.clock)
    queue.ready_ns = max(queue.ready_ns, mark.ready_ns)
    state.gpu.order(queue, mark)


def _wait_in_order(state: State, stream: int) -> None:
    """Wait for all that comes before a function of the host's, which may tell the program that it has ended."""
    queue = state.stream(stream)
    state.begin(queue)
    state.gpu.wait([queue.number])
    state.waited_for(queue.clock)


def stream_add_callback(state: State, place: Place, stream: int, function: int, data: int, flags: int) -> None:
    _wait_in_order(state, stream)
    state.call_guest("grader_call_stream", function, stream, 0, data)


def launch_host_function(state: State, place: Place, stream: int, function: int, data: int) -> None:
    _wait_in_order(state, stream)
    state.call_guest("grader_call", function, data)


def device_synchronize(state: State, place: Place) -> None:
    state.ask("wait", place)
    state.wait_for_all()
    _after_fault(state)


def _event(state: State, handle: int) -> Event:
    event = state.events.get(handle)
    if event is None:
        raise CudaError(400)
    return event


def event_create(state: State, place: Place, event: int, flags: int = 0) -> None:
    if len(state.streams) + len(state.events) > MAX_HANDLES:
        raise CudaError(2)
    handle = state.handle()
    state.guest.pack("Q", event, handle)
    state.events[handle] = Event(timing=not flags & 2)


def event_record(state: State, place: Place, event: int, stream: int) -> None:
    mark, queue = _event(state, event), state.stream(stream)
    state.begin(queue)
    mark.recorded, mark.clock = True, dict(queue.clock)
    mark.ready_ns = max(state.now_ns, queue.ready_ns) + 500
    queue.ready_ns = mark.ready_ns
    mark.launches, mark.place, mark.at_ns, mark.timed = state.launch_count, place, state.now_ns, (None, 0)
    mark.copies = len(state.copies)
    state.gpu.record(mark, queue)


def event_synchronize(state: State, place: Place, event: int) -> None:
    mark = _event(state, event)
    state.ask("wait", place)
    state.gpu.wait_for_event(mark)
    state.wait(mark.clock, mark.ready_ns, has_waited=True)
    _after_fault(state)


def event_query(state: State, place: Place, event: int) -> int:
    mark = _event(state, event)
    if mark.recorded and not state.gpu.has_done(mark, state.now_ns):
        return _not_ready(state, mark.ready_ns)
    state.wait(mark.clock, mark.ready_ns, has_waited=True)
    return 0


def event_elapsed(state: State, place: Place, milliseconds: int, start: int, stop: int) -> None:
    first, last = _event(state, start), _event(state, stop)
    if not (first.recorded and last.recorded):
        message = msg("programs.event_not_recorded")
        raise CudaError(400, state.tell("event_not_recorded", "error", message, place))
    if not (first.timing and last.timing):
        raise CudaError(400)
    if any(state.host_clock.get(number, 0) < ticket for number, ticket in last.clock.items() if number):
        message = msg("programs.event_not_reached")
        raise CudaError(NOT_READY, state.tell("event_not_reached", "error", message, place))
    elapsed_ms = state.gpu.elapsed_ms(first, last)
    state.guest.pack("f", milliseconds, elapsed_ms)
    if state.limits.marks_times and len(state.times.spans) < MAX_TIMES:
        within = (first.launches, last.launches), (first.copies, last.copies)
        # A line that records both is a function's that does so for others.
        is_own = first.place.file == place.file and first.place != last.place
        begin_line = first.place.line if is_own else 0
        state.times.spans.append(TimedSpan(elapsed_ms * 1e6, *within, place.file, place.line, begin_line))
    # Either of two streams may be through first.
    if elapsed_ms < 0 and last.at_ns < first.at_ns:
        state.tell("event_order", "warning", msg("programs.event_order"), place)
    # A time of the host's own work may be taken by events, too.
    if not _follows_at_once(first, last):
        state.timed_from.add(first.place)
    elif 0 <= last.at_ns - first.at_ns < LEAST_TIMED_NS:
        said = msg("programs.event_of_nothing", line=first.place.line)
        if state.launch_count > last.launches:
            state.empty_times[last.place] = said
        elif first.launches == last.launches:
            # No launch that failed lies between, either.
            state.idle_times[last.place] = last.launches, said
    _tell_renewed(state, first, last)
    between = state.launches[first.launches : last.launches]
    if between and all(launch.status in ("failed", "faulted") for launch in between):
        names = ", ".join(dict.fromkeys(launch.display for launch in between))
        state.tell("time_of_failed_launch", "error", msg("programs.time_of_failed_launch", kernels=names), place)


def _tell_renewed(state: State, first: Event, last: Event) -> None:
    """Tell of a time that contains an earlier one, which the same two events took: the first was not recorded again
    before the launch of another kernel, though the results of the one before were copied back by then."""
    (ended_by, timed), first.timed = first.timed, (last, last.launches)
    if ended_by is not last or not first.launches < timed < last.launches:
        return
    before = dict.fromkeys(launch.display for launch in state.launches[first.launches : timed])
    after = dict.fromkeys(launch.display for launch in state.launches[timed : last.launches])
    if before.keys() & after.keys() or not any(c.way == "out" and c.launches == timed for c in state.copies):
        return
    if _are_of_all(state.sources.texts.get(first.place.file, "")):
        return
    for kernel in after:
        message = msg("programs.event_not_renewed", kernel=kernel, before=", ".join(before))
        state.tell("event_not_renewed", "warning", message, first.place)


def _are_of_all(text: str) -> bool:
    """Whether a program takes times together on purpose: it subtracts one, or calls one the time of all."""
    times = _ELAPSED.findall(text)
    named = "|".join([*map(re.escape, times), r"\w*(?:elapsed|total|_ms|Ms)\w*"])
    return any(map(_OF_ALL.search, times)) or re.search(rf"-=?\s*(?:{named})\b", text) is not None


def _follows_at_once(first: Event, last: Event) -> bool:
    """Whether nothing was queued between two events of one stream: its count has gone on by the second alone."""
    gone_on = [number for number, ticket in last.clock.items() if ticket != first.clock.get(number)]
    return len(gone_on) == 1 and last.clock[gone_on[0]] - 1 == first.clock.get(gone_on[0])


def event_destroy(state: State, place: Place, event: int) -> None:
    _event(state, event)
    del state.events[event]


def clock_read(state: State) -> int:
    """Return the host's clock in nanoseconds; report a kernel that may still be running."""
    state.tick()
    if state.pending and state.launches_at_clock >= 0:
        late = [item for item in state.pending if item.number > state.launches_at_clock]
        if late:
            _tell_read_early(state, late[-1])
    between = state.launches[max(0, state.launches_at_clock) : state.launch_count]
    if state.launches_at_clock >= 0 and between and all(x.status in ("failed", "faulted") for x in between):
        names = ", ".join(dict.fromkeys(launch.display for launch in between))
        place = Place(between[-1].line, between[-1].file)
        state.tell("time_of_failed_launch", "error", msg("programs.clock_of_failed_launch", kernels=names), place)
    state.launches_at_clock = state.launch_count
    if state.limits.marks_times and len(state.times.reads) < MAX_TIMES:
        pending = len({item.number for item in state.pending})
        state.times.reads.append(ClockRead(state.now_ns, state.launch_count, len(state.copies), pending))
    return state.now_ns


_CLOCK = r"\b(?:now|clock|clock_gettime|gettimeofday|omp_get_wtime|timespec_get)\s*\("
_FUNCTION = re.compile(r"\b(\w+)\s*\([^(){};]{0,200}\)\s*(?:const\s*)?\{")
_ENDS = re.compile(r"^\}|<<<|\belse\b|\bcase\b|\bdefault\s*:")
_ASKS = re.compile(r"\bcuda[A-Z]\w*\s*\(")
_WAITS = re.compile(r"\b(cuda(?:Device|Stream|Event|Thread)Synchronize)\s*\(")
MOST_ROWS = 12
"""Lines behind a launch or a call, in which the clock is looked for."""


@lru_cache(maxsize=100)
def _clocks(text: str) -> re.Pattern[str]:
    """What reads a clock in a file: functions of libraries, and its own ones that call these."""
    read = re.compile(_CLOCK)
    bodies = ((match[1], text[match.end() : end_of_block(text, match.end())]) for match in _FUNCTION.finditer(text))
    own = {name for name, body in bodies if read.search(body) and not _ASKS.search(body) and "<<<" not in body}
    return re.compile("|".join([_CLOCK, *(rf"\b{re.escape(name)}\s*\(" for name in sorted(own - {"main"}))]))


def _is_read_again(rows: Sequence[tuple[int, str]], clocks: re.Pattern[str], text: str) -> bool:
    """Whether the time up to a read behind the wait is taken as well: what the launch itself costs is meant then.

    rows: of the text behind the wait.
    """
    for _line, row in rows:
        if _ENDS.search(row) or _ASKS.search(row):
            return False
        if clocks.search(row):
            read = re.search(r"\b(\w+)\s*=(?!=)", row)
            return read is not None and re.search(rf"\b{read[1]}\s*-\s*\w", text) is not None
    return False


def _tell_read_early(state: State, late: Pending) -> None:
    """Tell that the clock is read before a kernel has ended: in the line of that where the text behind the last call
    leaves no doubt, else in the launch's."""
    after = state.called_at
    rows = state.sources.numbered(after.file, after.line, MOST_ROWS)[1:]
    clocks = _clocks(state.sources.texts.get(after.file, ""))
    end = next((n for n, (_line, row) in enumerate(rows) if _ENDS.search(row) or _ASKS.search(row)), len(rows))
    line = next((line for line, row in rows[:end] if clocks.search(row)), 0)
    if after.file != late.place.file or not line:
        state.tell("clock_before_end", "warning", msg("programs.clock_before_end", kernel=late.kernel), late.place)
        return
    wait = _WAITS.search(rows[end][1]) if end < len(rows) else None
    if wait is not None and _is_read_again(rows[end + 1 :], clocks, state.sources.texts.get(after.file, "")):
        return
    message = msg("programs.clock_read_early", kernel=late.kernel)
    if wait is not None:
        message = msg("programs.clock_read_before_wait", kernel=late.kernel, call=wait[1])
    state.tell("clock_before_end", "warning", message, Place(line, after.file))


HANDLERS: Handlers = {
    "cudaStreamCreate": ("i", stream_create),
    "cudaStreamCreateWithFlags": ("ii", stream_create),
    "cudaStreamCreateWithPriority": ("iii", stream_create),
    "cudaStreamDestroy": ("i", stream_destroy),
    "cudaStreamSetAttribute": ("iii", set_stream_attribute),
    "cudaStreamGetAttribute": ("iii", get_stream_attribute),
    "cudaStreamCopyAttributes": ("ii", copy_attributes),
    "cudaStreamGetPriority": ("ii", stream_priority),
    "cudaStreamGetFlags": ("ii", stream_flags),
    "cudaStreamGetId": ("ii", stream_id),
    "cudaStreamGetDevice": ("ii", stream_device),
    # What the L2 cache holds shows in times alone.
    "cudaCtxResetPersistingL2Cache": ("", nothing),
    "cudaStreamSynchronize": ("i", stream_synchronize),
    "cudaStreamQuery": ("i", stream_query),
    "cudaStreamWaitEvent": ("iii", stream_wait_event),
    "cudaStreamAddCallback": ("iiii", stream_add_callback),
    "cudaLaunchHostFunc": ("iii", launch_host_function),
    "cudaDeviceSynchronize": ("", device_synchronize),
    "cudaThreadSynchronize": ("", device_synchronize),
    "cudaEventCreate": ("i", event_create),
    "cudaEventCreateWithFlags": ("ii", event_create),
    "cudaEventRecord": ("ii", event_record),
    "cudaEventSynchronize": ("i", event_synchronize),
    "cudaEventQuery": ("i", event_query),
    "cudaEventElapsedTime": ("iii", event_elapsed),
    "cudaEventDestroy": ("i", event_destroy),
}
