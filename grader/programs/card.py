"""A GPU of this machine as the device of a running program: kernels queued in its streams, and waited for.

The context is opened before the program's process confines itself (`open_card`).  A launch that the device ends is
known by marks that each stream writes into page-locked memory behind its launches: the first that is not there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import msgspec

from grader import driver
from grader.devices import SHARED_BYTES
from grader.driver import DriverError
from grader.programs.card_memory import CardAllocation, CardMemory, Queues, words_at
from grader.programs.card_times import TIMED_LAUNCHES, CardTimes
from grader.programs.device import Asked, Device, LateEnd, Outcome, Prepared, Unsupported, parts_of
from grader.programs.device_linking import own_name
from grader.programs.device_memory import Allocation, Bytes
from grader.programs.records import CallTimes, DeviceCall
from grader.programs.runtime.devices import Model, model_of, numbers
from grader.programs.runtime.ordering import Event, Stream
from grader.programs.sandbox.guest import Meter
from grader.programs.sandbox.process import CardInfo
from grader.submission.kernels.records import SeenLaunch

MAX_PRINTED_BYTES = 64 << 20
"""Largest size of the file that device code prints to."""
MARKS = 1024
"""Words that streams write; those of more streams share them."""
SPIN_S, SHORT_SLEEP_S, LONG_SLEEP_S = 0.002, 0.0001, 0.001
"""How long the host asks without a pause whether the device has done, and its pauses then."""
NOT_READY, LAUNCH_TIMEOUT, UNSUPPORTED_PTX_VERSION = 600, 702, 222
_VERSION = re.compile(r"^(\.version\s+)\d+\.\d+", re.M)
_VERSIONS = ("9.0", "8.8", "8.5", "8.0", "7.8")
"""Versions of PTX to fall back on where the driver does not know the compiler's."""
_LAUNCHES_KERNELS = "__cudaCDP2LaunchDevice"
"""What kernels call that launch kernels: the toolkit's device runtime has it, and no driver."""
NEWEST = "h200"
"""The model whose attributes stand for those that a driver does not know."""
_TRIVIAL = b".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\0"


@dataclass(frozen=True, slots=True)
class OpenCard:
    """A GPU with a context in this process.

    printed: the descriptor of the file that device code prints to.  events: of the driver's, for times: to make one
    takes as long as to queue a launch, and there is time while the program is compiled.
    """

    model: Model
    printed: int
    info: CardInfo
    events: list[Any]


def open_card() -> OpenCard:
    """Open the first GPU that CUDA_VISIBLE_DEVICES shows, with all that the driver loads later: compilers, printing.

    Raises DriverError, ImportError, RuntimeError: there is none that can be used.
    """
    printed = os.memfd_create("printed", os.MFD_CLOEXEC)
    os.dup2(printed, 1)
    driver.call("cuInit", 0)
    if driver.call("cuDeviceGetCount") == 0:
        raise RuntimeError("no CUDA device")
    handle = driver.call("cuDeviceGet", 0)
    context = driver.call("cuDevicePrimaryCtxRetain", handle)
    driver.call("cuCtxSetCurrent", context)
    # The driver's compiler of PTX is a library that could not be found any more.
    driver.call("cuModuleUnload", driver.call("cuModuleLoadData", _TRIVIAL))

    model = _model(handle)
    uuid = driver.uuid_text(driver.call("cuDeviceGetUuid", handle).bytes)
    events = [driver.call("cuEventCreate", 0) for _event in range(2 * TIMED_LAUNCHES)]
    return OpenCard(model, printed, CardInfo(model.name, uuid, model.capability, driver.version()), events)


def _model(handle: Any) -> Model:
    """Return the model of a device as its driver describes it: attributes have the same numbers as the runtime's."""
    from cuda.bindings.driver import CUdevice_attribute

    values = dict(model_of(NEWEST).attributes)
    for number, name in numbers().items():
        with contextlib.suppress(DriverError, ValueError):
            values[name] = int(driver.call("cuDeviceGetAttribute", CUdevice_attribute(number), handle))
    name = driver.call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(errors="replace")
    return Model(name, int(driver.call("cuDeviceTotalMem", handle)), model_of(NEWEST).cores_per_multiprocessor, values)


class _Queued(msgspec.Struct, frozen=True):
    """A launch that nobody has waited for, by its number among all launches."""

    number: int
    on_end: Callable[[Outcome], object]


@dataclass(slots=True)
class _Queue:
    """A stream of the driver's.  slot: of the mark that it writes.  launches: that nobody has waited for."""

    handle: Any
    blocking: bool
    slot: int
    launches: list[_Queued] = field(default_factory=list)


@dataclass(slots=True)
class _Entry:
    """A kernel as the driver has it; shared_allowed: the most dynamic shared memory that it was allowed so far."""

    function: Any
    parameters: driver.Parameters
    sizes: tuple[int, ...]
    shared_allowed: int = SHARED_BYTES


_RAN = Outcome("ran")


class _Made:
    """A launch as the driver takes it, to be made once or again and again: nothing is worked out anew then."""

    def __init__(self, card: Card, asked: Asked, entry: _Entry, queue: _Queue, parameters: driver.Parameters) -> None:
        self._card = card
        self._queue = queue
        self._parameters = parameters
        self._name = "cuLaunchCooperativeKernel" if asked.cooperative else "cuLaunchKernel"
        self._launch = driver.function(self._name)
        shape = (entry.function, *asked.grid, *asked.block, asked.shared_bytes, queue.handle, parameters.address)
        self._shape = shape if asked.cooperative else (*shape, 0)

    def again(self, arguments: bytes, record: SeenLaunch | None, on_end: Callable[[Outcome], object]) -> Outcome | None:
        self._parameters.put_whole(arguments)
        return self.make(record, on_end)

    def make(self, record: SeenLaunch | None, on_end: Callable[[Outcome], object]) -> Outcome | None:
        """Queue it with the arguments that are set; return what became of it where it was refused."""
        card = self._card
        if card.end is not None:
            raise card.end
        handle = self._queue.handle
        try:
            span = card.times.begun(handle, is_work=True, record=record, step=card.next_step())
            status = self._launch(*self._shape)[0]
            if status:
                card.failed(self._name, status)
            if span is not None:
                card.times.ended(handle, span)
        except DriverError as error:
            return Outcome("refused", code=error.code)
        card.queued(self._queue, on_end)
        return None


class _NoTextures(MutableMapping[int, Any]):
    """Textures cannot be made on a GPU yet."""

    def __setitem__(self, key: int, value: Any) -> None:
        raise Unsupported("cudaCreateTextureObject, cudaCreateSurfaceObject")

    def __getitem__(self, key: int) -> Any:
        raise KeyError(key)

    def __delitem__(self, key: int) -> None:
        raise KeyError(key)

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Card(Device, Queues):
    """One run of a program on a GPU; arguments as the driver takes them.

    lent: the bytes of the host's memory at an address, as they lie there now.
    limit_s: how long the host waits for the device.
    """

    def __init__(self, opened: OpenCard, meter: Meter, lent: Callable[[int, int], Bytes], limit_s: float) -> None:
        super().__init__()
        from cuda.bindings import driver as cuda

        self._cuda = cuda
        self._printed_to = opened.printed
        self._limit_s = limit_s
        self._binaries: dict[tuple[int, str], Any] = {}
        self._assembled: dict[str, Any] = {}
        """Machine code made by the driver, by its PTX; linked files are one module."""
        self._entries: dict[tuple[int, str], _Entry] = {}
        self._queues: dict[int, _Queue] = {1: _Queue(cuda.CUstream(0), blocking=True, slot=0)}
        """Queues by the number of their stream."""
        self._numbers = 0
        self._write = driver.function("cuStreamWriteValue32")
        self.times = CardTimes(self, opened.events)
        self._events: list[Any] = []
        """The program's own."""
        self._prints = False
        self.end: LateEnd | None = None
        self._variables: dict[int, Allocation] = {}
        self._marks_at = int(driver.call("cuMemHostAlloc", 4 * MARKS, 1))
        self._marks = words_at(self._marks_at, MARKS)
        self._marks[:] = [0] * MARKS
        self._began_ns = time.monotonic_ns()
        self._epoch_ns = time.time_ns()
        self._libc = ctypes.CDLL(None)
        self.memory: CardMemory = CardMemory(meter, self, lent)
        self.textures: MutableMapping[int, Any] = _NoTextures()

    # -- calls of the driver -----------------------------------------------------------------

    def called(self, name: str, *arguments: Any) -> Any:
        if self.end is not None:
            raise self.end
        try:
            return driver.call(name, *arguments)
        except DriverError as error:
            if error.sticky:
                raise self._lost(error) from error
            raise

    def failed(self, name: str, status: Any) -> NoReturn:
        """Raise what a call's status is, as `called` does."""
        error = DriverError(name, int(status), status.name)
        raise self._lost(error) if error.sticky else error

    def _lost(self, error: DriverError) -> LateEnd | DriverError:
        """Return the end of the launch that lost the context: the first whose mark has not come, else `error`."""
        late = [
            next((one for one in queue.launches if one.number > self._marks[queue.slot]), None)
            for queue in self._queues.values()
        ]
        first = min((one for one in late if one is not None), key=lambda one: one.number, default=None)
        if first is None:
            return error
        self.end = LateEnd(first.on_end, Outcome("fault", code=error.code))
        return self.end

    def handle(self, stream: Stream) -> Any:
        return self._queue_of(stream).handle

    def _queue_of(self, stream: Stream) -> _Queue:
        queue = self._queues.get(stream.number)
        if queue is None:
            handle = self.called("cuStreamCreate", 0 if stream.blocking else 1)
            queue = self._queues[stream.number] = _Queue(handle, stream.blocking, len(self._queues) % MARKS)
        return queue

    def settle(self, stream: Stream | None = None) -> None:
        number = 0 if stream is None else stream.number
        wanted = list(self._queues)
        if number > 1:
            wanted = [number, *([1] if number in self._queues and self._queues[number].blocking else [])]
        elif number == 1:
            wanted = [one for one, queue in self._queues.items() if queue.blocking]
        self.wait(wanted)

    def timed(self, stream: Any, *, is_work: bool) -> contextlib.AbstractContextManager[object]:
        return self.times.around(stream, is_work=is_work, step=self.next_step())

    def next_step(self) -> DeviceCall | None:
        step, self.step = self.step, None
        return step

    def close(self) -> bool:
        """Give back all that the run took, so that another finds nothing of it; False where the context is lost."""
        if self.end is not None:
            return False
        try:
            self.settle()
            self.times.close()
            self.memory.close()
            for event in self._events:
                self.called("cuEventDestroy", event)
            for number, queue in self._queues.items():
                if number != 1:
                    self.called("cuStreamDestroy", queue.handle)
            for module in dict.fromkeys(self._binaries.values()):
                self.called("cuModuleUnload", module)
            self.called("cuMemFreeHost", self._marks_at)
        except (DriverError, LateEnd):
            return False
        self._prints = True
        self.printed()
        return True

    # -- code --------------------------------------------------------------------------------

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None:
        """Raises DriverError where the driver does not take it, Unsupported where kernels launch kernels."""
        if _LAUNCHES_KERNELS in ptx:
            raise Unsupported(_LAUNCHES_KERNELS)
        # First: what the driver refuses is not loaded, and who needs it is told.
        binary = self.called("cuModuleLoadData", cubin) if cubin else self._made_of(ptx)
        super().load(unit, ptx, compiler)
        self._entries.clear()
        self._binaries[unit, compiler] = binary
        self._prints |= "vprintf" in ptx

    def _made_of(self, ptx: str) -> Any:
        """Return what the driver makes of PTX, whose version may be newer than the driver, while nothing in it is."""
        if ptx not in self._assembled:
            for version in ("", *_VERSIONS):
                text = _VERSION.sub(rf"\g<1>{version}", ptx, count=1) if version else ptx
                try:
                    self._assembled[ptx] = self.called("cuModuleLoadData", text.encode() + b"\0")
                    break
                except DriverError as error:
                    if error.code != UNSUPPORTED_PTX_VERSION or version == _VERSIONS[-1]:
                        raise
        return self._assembled[ptx]

    def _entry_of(self, asked: Asked) -> _Entry:
        """Return the kernel, with room for as many bytes of each argument as are handed over now."""
        prepared = self._entries.get((asked.unit, asked.entry))
        sizes = tuple([len(value) for value in asked.arguments])
        if prepared is None or prepared.sizes != sizes:
            binary = self._binaries[asked.unit, self.compiler(asked.unit, asked.entry)]
            function = self.called("cuModuleGetFunction", binary, asked.entry.encode())
            prepared = self._entries[asked.unit, asked.entry] = _Entry(function, driver.Parameters(sizes), sizes)
        return prepared

    def variable(self, unit: int, name: str) -> Allocation | None:
        wanted, suffix = parts_of(name), own_name("", unit)
        for compiler, module in self._modules[unit].items():
            names = list(module.variables)
            same = [key for key in names if key.endswith(suffix) and parts_of(key.removesuffix(suffix)) == wanted]
            same = same or [key for key in names if key == name] or [key for key in names if parts_of(key) == wanted]
            if len(same) != 1:
                continue
            try:
                base, size = self.called("cuModuleGetGlobal", self._binaries[unit, compiler], same[0].encode())
            except DriverError:
                # Nothing uses it, so that the assembler has left it out.
                continue
            live = self.memory.live.get(int(base))
            return live or self.memory.keep(CardAllocation(name, int(base), int(size), "symbol", 0, "", queues=self))
        return None

    # -- work --------------------------------------------------------------------------------

    def run(self, asked: Asked) -> Outcome:
        entry = self._entry_of(asked)
        queue = self._queue_of(asked.stream)
        self.memory.hand_over(asked.arguments, asked.stream)
        if asked.bounds.undoes_bytes:
            # A kernel that is not run leaves nothing either.
            return _RAN
        try:
            if asked.shared_bytes > entry.shared_allowed:
                attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.called("cuFuncSetAttribute", entry.function, attribute, asked.shared_bytes)
                entry.shared_allowed = asked.shared_bytes
        except DriverError as error:
            return Outcome("refused", code=error.code)
        entry.parameters.put(asked.arguments)
        return _Made(self, asked, entry, queue, entry.parameters).make(asked.record, asked.on_end) or _RAN

    def prepared(self, asked: Asked, places: Sequence[tuple[int, int]]) -> Prepared | None:
        if asked.cooperative or self.memory.has_twins:
            return None
        sizes = [end - start for start, end in places]
        parameters = driver.Parameters(sizes, [start for start, _end in places])
        return _Made(self, asked, self._entry_of(asked), self._queue_of(asked.stream), parameters)

    def queued(self, queue: _Queue, on_end: Callable[[Outcome], object]) -> None:
        """Note a launch, with a mark behind it."""
        self._numbers = number = self._numbers + 1
        queue.launches.append(_Queued(number, on_end))
        status = self._write(queue.handle, self._marks_at + 4 * queue.slot, number, 0)[0]
        if status:
            self.failed("cuStreamWriteValue32", status)

    def wait(self, streams: Iterable[int]) -> None:
        if self.end is not None:
            raise self.end
        waited = {number: self._queues[number] for number in streams if number in self._queues}
        for number, queue in waited.items():
            self._until(self._cuda.cuStreamQuery, queue.handle, number)
        for queue in waited.values():
            queue.launches.clear()
            self.times.note(queue.handle)
        self.memory.take_back(set(waited))
        if self._prints and waited:
            # Only calls that wait have the driver print.
            self.called("cuStreamSynchronize", waited[min(waited)].handle)

    def _until(self, query: Callable[[Any], tuple[Any]], handle: Any, number: int) -> None:
        """Ask until it is so.  Raises LateEnd."""
        began = time.monotonic()
        while True:
            status = query(handle)[0]
            if int(status) == 0:
                return
            if int(status) != NOT_READY:
                raise self._lost(DriverError(query.__name__, int(status), status.name))
            waited_s = time.monotonic() - began
            if waited_s > self._limit_s:
                raise self._hangs(number)
            if waited_s > SPIN_S:
                time.sleep(SHORT_SLEEP_S if waited_s < 100 * SPIN_S else LONG_SLEEP_S)

    def _hangs(self, number: int) -> LateEnd | DriverError:
        """Return the end of the launch that hangs: the first whose mark has not come, else the last of the stream."""
        error = DriverError("wait", LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT")
        end = self._lost(error)
        launches = self._queues[number].launches if number in self._queues else []
        if isinstance(end, LateEnd):
            self.end = LateEnd(end.on_end, msgspec.structs.replace(end.outcome, status="hangs"))
        elif launches:
            self.end = LateEnd(launches[-1].on_end, Outcome("hangs", code=LAUNCH_TIMEOUT))
        return self.end or error

    def printed(self) -> bytes:
        if not self._prints:
            return b""
        self._libc.fflush(None)
        size = os.fstat(self._printed_to).st_size
        if not size:
            return b""
        data = os.pread(self._printed_to, size, 0)
        os.ftruncate(self._printed_to, 0)
        os.lseek(self._printed_to, 0, os.SEEK_SET)
        return data

    # -- streams, events and time ------------------------------------------------------------

    def wait_for_event(self, event: Event) -> None:
        if self.end is not None:
            raise self.end
        if event.handle is not None:
            self._until(self._cuda.cuEventQuery, event.handle, 0)
            if self._prints:
                self.called("cuEventSynchronize", event.handle)
        self._note_ended()

    def _note_ended(self) -> None:
        """Treat every stream that has nothing left as waited for."""
        query = self._cuda.cuStreamQuery
        idle = {number for number, queue in self._queues.items() if int(query(queue.handle)[0]) == 0}
        if idle:
            self.wait(idle)

    def order(self, stream: Stream, event: Event) -> None:
        if event.handle is not None:
            self.called("cuStreamWaitEvent", self.handle(stream), event.handle, 0)

    def record(self, event: Event, stream: Stream) -> None:
        if event.handle is None:
            event.handle = self.called("cuEventCreate", 0 if event.timing else 2)
            self._events.append(event.handle)
        self.called("cuEventRecord", event.handle, self.handle(stream))

    def has_done(self, what: Stream | Event, now_ns: int) -> bool:
        if self.end is not None:
            raise self.end
        if isinstance(what, Stream):
            status = self._cuda.cuStreamQuery(self.handle(what))[0]
        elif what.handle is not None:
            status = self._cuda.cuEventQuery(what.handle)[0]
        else:
            return True
        if int(status) not in (0, NOT_READY):
            raise self._lost(DriverError("query", int(status), status.name))
        if int(status) == 0 and isinstance(what, Event):
            self._note_ended()
        return int(status) == 0

    def elapsed_ms(self, first: Event, last: Event) -> float:
        return float(self.called("cuEventElapsedTime", first.handle, last.handle))

    def begin_timing(self) -> None:
        self.times.begin()

    def end_timing(self) -> CallTimes | None:
        return None if self.end is not None else self.times.end()

    def now_ns(self, modelled_ns: int) -> int:
        return self._epoch_ns + time.monotonic_ns() - self._began_ns
