"""The times of what a program has a GPU do: of each launch, copy and fill, between events around it, and of a call.

Python takes longer to queue a launch than a short kernel to run.  In a call that is timed a kernel of ours pauses the
stream meanwhile, so that the events stand next to what is between them; it ends by itself, whatever the driver waits
for.  Before the call another keeps the device busy, until its clock is up and its cache holds nothing of the call's.

What is run on the emulator after the GPU gives its counters and findings beside the GPU's times (`checked`).
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import msgspec

from grader import driver
from grader.message import Message, msg
from grader.programs.card_memory import Queues
from grader.programs.records import CallTimes, DeviceCall, Observation, covered, is_limit
from grader.programs.runtime.devices import MODELS, model_of
from grader.submission.kernels.records import SeenLaunch

TIMED_LAUNCHES = 2000
"""Launches that are timed of a program that is not run for its times."""
MOST_TIMED = 10_000
"""Launches, copies and fills of a call that is."""
EVENTS_MADE = 64
"""At a time, before the first of them is needed."""
PAUSE_NS = 100_000
"""Longer than a launch takes to be queued."""
BUSY_NS = 30_000_000
"""After some ten milliseconds of work a clock is up."""
TRIES = 9
"""Repetitions of an empty kernel, and of two events with nothing between them."""

PTX = b"""
.version 6.3
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry pause(.param .u64 length) {
    .reg .pred %p; .reg .u64 %r<4>;
    ld.param.u64 %r0, [length];
    mov.u64 %r1, %globaltimer;
AGAIN:
    mov.u64 %r2, %globaltimer;
    sub.u64 %r2, %r2, %r1;
    setp.lt.u64 %p, %r2, %r0;
    @%p bra AGAIN;
    ret;
}
.visible .entry busy(.param .u64 words, .param .u64 count, .param .u64 length, .param .u64 told) {
    .reg .pred %p; .reg .u32 %t<4>; .reg .u64 %r<14>; .reg .b32 %v<5>;
    ld.param.u64 %r0, [words];
    ld.param.u64 %r1, [count];
    ld.param.u64 %r2, [length];
    ld.param.u64 %r3, [told];
    mov.u32 %t0, %ctaid.x;
    mov.u32 %t1, %ntid.x;
    mov.u32 %t2, %tid.x;
    mov.u32 %t3, %nctaid.x;
    mul.wide.u32 %r4, %t0, %t1;
    cvt.u64.u32 %r5, %t2;
    add.u64 %r4, %r4, %r5;
    mul.wide.u32 %r6, %t3, %t1;
    mov.b32 %v4, 0;
    mov.u64 %r7, %globaltimer;
    mov.u64 %r8, %clock64;
AGAIN:
    mov.u64 %r9, %r4;
NEXT:
    setp.ge.u64 %p, %r9, %r1;
    @%p bra READ;
    shl.b64 %r10, %r9, 4;
    add.u64 %r10, %r10, %r0;
    ld.global.cg.v4.u32 {%v0, %v1, %v2, %v3}, [%r10];
    or.b32 %v4, %v4, %v0;
    or.b32 %v4, %v4, %v1;
    or.b32 %v4, %v4, %v2;
    or.b32 %v4, %v4, %v3;
    add.u64 %r9, %r9, %r6;
    bra NEXT;
READ:
    mov.u64 %r11, %globaltimer;
    sub.u64 %r11, %r11, %r7;
    setp.lt.u64 %p, %r11, %r2;
    @%p bra AGAIN;
    mov.u64 %r12, %clock64;
    sub.u64 %r12, %r12, %r8;
    setp.ne.u64 %p, %r4, 0;
    @%p bra OTHERS;
    st.global.u64 [%r3], %r12;
    st.global.u64 [%r3 + 8], %r11;
OTHERS:
    setp.eq.u32 %p, %v4, 0;
    @%p bra DONE;
    st.global.u32 [%r3 + 16], %v4;
DONE:
    ret;
}
\0"""
"""`busy` reads words that are all zero over and over, and stores cycles and nanoseconds."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """What lies between two events: work of the device's own, or a copy from or to the host.

    is_of_call: it is of a call that is timed, which keeps the events until its end.
    """

    is_work: bool
    first: Any
    last: Any
    record: SeenLaunch | None
    step: DeviceCall | None
    is_of_call: bool


class CardTimes:
    """The events of one run of a program, and what lies between them.

    spare: events that are not in use, which come back there.
    """

    def __init__(self, queues: Queues, spare: list[Any]) -> None:
        self._queues = queues
        self._event_record = driver.function("cuEventRecord")
        self._spare = spare
        self._launches = 0
        self._open: dict[int, list[Span]] = {}
        """By the driver's stream as an object, what nobody has waited for."""
        self._base: Any = None
        """The event that steps' times count from."""
        self._call: _Call | None = None

    def begun(
        self, stream: Any, *, is_work: bool, record: SeenLaunch | None = None, step: DeviceCall | None = None
    ) -> Span | None:
        """Record the event before what is queued in a stream next; None where that is not timed."""
        call = self._call
        is_wanted = step is not None or (record is not None and self._launches < TIMED_LAUNCHES)
        self._launches += record is not None
        if call is None and not is_wanted:
            return None
        if call is not None and len(call.spans) >= MOST_TIMED:
            call.is_whole = False
            return None
        if self._base is None and step is not None:
            self._base = self._event()
            self._queues.called("cuEventRecord", self._base, 0)
        span = Span(is_work, self._event(), self._event(), record if is_wanted else None, step, call is not None)
        if call is not None:
            call.pause(stream)
        self._record(span.first, stream)
        return span

    def ended(self, stream: Any, span: Span) -> None:
        """Record the event behind it."""
        self._record(span.last, stream)
        if self._call is not None:
            self._call.spans.append(span)
        if span.record is not None or span.step is not None:
            spans = self._open.get(id(stream))
            if spans is None:
                spans = self._open[id(stream)] = []
            spans.append(span)

    def _record(self, event: Any, stream: Any) -> None:
        status = self._event_record(event, stream)[0]
        if status:
            self._queues.failed("cuEventRecord", status)

    @contextlib.contextmanager
    def around(self, stream: Any, *, is_work: bool, step: DeviceCall | None = None) -> Iterator[None]:
        """Events around what is queued in a stream within the block, where it is timed."""
        span = self.begun(stream, is_work=is_work, step=step)
        yield
        if span is not None:
            self.ended(stream, span)

    def note(self, stream: Any) -> None:
        """Give launches and steps of a stream that was waited for their times."""
        for span in self._open.pop(id(stream), ()):
            took_us = self._us(span.first, span.last)
            if span.record is not None:
                span.record.microseconds = took_us
            if span.step is not None:
                span.step.began_us = max(0.0, self._us(self._base, span.first))
                span.step.ended_us = span.step.began_us + took_us
            if not span.is_of_call:
                self._spare += [span.first, span.last]

    def begin(self) -> None:
        self._queues.settle()
        self._call = _Call(self._queues, self._event())
        self._call.empty_us = self._least("nothing")
        self._call.gap_us = self._least("")
        self._call.keep_busy()
        self._queues.called("cuEventRecord", self._call.base, 0)

    def end(self) -> CallTimes | None:
        """End it and return its times; None where none was timed, or more was done than can be.  Raises LateEnd."""
        call, self._call = self._call, None
        if call is None:
            return None
        self._queues.settle()
        times = call.times(self._us) if call.is_whole else None
        self._spare += [call.base, *(event for span in call.spans for event in (span.first, span.last))]
        call.close()
        return times

    def _least(self, entry: str) -> float:
        """Return the median time of an empty kernel of ours, or of nothing where `entry` is "", in microseconds."""
        assert self._call is not None
        times_us = []
        for _try in range(TRIES):
            events = self._event(), self._event()
            self._call.pause(0)
            self._queues.called("cuEventRecord", events[0], 0)
            if entry:
                self._call.launch(entry, 1, 1)
            self._queues.called("cuEventRecord", events[1], 0)
            self._queues.called("cuStreamSynchronize", 0)
            times_us.append(self._us(*events))
            self._spare += events
        return sorted(times_us)[TRIES // 2]

    def _event(self) -> Any:
        if not self._spare:
            self._spare += [self._queues.called("cuEventCreate", 0) for _event in range(EVENTS_MADE)]
        return self._spare.pop()

    def _us(self, first: Any, last: Any) -> float:
        return 1000 * float(self._queues.called("cuEventElapsedTime", first, last))

    def close(self) -> None:
        """Give all of it back; nothing is queued any more."""
        if self._call is not None:
            self._spare.append(self._call.base)
            self._call.close()
        if self._base is not None:
            self._spare.append(self._base)


class _Call:
    """A call that is timed, with the kernels of ours that run before it."""

    def __init__(self, queues: Queues, base: Any) -> None:
        self._queues = queues
        self.base = base
        self.spans: list[Span] = []
        self.is_whole = True
        self.empty_us = self.gap_us = 0.0
        device = driver.call("cuCtxGetDevice")
        self._multiprocessors = driver.attribute(device, "MULTIPROCESSOR_COUNT")
        self._max_sm_mhz = driver.attribute(device, "CLOCK_RATE") / 1000
        self._sm_mhz = 0.0
        self._read_bytes = 2 * max(driver.attribute(device, "L2_CACHE_SIZE"), 1 << 20)
        self._module = queues.called("cuModuleLoadData", PTX)
        self._kernels = {
            name: queues.called("cuModuleGetFunction", self._module, name.encode())
            for name in ("nothing", "pause", "busy")
        }
        self._words = int(queues.called("cuMemAlloc", self._read_bytes + 32))
        queues.called("cuMemsetD8", self._words, 0, self._read_bytes + 32)

    def launch(self, name: str, blocks: int, threads: int, *arguments: int, stream: Any = 0) -> None:
        """Queue a kernel of ours."""
        values = driver.parameters(arguments)
        shape = (blocks, 1, 1, threads, 1, 1, 0)
        self._queues.called("cuLaunchKernel", self._kernels[name], *shape, stream, values.address, 0)

    def pause(self, stream: Any) -> None:
        """Delay what is queued in a stream from now on."""
        self.launch("pause", 1, 1, PAUSE_NS, stream=stream)

    def keep_busy(self) -> None:
        """Bring the clock up, and have the cache hold nothing but zeros."""
        results = self._words + self._read_bytes
        self.launch("busy", 2 * self._multiprocessors, 512, self._words, self._read_bytes // 16, BUSY_NS, results)
        cycles = (ctypes.c_uint64 * 2)()
        self._queues.called("cuMemcpyDtoH", ctypes.addressof(cycles), results, 16)
        self._sm_mhz = 1000 * cycles[0] / cycles[1] if cycles[1] else 0.0

    def times(self, us: Any) -> CallTimes:
        """Return the times, once all of it was waited for."""
        works: list[tuple[float, float]] = []
        copies: list[tuple[float, float]] = []
        for span in self.spans:
            began = us(self.base, span.first)
            ended = began + max(0.0, us(span.first, span.last) - self.gap_us)
            (works if span.is_work else copies).append((began, ended))
        return CallTimes(
            work_us=covered(works),
            copies_us=covered(copies),
            works=len(works),
            copies=len(copies),
            empty_us=max(0.0, self.empty_us - self.gap_us),
            sm_mhz=self._sm_mhz,
            max_sm_mhz=self._max_sm_mhz,
        )

    def close(self) -> None:
        """Give back what it took."""
        self._queues.called("cuMemFree", self._words)
        self._queues.called("cuModuleUnload", self._module)


_OF_RUN = frozenset({"api_error", "unnoticed_error", "too_large", "unsupported", "hangs", "not_run", "output_cut"})
"""Kinds of findings that are about the run that they were made in, and say nothing of another."""


def same_model(card: str, otherwise: str) -> str:
    """Return the model whose name is the GPU's, so that the program does the same on the emulator; else `otherwise`."""
    return next((name for name in MODELS if model_of(name).name == card), otherwise)


def checked(on_card: Observation, emulated: Observation) -> Observation:
    """Return the run on a GPU with counters, hazards and findings of the same program's run on the emulator.

    Launches are the same as long as both runs make the same ones; one that did not run to its end on the emulator, and
    what follows it, has none.
    """
    launches = list(on_card.launches)
    count = 0
    for real, counterpart in zip(on_card.launches, emulated.launches, strict=False):
        was_run = counterpart.status in ("ran", "faulted") or counterpart.status == real.status == "failed"
        if not was_run or _what(real) != _what(counterpart):
            break
        launches[count] = msgspec.structs.replace(
            real,
            hazards=counterpart.hazards,
            counters=counterpart.counters,
            thread_instructions=counterpart.thread_instructions,
        )
        count += 1
    reported_on_card = {(finding.kind, finding.file, finding.line) for finding in on_card.findings}
    more = [
        finding
        for finding in emulated.findings
        if finding.kind not in _OF_RUN and (finding.kind, finding.file, finding.line) not in reported_on_card
    ]
    return msgspec.structs.replace(
        on_card,
        launches=launches,
        findings=[*on_card.findings, *more],
        checked=count,
        check_ended=_why(launches[count:], emulated),
    )


def _why(rest: list[SeenLaunch], emulated: Observation) -> Message | None:
    """Return why the `rest` of the launches was not checked on the emulator; None where nothing is lacking."""
    if is_limit(emulated.cause):
        return msg("programs.check_limit")
    if emulated.cause is not None:
        return msg("programs.check_ended", why=emulated.cause)
    return msg("programs.check_differs", kernel=rest[0].display, line=rest[0].line) if rest else None


def _what(launch: SeenLaunch) -> tuple[object, ...]:
    return launch.symbol, launch.file, launch.line, launch.grid, launch.block, launch.shared_bytes
