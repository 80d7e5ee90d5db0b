"""What runs a program's kernels, the emulator or a GPU of this machine: device code that was loaded for it, and what
the runtime asks of both.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Hashable, Iterable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from grader.programs.device_linking import own_name
from grader.programs.device_memory import Allocation, Memory
from grader.programs.records import NO_LIMIT, CallTimes, DeviceCall, RunLimits
from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.limits import MAX_THREADS, PtxError
from grader.ptx.records import Counters, Hazard, LineWork
from grader.submission.kernels.records import SeenLaunch

if TYPE_CHECKING:
    from grader.programs.runtime.ordering import Event, Stream


_SOURCE_NAME = re.compile(r"L?(\d{1,3})")
"""Within a mangled name: how long the next word is; `L` before one with internal linkage."""

_AS_LONG = str.maketrans("xy", "lm")
"""Within a mangled name: `long long` and `unsigned long long` → `long` and `unsigned long`."""

_MAIN = re.compile(r"4mainiPPK?c(?:S[0-9A-Z]*_)?E")
"""Within a mangled name: `main`, which has its parameters in the host's names alone."""

_AGAIN = re.compile(r"S[0-9A-Z]*_")
"""Within a mangled name: what came before, once more, by its number, which these parameters shift."""

_LIBRARIES = frozenset({"cooperative_groups", "cub", "cuda", "nv", "thrust"})
"""Namespaces whose variables hold nothing that a program could change."""


def plain_name(name: str) -> str:
    """Return a variable's name as the program has it, without its namespaces."""
    parts = [part for part in parts_of(name) if part]
    return parts[-1] if parts else name


def parts_of(name: str) -> list[str]:
    """Return a variable's name with its namespaces, as far as two compilers say it alike.

    Of what is `static` or in a namespace without a name one mangles the linkage, the other what it made up:
    `_ZL5count` and `count`, `_ZN12_GLOBAL__N_15countE` and `_ZN21_INTERNAL_…5countE`.
    """
    if not name.startswith("_Z"):
        return [name, ""]
    parts: list[str] = []
    place = 3 if name.startswith("_ZN") else 2
    while match := _SOURCE_NAME.match(name, place):
        place = match.end() + int(match[1])
        part = name[match.end() : place]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            parts.append(part)
    return [*parts, name[place:].removesuffix("E")]


def _of_program(module: Module) -> set[tuple[str, ...]]:
    """Return the program's own device variables: no texts, tables of functions or constants of a library."""
    names = [name for name, variable in module.variables.items() if variable.space in ("global", "const")]
    places = {tuple(parts_of(name)) for name in names if not name.startswith(("$", "_$", "__"))}
    return {place for place in places if place[0] not in _LIBRARIES}


def _without_main(name: str) -> str:
    return _AGAIN.sub("S_", _MAIN.sub("4mainE", name))


def _entry_of(names: Sequence[str], symbol: str) -> str | None:
    """What a kernel is called in a module; one of an unnamed namespace has another name there than on the host, and one
    of a type whose size the host's library says by another word of that size (`clock_t`: `long` or `long long`).
    """
    if symbol in names:
        return symbol
    tail = symbol.split("_GLOBAL__N_1", 1)
    if len(tail) == 2:
        similar = [name for name in names if name.endswith(tail[1])]
        return similar[0] if len(similar) == 1 else None
    # One that is declared as C's is called so there, and as C++'s on the host.
    plain = re.match(r"_Z(\d{1,9})", symbol)
    if plain and symbol[plain.end() :][: int(plain[1])] in names:
        return symbol[plain.end() :][: int(plain[1])]
    if _MAIN.search(symbol):
        similar = [name for name in names if _without_main(name) == _without_main(symbol)]
        return similar[0] if len(similar) == 1 else None
    similar = [name for name in names if name.endswith(symbol.removeprefix("_ZL").removeprefix("_Z"))]
    similar = similar or [name for name in names if name.translate(_AS_LONG) == symbol.translate(_AS_LONG)]
    return similar[0] if len(similar) == 1 else None


def _own_entry_of(names: Sequence[str], symbol: str, unit: int) -> str | None:
    """The same in what several files were linked to: the file's own kernel first."""
    suffix = own_name("", unit)
    own = _entry_of([name.removesuffix(suffix) for name in names if name.endswith(suffix)], symbol)
    return own_name(own, unit) if own is not None else _entry_of(names, symbol)


_parsed = functools.lru_cache(maxsize=8)(parse)
"""Runs of one program in one process load the same code: it is read, and made ready to run, at the first."""


class Outcome(msgspec.Struct, frozen=True):
    """What came of a launch.

    status: "ran", "impossible" (the emulator refuses the configuration), "trap", "grid_sync" (the same, where it would
    have waited for its whole grid), "endless", "too_large" (the counted limit was reached; memory is what it was
    before, where launches are passed over), "too_many_steps" (that of the emulator's interpreter), "too_slow" (that by
    the clock), "unsupported"; of a GPU also "refused" and "fault", with CUDA's `code`, and "hangs" (it has not ended in
    time).
    shared_bytes: of a block, static and dynamic.  work: by line, where that was asked for.
    file: that the kernel stands in, as the program calls it; "" where that is not known.
    remarks: as of `grader.ptx.records.LaunchReport`.
    charged, steps: what the limits count, see `grader.ptx.limits.Budget`.
    """

    status: str
    reason: str = ""
    line: int = 0
    hazards: tuple[Hazard, ...] = ()
    remarks: tuple[tuple[str, int, int], ...] = ()
    counters: Counters | None = None
    thread_instructions: int = 0
    charged: int = 0
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
    """A launch that had been queued came to a bad end, as a later call finds: `on_end` is called with the outcome.

    Nothing else can be done on the device from then on.
    """

    def __init__(self, on_end: Callable[[Outcome], object], outcome: Outcome) -> None:
        self.on_end = on_end
        self.outcome = outcome
        super().__init__(outcome.status)


class Unsupported(Exception):
    """The device cannot do what the program asks for: what that is, in words of CUDA's."""


class Asked(msgspec.Struct, frozen=True):
    """A launch as it is made; the configuration was checked by the caller.

    arguments: as the device takes them.  stream: the queue that it goes to.
    left, steps_left: thread-instructions, and steps of the emulator's interpreter, that all launches together still
    have.  observe: hazards and counters are wanted.  at_host: memory of both sides lies where the host has it.
    record: what is kept of it.  on_end: to be called with the outcome of one that ends badly after this has returned.
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
    record: SeenLaunch | None = None
    on_end: Callable[[Outcome], object] = lambda _outcome: None


class Prepared(Protocol):
    """A launch that a device makes again and again."""

    def again(self, arguments: bytes, record: SeenLaunch | None, on_end: Callable[[Outcome], object]) -> Outcome | None:
        """Make it with other arguments; return what became of it where that is not that it was queued.

        arguments: all of them, each in its place.  record, on_end: as of `Asked`.
        """
        ...


class Device:
    """A device with its memory, and what compilers have made of a program's files, by their numbers.

    Calls that wait, copy or ask raise `LateEnd` where a launch that was queued has come to a bad end.  What a device
    does not define itself is that of one which does everything at once and has the model's clock.

    textures: and surfaces, by the handle that kernels are given.  Setting one may raise Unsupported.
    step: what is queued next, if its times are wanted.
    """

    memory: Memory
    textures: MutableMapping[int, Any]

    def __init__(self) -> None:
        self._modules: dict[int, dict[str, Module]] = {}
        self.step: DeviceCall | None = None
        self._looked_up: dict[tuple[str, int, str], Any] = {}
        """By property, unit and name, as long as no more is loaded: a program launches few kernels many times."""

    # -- code ------------------------------------------------------------------------------------

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None:
        """Load what a compiler has made of a unit, beside what another has: there kernels are looked for first.

        Variables are there once: where both have one, all kernels are those of the later compiler.
        Raises PtxError: the emulator cannot read it.  Raises Unsupported: it asks for what the device cannot do.
        """
        module = _parsed(ptx)
        modules = self._modules.setdefault(unit, {})
        for other in [other for other, old in modules.items() if _of_program(module) & _of_program(old)]:
            del modules[other]
        modules[compiler] = module
        self._looked_up.clear()

    def _cached(self, find: Callable[[int, str], Any], unit: int, name: str) -> Any:
        key = (find.__name__, unit, name)
        if key in self._looked_up:
            return self._looked_up[key]
        value = self._looked_up[key] = find(unit, name)
        return value

    def is_loaded(self, unit: int) -> bool:
        return unit in self._modules

    def compiler(self, unit: int, entry: str) -> str:
        """Whose code of a kernel is run; "" where none is loaded."""
        return str(self._cached(self._compiler, unit, entry))

    def _compiler(self, unit: int, entry: str) -> str:
        modules = self._modules.get(unit, {})
        return next((name for name, module in modules.items() if entry in module.functions), "")

    def module(self, unit: int, entry: str) -> Module:
        """Return the module whose code of a kernel is run."""
        return self._modules[unit][self.compiler(unit, entry)]

    def entry(self, unit: int, symbol: str) -> str | None:
        """Return the kernel's name in the unit's modules; None where it is in none."""
        name: str | None = self._cached(self._entry, unit, symbol)
        return name

    def _entry(self, unit: int, symbol: str) -> str | None:
        names = (_own_entry_of(module.entries(), symbol, unit) for module in self._modules.get(unit, {}).values())
        return next((name for name in names if name is not None), None)

    def parameter_sizes(self, unit: int, entry: str) -> list[int]:
        """Return the bytes of each parameter."""
        return [parameter.size_bytes for parameter in self.module(unit, entry).functions[entry].parameters]

    def most_threads(self, unit: int, entry: str) -> int:
        """Return the most threads of a block, by `__launch_bounds__` where the kernel has it."""
        bounds = dict(self.module(unit, entry).functions[entry].launch_bounds)
        return min(math.prod(bounds.get("maxntid", bounds.get("reqntid", (MAX_THREADS,)))), MAX_THREADS)

    def static_shared_bytes(self, unit: int, symbol: str) -> int:
        """Shared memory that a block of a kernel has whatever the launch asks for; 0 for one that is not there."""
        return int(self._cached(self._static_shared_bytes, unit, symbol))

    def _static_shared_bytes(self, unit: int, symbol: str) -> int:
        from grader.ptx.lowering.program import program_of

        entry = self.entry(unit, symbol)
        if entry is None:
            return 0
        try:
            return int(program_of(self.module(unit, entry)).needs(entry).static_bytes)
        except PtxError:
            # What the assembler would refuse as well; the launch says which instruction.
            return 0

    def variable(self, unit: int, name: str) -> Allocation | None:
        """Return a `__device__` or `__constant__` variable as memory; None where there is none of that name."""
        raise NotImplementedError

    # -- work and time -----------------------------------------------------------------------

    def run(self, asked: Asked) -> Outcome:
        """Run a kernel, or queue it."""
        raise NotImplementedError

    def prepared(self, asked: Asked, places: Sequence[tuple[int, int]]) -> Prepared | None:
        """Return what makes a launch again that was made, as long as no more is loaded or allocated; None where each is
        run by itself.

        places: where each of its arguments begins and ends in what it will be handed.
        """
        return None

    def again(self, unit: int, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        """Execute a launch, or do what it did before where all that decides that is the same as then.

        launch: what besides memory decides it.
        """
        return execute()

    def printed(self) -> bytes:
        """Return what kernels that were waited for have printed since the last call, beside what outcomes hold."""
        return b""

    def wait(self, streams: Iterable[int]) -> None:
        """Wait for all that is queued in streams, by their numbers."""

    def wait_for_event(self, event: Event) -> None:
        """Wait for an event, and for no more."""

    def order(self, stream: Stream, event: Event) -> None:
        """Let what is queued in a stream from now on come after an event."""

    def record(self, event: Event, stream: Stream) -> None:
        """Record an event behind what is queued in a stream."""

    def has_done(self, what: Stream | Event, now_ns: int) -> bool:
        """Whether a stream has nothing left to do, or has come to an event."""
        return now_ns >= what.ready_ns

    def elapsed_ms(self, first: Event, last: Event) -> float:
        """From one event to another, both of which were waited for."""
        return (last.ready_ns - first.ready_ns) / 1e6

    def begin_timing(self) -> None:
        """Time what is done from now on, where there is a clock."""

    def end_timing(self) -> CallTimes | None:
        """Return how long it took, once all of it is done; None where nothing measures it."""
        return None

    def now_ns(self, modelled_ns: int) -> int:
        """Return what the host's clock shows when the model's shows `modelled_ns`."""
        return modelled_ns
