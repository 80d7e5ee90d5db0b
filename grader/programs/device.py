"""What runs a program's kernels, the emulator or a GPU of this machine: what the runtime asks of both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from grader.programs.device_memory import Allocation, Memory
from grader.programs.records import NO_LIMIT, ObservedLaunch, RunLimits
from grader.ptx.records import Counters, Hazard, LineWork

if TYPE_CHECKING:
    from grader.programs.runtime.ordering import Event, Stream


class Outcome(msgspec.Struct, frozen=True):
    """What came of a launch.

    status: "ran", "impossible" (the emulator refuses the configuration), "trap", "grid_sync" (the same, where it would
    have waited for its whole grid), "endless", "too_large" (the counted limit was reached; memory is what it was
    before, where launches are passed over), "too_many_steps" (that of the emulator's interpreter), "too_slow" (that by
    the clock), "unsupported"; of a GPU also "refused" and "fault", with CUDA's `code`, and "hangs" (it has not ended in
    time).
    shared_bytes: of a block, static and dynamic.  work: by line, where that was asked for.
    file: that the kernel stands in, as the program calls it; "" where that is not known.
    steps: of the emulator's interpreter, see `grader.ptx.limits.Budget`.
    """

    status: str
    reason: str = ""
    line: int = 0
    hazards: tuple[Hazard, ...] = ()
    counters: Counters | None = None
    thread_instructions: int = 0
    steps: int = 0
    printf: str = ""
    shared_bytes: int = 0
    work: tuple[LineWork, ...] = ()
    code: int = 0
    file: str = ""


class TooSlow(Exception):
    """The clock has ended a launch, after so many seconds: on a faster machine it might have ended.

    No limit that is counted was reached.  Raised where launches are passed over; else the outcome is "too_slow".
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class LateEnd(Exception):
    """A launch that had been queued came to a bad end, as a later call finds: `told` is to be called with the outcome.

    Nothing else can be done on the device from then on.
    """

    def __init__(self, told: Callable[[Outcome], object], outcome: Outcome) -> None:
        self.told = told
        self.outcome = outcome
        super().__init__(outcome.status)


class Unsupported(Exception):
    """The device cannot do what the program asks for: what that is, in words of CUDA's."""


class Asked(msgspec.Struct, frozen=True):
    """A launch as it is made; the configuration was checked by the caller.

    arguments: as the device takes them.  stream: the queue that it goes to.
    left, steps_left: thread-instructions, and steps of the emulator's interpreter, that all launches together still
    have.  observe: hazards and counters are wanted.  at_host: memory of both sides lies where the host has it.
    record: what is kept of it.  told: to be called with the outcome of one that ends badly after this has returned.
    """

    unit: int
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: Sequence[bytes]
    max_shared_bytes: int
    left: int
    bounds: RunLimits
    stream: Stream
    observe: bool = True
    cooperative: bool = False
    at_host: bool = False
    steps_left: int = NO_LIMIT
    record: ObservedLaunch | None = None
    told: Callable[[Outcome], object] = lambda _outcome: None


class Device(Protocol):
    """A device with its memory.

    Calls that wait, copy or ask raise `LateEnd` where a launch that was queued has come to a bad end.
    """

    @property
    def memory(self) -> Memory: ...

    @property
    def textures(self) -> MutableMapping[int, Any]:
        """Textures and surfaces by the handle that kernels are given.  Setting one may raise Unsupported."""
        ...

    # -- code: see `grader.programs.loaded.Loaded` -------------------------------------------

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None: ...

    def is_loaded(self, unit: int) -> bool: ...

    def compiler(self, unit: int, entry: str) -> str: ...

    def entry(self, unit: int, symbol: str) -> str | None: ...

    def parameter_sizes(self, unit: int, entry: str) -> list[int]: ...

    def static_shared_bytes(self, unit: int, symbol: str) -> int: ...

    def variable(self, unit: int, name: str) -> Allocation | None:
        """A `__device__` or `__constant__` variable as memory."""
        ...

    # -- work and time -----------------------------------------------------------------------

    def run(self, asked: Asked) -> Outcome:
        """Run a kernel, or queue it."""
        ...

    def again(self, unit: int, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        """Execute a launch, or do what it did before where all that decides that is the same as then.

        launch: what besides memory decides it.
        """
        ...

    def printed(self) -> bytes:
        """What kernels that were waited for have printed since this was last asked."""
        ...

    def wait(self, streams: Iterable[int]) -> None:
        """Wait for all that is queued in streams, by their numbers."""
        ...

    def wait_for_event(self, event: Event) -> None:
        """Wait for an event, and for no more."""
        ...

    def order(self, stream: Stream, event: Event) -> None:
        """What is queued in a stream from now on comes after an event."""
        ...

    def record(self, event: Event, stream: Stream) -> None:
        """An event follows what is queued in a stream."""
        ...

    def has_done(self, what: Stream | Event, now_ns: int) -> bool:
        """Whether a stream has nothing left to do, or has come to an event."""
        ...

    def elapsed_ms(self, first: Event, last: Event) -> float:
        """From one event to another, both of which were waited for."""
        ...

    def now_ns(self, modelled_ns: int) -> int:
        """What the host's clock shows, where the model's says this."""
        ...
