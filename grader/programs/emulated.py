"""The emulated device of a running program: the only part of the package that knows the emulator."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.ptx import Device, DeviceTrap, Launch, Limits, Module, launch, linked, parse
from grader.ptx.errors import LaunchError, LimitExceeded, PtxError
from grader.ptx.memory.addresses import GLOBAL_SPACING, MAX_SLOTS
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.observers.interface import Observer, Scene
from grader.ptx.records import Counters, Hazard

MAX_ALLOCATIONS = 20_000
"""Over the whole run, freed ones included."""
INSTRUCTIONS_PER_LAUNCH = 200_000_000
ISSUED_PER_LAUNCH = 6_000_000
SECONDS_PER_LAUNCH = 600.0
"""Not reached before the others but on a very slow machine."""

Bytes = npt.NDArray[np.uint8]
Saved = tuple[MemoryArray, Bytes, Bytes | None]
MAX_SNAPSHOT_BYTES = 512 << 20

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
    """The clock has ended a launch, before any limit that is counted: on a faster machine it might have ended."""


class TooManyAllocations(Exception):
    """More than any sensible program makes."""


@dataclass
class Allocation:
    """A piece of memory that kernels can reach.

    host: its address in the program's memory, for memory that both sides use; 0 for the device's own.
    digest: of the device's own memory as the host last filled it, "" where that is all zero; None where nobody asked.
    """

    name: str
    base: int
    size: int
    kind: str
    line: int
    file: str
    host: int = 0
    array: Any = None
    resident_bytes: int = 0
    origins: set[str] = field(default_factory=set)
    accesses: list[Any] = field(default_factory=list)
    digest: str | None = None

    @property
    def data(self) -> Bytes:
        """Its bytes."""
        found: Bytes = self.array.data[: self.size]
        return found

    @property
    def valid(self) -> Bytes | None:
        """Which bytes anything has written, as 0 and 1; None where that is not known."""
        return None if self.array.valid is None else self.array.valid[: self.size]


class _Memory(Device):
    """The device's memory with arrays that come and go; pages that nobody touches take no room."""

    def __init__(self) -> None:
        super().__init__()
        self._free: list[int] = []
        self.made = 0

    def place(self, name: str, size: int, data: Bytes, initialised: bool) -> MemoryArray:
        """A new array, in an address range that nothing had before as long as there are such."""
        self.made += 1
        if self.made > MAX_ALLOCATIONS:
            raise TooManyAllocations
        half = 1 << (GLOBAL_SPACING - 1)
        count = 1 + (size + half) // (2 * half)
        if len(self.arrays) + count > MAX_SLOTS - 64:
            if count > 1 or not self._free:
                raise TooManyAllocations
            slot = self._free.pop(0)
        else:
            slot = len(self.arrays)
            self.arrays += [None] * count
        base = self.origin + (slot << GLOBAL_SPACING) + half + (slot * 0x9E3779B1 + self.seed) % 4096 * 512
        valid = None if initialised else np.zeros(len(data), np.uint8)
        array = MemoryArray(name, "global", base, size, data, valid=valid)
        self.arrays[slot : slot + count] = [array] * count
        return array

    def remove(self, array: MemoryArray) -> None:
        """Nothing lies there any more."""
        slots = [slot for slot, known in enumerate(self.arrays) if known is array]
        for slot in slots:
            self.arrays[slot] = None
        if len(slots) == 1:
            self._free.append(slots[0])


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
    """Memory and kernels of one emulated device.

    executes: kernels will be run; else nobody asks which bytes of the memory were written.
    """

    def __init__(self, executes: bool = True) -> None:
        self._executes = executes
        self._device = _Memory()
        self._modules: dict[int, Module] = {}
        self.live: dict[int, Allocation] = {}
        self.freed: dict[int, Allocation] = {}
        self.textures = self._device.textures

    # -- memory ------------------------------------------------------------------------------

    def allocate(self, name: str, size: int, kind: str, line: int, file: str) -> Allocation:
        """Memory of the device: zero, as a driver hands it out, but not counted as written."""
        data = np.zeros(-(-max(size, 1) // 16) * 16, np.uint8)
        array = self._device.place(name, size, data, initialised=not self._executes)
        return self._keep(Allocation(name, array.base, size, kind, line, file, array=array))

    def share(self, name: str, size: int, kind: str, line: int, file: str, host: int) -> Allocation:
        """Memory of the host at `host` that kernels can use; `refresh` gives it its bytes."""
        array = self._device.place(name, size, np.empty(0, np.uint8), initialised=True)
        return self._keep(Allocation(name, array.base, size, kind, line, file, host=host, array=array))

    def refresh(self, allocation: Allocation, data: Bytes) -> None:
        """Where shared memory lies now; the program's memory may have moved."""
        allocation.array.data = data
        allocation.array.views = {}

    def clear(self, allocation: Allocation) -> bool:
        """Set all of the device's own memory to zero without touching it; False where kernels may hold on to it."""
        if self._executes or allocation.host:
            return False
        allocation.array.data = np.zeros(len(allocation.array.data), np.uint8)
        allocation.array.views = {}
        return True

    def free(self, allocation: Allocation) -> None:
        """Its address belongs to nothing from now on."""
        del self.live[allocation.base]
        self.freed[allocation.base] = allocation
        self._device.remove(allocation.array)
        allocation.array = None

    def _keep(self, allocation: Allocation) -> Allocation:
        self.live[allocation.base] = allocation
        self.freed.pop(allocation.base, None)
        return allocation

    def find(self, address: int) -> Allocation | None:
        """The live allocation that an address of the device lies in or near."""
        if not self.is_device_address(address):
            return None
        array = self._device.find(address)
        return None if array is None else self.live.get(array.base)

    def find_freed(self, address: int) -> Allocation | None:
        """The freed allocation that an address lay in."""
        for base, allocation in self.freed.items():
            if base <= address < base + max(1, allocation.size):
                return allocation
        return None

    def is_device_address(self, address: int) -> bool:
        """Whether an address can be the device's, by its size alone."""
        return address >= self._device.origin

    # -- kernels -----------------------------------------------------------------------------

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
        known = self.live.get(array.base)
        return known or self._keep(Allocation(name, array.base, array.size, "symbol", 0, "", array=array))

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
        before = self.snapshot() if is_large else None
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
                limits=Limits(instructions=limit, issued=ISSUED_PER_LAUNCH, seconds=SECONDS_PER_LAUNCH),
            )
            report = launch(self._modules[unit], what)
        except LaunchError as error:
            return Outcome("impossible", str(error))
        except LimitExceeded as error:
            if error.kind in ("endless", "deadlock"):
                return Outcome("endless", error.kind, error.line, printf=projection.printed())
            if error.kind == "time":
                raise TooSlow from error
            self.restore(before)
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

    def snapshot(self) -> list[Saved] | None:
        """The contents of all memory, to be put back with `restore`; None where there is too much of it."""
        if sum(allocation.size for allocation in self.live.values()) > MAX_SNAPSHOT_BYTES:
            return None
        arrays = [allocation.array for allocation in self.live.values() if allocation.kind != "registered"]
        return [(a, a.data.copy(), None if a.valid is None else a.valid.copy()) for a in arrays]

    def restore(self, before: list[Saved] | None) -> None:
        """Put back what `snapshot` kept."""
        for array, data, valid in before or ():
            array.data[:] = data
            if valid is not None and array.valid is not None:
                array.valid[:] = valid
