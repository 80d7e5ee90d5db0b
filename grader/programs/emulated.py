"""The emulated device of a running program: kernels loaded, and run in its memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.programs.device_memory import Allocation, DeviceMemory
from grader.programs.meter import Meter
from grader.programs.records import RunLimits
from grader.ptx import DeviceTrap, Launch, Limits, Module, launch, linked, parse
from grader.ptx.limits import LaunchError, LimitExceeded, PtxError
from grader.ptx.memory.device import MemoryArray
from grader.ptx.observers.interface import Observer, Scene
from grader.ptx.records import Counters, Hazard, LineWork

OBSERVED_THREADS = 1 << 20
OBSERVED_BATCHES = 32
"""Of a launch of more threads so many batches of blocks are watched, spread over its grid."""

_SOURCE_NAME = re.compile(r"L?(\d{1,3})")
"""Within a mangled name: how long the next word is; `L` before one with internal linkage."""

_CLOCK = re.compile(r"%(?:clock|globaltimer)")

_LIBRARIES = frozenset({"cooperative_groups", "cub", "cuda", "nv", "thrust"})
"""Namespaces whose variables hold nothing that a program could change."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a launch.

    status: "ran", "impossible" (the emulator refuses the configuration), "trap", "grid_sync" (the same, where it would
    have waited for its whole grid), "endless", "too_large" (the counted limit was reached; memory is what it was
    before, where launches are passed over), "too_slow" (that by the clock), "unsupported".
    shared_bytes: of a block, static and dynamic.  work: by line, where that was asked for.
    """

    status: str
    reason: str = ""
    line: int = 0
    hazards: tuple[Hazard, ...] = ()
    counters: Counters | None = None
    thread_instructions: int = 0
    printf: str = ""
    shared_bytes: int = 0
    work: tuple[LineWork, ...] = ()


class TooSlow(Exception):
    """The clock has ended a launch, after so many seconds: on a faster machine it might have ended.

    No limit that is counted was reached.  Raised where launches are passed over; else the outcome is "too_slow".
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class _Projection(Observer):
    """Gives up on a launch once the blocks that have run tell that all of them will take too much."""

    def __init__(self, limit: int, blocks: int) -> None:
        self._limit = limit
        self._blocks = blocks
        self._budget: Any = None

    def begin(self, scene: Scene) -> None:
        """Before each batch of blocks."""
        self._budget = scene.budget
        used, done = scene.budget.thread_instructions, scene.geometry.first_block
        if done and used * self._blocks > 2 * self._limit * done:
            raise LimitExceeded("instructions", 0, "projected")

    def printed(self) -> str:
        """What device code had printed until the launch was ended."""
        return "" if self._budget is None else "".join(self._budget.printf)


def plain_name(name: str) -> str:
    """A variable's name as the program has it, without its namespaces."""
    parts = [part for part in _parts(name) if part]
    return parts[-1] if parts else name


def _parts(name: str) -> list[str]:
    """A variable's name with its namespaces, as far as two compilers say it alike.

    Of what is `static` or in a namespace without a name one mangles the linkage, the other what it made up:
    `_ZL5count` and `count`, `_ZN12_GLOBAL__N_15countE` and `_ZN21_INTERNAL_…5countE`.
    """
    if not name.startswith("_Z"):
        return [name, ""]
    found: list[str] = []
    place = 3 if name.startswith("_ZN") else 2
    while match := _SOURCE_NAME.match(name, place):
        place = match.end() + int(match[1])
        part = name[match.end() : place]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            found.append(part)
    return [*found, name[place:].removesuffix("E")]


def _of_program(module: Module) -> set[tuple[str, ...]]:
    """A program's own variables of the device: texts, tables of functions and a library's constants are none."""
    names = [name for name, variable in module.variables.items() if variable.space in ("global", "const")]
    places = {tuple(_parts(name)) for name in names if not name.startswith(("$", "_$", "__"))}
    return {place for place in places if place[0] not in _LIBRARIES}


def _entry(names: Sequence[str], symbol: str) -> str | None:
    """What a kernel is called in a module; one of an unnamed namespace has another name there than on the host."""
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
    similar = [name for name in names if name.endswith(symbol.removeprefix("_ZL").removeprefix("_Z"))]
    return similar[0] if len(similar) == 1 else None


class Gpu:
    """One emulated device: its memory, and kernels that are run in it; arguments as `DeviceMemory` takes them."""

    def __init__(self, meter: Meter, executes: bool = True) -> None:
        self.memory = DeviceMemory(meter, executes)
        self._device = self.memory.device
        self._modules: dict[int, dict[str, Module]] = {}
        self._clocked: set[int] = set()
        self.textures = self._device.textures

    def load(self, unit: int, ptx: str, compiler: str) -> None:
        """Load what a compiler has made of a unit, beside what another has: there kernels are looked for first.

        Variables are there once: where both have one, all kernels are those of the later compiler.

        Raises
        ------
        PtxError : the emulator cannot read it.
        """
        module = parse(ptx)
        if _CLOCK.search(ptx):
            self._clocked.add(unit)
        known = self._modules.setdefault(unit, {})
        for other in [other for other, old in known.items() if _of_program(module) & _of_program(old)]:
            del known[other]
        known[compiler] = module

    def reads_clock(self, unit: int) -> bool:
        """Whether device code of a unit reads a clock: then a kernel need not do the same twice."""
        return unit in self._clocked

    def is_loaded(self, unit: int) -> bool:
        """Whether a unit has a module."""
        return unit in self._modules

    def compiler(self, unit: int, entry: str) -> str:
        """Whose code of a kernel is run; "" where none is loaded."""
        return next((name for name, module in self._modules.get(unit, {}).items() if entry in module.functions), "")

    def _module(self, unit: int, entry: str) -> Module:
        return self._modules[unit][self.compiler(unit, entry)]

    def entry(self, unit: int, symbol: str) -> str | None:
        """The kernel's name in the unit's modules, None where it is in none."""
        found = (_entry(module.entries(), symbol) for module in self._modules[unit].values())
        return next((name for name in found if name is not None), None)

    def parameter_sizes(self, unit: int, entry: str) -> list[int]:
        """Bytes of each parameter."""
        return [parameter.size_bytes for parameter in self._module(unit, entry).functions[entry].parameters]

    def static_shared_bytes(self, unit: int, symbol: str) -> int:
        """Shared memory that a block of a kernel has whatever the launch asks for; 0 for one that is not there."""
        from grader.ptx.lowering.program import program_of

        entry = self.entry(unit, symbol)
        if entry is None:
            return 0
        try:
            return int(program_of(self._module(unit, entry)).needs(entry).static_bytes)
        except PtxError:
            # What the assembler would refuse as well; the launch says which instruction.
            return 0

    def variable(self, unit: int, name: str) -> Allocation | None:
        """A `__device__` or `__constant__` variable as memory."""
        for module in self._modules[unit].values():
            variables = linked(module, self._device).variables
            found = variables.get(name)
            if found is None:
                wanted = _parts(name)
                similar = [key for key in variables if _parts(key) == wanted]
                found = variables[similar[0]] if len(similar) == 1 else None
            if found is not None:
                return self._variable(name, found)
        return None

    def _variable(self, name: str, array: MemoryArray) -> Allocation:
        known = self.memory.live.get(array.base)
        return known or self.memory.keep(Allocation(name, array.base, array.size, "symbol", 0, "", array=array))

    def run(
        self,
        unit: int,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: list[bytes],
        max_shared_bytes: int,
        left: int,
        bounds: RunLimits,
        *,
        observe: bool,
        cooperative: bool = False,
    ) -> Outcome:
        """Run one kernel; the configuration was checked by the caller.

        left: thread-instructions that all launches together still have.
        """
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        limit = min(bounds.launch_instructions, left)
        # No kernel that does anything takes fewer.
        if threads * 8 > limit:
            return Outcome("too_large")
        before = self.memory.snapshot() if bounds.passes_over and threads * 200 > limit else None
        observe = observe and (threads * 200 <= limit or not bounds.passes_over)
        limits = Limits(instructions=limit, issued=bounds.launch_issued, seconds=bounds.launch_seconds)
        projection = _Projection(limit, grid[0] * grid[1] * grid[2])
        try:
            what = Launch(
                entry,
                grid,
                block,
                arguments,
                device=self._device,
                shared_bytes=shared_bytes,
                max_shared_bytes=max_shared_bytes,
                observe=observe,
                observed_batches=OBSERVED_BATCHES if threads > OBSERVED_THREADS else None,
                observers=[projection],
                cooperative=cooperative,
                limits=limits,
                counts_work=bounds.counts_work,
                order=bounds.order,
            )
            report = launch(self._module(unit, entry), what)
        except LaunchError as error:
            return Outcome("impossible", str(error))
        except LimitExceeded as error:
            if error.kind in ("endless", "deadlock"):
                return Outcome("endless", error.kind, error.line, printf=projection.printed())
            if error.kind == "time":
                if bounds.passes_over:
                    raise TooSlow(limits.seconds) from error
                return Outcome("too_slow")
            self.memory.restore(before)
            return Outcome("too_large", thread_instructions=limit)
        except DeviceTrap as error:
            return Outcome(error.kind, str(error), error.line, printf=projection.printed())
        except PtxError as error:
            return Outcome("unsupported", str(error))
        return Outcome(
            "ran",
            hazards=tuple(report.hazards),
            counters=report.counters if observe else None,
            thread_instructions=report.thread_instructions,
            printf=report.printf,
            shared_bytes=report.shared_bytes,
            work=tuple(report.work),
        )
