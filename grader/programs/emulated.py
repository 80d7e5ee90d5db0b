"""The emulated device of a running program: kernels loaded, and run in its memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from grader.programs.device_memory import Allocation, DeviceMemory
from grader.ptx import DeviceTrap, Launch, Limits, Module, launch, linked, parse
from grader.ptx.errors import LaunchError, LimitExceeded, PtxError
from grader.ptx.limits import ISSUED_PER_LAUNCH, SECONDS_PER_LAUNCH
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.observers.interface import Observer, Scene
from grader.ptx.records import Counters, Hazard

INSTRUCTIONS_PER_LAUNCH = 200_000_000
"""Thread-instructions; `grader.backends.base` says how many in grading."""

_SOURCE_NAME = re.compile(r"L?(\d{1,3})")
"""Within a mangled name: how long the next word is; `L` before one with internal linkage."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a launch.

    status: "ran", "impossible" (the emulator refuses the configuration), "trap", "grid_sync" (the same, where it would
    have waited for its whole grid), "endless", "too_large" (the counted limit was reached; memory is what it was
    before), "unsupported".
    """

    status: str
    reason: str = ""
    line: int = 0
    hazards: tuple[Hazard, ...] = ()
    counters: Counters | None = None
    thread_instructions: int = 0
    printf: str = ""


class TooSlow(Exception):
    """The clock has ended a launch, after so many seconds: on a faster machine it might have ended.

    No limit that is counted was reached.
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


class Gpu:
    """One emulated device: its memory, and kernels that are run in it; `executes` as `DeviceMemory` takes it."""

    def __init__(self, executes: bool = True) -> None:
        self.memory = DeviceMemory(executes)
        self._device = self.memory.device
        self._modules: dict[int, Module] = {}
        self.textures = self._device.textures

    def load(self, unit: int, ptx: str) -> None:
        """Load a module's PTX, in place of what that unit had before.

        Raises
        ------
        PtxError : the emulator cannot read it.
        """
        self._modules[unit] = parse(ptx)

    def is_loaded(self, unit: int) -> bool:
        """Whether a unit has a module."""
        return unit in self._modules

    def entry(self, unit: int, symbol: str) -> str | None:
        """The kernel's name in the module; one of an unnamed namespace has another there than on the host."""
        module = self._modules[unit]
        names = module.entries()
        if symbol in names:
            return symbol
        tail = symbol.split("_GLOBAL__N_1", 1)
        if len(tail) == 2:
            similar = [name for name in names if name.endswith(tail[1])]
            return similar[0] if len(similar) == 1 else None
        # One that is declared as C's is called so there, and as C++'s on the host.
        plain = re.match(r"_Z(\d+)", symbol)
        if plain and symbol[plain.end() :][: int(plain[1])] in names:
            return symbol[plain.end() :][: int(plain[1])]
        similar = [name for name in names if name.endswith(symbol.removeprefix("_ZL").removeprefix("_Z"))]
        return similar[0] if len(similar) == 1 else None

    def parameter_sizes(self, unit: int, entry: str) -> list[int]:
        """Bytes of each parameter."""
        return [parameter.size_bytes for parameter in self._modules[unit].functions[entry].parameters]

    def static_shared_bytes(self, unit: int, entry: str) -> int:
        """Shared memory that a block has whatever the launch asks for."""
        from grader.ptx.lowering.program import program_of

        return int(program_of(self._modules[unit]).needs(entry).static_bytes)

    def variable(self, unit: int, name: str) -> Allocation | None:
        """A `__device__` or `__constant__` variable as memory."""
        variables = linked(self._modules[unit], self._device).variables
        found = variables.get(name)
        if found is None:
            wanted = _parts(name)
            similar = [key for key in variables if _parts(key) == wanted]
            found = variables[similar[0]] if len(similar) == 1 else None
        return None if found is None else self._variable(name, found)

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
        instructions: int,
        *,
        observe: bool,
        cooperative: bool = False,
    ) -> Outcome:
        """Run one kernel; the configuration was checked by the caller."""
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        limit = min(INSTRUCTIONS_PER_LAUNCH, instructions)
        # No kernel that does anything takes fewer.
        if threads * 8 > limit:
            return Outcome("too_large")
        is_large = threads * 200 > limit
        before = self.memory.snapshot() if is_large else None
        limits = Limits(instructions=limit, issued=ISSUED_PER_LAUNCH, seconds=SECONDS_PER_LAUNCH)
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
                observe=observe and not is_large,
                observers=[projection],
                cooperative=cooperative,
                limits=limits,
            )
            report = launch(self._modules[unit], what)
        except LaunchError as error:
            return Outcome("impossible", str(error))
        except LimitExceeded as error:
            if error.kind in ("endless", "deadlock"):
                return Outcome("endless", error.kind, error.line, printf=projection.printed())
            if error.kind == "time":
                raise TooSlow(limits.seconds) from error
            self.memory.restore(before)
            return Outcome("too_large", thread_instructions=limit)
        except DeviceTrap as error:
            return Outcome(error.kind, str(error), error.line, printf=projection.printed())
        except PtxError as error:
            return Outcome("unsupported", str(error))
        return Outcome(
            "ran",
            hazards=tuple(report.hazards),
            counters=report.counters if observe and not is_large else None,
            thread_instructions=report.thread_instructions,
            printf=report.printf,
        )
